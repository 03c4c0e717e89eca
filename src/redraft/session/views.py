"""What a client that owns the loop has sent so far, to tell new turns from a rewritten history."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

__all__ = ["ClientView", "fingerprint"]


def fingerprint(message: object) -> bytes:
    """A digest of one message as the client holds it: its values, whatever the order of its keys."""
    dump = getattr(message, "model_dump", None)
    value = dump(exclude_none=True) if callable(dump) else message
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class ClientView:
    """The client's own history, as digests.

    Args:
        messages: what it has sent already.
    """

    def __init__(self, messages: Sequence[object] = ()) -> None:
        self._known = [fingerprint(message) for message in messages]

    def new(self, messages: Sequence[object]) -> Sequence[object] | None:
        """The messages behind those that are known, or None where the client rewrote its history.

        Args:
            messages: the client's whole history as it sends it now; it is the known one from here on.
        """
        now = [fingerprint(message) for message in messages]
        before, self._known = self._known, now
        if not before or now[: len(before)] != before:
            return None
        return messages[len(before) :]
