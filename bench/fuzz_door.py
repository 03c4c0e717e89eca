"""A fuzzer over the door: random conversations and edits in every wire format, until a list is refused.

    make fuzz                      # for a minute; ARGS="--seconds 3600" for an hour
    make fuzz ARGS="--seed 17 --dialect anthropic --trial session"

The provider's side is `redraft.testing`, whose checks know nothing of `redraft.dialects.rules`. What is
found is printed as the smallest example, with the seed that finds it again. Needs `hypothesis`.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from redraft.testing.rehearsal import MODELS
from redraft.testing.strategies import broken_lists, edit_scripts, requests
from redraft.testing.trials import door_trial, list_trial, session_trial

BATCH = 60
"""Examples of one seed; small enough for a seed to be run again in seconds."""

SETTINGS = settings(
    max_examples=BATCH,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
    print_blob=False,
)

Job = Callable[[], None]


def _nothing(found: Sequence[str]) -> None:
    assert not found, f"refused: {found[0]}"


def door(name: str) -> Job:
    """Scripts at the door."""

    @SETTINGS
    @given(requests(name, max_exchanges=3), edit_scripts(max_size=12))
    def no_list_is_refused(body: Any, script: Any) -> None:
        _nothing(door_trial(name, body, script))

    return no_list_is_refused


def session(name: str) -> Job:
    """Scripts in a whole session; the conversation may come broken off."""
    budgets = st.sampled_from((None, None, 14_000, 9_000))
    bodies = requests(name) | requests(name, legal=False)

    @SETTINGS
    @given(bodies, edit_scripts(min_size=3, max_size=12), budgets)
    def no_list_is_refused(body: Any, script: Any, budget: Any) -> None:
        _nothing(session_trial(name, body, script, budget=budget))

    return no_list_is_refused


def repairs(name: str) -> Job:
    """Damaged lists, repaired."""

    @SETTINGS
    @given(broken_lists(name))
    def no_list_is_refused(messages: Any) -> None:
        _nothing(list_trial(name, messages))

    return no_list_is_refused


JOBS: dict[str, Callable[[str], Job]] = {"door": door, "session": session, "repair": repairs}


def main(arguments: Sequence[str] | None = None) -> int:
    """Fuzz until the time is over or something is found.

    Returns:
        1 where a list was refused, 0 otherwise.
    """
    options = _options().parse_args(arguments)
    names = [options.dialect] if options.dialect else list(MODELS)
    kinds = [options.trial] if options.trial else list(JOBS)
    seeds = count(random.randrange(10**9)) if options.seed is None else [options.seed]
    jobs = {(kind, name): JOBS[kind](name) for kind in kinds for name in names}
    begun, done = time.monotonic(), 0
    for number in seeds:
        for (kind, name), job in jobs.items():
            if time.monotonic() - begun > options.seconds:
                print(f"{done:,} examples in {options.seconds:g} s; nothing was refused.")
                return 0
            if not _passes(job, number):
                print(f"Again: --seed {number} --dialect {name} --trial {kind}")
                return 1
            done += BATCH
    print(f"{done:,} examples of seed {options.seed}; nothing was refused.")
    return 0


def _passes(job: Job, number: int) -> bool:
    """Run one batch; what it finds is printed, smallest example first."""
    try:
        seed(number)(job)()
    except Exception as error:  # whatever goes wrong is what is looked for
        print(*traceback.format_tb(error.__traceback__)[-1:], end="")
        print("".join(traceback.format_exception_only(error)), end="", flush=True)
        return False
    return True


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Look for one list that a provider refuses.")
    parser.add_argument("--seconds", type=float, default=60, help="how long (default: 60)")
    parser.add_argument("--seed", type=int, help="only this seed")
    parser.add_argument("--dialect", choices=sorted(MODELS), help="only this wire format")
    parser.add_argument("--trial", choices=sorted(JOBS), help="only this trial")
    return parser


if __name__ == "__main__":
    sys.exit(main())
