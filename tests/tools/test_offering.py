"""When the context tools are offered, what a user's words must say for it, and what is said then."""

from __future__ import annotations

from typing import Any

import pytest

from redraft.dialects.fenced_calls import spoken
from redraft.settings import Settings
from redraft.tools import (
    CONTEXT_TOOLS,
    Offer,
    Offering,
    asks_for_tools,
    fenced_note,
    offer,
    reminder_line,
)

ASKING = [
    "use context_status",
    "please call `context_drop` on the old ones",
    "context_pin the schema, then context_unpin it",
    "write a context_note.",
    "read_overflow shows it",
    "free up your context",
    "free up context when you can",
    "Free up your context!",
    "could you free up some context?",
    "free your context window",
    "clean up your context before you go on",
    "clear your context",
    "trim the context",
    "compact your context now",
    "how full is your context?",
    "you have used much of your context window",
    "CONTEXT WINDOW",
    "mind the context\nwindow",
    "check your context usage",
    "libera el contexto",
    "Libera tu contexto, por favor",
    "libera espacio en el contexto",
    "libera espacio del contexto",
    "puedes liberar el contexto",
    "limpia el contexto",
    "liberar contexto",
    "compacta el contexto",
    "la ventana de contexto está casi llena",
    "¿cuánto contexto te queda?",
    "cuanto contexto has usado",
]
NOT_ASKING = [
    "",
    "what is the context of this function?",
    "free the memory in this context",
    "free up your disk",
    "in the context of windows, what is a handle?",
    "add a context manager",
    "clean up the context manager",
    "clear the context menu",
    "close the window",
    "clean up context menus",
    "free up contexts of the pool",
    "free context",
    "libera contextos",
    "the window opens in another context",
    "context: window",
    "context_window = 8192",
    "my_context_note is a variable",
    "context_notes",
    "context_drop_all",
    "self.context_pin",
    "context_status-code",
    "contextual windows",
    "en este contexto, libera la memoria",
    "libera la memoria",
    "el contexto histórico de la ventana",
    "dame más contexto",
    "cierra la ventana",
    "give me more context",
    "a context-free grammar",
]


@pytest.mark.parametrize("text", ASKING)
def test_these_words_ask_for_the_tools(text: str) -> None:
    assert asks_for_tools(text)
    assert asks_for_tools(f"Well. {text.upper()}")


@pytest.mark.parametrize("text", NOT_ASKING)
def test_these_words_do_not(text: str) -> None:
    assert not asks_for_tools(text)


def due(state: Offer | None = None, **changes: Any) -> Offering:
    given: dict[str, Any] = {
        "used": 0,
        "window": 1_000,
        "round_number": 1,
        "said": ["find the fault"],
        "soft_ceiling": 800,
        "settings": Settings(),
        **changes,
    }
    return offer(state or Offer(), **given)


class TestOffering:
    def test_nothing_is_offered_in_a_small_context(self) -> None:
        assert due() == Offering(Offer())

    @pytest.mark.parametrize(("used", "offered"), [(449, False), (450, True), (999, True)])
    def test_from_45_percent_of_the_window(self, used: int, offered: bool) -> None:
        assert due(used=used).begins is offered

    @pytest.mark.parametrize(("number", "offered"), [(11, False), (12, True), (300, True)])
    def test_from_round_12_however_small_the_context_is(self, number: int, offered: bool) -> None:
        assert due(round_number=number).begins is offered

    def test_when_the_user_asks(self) -> None:
        assert due(said=["go on", "free up your context"]).begins

    def test_usage_alone_counts_where_the_round_is_0(self) -> None:
        settings = Settings(agent_context_tools_offer_round=0)
        assert not due(round_number=500, settings=settings).begins
        assert due(round_number=500, used=450, settings=settings).begins

    def test_once_offered_they_stay_for_the_rest_of_the_turn(self) -> None:
        first = due(used=500)
        later = due(first.offer, used=10)
        assert later == Offering(Offer(made=True))

    def test_the_next_turn_begins_without_them_unless_tools_must_not_change(self) -> None:
        state = Offer(made=True, reminded=True)
        assert state.next_turn() == Offer()
        assert state.next_turn(keep=True) == Offer(made=True)

    def test_the_master_switch_is_stronger_than_everything(self) -> None:
        off = Settings(agent_context_tools_enabled=False)
        said = ["context_status"]
        assert due(used=999, round_number=99, said=said, settings=off) == Offering(Offer())
        assert due(Offer(made=True), used=999, settings=off).offer.made is False

    def test_one_reminder_a_turn_at_the_soft_ceiling(self) -> None:
        below = due(used=799)
        at = due(below.offer, used=800)
        again = due(at.offer, used=900)
        assert [one.reminds for one in (below, at, again)] == [False, True, False]
        assert due(at.offer.next_turn(keep=True), used=900).reminds


class TestWords:
    def test_the_fenced_note_shows_a_call_that_can_be_read(self) -> None:
        note = fenced_note(CONTEXT_TOOLS)
        (call,) = spoken(note).calls
        assert (call.name, call.arguments) == ("context_status", '{"top": 8}')
        assert "- context_note(handles, note): " in note
        assert "- context_pin(handles?, snippet?): " in note
        assert all(tool["function"]["name"] in note for tool in CONTEXT_TOOLS)

    def test_the_reminder_is_one_line(self) -> None:
        line = reminder_line(820, 1_000)
        assert "82 %" in line
        assert "\n" not in line
