"""What turns and frames cost, in raw o200k tokens: additive, exact integers, one turn at a time."""

from __future__ import annotations

from dataclasses import dataclass, field

from redraft.dialects.base import Call, Content, Frame
from redraft.tokens.counter import Counter, default_counter
from redraft.tokens.images import part_tokens
from redraft.tokens.memory import RememberingCounter

__all__ = ["CALL_TOKENS", "FRAME_TOKENS", "TURN_TOKENS", "Meter"]

TURN_TOKENS = 4
"""Framing of one turn: three tokens a message and one for its role, as OpenAI's cookbook counts
("How to count tokens with tiktoken"). A recorded request of two messages agrees to the token."""

CALL_TOKENS = 40
"""One tool call beside its arguments: its name, its id, its framing and that of its result.
Measured on the 87 shortest calls of a recorded Claude session: a call and its result cost 56-65 of
Claude's tokens (the middle half) beyond their texts; 40 and two turns, times 1.34, are 64. OpenAI's
own format needs about half; calibration takes up the difference."""

FRAME_TOKENS = 3
"""The start of the reply, which the server adds to each request (OpenAI's cookbook, as above)."""


@dataclass(frozen=True, slots=True)
class Meter:
    """Counts what a request is made of.

    The size of a request is `frame` plus the sum of `content` over its turns. No family factor and
    no calibration enters here (`Calibration` applies them): sums stay exact.

    Attributes:
        counter: who counts text; by default the fastest that is installed.
    """

    counter: Counter = field(default_factory=default_counter)
    _memory: RememberingCounter = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_memory", RememberingCounter(self.counter))

    def text(self, text: str) -> int:
        """Raw tokens of `text` alone, with no framing."""
        return self._memory.count(text)

    def content(self, content: Content) -> int:
        """Raw tokens of one turn as it is sent.

        Args:
            content: counted are its visible text, its hidden reasoning (which the server may leave
                out of its usage), each call, each part, and the turn's framing.
        """
        return (
            TURN_TOKENS
            + self.text(content.text)
            + self.text(content.hidden)
            + sum(self._call(call) for call in content.calls)
            + sum(part_tokens(part) for part in content.parts)
        )

    def frame(self, frame: Frame) -> int:
        """Raw tokens of everything in a request that is not turns.

        Args:
            frame: each counted text (tools, schemas, instructions) costs itself and a turn's
                framing.
        """
        return FRAME_TOKENS + sum(TURN_TOKENS + self.text(text) for text in frame.counted)

    def _call(self, call: Call) -> int:
        return CALL_TOKENS + self.text(call.arguments)
