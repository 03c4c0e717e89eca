"""Texts that come in by argument, file or standard input, and texts that go out to a terminal."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import BinaryIO

from redraft.errors import SettingsError

__all__ = ["one_line", "read_file", "read_task", "shown", "write_out"]

MOST_BYTES = 10_000_000
"""A task or prompt beyond this is no text for a model but a mistake, such as a data file."""

# All control characters but tab and line feed, and those that turn the direction of text.
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def read_task(argument: str, stdin: BinaryIO) -> str:
    """The task that an argument names: its own words, `-` for standard input, `@FILE` for a file.

    Args:
        argument: as it stands on the command line.
        stdin: where `-` reads from.

    Raises:
        SettingsError: the file cannot be read, or what it holds is no text.
    """
    if argument == "-":
        return _text(stdin.read(MOST_BYTES + 1), "standard input")
    if argument.startswith("@") and len(argument) > 1:
        return read_file(Path(argument[1:]), "the task")
    return argument


def read_file(path: Path, what: str) -> str:
    """The text in a file.

    Args:
        path: the file.
        what: what it is for, for the error, e.g. `the task`.

    Raises:
        SettingsError: it cannot be read, or what it holds is no text.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise SettingsError(
            f"{what} cannot be read from {path}: {error.strerror}; check the path"
        ) from error
    return _text(data, str(path))


def _text(data: bytes, where: str) -> str:
    if len(data) > MOST_BYTES:
        raise SettingsError(
            f"{where} holds more than {MOST_BYTES:,} bytes; give the task in words, and leave the data "
            "in a file for the commands to read"
        )
    try:
        return data.decode("utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise SettingsError(
            f"{where} is not UTF-8 text (byte {error.start} is {data[error.start]:#04x}); give text, and "
            "leave binary data in a file for the commands to read"
        ) from error


def one_line(text: str, most: int) -> str:
    """Foreign text as one line that cannot steer a terminal.

    Args:
        text: e.g. a command of the model's, or a server's words.
        most: characters to keep; a cut shows as an ellipsis.
    """
    start = text[: 4 * most]
    line = " ".join("".join(c if c.isprintable() else " " for c in start).split())
    return line if len(line) <= most and len(start) == len(text) else f"{line[: most - 1]}…"


def shown(text: str) -> str:
    """Foreign text in full and in its own lines, with a mark for each character that could steer a
    terminal or hide what stands there."""
    return _STEERING.sub("\ufffd", text)


def write_out(text: str) -> None:
    """Write to standard output, whatever the text holds and whoever reads.

    A terminal gets no control characters but line feeds and tabs; a pipe or file gets the text as it
    is. What the encoding cannot hold is replaced. A reader that has gone away is no error.

    Raises:
        OSError: it cannot be written, e.g. to a full disk.
    """
    stream = sys.stdout
    if stream.isatty():
        text = _STEERING.sub("\ufffd", text)
    encoding = stream.encoding or "utf-8"
    text = text.encode(encoding, "replace").decode(encoding)
    try:
        stream.write(text if text.endswith("\n") else f"{text}\n")
        stream.flush()
    except OSError as error:
        # The interpreter flushes once more at its end and would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        if not isinstance(error, BrokenPipeError):
            raise OSError(
                error.errno,
                f"standard output cannot be written: {error.strerror}; the answer is lost",
            ) from error
