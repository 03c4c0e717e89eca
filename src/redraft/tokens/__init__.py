"""Counting tokens: with one vocabulary, offline, additive by turn, fitted to the server's count.

`Meter` gives raw o200k integers, in which all accounts are kept. `Calibration` turns them into the
server's tokens, for the limit and for readouts only. `docs/design/tokens.md` says why.
"""

from __future__ import annotations

from redraft.tokens.calibration import RATIO_MAX, RATIO_MIN, Calibration
from redraft.tokens.counter import Counter, QuicktokCounter, TiktokenCounter, default_counter
from redraft.tokens.families import family_factor
from redraft.tokens.images import (
    AUDIO_TOKENS,
    FILE_TOKENS,
    UNKNOWN_IMAGE_TOKENS,
    image_tokens,
    part_tokens,
)
from redraft.tokens.meter import CALL_TOKENS, FRAME_TOKENS, TURN_TOKENS, Meter
from redraft.tokens.vocabulary import o200k_base

__all__ = [
    "AUDIO_TOKENS",
    "CALL_TOKENS",
    "FILE_TOKENS",
    "FRAME_TOKENS",
    "RATIO_MAX",
    "RATIO_MIN",
    "TURN_TOKENS",
    "UNKNOWN_IMAGE_TOKENS",
    "Calibration",
    "Counter",
    "Meter",
    "QuicktokCounter",
    "TiktokenCounter",
    "default_counter",
    "family_factor",
    "image_tokens",
    "o200k_base",
    "part_tokens",
]
