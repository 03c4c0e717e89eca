"""A session of a given size, and rounds in it, with no model and no network."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from time import perf_counter_ns, process_time_ns
from typing import Any

from redraft import Session
from redraft.tokens import Meter

__all__ = ["PHASES", "World"]

PHASES = ("ask", "answer", "show", "read")
"""A round's parts in redraft: the request is made, the reply is read, the file is brought up to date,
the file is read back and the results are counted, gated and appended."""

_OUTPUT_LINES = 45  # a listing of about a thousand tokens
_FRAME = 1_600  # tokens of the system prompt with its section, the task and the tool
_SYSTEM = "You are a careful engineer. Work through the task with the bash tool."
_TASK = "Find out which of the modules leaks its handles, and mend it."
_TOOL = {
    "type": "function",
    "function": {
        "name": "bash",
        "description": "Run a command.",
        "parameters": {"type": "object", "properties": {"command": {"type": "string"}}},
    },
}


class World:
    """A session that holds about `tokens` tokens and runs rounds of one call.

    Args:
        tokens: raw tokens of the live context at the start.
        meter: counts; worlds of several sizes may share one.
        seed: for the text of its turns.
    """

    def __init__(self, tokens: int, meter: Meter, seed: int = 0) -> None:
        self._random = Random(seed)
        self._calls = 0
        self._edits = 0
        messages = [
            {"role": "system", "content": _SYSTEM},
            {"role": "user", "content": _TASK},
            *self._history(tokens - _FRAME, meter),
        ]
        self.session = Session(
            messages,
            tools=[_TOOL],
            model="gpt-5",
            budget=2 * tokens + 64_000,
            window=2 * tokens + 128_000,
            meter=meter,
        )

    def round(self, edit_at: float | None = None) -> dict[str, int]:
        """One round whose command prints about a hundred tokens.

        Args:
            edit_at: where the command also changes one line of the context file: 0 for the first
                editable turn, 1 for the last; None for nowhere.

        Returns:
            nanoseconds by phase, and under `cpu` those that the processor worked in all of them;
            what the command itself does is not in it.

        Raises:
            RuntimeError: the edit was not applied, so the figures would mean something else.
        """
        spent = dict.fromkeys((*PHASES, "cpu"), 0)
        with _timed(spent, "ask"):
            request = self.session.request()
        assert request is not None
        reply = self._reply()
        with _timed(spent, "answer"), self.session.answer() as answer:
            answer(reply)
        window = self.session.round()
        with _timed(spent, "show"):
            window.__enter__()
        if edit_at is not None:
            self._edit(edit_at)
        output = "\n".join(self._line() for _ in range(4))
        with _timed(spent, "read"):
            window.result(window.calls[0], output)
            window.__exit__(None, None, None)
        if edit_at is not None and str(self.session.receipts[-1].status) not in ("applied", "grew"):
            raise RuntimeError(f"the edit was not applied: {self.session.receipts[-1]}")
        return spent

    def close(self) -> None:
        """Remove the context file."""
        self.session.close()

    # -- the conversation ------------------------------------------------------------------------

    def _history(self, tokens: int, meter: Meter) -> Iterator[dict[str, Any]]:
        have = 0
        while have < tokens:
            message = self._reply()["choices"][0]["message"]
            output = "\n".join(self._line() for _ in range(_OUTPUT_LINES))
            yield message
            yield {
                "role": "tool",
                "tool_call_id": message["tool_calls"][0]["id"],
                "content": output,
            }
            have += meter.text(output) + 100  # the reply's own share, call and framing included

    def _reply(self) -> dict[str, Any]:
        self._calls += 1
        command = f"grep -rn handle_{self._number()} src/module_{self._calls % 97} | head -40"
        call = {
            "id": f"call_{self._calls}",
            "type": "function",
            "function": {"name": "bash", "arguments": json.dumps({"command": command})},
        }
        text = f"The listing of step {self._calls} shows nothing yet; the next module may."
        message = {"role": "assistant", "content": text, "tool_calls": [call]}
        return {"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}

    def _line(self) -> str:
        path = f"src/module_{self._number() % 97}/part_{self._number() % 31}.py"
        return f"{path}:{self._number()}: open_handle(0x{self._number():x}, flags={self._number()})"

    def _number(self) -> int:
        return self._random.randrange(1, 9_999)

    # -- the command -----------------------------------------------------------------------------

    def _edit(self, place: float) -> None:
        """Put another first line into a tool's result, as a command would."""
        self._edits += 1
        turns = [turn for turn in self.session.live.editable() if turn.role == "tool"]
        turn = turns[round(place * (len(turns) - 1))]
        path = self.session.context_file
        assert path is not None
        data = path.read_bytes()
        head = data.index(f"[[CTX_TURN {turn.number} ".encode())
        start = data.index(b"\n", head) + 1
        end = data.index(b"\n", start) + 1
        note = f"seen {self._edits:06d}: {self._line()}\n".encode()
        path.write_bytes(data[:start] + note + data[end:])


@contextmanager
def _timed(spent: dict[str, int], phase: str) -> Iterator[None]:
    start, work = perf_counter_ns(), process_time_ns()
    try:
        yield
    finally:
        spent["cpu"] += process_time_ns() - work
        spent[phase] += perf_counter_ns() - start
