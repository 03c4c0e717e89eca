"""A session speaks every wire format: whole runs, with the same story in each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from format_world import FORMATS, PROMPT, Format, Json, Story, bytes_of, of_model
from session_world import balanced, common, last, numbers, replaced, statuses

from redraft import Phase, Session, Settings
from redraft.errors import ContextOverflowError, SettingsError
from redraft.store import SQLiteJournal, fork, inputs

EDIT = "edit_context"


@pytest.fixture(params=list(FORMATS))
def form(request: pytest.FixtureRequest) -> Format:
    return FORMATS[request.param]()


@pytest.fixture
def story(form: Format, request: pytest.FixtureRequest) -> Iterator[Story]:
    made = Story(form, **getattr(request, "param", {}))
    with made.session:
        yield made


def texts(session: Session) -> list[str]:
    return [turn.content.text for turn in session.live.turns]


def edits(*changes: Json) -> tuple[str, Json]:
    return EDIT, {"edits": list(changes)}


def turn_of(session: Session, words: str) -> int:
    """The number of the first turn that holds `words`."""
    return next(turn.number for turn in session.live.turns if words in turn.content.text)


# -- what is sent -----------------------------------------------------------------------------------


def test_the_section_stands_behind_the_clients_own_system_prompt(story: Story) -> None:
    request = story.request()
    assert request is not None
    prompt = story.form.section(request)
    assert prompt.startswith(f"{PROMPT}\n\n## Redrafting your own context")
    assert str(story.session.context_file) in prompt
    assert prompt.count("## Redrafting") == 1
    assert story.session.request() == request


def test_the_clients_own_fields_are_left_as_they_are(form: Format) -> None:
    before = bytes_of([form.fields, form.tools])
    with Story(form, interface="tool").session as session:
        session.request()
    assert bytes_of([form.fields, form.tools]) == before


def test_the_tool_is_declared_in_the_formats_own_form(form: Format) -> None:
    with Story(form, interface="tool").session as session:
        request = session.request()
    assert request is not None
    assert form.tool_names(request) == ["bash", EDIT]
    theirs, ours = _declared(request)
    assert set(ours) - {"strict"} == {_named(name) for name in set(theirs) - {"strict"}} or (
        form.name == "gemini" and set(ours) == {"name", "description", "parametersJsonSchema"}
    )


def _declared(request: Json) -> tuple[Json, Json]:
    tools: list[Any] = request["tools"]
    if "functionDeclarations" in tools[0]:
        assert len(tools) == 1
        tools = tools[0]["functionDeclarations"]
    return tools[0], tools[1]


def _named(name: str) -> str:
    return name


def test_parameters_may_hold_neither_the_turns_nor_the_tools(form: Format) -> None:
    for name in (form.turns, "tools"):
        with pytest.raises(SettingsError, match=f"`{form.turns}` or `tools`"):
            Session([], dialect=form.dialect(), parameters={name: []})


def test_rules_of_another_format_are_refused(form: Format) -> None:
    other = next(kind() for kind in FORMATS.values() if kind.dialect is not form.dialect)
    with pytest.raises(SettingsError, match="leave `profile` out"):
        Session(form.task(), dialect=form.dialect(), profile=other.profile)


# -- whole runs -------------------------------------------------------------------------------------


def test_a_run_with_the_file(story: Story) -> None:
    session = story.session
    story.play(story.say("echo one", "echo two", text="I look.", thinks="hm"))
    assert [turn.role for turn in session.live.turns[-3:]] == ["assistant", "tool", "tool"]
    first, second = (turn.content.text for turn in session.live.turns[-2:])
    assert first.startswith("one\n[redraft:beef] context ")
    assert second.startswith("two\n[redraft:beef] context ")
    story.fill(3)
    # An early round becomes one note, by a command.
    head = turn_of(session, "step 0")
    story.play(story.say(replaced(head, head + 2, "Step 0: nothing there."), text="tidying"))
    assert statuses(session) == ["applied"]
    assert "edit 1 applied" in last(session)
    note = turn_of(session, "Step 0: nothing there.")
    assert not any(number in numbers(session) for number in (head + 1, head + 2))
    story.fill(1)
    # All that it did not touch is sent as the very object that it was; one round's results are gone.
    before, after = story.sent[-2], story.sent[-1]
    objects = set(map(id, after))
    theirs = [native for native in before if not of_model(native)]
    gone = [native for native in theirs if id(native) not in objects]
    assert len(gone) == (1 if story.form.folds else 2)
    # Taken back, all is there again.
    session.undo(1)
    assert note not in numbers(session) or "step 0" in texts(session)
    assert turn_of(session, "step 0") == head
    request = story.ask(story.form.reply("Done."))
    assert len(request[story.form.turns]) > len(before)
    assert session.done
    assert session.request() is None
    assert balanced(session)
    # The user has more to say.
    session.append(story.form.user("And now?"))
    assert story.request() is not None


def test_a_run_with_the_tool(form: Format) -> None:
    story = Story(form, interface="tool")
    with story.session as session:
        story.fill(2)
        outline = story.form.reply("what have I got?", (EDIT, {}))
        story.ask(outline)
        with session.round() as now:
            assert now.calls == []
        assert f"turn {turn_of(session, 'step 0')} assistant" in last(session)
        # One call of the model's own beside one of redraft's: both results, in their order.
        result = turn_of(session, "one 0")
        story.play(
            form.reply(
                "tidying",
                edits({"turn": result, "text": ""}),
                ("bash", {"command": "ls"}),
                thinks="hm",
            ),
            "README.md",
        )
        assert statuses(session) == ["applied"]
        # A result that goes while its call stands leaves one line.
        (stub,) = (turn for turn in session.live.turns if turn.number == result)
        assert "one 0" not in stub.content.text
        assert stub.role == "tool"
        assert len(stub.content.text.splitlines()) == 1
        assert [turn.role for turn in session.live.turns[-2:]] == ["tool", "tool"]
        assert "edit 1 applied" in last(session)
        assert last(session).startswith("README.md")
        # Its neighbour, which came with it, stays as it was.
        assert any("two 0" in text for text in texts(session))
        story.ask(form.reply("Done."))
        assert session.done
        assert balanced(session)


def test_deleting_the_assistant_turn_takes_its_whole_group(form: Format) -> None:
    story = Story(form, interface="tool")
    with story.session as session:
        story.fill(3)
        head = turn_of(session, "step 1")
        story.play(form.reply("tidying", edits({"turn": head, "text": ""})))
        assert statuses(session) == ["applied"]
        assert not {head, head + 1, head + 2} & set(numbers(session))
        story.request()


def test_an_overflow_is_rolled_back(story: Story) -> None:
    session = story.session
    story.fill(4, words=300)
    count = len(session.live.turns)
    assert story.request() is not None
    with session.answer():
        raise ContextOverflowError("too long", requested=50_000, window=40_000)
    with session.round() as now:
        assert now.calls == []
    story.play(story.say("ls"), "README.md")
    assert len(session.live.turns) < count
    assert any("Rolled back" in text for text in texts(session))
    assert session.phase is Phase.RUNNING
    assert balanced(session)


def test_results_are_sent_in_one_carrier_where_the_format_wants_it(story: Story) -> None:
    story.play(story.say("a", "b", "c"), "1", "2", "3")
    story.request()
    new = len(story.sent[-1]) - len(story.sent[0])
    assert new == {"openai-responses": 7}.get(story.form.name, 2 if story.form.folds else 4)
    # And the very message that was folded is sent again.
    story.play(story.say("d"), "4")
    story.request()
    assert common(story.sent[1], story.sent[2]) == len(story.sent[1])


def test_what_was_said_meanwhile_follows_the_results(story: Story) -> None:
    session = story.session
    story.ask(story.say("ls"))
    session.append(story.form.user("Leave the tests alone."))
    with session.round() as now:
        now.result(now.calls[0], "README.md")
    assert [turn.role for turn in session.live.turns[-2:]] == ["tool", "user"]
    story.request()
    assert last(session) == "Leave the tests alone."


def test_calls_that_a_killed_run_left_get_a_result(form: Format) -> None:
    response = form.reply("working", ("bash", {"command": "a"}), ("bash", {"command": "b"}))
    again = form.reply("again", ("bash", {"command": "a"}), ("bash", {"command": "b"}))
    messages = [
        *form.task(),
        *form.kept(response),
        *form.results(response, "1", "2"),
        *form.kept(again),
        form.user("Go on."),
    ]
    story = Story(form, messages=messages)
    with story.session as session:
        story.request()
        found = [turn.content.text for turn in session.live.turns if turn.role == "tool"]
        assert found[:2] == ["1", "2"]
        assert all("was interrupted" in text for text in found[2:])
        assert len(found) == 4
        assert texts(session)[-1] == "Go on."


# -- replies ----------------------------------------------------------------------------------------


def test_a_call_that_was_cut_off_is_not_run(story: Story) -> None:
    story.ask(
        story.form.reply("", ("bash", {"command": "ls"}), ("bash", {"command": "rm -"}), cut=True)
    )
    with story.session.round() as now:
        assert [call["command"] for call in now.calls] == ["ls"]
        now.result(now.calls[0], "README.md")
    first, second = texts(story.session)[-2:]
    assert first.startswith("README.md")
    assert "Not run: your reply broke off at its length limit" in second


def test_a_reply_of_reasoning_alone_ends_the_run_and_goes_on_when_asked(story: Story) -> None:
    story.ask(story.form.reply("", thinks="hm"))
    assert story.session.done
    story.session.append(story.form.user("Well?"))
    story.request()
    story.ask(story.form.reply("Yes."))
    assert last(story.session) == "Yes."
    assert balanced(story.session)


def test_usage_is_learnt_from(story: Story) -> None:
    before = story.session.tokens
    story.ask(story.form.reply("Hello.", prompt=before * 2))
    assert story.session.tokens > before * 1.5


# -- taken up again ---------------------------------------------------------------------------------


@pytest.mark.parametrize("interface", ["file", "tool"])
def test_a_session_that_is_resumed_sends_identical_bytes(
    form: Format, interface: str, tmp_path: Path
) -> None:
    with SQLiteJournal(tmp_path / "run", dialect=form.dialect()) as journal:
        story = Story(form, interface=interface, journal=journal, path=tmp_path / "file")
        story.fill(2)
        session = story.session
        session.edit_context(edits=[{"turn": turn_of(session, "one 0"), "text": "seen"}])
        assert statuses(session) == ["applied"]
        request = story.request()
        session.close()
    with SQLiteJournal(tmp_path / "run") as journal:
        assert type(journal.dialect) is form.dialect
        with Session.resume(journal) as again:
            assert again.model == form.model
            sent = again.request()
            assert bytes_of(sent) == bytes_of(request)
            assert again._engine.wire.profile.name == form.profile.name
            with again.answer() as answer:
                answer(story.say("a", "b", thinks="hm"))
            with again.round() as now:
                for call in now.calls:
                    now.result(call, "more")
            last_sent = again.request()
            assert last_sent is not None
            size = len(last_sent[form.turns])
            assert bytes_of(last_sent[form.turns][: len(request[form.turns])]) == bytes_of(
                request[form.turns]
            )
            assert size > len(request[form.turns])
            again.undo(1)
            assert any("one 0" in text for text in texts(again))
            *_, newest = inputs(journal.entries())
            assert bytes_of(newest.body(journal.dialect)) == bytes_of(last_sent)


def test_a_process_that_ended_within_a_round_is_healed(form: Format, tmp_path: Path) -> None:
    with SQLiteJournal(tmp_path, dialect=form.dialect()) as journal:
        story = Story(form, interface="tool", journal=journal)
        story.fill(1)
        story.ask(story.say("a", "b"))
    with SQLiteJournal(tmp_path) as journal, Session.resume(journal) as again:
        assert all("was interrupted" in text for text in texts(again)[-2:])
        assert again.request() is not None


def test_a_session_at_another_place_names_it_in_the_system_prompt(
    form: Format, tmp_path: Path
) -> None:
    with SQLiteJournal(tmp_path / "run", dialect=form.dialect()) as journal:
        story = Story(form, journal=journal, path=tmp_path / "one")
        story.fill(1)
        old = story.session.context_file
        fork(journal, tmp_path / "fork")
        story.session.close()
    with (
        SQLiteJournal(tmp_path / "fork") as journal,
        Session.resume(journal, path=tmp_path / "two") as again,
    ):
        request = again.request()
        assert request is not None
        prompt = form.section(request)
        assert str(again.context_file) in prompt
        assert str(old) not in prompt
        assert balanced(again)
        *_, newest = inputs(journal.entries())
        assert bytes_of(newest.body(journal.dialect)) == bytes_of(request)
    with SQLiteJournal(tmp_path / "fork") as journal, Session.resume(journal) as third:
        assert bytes_of(third.request()) == bytes_of(request)


def test_a_journal_of_another_format_is_refused(form: Format, tmp_path: Path) -> None:
    other = next(kind for kind in FORMATS.values() if kind.dialect is not form.dialect)
    with SQLiteJournal(tmp_path, dialect=other.dialect()) as journal:
        with pytest.raises(SettingsError, match=rf"dialect={form.dialect.__name__}\(\)"):
            Session(form.task(), dialect=form.dialect(), journal=journal)
        with Session(other().task(), journal=journal) as session:
            assert session.live.dialect is journal.dialect


def test_settings_of_the_final_turn_hold_in_every_format(form: Format) -> None:
    story = Story(form, settings=Settings(final_turn=True, elide_edits="on"))
    with story.session as session:
        story.fill(1)
        session.finish("the time is up")
        story.play(story.say("ls"), "never")
        assert session.phase is Phase.STOPPED
        assert "Not run" in last(session)
        assert session.request() is None
