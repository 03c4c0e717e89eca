"""Our own journals: a whole run over a real socket, read back, and its reuse held against the server's."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from openai import OpenAI

from redraft import Session
from redraft.cost import Cause, LongestPrefix, account
from redraft.dialects import Anthropic, OpenAIChat
from redraft.errors import RecordingError
from redraft.replay import Recording, Timeline, audit, fit, load, policies_named, replay, summary
from redraft.replay.convert import chat
from redraft.settings import Settings
from redraft.store import SQLiteJournal, inputs
from redraft.testing import FakeServer
from redraft.tokens import Meter

METER = Meter()
HEAD = [
    {"role": "system", "content": "You are an agent."},
    {"role": "user", "content": "Do the task. " * 40},
]
WORDS = "one line of what a command printed\n"


def counted(request: Mapping[str, Any]) -> int:
    """The prompt tokens of a request, as we count them ourselves."""
    frame, turns = OpenAIChat().split({**request, "messages": list(request["messages"])})
    return METER.frame(frame) + sum(map(METER.content, turns))


def calling(command: str) -> dict[str, Any]:
    function = {"name": "bash", "arguments": json.dumps({"command": command})}
    call = {"id": f"call_{command}", "type": "function", "function": function}
    return {"role": "assistant", "content": f"I run {command}.", "tool_calls": [call]}


def editing(turn: int, text: str) -> dict[str, Any]:
    edits = {"edits": [{"op": "replace", "turn": turn, "text": text}]}
    function = {"name": "edit_context", "arguments": json.dumps(edits)}
    call = {"id": f"edit_{turn}", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


SCRIPT = [*map(calling, "abc"), editing(4, "a printed nothing new"), *map(calling, "de")]
"""Three commands, an edit of the first one's output, two more commands, and the answer."""


def run(place: Path, script: list[dict[str, Any]], **options: Any) -> FakeServer:
    """A run of a script to its end; the server that it was played against."""
    said = iter([*script, {"role": "assistant", "content": "done"}])
    with (
        FakeServer(lambda _: next(said), count=counted) as server,
        OpenAI(base_url=server.base_url, api_key="key", max_retries=0) as client,
        SQLiteJournal(place) as journal,
        Session(HEAD, journal=journal, model="a-model", interface="tool", **options) as session,
    ):
        while request := session.request():
            with session.answer() as answer:
                answer(client.chat.completions.create(model="a-model", **request))
            with session.round() as round:
                for call in round.calls:
                    round.result(call, WORDS * 40)
    return server


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[FakeServer, Path]:
    place = tmp_path_factory.mktemp("runs") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NO_PROXY", "127.0.0.1")
        return run(place, SCRIPT), place


@pytest.fixture
def recording(played: tuple[FakeServer, Path]) -> Recording:
    return load(played[1] / "journal.db")


def calls_of(found: Recording) -> list[Any]:
    return [call for _, call in found.calls()]


def test_every_request_is_rebuilt_as_the_server_got_it(
    played: tuple[FakeServer, Path], recording: Recording
) -> None:
    got = [json.loads(body) for body in played[0].bodies]
    assert len(got) == len(SCRIPT) + 1
    rebuilt = [{"model": "a-model", **call.body} for call in calls_of(recording)]
    assert rebuilt == got
    assert [call.model for call in calls_of(recording)] == ["a-model"] * len(got)
    assert all(call.at > 1_600_000_000 for call in calls_of(recording))


def test_the_predicted_reuse_is_what_the_server_computed(
    played: tuple[FakeServer, Path], recording: Recording
) -> None:
    """To the token. Where an edit parts two requests, the server also reads its share of the message in
    which they part; up to that message both agree."""
    fitted = fit(Timeline(recording), METER)
    uses = account(LongestPrefix(), [request for _, request in fitted.requests])
    reported = [call.reported for call in calls_of(recording)]
    got = [json.loads(body) for body in played[0].bodies]
    assert [use.prompt for use in uses] == [said.prompt for said in reported]
    parted = [use.breaks for use in uses]
    assert [bool(found) for found in parted] == [False] * 4 + [True] + [False] * 2
    assert parted[4][0].cause is Cause.EDIT
    for at, (use, said) in enumerate(zip(uses, reported, strict=True)):
        if at != 4:
            assert use.read == said.read, f"call {at + 1}"
    whole = counted({**got[4], "messages": got[4]["messages"][:3]})
    part = counted({**got[4], "messages": got[4]["messages"][:4]}) - whole
    assert uses[4].read == whole <= reported[4].read < whole + part


