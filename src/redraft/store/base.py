"""What a journal is given, and when: the append-only record of everything.

A commit is recorded before the live context changes. A journal that cannot record raises, and then
nothing has changed: that is how a full disk loses nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from redraft.context import Commit, Refusal, Row, Turn
from redraft.dialects import Content, Frame, Native, Usage
from redraft.events import Event
from redraft.tools import PinBoard

__all__ = [
    "Account",
    "Answered",
    "Appended",
    "Asked",
    "Committed",
    "Decided",
    "EditSpan",
    "Entry",
    "Handed",
    "Held",
    "Journal",
    "Mended",
    "Opened",
    "Output",
    "Pinned",
    "Refused",
    "Rehomed",
    "Released",
    "Seen",
    "Sent",
    "Started",
    "Stated",
    "Told",
]


@dataclass(frozen=True, slots=True)
class Opened:
    """A process takes up the session, at its beginning or after another one has ended.

    Attributes:
        values: what a session must know to go on where no turn says it: `model`, `tag`, `settings`
            and so on, as plain values.
    """

    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Started:
    """A context at its beginning: a session's, or the one after a client rewrote its history.

    Attributes:
        frame: tools and parameters.
        turns: the turns it begins with, with their original carriers.
        head: how many of them are the pinned prefix.
        frame_tokens: raw tokens of the frame.
        made: marks of the turns that hold bound reasoning (`redraft.context.Live.made`).
    """

    frame: Frame
    turns: tuple[Turn, ...]
    head: int
    frame_tokens: int = 0
    made: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Appended:
    """Turns that joined the end of the live context, with their original carriers.

    Attributes:
        turns: the turns.
        measured: how many of their raw tokens are receipts, readouts and notices.
        plan: raw tokens of the round's reply that were rationale and command of edits.
        head: how many turns are the pinned prefix from here on; None where that stays.
        made: marks of the turns that hold bound reasoning (`redraft.context.Live.made`).
        paused: whether they are a reply that the server goes on with, so that it answers nobody yet.
    """

    turns: tuple[Turn, ...]
    measured: int = 0
    plan: int = 0
    head: int | None = None
    made: Mapping[int, str] = field(default_factory=dict)
    paused: bool = False


@dataclass(frozen=True, slots=True)
class Held:
    """What a client said while a call was under way: it waits until the results are in.

    Attributes:
        contents: all that waits, in order; none once it has joined the context.
    """

    contents: tuple[Content, ...]


@dataclass(frozen=True, slots=True)
class Handed:
    """The result of one call of a round while others still run, so that nothing that was done is
    lost, or done again, where the process ends before they have theirs.

    Attributes:
        round: the round's number.
        place: the call's place in its turn.
        text: the output as it came.
        exit_code: the command's exit code, 0 for success.
        timed_out: whether the command was killed for taking too long.
        own: whether they are redraft's own words.
    """

    round: int
    place: int
    text: str
    exit_code: int = 0
    timed_out: bool = False
    own: bool = False


@dataclass(frozen=True, slots=True)
class Asked:
    """A call waits for a person's approval: it was not run, and its result says so. What is approved is
    the call as it stands here, whatever becomes of its turn.

    Attributes:
        round: the round's number.
        place: the call's place in its turn.
        id: names the approval.
        asked: what is to be approved.
        answers: the call's id.
        tool: the tool's name.
        arguments: the arguments, parsed.
        text: what the result says beside that it waits.
    """

    round: int
    place: int
    id: str
    asked: str
    answers: str
    tool: str
    arguments: Mapping[str, Any]
    text: str = ""


Decision = Literal["granted", "begun", "done", "rejected"]


@dataclass(frozen=True, slots=True)
class Decided:
    """What became of an approval.

    Attributes:
        id: names it.
        state: `granted` (the call may be run), `begun` (it is being run), `done` (its result is there),
            or `rejected`. With the last two it waits no more.
        text: the result as it came, or the reason of a rejection.
        exit_code: the command's exit code, 0 for success.
        timed_out: whether the command was killed for taking too long.
    """

    id: str
    state: Decision
    text: str = ""
    exit_code: int = 0
    timed_out: bool = False

    @property
    def settles(self) -> bool:
        """Whether nothing is waited for any more."""
        return self.state in ("done", "rejected")


@dataclass(frozen=True, slots=True)
class Output:
    """A tool's output as it came, where the context will hold it cut or escaped.

    Attributes:
        round: the round's number.
        answers: the id of the call that it answers.
        text: all of it.
    """

    round: int
    answers: str
    text: str


@dataclass(frozen=True, slots=True)
class EditSpan:
    """The part of a call that is the command of an edit, for training.

    Attributes:
        place: the call's place in its turn.
        start, end: characters of the call's arguments, half open, as the text stands on the wire.
            For `edit_context` all of them; for a command that names the context file the inside of
            that JSON string, escapes as they are; for a call of which that is not known, all.
    """

    place: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Committed:
    """A revision that passed, under its number, with every turn that it replaced.

    Attributes:
        number: the revision's number in this session, from 1.
        commit: what the door answered.
        edit_calls: places of the calls in the round's assistant turn that made the edit, for
            training; empty for what no model did.
        edit_spans: where in these calls the edit's command stands.
        queued: whether what was sent before goes on being sent, until a later revision that is not
            queued, or `Released`.
    """

    number: int
    commit: Commit
    edit_calls: tuple[int, ...] = ()
    edit_spans: tuple[EditSpan, ...] = ()
    queued: bool = False


@dataclass(frozen=True, slots=True)
class Released:
    """Revisions that were queued take effect: from here on the live context itself is sent."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A revision or a context file that did not pass; `data` holds the rejected bytes."""

    rule: str
    refusal: Refusal | None = None
    data: bytes = b""


