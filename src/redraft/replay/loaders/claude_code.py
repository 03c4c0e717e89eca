"""Session files of Claude Code: JSON lines of `user` and `assistant` rows that name their parents.

Shapes as in recorded sessions. One answer is spread over several rows with the same message id, each
with the usage so far; sub-agents are `isSidechain` rows with a root of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from redraft.cost import Cause
from redraft.replay.convert import Loose, from_blocks
from redraft.replay.recording import RecordedCall, Recording, ThreadDraft
from redraft.replay.source import Row, Source
from redraft.replay.usage import reported, seconds

__all__ = ["detect", "read"]

FRAME = (
    "Claude Code's system prompt, tools and the reminders that it adds are not recorded; their size is "
    "taken from the first call of each kind of thread."
)


def detect(source: Source) -> bool:
    """Whether any of the first rows is a message of a Claude Code session."""
    return any(
        row.value.get("type") in ("user", "assistant")
        and isinstance(row.value.get("message"), Mapping)
        and ("uuid" in row.value or "sessionId" in row.value)
        for row in source.rows[:50]
    )


def read(source: Source) -> Recording:
    """Read a session, with its sub-agents as threads of their own."""
    reader = _Reader(source)
    for row in source.rows:
        if row.value.get("type") not in ("user", "assistant"):
            reader.passed(row.value)
            continue
        try:
            reader.row(row)
        except Loose as error:
            raise source.error(row.line, str(error)) from error
    threads = ThreadDraft.all_done(reader.drafts)
    return Recording(
        source.path, "claude-code", threads, (*source.notes, FRAME), marked=2, prunes=True
    )


@dataclass
class _Reader:
    source: Source
    drafts: list[ThreadDraft] = field(default_factory=list)
    places: dict[str, tuple[int, int]] = field(default_factory=dict)
    answers: dict[str, tuple[int, int]] = field(default_factory=dict)  # message id: draft, call
    times: dict[int, float | None] = field(default_factory=dict)  # when a draft last heard anything

    def passed(self, value: Mapping[str, Any]) -> None:
        """A row that is no message may still stand between a message and its parent."""
        name, parent = value.get("uuid"), value.get("parentUuid")
        if isinstance(name, str) and isinstance(parent, str) and parent in self.places:
            self.places[name] = self.places[parent]

    def row(self, row: Row) -> None:
        value = row.value
        message = value.get("message")
        if not isinstance(message, Mapping):
            raise Loose("this row has no `message`; mend or remove the line")
        content = message.get("content")
        blocks = content if isinstance(content, list) else [str(content or "")]
        at = self._thread(value, blocks)
        draft = self.drafts[at]
        if value["type"] == "assistant":
            self._answer(row, message, blocks, at)
        else:
            draft.messages.extend(from_blocks("user", blocks))
            self.times[at] = seconds(value.get("timestamp"))
        if isinstance(value.get("uuid"), str):
            self.places[value["uuid"]] = (at, len(draft.messages))

    def _thread(self, value: Mapping[str, Any], blocks: list[Any]) -> int:
        """The thread that a row belongs to. Cases: (1) a summary took the context's place; (2) it
        has no parent: a new thread; (3) a prompt whose parent lies before an answer: the user went
        back; (4) a prompt without a parent behind an answer: the context was cleared; (5) else its
        parent's thread, or the newest of its kind."""
        side = bool(value.get("isSidechain"))
        kind: Literal["main", "side"] = "side" if side else "main"
        parent = value.get("parentUuid") or value.get("logicalParentUuid")
        place = self.places.get(parent) if isinstance(parent, str) else None
        newest = max((at for at, draft in enumerate(self.drafts) if draft.kind == kind), default=-1)
        if value.get("isCompactSummary") and newest >= 0:  # (1)
            return self._new(kind, follows=newest, changed=Cause.POLICY)
        if newest < 0 or (place is None and not parent and side):  # (2)
            return self._new(kind)
        if place is None:
            cleared = not parent and self.drafts[newest].calls and value["type"] == "user"
            return self._new(kind, newest, Cause.EDIT) if cleared else newest  # (4), (5)
        draft = self.drafts[place[0]]
        gone_by = any(call.reply >= place[1] for call in draft.calls)
        if gone_by and value["type"] == "user" and not _results(blocks):  # (3)
            at = self._new(kind, follows=place[0], changed=Cause.EDIT)
            self.drafts[at].messages.extend(draft.messages[: place[1]])
            return at
        return place[0]  # (5)

    def _new(
        self,
        kind: Literal["main", "side"],
        follows: int | None = None,
        changed: Cause | None = None,
    ) -> int:
        name = kind if not self.drafts else f"{kind} {len(self.drafts)}"
        before = "" if follows is None else self.drafts[follows].name
        self.drafts.append(ThreadDraft(name, kind, follows=before, changed=changed))
        return len(self.drafts) - 1

    def _answer(self, row: Row, message: Mapping[str, Any], blocks: list[Any], thread: int) -> None:
        draft = self.drafts[thread]
        found = reported(message.get("usage"))
        name = str(message.get("id") or f"row {row.line}")
        known = self.answers.get(name)
        if known is not None and known[0] == thread:
            call = draft.calls[known[1]]
            draft.calls[known[1]] = replace(call, reported=found or call.reported)
            draft.messages.extend(from_blocks("assistant", blocks))
            return
        if message.get("model") == "<synthetic>":  # an error that Claude Code put in itself
            return
        when = self.times.get(thread) or seconds(row.value.get("timestamp"))
        model = str(message.get("model") or "")
        draft.calls.append(RecordedCall(len(draft.messages), row.line, model, when, found))
        self.answers[name] = (thread, len(draft.calls) - 1)
        draft.messages.extend(from_blocks("assistant", blocks))


def _results(blocks: list[Any]) -> bool:
    return any(
        isinstance(block, Mapping) and block.get("type") == "tool_result" for block in blocks
    )
