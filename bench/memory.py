"""What a memory costs when it is large: milliseconds a call, by the kind of question.

Items of twelve words from a vocabulary of 20,000, whose words are as unevenly common as those
of a language. The ratio says what ten times as many items cost: it is the same on a slow machine.

    python bench/memory.py [--json] [--items 100000] [--repeat 60] [--ratio]
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from redraft.store.memory import Draft, ItemQuery, SQLiteMemory

__all__ = ["Row", "main", "measure"]

_BATCH = 5_000
_WORDS = 20_000

_QUESTIONS: Mapping[str, tuple[int, float, float]] = {
    # how many words, and between which ranks they are: 0 for the most common, 1 for the rarest
    "3 words": (3, 0.0, 1.0),
    "6 words": (6, 0.0, 1.0),
    "6 rare words": (6, 0.5, 1.0),
    "6 common words": (6, 0.0, 0.4),
    "a message of 25": (25, 0.0, 1.0),
    "a page of 400": (400, 0.0, 1.0),
}


@dataclass(frozen=True, slots=True)
class Row:
    """One operation.

    Attributes:
        name: what was done.
        ms: milliseconds, the median.
        p90: milliseconds that nine of ten stay below.
        slowest: milliseconds of the slowest.
    """

    name: str
    ms: float
    p90: float
    slowest: float


def _text(chance: random.Random, words: int, low: float = 0.0, high: float = 1.0) -> str:
    # Zipf's law, nearly: the rank is the vocabulary's size to the power of an even chance.
    return " ".join(f"w{int(_WORDS ** chance.uniform(low, high))}" for _ in range(words))


def _timed(name: str, repeat: int, work: Callable[[int], object]) -> Row:
    times = []
    for at in range(repeat):
        start = perf_counter()
        work(at)
        times.append(1_000 * (perf_counter() - start))
    times.sort()
    return Row(name, median(times), times[int(0.9 * (repeat - 1))], times[-1])


def _fill(memory: SQLiteMemory, items: int, chance: random.Random) -> None:
    for start in range(0, items, _BATCH):
        memory.add_all(
            Draft(
                _text(chance, 12),
                task_type=f"type{at % 10}",
                tags=(f"tag{at % 50}",),
                session=f"s{at // 100}",
                turn=at % 100,
                at=float(at),
            )
            for at in range(start, min(items, start + _BATCH))
        )


def _searches(memory: SQLiteMemory, items: int, repeat: int, chance: random.Random) -> list[Row]:
    """Each kind of question, then one kind with each condition."""

    def asked(name: str, texts: Sequence[str], **more: Any) -> Row:
        return _timed(name, repeat, lambda at: memory.search(ItemQuery(texts[at], **more)))

    rows = []
    for name, shape in _QUESTIONS.items():
        rows.append(asked(f"search, {name}", [_text(chance, *shape) for _ in range(repeat)]))
    texts = [_text(chance, 6) for _ in range(repeat)]
    return [
        *rows,
        asked("search, type and tag", texts, task_type="type3", tags=("tag3",)),
        asked("search, time", texts, since=0.9 * items),
        asked("search, session", texts, session=f"s{items // 200}"),
    ]


def measure(items: int, repeat: int) -> list[Row]:
    """Every operation on a memory of so many items."""
    chance = random.Random(7)
    with tempfile.TemporaryDirectory() as home, SQLiteMemory(Path(home, "memory.db")) as memory:
        start = perf_counter()
        _fill(memory, items, chance)
        each = 1_000 * (perf_counter() - start) / max(1, items)
        texts = [_text(chance, 6) for _ in range(repeat)]
        return [
            Row("fill, an item", each, each, each),
            *_searches(memory, items, repeat, chance),
            _timed(
                "newest of a type", repeat, lambda _: memory.search(ItemQuery(task_type="type3"))
            ),
            _timed("add", repeat, lambda at: memory.add(Draft(f"{texts[at]} added{at}"))),
            _timed("forget", min(repeat, 5), lambda at: memory.forget([at + 1])),
        ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--items", type=int, default=100_000, help="items in the memory")
    parser.add_argument("--repeat", type=int, default=60, help="times that each is done")
    parser.add_argument(
        "--ratio", action="store_true", help="compare with a tenth of the items, too"
    )
    options = parser.parse_args(arguments)
    rows = measure(options.items, options.repeat)
    ratios: dict[str, float] = {}
    if options.ratio:
        fewer = measure(options.items // 10, options.repeat)
        ratios = {row.name: row.ms / less.ms for row, less in zip(rows, fewer, strict=True)}
    if options.json:
        document = {
            "items": options.items,
            "rows": [asdict(row) for row in rows],
            "ratios": ratios,
        }
        print(json.dumps(document, indent=2))
        return 0
    print(f"{'':26}{'ms':>8}{'p90':>9}{'slowest':>10}{'ratio' if ratios else '':>8}")
    for row in rows:
        ratio = f"{ratios[row.name]:8.1f}" if ratios else ""
        print(f"{row.name:26}{row.ms:8.2f}{row.p90:9.2f}{row.slowest:10.2f}{ratio}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
