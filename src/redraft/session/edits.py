"""The model's edits: what they cost, what the door says, and the receipts that it has not read yet."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from redraft import prompts
from redraft.context import Gate, Revision, Status, Turn
from redraft.dialects import Call, Content
from redraft.session.controller import Controller
from redraft.session.core import Core, Judged
from redraft.session.elide import Elisions, is_patient, is_wanted
from redraft.session.pricing import Pricing
from redraft.session.spans import spans_of
from redraft.session.window import FileWindow, Look
from redraft.store import EditSpan, SQLiteJournal
from redraft.tokens import Meter
from redraft.tools import Outline, intend

__all__ = ["Edits", "plan_tokens"]

_OWN_TOOL = "edit_context"

_MANY_GREW = 3
"""Growing edits since the last one that shrank, from which on the receipt points to `shrink`."""


def plan_tokens(meter: Meter, content: Content, places: Collection[int]) -> int:
    """Raw tokens of an assistant turn that are rationale and command of an edit.

    Args:
        meter: counts them.
        content: the turn.
        places: the calls that are known to be the edit; all calls count where none is known.
    """
    if not places:
        return meter.content(content)
    calls = tuple(call for call in content.calls if call.index in places)
    return meter.content(replace(content, calls=calls))


class Edits:
    """Takes the model's edits to the door, by file and by tool.

    Args:
        core: the session's state.
        controller: the budget.
        window: the context file, if there is one.
        gate: the rule on size.
        tag: the session's tag.
        has_tool: whether the model has the tool `edit_context`.
        tools: names of other tools of ours whose calls are edits.
        model: the model's name.
        pricing: what its edits cost; by default at prices relative to a fresh token.

    Attributes:
        waiting: what was judged and is not yet told to the model, in order.
        elisions: commands of applied edits that are to become one line.
        has_tool: whether the model has the tool `edit_context`.
    """

    def __init__(
        self,
        core: Core,
        controller: Controller,
        window: FileWindow | None,
        *,
        gate: Gate,
        tag: str,
        has_tool: bool,
        tools: Collection[str] = (),
        model: str = "",
        pricing: Pricing | None = None,
    ) -> None:
        self.waiting: list[Judged] = []
        self._core = core
        self._controller = controller
        self._window = window
        self._gate = gate
        self._tag = tag
        self.has_tool = has_tool
        self._own = frozenset({*tools, *((_OWN_TOOL,) if has_tool else ())})
        self._grew = 0
        self._pricing = pricing or Pricing("", core.live.dialect)
        name = core.live.dialect.name
        self.elisions = Elisions(
            core,
            tag,
            self._words,
            wanted=is_wanted(controller.settings.elide_edits, name),
            patient=is_patient(model, name),
        )

    # -- what a call is --------------------------------------------------------------------------

    def is_own(self, name: str) -> bool:
        """Whether a call of this name is an edit, and for us to answer."""
        return name in self._own

    def names_file(self, call: Call) -> bool:
        """Whether a call names the context file."""
        return self._window is not None and self._window.names(call.arguments)

    def spans(self, call: Call) -> tuple[EditSpan, ...]:
        """Where in a call the command of an edit stands, as far as that can be told."""
        names = None if self._window is None or self.is_own(call.name) else self._window.names
        return spans_of(call, names)

    def _words(self, call: Call) -> Callable[[str], bool] | None:
        """Which strings of a call's arguments are an edit."""
        if self.is_own(call.name):
            return lambda _: True
        return None if self._window is None else self._window.names

    # -- their commands --------------------------------------------------------------------------

    def elide(self, sent: Sequence[Turn]) -> None:
        """Put one line in the place of commands whose edits were applied, where the server must read
        that part of the context anyway; `sent` is the last request."""
        self.elisions.apply(sent)

    def recall(self) -> None:
        """Remember which calls made the edits of another process."""
        journal = self._core.journal
        if isinstance(journal, SQLiteJournal):
            made = (logged.values for logged in journal.log() if logged.kind == "committed")
            self.elisions.recall({values["number"]: values["edit_calls"] for values in made})

    # -- the file --------------------------------------------------------------------------------

    def show(self) -> None:
        """Bring the context file up to date."""
        if self._window is not None:
            self._window.show()

    def late(self) -> None:
        """Judge what was written to the file between rounds; the receipt waits for the next result."""
        if self._window is not None:
            self._keep(self._window.late())

    def discard(self, rule: str) -> None:
        """Refuse what was written to the file between rounds."""
        if self._window is not None:
            self._keep(self._window.discard(rule))

    def by_file(self, look: Look) -> Judged | None:
        """Judge what a round's commands left in the file."""
        if self._window is None:
            return None
        look = replace(look, marginal=self._controller.urgent())
        judged = self._keep(self._window.read(look))
        if judged is not None and judged.applied:
            self.elisions.issued(judged.number, [span.place for span in look.spans])
        return judged

    # -- the tool --------------------------------------------------------------------------------

    def by_tool(
        self, arguments: Mapping[str, Any], *, plan: int = 0, spans: tuple[EditSpan, ...] = ()
    ) -> Judged | str:
        """Take the arguments of one `edit_context` call to the door.

        Args:
            arguments: the arguments, parsed.
            plan: raw tokens of rationale and call.
            spans: where in the call the edit stands, for the record.

        Returns:
            what was judged, or the answer in text where nothing was proposed.
        """
        intent = intend(self._core.live, arguments, self._gate)
        if isinstance(intent, Outline):
            return prompts.defuse(intent.text, self._tag)
        return self.propose(intent, plan=plan, spans=spans)

    def propose(
        self, revision: Revision, *, plan: int = 0, spans: Sequence[EditSpan] = ()
    ) -> Judged:
        """Take to the door what a tool of ours makes of a call.

        Args:
            revision: the proposal.
            plan: raw tokens of rationale and call.
            spans: where in the call the edit stands, for the record.
        """
        marginal = self._gate is Gate.CONSERVE and self._controller.urgent()
        revision = replace(revision, plan_tokens=plan, marginal=marginal)
        judged = self._core.propose(revision, spans=spans)
        self._note(judged)
        if judged.applied:
            self.elisions.issued(judged.number, [span.place for span in spans])
        return judged

    # -- receipts --------------------------------------------------------------------------------

    def line(self, judged: Judged) -> str:
        """One receipt as the model reads it."""
        return prompts.receipt_line(
            judged.receipt,
            self._tag,
            self._core.shown,
            number=judged.number or None,
            frequent=self._grew >= _MANY_GREW,
            price=self._price(judged),
            count=self._core.live.meter.text,
        )

    def _price(self, judged: Judged) -> str:
        """What an edit that passed makes the server read again, and when that pays; "" for nothing."""
        commit = self._core.commits.get(judged.number)
        price = self._pricing.of_commit(commit) if commit is not None else None
        return price.line(self._core.shown) if price is not None and price.tail else ""

    def _keep(self, judged: Judged | None) -> Judged | None:
        if judged is not None:
            self._note(judged)
            self.waiting.append(judged)
        return judged

    def _note(self, judged: Judged) -> None:
        self._controller.edited(judged)
        if judged.applied:
            self._grew = self._grew + 1 if judged.receipt.status is Status.GREW else 0
