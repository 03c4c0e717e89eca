"""What stands where becomes mounts: the longer path wins, and nothing that is hidden can be moved."""

from __future__ import annotations

from pathlib import PurePosixPath

from hypothesis import given
from hypothesis import strategies as st

from redraft.sandbox.mounts import Kind, Place, Point, nearest, plan

ROOT = PurePosixPath("/")
WORK = PurePosixPath("/home/me")
BASE = {ROOT: Place(Kind.READ_ONLY, ROOT), WORK: Place(Kind.WRITABLE, WORK)}

names = st.sampled_from(["a", "b", "c"])
paths = st.lists(names, min_size=1, max_size=5).map(lambda parts: WORK.joinpath(*parts))
kinds = st.sampled_from(
    [
        Place(Kind.EMPTY),
        Place(Kind.READ_ONLY, PurePosixPath("/x")),
        Place(Kind.WRITABLE, WORK / "z"),
    ]
)


def mounted(arguments: tuple[str, ...]) -> dict[str, tuple[str, str | None]]:
    """By the path that is mounted on: the last option, and the source."""
    found: dict[str, tuple[str, str | None]] = {}
    words = iter(arguments)
    for word in words:
        if word in ("--bind", "--ro-bind"):
            source = next(words)
            found[next(words)] = (word, source)
        elif word == "--size":
            next(words)
        elif word != "--remount-ro":
            found[next(words)] = (word, None)
        else:
            assert next(words) in found
    return found


def order(arguments: tuple[str, ...]) -> list[str]:
    return list(mounted(arguments))


def test_the_places_are_mounted_from_the_top_down() -> None:
    made = plan({**BASE, WORK / "a": Place(Kind.EMPTY)})
    assert made.arguments == (
        *("--ro-bind", "/", "/"),
        *("--bind", "/home/me", "/home/me"),
        *("--tmpfs", "/home/me/a", "--remount-ro", "/home/me/a"),
    )
    assert made.points == (Point(WORK, PurePosixPath("a")),)


def test_every_directory_above_a_hidden_one_is_pinned() -> None:
    made = plan({**BASE, WORK / "a" / "b" / "c": Place(Kind.EMPTY)})
    assert mounted(made.arguments) == {
        "/": ("--ro-bind", "/"),
        "/home/me": ("--bind", "/home/me"),
        "/home/me/a": ("--bind", "/home/me/a"),
        "/home/me/a/b": ("--bind", "/home/me/a/b"),
        "/home/me/a/b/c": ("--tmpfs", None),
    }


def test_a_pin_leads_to_the_source_and_not_to_the_path() -> None:
    tmp, private = PurePosixPath("/tmp"), PurePosixPath("/private")
    made = plan({ROOT: BASE[ROOT], tmp: Place(Kind.WRITABLE, private), tmp / "a" / "b": BASE[WORK]})
    assert mounted(made.arguments)["/tmp/a"] == ("--bind", "/private/a")
    assert made.points == (Point(private, PurePosixPath("a/b")),)


def test_a_directory_in_memory_has_its_size() -> None:
    shm = PurePosixPath("/dev/shm")
    arguments = plan({shm: Place(Kind.SCRATCH, size=5)}).arguments
    assert arguments == ("--size", "5", "--tmpfs", "/dev/shm")
    assert plan({shm: Place(Kind.SCRATCH)}).arguments == ("--tmpfs", "/dev/shm")


@given(st.dictionaries(paths, kinds, max_size=6))
def test_each_place_is_what_it_was_said_to_be(
    more: dict[PurePosixPath, Place],
) -> None:
    places = {**BASE, **more}
    found = mounted(plan(places).arguments)
    for path, place in places.items():
        source = None if place.source is None else str(place.source)
        assert found[str(path)] == (place.kind.value, source)


@given(st.dictionaries(paths, kinds, max_size=6))
def test_nothing_between_a_writable_place_and_a_mount_can_be_moved(
    more: dict[PurePosixPath, Place],
) -> None:
    places = {**BASE, **more}
    found = mounted(plan(places).arguments)
    for path in places:
        above = nearest(path, places)
        while above is not None and places[above].kind is Kind.WRITABLE and path.parent != above:
            path = path.parent
            assert str(path) in found


@given(st.dictionaries(paths, kinds, max_size=6))
def test_a_mount_comes_after_the_one_it_lies_in(more: dict[PurePosixPath, Place]) -> None:
    seen = order(plan({**BASE, **more}).arguments)
    for at, path in enumerate(seen):
        assert not any(PurePosixPath(path) in PurePosixPath(before).parents for before in seen[:at])
