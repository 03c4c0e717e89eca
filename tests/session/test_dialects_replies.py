"""Replies as the providers give them: paused, refused, in several pieces, and as objects of their SDKs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest
from anthropic import Anthropic as AnthropicClient
from anthropic import AsyncAnthropic
from anthropic import BadRequestError as AnthropicRefusal
from format_world import FORMATS, Format, Google, Json, Messages, Responses, Story, bytes_of
from openai import OpenAI
from session_world import balanced, last, statuses

from redraft import Session
from redraft.dialects import OpenAIResponses
from redraft.errors import DialectError
from redraft.session import ToolCall
from redraft.store import SQLiteJournal

SEARCH = {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "q"}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": []}


def message(*blocks: Json, stop: str = "end_turn", **fields: Any) -> Json:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-5",
        "content": list(blocks),
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": 900, "output_tokens": 7},
        **fields,
    }


def text(words: str) -> Json:
    return {"type": "text", "text": words}


PAUSED = message(text("I search."), SEARCH, stop="pause_turn")
COMPACTED = message({"type": "compaction", "content": "What was said so far."}, stop="compaction")


@pytest.mark.parametrize("reply", [PAUSED, COMPACTED], ids=["pause_turn", "compaction"])
def test_a_reply_that_the_server_paused_is_asked_on(reply: Json) -> None:
    story = Story(Messages())
    with story.session as session:
        story.ask(reply)
        assert not session.done
        with session.round() as now:
            assert now.calls == []
        assert now.cost == 0
        request = story.request()
        assert request is not None
        assert request["messages"][-1] is session.live.turns[-1].content.carriers[0]
        assert request["messages"][-1]["content"] == reply["content"]
        more = [FOUND] if SEARCH in reply["content"] else []
        story.ask(message(*more, text("Found.")))
        assert session.done
        session.append(story.form.user("Thanks. And?"))
        story.request()
        assert balanced(session)


def test_a_question_is_not_answered_by_a_reply_that_only_paused(tmp_path: Path) -> None:
    """So no edit in between may drop it, in this process or the next."""
    form = Messages()
    with SQLiteJournal(tmp_path, dialect=form.dialect()) as journal:
        story = Story(form, interface="tool", journal=journal)
        story.ask(message(text("Done.")))
        story.session.append(form.user("And the other one?"))
        story.ask(PAUSED)
        question = next(t for t in story.session.live.turns if "other one" in t.content.text)
        assert question.number in story.session.live.protected()
    with SQLiteJournal(tmp_path) as journal, Session.resume(journal) as again:
        assert question.number in again.live.protected()
        again.request()
        with again.answer() as answer:
            answer(message(FOUND, text("Found.")))
        assert question.number not in again.live.protected()


def test_a_final_turn_that_was_paused_goes_on() -> None:
    story = Story(Messages())
    with story.session as session:
        session.finish("the time is up")
        story.ask(PAUSED)
        story.ask(message(FOUND, text("Found.")))
        assert session.done
        assert session.why == "the final turn gave the answer"


def test_another_process_asks_on_as_well(tmp_path: Path) -> None:
    form = Messages()
    with SQLiteJournal(tmp_path, dialect=form.dialect()) as journal:
        story = Story(form, interface="tool", journal=journal)
        story.ask(PAUSED)
        request = story.request()
    with SQLiteJournal(tmp_path) as journal, Session.resume(journal) as again:
        assert not again.done
        assert bytes_of(again.request()) == bytes_of(request)
        with again.answer() as answer:
            answer(message(FOUND, text("Found.")))
        assert again.done
    with SQLiteJournal(tmp_path) as journal, Session.resume(journal) as third:
        assert third.done


def test_calls_beside_a_pause_are_run() -> None:
    call = {"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {"command": "ls"}}
    story = Story(Messages())
    with story.session as session:
        story.ask(message(SEARCH, FOUND, call, stop="pause_turn"))
        with session.round() as now:
            assert [one["command"] for one in now.calls] == ["ls"]
            now.result(now.calls[0], "README.md")
        story.request()
        assert last(session).startswith("README.md")


@pytest.mark.parametrize(
    ("name", "reply"),
    [
        ("anthropic", message(stop="refusal")),
        (
            "openai-responses",
            {
                "object": "response",
                "status": "completed",
                "store": False,
                "output": [
                    {
                        "type": "message",
                        "id": "msg_1",
                        "role": "assistant",
                        "content": [{"type": "refusal", "refusal": "I will not."}],
                    }
                ],
            },
        ),
        ("gemini", {"candidates": [{"finishReason": "SAFETY"}]}),
        (
            "openai-chat",
            {
                "choices": [
                    {
                        "finish_reason": "stop",
                        "message": {"role": "assistant", "content": None, "refusal": "No."},
                    }
                ]
            },
        ),
    ],
    ids=["anthropic", "openai-responses", "gemini", "openai-chat"],
)
def test_a_refusal_ends_the_run_and_the_user_may_go_on(name: str, reply: Json) -> None:
    story = Story(FORMATS[name]())
    with story.session as session:
        story.ask(reply)
        assert session.done
        session.append(story.form.user("Then do that instead."))
        story.ask(story.form.reply("Done."))
        assert last(session) == "Done."
        assert balanced(session)


def test_a_call_that_broke_off_in_a_refused_reply_is_not_run() -> None:
    call = {"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {"command": "rm -r"}}
    story = Story(Messages())
    with story.session as session:
        story.ask(message(text("I"), call, stop="refusal"))
        with session.round() as now:
            assert now.calls == []
        assert "Not run" in last(session)
        story.request()


def test_an_edit_that_broke_off_is_not_applied() -> None:
    for kind in (Messages, Google, Responses):
        story = Story(kind(), interface="tool")
        with story.session as session:
            story.fill(1)
            edit = {"edits": [{"turn": session.live.turns[-1].number, "text": "half of"}]}
            story.play(story.form.reply("", ("edit_context", edit), cut=True))
            assert statuses(session) == []
            assert "Not run" in last(session)


def test_usage_that_measures_something_else_teaches_nothing() -> None:
    story = Story(Messages())
    with story.session as session:
        before = session.tokens
        usage = {"input_tokens": before * 2, "output_tokens": 9, "server_tool_use": {"web": 3}}
        story.ask(message(SEARCH, FOUND, text("Found."), usage=usage))
        calibration = session._core.calibration
        assert calibration.recent == ()


def test_receipts_stand_in_a_result_that_can_hold_words() -> None:
    """A computer takes nothing but a screenshot."""
    form = Responses()
    story = Story(form, interface="tool")
    with story.session as session:
        story.fill(1)
        edit = {"edits": [{"turn": session.live.turns[-1].number, "text": "seen"}]}
        reply = form.reply("", ("edit_context", edit))
        computer = {
            "type": "computer_call",
            "id": "cu_1",
            "call_id": "call_c",
            "status": "completed",
        }
        reply["output"].append(
            {**computer, "action": {"type": "screenshot"}, "pending_safety_checks": []}
        )
        story.play(reply, "what was seen")
        *_, first, second = (turn.content for turn in session.live.turns)
        assert "edit 1 applied" in first.text
        assert second.text == ""
        story.request()


def test_receipts_wait_where_no_result_can_hold_words(tmp_path: Path) -> None:
    form = Responses()
    computer = {"type": "computer_call", "id": "cu_1", "call_id": "call_c", "status": "completed"}
    shot = {**computer, "action": {"type": "screenshot"}, "pending_safety_checks": []}
    with SQLiteJournal(tmp_path / "run", dialect=OpenAIResponses()) as journal:
        story = Story(form, journal=journal, path=tmp_path / "file")
        session = story.session
        story.fill(1)
        path = session.context_file
        assert path is not None
        path.write_text(path.read_text() + "A note of a person's.\n")
        story.play({**form.reply(), "output": [shot]}, "what was seen")
        assert not any("edit 1" in turn.content.text for turn in session.live.turns)
        story.request()
    with SQLiteJournal(tmp_path / "run") as journal, Session.resume(journal) as again:
        again.request()
        with again.answer() as answer:
            answer(story.say("ls"))
        with again.round() as now:
            now.result(now.calls[0], "README.md")
        assert "edit 1 applied but grew" in last(again)
    session.close()


def test_a_response_behind_another_response_is_refused_with_what_to_do() -> None:
    form = Responses()
    with Story(form).session as session:
        session.request()
        with pytest.raises(DialectError, match="Leave the field out"), session.answer() as answer:
            answer({**form.reply("Hello."), "previous_response_id": "resp_1"})
        with session.answer() as answer:
            answer(form.reply("Hello."))
    begins = {"previous_response_id": "resp_1"}
    with Session([form.user("Go on.")], dialect=OpenAIResponses(), parameters=begins) as session:
        request = session.request()
        assert request is not None
        assert request["previous_response_id"] == "resp_1"
        with session.answer() as answer:
            answer({**form.reply("Hello."), **begins})
        assert session.done


# -- the official clients ------------------------------------------------------------------------------


def transport(reply: Callable[[Json], Json]) -> httpx2.MockTransport:
    """A server whose replies are a function of the request."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, json=reply(json.loads(request.content)))

    return httpx2.MockTransport(answer)


