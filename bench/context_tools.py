"""What the context tools cost beside a long session: milliseconds a call, by the number of results.

A session of 10,000 results in as many rounds, and then the same with every result spilled; counts are by
characters, so the figures are those of the tools and not of a tokenizer. `put` writes a body of 20 KB to
the overflow store on disk. The rows `session` go through a `Session` with a journal in memory: a status as
the model calls it, and what is done before each request to see whether the tools are due.

    python bench/context_tools.py [--json] [--results 10000] [--repeat 15]
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from redraft import Session
from redraft.context import Change, Commit, Live, Origin, Revision, commit
from redraft.dialects import OpenAIChat
from redraft.dialects.stubs import OverflowStub
from redraft.store import SQLiteOverflow
from redraft.tokens import Meter
from redraft.tools import DropIntent, PinBoard, PinIntent, revision_of, status_text

__all__ = ["Row", "main", "measure"]

_CHAT = OpenAIChat()


class _Letters:
    def count(self, text: str) -> int:
        return len(text) // 4


@dataclass(frozen=True, slots=True)
class Row:
    """One operation.

    Attributes:
        name: what was done.
        ms: milliseconds, the median.
        fastest: milliseconds of the fastest, which says most on a busy machine.
    """

    name: str
    ms: float
    fastest: float


def _messages(results: int) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "task"}]
    for at in range(results):
        name, function = f"call_{at}", {"name": "bash", "arguments": "{}"}
        call = {"id": name, "type": "function", "function": function}
        body = f"out {at} " * (100 + at % 50)
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": name, "content": body})
    messages.append({"role": "assistant", "content": "done"})
    return messages


def _live(results: int) -> Live:
    frame, contents = _CHAT.split({"messages": _messages(results)})
    return Live.start(_CHAT, Meter(_Letters()), frame, contents)


def _session(results: int) -> Session:
    """A session that is about to ask, and has the tools already."""
    messages = [*_messages(results), {"role": "user", "content": "free up your context"}]
    budget, meter = 10**8, Meter(_Letters())
    session = Session(
        messages, interface="context-tools", budget=budget, window=budget, meter=meter
    )
    session.request()
    return session


def _spilled(live: Live) -> Live:
    changes = []
    for turn in live.turns:
        if turn.role == "tool":
            stub = OverflowStub.of(turn.content.text, "bash", turn.content.answers or "")
            content = _CHAT.write(turn.content, stub.line, (), ())
            changes.append(Change(turn.number, turn.digest, live.draft(content, Origin.HARNESS)))
    answer = commit(live, Revision("policy", "pressure", tuple(changes)), 10**12)
    assert isinstance(answer, Commit)
    return answer.live


def _timed(name: str, repeat: int, work: Callable[[int], object]) -> Row:
    times = []
    for at in range(repeat):
        start = perf_counter()
        work(at)
        times.append(1_000 * (perf_counter() - start))
    return Row(name, median(times), min(times))


def measure(results: int, repeat: int) -> list[Row]:
    """Every operation on a session with so many results."""
    live, board = _live(results), PinBoard()
    stubs = _spilled(live)
    newest = DropIntent((f"call_{results - 1}",))
    quoted = PinIntent((), f"out {results // 2} out {results // 2}")
    rows = [
        _timed("status", repeat, lambda _: status_text(live, board, window=10**6, top=30)),
        _timed("status, all spilled", repeat, lambda _: status_text(stubs, board, window=10**6)),
        _timed("drop", repeat, lambda _: revision_of(newest, live, board)),
        _timed("pin by snippet", repeat, lambda _: revision_of(quoted, live, board)),
    ]
    with tempfile.TemporaryDirectory() as home, SQLiteOverflow(Path(home, "overflow.db")) as store:
        store.put("")
        rows.append(_timed("put", repeat, lambda at: store.put(f"line {at} of an output\n" * 900)))
    with _session(results) as session:
        before = session._engine.toolsets[1].before
        rows += [
            _timed(
                "session: status",
                repeat,
                lambda _: session.context_tool("context_status", {"top": 30}),
            ),
            _timed("session: before a request", repeat, lambda _: before()),
        ]
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--results", type=int, default=10_000, help="results in the session")
    parser.add_argument("--repeat", type=int, default=15, help="times that each is done")
    options = parser.parse_args(arguments)
    rows = measure(options.results, options.repeat)
    if options.json:
        print(
            json.dumps(
                {"results": options.results, "rows": [asdict(row) for row in rows]}, indent=2
            )
        )
        return 0
    print(f"{'':28}{'ms':>8}{'fastest':>10}")
    for row in rows:
        print(f"{row.name:28}{row.ms:8.2f}{row.fastest:10.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
