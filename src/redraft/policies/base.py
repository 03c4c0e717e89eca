"""What a policy is: a pure decision about the live context.

To add one, copy the smallest file beside this one. A policy that needs a model's summary or a memory
look-up says so with a `Need`; the session fulfils it and asks again, so that policies are tested with
values and no mocks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from redraft.context import Live, Revision

__all__ = ["Need", "Policy", "Retrieve", "Summarize", "View"]


@dataclass(frozen=True, slots=True)
class Summarize:
    """Ask for a summary.

    Attributes:
        key: names the answer in `View.given`.
        text: what to summarize.
        max_tokens: how long the summary may be, in raw tokens.
        sections: headings under which the summary must sort what it keeps; none for plain prose.
    """

    key: str
    text: str
    max_tokens: int
    sections: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Retrieve:
    """Ask for what a memory holds.

    Attributes:
        key: names the answer in `View.given`.
        query: what to look for.
        limit: how many items at most.
    """

    key: str
    query: str
    limit: int = 8


Need = Summarize | Retrieve


@dataclass(frozen=True, slots=True)
class View:
    """What a policy may look at.

    Attributes:
        live: the live context.
        limit: the budget's limit in raw tokens.
        given: answers to earlier needs, by key; "" where one could not be had.
        tag: the session's tag, which opens whatever is said to the model; "" where there is no session.
    """

    live: Live
    limit: int
    given: Mapping[str, str] = field(default_factory=dict)
    tag: str = ""


class Policy(Protocol):
    """A strategy of context management."""

    @property
    def name(self) -> str:
        """What it is called in reports and on receipts."""

    def decide(self, view: View) -> Revision | Need | None:
        """What to do now: a revision for the door, a need, or nothing."""
