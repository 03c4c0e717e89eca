"""A system's error as one of the journal's: in words for a person, without its number."""

from __future__ import annotations

from redraft.errors import JournalError

__all__ = ["of_system"]


def of_system(error: OSError, words: str, kind: type[JournalError] = JournalError) -> JournalError:
    """An error that says `words`, and keeps the number of the system's error for programs.

    Args:
        error: what the system said.
        words: what cannot be done and what to do next; they name the file.
        kind: the error to make.
    """
    made = kind(words)  # given the number as well, Python would print "[Errno 11]" in front
    made.errno = error.errno
    return made
