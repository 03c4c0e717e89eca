"""Notes that say nothing any more go with a rotation; pinned text and the user's words never do."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spectrum_world import Words, holds, start

from redraft.context import Commit, Insert, Live, Origin, Revision, commit
from redraft.dialects import OpenAIChat
from redraft.dialects.preserve import Approval, approval_line
from redraft.policies import Manager, View
from redraft.policies.superseded import stale_notes
from redraft.tokens import Meter

CHAT = OpenAIChat()
METER = Meter(Words())


def chat() -> Live:
    messages: list[Any] = [{"role": "system", "content": "Be kind."}]
    messages.append({"role": "user", "content": "task"})
    for at in range(8):
        messages.append({"role": "assistant", "content": f"answer {at} {'w ' * 100}"})
        messages.append({"role": "user", "content": f"[deprecated] question {at}"})
    return start(CHAT, {"messages": [*messages, {"role": "assistant", "content": "x"}]}, METER)


def noted(live: Live, *notes: tuple[str, Origin], role: str = "user", after: int = 12) -> Live:
    """The same with notes behind a turn, in order."""
    drafts = [
        live.draft(CHAT.note(role, text), origin)  # type: ignore[arg-type]
        for text, origin in notes
    ]
    inserts = tuple(Insert(after, draft) for draft in drafts)
    done = commit(live, Revision("harness", "x", (), inserts), 10**9)
    assert isinstance(done, Commit), done.receipt
    return done.live


def stale(live: Live) -> list[str]:
    """The texts of the notes that are stale."""
    gone = {change.number for change in stale_notes(live)}
    assert all(change.new is None for change in stale_notes(live))
    return [turn.content.text for turn in live.turns if turn.number in gone]


HARNESS, NOTE, SUMMARY = Origin.HARNESS, Origin.NOTE, Origin.SUMMARY


def test_of_notices_that_begin_alike_the_newest_stays() -> None:
    live = noted(
        chat(),
        ("[redraft:7f3a] no edit in time at 86 % of the limit: so", HARNESS),
        ("[redraft:7f3a] Rolled back: your context had overflowed, once", HARNESS),
        ("[redraft:7f3a] no edit in time at 97 % of the limit: so", HARNESS),
    )
    assert stale(live) == ["[redraft:7f3a] no edit in time at 86 % of the limit: so"]


def test_notes_of_the_models_own_that_begin_alike_all_stay() -> None:
    live = noted(chat(), ("The plan in short: read 1", NOTE), ("The plan in short: read 2", NOTE))
    assert stale(live) == []


@pytest.mark.parametrize("word", ["deprecated", "SUPERSEDED", "withdrawn", "obsolete"])
@pytest.mark.parametrize("origin", [HARNESS, NOTE])
def test_an_instruction_that_says_it_is_withdrawn_goes(word: str, origin: Origin) -> None:
    text = f"  [{word} by note 9] Always answer in French."
    assert stale(noted(chat(), (text, origin))) == [text]


@pytest.mark.parametrize(
    "text", ["Deprecated calls were found.", "See [deprecated] in the docs", "[deprecations] 3"]
)
def test_a_note_that_only_speaks_of_such_things_stays(text: str) -> None:
    assert stale(noted(chat(), (text, NOTE))) == []


def test_the_users_own_words_stay_whatever_they_say() -> None:
    assert stale(chat()) == []


@pytest.mark.parametrize("origin", [SUMMARY, Origin.EDITED, Origin.TOOL])
def test_only_notes_go_not_summaries_edits_or_what_a_tool_said(origin: Origin) -> None:
    assert stale(noted(chat(), ("[deprecated] x", origin))) == []


def test_what_the_model_said_itself_stays() -> None:
    assert stale(noted(chat(), ("[deprecated] x", NOTE), role="assistant")) == []


def test_pinned_notes_stay_and_a_plan_too() -> None:
    live = noted(chat(), ("[deprecated] a", NOTE), ("[deprecated] b", NOTE))
    first = next(turn for turn in live.turns if turn.content.text == "[deprecated] a")
    assert stale(live.pin([first.number])) == ["[deprecated] b"]
    plan = Insert(12, live.draft(CHAT.note("user", "[deprecated] c"), NOTE), plan=True)
    done = commit(live, Revision("policy", "x", (), (plan,)), 10**9)
    assert isinstance(done, Commit)
    assert stale(done.live) == ["[deprecated] a", "[deprecated] b"]


def test_a_note_that_carries_an_approval_stays_until_it_is_decided() -> None:
    text = f"[deprecated] x\n{approval_line(Approval('ap_1', 'push'))}"
    live = noted(chat(), (text, NOTE))
    assert stale(live) == []
    assert stale(live.settle("ap_1")) == [text]


def test_the_manager_strips_them_with_a_rotation_and_not_before() -> None:
    live = noted(chat(), ("[deprecated] Always answer in French.", NOTE), after=16)
    assert Manager().decide(View(live, live.tokens * 2)) is None
    revision = Manager().decide(View(live, live.tokens))
    assert isinstance(revision, Revision)
    after = holds(live, revision, live.tokens)
    texts = [turn.content.text for turn in after.turns]
    assert "[deprecated] question 7" in texts
    assert not any("French" in text for text in texts)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(("[deprecated] x", "[note: 1 left]", "[note: 2 left]", "Next: build")),
            st.sampled_from((HARNESS, NOTE, SUMMARY)),
        ),
        min_size=1,
        max_size=6,
    ),
    st.sets(st.integers(1, 24), max_size=6),
)
def test_whatever_goes_was_free_a_note_and_never_the_last_of_its_kind(
    notes: list[tuple[str, Origin]], pins: set[int]
) -> None:
    live = noted(chat(), *notes).pin(pins)
    gone = {change.number for change in stale_notes(live)}
    free = {turn.number for turn in live.candidates()}
    assert gone <= free - pins
    for turn in live.turns:
        if turn.number in gone:
            assert turn.origin in (HARNESS, NOTE)
            if not turn.content.text.startswith("[deprecated]"):
                kind = turn.content.text[:6]
                later = live.turns[live.positions()[turn.number] + 1 :]
                assert any(one.content.text.startswith(kind) for one in later)
