"""The policies that let a model act, in a session: which tools each brings, and who answers their calls."""

from __future__ import annotations

from collections.abc import Sequence

from redraft.context import Gate
from redraft.dialects import Dialect, Native
from redraft.dialects.capabilities import Reasoning
from redraft.policies import Fold, SelfCompact, offered
from redraft.prompts.actions import (
    BRANCH_GUIDE,
    COMPACT_GUIDE,
    FETCH_GUIDE,
    RETURN_GUIDE,
    STORE_GUIDE,
)
from redraft.session.action_compact import CompactTool
from redraft.session.action_fold import RETURN, BranchTools
from redraft.session.action_memory import MemoryTools
from redraft.session.controller import Controller
from redraft.session.core import Core
from redraft.session.edits import Edits
from redraft.session.terms import Terms
from redraft.session.toolsets import Toolset
from redraft.store.memory import SQLiteMemory
from redraft.store.memory_base import Memory
from redraft.tools import (
    BRANCH,
    COMPACT_CONTEXT,
    CONTEXT_TOOLS,
    MEMORY_FETCH,
    MEMORY_STORE,
    RETURN_FROM_BRANCH,
    guided,
    in_words,
)

__all__ = ["EDITING", "action_tools", "action_toolset", "late_tools"]

EDITING = ("compact_context", RETURN)
"""The tools whose calls are edits."""

_COMPACT = guided(COMPACT_CONTEXT, COMPACT_GUIDE)
_BRANCHES = (guided(BRANCH, BRANCH_GUIDE), guided(RETURN_FROM_BRANCH, RETURN_GUIDE))
_MEMORY = (guided(MEMORY_STORE, STORE_GUIDE), guided(MEMORY_FETCH, FETCH_GUIDE))
_READ = next(tool for tool in CONTEXT_TOOLS if tool["function"]["name"] == "read_overflow")


def action_tools(terms: Terms, dialect: Dialect, binding: Reasoning) -> Sequence[Native]:
    """The tools that are in the request from the beginning, as Chat Completions write them.

    Tools change at most once in a session. `compact_context` joins the request with its first offer,
    unless that would void reasoning that is bound to the tools, or the system prompt describes them.

    Args:
        terms: what the session is set up with.
        dialect: the wire format.
        binding: what a change in front of the model's reasoning does to it.
    """
    if not terms.has_actions:
        return ()
    match offered(terms.policy, terms.policy_options):
        case Fold(bodies=bodies):
            return _branches(bodies)
        case SelfCompact(early=early):
            early = early or binding != "free" or in_words(dialect.name)
            return (_COMPACT,) if early else ()
        case _:
            return _MEMORY


def late_tools(terms: Terms) -> Sequence[Native]:
    """The tools that may join the request later, unless they are in it from the beginning.

    Args:
        terms: what the session is set up with.
    """
    return (_COMPACT,) if terms.has_actions and terms.policy == "self-compact" else ()


def action_toolset(
    terms: Terms, memory: Memory | None, core: Core, controller: Controller, edits: Edits
) -> Toolset:
    """Who answers the calls of such a policy's tools.

    Args:
        terms: what the session is set up with; its policy is one of `ACTION_POLICIES`.
        memory: where facts are kept; None for a memory that ends with the process.
        core, controller, edits: the session's parts.

    Raises:
        SettingsError: an option of the policy cannot be used.
    """
    offer = offered(terms.policy, terms.policy_options)
    tag, gate = terms.tag, Gate(terms.gate)
    match offer:
        case Fold():
            tools = _branches(offer.bodies)
            return BranchTools(core, controller, edits, offer, tools, gate=gate, tag=tag)
        case SelfCompact():
            return CompactTool(core, controller, edits, offer, _COMPACT, gate=gate, tag=tag)
        case _:
            kept = memory or SQLiteMemory(None)
            return MemoryTools(core, controller, kept, offer, _MEMORY, tag=tag)


def _branches(bodies: int) -> Sequence[Native]:
    return (*_BRANCHES, _READ) if bodies else _BRANCHES
