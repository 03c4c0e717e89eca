"""Which items can be relevant enough at all, as an expression of FTS5. Pure.

The index joins lists of rows fast, and reading an item is slow; so the expression says as exactly as it
can which items pass, and only those are read and measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

__all__ = ["pairs", "quoted", "sharing"]

_MOST_WORDS = 16
"""Words of which combinations are made: the rarest."""


def quoted(word: str) -> str:
    """A word as an expression."""
    return f'"{word}"'


def sharing(words: Sequence[str], weights: Mapping[str, float], need: float) -> str:
    """Items whose shared words can weigh as much as is needed.

    Every item that has words of that weight is found; where the question is long, others may be as well.

    Args:
        words: the question's words that any item has, the heaviest first.
        weights: each word's weight.
        need: what an item's words must weigh together.

    Returns:
        an expression; "" where too many words are of too little weight to say anything.
    """
    heavy = words[:_MOST_WORDS]
    # What the others may add; a hair less, since sums of floats depend on their order.
    least = need * (1 - 1e-9) - sum(weights[word] for word in words[_MOST_WORDS:])
    if least <= 0 < need:
        return ""
    rests = [0.0]
    for word in reversed(heavy):
        rests.insert(0, rests[0] + weights[word])
    depth = 2 if len(heavy) > 8 else len(heavy)
    return _any(heavy, [weights[word] for word in heavy], rests, least, depth)


def _any(
    words: Sequence[str],
    weights: Sequence[float],
    rests: Sequence[float],
    need: float,
    depth: int,
) -> str:
    """One of the words, with enough of those behind it."""
    parts = []
    for at, word in enumerate(words):
        if rests[at] < need:
            break
        if weights[at] >= need or depth < 2:
            parts.append(quoted(word))
            continue
        rest = _any(
            words[at + 1 :], weights[at + 1 :], rests[at + 1 :], need - weights[at], depth - 1
        )
        if rest:
            parts.append(f"({quoted(word)} AND ({rest}))")
    return " OR ".join(parts)


def pairs(rare: Sequence[str], words: Sequence[str]) -> str:
    """Items that have one of the rare words and another one of the question's.

    Args:
        rare: the first of `words`.
        words: the question's words, the rarest first.
    """
    parts = [
        f"({quoted(word)} AND ({' OR '.join(map(quoted, words[at + 1 :]))}))"
        for at, word in enumerate(rare)
        if words[at + 1 :]
    ]
    return " OR ".join(parts)
