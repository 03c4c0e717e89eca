"""What a session offers a model that decides for itself: names and settings, no behaviour.

A session turns these into tools or into the context file; the harness carries out nothing on its own.
"""

from __future__ import annotations

from dataclasses import dataclass

from redraft.policies.options import checked, flag, share, whole

__all__ = ["ContextFile", "ContextTools", "Fold", "OffloadAndRetrieve", "SelfCompact"]


@dataclass(frozen=True, slots=True)
class ContextFile:
    """The live context as a file that the model edits."""

    name: str = "context-file"


@dataclass(frozen=True, slots=True)
class ContextTools:
    """The five context tools; when they are offered is said by the settings `agent_context_tools_*`."""

    name: str = "context-tools"


@dataclass(frozen=True, slots=True)
class OffloadAndRetrieve:
    """Tools that store text outside of the context and fetch it again; nothing is evicted.

    Attributes:
        tokens: raw tokens that one look-up brings at most.
    """

    tokens: int = whole(2_000, least=200)
    name: str = "offload-and-retrieve"

    def __post_init__(self) -> None:
        checked(self)


@dataclass(frozen=True, slots=True)
class SelfCompact:
    """A tool with which the model compacts its context, offered with a rubric on when to use it.

    Attributes:
        offer: the share of the limit from which it is offered.
        every: turns between two offers.
        keep: how many of the newest groups stay unless the model says otherwise.
        carry: whether exact values that a summary lacks are put below it; otherwise it is refused.
        early: whether the tool is among the request's tools from the beginning, and not from the first
            offer on. It always is where a change of the tools would void reasoning.
    """

    offer: float = share(0.37)
    every: int = whole(2, least=1)
    keep: int = whole(3)
    carry: bool = flag(False)
    early: bool = flag(False)
    name: str = "self-compact"

    def __post_init__(self) -> None:
        checked(self)


@dataclass(frozen=True, slots=True)
class Fold:
    """Tools to branch off for a sub-task and to come back with its outcome alone.

    Attributes:
        depth: how many branches may be open inside one another.
        bodies: how many results of a branch keep a stub by which they can be read again, the largest; 0 for
            none, and then there is no tool to read them.
        least: raw tokens from which a result keeps one.
    """

    depth: int = whole(3, least=1)
    bodies: int = whole(1)
    least: int = whole(1_000, least=100)
    name: str = "fold"

    def __post_init__(self) -> None:
        checked(self)
