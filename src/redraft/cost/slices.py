"""Turns and frames cut into segments, each distinct one once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import Literal

from redraft.context import Live, Turn
from redraft.cost.requests import Cause, Kind, Mark, Request, Segment, common_length
from redraft.dialects.base import Content, Frame
from redraft.tokens import CALL_TOKENS, TURN_TOKENS, Meter, part_tokens
from redraft.tokens.pieces import as_sent, pieces

__all__ = ["Reasoning", "Slicer", "name_of"]

Reasoning = Literal["keep", "recent", "drop"]
"""What the chat template does with earlier reasoning: send all of it, send only that behind the last
user turn (Qwen3, DeepSeek, gpt-oss and most open models), or send none."""


class Slicer:
    """Makes requests from live contexts. Each turn is cut and hashed once, however often it is sent.

    Args:
        meter: counts; segments of a turn add up to the turn's tokens.
        reasoning: what becomes of hidden reasoning; see `Reasoning`.
        ratio: the server's tokens for one of ours. Sizes are multiplied by it and rounded such that
            a turn's size is off by less than one token.
        unseen: tokens of system prompt and tools that the recording does not hold; they stand first.
    """

    def __init__(
        self,
        meter: Meter,
        *,
        reasoning: Reasoning = "keep",
        ratio: float = 1.0,
        unseen: int = 0,
    ) -> None:
        self._meter = meter
        self._reasoning = reasoning
        self._ratio = ratio
        self._unseen = (Segment(name_of("unseen"), unseen, "frame"),) if unseen else ()
        # By identity: turns are immutable, and the value keeps its turn alive.
        self._turns: dict[int, tuple[Turn, tuple[Segment, ...]]] = {}
        self._frames: dict[int, tuple[Frame, tuple[Segment, ...]]] = {}
        self._last: dict[str, tuple[tuple[Turn, ...], list[Segment], list[int]]] = {}

    def request(
        self,
        live: Live,
        *,
        at: float | None = None,
        thread: str = "",
        changed: Cause | None = None,
        model: str = "",
        settings: str = "",
        marks: tuple[Mark, ...] = (),
    ) -> Request:
        """The request that `live` makes.

        Args:
            live: the context.
            at, thread, changed, model, marks: as in `Request`.
            settings: names what else the prompt depends on, e.g. the reasoning effort; empty for
                nothing. It takes no tokens and breaks the prefix behind the frame when it changes.
        """
        lead = _lead(live.turns)
        segments, ends = self._joined(thread, live.turns)
        head = [*self._unseen, *self.frame(live.frame), *segments[: ends[lead]]]
        if settings:
            head.append(Segment(name_of("settings", settings), 0, "frame", ends=False))
        whole = self._reasoning == "keep"
        rest = segments[ends[lead] :] if whole else self._thinned(live.turns, segments, ends, lead)
        return Request((*head, *rest), at, thread, changed, model, marks)

    def _joined(self, thread: str, turns: tuple[Turn, ...]) -> tuple[list[Segment], list[int]]:
        """The segments of `turns`, and how many there are up to each turn's start. What the thread's
        turns before began with is not joined again."""
        old, segments, ends = self._last.get(thread, ((), [], [0]))
        same = common_length(old, turns)
        segments = segments[: ends[same]]
        ends = ends[: same + 1]
        for turn in turns[same:]:
            segments += self.turn(turn)
            ends.append(len(segments))
        self._last[thread] = (turns, segments, ends)
        return segments, ends

    def _thinned(
        self, turns: Sequence[Turn], segments: list[Segment], ends: list[int], lead: int
    ) -> list[Segment]:
        """The segments from `lead` on, without the reasoning that the chat template leaves out."""
        sent = len(segments)  # from here on reasoning is sent
        if self._reasoning == "recent":
            back = range(len(turns) - 1, lead - 1, -1)
            last = next((at for at in back if turns[at].role == "user"), lead - 1)
            sent = ends[last + 1]
        earlier = segments[ends[lead] : sent]
        return [one for one in earlier if one.kind != "reasoning"] + segments[sent:]

    def frame(self, frame: Frame) -> tuple[Segment, ...]:
        """The segments of a frame: one for each counted text."""
        found = self._frames.get(id(frame))
        if found is None:
            cut = tuple(self._scaled(list(self._frame(frame))))
            found = self._frames[id(frame)] = (frame, cut)
        return found[1]

    def turn(self, turn: Turn) -> tuple[Segment, ...]:
        """The segments of a turn: its reasoning, the pieces of its text, its calls, its parts."""
        found = self._turns.get(id(turn))
        if found is None:
            cut = tuple(self._scaled(list(self._cut(turn))))
            found = self._turns[id(turn)] = (turn, cut)
        return found[1]

    def _frame(self, frame: Frame) -> Iterator[Segment]:
        left = self._meter.frame(frame)
        for text in frame.counted:
            tokens = TURN_TOKENS + self._meter.text(text)
            left -= tokens
            yield Segment(name_of("frame", text), tokens, "frame")
        # What every request has, of which the start of the answer is the most.
        yield Segment(name_of("framing"), left, "frame", ends=False)

    def _cut(self, turn: Turn) -> Iterator[Segment]:
        content = turn.content
        kind: Kind = "frame" if turn.role == "system" else "turn"
        rest = [*self._calls(content), *self._parts(content)]
        text = as_sent(content.text)
        cut = list(pieces(text))
        sizes = [self._meter.text(piece) for piece in cut]
        hidden = self._meter.text(content.hidden) if content.hidden else 0
        if content.hidden:
            yield Segment(name_of("reasoning", content.hidden), hidden, "reasoning")
        # What is left is the turn's framing; it stands in front.
        framing = turn.tokens - hidden - sum(sizes) - sum(segment.tokens for segment in rest)
        header = name_of(turn.role, content.answers or "")
        if not cut:
            yield Segment(header, framing, kind, ends=not rest)
        for at, piece in enumerate(cut):
            yield Segment(
                name_of(header if at == 0 else "", piece),
                sizes[at] + (framing if at == 0 else 0),
                kind,
                ends=at == len(cut) - 1,
            )
        yield from rest

    def _calls(self, content: Content) -> Iterator[Segment]:
        for call in content.calls:
            tokens = CALL_TOKENS + self._meter.text(call.arguments)
            yield Segment(name_of("call", call.id, call.name, call.arguments), tokens)

    def _parts(self, content: Content) -> Iterator[Segment]:
        if content.parts:
            natives = json.dumps(content.carriers, sort_keys=True, default=str)
            for part in content.parts:
                name = name_of("part", str(part.index), part.label, natives)
                yield Segment(name, part_tokens(part))

    def _scaled(self, segments: Sequence[Segment]) -> Iterator[Segment]:
        if self._ratio == 1.0:
            yield from segments
            return
        raw = done = 0
        for one in segments:
            raw += one.tokens
            tokens = round(raw * self._ratio) - done
            done += tokens
            yield Segment(one.digest, tokens, one.kind, one.ends)


def name_of(*texts: str) -> str:
    """The digest of some texts, in order; their borders count."""
    sha = hashlib.blake2b(digest_size=16)
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        sha.update(len(data).to_bytes(8, "big"))
        sha.update(data)
    return sha.hexdigest()


def _lead(turns: Sequence[Turn]) -> int:
    at = 0
    while at < len(turns) and turns[at].role == "system":
        at += 1
    return at
