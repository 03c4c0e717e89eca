"""Suffix reuse: which spans survive an edit, and which of them move."""

from __future__ import annotations

from dataclasses import replace

import pytest
from cost_world import of

from redraft.cost import Break, Cause, Request, SuffixReuse, Use


def served(spans: int, before: str, after: str) -> Use:
    cache = SuffixReuse(spans)
    cache.serve(of(before))
    return cache.serve(replace(of(after), changed=Cause.EDIT))


def test_one_span_behind_a_changed_turn_moves() -> None:
    use = served(1, "Sabcd", "Sxbcd")
    assert (use.read, use.computed, use.breaks) == (400, ((100, 200),), (Break(Cause.EDIT, 0),))


def test_of_several_spans_the_largest_move() -> None:
    assert served(1, "Sabcdefg", "Sxbycdeg").read == 400
    assert served(2, "Sabcdefg", "Sxbycdeg").read in (500, 600)
    assert served(3, "Sabcdefg", "Sxbycdeg").read == 600


def test_what_does_not_move_is_lost() -> None:
    use = served(1, "Sabcdefg", "Sxbycdeg")
    assert use.breaks == (Break(Cause.EDIT, 200),)


def test_a_span_may_move_to_another_place() -> None:
    assert served(1, "Sabcd", "Scdab").read == 300
    assert served(2, "Sabcd", "Scdab").read == 500


def test_a_piece_is_used_once() -> None:
    assert served(64, "Sab", "Sxaaa").read == 200


def test_another_models_states_do_not_move() -> None:
    cache = SuffixReuse(64)
    cache.serve(of("Sab", model="one"))
    assert cache.serve(of("Sab", model="two")).read == 0


def test_the_spans_lie_between_what_is_computed() -> None:
    assert served(64, "Sabcd", "Sxbydz").computed == ((100, 200), (300, 400), (500, 600))


def test_a_negative_number_of_spans_is_refused() -> None:
    with pytest.raises(ValueError, match="give 0 or more"):
        SuffixReuse(-1)


def test_an_empty_request_is_no_trouble() -> None:
    assert SuffixReuse(1).serve(Request(())).prompt == 0