@dataclass(frozen=True, slots=True)
class Pinned:
    """Which turns are pinned from here on, beside the prefix.

    Attributes:
        numbers: the turns.
        board: the pins with their owners; None in a journal of before these were written down.
    """

    numbers: frozenset[int]
    board: PinBoard | None = None


@dataclass(frozen=True, slots=True)
class Seen:
    """What a client that owns the loop has sent so far, to tell new messages from old ones.

    Attributes:
        start: how many messages were known before; what was known behind them is not any more.
        marks: for each further message two digests: of its values, and of what a reader sees of it.
    """

    start: int
    marks: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Rehomed:
    """What stands around the turns has changed: the system prompt names another place for the context
    file, since a fork has one of its own, or a client sends other fields.

    Attributes:
        turns: the turns that name it, under their old numbers.
        path: the file's path from here on.
        frame: the frame from here on; None where it stays.
        frame_tokens: raw tokens of that frame.
    """

    turns: tuple[Turn, ...]
    path: str
    frame: Frame | None = None
    frame_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Mended:
    """How a list that was sent differs from what its turns join to, because a rule made it so.

    Attributes:
        start, end: the messages of the joined list that were replaced, half open.
        natives: what was sent in their place.
    """

    start: int
    end: int
    natives: tuple[Native, ...]


@dataclass(frozen=True, slots=True)
class Sent:
    """A model call is about to be made. Its exact input follows from the entries before this one
    (`redraft.store.inputs`).

    Attributes:
        round: the round's number.
        turns: how many turns are sent.
        tokens: their raw tokens, frame included.
        mended: what was sent in place of what the turns join to; None where it was just that.
        added: fields that the request had besides, or in place of, those of its frame.
    """

    round: int
    turns: int
    tokens: int
    mended: Mended | None = None
    added: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answered:
    """A model call was answered; what the server reported of it, and whether it only paused."""

    round: int
    usage: Usage | None
    paused: bool = False


@dataclass(frozen=True, slots=True)
class Stated:
    """How the budget stands: what no turn says and a session must know to go on as it would have.

    Attributes:
        round: the number of the last round.
        limit: tokens that the context may hold; an overflow brings it down.
        family, ratio, recent: the calibration's fields.
        phase, why: how the run stands, and why it does not go on.
        rollbacks, since_edit: how often the context was rolled back, in all and since an edit.
        notice: the number of the turn that tells of the last rollback, 0 for none.
        nudge_level: how many tiers of nudges are reached.
        outputs: sizes of the last outputs, as shown.
        losses: edits running that freed no more than they cost.
        grew: growing edits since one that shrank.
        free_rounds: free rounds running that did not shrink the context.
        notices: what waits to be told in the next result.
        exchange: the number of the turn that ended the exchange before this one, 0 for none; -1 before
            the first request.
        began: the number of the round before this exchange's first.
        offered, reminded: whether the context tools are offered, and whether the model was reminded of
            them in this exchange.
    """

    round: int
    limit: int
    family: float = 1.0
    ratio: float = 1.0
    recent: tuple[float, ...] = ()
    phase: str = "running"
    why: str = ""
    rollbacks: int = 0
    since_edit: int = 0
    notice: int = 0
    nudge_level: int = 0
    outputs: tuple[int, ...] = ()
    losses: int = 0
    grew: int = 0
    free_rounds: int = 0
    notices: tuple[str, ...] = ()
    exchange: int = -1
    began: int = 0
    offered: bool = False
    reminded: bool = False


@dataclass(frozen=True, slots=True)
class Account:
    """A closed row of the ledger."""

    row: Row


@dataclass(frozen=True, slots=True)
class Told:
    """An event, as it was emitted."""

    event: Event


Entry = (
    Account
    | Answered
    | Appended
    | Asked
    | Committed
    | Decided
    | Handed
    | Held
    | Opened
    | Output
    | Pinned
    | Refused
    | Rehomed
    | Released
    | Seen
    | Sent
    | Started
    | Stated
    | Told
)


class Journal(Protocol):
    """The durable, append-only record of a session."""

    def record(self, entry: Entry) -> None:
        """Record `entry`; when this returns, it is as durable as the journal can make it."""
