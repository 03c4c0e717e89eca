"""A disk that fills up again and again: nothing changes where nothing could be recorded, and the run goes
on each time that there is room."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from killed_world import TARGET, Letters
from session_world import balanced, legal

from redraft import Session
from redraft.store import SQLiteJournal
from redraft.tokens import Meter

HERE = Path(__file__).parent


WORK = """
import json, os, resource, sys
from collections import Counter
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from killed_world import Letters, command, player
from session_world import HEAD, reply
from redraft import Session, Settings
from redraft.errors import JournalError
from redraft.session.stating import stated
from redraft.store import SQLiteJournal
from redraft.tokens import Meter

run = Path(sys.argv[2])
_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
refused = Counter()

def used():
    return max(path.stat().st_size for path in (run / "journal").iterdir())

def room(more):
    resource.setrlimit(resource.RLIMIT_FSIZE, (used() + more, hard))

def look(session):
    live = session.live
    return [turn.digest for turn in live.turns], live.tokens, live.pins, dict(session._core.commits)

def persist(step, session):
    '''Do a step; where the disk is full, check that nothing was changed, and make a little room.'''
    while True:
        before = look(session)
        try:
            return step()
        except JournalError as error:
            refused[step.__name__] += 1
            assert "make room" in str(error), error
            changed = look(session) != before
            # A request may roll back before it is recorded itself, a round may take an edit over before
            # its results are: what was recorded stands, the rest is as it was.
            assert not changed or step.__name__ in ("request", "round"), step.__name__
            room(0 if refused[step.__name__] % 3 else 9_000)

with SQLiteJournal(run / "journal", meter=Meter(Letters())) as journal:
    session = Session(
        HEAD, interface="tool", budget=7_600, settings=Settings(margin=300), tag="beef",
        meter=journal.meter, journal=journal,
    )
    room(0)
    def request():
        return session.request()
    def answer():
        with session.answer() as answer:
            answer(response)
    def round():
        with session.round() as now:
            for call in now.calls:
                ran[call.id] += 1
                now.result(call, command(run, session, call["command"]))
    ran = Counter()
    while persist(request, session) is not None:
        response = reply(player(session), prompt=session.tokens)
        persist(answer, session)
        persist(round, session)
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    print(json.dumps({
        "answer": session.messages[-1]["content"],
        "refused": refused,
        "twice": sorted(name for name, times in ran.items() if times > 1),
        "turns": [turn.digest for turn in session.live.turns],
        "tokens": session.live.tokens,
        "commits": len(session._core.commits),
    }))
"""


def test_a_disk_that_fills_again_and_again_loses_nothing(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", WORK, str(HERE), str(tmp_path / "run")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["answer"] == f"counted to {TARGET}"
    assert said["twice"] == []  # nothing was run twice
    assert set(said["refused"]) == {"request", "answer", "round"}
    assert said["commits"] > 2
    with (
        SQLiteJournal(tmp_path / "run" / "journal", meter=Meter(Letters())) as journal,
        Session.resume(journal) as session,
    ):
        assert [turn.digest for turn in session.live.turns] == said["turns"]
        assert session.live.tokens == said["tokens"] == session.live.recount()
        assert len(session._core.commits) == said["commits"]
        assert balanced(session)
        assert legal(session.messages)
