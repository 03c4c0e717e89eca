"""Conversations in Chat Completions, as agents build them."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from redraft.testing.strategies.texts import arguments, bodies, images

__all__ = ["chat_conversations"]

Message = dict[str, Any]


@st.composite
def chat_conversations(
    draw: DrawFn,
    *,
    max_exchanges: int = 3,
    surrogates: bool = True,
    interrupted: bool = True,
    repeated_ids: bool = True,
    tool_images: bool = True,
) -> list[Message]:
    """Message lists as agents build them.

    System and developer prompts, user turns with images, cache markers and unknown fields, rounds of
    parallel calls with their results in any order, reasoning, the legacy `function_call`, final
    answers, and words of the user that nobody has answered yet.

    Args:
        max_exchanges: user turns at most; each begins an exchange of up to three rounds.
        surrogates: whether texts may hold lone surrogates.
        interrupted: whether calls may lack their results.
        repeated_ids: whether call ids may repeat from turn to turn, as some providers have it.
        tool_images: whether results may hold images, which OpenAI itself refuses.
    """
    talk = _Talk(draw, _kit(surrogates))
    talk.interrupted = interrupted
    talk.tool_images = tool_images
    talk.repeated_ids = repeated_ids and draw(st.booleans())
    for role in draw(_SYSTEMS):
        talk.messages.append({"role": role, "content": draw(talk.kit.prompt)})
    for _ in range(draw(st.integers(1, max_exchanges))):
        talk.exchange()
    return deepcopy(talk.messages)  # a test may spoil what it is given


@dataclass(frozen=True, slots=True)
class _Kit:
    """Strategies that are made once: to make one costs more than to draw from it."""

    text: SearchStrategy[str]
    spoken: SearchStrategy[str | None]
    final: SearchStrategy[str]
    arguments: SearchStrategy[str]
    prompt: SearchStrategy[str | list[Message]]
    content: SearchStrategy[str | list[Message]]


@cache
def _kit(surrogates: bool) -> _Kit:
    text = bodies(surrogates=surrogates)
    return _Kit(
        text,
        st.none() | text,
        text.filter(bool),
        arguments(surrogates=surrogates),
        _content(text, st.nothing()),
        _content(text, images()),
    )


def _content(
    texts: SearchStrategy[str], others: SearchStrategy[Message]
) -> SearchStrategy[str | list[Message]]:
    """A `content` field: text, or a list of members, some with a cache marker."""
    marker = {"cache_control": {"type": "ephemeral"}}
    member = texts.map(lambda text: {"type": "text", "text": text})
    marked = texts.map(lambda text: {"type": "text", "text": text, **marker})
    return texts | texts | st.lists(member | marked | others, min_size=1, max_size=3)


_EXTRAS: SearchStrategy[Message] = st.sampled_from(
    ({}, {}, {"name": "ana"}, {"x_trace": {"a": [1, None]}})
)
"""Fields that redraft does not know, of the user's messages."""
_SYSTEMS = st.sampled_from(
    ((), ("system",), ("developer",), ("system", "developer"), ("system", "system"))
)
_UPTO = tuple(st.integers(0, most) for most in range(9))
_WIDTHS = st.sampled_from((1, 1, 1, 2, 3))
_ORDERS = {width: st.permutations(range(width)) for width in (1, 2, 3)}


class _Talk:
    """A conversation while it is drawn."""

    def __init__(self, draw: DrawFn, kit: _Kit) -> None:
        self.draw = draw
        self.kit = kit
        self.messages: list[Message] = []
        self.interrupted = False
        self.repeated_ids = False
        self.tool_images = True
        self._calls = 0

    def exchange(self) -> None:
        """The user's words, some rounds, and a final answer, most of the time."""
        words = self.draw(self.kit.content)
        self.messages.append({"role": "user", "content": words, **self.draw(_EXTRAS)})
        for _ in range(self.draw(_UPTO[3])):
            if self.draw(_UPTO[7]) == 7:
                self._legacy_round()
            else:
                self._round()
        if self.draw(_UPTO[3]) < 3:
            self.messages.append(self._spoken(self.draw(self.kit.final)))

    def _spoken(self, content: str | None) -> Message:
        """An assistant message, with or without reasoning."""
        message: Message = {"role": "assistant", "content": content}
        if self.draw(_UPTO[3]) == 3:
            message["reasoning_content"] = self.draw(self.kit.text)
        return message

    def _round(self) -> None:
        """Calls side by side, and their results in any order."""
        width = self.draw(_WIDTHS)
        message = self._spoken(self.draw(self.kit.spoken))
        message["tool_calls"] = [self._call(place) for place in range(width)]
        self.messages.append(message)
        order = self.draw(_ORDERS[width])
        if self.interrupted and self.draw(_UPTO[5]) == 5:
            order = order[: self.draw(_UPTO[width - 1])]
        for place in order:
            name = message["tool_calls"][place]["id"]
            content = self.draw(self.kit.content if self.tool_images else self.kit.prompt)
            self.messages.append({"role": "tool", "tool_call_id": name, "content": content})

    def _call(self, place: int) -> Message:
        self._calls += 1
        name = f"functions.bash:{place}" if self.repeated_ids else f"call_{self._calls}"
        function = {"name": "bash", "arguments": self.draw(self.kit.arguments)}
        return {"id": name, "type": "function", "function": function}

    def _legacy_round(self) -> None:
        message = self._spoken(None)
        message["function_call"] = {"name": "look", "arguments": self.draw(self.kit.arguments)}
        result = {"role": "function", "name": "look", "content": self.draw(self.kit.text)}
        self.messages += [message, result]
