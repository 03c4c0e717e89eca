"""From our count to the server's: the family's factor, then what the server itself reported."""

from __future__ import annotations

from dataclasses import dataclass, replace

from redraft.errors import SettingsError

__all__ = ["RATIO_MAX", "RATIO_MIN", "Calibration"]

RATIO_MIN, RATIO_MAX = 0.5, 3.0
"""The ratios that are believed (DESIGN.md section 6). A gateway that reports only uncached tokens,
or the sum of a whole conversation, falls outside."""

_FAMILY_MIN, _FAMILY_MAX = 0.1, 10.0
_WINDOW = 3
_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Calibration:
    """How raw tokens are shown to a reader and compared with the limit. Accounts stay raw.

    The ratio in force is the median of the last three that were believed, so one wrong report
    within the believable range changes nothing. Of fewer than three it is the larger: too high a
    ratio costs room for a request or two at the start of a session, too low a one may overflow.

    Attributes:
        family: the model's own tokens for one o200k token (`family_factor`).
        ratio: the server's count divided by our family-adjusted one.
        recent: the last ratios that were believed, oldest first; at most three.

    Raises:
        SettingsError: the family is not within 0.1-10, or a ratio not within 0.5-3.
    """

    family: float = 1.0
    ratio: float = 1.0
    recent: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not _FAMILY_MIN <= self.family <= _FAMILY_MAX:
            raise SettingsError(
                f"a family factor of {self.family} is not within {_FAMILY_MIN}-{_FAMILY_MAX}; "
                "take it from `family_factor(model)`."
            )
        if not all(RATIO_MIN <= ratio <= RATIO_MAX for ratio in (self.ratio, *self.recent)):
            raise SettingsError(
                f"a calibration ratio is not within {RATIO_MIN}-{RATIO_MAX}; "
                "start from `Calibration(family)` and let `observe` find the ratio."
            )

    def observe(self, reported: int, raw: int, *, fresh_edit: bool) -> Calibration:
        """Learn from what the server counted for one request.

        Args:
            reported: prompt tokens as the server reported them, cached ones included; 0 for none.
            raw: our raw tokens of the same request.
            fresh_edit: whether the request followed an edit that the server may not have seen as we
                did (its caches and its own clearing of old turns lag behind).

        Returns:
            self where there is nothing to learn: no count on either side, a fresh edit, or a ratio
            outside 0.5-3.0.
        """
        if fresh_edit or reported <= 0 or raw <= 0:
            return self
        ratio = reported / (raw * self.family)
        if not RATIO_MIN <= ratio <= RATIO_MAX:
            return self
        recent = (*self.recent, ratio)[-_WINDOW:]
        in_force = sorted(recent)[1] if len(recent) == _WINDOW else max(recent)
        return replace(self, ratio=in_force, recent=recent)

    def shown(self, raw: int) -> int:
        """Raw tokens as the server would count them, rounded up.

        Args:
            raw: raw tokens.
        """
        return -(-raw * self._millionths // _MILLION)

    def raw_limit(self, limit: int) -> int:
        """The largest raw size that is shown as at most `limit`.

        Args:
            limit: a limit in the server's tokens.

        Returns:
            the largest integer r with `shown(r) <= limit`, exactly.
        """
        return limit * _MILLION // self._millionths

    @property
    def _millionths(self) -> int:
        # Integers from here on: 1.34 has no exact float, and 100 tokens must show as 134, not 135.
        return round(self.family * self.ratio * _MILLION)
