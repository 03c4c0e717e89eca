"""A task for the context tools: bill what the rules say, from parts that can be read only once.

The rules are read first and needed to the end. Parts are shredded as they are read, so what leaves the
context can only come back from the overflow store, and the last part asks for a detail of an early one.
There is nothing to work out: whoever keeps the right results answers perfectly. Seeded and deterministic.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field
from pathlib import Path

from redraft.testing.alerts import Grade

__all__ = ["TicketDesk", "TicketTask", "make_ticket_task"]

_CODES = 12
_LINES = 60
_TAKE = '#!/bin/sh\nname="part-$1.log"\ncat "$name" && rm "$name"\n'


@dataclass(frozen=True, slots=True)
class TicketTask:
    """The task's words, its files and its truth.

    Attributes:
        prompt: what the model is asked.
        rules: which codes are billed.
        parts: the log, part by part.
        wanted: what a perfect answer names.
    """

    prompt: str
    rules: str
    parts: tuple[str, ...]
    wanted: frozenset[str]

    def write(self, directory: Path) -> None:
        """Write the rules, the parts, and the command that shreds them into `directory`."""
        (directory / "rules.txt").write_text(self.rules, encoding="utf-8")
        for number, text in enumerate(self.parts, 1):
            (directory / f"part-{number:02}.log").write_text(text, encoding="utf-8")
        take = directory / "take"
        take.write_text(_TAKE, encoding="utf-8")
        take.chmod(0o755)

    def grade(self, answer: str) -> Grade:
        """Compare what an answer names with the truth."""
        named = {word for word in answer.split() if word.startswith(("ref=", "T-"))}
        return Grade(len(named & self.wanted), len(named - self.wanted), len(self.wanted))


@dataclass
class TicketDesk:
    """The task's commands without a shell, for sessions that must come out the same everywhere.

    Attributes:
        task: the task.
        taken: the parts that were read, and are gone.
    """

    task: TicketTask
    taken: set[int] = field(default_factory=set)

    def run(self, command: str) -> tuple[str, int]:
        """(what a command prints, its exit code)."""
        if command == "cat rules.txt":
            return self.task.rules, 0
        found = re.fullmatch(r"\./take (\d\d)", command)
        number = int(found[1]) if found else 0
        if not 0 < number <= len(self.task.parts) or number in self.taken:
            return f"{command}: nothing to read\n", 1
        self.taken.add(number)
        return self.task.parts[number - 1], 0


def make_ticket_task(parts: int = 16, seed: int = 1) -> TicketTask:
    """Make a task.

    Args:
        parts: how many parts the log has, 4 to 99; each is about 1,900 tokens (o200k).
        seed: the same seed gives the same task.
    """
    rng = random.Random(seed)
    codes = [f"K{number}" for number in range(1, _CODES + 1)]
    billed = set(rng.sample(codes, _CODES // 2))
    rules = "\n".join(f"{code} {'bill' if code in billed else 'waive'}" for code in codes)
    texts: list[str] = []
    wanted: set[str] = set()
    details: list[tuple[str, str]] = []
    for number in range(1, parts + 1):
        lines = [_noise(rng) for _ in range(_LINES)]
        for place in rng.sample(range(_LINES), rng.choice((0, 0, 1, 2))):
            code, ref = rng.choice(codes), f"ref={_hex(rng, 10)}"
            lines[place] = f"ENTRY {ref} code={code}"
            wanted |= {ref} if code in billed else set()
        details.append((_hex(rng, 6), f"T-{rng.randrange(10_000, 99_999)}"))
        lines.append("DETAIL key={} ticket={}".format(*details[-1]))
        texts.append("\n".join([f"part {number:02}", *lines]) + "\n")
    asked = 1 + rng.randrange(parts // 3)
    key, ticket = details[asked]
    texts[-1] += f"QUESTION part={asked + 1:02} key={key}\n"
    prompt = _prompt(parts)
    return TicketTask(prompt, rules + "\n", tuple(texts), frozenset(wanted | {ticket}))


def _prompt(parts: int) -> str:
    return (
        "Bill the entries of a log. `cat rules.txt` says which codes are billed. `./take 01` prints the "
        "first part of the log and shreds it, so each part can be read once; go on to "
        f"`./take {parts:02}`, one at a time and in order. An ENTRY line is billed if the rules say "
        "`bill` for its code. The last part ends with a QUESTION that names a part and a key: the DETAIL "
        "line with that key holds a ticket. Answer with one line for each billed entry that holds its "
        "reference (`ref=...`) exactly as in the log, one line with the ticket (`T-...`), and nothing "
        "else."
    )


def _noise(rng: random.Random) -> str:
    return (
        f"{rng.randrange(24):02}:{rng.randrange(60):02} INFO request {_hex(rng, 16)} served in "
        f"{rng.randrange(3, 900)} ms for tenant {_hex(rng, 6)} via node-{rng.randrange(1, 99)}"
    )


def _hex(rng: random.Random, digits: int) -> str:
    return f"{rng.getrandbits(4 * digits):0{digits}x}"
