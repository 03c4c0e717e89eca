"""A whole session rehearsed against a fake provider: a script says what the model and the world do.

The session is a real one, with its context file, its rounds and its budget; the provider enforces its
rules. What is looked for is one list that it refuses.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from redraft.dialects import Anthropic, Dialect, Gemini, OpenAIChat, OpenAIResponses
from redraft.dialects.fenced import Fenced
from redraft.errors import BudgetError, UndoError
from redraft.session import Session
from redraft.testing.anthropic_server import FakeAnthropic
from redraft.testing.edits import Step, answer_of
from redraft.testing.faults import Fault
from redraft.testing.fenced import in_fences, refused_in_fences
from redraft.testing.file_edits import FILE_EDITS, rewritten
from redraft.testing.gemini_server import FakeGemini
from redraft.testing.responses_server import FakeResponses
from redraft.testing.server import FakeServer, refused_by_openai
from redraft.testing.sockets import LocalServer

__all__ = ["MODELS", "Puppet", "Refused", "Rehearsal", "dialect_named", "server_for"]

Json = dict[str, Any]
Body = Mapping[str, Any]
Send = Callable[[Json], Any]
"""Sends a request, as `Session.request` gives it, and gives the response; raises where it is refused."""

MODELS = {
    "anthropic": "claude-fable-5-1",
    "fenced-chat": "gemma-3-27b",
    "gemini": "gemini-3-pro",
    "openai-chat": "gpt-5",
    "openai-responses": "gpt-5",
}
"""A model for each wire format; those bind or sign their reasoning where the provider does."""

_MAKERS: Mapping[str, Callable[[], Dialect]] = {
    "anthropic": Anthropic,
    "fenced-chat": Fenced,
    "gemini": Gemini,
    "openai-chat": OpenAIChat,
    "openai-responses": OpenAIResponses,
}
_PATHS = {
    "anthropic": "/v1/messages",
    "fenced-chat": "/v1/chat/completions",
    "gemini": f"/v1beta/models/{MODELS['gemini']}:generateContent",
    "openai-chat": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
}


class Refused(Exception):
    """A provider's refusal, with the attributes that the official clients' errors have.

    Attributes:
        status_code: the HTTP status.
        body: the error's body.
    """

    def __init__(self, status_code: int, body: Any) -> None:
        super().__init__(status_code, body)
        self.status_code = status_code
        self.body = body

    def __str__(self) -> str:
        return f"{self.status_code}: {json.dumps(self.body, ensure_ascii=False)}"

    @classmethod
    def of(cls, status: int, data: bytes) -> Self:
        """A refusal from an answer's bytes; `body` is their text where these are no JSON."""
        try:
            return cls(status, json.loads(data))
        except ValueError:
            return cls(status, data.decode("utf-8", "replace"))


class Puppet:
    """A player that says what it was told to say next."""

    def __init__(self) -> None:
        self.message: Json = {"role": "assistant", "content": "done"}

    def __call__(self, _request: Body) -> Json:
        """The next message."""
        return self.message


def dialect_named(name: str) -> Dialect:
    """A dialect by its name.

    Raises:
        KeyError: no wire format has this name.
    """
    return _MAKERS[name]()


def server_for(
    name: str, player: Callable[[Body], Json], faults: Iterable[Fault | None] = ()
) -> LocalServer:
    """The fake provider of a wire format, not started yet; it enforces the provider's rules.

    Args:
        name: the wire format's name.
        player: who answers.
        faults: what goes wrong, request by request.

    Raises:
        KeyError: no wire format has this name.
    """
    makers: Mapping[str, Callable[[], LocalServer]] = {
        "anthropic": lambda: FakeAnthropic(player, faults=faults),
        "fenced-chat": lambda: FakeServer(
            in_fences(player), check=refused_in_fences, faults=faults
        ),
        "gemini": lambda: FakeGemini(player, faults=faults),
        "openai-chat": lambda: FakeServer(player, check=refused_by_openai, faults=faults),
        "openai-responses": lambda: FakeResponses(player, faults=faults),
    }
    return makers[name]()


