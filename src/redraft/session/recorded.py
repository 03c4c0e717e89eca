"""What a run's record says of its context, for whoever only looks."""

from __future__ import annotations

from redraft.errors import SettingsError
from redraft.policies import ContextReport, Policy
from redraft.session.past import calibration, past_of
from redraft.session.rotations import report_of, restored
from redraft.session.schedule import Schedule
from redraft.session.terms import Terms
from redraft.store import SQLiteJournal

__all__ = ["recorded_report"]


def recorded_report(journal: SQLiteJournal) -> ContextReport:
    """The context report of the session in a journal, as it stands at the record's end.

    Args:
        journal: the journal, open to read or to write.

    Raises:
        JournalError: it cannot be read, or holds no session.
    """
    past = past_of(journal)
    terms = Terms.of(past.values)
    log, policy = restored(past.turned, _policy(terms))
    times = [logged.at for logged in journal.log()]
    return report_of(
        policy,
        log,
        past.live,
        past.state.limit,
        shown=calibration(past.state).shown,
        chosen=terms.policy,
        memory=terms.memory,
        started=times[0],
        now=times[-1],
    )


def _policy(terms: Terms) -> Policy | None:
    """The scheduled policy that a session was set up with, where a record can hold it."""
    try:
        return Schedule.of(old=terms).policy
    except SettingsError:
        return None
