"""`hybrid`: the model edits; a scheduled policy steps in late, says so, and leaves strong models alone."""

from __future__ import annotations

from typing import Any

from redraft.context import Commit, Insert, Live, Origin, Revision, commit
from redraft.dialects import OpenAIChat
from redraft.policies import Hybrid, Summarize, ThresholdSummary, View
from redraft.tokens import Meter

CHAT = OpenAIChat()


class Words:
    """One token a word."""

    def count(self, text: str) -> int:
        return len(text.split())


def talk() -> Live:
    messages: list[Any] = [{"role": "user", "content": "task"}]
    messages += [{"role": "assistant", "content": f"{at} {'w ' * 100}"} for at in range(10)]
    frame, contents = CHAT.split({"messages": messages})
    return Live.start(CHAT, Meter(Words()), frame, contents)


def at_share(live: Live, percent: int) -> View:
    return View(live, live.tokens * 100 // percent)


def edited(live: Live) -> Live:
    """The same with a note of the model's own at its end."""
    note = Insert(live.turns[-2].number, live.draft(CHAT.note("user", "keep"), Origin.NOTE))
    done = commit(live, Revision("model", "file", (), (note,)), 10**9)
    assert isinstance(done, Commit)
    return done.live


def test_it_leaves_the_model_time_and_then_steps_in() -> None:
    live = talk()
    assert Hybrid().decide(at_share(live, 84)) is None
    assert isinstance(Hybrid().decide(at_share(live, 86)), Revision)


def test_a_model_that_edits_gets_more_time_but_not_for_ever() -> None:
    live = edited(talk())
    assert Hybrid().decide(at_share(live, 90)) is None
    assert isinstance(Hybrid().decide(at_share(live, 97)), Revision)


def test_it_says_so_on_the_receipt_and_to_the_model() -> None:
    live = talk()
    revision = Hybrid().decide(at_share(live, 90))
    assert isinstance(revision, Revision)
    assert revision.source == "hybrid"
    assert "sliding-window stepped in" in revision.notes[-1]
    done = commit(live, revision, live.tokens)
    assert isinstance(done, Commit), done.receipt
    notice = done.live.turns[1]
    assert notice.origin is Origin.HARNESS
    assert "no edit in time" in notice.content.text


def test_the_notice_opens_with_the_sessions_tag_and_without_one_names_the_harness() -> None:
    live = talk()
    for tag, opening in (("7f3a", "[redraft:7f3a] "), ("", "[redraft] ")):
        view = View(live, live.tokens * 100 // 90, tag=tag)
        revision = Hybrid().decide(view)
        assert isinstance(revision, Revision)
        (insert,) = revision.inserts
        assert insert.new.content.text.startswith(f"{opening}no edit in time at 90 % of the limit")


def test_for_strong_models_it_is_off_unless_it_is_turned_on() -> None:
    live = talk()
    assert Hybrid(strong=True).decide(at_share(live, 100)) is None
    assert Hybrid(on=False).decide(at_share(live, 100)) is None
    assert isinstance(Hybrid(strong=True, on=True).decide(at_share(live, 100)), Revision)


def test_what_lies_beneath_may_ask_for_a_summary() -> None:
    live = talk()
    need = Hybrid(ThresholdSummary()).decide(at_share(live, 90))
    assert isinstance(need, Summarize)
