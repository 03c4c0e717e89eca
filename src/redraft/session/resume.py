"""Taking a session up again from its journal: what it was, and what its end left open."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from redraft import prompts
from redraft.budget import Phase
from redraft.context import Live, Receipt, Revision, Status, Turn
from redraft.contextfile.format import END, parse, render
from redraft.contextfile.mirror import MAX_BYTES, Mirror
from redraft.contextfile.place import opened
from redraft.contextfile.safe_io import HEAD_CAP, load
from redraft.contextfile.safe_io import replace as put
from redraft.dialects import Dialect, Frame
from redraft.errors import JournalError
from redraft.events import ReplyRead, RoundEnded
from redraft.prompts import one_line
from redraft.session.action_fold import BranchTools
from redraft.session.assembly import Means, assemble, mirror_of
from redraft.session.beginning import beginning_of, limit_of
from redraft.session.calling import unfit_result
from redraft.session.context_tools import CHANGING, ContextTools
from redraft.session.engine import Engine
from redraft.session.framing import fields_swapped, frame_of
from redraft.session.past import Past
from redraft.session.rounds import Outcome, Results, ToolCall, parse_calls
from redraft.session.stating import restate
from redraft.session.terms import Terms
from redraft.session.toolsets import EditTool
from redraft.settings import Settings
from redraft.store import Opened, Refused, SQLiteJournal

__all__ = ["UNREAD", "Resumption"]

UNREAD = "the run was interrupted before the file was read"


class Resumption:
    """A session on its way back.

    Args:
        journal: its journal, open to write.
        means: what it works with from here on.
        past: what its record says.
        settings, budget, window: what changes of its numbers; None for nothing.

    Attributes:
        terms: what it was set up with, and what changes of it.
        beginning: makes a context from a client's messages.
        past: what its record says.

    Raises:
        JournalError: the journal cannot be read or written, or holds no session.
    """

    def __init__(
        self,
        journal: SQLiteJournal,
        means: Means,
        past: Past,
        *,
        settings: Settings | None,
        budget: int | None,
        window: int | None,
    ) -> None:
        if not journal.writable:
            raise JournalError(
                "this journal was opened to be read; open it to write to go on with its session."
            )
        self.past = past
        self._journal = journal
        self._means = means
        self._mirror: Mirror | None = None
        self._file: bytes | None = None
        self._private = False
        self._old = terms = Terms.of(past.values)
        anew = any(given is not None for given in (budget, window)) or (
            settings is not None and _sizes(settings) != _sizes(terms.settings)
        )
        terms = replace(
            terms,
            settings=settings or terms.settings,
            budget=terms.budget if budget is None else budget,
            window=terms.window if window is None else window,
            limit=past.state.limit,
            **means.schedule.values,
        )
        if anew:
            limit = limit_of(terms.model, terms.budget, terms.window, terms.settings)
            terms = replace(terms, limit=limit)
        self.terms = terms
        self.beginning = beginning_of(terms, means, past.live.frame.fields)

    def mirror(self, directory: Path | None) -> Mirror | None:
        """The context file at its old place, or in another directory; a fork without one gets a private
        temporary one."""
        if not self.terms.has_file:
            return None
        old = self._old
        place = Path(old.context_file)
        if not old.lent:
            self._file = left_behind(place, private=old.private)
            directory = directory or place.parent
        self._private = directory is None
        self._mirror = mirror_of(self.terms, directory, takeover=True)
        return self._mirror

    def engine(self, notice: str) -> Engine:
        """The session's parts, healed; `notice` waits for the next result."""
        past, journal = self.past, self._journal
        engine = assemble(self.terms, self._means, past.live, self._mirror, begun=True)
        recall(engine, past)
        engine.core.limit = self.terms.limit
        if notice and notice not in engine.controller.notices:
            engine.controller.notices.append(notice)
        self._move()
        self.beginning = replace(self.beginning, section=self.terms.section)
        journal.record(Opened(self.terms.values()))
        self._rehome(engine)
        heal(engine, past, self._file)
        engine.state()
        journal.flush()
        return engine

    def _move(self) -> None:
        """Where the file has another place now, the section of the system prompt says so."""
        old, mirror = self._old, self._mirror
        if mirror is None or str(mirror.path) == old.context_file:
            return
        before, now = (f"`{one_line(str(path), 4096)}`" for path in (old.context_file, mirror.path))
        self.terms = replace(
            self.terms,
            context_file=str(mirror.path),
            section=old.section.replace(before, now),
            private=self._private,
            lent=False,
        )

    def _rehome(self, engine: Engine) -> None:
        old, new = self._old.section, self.terms.section
        if old == new:
            return
        core = engine.core
        turns, frame = rehoused(core.live, old, new), reworded(core.live, old, new)
        if turns or frame is not None:
            core.rehome(turns, self.terms.context_file, frame)


