"""Keeping the head and the tail of an output of any length in bounded memory. Pure.

A command may print gigabytes on one line, so the cap counts bytes and not lines, and it works
while the output arrives (RooCodeInc/Roo-Code#5775, code-yeongyu/oh-my-openagent#6528).
"""

from __future__ import annotations

__all__ = ["Capture"]

_CONTINUATION = range(0x80, 0xC0)
_LONGEST_CHARACTER = 4


class Capture:
    """The first and the last bytes of a stream.

    Holds at most 1.5 times `cap` bytes and one more, whatever is fed to it.

    Args:
        cap: bytes to keep, half from the head and half from the tail.
    """

    def __init__(self, cap: int) -> None:
        self._cap = cap
        self._head_size = cap // 2
        self._tail_size = cap - self._head_size
        self._head = bytearray()
        self._tail = bytearray()
        self._seen = 0

    @property
    def seen(self) -> int:
        """Bytes that were fed so far, kept or not."""
        return self._seen

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes of the stream."""
        self._seen += len(chunk)
        room = self._head_size - len(self._head)
        if room > 0:
            self._head += chunk[:room]
            chunk = chunk[room:]
        self._tail += chunk[-self._tail_size :] if self._tail_size else b""
        # Trimmed only when it has doubled, so that a byte is moved once and not once a chunk.
        if len(self._tail) > 2 * self._tail_size:
            del self._tail[: -self._tail_size]

    def text(self) -> tuple[str, int]:
        """What was kept, with a marker line where bytes are missing, and how many are missing."""
        if self._seen <= self._cap:
            return bytes(self._head + self._tail).decode("utf-8", "replace"), 0
        head = _whole_end(bytes(self._head))
        tail = _whole_start(bytes(self._tail[-self._tail_size :]) if self._tail_size else b"")
        missing = self._seen - len(head) - len(tail)
        marker = f"[... {missing} bytes of output left out ...]"
        parts = (head.decode("utf-8", "replace"), marker, tail.decode("utf-8", "replace"))
        return "\n".join(parts), missing


def _whole_end(data: bytes) -> bytes:
    """`data` without the first bytes of a character that the cut split."""
    for back in range(1, min(_LONGEST_CHARACTER, len(data) + 1)):
        lead = data[-back]
        if lead in _CONTINUATION:
            continue
        length = 2 if 0xC0 <= lead < 0xE0 else 3 if 0xE0 <= lead < 0xF0 else 4
        return data[:-back] if lead >= 0xC0 and length > back else data
    return data


def _whole_start(data: bytes) -> bytes:
    """`data` without the last bytes of a character that the cut split."""
    start = 0
    while start < min(_LONGEST_CHARACTER - 1, len(data)) and data[start] in _CONTINUATION:
        start += 1
    return data[start:]
