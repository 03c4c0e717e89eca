"""What a memory costs when it is large: milliseconds a call, by the number of items.

Items of twelve words from a vocabulary of 20,000, whose words are as unevenly common as those
of a language; questions of six.

    python bench/memory.py [--json] [--items 100000] [--repeat 30]
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from time import perf_counter

from redraft.store.memory import SQLiteMemory
from redraft.store.memory_base import Draft, ItemQuery

__all__ = ["Row", "main", "measure"]

_BATCH = 5_000
_WORDS = 20_000


@dataclass(frozen=True, slots=True)
class Row:
    """One operation.

    Attributes:
        name: what was done.
        ms: milliseconds, the median.
        slowest: milliseconds of the slowest.
    """

    name: str
    ms: float
    slowest: float


def _text(chance: random.Random, words: int) -> str:
    # Zipf's law, nearly: the rank is the vocabulary's size to the power of an even chance.
    return " ".join(f"w{int(_WORDS ** chance.random())}" for _ in range(words))


def _timed(name: str, repeat: int, work: Callable[[int], object]) -> Row:
    times = []
    for at in range(repeat):
        start = perf_counter()
        work(at)
        times.append(1_000 * (perf_counter() - start))
    return Row(name, median(times), max(times))


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


def measure(items: int, repeat: int) -> list[Row]:
    """Every operation on a memory of so many items."""
    chance = random.Random(7)
    asked = [_text(chance, 6) for _ in range(repeat)]
    late = 0.9 * items
    with tempfile.TemporaryDirectory() as home, SQLiteMemory(Path(home, "memory.db")) as memory:
        filling = _timed("fill, an item", 1, lambda _: _fill(memory, items, chance))
        return [
            Row(filling.name, filling.ms / max(1, items), filling.slowest / max(1, items)),
            _timed("search", repeat, lambda at: memory.search(ItemQuery(asked[at]))),
            _timed(
                "search, type and tag",
                repeat,
                lambda at: memory.search(ItemQuery(asked[at], "type3", tags=("tag3",))),
            ),
            _timed(
                "search, time", repeat, lambda at: memory.search(ItemQuery(asked[at], since=late))
            ),
            _timed(
                "newest of a type", repeat, lambda _: memory.search(ItemQuery(task_type="type3"))
            ),
            _timed("add", repeat, lambda at: memory.add(Draft(f"{asked[at]} added{at}"))),
        ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--items", type=int, default=100_000, help="items in the memory")
    parser.add_argument("--repeat", type=int, default=30, help="times that each is done")
    options = parser.parse_args(arguments)
    rows = measure(options.items, options.repeat)
    if options.json:
        document = {"items": options.items, "rows": [asdict(row) for row in rows]}
        print(json.dumps(document, indent=2))
        return 0
    print(f"{'':24}{'ms':>8}{'slowest':>10}")
    for row in rows:
        print(f"{row.name:24}{row.ms:8.2f}{row.slowest:10.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
