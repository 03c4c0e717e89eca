"""How texts are compared in a memory: their words, and whether two of them say the same. Pure."""

from __future__ import annotations

import hashlib
import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from itertools import pairwise

from redraft.policies.audit import exact_values

__all__ = ["bands", "idf", "most_relevance", "relevance", "says_all_of", "terms", "values"]

NEAR = 0.7
"""The share of the longer text's words that the other has too, where the two say the same."""

_WORD = re.compile(r"[^\W_]+")
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_FIGURE = re.compile(r"[^\s\"'`(){}\[\]<>,;]*\d[^\s\"'`(){}\[\]<>,;]*")
_LONGEST = 64

# Words that nearly every sentence has. Those that turn a sentence round (not, never, no, without) stay.
_COMMON = frozenset(
    (
        *(
            "a",
            "an",
            "and",
            "are",
            "as",
            "at",
            "be",
            "been",
            "but",
            "by",
            "can",
            "could",
            "did",
            "do",
        ),
        *(
            "does",
            "for",
            "from",
            "had",
            "has",
            "have",
            "he",
            "her",
            "his",
            "how",
            "i",
            "if",
            "in",
            "into",
        ),
        *(
            "is",
            "it",
            "its",
            "me",
            "my",
            "of",
            "on",
            "or",
            "our",
            "she",
            "should",
            "so",
            "than",
            "that",
        ),
        *(
            "the",
            "their",
            "them",
            "then",
            "there",
            "these",
            "they",
            "this",
            "those",
            "to",
            "us",
            "was",
        ),
        *(
            "we",
            "were",
            "what",
            "when",
            "where",
            "which",
            "who",
            "why",
            "will",
            "with",
            "would",
            "you",
        ),
        "your",
    )
)
_TURNING = frozenset(
    (
        *("not", "no", "never", "without", "cannot", "nor", "neither", "none", "unless", "except"),
        *("t", "dont", "doesnt", "isnt"),  # the end of "don't"
    )
)
_SIGNS = frozenset("#?%&")
_SLICES = 8


def _folded(text: str) -> str:
    parted = unicodedata.normalize("NFKD", text.casefold())
    return "".join(one for one in parted if not unicodedata.combining(one))


def _stem(word: str) -> str:
    """A word without its plural: light, since a wrong stem joins what is not the same."""
    if not word.isascii() or len(word) < 4 or any(one.isdigit() for one in word):
        return word
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    return word[:-1] if word.endswith("s") and word[-2] not in "suia" else word


def _parts(word: str) -> Sequence[str]:
    # Scripts without blanks: pairs of neighbours stand for the words.
    if len(word) > 2 and _WIDE.search(word):
        return [first + second for first, second in pairwise(word)]
    return (_stem(word)[:_LONGEST],)


def _all_terms(text: str) -> list[str]:
    return [part for word in _WORD.findall(_folded(text)) for part in _parts(word)]


def terms(text: str) -> list[str]:
    """The words of a text by which it is found: folded, singular, without those that every text has.

    Args:
        text: any text.

    Returns:
        the words in their order, with repeats.
    """
    return [word for word in _all_terms(text) if word not in _COMMON]


def values(text: str) -> frozenset[str]:
    """What of a text must survive word for word: addresses, paths, identifiers, and all with a digit."""
    figures = {found.strip(".:!?") for found in _FIGURE.findall(text)}
    return frozenset(figures | set(exact_values(text)))


def _signs(text: str) -> list[str]:
    """What says something and is no word: `<`, `+`, currencies, arrows, pictures, a question mark."""
    return [one for one in text if one in _SIGNS or unicodedata.category(one) in ("Sm", "Sc", "So")]


def says_all_of(text: str, other: str) -> bool:
    """Whether `text` may stand for `other`, so that one of the two is enough.

    It has every word and every exact value of the other, in the same order, turns the sentence round
    where the other does and nowhere else, has the same signs, and is not about much besides.
    """
    mine, theirs = _all_terms(text), _all_terms(other)
    kept, asked = set(mine), set(theirs)
    if not asked <= kept or not values(other) <= values(text):
        return False
    if [word for word in mine if word in _TURNING] != [word for word in theirs if word in _TURNING]:
        return False
    if _signs(text) != _signs(other):
        return False
    rest = iter(terms(text))
    in_order = all(word in rest for word in terms(other))
    return in_order and len(asked) >= NEAR * len(kept)


def bands(text: str) -> frozenset[int]:
    """Keys of which texts with mostly the same words share at least one, nearly always.

    Min-hashes (Broder 1997): each of the eight agrees with the chance of the Jaccard likeness, so at 0.7
    all differ once in 15,000. Texts with just the same words share all of them.
    """
    digests = [
        hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=4 * _SLICES).digest()
        for word in set(_all_terms(text)) or {text.strip()}
    ]
    least = (min(one[4 * at : 4 * at + 4] for one in digests) for at in range(_SLICES))
    return frozenset(at << 32 | int.from_bytes(one) for at, one in enumerate(least))


def idf(items: int, having: int) -> float:
    """The weight of a word that `having` of so many items have: smoothed, at least 1.

    BM25's own weight goes to 0 for what every item of a small memory has, and those words count as well.
    """
    return 1 + math.log((1 + items) / (1 + having))


def relevance(asked: Mapping[str, float], found: Mapping[str, float]) -> float:
    """How far an item supports what is asked, from 0 to 1.

    The weighed share of the question's words that the item has. A question may be a whole page; so the
    weighed share of the item's words that the question has counts as well, where at least two of them meet.

    Args:
        asked: the question's words, each with its weight.
        found: the item's words, each with its weight.
    """
    shared = asked.keys() & found.keys()
    if not shared:
        return 0.0
    # fsum does not depend on the order, so that a value is the same in every process.
    covered = math.fsum(asked[word] for word in shared) / math.fsum(asked.values())
    if len(shared) < 2:
        return min(1.0, covered)
    meant = math.fsum(found[word] for word in shared) / math.fsum(found.values())
    return min(1.0, max(covered, meant))


def most_relevance(asked: Mapping[str, float], found: frozenset[str]) -> float:
    """What the relevance of an item is at most, without the weights of its own words: none is below 1."""
    shared = asked.keys() & found
    if not shared:
        return 0.0
    weight = math.fsum(asked[word] for word in shared)
    covered = weight / math.fsum(asked.values())
    return max(covered, weight / (weight + len(found) - len(shared)) if len(shared) > 1 else 0.0)
