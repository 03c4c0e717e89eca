"""ATIF, the Agent Trajectory Interchange Format of Harbor: `schema_version: ATIF-v1...`, and steps.

Source of the shapes: Harbor's RFC 0001, versions 1.0 to 1.7.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from redraft.cost import Cause
from redraft.replay.convert import Loose, call_of, text_of
from redraft.replay.recording import RecordedCall, Recording, Reported, ThreadDraft
from redraft.replay.source import Source
from redraft.replay.usage import reported, seconds

__all__ = ["detect", "read"]

_WRITTEN = ("cache_creation_input_tokens", "cache_creation")
_ROLES = {"system": "system", "user": "user", "agent": "assistant"}


def detect(source: Source) -> bool:
    """Whether the file says that it is ATIF."""
    document = source.document
    return isinstance(document, Mapping) and str(document.get("schema_version", "")).startswith(
        "ATIF"
    )


def read(source: Source) -> Recording:
    """Read a trajectory."""
    document = source.document
    steps = document.get("steps")
    if not isinstance(steps, list) or not steps:
        raise source.error(0, "`steps` is missing or empty; an ATIF file lists its steps there")
    agent = document.get("agent")
    agent = agent if isinstance(agent, Mapping) else {}
    draft = ThreadDraft("main")
    draft.tools = tuple(t for t in agent.get("tool_definitions") or () if isinstance(t, Mapping))
    before: float | None = None
    for place, step in enumerate(steps):
        try:
            _step(draft, step, str(agent.get("model_name") or ""), before)
        except Loose as error:
            raise source.error(0, f"steps[{place}]: {error}") from error
        # An agent's step has the time of its answer; when its tools were done, no time says.
        before = None if step["source"] == "agent" else seconds(step.get("timestamp")) or before
    if document.get("continued_trajectory_ref"):
        source.notes.append("the trajectory goes on in another file, which was not read")
    if any(step.get("is_copied_context") for step in steps):
        draft.changed = Cause.POLICY
    return Recording(source.path, "atif", (draft.done(),), tuple(source.notes))


def _step(draft: ThreadDraft, step: Any, model: str, before: float | None) -> None:
    if not isinstance(step, Mapping) or step.get("source") not in _ROLES:
        raise Loose("a step needs a `source` of system, user or agent; mend the file")
    role = _ROLES[step["source"]]
    message: dict[str, Any] = {"role": role, "content": text_of(step.get("message"))}
    if role == "assistant":
        if not step.get("is_copied_context"):
            when = before or seconds(step.get("timestamp"))
            name = str(step.get("model_name") or model)
            usage = _usage(step.get("metrics"))
            draft.calls.append(RecordedCall(len(draft.messages), 0, name, when, usage))
        calls = [call for call in step.get("tool_calls") or () if isinstance(call, Mapping)]
        if calls:
            message["tool_calls"] = [
                call_of(c.get("tool_call_id"), c.get("function_name"), c.get("arguments"))
                for c in calls
            ]
        if step.get("reasoning_content"):
            message["reasoning_content"] = text_of(step["reasoning_content"])
    draft.messages.append(message)
    _observe(draft, step, {call["id"] for call in message.get("tool_calls", ())})


def _usage(metrics: Any) -> Reported | None:
    """The metrics, and what was written to the cache, which agents report under `extra`."""
    if not isinstance(metrics, Mapping):
        return None
    extra = metrics.get("extra")
    extra = extra if isinstance(extra, Mapping) else {}
    written = {key: extra[key] for key in _WRITTEN if key in extra}
    return reported({**written, **metrics}, metrics.get("cost_usd"))


def _observe(draft: ThreadDraft, step: Mapping[str, Any], known: set[str]) -> None:
    """What came back: results of calls as such, anything else as the user's."""
    observation = step.get("observation")
    results = observation.get("results") if isinstance(observation, Mapping) else None
    for result in results or ():
        if not isinstance(result, Mapping):
            raise Loose("an observation's result is no object; mend the file")
        content = text_of(result.get("content"))
        name = result.get("source_call_id")
        if name in known:
            draft.messages.append({"role": "tool", "tool_call_id": name, "content": content})
        elif content:
            draft.messages.append({"role": "user", "content": content})
