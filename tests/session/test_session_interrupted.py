"""A round that breaks off: its calls are answered for, half-done edits are refused, the error passes."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import Callable

import pytest
from session_world import (
    HEAD,
    ask,
    balanced,
    fill,
    last,
    legal,
    play,
    replaced,
    runs,
    says,
    shell,
    statuses,
    texts,
)

from redraft import Session
from redraft.session import Round


def break_off(now: Round, work: Callable[[], object], error: BaseException) -> None:
    """A round in which something is done before an exception ends it."""
    with now:
        work()
        raise error


@pytest.mark.parametrize("kind", [RuntimeError, KeyboardInterrupt, SystemExit, GeneratorExit])
def test_an_exception_goes_through_and_the_next_request_is_legal(kind: type[BaseException]) -> None:
    with Session(HEAD) as session:
        ask(session, runs("one", "two", "three"))
        now = session.round()
        with pytest.raises(kind):
            break_off(now, lambda: now.result(now.calls[0], "one is done"), kind())
        results = texts(session)[3:]
        assert results[0].startswith("one is done")
        assert all("No result: the session was interrupted" in text for text in results[1:])
        request = session.request()
        assert request is not None
        assert legal(request["messages"])
        assert balanced(session)
        assert (now.free, now.cost) == (False, 1)


def test_a_cancelled_task_leaves_a_session_that_goes_on() -> None:
    async def work(session: Session) -> None:
        ask(session, runs("slow"))
        async with session.round() as now:
            await asyncio.sleep(30)
            now.result(now.calls[0], "never")

    async def cancelled(session: Session) -> None:
        task = asyncio.create_task(work(session))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with Session(HEAD) as session:
        asyncio.run(cancelled(session))
        assert "No result" in last(session)
        assert ask(session, says("done")) is not None


def test_what_an_interrupted_command_left_in_the_file_is_refused() -> None:
    with Session(HEAD) as session:
        fill(session, 2)
        before = session.live.turns
        ask(session, runs("python3 - writes into the file"))
        path = session.context_file
        assert path is not None
        half = path.read_bytes()[:-90]
        with pytest.raises(KeyboardInterrupt):
            break_off(session.round(), lambda: path.write_bytes(half), KeyboardInterrupt())
        assert statuses(session) == ["rejected"]
        assert "killed" in session.receipts[0].rule
        assert session.live.turns[: len(before)] == before
        session.request()
        assert path.read_bytes().endswith(b"[[CTX_END]]\n")


def test_an_edit_whose_command_was_done_is_taken_though_the_round_breaks_off() -> None:
    with Session(HEAD) as session:
        fill(session, 2)
        ask(session, runs(replaced(3, 4, "settled")))
        now = session.round()

        def work() -> None:
            output, code = shell(now.calls[0]["command"], session.env)
            now.result(now.calls[0], output, exit_code=code)

        with pytest.raises(ValueError, match="later"):
            break_off(now, work, ValueError("later"))
        assert statuses(session) == ["applied"]


def test_a_command_that_is_killed_while_it_writes_changes_nothing() -> None:
    slow = (
        "python3 -u -c 'import os, time\n"
        'file = open(os.environ["REDRAFT_CONTEXT_FILE"], "w", buffering=1)\n'
        'file.write("[[CTX_TURN 3 role=assistant]]\\n"); file.flush(); print("writing"); time.sleep(60)\''
    )
    with Session(HEAD) as session:
        fill(session, 3)
        before = session.live.turns
        ask(session, runs(slow))
        with session.round() as now:
            process = subprocess.Popen(
                ["bash", "-c", now.calls[0]["command"]],
                env={**os.environ, **session.env},
                stdout=subprocess.PIPE,
                start_new_session=True,
            )
            assert process.stdout is not None
            assert process.stdout.readline() == b"writing\n"
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            process.stdout.close()
            now.result(now.calls[0], "writing\n", exit_code=-9, timed_out=True)
        assert statuses(session) == ["rejected"]
        assert "edit rejected, context unchanged" in last(session)
        assert session.live.turns[: len(before)] == before
        play(session, runs("cat $REDRAFT_CONTEXT_FILE"))
        assert "[[CTX_TURN 5 role=assistant]]\nstep 1\n" in last(session)


def test_a_command_left_running_that_writes_late_is_judged_before_the_next_request() -> None:
    later = "(sleep 0.3; echo late note >> $REDRAFT_CONTEXT_FILE) > /dev/null 2>&1 &"
    with Session(HEAD) as session:
        fill(session, 1)
        play(session, runs(later))
        path = session.context_file
        assert path is not None
        deadline = time.monotonic() + 10
        while not path.read_bytes().endswith(b"late note\n") and time.monotonic() < deadline:
            time.sleep(0.02)
        request = session.request()
        assert request is not None
        assert request["messages"][-1] == {"role": "user", "content": "late note"}
