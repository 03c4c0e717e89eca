"""What the Responses API refuses, in OpenAI's words.

Written from the API's error messages as people report them, and not from `redraft.dialects.rules`: a
second opinion. The API remembers which item it made right behind which reasoning: `made_with` says so
of a list as it was made, and `complaints` takes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from redraft.testing.refusals.base import Body, Complaint, broken_text

__all__ = ["complaints", "items_of", "made_with"]

Item = Mapping[str, Any]

_CLIENT_CALLS = (
    "function_call",
    "custom_tool_call",
    "computer_call",
    "local_shell_call",
    "shell_call",
    "apply_patch_call",
    "tool_search_call",
)
_OUTPUTS = (
    "function_call_output",
    "custom_tool_call_output",
    "computer_call_output",
    "local_shell_call_output",
    "shell_call_output",
    "apply_patch_call_output",
    "tool_search_output",
    "program_output",
)
_NOT_THE_MODELS = (*_OUTPUTS, "mcp_approval_response", "additional_tools", "compaction_trigger")
_PREFIXES = {"message": "msg", "reasoning": "rs", "function_call": "fc", "custom_tool_call": "ctc"}
_PARTS = {"assistant": ("output_text", "refusal"), "": ("input_text", "input_image", "input_file")}
_LONGEST_ID = 64


def items_of(body: Body) -> list[Item]:
    """The items of a request; a plain string is one message of the user's."""
    given = body.get("input")
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    return [item for item in given or () if isinstance(item, Mapping)]


def made_with(items: Sequence[Item]) -> dict[str, str]:
    """Which reasoning each item was made behind: id of the item -> id of the reasoning.

    Args:
        items: a list as the model made it.
    """
    return {
        str(item["id"]): str(before["id"])
        for before, item in pairwise(items)
        if before.get("type") == "reasoning"
        and before.get("id")
        and item.get("id")
        and _models(item)
    }


def complaints(body: Body, pairs: Mapping[str, str] | None = None) -> Iterator[Complaint]:
    """All that the API would complain of, the first first.

    Args:
        body: the request.
        pairs: what the server remembers of its own items; see `made_with`.
    """
    if broken_text(body):
        yield Complaint("We could not parse the JSON body of your request.")
    items = items_of(body)
    if not items and not (body.get("previous_response_id") or body.get("instructions")):
        yield Complaint(
            "Missing required parameter: 'input'.", "input", "missing_required_parameter"
        )
    for at, item in enumerate(items):
        yield from _item(f"input[{at}]", item)
    yield from _once(items)
    yield from _answers(items, elsewhere=bool(body.get("previous_response_id")))
    yield from _reasoning(items, pairs or {})


def _kind(item: Item) -> str:
    return str(item.get("type") or "message")


def _models(item: Item) -> bool:
    """Whether the model made it."""
    if _kind(item) == "message":
        return item.get("role") == "assistant"
    return _kind(item) not in _NOT_THE_MODELS


# -- one item ------------------------------------------------------------------------------------


def _item(where: str, item: Item) -> Iterator[Complaint]:
    kind, name = _kind(item), item.get("id")
    prefix = _PREFIXES.get(kind)
    if prefix and name is not None and not str(name).startswith(prefix):
        yield Complaint(
            f"Invalid '{where}.id': '{name}'. Expected an ID that begins with '{prefix}'.",
            f"{where}.id",
            "invalid_value",
        )
    if kind == "message":
        yield from _message(where, item)
    elif kind == "reasoning":
        if item.get("status") is not None:
            yield Complaint(f"Unknown parameter: '{where}.status'.", f"{where}.status")
        if not isinstance(item.get("summary"), list):
            yield _missing(f"{where}.summary")
    elif kind == "function_call":
        for key in ("call_id", "name", "arguments"):
            if not isinstance(item.get(key), str):
                yield _missing(f"{where}.{key}")
    elif kind in ("function_call_output", "custom_tool_call_output") and item.get("output") is None:
        yield _missing(f"{where}.output")
    if len(str(item.get("call_id") or "")) > _LONGEST_ID:
        yield Complaint(
            f"Invalid '{where}.call_id': string too long. Expected a string with maximum length "
            f"{_LONGEST_ID}.",
            f"{where}.call_id",
            "string_above_max_length",
        )


