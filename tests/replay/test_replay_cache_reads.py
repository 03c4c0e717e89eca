"""Predicted against reported cache reads: what is close, what is missed, and what is said of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from replay_world import SESSION, lines, pi_answer, pi_user, read

from redraft.cost import Cause, Request, Segment
from redraft.replay import Audit, Fitted, Recording, Timeline, audit, fit
from redraft.replay.sizes import Anchor, fit_ratio
from redraft.tokens import Meter

METER = Meter()
WORDS = "the quick brown fox jumps over the lazy dog " * 40


def audited(recording: Recording) -> tuple[Audit, Fitted]:
    fitted = fit(Timeline(recording), METER)
    return audit(fitted), fitted


def session(*calls: tuple[float, int, int, int]) -> Recording:
    """A pi session of (moment, fresh, read, written), each behind a new prompt."""
    rows: list[Any] = [SESSION]
    for place, (at, fresh, read_, written) in enumerate(calls):
        rows.append(pi_user(f"{place} {WORDS}"))
        rows.append(pi_answer(f"answer {place}", (fresh, 5, read_, written), at))
    return read(lines(*rows))


GROWING = [(0, 3, 0, 5_000), (10, 3, 5_000, 600), (20, 3, 5_600, 600), (30, 3, 6_200, 600)]


def test_a_session_that_only_grows_is_predicted_to_the_token_of_its_breakpoint() -> None:
    found, fitted = audited(session(*GROWING))
    assert found.calls == found.close == 4
    # The client marks the end of the last message; three tokens of framing stand behind it.
    assert found.predicted - found.reported == 3 * 3
    assert found.misses == []
    assert abs(found.error) < 0.001
    assert [request.tokens for _, request in fitted.requests] == [5_003, 5_603, 6_203, 6_803]
    assert fitted.unseen["main"] > 4_000


def test_an_entry_that_expired_is_predicted_and_explained() -> None:
    late = [*GROWING[:2], (400, 3, 0, 6_200)]
    found, _ = audited(session(*late))
    assert found.misses == []
    assert found.explained == {Cause.LIFETIME: (1, 5_603)}


def test_a_miss_that_nothing_recorded_explains_is_listed_with_its_place() -> None:
    found, _ = audited(session(*GROWING[:2], (20, 3, 0, 6_200)))
    (miss,) = found.misses
    assert (miss.number, miss.line, miss.cause) == (3, 7, Cause.UNEXPLAINED)
    assert (miss.predicted, miss.reported, miss.prompt) == (5_603, 0, 6_203)
    assert "10 s after the last call and behind a new prompt" in miss.why
    assert miss.as_dict()["error"] == 5_603


def test_a_prompt_that_shrank_must_have_a_changed_frame() -> None:
    found, fitted = audited(session(*GROWING[:2], (20, 3, 0, 4_000)))
    assert fitted.renewed == {3}
    assert found.misses == []
    assert set(found.explained) == {Cause.FRAME}


def test_a_server_that_read_more_than_the_model_allows_is_listed_too() -> None:
    found, _ = audited(session((0, 3, 4_900, 100), (10, 3, 5_000, 600)))
    (miss,) = found.misses
    assert miss.number == 1
    assert "an entry from before the recording" in miss.why
    outlived, _ = audited(session(*GROWING[:2], (1_000, 3, 5_600, 600)))
    assert "outlived its time" in outlived.misses[0].why


def test_an_entry_for_an_hour_is_taken_for_one() -> None:
    usage = {"input_tokens": 3, "output_tokens": 5}
    hour = {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 5_000}
    rows = [
        {"role": "user", "content": WORDS},
        {
            "role": "assistant",
            "content": "a",
            "timestamp": 0,
            "model": "claude-sonnet-4-5",
            "usage": {**usage, "cache_creation_input_tokens": 5_000, "cache_creation": hour},
        },
        {"role": "user", "content": "and " + WORDS},
        {
            "role": "assistant",
            "content": "b",
            "timestamp": 1_000,
            "model": "claude-sonnet-4-5",
            "usage": {
                **usage,
                "cache_read_input_tokens": 5_000,
                "cache_creation_input_tokens": 400,
            },
        },
    ]
    found, _ = audited(read(json.dumps(rows)))
    assert (found.close, found.misses) == (2, [])


def test_where_no_call_reports_any_caching_the_client_did_not_ask_for_it() -> None:
    found, _ = audited(session((0, 5_000, 0, 0), (10, 5_600, 0, 0)))
    assert (found.predicted, found.reported, found.error) == (0, 0, 0.0)


def test_calls_that_report_no_reads_are_not_judged() -> None:
    rows = [
        {"role": "user", "content": "a"},
        {
            "role": "assistant",
            "content": "b",
            "usage": {"prompt_tokens": 9, "completion_tokens": 1},
        },
    ]
    found, _ = audited(read(json.dumps(rows)))
    assert found.calls == 0


def test_reported_reads_do_not_change_what_is_predicted() -> None:
    truth, _ = audited(session(*GROWING))
    lies = [
        (at, fresh + read_ - read_ // 2, read_ // 2, more) for at, fresh, read_, more in GROWING
    ]
    assert audited(session(*lies))[0].predicted == truth.predicted


def test_an_audit_as_plain_values() -> None:
    found, _ = audited(session(*GROWING[:2], (20, 3, 0, 6_200)))
    plain = json.loads(json.dumps(found.as_dict()))
    assert plain["calls"] == 3
    assert plain["misses"][0]["cause"] == "unexplained"
    assert plain["error"] == pytest.approx((5_003 + 5_603 - 5_000) / 5_000)


# -- sizes ---------------------------------------------------------------------------------------------


def test_the_ratio_is_that_of_the_sums_of_plausible_pairs() -> None:
    assert fit_ratio([(1_000, 1_300), (500, 650)], 9.0) == pytest.approx(1.3)
    assert fit_ratio([(1_000, 1_300), (500, 50_000), (500, 1)], 9.0) == pytest.approx(1.3)
    assert fit_ratio([(100, 120)], 9.0) == 9.0, "too little to go by"


def segments(*sizes: int, start: int = 0) -> Request:
    return Request(tuple(Segment(f"s{start + at}", size) for at, size in enumerate(sizes)))


def test_what_is_new_takes_what_the_prompt_grew_by() -> None:
    anchor = Anchor(1.0, "x")
    first = anchor.fit(segments(100, 100), 1_000)
    second = anchor.fit(segments(100, 100, 30, 10), 1_080)
    assert [segment.tokens for segment in first.segments] == [800, 100, 100]
    assert [segment.tokens for segment in second.segments] == [800, 100, 100, 60, 20]


def test_without_a_report_sizes_follow_the_ratio() -> None:
    fitted = Anchor(1.5, "x").fit(segments(100, 50), None)
    assert [segment.tokens for segment in fitted.segments] == [0, 150, 75]


def test_a_text_that_comes_again_has_its_size_and_no_frame_is_blamed_for_it() -> None:
    anchor = Anchor(1.0, "x")
    anchor.fit(segments(100, 300), 1_000)
    again = Request((*segments(100, 300).segments, Segment("s1", 300)))
    assert [segment.tokens for segment in anchor.fit(again, 1_250).segments] == [600, 100, 300, 300]
    assert anchor.renewed == 0


def test_a_prompt_smaller_than_what_it_goes_on_from_has_another_frame() -> None:
    anchor = Anchor(1.0, "x")
    first = anchor.fit(segments(100, 100), 1_000)
    second = anchor.fit(segments(100, 100, 50), 900)
    assert [segment.tokens for segment in second.segments] == [650, 100, 100, 50]
    assert second.segments[0].digest != first.segments[0].digest


def test_where_the_frame_cannot_have_shrunk_so_much_nothing_known_is_left() -> None:
    anchor = Anchor(1.0, "x")
    anchor.fit(segments(100, 100), 1_000)
    second = anchor.fit(segments(100, 100, 50), 125)
    assert [segment.tokens for segment in second.segments] == [0, 50, 50, 25]


@given(
    st.lists(
        st.tuples(st.lists(st.integers(1, 500), min_size=1, max_size=4), st.integers(0, 5_000)),
        min_size=1,
        max_size=6,
    )
)
def test_a_fitted_request_always_has_the_reported_size(
    steps: list[tuple[list[int], int]],
) -> None:
    anchor = Anchor(1.2, "x")
    sizes: list[int] = []
    for new, reported in steps:
        sizes += new
        fitted = anchor.fit(segments(*sizes), reported)
        assert fitted.tokens == reported
        assert all(segment.tokens >= 0 for segment in fitted.segments)
