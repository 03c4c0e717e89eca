"""A session taken up again by another process: what it remembers, and what its end left open."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from session_world import (
    HEAD,
    ask,
    balanced,
    bytes_of,
    call,
    calling,
    edit_call,
    fill,
    last,
    legal,
    play,
    replaced,
    reply,
    result,
    runs,
    says,
    statuses,
    texts,
    tool_call,
    user,
)

from redraft import Phase, Session, Settings
from redraft.dialects import STRICT_CHAT, OpenAIChat
from redraft.errors import JournalError, UndoError
from redraft.events import EditJudged, Event, PhaseChanged, ReplyRead, RoundEnded
from redraft.session.stating import stated
from redraft.store import (
    Opened,
    Refused,
    Rehomed,
    Sent,
    SQLiteJournal,
    VolatileJournal,
    fork,
    inputs,
)

Options = dict[str, Any]


class World:
    """Sessions in one place, each as another process finds it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.count = 0
        self.journal = SQLiteJournal(home / "0")
        self.open: list[Session] = []

    def begin(self, **options: Any) -> Session:
        options = {"interface": "tool", "budget": 20_000, "tag": "beef", **options}
        session = Session(options.pop("messages", HEAD), journal=self.journal, **options)
        self.open.append(session)
        return session

    def crash(self) -> Path:
        """The run as it is found after its process was killed just now."""
        self.count += 1
        place = self.home / str(self.count)
        shutil.copytree(self.journal.directory, place)
        for session in self.open:  # a killed process removes no file
            if session._mirror is not None:
                session._mirror._finalizer.detach()
        self.journal.close()
        return place

    def resumed(self, **options: Any) -> Session:
        self.journal = SQLiteJournal(self.crash())
        session = Session.resume(self.journal, **options)
        self.open.append(session)
        return session


@pytest.fixture
def world(tmp_path: Path) -> Any:
    made = World(tmp_path / "runs")
    yield made
    for session in made.open:
        session.close()
    made.journal.close()


def sent(journal: SQLiteJournal) -> list[bytes]:
    """The last request as the record has it."""
    *_, newest = inputs(journal.entries())
    return bytes_of(newest.body(OpenAIChat())["messages"])


# -- what it was -----------------------------------------------------------------------------------------


def test_a_session_goes_on_where_it_was(world: World) -> None:
    first = world.begin()
    fill(first, 3)
    request = first.request()
    assert request is not None
    second = world.resumed()
    assert second.request() == request
    play(second, runs("ls"), "README.md")
    assert last(second).startswith("README.md\n[redraft:beef]")
    ask(second, says("Done."))
    assert second.done
    assert balanced(second)


def test_the_next_request_begins_with_the_bytes_of_the_last_one(world: World) -> None:
    first = world.begin()
    fill(first, 2)
    play(first, calling(edit_call({"turn": 3, "text": "Seen."})))
    ask(first, runs("ls"))
    second = world.resumed()
    before = sent(world.journal)
    request = second.request()
    assert request is not None
    assert bytes_of(request["messages"])[: len(before)] == before
    assert [message["role"] for message in request["messages"][len(before) :]] == [
        "assistant",
        "tool",
    ]


def test_a_request_that_had_to_be_mended_is_sent_again_as_it_was(world: World) -> None:
    repeated = [
        *(says("a"), user("b")),
        *(runs("ls", text="one"), result("1"), runs("ls", text="two"), result("2")),
    ]
    first = world.begin(messages=[*HEAD, *repeated], profile=STRICT_CHAT, interface="none")
    request = first.request()
    assert request is not None
    assert bytes_of(request["messages"]) != bytes_of(first.live.body()["messages"])
    second = world.resumed(profile=STRICT_CHAT)
    assert sent(world.journal) == bytes_of(request["messages"])
    assert second.request() == request


def test_the_budget_stands_as_it_stood(world: World) -> None:
    first = world.begin(budget=9_000, settings=Settings(margin=600, output_reserve=1_000))
    fill(first, 3, "word " * 300)
    play(first, calling(call("look", "x")), "word " * 900, prompt=6_500)
    fill(first, 4, "word " * 2_500, start=10)
    ask(first, says("hm"), prompt=7_000)
    first.append(user("Go on."))
    first.request()
    second = world.resumed()
    assert first._controller.rollbacks.count > 0
    assert stated(second._engine) == stated(first._engine)
    assert (second.tokens, second.limit, second.phase) == (first.tokens, first.limit, first.phase)
    assert second._core.round == first._core.round == 9


