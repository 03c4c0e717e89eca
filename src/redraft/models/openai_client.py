"""Chat Completions through the official `openai` client.

Serves OpenAI and every server that speaks its format. The client is imported when the first model
is made, since the import takes a second.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from redraft.errors import ModelError, ModelReplyError, SettingsError
from redraft.models.failures import Endpoint, failure_of, no_key, reply_failure, unsendable
from redraft.models.replies import ErrorInReplyError, fault_of

__all__ = ["OpenAIModel"]

# A server that sends garbage once may be restarting; one that does it three times always does it.
_GARBAGE_RETRIES = 2
# A host that is there accepts a connection at once, however long it thinks afterwards.
_CONNECT_SECONDS = 10.0
# Some servers need no key, but the client wants one.
_NO_KEY = "none"


class OpenAIModel:
    """A model behind an OpenAI-compatible server. Safe to use from several threads.

    Rate limits, time-outs, lost connections and faults of the server are tried again by the client
    itself: it waits half a second, doubled each time up to eight seconds, less a random quarter,
    and obeys `Retry-After` (up to two minutes in openai 3.x). Replies that are not chat
    completions are tried again twice here.

    Args:
        name: the model's name as the server knows it.
        base_url: the server; OPENAI_BASE_URL if None, and OpenAI itself if that is not set.
        api_key: the key; OPENAI_API_KEY if None. A server named by URL may need none.
        timeout: seconds without a byte from the server before a try is given up. One call may take
            `max_retries` + 1 times as long.
        max_retries: tries after the first.
        reply_pause: seconds before a reply that is no chat completion is asked for again; doubled
            the second time, with up to a quarter taken off at random.

    Raises:
        ModelAuthError: there is neither a key nor a URL.
        SettingsError: the URL, the key or a number is not usable.
    """

    def __init__(
        self,
        name: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = 600.0,
        max_retries: int = 4,
        reply_pause: float = 0.5,
    ) -> None:
        url = _checked_url(base_url or os.environ.get("OPENAI_BASE_URL") or None)
        key = _checked_key(api_key or os.environ.get("OPENAI_API_KEY") or "")
        if not key and url is None:
            raise no_key()
        if not timeout > 0 or max_retries < 0 or reply_pause < 0:
            raise SettingsError(
                "timeout must be above zero, max_retries and reply_pause not below zero. They are "
                f"{timeout}, {max_retries} and {reply_pause}."
            )
        import openai

        self.name = name
        try:
            self._client = openai.OpenAI(
                api_key=key or _NO_KEY,
                base_url=url,
                timeout=openai.Timeout(timeout, connect=min(timeout, _CONNECT_SECONDS)),
                max_retries=max_retries,
            )
        except Exception as error:
            # A URL such as http://host:port makes the client raise errors of its own transport.
            raise SettingsError(
                f"The base URL {url!r} cannot be used: {error}. Correct it."
            ) from error
        self._endpoint = Endpoint(name, str(self._client.base_url).rstrip("/"), key)
        self._pause = reply_pause

    def complete(self, request: Mapping[str, Any]) -> object:
        """Send `request` as it is, fields unknown to the client included, and wait for the reply.

        Args:
            request: the fields of a Chat Completions body without `model`.

        Returns:
            The client's `ChatCompletion`, with at least one choice that has a message.

        Raises:
            ContextOverflowError: the request is larger than the window.
            ModelAuthError: the key is refused.
            ModelConnectionError: the server cannot be reached.
            ModelTimeoutError: the server takes too long.
            ModelRequestError: the server refuses the request or does not know the model.
            ModelReplyError: the reply is not a chat completion, three times running.
            ModelError: rate limits and faults of the server, after the retries.
        """
        body = {"model": self.name} | {k: v for k, v in request.items() if k != "model"}
        for attempt in range(_GARBAGE_RETRIES):
            try:
                return self._once(body)
            except ModelReplyError:
                time.sleep(self._pause * 2**attempt * random.uniform(0.75, 1.0))
        return self._once(body)

    def served(self) -> list[str]:
        """The names of the models that the server lists.

        Raises:
            ModelAuthError: the key is refused.
            ModelConnectionError: the server cannot be reached.
            ModelTimeoutError: the server takes too long.
            ModelError: it answers with something else, e.g. because it keeps no list.
        """
        import openai

        try:
            return sorted(model.id for model in self._client.models.list())
        except openai.OpenAIError as error:
            raise failure_of(error, self._endpoint) from error
        except (AttributeError, TypeError, ValueError) as error:
            raise ModelReplyError(
                f"{self._endpoint.url} answers with something that is no list of models; check the URL."
            ) from error

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def __enter__(self) -> Self:
        """Use the model in a `with` block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the connections."""
        self.close()

    def _once(self, body: Mapping[str, Any]) -> object:
        """One call, with the client's own retries in it."""
        import openai

        try:
            reply = self._post(body)
        except openai.OpenAIError as error:
            raise failure_of(error, self._endpoint) from error
        # The order matters: a reply that is no JSON and a request that is none are both ValueErrors.
        except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
            raise reply_failure(f"broken JSON ({error})", self._endpoint) from error
        except (TypeError, ValueError) as error:
            raise unsendable(error) from error
        fault = fault_of(reply)
        if isinstance(fault, ErrorInReplyError):
            raise self._told_in_reply(fault)
        if fault is not None:
            raise reply_failure(fault, self._endpoint)
        return reply

    def _post(self, body: Mapping[str, Any]) -> object:
        from openai.types.chat import ChatCompletion

        # Not `chat.completions.create`, which refuses fields it does not know.
        reply: object = self._client.post("/chat/completions", cast_to=ChatCompletion, body=body)
        return reply

    def _told_in_reply(self, fault: ErrorInReplyError) -> ModelError:
        """An error sent with status 200: as its own code says, or a bad reply to try again."""
        failure = failure_of(fault, self._endpoint)
        if type(failure) is ModelError:
            return reply_failure(f"an error with status 200: {fault}", self._endpoint)
        return failure


def _checked_url(url: str | None) -> str | None:
    if url is not None and not url.startswith(("http://", "https://")):
        raise SettingsError(
            f"The base URL {url!r} does not start with http:// or https://. Write it in full, for "
            "example http://localhost:8000/v1."
        )
    return url


def _checked_key(key: str) -> str:
    stripped = key.strip()
    if not (stripped.isascii() and (not stripped or stripped.isprintable())):
        raise SettingsError(
            "The API key holds characters that no key has. Set OPENAI_API_KEY again."
        )
    return stripped
