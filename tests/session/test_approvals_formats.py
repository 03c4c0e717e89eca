"""An approval on every wire format: the outcome in place, or as a turn of its own."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from approvals_world import LINE, replay
from session_world import (
    balanced,
    call,
    calling,
    last,
    says,
)

from redraft import Session
from redraft.dialects import Anthropic, Dialect, Gemini, OpenAIChat, OpenAIResponses
from redraft.dialects.fenced import Fenced
from redraft.dialects.fenced_calls import call_fence


def _answers(dialect: Dialect) -> tuple[Any, Any]:
    """A reply with one call of `bash`, and a last one, in a wire format."""

    arguments = {"command": "rm -r build"}
    match dialect.name:
        case "anthropic":
            block = {"type": "tool_use", "id": "call_1", "name": "bash", "input": arguments}
            return _claude([block]), _claude([{"type": "text", "text": "Done."}])
        case "openai-responses":
            item = {
                "type": "function_call",
                "call_id": "call_1",
                "name": "bash",
                "arguments": json.dumps(arguments),
            }
            said = {"type": "output_text", "text": "Done.", "annotations": []}
            message = {"type": "message", "role": "assistant", "content": [said]}
            return _response([item]), _response([message])
        case "gemini":
            return _gemini({"functionCall": {"name": "bash", "args": arguments}}), _gemini(
                {"text": "Done."}
            )
        case "fenced-chat":
            fence = call_fence("bash", json.dumps(arguments))
            return _chat(says(fence)), _chat(says("Done."))
    return _chat(calling(call("rm -r build", 1))), _chat(says("Done."))


def _chat(message: Any) -> Any:
    return {"choices": [{"message": message, "finish_reason": "stop"}]}


def _claude(content: Any) -> Any:
    return {"type": "message", "role": "assistant", "content": content, "stop_reason": "end_turn"}


def _response(output: Any) -> Any:
    return {"object": "response", "status": "completed", "output": output}


def _gemini(part: Any) -> Any:
    return {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}]}


def _task(dialect: Dialect) -> list[Any]:
    if dialect.name == "gemini":
        return [{"role": "user", "parts": [{"text": "Do the task."}]}]
    return [{"role": "user", "content": "Do the task."}]


DIALECTS = (Anthropic, Fenced, Gemini, OpenAIChat, OpenAIResponses)


@pytest.mark.parametrize("reject", [False, True])
@pytest.mark.parametrize("output", ["removed\n", ""])
@pytest.mark.parametrize("read", [False, True])
@pytest.mark.parametrize("kind", DIALECTS)
def test_it_works_on_every_wire_format(
    kind: Callable[[], Dialect], read: bool, output: str, reject: bool
) -> None:
    dialect = kind()
    first, done = _answers(dialect)
    with Session(
        _task(dialect), dialect=dialect, interface="none", tag="beef", model="m"
    ) as session:
        session.request()
        with session.answer() as answer:
            answer(first)
        with session.round() as now:
            now.pending(now.calls[0], "remove the build", approval="a1")
        assert LINE in last(session).splitlines()
        if read:
            session.request()
            with session.answer() as answer:
                answer(done)
        if reject:
            session.reject("a1")
        else:
            replay(session, output)
        role = "user" if read else "tool"
        assert session.live.turns[-1].role == role
        told = "approval a1 rejected" if reject else "approval a1 granted"
        assert told in last(session)
        # The request is legal: the session checks the list against the format's rules and mends it.
        assert session.request() is not None
        signed = dialect.name == "gemini"  # a signature is wanted of calls that had none
        assert signed or session._wire.mended is None
        assert balanced(session)
        with session.answer() as answer:
            answer(done)
        assert session.done
