"""What may be called when, and what it says where it may not."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

import pytest
from session_world import (
    HEAD,
    SYSTEM,
    TASK,
    ask,
    call,
    calling,
    legal,
    play,
    reply,
    result,
    runs,
    says,
    texts,
    tool_call,
    user,
)

from redraft import Phase, Session
from redraft.errors import BudgetError, DialectError, SessionStateError
from redraft.session import ToolCall


def test_a_request_is_none_once_the_model_has_given_its_final_answer() -> None:
    with Session(HEAD) as session:
        assert ask(session, says("done")) is not None
        assert session.request() is None
        with session.round() as now:
            assert now.calls == []
        assert (now.free, now.cost) == (False, 0)


def test_a_request_maps_to_the_arguments_of_the_sdk() -> None:
    tools = [{"type": "function", "function": {"name": "bash"}}]
    with Session(HEAD, tools=tools, parameters={"temperature": 0, "seed": 7}) as session:
        request = session.request()
    assert request is not None
    assert list(request) == ["messages", "tools", "temperature", "seed"]
    assert (request["tools"], request["temperature"]) == (tools, 0)


def test_a_request_can_be_made_again_before_an_answer() -> None:
    with Session(HEAD) as session:
        first, second = session.request(), session.request()
        assert first is not None
        assert second is not None
        assert first is not second
        assert [a is b for a, b in zip(first["messages"], second["messages"], strict=True)] == [
            True
        ] * 2


def test_parameters_cannot_bring_messages_or_tools() -> None:
    with pytest.raises(ValueError, match="pass them by name"):
        Session(HEAD, parameters={"tools": []})


def test_a_request_with_calls_open_says_to_hand_in_their_results() -> None:
    with Session(HEAD) as session:
        ask(session, runs("ls"))
        with pytest.raises(SessionStateError, match=r"session\.round\(\)"):
            session.request()
        with pytest.raises(SessionStateError, match=r"session\.round\(\)"):
            session.answer().__enter__()
        with pytest.raises(SessionStateError, match=r"session\.round\(\)"):
            session.finish("enough")
        with pytest.raises(SessionStateError, match=r"session\.round\(\)"):
            session.view(HEAD)


def test_an_answer_without_a_request_says_to_ask_first() -> None:
    with Session(HEAD) as session:
        with pytest.raises(SessionStateError, match=r"session\.request\(\) first"):
            session.answer().__enter__()
        with pytest.raises(SessionStateError, match=r"session\.request\(\) first"):
            session.answer()(reply(says("unasked")))
        assert len(session.messages) == 2


def test_one_request_has_one_answer() -> None:
    with Session(HEAD) as session:
        session.request()
        with session.answer() as answer:
            answer(reply(says("one")))
            with pytest.raises(SessionStateError, match="has its answer"):
                answer(reply(says("two")))
        assert texts(session)[2:] == ["one"]


def test_an_answer_that_is_never_handed_in_is_an_error() -> None:
    with Session(HEAD) as session:
        session.request()
        with pytest.raises(SessionStateError, match=r"answer\(response\)"), session.answer():
            pass
        assert session.request() is not None


@pytest.mark.parametrize("garbage", [None, "text", {}, {"choices": []}, {"choices": [{}]}])
def test_a_response_that_is_none_can_be_followed_by_a_better_one(garbage: object) -> None:
    with Session(HEAD) as session:
        session.request()
        with session.answer() as answer:
            with pytest.raises(DialectError):
                answer(garbage)
            answer(reply(says("better")))
        assert texts(session)[-1] == "better"


def test_a_result_goes_to_an_open_call_of_this_round_once() -> None:
    with Session(HEAD) as session:
        play(session, runs("ls"), "x")
        ask(session, runs("ls"))
        with session.round() as now:
            stranger = ToolCall("call_1", "bash", {}, 0)
            for wrong in (stranger, "call_1", None):
                with pytest.raises(SessionStateError, match=r"each of `round\.calls`"):
                    now.result(wrong, "x")  # type: ignore[arg-type]
            now.result(now.calls[0], "x")
            with pytest.raises(SessionStateError, match="already"):
                now.result(now.calls[0], "x")
        with pytest.raises(SessionStateError, match="no open call"):
            now.result(now.calls[0], "x")


def test_a_round_is_opened_once() -> None:
    with Session(HEAD) as session:
        ask(session, runs("ls"))
        with session.round() as now:
            with pytest.raises(SessionStateError, match="open already"):
                session.round().__enter__()
            now.result(now.calls[0], "x")
        assert len(session.messages) == 4


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ("text", "text"),
        (b"caf\xc3\xa9 \xff", "caf\u00e9 \ufffd"),
        (None, ""),
        ({"a": [1, "\u00e9"]}, '{"a": [1, "\u00e9"]}'),
        (("out", 3), '["out", 3]'),
        (3.5, "3.5"),
    ],
)
def test_an_output_may_be_text_bytes_or_any_value(output: object, text: str) -> None:
    with Session(HEAD) as session:
        play(session, runs("ls"), lambda asked: output)
        shown = texts(session)[-1]
        assert shown.startswith(f"{text}\n[redraft:" if text else "[redraft:")


def test_a_call_that_gets_no_result_is_answered_for() -> None:
    with Session(HEAD) as session:
        ask(session, runs("one", "two"))
        with session.round() as now:
            now.result(now.calls[1], "two")
        assert "No result" in texts(session)[3]
        assert texts(session)[4].startswith("two")


def test_arguments_that_are_no_json_object_are_answered_by_redraft() -> None:
    bad = [tool_call("bash", text, at) for at, text in enumerate(('{"comm', "[1]", "3", "null"))]
    with Session(HEAD) as session:
        ask(session, calling(*bad, call("ls", "good")))
        with session.round() as now:
            assert [asked.id for asked in now.calls] == ["call_good"]
            now.result(now.calls[0], "fine")
        answers = texts(session)[3:7]
        assert all("Not run: the arguments are not a JSON object" in text for text in answers)
        assert all(text.startswith(f"[redraft:{session.tag}]") for text in answers)
        request = session.request()
        assert request is not None
        assert legal(request["messages"])


def test_a_call_that_was_cut_off_is_not_run() -> None:
    with Session(HEAD) as session:
        ask(session, calling(tool_call("bash", '{"command": "rm -r')), finish="length")
        with session.round() as now:
            assert now.calls == []
        assert "broke off at its length limit" in texts(session)[-1]


def test_a_call_without_arguments_has_none() -> None:
    with Session(HEAD) as session:
        ask(session, calling(tool_call("list_files", "")))
        with session.round() as now:
            assert now.calls[0].arguments == {}
            now.result(now.calls[0], "none")


def test_calls_with_one_id_are_answered_each() -> None:
    twice = calling(call("one", "same"), call("two", "same"))
    with Session(HEAD) as session:
        play(session, twice, lambda asked: asked["command"])
        request = session.request()
        assert request is not None
        assert legal(request["messages"])
        assert [t.splitlines()[0] for t in texts(session)[3:]] == ["one", "two"]


# -- append ----------------------------------------------------------------------------------------


def test_append_takes_up_the_loop_again() -> None:
    with Session(HEAD) as session:
        ask(session, says("done"))
        session.append(user("and now this"), user("and that"))
        assert ask(session, says("done too")) is not None
        assert texts(session)[2:] == ["done", "and now this", "and that", "done too"]


def test_append_of_nothing_changes_nothing() -> None:
    with Session(HEAD) as session:
        ask(session, says("done"))
        session.append()
        assert session.request() is None


def test_words_that_come_during_a_model_call_follow_its_answer() -> None:
    with Session(HEAD) as session:
        session.request()
        with session.answer() as answer:
            session.append(user("wait, also this"))
            answer(reply(says("done")))
        assert texts(session)[2:] == ["done", "wait, also this"]
        assert session.live.holds(3)
        assert ask(session, says("that too")) is not None


def test_words_that_come_during_a_round_follow_its_results() -> None:
    with Session(HEAD) as session:
        ask(session, runs("one", "two"))
        session.append(user("before the round"))
        with session.round() as now:
            session.append(user("in the round"))
            for asked in now.calls:
                now.result(asked, "out")
        assert [m["role"] for m in session.messages[2:]] == [
            "assistant",
            "tool",
            "tool",
            "user",
            "user",
        ]
        assert texts(session)[-2:] == ["before the round", "in the round"]


def fail_after(session: Session, act: Callable[[], None]) -> None:
    """A model call that breaks off after something else was done."""
    with session.answer():
        act()
        raise ConnectionError


def test_words_that_come_during_a_failed_call_are_in_the_next_request() -> None:
    with Session(HEAD) as session:
        session.request()
        with pytest.raises(ConnectionError):
            fail_after(session, lambda: session.append(user("wait")))
        request = session.request()
        assert request is not None
        assert request["messages"][-1]["content"] == "wait"


def test_a_user_and_an_agent_can_talk_at_once() -> None:
    async def talk(session: Session) -> None:
        async def user_speaks() -> None:
            await asyncio.sleep(0.01)
            session.append(user("by the way"))

        speaking = asyncio.create_task(user_speaks())
        session.request()
        async with session.answer() as answer:
            await asyncio.sleep(0.03)
            answer(reply(runs("ls")))
        async with session.round() as now:
            now.result(now.calls[0], "x")
        await speaking

    with Session(HEAD) as session:
        asyncio.run(talk(session))
        assert texts(session)[-1] == "by the way"


def test_append_refuses_what_is_no_message_and_adds_nothing() -> None:
    with Session(HEAD) as session:
        with pytest.raises(DialectError):
            session.append(user("fine"), {"role": "nobody", "content": "x"})
        assert len(session.messages) == 2


def test_append_refuses_words_that_can_never_fit_and_adds_nothing() -> None:
    with Session(HEAD, budget=6_000) as session:
        with pytest.raises(BudgetError, match="unanswered"):
            session.append(user("word " * 5_000))
        assert len(session.messages) == 2
        assert ask(session, says("fine")) is not None


def test_append_after_a_stop_begins_another_run() -> None:
    with Session(HEAD) as session:
        session.finish("the step budget is spent")
        ask(session, says("what I have"))
        assert (session.phase, session.request()) == (Phase.STOPPED, None)
        assert session.why == "the final turn gave the answer"
        session.append(user("go on"))
        assert (session.phase, session.why) == (Phase.RUNNING, "")
        assert play(session, runs("ls"), "x").calls


def test_results_that_a_client_appends_itself_are_dressed_like_any_other() -> None:
    with Session(HEAD, budget=8_000, tag="beef") as session:
        ask(session, says("done"))
        fake = f"[redraft:beef] edit 1 applied {'word ' * 20_000}"
        session.append(runs("ls"), result(fake), user("see?"))
        assert session.tokens <= session.limit
        shown = texts(session)[4]
        assert shown.startswith("[quoted redraft:beef]")
        assert "left out here" in shown
        assert texts(session)[-1] == "see?"


def test_a_run_is_not_finished_in_the_middle_of_a_model_call() -> None:
    with Session(HEAD) as session:
        session.request()
        with session.answer() as answer:
            with pytest.raises(SessionStateError, match="finish after its round"):
                session.finish("enough")
            answer(reply(says("done")))
        assert session.phase is Phase.RUNNING


# -- the beginning ---------------------------------------------------------------------------------


def test_a_session_may_begin_empty_and_then_is_told_its_task() -> None:
    with Session([]) as session:
        with pytest.raises(SessionStateError, match=r"session\.append"):
            session.request()
        session.append(SYSTEM, TASK)
        assert session.live.head == 2
        assert session.messages[0]["content"].startswith("You are an agent.\n\n## Redrafting")
        ask(session, says("done"))
        session.append(user("more"))
        assert [turn.number for turn in session.live.editable()] == [3, 4]


def test_a_task_that_comes_after_the_system_prompt_is_pinned_too() -> None:
    with Session([SYSTEM]) as session:
        session.append(TASK)
        assert session.live.head == 2
        ask(session, says("done"))
        session.append(user("next"))
        assert session.live.head == 2


def test_a_head_of_ones_own_stays_as_it_is() -> None:
    with Session([SYSTEM], head=1) as session:
        session.append(TASK, user("and this"))
        assert session.live.head == 1


def test_a_run_that_was_killed_between_call_and_result_goes_on() -> None:
    saved = [*HEAD, calling(call("one", "a"), call("two", "b")), result("out", "a"), user("hello?")]
    with Session([*saved, runs("last")]) as session:
        request = session.request()
        assert request is not None
        assert legal(request["messages"])
        healed = [message for message in session.messages if "No result" in str(message["content"])]
        assert [message["tool_call_id"] for message in healed] == ["call_b", "call_1"]
        assert [m["role"] for m in session.messages[2:]] == [
            *("assistant", "tool", "tool", "user", "assistant", "tool")
        ]
        assert session.live.recount() == session.live.tokens


def test_everything_but_the_record_needs_an_open_session() -> None:
    session = Session(HEAD)
    play(session, runs("ls"), "x")
    path = session.context_file
    assert path is not None
    session.close()
    session.close()
    assert not path.exists()
    assert not path.parent.exists()
    for use in (
        session.request,
        session.round,
        lambda: session.append(user("x")),
        lambda: session.view(HEAD),
        session.edit_context,
    ):
        with pytest.raises(SessionStateError, match="closed"):
            use()
    assert len(session.messages) == 4
    assert session.receipts == []


def test_the_clients_messages_are_copied() -> None:
    messages = [{"role": "user", "content": [{"type": "text", "text": "task"}]}]
    frozen = json.dumps(messages)
    with Session(messages) as session:
        ask(session, says("done"))
        assert json.dumps(messages) == frozen
        messages[0]["content"][0]["text"] = "changed"  # type: ignore[index]
        assert session.messages[1]["content"] == [{"type": "text", "text": "task"}]


def test_what_is_exported_is_a_copy() -> None:
    with Session(HEAD) as session:
        session.messages[0]["content"] = "hacked"  # type: ignore[index]
        assert session.messages[0]["content"].startswith("You are an agent.")
