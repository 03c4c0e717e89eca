"""The Responses API's rules on single items, on reasoning, and on the ids of items."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from redraft.dialects.base import Native
from redraft.dialects.boundaries import item_speaks
from redraft.dialects.frames import PICTURE
from redraft.dialects.profile import Rule, Violation
from redraft.dialects.responses_items import Kind, has_free_id, kind_of, type_of, without_id
from redraft.dialects.values import better_arguments

__all__ = ["HOSTED", "ITEM_ARGUMENTS", "ITEM_IDS", "MESSAGES", "MESSAGE_MEMBERS", "REASONING"]


# -- arguments and outputs -------------------------------------------------------------------------


def _find_arguments(items: Sequence[Native], start: int) -> Iterator[Violation]:
    for at in range(start, len(items)):
        if _with_values(items[at]) is not items[at]:
            says = f"a field of the {type_of(items[at])} is missing, or may not be sent as it is"
            yield Violation("item-arguments", at, says)


def _with_values(item: Native) -> Native:
    """The item with arguments that can be sent, and with an output."""
    match type_of(item):
        case "function_call":
            better = better_arguments(item)
            return item if better is None else {**item, "arguments": better}
        case "custom_tool_call" if item.get("input") is None:
            return {**item, "input": ""}
        case "function_call_output" | "custom_tool_call_output" if item.get("output") is None:
            return {**item, "output": ""}
        case "reasoning" if item.get("status") is not None or _no_list(item.get("summary")):
            rest = {key: value for key, value in item.items() if key != "status"}
            return {**rest, "summary": [] if _no_list(item.get("summary")) else item["summary"]}
        case _:
            return item


def _no_list(value: object) -> bool:
    return not isinstance(value, (list, tuple))


def _mend_arguments(items: Sequence[Native]) -> list[Native]:
    return [_with_values(item) for item in items]


# -- messages --------------------------------------------------------------------------------------

_OF_USER = {"output_text": "input_text"}
_OF_MODEL = {"input_text": "output_text"}
_PICTURES = ("input_image", "input_file")


def _find_members(items: Sequence[Native], start: int) -> Iterator[Violation]:
    for at in range(start, len(items)):
        if _with_members(items[at]) is not items[at]:
            says = f"a message of the {items[at].get('role')}'s holds a member of the wrong type"
            yield Violation("message-members", at, says)


def _with_members(item: Native) -> Native:
    """The message with its texts under the type that its role wants."""
    body = item.get("content")
    if type_of(item) != "message" or not isinstance(body, (list, tuple)):
        return item
    of_model = item.get("role") == "assistant"
    types = _OF_MODEL if of_model else _OF_USER
    new: list[Any] = []
    for member in body:
        kind = str(member.get("type"))
        if kind in types:
            new.append({**member, "type": types[kind]})
        elif kind == "refusal" and not of_model:
            new.append({"type": "input_text", "text": str(member.get("refusal") or "")})
        elif of_model and kind in _PICTURES:
            new.append({"type": "output_text", "text": PICTURE})
        else:
            new.append(member)
    same = all(a is b for a, b in zip(new, body, strict=True))
    return item if same else {**item, "content": new}


def _mend_members(items: Sequence[Native]) -> list[Native]:
    return [_with_members(item) for item in items]


def _find_empty(items: Sequence[Native], start: int) -> Iterator[Violation]:
    for at in range(start, len(items)):
        if _is_empty(items[at]):
            says = f"a message of the {items[at].get('role')}'s has no content"
            yield Violation("messages", at, says)


def _is_empty(item: Native) -> bool:
    if type_of(item) != "message":
        return False
    body = item.get("content")
    return body is None or body in ([], ()) or (body == "" and item.get("role") == "assistant")


def _mend_empty(items: Sequence[Native]) -> list[Native]:
    """The model's go, with the reasoning that led to them; others keep their place."""
    gone = {at for at, i in enumerate(items) if _is_empty(i) and i.get("role") == "assistant"}
    filled = [
        {**item, "content": ""} if _is_empty(item) and at not in gone else item
        for at, item in enumerate(items)
    ]
    return _without(filled, gone)


def _without(items: Sequence[Native], gone: set[int]) -> list[Native]:
    """The items less some. Reasoning that led to one of those goes along, and what else was made with it
    loses the id by which the server would ask for it."""
    gone, bare = set(gone), set[int]()
    for at in sorted(gone):
        led = at
        while not _thinks(items[at]) and led > 0 and _thinks(items[led - 1]):
            led -= 1
            gone.add(led)
        if led < at or _thinks(items[at]):
            bare.update(_made_with(items, at))
    return [
        without_id(item) if at in bare else item for at, item in enumerate(items) if at not in gone
    ]


def _made_with(items: Sequence[Native], at: int) -> Iterator[int]:
    """The model's items behind one, up to its next reasoning."""
    for behind in range(at + 1, len(items)):
        if _thinks(items[behind]) or not item_speaks(items[behind]):
            return
        yield behind


