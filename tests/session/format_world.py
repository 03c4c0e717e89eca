"""One conversation in every wire format: what a client writes and what a server answers, as values.

A test that is parametrized over `FORMATS` says what holds whatever the provider.
"""

from __future__ import annotations

import itertools
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from session_world import shell

from redraft import Session, Settings
from redraft.dialects import (
    Anthropic,
    Dialect,
    Gemini,
    OpenAIChat,
    OpenAIResponses,
    Profile,
    check,
)
from redraft.dialects.rules import profile_of
from redraft.session import Round

Json = dict[str, Any]
Asked = tuple[str, Json]
"""A call: the tool's name and its arguments."""

SCHEMA = {
    "type": "object",
    "properties": {"command": {"type": "string"}},
    "required": ["command"],
}
BASH = {"name": "bash", "description": "Run a command."}
PROMPT = "You are an agent."
TASK = "Do the task."


@dataclass
class Format(ABC):
    """How one provider's client and server write things down."""

    dialect: ClassVar[type[Dialect]]
    model: ClassVar[str]
    fields: ClassVar[Json]
    """The request's fields that hold the system prompt, where the list does not."""
    tools: ClassVar[list[Json]]
    folds: ClassVar[bool] = False
    """Whether the results of a round stand in one message."""
    ids: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    @property
    def name(self) -> str:
        return self.dialect.name

    @property
    def turns(self) -> str:
        return self.dialect.turns_field

    @property
    def profile(self) -> Profile:
        return profile_of(self.dialect(), self.model)

    def session(self, messages: Sequence[Json] | None = None, **options: Any) -> Session:
        """A session of this format, with the task unless it is given what to begin with."""
        return Session(
            self.task() if messages is None else messages,
            dialect=options.pop("dialect", self.dialect()),
            model=self.model,
            tools=self.tools,
            parameters=self.fields,
            **options,
        )

    def task(self, words: str = TASK) -> list[Json]:
        """What the conversation begins with."""
        return [self.user(words)]

    def user(self, words: str) -> Json:
        return {"role": "user", "content": words}

    @abstractmethod
    def reply(
        self,
        text: str = "",
        *asked: Asked,
        thinks: str = "",
        prompt: int | None = None,
        cut: bool = False,
    ) -> Json:
        """A response."""

    @abstractmethod
    def kept(self, response: Json) -> list[Json]:
        """What a client that owns its history adds to it for a response."""

    @abstractmethod
    def results(self, response: Json, *texts: str) -> list[Json]:
        """What it adds for the results of its calls."""

    @abstractmethod
    def section(self, request: Mapping[str, Any]) -> str:
        """The system prompt of a request."""

    def tool_names(self, request: Mapping[str, Any]) -> list[str]:
        return [tool["name"] for tool in request["tools"]]


class Chat(Format):
    dialect = OpenAIChat
    model = "gpt-5"
    fields: ClassVar[Json] = {"temperature": 0}
    tools: ClassVar[list[Json]] = [{"type": "function", "function": {**BASH, "parameters": SCHEMA}}]

    def task(self, words: str = TASK) -> list[Json]:
        return [{"role": "system", "content": PROMPT}, self.user(words)]

    def reply(
        self,
        text: str = "",
        *asked: Asked,
        thinks: str = "",
        prompt: int | None = None,
        cut: bool = False,
    ) -> Json:
        calls = [
            {
                "id": f"call_{next(self.ids)}",
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments)},
            }
            for name, arguments in asked
        ]
        if cut and calls:
            function: Json = calls[-1]["function"]
            function["arguments"] = function["arguments"][:-4]
        message: Json = {"role": "assistant", "content": text or None}
        if thinks:
            message["reasoning_content"] = thinks
        if calls:
            message["tool_calls"] = calls
        usage = {"usage": {"prompt_tokens": prompt, "completion_tokens": 9}} if prompt else {}
        finish = "length" if cut else "tool_calls" if calls else "stop"
        return {"choices": [{"message": message, "finish_reason": finish}], **usage}

    def kept(self, response: Json) -> list[Json]:
        return [response["choices"][0]["message"]]

    def results(self, response: Json, *texts: str) -> list[Json]:
        calls = self.kept(response)[0]["tool_calls"]
        return [
            {"role": "tool", "tool_call_id": call["id"], "content": text}
            for call, text in zip(calls, texts, strict=True)
        ]

    def section(self, request: Mapping[str, Any]) -> str:
        return str(request["messages"][0]["content"])

    def tool_names(self, request: Mapping[str, Any]) -> list[str]:
        return [tool["function"]["name"] for tool in request["tools"]]