def run(call: ToolCall) -> str:
    return f"README.md  # {call['command']}"


def looks_once(form: Format) -> Callable[[Json], Json]:
    """Runs a command, then says that it is done."""

    def reply(request: Json) -> Json:
        if "README.md" in str(request[form.turns]):
            return form.reply("Done.", thinks="so")
        return form.reply("I look.", ("bash", {"command": "ls"}), thinks="hm")

    return reply


def openai_client(form: Format) -> OpenAI:
    about = {
        "id": "resp_1",
        "created_at": 0,
        "model": form.model,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }
    reply = looks_once(form)
    http = httpx2.Client(transport=transport(lambda request: {**about, **reply(request)}))
    return OpenAI(api_key="none", http_client=http)


def test_the_openai_client_and_responses() -> None:
    form = Responses()
    client = openai_client(form)
    with Story(form, interface="tool").session as session, client:
        while request := session.request():
            with session.answer() as answer:
                answer(client.responses.create(model=form.model, **request))
            with session.round() as now:
                for call in now.calls:
                    now.result(call, run(call))
        assert last(session) == "Done."
        assert [turn.role for turn in session.live.turns] == [
            "user",
            "assistant",
            "tool",
            "assistant",
        ]


def anthropic_reply(form: Format) -> Callable[[Json], Json]:
    reply = looks_once(form)
    return lambda request: {**message(), **reply(request), "usage": message()["usage"]}


