"""Requests for the tests of the cost models: made of letters, or drawn at random."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from redraft.context import Live
from redraft.cost import Cause, Request, Segment
from redraft.dialects import OpenAIChat
from redraft.tokens import Meter

__all__ = ["PLAN", "chat", "of", "runs", "segment"]


class Words:
    """Counts one token a word, so that sizes in a test can be seen."""

    def count(self, text: str) -> int:
        return len(text.split())


PLAN = Meter(Words())


def segment(name: str, tokens: int = 100, kind: Any = "turn") -> Segment:
    return Segment(name, tokens, kind)


def of(names: str, tokens: int = 100, **more: Any) -> Request:
    """A request of one segment a letter: capitals are the frame, `*` behind a letter makes it
    reasoning."""
    segments: list[Segment] = []
    for letter in names:
        if letter == "*":
            last = segments.pop()
            segments.append(Segment(last.digest, last.tokens, "reasoning"))
        else:
            segments.append(segment(letter, tokens, "frame" if letter.isupper() else "turn"))
    return Request(tuple(segments), **more)


def chat(*messages: tuple[str, str]) -> Live:
    """A live context of chat messages, given as (role, text)."""
    frame, contents = OpenAIChat().split(
        {"messages": [{"role": role, "content": text} for role, text in messages]}
    )
    return Live.start(OpenAIChat(), PLAN, frame, contents)


@st.composite
def runs(draw: st.DrawFn, most: int = 12) -> Sequence[Request]:
    """A run of requests over a small alphabet, so that prefixes and spans come back; each letter has
    one size in the whole run."""
    sizes = {name: draw(st.integers(0, 900)) for name in "abcdefgh"}
    at = 0.0
    made = []
    for _ in range(draw(st.integers(1, most))):
        at += draw(st.sampled_from([0.0, 10.0, 400.0, 5_000.0]))
        names = draw(st.text("abcdefgh", max_size=10))
        kinds = ["frame"] + ["turn"] * len(names)
        made.append(
            Request(
                tuple(
                    segment(name, sizes[name], kind)
                    for name, kind in zip(names, kinds, strict=False)
                ),
                at,
                draw(st.sampled_from(["", "other"])),
                draw(st.sampled_from([None, Cause.EDIT, Cause.ROLLBACK, Cause.POLICY])),
                draw(st.sampled_from(["", "m"])),
            )
        )
    return made
