"""When the context tools are offered in a session, and how: schemas, or a note where tools are words."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from typing import Any

from redraft.context import Live, Origin
from redraft.prompts.tags import opening
from redraft.session.controller import Controller
from redraft.session.core import Core
from redraft.session.joining import Joining
from redraft.settings import Settings
from redraft.tools import (
    CONTEXT_TOOLS,
    Offer,
    declared,
    fenced_note,
    in_words,
    offer,
    reminder_line,
)

__all__ = ["Offers"]


class Offers:
    """Offers the context tools when they are due: before a request, once the policies have acted.

    Once offered they stay for the rest of the session. Every server that we know of caches by prefix,
    local ones too, and the tools stand at its very front: taking them back would cost what offering them
    again does, and where reasoning is bound it would void that as well.

    Args:
        core: the session's state.
        controller: the budget, and what the model is told in the next result.
        settings: when to offer.
        tag: the session's tag.
        span: tokens of the window, or of the budget where that is smaller.
        ceiling: the share of the limit from which the pressure pass acts.

    Attributes:
        state: what was offered so far.
        exchange: the number of the turn that ended the exchange before this one, 0 for none; -1 before
            the first request.
        began: the number of the round before this exchange's first.

    Raises:
        DialectError: nothing is known of how the wire format writes tools.
    """

    def __init__(
        self,
        core: Core,
        controller: Controller,
        *,
        settings: Settings,
        tag: str,
        span: int,
        ceiling: float,
    ) -> None:
        self.state = Offer()
        self.exchange = -1
        self.began = 0
        self._core = core
        self._controller = controller
        self._settings = settings
        self._tag = tag
        self._span = span
        self._ceiling = ceiling
        self._note = 0
        self._passes: int | None = 0
        self._joining = Joining(core, controller, CONTEXT_TOOLS)
        self._words = in_words(core.live.dialect.name)
        if not self._words:
            declared(CONTEXT_TOOLS[0], core.live.dialect.name)

    def before(self) -> None:
        """Before a request: offer the tools where they are due, and remind of them."""
        self._mind_exchange()
        core = self._core
        used = core.shown(core.load)
        ceiling = core.shown(int(self._ceiling * core.raw_limit))
        share = self._settings.agent_context_tools_offer_pct
        now = offer(
            self.state,
            used=used,
            # Where most of a small window is kept for the answer, that share of it is never reached.
            window=min(self._span, int(ceiling / share)),
            round_number=core.round - self.began + 1,
            said=() if self.state.made else self._words_after(core.live, self.exchange),
            soft_ceiling=ceiling,
            settings=self._settings,
            reached=self._reached(),
        )
        if now.offer.made and not self._put():
            return  # no room for them, or not the moment: they are due again before the next request
        self.state = now.offer
        if now.reminds:
            line = f"{opening(self._tag)} {reminder_line(used, core.limit)}"
            self._controller.notices.append(line)

    def _reached(self) -> int:
        """Tokens of the context before the passes since the last request; 0 where none acted."""
        rotations = self._controller.scheduler.log.rotations
        known = len(rotations) if self._passes is None else self._passes  # None: another process's
        news, self._passes = rotations[known:], len(rotations)
        return max((self._core.shown(one.before) for one in news), default=0)

    def _mind_exchange(self) -> None:
        """Begin anew with the user's next words. A prod of the harness's begins no exchange."""
        live = self._core.live
        if live.answered == self.exchange:
            return
        more = next(self._words_after(live, live.answered), None) is not None
        if more or self.exchange < 0:
            self.exchange, self.began = live.answered, self._core.round
            self.state = self.state.next_turn(keep=True)

    def _words_after(self, live: Live, number: int) -> Iterator[str]:
        """The user's own words behind a turn."""
        for turn in live.turns[_behind(live, number) :]:
            text, said = turn.content.text, turn.origin is Origin.ORIGINAL
            if turn.role == "user" and said and not text.startswith(opening(self._tag)):
                yield text

    # -- putting them into the context -----------------------------------------------------------

    def _put(self) -> bool:
        """See that the tools are in the request; whether they are."""
        return self._noted() if self._words else self._joining.done()

    def among(self, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        """A client's own fields of a request, with the tools among its tools once they are offered."""
        return self._joining.among(fields)

    def _noted(self) -> bool:
        """The note, right before the request. It is pinned: without it the model cannot call them."""
        core = self._core
        live = core.live
        if self._stands(live, self._note):
            return True
        text = f"{opening(self._tag)} {fenced_note(CONTEXT_TOOLS)}"
        known = [turn for turn in live.turns if turn.origin is Origin.HARNESS]
        found = next((turn for turn in known if turn.content.text == text), None)
        if found is None:
            note = live.dialect.note("user", text)
            cost = live.meter.content(note)
            if core.load + cost > core.raw_limit:
                return False
            (found,) = core.append([note], Origin.HARNESS, measured=cost)
        if found.number not in core.live.pins:
            core.pin(core.board.add("harness", [found.number], text))
        self._note = found.number
        return True

    def _stands(self, live: Live, number: int) -> bool:
        at = _behind(live, number) - 1
        return at >= 0 and live.turns[at].number == number

    # -- another process -------------------------------------------------------------------------

    def values(self) -> dict[str, Any]:
        """What another process must know: see `redraft.store.Stated`."""
        made, reminded = self.state.made, self.state.reminded
        return {
            "exchange": self.exchange,
            "began": self.began,
            "offered": made,
            "reminded": reminded,
        }

    def recall(self, *, exchange: int, began: int, offered: bool, reminded: bool) -> None:
        """Remember what another process offered: what `values` gave."""
        self.exchange, self.began = exchange, began
        self.state = Offer(offered, reminded)
        self._passes = None


def _behind(live: Live, number: int) -> int:
    """Where the turns begin that joined the context behind turn `number`."""
    place: tuple[int, ...] = (number, 0)
    return bisect_right(live.turns, place, key=lambda turn: turn.place)
