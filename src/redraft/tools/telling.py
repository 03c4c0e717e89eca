"""What a context tool answers: how full the context is, or what became of a call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from heapq import nlargest
from operator import attrgetter

from redraft.context import Live, Origin, Turn
from redraft.dialects.stubs import OverflowStub, stubs_in
from redraft.tools.handles import Names, is_stub
from redraft.tools.operations import Planned
from redraft.tools.pins import MAX_MODEL_PINS, Pin, PinBoard

__all__ = ["outcome_text", "status_text"]

_Show = Callable[[int], int]
_MOST_DECLINED = 20
_LONGEST_HANDLE = 80
_DONE = {"pin": "pinned", "unpin": "unpinned", "drop": "dropped", "note": "replaced by one note"}


def status_text(
    live: Live,
    board: PinBoard,
    *,
    window: int,
    top: int = 8,
    show: _Show = lambda raw: raw,
    max_pins: int = MAX_MODEL_PINS,
) -> str:
    """The answer of `context_status`.

    Args:
        live: the live context.
        board: the pins with their owners.
        window: tokens that the model's window takes, as shown.
        top: how many results, pins and spilled bodies are listed at most.
        show: turns raw tokens into those that the model is shown.
        max_pins: pins that the model may hold.
    """
    names, used = Names(live), show(live.tokens)
    lines = [f"context: {used:,} of {window:,} tokens ({used * 100 // max(window, 1)} %)"]
    lines += _largest(names, live.pins | board.numbers, top, show)
    lines += _pinned(live, names, board, top, max_pins)
    lines += _spilled(names, top)
    return "\n".join(lines)


def _largest(names: Names, pinned: frozenset[int], top: int, show: _Show) -> Iterator[str]:
    harness = Origin.HARNESS
    standing = [turn for turn in names.outputs if turn.origin is not harness or not is_stub(turn)]
    if not standing:
        yield "results in context: none"
        return
    yield f"largest results in context ({min(top, len(standing))} of {len(standing)}):"
    for turn in nlargest(top, standing, key=attrgetter("tokens")):
        mark = " [pinned]" if turn.number in pinned else ""
        tool = names.tool(turn)
        yield f"- {names.handle(turn)}: {show(turn.tokens):,} tokens{f', {tool}' if tool else ''}{mark}"


def _pinned(live: Live, names: Names, board: PinBoard, top: int, max_pins: int) -> Iterator[str]:
    """The pins, newest first. Pins that nobody wrote down an owner for are the user's."""
    mine = len(board.of("model"))
    unowned = PinBoard.of_numbers(live.pins - board.numbers).pins
    pins = [*board.pins, *unowned]
    yield f"pinned: {len(pins)} ({mine} of your {max_pins} pins used)"
    for pin in reversed(pins[-top:]):
        yield f"- {_called(live, names, pin)} {pin.label}"
    if len(pins) > top:
        yield f"- and {len(pins) - top} more"


def _called(live: Live, names: Names, pin: Pin) -> str:
    turn = next((turn for turn in live.turns if turn.number == pin.turns[0]), None)
    return f"turn {pin.turns[0]}" if turn is None else names.called(turn)


def _spilled(names: Names, top: int) -> Iterator[str]:
    """What is in the overflow store, newest first: as stubs, or within notes."""
    original = Origin.ORIGINAL
    holders = [turn for turn in names.outputs if turn.origin is not original and _cites(turn)]
    shown: list[OverflowStub] = []
    for turn in reversed(holders):
        if len(shown) >= top:
            break
        shown += stubs_in(turn.content.text)
    yield f"stubs and notes with bodies in the overflow store: {len(holders)}"
    for stub in shown[:top]:
        lost = "" if stub.storage in ("disk", "memory") else f", {stub.storage}: cannot be restored"
        yield f"- {stub.call_id}: {stub.size:,} bytes, {stub.tool}, id={stub.id}{lost}"


def _cites(turn: Turn) -> bool:
    """Whether a result that the door let in holds a stub."""
    return "[overflow id=" in turn.content.text


def outcome_text(
    planned: Planned, *, freed: int = 0, refused: str = "", waits: str = "", over: bool = False
) -> str:
    """The answer of the other tools: what was done, what it freed, what was not done and why.

    Args:
        planned: what the call came to.
        freed: tokens that the context lost by it, as shown; negative where it grew.
        refused: the rule by which the door refused the revision; "" where it did not.
        waits: until when it waits to take effect; "" where it does not.
        over: whether the context is over its limit still.
    """
    lines: list[str] = []
    if refused:
        lines.append(f"nothing was changed: {refused}")
    elif planned.handles:
        lines.append(f"{_DONE[planned.op]}: {', '.join(planned.handles)}")
        if planned.revision is not None:
            lines.append(
                f"{freed:,} tokens freed"
                if freed >= 0
                else f"the context grew by {-freed:,} tokens"
            )
            if waits:
                lines.append(f"accepted; the old text goes on being sent {waits}")
            if over:
                lines.append("the context is still over its limit; free more")
        lines += _bodies(planned.stubs)
    elif planned.pins is None and not planned.declined:
        lines.append("nothing to do: you hold no pins")
    declined = planned.declined[:_MOST_DECLINED]
    lines += [f"not {_clipped(item.handle)}: {item.why}" for item in declined]
    if len(planned.declined) > _MOST_DECLINED:
        lines.append(f"and {len(planned.declined) - _MOST_DECLINED} more that were not done")
    return "\n".join(lines)


def _clipped(handle: str) -> str:
    """A handle as a model wrote it, in one line and not too long."""
    line = " ".join(handle.split())
    return line if len(line) <= _LONGEST_HANDLE else f"{line[:_LONGEST_HANDLE]}…"


def _bodies(stubs: Sequence[OverflowStub]) -> Iterator[str]:
    """The bodies' ids stand in the stubs; here only what the model must know of the store."""
    lost = next((stub for stub in stubs if "incognito" in stub.storage), None)
    if lost is not None:
        yield f"the bodies are {lost.storage} and cannot be restored"
