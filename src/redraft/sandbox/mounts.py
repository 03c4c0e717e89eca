"""Which directories a contained command sees, as arguments for bubblewrap. Pure.

Every place says what stands there, and the longer path wins: a hidden directory stays hidden in a
writable one, a work directory is seen in a hidden one.

A command could move the parent of a place that lies in a directory that it can write to, and with it
what is hidden there; the next command would then see it under the new name. Nothing that is mounted
can be moved or removed, so every directory between the two becomes a mount of its own.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import PurePosixPath

__all__ = ["Kind", "Place", "Plan", "Point", "nearest", "plan"]


class Kind(Enum):
    """What stands at a place."""

    READ_ONLY = "--ro-bind"
    """Something of this machine that can be read."""

    WRITABLE = "--bind"
    """Something of this machine that can be written to."""

    EMPTY = "--tmpfs"
    """An empty directory that cannot be written to."""

    SCRATCH = "scratch"
    """An empty directory in memory that can be written to."""

    DEVICES = "--dev"
    """The few devices that every program needs."""

    PROCESSES = "--proc"
    """The processes of the sandbox, and the kernel's settings."""


@dataclass(frozen=True)
class Place:
    """What stands at one path.

    Attributes:
        kind: what it is.
        source: the path on this machine, without links, for the two kinds that have one.
        size: bytes that a scratch directory may hold; None for no limit of its own.
        file: whether it is a file and no directory.
    """

    kind: Kind
    source: PurePosixPath | None = None
    size: int | None = None
    file: bool = False


@dataclass(frozen=True)
class Point:
    """Something that has to stand in a writable source before the mounts are made.

    Attributes:
        root: the source.
        path: the path in it; each step must be a directory and no link.
        file: whether the last step is a file.
    """

    root: PurePosixPath
    path: PurePosixPath
    file: bool = False


@dataclass(frozen=True)
class Plan:
    """The mounts.

    Attributes:
        arguments: for bubblewrap, in order.
        points: what has to stand where, before.
    """

    arguments: tuple[str, ...]
    points: tuple[Point, ...]


def nearest(path: PurePosixPath, places: Container[PurePosixPath]) -> PurePosixPath | None:
    """The longest of `places` that `path` lies in; it does not lie in itself."""
    return next((above for above in path.parents if above in places), None)


def plan(places: Mapping[PurePosixPath, Place]) -> Plan:
    """How the places become mounts.

    Args:
        places: what stands where; paths are absolute and without links.
    """
    pinned = dict(places)
    points: list[Point] = []
    for path in sorted(places, key=_depth):
        above = nearest(path, places)
        if above is None or places[above].kind is not Kind.WRITABLE:
            continue
        root = places[above].source
        assert root is not None
        relative = path.relative_to(above)
        points.append(Point(root, relative, places[path].file))
        for step in relative.parents:
            if step.parts:
                pinned[above / step] = Place(Kind.WRITABLE, root / step)
    ordered = sorted(pinned, key=_depth)
    arguments = [word for path in ordered for word in _mount(path, pinned[path])]
    # Last, because mount points have to be made in them.
    for path in ordered:
        if pinned[path].kind in (Kind.EMPTY, Kind.DEVICES):
            arguments += ["--remount-ro", str(path)]
    return Plan(tuple(arguments), tuple(points))


def _depth(path: PurePosixPath) -> tuple[int, PurePosixPath]:
    return len(path.parts), path


def _mount(path: PurePosixPath, place: Place) -> list[str]:
    if place.kind is Kind.SCRATCH:
        return [*(["--size", str(place.size)] if place.size else []), "--tmpfs", str(path)]
    source = [] if place.source is None else [str(place.source)]
    return [place.kind.value, *source, str(path)]
