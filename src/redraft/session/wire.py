"""The list that is sent: joined once, extended as the context grows, legal after every path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from redraft.context import Live, Turn
from redraft.dialects import Native, Profile, check, repair
from redraft.dialects.rules import boundary

__all__ = ["Wire"]


class Wire:
    """Keeps the last list that was sent, so that a request costs what changed since.

    Args:
        profile: the rules of the provider.

    Attributes:
        reused: raw tokens of the last request that were, byte for byte, the start of the one before.
        reread: raw tokens of turns that were sent before, unchanged, and must be read again.
    """

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.reused = 0
        self.reread = 0
        self._turns: tuple[Turn, ...] = ()
        self._joined: list[Native] = []
        self._legal = False

    def body(self, live: Live) -> dict[str, Any]:
        """The request for `live`: its fields and a fresh list of the very objects to send.

        A list that breaks a rule is mended on a copy; the live context keeps what was said.
        """
        body = live.body()
        messages: list[Native] = body["messages"]
        self._measure(live)
        start = self._checked(messages)
        self._legal = not check(messages, self.profile, start)
        self._joined = messages
        sent = messages if self._legal else repair(messages, self.profile)
        return {**body, "messages": list(sent)}

    def _checked(self, messages: Sequence[Native]) -> int:
        """How far `messages` is the list that was found legal before."""
        if not self._legal:
            return 0
        same = 0
        for old, new in zip(self._joined, messages, strict=False):
            if old is not new:
                break
            same += 1
        return boundary(messages, same)

    def _measure(self, live: Live) -> None:
        """Compare with the request before: what a prefix cache serves, and what it served once but
        cannot serve any more because something before it changed."""
        before = self._turns
        at = 0
        tokens = live.frame_tokens if before else 0
        for old, new in zip(before, live.turns, strict=False):
            if old is not new:
                break
            at += 1
            tokens += old.tokens
        known = set(map(id, before[at:]))
        self.reused = tokens
        self.reread = sum(turn.tokens for turn in live.turns[at:] if id(turn) in known)
        self._turns = live.turns
