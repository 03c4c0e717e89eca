"""A session on the fenced route beside the agent: histories from elsewhere, the pass, exported messages."""

from __future__ import annotations

import json
from typing import Any

import pytest

from redraft import Session
from redraft.dialects.fenced import Fenced
from redraft.dialects.fenced_calls import call_fence
from redraft.dialects.fenced_results import Piece, results_message
from redraft.dialects.stubs import stubs_in
from redraft.errors import SettingsError
from redraft.session.elide import MEASURED
from redraft.settings import Settings
from redraft.store.formats import dialect_named
from redraft.testing import complaints

HEAD: list[Any] = [
    {"role": "system", "content": "You are an agent."},
    {"role": "user", "content": "Look, and mind your context window."},
]
TOOL: dict[str, Any] = {
    "type": "function",
    "function": {"name": "look", "parameters": {"type": "object", "properties": {}}},
}


def fences(*calls: tuple[str, Any]) -> dict[str, Any]:
    text = "\n\n".join(call_fence(name, json.dumps(arguments)) for name, arguments in calls)
    return {"role": "assistant", "content": text}


def results(number: int, *texts: str) -> dict[str, Any]:
    pieces = [Piece(f"r{number}.{at}", "look", text) for at, text in enumerate(texts, 1)]
    return results_message(number, pieces)


def body(word: str) -> str:
    return " ".join(f"{word}{at}" for at in range(400))


OLD = [
    *HEAD,
    fences(("look", {}), ("look", {})),
    results(7, body("a"), body("b")),
    {"role": "assistant", "content": "Seen."},
    {"role": "user", "content": "Go on."},
]


def ask(session: Session, message: dict[str, Any]) -> list[str]:
    """One round; what its calls were answered."""
    request = session.request()
    assert request is not None
    assert complaints("fenced-chat", {"model": "m", **request}) == []
    with session.answer() as answer:
        answer(message)
    with session.round() as now:
        for call in now.calls:
            now.result(call, f"{call.name} ran")
    return [turn.content.text for turn in session.live.turns if turn.role == "tool"]


def open_session(messages: list[Any], **options: Any) -> Session:
    return Session(
        messages,
        dialect=Fenced(),
        budget=30_000,
        **{"interface": "context-tools", "tools": [TOOL], **options},
    )


def test_a_history_from_elsewhere_keeps_its_rounds_and_goes_on_behind_them() -> None:
    with open_session(OLD) as session:
        said = ask(session, fences(("context_drop", {"handles": ["r7.2"]}), ("look", {})))
        assert "dropped: r7.2" in said[-2]
        newest = session.live.turns[-1].content.answers
        assert newest == "r8.2"
        request = session.request()
        assert request is not None
        framed = next(m["content"] for m in request["messages"] if "of round 7:" in m["content"])
        assert [stub.call_id for stub in stubs_in(framed)] == ["r7.2"]
        assert body("a") in framed


@pytest.mark.parametrize("lost", ["_tool_segments", "both"])
def test_results_of_unknown_offsets_are_one_with_a_handle_of_its_own(lost: str) -> None:
    gone = ("_tool_segments", "_tool_round") if lost == "both" else (lost,)
    messages = [{k: v for k, v in message.items() if k not in gone} for message in OLD]
    with open_session(messages) as session:
        status = ask(session, fences(("context_status", {})))[-1]
        handle = next(word for word in status.split() if word.startswith("m") and word[-1] == ":")
        said = ask(session, fences(("context_drop", {"handles": [handle.rstrip(":")]})))[-1]
        assert f"dropped: {handle.rstrip(':')}" in said
        request = session.request()
        assert request is not None
        framed = request["messages"][3]["content"]
        assert framed.startswith("[tool results of round")
        assert framed.endswith("\n[end of tool results]")
        assert len(stubs_in(framed)) == 1


def test_exported_messages_hold_no_private_key_and_can_be_gone_on_from() -> None:
    with open_session(OLD) as session:
        ask(session, fences(("look", {})))
        exported = session.messages
    assert not any(key.startswith("_") for message in exported for key in message)
    with open_session(exported) as again:
        request = again.request()
        assert request is not None
        prompt = request["messages"][0]["content"]
        assert prompt.count("## Calling tools") == 1
        assert complaints("fenced-chat", {"model": "m", **request}) == []


@pytest.mark.parametrize("interface", ["tool", "both", "none"])
def test_the_part_on_calls_stands_once_however_often_a_session_is_gone_on_from(
    interface: Any,
) -> None:
    messages: list[Any] = HEAD
    for _ in range(3):
        with open_session(messages, interface=interface) as session:
            ask(session, fences(("look", {})))
            messages = session.messages
    prompt = messages[0]["content"]
    assert prompt.startswith("You are an agent.\n\n## Calling tools")
    assert prompt.count("## Calling tools") == 1
    assert prompt.count("## Redrafting your own context") == (interface != "none")
    assert prompt.count("- `look()`") == 1


def test_the_pass_spills_result_by_result_and_keeps_the_frame() -> None:
    settings = Settings(agent_midturn_compact_pct=0.1, agent_midturn_keep_tool_rounds=1)
    with open_session(HEAD, settings=settings, interface="context-tools") as session:
        for word in "abcd":
            request = session.request()
            assert request is not None
            with session.answer() as answer:
                answer(fences(("look", {}), ("look", {})))
            with session.round() as now:
                for call, text in zip(now.calls, (body(word), "short"), strict=True):
                    now.result(call, text)
        request = session.request()
        assert request is not None
        framed = [m["content"] for m in request["messages"] if m["content"].startswith("[tool ")]
        assert all(text.endswith("\n[end of tool results]") for text in framed)
        spilled = [stub.call_id for text in framed for stub in stubs_in(text)]
        assert spilled
        assert all(name.endswith(".1") for name in spilled)  # a short one stays
        assert "short" in framed[0]


def test_an_incognito_session_says_that_a_body_is_gone() -> None:
    with open_session(OLD, incognito=True) as session:
        ask(session, fences(("context_drop", {"handles": ["r7.1"]})))
        request = session.request()
        assert request is not None
        framed = next(m["content"] for m in request["messages"] if "of round 7:" in m["content"])
        (stub,) = stubs_in(framed)
        assert stub.storage == "memory-only (incognito)"
        said = ask(session, fences(("read_overflow", {"id": stub.id})))[-1]
        assert said.startswith("[redraft:")
        assert body("a") not in said


def test_something_that_is_no_function_tool_is_refused() -> None:
    with pytest.raises(SettingsError, match="as Chat Completions write it"):
        open_session(HEAD, tools=[{"name": "look", "input_schema": {}}])


def test_the_format_is_known_wherever_formats_are_listed() -> None:
    assert isinstance(dialect_named("fenced-chat"), Fenced)
    assert MEASURED["fenced-chat"]
