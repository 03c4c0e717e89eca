"""The checks of all providers behind one door, by the name of the wire format."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from redraft.testing.refusals import anthropic, chat, fenced, gemini, responses
from redraft.testing.refusals.base import Body, Complaint

__all__ = ["complaints"]

_CHECKS: Mapping[str, Callable[[Body], Iterator[Complaint]]] = {
    "anthropic": anthropic.complaints,
    "fenced-chat": fenced.complaints,
    "gemini": gemini.complaints,
    "openai-chat": chat.complaints,
    "openai-responses": responses.complaints,
}


def complaints(dialect: str, body: Body) -> list[Complaint]:
    """Why a provider would refuse a request; empty where it takes it.

    Args:
        dialect: the name of the wire format, as `Dialect.name`.
        body: the whole request.

    Raises:
        KeyError: no check is known for this wire format.
    """
    return list(_CHECKS[dialect](body))
