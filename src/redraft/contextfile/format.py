"""The context file as text: from turns to bytes, and from whatever bytes stand there back to blocks.

DESIGN.md section 5 shows the format. Reading is tolerant and total: any UTF-8 is some list of blocks.
A round costs what was edited: `difference` finds the few blocks whose bytes changed, so that only
they are parsed and only their turns are compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from redraft.context.reconcile import Block, CallMark
from redraft.context.shown import mark, visible
from redraft.context.turn import Turn
from redraft.contextfile.blocks import (
    CallLine,
    EndLine,
    PartLine,
    TurnLine,
    candidates,
    escape,
    line_end,
    structure,
    trimmed,
    unescape,
)

__all__ = [
    "END",
    "Parsed",
    "Unreadable",
    "Window",
    "difference",
    "parse",
    "render",
    "render_turn",
    "with_attributes",
]

END = b"[[CTX_END]]\n"
"""The last line of the file: what a truncated file lacks."""

_BOM = b"\xef\xbb\xbf"
_LINE = re.compile(rb"[^\r\n]*")
_TURN = b"[[CTX_TURN "
_LABEL_WORDS = 8


@dataclass(frozen=True, slots=True)
class Parsed:
    """What stands in the file.

    Attributes:
        blocks: its blocks and the text outside of them, in the file's order.
        ended: whether an end mark stands in it.
    """

    blocks: tuple[Block, ...]
    ended: bool


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Bytes that are not text; `reason` says why, in words fit for a receipt."""

    reason: str


@dataclass(frozen=True, slots=True)
class Window:
    """The part of the file that may have changed.

    Attributes:
        first, last: the turns whose place it is, half open. Empty only where no turn is shown.
        data: the bytes that stand there now.
        parsed: what they mean.
        ended: whether an end mark stands anywhere in the whole file.
    """

    first: int
    last: int
    data: bytes
    parsed: Parsed | Unreadable
    ended: bool


def render_turn(turn: Turn, *, attributes: Mapping[str, object] | None = None) -> bytes:
    """One turn as a block: header, text, parts, calls, a blank line. Always valid UTF-8.

    Args:
        turn: any turn, whatever its text.
        attributes: further attributes of the header, e.g. `{"tokens": 5212}`; each name and value
            becomes one word.
    """
    content = turn.content
    pieces = [f"[[CTX_TURN {turn.number} role={mark(content.role)}]]\n", _body(content.text)]
    pieces += (f"[[CTX_PART {part.index + 1} {_label(part.label)}]]\n" for part in content.parts)
    for call in content.calls:
        pieces.append(f"[[CTX_CALL {mark(call.id)} {mark(call.name)}]]\n{_body(call.arguments)}")
    pieces.append("\n")
    return with_attributes("".join(pieces).encode(), attributes or {})


def with_attributes(block: bytes, attributes: Mapping[str, object]) -> bytes:
    """A rendered block with more attributes at the end of its header."""
    if not attributes:
        return block
    words = "".join(f" {mark(name)}={mark(str(value))}" for name, value in attributes.items())
    cut = block.index(b"]]\n")  # no header holds a bracket inside
    return b"".join((block[:cut], words.encode(), block[cut:]))


def render(turns: Iterable[Turn]) -> bytes:
    """The whole file: each turn's block, then the end mark."""
    return b"".join((*map(render_turn, turns), END))


def _body(text: str) -> str:
    """Shown text: escaped, in UTF-8's reach, and ending with a line's end unless it is empty."""
    shown = escape(visible(text))
    return shown if not shown or shown.endswith("\n") else shown + "\n"


def _label(label: str) -> str:
    return " ".join(mark(word) for word in label.split()[:_LABEL_WORDS]) or "part"


def parse(data: bytes) -> Parsed | Unreadable:
    """Read a context file, or a stretch of one that begins where a block does.

    Args:
        data: any bytes; a byte order mark at the start is ignored.

    Returns:
        the blocks, or `Unreadable` where the bytes are not UTF-8.
    """
    try:
        text = data.removeprefix(_BOM).decode()
    except UnicodeDecodeError as error:
        return Unreadable(f"the file is not valid UTF-8 ({error.reason})")
    blocks: list[Block] = []
    ended = False
    here = _Stretch()
    done = 0
    for start, slash, at in candidates(text):
        if slash < at:
            continue
        end, following = line_end(text, at)
        item = structure(text[at:end])
        # Marks outside of any block stand for nothing: they are words, like a malformed line.
        if item is None or (here.turn is None and isinstance(item, (CallLine, PartLine))):
            continue
        here.text(text[done:start])
        done = following
        match item:
            case TurnLine():
                blocks += here.close()
                here = _Stretch(item)
            case EndLine():
                blocks += here.close()
                here = _Stretch()
                ended = True
            case CallLine():
                here.calls.append((item, []))
                here.in_call = True
            case PartLine():
                here.parts.append(item.number)
                here.in_call = False
    here.text(text[done:])
    blocks += here.close()
    return Parsed(tuple(blocks), ended)


