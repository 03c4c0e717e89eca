"""Conversations with a model that binds its reasoning, in three wire formats, and scripts of edits over
them. Every request goes to a server that knows only what it was sent (`bound_server`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from context_world import METER
from hypothesis import strategies as st

from bound_server import BoundServer
from redraft.context import (
    Change,
    Commit,
    Effect,
    Insert,
    Live,
    Origin,
    Refusal,
    Revision,
    Row,
    Turn,
    commit,
    exchange_at,
    invert,
    obstacles,
    void,
)
from redraft.context.turn import edited_origin
from redraft.dialects import Anthropic, Dialect, OpenAIChat, OpenAIResponses

Message = dict[str, Any]
PLENTY = 10**9


class Speaker:
    """How one wire format says things."""

    def __init__(self, dialect: Dialect, binding: Any) -> None:
        self.dialect = dialect
        self.binding = binding

    def start(self) -> Live:
        field = self.dialect.turns_field
        body = {field: [_words(self.dialect.name, "task")], "tools": [{"name": "look"}]}
        frame, contents = self.dialect.split(body)
        return Live.start(self.dialect, METER, frame, contents, binding=self.binding)

    def reply(self, number: int, sealed: str, calls: int) -> Any:
        """What the server answers: some reasoning, a few words, so many calls."""
        names = [f"call_{number}_{at}" for at in range(calls)]
        text = f"looking {number}" if calls else f"answer {number}"
        return _REPLIES[self.dialect.name](text, sealed, names)

    def read(self, reply: Any) -> Any:
        response = {"output": reply, "status": "completed"} if isinstance(reply, list) else reply
        return self.dialect.read(response).content


def _words(name: str, text: str) -> Message:
    message = {"role": "user", "content": text}
    return {"type": "message", **message} if name == "openai-responses" else message


def _chat(text: str, sealed: str, names: Sequence[str]) -> Message:
    message: Message = {"role": "assistant", "content": text}
    if sealed:
        detail = {"type": "reasoning.text", "text": "since", "signature": sealed}
        message["reasoning_details"] = [detail]
    if names:
        function = {"name": "look", "arguments": "{}"}
        message["tool_calls"] = [{"id": n, "type": "function", "function": function} for n in names]
    return message


def _anthropic(text: str, sealed: str, names: Sequence[str]) -> Message:
    thinking = [{"type": "thinking", "thinking": "since", "signature": sealed}] if sealed else []
    asked = [{"type": "tool_use", "id": n, "name": "look", "input": {}} for n in names]
    return {"role": "assistant", "content": [*thinking, {"type": "text", "text": text}, *asked]}


def _responses(text: str, sealed: str, names: Sequence[str]) -> list[Message]:
    items: list[Message] = []
    if sealed:
        items.append({"type": "reasoning", "id": f"rs_{sealed}", "encrypted_content": sealed})
    body = [{"type": "output_text", "text": text, "annotations": []}]
    items.append({"type": "message", "id": f"m_{text}", "role": "assistant", "content": body})
    return items + [
        {"type": "function_call", "id": f"f_{n}", "call_id": n, "name": "look", "arguments": "{}"}
        for n in names
    ]


_REPLIES = {"openai-chat": _chat, "anthropic": _anthropic, "openai-responses": _responses}

BOUND = Speaker(Anthropic(), "bound")
BOUND_CHAT = Speaker(OpenAIChat(), "bound")
DROPPED = Speaker(OpenAIResponses(), "dropped")
FREE = Speaker(Anthropic(), "free")


@dataclass(frozen=True)
class Step:
    """One thing that happens; `at` and `how` pick turns and ways, whatever their number."""

    kind: str
    at: int = 0
    how: int = 0


@dataclass
class Run:
    """A conversation while it is played."""

    speaker: Speaker
    live: Live = field(init=False)
    server: BoundServer = field(default_factory=BoundServer)
    commits: list[Commit] = field(default_factory=list)
    answers: list[Commit | Refusal] = field(default_factory=list)
    sent: list[Live] = field(default_factory=list)
    row: Row = field(init=False)
    strict: bool = True

    def __post_init__(self) -> None:
        self.live = self.speaker.start()
        self.row = Row(1, self.live.tokens)

    # -- the loop --------------------------------------------------------------------------------

    def round(self, calls: int = 1, thinks: bool = True) -> None:
        """A request, its answer, and the results of its calls."""
        self.settle()
        body = self.live.outgoing.body()
        self.sent.append(self.live.outgoing)
        if self.strict:
            self.server.ask(body)
        reply = self.speaker.reply(self.live.next_number, self.server.signature() * thinks, calls)
        self.server.said(body, reply)
        self.append(self.speaker.read(reply))
        for call in self.live.turns[-1].content.calls:
            self.append(self.speaker.dialect.result(call, f"out {call.id}"))

    def say(self, text: str = "more") -> None:
        self.append(self.speaker.dialect.note("user", text))

    def append(self, *contents: Any) -> None:
        before = self.live.tokens
        self.live = self.live.append(contents)
        self.row = self.row.add(intake=self.live.tokens - before)

    def settle(self) -> None:
        """What a session does before a request: the boundary of an exchange is where things take effect."""
        live = self.live
        closed = exchange_at(live) == len(live.turns) or live.binding == "dropped"
        if closed and void(live):
            self.propose(Revision("harness", "boundary"), effect=Effect.CLEAR)

    def propose(self, revision: Revision, **fields: Any) -> Commit | Refusal:
        answer = commit(self.live, revision, fields.pop("limit", PLENTY), **fields)
        self.answers.append(answer)
        if isinstance(answer, Commit):
            self.commits.append(answer)
            self.live = answer.live
            self.row = self.row.add(freed=answer.deltas.freed, rewrite=answer.deltas.replacement)
        return answer

    # -- a script --------------------------------------------------------------------------------

    def step(self, step: Step) -> None:
        match step.kind:
            case "round":
                self.round(1 + step.how % 2, thinks=step.how % 5 != 0)
            case "answer":
                self.round(0, thinks=step.how % 3 != 0)
                self.say()
            case "say":
                self.say()
            case "undo":
                self._undo(step)
            case kind:
                self._edit(kind, step)

    def _undo(self, step: Step) -> None:
        if self.commits:
            done = self.commits[step.at % len(self.commits)]
            if not obstacles(self.live, done):
                self.propose(invert(self.live, done))

    def _edit(self, kind: str, step: Step) -> None:
        window = self.live.editable()
        if not window:
            return
        turn = window[step.at % len(window)]
        if kind == "note":
            note = self.live.draft(self.speaker.dialect.note("user", "a note"), Origin.NOTE)
            self.propose(Revision("model", "file", (), (Insert(turn.number, note),)))
            return
        new = None if kind == "drop" else self.rewritten(turn, f"short {step.how % 3}")
        self.propose(Revision("model", "file", (Change(turn.number, turn.digest, new),)))

    def rewritten(self, turn: Turn, text: str) -> Any:
        content = turn.content
        written = self.speaker.dialect.write(content, text, content.calls, content.parts)
        return self.live.draft(written, edited_origin(turn))

    def drop(self, number: int, **fields: Any) -> Commit | Refusal:
        turn = self.turn(number)
        return self.propose(
            Revision("model", "file", (Change(number, turn.digest, None),)), **fields
        )

    def edit(self, number: int, text: str = "short", **fields: Any) -> Commit | Refusal:
        turn = self.turn(number)
        change = Change(number, turn.digest, self.rewritten(turn, text))
        return self.propose(Revision("model", "file", (change,)), **fields)

    def turn(self, number: int) -> Turn:
        return next(turn for turn in self.live.turns if turn.number == number)

    def thoughts(self, live: Live | None = None) -> list[int]:
        """Numbers of the turns that hold reasoning."""
        return [turn.number for turn in (live or self.live).turns if turn.content.hidden]


def begun(speaker: Speaker, *exchanges: int, strict: bool = True) -> Run:
    """A run with so many rounds in each exchange; all but the last are answered."""
    run = Run(speaker, strict=strict)
    for at, rounds in enumerate(exchanges):
        for _ in range(rounds):
            run.round()
        if at < len(exchanges) - 1:
            run.round(0)
            run.say()
    return run


_KINDS = (
    "round",
    "round",
    "round",
    "answer",
    "say",
    "edit",
    "edit",
    "drop",
    "note",
    "undo",
    "undo",
)
scripts = st.lists(
    st.builds(Step, st.sampled_from(_KINDS), st.integers(0, 40), st.integers(0, 20)),
    min_size=4,
    max_size=14,
)


def play(speaker: Speaker, script: Sequence[Step], *, strict: bool = True) -> Run:
    run = Run(speaker, strict=strict)
    for step in script:
        run.step(step)
    run.round()
    return run
