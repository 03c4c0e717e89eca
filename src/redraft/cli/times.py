"""Times on a command line: a date, a time, or how long from now."""

from __future__ import annotations

import re
import time
from datetime import datetime

from redraft.errors import SettingsError

__all__ = ["ago", "ahead", "local"]

_UNITS = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}


def ago(text: str | None, now: float) -> float | None:
    """A time in the past: `7d` is a week before now.

    Args:
        text: a date, a time or a span, as it was given; None for none.
        now: seconds since the epoch.

    Returns:
        seconds since the epoch.

    Raises:
        SettingsError: it is none of these.
    """
    return _moment(text, now, -1)


def ahead(text: str | None, now: float) -> float | None:
    """As `ago`, but `7d` is a week after now."""
    return _moment(text, now, 1)


def _moment(text: str | None, now: float, direction: int) -> float | None:
    if text is None:
        return None
    span = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([wdhms])", text.strip().lower())
    try:
        if span:
            return now + direction * float(span[1]) * _UNITS[span[2]]
        # A time without a zone is one of this machine's clock.
        return datetime.fromisoformat(text.strip()).timestamp()
    except (ValueError, OverflowError, OSError) as error:
        raise SettingsError(
            f"{text!r} is no time; give a date such as 2026-11-30, a time such as 2026-11-30T14:00, or a "
            "span such as 30d, 12h or 90m"
        ) from error


def local(at: float) -> str:
    """A time as this machine's clock shows it, to the minute.

    Args:
        at: seconds since the epoch; one that no clock can show is given as a number.
    """
    try:
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))
    except (ValueError, OverflowError, OSError):
        return f"{at:g}"
