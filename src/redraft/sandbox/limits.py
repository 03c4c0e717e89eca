"""What commands in a sandbox may use. Pure."""

from __future__ import annotations

from dataclasses import dataclass, fields

from redraft.errors import SettingsError

__all__ = ["Limits", "Usage", "excess", "ulimits"]

_KIB = 1 << 10
_MIB = 1 << 20
_GIB = 1 << 30


@dataclass(frozen=True)
class Limits:
    """What one command may use, with all the processes that it starts.

    `docs/design/sandbox.md` says which limit the kernel holds and which is watched.

    Raises:
        SettingsError: a limit is below one (or below zero, for what is to be left spare).
    """

    processes: int = 1_024
    """Processes and threads at a time."""

    memory_bytes: int | None = None
    """Memory in all, in bytes. Default: half of this machine's."""

    file_bytes: int = 4 * _GIB
    """The size to which a file may grow, in bytes."""

    output_bytes: int = 256 * _MIB
    """Bytes that may be printed, kept or not."""

    cpu_seconds: int | None = None
    """Seconds of computing for each single process. Default: none but the time limit."""

    spare_memory_bytes: int = 256 * _MIB
    """Memory of the whole machine that must stay available while a command runs; 0 for none. This
    also counts what belongs to no process, such as pipes and files in memory."""

    spare_disk_bytes: int = 256 * _MIB
    """Disk space that must stay free where commands can write, or half of what was free at the start
    where that is less; 0 for none. The journal and the person need some."""

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            least = 0 if item.name.startswith("spare_") else 1
            if value is not None and value < least:
                raise SettingsError(f"{item.name} is {value}. Give a number from {least} up.")


@dataclass(frozen=True)
class Usage:
    """What a command uses at a moment.

    Attributes:
        processes: processes and threads.
        memory: bytes of memory.
        printed: bytes printed so far.
        spare_memory: bytes of memory that the machine has left; None where nobody can tell.
        spare_disk: bytes that may still be written before the disk is too full.
    """

    processes: int
    memory: int
    printed: int
    spare_memory: int | None
    spare_disk: int


def excess(usage: Usage, limits: Limits, memory: int) -> str:
    """Which limit is passed, in words for the model; "" for none.

    Args:
        usage: what is used.
        limits: what may be used.
        memory: the bytes of memory that may be used.
    """
    if usage.processes > limits.processes:
        return f"more than {limits.processes} processes and threads"
    if usage.memory > memory:
        return f"more than {memory // _MIB} MiB of memory"
    if usage.printed > limits.output_bytes:
        return f"more than {limits.output_bytes} bytes of output. Write it to a file instead"
    if usage.spare_memory is not None and usage.spare_memory < limits.spare_memory_bytes:
        return "this machine has hardly any memory left"
    if usage.spare_disk < 0:
        return "the disk is almost full"
    return ""


def ulimits(limits: Limits, memory: int, *, count: bool) -> str:
    """The shell text that sets what the kernel can hold for each process.

    `-d` counts private memory that can be written to, not addresses: a runtime may reserve as many of
    those as it likes. A limit that stands lower already stays.

    Args:
        limits: what may be used.
        memory: the bytes of memory that may be used.
        count: whether the kernel counts processes for the sandbox alone.
    """
    values = {
        "-c": 0,
        "-d": max(1, memory // _KIB),
        "-f": max(1, limits.file_bytes // _KIB),
        "-t": limits.cpu_seconds,
        "-u": limits.processes if count else None,
    }
    return " ".join(
        f"builtin ulimit {flag} {value} 2>/dev/null;"
        for flag, value in values.items()
        if value is not None
    )
