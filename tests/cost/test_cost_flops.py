"""FLOPs of one call: the golden values of the design, and what must hold for any model."""

from __future__ import annotations

import pytest
from cost_world import of
from hypothesis import given
from hypothesis import strategies as st

from redraft.cost import (
    Geometry,
    LongestPrefix,
    SuffixReuse,
    Use,
    call_flops,
    find_geometry,
    use_flops,
)

REFERENCE = find_geometry("Qwen3.6-27B")
SMALL = Geometry("small", token=1_000.0, attention=10.0, full=1)


@pytest.mark.parametrize(
    ("reused", "flops"), [(18_000, "1.407e+14"), (10_000, "5.743e+14"), (0, "1.081e+15")]
)
def test_a_call_of_20_000_tokens_and_500_out_costs_what_the_design_says(
    reused: int, flops: str
) -> None:
    assert REFERENCE is not None
    assert f"{call_flops(REFERENCE, 20_000, reused, 500):.3e}" == flops


def test_the_formula_term_by_term() -> None:
    # U = 30, G = 4: 1000 * 34 + 10 * ((100^2 - 70^2) / 2 + 4 * 100 + 8)
    assert call_flops(SMALL, 100, 70, 4) == 34_000 + 10 * (2_550 + 400 + 8)


@given(st.integers(0, 10_000), st.data())
def test_reusing_more_never_costs_more(prompt: int, data: st.DataObject) -> None:
    more = data.draw(st.integers(0, prompt))
    less = data.draw(st.integers(0, more))
    assert call_flops(SMALL, prompt, more, 10) <= call_flops(SMALL, prompt, less, 10)


@given(st.integers(0, 5_000), st.integers(0, 5_000), st.integers(0, 500))
def test_a_use_with_a_plain_prefix_costs_what_the_formula_says(
    read: int, new: int, output: int
) -> None:
    computed = ((read, read + new),) if new else ()
    use = Use(read + new, read, new, 0, computed=computed)
    assert use_flops(SMALL, use, output) == pytest.approx(
        call_flops(SMALL, read + new, read, output)
    )


def test_a_moved_span_saves_the_tokens_that_it_holds_and_their_attention() -> None:
    requests = [of("abcdef"), of("axcdef")]
    plain, moved = LongestPrefix(), SuffixReuse(1)
    again = [plain.serve(request) for request in requests][1]
    saved = [moved.serve(request) for request in requests][1]
    assert saved.computed == ((100, 200),)
    attended = 10 * (200**2 - 100**2) / 2
    assert use_flops(SMALL, saved, 0) == 1_000 * 100 + attended
    assert use_flops(SMALL, again, 0) == 1_000 * 500 + 10 * (600**2 - 100**2) / 2


@pytest.mark.parametrize(("prompt", "reused", "output"), [(10, 11, 0), (10, -1, 0), (10, 0, -1)])
def test_impossible_numbers_are_refused(prompt: int, reused: int, output: int) -> None:
    with pytest.raises(ValueError, match="reused lies between 0 and the prompt"):
        call_flops(SMALL, prompt, reused, output)
