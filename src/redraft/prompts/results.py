"""Results that redraft writes where a tool could not, and the line for output that was left out."""

from __future__ import annotations

from redraft.prompts.tags import opening

__all__ = [
    "call_again_result",
    "cut_marker",
    "cut_off_result",
    "interrupted_result",
    "missing_result",
    "not_run_result",
    "unreadable_result",
]


def cut_marker(left_out: int, tag: str) -> str:
    """The line in the middle of an output that was too long.

    Args:
        left_out: tokens that are not shown; an estimate where there are very many.
        tag: the session's tag.
    """
    return (
        f"{opening(tag)} about {left_out:,} tokens of output left out here; to see them, ask for a "
        "part: a filter, a range of lines"
    )


def cut_off_result(tag: str) -> str:
    """For a call that came with a reply which broke off at its token limit."""
    return (
        f"{opening(tag)} Not run: your reply broke off at its length limit, so this call's arguments "
        "may be incomplete. Send the call again, shorter, or write long text in several steps."
    )


def unreadable_result(tag: str) -> str:
    """For a call whose arguments are not a JSON object."""
    return (
        f"{opening(tag)} Not run: the arguments are not a JSON object. Send the call again with valid "
        "JSON that follows the tool's schema."
    )


def interrupted_result(tag: str) -> str:
    """For a call whose result never came, found when a session is taken up again."""
    return (
        f"{opening(tag)} No result: the session was interrupted while this call ran. It may have taken "
        "effect, in whole or in part. Look at the state of things before you call it again."
    )


def call_again_result(tag: str) -> str:
    """For a call of one of our own tools whose answer was lost with the process."""
    return (
        f"{opening(tag)} No result: the session was interrupted at this call. Call it again; what it did "
        "already is not done twice."
    )


def not_run_result(tag: str) -> str:
    """For a call made in the final turn, when nothing is run any more."""
    return f"{opening(tag)} Not run: the run was ending and this was its last turn."


def missing_result(tag: str) -> str:
    """For a call that the program around the session handed in no result for."""
    return (
        f"{opening(tag)} No result: the program that runs your calls gave none for this one. It may not "
        "have run at all. Look at the state of things before you call it again."
    )
