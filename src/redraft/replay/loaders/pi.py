"""Session files of the coding agent pi: JSON lines, the first a `session`.

Source of the shapes: pi's own `docs/session.md`, and recorded sessions. Later versions give entries
an `id` and a `parentId`; where an entry does not follow the one before it, a thread branches off.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from redraft.cost import Cause
from redraft.replay.convert import Loose, from_blocks, text_of
from redraft.replay.recording import RecordedCall, Recording, ThreadDraft
from redraft.replay.source import Row, Source
from redraft.replay.usage import reported, seconds

__all__ = ["detect", "read"]

CLOCK = (
    "pi puts the time of its start into the system prompt, to the second: after a restart no cache "
    "finds anything. Restarts are not recorded."
)


def detect(source: Source) -> bool:
    """Whether the file begins with pi's session header."""
    rows = source.rows
    return bool(rows) and rows[0].value.get("type") == "session" and "cwd" in rows[0].value


def read(source: Source) -> Recording:
    """Read a session."""
    reader = _Reader(source, model=str(source.rows[0].value.get("modelId", "")))
    for row in source.rows[1:]:
        try:
            reader.entry(row)
        except Loose as error:
            raise source.error(row.line, f"{error}") from error
    threads = ThreadDraft.all_done(reader.drafts)
    return Recording(source.path, "pi", threads, (*source.notes, *reader.notes()))


@dataclass
class _Reader:
    source: Source
    model: str
    level: str = ""
    asked: str = ""  # the level when the user spoke last: a change counts from the next prompt on
    drafts: list[ThreadDraft] = field(default_factory=lambda: [ThreadDraft("main")])
    places: dict[str, tuple[int, int]] = field(default_factory=dict)
    silent: int = 0

    @property
    def now(self) -> ThreadDraft:
        return self.drafts[-1]

    def notes(self) -> Iterator[str]:
        if self.silent:
            yield f"{self.silent} calls were broken off before anything came back; left out"
        if any(call.reported for draft in self.drafts for call in draft.calls):
            yield CLOCK

    def entry(self, row: Row) -> None:
        value = row.value
        self._branch(value.get("parentId"))
        match value.get("type"):
            case "message" | "custom_message":
                self._message(row, value.get("message", value))
            case "model_change":
                self.model = str(value.get("modelId", self.model))
            case "thinking_level_change":
                self.level = str(value.get("thinkingLevel", ""))
            case "compaction":
                self._compaction(value)
            case "branch_summary":
                self.now.messages.append({"role": "user", "content": text_of(value.get("summary"))})
        if isinstance(value.get("id"), str):
            self.places[value["id"]] = (len(self.drafts) - 1, len(self.now.messages))

    def _branch(self, parent: object) -> None:
        place = self.places.get(parent) if isinstance(parent, str) else None
        if place is None or place == (len(self.drafts) - 1, len(self.now.messages)):
            return
        old = self.drafts[place[0]]
        name = f"branch {len(self.drafts)}"
        kept = list(old.messages[: place[1]])
        follows = self.now.name
        self.drafts.append(ThreadDraft(name, messages=kept, follows=follows, changed=Cause.EDIT))

    def _message(self, row: Row, message: object) -> None:
        if not isinstance(message, Mapping) or not {"role", "content"} & set(message):
            raise Loose("this entry has no `message` with a `role`; mend or remove the line")
        content = message.get("content")
        blocks = content if isinstance(content, list) else [text_of(content)]
        match message.get("role"):
            case "assistant":
                self._answer(row, message, blocks)
            case "toolResult":
                self.now.messages.append(
                    {
                        "role": "tool",
                        "tool_call_id": str(message.get("toolCallId", "")),
                        "content": text_of(content),
                    }
                )
            case "bashExecution":
                text = f"$ {message.get('command', '')}\n{message.get('output', '')}"
                self.now.messages.append({"role": "user", "content": text})
            case _:
                self.asked = self.level
                self.now.messages.extend(from_blocks("user", blocks))

    def _answer(self, row: Row, message: Mapping[str, Any], blocks: list[Any]) -> None:
        usage = message.get("usage")
        costs = usage.get("cost") if isinstance(usage, Mapping) else None
        found = reported(usage, costs.get("total") if isinstance(costs, Mapping) else None)
        if message.get("stopReason") in ("aborted", "error"):
            blocks = [
                block for block in blocks if not _is_call(block)
            ]  # never run, never sent back
        answer = list(from_blocks("assistant", blocks))
        if not answer and found is None:
            self.silent += 1
            return
        anthropic = "anthropic" in str(message.get("provider", message.get("api", "")))
        self.now.calls.append(
            RecordedCall(
                len(self.now.messages),
                row.line,
                str(message.get("model") or self.model),
                seconds(message.get("timestamp", row.value.get("timestamp"))),
                found,
                self.asked if anthropic and self.asked != "off" else "",
            )
        )
        self.now.messages.extend(answer)

    def _compaction(self, value: Mapping[str, Any]) -> None:
        """The summary, and what pi kept behind it, take the context's place."""
        old = self.now
        at = len(old.messages)
        first = value.get("firstKeptEntryId")
        place = self.places.get(first) if isinstance(first, str) else None
        if place is not None and place[0] == len(self.drafts) - 1:
            at = max(place[1] - 1, 0)
        summary = {"role": "user", "content": text_of(value.get("summary"))}
        self.drafts.append(
            ThreadDraft(
                f"compaction {len(self.drafts)}",
                messages=[summary, *old.messages[at:]],
                follows=old.name,
                changed=Cause.POLICY,
            )
        )


def _is_call(block: Any) -> bool:
    return isinstance(block, Mapping) and block.get("type") == "toolCall"
