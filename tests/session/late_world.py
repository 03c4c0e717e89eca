"""A client that owns its loop and is late: results come behind later rounds, words in front of the reply
that was on its way, and now and then the process ends. Against the providers' fake servers."""

from __future__ import annotations

import copy
import json
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from redraft import Session
from redraft.errors import BudgetError, SessionStateError, UndoError
from redraft.store import SQLiteJournal
from redraft.testing.rehearsal import MODELS, Puppet, dialect_named, server_for

Json = dict[str, Any]

FIELDS: dict[str, Json] = {
    "anthropic": {"max_tokens": 100},
    "gemini": {},
    "openai-chat": {},
    "openai-responses": {"store": False, "include": ["reasoning.encrypted_content"]},
}
PATHS = {
    "anthropic": "/v1/messages",
    "gemini": f"/v1beta/models/{MODELS['gemini']}:generateContent",
    "openai-chat": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
}


@dataclass(frozen=True)
class Turn:
    """One request with its reply, and what the client does around it.

    Attributes:
        calls: how many tools the reply calls.
        now: which of their results come at once, bit by bit; the others come late.
        late: how many late results of earlier calls come behind them.
        thinks: whether the model thinks first.
        early: what joins the history between the request and its reply: "words", "result" or "".
        words: whether the user says something in front of the request.
        asks: how often the client asks for the request.
        edit: which turn is edited before; 0 for none.
        undo: which revision is taken back before; 0 for none.
        ends: whether the process ends before.
        same: whether the first call has an id that was used before.
        silent: whether the user says nothing behind a last word, and the client asks again.
    """

    calls: int = 0
    now: int = 7
    late: int = 0
    thinks: bool = True
    early: str = ""
    words: bool = False
    asks: int = 1
    edit: int = 0
    undo: int = 0
    ends: bool = False
    same: bool = False
    silent: bool = False


@dataclass
class Late:
    """The client and its server. Use it in a `with` block.

    Args:
        name: the wire format.
        path: where the journal is.
        whole: whether whole requests go through the session, or the messages alone.

    Attributes:
        refused: what the server refused.
        sent: the lists that went out.
        history: the client's own.
    """

    name: str
    path: Path
    whole: bool = True
    refused: list[str] = field(default_factory=list)
    sent: list[list[Json]] = field(default_factory=list)
    history: list[Json] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.dialect = dialect_named(self.name)
        self.puppet = Puppet()
        self.server = server_for(self.name, self.puppet)
        self.journal = SQLiteJournal(self.path, dialect=self.dialect)
        self.session = Session(
            [],
            dialect=dialect_named(self.name),
            model=MODELS[self.name],
            journal=self.journal,
            interface="tool" if self.whole else "none",
            tag="late",
            budget=40_000,
        )
        self.pending: list[str] = []
        self.number = 0
        self.say("do it")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.session.close()
        self.journal.close()
        self.server.close()

    def run(self, turns: list[Turn]) -> Self:
        """Play a script, as far as there is room and nothing is refused."""
        with suppress(BudgetError, SessionStateError):
            for turn in (*turns, Turn()):
                self.turn(turn)
                if self.refused:
                    break
        return self

    def turn(self, turn: Turn) -> None:
        if turn.ends and self.sent:
            self.end()
        self._edit(turn)
        if turn.words:
            self.say(f"also {self.number}")
        request = [self.view() for _ in range(turn.asks)][-1]
        self.number += 1
        self.puppet.message = self._message(turn)
        answer = self._asked(request)
        if answer is None:
            return
        if turn.early == "words":
            self.say(f"meanwhile {self.number}")
        elif turn.early == "result" and self.pending:
            self.answer(self.pending.pop())
        self.history += self._kept(answer)
        ids = [call["id"] for call in self.puppet.message.get("tool_calls", ())]
        old = self.pending[: turn.late]
        self.pending = self.pending[turn.late :]
        for place, name in enumerate(ids):
            if turn.now >> place & 1:
                self.answer(name)
            else:
                self.pending.append(name)
        for name in old:
            self.answer(name)
        if not (ids or old or turn.silent):
            self.say(f"go on {self.number}")

    def view(self) -> Json:
        """The next request, as the client sends it."""
        messages = copy.deepcopy(self.history)
        fields = {"model": MODELS[self.name], **FIELDS[self.name]}
        turns = self.dialect.turns_field
        if self.whole:
            return self.session.view_body({**fields, turns: messages})
        return {**fields, turns: self.session.view(messages)}

    def say(self, words: str) -> None:
        body: Json = {"parts": [{"text": words}]} if self.name == "gemini" else {"content": words}
        self.history.append({"role": "user", **body})

    def answer(self, name: str) -> None:
        """The result of a call joins the history."""
        self.history.append(result(self.name, name, f"out {name}"))

    def end(self) -> None:
        """The process ends, and another one goes on."""
        self.session.close()
        self.journal.close()
        self.journal = SQLiteJournal(self.path, dialect=dialect_named(self.name))
        self.session = Session.resume(self.journal)

    def _edit(self, turn: Turn) -> None:
        numbers = [one.number for one in self.session.live.editable()]
        if turn.edit and numbers:
            at = numbers[turn.edit % len(numbers)]
            text = "" if turn.edit % 2 else "noted"
            self.session.edit_context(edits=[{"turn": at, "text": text}])
        if turn.undo:
            with suppress(UndoError):
                self.session.undo(turn.undo)

    def _message(self, turn: Turn) -> Json:
        calls = [
            {
                "id": "call_same" if turn.same and not place else f"call_{self.number}_{place}",
                "type": "function",
                "function": {"name": "bash", "arguments": '{"command": "ls"}'},
            }
            for place in range(turn.calls)
        ]
        message: Json = {"role": "assistant", "content": f"step {self.number}"}
        message |= {"reasoning_content": f"thought {self.number}"} if turn.thinks else {}
        return {**message, "tool_calls": calls} if calls else message

    def _asked(self, request: Json) -> Json | None:
        self.sent.append(copy.deepcopy(request[self.dialect.turns_field]))
        headers = {key.lower(): value for key, value in self.session.headers.items()}
        body = dict(request)
        if self.name == "gemini":
            body.pop("model")
        answer = self.server.respond(body, PATHS[self.name], headers if self.whole else {})
        if self.server.failures:
            raise self.server.failures[0]
        if answer.status != 200:
            self.refused.append(answer.body.decode())
            return None
        got: Json = json.loads(answer.body)
        return got

    def _kept(self, answer: Json) -> list[Json]:
        match self.name:
            case "anthropic":
                return [{"role": "assistant", "content": answer["content"]}]
            case "gemini":
                return [answer["candidates"][0]["content"]]
            case "openai-responses":
                return list(answer["output"])
            case _:
                return [answer["choices"][0]["message"]]


def result(name: str, call: str, text: str) -> Json:
    """The result of a call, in a wire format."""
    match name:
        case "anthropic":
            block = {"type": "tool_result", "tool_use_id": call, "content": text}
            return {"role": "user", "content": [block]}
        case "gemini":
            data = {"id": call, "name": "bash", "response": {"output": text}}
            return {"role": "user", "parts": [{"functionResponse": data}]}
        case "openai-responses":
            return {"type": "function_call_output", "call_id": call, "output": text}
        case _:
            return {"role": "tool", "tool_call_id": call, "content": text}
