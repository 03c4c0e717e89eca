"""The same with the context tools: a session that drops, notes and pins, and is killed on the way."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path
from typing import Any

from killed_world import Letters, Point, dies, digest_of, main, say

TARGET = 10
"""Rounds of commands that the model makes."""

SCRIPT = __file__


def work(run: Path, point: Point) -> None:
    from session_world import HEAD, reply

    from redraft import Session, Settings
    from redraft.store import Entry, SQLiteJournal, SQLiteOverflow
    from redraft.tokens import Meter

    recording, putting = dies(point, "record"), dies(point, "put")

    class Dying(SQLiteJournal):
        def record(self, entry: Entry) -> None:
            recording("before")
            super().record(entry)
            recording("after")

    class DyingStore(SQLiteOverflow):
        def put(self, body: str, cites: Any = ()) -> str:
            putting("before")
            name = super().put(body, cites)
            putting("after")
            return name

    journal = Dying(run / "journal", meter=Meter(Letters()))
    store = DyingStore(run / "journal" / "overflow.db")
    settings = Settings(agent_context_tools_offer_round=2, agent_midturn_compact_pct=0.95)
    if journal.blank:
        session = Session(
            HEAD,
            interface="context-tools",
            budget=60_000,
            settings=settings,
            tag="beef",
            meter=journal.meter,
            journal=journal,
            overflow=store,
        )
    else:
        session = Session.resume(journal, overflow=store)
    with journal, session, store:
        while (request := session.request()) is not None:
            say(run / "sent", digest_of(request["messages"]))
            said = json.dumps(request)
            for name in re.findall(r"\[overflow id=([0-9a-f]{64})", said):
                say(run / "cited", name)
            with session.answer() as answer:
                answer(reply(player(session), prompt=session.tokens))
            with session.round() as now:
                for call in now.calls:
                    if point is not None and list(point) == ["command", call["command"]]:
                        os.kill(os.getpid(), signal.SIGKILL)
                    now.result(call, output(call["command"]))
        (run / "answer").write_text(str(session.messages[-1]["content"]))


def output(command: str) -> str:
    return f"{command} gave " + " ".join(f"{command}-{at}" for at in range(60))


def player(session: Any) -> dict[str, Any]:
    """Looks, and drops, notes or pins what it looked at before, beside the next look. It knows no more
    than its context says."""
    from session_world import call, calling, says, tool_call

    turns = session.live.turns
    looked = {c.id for turn in turns for c in turn.content.calls if c.name == "bash"}
    done = {turn.content.answers for turn in turns if turn.role == "tool"} & looked
    answered = [
        turn
        for turn in turns
        if turn.content.answers in done and "interrupted" not in turn.content.text
    ]
    step = len(answered)
    if step >= TARGET:
        return says(f"looked {step} times")
    place = session.live.next_number
    calls = [call(f"look{step}", f"look_{place}")]
    bare = [turn for turn in answered if turn.content.text.startswith("look")]
    names = [turn.content.answers for turn in bare]
    match step % 4:
        case 1:
            calls.insert(
                0, tool_call("context_drop", json.dumps({"handles": names[:1]}), f"d_{place}")
            )
        case 2:
            arguments = {"handles": names[:2], "note": f"noted at step {step}"}
            calls.insert(0, tool_call("context_note", json.dumps(arguments), f"n_{place}"))
        case 3:
            calls.insert(
                0, tool_call("context_pin", json.dumps({"handles": names[-1:]}), f"p_{place}")
            )
            calls.append(tool_call("context_status", "{}", f"s_{place}"))
            calls.append(tool_call("context_unpin", '{"all": true}', f"u_{place}"))
    return calling(*calls)


if __name__ == "__main__":
    main(work)
