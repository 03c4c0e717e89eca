"""Events back from plain values, as a log holds them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

from redraft.events.catalogue import Event

__all__ = ["event_from_dict"]


def event_from_dict(values: Mapping[str, Any]) -> Event:
    """The event whose `as_dict` gave `values`.

    Args:
        values: with its `type`. Fields that this version does not know are left out, and a type that
            it does not know gives a bare `Event`: a log outlives the version that wrote it.

    Raises:
        TypeError: a field that the event needs is missing.
    """
    kind, known = _kind(str(values.get("type")))
    given = {name: _frozen(value) for name, value in values.items() if name in known}
    return kind(**given)


_Known = tuple[type[Event], frozenset[str]]

_found: dict[str, _Known] = {}
_UNKNOWN: _Known = (Event, frozenset({"round"}))


def _kind(name: str) -> _Known:
    """The event of that type and its fields. A type that is not found may be defined later."""
    if name not in _found:
        for kind in _kinds(Event):
            _found[kind.type] = (kind, frozenset(field.name for field in fields(kind)))
    return _found.get(name, _UNKNOWN)


def _kinds(kind: type[Event]) -> Iterator[type[Event]]:
    for below in kind.__subclasses__():
        yield below
        yield from _kinds(below)


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
