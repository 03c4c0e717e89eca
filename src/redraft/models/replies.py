"""Telling a chat completion from anything else that came with status 200. Pure."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["ErrorInReplyError", "fault_of"]


class ErrorInReplyError(Exception):
    """An error object inside a reply with status 200, as OpenRouter and LM Studio send it.

    Has the attribute `body` that the reading of errors looks for
    (lmstudio-ai/lmstudio-bug-tracker#2322).

    Args:
        body: the error object, or its text.
    """

    def __init__(self, body: object) -> None:
        super().__init__(str(body))
        self.body = body


def fault_of(reply: object) -> str | ErrorInReplyError | None:
    """What keeps `reply` from being a chat completion with a message; None if nothing does.

    Args:
        reply: an SDK object, a mapping, or whatever the SDK made of the body.
    """
    if isinstance(reply, str):
        return f"text instead of JSON: {reply}" if reply.strip() else "an empty body"
    choices = _field(reply, "choices")
    error = _field(reply, "error")
    if error and not choices:
        return ErrorInReplyError(error)
    if choices is None:
        return "it has no choices"
    if not isinstance(choices, list | tuple):
        return "its choices are not a list"
    if not choices:
        return "its list of choices is empty"
    message = _field(choices[0], "message")
    if message is None or isinstance(message, str):
        return "its choice has no message"
    return None


def _field(owner: object, name: str) -> object:
    return owner.get(name) if isinstance(owner, Mapping) else getattr(owner, name, None)
