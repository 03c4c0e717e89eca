"""A file that is to be read as a recording: its text, as JSON or as lines of JSON; clear errors."""

from __future__ import annotations

import codecs
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from redraft.errors import RecordingError
from redraft.store.files import JOURNAL

__all__ = ["Row", "Source"]

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# The NULs around the first character of JSON tell its encoding (RFC 4627, section 3).
_UNMARKED = (("utf-32-le", 4), ("utf-32-be", 4), ("utf-16-le", 2), ("utf-16-be", 2))
_PACKED = {b"\x1f\x8b": "gzip", b"PK": "zip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bzip2"}


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a file of JSON lines.

    Attributes:
        line: its number, from 1.
        value: the object on it.
    """

    line: int
    value: Mapping[str, Any]


@dataclass
class Source:
    """A file's text, and what it is made of.

    Attributes:
        path: the file, as it was named.
        text: all of it.
        skip_damaged: pass over damaged lines, with a note, where that can be done.
        notes: what was passed over.
        database: whether it is an SQLite file, or a run's directory, which has no text.
    """

    path: str
    text: str
    skip_damaged: bool = False
    notes: list[str] = field(default_factory=list)
    database: bool = False

    @classmethod
    def read(cls, path: Path, *, skip_damaged: bool = False) -> Source:
        """Read a file in UTF-8, UTF-16 or UTF-32, with a byte order mark or without.

        Raises:
            RecordingError: it cannot be read, is empty, packed, or in another encoding.
        """
        if (path / JOURNAL).is_file():
            return cls(str(path), "", skip_damaged, database=True)
        if path.is_dir():
            raise RecordingError(
                f"{path}: a directory without a {JOURNAL}; name a run's directory, or the recordings in it"
            )
        try:
            data = path.read_bytes()
        except OSError as error:
            reason = error.strerror or str(error)
            raise RecordingError(f"{path}: {reason}; check the path") from error
        if data.startswith(b"SQLite format 3\0"):
            return cls(str(path), "", skip_damaged, database=True)
        return cls(str(path), _decoded(data, str(path)), skip_damaged)

    def error(self, line: int, what: str) -> RecordingError:
        """An error at a line of this file (0 for the file as a whole); `what` says what to do."""
        return RecordingError(f"{self.path}:{line}: {what}" if line else f"{self.path}: {what}")

    @cached_property
    def document(self) -> Any:
        """The file as one JSON value; None where it is none."""
        if self.text.lstrip()[:1] not in ("{", "["):
            return None
        try:
            return json.loads(self.text)
        except (ValueError, RecursionError):
            return None

    @cached_property
    def rows(self) -> list[Row]:
        """The file's lines, each an object; empty where its first line that holds anything is none.

        Raises:
            RecordingError: a further line is damaged, and damaged lines are not to be passed over.
        """
        if self.document is not None:
            return [Row(1, self.document)] if isinstance(self.document, dict) else []
        rows: list[Row] = []
        for line, text in enumerate(self.text.split("\n"), 1):
            if not text.strip():
                continue
            row = self._row(line, text, started=bool(rows))
            if row is not None:
                rows.append(row)
            elif not self.skip_damaged:
                return []
        return rows

    def _row(self, line: int, text: str, *, started: bool) -> Row | None:
        try:
            value = json.loads(text)
            if isinstance(value, dict):
                return Row(line, value)
            what = f"holds a {type(value).__name__} where an object is expected"
        except (ValueError, RecursionError) as error:
            what = f"is not JSON ({error})"
        if not (started or self.skip_damaged):
            return None
        last = self.text.rstrip().count("\n") + 1 == line
        cut = ", cut off as by a crash" if last and "JSON" in what else ""
        if self.skip_damaged:
            self.notes.append(f"line {line} was passed over: it {what}{cut}")
            return None
        raise self.error(
            line,
            f"this line {what}{cut}; mend or remove it, or pass over such lines (skip_damaged)",
        )

    def damage(self) -> str:
        """Why the file is no JSON at all: where it breaks."""
        if "\0" in self.text:
            line = self.text.count("\n", 0, self.text.index("\0")) + 1
            return f"line {line} holds NUL bytes, as after a crash, or in a file that is no text"
        if self.document is None and self.rows:
            return "its lines are JSON objects, but of no form that is known here"
        texts = [text for text in self.text.split("\n") if text.strip()][:2]
        if len(texts) == 2 and _is_object(texts[1]):
            return (
                "its first line is not a JSON object; mend or remove it, or pass over such lines "
                "(skip_damaged)"
            )
        try:
            json.loads(self.text)
        except RecursionError:
            return "it is nested too deeply"
        except ValueError as error:
            return f"as JSON it breaks at {error}"
        return "it is JSON, but of no form that is known here"


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _decoded(data: bytes, path: str) -> str:
    for mark, packing in _PACKED.items():
        if data.startswith(mark):
            raise RecordingError(f"{path}: this is a {packing} file; unpack it first")
    encoding = _encoding(data)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        where = f"{path}:{line}: byte {data[error.start]:#04x} is not {encoding.upper()}"
        if encoding != "utf-8":
            todo = "the file is damaged or breaks off there; copy or export it anew"
        elif b"\0" in data:
            todo = "it holds NUL bytes too, so it is hardly text; name a recording"
        else:
            todo = f"convert the file, e.g. `iconv -f latin1 -t utf-8 {path}`"
        raise RecordingError(f"{where}; {todo}") from error
    if not text.strip():
        raise RecordingError(f"{path}: the file is empty; name one that holds a recording")
    return text


def _encoding(data: bytes) -> str:
    """By the byte order mark, else by the NULs around the bracket that JSON begins with."""
    for mark, name in _MARKS:
        if data.startswith(mark):
            return name
    for name, width in _UNMARKED:
        if data[:width] in [start.encode(name) for start in "{["]:
            return name
    return "utf-8"
