"""What stands in the context for a body that went to the overflow store: one line of text.

    [overflow id=<sha256> tool=bash bytes=5212 call_id=call_1 storage=disk]

The line is the same in every format and for whoever wrote it, tool or policy, so it lives below both.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Self

__all__ = ["DISK", "INCOGNITO", "MEMORY", "OverflowStub", "body_bytes", "body_id", "stubs_in"]

DISK = "disk"
"""The body is in the run's directory."""
MEMORY = "memory"
"""The body is kept by this process and is gone when it ends."""
INCOGNITO = "memory-only (incognito)"
"""The body was never written anywhere and cannot be restored."""

_UNSAFE = re.compile(r"[^\w.:/+#-]")
_LONGEST_WORD = 100
_SHAPE = re.compile(
    r"\[overflow id=(?P<id>[0-9a-f]{64}) tool=(?P<tool>\S+) bytes=(?P<size>\d{1,15}) "
    r"call_id=(?P<call_id>\S+) storage=(?P<storage>[^\[\]\r\n]{1,60})\]"
)
_LINE = re.compile(rf"^{_SHAPE.pattern}[ \t]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class OverflowStub:
    """A stub's values.

    Attributes:
        id: the body's SHA-256, in hexadecimal digits.
        tool: the tool that gave it; `-` where nobody knows.
        size: the body's bytes in UTF-8.
        call_id: the call that it answered, or another handle.
        storage: where the body is: `disk`, `memory` or `memory-only (incognito)`.
    """

    id: str
    tool: str
    size: int
    call_id: str
    storage: str = DISK

    @classmethod
    def of(cls, body: str, tool: str, call_id: str, storage: str = DISK) -> Self:
        """The stub of a body. Names are made fit to stand in it: no spaces, no brackets."""
        size = len(body_bytes(body))
        return cls(body_id(body), _word(tool), size, _word(call_id), storage)

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """The stub that `text` is and nothing else; None where it is anything else."""
        found = _SHAPE.fullmatch(text.strip(" \t\r\n")) if text.startswith("[overflow ") else None
        return None if found is None else cls._read(found)

    @classmethod
    def _read(cls, found: re.Match[str]) -> Self:
        tool, call_id, storage = found["tool"], found["call_id"], found["storage"]
        return cls(found["id"], tool, int(found["size"]), call_id, storage)

    @property
    def line(self) -> str:
        """The stub as it stands in the context."""
        return (
            f"[overflow id={self.id} tool={self.tool} bytes={self.size} "
            f"call_id={self.call_id} storage={self.storage}]"
        )


def stubs_in(text: str) -> tuple[OverflowStub, ...]:
    """Every stub that has a line of `text` to itself, as the lines of a note have."""
    if "[overflow id=" not in text:
        return ()
    return tuple(OverflowStub._read(found) for found in _LINE.finditer(text))


def body_id(body: str) -> str:
    """What names a body: the SHA-256 of its bytes."""
    return hashlib.sha256(body_bytes(body)).hexdigest()


def body_bytes(body: str) -> bytes:
    """A body in UTF-8; half a surrogate pair is kept as it is."""
    return body.encode("utf-8", "surrogatepass")


def _word(text: str) -> str:
    return _UNSAFE.sub("_", text)[:_LONGEST_WORD] or "-"
