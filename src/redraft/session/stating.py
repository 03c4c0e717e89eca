"""How a session's budget stands, as plain values: out of its parts, and back into them.

The one place beside them that knows what the parts remember, so that none of them needs to know how
it is written down.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from redraft.budget import FreeRounds, Phase, Rollbacks
from redraft.session.context_tools import ContextTools
from redraft.session.offers import Offers
from redraft.store import Stated
from redraft.tokens import Calibration

if TYPE_CHECKING:
    from redraft.session.engine import Engine

__all__ = ["restate", "stated"]


def stated(engine: Engine) -> Stated:
    """What `engine` and its parts remember beside the turns."""
    core, controller, edits = engine.core, engine.controller, engine.edits
    calibration, offers = core.calibration, offers_of(engine)
    offered = {} if offers is None else offers.values()
    return Stated(
        round=core.round,
        limit=core.limit,
        family=calibration.family,
        ratio=calibration.ratio,
        recent=calibration.recent,
        phase=str(controller.phase),
        why=controller.why,
        rollbacks=controller.rollbacks.count,
        since_edit=controller.rollbacks.since_edit,
        notice=controller._notice,
        nudge_level=controller._nudges.level,
        outputs=tuple(controller._outputs),
        losses=controller._losses,
        grew=edits._grew,
        free_rounds=engine._free_rounds.running,
        notices=tuple(controller.notices),
        **offered,
    )


def restate(engine: Engine, state: Stated) -> None:
    """Let `engine` and its parts remember what another process did."""
    core, controller = engine.core, engine.controller
    core.round = state.round
    core.limit = state.limit
    core.calibration = Calibration(state.family, state.ratio, state.recent)
    controller.phase = Phase(state.phase)
    controller.why = state.why
    controller.rollbacks = Rollbacks(state.rollbacks, state.since_edit)
    controller.notices = list(state.notices)
    controller._notice = state.notice
    controller._nudges = replace(controller._nudges, level=state.nudge_level)
    controller._outputs = list(state.outputs)
    controller._losses = state.losses
    engine.edits._grew = state.grew
    engine._free_rounds = FreeRounds(state.free_rounds)
    offers = offers_of(engine)
    if offers is not None:
        offers.recall(
            exchange=state.exchange,
            began=state.began,
            offered=state.offered,
            reminded=state.reminded,
        )


def offers_of(engine: Engine) -> Offers | None:
    """When the context tools are offered; None where a session has none."""
    found = (own.offers for own in engine.toolsets if isinstance(own, ContextTools))
    return next(found, None)
