"""Turning what went wrong in a call into one of redraft's errors. Pure.

Each message names what the user can change: the key, the URL, the model, the request.
"""

from __future__ import annotations

from redraft.errors import (
    ModelAuthError,
    ModelConnectionError,
    ModelError,
    ModelReplyError,
    ModelRequestError,
    ModelTimeoutError,
)
from redraft.models.evidence import Evidence, evidence_of
from redraft.models.overflow import overflow_of

__all__ = ["Endpoint", "failure_of", "no_key", "reply_failure", "unsendable"]

_SHOWN = 400
_SERVER_FAULT = 500


class Endpoint:
    """Who was asked, for the messages; hides the key if a server repeats it.

    Args:
        model: the model's name.
        url: the base URL.
        key: the API key.
    """

    def __init__(self, model: str, url: str, key: str) -> None:
        self.model = model
        self.url = url
        self._key = key

    def shown(self, text: str) -> str:
        """A server's words on one line, short, without the key and without a final full stop."""
        line = " ".join(text.split())
        if len(self._key) > 4:
            line = line.replace(self._key, "***")
        return (line if len(line) <= _SHOWN else f"{line[:_SHOWN]}...").rstrip(". ")


def no_key() -> ModelAuthError:
    """There is neither a key nor another server to ask."""
    return ModelAuthError(
        "There is no API key. Set OPENAI_API_KEY, or name a server that needs none with --base-url "
        "(OPENAI_BASE_URL), or try `redraft demo`, which needs neither key nor network."
    )


def unsendable(error: Exception) -> ModelRequestError:
    """The request has no JSON form."""
    return ModelRequestError(
        f"The request cannot be written as JSON in UTF-8: {error}. Send plain values only, and "
        "replace lone surrogates in texts."
    )


def failure_of(error: Exception, endpoint: Endpoint) -> ModelError:
    """The error to raise for a failed call.

    Args:
        error: what the client raised, after its own retries.
        endpoint: who was asked.
    """
    overflow = overflow_of(error)
    if overflow is not None:
        return overflow
    evidence = evidence_of(error)
    if evidence.status is not None:
        return _status_failure(evidence, endpoint)
    reason = endpoint.shown(str(error.__cause__ or error)) or type(error).__name__
    # openai turns a time-out while connecting into the same class as one while reading.
    connecting = type(error.__cause__).__name__ in ("ConnectTimeout", "PoolTimeout")
    if "APITimeoutError" in evidence.kinds and not connecting:
        return ModelTimeoutError(
            f"{endpoint.url} did not answer in time ({reason}). Allow more seconds with `timeout`, "
            "or ask for less."
        )
    if "APIConnectionError" in evidence.kinds:
        return ModelConnectionError(
            f"{endpoint.url} cannot be reached: {reason}. Check that the server runs and that the "
            "URL (--base-url or OPENAI_BASE_URL) is right."
        )
    return ModelError(
        f"The call to {endpoint.url} failed: {reason}. Check the URL and the request."
    )


def reply_failure(fault: str, endpoint: Endpoint) -> ModelReplyError:
    """The server answered 200 with something that is not a chat completion."""
    return ModelReplyError(
        f"{endpoint.url} does not answer with a chat completion: {endpoint.shown(fault)}. Check "
        "that the URL is that of an OpenAI-compatible API; it often ends in /v1."
    )


def _status_failure(evidence: Evidence, endpoint: Endpoint) -> ModelError:
    """The error for an HTTP status, with the server's words in it."""
    status = evidence.status or 0
    said = endpoint.shown(next(iter(evidence.texts), "")) or "no reason given"
    where = f"{endpoint.url} answered {status}: {said}."
    if status in (401, 403):
        return ModelAuthError(
            f"{where} Check OPENAI_API_KEY, and that it belongs to this server (--base-url)."
        )
    if status == 404:
        return ModelRequestError(
            f"{where} Check that the model {endpoint.model!r} exists there, and that the URL "
            "(--base-url) is complete; it often ends in /v1."
        )
    if status == 402 or "insufficient_quota" in evidence.codes:
        return ModelError(f"{where} The account is out of credit: top it up or use another key.")
    if status == 429 or "rate_limit_exceeded" in evidence.codes:
        return ModelError(
            f"{where} Wait and run it again, or lower the budget: a limit per minute counts every "
            "token sent."
        )
    if status in (408, 409) or status >= _SERVER_FAULT:
        return ModelError(f"{where} The server is at fault: wait and run it again.")
    return ModelRequestError(f"{where} Change the request, or use a model that accepts it.")
