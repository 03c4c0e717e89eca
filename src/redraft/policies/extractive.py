"""The built-in summarizer: it picks pieces of the text, word for word, and makes up nothing.

Budgeted coverage: each word that carries meaning is worth the logarithm of how often it stands, once; each
exact value is worth more. Pieces are taken by what they add for each token (the lazy greedy algorithm for
submodular gains: Lin and Bilmes 2010, Leskovec and others 2007), and stand in their old order. No model,
no network, and the same answer every time.
"""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import log

from redraft.policies.audit import exact_values
from redraft.policies.units import Unit, units

__all__ = ["extract"]

_WORD = re.compile(r"\w{3,}")
_COMMON = frozenset(
    _WORD.findall(
        "the and for that this with are was not you but have has had from they will would there their"
        " what which when your can its into than then them been were also more some out one all about"
        " user assistant tool called"
    )
)
_EXACT = 4.0
"""What an exact value is worth, in words that stand about fifty times."""
_ASKED = 2.0
"""What a piece's wording adds where it states a constraint or what is left to do."""
_MOST_UNITS = 4_000
"""Pieces that are weighed; of longer texts the newest, and the first hundred."""

_CUES: Mapping[str, re.Pattern[str]] = {
    "constraints": re.compile(
        r"\b(?:must|never|always|do not|don't|cannot|may not|only|no more than|constraints?)\b",
        re.IGNORECASE,
    ),
    "pending": re.compile(
        r"\b(?:todo|to do|next|pending|remaining|awaiting|not yet|still|then i|will|should)\b",
        re.IGNORECASE,
    ),
    "goals": re.compile(
        r"^user:|\b(?:goal|task|objective|want|need|please|aim)s?\b", re.IGNORECASE
    ),
}


@dataclass(frozen=True, slots=True)
class _Piece:
    at: int
    text: str
    cost: int
    words: frozenset[str]
    extra: float


def extract(
    text: str, max_tokens: int, count: Callable[[str], int], sections: Sequence[str] = ()
) -> str:
    """Summarize by picking pieces.

    Args:
        text: what to summarize.
        max_tokens: how long the summary may be, as `count` counts.
        count: tokens of a text, e.g. `Meter.text`.
        sections: headings under which the pieces are sorted; in order of the text without them.

    Returns:
        the summary, never longer than `max_tokens`; "" where not even one word fits.
    """
    if count(text) <= max_tokens and not sections:
        return text
    pieces = [_piece(at, unit, count) for at, unit in enumerate(_weighed(text))]
    room = max_tokens - sum(count(f"## {name}\n\n") for name in sections)
    picked = _picked(pieces, room)
    while picked:
        written = _written(sorted(picked, key=lambda piece: piece.at), sections)
        if count(written) <= max_tokens:
            return written
        picked.pop()  # picked last: it adds least
    return "" if sections else _opening(text, max_tokens, count)


def _weighed(text: str) -> list[Unit]:
    found = list(units(text))
    return found if len(found) <= _MOST_UNITS else found[:100] + found[100 - _MOST_UNITS :]


def _piece(at: int, unit: Unit, count: Callable[[str], int]) -> _Piece:
    words = frozenset(word.lower() for word in _WORD.findall(unit.text)) - _COMMON
    exact = frozenset(exact_values(unit.text))
    asked = any(_CUES[name].search(unit.text) for name in ("constraints", "pending"))
    # The line break and the dash of a list cost about two tokens.
    return _Piece(at, unit.text, count(unit.text) + 2, words | exact, _ASKED * asked)


def _picked(pieces: Sequence[_Piece], room: int) -> list[_Piece]:
    """The pieces that cover most for their tokens, best first."""
    often = Counter(word for piece in pieces for word in piece.words)
    worth = {word: log(1 + n) + _EXACT * bool(exact_values(word)) for word, n in often.items()}
    covered: set[str] = set()

    def gain(piece: _Piece) -> float:
        fresh = piece.words - covered
        # A sum in fixed order: sets have none.
        return (sum(sorted(worth[word] for word in fresh)) + piece.extra * bool(fresh)) / piece.cost

    heap = [(-gain(piece), piece.at) for piece in pieces if piece.cost <= room]
    heapq.heapify(heap)
    by_place = {piece.at: piece for piece in pieces}
    picked: list[_Piece] = []
    while heap:
        _, at = heapq.heappop(heap)
        piece = by_place[at]
        now = -gain(piece)
        if heap and now > heap[0][0]:  # others cover it by now: weigh it again later
            heapq.heappush(heap, (now, at))
        elif now < 0 and piece.cost <= room:
            picked.append(piece)
            covered |= piece.words
            room -= piece.cost
    return picked


def _written(picked: Sequence[_Piece], sections: Sequence[str]) -> str:
    if not sections:
        return "\n".join(piece.text for piece in picked)
    sorted_in: dict[str, list[str]] = {name: [] for name in sections}
    for piece in picked:
        sorted_in[_section(piece.text, sections)].append(f"- {piece.text}")
    return "\n".join(
        f"## {name}\n{chr(10).join(lines) or '-'}" for name, lines in sorted_in.items()
    )


def _section(text: str, sections: Sequence[str]) -> str:
    """The heading that a piece belongs under: by its wording, else `Facts`, else the last."""
    for cue, pattern in _CUES.items():
        for name in sections:
            if name.lower().startswith(cue) and pattern.search(text):
                return name
    return next((name for name in sections if name.lower().startswith("fact")), sections[-1])


def _opening(text: str, max_tokens: int, count: Callable[[str], int]) -> str:
    """The first words of the first prose, where no piece fits as a whole."""
    prose = next((unit.text for unit in units(text) if not unit.structured), "")
    words = prose.split(" ")[: max(max_tokens, 0)]
    while words and count(" ".join(words)) > max_tokens:
        words.pop()
    return " ".join(words)
