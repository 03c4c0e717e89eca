"""All measurements, one after the other: `python bench [--json]`.

With `--json` they are one document, by the names of their programs. Progress goes to standard error.
"""

from __future__ import annotations

import argparse
import io
import json
import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout

import bench_cost
import context_tools
import journal
import memory
import rounds

__all__ = ["main"]

_ALL: Mapping[str, Callable[[list[str]], object]] = {
    "rounds": rounds.main,
    "cost": bench_cost.main,
    "journal": journal.main,
    "context_tools": context_tools.main,
    "memory": memory.main,
}


def main(arguments: list[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python bench", description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    if not parser.parse_args(arguments).json:
        for name, measure in _ALL.items():
            print(f"\n# {name}\n", flush=True)
            measure([])
        return 0
    print(json.dumps({name: _figures(measure) for name, measure in _ALL.items()}, indent=2))
    return 0


def _figures(measure: Callable[[list[str]], object]) -> object:
    said = io.StringIO()
    with redirect_stdout(said):
        measure(["--json"])
    return json.loads(said.getvalue())


if __name__ == "__main__":
    sys.exit(main())
