"""The text of a turn as a reader of the context file sees it, and when two texts count as the same.

Lines end at LF, CRLF or CR and nowhere else. Trailing spaces, tabs and blank lines at the end do not
count: editors and formatters change them without meaning anything by it. A text is recognised by
comparing what is shown with what was shown, never by turning the shown text back into the original.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict, deque
from collections.abc import Mapping
from itertools import chain

from redraft.dialects.base import Content

__all__ = [
    "canonical",
    "digest",
    "lines",
    "mark",
    "same",
    "visible",
    "wire_digest",
    "with_old_lines",
]

_LINE = re.compile(r"[^\r\n]++(?:\r\n|\n|\r)?|\r\n|\n|\r")
_BLANK = "\r\n \t"
_UNSAFE = re.compile(r"[^\w.:/+-]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def visible(text: str) -> str:
    """The text as UTF-8 can hold it: a lone surrogate is shown as U+FFFD."""
    return _SURROGATE.sub("\ufffd", text) if not text.isascii() else text


def lines(text: str) -> list[str]:
    """The lines of `text`, each with its ending (LF, CRLF or CR only)."""
    return _LINE.findall(text)


def canonical(text: str) -> tuple[str, ...]:
    """The lines of `text` without endings, trailing spaces and tabs, or blank lines at the end."""
    text = text.rstrip(_BLANK)
    if not text:
        return ()
    return tuple(map(_bare, text.replace("\r\n", "\n").replace("\r", "\n").split("\n")))


def same(one: str, other: str) -> bool:
    """Whether two shown texts differ in nothing but line endings and trailing white space."""
    # A short text is told from a huge one at its first line: a file may repeat one header often.
    return one == other or (_first(one) == _first(other) and canonical(one) == canonical(other))


def _first(text: str) -> str:
    found = _LINE.match(text)
    return _bare(found.group()) if found else ""


def _bare(line: str) -> str:
    return line.rstrip(_BLANK)


def with_old_lines(old: str, new: str) -> str:
    """`new`, with every line that also stands in `old` exactly as it stands there.

    An editor that writes CRLF as LF, or a surrogate as U+FFFD, must not change lines that nobody
    touched. Of lines that look alike, each is matched once and in order; one that was moved or
    repeated takes the first. A line of `new` that is not in `old` stays as it is.

    Args:
        old: the turn's true text.
        new: the edited text, as parsed from the file.
    """
    if same(new, visible(old)):
        return old
    olds = lines(old)
    firsts: dict[str, int] = {}
    places: dict[str, deque[int]] = defaultdict(deque)
    for at, line in enumerate(olds):
        key = _bare(visible(line))
        firsts.setdefault(key, at)
        places[key].append(at)
    done = -1
    out: list[str] = []
    for line in lines(new):
        key = _bare(line)
        queue = places.get(key)
        while queue and queue[0] <= done:
            queue.popleft()
        if queue:
            done = queue.popleft()
            line = _kept(olds[done], line)
        elif key in firsts:
            line = _kept(olds[firsts[key]], line)
        out.append(line)
    return "".join(out)


def _kept(old: str, new: str) -> str:
    """The old line; its ending too, unless one of the two stands last and has none."""
    body = old.rstrip("\r\n")
    ending = old[len(body) :]
    wanted = new[len(new.rstrip("\r\n")) :]
    return body + (ending if ending and wanted else wanted)


def mark(word: str) -> str:
    """`word` as it may stand inside a `[[CTX_...]]` line: one word, no brackets, never empty."""
    return _UNSAFE.sub("_", word)[:200] or "-"


def digest(content: Content) -> str:
    """32 hex digits that name what is shown of a turn: role, text, calls, parts, what it answers."""
    fields = chain(
        (content.role, content.text, content.answers or ""),
        (f"{call.id}\x1f{call.name}\x1f{call.arguments}" for call in content.calls),
        (part.label for part in content.parts),
    )
    sha = hashlib.blake2b(digest_size=16)
    for field in fields:
        data = field.encode("utf-8", "surrogatepass")
        sha.update(len(data).to_bytes(8, "big"))
        sha.update(data)
    return sha.hexdigest()


def wire_digest(content: Content) -> bytes:
    """16 bytes that name what is sent of a turn: its carriers, and its seat in them."""
    data = json.dumps([content.seat, *content.carriers], default=_plain)
    return hashlib.blake2b(data.encode(), digest_size=16).digest()


def _plain(value: object) -> object:
    """A value that JSON does not know: another mapping as a `dict`, anything else by its name."""
    return dict(value) if isinstance(value, Mapping) else repr(value)