def _sizes(settings: Settings) -> tuple[int | None, ...]:
    """What the limit is made from."""
    return settings.budget, settings.window, settings.output_reserve, settings.margin


# -- what it was -----------------------------------------------------------------------------------


def recall(engine: Engine, past: Past) -> None:
    """Let a session's parts, made around its live context, remember what the record says."""
    core = engine.core
    restate(engine, replace(past.state, round=past.round))
    core.recall(past.commits, past.revisions, past.generation)
    core.board = past.board
    core.receipts = list(past.receipts)
    core.rejections = past.rejections.copy()
    core.books.ledger.rows = list(past.rows)
    core.books.ledger.spend = list(past.turned.spend)
    engine.controller.scheduler.recall(past.turned)
    if past.row is not None:
        core.books.take_up(past.row)
    engine.edits.waiting = list(past.waiting)
    engine.approvals.recall(past)
    for toolset in engine.toolsets:
        if isinstance(toolset, BranchTools):
            toolset.recall(past.begun)
    engine.recall(done=past.done, held=past.held, known=past.known_generation, newest=past.newest)
    if past.sent is not None and past.request is not None:
        engine.wire.resume(past.request, past.sent.turns, past.sent.mended)
        core.asked = None if past.answered else past.request


def rehoused(live: Live, old: str, new: str) -> list[Turn]:
    """The system turns that told of the context in the words `old`, telling of it in the words `new`.

    Args:
        live: the live context.
        old, new: the section of the system prompt (`redraft.prompts.system_section`).
    """
    return [
        _with_text(live, turn, turn.content.text.replace(old, new))
        for turn in live.turns
        if turn.role == "system" and old and old in turn.content.text
    ]


def reworded(live: Live, old: str, new: str) -> Frame | None:
    """The frame that told of the context in the words `old`, telling of it in the words `new`; None
    where it does not tell of it."""
    frame = live.frame
    fields = fields_swapped(frame.fields, old, new) if old else frame.fields
    if fields == frame.fields:
        return None
    return frame_of(live.dialect, fields, frame.place)


def _with_text(live: Live, turn: Turn, text: str) -> Turn:
    dialect: Dialect = live.dialect
    content = dialect.write(turn.content, text, (), turn.content.parts)
    return Turn.of(live.draft(content, turn.origin), turn.number, turn.place)


# -- the file --------------------------------------------------------------------------------------


def left_behind(path: Path, *, private: bool) -> bytes | None:
    """What stands at the context file's place; None where nothing that can be read does. Anything but
    a file of ours is taken out of the way, and what it leads to is left alone.

    Args:
        path: the file.
        private: whether its directory was a temporary one of the session's own; it is removed.
    """
    try:
        with opened(path.parent) as directory:
            found = load(path.name, directory, MAX_BYTES)
            if found.fault and found.signature:  # a link, a pipe: a command put it there
                put(path.name, directory, END)
    except OSError:
        return None
    if private:
        shutil.rmtree(path.parent, ignore_errors=True)
    return None if found.fault else found.data


def _unread(data: bytes, shown: Iterable[Live]) -> bool:
    """Whether a file holds anything that the session did not write itself."""
    if data == END:
        return False
    files = [render(live.editable()) for live in shown]
    # Headers may show sizes, which change with every turn and say nothing.
    return data not in files and parse(data) not in map(parse, files)


# -- what its end left open ------------------------------------------------------------------------


