"""What the budget controller tells the model. Each notice is written once, into the newest result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from redraft.prompts.tags import defuse, one_line, opening

__all__ = [
    "escalation_notice",
    "final_notice",
    "handover_notice",
    "intervention_notice",
    "nudge_notice",
    "rollback_notice",
]

_COMMAND = 120


def nudge_notice(nudge: str, used: int, limit: int, tag: str) -> str:
    """How full the context is and what follows from that.

    Args:
        nudge: `inform`, `tidy`, `compact` or `urgent` (the values of `redraft.budget.Nudge`).
        used: tokens that the context holds, as shown.
        limit: tokens that it may hold.
        tag: the session's tag.

    Raises:
        KeyError: there is no such nudge.
    """
    words = _NUDGES[nudge](used, limit)
    return f"{opening(tag)} {words}"


def _inform(used: int, limit: int) -> str:
    # No how-to here: told this early, models delete what they are still working with.
    return (
        f"For your information: {used * 100 // limit} % of your context is in use. There is plenty "
        "of room; nothing needs to be done."
    )


def _tidy(used: int, limit: int) -> str:
    return (
        f"Your context is {used * 100 // limit} % full. Bring the piece of work in hand to its end "
        "first. Then tidy once, in a single edit: results you have used up may become short notes. "
        "Keep what you are still working with word for word."
    )


def _compact(used: int, limit: int) -> str:
    return (
        f"Your context is {used * 100 // limit} % full. Before the next large output, compact the "
        "stretches that are settled, all in one edit. Put a full note in the place of each: what is "
        "ruled out and why, exact commands, exact values (verified or not), the next step. Do not "
        "simply delete: work that leaves no note is done twice."
    )


def _urgent(used: int, limit: int) -> str:
    return (
        f"Only {max(limit - used, 0):,} tokens are left before your context overflows. Compact "
        "settled stretches into notes now, before anything else, and keep outputs short. If it "
        "overflows, your newest turns are taken away."
    )


_NUDGES: Mapping[str, Callable[[int, int], str]] = {
    "inform": _inform,
    "tidy": _tidy,
    "compact": _compact,
    "urgent": _urgent,
}


def rollback_notice(turns: int, commands: Sequence[str], free: int, tag: str) -> str:
    """The newest turns were taken away because the context had overflowed.

    Args:
        turns: how many are gone.
        commands: the calls whose output did not fit, the newest last (`redraft.budget.commands`).
        free: tokens that are free now, as shown.
        tag: the session's tag.
    """
    count = "newest turn was" if turns == 1 else f"{turns} newest turns were"
    lines = [
        f"{opening(tag)} Rolled back: your context had overflowed, so the {count} removed; {free:,} "
        "tokens are free now. Whatever those turns did outside your context still holds: files, "
        "processes, requests. Check before you do anything a second time."
    ]
    if commands:
        lines.append("These did not fit; run again as they were, they will not fit again:")
        lines += [f"  - {defuse(one_line(command, _COMMAND), tag)}" for command in commands]
    lines.append(
        "Use the room to compact settled stretches into notes, in one edit. Only then go on, with "
        "smaller outputs (a filter, a range of lines, a file to write into)."
    )
    return "\n".join(lines)


def final_notice(why: str, tag: str) -> str:
    """The run ends after one more turn.

    Args:
        why: what is used up, as it completes "because ...", e.g. `the step budget is spent`.
        tag: the session's tag.
    """
    return (
        f"{opening(tag)} This is your last turn, because {one_line(why, _COMMAND)}. Call no tools. "
        "Answer now with what you have: the result as far as it goes, what you could not verify, what "
        "is left to do, and where your work lies."
    )


def handover_notice(tag: str) -> str:
    """Two edits running cost more than they freed: the harness does the next compaction."""
    return (
        f"{opening(tag)} Your last two edits cost more tokens than they freed, words and commands "
        "included. The next compaction is done for you. When you edit again, free much in one edit."
    )


def intervention_notice(method: str, before: int, after: int, tag: str) -> str:
    """The model did not edit its context in time, so a scheduled policy did.

    Args:
        method: the policy's strategy.
        before, after: tokens of the context around it, as shown.
        tag: the session's tag.
    """
    return (
        f"{opening(tag)} Your context was nearly full and you had not tidied it, so that was done for "
        f"you ({one_line(method, 60)}): {before:,} -> {after:,} tokens. Look at what is left before you "
        "go on, and tidy earlier next time: you know best what still matters."
    )


def escalation_notice(source: str, rule: str, tag: str) -> str:
    """For a person or a supervisor: a rewrite could not prove that it frees more than it costs.

    Args:
        source: who proposed it: `file`, `edit_context`, a policy's name.
        rule: why the gate refused (`Refusal.receipt.rule`).
        tag: the session's tag.
    """
    return (
        f"{opening(tag)} A rewrite by {one_line(source, 60)} was refused and nothing was changed: "
        f"{one_line(rule)}. The context keeps filling until something frees room: wait for the next "
        "edit, raise the budget, compact by hand, or stop the run."
    )
