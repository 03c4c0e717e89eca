"""What a client that owns the loop has sent so far, to tell new turns from a rewritten history."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass

__all__ = ["ClientHistory", "Known", "fingerprint"]


def fingerprint(message: object) -> bytes:
    """A digest of one message as the client holds it: its values, whatever the order of its keys."""
    text = json.dumps(_plain(message), sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _plain(message: object) -> object:
    dump = getattr(message, "model_dump", None)
    return dump(exclude_none=True) if callable(dump) else message


@dataclass(frozen=True, slots=True)
class Known:
    """One message that was taken in.

    Attributes:
        exact: the digest of all its values.
        shown: what a reader sees of it, as a digest: clients move cache marks, drop old reasoning
            and turn their objects into dictionaries without meaning another message by it.
        value: a copy, if there is one. Strings are shared with the client's own message, so comparing
            with it costs next to nothing, while hashing a million tokens in each call would not.
    """

    exact: bytes
    shown: str
    value: object = None


class ClientHistory:
    """The client's own history, as digests.

    A client may also go on from what `view` gave it last; then that is its history.

    Args:
        shown: the digest of what a reader sees of one message.
        messages: what the client has sent already.
        known: the same, as digests.

    Attributes:
        known: the digests of what the client has sent.
    """

    def __init__(
        self,
        shown: Callable[[object], str],
        messages: Sequence[object] = (),
        known: Sequence[Known] = (),
    ) -> None:
        self._shown = shown
        self.known = [*known, *map(self._mark, messages)]
        self._given: Sequence[object] = ()

    def new(self, messages: Sequence[object]) -> Sequence[object] | None:
        """The messages behind those that are known, or None where the client rewrote its history.

        Args:
            messages: the client's whole history as it sends it now; it is the known one from here on.
        """
        known = self._matched(self.known, messages)
        if known is None and self._given:
            known = self._matched([self._mark(message) for message in self._given], messages)
        if known is None:
            self.known = [self._mark(message) for message in messages]
            return None
        new = messages[len(known) :]
        self.known = known + [self._mark(message) for message in new]
        return new

    def forget(self) -> None:
        """Take the client's next history for a new one, whatever it holds."""
        self.known, self._given = [], ()

    def gave(self, messages: Sequence[object]) -> None:
        """Remember what the client was given."""
        self._given = messages

    def _mark(self, message: object) -> Known:
        return Known(fingerprint(message), self._shown(message), deepcopy(_plain(message)))

    def _matched(self, known: Sequence[Known], messages: Sequence[object]) -> list[Known] | None:
        """`known` as the client holds it now, where `messages` begins with it; else None."""
        if not known or len(messages) < len(known):
            return None
        now: list[Known] = []
        for one, message in zip(known, messages, strict=False):
            if one.value is None or one.value != _plain(message):
                exact = fingerprint(message)
                if exact != one.exact and self._shown(message) != one.shown:
                    return None
                one = Known(exact, one.shown, deepcopy(_plain(message)))
            now.append(one)
        return now
