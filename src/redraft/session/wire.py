"""The list that is sent: joined once, mended where it must be, extended as the context grows."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from redraft.context import Live, Turn
from redraft.dialects import Content, Frame, Native, Profile, check, repair
from redraft.dialects.frames import CONTINUE
from redraft.store import Mended

__all__ = ["Wire"]

Mark = tuple[int, int]
"""A boundary in the joined list, and where it lies in the sent one, which a mend may have lengthened."""


class Wire:
    """Keeps the last list that was sent, so that a request costs what changed since.

    Args:
        rules: the rules of the provider; or what they are, for the request's other fields.

    Attributes:
        profile: the rules in force.
        reused: raw tokens of the last request that were, byte for byte, the start of the one before.
        reread: raw tokens of turns that were sent before, unchanged, and must be read again.
        mended: how the last request differs from what its turns join to; None where it does not.
    """

    def __init__(self, rules: Profile | Callable[[Frame], Profile]) -> None:
        self._rules = rules
        self._frame = Frame()
        self.profile = self._ruled(self._frame)
        self.reused = 0
        self.reread = 0
        self.mended: Mended | None = None
        self._turns: tuple[Turn, ...] = ()
        self._joined: list[Native] = []
        self._sent: list[Native] = []
        self._marks: list[Mark] = [(0, 0)]

    def body(self, live: Live) -> dict[str, Any]:
        """The request for `live`: its fields and a fresh list of the very objects to send.

        What breaks a rule is mended on a copy; the live context keeps what was said. What was sent
        before is sent again as it was, so no mend changes bytes that a server may have cached.
        """
        body, name = live.body(), live.dialect.turns_field
        joined: list[Native] = body.get(name, [])
        self._measure(live)
        self._mind(live.frame)
        sent, self._marks = self._extend(joined)
        self._joined, self._sent = joined, sent
        self.mended = _mended(joined, sent)
        return {**body, name: list(sent)}

    def resume(self, live: Live, size: int, mended: Mended | None) -> None:
        """Go on from what another process sent last, so that what it sent is sent again as it was.

        Args:
            live: what it sent, and the results that stood in for missing ones behind it.
            size: how many turns it sent.
            mended: how what they join to was mended.
        """
        sent = replace(live, turns=live.turns[:size])
        self._sent = sent.body().get(live.dialect.turns_field, [])
        if mended is not None:
            self._sent[mended.start : mended.end] = mended.natives
        self.stands_for(live)

    def stands_for(self, live: Live) -> None:
        """Take the last list that was sent for what `live` joins to: it holds the turns as they were sent,
        and `stood_in` behind them."""
        self._turns = live.turns
        self._joined = live.body().get(live.dialect.turns_field, [])
        self.mended = _mended(self._joined, self._sent)

    def _ruled(self, frame: Frame) -> Profile:
        return self._rules if isinstance(self._rules, Profile) else self._rules(frame)

    def _mind(self, frame: Frame) -> None:
        """Where the request's other fields have changed, other rules may hold. What was sent is sent
        again as it was unless that breaks one of them."""
        if frame is self._frame:
            return
        self._frame, self.profile = frame, self._ruled(frame)
        if check(self._sent, self.profile):
            self._joined, self._sent, self._marks, self.mended = [], [], [(0, 0)], None

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The turns that were sent last."""
        return self._turns

    @property
    def sent(self) -> list[Native]:
        """The list that was sent last."""
        return list(self._sent)

    def stood_in(
        self, live: Live, more: Sequence[Content] = (), *, sent: bool = False
    ) -> list[Content]:
        """What a request for `live` held that nobody had said, as the turns that it is once the model has
        answered, for it speaks behind them: results for calls that have none, and words behind words
        of its own.

        Args:
            live: what was sent.
            more: what came behind it since. A call that is answered there has its result.
            sent: whether it was what was sent last, and is followed by these turns.
        """
        rule, name = self.profile.pairing, live.dialect.turns_field
        found: list[Content] = []
        for content, places in _open_calls([turn.content for turn in live.turns], more):
            natives = live.dialect.join(Frame(), [content])[name]
            made = rule.mend(natives) if rule is not None else natives
            given = [one for one in live.dialect.split({name: made})[1] if one.role == "tool"]
            if len(given) == len(content.calls):
                found += [replace(given[at], answers=content.calls[at].id) for at in places]
        return found + (self._end_of(live) if sent else [])

    def _end_of(self, live: Live) -> list[Content]:
        """The words that were put in at the end of the list that was sent."""
        if not self._sent or not self._joined or self._sent[-1] is self._joined[-1]:
            return []
        last = live.dialect.split({live.dialect.turns_field: self._sent[-1:]})[1]
        return [one for one in last[-1:] if one.role == "user" and one.text == CONTINUE]

    def preview(self, live: Live) -> list[Native]:
        """The messages of the next request for `live`, as far as `live` goes: calls that wait for their
        results stay as they are, and nothing stands behind the newest words, though a request must end
        otherwise for some providers. What was sent stays what it was."""
        self._mind(live.frame)
        messages: list[Native] = live.body().get(live.dialect.turns_field, [])
        cut = len(messages)
        if live.open_at < len(live.turns):
            cut = self.profile.boundary(messages, cut)
        shown = self._extend(messages[:cut])[0] + messages[cut:]
        known = set(map(id, messages))
        places = [at for at, native in enumerate(shown, 1) if id(native) in known]
        whole = not messages or all(native is not messages[-1] for native in shown)
        return shown if whole else shown[: places[-1]]

    def _extend(self, messages: list[Native]) -> tuple[list[Native], list[Mark]]:
        """What to send for `messages`, from what was sent before as far as that goes."""
        common = _common(self._joined, messages)
        known = self.profile.boundary(messages, common)
        marks = self._marks[: bisect_right(self._marks, known, key=lambda mark: mark[0])]
        place = _place(known, self.mended)
        start, kept = marks[-1] if place is None else (known, place)
        start, kept = max((start, kept), self._seam(common))
        marks = self._marks[: bisect_right(self._marks, start, key=lambda mark: mark[0])]
        # The last group is looked at again next time: another result may still join it.
        # It may reach back behind what was sent: the model's words behind its words are one turn.
        end = max(self.profile.boundary(messages, len(messages)), start)
        head = self._mended(self._sent[:kept], messages[start:end])
        sent = None if head is None else self._mended(head, messages[end:])
        if head is None or sent is None:
            return list(repair(messages, self.profile)), [(0, 0)]
        if head and start < end < len(messages) and head[-1] is not messages[end - 1]:
            # Something was put in at the very end, maybe since the list ended there, which it does
            # not: then it is no boundary.
            whole = self._mended(self._sent[:kept], messages[start:])
            last = len(head) - 1
            if whole and whole[kept:last] == head[kept:last] and whole[last:][:1] != head[last:]:
                return whole, marks
        return sent, marks + ([(end, len(head))] if end > marks[-1][0] else [])

    def _seam(self, common: int) -> Mark:
        """A boundary in the sent list at or before a place in the joined one. What a mend put between
        two messages parts them, though in the joined list they are one turn."""
        place = _place(common, self.mended)
        if place is None:
            return 0, 0
        kept = self.profile.boundary(self._sent, place)
        if self.mended is None or kept <= self.mended.start:
            return kept, kept
        start = kept - len(self.mended.natives) + (self.mended.end - self.mended.start)
        if start >= self.mended.end:
            return start, kept
        return max(mark for mark in self._marks if mark[1] <= kept)

    def _mended(self, sent: list[Native], more: list[Native]) -> list[Native] | None:
        """`sent`, which is legal, with `more` behind it, legal again; None where that cannot be
        without touching what was sent, e.g. for a result that came very late."""
        longer = sent + more
        if not check(longer, self.profile, len(sent)):
            return longer
        longer = list(repair(longer, self.profile))
        return longer if _common(sent, longer) == len(sent) else None

    def _measure(self, live: Live) -> None:
        """Compare with the request before: what a prefix cache serves, and what it served once but
        cannot serve any more because something before it changed."""
        before, now = self._turns, live.turns
        at = _common(before, now)
        self.reused = sum(turn.tokens for turn in now[:at]) + (live.frame_tokens if before else 0)
        known = set(map(id, before[at:]))
        self.reread = sum(turn.tokens for turn in now[at:] if id(turn) in known) if known else 0
        self._turns = now


