"""The newest round as plain text, so that nothing looks like an open tool exchange any more."""

from __future__ import annotations

from redraft.context.binding import exchange_at, void
from redraft.context.groups import group_at
from redraft.context.live import Live
from redraft.context.revision import Change, Revision
from redraft.context.turn import Origin
from redraft.dialects.base import Call

__all__ = ["BOUNDARY", "flattening"]

BOUNDARY = "boundary"
"""The source of the harness's revisions that let queued ones take effect."""


def flattening(live: Live) -> Revision:
    """The harness's revision that makes text of the newest round, if its reasoning is void.

    A server that wants to see the last reasoning of an open exchange as it was made must not be shown an
    open exchange without it. Calls become words of the assistant turn that made them; the door frames
    their results as tool output. Where no reasoning of that turn is void the revision is empty.

    Args:
        live: the context, no call of which waits for a result.
    """
    turns = live.turns
    spoken = [at for at in range(exchange_at(live), len(turns)) if turns[at].role == "assistant"]
    if not spoken or turns[spoken[-1]].number not in void(live):
        return Revision("harness", BOUNDARY)
    head = group_at(turns, spoken[-1]).head
    content = head.content
    text = "\n".join(filter(None, [content.text, *map(_as_text, content.calls)]))
    written = live.dialect.write(content, text, (), content.parts)
    change = Change(head.number, head.digest, live.draft(written, Origin.HARNESS))
    return Revision("harness", BOUNDARY, (change,))


def _as_text(call: Call) -> str:
    return f"[tool call, kept as text] {call.name} {call.arguments}"
