"""The items of OpenAI's Responses API: what each one is, what names its call, what it holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum

from redraft.dialects.base import Native
from redraft.dialects.chat_natives import dump

__all__ = [
    "Kind",
    "call_id_of",
    "content_field",
    "has_free_id",
    "is_hosted",
    "kind_of",
    "member_text",
    "members_of",
    "type_of",
    "without_id",
]


class Kind(Enum):
    """What an item, or a member of one, is."""

    MESSAGE = "message"
    TEXT = "text"
    THOUGHT = "thought"
    """Reasoning: sent as it came or not at all, never shown."""
    CALL = "call"
    """What the client must answer: a function, a custom tool, the client's computer or shell."""
    RESULT = "result"
    STATE = "state"
    """What the server needs to go on and nobody may prune: tools that a search has revealed."""
    LONE = "lone"
    """State that stands by itself, in no turn of the model's: a compaction, further tools."""
    PART = "part"
    """Anything else: what the server's own tools did, an image, a type that nobody knows yet."""


_KINDS = {
    "message": Kind.MESSAGE,
    "reasoning": Kind.THOUGHT,
    "function_call": Kind.CALL,
    "custom_tool_call": Kind.CALL,
    "computer_call": Kind.CALL,
    "local_shell_call": Kind.CALL,
    "shell_call": Kind.CALL,
    "apply_patch_call": Kind.CALL,
    "mcp_approval_request": Kind.CALL,
    "function_call_output": Kind.RESULT,
    "custom_tool_call_output": Kind.RESULT,
    "computer_call_output": Kind.RESULT,
    "local_shell_call_output": Kind.RESULT,
    "shell_call_output": Kind.RESULT,
    "apply_patch_call_output": Kind.RESULT,
    "mcp_approval_response": Kind.RESULT,
    "compaction": Kind.LONE,
    "compaction_trigger": Kind.LONE,
    "additional_tools": Kind.LONE,
    "configuration_update": Kind.LONE,
}

_FREE_IDS = frozenset(
    {
        *("message", "function_call", "custom_tool_call", "shell_call", "shell_call_output"),
        *("apply_patch_call", "tool_search_call", "tool_search_output"),
    }
)
"""Items that may be sent without their `id` (`ResponseInputItemParam` in the SDK requires the id of
all others). Without it the server does not ask for the reasoning that it was made with."""

_TEXTS = {"output_text": "text", "input_text": "text", "text": "text", "refusal": "refusal"}


def type_of(item: Native) -> str:
    """The type of an item. Messages may leave it out; what has nothing but an id is a reference."""
    kind = item.get("type")
    if isinstance(kind, str) and kind:
        return kind
    return "message" if "role" in item or "content" in item else "item_reference"


def kind_of(item: Native) -> Kind:
    """What an item is, looked at by itself."""
    match type_of(item):
        case "shell_call" if _in_container(item):
            return Kind.PART
        case "tool_search_call":
            return Kind.CALL if item.get("execution") == "client" else Kind.STATE
        case "tool_search_output":
            return Kind.RESULT if item.get("execution") == "client" else Kind.STATE
        case "item_reference" if str(item.get("id")).startswith("rs_"):
            return Kind.THOUGHT
        case kind:
            return _KINDS.get(kind, Kind.PART)


def _in_container(item: Native) -> bool:
    """Whether a shell call was run by the server, in a container of its own."""
    environment = item.get("environment")
    return isinstance(environment, Mapping) and environment.get("type") == "container_reference"


def is_hosted(result: Native, run: Sequence[Native]) -> bool:
    """Whether a result was made by the server, and so belongs to the model's own items before it."""
    name = call_id_of(result)
    return any(call_id_of(item) == name and _in_container(item) for item in run)


def call_id_of(item: Native) -> str:
    """What names the call that an item makes or answers. An approval is named by its request's id;
    the SDK's type of a local shell's output has the call's id as its own (`LocalShellCallOutput`)."""
    match type_of(item):
        case "mcp_approval_request":
            return str(item.get("id") or "")
        case "mcp_approval_response":
            return str(item.get("approval_request_id") or "")
        case "local_shell_call_output":
            return str(item.get("call_id") or item.get("id") or "")
        case _:
            return str(item.get("call_id") or "")


def has_free_id(item: Native) -> bool:
    """Whether an item may be sent without its `id`."""
    return type_of(item) in _FREE_IDS


def without_id(item: Native) -> Native:
    """The item without its `id`; the item itself where it has none, or cannot do without."""
    if "id" not in item or not has_free_id(item):
        return item
    return {key: value for key, value in item.items() if key != "id"}


def content_field(item: Native) -> str:
    """The key of an item that holds its text or members."""
    return "content" if type_of(item) == "message" else "output"


def members_of(item: Native) -> Sequence[Native]:
    """The members of a message or a result; plain text is one, and what is neither is shown as JSON."""
    body = item.get(content_field(item))
    if isinstance(body, (list, tuple)):
        return body
    text = body if isinstance(body, str) else "" if body is None else dump(body)
    kind = "output_text" if item.get("role") == "assistant" else "input_text"
    return ({"type": kind, "text": text},) if text else ()


def member_text(member: Native) -> str | None:
    """The text of a member; None where it is none."""
    text = member.get(_TEXTS.get(str(member.get("type")), ""))
    return text if isinstance(text, str) else None
