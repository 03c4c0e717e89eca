"""Where a session keeps the originals that leave its context, and what an incognito one may not have."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from redraft.dialects.stubs import DISK
from redraft.errors import SettingsError
from redraft.policies import Hybrid, Manager, Offload, Policy, Pressure
from redraft.session.terms import FILE_INTERFACES
from redraft.settings import Settings
from redraft.store import (
    IncognitoOverflow,
    Journal,
    Overflow,
    SQLiteJournal,
    SQLiteOverflow,
    VolatileOverflow,
)
from redraft.store.memory import SQLiteMemory
from redraft.store.memory_base import Memory
from redraft.store.overflow_file import OVERFLOW

__all__ = ["closable", "incognito_interface", "must_leave_nothing", "overflow_for", "stored"]


def overflow_for(journal: Journal | None, *, incognito: bool = False) -> Overflow:
    """The overflow store of a session that brings none: beside its journal, else in memory, else nowhere.

    Args:
        journal: the session's journal.
        incognito: whether nothing may be kept.
    """
    if incognito:
        return IncognitoOverflow()
    if isinstance(journal, SQLiteJournal):
        return SQLiteOverflow(journal.directory / OVERFLOW)
    return VolatileOverflow()


def closable(overflow: Overflow | None) -> SQLiteOverflow | None:
    """The store, where it has a file to close."""
    return overflow if isinstance(overflow, SQLiteOverflow) else None


def must_leave_nothing(
    journal: Journal | None,
    overflow: Overflow | None,
    path: str | Path | None,
    memory: Memory | str | Path | None,
) -> None:
    """Raise `SettingsError` where an incognito session is given something that would leave a file."""
    lasting = {
        "a journal that is not in memory": isinstance(journal, SQLiteJournal),
        "an overflow store": overflow is not None and not isinstance(overflow, IncognitoOverflow),
        "a directory for the context file": path is not None,
        "a memory on disk": isinstance(memory, (str, Path, SQLiteMemory)),
    }
    found = next((what for what, is_there in lasting.items() if is_there), "")
    if found:
        raise SettingsError(
            f"an incognito session leaves nothing behind, and this one is given {found}; leave that out, "
            "or leave out `incognito`."
        )


def incognito_interface(wanted: str | None, settings: Settings) -> str:
    """The interface of an incognito session.

    Args:
        wanted: the one that was asked for; None for the settings', unless that has a file.
        settings: the session's settings.

    Raises:
        SettingsError: the one that was asked for has a context file.
    """
    if wanted in FILE_INTERFACES:
        raise SettingsError(
            f"an incognito session leaves nothing behind, and the interface {wanted!r} has a context file; "
            "take 'context-tools' or 'tool', or leave out `incognito`."
        )
    chosen = wanted or settings.interface
    return "context-tools" if chosen in FILE_INTERFACES else chosen


def stored(policy: Policy, storage: str) -> Policy:
    """A policy whose stubs say where this session's originals are.

    Args:
        policy: the policy.
        storage: `Overflow.storage` of the session's store.
    """
    if isinstance(policy, Hybrid):
        return replace(policy, beneath=stored(policy.beneath, storage))
    if isinstance(policy, (Offload, Pressure)):
        return replace(policy, storage=storage)
    if isinstance(policy, Manager) and storage != DISK:
        known = policy.known().items()
        return replace(policy, strategies={name: stored(one, storage) for name, one in known})
    return policy
