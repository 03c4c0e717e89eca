"""JSON values as bytes, and back: every text as it was, and no larger than need be."""

from __future__ import annotations

import json
import zlib
from typing import Any

__all__ = ["from_bytes", "packed", "to_bytes", "unpacked"]

_PACK_FROM = 256
"""Fewer bytes are kept as they are: packing would hardly make them smaller."""

_LEVEL = 3
"""Measured on outputs of 2-60 KB: level 6 saves 4 % more bytes and takes twice the time."""

_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_PACKED = b"x"
"""The first byte of what zlib packs; no JSON text begins with it."""


def to_bytes(value: object) -> bytes:
    """A JSON value as text in UTF-8.

    Half a surrogate pair is kept as it is. JSON's own escapes would not do: two halves that happen to
    stand side by side come back as one character.

    Raises:
        TypeError, ValueError, RecursionError: it is no JSON value.
    """
    return _ENCODER.encode(value).encode("utf-8", "surrogatepass")


def packed(data: bytes) -> bytes:
    """The bytes of `to_bytes`, made smaller where that pays."""
    return zlib.compress(data, _LEVEL) if len(data) >= _PACK_FROM else data


def unpacked(data: bytes) -> bytes:
    """The bytes that `packed` took; raises `ValueError` where they are damaged."""
    if not data.startswith(_PACKED):
        return data
    try:
        return zlib.decompress(data)
    except zlib.error as error:
        raise ValueError(str(error)) from error


def from_bytes(data: bytes) -> Any:
    """The value of `to_bytes`; raises `ValueError`."""
    return json.loads(data.decode("utf-8", "surrogatepass"))