@dataclass(slots=True)
class _Stretch:
    """A block, or text outside of any, while it is read."""

    turn: TurnLine | None = None
    body: list[str] = field(default_factory=list)
    calls: list[tuple[CallLine, list[str]]] = field(default_factory=list)
    parts: list[int] = field(default_factory=list)
    in_call: bool = False

    def text(self, text: str) -> None:
        """Lines after a call's mark are its arguments, all others the turn's text."""
        (self.calls[-1][1] if self.in_call else self.body).append(unescape(text))

    def close(self) -> list[Block]:
        """The block; nothing where only blank lines stand outside of any block."""
        text = trimmed("".join(self.body))
        if self.turn is None:
            return [Block(text)] if text else []
        calls = tuple(
            CallMark(line.id, line.name, trimmed("".join(pieces))) for line, pieces in self.calls
        )
        return [Block(text, self.turn.number, self.turn.role, calls, tuple(self.parts))]


def difference(rendered: Sequence[bytes], data: bytes) -> Window | None:
    """Find what changed in the file.

    Args:
        rendered: the bytes of each block as they were written, the end mark last.
        data: the bytes of the file now.

    Returns:
        the smallest window that has the same meaning read by itself as in the whole file: with
        `redraft.context.reconcile`, both give the same revision. None where no byte differs.
    """
    span = _common(rendered, data)
    if span.first == len(rendered) and span.start == len(data):
        return None
    shown = len(rendered) - 1
    # The bytes alone are not enough. Each step below widens the window where what stands in it
    # would mean something else when read alone.
    #
    # (1) What stands behind an unchanged block is part of it unless a header or the end mark comes
    # first. One step back is enough: that block's own header closes the one before it.
    if 0 < span.first <= shown and not _closes(data, span.start):
        span.back(rendered, span.first - 1)
    # (2) A note finds its place by the turn before it. An empty window has no such turn, and a byte
    # order mark is only ignored at the start of the file, so a shown turn always stands in it.
    span.back(rendered, min(span.first, max(shown - 1, 0)))
    span.on(rendered, min(span.first + 1, shown))
    parsed = parse(data[span.start : span.end])
    # (3) A block under the number of a turn outside of the window is a copy of it or was moved there.
    # Which of the two is the turn, and whether the other may pass for a turn that is missing, shows
    # only when both are seen. The blocks that come in are unchanged and name themselves: one step.
    if isinstance(parsed, Parsed) and _claims(rendered, span, parsed):
        parsed = parse(data[span.start : span.end])
    ended = span.last <= shown or (isinstance(parsed, Parsed) and parsed.ended)
    stands = data[span.start : span.end]
    return Window(span.first, min(span.last, shown), stands, parsed, ended)


@dataclass(slots=True)
class _Span:
    """Blocks [first, last) of the old file; bytes [start, end) of the new one stand in their place."""

    first: int
    last: int
    start: int
    end: int

    def back(self, rendered: Sequence[bytes], first: int) -> None:
        """Start at block `first`, if that is earlier."""
        while self.first > first:
            self.first -= 1
            self.start -= len(rendered[self.first])

    def on(self, rendered: Sequence[bytes], last: int) -> None:
        """End before block `last`, if that is later."""
        while self.last < last:
            self.end += len(rendered[self.last])
            self.last += 1


def _common(rendered: Sequence[bytes], data: bytes) -> _Span:
    """Leave out the blocks that stand unchanged at the two ends of the file."""
    # Each step compares memory with memory and copies nothing.
    first, start = 0, 0
    for block in rendered:
        if not data.startswith(block, start):
            break
        start += len(block)
        first += 1
    last, end = len(rendered), len(data)
    for block in reversed(rendered[first:]):
        if not data.endswith(block, start, end):
            break
        end -= len(block)
        last -= 1
    span = _Span(first, last, start, end)
    if span.end > 0 and data[span.end - 1] not in b"\r\n":  # its header is not at a line's start
        span.on(rendered, min(span.last + 1, len(rendered)))
    return span


def _closes(data: bytes, at: int) -> bool:
    """Whether the line at `at` closes the block before it; the end of the file does, too."""
    if at == len(data):
        return True
    found = _LINE.match(data, at)
    line = found.group() if found else b""
    if not line.lstrip(b" \t").startswith(b"[[CTX_"):
        return False
    try:
        item = structure(line.decode().lstrip(" \t"))
    except UnicodeDecodeError:
        return False
    return isinstance(item, (TurnLine, EndLine))


def _claims(rendered: Sequence[bytes], span: _Span, parsed: Parsed) -> bool:
    """Widen `span` to every turn whose number stands in it; whether that was needed."""
    named = {block.number for block in parsed.blocks if block.number is not None}
    strangers = named.difference(map(_number, rendered[span.first : span.last]))
    if not strangers:
        return False
    places = [at for at, block in enumerate(rendered) if _number(block) in strangers]
    if places:
        span.back(rendered, places[0])
        span.on(rendered, places[-1] + 1)
    return bool(places)


def _number(block: bytes) -> int:
    """The number in a rendered header; -1 for the end mark."""
    if not block.startswith(_TURN):
        return -1
    return int(block[len(_TURN) : block.index(b" ", len(_TURN))])
