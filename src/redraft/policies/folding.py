"""What the policies that remove or summarize old turns have in common.

What may move at all is decided here, once: never the pinned prefix, system turns, pins, words of the user
that nobody answered or that lay down a constraint, approvals that wait, calls without their results, nor
the results that the model has not read yet.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

from redraft.context import (
    RECEIPT_CAP,
    Change,
    Gate,
    Group,
    Insert,
    Live,
    Origin,
    Revision,
    groups,
)
from redraft.dialects.preserve import pending_approvals
from redraft.dialects.stubs import body_bytes, stubs_in
from redraft.policies.audit import audit, exact_values, said_by, states_constraint
from redraft.policies.base import Summarize, View

__all__ = ["CARRIED", "accepted", "asked", "folded", "in_sections", "movable", "size", "told"]

CARRIED = "Carried forward, word for word:"
"""The line in front of the exact values that a summary left out."""

_MOST_STUBS = 20
_HEADING = re.compile(r"^#{1,6}[ \t]*(.+?)[ \t]*:?[ \t]*$", re.MULTILINE)


def movable(live: Live, keep: int = 0) -> list[Group]:
    """The groups that may leave as a whole, oldest first.

    Args:
        live: the live context.
        keep: how many of the newest groups stay in any case.
    """
    free = {turn.number for turn in live.candidates()}
    last = live.turns[-1] if live.turns else None
    every = list(groups(live.turns, live.head, max(live.head, live.open_at)))
    # The newest results were not read yet.
    stay = max(keep, 1 if last is not None and last.role == "tool" else 0)
    old = every[: max(len(every) - stay, 0)]
    return [group for group in old if _may_go(group, free)]


def _may_go(group: Group, free: set[int]) -> bool:
    if group.open_calls or group.head.role == "tool":
        return False
    return all(
        turn.number in free and not states_constraint(turn) and not pending_approvals(said_by(turn))
        for turn in group.turns
    )


def size(some: Sequence[Group]) -> int:
    """Raw tokens of some groups."""
    return sum(turn.tokens for group in some for turn in group.turns)


def told(some: Sequence[Group]) -> str:
    """Some groups as the text to be summarized."""
    return "\n\n".join(
        f"{turn.role}: {said_by(turn).strip()}" for group in some for turn in group.turns
    )


def asked(name: str, old: Sequence[Group], cap: int, sections: Sequence[str] = ()) -> Summarize:
    """The need for a summary of some groups. Its key names their words, so no answer outlives them.

    Args:
        name: the policy's.
        old: the groups.
        cap: raw tokens that the summary may have.
        sections: headings that it must have.
    """
    text = told(old)
    print_of = hashlib.sha256(body_bytes(text)).hexdigest()[:12]
    key = f"{name}:{old[0].head.number}-{old[-1].turns[-1].number}:{print_of}"
    return Summarize(key, text, cap, tuple(sections))


def accepted(view: View, need: Summarize, old: Sequence[Group]) -> str:
    """The answer to a need with what must be carried forward; "" where it may not be used.

    Refused: no answer, one that is longer than it may be or than what it replaces, one that lacks a
    heading that it must have, and one that fails the audit.

    Args:
        view: what the policy looks at.
        need: what it asked for.
        old: the groups that the summary is to replace.
    """
    answer = view.given.get(need.key, "").strip()
    count = view.live.meter.text
    if not answer or count(answer) > min(need.max_tokens, count(need.text)):
        return ""
    if need.sections and in_sections(answer, need.sections) is None:
        return ""
    originals = [said_by(turn) for group in old for turn in group.turns]
    whole = "\n\n".join(filter(None, (answer, _carried(originals, answer))))
    return whole if audit(originals, whole).ok else ""


def in_sections(text: str, sections: Sequence[str]) -> dict[str, str] | None:
    """A summary by its headings; None where one is missing or nothing stands under any of them."""
    found = list(_HEADING.finditer(text))
    if not found:
        return None
    ends = [one.start() for one in found[1:]] + [len(text)]
    parts = {
        one[1].lower(): text[one.end() : end].strip() for one, end in zip(found, ends, strict=True)
    }
    if any(name.lower() not in parts for name in sections):
        return None
    sorted_in = {name: parts[name.lower()] for name in sections}
    return sorted_in if any(part.strip("-* \n") for part in sorted_in.values()) else None


def _carried(originals: Sequence[str], answer: str) -> str:
    """The exact values and stubs of the originals that the answer lacks, a line each."""
    missing = [item.value for item in audit(originals, answer).missing]
    have = {stub.id for stub in stubs_in(answer)}
    cited_in = (stub for text in originals for stub in stubs_in(text) if stub.id not in have)
    stubs = list(dict.fromkeys(stub.line for stub in cited_in))[-_MOST_STUBS:]
    cited = {value for line in stubs for value in exact_values(line)}
    values = [f"- {value}" for value in missing if value not in cited]
    return "\n".join((CARRIED, *values, *stubs)) if values or stubs else ""


def folded(
    live: Live, name: str, old: Sequence[Group], text: str, notes: tuple[str, ...] = ()
) -> Revision | None:
    """Put a text into the place of some groups; None where that would not pay for its receipt.

    Args:
        live: the live context.
        name: the policy's.
        old: the groups that go.
        text: what stands for them; "" for nothing.
        notes: what the receipt says.
    """
    changes = tuple(Change(turn.number, turn.digest, None) for group in old for turn in group.turns)
    inserts: tuple[Insert, ...] = ()
    cost = RECEIPT_CAP
    if text:
        draft = live.draft(live.dialect.note("user", text), Origin.SUMMARY)
        at = old[0].start
        inserts = (Insert(live.turns[at - 1].number if at else 0, draft),)
        cost += draft.tokens
    if size(old) <= cost:
        return None
    return Revision("policy", name, changes, inserts, Gate.CONSERVE, notes=notes)