def test_the_anthropic_client() -> None:
    form = Messages()
    http = httpx2.Client(transport=transport(anthropic_reply(form)))
    with (
        Story(form, interface="tool").session as session,
        AnthropicClient(api_key="none", http_client=http) as client,
    ):
        while request := session.request():
            with session.answer() as answer:
                answer(client.messages.create(model=form.model, **request))
            with session.round() as now:
                for call in now.calls:
                    now.result(call, run(call))
        assert last(session) == "Done."
        assert balanced(session)


async def _with_async_client(form: Format, session: Session) -> None:
    http = httpx2.AsyncClient(transport=transport(anthropic_reply(form)))
    async with AsyncAnthropic(api_key="none", http_client=http) as client:
        while request := session.request():
            async with session.answer() as answer:
                answer(await client.messages.create(model=form.model, **request))
            async with session.round() as now:
                for call in now.calls:
                    now.result(call, run(call))


def test_the_async_anthropic_client() -> None:
    form = Messages()
    with Story(form).session as session:
        asyncio.run(_with_async_client(form, session))
        assert last(session) == "Done."


def events(reply: Json) -> bytes:
    """A message as the events of a stream, the arguments of calls in pieces."""
    sent: list[Json] = [{"type": "message_start", "message": {**reply, "content": []}}]
    for at, block in enumerate(reply["content"]):
        empty, delta = _piece(block)
        sent.append({"type": "content_block_start", "index": at, "content_block": empty})
        sent.append({"type": "content_block_delta", "index": at, "delta": delta})
        sent.append({"type": "content_block_stop", "index": at})
    stop = {"stop_reason": reply["stop_reason"], "stop_sequence": None}
    sent.append({"type": "message_delta", "delta": stop, "usage": {"output_tokens": 7}})
    sent.append({"type": "message_stop"})
    lines = (f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in sent)
    return "".join(lines).encode()


