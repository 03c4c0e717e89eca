"""`self-compact`: when the tool is offered, what a summary does, and how a refused one is mended."""

from __future__ import annotations

import re
from typing import Any

import pytest
from action_world import act, acts, log, ops, said, session_with, tools
from format_world import FORMATS, Story
from session_world import BASH, HEAD, balanced, last, legal, texts, turn

from redraft import Session
from redraft.context import Origin
from redraft.dialects.fenced import Fenced
from redraft.errors import SettingsError

POLICY = "self-compact"
OFFER = "Then `compact_context` puts your own summary in its place"


def filled(rounds: int = 12, **options: Any) -> Session:
    session = session_with(POLICY, 14_000, **options)
    log(session, rounds, lines=300)
    return session


def values(*rounds: int) -> str:
    return " ".join(f"{48_000 + at} /etc/app/conf.d/{at}.toml" for at in rounds)


# -- the offer ---------------------------------------------------------------------------------------


def test_the_tool_comes_with_the_first_offer_and_the_line_every_two_rounds() -> None:
    with session_with(POLICY, 14_000) as session:
        offers: list[bool] = []
        shares: list[float] = []
        for at in range(14):
            log(session, 1, at, lines=450)
            offers.append(OFFER in last(session))
            shares.append(session.tokens / session.limit)
            known = tools(session)
            assert known == (["bash", "compact_context"] if shares[-1] >= 0.37 else ["bash"])
            if shares[-1] > 0.9:
                break
        # The line stands in the results of the round whose request was the first past 37 %.
        first = next(at for at, share in enumerate(shares) if share >= 0.37) + 1
        assert offers[:first] == [False] * first
        assert offers[first:] == [at % 2 == 0 for at in range(len(offers) - first)]
        assert len(offers) - first >= 4


def test_the_tools_change_once_whatever_follows() -> None:
    with filled() as session:
        seen = [tools(session)]
        acts(session, act("compact_context", summary=f"Done. {values(*range(9))}"))
        log(session, 3, start=20)
        seen.append(tools(session))
        assert seen == [["bash", "compact_context"]] * 2
        assert session.tokens / session.limit < 0.37


@pytest.mark.parametrize(("offer", "every"), [("0.2", "1"), ("0.6", "3")])
def test_when_it_is_offered_can_be_set(offer: str, every: str) -> None:
    options = {"offer": offer, "every": every}
    with session_with(POLICY, 14_000, policy_options=options) as session:
        offers = []
        for at in range(18):
            log(session, 1, at, lines=450)
            offers.append(OFFER in last(session))
        first = offers.index(True)
        assert offers[first:] == [at % int(every) == 0 for at in range(len(offers) - first)]


def test_it_can_be_there_from_the_beginning() -> None:
    with session_with(POLICY, policy_options={"early": "true"}) as session:
        assert tools(session) == ["bash", "compact_context"]
        assert OFFER not in str(session.messages)


def test_options_are_held_to_their_ranges() -> None:
    with pytest.raises(SettingsError, match="offer"):
        session_with(POLICY, policy_options={"offer": "1.4"})
    with pytest.raises(SettingsError, match="no option"):
        session_with(POLICY, policy_options={"trigger": "0.4"})


def test_where_reasoning_is_bound_to_the_tools_it_is_there_from_the_beginning() -> None:
    form = FORMATS["anthropic"]()
    form.model = "claude-fable-5-1"  # type: ignore[misc]
    with Story(form, policy=POLICY, interface="none").session as session:
        request = session.request()
        assert request is not None
        assert form.tool_names(request) == ["bash", "compact_context"]


def test_on_the_fenced_route_the_system_prompt_describes_it() -> None:
    with session_with(POLICY, dialect=Fenced()) as session:
        prompt = session.messages[0]["content"]
        assert "- compact_context(summary, keep?): Replace the older part" in prompt.replace(
            "`", ""
        )
        assert "Use it when a piece of work is settled" in prompt
        assert "tools" not in (session.request() or {})


def test_the_rubric_says_when_and_when_not() -> None:
    with filled() as session:
        request = session.request()
        assert request is not None
        words = request["tools"][1]["function"]["description"]
        assert "Use it when" in words
        assert "Do not use it" in words
        assert "letter by letter" in words


def test_an_offer_that_nobody_read_is_withdrawn_by_the_compaction() -> None:
    with session_with(POLICY, 14_000) as session:
        log(session, 9, lines=450)
        while session.tokens / session.limit < 0.37:
            log(session, 1, 20, lines=450)
        answer = said(session, act("compact_context", summary="Done.", keep=0))
        if "failed its check" in answer:
            missing = re.findall(r"^- (\S+)$", answer, re.M)
            answer = said(session, act("compact_context", summary="\n".join(missing), keep=0))
        assert "edit 1 applied" in answer
        assert OFFER not in answer


# -- the call ----------------------------------------------------------------------------------------


