"""The filter on system calls, run on a small machine of its own."""

from __future__ import annotations

import errno
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.sandbox.seccomp import MACHINES, filter_program

ALLOWED = 0x7FFF0000
ERRNO = 0x00050000
NEW_USER = 0x10000000
machines = pytest.mark.parametrize("machine", MACHINES)


def answer(program: bytes, architecture: int, number: int, *args: int) -> int:
    """What the filter answers to a call (seccomp(2)); fails if it runs off its end."""
    six = (*args, *[0] * (6 - len(args)))
    data = struct.pack("<IIQ6Q", number, architecture, 0, *six)
    steps = list(struct.iter_unpack("<HBBI", program))
    at = accumulator = 0
    while True:
        code, yes, no, operand = steps[at]
        at += 1
        match code:
            case 0x20:
                (accumulator,) = struct.unpack_from("<I", data, operand)
            case 0x15:
                at += yes if accumulator == operand else no
            case 0x35:
                at += yes if accumulator >= operand else no
            case 0x45:
                at += yes if accumulator & operand else no
            case 0x06:
                return int(operand)
            case _:
                pytest.fail(f"no such instruction: {code:#x}")


def ask(machine: str, name: str, *args: int) -> int:
    program = filter_program(machine)
    assert program is not None
    architecture, calls = MACHINES[machine]
    return answer(program, architecture, calls[name], *args)


@machines
@pytest.mark.parametrize("name", ["keyctl", "add_key", "request_key", "bpf", "perf_event_open"])
def test_what_needs_no_name_is_refused(machine: str, name: str) -> None:
    assert ask(machine, name) == ERRNO | errno.EPERM


@machines
@pytest.mark.parametrize("name", ["clone3", "io_uring_setup", "io_uring_enter"])
def test_what_has_something_older_does_not_exist(machine: str, name: str) -> None:
    assert ask(machine, name) == ERRNO | errno.ENOSYS


@machines
def test_user_namespaces_are_refused_and_threads_are_not(machine: str) -> None:
    thread = 0x3D0F00
    assert ask(machine, "clone", thread) == ALLOWED
    assert ask(machine, "clone", NEW_USER | 17) == ERRNO | errno.EPERM
    assert ask(machine, "unshare", NEW_USER) == ERRNO | errno.EPERM
    assert ask(machine, "unshare", 0x20000) == ALLOWED


@machines
def test_the_usual_sockets_are_allowed_and_no_others(machine: str) -> None:
    for family in range(60):
        expected = ALLOWED if family in (1, 2, 10, 16) else ERRNO | errno.EAFNOSUPPORT
        assert ask(machine, "socket", family) == expected


@machines
@given(high=st.integers(0, 2**32 - 1))
def test_the_unused_half_of_an_argument_hides_nothing(machine: str, high: int) -> None:
    # The kernel looks at the low half only, so a filter that compared all of it could be passed.
    above = high << 32
    assert ask(machine, "ioctl", 0, above | 0x5412) == ERRNO | errno.EPERM
    assert ask(machine, "socket", above | 40) == ERRNO | errno.EAFNOSUPPORT
    assert ask(machine, "ioctl", 0, above | 0x5413) == ALLOWED


@machines
@given(number=st.integers(0, 2**32 - 1), args=st.tuples(*[st.integers(0, 2**64 - 1)] * 2))
def test_every_call_has_an_answer(machine: str, number: int, args: tuple[int, int]) -> None:
    program = filter_program(machine)
    assert program is not None
    architecture, calls = MACHINES[machine]
    found = answer(program, architecture, number, *args)
    if number not in calls.values():
        assert found == (ERRNO | errno.ENOSYS if number >= 0x40000000 else ALLOWED)
    assert answer(program, architecture ^ 1, number, *args) == ERRNO | errno.ENOSYS


def test_a_machine_that_is_not_known_has_no_filter() -> None:
    assert filter_program("sparc64") is None
