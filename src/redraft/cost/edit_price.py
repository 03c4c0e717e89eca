"""What an edit costs now, and after how many calls it has paid for itself.

Without the edit the next call would read the whole context from the cache. With it, everything from
the first changed turn on is read again at the price of a write. From then on each call is cheaper by
what left the context, at the price of a cached read (DESIGN.md section 7).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from redraft.context import Author, Check, Commit, Live, Proposal, Turn
from redraft.context.plan import reach
from redraft.cost.prices import RELATIVE, Rates

__all__ = ["STUB", "EditPrice", "max_payback", "price_commit", "price_edit", "price_turn"]

_NEAR = 0.9

STUB = 16
"""Tokens that are left of a turn that is emptied: the line that says so."""


@dataclass(frozen=True, slots=True)
class EditPrice:
    """The price of one edit. Sizes are raw tokens.

    Attributes:
        before, after: the context's size before and after.
        reread: tokens behind the first change that are read again: the new text, and the tail.
        tail: those of `reread` that did not change.
        reasoning: tokens of hidden reasoning that leave with the edit, since they were bound to what
            stood in front of them; 0 on formats that do not bind it. Not part of `after` or `reread`.
        rates: the prices that it was reckoned with.
    """

    before: int
    after: int
    reread: int
    tail: int
    reasoning: int = 0
    rates: Rates = RELATIVE

    @property
    def freed(self) -> int:
        """Tokens by which each later call is smaller; negative where the edit grew."""
        return self.before - self.after

    @property
    def now(self) -> float:
        """What the next call costs more than without the edit, in the unit of `rates`.

        Reasoning that is lost counts as if it had to be generated again. Negative where even this
        call is cheaper, e.g. when the newest output is cut.
        """
        read = self.reread * (self.rates.write - self.rates.read)
        return read + self.reasoning * self.rates.output - self.later

    @property
    def later(self) -> float:
        """What each call behind that one costs less."""
        return self.freed * self.rates.read

    @property
    def payback(self) -> int | None:
        """Calls behind the next one after which the edit has paid for itself; None for never."""
        if self.now <= 0:
            return 0
        return math.ceil(self.now / self.later - 1e-9) if self.later > 0 else None

    def line(self, show: Callable[[int], int] = int) -> str:
        """The price in a few words, for a receipt or a listing.

        Args:
            show: turns raw tokens into those that the reader is shown.
        """
        calls = self.payback
        if calls == 0:
            back = "pays at once"
        elif calls is None:
            back = "never pays back"
        else:
            back = f"pays back after {calls:,} call{'' if calls == 1 else 's'}"
        lost = f", {show(self.reasoning):,} of reasoning lost" if self.reasoning else ""
        return f"{show(self.tail):,} unchanged tokens re-read{lost}, {back}"

    def as_dict(self) -> dict[str, Any]:
        """Plain values; `now` and `later` in the unit of the rates."""
        return {
            "before": self.before,
            "after": self.after,
            "freed": self.freed,
            "reread": self.reread,
            "tail": self.tail,
            "reasoning": self.reasoning,
            "now": self.now,
            "later": self.later,
            "payback_calls": self.payback,
        }


def price_edit(
    before: Live, after: Live, *, rates: Rates = RELATIVE, binding: bool = False
) -> EditPrice:
    """The price of an edit that leads from one context to another.

    Args:
        before: the live context without the edit, all of it in the cache.
        after: the live context with it.
        rates: prices of the model; by default relative to a fresh token.
        binding: whether the wire format binds reasoning to what stands in front of it, so that the
            reasoning behind the first change is lost with the edit.
    """
    found = reach(before.turns, after.turns)
    known = set(map(id, before.turns))
    tail = [turn for turn in after.turns[found.first :] if id(turn) in known]
    sizes = (before.tokens, after.tokens, found.reread)
    return _price(sizes, tail, rates, binding)


def price_commit(commit: Commit, *, rates: Rates = RELATIVE, binding: bool = False) -> EditPrice:
    """The price of an edit that the door let pass; arguments as for `price_edit`."""
    new = {id(move.new) for move in commit.moves if move.new is not None}
    tail = [turn for turn in commit.live.turns[commit.reach.first :] if id(turn) not in new]
    sizes = (commit.deltas.before, commit.deltas.after, commit.reach.reread)
    return _price(sizes, tail, rates, binding)


def price_turn(live: Live, at: int, *, rates: Rates = RELATIVE, binding: bool = False) -> EditPrice:
    """What it would cost to empty one turn, so that a line of `STUB` tokens is left of it.

    Args:
        live: the live context.
        at: the turn's position.
        rates, binding: as for `price_edit`.
    """
    turn, tail = live.turns[at], live.turns[at + 1 :]
    left = min(STUB, turn.tokens)
    behind = sum(one.tokens for one in tail)
    sizes = (live.tokens, live.tokens - turn.tokens + left, left + behind)
    return _price(sizes, tail, rates, binding)


def _price(
    sizes: tuple[int, int, int], tail: Sequence[Turn], rates: Rates, binding: bool
) -> EditPrice:
    before, after, reread = sizes
    unchanged = sum(turn.tokens for turn in tail)
    lost = sum(turn.reasoning for turn in tail) if binding else 0
    return EditPrice(before, after - lost, reread - lost, unchanged - lost, lost, rates)


def max_payback(
    calls: int,
    *,
    rates: Rates | Callable[[int], Rates] = RELATIVE,
    limit: int | Callable[[], int] | None = None,
    near: float = _NEAR,
    binding: bool = False,
    show: Callable[[int], int] = int,
    authors: Collection[Author] = ("model", "policy"),
) -> Check:
    """A check for the door: no edit that takes more than so many calls to pay for itself.

    An edit with no unchanged text behind it is free to pass: it makes nobody read anything again.

    Args:
        calls: the most calls behind the next one.
        rates: prices of the model, or what gives them for a prompt of so many tokens.
        limit: the raw limit of the context, or what gives it; where the context holds more than `near`
            of it, every edit passes, since room is what is needed then. None never lets that be.
        near: a share of the limit.
        binding: as for `price_edit`.
        show: turns raw tokens into those that the author is shown.
        authors: whose revisions are held to it. Rollbacks and undo are not, by default.

    Returns:
        a check for `redraft.context.commit` or `Session(checks=...)`.

    Raises:
        ValueError: `calls` is negative or `near` no share.
    """
    if calls < 0 or not 0 <= near <= 1:
        raise ValueError(f"calls={calls}, near={near}: give 0 or more calls and a share of 0 to 1")

    def check(proposal: Proposal) -> str | None:
        before = proposal.before
        if proposal.revision.author not in authors:
            return None
        most = limit() if callable(limit) else limit
        if most is not None and before.tokens > near * most:
            return None
        asked = rates(before.tokens) if callable(rates) else rates
        price = price_edit(before, proposal.after, rates=asked, binding=binding)
        if not price.tail or (price.payback is not None and price.payback <= calls):
            return None
        return (
            f"edit price: {price.line(show)}; at most {calls:,} allowed: edit nearer to the end, "
            "or free more at once"
        )

    return check
