"""Our own journals: each request exactly as a session sent it, and what the server reported of it.

A call counts once it was answered. Between two calls the context may have been edited; then a new
thread takes the place of the old one, and says who did it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from redraft.cost import Cause
from redraft.dialects import Dialect, Usage
from redraft.errors import DialectError, JournalError
from redraft.replay.convert import Loose, chat
from redraft.replay.recording import RecordedCall, Recording, Reported, ThreadDraft
from redraft.replay.source import Source
from redraft.replay.wires import from_contents
from redraft.store import (
    Answered,
    Appended,
    Committed,
    Entry,
    Input,
    Opened,
    Recorded,
    Sent,
    SQLiteJournal,
    Started,
    inputs,
)
from redraft.store.files import JOURNAL

__all__ = ["detect", "read"]

UNTOLD = "the server reported no cache reads, or they were all zero"
_APIS = {
    "openai-chat": "chat",
    "fenced-chat": "chat",
    "openai-responses": "responses",
    "anthropic": "anthropic",
    "gemini": "gemini",
}
_CAUSES: Mapping[str, Cause] = {
    "model": Cause.EDIT,
    "person": Cause.EDIT,
    "policy": Cause.POLICY,
    "harness": Cause.ROLLBACK,
}


def detect(source: Source) -> bool:
    """Whether the file is a database, or a directory that holds one."""
    return source.database


def read(source: Source) -> Recording:
    """Read a journal; one that is being written to is read as far as it goes."""
    path = Path(source.path)
    if path.is_file() and path.name != JOURNAL:
        raise source.error(0, f"a journal is only read under its own name; call it {JOURNAL}")
    try:
        with SQLiteJournal(path if path.is_dir() else path.parent, write=False) as journal:
            reader = _Reader(journal.dialect)
            reader.read(journal.tail().new())
    except JournalError as error:
        raise source.error(0, str(error)) from error
    except (DialectError, Loose) as error:
        raise source.error(0, f"a request in it cannot be read: {error}") from error
    if not reader.drafts:
        raise source.error(0, "no model call was answered in this run; name one that went further")
    notes = (*source.notes, *reader.finish())
    threads = ThreadDraft.all_done(reader.drafts)
    return Recording(source.path, "journal", threads, notes, bare=True)


@dataclass
class _Reader:
    """Reads the entries in order.

    Attributes:
        dialect: the wire format.
        model: the model's name, once it is known.
        drafts: the threads so far.
        sent: the request that waits for its answer: what was sent, and when.
        lost: requests that were never answered.
        changed: who changed the context since the last answered request.
        replied: whether the next assistant turn is an answer.
    """

    dialect: Dialect
    model: str = ""
    drafts: list[ThreadDraft] = field(default_factory=list)
    sent: tuple[Input, float] | None = None
    lost: int = 0
    changed: Cause | None = None
    replied: bool = False
    _at: float = 0.0

    def read(self, recorded: Iterable[Recorded]) -> None:
        """Take in all entries. `inputs` sees each of them just behind us."""
        for given in inputs(self._passing(recorded)):
            self.lost += self.sent is not None
            self.sent = given, self._at

    def _passing(self, recorded: Iterable[Recorded]) -> Iterator[Entry]:
        for one in recorded:
            self._at = one.at
            self._note(one.entry)
            yield one.entry

    def _note(self, entry: Entry) -> None:
        match entry:
            case Opened():
                self.model = str(entry.values.get("model") or self.model)
            case Started() if self.drafts:
                self.changed = Cause.EDIT  # the client rewrote its history
            case Committed(commit=commit):
                self.changed = _CAUSES[commit.revision.author]
            case Answered(usage=usage) if self.sent is not None:
                self._answered(*self.sent, usage)
                self.sent, self.replied = None, True
            case Appended(turns=turns) if self.replied:
                reply = [turn.content for turn in turns if turn.role == "assistant"][:1]
                self.drafts[-1].messages.extend(from_contents(reply))
                self.replied = False
            case Sent():
                self.replied = False

    def _answered(self, given: Input, at: float, usage: Usage | None) -> None:
        body = given.body(self.dialect)
        api = _APIS.get(self.dialect.name, "")
        said = None
        if usage is not None and usage.comparable:
            said = Reported(usage.prompt, usage.cached, output=usage.output)
        draft = self._draft(list(self._messages(given, body)), body.get("tools"))
        call = RecordedCall(len(draft.messages), 0, self.model, at, said, "", body if api else None)
        draft.calls.append(replace(call, api=api))

    def _messages(self, given: Input, body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        if self.dialect.name != "openai-chat":
            yield from from_contents(turn.content for turn in given.turns)
            return
        for message in body["messages"]:
            yield from chat(message)

    def _draft(self, sent: list[dict[str, Any]], tools: object) -> ThreadDraft:
        """The thread that a request goes on from, or a new one in the place of the last."""
        last = self.drafts[-1] if self.drafts else None
        if last is not None and _same(sent[: len(last.messages)], last.messages):
            last.messages[:] = sent
        else:
            draft = ThreadDraft(f"context {len(self.drafts) + 1}", messages=list(sent))
            if last is not None:
                draft.follows, draft.changed = last.name, self.changed
            draft.tools = tuple(t for t in _listed(tools) if isinstance(t, Mapping))
            self.drafts.append(draft)
        self.changed = None
        return self.drafts[-1]

    def finish(self) -> Iterator[str]:
        """What the reader should know. Reads that are zero throughout were not reported."""
        self.lost += self.sent is not None
        if self.lost:
            yield f"{self.lost} requests were never answered; left out"
        calls = [call for draft in self.drafts for call in draft.calls]
        if any(call.reported and call.reported.read for call in calls):
            return
        for draft in self.drafts:
            draft.calls = [_without_read(call) for call in draft.calls]
        yield UNTOLD


def _same(one: list[dict[str, Any]], other: list[Mapping[str, Any]]) -> bool:
    """Whether two lists say the same; how a reply was put into a carrier does not count."""
    return [_said(message) for message in one] == [_said(message) for message in other]


def _said(message: Mapping[str, Any]) -> tuple[object, ...]:
    calls = [
        (call.get("id"), call.get("function")) if isinstance(call, Mapping) else call
        for call in _listed(message.get("tool_calls"))
    ]
    return message.get("role"), message.get("content") or "", calls, message.get("tool_call_id")


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _without_read(call: RecordedCall) -> RecordedCall:
    said = call.reported
    return call if said is None else replace(call, reported=replace(said, read=None))