# -- reasoning -------------------------------------------------------------------------------------


def _thinks(item: Native) -> bool:
    return kind_of(item) is Kind.THOUGHT


def _find_reasoning(items: Sequence[Native], start: int) -> Iterator[Violation]:
    while start > 0 and _thinks(items[start - 1]):  # what it led to may have changed
        start -= 1
    for at in range(start, len(items)):
        if _thinks(items[at]) and not _leads(items, at):
            yield Violation("reasoning", at, "reasoning stands without the item that it led to")


def _leads(items: Sequence[Native], at: int) -> bool:
    while at < len(items) and _thinks(items[at]):
        at += 1
    return at < len(items) and item_speaks(items[at]) and not type_of(items[at]).endswith("_output")


def _mend_reasoning(items: Sequence[Native]) -> list[Native]:
    return [item for at, item in enumerate(items) if not _thinks(item) or _leads(items, at)]


# -- what the server ran ---------------------------------------------------------------------------


def _find_hosted(items: Sequence[Native], start: int) -> Iterator[Violation]:
    for at in range(start, len(items)):
        if _is_stray(items, at):
            says = f"a {type_of(items[at])} stands without the item that it belongs to"
            yield Violation("hosted", at, says)


def _is_stray(items: Sequence[Native], at: int) -> bool:
    """Whether what the server's own tool gave has lost its call; looked for as far back as that is."""
    item = items[at]
    name = item.get("call_id")
    if kind_of(item) is not Kind.PART or not type_of(item).endswith("_output") or not name:
        return False
    return not any(
        items[before].get("call_id") == name and kind_of(items[before]) is not Kind.RESULT
        for before in range(at - 1, -1, -1)
    )


def _mend_hosted(items: Sequence[Native]) -> list[Native]:
    return _without(items, {at for at in range(len(items)) if _is_stray(items, at)})


# -- ids of items ----------------------------------------------------------------------------------


_PREFIXES = {
    "message": "msg",
    "reasoning": "rs",
    "function_call": "fc",
    "custom_tool_call": "ctc",
}


def _find_ids(items: Sequence[Native], start: int) -> Iterator[Violation]:
    for at in _bad_ids(items):
        if at >= start:
            says = (
                f"the item id {items[at]['id']!r} stands there before, or is of another type's form"
            )
            yield Violation("item-ids", at, says)


def _bad_ids(items: Sequence[Native]) -> list[int]:
    """Items whose id an earlier one has, wherever that stands, or which is not their type's."""
    taken: set[str] = set()
    bad: list[int] = []
    for at, item in enumerate(items):
        name = item.get("id")
        if name is None or kind_of(item) is Kind.RESULT:
            continue
        if name in taken or not str(name).startswith(_PREFIXES.get(type_of(item), "")):
            bad.append(at)
        taken.add(str(name))
    return bad


def _mend_ids(items: Sequence[Native]) -> list[Native]:
    """An item gives up its id if it can do without; else it goes, as does one that the server ran."""
    bad = set(_bad_ids(items))
    gone = {at for at in bad if not has_free_id(items[at]) or kind_of(items[at]) is Kind.PART}
    bare = [without_id(item) if at in bad else item for at, item in enumerate(items)]
    return _without(bare, gone)


# -- the rules -------------------------------------------------------------------------------------

ITEM_ARGUMENTS = Rule(
    "item-arguments",
    "API reference: `arguments`, `input`, `output` and `summary` are required; arguments are JSON, which "
    "servers of open weights parse (windmill-labs/windmill PR #9902); 'Unknown parameter: status' of "
    "reasoning",
    _find_arguments,
    _mend_arguments,
)
MESSAGE_MEMBERS = Rule(
    "message-members",
    "Responses API: \"Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'\", "
    "and the converse for other roles",
    _find_members,
    _mend_members,
)
MESSAGES = Rule(
    "messages",
    "API reference: `content` of a message is required; a turn of the model's that says nothing is "
    "left out (dirge-code/dirge PR #757)",
    _find_empty,
    _mend_empty,
)
HOSTED = Rule(
    "hosted",
    "API reference, ProgramOutput: `call_id` is that of its program; 'No tool call found for ... with "
    "call_id ...'",
    _find_hosted,
    _mend_hosted,
)
REASONING = Rule(
    "reasoning",
    "Responses API: \"Item 'rs_...' of type 'reasoning' was provided without its required following "
    'item" (openai/openai-dotnet#1050, coder/mux#59)',
    _find_reasoning,
    _mend_reasoning,
)
ITEM_IDS = Rule(
    "item-ids",
    "Responses API: 'Duplicate item found with id ... Remove duplicate items from your input', "
    "\"Invalid 'input[...].id': ... Expected an ID that begins with 'msg'\"",
    _find_ids,
    _mend_ids,
)
