"""Who counts tokens: tiktoken, or quicktok where it is installed and proves itself."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Protocol

from redraft.tokens.pieces import as_sent, pieces
from redraft.tokens.vocabulary import ENCODING, o200k_base

if TYPE_CHECKING:
    import tiktoken

__all__ = [
    "PROBE_IDS",
    "PROBE_TEXT",
    "Counter",
    "QuicktokCounter",
    "TiktokenCounter",
    "default_counter",
]

PROBE_TEXT = "It's 1234:\n\n  naïve 日本語 🚀 <|endoftext|> !== 0x1F\t\r\n I'LL \u0301x"
"""Words, contractions, digits, white space, scripts, an emoji and the text of a special token."""

PROBE_IDS = (
    *(15834, 220, 7633, 19, 1402, 220, 153475, 737, 17428, 40909, 169883, 222, 464, 91, 419, 1440),
    *(919, 91, 29, 8032, 220, 15, 87, 16, 37, 7709, 3413, 7454, 220, 13430, 87),
)
"""The o200k ids of `PROBE_TEXT`."""

_DISTRIBUTION = "quicktok-v1"
_lock = threading.Lock()
_default: list[Counter] = []


class Counter(Protocol):
    """Counts tokens. Pure: equal texts count the same, on every machine, in every process."""

    def count(self, text: str) -> int:
        """Tokens of `text` in o200k_base, special-token text counted as ordinary text."""


class TiktokenCounter:
    """Counts with tiktoken and the vocabulary that ships with redraft.

    Args:
        encoding: the encoding to count with; by default `o200k_base()`, built at the first count.
    """

    def __init__(self, encoding: tiktoken.Encoding | None = None) -> None:
        self._encoding = encoding

    def count(self, text: str) -> int:
        """Tokens of `text` as it is sent: a lone surrogate counts as U+FFFD.

        Raises:
            TokenizerError: the shipped vocabulary is missing or damaged.
        """
        encode = (self._encoding or o200k_base()).encode_ordinary
        return sum(len(encode(piece)) for piece in pieces(as_sent(text)))


class QuicktokCounter:
    """Counts with quicktok: equal ids, several times faster. Made by `find`.

    Args:
        count: counts one text without surrogates.
    """

    def __init__(self, count: Callable[[str], int]) -> None:
        self._count = count

    @classmethod
    def find(cls) -> QuicktokCounter | None:
        """The counter, or None where `quicktok-v1` is absent or does not prove itself.

        Another, unrelated project is imported as `quicktok` too. So the distribution must be
        installed under its own name before anything is imported, and the module must then give the
        right ids for `PROBE_TEXT`. Loading takes about 1 s.
        """
        from importlib import metadata  # 50 ms, for those who ask for a counter

        try:
            metadata.version(_DISTRIBUTION)
            return cls.prove(importlib.import_module("quicktok"))
        except Exception:  # a stranger's module may raise anything; we can count without it
            return None

    @classmethod
    def prove(cls, module: ModuleType) -> QuicktokCounter | None:
        """A counter over `module`, or None where its ids are not o200k's.

        Raises:
            Exception: whatever a module with another interface raises.
        """
        tokenizer = module.get_encoding(ENCODING)
        ids = tuple(tokenizer.encode_ordinary(PROBE_TEXT))
        if ids != PROBE_IDS or tokenizer.count(PROBE_TEXT) != len(PROBE_IDS):
            return None
        return cls(tokenizer.count)

    def count(self, text: str) -> int:
        """Tokens of `text` as it is sent: a lone surrogate counts as U+FFFD."""
        return sum(map(self._count, pieces(as_sent(text))))


def default_counter() -> Counter:
    """The process's counter: quicktok's where it is usable, else tiktoken's. Chosen once.

    Both count the same, so the choice shows only in speed. Safe to call from many threads.
    """
    if not _default:
        with _lock:
            if not _default:
                _default.append(QuicktokCounter.find() or TiktokenCounter())
    return _default[0]
