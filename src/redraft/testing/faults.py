"""What can go wrong with one answer of the fake server, as values, and how servers say "too large".

A fault is used up by one request. Give the server a list of them; `None` in it means that this
request is answered as usual.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

__all__ = [
    "OVERFLOWS",
    "Answer",
    "Fault",
    "anthropic_error",
    "cut_message",
    "error_answer",
    "gemini_error",
]


_JSON = (("Content-Type", "application/json"),)


@dataclass(frozen=True)
class Answer:
    """A raw HTTP answer.

    Attributes:
        status: the HTTP status.
        body: the bytes of the body.
        headers: header names and values, on top of the server's own.
    """

    status: int
    body: bytes
    headers: tuple[tuple[str, str], ...] = _JSON


def error_answer(status: int, message: str, *, kind: str, code: str | None = None) -> Answer:
    """An error in OpenAI's shape.

    Args:
        status: the HTTP status.
        message: what a person reads.
        kind: OpenAI's `type`.
        code: OpenAI's `code`.
    """
    error = {"message": message, "type": kind, "param": None, "code": code}
    return Answer(status, json.dumps({"error": error}).encode())


_ANTHROPIC_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_GEMINI_STATES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


def anthropic_error(status: int, message: str, *, request: str = "req_fake") -> Answer:
    """An error in the shape of the Messages API, with its `request-id`.

    Args:
        status: the HTTP status; it decides the error's type.
        message: what a person reads.
        request: the request's id, in the body and in the header.
    """
    error = {"type": _ANTHROPIC_KINDS.get(status, "api_error"), "message": message}
    body = {"type": "error", "error": error, "request_id": request}
    return Answer(status, json.dumps(body).encode(), (*_JSON, ("request-id", request)))


def gemini_error(status: int, message: str) -> Answer:
    """An error in the shape of Google's APIs."""
    error = {"code": status, "message": message, "status": _GEMINI_STATES.get(status, "UNKNOWN")}
    return Answer(status, json.dumps({"error": error}).encode())


def _status_error(server: str, status: int, message: str, code: str | None) -> Answer:
    if server == "anthropic":
        return anthropic_error(status, message)
    if server == "gemini":
        return gemini_error(status, message)
    kind = "server_error" if status >= 500 else "invalid_request_error"
    return error_answer(status, message, kind=kind, code=code)


@dataclass(frozen=True)
class Fault:
    """One thing that goes wrong. Made by the class methods.

    Attributes:
        answer: sent in place of the played answer.
        delay: seconds to wait before anything is sent.
        bytes_before_hang_up: the connection is closed after this many bytes of the body.
        finish_reason: the played answer is cut in half and says that this was the reason.
    """

    answer: Answer | None = None
    delay: float = 0.0
    bytes_before_hang_up: int | None = None
    finish_reason: str | None = None

    @classmethod
    def status(
        cls,
        status: int,
        message: str = "Something went wrong.",
        *,
        code: str | None = None,
        retry_after: float | None = None,
        server: str = "openai",
    ) -> Fault:
        """An HTTP error in the provider's shape.

        Args:
            status: the HTTP status, 400 to 599.
            message: the error's text.
            code: the error's code, which only OpenAI has.
            retry_after: seconds that the client is asked to wait. A small number makes the retries
                of a test quick.
            server: whose shape: `openai`, `anthropic` or `gemini`.
        """
        answer = _status_error(server, status, message, code)
        if retry_after is not None:
            asked = (
                ("retry-after-ms", f"{retry_after * 1000:g}"),
                ("retry-after", f"{retry_after:g}"),
            )
            answer = replace(answer, headers=answer.headers + asked)
        return cls(answer=answer)

    @classmethod
    def rate_limit(cls, retry_after: float = 0.001, *, server: str = "openai") -> Fault:
        """A rate limit that asks to wait `retry_after` seconds, in the shape of `server`."""
        return cls.status(
            429,
            "Rate limit reached for requests per minute. Please try again later.",
            code="rate_limit_exceeded",
            retry_after=retry_after,
            server=server,
        )

    @classmethod
    def timeout(cls, seconds: float) -> Fault:
        """A usual answer, but only after `seconds`; shutting the server down ends the wait."""
        return cls(delay=seconds)

    @classmethod
    def garbage(cls, body: bytes, *, content_type: str = "application/json") -> Fault:
        """Status 200 with any bytes, such as a proxy's login page or half a JSON object."""
        return cls(answer=Answer(200, body, (("Content-Type", content_type),)))

    @classmethod
    def empty_choices(cls) -> Fault:
        """Status 200 and a chat completion without a choice."""
        return cls.garbage(b'{"id": "1", "object": "chat.completion", "choices": []}')

    @classmethod
    def null_choices(cls) -> Fault:
        """Status 200 and `choices: null`."""
        return cls.garbage(b'{"id": "1", "object": "chat.completion", "choices": null}')

    @classmethod
    def null_message(cls) -> Fault:
        """Status 200 and a choice whose message is null."""
        choice = {"index": 0, "message": None, "finish_reason": "stop"}
        return cls.garbage(json.dumps({"id": "1", "choices": [choice]}).encode())

    @classmethod
    def disconnect(cls, after: int = 0) -> Fault:
        """The connection is closed in the answer, after `after` bytes of the body.

        With 0 not even the status line is sent.
        """
        return cls(bytes_before_hang_up=after)

    @classmethod
    def cut(cls, finish_reason: str = "length") -> Fault:
        """The output token limit strikes in mid-sentence, or in the arguments of the last call."""
        return cls(finish_reason=finish_reason)

    @classmethod
    def overflow(cls, requested: int, window: int, *, server: str = "openai") -> Fault:
        """The request is said to be too large, in the words of one of `OVERFLOWS`.

        Args:
            requested: prompt tokens to report.
            window: window to report, in tokens.
            server: a key of `OVERFLOWS`.
        """
        return cls(answer=OVERFLOWS[server](requested, window))


