"""Texts to count: generated ones that provoke a tokenizer, and real recordings where they lie."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import strategies as st

_RECORDINGS = Path(__file__).resolve().parents[3] / "shared" / "data" / "trajectories"

CHARACTERS = st.sampled_from(
    "aBcéßſİǅʰ059²Ⅷ٣日本ㅎก"  # letters and numbers
    "  \t\n\r\u0085\u00a0\u2028\u3000\x1c\x0b"  # white space, as Unicode or only Python sees it
    "'’\"!-=/_.,#<|>、。！\u0301\u200d\ufe0f🚀𝔸\ufffd\x00"
)
WORDS = st.sampled_from(
    [
        "the",
        "Don't",
        " I'LL",
        "x",
        "0x1F",
        "12345",
        "\r\n",
        "\n\n  ",
        "<|endoftext|>",
        "日本語",
        "naïve",
    ]
)

texts = st.one_of(
    st.text(CHARACTERS, max_size=60),
    st.lists(st.one_of(WORDS, st.text(CHARACTERS, max_size=3)), max_size=25).map("".join),
    st.text(max_size=40),
)
"""Any text: white space of every kind, contractions, scripts, digits, marks, surrogates."""


def recordings() -> list[Path]:
    """The recorded sessions and requests; skips the test where they are absent."""
    found = sorted(path for path in _RECORDINGS.rglob("*.*") if path.is_file())
    if not found:
        pytest.skip(f"no recordings at {_RECORDINGS.name}/ beside the checkout")
    return found
