"""The line that says what became of an edit, and the line that says how full the context is."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from redraft.context import RECEIPT_CAP, Receipt, Status
from redraft.prompts.tags import one_line, opening
from redraft.tokens import default_counter

__all__ = ["HEADER_SHAPE", "readout_line", "receipt_line"]

HEADER_SHAPE = "[[CTX_TURN 7 role=assistant]]"
"""What a turn's header looks like in the context file."""

_Show = Callable[[int], int]


def readout_line(used: int, limit: int, tag: str) -> str:
    """How full the context is: one line on every tool result.

    Args:
        used: tokens that the context holds, as shown.
        limit: tokens that it may hold; positive.
        tag: the session's tag.
    """
    percent = used * 100 // limit
    return f"{opening(tag)} context {used:,} / {limit:,} tokens ({percent} %)"


def receipt_line(
    receipt: Receipt,
    tag: str,
    show: _Show,
    *,
    number: int | None = None,
    frequent: bool = False,
    price: str = "",
    count: Callable[[str], int] | None = None,
) -> str:
    """What became of an edit, in one line of at most 64 tokens.

    Args:
        receipt: the outcome. `rule` holds what the numbers do not say: which rule refused, how the
            command failed (`exit code 2`), until when a queued edit waits.
        tag: the session's tag.
        show: turns raw tokens into those that the model is shown.
        number: the edit's number, where it has one.
        frequent: whether edits that grow have become a habit; the line then points to `shrink`.
        price: what the edit costs, in a few words; left out where it would make the line too long.
        count: counts the line's tokens; by default the process's o200k counter.

    Returns:
        the line. Rule and notes are cut where they would make it too long.
    """
    name = "edit" if number is None else f"edit {number}"
    sizes = {
        "name": name,
        "before": f"{show(receipt.before):,}",
        "after": f"{show(receipt.after):,}",
        "limit": f"{show(receipt.limit):,}",
    }
    form = _GREW_OFTEN if frequent and receipt.status is Status.GREW else _FORMS[receipt.status]
    head = f"{opening(tag)} {form.format_map(sizes)}"
    count, detail = count or default_counter().count, _detail(receipt)
    if price:
        priced = f"{head} ({'; '.join(filter(None, (detail, one_line(price))))})"
        if count(priced) <= RECEIPT_CAP:
            return priced
    return _fitted(head, detail, count)


_FORMS: Mapping[Status, str] = {
    Status.APPLIED: "{name} applied: {before} -> {after} tokens",
    Status.GREW: "{name} applied but grew: {before} -> {after} tokens; replace text, do not repeat it",
    Status.OVER: "{name} applied, still over the limit of {limit}: {before} -> {after} tokens; free more",
    Status.QUEUED: "{name} accepted and queued: {before} -> {after} tokens",
    Status.REJECTED: "{name} rejected, context unchanged: {before} tokens, limit {limit}",
    Status.FAILED: "{name} failed, context unchanged: {before} tokens",
    Status.IGNORED: "{name} ignored: only white space differs, context unchanged",
    Status.NO_MATCH: f"no change: the edit matched nothing; a turn's header is {HEADER_SHAPE}",
}
_GREW_OFTEN = (
    "{name} applied but grew again: {before} -> {after} tokens; replace text, do not repeat it "
    "(the shrink gate would refuse this)"
)


def _detail(receipt: Receipt) -> str:
    parts = [receipt.rule, *(note for note in receipt.notes if note not in receipt.rule)]
    return "; ".join(filter(None, map(one_line, parts)))


def _fitted(head: str, detail: str, count: Callable[[str], int]) -> str:
    """`head` with as much of `detail` behind it as the cap allows."""
    if not detail:
        return head
    whole = f"{head} ({detail})"
    if count(whole) <= RECEIPT_CAP:
        return whole
    low, high = 0, len(detail)
    while low < high:  # counts rise with length but for a token or so: checked again below
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _cut(head, detail, middle, count) else (low, middle - 1)
    while low and not _cut(head, detail, low, count):
        low -= 1
    return _cut(head, detail, low, count) or head


def _cut(head: str, detail: str, length: int, count: Callable[[str], int]) -> str:
    """The line with so many characters of detail; "" where it is too long."""
    line = f"{head} ({detail[:length].rstrip()}…)"
    return line if length and count(line) <= RECEIPT_CAP else ""
