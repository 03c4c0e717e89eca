"""Models that drop reasoning behind a change: the session takes it away itself, as soon as it may."""

from __future__ import annotations

from typing import Any

from format_world import Responses, Story
from session_world import balanced, replaced, statuses


class Dropping(Responses):
    model = "gpt-6.2"


def thoughts(items: list[Any]) -> int:
    return sum(item.get("type") == "reasoning" for item in items)


def test_an_edit_takes_the_reasoning_behind_it_along_and_waits_for_nothing() -> None:
    story = Story(Dropping())
    with story.session as session:
        story.fill(3)
        story.request()
        assert thoughts(story.sent[-1]) == 3
        story.play(story.say(replaced(5, 6, "settled"), thinks="tidy"))
        story.request()
        assert "queued" not in statuses(session)
        assert "settled" in story.bytes[-1].decode()
        # What stands in front of the edit keeps its reasoning; the newest round was made under the old
        # prefix, and loses it once its results are in.
        assert thoughts(story.sent[-1]) == 1
        assert balanced(session)


def test_without_an_edit_all_reasoning_stays() -> None:
    story = Story(Dropping())
    with story.session:
        story.fill(4)
        story.request()
        assert thoughts(story.sent[-1]) == 4


def test_undo_brings_the_words_back_and_reasoning_where_its_prefix_is_whole_again() -> None:
    story = Story(Dropping())
    with story.session as session:
        story.fill(3)
        story.play(story.say(replaced(5, 6, "settled"), thinks="tidy"))
        story.request()
        session.undo(1)
        story.request()
        assert all("settled" not in turn.content.text for turn in session.live.turns)
        assert thoughts(story.sent[-1]) >= 3
        assert balanced(session)