class Rehearsal:
    """A session and a provider on which a script is played. Use it in a `with` block.

    Args:
        name: the wire format's name.
        body: the request that the conversation begins with, in that format.
        send: sends a request to `server`; by default without a socket.
        budget: tokens that a prompt may take; a small one brings rollbacks.
        options: further arguments of `Session`.

    Attributes:
        puppet: says what the model says next; the server asks it.
        send: sends a request; may be set anew.
        server: the provider. Start it where `send` uses its socket.
        session: the session.
        requests: how many requests were sent.
        done: how often each kind of step was played to its end.
        refusals: what the provider refused, other than for its size.
    """

    def __init__(
        self,
        name: str,
        body: Body,
        *,
        send: Send | None = None,
        budget: int | None = None,
        **options: Any,
    ) -> None:
        dialect = dialect_named(name)
        fields = {key: value for key, value in body.items() if key != dialect.turns_field}
        fields.pop("model", None)
        self.name = name
        self.puppet = Puppet()
        self._fault: Fault | None = None
        self.server = server_for(name, self.puppet, iter(self._next_fault, False))
        if isinstance(self.server, (FakeAnthropic, FakeGemini, FakeResponses)):
            self.server.remember(body)
        self.requests = 0
        self.done: Counter[str] = Counter()
        self.refusals: list[str] = []
        self.send = send or self.in_process
        self._numbers = 0
        self.session = Session(
            body[dialect.turns_field],
            tools=fields.pop("tools", None),
            parameters=fields,
            dialect=dialect,
            model=MODELS[name],
            budget=budget,
            **{"interface": "both", "tag": "fuzz", **options},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.session.close()
        self.server.close()

    def run(self, script: Iterable[Step]) -> Self:
        """Play a script to its end, or until there is no room for what must be sent."""
        with suppress(BudgetError):
            for step in script:
                self.step(step)
                if self.refusals:
                    break
            else:
                self._round(Step("append", how=3))
        return self

    def step(self, step: Step) -> None:
        """One step.

        Raises:
            BudgetError: what must be sent does not fit any more.
        """
        match step.kind:
            case "undo":
                self._undo(step)
            case "pin":
                self._pin(step)
            case "note":
                self.session.append(self._words(f"also {step.at}"))
            case _:
                self._round(step)
        self.done[step.kind] += 1

    # -- one round -------------------------------------------------------------------------------

    def _round(self, step: Step) -> None:
        """A request, the model's answer, and the results of its calls."""
        session = self.session
        request = session.request()
        if request is None:
            session.append(self._words("and now?"))
            request = session.request()
        if request is None:
            return
        self.puppet.message = self._message(step)
        self._fault = self._fault_of(step)
        try:
            with session.answer() as answer:
                answer(self._sent({"model": MODELS[self.name], **request}))
        except Exception as error:
            if not _is_refusal(error):
                raise
            self.refusals.append(str(error))
            return
        with suppress(_Interrupted), session.round() as round_:
            for place, call in enumerate(round_.calls):
                if step.kind == "file" and place == 0:
                    self._edit_file(step)
                if step.kind == "rewrite" and place == step.at % 3:
                    raise _Interrupted
                if step.kind == "mask" and place == step.at % 2:
                    continue  # nobody hands in a result
                output = f"out {step.text} " * (1, 9, 600)[step.how % 3]
                silent = step.kind == "file"
                round_.result(call, "" if silent else output, timed_out=step.kind == "drop")

    def _fault_of(self, step: Step) -> Fault | None:
        """What goes wrong with the request: it is too large, or the answer is cut off."""
        if step.kind == "rollback":
            window = max(4_000, self.session.tokens * 3 // 4)
            kind = self.name if self.name in ("anthropic", "gemini") else "openai"
            return Fault.overflow(self.session.tokens + 1_000, window, server=kind)
        return Fault.cut() if step.kind == "summary" else None

    def _next_fault(self) -> Fault | None:
        fault, self._fault = self._fault, None
        return fault

    def _sent(self, request: Json) -> Any:
        self.requests += 1
        return self.send(request)

    def in_process(self, request: Json) -> Any:
        """Send a request to the server without its socket."""
        body = dict(request)
        headers = {k.lower(): str(v) for k, v in (body.pop("extra_headers", None) or {}).items()}
        if "betas" in body:
            headers["anthropic-beta"] = ",".join(body.pop("betas"))
        if self.name == "gemini":
            body.pop("model")
        answer = self.server.respond(body, _PATHS[self.name], headers)
        if answer.status != 200:
            if self.server.failures:
                raise self.server.failures[0]
            raise Refused.of(answer.status, answer.body)
        return json.loads(answer.body)

    def _message(self, step: Step) -> Json:
        """What the model says: an edit by tool, calls with or without thinking, or the last word."""
        self._numbers += 1
        if step.kind != "tool":
            return answer_of(self._numbers, step)
        turns = [turn.number for turn in self.session.live.editable()] or [1]
        edit: Json = {"turn": turns[step.at % len(turns)], "text": _clean(step.text)}
        if step.how % 2:
            edit["through"] = turns[step.to % len(turns)]
        function = {"name": "edit_context", "arguments": json.dumps({"edits": [edit]})}
        call = {"id": f"call_e{self._numbers}", "type": "function", "function": function}
        thinks = {"reasoning_content": f"tidy {self._numbers}"} if step.how % 3 else {}
        return {"role": "assistant", "content": None, "tool_calls": [call], **thinks}

    def _edit_file(self, step: Step) -> None:
        path = self.session.context_file
        if path is None:
            return
        text = path.read_text(encoding="utf-8")
        for seed in (step.how, step.how // 7, step.how // 49)[: 1 + step.how % 3]:
            text = rewritten(text, seed % len(FILE_EDITS), step.at, step.to, _clean(step.text))
        path.write_bytes(text.encode("utf-8"))

    # -- beside the rounds -----------------------------------------------------------------------

    def _undo(self, step: Step) -> None:
        """Take back one of the newest revisions, as far as it can be."""
        with suppress(UndoError):
            self.session.undo(1 + step.at % 6)

    def _pin(self, step: Step) -> None:
        turns = self.session.live.turns
        number = turns[step.at % len(turns)].number if turns else 0
        if number and step.how % 3:
            self.session.pin(number)
        elif number:
            self.session.unpin(number)

    def _words(self, text: str) -> Json:
        if self.name == "gemini":
            return {"role": "user", "parts": [{"text": text}]}
        return {"role": "user", "content": text}


class _Interrupted(Exception):
    """Somebody stopped the round."""


def _clean(text: str) -> str:
    """What a command can write down: no half of a surrogate pair."""
    return text.encode("utf-8", "replace").decode()


def _is_refusal(error: Exception) -> bool:
    """Whether a provider refused the request: an error with a status, of any client."""
    return 400 <= int(getattr(error, "status_code", 0) or 0) < 500
