"""A provider's judgement without a server: its rules, and its memory of what it made itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from redraft.testing.binding import Binding
from redraft.testing.refusals import complaints as stateless
from redraft.testing.refusals import gemini, responses

__all__ = ["Judge"]

Body = Mapping[str, Any]


class Judge:
    """Says what a provider would refuse, request by request, as the fake servers do.

    Args:
        dialect: the wire format's name.
        bound: whether Anthropic's thinking is bound to what stood before it.
    """

    def __init__(self, dialect: str, *, bound: bool = True) -> None:
        self._dialect = dialect
        self._bound = bound
        self._binding = Binding()
        self._pairs: dict[str, str] = {}

    def learn(self, body: Body) -> None:
        """Take everything in `body` that the provider signs or pairs for its own, made where it
        stands: a conversation that began elsewhere, or a request with its answer behind it."""
        if self._dialect == "anthropic":
            self._binding.learn(body)
        elif self._dialect == "openai-responses":
            made = responses.made_with(responses.items_of(body))
            self._pairs.update({name: made[name] for name in made if name not in self._pairs})

    def answered(self, body: Body, response: Mapping[str, Any]) -> None:
        """Remember an answer that the provider gave.

        Args:
            body: the request.
            response: the answer, as `redraft.testing.replies.reply` makes it.
        """
        if self._dialect == "anthropic":
            said = {"role": "assistant", "content": response["content"]}
            self.learn({**body, "messages": [*body["messages"], said]})
        elif self._dialect == "openai-responses":
            self.learn({"input": response["output"]})

    def complaints(self, body: Body) -> list[str]:
        """All that the provider would complain of; empty where it takes the request."""
        return self.stateless(body) + list(self._memory(body))

    def stateless(self, body: Body) -> list[str]:
        """What it would complain of whatever it has seen before."""
        return [one.message for one in stateless(self._dialect, body)]

    def _memory(self, body: Body) -> Iterator[str]:
        """What hangs on earlier requests. Signatures of Gemini's count in the current turn only."""
        match self._dialect:
            case "anthropic" if body.get("messages"):
                unfit = list(self._binding.unfit(body))
                yield from (one.says for one in unfit if self._bound or not one.bound)
                yield from (one.says for one in self._binding.parted(body))
            case "openai-responses":
                known = responses.complaints(body, self._pairs)
                plain = {one.message for one in responses.complaints(body)}
                yield from (one.message for one in known if one.message not in plain)
            case "gemini" if body.get("contents"):
                yield from (one.message for one in gemini.unsigned(body))