def _missing(param: str) -> Complaint:
    return Complaint(f"Missing required parameter: '{param}'.", param, "missing_required_parameter")


def _message(where: str, item: Item) -> Iterator[Complaint]:
    role, content = item.get("role"), item.get("content")
    if role not in ("user", "assistant", "system", "developer"):
        yield Complaint(f"Invalid value: '{role}'.", f"{where}.role", "invalid_value")
    if content is None or content == []:
        yield _missing(f"{where}.content")
    allowed = _PARTS["assistant" if role == "assistant" else ""]
    wrong = _PARTS["" if role == "assistant" else "assistant"]
    for place, part in enumerate(content if isinstance(content, list) else ()):
        if part.get("type") in wrong:
            yield Complaint(
                f"Invalid value: '{part.get('type')}'. Supported values are: "
                + " and ".join(repr(name) for name in allowed)
                + ".",
                f"{where}.content[{place}]",
                "invalid_value",
            )


# -- the list ------------------------------------------------------------------------------------


def _once(items: Sequence[Item]) -> Iterator[Complaint]:
    """No item and no call stands twice."""
    ids: set[str] = set()
    calls: set[str] = set()
    for item in items:
        name, call = item.get("id"), item.get("call_id")
        if name and _kind(item) != "item_reference":
            if name in ids:
                yield Complaint(
                    f"Duplicate item found with id {name}. Remove duplicate items from your input and "
                    "try again.",
                    "input",
                )
            ids.add(str(name))
        if call and _kind(item) not in _OUTPUTS:
            if call in calls:
                yield Complaint(f"Duplicate value for 'call_id': {call}.", "input")
            calls.add(str(call))


def _answers(items: Sequence[Item], *, elsewhere: bool) -> Iterator[Complaint]:
    """Each result has its call before it, and each call its result behind it.

    Args:
        items: the list.
        elsewhere: whether calls may stand in a history on the server.
    """
    elsewhere = elsewhere or any(_kind(item) == "item_reference" for item in items)
    asked: dict[str, str] = {}
    answered: set[str] = set()
    for item in items:
        kind, name = _kind(item), str(item.get("call_id") or "")
        if kind in _OUTPUTS and name:
            answered.add(name)
            if name not in asked and not elsewhere:
                yield Complaint(
                    f"No tool call found for {_spoken(kind)} with call_id {name}.", "input"
                )
        elif name:
            asked[name] = kind if _is_clients(item) else ""
    for name, kind in asked.items():
        if kind and name not in answered:
            yield Complaint(f"No tool output found for {_spoken(kind)} {name}.", "input")


def _spoken(kind: str) -> str:
    return kind.replace("_", " ")


def _is_clients(item: Item) -> bool:
    """Whether it is a call that the client runs; the server has its own shell and tool search."""
    if item.get("execution") == "server":
        return False
    box = item.get("environment")
    remote = isinstance(box, Mapping) and box.get("type") == "container_reference"
    return _kind(item) in _CLIENT_CALLS and not remote


def _reasoning(items: Sequence[Item], pairs: Mapping[str, str]) -> Iterator[Complaint]:
    """Reasoning stands right in front of the item that it led to, and that item not without it."""
    following = {reasoning: name for name, reasoning in pairs.items()}
    for at, item in enumerate(items):
        name = str(item.get("id") or "")
        before = items[at - 1] if at else {}
        after = items[at + 1] if at + 1 < len(items) else {}
        if _kind(item) == "reasoning":
            wanted = following.get(name)
            if not after or not _models(after) or (wanted and after.get("id") != wanted):
                yield Complaint(
                    f"Item '{name}' of type 'reasoning' was provided without its required following "
                    "item.",
                    "input",
                )
        if name in pairs and before.get("id") != pairs[name]:
            yield Complaint(
                f"Item '{name}' of type '{_kind(item)}' was provided without its required 'reasoning' "
                f"item: '{pairs[name]}'.",
                "input",
            )
