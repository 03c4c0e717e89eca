"""A task that nobody can finish without tidying up: read a long log, report every open alert.

The log comes in parts, about eight times what the context may hold. Alerts carry references that must
be reported letter by letter; some are withdrawn later. There is nothing to work out: whoever keeps
the right lines in the context answers perfectly. Seeded and deterministic.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

__all__ = ["AlertTask", "Grade", "make_alert_task"]

_SERVICES = ("billing", "search", "gateway", "mailer", "ledger", "inventory", "auth", "export")
_VERBS = ("served", "queued", "retried", "cached", "flushed", "opened", "closed", "moved")
_LINES = 36


@dataclass(frozen=True, slots=True)
class Grade:
    """How well an answer did.

    Attributes:
        right: open alerts that it names, letter by letter.
        wrong: references that it names and that are no open alert.
        expected: open alerts that there are.
    """

    right: int
    wrong: int
    expected: int

    @property
    def score(self) -> float:
        """The share of right ones; a wrong one counts against it."""
        return self.right / (self.expected + self.wrong)


@dataclass(frozen=True, slots=True)
class AlertTask:
    """The task's words, its files and its truth.

    Attributes:
        prompt: what the model is asked.
        parts: the log, part by part.
        open: the references that a perfect answer names.
    """

    prompt: str
    parts: tuple[str, ...]
    open: frozenset[str]

    def write(self, directory: Path) -> None:
        """Write the log's parts into `directory`."""
        for number, text in enumerate(self.parts, 1):
            (directory / f"part-{number:02}.log").write_text(text, encoding="utf-8")

    def grade(self, answer: str) -> Grade:
        """Compare an answer's references with the truth."""
        named = {word for word in answer.split() if word.startswith("ref=")}
        return Grade(len(named & self.open), len(named - self.open), len(self.open))


def make_alert_task(parts: int = 62, seed: int = 1) -> AlertTask:
    """Make a task.

    Args:
        parts: how many parts the log has; each is about 1,300 tokens (o200k).
        seed: the same seed gives the same task.
    """
    rng = random.Random(seed)
    texts: list[str] = []
    alive: list[str] = []
    for _ in range(parts):
        lines = [_noise(rng) for _ in range(_LINES)]
        for place in sorted(rng.sample(range(_LINES), rng.choice((0, 1, 1, 2)))):
            ref = f"ref={_hex(rng, 12)}"
            lines[place] = f"{_time(rng)} ALERT {rng.choice(_SERVICES)} {ref} owner={_hex(rng, 4)}"
            alive.append(ref)
        if len(alive) > 6 and rng.random() < 0.25:
            gone = alive.pop(rng.randrange(len(alive) - 4))
            lines.append(f"{_time(rng)} WITHDRAWN {gone}")
        texts.append("\n".join(lines) + "\n")
    return AlertTask(_prompt(parts), tuple(texts), frozenset(alive))


def _prompt(parts: int) -> str:
    return (
        f"The log of last night lies in the current directory: part-01.log to part-{parts:02}.log. "
        "Read the parts one at a time and in order, each with `cat`. Report every alert that is "
        "still open at the end: an ALERT line opens one, a WITHDRAWN line with the same reference "
        "closes it. Answer with one line for each open alert that holds its reference (`ref=...`) "
        "exactly as in the log, and nothing else."
    )


def _noise(rng: random.Random) -> str:
    return (
        f"{_time(rng)} INFO {rng.choice(_SERVICES)} {rng.choice(_VERBS)} request {_hex(rng, 16)} "
        f"in {rng.randrange(3, 900)} ms for tenant {_hex(rng, 6)} via node-{rng.randrange(1, 99)}"
    )


def _time(rng: random.Random) -> str:
    return f"{rng.randrange(24):02}:{rng.randrange(60):02}:{rng.randrange(60):02}.{rng.randrange(1000):03}"


def _hex(rng: random.Random, digits: int) -> str:
    return f"{rng.getrandbits(4 * digits):0{digits}x}"