def _open_calls(
    contents: Sequence[Content], more: Sequence[Content]
) -> Iterator[tuple[Content, list[int]]]:
    """The turns in `contents` with calls that have no result, neither there nor in `more`, and the places
    of these calls. A result behind the next use of an id belongs to that."""
    waiting: dict[str, list[tuple[Content, int]]] = {}
    for content in (*contents, *more):
        for name in {call.id for call in content.calls}:
            waiting[name] = []
        for at, call in enumerate(content.calls):
            waiting[call.id].append((content, at))
        if content.role == "tool" and waiting.get(content.answers or ""):
            del waiting[content.answers or ""][0]
    places: dict[int, list[int]] = {}
    for content, at in chain.from_iterable(waiting.values()):
        places.setdefault(id(content), []).append(at)
    return ((one, sorted(places[id(one)])) for one in contents if id(one) in places)


def _mended(joined: Sequence[Native], sent: Sequence[Native]) -> Mended | None:
    """The smallest stretch of the joined list that was replaced."""
    start = _common(joined, sent)
    if start == len(joined) == len(sent):
        return None
    end = _common(joined[start:][::-1], sent[start:][::-1])
    return Mended(start, len(joined) - end, tuple(sent[start : len(sent) - end]))


def _place(at: int, mended: Mended | None) -> int | None:
    """Where a boundary in the joined list lies in the sent one; None inside of what was replaced.

    What a mend puts in at the boundary belongs in front of it: the result that the call before it
    lacked.
    """
    if mended is None or at < mended.start:
        return at
    return None if at < mended.end else at + len(mended.natives) - (mended.end - mended.start)


def _common(one: Sequence[object], other: Sequence[object]) -> int:
    """How many leading items are the same objects."""
    at = 0
    for left, right in zip(one, other, strict=False):
        if left is not right:
            break
        at += 1
    return at
