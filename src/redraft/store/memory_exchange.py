"""A memory as JSON lines: out of one store and into another.

The first line is `{"redraft_memory": 1}`; each further one is an item or a version of a session's state.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from redraft.errors import MemoryFormatError
from redraft.store.memory_base import Draft, ItemSource, Memory, SessionState, StateStore
from redraft.store.memory_rules import check_draft, name, state_text

__all__ = ["Imported", "KeepsBoth", "export_lines", "import_lines"]

_FORMAT = 1


class KeepsBoth(Memory, StateStore, Protocol):
    """A store of items and of states."""


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import came to.

    Attributes:
        kept, merged, refused: what became of the items.
        states: versions of states that were saved.
        skipped: versions of states of sessions that had one here already.
    """

    kept: int
    merged: int
    refused: int
    states: int
    skipped: int


def export_lines(store: KeepsBoth) -> Iterator[str]:
    """Everything that a store keeps and that has not expired, as JSON lines without their ends.

    Args:
        store: where it is.
    """
    yield json.dumps({"redraft_memory": _FORMAT})
    for item in store.items():
        values = {key: value for key, value in asdict(item).items() if key != "id"}
        yield json.dumps({"kind": "item", **values})
    for state in store.states():
        yield json.dumps({"kind": "state", **asdict(state)})


def import_lines(store: KeepsBoth, lines: Iterable[str]) -> Imported:
    """Take in what `export_lines` made.

    Every line is read before anything is changed. Items that the store has already are merged, so an
    import that was broken off is simply done again. The states of a session are taken where the store has
    none of it, under new version numbers.

    Args:
        store: where it goes.
        lines: JSON lines; blank ones are passed over.

    Raises:
        MemoryFormatError: a line is no part of an export; nothing has changed.
    """
    drafts: list[Draft] = []
    states: list[SessionState] = []
    for read in _read(lines):
        if isinstance(read, Draft):
            drafts.append(read)
        else:
            states.append(read)
    outcomes = [added.outcome for added in store.add_all(drafts)]
    saved = _save(store, states)
    return Imported(
        outcomes.count("kept"),
        outcomes.count("merged"),
        outcomes.count("refused"),
        saved,
        len(states) - saved,
    )


def _save(store: KeepsBoth, states: Iterable[SessionState]) -> int:
    """Save what is new; returns how many versions that were."""
    ordered = sorted(states, key=lambda one: (one.session, one.version))
    has = {one.session: store.state(one.session).version for one in ordered}
    fresh = [one for one in ordered if has[one.session] == 0]
    for one in fresh:
        base = store.state(one.session).version
        store.save_state(one.session, one.state, base=base, task_type=one.task_type)
    return len(fresh)


def _read(lines: Iterable[str]) -> Iterator[Draft | SessionState]:
    headed = False
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
            if headed:
                yield _part(value)
            elif value["redraft_memory"] != _FORMAT:
                raise ValueError(f"format {value['redraft_memory']!r}")
            headed = True
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise MemoryFormatError(
                f"line {number} is no part of a memory's export ({type(error).__name__}: {error}); export "
                "it again, or take the line out. Nothing was changed."
            ) from error


def _part(value: dict[str, Any]) -> Draft | SessionState:
    if value["kind"] == "state":
        state = SessionState(
            name(value["session"], "session"),
            int(value["version"]),
            value["state"],
            float(value["at"]),
            name(value["task_type"], "task type"),
        )
        state_text(state.state)
        return state
    if value["kind"] != "item":
        raise ValueError(f"kind {value['kind']!r}")
    return _draft(value)


def _draft(value: dict[str, Any]) -> Draft:
    sources = tuple(
        ItemSource(str(one["session"]), _number(one["turn"]), float(one["at"]))
        for one in value["sources"]
    )
    ends = value["expires"]
    if not isinstance(value["text"], str):
        raise TypeError("the text is none")
    draft = Draft(
        value["text"],
        str(value["task_type"]),
        tuple(map(str, value["tags"])),
        at=float(value["at"]),
        expires=None if ends is None else float(ends),
        sources=sources,
    )
    check_draft(draft)
    return draft


def _number(turn: object) -> int | None:
    if turn is None or isinstance(turn, int):
        return turn
    raise TypeError(f"turn {turn!r} is no number")
