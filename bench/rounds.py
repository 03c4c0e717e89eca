"""Milliseconds that redraft takes in a round, by the context's size, with and without an edit.

A round is: the request is made, a canned reply is read, the context file is brought up to date, a
command prints four lines, the file is read back, and the result is counted, gated and appended. The
command's own time is left out. A round behind an edit also writes the file anew, and so that cost
is in the figures: every round of the edited series has an edit before it.

Compare figures of one run only: the last lines do (largest size / 32K).

    python bench/rounds.py [--json] [--sizes 8000,32000] [--repeat 15] [--profile none|early|late]
"""

from __future__ import annotations

import argparse
import cProfile
import json
import pstats
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median

from redraft.tokens import Meter
from world import PHASES, World

__all__ = ["EDITS", "Row", "main", "measure", "ratio"]

SIZES = (8_000, 32_000, 128_000, 512_000, 1_000_000)
EDITS: Mapping[str, float | None] = {"none": None, "early": 0.1, "late": 0.95}
"""Where the command edits the file: nowhere, a tenth of the way in, or close to its end."""

_BASE = 32_000
_WARM_UP = 2
_GROWTH = 240  # tokens that a round adds


@dataclass(frozen=True, slots=True)
class Row:
    """The medians of one series of rounds.

    Attributes:
        size: tokens asked for.
        tokens: raw tokens of the context before the first measured round; each adds about 240.
        turns: its turns.
        edit: a key of `EDITS`.
        ms: milliseconds a round.
        cpu: milliseconds of it that the processor worked; what is left went to waiting, on a busy
            machine mostly for the processor.
        slowest: milliseconds of the slowest round.
        phases: milliseconds of each part.
    """

    size: int
    tokens: int
    turns: int
    edit: str
    ms: float
    cpu: float
    slowest: float
    phases: dict[str, float]


def measure(size: int, edit: str, repeat: int, meter: Meter) -> Row:
    """Run a series of rounds, in a world of its own that has about `size` tokens before the first."""
    world = World(size - _GROWTH * _WARM_UP, meter)
    try:
        for _ in range(_WARM_UP):
            world.round(EDITS[edit])
        live = world.session.live
        rounds = [world.round(EDITS[edit]) for _ in range(repeat)]
    finally:
        world.close()
    totals = [sum(spent[phase] for phase in PHASES) / 1e6 for spent in rounds]
    cpu = median(spent["cpu"] / 1e6 for spent in rounds)
    phases = {phase: median(spent[phase] / 1e6 for spent in rounds) for phase in PHASES}
    return Row(size, live.tokens, len(live.turns), edit, median(totals), cpu, max(totals), phases)


def ratio(rows: Sequence[Row], edit: str) -> float | None:
    """How much more the processor works in a round at the largest size than at 32K; None without
    both. Its time is compared, since waiting depends on what else the machine does."""
    by_size = {row.size: row.cpu for row in rows if row.edit == edit}
    if _BASE not in by_size or max(by_size) == _BASE:
        return None
    return by_size[max(by_size)] / by_size[_BASE]


def _table(rows: Sequence[Row]) -> str:
    lines = [
        f"{'edit':<6}{'tokens':>11}{'turns':>7}{'ms a round':>12}{'cpu':>8}{'slowest':>9}   of which"
    ]
    for row in rows:
        parts = "  ".join(f"{phase} {ms:.2f}" for phase, ms in row.phases.items())
        lines.append(
            f"{row.edit:<6}{row.tokens:>11,}{row.turns:>7,}{row.ms:>12.2f}{row.cpu:>8.2f}"
            f"{row.slowest:>9.2f}   {parts}"
        )
    for edit in EDITS:
        times = ratio(rows, edit)
        if times is not None:
            largest = max(row.size for row in rows)
            lines.append(
                f"{edit:<6}{largest:,} against {_BASE:,} tokens: {times:.1f} times the cpu"
            )
    return "\n".join(lines)


def _profile(size: int, edit: str, repeat: int, meter: Meter) -> None:
    world = World(size, meter)
    profile = cProfile.Profile()
    for _ in range(_WARM_UP):
        world.round(EDITS[edit])
    profile.enable()
    for _ in range(repeat):
        world.round(EDITS[edit])
    profile.disable()
    world.close()
    pstats.Stats(profile).sort_stats("tottime").print_stats(25)


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    parser.add_argument(
        "--sizes",
        type=lambda text: [int(size) for size in text.split(",")],
        default=list(SIZES),
        help="tokens of the contexts, with commas between them",
    )
    parser.add_argument("--repeat", type=int, default=15, help="rounds in a series")
    parser.add_argument(
        "--profile", choices=tuple(EDITS), help="show where the time goes at the largest size"
    )
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    asked = _arguments(arguments)
    meter = Meter()
    meter.text("The vocabulary is loaded before anything is measured.")
    if asked.profile:
        _profile(max(asked.sizes), asked.profile, asked.repeat, meter)
        return
    rows = []
    for edit in EDITS:
        for size in asked.sizes:
            print(f"{edit} at {size:,} tokens ...", file=sys.stderr)
            rows.append(measure(size, edit, asked.repeat, meter))
    if asked.json:
        ratios = {edit: ratio(rows, edit) for edit in EDITS}
        print(json.dumps({"rows": [asdict(row) for row in rows], "ratios": ratios}, indent=2))
    else:
        print(_table(rows))


if __name__ == "__main__":
    main()
