"""All formats, and `load`, which finds a file's format and reads it.

To add a format, write a module with `detect` and `read` like the smallest beside this one, and put it
into `FORMATS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from redraft.errors import RecordingError
from redraft.replay.loaders import (
    atif,
    cassette,
    claude_code,
    journal,
    mini_swe_agent,
    openhands,
    pi,
    plain,
    swe_agent,
    tau_bench,
)
from redraft.replay.recording import Recording
from redraft.replay.source import Source

__all__ = ["FORMATS", "Format", "load", "read_source"]


@dataclass(frozen=True, slots=True)
class Format:
    """A format of recordings.

    Attributes:
        name: as `Recording.format` gives it.
        holds: what such a file is, in a few words.
        detect: whether a file is of this format.
        read: reads it; raises `RecordingError`.
    """

    name: str
    holds: str
    detect: Callable[[Source], bool]
    read: Callable[[Source], Recording]


FORMATS: tuple[Format, ...] = (
    Format("journal", "redraft's own journals", journal.detect, journal.read),
    Format("cassette", "recorded HTTP in YAML, as of VCR.py", cassette.detect, cassette.read),
    Format("atif", "ATIF trajectories, as of Harbor", atif.detect, atif.read),
    Format("pi", "session files of pi", pi.detect, pi.read),
    Format("claude-code", "session files of Claude Code", claude_code.detect, claude_code.read),
    Format("swe-agent", "SWE-agent's .traj files", swe_agent.detect, swe_agent.read),
    Format(
        "mini-swe-agent",
        "mini-swe-agent's .traj.json files",
        mini_swe_agent.detect,
        mini_swe_agent.read,
    ),
    Format("tau-bench", "tau-bench's results", tau_bench.detect, tau_bench.read),
    Format("openhands", "OpenHands' event logs", openhands.detect, openhands.read),
    Format("messages", "plain lists of chat messages", plain.detect, plain.read),
)
"""All formats; the first that recognises a file reads it."""


def load(
    path: str | Path, *, skip_damaged: bool = False, formats: Iterable[Format] = FORMATS
) -> Recording:
    """Read a recording, whatever its format.

    Args:
        path: the file.
        skip_damaged: pass over damaged lines of a file of lines, with a note for each, instead of
            refusing the file.
        formats: the formats to try, in order.

    Raises:
        RecordingError: the file cannot be read or is of no known format, or something in it is
            damaged or missing; the message names the file and, where there are lines, the line.
    """
    return read_source(Source.read(Path(path), skip_damaged=skip_damaged), formats)


def read_source(source: Source, formats: Iterable[Format] = FORMATS) -> Recording:
    """Read a recording from text that is at hand; as `load`."""
    known = list(formats)
    for one in known:
        try:
            if one.detect(source):
                return one.read(source)
        except RecordingError:
            raise
        except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
            # A field of another kind than any recorded file has: still the file's fault.
            raise source.error(
                0,
                f"it looks like {one.holds}, but a field has an unexpected form "
                f"({type(error).__name__}: {error}); export it anew, or mend that field",
            ) from error
    names = ", ".join(one.holds for one in known)
    raise source.error(0, f"{source.damage()}. Known are: {names}")
