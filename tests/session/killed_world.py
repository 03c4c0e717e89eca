"""A session that works on a small task and is killed on the way: run as a process of its own.

Reads orders as JSON lines, `{"run": directory, "point": where to die}`, and forks a process for each, so
that a hundred of them cost the imports once. `Killers` is the other side, and tells a whole run's story.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from redraft.store import SQLiteJournal, inputs
from redraft.tokens import Meter

TARGET = 16
"""How far the task counts."""

Point = Sequence[Any] | None
"""Where to die: `("record", n, "before" | "after")`, `("command", n, "before" | "after")`, `("delay",
seconds)`, or None for nowhere."""

Check = Callable[[Path], None]
"""Looks at what a run left behind."""


class Letters:
    def count(self, text: str) -> int:
        return len(text)


class Killers:
    """Starts sessions that die where they are told to.

    Args:
        ended: what must hold at the end of a run.
        killed: what must hold after each kill.
        script: what they work on: a script that calls `main`.
    """

    def __init__(
        self, ended: Check, killed: Check = lambda run: None, *, script: str = __file__
    ) -> None:
        self._ended = ended
        self._killed = killed
        self._process = subprocess.Popen(
            [sys.executable, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def work(self, run: Path, point: Point = None) -> bool:
        """Let a session begin or go on in `run`; whether it was killed and did not end by itself."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"run": str(run), "point": point}) + "\n")
        self._process.stdin.flush()
        code = int(self._process.stdout.readline())
        assert code in (0, -signal.SIGKILL), (run / "trace").read_text()
        return code != 0

    def story(self, run: Path, points: Iterator[Point]) -> int:
        """One run, killed and taken up again until it has its answer; how often it was killed."""
        run.mkdir()
        kills = 0
        for point in points:
            if not self.work(run, point):
                break
            kills += 1
            self._killed(run)
        else:
            assert not self.work(run)
        self._ended(run)
        return kills

    def every_step(self, place: Path, when: str) -> int:
        """Runs that are each killed once, at the first step of the record, the second and so on; how many
        steps there are."""
        number, reached = 0, True
        while reached:
            number += 1
            point = ("record", number, when)
            reached = self.story(place / f"run-{number}", iter([point, None])) == 1
        return number

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._process:
            assert self._process.stdin is not None
            self._process.stdin.close()


def lines(path: Path) -> list[str]:
    """The whole lines of a file that a process may have been killed over."""
    return path.read_text().split("\n")[:-1] if path.exists() else []


def opened(run: Path, *, write: bool = False) -> SQLiteJournal:
    return SQLiteJournal(run / "journal", meter=Meter(Letters()), write=write)


def results_sent(run: Path) -> list[str]:
    """The results of every request of a run, as the model read them."""
    with opened(run) as journal:
        return [
            turn.content.text
            for each in inputs(journal.entries())
            for turn in each.turns
            if turn.role == "tool"
        ]


def digest_of(messages: Sequence[object]) -> str:
    return sha256(json.dumps(messages).encode()).hexdigest()


# -- the other process -----------------------------------------------------------------------------------


Work = Callable[[Path, Point], None]


def main(work: Work) -> None:
    from redraft import Session  # noqa: F401 - once for all of them

    for line in sys.stdin:
        order = json.loads(line)
        child = os.fork()
        if not child:
            _child(work, Path(order["run"]), order["point"])
        if order["point"] and order["point"][0] == "delay":
            time.sleep(order["point"][1])
            os.kill(child, signal.SIGKILL)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def _child(work: Work, run: Path, point: Point) -> None:
    code = 1
    try:
        work(run, point)
        code = 0
    except BaseException:
        (run / "trace").write_text(traceback.format_exc())
    finally:
        os._exit(code)


def dies(point: Point, what: str) -> Callable[[str], None]:
    """Counts the times that `what` comes by, and kills the process at the one that is meant."""
    count = 0

    def pass_by(when: str) -> None:
        nonlocal count
        count += when == "before"
        if point is not None and list(point) == [what, count, when]:
            os.kill(os.getpid(), signal.SIGKILL)

    return pass_by


def say(path: Path, line: str) -> None:
    """Write a line that outlives a kill."""
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(file, f"{line}\n".encode())
    os.close(file)


def work(run: Path, point: Point, *, fenced: bool = False) -> None:
    from session_world import HEAD, reply

    from redraft import Session, Settings
    from redraft.dialects.fenced import Fenced
    from redraft.store import Entry
    from redraft.testing.fenced import fenced_message

    recording, running = dies(point, "record"), dies(point, "command")

    class Dying(SQLiteJournal):
        def record(self, entry: Entry) -> None:
            recording("before")
            super().record(entry)
            recording("after")

    dialect = Fenced() if fenced else None
    journal = Dying(run / "journal", meter=Meter(Letters()), dialect=dialect)
    if journal.blank:  # nothing was sent, so the run begins anew
        shutil.rmtree(run / "context", ignore_errors=True)
        session = Session(
            HEAD,
            interface="both",
            budget=11_600 if fenced else 7_600,
            settings=Settings(margin=300),
            tag="beef",
            path=run / "context",
            meter=journal.meter,
            journal=journal,
        )
    else:
        session = Session.resume(journal)
    with journal, session:
        while (request := session.request()) is not None:
            say(run / "sent", digest_of(request["messages"]))
            for number in re.findall(r"\[redraft:beef\] edit (\d+) applied", json.dumps(request)):
                say(run / "confirmed", number)
            with session.answer() as answer:
                message = player(session)
                message = fenced_message(message) if fenced else message
                answer(reply(message, prompt=session.tokens))
            with session.round() as now:
                for call in now.calls:
                    running("before")
                    output = command(run, session, call["command"])
                    running("after")
                    now.result(call, output)
        (run / "answer").write_text(str(session.messages[-1]["content"]))


def player(session: Any) -> dict[str, Any]:
    """Counts to the target, one or two at a time, and tidies by file or by tool. It knows no more than
    its context says."""
    from session_world import call, calling, edit_call, says

    said = [turn.content.text for turn in session.live.turns[2:]]
    noted = max(
        (int(n) for text in said for n in re.findall(r"noted up to (\d+)", text)), default=0
    )
    did = {int(n) for text in said for n in re.findall(r"^did (\d+)", text, re.MULTILINE)}
    done = noted
    while done + 1 in did:
        done += 1
    if done >= TARGET:
        return says(f"counted to {done}")
    place = f"{session.live.next_number}"
    shown = session.live.editable()
    if len(shown) > 6 and "edit" not in said[-1]:
        if done % 2:
            note = {"turn": shown[0].number, "through": shown[-1].number}
            return calling(edit_call({**note, "text": f"noted up to {done}"}, at=place))
        return calling(call(f"tidy {done} $REDRAFT_CONTEXT_FILE", place))
    steps = [done + 1, done + 2] if done % 3 == 1 else [done + 1]
    return calling(*(call(f"add {step}", f"{place}_{step}") for step in steps))


def command(run: Path, session: Any, words: str) -> str:
    what, number, *_ = words.split()
    if what == "add":
        if number not in lines(run / "effects"):
            say(run / "effects", number)
        return f"did {number}\n" + "." * 150
    path = session.context_file
    path.write_text(f"[[CTX_TURN 3 role=assistant]]\nnoted up to {number}\n\n[[CTX_END]]\n")
    return ""


if __name__ == "__main__":
    main(work)
