"""Recorded HTTP: cassettes in YAML, as VCR.py writes them, with the requests exactly as they were sent.

`exchanges` gives the raw requests and answers, for tests of wire formats; `read` makes a recording.
Reading YAML takes the package `pyyaml` (`pip install redraft[replay]`).
"""

from __future__ import annotations

import base64
import binascii
import importlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from redraft.replay.convert import Loose, chat, from_items
from redraft.replay.recording import RecordedCall, Recording, ThreadDraft
from redraft.replay.source import Source
from redraft.replay.streams import assemble
from redraft.replay.usage import reported, seconds
from redraft.replay.wires import converse_messages, gemini_answer, gemini_messages

__all__ = ["Exchange", "detect", "exchanges", "read"]

_MODEL_IN_URL = re.compile(r"/models?/([^/:]+)(?:[:/])")


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and its answer.

    Attributes:
        method, url: as they were sent.
        request: the request's body: parsed where it is JSON, else its text.
        status: the HTTP status.
        response: the answer's body, likewise; of a stream the final object, put together from its
            events.
    """

    method: str
    url: str
    request: Any
    status: int
    response: Any

    @property
    def api(self) -> str:
        """`anthropic`, `chat`, `responses`, `gemini` or `converse`; "" for anything else."""
        body = self.request
        if not isinstance(body, Mapping):
            return ""
        path = self.url.partition("?")[0]
        if path.lower().endswith("generatecontent") and "contents" in body:
            return "gemini"
        if path.endswith(("/converse", "/converse-stream")):
            return "converse"
        if "/responses" in path and "input" in body:
            return "responses"
        if not isinstance(body.get("messages"), list):
            return ""
        return "anthropic" if path.endswith("/messages") or "anthropic_version" in body else "chat"


def detect(source: Source) -> bool:
    """Whether the file holds the `interactions` of a cassette."""
    return re.search(r"^interactions:", source.text, re.MULTILINE) is not None or (
        isinstance(source.document, Mapping)
        and isinstance(source.document.get("interactions"), list)
    )


def exchanges(source: Source) -> list[Exchange]:
    """All requests of a cassette with their answers, in order.

    Raises:
        RecordingError: the file is no YAML of this form, or `pyyaml` is not installed.
    """
    made = []
    for place, one in enumerate(_interactions(source)):
        request = one.get("request") if isinstance(one, Mapping) else None
        response = one.get("response") if isinstance(one, Mapping) else None
        if not isinstance(request, Mapping) or not isinstance(response, Mapping):
            raise source.error(
                0, f"interactions[{place}] lacks a `request` or a `response`; mend or remove it"
            )
        status = response.get("status")
        code = status.get("code") if isinstance(status, Mapping) else status
        made.append(
            Exchange(
                str(request.get("method", "")),
                str(request.get("uri", request.get("url", ""))),
                _body(request),
                code if isinstance(code, int) else 0,
                assemble(_body(response)),
            )
        )
    return made


def _interactions(source: Source) -> list[Any]:
    document = source.document
    if document is None:
        document = _yaml(source)
    found = document.get("interactions") if isinstance(document, Mapping) else None
    if not isinstance(found, list):
        raise source.error(0, "`interactions` is no list; name a cassette of VCR.py")
    return found


def _yaml(source: Source) -> Any:
    try:
        yaml: Any = importlib.import_module("yaml")
    except ImportError as error:
        raise source.error(
            0, "reading YAML needs pyyaml; `pip install pyyaml` (or `redraft[replay]`)"
        ) from error
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return yaml.load(source.text, Loader=loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark is not None else 0
        reason = getattr(error, "problem", None) or "not YAML"
        raise source.error(line, f"this is not YAML here ({reason}); mend it") from error


def _body(side: Mapping[str, Any]) -> Any:
    """A side's body. VCR.py keeps text or bytes, perhaps under `string`; others keep it parsed."""
    if side.get("parsed_body") is not None:
        return side["parsed_body"]
    body = side.get("body")
    if isinstance(body, Mapping) and set(body) <= {"string", "encoding", "base64_string"}:
        if "base64_string" in body:
            try:
                body = base64.b64decode(body["base64_string"])
            except (binascii.Error, TypeError, ValueError):
                return None
        else:
            body = body.get("string")
    if isinstance(body, bytes):
        body = body.decode("utf-8", "replace")
    if isinstance(body, str):
        try:
            return json.loads(body)
        except ValueError:
            return body
    return body


