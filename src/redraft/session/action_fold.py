"""`fold` in a session: the model branches off for a sub-task and comes back with its outcome alone."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from redraft.context import Gate, Live, Turn
from redraft.dialects import Native
from redraft.errors import OverflowStoreError
from redraft.events import ContextOp
from redraft.policies import Fold
from redraft.policies.fold import Folding, folding, open_branches
from redraft.prompts.actions import (
    begun_in_this_round,
    branch_begun,
    branch_empty,
    branch_kept,
    no_branch,
    too_deep,
)
from redraft.prompts.tags import defuse, opening
from redraft.session.body_reading import body_text, why_unreadable
from redraft.session.controller import Controller
from redraft.session.core import Core, Judged
from redraft.session.edits import Edits
from redraft.session.joining import Joining
from redraft.session.rounds import ToolCall
from redraft.session.toolsets import Said
from redraft.store import EditSpan
from redraft.tools import (
    BranchIntent,
    Intent,
    Outline,
    ReadIntent,
    ReturnIntent,
    action_of,
    intent_of,
)

__all__ = ["RETURN", "Begun", "BranchTools", "begun_after", "begun_by", "handle", "innermost_ended"]

RETURN = "return_from_branch"
"""The tool that ends a branch; the source of the revision that folds it."""

_READ = "read_overflow"

_HANDLE = re.compile(r"b(\d+)\.(\d+)")

Begun = tuple[int, int]
"""A branch: the number of the turn that began it, and the place of the call in it."""


class BranchTools:
    """Answers `branch` and `return_from_branch`, and `read_overflow` where bodies stay readable.

    A return always ends the branch; where its turns cannot be folded they stay as they are, and the
    result says why. So a model is never caught in a branch.

    Args:
        core: the session's state.
        controller: the budget.
        edits: the model's edits.
        offer: how deep branches may go, and which bodies stay readable.
        tools: the tools, as Chat Completions write them.
        gate: the session's gate for the model's edits.
        tag: the session's tag.

    Attributes:
        begun: the branches that were begun and not ended, outermost first.
    """

    def __init__(
        self,
        core: Core,
        controller: Controller,
        edits: Edits,
        offer: Fold,
        tools: Sequence[Native],
        *,
        gate: Gate,
        tag: str,
    ) -> None:
        self.begun: tuple[Begun, ...] = ()
        self._titles: dict[Begun, str] = {}
        self.names = frozenset({"branch", RETURN, *((_READ,) if offer.bodies else ())})
        self._core = core
        self._joining = Joining(core, controller, tools)
        self._edits = edits
        self._offer = offer
        self._gate = gate
        self._tag = tag

    def aims(self, call: ToolCall) -> bool:
        """See `Toolset.aims`."""
        return call.name == RETURN

    def before(self) -> None:
        """See `Toolset.before`. The tools are in the request from the beginning, unless the session began
        under another policy."""
        self._joining.done()

    def among(self, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        """See `Toolset.among`."""
        return self._joining.among(fields)

    def recall(self, begun: Iterable[Begun]) -> None:
        """Remember the branches that another process left open."""
        self.begun = tuple(begun)

    @property
    def open(self) -> tuple[Begun, ...]:
        """The branches that are open, outermost first: the model must see where one began."""
        present = set(open_branches(self._core.live, [number for number, _ in self.begun]))
        return tuple(one for one in self.begun if one[0] in present)

    def answer(self, call: ToolCall, *, plan: int = 0, spans: Sequence[EditSpan] = ()) -> Said:
        """See `Toolset.answer`."""
        if call.name == _READ:
            return self._read(intent_of(_READ, call.arguments))
        intent = action_of(call.name, call.arguments)
        match intent:
            case BranchIntent():
                return self._branch(intent, call.place)
            case ReturnIntent():
                return self._return(intent, plan, spans)
            case _:
                text = intent.text if isinstance(intent, Outline) else ""
                return self._refused("branch" if call.name == "branch" else "return", text)

    def _branch(self, intent: BranchIntent, place: int) -> Said:
        core, depth, most = self._core, len(self.open), self._offer.depth
        if depth >= most:
            return self._refused("branch", too_deep(most))
        live = core.live
        here = live.turns[min(live.open_at, len(live.turns) - 1)]
        new = (here.number, place)
        while new in self.begun:  # of a client that runs tools itself nobody knows the places
            new = (new[0], new[1] + 1)
        self.begun = (*self.begun, new)
        self._titles[new] = intent.description
        core.tell(ContextOp(core.round, "branch", True, (handle(new),)))
        return Said(self._words(branch_begun(intent.description, depth + 1, most)))

    def _return(self, intent: ReturnIntent, plan: int, spans: Sequence[EditSpan]) -> Said:
        core, opened = self._core, self.open
        if not opened:
            return self._refused("return", no_branch())
        newest, live = opened[-1], core.live
        if live.open_at < len(live.turns) and live.turns[live.open_at].number == newest[0]:
            return self._refused("return", begun_in_this_round())
        depth = len(opened) - 1
        done = folding(
            live,
            newest[0],
            self._title(newest),
            defuse(intent.result, self._tag),
            core.raw_limit,
            depth=depth,
            gate=self._gate,
            storage=core.overflow.storage,
            bodies=self._offer.bodies,
            least=self._offer.least,
        )
        judged = None
        if done.revision is not None:
            judged = self._edits.propose(done.revision, plan=plan, spans=spans)
        self.begun = begun_after(self.begun, newest)
        self._told(newest, done, judged)
        if judged is not None and judged.applied:
            return Said(judged=judged)
        text = self._why(done, judged, depth)
        return Said(self._words(text), judged, owed=False)

    def _read(self, intent: Intent | Outline) -> Said:
        """A body whose stub stands in the note of a branch."""
        if not isinstance(intent, ReadIntent):
            return self._refused("read", intent.text if isinstance(intent, Outline) else "")
        core = self._core
        try:
            name, text = body_text(core.overflow, intent)
        except OverflowStoreError as error:
            return self._refused("read", f"{_READ}: {why_unreadable(error)}")
        core.tell(ContextOp(core.round, "read", True, (name,)))
        return Said(text, own=False)

    def _told(self, branch: Begun, done: Folding, judged: Judged | None) -> None:
        """The branch has ended, whatever became of its turns."""
        core, handles = self._core, [handle(branch)]
        freed, bodies = 0, tuple[str, ...]()
        if judged is not None and judged.applied:
            freed = core.shown(judged.receipt.before) - core.shown(judged.receipt.after)
            bodies = tuple(stub.id for stub in done.stubs)
            handles.append(f"turns {done.turns[0]}-{done.turns[-1]}")
        core.tell(ContextOp(core.round, "return", True, tuple(handles), freed, bodies))

    def _why(self, done: Folding, judged: Judged | None, depth: int) -> str:
        if judged is not None:
            return branch_kept(depth, judged.receipt.rule or "the edit changed nothing")
        match done.why:
            case "empty":
                return branch_empty(depth)
            case "small":
                return branch_kept(depth, "they are no larger than what would stand for them")
            case _:
                return branch_kept(depth, "something would be lost that must survive")

    def _title(self, branch: Begun) -> str:
        """What a branch is about, as the call that began it says."""
        turn = next(turn for turn in self._core.live.turns if turn.number == branch[0])
        title = self._titles.get(branch) or _description(turn, branch[1])
        return defuse(title, self._tag)

    # -- what is said ----------------------------------------------------------------------------

    def _refused(self, op: str, text: str) -> Said:
        self._core.tell(ContextOp(self._core.round, op, ok=False))
        return Said(self._words(text))

    def _words(self, text: str) -> str:
        return f"{opening(self._tag)} {defuse(text, self._tag)}"


def handle(branch: Begun) -> str:
    """What events call a branch: `b<turn>.<call>`."""
    return f"b{branch[0]}.{branch[1]}"


def begun_by(begun: tuple[Begun, ...], event: ContextOp) -> tuple[Begun, ...]:
    """The branches that are begun once what an event tells of has happened.

    Args:
        begun: those before it, outermost first.
        event: any call of a tool of ours.
    """
    found = _HANDLE.fullmatch(event.handles[0]) if event.ok and event.handles else None
    if found is None or event.op not in ("branch", "return"):
        return begun
    one = (int(found[1]), int(found[2]))
    return (*begun, one) if event.op == "branch" else begun_after(begun, one)


def innermost_ended(begun: tuple[Begun, ...], live: Live) -> tuple[Begun, ...]:
    """The branches that are begun once the innermost open one has ended.

    Args:
        begun: those before it, outermost first.
        live: the context in which it ended.
    """
    opened = open_branches(live, [number for number, _ in begun])
    last = [one for one in begun if opened and one[0] == opened[-1]]
    return begun_after(begun, last[-1]) if last else begun


def begun_after(begun: Sequence[Begun], ended: Begun) -> tuple[Begun, ...]:
    """The branches that are left once one has ended; those begun inside of it end with it.

    Args:
        begun: the branches begun, outermost first.
        ended: the one that ended; where it is not among them, nothing changes.
    """
    return tuple(begun[: begun.index(ended)]) if ended in begun else tuple(begun)


def _description(turn: Turn, place: int) -> str:
    call = next((call for call in turn.content.calls if call.index == place), None)
    try:
        given = json.loads(call.arguments) if call is not None else {}
    except ValueError:
        given = {}
    intent = action_of("branch", given) if isinstance(given, dict) else None
    return (
        intent.description if isinstance(intent, BranchIntent) else f"begun at turn {turn.number}"
    )
