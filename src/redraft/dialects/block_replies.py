"""What replies of block formats need: calls with ids of their own, and counts that are counts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from redraft.dialects.base import Native

__all__ = ["count", "distinct"]


def distinct(
    blocks: Iterable[Native],
    taken: Collection[str],
    id_of: Callable[[Native, int], str | None],
    with_id: Callable[[Native, str], Native],
) -> list[Native]:
    """Blocks whose calls have ids of their own: a repeated call is one call, a repeated id is renamed.

    The providers' own servers never repeat one; others that speak their format do.

    Args:
        blocks: the blocks of a reply.
        taken: ids of calls in the context.
        id_of: the id of the call that a block makes, given its place; None where it makes none, or
            one that goes without.
        with_id: the same call under another id.
    """
    kept: list[Native] = []
    asked: list[Native] = []
    names = set(taken)
    for place, block in enumerate(blocks):
        name = id_of(block, place)
        if name is not None:
            if block in asked:
                continue
            asked.append(block)
            new, number = name, 1
            while new in names:
                number += 1
                new = f"{name}_{number}"
            names.add(new)
            if new != id_of(block, -1):
                block = with_id(block, new)
        kept.append(block)
    return kept


def count(value: object) -> int:
    """A number of tokens, 0 where a server gives none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