def test_settings_tools_and_parameters_are_those_of_the_beginning(world: World) -> None:
    tools = [{"type": "function", "function": {"name": "bash", "parameters": {}}}]
    options: Options = {
        "tools": tools,
        "parameters": {"temperature": 0.5},
        "model": "gpt-5",
        "gate": "conserve",
        "settings": Settings(margin=777, nudge_tiers=(10, 20, 30), max_steps=9),
    }
    first = world.begin(**options)
    request = first.request()
    second = world.resumed()
    assert second.request() == request
    for name in ("settings", "model", "tag", "interface", "observing", "limit"):
        assert getattr(second, name) == getattr(first, name)
    assert second._edits._gate == "conserve"


def test_numbers_may_change_and_are_kept_changed(world: World) -> None:
    world.begin(budget=20_000)
    second = world.resumed(budget=30_000, settings=Settings(margin=1_000, max_steps=7))
    assert second.limit == 30_000 - 1_000
    third = world.resumed()
    assert (third.limit, third.settings.max_steps) == (29_000, 7)


def test_pins_answers_and_the_prefix_stand(world: World) -> None:
    first = world.begin(messages=[HEAD[0]])
    first.append(HEAD[1])  # the task joins the prefix later
    fill(first, 2)
    ask(first, says("Done."))
    first.append(user("More."))
    first.pin(5, 6)
    second = world.resumed()
    assert (second.live.head, second.live.answered, second.live.pins) == (2, 7, {5, 6})
    second.unpin(5)
    assert world.resumed().live.pins == {6}


def test_a_final_answer_is_still_final(world: World) -> None:
    first = world.begin()
    ask(first, says("42"))
    second = world.resumed()
    assert second.done
    assert second.request() is None
    second.append(user("Sure?"))
    assert second.request() is not None


def test_receipts_rejections_and_the_ledger_are_all_there(world: World) -> None:
    first = world.begin(interface="both", settings=Settings(elide_edits="off"))
    fill(first, 3)
    play(first, runs(replaced(3, 4, "noted")))
    play(first, runs('rm "$REDRAFT_CONTEXT_FILE"'))
    play(first, runs('cat "$REDRAFT_CONTEXT_FILE" > /dev/null'))
    play(first, calling(edit_call({"turn": 5, "text": "long " * 9_000})))
    second = world.resumed()
    assert statuses(second) == ["applied", "rejected", "no-match", "rejected"]
    assert second.receipts == first.receipts
    assert second.rejections == first.rejections == {"file": 1, "edit_context": 1}
    assert second.ledger.rows == first.ledger.rows
    assert second.ledger.total() == first.ledger.total()


def test_revisions_can_be_undone_by_another_process(world: World) -> None:
    first = world.begin()
    fill(first, 3)
    before = texts(first)
    play(first, calling(edit_call({"turn": 3, "through": 6, "text": "One note."})))
    second = world.resumed()
    second.undo(1)
    assert texts(second)[: len(before)] == before
    third = world.resumed()
    third.undo(2)  # the undo itself
    assert texts(third)[2] == "One note."
    play(third, calling(edit_call({"turn": third.live.turns[2].number, "text": "Shorter."})))
    with pytest.raises(UndoError, match="undo those first, the newest first: 4"):
        world.resumed().undo(1)


def test_numbers_of_turns_and_revisions_go_on_counting(world: World) -> None:
    first = world.begin()
    fill(first, 2)
    play(first, calling(edit_call({"turn": 3, "text": "a"})))
    second = world.resumed()
    play(second, calling(edit_call({"turn": 5, "text": "b"})))
    assert "edit 2" in last(second)
    assert [turn.number for turn in second.live.turns] == list(range(1, 11))


def test_what_a_client_that_owns_the_loop_has_sent_is_known(world: World) -> None:
    first = world.begin(interface="both")
    history = [*HEAD, runs("seq 1 300"), result("1\n" * 300)]
    first.view(history)
    first.edit_context(edits=[{"turn": 3, "text": "counted"}])
    viewed = first.view(history)
    second = world.resumed()
    assert second.view(history) == viewed
    history += [runs("ls", text="more"), result("README.md")]
    assert [message["role"] for message in second.view(history)][-2:] == ["assistant", "tool"]
    assert "counted" in texts(second)
    third = world.resumed()
    assert third.view([*third.messages, user("Thanks.")])[-1] == user("Thanks.")
    assert "counted" in texts(third)


