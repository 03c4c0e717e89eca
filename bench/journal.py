"""What a journal on disk costs: milliseconds a round, bytes, memory, and the time to take a run up again.

A round has one call with 2 KB of output; every twenty-fifth also tidies the context by tool. The time of a
round with the journal on disk is set against the same rounds with one in memory; text is random words, so
it packs worse than real output does.

    python bench/journal.py [--json] [--rounds 2000] [--step 200]
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from statistics import median
from time import perf_counter, process_time
from typing import Any

from redraft import Session
from redraft.session import ToolCall
from redraft.store import Journal, Pinned, SQLiteJournal, VolatileJournal

__all__ = ["Report", "Row", "main", "measure"]

_HEAD = (
    {"role": "system", "content": "You are an agent."},
    {"role": "user", "content": "Do the task."},
)
_WORDS = tuple(f"{Random(at).getrandbits(24):x}" for at in range(2_000))
_TIDY = 25
_COMMITS = 400


@dataclass(frozen=True, slots=True)
class Row:
    """One stretch of rounds.

    Attributes:
        rounds: how many rounds there were when it ended.
        ms, cpu: milliseconds a round, and of them those that the processor worked.
        ms_in_memory, cpu_in_memory: the same with a journal in memory.
        bytes: what the journal took when it ended.
        rss: the process's peak memory by then, both sessions and the vocabulary included, in megabytes.
    """

    rounds: int
    ms: float
    cpu: float
    ms_in_memory: float
    cpu_in_memory: float
    bytes: int
    rss: int


@dataclass(frozen=True, slots=True)
class Report:
    """All rows, and what it takes to go on from the file.

    Attributes:
        rows: one a stretch.
        ratio, ratio_in_memory: the processor's time a round in the last stretch to that in the first.
        commit: milliseconds that one durable entry takes, the median of many.
        bytes_a_thousand: bytes that 1,000 rounds take.
        read: seconds to read every entry.
        resume: seconds to take the session up again.
    """

    rows: tuple[Row, ...]
    ratio: float
    ratio_in_memory: float
    commit: float
    bytes_a_thousand: int
    read: float
    resume: float


def measure(rounds: int, step: int) -> Report:
    """Run a session of so many rounds twice, with a journal on disk and in memory."""
    with tempfile.TemporaryDirectory() as place:
        run = Path(place, "run")
        path = run / "journal.db"
        rows: list[Row] = []
        with SQLiteJournal(run) as journal:
            on_disk, in_memory = _stretches(journal, step), _stretches(VolatileJournal(), step)
            for at in range(step, rounds + 1, step):
                (ms, cpu), (ms_plain, cpu_plain) = next(on_disk), next(in_memory)
                size = sum(file.stat().st_size for file in run.iterdir())
                rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
                rows.append(Row(at, ms, cpu, ms_plain, cpu_plain, size, rss))
        begin = perf_counter()
        with SQLiteJournal(run, write=False) as reader:
            sum(1 for _ in reader.entries())
        read = perf_counter() - begin
        size = path.stat().st_size * 1_000 // max(rows[-1].rounds, 1)
        begin = perf_counter()
        with SQLiteJournal(run) as journal, closing(Session.resume(journal)):
            resume = perf_counter() - begin
        first, last = rows[0], rows[-1]
        return Report(
            tuple(rows),
            last.cpu / first.cpu,
            last.cpu_in_memory / first.cpu_in_memory,
            _commit(Path(place, "commits")),
            size,
            read,
            resume,
        )


def _commit(run: Path) -> float:
    """Milliseconds of one durable entry that holds next to nothing."""
    took: list[float] = []
    with SQLiteJournal(run) as journal:
        for number in range(_COMMITS):
            begin = perf_counter()
            journal.record(Pinned(frozenset({number})))
            took.append((perf_counter() - begin) * 1_000)
    return median(took)


def _stretches(journal: Journal, step: int) -> Iterator[tuple[float, float]]:
    """Milliseconds a round, in all and of the processor, for one stretch of rounds after another."""
    random = Random(0)
    with Session(_HEAD, interface="tool", budget=120_000, journal=journal) as session:
        number = 0
        while True:
            begin, worked = perf_counter(), process_time()
            for _ in range(step):
                number += 1
                _round(session, random, number)
            yield (
                (perf_counter() - begin) * 1_000 / step,
                (process_time() - worked) * 1_000 / step,
            )


def _round(session: Session, random: Random, number: int) -> None:
    calls = [_call("bash", f"look_{number}", command=f"look {number} {_text(random, 20)}")]
    if number % _TIDY == 0:
        turns = session.live.editable()
        edit = {"turn": turns[0].number, "through": turns[-8].number, "text": _text(random, 100)}
        calls.append(_call("edit_context", f"tidy_{number}", edits=[edit]))
    session.request()
    with session.answer() as answer:
        answer({"role": "assistant", "content": _text(random, 30), "tool_calls": calls})
    with session.round() as now:
        call: ToolCall
        for call in now.calls:
            now.result(call, _text(random, 300))


def _call(name: str, key: str, **arguments: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"id": key, "type": "function", "function": function}


def _text(random: Random, words: int) -> str:
    return " ".join(random.choice(_WORDS) for _ in range(words))


def _table(report: Report) -> str:
    lines = [
        f"{'rounds':>7}{'ms':>8}{'cpu':>8}{'in memory':>11}{'cpu':>8}{'MB on disk':>12}{'MB rss':>8}"
    ]
    lines += [
        f"{row.rounds:>7,}{row.ms:>8.2f}{row.cpu:>8.2f}{row.ms_in_memory:>11.2f}"
        f"{row.cpu_in_memory:>8.2f}{row.bytes / 1e6:>12.1f}{row.rss:>8,}"
        for row in report.rows
    ]
    lines.append(
        f"{report.bytes_a_thousand / 1e6:.1f} MB for 1,000 rounds; all of it read in {report.read:.2f} s, "
        f"taken up again in {report.resume:.2f} s\n"
        f"the last stretch to the first: {report.ratio:.2f} (in memory {report.ratio_in_memory:.2f}); "
        f"one durable entry {report.commit:.2f} ms"
    )
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--rounds", type=int, default=2_000, help="rounds in all")
    parser.add_argument("--step", type=int, default=200, help="rounds a row")
    given = parser.parse_args(arguments)
    report = measure(given.rounds, given.step)
    print(json.dumps(asdict(report)) if given.json else _table(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
