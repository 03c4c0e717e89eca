"""The parts of a session put together, at its beginning and when it is taken up again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from redraft.context import Check, Gate, Live
from redraft.contextfile.mirror import Mirror
from redraft.dialects import Dialect, OpenAIChat, Profile
from redraft.dialects.capabilities import Reasoning
from redraft.dialects.rules import profile_of
from redraft.errors import RewriteBudgetViolation
from redraft.events import Event
from redraft.policies import Policy
from redraft.session.controller import Controller
from redraft.session.core import Core
from redraft.session.edits import Edits
from redraft.session.engine import Engine
from redraft.session.pricing import Pricing
from redraft.session.queue import binding, controlled
from redraft.session.terms import Terms
from redraft.session.window import FileWindow
from redraft.session.wire import Wire
from redraft.store import Journal, VolatileJournal
from redraft.tokens import Calibration, Meter

__all__ = ["Means", "assemble", "binding_of", "mirror_of"]


@dataclass(frozen=True, slots=True)
class Means:
    """What a session works with that is no plain value, so that each process brings its own.

    Attributes:
        journal: where everything is recorded.
        dialect: the wire format.
        meter: how tokens are counted.
        profile: the rules that a sent list must keep; by default those of the wire format and model.
        checks: further tests for the door.
        fallback: the policy that compacts when the model's own edits lose tokens.
        on_event: called with every event.
        on_escalation: called when a rewrite cannot prove that it conserves.
    """

    journal: Journal = field(default_factory=VolatileJournal)
    dialect: Dialect = field(default_factory=OpenAIChat)
    meter: Meter = field(default_factory=Meter)
    profile: Profile | None = None
    checks: Sequence[Check] = ()
    fallback: Policy | None = None
    on_event: Callable[[Event], None] | None = None
    on_escalation: Callable[[RewriteBudgetViolation], None] | None = None


def mirror_of(terms: Terms, directory: Path | None, *, takeover: bool = False) -> Mirror | None:
    """The context file of a session with these terms; None where it has none.

    Args:
        terms: what the session was set up with.
        directory: where the file lies; None for a private temporary directory.
        takeover: whether a file that was left there may be replaced.

    Raises:
        ContextFileError: it cannot be made.
    """
    if not terms.has_file:
        return None
    attributes = terms.settings.file_attributes
    return Mirror(directory, name=terms.name, attributes=attributes, takeover=takeover)


def binding_of(terms: Terms, dialect: Dialect) -> Reasoning:
    """What a change in front of the reasoning of this session's model does to it; nothing while the
    session only looks on."""
    return "free" if terms.observing else binding(terms.model, dialect.name)


def assemble(
    terms: Terms, means: Means, live: Live, mirror: Mirror | None, *, begun: bool = False
) -> Engine:
    """The moving parts of a session around a live context.

    Args:
        terms: what it was set up with.
        means: what it works with.
        live: the live context.
        mirror: the context file, if there is one.
        begun: whether the journal holds the beginning already.

    Raises:
        BudgetError: the limit leaves no room for what must be sent.
        SettingsError: the price file cannot be read.
    """
    live = live.bind(binding_of(terms, means.dialect))
    pricing = Pricing(terms.model, means.dialect, terms.settings.price_file)
    core = Core(
        live,
        limit=terms.limit,
        calibration=Calibration(terms.family),
        journal=means.journal,
        checks=means.checks,
        observe=terms.observing,
        whole_head=terms.pinned is None,
        on_event=means.on_event,
        on_escalation=means.on_escalation,
        begun=begun,
    )
    core.checks += tuple(pricing.check(terms.settings, lambda: core.raw_limit, core.shown))
    rules = means.profile or partial(profile_of, means.dialect, terms.model)
    control = controlled(terms.model, means.dialect.name)
    controller = Controller(core, terms.settings, terms.tag, means.fallback, control=control)
    if not begun:
        controller.check_room()
    gate = Gate(terms.gate)
    window = FileWindow(core, mirror, gate) if mirror else None
    edits = Edits(
        core,
        controller,
        window,
        gate=gate,
        tag=terms.tag,
        has_tool=terms.has_tool,
        model=terms.model,
        pricing=pricing,
    )
    return Engine(core, controller, edits, Wire(rules), tag=terms.tag)
