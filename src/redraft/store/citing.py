"""What cites a body of the overflow store, and which bodies a revision is about to cite.

Only what went through the door cites: stubs, notes that hold stub lines, what was edited or summarized
from them. A stub that a user quotes, a model repeats in its own words or a tool prints is text and holds
nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from redraft.context import Draft, Live, Origin, Revision, Turn
from redraft.dialects.stubs import body_id, stubs_in

__all__ = ["Spill", "citations", "spills_of"]


@dataclass(frozen=True, slots=True)
class Spill:
    """A body that must be in the store before the revision that cites it goes to the door.

    Attributes:
        id: its digest.
        body: the text that leaves the context.
        cites: the bodies that it cites in turn.
    """

    id: str
    body: str
    cites: tuple[str, ...] = ()


def citations(turns: Iterable[Turn]) -> frozenset[str]:
    """The ids that turns cite.

    Args:
        turns: of the live context, and of every version that an undo could bring back
            (`redraft.store.versions`).
    """
    return frozenset(
        stub.id
        for turn in turns
        if turn.origin is not Origin.ORIGINAL
        for stub in stubs_in(turn.content.text)
    )


def spills_of(revision: Revision, live: Live) -> tuple[Spill, ...]:
    """The bodies that a revision moves out of a context: texts that it replaces, and cites in what it
    puts in, whoever wrote it.

    Args:
        revision: before it goes to the door.
        live: the context that it is proposed for.
    """
    news = [change.new for change in revision.changes]
    news += [insert.new for insert in revision.inserts]
    cited = {
        stub.id for new in news if isinstance(new, Draft) for stub in stubs_in(new.content.text)
    }
    if not cited:
        return ()
    turns = {turn.number: turn for turn in live.turns}
    olds = (turns.get(change.number) for change in revision.changes)
    spills: dict[str, Spill] = {}
    for old in olds:
        name = body_id(old.content.text) if old is not None else ""
        if old is not None and name in cited:
            spills[name] = Spill(name, old.content.text, tuple(sorted(citations([old]))))
    return tuple(spills.values())
