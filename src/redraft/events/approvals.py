"""Approvals as events: a call waits, a person decides, the outcome reaches the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from redraft.events.catalogue import Event

__all__ = ["ApprovalAsked", "ApprovalDecided", "ApprovalSettled"]


@dataclass(frozen=True, slots=True)
class ApprovalAsked(Event):
    """A call was not run: it waits for a person.

    Attributes:
        id: names the approval.
        tool: the tool that was called.
        asked: what is to be approved, in one line; it may quote the model.
    """

    type: ClassVar[str] = "approval_asked"
    id: str
    tool: str
    asked: str


@dataclass(frozen=True, slots=True)
class ApprovalDecided(Event):
    """A person decided on an approval.

    Attributes:
        id: names the approval.
        verdict: `granted` or `rejected`.
        why: the person's reason; "" for none.
    """

    type: ClassVar[str] = "approval_decided"
    id: str
    verdict: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class ApprovalSettled(Event):
    """What became of a call that waited stands in the context.

    Attributes:
        id: names the approval.
        in_place: whether it took the place of the result that said that the call waits; otherwise it is
            a turn of its own.
    """

    type: ClassVar[str] = "approval_settled"
    id: str
    in_place: bool
