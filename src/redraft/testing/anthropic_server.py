"""A server that speaks Anthropic's Messages API, for tests of clients over a real socket.

It enforces the API's rules by checks of its own (`redraft.testing.refusals`), signs thinking and holds
it to its prefix, and reports what a prompt cache read and wrote.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from redraft.testing.binding import CONTROL, Binding, Unfit
from redraft.testing.chat_views import from_anthropic
from redraft.testing.events import anthropic_events
from redraft.testing.faults import OVERFLOWS, Answer, Fault, anthropic_error, cut_message
from redraft.testing.prefixes import MarkedCache, anthropic_pieces
from redraft.testing.refusals.anthropic import complaints
from redraft.testing.replies import anthropic_blocks
from redraft.testing.sockets import LocalServer, Received

__all__ = ["FakeAnthropic"]

Request = Mapping[str, Any]

_STOPS = {"length": "max_tokens", "content_filter": "refusal"}


def _rough_count(body: Request) -> int:
    return sum(len(piece.data) for piece in anthropic_pieces(body)) // 4


class FakeAnthropic(LocalServer):
    """The Messages API on a free port of 127.0.0.1. Use it in a `with` block.

    Answers `POST /v1/messages`, whole or as a stream. A request is recorded, then meets the next fault,
    the key, the API's rules, the signatures of its thinking, the window and last the player. The
    player's `reasoning_content` becomes a signed thinking block; `native`, a list of blocks, is sent as
    it is, before text and calls.

    Args:
        player: makes the assistant message from the request, which it is shown as Chat Completions.
        window: prompt tokens above which a request is refused; None for no limit.
        count: the prompt tokens of a request; four bytes a token if None.
        key: the `x-api-key` to demand; None to take any.
        faults: what goes wrong, request by request; `None` in it stands for nothing.
        models: the models that exist; another one is answered with 404. None to take any.
        bound: whether thinking is bound to the prefix under which it was made, as with the models
            since Claude Fable 5.1; without it only a changed or foreign signature is refused.
        cache_minimum: tokens below which a cache marker stores nothing.

    Attributes:
        bodies: the raw body of each request, in the order they came.
        refused: the messages of the API's own refusals, in the order they were sent.
        failures: exceptions of the player and of the other functions. Leaving the `with` block
            raises the first one.
    """

    def __init__(
        self,
        player: Callable[[Request], Mapping[str, Any]],
        *,
        window: int | None = None,
        count: Callable[[Request], int] | None = None,
        key: str | None = None,
        faults: Iterable[Fault | None] = (),
        models: Iterable[str] | None = None,
        bound: bool = True,
        cache_minimum: int = 0,
    ) -> None:
        self.refused: list[str] = []
        self._count = count or _rough_count
        self._bound = bound
        self._binding = Binding()
        self._cache = MarkedCache(cache_minimum)
        self._answered = 0
        super().__init__(player, window=window, models=models, key=key, faults=faults)

    def remember(self, body: Request) -> None:
        """Take the thinking in `body` for the server's own, made where it stands: for conversations
        that began before the test did."""
        self._binding.learn(body)

    def _knows(self, path: str) -> bool:
        return path.partition("?")[0] == "/v1/messages"

    def _error(self, status: int, message: str) -> Answer:
        return anthropic_error(status, message, request=f"req_{len(self.bodies):024}")

    def _key_of(self, received: Received) -> str:
        return received.headers.get("x-api-key") or received.bearer

    def _wrong_key(self, _received: Received) -> Answer:
        return self._error(401, "invalid x-api-key")

    def _refusal(self, message: str) -> Answer:
        self.refused.append(message)
        return self._error(400, message)

    def _play(self, received: Received, fault: Fault) -> Answer:
        if "anthropic-version" not in received.headers:
            return self._refusal("anthropic-version: header is required")
        request = received.json()
        if request is None:
            return self._refusal("The request body is not valid JSON")
        with self._lock:
            return self._judge(request, received.headers.get("anthropic-beta", ""), fault)

    def _judge(self, request: dict[str, Any], beta: str, fault: Fault) -> Answer:
        """The answer of the rules, the signatures, the window or the player."""
        found = next(complaints(request), None)
        if found is not None:
            return self._refusal(found.message)
        if not self._has(request["model"]):
            return self._error(404, f"model: {request['model']}")
        dropping = _drops(request)
        if dropping and CONTROL not in beta:
            return self._refusal(
                "thinking.block_binding: this setting requires the "
                f"`{CONTROL}` value in the `anthropic-beta` header."
            )
        unfit = list(self._binding.unfit(request))
        if not self._bound:
            unfit = [one for one in unfit if not one.bound]
        fatal = [one for one in unfit if not (one.bound and dropping)]
        fatal += self._binding.parted(request)
        if fatal:
            return self._refusal(fatal[0].says)
        prompt = self._count(request)
        if self._window is not None and prompt > self._window:
            return OVERFLOWS["anthropic"](prompt, self._window)
        return self._said(
            _without(request, unfit), prompt, unfit, fault, stream=request.get("stream")
        )

    def _said(
        self,
        seen: dict[str, Any],
        prompt: int,
        dropped: Sequence[Unfit],
        fault: Fault,
        *,
        stream: object,
    ) -> Answer:
        message = dict(self._player(from_anthropic(seen)))
        stop = "tool_use" if message.get("tool_calls") else "end_turn"
        if fault.finish_reason is not None:
            message = cut_message(message)
            stop = _STOPS.get(fault.finish_reason, fault.finish_reason)
        blocks = self._binding.sign(seen, anthropic_blocks(message))
        use = self._cache.use(anthropic_pieces(seen), prompt)
        self._answered += 1
        answer: dict[str, Any] = {
            "id": f"msg_{self._answered:024}",
            "type": "message",
            "role": "assistant",
            "model": seen["model"],
            "content": blocks,
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": {
                "input_tokens": use.fresh,
                "cache_creation_input_tokens": use.written,
                "cache_read_input_tokens": use.read,
                "output_tokens": len(json.dumps(blocks)) // 4,
            },
        }
        if dropped:
            answer["input_transformations"] = [_dropped(one) for one in dropped]
        headers = (("request-id", f"req_{len(self.bodies):024}"),)
        if stream:
            events = (("Content-Type", "text/event-stream"), *headers)
            return Answer(200, b"".join(anthropic_events(answer)), events)
        return Answer(
            200, json.dumps(answer).encode(), (("Content-Type", "application/json"), *headers)
        )


def _drops(request: Request) -> bool:
    """Whether the request asks for dropping thinking whose prefix has changed."""
    thinking = request.get("thinking")
    control = thinking.get("block_binding") if isinstance(thinking, Mapping) else None
    behavior = control.get("prefix_mismatch_behavior") if isinstance(control, Mapping) else None
    return behavior == "drop_block"


def _without(request: Request, unfit: Sequence[Unfit]) -> dict[str, Any]:
    """The request as the model sees it: less the thinking that it may not read."""
    paths = {one.path for one in unfit}
    messages = []
    for at, message in enumerate(request["messages"]):
        content = message["content"]
        if isinstance(content, list):
            content = [
                block
                for place, block in enumerate(content)
                if f"messages.{at}.content.{place}" not in paths
            ]
        messages.append({**message, "content": content})
    return {**request, "messages": messages}


def _dropped(unfit: Unfit) -> dict[str, str]:
    return {"type": "thinking_dropped", "path": unfit.path, "reason": "prefix_binding_mismatch"}
