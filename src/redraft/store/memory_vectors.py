"""Vectors in a memory: what an embedder is, how vectors are kept, and what compares them."""

from __future__ import annotations

import importlib
import math
import sqlite3
import sys
from array import array
from collections.abc import Sequence
from operator import mul
from typing import Protocol

from redraft.errors import MemoryFormatError

__all__ = ["Embedder", "cosine", "load_cosine", "pack"]


class Embedder(Protocol):
    """Makes vectors of texts: a local model, or a server's."""

    @property
    def name(self) -> str:
        """The model and its version: vectors of different models are never compared."""

    @property
    def floor(self) -> float:
        """The cosine from which two texts are about the same, from 0 to 1; each model has its own."""

    def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """A vector for each text, in order, all of one length."""


def pack(vector: Sequence[float]) -> bytes | None:
    """A vector of length 1 as little-endian 32-bit floats; None where it has no direction.

    Raises:
        MemoryFormatError: a value is no number.
    """
    size = math.hypot(*vector)
    if not math.isfinite(size):
        raise MemoryFormatError(
            "the embedder made a vector with a value that is no number; check the embedder. Nothing was "
            "kept."
        )
    if size == 0:
        return None
    values = array("f", (value / size for value in vector))
    if sys.byteorder == "big":
        values.byteswap()
    return values.tobytes()


def cosine(one: bytes, other: bytes) -> float | None:
    """The cosine of two packed vectors; None where their lengths differ."""
    if len(one) != len(other) or len(one) % 4:
        return None
    first, second = array("f", one), array("f", other)
    if sys.byteorder == "big":
        first.byteswap()
        second.byteswap()
    return float(sum(map(mul, first, second)))


def load_cosine(database: sqlite3.Connection) -> str:
    """Give a database a way to compare packed vectors.

    Returns:
        an SQL expression with the place `{0}` for a column and `{1}` for a parameter: by `sqlite-vec`
        where it is installed and this Python may load it, else by this module, some hundred times slower.
    """
    try:
        module = importlib.import_module("sqlite_vec")
        database.enable_load_extension(True)
        try:
            module.load(database)
        finally:
            database.enable_load_extension(False)
    except (ImportError, AttributeError, sqlite3.Error):
        database.create_function("redraft_cosine", 2, cosine, deterministic=True)
        return "redraft_cosine({0}, {1})"
    # It raises for vectors of different lengths, which would hide those that can be compared.
    return (
        "CASE WHEN length({0}) = length({1}) THEN 1 - vec_distance_cosine({0}, {1}) ELSE NULL END"
    )
