"""A server that speaks Google's `generateContent`, for tests of clients over a real socket.

It enforces the API's rules by checks of its own (`redraft.testing.refusals`), and signs the first call of
each answer, as the models from Gemini 3 on do.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from redraft.testing.chat_views import from_gemini
from redraft.testing.faults import Answer, Fault, cut_message, gemini_error
from redraft.testing.prefixes import AutomaticCache, written
from redraft.testing.refusals.base import Complaint
from redraft.testing.refusals.gemini import complaints, field, parts_of, unsigned
from redraft.testing.replies import gemini_parts
from redraft.testing.sockets import LocalServer, Received

__all__ = ["FakeGemini"]

Request = Mapping[str, Any]

_PATH = re.compile(r"/v1(?:beta)?/models/([^/:?]+):(generateContent|streamGenerateContent)")
_STOPS = {"length": "MAX_TOKENS", "content_filter": "SAFETY"}
_SKIP = (
    base64.b64encode(b"skip_thought_signature_validator").decode(),
    "skip_thought_signature_validator",
    "context_engineering_is_the_way_to_go",
)
"""What Google's guide on thought signatures takes in place of a signature that nobody has."""


class FakeGemini(LocalServer):
    """`generateContent` on a free port of 127.0.0.1. Use it in a `with` block.

    Answers `POST /v1beta/models/{model}:generateContent`, and `streamGenerateContent?alt=sse` with one
    event. A request is recorded, then meets the next fault, the key, the API's rules, the signatures,
    the window and last the player. The player's `reasoning_content` becomes a thought; `native`, a list
    of parts, is sent as it is, before text and calls.

    Args:
        player: makes the assistant message from the request, which it is shown as Chat Completions.
        window: prompt tokens above which a request is refused; None for no limit.
        count: the prompt tokens of a request; four bytes a token if None.
        key: the `x-goog-api-key` to demand; None to take any.
        faults: what goes wrong, request by request; `None` in it stands for nothing.
        models: the models that exist; another one is answered with 404. None to take any.
        signed: whether calls are signed, and refused in the current turn where they are not.
        call_ids: whether calls have ids; some servers give none.

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
        signed: bool = True,
        call_ids: bool = True,
    ) -> None:
        self.refused: list[str] = []
        self._count = count
        self._sign = signed
        self._call_ids = call_ids
        self._signatures: set[str] = set()
        self._cache = AutomaticCache()
        super().__init__(player, window=window, models=models, key=key, faults=faults)

    def remember(self, body: Request) -> None:
        """Take the signatures in `body` for the server's own: for conversations that began before the
        test did."""
        self._signatures |= {name for _, name in _signatures(body)}

    def _knows(self, path: str) -> bool:
        return _PATH.match(path) is not None

    def _error(self, status: int, message: str) -> Answer:
        return gemini_error(status, message)

    def _key_of(self, received: Received) -> str:
        return received.headers.get("x-goog-api-key", "")

    def _wrong_key(self, _received: Received) -> Answer:
        return gemini_error(400, "API key not valid. Please pass a valid API key.")

    def _refusal(self, message: str) -> Answer:
        self.refused.append(message)
        return gemini_error(400, message)

    def _play(self, received: Received, fault: Fault) -> Answer:
        request = received.json()
        if request is None:
            return self._refusal("Invalid JSON payload received. Unexpected token.")
        found = _PATH.match(received.path)
        model, verb = (found[1], found[2]) if found else ("", "")
        if not self._has(model):
            return gemini_error(404, f"models/{model} is not found for API version v1beta.")
        with self._lock:
            answer = self._judge(request, model, fault)
        return _as_event(answer) if verb.startswith("stream") else answer

    def _judge(self, request: Request, model: str, fault: Fault) -> Answer:
        """The answer of the rules, the signatures, the window or the player."""
        found = next(self._complaints(request), None)
        if found is not None:
            return self._refusal(found.message)
        text = _rendering(model, request)
        prompt = self._count(request) if self._count else len(text) // 4
        if self._window is not None and prompt > self._window:
            return gemini_error(
                400,
                f"The input token count ({prompt}) exceeds the maximum number of tokens allowed "
                f"({self._window}).",
            )
        message = dict(self._player({**from_gemini(request), "model": model}))
        finish = "STOP"
        if fault.finish_reason is not None:
            message = cut_message(message)
            finish = _STOPS.get(fault.finish_reason, fault.finish_reason)
        seal = self._signature if self._sign else None
        parts = gemini_parts(message, seal, call_ids=self._call_ids)
        candidate = {
            "content": {"role": "model", "parts": parts},
            "finishReason": finish,
            "index": 0,
        }
        answer = {
            "candidates": [candidate],
            "usageMetadata": _usage(prompt, self._cache.read(text, prompt), parts),
            "modelVersion": model,
            "responseId": f"fake-{len(self.bodies)}",
        }
        return Answer(200, json.dumps(answer).encode())

    def _complaints(self, request: Request) -> Iterator[Complaint]:
        yield from complaints(request)
        if self._sign:
            yield from unsigned(request)
        for where, name in _signatures(request):
            if name not in self._signatures and name not in _SKIP:
                yield Complaint(f"{where}: Corrupted thought signature.")

    def _signature(self) -> str:
        name = base64.b64encode(f"thought {len(self._signatures)}".encode()).decode()
        self._signatures.add(name)
        return name


def _contents(request: Request) -> list[Any]:
    contents = request.get("contents")
    return contents if isinstance(contents, list) else [contents]


def _signatures(request: Request) -> Iterator[tuple[str, str]]:
    """Where each signature stands, and the signature."""
    for at, content in enumerate(_contents(request)):
        for place, part in enumerate(parts_of(content)):
            name = field(part, "thoughtSignature")
            if name:
                yield f"contents[{at}].parts[{place}]", str(name)


def _rendering(model: str, request: Request) -> bytes:
    """What a prefix cache sees: model, tools and system prompt, then content by content."""
    frame = [model, request.get("tools"), field(request, "systemInstruction")]
    return b"".join(map(written, chain([frame], _contents(request))))


def _usage(prompt: int, cached: int, parts: object) -> dict[str, int]:
    made = len(json.dumps(parts)) // 4
    return {
        "promptTokenCount": prompt,
        "cachedContentTokenCount": min(cached, prompt),
        "candidatesTokenCount": made,
        "totalTokenCount": prompt + made,
    }


def _as_event(answer: Answer) -> Answer:
    """A whole answer as a stream of one event."""
    if answer.status != 200:
        return answer
    return Answer(
        200, b"data: " + answer.body + b"\r\n\r\n", (("Content-Type", "text/event-stream"),)
    )
