"""A local HTTP server on a free port: what all fake providers share, whatever they speak.

A request is recorded byte for byte, then meets the next fault, the key, and what the provider makes of
it. A subclass says which paths there are and how its provider words an error.
"""

from __future__ import annotations

import json
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from redraft.testing.faults import Answer, Fault

__all__ = ["LocalServer", "Received"]


@dataclass(frozen=True, slots=True)
class Received:
    """A request to a model.

    Attributes:
        path: its path, with what follows a question mark.
        headers: its headers, their names in lower case.
        body: its bytes.
    """

    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def bearer(self) -> str:
        """The key of an `Authorization` header."""
        return self.headers.get("authorization", "").removeprefix("Bearer ")

    def json(self) -> dict[str, Any] | None:
        """The JSON object in the body, if it is one."""
        try:
            value = json.loads(self.body)
        except ValueError:
            return None
        return value if isinstance(value, dict) else None


class LocalServer(ABC):
    """A server on a free port of 127.0.0.1. Use it in a `with` block.

    Args:
        player: makes the assistant message from the request.
        window: prompt tokens above which a request is refused; None for no limit.
        models: the models that exist; None to take any.
        key: the key to demand; None to take any.
        faults: what goes wrong, request by request; `None` in it stands for nothing.

    Attributes:
        bodies: the raw body of each request to a model, in the order they came.
        failures: exceptions of the player and of the other functions. Leaving the `with` block
            raises the first one.
    """

    def __init__(
        self,
        player: Callable[[Mapping[str, Any]], Mapping[str, Any]],
        *,
        window: int | None = None,
        models: Iterable[str] | None = None,
        key: str | None = None,
        faults: Iterable[Fault | None] = (),
    ) -> None:
        self._player = player
        self._window = window
        self._models = None if models is None else tuple(models)
        self._key = key
        self._faults = iter(faults)
        self.bodies: list[bytes] = []
        self.failures: list[Exception] = []
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._http = _Http(self)
        self._thread = threading.Thread(
            target=self._http.serve_forever, args=(0.01,), name="fake-server", daemon=True
        )

    # -- what a provider adds --------------------------------------------------------------------

    @abstractmethod
    def _knows(self, path: str) -> bool:
        """Whether a model answers at this path."""

    @abstractmethod
    def _error(self, status: int, message: str) -> Answer:
        """An error as this provider words it."""

    @abstractmethod
    def _key_of(self, received: Received) -> str:
        """The key that a request carries."""

    @abstractmethod
    def _play(self, received: Received, fault: Fault) -> Answer:
        """The answer to a request that got past faults and key."""

    def _has(self, model: object) -> bool:
        """Whether there is such a model."""
        return self._models is None or model in self._models

    def _wrong_key(self, received: Received) -> Answer:
        """The answer to a request with another key."""
        return self._error(401, f"Incorrect API key provided: {self._key_of(received)}.")

    def _listing(self, path: str) -> Answer | None:
        """The answer to a GET request; None where there is nothing."""
        del path
        return None

    # -- what a test sees ------------------------------------------------------------------------

    @property
    def base_url(self) -> str:
        """The URL to give to a client."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

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

    def respond(
        self, body: Mapping[str, Any], path: str, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """The answer to a request, without the socket: for tests that make thousands.

        Args:
            body: the request.
            path: where it goes, e.g. `/v1/messages`.
            headers: its headers, their names in lower case.
        """
        data = json.dumps(body).encode()
        received = Received(path, {"anthropic-version": "2023-06-01", **(headers or {})}, data)
        return self._answer(received, self._next_fault(data))

    # -- one request -----------------------------------------------------------------------------

    def _next_fault(self, body: bytes) -> Fault:
        with self._lock:
            self.bodies.append(body)
            return next(self._faults, None) or Fault()

    def _answer(self, received: Received, fault: Fault) -> Answer:
        if fault.answer is not None:
            return fault.answer
        if self._key is not None and self._key_of(received) != self._key:
            return self._wrong_key(received)
        try:
            return self._play(received, fault)
        except Exception as error:
            self.failures.append(error)
            broken = self._error(500, f"The fake server failed: {error!r}")
            # A fault of the test is not mended by asking again.
            return Answer(500, broken.body, (*broken.headers, ("x-should-retry", "false")))


class _Http(ThreadingHTTPServer):
    """The socket; one thread a connection, all of them joined at the end."""

    daemon_threads = False

    def __init__(self, fake: LocalServer) -> None:
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
        """A listing, if there is one at this path."""
        self._send(self.server.fake._listing(self.path) or self._unknown())

    def do_POST(self) -> None:
        """A request to a model."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fake = self.server.fake
        if not fake._knows(self.path):
            self._send(self._unknown())
            return
        fault = fake._next_fault(body)
        if fault.delay and fake._closing.wait(fault.delay):
            self.close_connection = True
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        answer = fake._answer(Received(self.path, headers, body), fault)
        self._send(answer, fault.bytes_before_hang_up)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        """Say nothing."""

    def _unknown(self) -> Answer:
        return self.server.fake._error(404, f"Invalid URL ({self.command} {self.path})")

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
