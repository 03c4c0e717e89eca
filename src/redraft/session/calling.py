"""How a model calls tools that writes its calls as text, and what is said of calls nobody can run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from redraft import prompts
from redraft.dialects import Call, Dialect, Native
from redraft.dialects.fenced_calls import UNREADABLE
from redraft.errors import DialectError, SettingsError
from redraft.tools import EDIT_CONTEXT, described, in_words

__all__ = ["calls_part", "must_name_no_tools", "taken", "unfit_result"]

_NAMED = ("tool_choice", "parallel_tool_calls", "functions", "function_call")


def calls_part(
    dialect: Dialect,
    tools: Sequence[object] | None,
    *,
    own_tool: bool,
    own: Sequence[Native] = (),
) -> str:
    """What the system prompt says about calling tools; "" where requests hold them.

    Args:
        dialect: the wire format.
        tools: the client's tools, as Chat Completions write them.
        own_tool: whether the model has the tool `edit_context`.
        own: other tools of ours that it has from the beginning.

    Raises:
        SettingsError: something among the tools is no function tool, or has the name of one of ours.
    """
    if not in_words(dialect.name):
        return ""
    given: list[Any] = list(tools or ())
    try:
        words = [described(tool) for tool in given]
    except DialectError as error:
        raise SettingsError(f"`tools`: {error}") from error
    if own_tool and not any(tool["function"]["name"] == "edit_context" for tool in given):
        words.append(described(EDIT_CONTEXT))
    for tool in own:
        if any(tool["function"]["name"] == one["function"]["name"] for one in given):
            raise taken(tool)
        words.append(described(tool))
    return prompts.calls_section(words)


def taken(tool: Native) -> SettingsError:
    """The error for a client's tool with the name of one of ours.

    Args:
        tool: ours, as Chat Completions write it.
    """
    name = tool["function"]["name"]
    return SettingsError(
        f"`tools` has a tool named {name!r}, which is a tool of the policy's own; give yours another name, "
        "or choose another policy."
    )


def must_name_no_tools(dialect: Dialect, fields: Mapping[str, Any]) -> None:
    """Raise `SettingsError` where a request's fields speak of tools that it does not hold: a server
    refuses that."""
    named = [name for name in _NAMED if name in fields]
    if named and in_words(dialect.name):
        raise SettingsError(
            f"`parameters` may not hold `{named[0]}` on the fenced route: requests hold no tools there. "
            "Leave it out."
        )


def unfit_result(dialect: Dialect, call: Call, tag: str, *, cut_off: bool = False) -> str:
    """What a call is answered with whose arguments cannot be read.

    Args:
        dialect: the wire format.
        call: the call.
        tag: the session's tag.
        cut_off: whether the reply broke off.
    """
    if in_words(dialect.name) and call.name == UNREADABLE:
        return prompts.unreadable_fence_result(tag, cut=cut_off)
    return prompts.cut_off_result(tag) if cut_off else prompts.unreadable_result(tag)
