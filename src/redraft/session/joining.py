"""Tools of ours that join a request which is sent without them so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

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
        frame = self._frame()
        if not alike(frame, live.frame):
            cost = live.meter.frame(frame) - live.frame_tokens
            urgent, queue = self._controller.urgent(), self._controller.queue
            if core.load + cost > core.raw_limit or not queue.may_void(urgent=urgent):
                return False
            core.reframe(frame)
            queue.settle(urgent=urgent)
        self._framed = core.live.frame
        return True

    def among(self, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        """A client's own fields of a request, with the tools among its tools where the last request had
        them."""
        live = self._core.live
        if in_words(live.dialect.name) or not alike(self._frame(), live.frame):
            return fields
        return self._with_tools(fields)

    def _frame(self) -> Frame:
        """The frame of the context, with the tools in it."""
        live = self._core.live
        return frame_of(live.dialect, self._with_tools(live.frame.fields), live.frame.place)

    def _with_tools(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        fields = dict(fields)
        for tool in self._tools:
            fields = offered(fields, tool, self._core.live.dialect.name)
        return fields
