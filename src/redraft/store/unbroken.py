"""Steps that no Ctrl-C may part: what is recorded and what is so must not differ."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["unbroken"]

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_Handler = Callable[[int, FrameType | None], object]
_held: list[bool] = []


@contextmanager
def unbroken() -> Iterator[None]:
    """Let signals that Python code handles wait for the end of the block; a kill does not wait.

    An exception that a handler raises (`KeyboardInterrupt`) may otherwise come between any two
    instructions: after a change is recorded, say, and before it is made. Elsewhere than in the main
    thread there is nothing to do, since handlers run in the main one.
    """
    if _held or threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[tuple[int, FrameType | None]] = []
    kept: dict[int, _Handler] = {}

    def note(number: int, frame: FrameType | None) -> None:
        came.append((number, frame))

    try:
        _held.append(True)
        for number in _SIGNALS:
            old = signal.getsignal(number)
            if callable(old):
                kept[number] = old
                signal.signal(number, note)
        yield
    finally:
        for heard, handler in kept.items():
            signal.signal(heard, handler)
        _held.clear()
        for heard, frame in came:
            kept[heard](heard, frame)
