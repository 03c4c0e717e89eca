"""Ctrl-C never comes between a change's record and the change."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from redraft.store.unbroken import unbroken

HERE = Path(__file__).parent
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    kept = {number: signal.getsignal(number) for number in SIGNALS}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for number, handler in kept.items():
        signal.signal(number, handler)


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_an_interrupt_waits_for_the_end_of_the_block() -> None:
    done = []

    def work() -> None:
        with unbroken():
            interrupt()
            done.append("inside")
        done.append("behind")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["inside"]


def test_a_block_inside_of_another_ends_with_it() -> None:
    done = []

    def work() -> None:
        with unbroken():
            with unbroken():
                interrupt()
            done.append("between")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["between"]


def test_an_error_inside_goes_through_and_the_interrupt_comes_with_it() -> None:
    def work(*, interrupted: bool) -> None:
        with unbroken():
            if interrupted:
                interrupt()
            raise KeyError("trouble")

    with pytest.raises(KeyError):
        work(interrupted=False)
    with pytest.raises(KeyboardInterrupt) as caught:
        work(interrupted=True)
    assert isinstance(caught.value.__context__, KeyError)


def test_handlers_are_as_they_were_afterwards() -> None:
    def mine(number: int, frame: object) -> None:
        heard.append(number)

    heard: list[int] = []
    signal.signal(signal.SIGTERM, mine)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with unbroken():
        os.kill(os.getpid(), signal.SIGTERM)
        assert heard == []
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    assert heard == [signal.SIGTERM]
    assert signal.getsignal(signal.SIGTERM) is mine
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_in_another_thread_there_is_nothing_to_hold_back() -> None:
    done = []

    def work() -> None:
        with unbroken():
            done.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [signal.default_int_handler]


class Ended(BaseException):
    """What a handler of somebody's raises."""


def at_each_instruction(number: int, work: Callable[[], None]) -> Iterator[bool]:
    """Do `work` with a signal at its first instruction, at its second, and so on to its last; whether
    it was broken off."""
    sources = {unbroken.__init__.__code__.co_filename, __file__}
    reached, at = True, 0
    while reached:
        at += 1
        left, reached = at, False

        def trace(frame: FrameType, event: str, _: object) -> Any:
            nonlocal left, reached
            if frame.f_code.co_filename not in sources:
                return None
            frame.f_trace_opcodes = True
            left -= event == "opcode"
            if not left and not reached:
                reached = True
                signal.raise_signal(number)
            return trace

        before = sys.gettrace()
        broken = False
        sys.settrace(trace)
        try:
            work()
        except (KeyboardInterrupt, Ended):
            broken = True
        finally:
            sys.settrace(before)
        yield broken


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_wherever_it_comes_all_of_the_block_is_done_or_nothing_and_the_next_is_safe(
    number: signal.Signals,
) -> None:
    def end(number: int, frame: object) -> None:
        raise Ended

    signal.signal(signal.SIGTERM, end)
    record: list[int] = []
    made: list[int] = []

    def work() -> None:
        with unbroken():
            record.append(1)
            made.append(1)

    def safe() -> None:
        with unbroken():
            for heard in (signal.SIGTERM, signal.SIGINT):
                signal.raise_signal(heard)
            made.append(0)

    broken = 0
    for was_broken in at_each_instruction(number, work):
        broken += was_broken
        assert len(record) == len(made)
        with pytest.raises((KeyboardInterrupt, Ended)) as caught:
            safe()
        assert made.pop() == 0
        # Neither keeps the other from its handler.
        assert {type(caught.value), type(caught.value.__context__)} == {KeyboardInterrupt, Ended}
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        assert signal.getsignal(signal.SIGTERM) is end
    assert broken > 60
    assert len(record) > 20


STORM = """
import json, os, random, signal, sys, threading, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from store_world import METER, journal
from redraft import Session

writer = journal(Path(sys.argv[2]))
head = [{"role": "system", "content": "s"}, {"role": "user", "content": "t"}]
session = Session(head, interface="none", meter=METER, journal=writer)
wanted = threading.Semaphore(0)

def storm():
    chance = random.Random(1)
    while True:
        wanted.acquire()  # one interrupt for each time that it is wanted, so none comes late
        time.sleep(chance.uniform(0, 0.004))
        os.kill(os.getpid(), signal.SIGINT)

def same():
    tail = writer.tail()
    list(tail.new())
    turns = [(turn.number, turn.digest) for turn in tail.live.turns]
    now = [(turn.number, turn.digest) for turn in session.live.turns]
    row = session.ledger.rows[-1] if session.ledger.rows else None
    balanced = row is None or row.after == session.live.tokens
    return turns == now and tail.live.pins == session.live.pins and balanced

threading.Thread(target=storm, daemon=True).start()
interrupts = differing = 0
for _ in range(150):
    try:
        wanted.release()
        while True:
            number = session.live.next_number
            session.append({"role": "user", "content": f"word {number}"})
            session.pin(number)
            session.unpin(number)
    except KeyboardInterrupt:
        interrupts += 1
        differing += not same()
print(json.dumps({"interrupts": interrupts, "differing": differing}))
"""


def test_a_storm_of_interrupts_leaves_the_record_and_the_session_alike(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", STORM, str(HERE), str(tmp_path / "run")],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found == {"interrupts": 150, "differing": 0}