def read(source: Source) -> Recording:
    """Read the calls to language models in a cassette; other requests are passed over."""
    reader = _Reader()
    others = 0
    for place, exchange in enumerate(exchanges(source)):
        if not exchange.api or exchange.status >= 400:
            others += 1
            continue
        try:
            reader.call(exchange, place + 1)
        except Loose as error:
            raise source.error(0, f"interactions[{place}]: {error}") from error
    if others:
        source.notes.append(f"{others} requests failed or were no call to a model; left out")
    threads = ThreadDraft.all_done(reader.drafts)
    if not threads:
        raise source.error(0, "no request in it is a call to a model that can be read here")
    return Recording(source.path, "cassette", threads, tuple(source.notes))


@dataclass
class _Reader:
    drafts: list[ThreadDraft] = field(default_factory=list)
    states: dict[str, list[Any]] = field(default_factory=dict)  # what a server keeps by response id

    def call(self, exchange: Exchange, place: int) -> None:
        body = dict(exchange.request)
        answer = exchange.response if isinstance(exchange.response, Mapping) else {}
        if exchange.api == "responses":
            body["input"] = self._input(body, answer)
        sent = list(_sent(body, exchange.api))
        replied = list(_replied(answer, exchange.api))
        draft = self._draft(sent)
        in_url = _MODEL_IN_URL.search(unquote(exchange.url))
        named = body.get("model") or answer.get("model") or answer.get("modelVersion")
        model = str(named or (in_url[1] if in_url else ""))
        when = seconds(answer.get("created_at", answer.get("created", answer.get("createTime"))))
        usage = reported(answer.get("usage", answer.get("usageMetadata")))
        draft.calls.append(
            RecordedCall(len(sent), place, model, when, usage, "", body, exchange.api)
        )
        draft.messages.extend([*sent[len(draft.messages) :], *replied])

    def _draft(self, sent: list[dict[str, Any]]) -> ThreadDraft:
        """The thread that `sent` goes on from, or a new one in the place of the last."""
        last = self.drafts[-1] if self.drafts else None
        if last is not None and sent[: len(last.messages)] == last.messages:
            return last
        follows = last.name if last is not None else ""
        self.drafts.append(ThreadDraft(f"request {len(self.drafts) + 1}", follows=follows))
        return self.drafts[-1]

    def _input(self, body: Mapping[str, Any], answer: Mapping[str, Any]) -> list[Any]:
        """The whole input, with what the server kept of an earlier response in front."""
        given = body.get("input")
        items = [{"role": "user", "content": given}] if isinstance(given, str) else given or []
        whole = [*self.states.get(str(body.get("previous_response_id")), ()), *items]
        self.states[str(answer.get("id"))] = [*whole, *(answer.get("output") or ())]
        return whole


def _sent(body: Mapping[str, Any], api: str) -> Iterator[dict[str, Any]]:
    if api == "responses":
        if body.get("instructions"):
            yield {"role": "system", "content": str(body["instructions"])}
        yield from from_items(body["input"])
        return
    if api == "gemini":
        yield from gemini_messages(body)
        return
    if api == "converse":
        yield from converse_messages(body)
        return
    if body.get("system"):
        yield from chat({"role": "system", "content": body["system"]})
    for message in body["messages"]:
        yield from chat(message)


def _replied(answer: Mapping[str, Any], api: str) -> Iterator[dict[str, Any]]:
    if api == "responses":
        yield from from_items(answer.get("output") or ())
    elif api == "gemini":
        yield from gemini_answer(answer)
    elif api == "converse":
        output = answer.get("output")
        message = output.get("message") if isinstance(output, Mapping) else None
        if isinstance(message, Mapping):
            yield from converse_messages({"messages": [message]})
    elif api == "anthropic":
        if answer.get("content"):
            yield from chat({"role": "assistant", "content": answer["content"]})
    else:
        choices = answer.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else {}
        message = choice.get("message") if isinstance(choice, Mapping) else None
        if isinstance(message, Mapping):
            yield from chat({**message, "role": "assistant"})
