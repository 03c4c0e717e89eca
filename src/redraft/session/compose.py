"""What a round's results look like to the model: output, receipts, one notice, and the readout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from redraft import prompts
from redraft.budget import cap_output
from redraft.dialects import Content
from redraft.session.controller import Controller
from redraft.session.core import Core

__all__ = ["Composed", "compose", "shares"]


@dataclass(frozen=True, slots=True)
class Composed:
    """Results, ready to append.

    Attributes:
        contents: the turns.
        measured: how many of their raw tokens are receipts, notices and readouts.
    """

    contents: tuple[Content, ...]
    measured: int


def compose(
    core: Core, controller: Controller, results: Sequence[Content], lines: Sequence[str], tag: str
) -> Composed:
    """Dress a round's results.

    Outputs are cut to what fits; whatever imitates a notice of redraft in them is escaped. Every
    result shows the context's size without itself; receipts and the notice stand once, in the
    newest.

    Args:
        core: the session's state, after the round's edits.
        controller: its budget.
        results: the tool results with the tool's whole output, in order.
        lines: receipts for the newest result.
        tag: the session's tag.
    """
    meter, live = core.live.meter, core.live
    outputs = [prompts.defuse(content.text, tag) for content in results]
    sizes = [meter.text(text) for text in outputs]
    fixed = [meter.content(content) - meter.text(content.text) for content in results]
    room = controller.room() - sum(fixed)
    bare: list[Content] = []
    for content, text, size, share in zip(
        results, outputs, sizes, shares(sizes, room), strict=True
    ):
        controller.saw(size)
        kept, _ = cap_output(text, share, meter.text, lambda left: prompts.cut_marker(left, tag))
        bare.append(_with_text(core, content, kept))
    intake = [meter.content(content) for content in bare]
    nudge = controller.nudge(live.tokens + sum(intake)) if bare else None
    full = core.shown(live.tokens + sum(intake))
    notice = [prompts.nudge_notice(nudge, full, core.limit, tag)] if nudge else []
    contents: list[Content] = []
    used = live.tokens
    for place, content in enumerate(bare):
        newest = place == len(bare) - 1
        said = [*lines, *notice] if newest else []
        readout = prompts.readout_line(core.shown(used), core.limit, tag)
        text = "\n".join(part for part in (content.text.rstrip("\n"), *said, readout) if part)
        contents.append(_with_text(core, content, text))
        used += meter.content(contents[-1])
    return Composed(tuple(contents), used - live.tokens - sum(intake))


def _with_text(core: Core, content: Content, text: str) -> Content:
    if text == content.text:
        return content
    return core.live.dialect.write(content, text, (), content.parts)


def shares(sizes: Sequence[int], room: int) -> list[int]:
    """How much room each output gets: small ones whole, large ones an equal part of the rest.

    Args:
        sizes: tokens of each output.
        room: tokens for all of them.
    """
    given = [0] * len(sizes)
    left = max(room, 0)
    waiting = sorted(range(len(sizes)), key=lambda at: sizes[at])
    while waiting:
        at = waiting.pop(0)
        given[at] = min(sizes[at], left // (len(waiting) + 1))
        left -= given[at]
    return given
