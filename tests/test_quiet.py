"""The library writes nothing but the context file, prints nothing, and does no networking.

A child process runs a session through all its verbs while the interpreter reports every file it
opens, every socket and every process. The report is the test's evidence.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = """
import json, logging, os, sys

report = {"written": [], "network": [], "processes": []}

def watch(event, args):
    if event == "open":
        path, mode, flags = args
        if isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            report["written"].append(str(path))
    elif event in ("os.mkdir", "os.rename", "os.link", "os.symlink"):
        report["written"].append(str(args[0]))
    elif event.startswith(("socket.", "urllib.", "http.")):
        report["network"].append(event)
    elif event in ("subprocess.Popen", "os.exec", "os.system", "os.posix_spawn", "os.fork"):
        report["processes"].append(event)

import tempfile

tempfile.gettempdir()  # before the watch: the standard library tries its folder out by writing
sys.addaudithook(watch)

from itertools import count as counting

from redraft import Session

count = counting()

def reply(*commands):
    functions = [{"name": "bash", "arguments": json.dumps({"command": c})} for c in commands]
    calls = [
        {"id": f"call_{next(count)}", "type": "function", "function": one} for one in functions
    ]
    message = {"role": "assistant", "content": "working", **({"tool_calls": calls} if calls else {})}
    return {"choices": [{"message": message, "finish_reason": "stop"}]}

def play(session, *replies, output="line of output\\n" * 40, edit=None):
    for canned in replies:
        session.request()
        with session.answer() as answer:
            answer(canned)
        with session.round() as round:
            for call in round.calls:
                round.result(call, output)
            if edit:
                edit(session.context_file)

def note(path):
    head, mark, tail = path.read_text().partition("[[CTX_TURN 4 role=tool]]\\n")
    report["before_edit"] = len(report["written"])
    path.write_text(head + mark + "seen\\n\\n[[CTX_TURN 5 " + tail.partition("[[CTX_TURN 5 ")[2])
    del report["written"][report.pop("before_edit"):]  # the command's own writing

messages = [{"role": "system", "content": "You are an agent."}, {"role": "user", "content": "Begin."}]
with Session(messages, model="gpt-5", budget=8_000) as session:
    report["file"] = str(session.context_file)
    play(session, reply("ls"), reply("ls", "ls"))
    play(session, reply("edit"), edit=note)
    report["applied"] = [str(receipt.status) for receipt in session.receipts]
    session.undo(1)
    play(session, *[reply("ls")] * 12, output="long line of output\\n" * 200)  # overflows: rollbacks
    play(session, reply())
with Session(messages, interface="tool", budget=8_000) as session:
    play(session, reply("ls"))
    session.edit_context(edits=[{"turn": 4, "text": "seen"}])
with Session(messages, mode="observe", budget=8_000) as session:
    session.view([*messages, {"role": "assistant", "content": "done"}])
report["logged"] = len(logging.getLogger().handlers)
sys.__stdout__.write(json.dumps(report))
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the session did, with the folders that it had to itself."""
    base = tmp_path_factory.mktemp("quiet")
    folders = {name: base / name for name in ("home", "cwd", "tmp")}
    for folder in folders.values():
        folder.mkdir()
    env = {
        "HOME": str(folders["home"]),
        "TMPDIR": str(folders["tmp"]),
        "PATH": os.environ["PATH"],
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=folders["cwd"],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    left = [path for folder in folders.values() for path in folder.rglob("*")]
    return {**json.loads(done.stdout), "stderr": done.stderr, "left": left}


def test_the_session_under_watch_did_apply_an_edit(report: dict[str, Any]) -> None:
    assert report["applied"] == ["applied"]


def test_nothing_is_written_but_the_context_file(report: dict[str, Any]) -> None:
    directory = Path(report["file"]).parent.parent
    foreign = [
        path
        for path in report["written"]
        if not path.startswith((str(directory / "redraft-"), "LIVE_CTX_MAIN.txt", ".LIVE_CTX_MAIN"))
    ]
    assert foreign == []
    assert report["written"], "the watch saw the context file being written"


def test_nothing_is_left_behind(report: dict[str, Any]) -> None:
    assert report["left"] == []


def test_nothing_is_printed_and_no_log_handler_is_set(report: dict[str, Any]) -> None:
    assert (report["stderr"], report["logged"]) == ("", 0)


def test_there_is_no_networking_and_no_process_is_started(report: dict[str, Any]) -> None:
    assert (report["network"], report["processes"]) == ([], [])
