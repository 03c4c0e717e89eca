"""What the tests of this room share: canned replies, a shell, and a loop as a person writes it."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from redraft import Session
from redraft.context import Turn
from redraft.dialects import OPENAI_CHAT, check
from redraft.session import Round, ToolCall
from redraft.store import VolatileJournal

SYSTEM = {"role": "system", "content": "You are an agent."}
TASK = {"role": "user", "content": "Do the task."}
HEAD = (SYSTEM, TASK)

Message = Mapping[str, Any]

BASH = {
    "type": "function",
    "function": {
        "name": "bash",
        "description": "Run a command.",
        "parameters": {
            "type": "object",
            "properties": {"command": {"type": "string"}},
            "required": ["command"],
        },
    },
}


def call(command: str, at: int | str = 1, **more: Any) -> dict[str, Any]:
    arguments = json.dumps({"command": command, **more})
    return tool_call("bash", arguments, at)


def tool_call(name: str, arguments: str, at: int | str = 1) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {"id": f"call_{at}", "type": "function", "function": function}


def edit_call(*edits: Mapping[str, Any], at: int | str = 1) -> dict[str, Any]:
    return tool_call("edit_context", json.dumps({"edits": list(edits)}), at)


def calling(*calls: Mapping[str, Any], text: str | None = "working") -> dict[str, Any]:
    return {"role": "assistant", "content": text, "tool_calls": list(calls)}


def runs(*commands: str, text: str | None = "working") -> dict[str, Any]:
    return calling(*(call(command, at) for at, command in enumerate(commands, 1)), text=text)


def says(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def result(text: str, at: int | str = 1) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": f"call_{at}", "content": text}


def reply(message: Message, prompt: int | None = None, finish: str = "stop") -> dict[str, Any]:
    """A response as a server gives it."""
    usage = {} if prompt is None else {"usage": {"prompt_tokens": prompt, "completion_tokens": 1}}
    return {"choices": [{"message": message, "finish_reason": finish}], **usage}


def shell(command: str, env: Mapping[str, str]) -> tuple[str, int]:
    """Run a real command; its output and its exit code."""
    done = subprocess.run(
        ["bash", "-c", command],
        env={**os.environ, **env},
        capture_output=True,
        check=False,
        timeout=30,
    )
    return (done.stdout + done.stderr).decode("utf-8", "replace"), done.returncode


Run = Callable[[ToolCall], Any]


def ask(session: Session, message: Message, **more: Any) -> dict[str, Any] | None:
    """One request and its answer; gives the request."""
    request = session.request()
    if request is not None:
        with session.answer() as answer:
            answer(reply(message, **more))
    return request


def play(session: Session, message: Message, run: Run | str | None = None, **more: Any) -> Round:
    """One whole round: ask, answer with `message`, run the calls in a real shell, or as `run` says."""
    ask(session, message, **more)
    with session.round() as now:
        for asked in now.calls:
            if run is None:
                output, code = shell(asked["command"], session.env)
                now.result(asked, output, exit_code=code)
            else:
                now.result(asked, run(asked) if callable(run) else run)
    return now


def fill(session: Session, rounds: int, output: str = "word " * 40, start: int = 0) -> None:
    """So many rounds of one command each."""
    for at in range(start, start + rounds):
        play(session, calling(call(f"look {at}", f"fill_{at}"), text=f"step {at}"), f"{output}{at}")


def texts(session: Session) -> list[str]:
    return [str(message["content"]) for message in session.messages]


def last(session: Session) -> str:
    """The newest turn's text."""
    return session.live.turns[-1].content.text


def turn(session: Session, number: int) -> Turn:
    return next(turn for turn in session.live.turns if turn.number == number)


def numbers(session: Session) -> list[int]:
    return [turn.number for turn in session.live.turns]


def statuses(session: Session) -> list[str]:
    return [str(receipt.status) for receipt in session.receipts]


def replaced(first: int, last: int, note: str) -> str:
    """A Python command that puts one note in the place of turns `first` to `last`."""
    return f"""python3 - <<'EOF'
import os, re
path = os.environ["REDRAFT_CONTEXT_FILE"]
with open(path, encoding="utf-8", newline="") as file:
    text = file.read()
starts = {{int(m[1]): m.start() for m in re.finditer(r"^\\[\\[CTX_TURN (\\d+) ", text, re.M)}}
end = min((at for number, at in starts.items() if number > {last}), default=text.rindex("[[CTX_END]]"))
text = text[:starts[{first}]] + "[[CTX_TURN {first} role=assistant]]\\n{note}\\n\\n" + text[end:]
with open(path, "w", encoding="utf-8", newline="") as file:
    file.write(text)
EOF"""


def legal(messages: Sequence[Message]) -> bool:
    return not check(messages, OPENAI_CHAT)


def bytes_of(messages: Iterable[Message]) -> list[bytes]:
    return [json.dumps(message).encode() for message in messages]


def common(one: Sequence[object], other: Sequence[object]) -> int:
    """How many leading items are the same objects."""
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a is not b), min(len(one), len(other)))


def journal_of(session: Session) -> VolatileJournal:
    assert isinstance(session.journal, VolatileJournal)
    return session.journal


def balanced(session: Session) -> bool:
    """Every row adds up, rows join end to end, and a recount agrees with the running sum."""
    rows = session.ledger.rows
    joined = all(a.after == b.before for a, b in itertools.pairwise(rows))
    closed = all(row.after == row.expected for row in rows)
    return joined and closed and session.live.recount() == session.live.tokens