def _piece(block: Json) -> tuple[Json, Json]:
    if block["type"] == "tool_use":
        return {**block, "input": {}}, {
            "type": "input_json_delta",
            "partial_json": block["input"],
        }
    return {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}


def test_a_stream_that_was_cut_off_does_not_run_its_last_call() -> None:
    """The client mends the JSON that it has: `rm -r build/x` may arrive as `rm -r build`."""
    call = {"type": "tool_use", "id": "toolu_1", "name": "bash"}
    cut = message(
        text("I clean."), {**call, "input": '{"command": "rm -r build'}, stop="max_tokens"
    )
    http = httpx2.Client(
        transport=httpx2.MockTransport(
            lambda _: httpx2.Response(
                200, content=events(cut), headers={"Content-Type": "text/event-stream"}
            )
        )
    )
    form = Messages()
    with (
        Story(form).session as session,
        AnthropicClient(api_key="none", http_client=http) as client,
    ):
        request = session.request()
        assert request is not None
        with session.answer() as answer:
            with client.messages.stream(model=form.model, **request) as stream:
                final = stream.get_final_message()
            answer(final)
        with session.round() as now:
            assert now.calls == []
        assert "Not run: your reply broke off at its length limit" in last(session)


def test_an_overflow_of_the_anthropic_client_is_rolled_back() -> None:
    error = {
        "type": "invalid_request_error",
        "message": "prompt is too long: 50000 tokens > 40000 maximum",
    }
    http = httpx2.Client(
        transport=httpx2.MockTransport(
            lambda _: httpx2.Response(400, json={"type": "error", "error": error})
        )
    )
    story = Story(Messages())
    with story.session as session, AnthropicClient(api_key="none", http_client=http) as client:
        story.fill(3, words=300)
        count = len(session.live.turns)
        request = story.request()
        assert request is not None
        with session.answer() as answer:
            answer(client.messages.create(model=story.form.model, **request))
        assert len(session.live.turns) < count
        with pytest.raises(AnthropicRefusal):
            client.messages.create(model=story.form.model, **request)
        story.request()


class Dumped:
    """An object of Google's SDK, as far as a session looks at it."""

    def __init__(self, values: Json) -> None:
        self.values = values

    def model_dump(self, **how: object) -> Json:
        assert how == {"mode": "json", "by_alias": True, "exclude_none": True, "warnings": False}
        return self.values


def test_objects_of_googles_sdk_and_the_list_of_a_stream() -> None:
    story = Story(Google())
    form = story.form
    with story.session as session:
        story.play(Dumped(form.reply("I look.", ("bash", {"command": "ls"}))), "README.md")
        pieces = [form.reply("Do"), form.reply("ne.")]
        story.ask([Dumped(one) for one in pieces])
        assert last(session) == "Done."
        assert session.done


def test_google_s_config_holds_the_tools_and_the_section() -> None:
    form = Google()
    config = {"system_instruction": "You are an agent.", "tools": form.tools, "temperature": 0}
    with Session(
        form.task(), dialect=form.dialect(), parameters={"config": config}, interface="both"
    ) as session:
        request = session.request()
    assert request is not None
    assert set(request) == {"contents", "config"}
    assert form.tool_names(request["config"]) == ["bash", "edit_context"]
    assert request["config"]["temperature"] == 0
    assert request["config"]["system_instruction"].startswith("You are an agent.\n\n## Redraft")
    with Session(
        form.task(), dialect=form.dialect(), tools=form.tools, parameters={"config": {}}
    ) as session:
        request = session.request()
    assert request is not None
    assert form.tool_names(request["config"]) == ["bash"]
