from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.dialects.base import Part
from redraft.tokens import (
    AUDIO_TOKENS,
    FILE_TOKENS,
    UNKNOWN_IMAGE_TOKENS,
    image_tokens,
    part_tokens,
)

sides = st.integers(1, 20_000)


@pytest.mark.parametrize(
    ("width", "height", "tokens"),
    [
        pytest.param(1_024, 1_024, 765, id="the guide's square: four tiles"),
        pytest.param(2_048, 4_096, 1_105, id="the guide's portrait: six tiles"),
        pytest.param(512, 512, 255, id="exactly one tile"),
        pytest.param(513, 512, 425, id="a pixel more"),
        pytest.param(1, 1, 255, id="a small image is not enlarged"),
        pytest.param(100_000, 1, 765, id="a line"),
        pytest.param(6_000, 2_250, 1_445, id="the most tiles there are"),
    ],
)
def test_an_image_costs_by_the_tile_rule(width: int, height: int, tokens: int) -> None:
    assert image_tokens(width, height) == tokens


@given(sides, sides)
def test_an_image_of_known_size_costs_one_to_eight_tiles_either_way_up(
    width: int, height: int
) -> None:
    tokens = image_tokens(width, height)
    assert 255 <= tokens <= 1_445 < UNKNOWN_IMAGE_TOKENS
    assert (tokens - 85) % 170 == 0
    assert tokens == image_tokens(height, width)


@given(sides, sides, st.integers(2, 9))
def test_a_larger_copy_of_an_image_costs_no_less(width: int, height: int, times: int) -> None:
    assert image_tokens(width * times, height * times) >= image_tokens(width, height)


@pytest.mark.parametrize(("width", "height"), [(0, 0), (0, 600), (800, 0), (-1, -1)])
def test_an_image_of_unknown_size_costs_a_careful_flat_amount(width: int, height: int) -> None:
    assert image_tokens(width, height) == 1_844


def test_parts_cost_by_kind_and_no_kind_is_free() -> None:
    assert part_tokens(Part("image", "image png 1024x1024", 1_024, 1_024)) == 765
    assert part_tokens(Part("image", "image by link")) == UNKNOWN_IMAGE_TOKENS
    assert part_tokens(Part("audio", "audio wav")) == AUDIO_TOKENS > 0
    assert part_tokens(Part("file", "file")) == FILE_TOKENS > 0
    assert part_tokens(Part("hologram", "part hologram")) == FILE_TOKENS
