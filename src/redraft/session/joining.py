"""Tools of ours that join a request which is sent without them so far."""

from __future__ import annotations

from collections.abc import Sequence

from redraft.dialects import Frame, Native
from redraft.session.controller import Controller
from redraft.session.core import Core
from redraft.session.framing import alike, frame_of
from redraft.tools import in_words, offered

__all__ = ["Joining"]


class Joining:
    """Sees that some tools are in the request.

    They are not put there where there is no room, or where that would void reasoning of an exchange that is
    open. Where tools are described in words, that was done at the beginning.

    Args:
        core: the session's state.
        controller: the budget.
        tools: the tools, as Chat Completions write them.
    """

    def __init__(self, core: Core, controller: Controller, tools: Sequence[Native]) -> None:
        self._core = core
        self._controller = controller
        self._tools = tuple(tools)
        self._framed: Frame | None = None

    def done(self) -> bool:
        """Before a request: put them there, if need be; whether they are there."""
        core = self._core
        live = core.live
        if live.frame is self._framed or in_words(live.dialect.name):
            return True
        fields = live.frame.fields
        for tool in self._tools:
            fields = offered(fields, tool, live.dialect.name)
        frame = frame_of(live.dialect, fields, live.frame.place)
        if not alike(frame, live.frame):
            cost = live.meter.frame(frame) - live.frame_tokens
            urgent, queue = self._controller.urgent(), self._controller.queue
            if core.load + cost > core.raw_limit or not queue.may_void(urgent=urgent):
                return False
            core.reframe(frame)
            queue.settle(urgent=urgent)
        self._framed = core.live.frame
        return True
