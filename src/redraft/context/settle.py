"""Make a revision whole: groups stay together, held turns stay as they are, nothing is empty.

The rules are those of DESIGN.md section 4 (2, 3, 9). A proposer need not know them: what it asks for
is settled here, in one place for the file, the tools, every policy and the rollback, and the receipt
says what was kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from redraft.context.groups import Group, group_at
from redraft.context.live import Live
from redraft.context.revision import Insert, Revision
from redraft.context.turn import Draft, Origin, Turn
from redraft.dialects.base import Call, Content
from redraft.dialects.rules import framed

__all__ = ["STUB", "Settled", "settle"]

STUB = "[result removed from context]"
"""What stands for a result that was emptied or deleted while its call stands."""

KEPT_HELD = "protected turns kept"
KEPT_CALL = "a call without its result was kept"
STUBBED = "a result whose call stands became a stub"
FLATTENED = "a result whose call went stays as text"

Slot = Draft | Turn | None


@dataclass(slots=True)
class Settled:
    """A revision after the rules: what each touched turn becomes, what is added, what to say."""

    slots: dict[int, Slot]
    inserts: list[Insert] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def say(self, note: str) -> None:
        """Remember a remark for the receipt, once."""
        if note not in self.notes:
            self.notes.append(note)


def settle(live: Live, revision: Revision, positions: Mapping[int, int]) -> Settled:
    """Apply the structural rules to a revision that is `admissible`.

    Args:
        live: the live context.
        revision: what is proposed.
        positions: `live.positions()`.
    """
    settled = Settled({change.number: change.new for change in revision.changes})
    settled.notes.extend(revision.notes)
    _Settler(live, revision, settled).run(positions)
    for number, new in list(settled.slots.items()):
        if isinstance(new, Draft):
            settled.slots[number] = None if _is_empty(new.content) else _labelled(live, new)
        elif new is live.turns[positions[number]]:
            del settled.slots[number]
    for insert in revision.inserts:
        _settle_insert(live, positions, insert, settled)
    return settled


@dataclass(slots=True)
class _Settler:
    """The rules on groups and held turns."""

    live: Live
    revision: Revision
    settled: Settled

    def run(self, positions: Mapping[int, int]) -> None:
        slots = self.settled.slots
        for number in list(slots):
            if self._holds(positions[number]):
                del slots[number]
                self.settled.say(KEPT_HELD)
        seen: set[int] = set()
        for number in list(slots):
            group = group_at(self.live.turns, positions[number])
            if group.head.content.calls and group.start not in seen:
                seen.add(group.start)
                self._group(group)

    def _holds(self, position: int) -> bool:
        """Whether this author must leave the turn as it is. A person may overrule a pin."""
        live, number = self.live, self.live.turns[position].number
        if self.revision.author == "person":
            live = live.unpin([number])
        own = self.revision.author in ("policy", "harness") and number in live.plans
        return own or live.holds(position)

    def _group(self, group: Group) -> None:
        """The numbered cases: (1) the whole group goes; (2) its head stays, with all, some or no
        calls, and each result is kept, stubbed, or flattened where its call went."""
        head, slots = group.head, self.settled.slots
        wanted = self._head(group)
        # (1)
        if wanted is None or _is_empty(wanted.content):
            slots[head.number] = None
            for turn in group.turns[1:]:
                self._flatten(group, slots.get(turn.number))
                slots[turn.number] = None
            return
        # (2)
        standing = _standing(head.content.calls, wanted.content.calls)
        for turn in group.turns[1:]:
            new = slots.get(turn.number, turn)
            if group.pairs[turn.number] not in standing:
                self._flatten(group, new)
                slots[turn.number] = None
            elif new is None or (isinstance(new, Draft) and _is_empty(new.content)):
                self._stub(turn)

    def _head(self, group: Group) -> Slot:
        """What the head becomes, once the calls that must stand are back in it."""
        head, slots = group.head, self.settled.slots
        wanted = slots.get(head.number, head)
        bound = self._bound(group)
        if isinstance(wanted, Turn) or not bound:
            return wanted
        if (
            wanted is not None
            and bound <= _standing(head.content.calls, wanted.content.calls).keys()
        ):
            return wanted
        self.settled.say(KEPT_CALL if group.open_calls else KEPT_HELD)
        if wanted is None:
            del slots[head.number]
            return head
        slots[head.number] = wanted = self._with_calls(head.content, wanted, bound)
        return wanted

    def _bound(self, group: Group) -> frozenset[int]:
        """Indexes of the calls that must stand: unanswered ones, and those of held results."""
        held = {
            index
            for at, index in enumerate(group.pairs.values(), group.start + 1)
            if self._holds(at)
        }
        return frozenset(held.union(group.open_calls))

    def _with_calls(self, head: Content, draft: Draft, bound: frozenset[int]) -> Draft:
        """The head's draft with every call that must stand back in its place."""
        standing = _standing(head.calls, draft.content.calls)
        calls = [
            replace(call, arguments=standing.get(call.index, call).arguments)
            for call in head.calls
            if call.index in standing or call.index in bound
        ]
        parts = head.parts if draft.content.parts else ()
        content = self.live.dialect.write(head, draft.content.text, calls, parts)
        return self.live.draft(content, draft.origin)

    def _stub(self, turn: Turn) -> None:
        if turn.origin is Origin.HARNESS:  # it is a stub already
            self.settled.slots.pop(turn.number, None)
            return
        content = self.live.dialect.write(turn.content, STUB, (), ())
        self.settled.slots[turn.number] = self.live.draft(content, Origin.HARNESS)
        self.settled.say(STUBBED)

    def _flatten(self, group: Group, new: Slot) -> None:
        """Keep a result whose call goes as framed text behind the group, where it parts nothing."""
        if new is not None and new.content.text.strip():
            note = self.live.dialect.note("user", framed(new.content.text))
            insert = Insert(group.turns[-1].number, self.live.draft(note, Origin.TOOL))
            self.settled.inserts.append(insert)
            self.settled.say(FLATTENED)


def _standing(old: Sequence[Call], new: Sequence[Call]) -> dict[int, Call]:
    """Which old calls still stand: old index -> the call as it is now. Both are in wire order."""
    standing: dict[int, Call] = {}
    at = 0
    for call in new:
        place = next((p for p in range(at, len(old)) if old[p].id == call.id), None)
        if place is not None:
            standing[old[place].index] = call
            at = place + 1
    return standing


def _is_empty(content: Content) -> bool:
    return not (content.text.strip() or content.calls or content.parts)


def _labelled(live: Live, draft: Draft) -> Draft:
    """Tool output that stands as text keeps its frame, whoever rewrote it."""
    text = draft.content.text
    if draft.origin is not Origin.TOOL or draft.content.role == "tool" or framed(text) == text:
        return draft
    content = draft.content
    written = live.dialect.write(content, framed(text), content.calls, content.parts)
    return live.draft(written, Origin.TOOL)


def _settle_insert(
    live: Live, positions: Mapping[int, int], insert: Insert, settled: Settled
) -> None:
    """A new turn stands behind the pinned prefix, between groups, before the round in progress."""
    if isinstance(insert.new, Turn):
        settled.inserts.append(insert)
        return
    if _is_empty(insert.new.content):
        return
    at = max(positions[insert.after] if insert.after else -1, live.head - 1)
    if at >= 0:
        at = group_at(live.turns, at).end - 1
    at = min(at, live.open_at - 1)
    after = live.turns[at].number if at >= 0 else 0
    settled.inserts.append(Insert(after, _labelled(live, insert.new), insert.plan))
