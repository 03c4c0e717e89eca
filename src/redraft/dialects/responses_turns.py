"""A list of items, taken apart into turns: runs of the model's, results, and what anybody else said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from redraft.dialects.base import Content, Native, Role
from redraft.dialects.blocks import copied
from redraft.dialects.responses_atoms import member_atoms, parts_of, thought_text
from redraft.dialects.responses_calls import result_of
from redraft.dialects.responses_items import (
    Kind,
    call_id_of,
    content_field,
    is_hosted,
    kind_of,
    type_of,
)
from redraft.dialects.responses_replies import sent_back
from redraft.dialects.responses_texts import text_of
from redraft.dialects.responses_writing import turn_of
from redraft.errors import DialectError

__all__ = ["SDK_DUMP", "PlainInput", "check_item", "contents_of", "items_of", "message_of"]

SDK_DUMP = {"mode": "json", "exclude_unset": True, "warnings": False}
"""How OpenAI's client itself turns an object of a reply into what it sends back."""

_ROLES: Mapping[str, Role] = {
    "user": "user",
    "assistant": "assistant",
    "system": "system",
    "developer": "system",
}

_CLIENT_RUN = ("fc_", "ctc_", "cu_", "lsh_")
"""How ids of items begin that the client answers: functions, custom tools, its computer, its shell."""


class PlainInput(dict[str, Any]):
    """The message that an `input` of plain text is."""


def items_of(given: object) -> list[Native]:
    """Private copies of the items, whatever objects the client holds them in."""
    if isinstance(given, str):
        return [PlainInput(type="message", role="user", content=given)]
    if given is not None and (isinstance(given, bytes) or not isinstance(given, Sequence)):
        raise DialectError(
            "`input` must be text or a list of items; pass [{'role': 'user', 'content': ...}]."
        )
    return [_item(item, f"input[{at}]") for at, item in enumerate(given or ())]


def _item(item: object, where: str) -> Native:
    native = copied(item, **SDK_DUMP)
    if not isinstance(native, dict):
        raise DialectError(
            f"{where} is a {type(item).__name__}; each item must be a mapping with a `type` or a "
            "`role`, or an item object of the OpenAI SDK."
        )
    if not isinstance(item, Mapping):
        native = dict(sent_back(native))
    check_item(native, where)
    return native


def check_item(native: Native, where: str) -> None:
    """What the rest relies on; anything else may be in an item. Raises `DialectError`."""
    kind = type_of(native)
    if kind == "message" and _role(native) is None:
        raise DialectError(
            f"{where} has the role {native.get('role')!r}; messages of the Responses API know "
            f"{', '.join(_ROLES)}. Tool results are items of their own."
        )
    if kind == "item_reference" and not isinstance(native.get("id"), str):
        raise DialectError(
            f"{where} is no message and names no item; write a message as "
            "{'role': 'user', 'content': ...}, a reference with the `id` of its item."
        )
    if kind_of(native) not in (Kind.MESSAGE, Kind.RESULT):
        return
    body = native.get(content_field(native))
    if isinstance(body, (list, tuple)):
        if not all(isinstance(member, Mapping) for member in body):
            raise DialectError(
                f"{where} holds a list of something else than mappings; write plain text as text."
            )
    elif kind == "message" and body is not None and not isinstance(body, str):
        raise DialectError(
            f"`content` of {where} is a {type(body).__name__}; it must be text or a list of members. "
            "Send binary data as an image or a file."
        )


def _role(item: Native) -> Role | None:
    return _ROLES.get(str(item.get("role")))


@dataclass(slots=True)
class _Run:
    """Items of the model's that follow each other, and the results right behind them."""

    items: list[Native] = field(default_factory=list)
    results: list[Native] = field(default_factory=list)

    def takes(self, item: Native, kind: Kind) -> bool:
        """Put an item in if it belongs there; whether it does."""
        hosted = not self.results and is_hosted(item, self.items)
        if kind is Kind.RESULT and not hosted:
            self.results.append(item)
        elif not self.results and _is_models(item, kind):
            self.items.append(item)
        else:
            return False
        return True

    def contents(self) -> list[Content]:
        """Its turns."""
        results = [result_of(item) for item in self.results]
        turns = [turn_of(self.items, self._referenced())] if self.items else []
        return turns + results

    def _referenced(self) -> dict[str, str]:
        """Calls that stand here as references alone, paired with the results that answer nothing
        else, in order."""
        known = {call_id_of(item) for item in self.items if kind_of(item) is Kind.CALL}
        answers = dict.fromkeys(map(call_id_of, self.results))
        references = (str(i.get("id")) for i in self.items if type_of(i) == "item_reference")
        calls = (name for name in references if name.startswith(_CLIENT_RUN))
        return dict(zip(calls, (name for name in answers if name not in known), strict=False))


def _is_models(item: Native, kind: Kind) -> bool:
    """Whether an item is the model's. One of a type that nobody knows is, unless its role denies it."""
    if kind in (Kind.MESSAGE, Kind.PART):
        return _role(item) in ("assistant", None)
    return kind is not Kind.LONE


def contents_of(items: Sequence[Native], *, on_server: bool) -> tuple[Content, ...]:
    """The turns of a list of items.

    Args:
        items: all items.
        on_server: whether earlier ones lie on the server, so that their calls may be answered here.
    """
    contents: list[Content] = []
    run = _Run()
    for item in items:
        kind = kind_of(item)
        if run.takes(item, kind):
            continue
        contents += run.contents()
        run = _Run()
        if not run.takes(item, kind):
            contents.append(_other(item, kind))
    contents += run.contents()
    return tuple(_held_answers(contents) if on_server else contents)


def _other(item: Native, kind: Kind) -> Content:
    """A turn that is one item, neither the model's nor a result."""
    role = _role(item) or "system"
    if kind is Kind.MESSAGE:
        return message_of(item, role)
    if kind is Kind.LONE:
        # Nobody is shown the text. It tells this one from another, and costs what it costs.
        text = f"{type_of(item)} {item.get('id') or ''}\n{thought_text(item)}"
        return Content("system", text, carriers=(item,))
    return Content(role, "", parts=parts_of(member_atoms({"content": [item]})), carriers=(item,))


def message_of(native: Native, role: Role) -> Content:
    """The turn that a message is, by itself."""
    atoms = member_atoms(native)
    return Content(role, text_of(atoms), parts=parts_of(atoms), carriers=(native,))


def _held_answers(contents: Sequence[Content]) -> list[Content]:
    """The same turns; results of calls on the server, which must stay as long as these, are held."""
    asked: set[str] = set()
    held: list[Content] = []
    for content in contents:
        asked.update(call.id for call in content.calls)
        known = content.role != "tool" or content.answers in asked
        held.append(content if known else replace(content, role="system"))
    return held