def cut_message(message: Mapping[str, Any]) -> dict[str, Any]:
    """The first half of an assistant message: of its last call's arguments, else of its text."""
    calls = list(message.get("tool_calls") or ())
    if not calls:
        text = message.get("content") or ""
        return {**message, "content": text[: len(text) // 2]}
    function = calls[-1]["function"]
    half = function["arguments"][: len(function["arguments"]) // 2]
    calls[-1] = {**calls[-1], "function": {**function, "arguments": half}}
    return {**message, "tool_calls": calls}


def _openai(requested: int, window: int) -> Answer:
    return error_answer(
        400,
        f"This model's maximum context length is {window} tokens. However, your messages resulted "
        f"in {requested} tokens. Please reduce the length of the messages.",
        kind="invalid_request_error",
        code="context_length_exceeded",
    )


def _vllm(requested: int, window: int) -> Answer:
    error = {
        "message": f"This model's maximum context length is {window} tokens. However, your request "
        f"has {requested} input tokens. Please reduce the length of the input messages.",
        "type": "BadRequestError",
        "param": "input_tokens",
        "code": 400,
    }
    return Answer(400, json.dumps({"error": error}).encode())


def _llama_cpp(requested: int, window: int) -> Answer:
    error = {
        "code": 400,
        "message": f"request ({requested} tokens) exceeds the available context size ({window} "
        "tokens), try increasing it",
        "type": "exceed_context_size_error",
        "n_prompt_tokens": requested,
        "n_ctx": window,
    }
    return Answer(400, json.dumps({"error": error}).encode())


def _sglang(requested: int, window: int) -> Answer:
    body = {
        "object": "error",
        "message": f"The input ({requested} tokens) is longer than the model's context length "
        f"({window} tokens).",
        "type": "BadRequestError",
        "param": None,
        "code": 400,
    }
    return Answer(400, json.dumps(body).encode())


def _anthropic(requested: int, window: int) -> Answer:
    error = {
        "type": "invalid_request_error",
        "message": f"prompt is too long: {requested} tokens > {window} maximum",
    }
    return Answer(400, json.dumps({"type": "error", "error": error}).encode())


def _gemini(requested: int, window: int) -> Answer:
    error = {
        "code": 400,
        "message": f"The input token count ({requested}) exceeds the maximum number of tokens "
        f"allowed ({window}).",
        "status": "INVALID_ARGUMENT",
    }
    return Answer(400, json.dumps([{"error": error}]).encode())


def _ollama(requested: int, window: int) -> Answer:
    del requested, window  # Ollama does not tell them.
    return Answer(400, b'{"error": "the input length exceeds the context length"}')


OVERFLOWS: Mapping[str, Callable[[int, int], Answer]] = {
    "anthropic": _anthropic,
    "gemini": _gemini,
    "llama.cpp": _llama_cpp,
    "ollama": _ollama,
    "openai": _openai,
    "sglang": _sglang,
    "vllm": _vllm,
}
"""Each server's answer to a prompt of so many tokens in a window of so many."""
