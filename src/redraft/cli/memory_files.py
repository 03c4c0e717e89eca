"""A memory's export on the disk: read whole, and written so that half of one is never found."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from redraft.cli.texts import write_out
from redraft.errors import SettingsError

__all__ = ["read_export", "write_export"]

_BATCH = 500


def read_export(source: Path) -> list[str]:
    """The lines of an export.

    Args:
        source: the file; `-` for standard input.

    Raises:
        SettingsError: it cannot be read, or is no text.
    """
    try:
        data = sys.stdin.buffer.read() if str(source) == "-" else source.read_bytes()
    except OSError as error:
        raise SettingsError(
            f"the export cannot be read from {source}: {error.strerror}; check the path"
        ) from error
    try:
        return data.decode("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise SettingsError(
            f"{source} is no export of a memory: byte {error.start} is not UTF-8; check the path"
        ) from error


def write_export(lines: Iterable[str], output: Path | None) -> None:
    """Write lines to standard output, or to a file that only its owner can read.

    Args:
        lines: without their ends.
        output: the file, replaced when all of it is written; None for standard output.

    Raises:
        SettingsError: the file cannot be written; one that was there is as it was.
    """
    if output is None:
        for batch in _parts(lines):
            write_out(batch)
        return
    part = output.with_name(f"{output.name}.{os.getpid()}.part")
    try:
        number = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(number, "w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)
        part.replace(output)
    except OSError as error:
        raise SettingsError(
            f"the export cannot be written to {output}: {error.strerror}; name another place"
        ) from error
    finally:
        part.unlink(missing_ok=True)


def _parts(lines: Iterable[str]) -> Iterator[str]:
    rest = iter(lines)
    while batch := list(islice(rest, _BATCH)):
        yield "\n".join(batch)