def test_a_summary_takes_the_place_of_the_older_turns() -> None:
    with filled() as session:
        before = session.tokens
        answer = said(session, act("compact_context", summary=f"Done. {values(*range(9))}"))
        assert re.match(r"\[redraft:beef\] edit 1 applied: [\d,]+ -> [\d,]+ tokens", answer)
        assert session.tokens < before / 2
        note = session.live.turns[2]
        assert (note.role, note.origin) == ("assistant", Origin.NOTE)
        assert note.content.text.startswith("[my summary of 18 turns that stood here]\nDone.")
        assert texts(session)[:2] == [HEAD[0]["content"], HEAD[1]["content"]]
        assert [op.handles for op in ops(session)] == [("turns 3-20",)]
        assert ops(session)[0].tokens_freed > 0
        assert legal(session.messages)
        assert balanced(session)


def test_the_round_that_compacts_is_free_and_its_words_are_paid_once() -> None:
    with filled() as session:
        summary = f"Done. {values(*range(9))} {'Nothing was wrong. ' * 20}"
        now = acts(session, act("compact_context", summary=summary))
        assert (now.free, now.cost) == (True, 0)
        session.request()
        assert [text.count("Nothing was wrong.") for text in map(str, session.messages)].count(
            20
        ) == 1


def test_a_refusal_names_what_is_missing_and_the_mended_one_passes() -> None:
    with filled() as session:
        turns = session.live.turns
        answer = said(session, act("compact_context", "1", summary="All done. 8812934 rows."))
        assert "It lacks these exact values" in answer
        assert "- 48000\n- /etc/app/conf.d/0.toml" in answer
        assert "stand nowhere in your context" in answer
        assert "- 8812934" in answer
        assert session.live.turns[: len(turns)] == turns
        assert session.receipts == []
        missing = set(re.findall(r"^- (\S+)$", answer, re.M)) - {"8812934"}
        summary = "All done.\n" + "\n".join(sorted(missing))
        assert "edit 1 applied" in said(session, act("compact_context", "2", summary=summary))
        assert [op.ok for op in ops(session)] == [False, True]
        assert balanced(session)


def test_with_carry_a_short_summary_is_completed() -> None:
    with filled(policy_options={"carry": "true"}) as session:
        assert "edit 1 applied" in said(session, act("compact_context", summary="All done."))
        assert "Carried forward, word for word:\n- 48000" in session.live.turns[2].content.text


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "nothing to say": ({"summary": " "}, "`summary` is missing"),
    "nothing old": ({"summary": "x", "keep": 90}, "give a `keep` of less than 90"),
    "too long": ({"summary": "word " * 7_500}, "Shorten it, or wait"),
    "a stranger": ({"text": "x"}, "it takes `summary`, `keep`"),
}


@pytest.mark.parametrize("case", list(REFUSED))
def test_a_call_that_cannot_be_done_says_what_to_do(case: str) -> None:
    arguments, words = REFUSED[case]
    with filled() as session:
        before = session.live.turns
        assert words in said(session, act("compact_context", **arguments))
        assert session.live.turns[: len(before)] == before
        assert balanced(session)


def test_two_in_one_reply_see_each_other() -> None:
    with filled() as session:
        summary = f"Done. {values(*range(9))}"
        now = acts(
            session,
            act("compact_context", "1", summary=summary),
            act("bash", "2", command="ls"),
            act("compact_context", "3", summary=summary),
        )
        assert [call.name for call in now.calls] == ["bash"]
        assert [op.ok for op in ops(session)] == [True, False]
        assert legal(session.messages)
        assert balanced(session)


def test_pins_and_words_that_wait_stay_and_undo_brings_all_back() -> None:
    with filled(10) as session:
        session.pin(4)
        session.append({"role": "user", "content": "Mind the log of port 48003."})
        log(session, 1, 30)
        kept = [turn(session, number) for number in (3, 4, 23)]
        before = texts(session)
        summary = f"Done. {values(*range(1, 9))}"
        acts(session, act("compact_context", summary=summary))
        assert all(one in session.live.turns for one in kept)
        session.undo(1)
        assert texts(session)[: len(before)] == before
        assert balanced(session)


@pytest.mark.parametrize("gate", ["fit", "shrink", "conserve"])
def test_a_compaction_under_every_gate(gate: str) -> None:
    with filled(gate=gate) as session:
        acts(session, act("compact_context", summary=f"Done. {values(*range(9))}"))
        assert session.receipts[-1].after < session.receipts[-1].before
        assert balanced(session)


def test_the_client_may_have_no_tool_of_that_name() -> None:
    function: dict[str, Any] = {**dict(BASH["function"]), "name": "compact_context"}
    mine = {"type": "function", "function": function}
    for early in ("yes", "no"):
        with pytest.raises(SettingsError, match="compact_context"):
            session_with(POLICY, tools=[mine], policy_options={"early": early})
    with pytest.raises(SettingsError, match="compact_context"):
        session_with(POLICY, tools=[mine], dialect=Fenced())
