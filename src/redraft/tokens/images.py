"""What a part that is not text costs: by its size, not by its base64 length, and never zero."""

from __future__ import annotations

from fractions import Fraction

from redraft.dialects.base import Part

__all__ = [
    "AUDIO_TOKENS",
    "FILE_TOKENS",
    "UNKNOWN_IMAGE_TOKENS",
    "image_tokens",
    "part_tokens",
]

UNKNOWN_IMAGE_TOKENS = 1_844
"""Tokens of an image whose size nobody knows (a link, a broken header). Above the tile rule's
largest value, 1,445, and the figure that openai/codex settled on (its PR #12717) after overflows
with images counted at 85."""

FILE_TOKENS = 3_000
"""Tokens of a file: one full page, the upper end of the 1,500-3,000 a page that Anthropic's PDF
guide gives. Also of any other kind of part, since nothing better is known of it."""

AUDIO_TOKENS = 1_920
"""Tokens of a sound: one minute at the 32 tokens a second of Google's Gemini token guide."""

_FIT, _SHORT_SIDE, _TILE = 2_048, 768, 512  # pixels
_PER_TILE, _BASE = 170, 85  # tokens


def image_tokens(width: int, height: int) -> int:
    """Tokens of an image, by the tile rule of OpenAI's vision guide at high detail.

    The image is shrunk to fit 2,048 x 2,048, then until its short side is at most 768, and covered
    with tiles of 512: 170 tokens a tile and 85 for the image. A small image is not enlarged.

    Args:
        width: pixels; 0 or less where unknown.
        height: pixels; 0 or less where unknown.

    Returns:
        255 to 1,445 tokens; `UNKNOWN_IMAGE_TOKENS` where a side is unknown.
    """
    if width <= 0 or height <= 0:
        return UNKNOWN_IMAGE_TOKENS
    long, short = max(width, height), min(width, height)
    scale = min(Fraction(1), Fraction(_FIT, long), Fraction(_SHORT_SIDE, short))
    return _BASE + _PER_TILE * _tiles(long * scale) * _tiles(short * scale)


def part_tokens(part: Part) -> int:
    """Tokens of one part of a turn.

    Args:
        part: an image costs by its size, a sound `AUDIO_TOKENS`, anything else `FILE_TOKENS`.
    """
    if part.kind == "image":
        return image_tokens(part.width, part.height)
    return AUDIO_TOKENS if part.kind == "audio" else FILE_TOKENS


def _tiles(side: Fraction) -> int:
    return -int(-side // _TILE)
