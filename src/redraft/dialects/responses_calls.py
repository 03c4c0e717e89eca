"""Calls of the Responses API and the items that answer them: functions, custom tools, built-in tools.

A built-in tool that the client runs (its computer, its shell) is a call like any other. Its name is its
item's type, and its arguments are the JSON object that says what to do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from redraft.dialects.arguments import parse_object
from redraft.dialects.base import Call, Content, Native
from redraft.dialects.chat_natives import dump
from redraft.dialects.responses_atoms import member_atoms, parts_of
from redraft.dialects.responses_items import call_id_of, type_of
from redraft.dialects.responses_texts import text_of, written_body

__all__ = [
    "BuiltInCall",
    "call_of",
    "new_result",
    "result_of",
    "with_arguments",
    "written_result",
]

_FIELDS = {
    "function_call": "arguments",
    "custom_tool_call": "input",
    "local_shell_call": "action",
    "shell_call": "action",
    "apply_patch_call": "operation",
    "tool_search_call": "arguments",
}
"""Where a call keeps what it asks for."""

_ASKED = {
    "computer_call": ("action", "actions"),
    "mcp_approval_request": ("server_label", "name", "arguments"),
}
"""Calls that keep it in several fields; these make up the arguments."""

_FIXED = ("mcp_approval_request", "item_reference")
"""Calls whose arguments are the server's: what a person approved is what stays approved."""

_YES = frozenset({"approve", "approved", "true", "yes"})

_BLANK = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAEAAAABAAQAAAACCEkxzAAAAEklEQVR42mP4DwUMo4xRBukMAOP"
    "T/hAC2mzjAAAAAElFTkSuQmCC"
)
"""A white picture of 64 x 64: what stands for a screenshot that was removed. The API takes no words in
its place."""


@dataclass(frozen=True, slots=True)
class BuiltInCall(Call):
    """A call of a built-in tool.

    Attributes:
        kind: the type of its item, which decides what kind of item answers it.
    """

    kind: str = ""


def call_of(item: Native, index: int, referenced: Mapping[str, str]) -> Call:
    """A call as a reader sees it.

    Args:
        item: the item.
        index: its place among the turn's calls.
        referenced: for references to calls, the id of the reference and that of the call.
    """
    kind, name = type_of(item), call_id_of(item)
    match kind:
        case "function_call":
            return Call(name, str(item.get("name") or ""), _text(item.get("arguments")), index)
        case "custom_tool_call":
            text = _text(item.get("input"))
            return Call(name, str(item.get("name") or ""), text, index, free=True)
        case "item_reference":
            own = str(item.get("id"))
            return BuiltInCall(referenced[own], own, "{}", index, kind=kind)
        case _:
            return BuiltInCall(name, kind, _asked(item, kind), index, kind=kind)


def _asked(item: Native, kind: str) -> str:
    if kind in _ASKED:
        return dump({key: item[key] for key in _ASKED[kind] if key in item})
    return _text(item.get(_FIELDS[kind])) or "{}"


def _text(value: object) -> str:
    """Arguments as text; some servers send the object itself."""
    return value if isinstance(value, str) else "" if value is None else dump(value)


def with_arguments(item: Native, arguments: str) -> Native:
    """The same call with other arguments, in the form that they had; `item` where they are fixed."""
    kind = type_of(item)
    if kind in _FIXED:
        return item
    if kind in _ASKED:
        data = parse_object(arguments) or {}
        new = {key: data[key] for key in _ASKED[kind] if key in data}
        rest = {key: value for key, value in item.items() if key not in _ASKED[kind]}
        return {**rest, **new} if new else item
    field = _FIELDS[kind]
    value: object = arguments
    if isinstance(item.get(field), Mapping):
        value = parse_object(arguments) or {}
    return {**item, field: value}


# -- results ---------------------------------------------------------------------------------------


def new_result(call: Call, text: str) -> Native:
    """An item that answers `call`."""
    kind = call.kind if isinstance(call, BuiltInCall) else ""
    named = {"call_id": call.id}
    match kind:
        case "computer_call":
            return {"type": "computer_call_output", **named, "output": _screenshot()}
        case "shell_call":
            return {"type": "shell_call_output", **named, "output": [_chunk(text, None)]}
        case "apply_patch_call":
            done = {"status": "completed", "output": text}
            return {"type": "apply_patch_call_output", **named, **done}
        case "tool_search_call":
            found = {"execution": "client", "status": "completed", "tools": []}
            return {"type": "tool_search_output", **named, **found}
        case "mcp_approval_request":
            return _approval(call, text)
        case "local_shell_call":
            # The SDK's type calls the field `id`, the server wants `call_id`
            # (openai/openai-agents-python#1855).
            return {"type": "local_shell_call_output", **named, "output": text}
        case _:
            kind = "custom_tool_call_output" if call.free else "function_call_output"
            return {"type": kind, **named, "output": text}


def _approval(call: Call, text: str) -> Native:
    """Nothing but a plain yes approves."""
    native: dict[str, Any] = {"type": "mcp_approval_response", "approval_request_id": call.id}
    if text.strip().lower() in _YES:
        return {**native, "approve": True}
    return {**native, "approve": False, "reason": text}


def _screenshot() -> Native:
    return {"type": "computer_screenshot", "image_url": _BLANK}


def _chunk(text: str, outcome: object) -> Native:
    return {"stdout": text, "stderr": "", "outcome": outcome or {"type": "exit", "exit_code": 0}}


def result_of(item: Native) -> Content:
    """A result as a reader sees it."""
    answers, carriers = call_id_of(item), (item,)
    match type_of(item):
        case "computer_call_output":
            shot = item.get("output")
            atoms = member_atoms({**item, "output": [shot] if isinstance(shot, Mapping) else []})
            return Content("tool", "", (), parts_of(atoms), answers, carriers=carriers)
        case "shell_call_output":
            text = "\n".join(filter(None, map(_chunk_text, _chunks(item))))
            return Content("tool", text, answers=answers, carriers=carriers)
        case "mcp_approval_response":
            said = "approved" if item.get("approve") is True else "denied"
            text = str(item.get("reason") or said)
            return Content("tool", text, answers=answers, carriers=carriers)
        case "tool_search_output":
            text = dump(item.get("tools"))
            return Content("tool", text, answers=answers, carriers=carriers)
        case _:
            atoms = member_atoms(item)
            text, parts = text_of(atoms), parts_of(atoms)
            return Content("tool", text, (), parts, answers, carriers=carriers)


def written_result(item: Native, text: str, parts: set[int]) -> Native:
    """The same result with another text and these parts, as far as its kind has a place for words.

    A screenshot that goes leaves a blank one; tools that a search revealed stay.
    """
    match type_of(item):
        case "computer_call_output":
            return item if parts else {**item, "output": _screenshot()}
        case "shell_call_output":
            chunks = _chunks(item)
            outcome = chunks[-1].get("outcome") if chunks else None
            return {**item, "output": [_chunk(text, outcome)]}
        case "mcp_approval_response":
            rest = {key: value for key, value in item.items() if key != "reason"}
            return {**rest, "reason": text} if text else rest
        case "tool_search_output":
            return item
        case _:
            return written_body(item, text, parts)


def _chunks(item: Native) -> Sequence[Native]:
    output = item.get("output")
    listed = output if isinstance(output, (list, tuple)) else ()
    return [chunk for chunk in listed if isinstance(chunk, Mapping)]


def _chunk_text(chunk: Native) -> str:
    streams = (chunk.get("stdout"), chunk.get("stderr"))
    return "\n".join(text for text in streams if isinstance(text, str) and text)
