"""A server that speaks Chat Completions, for tests of clients over a real socket.

What it answers is a function of the request alone, so a test can say what must happen. What it was
sent is kept byte for byte. It can refuse, break off, stall and talk nonsense on demand.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from redraft.testing.completions import (
    chat_completion,
    common_prefix,
    prefix_tokens,
    rendering,
    stream_events,
    usage,
)
from redraft.testing.faults import OVERFLOWS, Answer, Fault, cut_message, error_answer
from redraft.testing.refusals.chat import complaints
from redraft.testing.sockets import LocalServer, Received

__all__ = ["FakeServer", "refused_by_openai"]

Request = Mapping[str, Any]

_EVENTS = (("Content-Type", "text/event-stream"),)
_BYTES_PER_TOKEN = 4


def refused_by_openai(request: Request) -> str | None:
    """A `check` for `FakeServer`: what Chat Completions would refuse, in OpenAI's words, or None."""
    found = next(complaints(request), None)
    return None if found is None else found.message


def _rough_count(request: Request) -> int:
    """Four bytes a token, for tests that do not care."""
    return sum(map(len, rendering(request))) // _BYTES_PER_TOKEN


class FakeServer(LocalServer):
    """An OpenAI-compatible server on a free port of 127.0.0.1. Use it in a `with` block.

    Answers `POST /v1/chat/completions`, whole or as a stream, and `GET /v1/models`. A request is
    recorded, then meets the next fault, the key, the check, the window and last the player.

    Args:
        player: makes the assistant message from the request.
        window: prompt tokens above which a request is refused; None for no limit.
        count: the prompt tokens of a request, also of one whose messages are a prefix or none at all;
            four bytes a token if None.
        key: the bearer key to demand; None to take any.
        faults: what goes wrong, request by request; `None` in it stands for nothing.
        check: what is wrong with a message list, or None; answered with 400. `refused_by_openai`
            holds the rules of Chat Completions.
        overflow: whose words to use for a request over the window; a key of `OVERFLOWS`.
        models: the models that exist; another one is answered with 404. None to take any.

    Attributes:
        bodies: the raw body of each completion request, in the order they came.
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
        check: Callable[[Request], str | None] | None = None,
        overflow: str = "openai",
        models: Iterable[str] | None = None,
    ) -> None:
        self._count = count or _rough_count
        self._check = check
        self._overflow = OVERFLOWS[overflow]
        self._seen: list[bytes] = []
        super().__init__(player, window=window, models=models, key=key, faults=faults)

    @property
    def base_url(self) -> str:
        """The URL to give to a client."""
        return f"{super().base_url}/v1"

    def _knows(self, path: str) -> bool:
        return path == "/v1/chat/completions"

    def _error(self, status: int, message: str) -> Answer:
        kind = "server_error" if status >= 500 else "invalid_request_error"
        return error_answer(status, message, kind=kind)

    def _key_of(self, received: Received) -> str:
        return received.bearer

    def _wrong_key(self, received: Received) -> Answer:
        text = f"Incorrect API key provided: {received.bearer}."
        return error_answer(401, text, kind="invalid_request_error", code="invalid_api_key")

    def _listing(self, path: str) -> Answer | None:
        if path != "/v1/models":
            return None
        models = [
            {"id": name, "object": "model", "created": 0, "owned_by": "fake"}
            for name in self._models or ("fake-model",)
        ]
        return Answer(200, json.dumps({"object": "list", "data": models}).encode())

    def _play(self, received: Received, fault: Fault) -> Answer:
        """The answer of the check, the window or the player."""
        request = received.json() or {}
        messages = request.get("messages")
        if not isinstance(messages, list) or not messages:
            return self._error(400, "The body must be a JSON object with a list of messages.")
        model = str(request.get("model"))
        if not self._has(model):
            text = f"The model `{model}` does not exist or you do not have access to it."
            return error_answer(404, text, kind="invalid_request_error", code="model_not_found")
        complaint = self._check(request) if self._check else None
        if complaint is not None:
            return self._error(400, complaint)
        prompt = self._count(request)
        if self._window is not None and prompt > self._window:
            return self._overflow(prompt, self._window)
        message = dict(self._player(request))
        finish = "tool_calls" if message.get("tool_calls") else "stop"
        if fault.finish_reason is not None:
            message, finish = cut_message(message), fault.finish_reason
        cached, number = self._remember(request)
        counts = usage(prompt, min(cached, prompt), self._output_tokens(request, message, prompt))
        return _completed(request, chat_completion(number, model, message, finish, counts))

    def _remember(self, request: Request) -> tuple[int, int]:
        """Tokens that an earlier answered request began with too, and this answer's number."""
        text = b"".join(rendering(request))
        with self._lock:
            equal = max((common_prefix(text, earlier) for earlier in self._seen), default=0)
            self._seen.append(text)
            number = len(self._seen)
        return prefix_tokens(request, equal, self._count) if equal else 0, number

    def _output_tokens(self, request: Request, message: Mapping[str, Any], prompt: int) -> int:
        """What the message would add to the next prompt."""
        after = {**request, "messages": [*request["messages"], message]}
        return max(0, self._count(after) - prompt)


def _completed(request: Request, completion: Mapping[str, Any]) -> Answer:
    """The completion in the form that was asked for."""
    if not request.get("stream"):
        return Answer(200, json.dumps(completion).encode())
    with_usage = bool((request.get("stream_options") or {}).get("include_usage"))
    return Answer(200, b"".join(stream_events(completion, with_usage=with_usage)), _EVENTS)
