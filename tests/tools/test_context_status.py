"""`context_status`, the answers of the other tools, and reading a body back."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tools_world import body, done, fenced, native, planned, result, said, start, user

from redraft.context import Live
from redraft.dialects.stubs import body_id
from redraft.tools import (
    PinBoard,
    cut,
    find_in,
    found_text,
    outcome_text,
    slice_text,
    status_text,
)
from redraft.tools.operations import Declined, Planned


def status(live: Live, board: PinBoard | None = None, top: int = 8) -> str:
    return status_text(live, board or PinBoard(), window=2_000, top=top)


class TestStatus:
    def test_says_how_full_the_context_is(self) -> None:
        live = native()
        assert status(live).startswith(
            f"context: {live.tokens:,} of 2,000 tokens ({live.tokens // 20} %)\n"
        )

    def test_lists_the_largest_results_with_their_handles(self) -> None:
        live = start(
            user("task"),
            said(None, "a", "b", "c"),
            result("a", body("x", 10)),
            result("b", body("x", 30)),
            result("c", body("x", 20)),
            said("done"),
        )
        lines = status(live, top=2).split("\n")
        assert lines[1] == "largest results in context (2 of 3):"
        assert lines[2:4] == ["- b: 34 tokens, bash", "- c: 24 tokens, bash"]
        assert "- a:" not in status(live, top=2)

    def test_on_a_fenced_route_handles_are_rounds(self) -> None:
        text = status(fenced())
        assert all(f"- {handle}: " in text for handle in ("r1.1", "r1.2", "r2.1"))

    def test_shows_pins_with_their_owners_and_how_many_are_the_models(self) -> None:
        live = native()
        board = PinBoard().add("user", [2], "find the fault").add("model", [4], "alpha0 alpha1")
        text = status(live.pin([4, 9]), board)
        assert "pinned: 3 (1 of your 20 pins used)" in text
        assert "- turn 2 [user] find the fault" in text
        assert "- call_1 [model] alpha0 alpha1" in text
        assert "- turn 9 [user]" in text
        assert "- call_1: 304 tokens, bash [pinned]" in text

    def test_shows_what_was_spilled_with_its_ids_newest_first(self) -> None:
        live = native()
        live = done(live, planned(live, "context_drop", handles=["call_1"]))
        live = done(live, planned(live, "context_note", handles=["call_3"], note="n"))
        lines = status(live).split("\n")
        at = lines.index("stubs and notes with bodies in the overflow store: 2")
        assert [line.partition(":")[0] for line in lines[at + 1 :]] == ["- call_3", "- call_1"]
        assert lines[-1].endswith(f"id={body_id(body('alpha'))}")

    def test_an_empty_context_has_a_status_too(self) -> None:
        assert status(start(user("task"))).split("\n")[1:] == [
            "results in context: none",
            "pinned: 0 (0 of your 20 pins used)",
            "stubs and notes with bodies in the overflow store: 0",
        ]

    def test_stays_short_however_much_there_is(self) -> None:
        names = [f"call_{at}" for at in range(400)]
        live = start(
            user("t"), said(None, *names), *(result(n, "x" * 700) for n in names), said("d")
        )
        board = PinBoard()
        for turn in live.turns[2:300]:
            board = board.add("harness", [turn.number], "x")
        live = done(live, planned(live, "context_drop", handles=names[350:]))
        assert len(status(live, board, top=30).split("\n")) < 100


class TestOutcome:
    def test_says_what_was_done_what_it_freed_and_what_was_not_done(self) -> None:
        plan = planned(native(), "context_drop", handles=["call_1", "nobody"])
        lines = outcome_text(plan, freed=5_728).split("\n")
        assert lines[0] == "dropped: call_1"
        assert lines[1] == "5,728 tokens freed"
        assert lines[2].startswith("not nobody: no result that you have read has this handle")

    def test_growth_is_called_growth(self) -> None:
        plan = planned(native(), "context_drop", handles=["call_1"])
        assert "the context grew by 12 tokens" in outcome_text(plan, freed=-12)

    def test_many_refusals_stay_short(self) -> None:
        declined = tuple(Declined(f"h{at}", "no") for at in range(500))
        assert len(outcome_text(Planned("drop", declined=declined)).split("\n")) == 21


class TestReading:
    @settings(max_examples=40)
    @given(st.text(max_size=80), st.integers(-5, 100), st.integers(-5, 100))
    def test_a_range_is_what_stands_there(self, text: str, first: int, length: int) -> None:
        part = cut("a" * 64, text, first, length)
        assert part.text == text[part.start : part.end]
        assert 0 <= part.start <= part.end <= part.total == len(text)
        assert len(part.text) <= max(length, 0)

    @settings(max_examples=40)
    @given(st.text("abİß", max_size=60), st.text("abİß", min_size=1, max_size=3))
    def test_a_hit_is_where_the_text_stands(self, text: str, find: str) -> None:
        found = find_in("a" * 64, text, find, most=5)
        assert (text.find(find) < 0) or found.hits
        for hit in found.hits:
            assert text[hit.at : hit.at + len(find)].casefold() == find.casefold()

    def test_reading_on_is_told_where(self) -> None:
        text = slice_text(cut("ab" * 32, "x" * 10_000, 4_000, 4_000))
        assert text.startswith(
            "[body abababababab, characters 4000-8000 of 10000; go on with start=8000]\n"
        )
        assert "go on" not in slice_text(cut("ab" * 32, "x" * 10_000, 8_000, 4_000))

    def test_a_search_is_bounded_and_says_so(self) -> None:
        found = find_in("ab" * 32, "Needle hay " * 1_000, "needle")
        assert len(found.hits) == 20
        assert "20 places; there are more, go on with start=220]" in found_text(found)
        assert found.hits[1].at == 11

    def test_a_search_goes_on_from_where_it_says(self) -> None:
        body, seen, start = "Needle hay " * 50, list[int](), 0
        while True:
            found = find_in("ab" * 32, body, "needle", start=start)
            seen += [hit.at for hit in found.hits]
            if not found.next:
                break
            start = found.next
        assert seen == list(range(0, 550, 11))
        assert "10 places from start=440 on]" in found_text(found)
        assert "nowhere in it from start=545 on]" in found_text(
            find_in("ab" * 32, body, "needle", start=545)
        )

    def test_one_place_is_one(self) -> None:
        assert "3 characters, 1 place]" in found_text(find_in("ab" * 32, "hay", "hay"))

    def test_nothing_found_is_said(self) -> None:
        assert "the text stands nowhere in it" in found_text(find_in("ab" * 32, "hay", "needle"))
        assert find_in("ab" * 32, "hay", "").hits == ()
