"""What a prefix cache sees of requests, and what it would read and write. Pure but for its memory."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from redraft.testing.completions import common_prefix
from redraft.testing.refusals.base import members

__all__ = ["AutomaticCache", "CacheUse", "MarkedCache", "Piece", "anthropic_pieces", "written"]

_LOOKBACK = 20
"""Blocks in front of a marker where an entry of an earlier request is still found (Anthropic's guide
on prompt caching)."""


def written(value: object) -> bytes:
    """A JSON value as one provider after another would hash it: the keys in their order."""
    return json.dumps(value, ensure_ascii=True).encode()


@dataclass(frozen=True, slots=True)
class Piece:
    """One block of a request in the order in which a cache reads it.

    Attributes:
        part: `tools`, `system` or `messages`.
        path: where it stands in the request.
        data: its bytes, without a cache marker, with the role that it has.
        marked: whether a cache marker stands on it.
        block: the block itself.
    """

    part: str
    path: str
    data: bytes
    marked: bool
    block: Mapping[str, Any]


def anthropic_pieces(body: Mapping[str, Any]) -> list[Piece]:
    """Tools, system prompt and messages of the Messages API, block by block. A plain string is one
    block of text, and where a message ends makes no difference while the role stays."""
    pieces = [_piece("tools", f"tools.{at}", "", tool) for at, tool in enumerate(_tools(body))]
    for place, block in enumerate(members(body.get("system"))):
        pieces.append(_piece("system", f"system.{place}", "", block))
    for at, message in enumerate(body.get("messages") or ()):
        for place, block in enumerate(members(message.get("content"))):
            path = f"messages.{at}.content.{place}"
            pieces.append(_piece("messages", path, str(message.get("role")), block))
    return pieces


def _tools(body: Mapping[str, Any]) -> Sequence[Any]:
    tools = body.get("tools")
    return tools if isinstance(tools, list) else ()


def _piece(part: str, path: str, role: str, block: Mapping[str, Any]) -> Piece:
    bare = {key: value for key, value in block.items() if key != "cache_control"}
    if isinstance(bare.get("content"), str):  # of a tool result
        bare["content"] = list(members(bare["content"]))
    return Piece(part, path, written([part, role, bare]), "cache_control" in block, block)


@dataclass(frozen=True, slots=True)
class CacheUse:
    """What a cache did for one request, in the server's tokens.

    Attributes:
        read: tokens read from the cache.
        written: tokens that were stored in it.
        fresh: the others.
    """

    read: int
    written: int
    fresh: int


class MarkedCache:
    """A cache that is asked for by markers, as Anthropic's: it stores the prompt up to each marker, and
    reads the longest prefix that is stored and ends at a marker or at most 20 blocks in front of one.

    Args:
        minimum: tokens below which nothing is stored; Anthropic has 1,024 to 4,096, by model.
    """

    def __init__(self, minimum: int = 0) -> None:
        self._minimum = minimum
        self._stored: set[str] = set()

    def use(self, pieces: Sequence[Piece], tokens: int) -> CacheUse:
        """Read and store what the markers ask for.

        Args:
            pieces: the request.
            tokens: what the whole of it counts.
        """
        prefixes = list(_prefixes(pieces, tokens))
        marks = [at for at, piece in enumerate(pieces) if piece.marked]
        reach = {at for mark in marks for at in range(max(0, mark - _LOOKBACK), mark + 1)}
        read = max((prefixes[at][1] for at in reach if prefixes[at][0] in self._stored), default=0)
        large = [prefixes[at] for at in marks if prefixes[at][1] >= self._minimum]
        self._stored |= {digest for digest, _ in large}
        end = max([count for _, count in large] + [read])
        return CacheUse(read, end - read, tokens - end)


def _prefixes(pieces: Sequence[Piece], tokens: int) -> Iterator[tuple[str, int]]:
    """The digest of the prompt up to each piece, and as large a share of its tokens as of its bytes."""
    digest, done = sha256(), 0
    whole = sum(len(piece.data) for piece in pieces) or 1
    for piece in pieces:
        digest.update(piece.data)
        done += len(piece.data)
        yield digest.hexdigest(), tokens * done // whole


class AutomaticCache:
    """A cache that needs no markers: it reads what an earlier request began with too."""

    def __init__(self) -> None:
        self._seen: list[bytes] = []

    def read(self, text: bytes, tokens: int) -> int:
        """The tokens that an earlier request began with too; this one is remembered.

        Args:
            text: the request as the cache sees it.
            tokens: what the whole of it counts.
        """
        equal = max((common_prefix(text, earlier) for earlier in self._seen), default=0)
        self._seen.append(text)
        return tokens * equal // len(text) if text else 0
