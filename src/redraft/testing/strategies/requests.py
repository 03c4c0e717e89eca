"""The doors to the strategies: whole requests and lists of any wire format, by its name."""

from __future__ import annotations

from typing import Any

from hypothesis.strategies import SearchStrategy

from redraft.dialects import Profile
from redraft.dialects.fenced_results import stripped
from redraft.testing.fenced import fenced_request
from redraft.testing.strategies.anthropic import anthropic_body
from redraft.testing.strategies.chat import chat_conversations
from redraft.testing.strategies.damage import damaged
from redraft.testing.strategies.gemini import gemini_body
from redraft.testing.strategies.plans import plans
from redraft.testing.strategies.responses import responses_bodies

__all__ = ["broken_lists", "conversations", "legal_conversations", "requests"]

Json = dict[str, Any]

_LISTS = {
    "anthropic": "messages",
    "fenced-chat": "messages",
    "gemini": "contents",
    "openai-chat": "messages",
    "openai-responses": "input",
}
_TOOLS = [
    {"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}},
]


def conversations(
    dialect: str = "openai-chat",
    *,
    max_exchanges: int = 3,
    surrogates: bool = True,
    interrupted: bool = True,
    repeated_ids: bool = True,
) -> SearchStrategy[list[Json]]:
    """Lists of messages as agents build them.

    System prompts, user turns with images, cache markers and unknown fields, rounds of parallel calls
    with their results in any order, reasoning (plain, signed, sealed), what the server's own tools did,
    blocks of a type that nobody knows, empty outputs, CR and CRLF, forged headers, final answers, and
    words of the user that nobody has answered yet.

    Args:
        dialect: the wire format's name: `openai-chat`, `fenced-chat`, `openai-responses`,
            `anthropic`, `gemini`.
        max_exchanges: user turns at most; each begins an exchange of up to three rounds.
        surrogates: whether texts may hold lone surrogates.
        interrupted: whether calls may lack their results.
        repeated_ids: whether call ids may repeat from turn to turn, as some providers have it.
    """
    if dialect == "openai-chat":
        return chat_conversations(
            max_exchanges=max_exchanges,
            surrogates=surrogates,
            interrupted=interrupted,
            repeated_ids=repeated_ids,
        )
    whole = _bodies(
        dialect,
        legal=False,
        max_exchanges=max_exchanges,
        surrogates=surrogates,
        interrupted=interrupted,
        repeated_ids=repeated_ids,
    )
    if dialect == "fenced-chat":  # as they are sent: what is kept beside a message is no part of it
        return whole.map(lambda body: [stripped(message) for message in body["messages"]])
    return whole.map(lambda body: list(body[_LISTS[dialect]]))


def legal_conversations(
    dialect: str = "openai-chat", *, max_exchanges: int = 3
) -> SearchStrategy[list[Json]]:
    """Lists that every server of the format takes; see `conversations`."""
    return requests(dialect, max_exchanges=max_exchanges).map(
        lambda body: list(body[_LISTS[dialect]])
    )


def requests(
    dialect: str = "openai-chat", *, legal: bool = True, max_exchanges: int = 2
) -> SearchStrategy[Json]:
    """Whole requests: a conversation with tools and system prompt around it.

    Args:
        dialect: the wire format's name.
        legal: only such as every server of the format takes.
        max_exchanges: user turns at most.
    """
    if dialect == "openai-chat":
        talk = chat_conversations(
            max_exchanges=max_exchanges,
            surrogates=not legal,
            interrupted=not legal,
            repeated_ids=not legal,
            tool_images=not legal,
        )
        return talk.map(lambda messages: {"model": "m", "messages": messages, "tools": _TOOLS})
    return _bodies(dialect, legal=legal, max_exchanges=max_exchanges)


def broken_lists(
    profile: Profile | str, *, max_exchanges: int = 2, max_damages: int = 4
) -> SearchStrategy[list[Json]]:
    """Lists that something went wrong with: a crash, a bad cut, another tool's edit.

    Messages and the blocks in them are lost, moved, repeated, emptied and renamed; arguments are cut
    off; surrogates stand in texts, keys and ids.

    Args:
        profile: whose lists, or the name of a wire format.
        max_exchanges: user turns at most.
        max_damages: how many things went wrong at most.
    """
    dialect = profile if isinstance(profile, str) else profile.dialect
    return damaged(conversations(dialect, max_exchanges=max_exchanges), max_damages=max_damages)


def _bodies(dialect: str, *, legal: bool, **options: Any) -> SearchStrategy[Json]:
    match dialect:
        case "anthropic":
            return plans(legal=legal, **options).map(anthropic_body)
        case "fenced-chat":
            return requests("openai-chat", legal=legal, max_exchanges=options["max_exchanges"]).map(
                fenced_request
            )
        case "gemini":
            return plans(legal=legal, **options).map(gemini_body)
        case "openai-responses":
            return responses_bodies(legal=legal, **options)
        case _:
            known = ", ".join(sorted(_LISTS))
            raise ValueError(f"no wire format is named {dialect!r}; name one of {known}")
