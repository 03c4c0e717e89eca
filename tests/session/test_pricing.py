"""What edits cost, where a session says it: in receipts, and at the door."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from session_world import HEAD, calling, edit_call, fill, last, play, statuses

from redraft import Session
from redraft.context import RECEIPT_CAP
from redraft.cost import RELATIVE, NoPrice, PriceCard
from redraft.dialects import Anthropic, OpenAIChat, OpenAIResponses
from redraft.errors import SettingsError
from redraft.session.pricing import Pricing
from redraft.settings import Settings
from redraft.store import SQLiteJournal
from redraft.tokens import default_counter

DIALECT = OpenAIChat()
SHORT = edit_call({"turn": 4, "text": "nothing there"})
"""Empties the first of many long outputs: much is read again, and little is freed."""


@pytest.fixture
def prices(tmp_path: Path) -> Path:
    """A list in which reading from the cache costs half of a fresh token."""
    file = tmp_path / "prices.json"
    entry = {
        "input_cost_per_token": 1e-6,
        "output_cost_per_token": 4e-6,
        "cache_read_input_token_cost": 5e-7,
    }
    file.write_text(json.dumps({"house-model": entry}), encoding="utf-8")
    return file


def edited(**options: object) -> Session:
    session = Session(HEAD, interface="tool", **options)  # type: ignore[arg-type]
    fill(session, 6, "word " * 300)
    play(session, calling(SHORT))
    return session


def test_a_receipt_says_what_is_read_again_and_when_that_pays() -> None:
    with edited() as session:
        receipt = last(session).splitlines()[0]
        then = session._core.commits[1].live
    behind = sum(turn.tokens for turn in then.turns if turn.number > 4)
    assert statuses(session) == ["applied"]
    assert f"({behind:,} unchanged tokens re-read, pays back after" in receipt
    assert default_counter().count(receipt) <= RECEIPT_CAP


def payback(receipt: str) -> int:
    return int(receipt.split("pays back after ")[1].split(maxsplit=1)[0])


def test_the_models_prices_say_when_it_pays(prices: Path) -> None:
    with edited() as session:
        relative = payback(last(session))
    mine = Settings(price_file=str(prices))
    with edited(model="house-model", settings=mine) as session:
        dear = payback(last(session))
    # (1.25 - 0.1) / 0.1 = 11.5 times what is freed, against (1 - 0.5) / 0.5 = 1.
    assert relative > 8 * dear > 0


def test_sizes_are_those_that_the_model_is_shown() -> None:
    with edited() as plain, edited(model="claude-opus-4-6") as claude:
        ours, theirs = (
            int(last(session).split("(")[1].split(" ")[0].replace(",", ""))
            for session in (plain, claude)
        )
    assert 1.1 < theirs / ours < 1.5


def test_an_edit_at_the_end_has_no_price_to_tell() -> None:
    with Session(HEAD, interface="tool") as session:
        fill(session, 3)
        session.append({"role": "user", "content": "And?"})
        end = session.live.turns[-2].number
        session.edit_context(edits=[{"turn": end, "text": "short"}])
        judged = session.receipts[-1]
        assert str(judged.status) == "applied"


def test_by_default_no_price_is_too_high() -> None:
    with edited() as session:
        assert statuses(session) == ["applied"]


def test_an_edit_that_takes_too_long_to_pay_is_refused_with_its_figures_and_what_to_do() -> None:
    with edited(settings=Settings(max_payback=20)) as session:
        assert statuses(session) == ["rejected"]
        receipt = last(session).splitlines()[0]
        assert "edit price: " in receipt
        assert "unchanged tokens re-read, pays back after" in receipt
        assert "at most 20 allowed" in receipt
        assert "edit nearer to the end, or free more" in receipt
        assert default_counter().count(receipt) <= RECEIPT_CAP
        number = session.live.turns[-3].number
        play(session, calling(edit_call({"turn": number, "text": "x"}, at=2)))
        assert statuses(session)[-1] == "applied", "a long output near the end pays soon"


def test_near_the_limit_room_is_worth_any_price() -> None:
    with Session(HEAD, interface="tool", settings=Settings(max_payback=1)) as session:
        fill(session, 6, "word " * 300)
        session._core.limit = round(session.tokens * 1.05)
        play(session, calling(SHORT))
        assert statuses(session) == ["applied"]


def test_a_resumed_session_still_refuses(tmp_path: Path) -> None:
    with (
        SQLiteJournal(tmp_path / "run") as journal,
        Session(
            HEAD, interface="tool", journal=journal, settings=Settings(max_payback=20)
        ) as session,
    ):
        fill(session, 6, "word " * 300)
    with SQLiteJournal(tmp_path / "run") as journal, Session.resume(journal) as session:
        play(session, calling(SHORT))
        assert statuses(session) == ["rejected"]


# -- where prices come from ------------------------------------------------------------------------


def test_a_price_file_wins_over_the_built_in_list(tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    entry = {"input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6}
    file.write_text(json.dumps({"gpt-4o": entry}), encoding="utf-8")
    own = Pricing("gpt-4o", DIALECT, str(file)).card
    assert isinstance(own, PriceCard)
    assert (own.source, own.rates.input) == ("mine.json", 1.0)
    listed = Pricing("gpt-4o-mini", DIALECT, str(file)).card
    assert isinstance(listed, PriceCard)
    assert listed.source == "genai-prices", "what the file lacks comes from the list"


def test_without_a_price_figures_are_relative_and_the_reason_is_there() -> None:
    for model, why in (("", "names no model"), ("no-such-model", "does not know")):
        pricing = Pricing(model, DIALECT)
        assert isinstance(pricing.card, NoPrice)
        assert why in pricing.card.reason
        assert pricing.rates(1_000) == RELATIVE


def test_reasoning_is_lost_where_the_model_binds_it() -> None:
    with Session(HEAD, interface="tool") as session:
        fill(session, 3)
        live = session.live
    free, bound = Pricing("", DIALECT), Pricing("claude-opus-5-5", Anthropic())
    assert free.of_turn(live, 3).reasoning == bound.of_turn(live, 3).reasoning == 0
    assert (free._binding, bound._binding) == (False, True)
    assert Pricing("gpt-6.2", OpenAIResponses())._binding


@pytest.mark.parametrize(
    ("content", "says"),
    [(None, "check `price_file`"), ("no json", "is not JSON"), ("[1]", "is no JSON object")],
)
def test_a_price_file_that_cannot_be_used_is_said_before_anything_is_sent(
    tmp_path: Path, content: str | None, says: str
) -> None:
    file = tmp_path / "prices.json"
    if content is not None:
        file.write_text(content, encoding="utf-8")
    with pytest.raises(SettingsError, match=says):
        Session(HEAD, settings=Settings(price_file=str(file)))


@pytest.mark.parametrize("value", [-1, 1.5, True])
def test_a_number_of_calls_that_cannot_be_is_refused(value: object) -> None:
    with pytest.raises(SettingsError, match="max_payback"):
        Settings(max_payback=value)  # type: ignore[arg-type]
