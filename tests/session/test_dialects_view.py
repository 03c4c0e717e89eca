"""`view_body`: a framework's whole request in, the request to send out, in every wire format."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from anthropic.types import Message
from format_world import (
    FORMATS,
    PROMPT,
    Client,
    Format,
    Json,
    Messages,
    Responses,
    bytes_of,
    of_model,
)
from openai.types.responses import Response
from session_world import balanced, common, journal_of, last, replaced, statuses

from redraft import Session, Settings
from redraft.dialects import Anthropic, Gemini, OpenAIResponses
from redraft.errors import DialectError, SessionStateError
from redraft.events import StartedOver
from redraft.prompts import SECTION_MARK
from redraft.store import SQLiteJournal, inputs

QUIET = Settings(elide_edits="off")


@pytest.fixture(params=list(FORMATS))
def form(request: pytest.FixtureRequest) -> Format:
    return FORMATS[request.param]()


def begun(form: Format, **options: Any) -> Session:
    options = {"tag": "beef", "budget": 40_000, "settings": QUIET, **options}
    dialect = options.pop("dialect", form.dialect())
    return Session([], dialect=dialect, model=form.model, **options)


@pytest.fixture
def client(form: Format) -> Iterator[Client]:
    with begun(form) as session:
        yield Client(form, session)


def texts(session: Session) -> list[str]:
    return [turn.content.text for turn in session.live.turns]


def newest(session: Session) -> Json:
    """The last request as the record has it."""
    *_, made = inputs(journal_of(session).entries)
    return made.body(session.live.dialect)


def started_over(session: Session) -> bool:
    return any(
        isinstance(getattr(entry, "event", None), StartedOver)
        for entry in journal_of(session).entries
    )


def test_the_section_joins_the_system_prompt_and_all_else_goes_out_as_it_came(
    client: Client,
) -> None:
    body = client.body
    before = copy.deepcopy(body)
    sent = client.send()
    assert body == before
    assert client.form.section(sent).startswith(f"{PROMPT}\n\n{SECTION_MARK}")
    assert sent["model"] == body["model"]
    assert sent["tools"] == body["tools"]
    turns = client.form.turns
    if client.form.name != "openai-chat":  # there `messages` stand first
        assert list(sent) == list(body)
        assert sent[turns] == body[turns]
    assert sent == newest(client.session)


def test_the_tool_joins_the_frameworks_tools_once(form: Format) -> None:
    with begun(form, interface="tool") as session:
        client = Client(form, session)
        sent = client.send()
        assert form.tool_names(sent) == ["bash", "edit_context"]
        client.fields["tools"] = sent["tools"]  # a framework that declares it itself
        assert client.send() == sent
        client.fields.pop("tools")
        assert form.tool_names(client.send()) == ["edit_context"]


def test_known_messages_stay_and_new_ones_are_appended(client: Client) -> None:
    turns = client.form.turns
    sent = [client.send(), *(client.work(f"echo {at}", "echo b") for at in range(4))]
    for old, new in pairwise(sent):
        assert common(old[turns], new[turns]) == len(old[turns])
    assert last(client.session).startswith("b\n[redraft:beef] context ")
    assert not started_over(client.session)
    assert balanced(client.session)


def test_an_edit_is_taken_over_and_stays(client: Client) -> None:
    session = client.session
    client.send()
    client.work("a", "b", output="word " * 60, text="step 0")
    head = next(turn.number for turn in session.live.turns if turn.content.text == "step 0")
    client.work("c", output="word " * 60)
    client.work(replaced(head, head + 2, "Nothing there."))
    assert statuses(session) == ["applied"]
    assert "edit 1 applied" in last(session)
    client.send()
    client.work("d", output="more")
    assert "Nothing there." in texts(session)
    assert "step 0" not in texts(session)
    assert not started_over(session)
    assert balanced(session)


def test_fields_that_change_go_out_and_the_edits_stay(client: Client) -> None:
    session = client.session
    client.send()
    client.work("a", output="word " * 60, text="step 0")
    session.edit_context(edits=[{"turn": session.live.turns[-1].number, "text": "seen"}])
    rows = len(session.ledger.rows)
    client.fields["metadata"] = {"try": "2"}
    sent = client.send()
    assert sent["metadata"] == {"try": "2"}
    assert statuses(session) == ["applied"]
    assert "seen" in texts(session)
    assert newest(session) == sent
    assert len(session.ledger.rows) == rows
    session.undo(1)


# (Chat Completions have it in the list: another one is another history.)
@pytest.mark.parametrize("name", [name for name in FORMATS if name != "openai-chat"])
def test_a_system_prompt_that_changes_costs_no_edit(name: str) -> None:
    form = FORMATS[name]()
    with begun(form) as session:
        client = Client(form, session)
        client.send()
        client.work("a", output="word " * 60)
        session.edit_context(edits=[{"turn": session.live.turns[-1].number, "text": "seen"}])
        before = session.live.tokens
        client.fields |= _renamed(client.fields, form)
        sent = client.send()
        prompt = form.section(sent)
        assert prompt.startswith(f"You are another agent, much changed.\n\n{SECTION_MARK}")
        assert "seen" in texts(session)
        assert session.live.tokens > before
        assert balanced(session)
        assert newest(session) == sent
        assert not started_over(session)
        session.undo(1)
        assert balanced(session)


def _renamed(fields: Json, form: Format) -> Json:
    def named(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: named(item) for key, item in value.items()}
        if isinstance(value, list):
            return [named(item) for item in value]
        return "You are another agent, much changed." if value == PROMPT else value

    return {key: named(fields[key]) for key in form.fields}


def test_a_framework_may_go_on_from_the_request_it_was_given(client: Client) -> None:
    form, turns = client.form, client.form.turns
    given = client.send()
    response = form.reply("working", ("bash", {"command": "ls"}), thinks="hm")
    more = {
        **given,
        turns: [*given[turns], *form.kept(response), *form.results(response, "README.md")],
    }
    sent = client.session.view_body(more)
    assert form.section(sent) == form.section(given)
    assert common(given[turns], sent[turns]) == len(given[turns])
    assert not started_over(client.session)
    assert last(client.session).startswith("README.md")


def test_the_section_of_another_session_is_replaced(form: Format) -> None:
    with begun(form) as one:
        old = Client(form, one).send()
    with begun(form, tag="cafe") as two:
        sent = two.view_body(old)
        prompt = form.section(sent)
        assert prompt.startswith(PROMPT)
        assert prompt.count(SECTION_MARK) == 1
        assert str(two.context_file) in prompt
        assert str(one.context_file) not in prompt


def test_a_rewritten_history_is_a_new_base(client: Client) -> None:
    client.send()
    client.work("a", output="one")
    client.history = [client.form.user("Something else."), *client.history[-2:]]
    sent = client.send()
    assert started_over(client.session)
    assert client.form.section(sent).count(SECTION_MARK) == 1
    assert balanced(client.session)


def test_the_next_process_knows_the_history(form: Format, tmp_path: Path) -> None:
    turns = form.turns
    with (
        SQLiteJournal(tmp_path, dialect=form.dialect()) as journal,
        begun(form, journal=journal, interface="tool", dialect=None) as session,
    ):
        client = Client(form, session, metadata={"try": "1"})
        client.send()
        client.fields["metadata"] = {"try": "2"}
        before = client.work("a", "b", output="word " * 60)
    with SQLiteJournal(tmp_path) as journal, Session.resume(journal) as again:
        client.session = again
        assert bytes_of(client.send()) == bytes_of(before)
        after = client.work("c", output="more")
        assert bytes_of(after[turns][: len(before[turns])]) == bytes_of(before[turns])
        assert balanced(again)
        *_, made = inputs(journal.entries())
        assert bytes_of(made.body(journal.dialect)) == bytes_of(after)


def test_it_says_what_is_missing(form: Format) -> None:
    with begun(form) as session:
        for body in ({}, {"model": "m"}, {form.turns: None}, form.task()):
            with pytest.raises(DialectError, match=f"no request with `{form.turns}`"):
                session.view_body(body)
        with pytest.raises(SessionStateError, match="nothing to ask"):
            session.view_body({form.turns: []})


# -- one format ---------------------------------------------------------------------------------------


def test_input_may_be_plain_text() -> None:
    for dialect, name in ((OpenAIResponses(), "input"), (Gemini(), "contents")):
        with Session([], dialect=dialect, interface="none") as session:
            sent = session.view_body({name: "Do the task."})
            assert texts(session)[-1] == "Do the task."
            assert len(sent[name]) == len(session.live.turns)
        with Session("Do the task.", dialect=dialect, interface="none") as session:
            assert session.request()[name] == sent[name]


def test_where_responses_have_no_instructions_the_section_is_a_developer_message() -> None:
    form = Responses()
    with begun(form) as session:
        client = Client(form, session)
        client.fields.pop("instructions")
        first = client.send()
        assert "instructions" not in first
        assert first["input"][0]["role"] == "developer"
        assert session.live.head == 2
        second = client.work("ls", output="README.md")
        assert common(first["input"], second["input"]) == 2
        # Instructions that come later hold the section no second time.
        client.fields["instructions"] = PROMPT
        third = client.send()
        assert str(third).count(SECTION_MARK) == 1


def test_a_history_on_the_server_is_explained() -> None:
    form = Responses()
    with begun(form) as session:
        client = Client(form, session)
        client.send()
        client.work("ls", output="README.md")
        client.fields["previous_response_id"] = "resp_1"
        with pytest.raises(DialectError, match="Leave the field out"):
            client.send()
        client.fields.pop("previous_response_id")
        client.fields["conversation"] = "conv_1"
        with pytest.raises(DialectError, match="`conversation`"):
            client.send()
        client.fields.pop("conversation")
        client.work("ls", output="README.md")


def test_objects_of_the_sdk_may_stand_in_a_history() -> None:
    with Session([], dialect=Anthropic(), model="claude-opus-5", interface="none") as session:
        reply = Message.model_validate(
            {
                "id": "msg_1",
                "type": "message",
                "role": "assistant",
                "model": "claude-opus-5",
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
                    {"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {}},
                ],
                "stop_reason": "tool_use",
                "stop_sequence": None,
                "usage": {"input_tokens": 3, "output_tokens": 7},
            }
        )
        history: list[Any] = [{"role": "user", "content": "Do the task."}]
        session.view_body({"messages": history})
        result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "README.md"}
        history += [
            {"role": "assistant", "content": reply.content},
            {"role": "user", "content": [result]},
        ]
        sent = session.view_body({"messages": history})["messages"]
        assert [type(block) for block in sent[1]["content"]] == [dict, dict]
        history[1] = {"role": "assistant", "content": [one.to_dict() for one in reply.content]}
        again = session.view_body({"messages": history})["messages"]
        assert common(sent, again) == len(sent)


def test_items_of_the_sdk_may_stand_in_a_history() -> None:
    form = Responses()
    response = form.reply("working", ("bash", {"command": "ls"}), thinks="hm")
    whole = Response.model_validate(
        {
            "id": "resp_1",
            "created_at": 0,
            "model": "gpt-4.1",
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            **response,
        }
    )
    with begun(form, interface="none") as session:
        client = Client(form, session)
        client.send()
        client.history += [*whole.output, *form.results(response, "README.md")]
        sent = client.send()["input"]
        assert [of_model(item) for item in sent] == [False, True, True, True, False]
        assert all(isinstance(item, dict) for item in sent)


def test_rules_follow_the_fields_of_the_request() -> None:
    """Four cache marks may stand in one request, those in the system prompt and the tools included."""
    form = Messages()
    mark = {"cache_control": {"type": "ephemeral"}}
    with begun(form, interface="none") as session:
        client = Client(form, session)
        response = form.reply("working", ("bash", {"command": "ls"}))
        (result,) = form.results(response, "README.md")
        result["content"][0] |= mark
        words = {"type": "text", "text": "Do the task.", **mark}
        client.history = [
            {"role": "user", "content": [words, words, words]},
            *form.kept(response),
            result,
        ]
        assert json.dumps(client.send()).count("cache_control") == 4
        client.fields["system"] = [{"type": "text", "text": PROMPT, **mark}]
        sent = client.send()
        assert json.dumps(sent).count("cache_control") == 4
        assert not started_over(session)
        assert newest(session) == sent
        client.fields["system"] = PROMPT
        client.work("ls", output="README.md")


def test_nothing_is_sent_twice_where_the_model_speaks_twice(client: Client) -> None:
    form = client.form
    client.history += form.kept(form.reply("first words"))
    client.send()
    client.history += form.kept(form.reply("second words", ("bash", {"command": "ls"})))
    client.history += form.kept(form.reply("third words"))
    client.history.append(form.user("Go on."))
    sent = json.dumps(client.send()[form.turns])
    assert [sent.count(f"{which} words") for which in ("first", "second", "third")] == [1, 1, 1]
