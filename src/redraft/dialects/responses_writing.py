"""The items of a turn of the model's, written anew: what stays is the very item it was.

The server checks that a reasoning item stands in front of the item it was made for, by their ids: each
is refused without the other (openai/openai-dotnet#1050). So reasoning goes from a turn that is rewritten,
as whole items, and with it the ids of what was made with it (openai/openai-agents-python#2727). Where an
item cannot be sent without its id, as what the server's own tools did, its reasoning stays.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from redraft.dialects.base import Call, Content, Native
from redraft.dialects.responses_atoms import Atom, atoms_of, parts_of, thought_text
from redraft.dialects.responses_calls import BuiltInCall, call_of, with_arguments
from redraft.dialects.responses_items import Kind, has_free_id, kind_of, member_text, without_id
from redraft.dialects.responses_texts import Members, text_of, with_members

__all__ = ["turn_of", "without_thoughts", "written_turn"]

Row = tuple[int, Native]
"""An item, and the place of the one that it was among the turn's items; -1 for a new one."""


def turn_of(items: Sequence[Native], referenced: Mapping[str, str] | None = None) -> Content:
    """One turn of the model's.

    Args:
        items: its items.
        referenced: for references to calls, the id of the reference and that of the call.
    """
    known = referenced or {}
    atoms = atoms_of(items, known)
    unseen = (thought_text(a.native) for a in atoms if a.kind in (Kind.THOUGHT, Kind.STATE))
    return Content(
        role="assistant",
        text=text_of(atoms),
        calls=tuple(call_of(a.native, a.unit, known) for a in atoms if a.kind is Kind.CALL),
        parts=parts_of(atoms),
        hidden="\n".join(filter(None, unseen)),
        carriers=tuple(items),
    )


def written_turn(
    content: Content, text: str, calls: Sequence[Call], parts: Collection[int]
) -> Content:
    """The same turn with another text, these calls and these parts."""
    known = _referenced(content)
    atoms = atoms_of(content.carriers, known)
    arguments = {call.index: call.arguments for call in calls}
    edits = {
        call.index: arguments[call.index]
        for call in content.calls
        if arguments.get(call.index, call.arguments) != call.arguments
    }
    kept = [atom for atom in atoms if _stays(atom, arguments, parts)]
    rows = _Writer(content.carriers, atoms, kept, edits).rows(text)
    return turn_of(_paired(content.carriers, rows), known)


def without_thoughts(content: Content) -> Content:
    """The same turn without its reasoning, as far as its items can be sent without it."""
    items = _paired(content.carriers, list(enumerate(content.carriers)))
    if len(items) == len(content.carriers):
        return content
    return turn_of(items, _referenced(content))


def _referenced(content: Content) -> dict[str, str]:
    """Which call each reference of a turn stands for."""
    calls = (call for call in content.calls if isinstance(call, BuiltInCall))
    return {call.name: call.id for call in calls if call.kind == "item_reference"}


def _stays(atom: Atom, calls: Collection[int], parts: Collection[int]) -> bool:
    match atom.kind:
        case Kind.CALL:
            return atom.unit in calls
        case Kind.PART:
            return atom.unit in parts
        case _:
            return True


@dataclass(frozen=True, slots=True)
class _Writer:
    """Puts atoms back into items.

    Attributes:
        items: the turn's items as they were.
        atoms: their atoms.
        kept: the atoms that stay.
        edits: new arguments, by the call's place among the calls.
    """

    items: Sequence[Native]
    atoms: Sequence[Atom]
    kept: Sequence[Atom]
    edits: Mapping[int, str]

    def rows(self, text: str) -> list[Row]:
        """The items that stay, with `text` in the place of the old."""
        members = Members(self.kept, "output_text")
        blocks = members.with_text(text, self._slot())
        homes = {id(atom.native): atom.place for atom in self.kept}
        for new, old in members.made:
            homes[id(new)] = -1 if old is None else homes[id(old)]
        return [
            (place, self._item(place, list(group)))
            for place, group in groupby(blocks, lambda block: homes[id(block)])
        ]

    def _slot(self) -> int:
        """Where a text goes if there was none: in front of the first call, and of the reasoning that
        leads to it."""
        kinds = [atom.kind for atom in self.kept]
        at = kinds.index(Kind.CALL) if Kind.CALL in kinds else len(kinds)
        while at > 0 and kinds[at - 1] is Kind.THOUGHT:
            at -= 1
        return at

    def _item(self, place: int, blocks: Sequence[Native]) -> Native:
        if place < 0:
            return {"type": "message", "role": "assistant", "content": member_text(blocks[0])}
        item = self.items[place]
        mine = [atom for atom in self.atoms if atom.place == place]
        if not mine[0].member:
            edit = self.edits.get(mine[0].unit) if mine[0].kind is Kind.CALL else None
            new = item if edit is None else with_arguments(item, edit)
            return item if new is item else without_id(new)
        same = len(mine) == len(blocks) and all(
            atom.native is block for atom, block in zip(mine, blocks, strict=True)
        )
        return item if same else without_id(with_members(item, blocks))


def _paired(items: Sequence[Native], rows: Sequence[Row]) -> list[Native]:
    """The items of `rows`, less the reasoning that nothing needs and the ids that would miss it.

    Reasoning stays where it leads to an item that needs its id, and the item right behind it, which the
    server looks for, is still that item.
    """
    groups = _groups(items)
    new = dict(rows)
    needed = {groups[place] for place, item in rows if place >= 0 and _is_bound(item)}
    leads = {
        groups[place]: place for place in reversed(range(len(items))) if not _thinks(items[place])
    }
    sound = {
        group
        for group, place in leads.items()
        if place in new and (new[place] is items[place] or _is_bound(items[place]))
    }
    thoughtful = {groups[place] for place, item in enumerate(items) if _thinks(item)}
    lost = thoughtful - (needed & sound)
    done: list[Native] = []
    for place, item in rows:
        if place < 0 or groups[place] not in lost:
            done.append(item)
        elif not _thinks(item):
            done.append(without_id(item))
    return done


def _groups(items: Sequence[Native]) -> list[int]:
    """For each item the number of its group: some reasoning and what follows until the next."""
    numbers: list[int] = []
    number = 0
    for at, item in enumerate(items):
        if at > 0 and _thinks(item) and not _thinks(items[at - 1]):
            number += 1
        numbers.append(number)
    return numbers


def _thinks(item: Native) -> bool:
    return kind_of(item) is Kind.THOUGHT


def _is_bound(item: Native) -> bool:
    """Whether an item cannot be sent without its id. State that stands alone has no reasoning."""
    return not has_free_id(item) and kind_of(item) not in (Kind.THOUGHT, Kind.LONE)
