"""A server that speaks Chat Completions, for tests of clients over a real socket.

What it answers is a function of the request alone, so a test can say what must happen. What it was
sent is kept byte for byte. It can refuse, break off, stall and talk nonsense on demand.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from redraft.testing.completions import (
    chat_completion,
    common_prefix,
    prefix_tokens,
    rendering,
    stream_events,
    usage,
)
from redraft.testing.faults import OVERFLOWS, Answer, Fault, cut_message, error_answer

__all__ = ["FakeServer"]

Request = Mapping[str, Any]

_JSON = (("Content-Type", "application/json"),)
_EVENTS = (("Content-Type", "text/event-stream"),)
_BYTES_PER_TOKEN = 4


def _rough_count(request: Request) -> int:
    """Four bytes a token, for tests that do not care."""
    return sum(map(len, rendering(request))) // _BYTES_PER_TOKEN


class FakeServer:
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
        check: what is wrong with a message list, or None; answered with 400.
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
        self._player = player
        self._window = window
        self._count = count or _rough_count
        self._key = key
        self._faults = iter(faults)
        self._check = check
        self._overflow = OVERFLOWS[overflow]
        self._models = None if models is None else tuple(models)
        self.bodies: list[bytes] = []
        self.failures: list[Exception] = []
        self._seen: list[bytes] = []
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._http = _Http(self)
        self._thread = threading.Thread(
            target=self._http.serve_forever, args=(0.01,), name="fake-server", daemon=True
        )

    @property
    def base_url(self) -> str:
        """The URL to give to a client."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    @property
    def requests(self) -> list[dict[str, Any]]:
        """The bodies, decoded."""
        return [json.loads(body) for body in self.bodies]

    def start(self) -> Self:
        """Begin to answer."""
        self._thread.start()
        return self

    def close(self) -> None:
        """Stop answering; requests that are being stalled are broken off."""
        self._closing.set()
        if self._thread.is_alive():
            self._http.shutdown()
            self._thread.join()
        self._http.server_close()

    def __enter__(self) -> Self:
        """Begin to answer."""
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop answering; raises what the player raised, if the block itself did not raise."""
        self.close()
        if error is None and self.failures:
            raise self.failures[0]

    def _next_fault(self, body: bytes) -> Fault:
        with self._lock:
            self.bodies.append(body)
            return next(self._faults, None) or Fault()

    def _answer(self, body: bytes, bearer: str, fault: Fault) -> Answer:
        """The answer to one completion request."""
        if fault.answer is not None:
            return fault.answer
        if self._key is not None and bearer != f"Bearer {self._key}":
            return error_answer(
                401,
                f"Incorrect API key provided: {bearer.removeprefix('Bearer ')}.",
                kind="invalid_request_error",
                code="invalid_api_key",
            )
        try:
            return self._play(body, fault)
        except Exception as error:
            self.failures.append(error)
            broken = error_answer(500, f"The fake server failed: {error!r}", kind="server_error")
            # A fault of the test is not mended by asking again.
            return Answer(500, broken.body, (*_JSON, ("x-should-retry", "false")))

    def _play(self, body: bytes, fault: Fault) -> Answer:
        """The answer of the check, the window or the player."""
        try:
            request = json.loads(body)
            messages = request["messages"]
        except (ValueError, KeyError, TypeError):
            messages = None
        if not isinstance(messages, list) or not messages:
            return _refusal("The body must be a JSON object with a list of messages.")
        model = str(request.get("model"))
        if self._models is not None and model not in self._models:
            text = f"The model `{model}` does not exist or you do not have access to it."
            return error_answer(404, text, kind="invalid_request_error", code="model_not_found")
        complaint = self._check(request) if self._check else None
        if complaint is not None:
            return _refusal(complaint)
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


def _refusal(message: str) -> Answer:
    return error_answer(400, message, kind="invalid_request_error")


def _completed(request: Request, completion: Mapping[str, Any]) -> Answer:
    """The completion in the form that was asked for."""
    if not request.get("stream"):
        return Answer(200, json.dumps(completion).encode())
    with_usage = bool((request.get("stream_options") or {}).get("include_usage"))
    return Answer(200, b"".join(stream_events(completion, with_usage=with_usage)), _EVENTS)


class _Http(ThreadingHTTPServer):
    """The socket; one thread a connection, all of them joined at the end."""

    daemon_threads = False

    def __init__(self, fake: FakeServer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.fake = fake

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is no news here; other faults are found in `failures`."""


class _Handler(BaseHTTPRequestHandler):
    """One request a connection: a client that reuses connections would keep threads alive."""

    server: _Http
    protocol_version = "HTTP/1.1"
    # A client that sends half a request must not hold up the end of a test.
    timeout = 5

    def do_GET(self) -> None:
        """`/v1/models`."""
        if self.path != "/v1/models":
            self._send(self._unknown())
            return
        names = self.server.fake._models or ("fake-model",)
        models = [
            {"id": name, "object": "model", "created": 0, "owned_by": "fake"} for name in names
        ]
        self._send(Answer(200, json.dumps({"object": "list", "data": models}).encode()))

    def do_POST(self) -> None:
        """`/v1/chat/completions`."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path != "/v1/chat/completions":
            self._send(self._unknown())
            return
        fake = self.server.fake
        fault = fake._next_fault(body)
        if fault.delay and fake._closing.wait(fault.delay):
            self.close_connection = True
            return
        answer = fake._answer(body, self.headers.get("Authorization") or "", fault)
        self._send(answer, fault.bytes_before_hang_up)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        """Say nothing."""

    def _unknown(self) -> Answer:
        return error_answer(
            404, f"Invalid URL ({self.command} {self.path})", kind="invalid_request_error"
        )

    def _send(self, answer: Answer, cut_at: int | None = None) -> None:
        """Send an answer, or the first `cut_at` bytes of its body; nothing at all for 0."""
        self.close_connection = True
        if cut_at == 0:
            return
        self.send_response(answer.status)
        for name, value in answer.headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(answer.body[:cut_at])
