"""Every setting that a session knows has an effect, and arguments win over settings."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest
from session_world import HEAD, ask, fill, last, play, replaced, runs, says, shell, statuses, user

import redraft
from redraft import Phase, Session, Settings
from redraft.errors import BudgetError, ContextOverflowError, SettingsError

PACKAGE = Path(redraft.__file__).parent


def test_every_setting_is_read_somewhere() -> None:
    sources = [path.read_text() for path in PACKAGE.rglob("*.py") if path.name != "settings.py"]
    read = {name for text in sources for name in re.findall(r"settings\.(\w+)", text)}
    assert {field.name for field in fields(Settings)} <= read


def test_the_limit_follows_from_budget_window_reserve_and_margin() -> None:
    settings = Settings(budget=50_000, window=60_000, output_reserve=5_000, margin=1_000)
    with Session(HEAD, settings=settings) as session:
        assert session.limit == 49_000
    with Session(HEAD, settings=settings, budget=58_000) as session:
        assert session.limit == 54_000
    with Session(HEAD, settings=settings, window=30_000) as session:
        assert session.limit == 24_000
    with Session(HEAD, model="gpt-5") as session:
        assert session.limit == 272_000 - 16_384 - 2_048
    with pytest.raises(BudgetError, match="output_reserve"):
        Session(HEAD, settings=Settings(window=10_000))


def test_pinned_says_how_many_leading_turns_stay() -> None:
    messages = [*HEAD, says("ok"), user("the style guide"), says("read")]
    with Session(messages, settings=Settings(pinned=4)) as session:
        assert [turn.number for turn in session.live.editable()] == [5]
    with Session(messages, settings=Settings(pinned=4), head=1) as session:
        assert session.live.head == 1
    with pytest.raises((SettingsError, ValueError)):
        Settings(pinned=-1)


def test_gate_and_interface_come_from_the_settings_unless_they_are_given() -> None:
    settings = Settings(gate="shrink", interface="tool")
    grow = [{"turn": 3, "text": "many more words than there were before"}]
    with Session(HEAD, settings=settings) as session:
        fill(session, 1)
        session.edit_context(edits=grow)
        assert statuses(session) == ["rejected"]
        assert session.context_file is None
    with Session(HEAD, settings=settings, gate="fit", interface="both") as session:
        fill(session, 1)
        session.edit_context(edits=grow)
        assert statuses(session) == ["grew"]
        assert session.context_file is not None


def test_file_attributes_show_sizes_in_the_headers() -> None:
    with Session(HEAD, settings=Settings(file_attributes=True)) as session:
        fill(session, 2)
        session.request()
        path = session.context_file
        assert path is not None
        head = path.read_text().splitlines()[0]
        first = session.live.turns[2]
        assert head.startswith(f"[[CTX_TURN 3 role=assistant tokens={first.tokens} after=")
        with session.answer() as answer:
            answer(
                {"choices": [{"message": runs(replaced(3, 4, "settled")), "finish_reason": "stop"}]}
            )
        with session.round() as now:
            for asked in now.calls:
                now.result(asked, shell(asked["command"], session.env)[0])
        assert statuses(session) == ["applied"]


def test_steer_is_the_last_word_of_the_section() -> None:
    for settings, argument, expected in (
        (Settings(steer="Compact early."), "", "Compact early."),
        (Settings(steer="Compact early."), "Compact late.", "Compact late."),
    ):
        with Session(HEAD, settings=settings, steer=argument) as session:
            assert session.messages[0]["content"].endswith(f"\n\n{expected}")


def test_nudge_tiers_move_the_nudges() -> None:
    with Session(HEAD, window=300_000, settings=Settings(nudge_tiers=(2, 50, 75))) as session:
        play(session, runs("seq"), "word " * 6_000)
        assert "For your information" in last(session)


def test_rollback_max_and_final_turn_end_a_run() -> None:
    settings = Settings(rollback_max=1, margin=400)
    with Session(HEAD, settings=settings) as session:
        fill(session, 60)
        for _ in range(2):
            session.request()
            with session.answer():
                raise ContextOverflowError("too large")
        assert session.phase is Phase.FINAL
    with Session(HEAD, settings=Settings(final_turn=False)) as session:
        fill(session, 2)
        session.finish("enough")
        assert session.phase is Phase.STOPPED
        assert session.why == "enough"


def test_margin_is_what_a_rollback_frees() -> None:
    with Session(HEAD, budget=30_000, settings=Settings(margin=5_000)) as session:
        fill(session, 100, "word " * 150)
        ask(session, says("x " * 20_000))
        session.append(user("on"))
        session.request()
        assert session.limit - session.tokens >= 5_000


@pytest.mark.parametrize("wrong", [{"mode": "x"}, {"interface": "mail"}, {"gate": "x"}])
def test_a_word_that_is_not_known_is_refused_with_those_that_are(wrong: dict[str, str]) -> None:
    with pytest.raises(SettingsError, match="give one of"):
        Session(HEAD, **wrong)  # type: ignore[arg-type]