def heal(engine: Engine, past: Past, file: bytes | None) -> None:
    """Bring to an end what the process left in the middle, once, and written down like anything else:
    tell what nobody was told, close the ledger's row, answer the calls that have no result.

    Args:
        engine: the session's parts, which remember `past`.
        past: what the record says.
        file: the context file as it was left behind, if it was.

    Raises:
        JournalError: it cannot be recorded.
    """
    _tell_owed(engine, past)
    engine.controller.scheduler.tell_owed(past.turned)
    engine.approvals.heal()
    live = past.live
    ours = live.open_at < len(live.turns) and live.turns[live.open_at].number == past.reply
    if file is not None and _unread(file, [*past.shown, live]):
        _refuse(engine, file)
    if ours:
        _answer_calls(engine, past, live.turns[live.open_at])
    else:
        _close_round(engine, past)
    engine.release()


def _tell_owed(engine: Engine, past: Past) -> None:
    core, answered = engine.core, past.reply_owed
    for owed in past.owed:
        judged = core.judged(owed.receipt, owed.revision, owed.number, owed.commit)
        if owed.revision.author == "model" and owed.revision.source not in CHANGING:
            engine.edits.waiting.append(judged)
    reply = next((turn for turn in past.live.turns if turn.number == past.reply), None)
    if answered is not None and reply is not None:
        usage = answered.usage
        prompt, cached, output = (usage.prompt, usage.cached, usage.output) if usage else (0, 0, 0)
        calls = len(reply.content.calls)
        core.tell(ReplyRead(core.round, calls, True, prompt, cached, output))


def _refuse(engine: Engine, data: bytes) -> None:
    """Keep an edit that nobody read for the record, and tell the model that it was not taken."""
    core = engine.core
    core.journal.record(Refused(UNREAD, data=data[:HEAD_CAP]))
    tokens = core.live.tokens
    receipt = Receipt(Status.REJECTED, tokens, tokens, UNREAD, core.raw_limit)
    engine.edits.waiting.append(core.judged(receipt, Revision("model", "file")))


def _answer_calls(engine: Engine, past: Past, reply: Turn) -> None:
    """Give each call of the open round its result: the one that came, or what there is to say."""
    head, live = reply.content, engine.core.live
    good, bad = parse_calls(head.calls)
    running = engine.controller.phase is Phase.RUNNING
    lost = prompts.interrupted_result if running else prompts.not_run_result
    outcomes = {call.place: Outcome(lost(engine.tag), 1, own=True) for call in good}
    outcomes |= {
        call.index: Outcome(unfit_result(live.dialect, call, engine.tag), 1, own=True)
        for call in bad
    }
    for call in good:
        outcomes[call.place] = _own_outcome(engine, past, call) or outcomes[call.place]
    for place, handed in past.handed.items():
        outcomes[place] = Outcome(handed.text, handed.exit_code, handed.timed_out, own=handed.own)
    for asked in past.asked.values():
        if asked.round == engine.core.round:
            outcomes[asked.place] = engine.approvals.waiting(asked)
    results = Results(head, [], outcomes=outcomes, plan=past.plan, read=True)
    engine.results = results
    engine.end(results, interrupted=True)


def _own_outcome(engine: Engine, past: Past, call: ToolCall) -> Outcome | None:
    """What became of a call of a tool of ours whose words are lost; None where it is not ours, or was not
    done because the run had ended."""
    toolset, number = engine.toolset(call.name), past.edited.get(call.place)
    if toolset is None:
        return None
    if number is None:
        running = engine.controller.phase is Phase.RUNNING
        ours = running and not isinstance(toolset, EditTool)
        return Outcome(prompts.call_again_result(engine.tag), 1, own=True) if ours else None
    if not isinstance(toolset, ContextTools):
        return Outcome("", own=True)  # its receipt says it all
    commit = past.commits[number]
    # The calls of one reply are done in their order, so their events come in it as well.
    earlier = [past.commits[past.edited[place]] for place in past.edited if place < call.place]
    before = sum(commit.revision.source in CHANGING for commit in earlier)
    told = sum(op.ok and f"context_{op.op}" in CHANGING for op in past.ops) > before
    text = toolset.recalled(call, number, commit, told=told)
    return Outcome(text, own=True, edited=True)


def _close_round(engine: Engine, past: Past) -> None:
    """All results are there; what comes behind them may be missing."""
    core = engine.core
    core.end_round()
    if past.round_open:
        core.tell(RoundEnded(core.round, core.used, core.limit, 1))
    if past.round_open or past.done:
        engine.controller.answered(calls=past.round_open)
