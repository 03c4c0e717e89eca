"""What a model reads of a call that waits for a person, and of what became of it."""

from __future__ import annotations

from redraft.prompts.tags import one_line, opening

__all__ = ["granted_line", "pending_result", "rejected_result"]

_NAME = 60
_WHY = 400


def pending_result(tag: str) -> str:
    """For a call that was not run, since a person must approve it first. Which approval that is stands in
    the line below (`redraft.dialects.preserve.approval_line`)."""
    return (
        f"{opening(tag)} Not run yet: a person must approve this call first. You will be told what "
        "became of it. Do not send it again, and do not look for a way around it; go on with what does "
        "not need it."
    )


def granted_line(approval: str, tool: str, tag: str, call_id: str = "") -> str:
    """Stands above the result of a call that was approved and run.

    Args:
        approval: the approval's id.
        tool: the tool's name.
        tag: the session's tag.
        call_id: the call, where its result stands apart from it.
    """
    which = f", which call {one_line(call_id, _NAME)} waited for" if call_id else ""
    return f"{opening(tag)} approval {approval} granted{which}: result of {one_line(tool, _NAME)}"


def rejected_result(approval: str, tool: str, why: str, tag: str) -> str:
    """For a call that a person did not approve.

    Args:
        approval: the approval's id; "" where the person was asked at once.
        tool: the tool's name.
        why: the person's reason; "" for none.
        tag: the session's tag.
    """
    which = f"approval {approval} rejected" if approval else "Rejected"
    reason = f" The reason given: {one_line(why, _WHY)}" if why.strip() else ""
    return (
        f"{opening(tag)} {which}: a person does not want this call of {one_line(tool, _NAME)}, so it was "
        f"not run.{reason}\nDo not try to get the same effect in another way. Go on without it, or say "
        "in your answer what is missing."
    )
