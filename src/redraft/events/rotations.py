"""What scheduled policies did to the context, what they could not have, and what it cost outside of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from redraft.events.catalogue import Event

__all__ = ["NeedUnmet", "PolicyActed", "SpentOutside"]


@dataclass(frozen=True, slots=True)
class PolicyActed(Event):
    """A policy rotated the context: its revision is through the door.

    Attributes:
        number: the revision's number.
        time: when, in seconds of the session's clock.
        policy: the policy's name.
        method: the strategy that it used, which is its own name where it has only one.
        why: the reason.
        before: tokens of the context before it.
        after: tokens of the context after it.
        before_raw: the same in raw tokens.
        after_raw: the same in raw tokens.
        spent: tokens that were read and written for it outside of the window, as the server counted.
        critical: how many things had to survive.
        missing: how many of them did not.
    """

    type: ClassVar[str] = "policy_acted"
    number: int
    time: float
    policy: str
    method: str
    why: str
    before: int
    after: int
    before_raw: int
    after_raw: int
    spent: int
    critical: int
    missing: int

    @property
    def saved_raw(self) -> int:
        """Raw tokens that left the context."""
        return self.before_raw - self.after_raw

    @property
    def preserved(self) -> bool:
        """Whether everything that had to survive did."""
        return not self.missing


@dataclass(frozen=True, slots=True)
class NeedUnmet(Event):
    """A summary or a look-up could not be had or used, or the session's state not be kept. Nothing changed;
    whoever asked goes on without it.

    Attributes:
        source: who asked: a policy or a tool.
        need: `summarize`, `retrieve`, `decide` (a policy that asks without end) or `keep` (the state).
        why: the reason, in words.
    """

    type: ClassVar[str] = "need_unmet"
    source: str
    need: str
    why: str


@dataclass(frozen=True, slots=True)
class SpentOutside(Event):
    """Tokens were spent outside of the window, e.g. by a summarizer's call: a line of the spend ledger.

    Attributes:
        purpose: what for: the name of a policy or of a tool.
        prompt: tokens read, as the server counted them.
        output: tokens written.
        model: the model that was asked; "" for the session's own.
    """

    type: ClassVar[str] = "spent_outside"
    purpose: str
    prompt: int
    output: int
    model: str