def test_calls_of_a_client_that_owns_the_loop_are_left_to_it(world: World) -> None:
    first = world.begin()
    first.view([*HEAD, runs("make")])
    second = world.resumed()
    assert len(second.live.turns) == 3
    viewed = second.view([*HEAD, runs("make"), result("built")])
    assert str(viewed[-1]["content"]).startswith("built\n")


def test_a_journal_in_memory_or_open_to_be_read_cannot_be_resumed(
    world: World, tmp_path: Path
) -> None:
    world.begin()
    with (
        SQLiteJournal(world.crash(), write=False) as reader,
        pytest.raises(JournalError, match="open it to write"),
    ):
        Session.resume(reader)
    with Session(HEAD, journal=VolatileJournal()) as session:
        assert session.request() is not None


# -- what its end left open ------------------------------------------------------------------------------


def test_an_open_call_gets_one_result_that_says_so_and_only_once(world: World) -> None:
    first = world.begin()
    ask(first, runs("make"))
    second = world.resumed()
    assert "the session was interrupted while this call ran" in last(second)
    assert "[redraft:beef] context" in last(second)
    healed = texts(second)
    third = world.resumed()
    assert texts(third) == healed
    request = third.request()
    assert request is not None
    assert legal(request["messages"])
    assert balanced(third)
    assert third._core.round == 1


def test_results_that_had_come_are_not_lost_with_the_others(world: World) -> None:
    first = world.begin()
    ask(first, runs("one", "two", "three"))
    now = first.round()
    asked = now.__enter__().calls
    now.result(asked[1], "the second", exit_code=3)
    now.result(asked[0], b"the first")
    second = world.resumed()
    one, two, three = texts(second)[-3:]
    assert one.startswith("the first\n")
    assert two.startswith("the second\n")
    assert "session was interrupted" in three


def test_calls_that_nobody_could_have_run_are_told_so(world: World) -> None:
    first = world.begin()
    ask(first, calling(tool_call("bash", '{"comm', 1), call("ls", 2)))
    second = world.resumed()
    assert "not a JSON object" in texts(second)[-2]
    assert "interrupted" in texts(second)[-1]


def test_an_edit_by_tool_that_passed_is_told_of_and_not_made_again(world: World) -> None:
    first = world.begin()
    fill(first, 2)
    ask(first, calling(edit_call({"turn": 3, "text": "noted"}, at=1), call("make", 2)))
    first.round().__enter__()
    second = world.resumed()
    edit, command = texts(second)[-2:]
    assert edit.startswith("[redraft:beef] context")
    assert "interrupted" in command
    assert "[redraft:beef] edit 1 " in command
    assert list(second._core.commits) == [1]
    assert texts(second)[2] == "noted"


def test_an_edit_by_tool_that_was_not_made_is_answered_as_interrupted(world: World) -> None:
    first = world.begin()
    fill(first, 2)
    ask(first, calling(edit_call({"turn": 3, "text": "noted"})))
    second = world.resumed()
    assert "interrupted" in last(second)
    assert second.receipts == []


def test_what_was_said_during_a_call_follows_its_result(world: World) -> None:
    first = world.begin()
    ask(first, runs("make"))
    first.append(user("Hurry."), user("Please."))
    second = world.resumed()
    assert texts(second)[-2:] == ["Hurry.", "Please."]
    assert "interrupted" in texts(second)[-3]
    third = world.resumed()
    assert texts(third) == texts(second)
    assert legal(third.messages)


def test_a_notice_is_read_with_the_next_result_and_once(world: World) -> None:
    first = world.begin()
    ask(first, runs("make"))
    second = world.resumed(notice="[redraft:beef] A new shell.")
    assert "[redraft:beef] A new shell.\n[redraft:beef] context" in last(second)
    third = world.resumed(notice="[redraft:beef] Another.")
    fourth = world.resumed(notice="[redraft:beef] Another.")
    assert third._controller.notices == fourth._controller.notices == ["[redraft:beef] Another."]
    play(fourth, runs("ls"), "README.md")
    assert last(fourth).count("Another.") == 1