class Responses(Format):
    dialect = OpenAIResponses
    model = "gpt-4.1"
    fields: ClassVar[Json] = {"instructions": PROMPT, "store": False}
    tools: ClassVar[list[Json]] = [
        {"type": "function", **BASH, "parameters": SCHEMA, "strict": False}
    ]

    def reply(
        self,
        text: str = "",
        *asked: Asked,
        thinks: str = "",
        prompt: int | None = None,
        cut: bool = False,
    ) -> Json:
        output: list[Json] = []
        at = next(self.ids)
        if thinks:
            sealed = {"summary": [], "encrypted_content": "gAAAAAB" + "x" * 60}
            output.append({"type": "reasoning", "id": f"rs_{at}", **sealed})
        if text:
            words = {"type": "output_text", "text": text, "annotations": []}
            message = {"type": "message", "id": f"msg_{at}", "role": "assistant"}
            output.append({**message, "content": [words], "status": "completed"})
        for name, arguments in asked:
            one = next(self.ids)
            call = {"type": "function_call", "id": f"fc_{one}", "call_id": f"call_{one}"}
            output.append(
                {**call, "name": name, "arguments": json.dumps(arguments), "status": "completed"}
            )
        usage = {"usage": {"input_tokens": prompt, "output_tokens": 9}} if prompt else {}
        if cut and asked:
            output[-1]["status"] = "incomplete"
        status = "incomplete" if cut else "completed"
        return {"object": "response", "status": status, "store": False, "output": output, **usage}

    def kept(self, response: Json) -> list[Json]:
        return list(response["output"])

    def results(self, response: Json, *texts: str) -> list[Json]:
        calls = [item for item in response["output"] if item["type"] == "function_call"]
        return [
            {"type": "function_call_output", "call_id": call["call_id"], "output": text}
            for call, text in zip(calls, texts, strict=True)
        ]

    def section(self, request: Mapping[str, Any]) -> str:
        return str(request["instructions"])


class Messages(Format):
    dialect = Anthropic
    model = "claude-opus-5"
    folds = True
    fields: ClassVar[Json] = {"system": [{"type": "text", "text": PROMPT}], "max_tokens": 500}
    tools: ClassVar[list[Json]] = [{**BASH, "input_schema": SCHEMA}]

    def reply(
        self,
        text: str = "",
        *asked: Asked,
        thinks: str = "",
        prompt: int | None = None,
        cut: bool = False,
    ) -> Json:
        blocks: list[Json] = []
        if thinks:
            blocks.append({"type": "thinking", "thinking": thinks, "signature": "c2ln"})
        if text:
            blocks.append({"type": "text", "text": text})
        blocks += [
            {"type": "tool_use", "id": f"toolu_{next(self.ids)}", "name": name, "input": arguments}
            for name, arguments in asked
        ]
        stop = "max_tokens" if cut else "tool_use" if asked else "end_turn"
        usage = {"usage": {"input_tokens": prompt, "output_tokens": 9}} if prompt else {}
        return {
            "type": "message",
            "role": "assistant",
            "content": blocks,
            "stop_reason": stop,
            **usage,
        }

    def kept(self, response: Json) -> list[Json]:
        return [{"role": "assistant", "content": response["content"]}]

    def results(self, response: Json, *texts: str) -> list[Json]:
        calls = [block for block in response["content"] if block["type"] == "tool_use"]
        return [
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": call["id"], "content": text}
                    for call, text in zip(calls, texts, strict=True)
                ],
            }
        ]

    def section(self, request: Mapping[str, Any]) -> str:
        return "\n\n".join(block["text"] for block in request["system"])


class Google(Format):
    dialect = Gemini
    model = "gemini-2.5-pro"
    folds = True
    fields: ClassVar[Json] = {"systemInstruction": {"parts": [{"text": PROMPT}]}}
    tools: ClassVar[list[Json]] = [{"functionDeclarations": [{**BASH, "parameters": SCHEMA}]}]

    def user(self, words: str) -> Json:
        return {"role": "user", "parts": [{"text": words}]}

    def reply(
        self,
        text: str = "",
        *asked: Asked,
        thinks: str = "",
        prompt: int | None = None,
        cut: bool = False,
    ) -> Json:
        parts: list[Json] = []
        if thinks:
            parts.append({"text": thinks, "thought": True})
        if text:
            parts.append({"text": text})
        calls: list[Json] = [
            {"functionCall": {"name": name, "args": arguments}} for name, arguments in asked
        ]
        if calls:  # of parallel calls the first one is signed
            calls[0]["thoughtSignature"] = "c2ln"
        usage = {"usageMetadata": {"promptTokenCount": prompt}} if prompt else {}
        candidate = {
            "content": {"role": "model", "parts": [*parts, *calls]},
            "finishReason": "MAX_TOKENS" if cut else "STOP",
        }
        return {"candidates": [candidate], **usage}

    def kept(self, response: Json) -> list[Json]:
        return [response["candidates"][0]["content"]]

    def results(self, response: Json, *texts: str) -> list[Json]:
        parts = self.kept(response)[0]["parts"]
        names = [part["functionCall"]["name"] for part in parts if "functionCall" in part]
        return [
            {
                "role": "user",
                "parts": [
                    {"functionResponse": {"name": name, "response": {"output": text}}}
                    for name, text in zip(names, texts, strict=True)
                ],
            }
        ]

    def section(self, request: Mapping[str, Any]) -> str:
        return "\n\n".join(part["text"] for part in request["systemInstruction"]["parts"])

    def tool_names(self, request: Mapping[str, Any]) -> list[str]:
        return [
            function["name"]
            for tool in request["tools"]
            for function in tool["functionDeclarations"]
        ]