def test_the_audit_finds_every_call_close(recording: Recording) -> None:
    found = audit(fit(Timeline(recording), METER))
    assert (found.calls, found.close, found.misses) == (7, 7, [])
    assert found.explained[Cause.EDIT][0] == 1
    assert found.reported > 0


def test_the_edit_makes_a_thread_in_the_place_of_the_first(recording: Recording) -> None:
    first, second = recording.threads
    assert (first.follows, first.changed) == ("", None)
    assert (second.follows, second.changed) == (first.name, Cause.EDIT)
    assert [len(thread.calls) for thread in recording.threads] == [4, 3]
    assert any("a printed nothing new" in str(message["content"]) for message in second.messages)
    assert second.messages[-1]["content"] == "done"


def test_a_directory_names_its_journal_and_a_replay_prices_it(
    played: tuple[FakeServer, Path],
) -> None:
    found = replay(load(played[1]), policies_named(["append-only"]), window=100_000)
    assert (found.format, found.calls, found.model) == ("journal", 7, "a-model")
    assert found.audit is not None
    breaks = found.runs[0].caches[0].totals.breaks
    assert breaks[Cause.EDIT][0] == 1
    assert "journal, a-model, 7 calls" in summary(found)[0]


def test_a_rollback_is_named_as_the_cause(tmp_path: Path) -> None:
    run(
        tmp_path / "run",
        [calling(f"c{at}") for at in range(6)],
        settings=Settings(margin=64),
        budget=2_200,
        window=40_000,
    )
    found = load(tmp_path / "run")
    assert Cause.ROLLBACK in {thread.changed for thread in found.threads}


def test_a_run_in_progress_is_read_as_far_as_it_goes_and_requests_without_answer_are_left_out(
    tmp_path: Path,
) -> None:
    journal = SQLiteJournal(tmp_path / "run")
    session = Session(HEAD, journal=journal, model="a-model", interface="none")
    session.request()
    with pytest.raises(RecordingError, match="no model call was answered"):
        load(tmp_path / "run")
    with session.answer() as answer:
        usage = {"prompt_tokens": 500, "completion_tokens": 3}
        message = {"role": "assistant", "content": "So."}
        answer({"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage})
    session.append({"role": "user", "content": "And?"})
    session.request()
    found = load(tmp_path / "run")
    journal.close()
    assert len(calls_of(found)) == 1
    assert any("1 requests were never answered" in note for note in found.notes)
    assert calls_of(found)[0].reported.read is None, "this server says nothing of reads"


def test_another_wire_format_is_rebuilt_too(tmp_path: Path) -> None:
    with SQLiteJournal(tmp_path / "run", dialect=Anthropic()) as journal:
        messages = [{"role": "user", "content": "Find it. " * 30}]
        session = Session(
            messages, journal=journal, dialect=Anthropic(), model="claude-x", interface="none"
        )
        for text in ("first", "second"):
            request = session.request()
            assert request is not None
            block = {"type": "text", "text": text}
            usage = {"input_tokens": 9, "cache_read_input_tokens": 80, "output_tokens": 1}
            with session.answer() as answer:
                answer(
                    {
                        "role": "assistant",
                        "content": [block],
                        "stop_reason": "end_turn",
                        "usage": usage,
                    }
                )
            session.append({"role": "user", "content": "Go on."})
        sent = [given.body(Anthropic()) for given in inputs(journal.entries())]
    found = load(tmp_path / "run")
    assert [call.body for call in calls_of(found)] == sent
    assert {call.api for call in calls_of(found)} == {"anthropic"}
    assert [message["role"] for message in found.threads[0].messages] == [
        "user",
        "assistant",
        "user",
        "assistant",
    ]
    assert found.bare, "breakpoints that the client adds as it sends are not in the journal"


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda file: file.write_bytes(b"SQLite format 3\0" + b"x" * 200), "journal"),
        (lambda file: file.write_bytes(file.read_bytes()[:5_000]), "journal"),
        (lambda file: file.rename(file.with_name("copy.db")), "call it journal.db"),
    ],
)
def test_what_is_no_journal_is_an_error_that_says_what_to_do(
    played: tuple[FakeServer, Path], tmp_path: Path, spoil: Callable[[Path], Any], says: str
) -> None:
    place = tmp_path / "run"
    shutil.copytree(played[1], place)
    spoil(place / "journal.db")
    file = next(place.glob("*.db"))
    with pytest.raises(RecordingError, match=says) as caught:
        load(file)
    assert str(file) in str(caught.value)


def test_chat_messages_stay_as_they_were_sent(recording: Recording) -> None:
    body = calls_of(recording)[0].body
    (thread, *_) = recording.threads
    sent = [made for message in body["messages"] for made in chat(message)]
    assert list(thread.messages[: len(sent)]) == sent
