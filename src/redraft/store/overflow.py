"""The overflow store: what left the live context, each body once, under the digest of its bytes.

A body is durable when `put` returns, and only then may a stub that names it be shown. Stores are told
what still cites their bodies; they never remove a cited one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from redraft.dialects.stubs import INCOGNITO, MEMORY, body_bytes, body_id
from redraft.errors import OverflowDamagedError, OverflowMissingError

__all__ = [
    "GRACE",
    "IncognitoOverflow",
    "Overflow",
    "Pruned",
    "VolatileOverflow",
    "closure",
    "damaged",
    "only",
    "read_body",
]

GRACE = 3_600.0
"""Seconds for which a body that was just put is never pruned: its stub may not be in the context yet."""


@dataclass(frozen=True, slots=True)
class Pruned:
    """What a prune came to.

    Attributes:
        removed: ids of the bodies that are gone.
        kept: how many bodies are left.
        size: bytes that these take in the store.
    """

    removed: tuple[str, ...]
    kept: int
    size: int


class Overflow(Protocol):
    """A store of bodies."""

    storage: str
    """Where bodies are, as a stub says it: `disk`, `memory` or `memory-only (incognito)`."""

    def put(self, body: str, cites: Iterable[str] = ()) -> str:
        """Keep a body; an equal one is kept once.

        Args:
            body: the text.
            cites: ids of the bodies that this one cites in turn, as a note does.

        Returns:
            the body's id; it is as durable as the store can make it.

        Raises:
            OverflowStoreError: it cannot be kept, and nothing has changed.
        """

    def read(self, name: str) -> str:
        """A body, checked against its id.

        Args:
            name: the id, or its first digits where no other id begins so.

        Raises:
            OverflowMissingError: no body, or several, have such an id.
            OverflowDamagedError: what is kept is not the body.
            OverflowStoreError: the store cannot be read.
        """

    def named(self, name: str) -> str:
        """The whole id that `name` begins; raises `OverflowMissingError`."""

    def prune(
        self,
        cited: Iterable[str],
        *,
        max_age: float | None = None,
        max_bytes: int | None = None,
        grace: float = GRACE,
    ) -> Pruned:
        """Remove bodies that nothing cites: old ones, then the oldest until the rest fits.

        Args:
            cited: ids that something still cites (see `redraft.store.citing.citations`). What these
                bodies cite in turn is kept as well.
            max_age: seconds from which an uncited body goes; None for no such rule.
            max_bytes: bytes that the store may take; None for no such rule. It may stay larger, where
                what is cited is larger.
            grace: seconds for which a body stays after it was put, cited or not.
        """


def closure(cited: Iterable[str], cites: Mapping[str, Iterable[str]]) -> frozenset[str]:
    """The ids that are cited, and those that the cited bodies cite in turn.

    Args:
        cited: ids.
        cites: what each body cites.
    """
    reached: set[str] = set()
    waiting = list(cited)
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting.extend(cites.get(name, ()))
    return frozenset(reached)


def read_body(name: str, data: bytes) -> str:
    """The text of a body's bytes; raises `OverflowDamagedError` where they are not what the id names."""
    if hashlib.sha256(data).hexdigest() != name:
        raise damaged(name)
    return data.decode("utf-8", "surrogatepass")


def damaged(name: str) -> OverflowDamagedError:
    """The error for a body that is not what its id names."""
    return OverflowDamagedError(
        f"the body {name[:12]} in the overflow store is damaged; get its contents again from where "
        "they came, or restore the run from a copy."
    )


def only(name: str, found: Iterable[str]) -> str:
    """The one id among those that begin with `name`; raises `OverflowMissingError`."""
    ids = list(found)
    if len(ids) == 1:
        return ids[0]
    if ids:
        raise OverflowMissingError(
            f"several bodies have ids that begin with {name}; give more of it."
        )
    raise OverflowMissingError(
        f"the overflow store keeps no body {name[:64]}; take the id from a stub in the context."
    )


class VolatileOverflow:
    """Keeps bodies in this process, for sessions that leave no files; they are gone when it ends."""

    storage = MEMORY

    def __init__(self) -> None:
        self._bodies: dict[str, str] = {}
        self._cites: dict[str, frozenset[str]] = {}

    def put(self, body: str, cites: Iterable[str] = ()) -> str:
        """See `Overflow.put`."""
        name = body_id(body)
        self._bodies[name] = self._bodies.pop(name, body)  # the newest stands last
        self._cites[name] = self._cites.get(name, frozenset()) | frozenset(cites)
        return name

    def read(self, name: str) -> str:
        """See `Overflow.read`."""
        return self._bodies[self.named(name)]

    def named(self, name: str) -> str:
        """See `Overflow.named`."""
        return only(name, (one for one in self._bodies if one.startswith(name)))

    def prune(
        self,
        cited: Iterable[str],
        *,
        max_age: float | None = None,
        max_bytes: int | None = None,
        grace: float = GRACE,
    ) -> Pruned:
        """See `Overflow.prune`. Ages are of no meaning in a process: bodies go by size alone."""
        del max_age, grace
        kept = closure(cited, self._cites)
        size = sum(len(body_bytes(body)) for body in self._bodies.values())
        removed: list[str] = []
        for name in list(self._bodies):
            if max_bytes is None or size <= max_bytes:
                break
            if name not in kept:
                size -= len(body_bytes(self._bodies.pop(name)))
                del self._cites[name]
                removed.append(name)
        return Pruned(tuple(removed), len(self._bodies), size)


class IncognitoOverflow:
    """Keeps nothing at all: a run that must leave no trace loses what it drops, and its stubs say so."""

    storage = INCOGNITO

    def put(self, body: str, cites: Iterable[str] = ()) -> str:
        """Name a body; see `Overflow.put`."""
        del cites
        return body_id(body)

    def read(self, name: str) -> str:
        """Raises `OverflowMissingError`, always."""
        raise self._gone(name)

    def named(self, name: str) -> str:
        """Raises `OverflowMissingError`, always."""
        raise self._gone(name)

    def prune(
        self,
        cited: Iterable[str],
        *,
        max_age: float | None = None,
        max_bytes: int | None = None,
        grace: float = GRACE,
    ) -> Pruned:
        """Nothing is there."""
        del cited, max_age, max_bytes, grace
        return Pruned((), 0, 0)

    def _gone(self, name: str) -> OverflowMissingError:
        return OverflowMissingError(
            f"the body {name[:12]} was {INCOGNITO} and cannot be restored; get its contents again from "
            "where they came."
        )
