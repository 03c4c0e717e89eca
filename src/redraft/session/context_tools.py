"""The context tools in a session: each call is done right away, before the results of its round are
appended, so that a handle can only name a result that the model has read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from redraft.context import Commit, Gate, Status
from redraft.dialects.stubs import stubs_in
from redraft.errors import OverflowStoreError
from redraft.events import ContextOp
from redraft.prompts.tags import defuse, opening
from redraft.session.body_reading import body_text, why_unreadable
from redraft.session.core import Core, Judged
from redraft.session.edits import Edits
from redraft.session.offers import Offers
from redraft.session.rounds import ToolCall
from redraft.session.toolsets import Said
from redraft.settings import Settings
from redraft.store import EditSpan
from redraft.tools import (
    DropIntent,
    NoteIntent,
    Outline,
    PinIntent,
    Planned,
    ReadIntent,
    StatusIntent,
    UnpinIntent,
    intent_of,
    outcome_text,
    revision_of,
    status_text,
)
from redraft.tools.catalogue import TOOL_ARGUMENTS

__all__ = ["CHANGING", "ContextTools"]

CHANGING = ("context_drop", "context_note")
"""The tools whose calls are edits. They are also the sources of the revisions; what became of one stands
in the call's result."""

_OPS: Mapping[str, str] = MappingProxyType(
    {name: name.removeprefix("context_") for name in TOOL_ARGUMENTS} | {"read_overflow": "read"}
)

_LONGEST_HANDLE = 200
"""Characters of a handle that an event keeps, whatever a model writes there."""

_MOST_TOLD = 100
"""Handles of a call that could not be understood that an event keeps: a model may write any number."""

_Change = DropIntent | NoteIntent | PinIntent | UnpinIntent


class ContextTools:
    """Answers the calls of the context tools, and offers the tools when they are due.

    Args:
        core: the session's state.
        edits: the model's edits.
        offers: when the tools are offered.
        settings: whether they are switched on, and how many pins the model may hold.
        gate: the rule on size for what they change.
        tag: the session's tag.

    Attributes:
        offers: as given.
    """

    names = frozenset(TOOL_ARGUMENTS)

    def __init__(
        self, core: Core, edits: Edits, offers: Offers, *, settings: Settings, gate: Gate, tag: str
    ) -> None:
        self.offers = offers
        self._core = core
        self._edits = edits
        self._settings = settings
        self._gate = gate
        self._tag = tag

    def aims(self, call: ToolCall) -> bool:
        """See `Toolset.aims`."""
        return call.name in CHANGING

    def before(self) -> None:
        """See `Toolset.before`."""
        self.offers.before()

    def among(self, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        """See `Toolset.among`."""
        return self.offers.among(fields)

    def answer(self, call: ToolCall, *, plan: int = 0, spans: Sequence[EditSpan] = ()) -> Said:
        """See `Toolset.answer`."""
        enabled = self._settings.agent_context_tools_enabled
        intent = intent_of(call.name, call.arguments, enabled=enabled)
        match intent:
            case Outline():
                self._tell(call.name, ok=False, handles=_handles(call.arguments))
                return Said(self._words(intent.text))
            case StatusIntent():
                self._tell(call.name, ok=True)
                return Said(self._words(self._status(intent)))
            case ReadIntent():
                return self._read(call, intent)
            case _:
                return self._changed(call, intent, plan, spans)

    # -- what is only looked at ------------------------------------------------------------------

    def _status(self, intent: StatusIntent) -> str:
        core = self._core
        return status_text(
            core.live,
            core.board,
            window=core.limit,
            top=intent.top,
            show=core.shown,
            max_pins=self._settings.agent_context_tools_max_pins,
        )

    def _read(self, call: ToolCall, intent: ReadIntent) -> Said:
        """A part of a body. It is a tool's words, so it is treated like any output."""
        try:
            name, text = body_text(self._core.overflow, intent)
        except OverflowStoreError as error:
            self._tell(call.name, ok=False, handles=(intent.id,))
            return Said(self._words(f"read_overflow: {why_unreadable(error)}"))
        self._tell(call.name, ok=True, handles=(name,))
        return Said(text, own=False)

    # -- what changes the context or the pins ----------------------------------------------------

    def _changed(
        self, call: ToolCall, intent: _Change, plan: int, spans: Sequence[EditSpan]
    ) -> Said:
        core = self._core
        planned = revision_of(
            intent,
            core.live,
            core.board,
            storage=core.overflow.storage,
            gate=self._gate,
            max_pins=self._settings.agent_context_tools_max_pins,
        )
        if planned.pins is not None:
            core.pin(planned.pins)
        judged = None
        if planned.revision is not None:
            judged = self._edits.propose(planned.revision, plan=plan, spans=spans)
        done = judged.applied if judged is not None else planned.pins is not None
        self._tell(
            call.name,
            ok=done,
            handles=planned.handles if done else intent.handles,
            freed=self._freed(judged) if done else 0,
            bodies=tuple(stub.id for stub in planned.stubs) if done else (),
        )
        return Said(self._words(self._outcome(planned, judged)), judged, owed=False)

    def _outcome(self, planned: Planned, judged: Judged | None) -> str:
        if judged is None:
            return outcome_text(planned)
        receipt = judged.receipt
        if not judged.applied:
            return outcome_text(planned, refused=receipt.rule or "all of it would stay as it is")
        return outcome_text(
            planned,
            freed=self._freed(judged),
            waits=receipt.rule if receipt.status is Status.QUEUED else "",
            over=receipt.status is Status.OVER,
        )

    def _freed(self, judged: Judged | None) -> int:
        """Tokens that the context lost, as shown."""
        if judged is None:
            return 0
        shown = self._core.shown
        return shown(judged.receipt.before) - shown(judged.receipt.after)

    def recalled(self, call: ToolCall, number: int, commit: Commit, *, told: bool) -> str:
        """The answer of a call whose revision is in force and whose result was lost with the process.

        Args:
            call: the call.
            number: the revision's number.
            commit: the revision, as it passed.
            told: whether its event was told.
        """
        stubs = tuple(
            stub
            for move in commit.moves
            if move.new is not None
            for stub in stubs_in(move.new.content.text)
        )
        handles = tuple(dict.fromkeys(stub.call_id for stub in stubs))
        planned = Planned(_OPS[call.name], handles, revision=commit.revision, stubs=stubs)
        judged = Judged(commit.receipt, number)
        if not told:
            bodies = tuple(stub.id for stub in stubs)
            freed = self._freed(judged)
            self._tell(call.name, ok=True, handles=handles, freed=freed, bodies=bodies)
        return self._words(self._outcome(planned, judged))

    # -- what is said ----------------------------------------------------------------------------

    def _tell(
        self,
        name: str,
        *,
        ok: bool,
        handles: Sequence[str] = (),
        freed: int = 0,
        bodies: tuple[str, ...] = (),
    ) -> None:
        named = tuple(handle[:_LONGEST_HANDLE] for handle in handles)
        self._core.tell(ContextOp(self._core.round, _OPS[name], ok, named, freed, bodies))

    def _words(self, text: str) -> str:
        """Our own words, in which nothing that they quote can pass for ours."""
        return f"{opening(self._tag)} {defuse(text, self._tag)}"


def _handles(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """What a call named that could not be understood."""
    value = arguments.get("handles")
    given = [value] if isinstance(value, str) else value
    if not isinstance(given, (list, tuple)):
        return ()
    return tuple(item for item in given if isinstance(item, str))[:_MOST_TOLD]
