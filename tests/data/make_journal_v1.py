"""Makes the two journals of schema version 1 that stay under test for ever, and what is in them.

    python tests/data/make_journal_v1.py

Run it only while version 1 is the current one and was not released; afterwards the files are what they
are. A later version gets files of its own beside these.
"""

from __future__ import annotations

import itertools
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
for room in ("store", "session"):
    sys.path.insert(0, str(HERE.parent / room))

from session_world import ask, call, calling, edit_call, play, says, tool_call, user  # noqa: E402
from store_world import METER, every_kind, plain  # noqa: E402

from redraft import Session, Settings  # noqa: E402
from redraft.store import SQLiteJournal  # noqa: E402
from redraft.store.schema import VERSION  # noqa: E402

HEAD = [
    {"role": "system", "content": "You are an agent."},
    {"role": "user", "content": [{"type": "text", "text": "Do the task."}]},
]


def main() -> None:
    assert VERSION == 1, "these files are older than this schema; they must not be made again"
    keep("kinds", lambda journal: [journal.record(entry) for entry in every_kind()])
    keep("session", session)


def keep(name: str, fill: Any) -> None:
    """Fill a journal and keep its file, with what a reader must find in it."""
    with tempfile.TemporaryDirectory() as place:
        clock = itertools.count(1_796_000_000.25).__next__
        with SQLiteJournal(Path(place), meter=METER, clock=clock) as journal:
            fill(journal)
            found = [plain(entry) for entry in journal.entries()]
        for entry in found:
            if entry["is"] == "Committed":
                live = entry["commit"]["live"]
                entry["commit"]["live"] = {
                    "tokens": live["tokens"],
                    "turns": [{"number": turn["number"]} for turn in live["turns"]],
                }
        shutil.copyfile(Path(place, "journal.db"), HERE / f"journal-v1-{name}.db")
    text = ",\n".join(map(json.dumps, found))
    (HERE / f"journal-v1-{name}.json").write_text(f"[\n{text}\n]\n", encoding="utf-8")


def session(journal: SQLiteJournal) -> None:
    """A session with edits, an undo, pins, an overflow, parallel calls, and one that was interrupted."""
    now = Session(
        HEAD,
        interface="tool",
        budget=9_000,
        settings=Settings(margin=400),
        meter=METER,
        journal=journal,
        model="gpt-5",
        tag="beef",
    )
    play(now, calling(call("ls", 1), text="I look."), "README.md\nsrc\n", prompt=4_000)
    play(now, calling(call("cat README.md", 2), call("pwd", 3)), "text \ud83d\ude80\r\n" * 20)
    play(
        now,
        calling(edit_call({"turn": 3, "text": "Seen: README.md."}, at=4), text=None),
        prompt=4_500,
    )
    play(now, calling(edit_call({"turn": 99, "text": "none"}, at=5)))
    play(now, calling(tool_call("bash", '{"comm', 6)))
    now.pin(5)
    now.append(user("Mind the tests."))
    play(now, calling(edit_call({"turn": 10, "text": "Nothing there."}, at=7)))
    now.undo(now._core._numbers)
    for at in range(8, 12):
        play(now, calling(call(f"seq {at}", at)), f"{at} " * 600)
    ask(now, says("Done."))
    now.append(user("And the docs?"))
    ask(now, calling(call("ls docs", 20), call("wc docs/*", 21)))
    with_results = now.round()
    asked = with_results.__enter__().calls
    with_results.result(asked[0], "index.md\n")
    now.append(user("I wait."))


if __name__ == "__main__":
    main()
