"""`self-compact` in a session: a tool with which the model puts its own summary into the place of its older
turns, offered every few rounds once the context is fairly full."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from redraft.budget import Phase
from redraft.context import Gate
from redraft.dialects import Native
from redraft.events import ContextOp
from redraft.policies import SelfCompact
from redraft.policies.self_compact import Compaction, compaction
from redraft.prompts.actions import (
    compact_reminder,
    nothing_old,
    summary_longer,
    summary_unfit,
)
from redraft.prompts.tags import defuse, opening
from redraft.session.controller import Controller
from redraft.session.core import Core
from redraft.session.edits import Edits
from redraft.session.joining import Joining
from redraft.session.rounds import ToolCall
from redraft.session.toolsets import Said
from redraft.store import EditSpan
from redraft.tools import CompactIntent, Outline, action_of

__all__ = ["CompactTool"]


class CompactTool:
    """Answers `compact_context`, and offers it.

    The tool joins the request with the first offer, and stays. Where that would void reasoning, or tools
    are described by the system prompt, it is there from the beginning, and only the line that offers it
    comes later.

    Args:
        core: the session's state.
        controller: the budget, and what the model is told in the next result.
        edits: the model's edits.
        offer: when it is offered, and how many groups stay.
        tool: the tool, as Chat Completions write it.
        gate: the session's gate for the model's edits.
        tag: the session's tag.
    """

    names = frozenset({"compact_context"})

    def __init__(
        self,
        core: Core,
        controller: Controller,
        edits: Edits,
        offer: SelfCompact,
        tool: Native,
        *,
        gate: Gate,
        tag: str,
    ) -> None:
        self._core = core
        self._controller = controller
        self._edits = edits
        self._offer = offer
        self._joining = Joining(core, controller, [tool])
        self._gate = gate
        self._tag = tag
        self._last = -offer.every
        self._line = ""
        self._refusal: tuple[int, int, int] | None = None

    def aims(self, call: ToolCall) -> bool:
        """See `Toolset.aims`."""
        del call
        return True

    # -- the offer -------------------------------------------------------------------------------

    def before(self) -> None:
        """See `Toolset.before`."""
        core = self._core
        used = core.shown(core.load)
        due = used >= self._offer.offer * core.limit and self._controller.phase is Phase.RUNNING
        if not due or not self._joining.done() or core.round - self._last < self._offer.every:
            return
        self._last = core.round
        self._withdraw()
        self._line = compact_reminder(used, core.limit, self._tag)
        self._controller.notices.append(self._line)

    def among(self, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        """See `Toolset.among`."""
        return self._joining.among(fields)

    def _withdraw(self) -> None:
        """An offer that nobody has read yet is not made twice, nor after the fact."""
        if self._line in self._controller.notices:
            self._controller.notices.remove(self._line)

    # -- the call --------------------------------------------------------------------------------

    def answer(self, call: ToolCall, *, plan: int = 0, spans: Sequence[EditSpan] = ()) -> Said:
        """See `Toolset.answer`."""
        intent = action_of(call.name, call.arguments)
        if not isinstance(intent, CompactIntent):
            return self._refused(intent.text if isinstance(intent, Outline) else "")
        core, offer = self._core, self._offer
        keep = offer.keep if intent.keep is None else intent.keep
        done = compaction(
            core.live,
            defuse(intent.summary, self._tag),
            keep,
            core.raw_limit,
            until=self._until(keep),
            gate=self._gate,
            carry=offer.carry,
        )
        self._refusal = None
        if done.revision is None:
            if done.why == "audit":
                self._refusal = (core.round, keep, done.turns[-1])
            return self._refused(self._why(done, keep))
        judged = self._edits.propose(done.revision, plan=plan, spans=spans)
        freed = 0
        if judged.applied:
            freed = core.shown(judged.receipt.before) - core.shown(judged.receipt.after)
            self._last = core.round
            self._withdraw()
        handles = (f"turns {done.turns[0]}-{done.turns[-1]}",)
        core.tell(ContextOp(core.round, "compact", judged.applied, handles, freed))
        return Said(judged=judged)

    def _until(self, keep: int) -> int:
        """The last turn that may go, where this call mends one that was just refused; 0 elsewhere."""
        if self._refusal is None:
            return 0
        at, kept, last = self._refusal
        return last if kept == keep and self._core.round - at <= 1 else 0

    def _why(self, done: Compaction, keep: int) -> str:
        shown = self._core.shown
        match done.why:
            case "nothing":
                return nothing_old(keep)
            case "longer":
                return summary_longer(shown(done.after), shown(done.before))
            case _:
                return summary_unfit(done.missing, done.invented, done.beyond)

    def _refused(self, text: str) -> Said:
        self._core.tell(ContextOp(self._core.round, "compact", ok=False))
        return Said(f"{opening(self._tag)} {defuse(text, self._tag)}")
