"""Steps that no Ctrl-C may part: what is recorded and what is so must not differ."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType

__all__ = ["unbroken"]

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_Handler = Callable[[int, FrameType | None], object]
_shut: list[_Gate] = []
"""The gate that holds signals back, if one does: a block inside of another needs none of its own."""


class unbroken:
    """Let signals that Python code handles wait for the end of the block; a kill does not wait.

    An exception that a handler raises (`KeyboardInterrupt`) may otherwise come between any two
    instructions: after a change is recorded, say, and before it is made. Elsewhere than in the main
    thread there is nothing to do, since handlers run in the main one.
    """

    def __init__(self) -> None:
        self._gate: _Gate | None = None

    def __enter__(self) -> None:
        if _shut or threading.current_thread() is not threading.main_thread():
            return
        gate = _Gate()
        gate.put_up()
        self._gate = gate
        gate.shut = True  # nothing can come in between from here on
        _shut.append(gate)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._gate is not None:
            _shut.clear()
            self._gate.open()


class _Gate:
    """Stands in for the handlers of the signals, and passes on what comes unless it is shut.

    The one switch is an attribute. To put the handlers back one by one would not do: the first one back
    may raise before the next, and then the rest are never put back.
    """

    def __init__(self) -> None:
        self.shut = False
        self._handlers: dict[int, _Handler] = {}
        self._came: dict[int, FrameType | None] = {}

    def put_up(self) -> None:
        """Take the handlers' places. Interrupted on the way, what stands already does no harm."""
        for number in _SIGNALS:
            handler = signal.getsignal(number)
            if isinstance(handler, _Gate):  # one that an interrupt kept from being taken down
                handler = handler._handlers[number]
            if callable(handler):
                self._handlers[number] = handler
                signal.signal(number, self)

    def open(self) -> None:
        """Pass on what came meanwhile, and take the gate down."""
        try:
            self.shut = False
            self._pass_on()
        finally:
            for number, handler in self._handlers.items():
                signal.signal(number, handler)

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self._came[number] = frame
        if not self.shut:
            self._pass_on()

    def _pass_on(self) -> None:
        """Each signal that came to its handler, the others also where one raises."""
        if self._came:
            number, frame = self._came.popitem()
            try:
                self._handlers[number](number, frame)
            finally:
                self._pass_on()
