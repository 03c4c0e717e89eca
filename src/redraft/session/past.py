"""What a session's record says of it: everything that a process must know to go on from there.

Reads the log once, from its start, and does nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from redraft import prompts
from redraft.budget import Phase
from redraft.context import Commit, Gate, Live, Origin, Receipt, Revision, Row, Status, Turn
from redraft.dialects import Content
from redraft.dialects.frames import CONTINUE
from redraft.errors import JournalError
from redraft.events import (
    ContextOp,
    EditJudged,
    Event,
    HandedOver,
    PhaseChanged,
    ReplyRead,
    RoundEnded,
)
from redraft.session.action_fold import RETURN, Begun, begun_by, innermost_ended
from redraft.session.approvals import SOURCE
from redraft.session.context_tools import CHANGING
from redraft.session.controller import LOSSES
from redraft.session.core import Judged
from redraft.session.rotations import PastRotations
from redraft.store import (
    Account,
    Answered,
    Appended,
    Asked,
    Committed,
    Decided,
    Entry,
    Handed,
    Held,
    Opened,
    Pinned,
    Refused,
    Rehomed,
    Released,
    Seen,
    Sent,
    SQLiteJournal,
    Started,
    Stated,
    Told,
)
from redraft.tokens import Calibration
from redraft.tools import PinBoard

__all__ = ["Owed", "Past", "calibration", "past_of"]

_SAYS_MORE = (Origin.ORIGINAL, Origin.TOOL)
"""The origin of turns that a client adds: its words, and what became of a call that waited."""


@dataclass(frozen=True, slots=True)
class Owed:
    """What the door answered and no event tells: the process ended in between.

    Attributes:
        receipt: the answer.
        revision: what was proposed.
        number: the revision's number, 0 where it did not commit.
        commit: the commit, where it did.
    """

    receipt: Receipt
    revision: Revision
    number: int = 0
    commit: Commit | None = None


@dataclass(slots=True)
class Past:
    """A session as its record leaves it.

    Attributes:
        live: its live context.
        state: how its budget stands.
        values: what it was set up with.
        round: the number of its last round.
        commits, revisions: the revisions that passed, by number; the number of the last one.
        generation, sent_generation, known_generation: how often the context was changed: in all, when
            the last request was sent, when the last answered one was.
        receipts, rejections: what became of every proposal; how many were rejected, by source.
        waiting: what the model was not told yet of its edits.
        owed: what nobody was told.
        rows, row: the ledger's closed rows; what has happened since the last one.
        plan: raw tokens of rationale and command of the edits in the round of `reply`.
        done: whether the model has given its final answer.
        reply: the number of the newest turn that the session itself asked for; 0 for none.
        reply_owed: the answer that was read and that no event tells.
        round_open: whether the round of that turn has not ended.
        newest: ids of the calls of the last reply that had some.
        edited: places of its calls that were edits and passed, with the revision's number.
        ops: what was told of its calls of context tools.
        handed: results of its calls, by place, that came while others still ran.
        held: what the client said meanwhile.
        seen: digests of what a client that owns the loop has sent.
        sent, request: the last request, and the context that it was made of, with the results that
            stood in for missing ones behind it where it has been answered.
        answered: whether the model's answer to it is there.
        shown: the live context as the file may have shown it since.
        board: the pins with their owners.
        turned: what policies did, and what was spent outside of the window.
        asked, decisions: every approval that was asked for, by its id, and how it stands.
        unsettled: what became of calls that waited, where the model was not told yet.
        begun: the branches that were begun and not ended, outermost first.
    """

    live: Live
    state: Stated
    values: Mapping[str, Any] = field(default_factory=dict)
    round: int = 0
    commits: dict[int, Commit] = field(default_factory=dict)
    revisions: int = 0
    generation: int = 0
    sent_generation: int = 0
    known_generation: int = 0
    receipts: list[Receipt] = field(default_factory=list)
    rejections: Counter[str] = field(default_factory=Counter)
    waiting: list[Judged] = field(default_factory=list)
    owed: list[Owed] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    row: Row | None = None
    plan: int = 0
    done: bool = False
    reply: int = 0
    reply_owed: Answered | None = None
    round_open: bool = False
    newest: tuple[str, ...] = ()
    edited: dict[int, int] = field(default_factory=dict)
    ops: list[ContextOp] = field(default_factory=list)
    handed: dict[int, Handed] = field(default_factory=dict)
    held: tuple[Content, ...] = ()
    seen: list[tuple[str, str]] = field(default_factory=list)
    sent: Sent | None = None
    request: Live | None = None
    answered: bool = False
    shown: list[Live] = field(default_factory=list)
    board: PinBoard = field(default_factory=PinBoard)
    turned: PastRotations = field(default_factory=PastRotations)
    asked: dict[str, Asked] = field(default_factory=dict)
    decisions: dict[str, str] = field(default_factory=dict)
    unsettled: list[tuple[Asked, Decided]] = field(default_factory=list)
    begun: tuple[Begun, ...] = ()


def past_of(journal: SQLiteJournal) -> Past:
    """Read a session's record.

    Raises:
        JournalError: it cannot be read, or there is no session in it.
    """
    tail = journal.tail()
    opened: Opened | None = None
    reader: _Reader | None = None
    for recorded in tail.new():
        entry, live = recorded.entry, tail.live
        if isinstance(entry, Opened):
            opened = entry
        if live is None or opened is None:
            continue
        if reader is None:
            reader = _Reader(Past(live, _begun(opened.values), opened.values))
        else:
            reader.read(entry, live)
    if reader is None:
        raise JournalError(
            "this journal holds no session; nothing was sent, so start the run again."
        )
    return reader.past


def _begun(values: Mapping[str, Any]) -> Stated:
    """How a budget stands at the beginning."""
    try:
        return Stated(0, values["limit"], values["family"])
    except KeyError as error:
        raise JournalError(
            f"the run does not say how it was set up (no {error}); start it again."
        ) from error


def _stand_in(turns: Sequence[Turn]) -> bool:
    """Whether turns are what a request held that nobody had said (`Core.stand_in`)."""
    return all(
        turn.origin is Origin.HARNESS and (turn.role == "tool" or turn.content.text == CONTINUE)
        for turn in turns
    )


class _Reader:
    """Takes note of one entry after the other."""

    def __init__(self, past: Past) -> None:
        self.past = past
        self._answered = False
        self._last: Entry | None = None

    def read(self, entry: Entry, live: Live) -> None:
        """Take note of `entry`, after which the live context is `live`."""
        past, before = self.past, self.past.live
        past.live = live
        if live is not before:
            past.shown.append(live)
        match entry:
            case Opened(values=values):
                past.values = values
            case Started():
                past.generation += 1
                past.commits.clear()
                past.board = PinBoard()
                self._account(before, intake=live.tokens, freed=before.tokens)
            case Appended():
                self._appended(entry, before)
            case Committed():
                self._committed(entry, before)
            case Refused():
                self._refused(entry)
            case Rehomed(turns=turns, frame_tokens=cost) if live.tokens != before.tokens:
                came = sum(turn.tokens for turn in turns) + cost
                self._account(before, intake=came, freed=before.tokens + came - live.tokens)
            case Pinned(numbers=numbers, board=board):
                past.board = PinBoard.of_numbers(numbers) if board is None else board
            case Released():
                past.generation += 1
            case Held(contents=contents):
                past.held = contents
            case Asked() | Decided():
                self._approval(entry)
            case Handed(place=place):
                past.handed[place] = entry
            case Seen(start=start, marks=marks):
                past.seen[start:] = marks
            case Sent():
                past.sent, past.request, past.answered = entry, live.outgoing, False
                past.shown, past.sent_generation = [live], past.generation
            case Answered():
                past.round, past.reply_owed = entry.round, entry
                past.known_generation = past.sent_generation
                self._answered = True
            case Stated():
                past.state, past.round = entry, entry.round
            case Account(row=row):
                past.rows.append(row)
                past.round = max(past.round, row.round)
                past.row = None
            case Told(event=event):
                self._told(event)
        self._last = entry

    def _approval(self, entry: Asked | Decided) -> None:
        past = self.past
        if isinstance(entry, Asked):
            past.asked[entry.id], past.decisions[entry.id] = entry, "waiting"
            return
        past.decisions[entry.id] = entry.state
        if entry.settles:
            past.unsettled.append((past.asked[entry.id], entry))

    # -- turns -----------------------------------------------------------------------------------

    def _appended(self, entry: Appended, before: Live) -> None:
        past, turns = self.past, entry.turns
        if past.request is not None and not past.answered and _stand_in(turns):
            past.request = past.request.joined(turns, {})
        past.answered = past.answered or any(turn.role == "assistant" for turn in turns)
        grown = past.live.tokens - before.tokens
        self._account(
            before,
            intake=grown - entry.measured - entry.plan,
            rewrite=entry.plan,
            measurement=entry.measured,
        )
        if self._answered:
            self._answered = False
            calls = turns[-1].content.calls
            past.reply, past.round_open = turns[-1].number, bool(calls)
            past.newest = tuple(call.id for call in calls) or past.newest
            past.done = not calls and not (past.reply_owed and past.reply_owed.paused)
            past.handed.clear()
            past.edited.clear()
            past.ops.clear()
            past.plan = 0
        elif any(turn.origin in _SAYS_MORE and turn.role != "tool" for turn in turns):
            self._taken_up()
            if any(turn.origin is Origin.TOOL for turn in turns):
                del past.unsettled[: len(turns)]
        told = (turn for turn in turns if turn.role == "tool" or turn.origin is Origin.TOOL)
        results = [turn.content.text for turn in told]
        if results:
            past.handed.clear()
        # Receipts wait on where no result could hold words, as a screenshot cannot.
        tag = prompts.opening(str(past.values.get("tag", "")))
        if any(past.values.get("observing") or tag in text for text in results):
            past.waiting.clear()
            past.state = replace(past.state, notices=())

    def _taken_up(self) -> None:
        """There is more to say: the loop goes on, after a stop as well."""
        self.past.done = False
        if self.past.state.phase == Phase.STOPPED:
            self._phase(Phase.RUNNING, "")

    def _account(self, before: Live, **causes: int) -> None:
        past = self.past
        past.row = (past.row or Row(past.round, before.tokens)).add(**causes)

    # -- revisions -------------------------------------------------------------------------------

    def _committed(self, entry: Committed, before: Live) -> None:
        past, commit = self.past, entry.commit
        past.commits[entry.number] = commit
        past.revisions = entry.number
        past.edited.update(dict.fromkeys(entry.edit_calls, entry.number))
        past.generation += 1
        self._account(before, freed=commit.deltas.freed, rewrite=commit.deltas.replacement)
        past.turned.committed(entry.number, commit.revision, before, past.live)
        past.owed.append(Owed(commit.receipt, commit.revision, entry.number, commit))
        if commit.revision.author == "model":
            past.plan += commit.revision.plan_tokens
            past.state = _edited(past.state, commit, str(past.values.get("tag", "")))
            if commit.revision.source == RETURN:  # its event may be lost with the process
                past.begun = innermost_ended(past.begun, before)
        elif commit.revision.source == "rollback":
            past.state = _rolled_back(past.state, commit)
        elif commit.revision.source == SOURCE and past.unsettled:
            del past.unsettled[0]
            self._taken_up()

    def _refused(self, entry: Refused) -> None:
        past, tokens = self.past, self.past.live.tokens
        if entry.refusal is not None:
            revision = entry.refusal.revision
            past.plan += revision.plan_tokens if revision.author == "model" else 0
            past.owed.append(Owed(entry.refusal.receipt, revision))
        elif not self._told_already(entry.rule):
            receipt = Receipt(Status.REJECTED, tokens, tokens, entry.rule, raw_limit(past.state))
            past.owed.append(Owed(receipt, Revision("model", "file")))

    def _told_already(self, rule: str) -> bool:
        """Whether the entry before told of this refusal: the rejected bytes come after it."""
        match self._last:
            case Told(event=EditJudged(status=Status.REJECTED, source="file", rule=told)):
                return told == rule
        return False

    # -- events ----------------------------------------------------------------------------------

    def _told(self, event: Event) -> None:
        past = self.past
        past.turned.told(event)
        match event:
            case EditJudged():
                self._judged(event)
            case PhaseChanged(phase=phase, why=why):
                self._phase(Phase(phase), why)
            case HandedOver():
                past.state = replace(past.state, losses=0)
            case ReplyRead():
                past.reply_owed = None
            case RoundEnded():
                past.round_open = False
            case ContextOp():
                past.ops.append(event)
                past.begun = begun_by(past.begun, event)

    def _judged(self, event: EditJudged) -> None:
        past, tokens = self.past, self.past.live.tokens
        if past.owed:
            receipt = past.owed.pop(0).receipt
        else:
            status = Status(event.status)
            limit = 0 if status is Status.IGNORED else raw_limit(past.state)
            receipt = Receipt(status, tokens, tokens, event.rule, limit)
        past.receipts.append(receipt)
        if receipt.status is Status.REJECTED:
            past.rejections[event.source] += 1
        # What a client's own tool call was answered with, it was told by the client; and the result of a
        # context tool's call says what became of it.
        inside = past.live.open_at < len(past.live.turns) and event.source not in CHANGING
        if event.author == "model" and (inside or event.source == "file"):
            past.waiting.append(Judged(receipt, event.number))

    def _phase(self, phase: Phase, why: str) -> None:
        past = self.past
        again = past.state.phase == Phase.STOPPED and phase is Phase.RUNNING
        past.state = replace(past.state, phase=str(phase), why=why)
        if again:
            past.state = replace(past.state, rollbacks=0, since_edit=0)


def calibration(state: Stated) -> Calibration:
    """How raw tokens compare with the model's, as a budget stands."""
    return Calibration(state.family, state.ratio, state.recent)


def raw_limit(state: Stated) -> int:
    """The limit in raw tokens, as a budget stands."""
    return calibration(state).raw_limit(state.limit)


def _edited(state: Stated, commit: Commit, tag: str) -> Stated:
    """What an edit of the model's does to the budget, as `Controller` and `Edits` have it."""
    grew = state.grew + 1 if commit.receipt.status is Status.GREW else 0
    state = replace(state, since_edit=0, grew=grew)
    if commit.revision.gate is not Gate.CONSERVE:
        return state
    losses = state.losses + 1 if commit.deltas.net <= 0 else 0
    notices = (*state.notices, prompts.handover_notice(tag)) if losses == LOSSES else state.notices
    return replace(state, losses=losses, notices=notices)


def _rolled_back(state: Stated, commit: Commit) -> Stated:
    """What a rollback does to it."""
    new = [move.new.number for move in commit.moves if move.old is None and move.new is not None]
    return replace(
        state,
        rollbacks=state.rollbacks + 1,
        since_edit=state.since_edit + 1,
        notice=new[-1] if new else state.notice,
    )
