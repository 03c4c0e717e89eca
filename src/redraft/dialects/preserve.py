"""What must outlive a text that leaves the context, whatever a model or a policy writes in its place.

Approvals that still wait, sources and identifiers: values that a summary loses first and that nobody can
guess again (`seeds/001_*`). Found by their shape, so a few too many rather than one too few.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from redraft.dialects.stubs import stubs_in

__all__ = ["PRESERVED", "Approval", "approval_line", "pending_approvals", "preserved_block"]

PRESERVED = "Preserved (compaction-safe):"
"""The line that the block begins with."""

_MOST_VALUES = 30
"""Sources, and identifiers, that a block lists at most; the rest are in the originals."""

_LONGEST_VALUE = 300

_LINE = re.compile(
    r"^\[approval pending id=([\w.:/+-]{1,200})(?:: ([^\r\n]*?))?\][ \t]*$", re.MULTILINE
)
_FIELD = re.compile(r"""\bapproval_?id["']?\s*[:=]\s*["']?([\w.:/+-]{1,200})""", re.IGNORECASE)
_PENDING = re.compile(r"\bpending\b|\bawaiting\b|\bneeds_approval\b", re.IGNORECASE)
_URL = re.compile(r"\b(?:https?|ftp|file)://[^\s<>\"'`\])}]+", re.IGNORECASE)
_SOURCE = re.compile(r"^[ \t]*sources?[ \t]*:[ \t]*(\S[^\r\n]*)$", re.IGNORECASE | re.MULTILINE)
_IDENTIFIER = re.compile(
    r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"  # a UUID
    r"|\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\b"  # a commit, a digest
    r"|\b[A-Z][A-Z0-9]{1,9}-\d{1,9}\b"  # a ticket
    r"""|\b(?:\w+_)?id["']?[ \t]*[:=][ \t]*["']?[\w.:/+-]{1,80}"""  # user_id: 42, "id": "a1"
)


@dataclass(frozen=True, slots=True)
class Approval:
    """An approval that a result waits for.

    Attributes:
        id: names it; "" where the session is to choose a name.
        asked: what is to be approved; "" where the result does not say.
    """

    id: str = ""
    asked: str = ""


def approval_line(approval: Approval) -> str:
    """The line that a result carries for an approval that waits."""
    asked = " ".join(approval.asked.replace("[", "(").replace("]", ")").split())
    return f"[approval pending id={approval.id}{f': {asked}' if asked else ''}]"


def pending_approvals(text: str, settled: Collection[str] = ()) -> tuple[Approval, ...]:
    """The approvals that a result waits for, each once.

    Found are the lines of `approval_line` and, in a text that says that something is pending, fields
    named `approval_id`.

    Args:
        text: the result.
        settled: ids of approvals that wait no more, whatever the text says.
    """
    if "approval" not in text.lower():
        return ()
    found = {name: Approval(name, asked or "") for name, asked in _LINE.findall(text)}
    rest = _LINE.sub("", text)
    if _PENDING.search(rest):
        for name in _FIELD.findall(rest):
            found.setdefault(name, Approval(name))
    return tuple(approval for name, approval in found.items() if name not in settled)


def preserved_block(texts: Sequence[str], settled: Collection[str] = ()) -> str:
    """What must outlive these originals, as the block that ends a note; "" where there is nothing.

    Every approval is kept that still waits; of sources and identifiers the first so many.

    Args:
        texts: the originals.
        settled: ids of approvals that wait no more.
    """
    bare = ["\n".join(_without_stubs(text)) for text in texts]
    approvals = {one.id: one for text in texts for one in pending_approvals(text, settled)}
    lines = [approval_line(one) for one in approvals.values()]
    lines += _listed("sources", (name for text in bare for name in _sources(text)))
    lines += _listed("identifiers", (name for text in bare for name in _identifiers(text)))
    return "\n".join((PRESERVED, *lines)) if lines else ""


def _without_stubs(text: str) -> Iterable[str]:
    """A stub's own id is no identifier of the text's."""
    if not stubs_in(text):
        return (text,)
    return (line for line in text.splitlines() if not stubs_in(line))


def _sources(text: str) -> Iterable[str]:
    yield from (found.group().rstrip(".,;:!?") for found in _URL.finditer(text))
    for line in _SOURCE.findall(text):
        yield from (piece.strip() for piece in line.split(", ") if "://" not in piece)


def _identifiers(text: str) -> Iterable[str]:
    # An id inside of an address is kept with the address.
    return (found.group() for found in _IDENTIFIER.finditer(_URL.sub(" ", _LINE.sub(" ", text))))


def _listed(name: str, values: Iterable[str]) -> list[str]:
    once = list(dict.fromkeys(value for value in values if value and len(value) <= _LONGEST_VALUE))
    if not once:
        return []
    more = len(once) - _MOST_VALUES
    tail = f" (and {more} more in the originals)" if more > 0 else ""
    return [f"{name}: {', '.join(once[:_MOST_VALUES])}{tail}"]
