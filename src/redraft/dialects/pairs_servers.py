"""Anthropic's own tools: a call and its result both stand in the model's turns, in one exchange.

A result may come in a later message than its call: where the code that runs on the server calls a tool
of the client's, and where the server paused its turn. So a call without a result is a fault only once
the user has spoken again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from redraft.dialects.base import Native
from redraft.dialects.pairs_anthropic import blocks_of, goes_on, kind_of
from redraft.dialects.profile import Rule, Violation

__all__ = ["SERVER_TOOLS", "is_server_call", "is_server_result"]

_RULE = "server-tools"
_CALLS = ("server_tool_use", "mcp_tool_use")
_Place = tuple[int, int]


def is_server_call(block: Native) -> bool:
    """Whether a block is a call that the server runs."""
    return kind_of(block) in _CALLS


def is_server_result(block: Native) -> bool:
    """Whether a block is what such a call gave."""
    kind = kind_of(block)
    return kind.endswith("_tool_result")


class _Exchange:
    """The calls of one exchange that wait for a result, and those that have one.

    Attributes:
        waiting: where each stands that waits, by its id.
        calling: the ids of those that called a tool of the client's: their result comes after that one's.
    """

    def __init__(self) -> None:
        self.waiting: dict[str, _Place] = {}
        self.calling: set[str] = set()
        self._known: set[str] = set()

    def strays(self, at: int, message: Native) -> list[tuple[_Place, str]]:
        """Take the blocks of a model's message in; results that answer nothing."""
        found: list[tuple[_Place, str]] = []
        for place, block in enumerate(blocks_of(message)):
            if is_server_call(block):
                name = str(block.get("id"))
                self.waiting[name] = (at, place)
                self._known.add(name)
            elif is_server_result(block):
                name = str(block.get("tool_use_id"))
                if name not in self._known:
                    found.append(((at, place), name))
                self.waiting.pop(name, None)
            elif isinstance(block.get("caller"), Mapping):
                self.calling.add(str(block["caller"].get("tool_id")))
        return found

    def unanswered(self, *, over: bool) -> list[tuple[_Place, str]]:
        """Calls that wait in vain, no longer waited for.

        Args:
            over: whether the exchange is over; else one that called the client may still wait.
        """
        lost = [name for name in self.waiting if over or name not in self.calling]
        return [(self.waiting.pop(n), f"the server's call {n!r} has no result") for n in lost]


def _ends(message: Native) -> bool:
    """Whether a message ends the exchange: words of the user's that come with no result."""
    return message.get("role") == "user" and not any(
        kind_of(block) == "tool_result" for block in blocks_of(message)
    )


def _find(messages: Sequence[Native], start: int) -> Iterator[Violation]:
    for (at, _), says in _faults(messages, start):
        yield Violation(_RULE, at, says)


def _faults(messages: Sequence[Native], start: int) -> Iterator[tuple[_Place, str]]:
    exchange: _Exchange | None = None
    for at in range(start, len(messages)):
        message = messages[at]
        if message.get("role") == "assistant":
            final = at == len(messages) - 1 and goes_on(message)
            if exchange is None and not (final or _concerns(message)):
                continue
            exchange = exchange or _before(messages, at)
            for place, name in exchange.strays(at, message):
                yield place, f"the result of {name!r} answers no call of the server's"
            if final:
                yield from exchange.unanswered(over=True)
        elif _ends(message):
            exchange = _before(messages, at) if exchange is None else exchange
            yield from exchange.unanswered(over=True)
            exchange = _Exchange()
        elif exchange is not None:
            yield from exchange.unanswered(over=False)


def _concerns(message: Native) -> bool:
    return any(is_server_call(block) or is_server_result(block) for block in blocks_of(message))


def _before(messages: Sequence[Native], at: int) -> _Exchange:
    """The exchange that goes on at an index; looked up only where it matters."""
    begin = at
    while begin > 0 and not _ends(messages[begin - 1]):
        begin -= 1
    exchange = _Exchange()
    for place in range(begin, at):
        if messages[place].get("role") == "assistant":
            exchange.strays(place, messages[place])
    return exchange


def _mend(messages: Sequence[Native]) -> list[Native]:
    """What lacks its other half goes, and with it a message that then holds nothing. What is left may end
    in words, so it is looked at again."""
    out = list(messages)
    while gone := {place for place, _ in _faults(out, 0)}:
        out = _less(out, gone)
    return out


def _less(messages: Sequence[Native], gone: set[_Place]) -> list[Native]:
    touched = {at for at, _ in gone}
    out: list[Native] = []
    for at, message in enumerate(messages):
        if at not in touched:
            out.append(message)
            continue
        kept = [b for place, b in enumerate(blocks_of(message)) if (at, place) not in gone]
        if kept:
            out.append({**message, "content": kept})
    return out


SERVER_TOOLS = Rule(
    _RULE,
    "Messages API: '`web_search` tool use with id ... was found without a corresponding "
    "`web_search_tool_result` block', and the converse; guides on pause_turn and on programmatic tool "
    "calling for results that come later",
    _find,
    _mend,
)
