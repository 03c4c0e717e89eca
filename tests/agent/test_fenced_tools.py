"""The context tools on the fenced route, through the agent: offered by a note, and called in every wrong
way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from agent_world import say
from fenced_world import calls, play, results, run, sent, settings

from redraft.dialects.stubs import stubs_in
from redraft.events import ContextOp, Event
from redraft.settings import Settings

ASKING = "Count, and mind your context window."
"""A task that asks for the tools, so that they are offered from the first request on."""

TWO = run("seq 1 500", "seq 501 1000", text="I count.")
"""A first round with two results, `r1.1` and `r1.2`, that share one message."""


def tooled(**more: Any) -> Settings:
    return settings(budget=20_000, interface="context-tools", **more)


def told(*script: Any, place: Path, task: str = ASKING, **options: Any) -> tuple[str, Any, Any]:
    """What the last call of a script was answered, and the run."""
    options = {"settings": tooled(), **options}
    made, model = play(*script, say("done"), place=place, task=task, **options)
    return results(model)[-1].text, made, model


def drop(*handles: str) -> Any:
    return calls(("context_drop", {"handles": list(handles)}))


# --- the offer ----------------------------------------------------------------------------------


def test_the_offer_is_one_note_with_all_six_tools_and_stays(tmp_path: Path) -> None:
    _, made, model = told(TWO, run("true"), run("true"), place=tmp_path)
    notes = [text for text in sent(model) if "From now on you can manage" in text]
    assert len(notes) == 1
    for name in ("status", "pin", "unpin", "drop", "note"):
        assert f"- context_{name}(" in notes[0]
    assert "- read_overflow(" in notes[0]
    for request in model.requests:
        assert [m["content"] for m in request["messages"]].count(notes[0]) == 1
    assert made.session.live.recount() == made.session.live.tokens


def test_without_the_interface_a_call_is_an_unknown_tool(tmp_path: Path) -> None:
    text, _, model = told(TWO, drop("r1.1"), place=tmp_path, settings=settings(budget=20_000))
    assert "there is no tool `context_drop`" in text
    assert not any("From now on you can manage" in one for one in sent(model))


def test_switched_off_it_is_never_offered(tmp_path: Path) -> None:
    off = tooled(agent_context_tools_enabled=False)
    text, _, model = told(TWO, drop("r1.1"), place=tmp_path, settings=off)
    assert "switched off" in text or "there is no tool" in text
    assert not any("From now on you can manage" in one for one in sent(model))


# --- what they do -------------------------------------------------------------------------------


def test_results_leave_one_by_one_and_come_back(tmp_path: Path) -> None:
    events: list[Event] = []
    _, made, model = told(TWO, drop("r1.2"), place=tmp_path, on_event=events.append)
    framed = next(text for text in sent(model) if text.startswith("[tool results of round 1:"))
    assert framed.endswith("\n[end of tool results]")
    assert "[result r1.1 bash]\n1\n2\n" in framed
    (stub,) = stubs_in(framed)
    assert (stub.tool, stub.call_id) == ("bash", "r1.2")
    (op,) = [event for event in events if isinstance(event, ContextOp)]
    assert (op.op, op.ok, op.handles, op.overflow_ids) == ("drop", True, ("r1.2",), (stub.id,))
    assert op.tokens_freed > 500

    def look(request: Any) -> Any:
        (there,) = stubs_in("\n".join(message["content"] for message in request["messages"]))
        return calls(("read_overflow", {"id": there.id, "find": "\n777\n"}))

    text, _, _ = told(TWO, drop("r1.2"), look, place=tmp_path)
    assert "776 777 778" in text
    assert made.session.live.recount() == made.session.live.tokens


def test_a_round_is_dropped_by_its_name(tmp_path: Path) -> None:
    text, _, model = told(TWO, drop("r1"), place=tmp_path)
    assert "dropped: r1.1, r1.2" in text
    framed = next(text for text in sent(model) if text.startswith("[tool results of round 1:"))
    assert len(stubs_in(framed)) == 2


def test_a_note_stands_in_the_first_place_and_the_other_points_at_it(tmp_path: Path) -> None:
    note = calls(("context_note", {"handles": ["r1"], "note": "It counts to 1000."}))
    text, _, model = told(TWO, note, place=tmp_path)
    assert "replaced by one note: r1.1, r1.2" in text
    framed = next(text for text in sent(model) if text.startswith("[tool results of round 1:"))
    assert "[note in place of 2 results: r1.1, r1.2]\nIt counts to 1000." in framed
    assert "[result r1.2 bash]\n[result folded into the note at r1.1]" in framed
    assert len(stubs_in(framed)) == 2


def test_a_pin_covers_the_whole_rounds_message(tmp_path: Path) -> None:
    pin = calls(("context_pin", {"handles": ["r1.1"]}))
    text, _, _ = told(TWO, pin, drop("r1.2"), place=tmp_path)
    assert "not r1.2: it is pinned; unpin it first" in text
    unpin = calls(("context_unpin", {"all": True}))
    text, _, _ = told(TWO, pin, unpin, drop("r1.2"), place=tmp_path)
    assert "dropped: r1.2" in text


# --- wrong calls --------------------------------------------------------------------------------

WRONG: list[tuple[str, dict[str, Any], str]] = [
    (
        "context_drop",
        {"handles": ["r9.1"]},
        "not r9.1: no result that you have read has this handle",
    ),
    ("context_drop", {"handles": ["call_7f2"]}, "not call_7f2: no result that you have read"),
    ("context_drop", {"handles": ["r2.1"]}, "results of this round have none yet"),
    ("context_drop", {"handles": ["r1.3"]}, "not r1.3: no result"),
    ("context_drop", {}, "`handles` is missing"),
    ("context_drop", {"handles": []}, "`handles` is missing"),
    ("context_drop", {"handles": [7]}, "`handles` must be a list of texts"),
    ("context_drop", {"handles": ["r1.1"], "why": "old"}, "there is no argument `why`"),
    ("context_note", {"handles": ["r1.1"]}, "`note` is missing"),
    ("context_note", {"note": "x"}, "`handles` is missing"),
    ("context_note", {"handles": ["r1.1"], "note": "n" * 4_001}, "4,000 at most"),
    ("context_pin", {}, "give `handles` or a `snippet`"),
    ("context_pin", {"snippet": "short"}, "the snippet is too short"),
    ("context_pin", {"snippet": "nobody ever said this"}, "it stands in no message"),
    ("context_unpin", {"handles": ["r1.1"]}, "it is not pinned"),
    ("context_status", {"top": 0}, "`top` must be a whole number from 1"),
    ("read_overflow", {"id": "nothing"}, "`id` must be the id in a stub"),
    ("read_overflow", {"id": "0" * 64}, "read_overflow:"),
]


@pytest.mark.parametrize(("name", "arguments", "said"), WRONG)
def test_a_wrong_call_changes_nothing_and_is_told_why(
    tmp_path: Path, name: str, arguments: dict[str, Any], said: str
) -> None:
    events: list[Event] = []
    text, made, model = told(TWO, calls((name, arguments)), place=tmp_path, on_event=events.append)
    assert said in text
    assert text.startswith("[redraft:")
    ops = [event for event in events if isinstance(event, ContextOp)]
    assert [op.ok for op in ops] == [False]
    framed = next(one for one in sent(model) if one.startswith("[tool results of round 1:"))
    assert not stubs_in(framed)
    assert made.result.answer == "done"


def test_twice_the_same_in_one_round_and_a_stub_later(tmp_path: Path) -> None:
    same = ("context_drop", {"handles": ["r1.1", "r1.1"]})
    made, model = play(
        TWO, calls(same, same), drop("r1.1"), say("done"),
        place=tmp_path, task=ASKING, settings=tooled(),
    )  # fmt: skip
    texts = [piece.text for at in (2, 3) for piece in results(model, at)]
    assert texts[0].splitlines()[0].endswith("dropped: r1.1")
    assert "not r1.1: it is a stub already" in texts[1]
    assert "not r1.1: it is a stub already" in texts[2]
    assert made.session.live.recount() == made.session.live.tokens


def test_several_tools_in_one_round_see_what_the_ones_before_did(tmp_path: Path) -> None:
    several = calls(
        ("context_pin", {"handles": ["r1.1"]}),
        ("context_drop", {"handles": ["r1.1"]}),
        ("context_unpin", {"handles": ["r1.1"]}),
        ("context_drop", {"handles": ["r1.1"]}),
        ("bash", {"command": "echo between"}),
        ("context_status", {}),
    )
    made, model = play(TWO, several, place=tmp_path, task=ASKING, settings=tooled())
    texts = [piece.text for piece in results(model)]
    assert [piece.id for piece in results(model)] == [f"r2.{at}" for at in range(1, 7)]
    assert "pinned: r1" in texts[0]
    assert "it is pinned" in texts[1]
    assert "unpinned: r1" in texts[2]
    assert "dropped: r1.1" in texts[3]
    assert texts[4].startswith("between\n")
    assert "- r1.2: " in texts[5]
    assert made.session.live.recount() == made.session.live.tokens


def test_a_stub_that_a_tool_prints_holds_nothing_and_can_be_dropped(tmp_path: Path) -> None:
    stub = f"[overflow id={'a' * 64} tool=bash bytes=9 call_id=r1.1 storage=disk]"
    (tmp_path / "fake").write_text(f"{stub}\n" * 9)
    text, _, _ = told(run("cat fake"), drop("r1.1"), place=tmp_path)
    assert "dropped: r1.1" in text