def test_a_round_whose_end_was_lost_is_ended(world: World) -> None:
    first = world.begin()
    play(first, runs("ls"), "README.md")  # its row and its end were only noted down
    events: list[Event] = []
    second = world.resumed(on_event=events.append)
    assert [type(event) for event in events] == [RoundEnded]
    assert second.ledger.rows == first.ledger.rows
    again: list[Event] = []
    world.resumed(on_event=again.append)
    assert again == []


def test_a_reply_that_no_event_tells_of_is_told_of(world: World) -> None:
    first = world.begin()
    ask(first, says("42"), prompt=900)
    events: list[Event] = []
    second = world.resumed(on_event=events.append)
    assert events == [ReplyRead(1, 0, complete=True, prompt=900, cached=0, output=1)]
    assert second.ledger.rows == first.ledger.rows


def test_an_edit_that_no_event_tells_of_is_told_of(world: World) -> None:
    first = world.begin()
    fill(first, 2)
    ask(first, calling(edit_call({"turn": 3, "text": "noted"}), call("make", 2)))
    first.round().__enter__()
    events: list[Event] = []
    world.resumed(on_event=events.append)
    edits = [event for event in events if isinstance(event, EditJudged)]
    assert [(edit.number, edit.author) for edit in edits] == [(1, "model")]


def test_a_stop_that_was_lost_after_the_final_turn_is_a_stop(world: World) -> None:
    first = world.begin()
    fill(first, 1)
    first.finish("enough")
    ask(first, says("So far."))
    assert first.phase is Phase.STOPPED
    events: list[Event] = []
    second = world.resumed(on_event=events.append)
    assert (second.phase, second.request()) == (Phase.STOPPED, None)
    assert PhaseChanged(2, "stopped", "the final turn gave the answer") in events


def test_calls_in_the_final_turn_are_not_run_whoever_answers_them(world: World) -> None:
    first = world.begin()
    fill(first, 1)
    first.finish("enough")
    ask(first, runs("make"))
    second = world.resumed()
    assert "Not run: the run was ending" in last(second)
    assert second.phase is Phase.STOPPED


def test_the_users_next_words_after_a_stop_begin_another_run(world: World) -> None:
    first = world.begin()
    first.finish("enough")
    ask(first, says("So far."))
    first.append(user("Go on."))
    second = world.resumed()
    assert second.phase is Phase.RUNNING
    assert second.request() is not None


# -- the context file ------------------------------------------------------------------------------------


def test_the_context_file_is_made_again_at_its_place(world: World) -> None:
    first = world.begin(interface="file")
    fill(first, 2)
    path = first.context_file
    assert path is not None
    shutil.rmtree(path.parent)
    second = world.resumed()
    assert second.context_file == path
    second.request()
    assert "[[CTX_TURN 6 role=tool]]" in path.read_text()
    second.close()
    assert not path.parent.exists()


def test_a_file_that_the_process_left_as_it_wrote_it_is_no_edit(world: World) -> None:
    first = world.begin(interface="file", settings=Settings(file_attributes=True))
    fill(first, 2)
    ask(first, runs("make"))
    first.round().__enter__()
    second = world.resumed()
    assert second.receipts == []
    assert not [entry for entry in world.journal.entries() if isinstance(entry, Refused)]


def test_an_edit_that_nobody_read_is_kept_for_the_record_and_told_of(world: World) -> None:
    first = world.begin(interface="file")
    fill(first, 2)
    ask(first, runs("edit"))
    first.round().__enter__()
    path = first.context_file
    assert path is not None
    data = path.read_bytes() + b"a note \xff\n"
    path.write_bytes(data)
    second = world.resumed()
    assert "edit rejected, context unchanged" in last(second)
    assert "interrupted before the file was read" in last(second)
    refused = [entry for entry in world.journal.entries() if isinstance(entry, Refused)]
    assert [entry.data for entry in refused] == [data]
    second.request()
    assert b"a note" not in path.read_bytes()
    world.resumed()
    assert len([entry for entry in world.journal.entries() if isinstance(entry, Refused)]) == 1


@pytest.mark.parametrize("kind", ["link", "pipe", "directory"])
def test_something_else_in_the_files_place_gives_way_and_is_not_followed(
    world: World, kind: str, tmp_path: Path
) -> None:
    first = world.begin(interface="file", path=tmp_path / "context")
    fill(first, 1)
    path = first.context_file
    assert path is not None
    path.unlink()
    secret = tmp_path / "secret"
    secret.write_text("secret")
    if kind == "link":
        path.symlink_to(secret)
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.mkdir()
        (path / "kept").write_text("kept")
    second = world.resumed()
    assert second.receipts == []
    second.request()
    assert path.read_text().startswith("[[CTX_TURN 3 ")
    assert secret.read_text() == "secret"
    assert (kind == "directory") == bool(list(path.parent.glob("*.moved-*/kept")))


