"""Event logs of OpenHands: `action` and `observation` events (V0), or events with a `kind` (V1).

Shapes as in recorded logs, and for V1 as in the SDK's reference of its events. An answer with several
calls gives one event a call; they share the response's id.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from redraft.cost import Cause
from redraft.replay.convert import Loose, call_of, chat, text_of
from redraft.replay.recording import RecordedCall, Recording, ThreadDraft
from redraft.replay.source import Source
from redraft.replay.usage import reported, seconds

__all__ = ["detect", "read"]

_KINDS = ("MessageEvent", "ActionEvent", "ObservationEvent", "SystemPromptEvent")


def detect(source: Source) -> bool:
    """Whether the file is a list, or lines, of such events."""
    events = list(_events(source))[:20]
    return any(
        event.get("kind") in _KINDS
        or ("source" in event and ("action" in event or "observation" in event))
        for _, event in events
    )


def _events(source: Source) -> Iterator[tuple[int, Mapping[str, Any]]]:
    document = source.document
    if isinstance(document, Mapping):
        document = document.get("history") or document.get("events") or document.get("trajectory")
    if isinstance(document, Sequence) and not isinstance(document, str):
        yield from ((0, event) for event in document if isinstance(event, Mapping))
    elif document is None:
        yield from ((row.line, row.value) for row in source.rows)


def read(source: Source) -> Recording:
    """Read a log."""
    reader = _Reader()
    for place, (line, event) in enumerate(_events(source)):
        try:
            reader.event(line, event)
        except Loose as error:
            raise source.error(line, f"event {place}: {error}") from error
    threads = ThreadDraft.all_done(reader.drafts)
    if not threads:
        raise source.error(0, "none of the events holds a message; name a log of a whole run")
    return Recording(source.path, "openhands", threads, tuple(source.notes))


@dataclass
class _Reader:
    drafts: list[ThreadDraft] = field(default_factory=lambda: [ThreadDraft("main")])
    responses: set[str] = field(default_factory=set)
    heard: float | None = None

    @property
    def now(self) -> ThreadDraft:
        return self.drafts[-1]

    def event(self, line: int, event: Mapping[str, Any]) -> None:
        if "kind" in event:
            self._v1(line, event)
        else:
            self._v0(line, event)
        self.heard = seconds(event.get("timestamp")) or self.heard

    # -- V0 ---------------------------------------------------------------------------------------

    def _v0(self, line: int, event: Mapping[str, Any]) -> None:
        metadata = event.get("tool_call_metadata")
        response = metadata.get("model_response") if isinstance(metadata, Mapping) else None
        response = response or event.get("model_response")
        if isinstance(response, Mapping):
            self._response(line, response)
        given = event.get("args")
        args: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
        if "observation" in event:
            if isinstance(metadata, Mapping):
                extras = event.get("extras")
                extras = extras if isinstance(extras, Mapping) else {}
                # An edit's `content` is a diff for people; the model was shown this instead.
                shown = extras.get("formatted_output_and_error") or event.get("content")
                self._result(metadata.get("tool_call_id"), text_of(shown))
            elif event.get("content") and event["observation"] not in (
                "agent_state_changed",
                "null",
            ):
                text = text_of(event["content"])
                self.now.messages.append({"role": "user", "content": text})
        elif event.get("action") == "condensation":
            self._condense(text_of(args.get("summary")))
        elif event.get("action") in ("message", "system") and not isinstance(response, Mapping):
            role = {"system": "system", "message": "user"}[event["action"]]
            if event.get("source") == "agent" and role == "user":
                role = "assistant"
                self._call(line, "", None, "")
            self.now.messages.append({"role": role, "content": text_of(args.get("content"))})
            if isinstance(args.get("tools"), list):
                self.now.tools = tuple(tool for tool in args["tools"] if isinstance(tool, Mapping))

    def _response(self, line: int, response: Mapping[str, Any]) -> None:
        name = str(response.get("id", ""))
        if name and name in self.responses:
            return
        choices = response.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else {}
        message = choice.get("message") if isinstance(choice, Mapping) else None
        if not isinstance(message, Mapping):
            raise Loose("its `model_response` holds no message; mend or remove the event")
        model = str(response.get("model", ""))
        self._call(line, model, response.get("usage"), name)
        self.now.messages.extend(chat({**message, "role": "assistant"}))

    # -- V1 ---------------------------------------------------------------------------------------

    def _v1(self, line: int, event: Mapping[str, Any]) -> None:
        match event["kind"]:
            case "SystemPromptEvent":
                text = text_of(event.get("system_prompt"))
                self.now.messages.append({"role": "system", "content": text})
                self.now.tools = tuple(
                    t for t in event.get("tools") or () if isinstance(t, Mapping)
                )
            case "MessageEvent":
                message = event.get("llm_message")
                if not isinstance(message, Mapping):
                    raise Loose("a MessageEvent has no `llm_message`; mend or remove the event")
                if message.get("role") == "assistant":
                    self._call(line, "", None, str(event.get("llm_response_id", "")))
                self.now.messages.extend(chat(message))
            case "ActionEvent":
                self._action(line, event)
            case "ObservationEvent" | "UserRejectObservation" | "AgentErrorEvent":
                shown = event.get("observation", event.get("error", event.get("rejection_reason")))
                self._result(event.get("tool_call_id"), text_of(shown))
            case "Condensation":
                self._condense(text_of(event.get("summary")))

    def _action(self, line: int, event: Mapping[str, Any]) -> None:
        native = event.get("tool_call")
        native = native if isinstance(native, Mapping) else {}
        function = native.get("function", native)
        call = call_of(
            event.get("tool_call_id", native.get("id")),
            function.get("name", event.get("tool_name")),
            function.get("arguments"),
        )
        name = str(event.get("llm_response_id", ""))
        if name and name in self.responses:
            last = dict(self.now.messages[-1])
            if last["role"] == "assistant":
                last["tool_calls"] = [*last.get("tool_calls", ()), call]
                self.now.messages[-1] = last
                return
        self._call(line, "", None, name)
        answer: dict[str, Any] = {
            "role": "assistant",
            "content": text_of(event.get("thought")) or None,
            "tool_calls": [call],
        }
        if event.get("reasoning_content"):
            answer["reasoning_content"] = text_of(event["reasoning_content"])
        self.now.messages.append(answer)

    # -- both -------------------------------------------------------------------------------------

    def _call(self, line: int, model: str, usage: object, name: str) -> None:
        if name:
            self.responses.add(name)
        reply = len(self.now.messages)
        self.now.calls.append(RecordedCall(reply, line, model, self.heard, reported(usage)))

    def _result(self, name: object, content: str) -> None:
        message = {"role": "tool", "tool_call_id": str(name or ""), "content": content}
        self.now.messages.append(message)

    def _condense(self, summary: str) -> None:
        """A condensation takes the place of the context up to it."""
        old = self.now
        lead = [m for m in old.messages[:2] if m["role"] in ("system", "user")]
        note = [{"role": "user", "content": summary}] if summary else []
        draft = ThreadDraft(f"condensation {len(self.drafts)}", follows=old.name)
        draft.messages = [*lead, *note]
        draft.tools, draft.changed = old.tools, Cause.POLICY
        self.drafts.append(draft)
