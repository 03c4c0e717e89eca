"""A command line to call, and a model that says what a test wants."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from redraft.cli.app import app
from redraft.testing import FakeServer

Message = Mapping[str, Any]

EDIT = """python3 - <<'EOF'
import os, re
path = os.environ["REDRAFT_CONTEXT_FILE"]
with open(path, encoding="utf-8", newline="") as file:
    text = file.read()
start = text.index("[[CTX_TURN 3 ")
last = [m.start() for m in re.finditer(r"^\\[\\[CTX_", text, re.M)][-1]
with open(path, "w", encoding="utf-8", newline="") as file:
    file.write(text[:start] + "[[CTX_TURN 3 role=assistant]]\\nnote: SEEN IT ALL\\n\\n" + text[last:])
EOF"""
"""A real edit: everything that the file shows becomes one note."""


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        value = json.loads(self.out)
        assert isinstance(value, dict)
        return value


def call(name: str, arguments: str, place: int = 1) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {"id": f"call_{place}", "type": "function", "function": function}


def calling(*calls: Mapping[str, Any], text: str | None = None) -> Message:
    return {"role": "assistant", "content": text, "tool_calls": list(calls)}


def bash(command: str, place: int = 1, **more: Any) -> Message:
    return calling(call("bash", json.dumps({"command": command, **more}), place))


def say(text: str) -> Message:
    return {"role": "assistant", "content": text}


class Script:
    """Says its messages one after another; a text is a command to run. At the end it says `done`.

    A last turn, which cannot be foreseen, is answered with `what I have`.
    """

    def __init__(self, *messages: Message | str) -> None:
        self._messages = list(messages)
        self._at = 0

    def __call__(self, request: Mapping[str, Any]) -> Message:
        if "This is your last turn" in str(request["messages"][-1]["content"]):
            return say("what I have")
        self._at += 1
        if self._at > len(self._messages):
            return say("done")
        message = self._messages[self._at - 1]
        return bash(message, self._at) if isinstance(message, str) else message


def script(*messages: Message | str, **server: Any) -> FakeServer:
    """A server that plays a script."""
    return FakeServer(Script(*messages), **server)


def redraft(
    *arguments: str, env: Mapping[str, str | None] | None = None, stdin: bytes = b""
) -> Done:
    """Call the command line in this process."""
    result = CliRunner().invoke(
        app, list(arguments), env={"NO_PROXY": "*", **(env or {})}, input=stdin
    )
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return Done(result.exit_code, result.stdout, result.stderr)


def run(
    server: FakeServer, *arguments: str, task: str = "Do it.", key: str | None = "k", **io: Any
) -> Done:
    """`redraft run` against a server; `budget` is small, retries are off."""
    fixed = ["--model", "test-model", "--base-url", server.base_url, "--retries", "0"]
    if "--budget" not in arguments:
        fixed += ["--budget", "12000"]
    env = {"OPENAI_API_KEY": key, **io.pop("env", {})}
    return redraft("run", task, *fixed, *arguments, env=env, **io)


def results(server: FakeServer, at: int = -1) -> list[str]:
    """The tool results in one of the requests."""
    messages: Sequence[Message] = server.requests[at]["messages"]
    return [message["content"] for message in messages if message["role"] == "tool"]


def hears_ctrl_c() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def process(*arguments: str, env: Mapping[str, str] | None = None, **options: Any) -> Any:
    """`redraft` as a process of its own."""
    own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    path = os.pathsep.join(filter(None, sys.path))
    return subprocess.Popen(
        [sys.executable, "-m", "redraft.cli", *arguments],
        # Whoever runs the tests in the background may have Ctrl-C ignored, and children inherit that.
        preexec_fn=hears_ctrl_c,  # noqa: PLW1509 - it runs before any thread of the child's
        env={**own, "PYTHONPATH": path, "NO_PROXY": "*", **(env or {})},
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "cwd": Path.cwd(), **options},
    )
