"""A filter on system calls, for what namespaces do not cover. Pure.

Namespaces hide things by name; some calls need no name. The kernel's key rings are inherited.
Virtual-machine sockets ignore the network namespace. `io_uring` makes sockets past a filter on
`socket`. A user namespace of one's own opens most of the kernel's attack surface. The filter refuses
these and lets everything else through; it is a second wall and not the first.

The numbers are the kernel's (`asm/unistd_64.h`, `asm-generic/unistd.h`), the program is classic BPF
over `struct seccomp_data` (seccomp(2)).
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Mapping, Sequence
from types import MappingProxyType

__all__ = ["MACHINES", "filter_program"]

_LOAD = 0x20  # BPF_LD | BPF_W | BPF_ABS
_EQUAL = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
_AT_LEAST = 0x35  # BPF_JMP | BPF_JGE | BPF_K
_ANY_BIT = 0x45  # BPF_JMP | BPF_JSET | BPF_K
_RETURN = 0x06  # BPF_RET | BPF_K

_ALLOW = 0x7FFF0000
_ERRNO = 0x00050000

# Offsets in struct seccomp_data. Arguments are compared by their low half, which is all that the
# kernel looks at for these calls; both machines are little-endian.
_NUMBER, _ARCHITECTURE = 0, 4
_FIRST, _SECOND = 16, 24

_X32 = 0x40000000
_NEW_USER = 0x10000000  # CLONE_NEWUSER
_SOCKETS = (1, 2, 10, 16)  # unix, IPv4, IPv6, netlink
_TERMINAL = (0x5412, 0x541C)  # TIOCSTI and TIOCLINUX put text into a terminal's input

_REFUSED = (
    "add_key",
    "bpf",
    "keyctl",
    "open_by_handle_at",
    "perf_event_open",
    "request_key",
    "userfaultfd",
)
# Programs fall back to something older if they are told that these do not exist.
_UNKNOWN = ("clone3", "io_uring_enter", "io_uring_register", "io_uring_setup")

_COMMON = {
    "clone3": 435,
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
}
_X86_64 = {
    "add_key": 248,
    "bpf": 321,
    "clone": 56,
    "ioctl": 16,
    "keyctl": 250,
    "open_by_handle_at": 304,
    "perf_event_open": 298,
    "request_key": 249,
    "socket": 41,
    "unshare": 272,
    "userfaultfd": 323,
}
_AARCH64 = {
    "add_key": 217,
    "bpf": 280,
    "clone": 220,
    "ioctl": 29,
    "keyctl": 219,
    "open_by_handle_at": 265,
    "perf_event_open": 241,
    "request_key": 218,
    "socket": 198,
    "unshare": 97,
    "userfaultfd": 282,
}

MACHINES: Mapping[str, tuple[int, Mapping[str, int]]] = MappingProxyType(
    {
        "x86_64": (0xC000003E, _X86_64 | _COMMON),
        "aarch64": (0xC00000B7, _AARCH64 | _COMMON),
    }
)
"""The machines there is a filter for, as `platform.machine()` names them: the kernel's number of the
architecture, and the numbers of its calls."""

_Step = tuple[int, int, int, int]


def filter_program(machine: str) -> bytes | None:
    """The filter as an array of `struct sock_filter`; None for a machine whose numbers are not known.

    Calls of another architecture (32-bit programs, x32) do not exist under it, since their numbers
    mean other things.
    """
    if machine not in MACHINES:
        return None
    architecture, calls = MACHINES[machine]
    steps: list[_Step] = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, architecture),
        _answer(errno.ENOSYS),
        (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, 0, 1, _X32),
        _answer(errno.ENOSYS),
    ]
    for name in _REFUSED:
        steps += [(_EQUAL, 0, 1, calls[name]), _answer(errno.EPERM)]
    for name in _UNKNOWN:
        steps += [(_EQUAL, 0, 1, calls[name]), _answer(errno.ENOSYS)]
    for name in ("clone", "unshare"):
        steps += _when(calls[name], _FIRST, [(_ANY_BIT, 0, 1, _NEW_USER), _answer(errno.EPERM)])
    steps += _when(calls["ioctl"], _SECOND, _none_of(_TERMINAL, errno.EPERM))
    steps += _when(calls["socket"], _FIRST, _only(_SOCKETS, errno.EAFNOSUPPORT))
    steps.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("<HBBI", *step) for step in steps)


def _answer(number: int) -> _Step:
    return (_RETURN, 0, 0, _ERRNO | number)


def _when(call: int, argument: int, tests: Sequence[_Step]) -> list[_Step]:
    """Load an argument of `call` and test it; the call is allowed where no test answers."""
    body = [(_LOAD, 0, 0, argument), *tests, (_RETURN, 0, 0, _ALLOW)]
    return [(_EQUAL, 0, len(body), call), *body]


def _none_of(values: Sequence[int], number: int) -> list[_Step]:
    return [step for value in values for step in ((_EQUAL, 0, 1, value), _answer(number))]


def _only(values: Sequence[int], number: int) -> list[_Step]:
    allow: _Step = (_RETURN, 0, 0, _ALLOW)
    return [step for value in values for step in ((_EQUAL, 0, 1, value), allow)] + [_answer(number)]
