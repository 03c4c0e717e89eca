"""What the policies that remove or summarize old turns have in common.

What may move at all is decided here, once: never the pinned prefix, system turns, pins, words of the user
that nobody answered or that lay down a constraint, approvals that wait, calls without their results, nor
the results that the model has not read yet.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Sequence

from redraft.context import (
    RECEIPT_CAP,
    Change,
    Gate,
    Group,
    Insert,
    Live,
    Origin,
    Revision,
    group_at,
    groups,
)
from redraft.dialects.preserve import pending_approvals
from redraft.dialects.stubs import body_bytes, stubs_in
from redraft.policies.audit import audit, exact_values, invented, said_by, states_constraint
from redraft.policies.base import Summarize, View
from redraft.prompts.rewrites import CARRIED

__all__ = [
    "CARRIED",
    "LEAST_GAIN",
    "accepted",
    "asked",
    "carried",
    "folded",
    "in_sections",
    "may_go",
    "movable",
    "pays",
    "size",
    "told",
    "unread",
    "worthwhile",
]

LEAST_GAIN = 0.03
"""The share of the limit that a step must free."""

_MOST_STUBS = 20
_HEADING = re.compile(r"^#{1,6}[ \t]*(.+?)[ \t]*:?[ \t]*$", re.MULTILINE)


def movable(live: Live, keep: int = 0) -> list[Group]:
    """The groups that may leave as a whole, oldest first.

    Args:
        live: the live context.
        keep: how many of the newest groups stay in any case.
    """
    free = {turn.number for turn in live.candidates()}
    every = list(groups(live.turns, live.head, max(live.head, live.open_at)))
    stay = max(keep, 1 if unread(live) else 0)
    old = every[: max(len(every) - stay, 0)]
    return [group for group in old if may_go(group, free, live.settled)]


def unread(live: Live) -> frozenset[int]:
    """Numbers of the turns of the group at the end, where its results are the newest there is: the model
    has not read them yet. The receipt of an edit made in it is among them (DESIGN.md section 4, rule 9).
    """
    if not live.turns or live.turns[-1].role != "tool":
        return frozenset()
    return frozenset(turn.number for turn in group_at(live.turns, len(live.turns) - 1).turns)


def may_go(group: Group, free: Collection[int], settled: Collection[str]) -> bool:
    """Whether a group may leave as a whole.

    Args:
        group: the group.
        free: numbers of the turns that a policy may touch (`Live.candidates`).
        settled: ids of approvals that wait no more (`Live.settled`).
    """
    if group.open_calls or group.head.role == "tool":
        return False
    return all(
        turn.number in free
        and not states_constraint(turn)
        and not pending_approvals(said_by(turn), settled)
        for turn in group.turns
    )


def size(some: Sequence[Group]) -> int:
    """Raw tokens of some groups."""
    return sum(turn.tokens for group in some for turn in group.turns)


def pays(view: View, freed: int) -> bool:
    """Whether a step that frees so much is worth the prefix that it breaks.

    It must free a good part of the limit (`LEAST_GAIN`), or bring a context that does not fit within its
    limit. Else a context that can hardly shrink would be touched at every call (DESIGN.md section 4,
    rule 10, and section 9).

    Args:
        view: what the policy looks at.
        freed: raw tokens that the step frees, what it puts in already taken off.
    """
    if freed <= RECEIPT_CAP:
        return False
    rescues = view.limit < view.live.tokens <= view.limit + freed - RECEIPT_CAP
    return freed >= LEAST_GAIN * view.limit or rescues


def worthwhile(view: View, revision: Revision | None) -> Revision | None:
    """A revision that removes turns and puts others in, if that pays; else None.

    Args:
        view: what the policy looks at.
        revision: what it would propose.
    """
    if revision is None:
        return None
    gone = {change.number for change in revision.changes}
    freed = sum(turn.tokens for turn in view.live.turns if turn.number in gone)
    put_in = sum(change.new.tokens for change in revision.changes if change.new is not None)
    put_in += sum(insert.new.tokens for insert in revision.inserts)
    return revision if pays(view, freed - put_in) else None


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


def accepted(view: View, need: Summarize, old: Sequence[Group], block: str = "") -> str:
    """The answer to a need with what must be carried forward; "" where it may not be used.

    Refused: no answer, one that is longer than it may be or than what it replaces, one that lacks a
    heading that it must have, and one that fails the audit.

    Args:
        view: what the policy looks at.
        need: what it asked for.
        old: the groups that the summary is to replace.
        block: what stands below it in any case, made of the originals.
    """
    answer = view.given.get(need.key, "").strip()
    count = view.live.meter.text
    if not answer or count(answer) > min(need.max_tokens, count(need.text)):
        return ""
    if need.sections and in_sections(answer, need.sections) is None:
        return ""
    originals = [said_by(turn) for group in old for turn in group.turns]
    if invented(originals, answer):
        return ""
    said = "\n\n".join(filter(None, (answer, block)))
    whole = "\n\n".join(filter(None, (said, carried(originals, said))))
    return "" if audit(originals, whole, view.live.settled).missing else whole


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


def carried(originals: Sequence[str], answer: str) -> str:
    """The exact values and stubs of the originals that the answer lacks, a line each; "" where it has all.

    Args:
        originals: the texts that go, oldest first.
        answer: what is to stand in their place.
    """
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