def test_another_place_for_the_file_is_named_in_the_system_prompt(
    world: World, tmp_path: Path
) -> None:
    first = world.begin(interface="file", path=tmp_path / "one")
    fill(first, 2)
    old = str(first.context_file)
    second = world.resumed(path=tmp_path / "two")
    new = str(second.context_file)
    system = str(second.messages[0]["content"])
    assert new in system
    assert old not in system
    assert system.replace(new, old) == str(first.messages[0]["content"])
    assert bytes_of(second.messages[1:]) == bytes_of(first.messages[1:])
    assert balanced(second)
    moved = [entry for entry in world.journal.entries() if isinstance(entry, Rehomed)]
    assert [entry.path for entry in moved] == [new]
    third = world.resumed()
    assert str(third.context_file) == new
    assert texts(third) == texts(second)


def test_an_agents_own_words_about_the_old_place_stay(world: World, tmp_path: Path) -> None:
    first = world.begin(interface="file", path=tmp_path / "one")
    told = f"It was {first.context_file}."
    ask(first, says(told))
    second = world.resumed(path=tmp_path / "two")
    assert texts(second)[-1] == told


# -- forks -----------------------------------------------------------------------------------------------


def test_a_fork_goes_its_own_way_beside_the_run_it_comes_from(world: World, tmp_path: Path) -> None:
    first = world.begin(interface="file")
    fill(first, 2)
    play(first, runs(replaced(3, 4, "noted")))
    fill(first, 1, start=7)
    fork(world.journal, tmp_path / "fork", at=1)
    with SQLiteJournal(tmp_path / "fork") as journal, Session.resume(journal) as other:
        assert other.context_file != first.context_file
        assert texts(other)[2] == "noted"
        assert len(other.live.turns) == len(first.live.turns) - 2
        assert str(other.context_file) in str(other.messages[0]["content"])
        play(other, runs("echo other"))
        play(first, runs("echo first"))
        assert balanced(other)
        other.undo(1)
    assert texts(first)[2] == "noted"
    assert first.context_file is not None
    assert first.context_file.exists()
    with SQLiteJournal(tmp_path / "fork") as journal, Session.resume(journal) as again:
        assert texts(again)[2] == "step 0"


def test_a_fork_in_the_middle_of_a_round_has_that_rounds_calls_interrupted(
    world: World, tmp_path: Path
) -> None:
    first = world.begin()
    fill(first, 3)
    both = [edit_call({"turn": at, "text": f"note {at}"}, at=at) for at in (3, 5)]
    play(first, calling(*both))
    fork(world.journal, tmp_path / "fork", at=1)
    with SQLiteJournal(tmp_path / "fork") as journal, Session.resume(journal) as other:
        assert list(other._core.commits) == [1]
        assert texts(other)[2] == "note 3"
        assert texts(other)[4] == "step 1"
        assert "interrupted" in last(other)
        assert "edit 1 applied" in last(other)


def test_a_fork_of_a_fork_and_a_resume_say_who_took_up_what(world: World, tmp_path: Path) -> None:
    world.begin()
    world.resumed()
    fork(world.journal, tmp_path / "one")
    with SQLiteJournal(tmp_path / "one", write=False) as one:
        fork(one, tmp_path / "two")
    with SQLiteJournal(tmp_path / "two") as two, Session.resume(two) as session:
        assert session.request() is not None
        assert sum(isinstance(entry, Opened) for entry in two.entries()) == 5
        assert two.meta()["forked_from"] == "one"


# -- a response that comes after all ---------------------------------------------------------------------


def test_a_request_without_an_answer_is_made_again(world: World) -> None:
    first = world.begin()
    fill(first, 1)
    request = first.request()
    second = world.resumed()
    assert second.request() == request
    with second.answer() as answer:
        answer(reply(says("Done.")))
    rounds = [entry.round for entry in world.journal.entries() if isinstance(entry, Sent)]
    assert rounds == [1, 2, 2]
    assert json.loads(json.dumps(second.messages[-1])) == says("Done.")
