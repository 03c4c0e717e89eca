"""A server that speaks OpenAI's Responses API, for tests of clients over a real socket.

It enforces the API's rules by checks of its own (`redraft.testing.refusals`), remembers which item it
made behind which reasoning, and keeps histories for `previous_response_id`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from redraft.testing.chat_views import from_responses
from redraft.testing.events import responses_events
from redraft.testing.faults import OVERFLOWS, Answer, Fault, cut_message
from redraft.testing.prefixes import AutomaticCache, written
from redraft.testing.refusals.base import Complaint
from redraft.testing.refusals.responses import complaints, items_of, made_with
from redraft.testing.replies import responses_items
from redraft.testing.sockets import LocalServer, Received

__all__ = ["FakeResponses"]

Request = Mapping[str, Any]
Item = Mapping[str, Any]

_STOPS = {"length": "max_output_tokens"}


class FakeResponses(LocalServer):
    """The Responses API on a free port of 127.0.0.1. Use it in a `with` block.

    Answers `POST /v1/responses`, whole or as a stream. A request is recorded, then meets the next fault,
    the key, the API's rules, the window and last the player. The player's `reasoning_content` becomes a
    sealed reasoning item; `native`, a list of items, is sent as it is, before message and calls.

    Args:
        player: makes the assistant message from the request, which it is shown as Chat Completions.
        window: prompt tokens above which a request is refused; None for no limit.
        count: the prompt tokens of a request, history included; four bytes a token if None.
        key: the bearer key to demand; None to take any.
        faults: what goes wrong, request by request; `None` in it stands for nothing.
        models: the models that exist; another one is answered with 404. None to take any.

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
    ) -> None:
        self.refused: list[str] = []
        self._count = count
        self._pairs: dict[str, str] = {}
        self._histories: dict[str, list[Item]] = {}
        self._cache = AutomaticCache()
        self._made = 0
        super().__init__(player, window=window, models=models, key=key, faults=faults)

    @property
    def base_url(self) -> str:
        """The URL to give to a client."""
        return f"{super().base_url}/v1"

    def remember(self, body: Request) -> None:
        """Take the items in `body` for the server's own, made where they stand: for conversations that
        began before the test did."""
        self._pairs.update(made_with(items_of(body)))

    def _knows(self, path: str) -> bool:
        return path == "/v1/responses"

    def _error(self, status: int, message: str) -> Answer:
        return self._complained(status, Complaint(message))

    def _complained(self, status: int, complaint: Complaint) -> Answer:
        kind = "server_error" if status >= 500 else "invalid_request_error"
        about = {"param": complaint.param or None, "code": complaint.code or None}
        error = {"message": complaint.message, "type": kind, **about}
        return Answer(status, json.dumps({"error": error}).encode(), self._headers())

    def _headers(self, kind: str = "application/json") -> tuple[tuple[str, str], ...]:
        return (("Content-Type", kind), ("x-request-id", f"req_{len(self.bodies):032}"))

    def _key_of(self, received: Received) -> str:
        return received.bearer

    def _wrong_key(self, received: Received) -> Answer:
        says = f"Incorrect API key provided: {received.bearer}."
        return self._complained(401, Complaint(says, code="invalid_api_key"))

    def _refusal(self, complaint: Complaint) -> Answer:
        self.refused.append(complaint.message)
        return self._complained(400, complaint)

    def _play(self, received: Received, fault: Fault) -> Answer:
        request = received.json()
        if request is None or "model" not in request:
            return self._refusal(Complaint("We could not parse the JSON body of your request."))
        with self._lock:
            return self._judge(request, fault)

    def _judge(self, request: dict[str, Any], fault: Fault) -> Answer:
        """The answer of the rules, the window or the player."""
        name = request.get("previous_response_id")
        if name is not None and name not in self._histories:
            says = f"Previous response with id '{name}' not found."
            return self._refusal(
                Complaint(says, "previous_response_id", "previous_response_not_found")
            )
        found = next(complaints(request, self._pairs), None)
        if found is not None:
            return self._refusal(found)
        if not self._has(request["model"]):
            says = f"The requested model '{request['model']}' does not exist."
            return self._complained(404, Complaint(says, "model", "model_not_found"))
        before = self._histories.get(str(name), [])
        text = _rendering(request, before)
        prompt = self._count(request) if self._count else len(text) // 4
        if self._window is not None and prompt > self._window:
            return OVERFLOWS["openai"](prompt, self._window)
        return self._said(request, before, text, prompt, fault)

    def _said(
        self, request: Request, before: list[Item], text: bytes, prompt: int, fault: Fault
    ) -> Answer:
        message = dict(self._player(from_responses(request, before)))
        if fault.finish_reason is not None:
            message = cut_message(message)
        output = responses_items(message, self._id, sealed=request.get("store") is False)
        self._pairs.update(made_with(output))
        self._made += 1
        name = f"resp_{self._made:032}"
        response = {
            "id": name,
            "object": "response",
            "created_at": 0,
            "status": "completed",
            "error": None,
            "incomplete_details": None,
            "instructions": request.get("instructions"),
            "metadata": {},
            "model": request["model"],
            "output": output,
            "parallel_tool_calls": True,
            "temperature": 1.0,
            "tool_choice": "auto",
            "tools": request.get("tools") or [],
            "top_p": 1.0,
            "usage": _usage(prompt, self._cache.read(text, prompt), output),
        }
        if fault.finish_reason is not None:
            reason = _STOPS.get(fault.finish_reason, fault.finish_reason)
            response |= {"status": "incomplete", "incomplete_details": {"reason": reason}}
        if request.get("store") is not False:
            self._histories[name] = [*before, *items_of(request), *output]
        if request.get("stream"):
            return Answer(
                200, b"".join(responses_events(response)), self._headers("text/event-stream")
            )
        return Answer(200, json.dumps(response).encode(), self._headers())

    def _id(self, prefix: str) -> str:
        self._made += 1
        return f"{prefix}_{self._made:032}"


def _rendering(request: Request, before: Iterable[Item]) -> bytes:
    """What a prefix cache sees: model and tools, the instructions, then item by item."""
    frame = [request.get("model"), request.get("tools"), request.get("instructions")]
    return b"".join(written(part) for part in (frame, *before, *items_of(request)))


def _usage(prompt: int, cached: int, output: object) -> dict[str, Any]:
    made = len(json.dumps(output)) // 4
    return {
        "input_tokens": prompt,
        "input_tokens_details": {"cached_tokens": min(cached, prompt)},
        "output_tokens": made,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": prompt + made,
    }
