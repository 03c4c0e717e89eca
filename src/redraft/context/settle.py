"""Make a revision whole: groups stay together, protected turns stay as they are, nothing is empty.

The rules are those of DESIGN.md section 4 (2, 3, 9). A proposer need not know them: what it asks for
is settled here, in one place for the file, the tools, every policy and the rollback, and the receipt
says what was kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from redraft.context.groups import Group, group_at
from redraft.context.live import Live
from redraft.context.revision import Insert, Revision
from redraft.context.turn import Draft, Origin, Turn
from redraft.dialects.base import Content
from redraft.dialects.rules import framed

__all__ = ["STUB", "Settled", "settle"]

STUB = "[result removed from context]"
"""What stands for a result that was emptied or deleted while its call stands."""

KEPT_PROTECTED = "protected turns kept"
KEPT_CALL = "a call without its result was kept"
STUBBED = "a result whose call stands became a stub"


@dataclass(slots=True)
class Settled:
    """A revision after the rules: what each touched turn becomes, what is added, what to say."""

    slots: dict[int, Draft | Turn | None]
    inserts: list[Insert]
    notes: list[str] = field(default_factory=list)

    def say(self, note: str) -> None:
        """Remember a remark for the receipt, once."""
        if note not in self.notes:
            self.notes.append(note)


def settle(live: Live, revision: Revision) -> Settled:
    """Apply the structural rules to `revision`; it must name turns that stand in `live`."""
    positions = live.positions()
    settled = Settled({change.number: change.new for change in revision.changes}, [])
    settled.notes.extend(revision.notes)
    _keep_protected(live, revision, settled)
    seen: set[int] = set()
    for number in list(settled.slots):
        group = group_at(live.turns, positions[number])
        if group.head.content.calls and group.start not in seen:
            seen.add(group.start)
            _settle_group(live, group, settled)
    _drop_empty(settled)
    _drop_unchanged(live, positions, settled)
    for insert in revision.inserts:
        _settle_insert(live, positions, insert, settled)
    return settled


def _keep_protected(live: Live, revision: Revision, settled: Settled) -> None:
    protected = live.protected()
    if revision.author == "person":  # a person may overrule a pin
        protected -= live.pins
    for number in protected & settled.slots.keys():
        del settled.slots[number]
        settled.say(KEPT_PROTECTED)


def _settle_group(live: Live, group: Group, settled: Settled) -> None:
    """The numbered cases: (1) the whole group goes; (2) the head stays, with all, some or no calls."""
    head = group.head
    wanted = settled.slots.get(head.number, head)
    if wanted is not None and not isinstance(wanted, Turn):
        wanted = _with_open_calls(live, group, wanted, settled)
        settled.slots[head.number] = wanted
    if wanted is None and group.open_calls:
        settled.slots.pop(head.number)
        settled.say(KEPT_CALL)
        wanted = head
    # (1)
    if wanted is None or _is_empty(wanted.content):
        settled.slots[head.number] = None
        for turn in group.turns[1:]:
            _flatten(live, group, settled.slots.get(turn.number), settled)
            settled.slots[turn.number] = None
        return
    # (2)
    standing = {call.id for call in wanted.content.calls}
    for turn in group.turns[1:]:
        new = settled.slots.get(turn.number, turn)
        if turn.content.answers not in standing:
            _flatten(live, group, new, settled)
            settled.slots[turn.number] = None
        elif new is None or (isinstance(new, Draft) and _is_empty(new.content)):
            _stub(live, turn, settled)


def _with_open_calls(live: Live, group: Group, draft: Draft, settled: Settled) -> Draft:
    """The head's draft with every unanswered call back in its place."""
    head = group.head.content
    edited = {call.id: call for call in draft.content.calls}
    open_ids = {head.calls[index].id for index in group.open_calls}
    if open_ids <= edited.keys():
        return draft
    settled.say(KEPT_CALL)
    calls = [
        replace(call, arguments=edited.get(call.id, call).arguments)
        for call in head.calls
        if call.id in edited or call.id in open_ids
    ]
    parts = head.parts if draft.content.parts else ()
    content = live.dialect.write(head, draft.content.text, calls, parts)
    return live.draft(content, draft.origin)


def _stub(live: Live, turn: Turn, settled: Settled) -> None:
    if turn.origin is Origin.HARNESS:  # it is a stub already
        settled.slots.pop(turn.number, None)
        return
    content = live.dialect.write(turn.content, STUB, (), ())
    settled.slots[turn.number] = live.draft(content, Origin.HARNESS)
    settled.say(STUBBED)


def _flatten(live: Live, group: Group, new: Draft | Turn | None, settled: Settled) -> None:
    """Keep a result whose call goes as framed text behind the group, where it parts nothing."""
    if new is not None and new.content.text.strip():
        note = live.dialect.note("user", framed(new.content.text))
        insert = Insert(group.turns[-1].number, live.draft(note, Origin.TOOL))
        settled.inserts.append(insert)


def _is_empty(content: Content) -> bool:
    return not (content.text.strip() or content.calls or content.parts)


def _drop_empty(settled: Settled) -> None:
    for number, new in settled.slots.items():
        if isinstance(new, Draft) and _is_empty(new.content):
            settled.slots[number] = None


def _drop_unchanged(live: Live, positions: Mapping[int, int], settled: Settled) -> None:
    for number, new in list(settled.slots.items()):
        if new is live.turns[positions[number]]:
            del settled.slots[number]


def _settle_insert(
    live: Live, positions: Mapping[int, int], insert: Insert, settled: Settled
) -> None:
    if isinstance(insert.new, Turn):
        settled.inserts.append(insert)
        return
    if _is_empty(insert.new.content):
        return
    after = insert.after
    if after:  # never between a call and its result, never inside the pinned prefix
        position = max(positions[after], live.head - 1)
        after = group_at(live.turns, position).turns[-1].number
    settled.inserts.append(Insert(after, insert.new, insert.plan))
