"""Harness notes that a newer one of the same kind has made stale. They say nothing any more."""

from __future__ import annotations

import re

from redraft.context import Change, Live, Origin, Turn
from redraft.dialects.preserve import pending_approvals

__all__ = ["stale_notes"]

_FIGURE = re.compile(r"\d+")
_KIND_WORDS = 6
_WITHDRAWN = re.compile(r"^\s*\[(?:deprecated|superseded|withdrawn|obsolete)\b", re.IGNORECASE)


def stale_notes(live: Live) -> tuple[Change, ...]:
    """The removal of every stale note.

    A note is stale where a newer one begins with the same words, figures aside, or where it says of
    itself that it is withdrawn. Only notes that the harness or the model wrote, with the user role and
    free to change: never pinned text, never the user's own words, never a result, nor what an approval
    waits in.

    Args:
        live: the live context.
    """
    seen: set[str] = set()
    stale: list[Change] = []
    for turn in reversed(live.candidates()):
        if turn.role != "user" or turn.origin not in (Origin.HARNESS, Origin.NOTE):
            continue
        if pending_approvals(turn.content.text, live.settled):
            continue
        kind = _kind(turn)
        repeated = turn.origin is Origin.HARNESS and kind in seen
        if repeated or _WITHDRAWN.match(turn.content.text):
            stale.append(Change(turn.number, turn.digest, None))
        seen.add(kind)
    return tuple(reversed(stale))


def _kind(turn: Turn) -> str:
    return _FIGURE.sub("0", " ".join(turn.content.text.split()[:_KIND_WORDS]))