FORMATS: Mapping[str, type[Format]] = {
    kind.dialect.name: kind for kind in (Chat, Responses, Messages, Google)
}


class Client:
    """A framework with its own history: what it would send goes through `view_body`."""

    def __init__(self, form: Format, session: Session, **fields: Any) -> None:
        self.form = form
        self.session = session
        self.history: list[Any] = form.task()
        self.fields: Json = {"model": form.model, **form.fields, "tools": form.tools, **fields}

    @property
    def body(self) -> Json:
        return {**self.fields, self.form.turns: list(self.history)}

    def send(self, **more: Any) -> Json:
        request = self.session.view_body(self.body, **more)
        assert check(request[self.form.turns], self.form.profile) == []
        return request

    def work(self, *commands: str, output: str | None = None, text: str = "working") -> Json:
        """The model answers the last request with commands; they run; the next request."""
        asked = (("bash", {"command": command}) for command in commands)
        response = self.form.reply(text, *asked, thinks="hm")
        self.history += self.form.kept(response)
        outputs = [
            shell(one, self.session.env)[0] if output is None else output for one in commands
        ]
        self.history += self.form.results(response, *outputs)
        return self.send()


class Story:
    """A run whose every request is looked at: legal, and of the session's own objects."""

    def __init__(self, form: Format, **options: Any) -> None:
        self.form = form
        # The commands of edits stay as they are, so that only what a test does changes the context.
        settings = Settings(elide_edits="off")
        options = {"budget": 40_000, "tag": "beef", "settings": settings, **options}
        self.session = form.session(**options)
        self.sent: list[list[Any]] = []
        self.bytes: list[bytes] = []

    def ask(self, response: Json) -> Json:
        """One request and its answer; gives the request."""
        request = self.request()
        assert request is not None
        with self.session.answer() as answer:
            answer(response)
        return request

    def request(self) -> Json | None:
        request = self.session.request()
        if request is not None:
            self.sent.append(request[self.form.turns])
            self.bytes.append(bytes_of(self.sent[-1]))
            assert check(self.sent[-1], self.form.profile) == []
            if self.session._wire.mended is None:
                untouched(self.session, self.sent[-1])
        return request

    def play(self, response: Json, *texts: str) -> Round:
        """One whole round; calls run in a real shell unless what they gave is given."""
        self.ask(response)
        with self.session.round() as now:
            for at, call in enumerate(now.calls):
                if texts:
                    now.result(call, texts[at])
                else:
                    output, code = shell(call["command"], self.session.env)
                    now.result(call, output, exit_code=code)
        return now

    def say(self, *commands: str, text: str = "working", thinks: str = "") -> Json:
        """A response that runs commands."""
        asked = (("bash", {"command": command}) for command in commands)
        return self.form.reply(text, *asked, thinks=thinks)

    def fill(self, rounds: int, words: int = 40) -> None:
        """So many rounds of two parallel calls, with reasoning."""
        for at in range(rounds):
            self.play(
                self.say(f"look {at}", f"see {at}", text=f"step {at}", thinks=f"thought {at}"),
                "word " * words + f"one {at}",
                "word " * words + f"two {at}",
            )


def untouched(session: Session, sent: Sequence[Any]) -> None:
    """Every message that is one turn's, or whole, is the very object that the turn holds."""
    objects = set(map(id, sent))
    alone = (turn.content for turn in session.live.outgoing.turns if turn.content.seat[1] == 1)
    missing = [native for one in alone for native in one.carriers if id(native) not in objects]
    assert missing == []


def of_model(native: Any) -> bool:
    """Whether a message or item is the model's."""
    kinds = ("reasoning", "function_call")
    return native.get("role") in ("assistant", "model") or native.get("type") in kinds


def bytes_of(body: Any) -> bytes:
    return json.dumps(body).encode()
