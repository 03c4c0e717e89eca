"""The parts of a session put together, at its beginning and when it is taken up again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from redraft.context import Check, Gate, Live
from redraft.contextfile.mirror import Mirror
from redraft.dialects import Dialect, Native, OpenAIChat, Profile
from redraft.dialects.capabilities import Reasoning
from redraft.dialects.rules import profile_of
from redraft.errors import RewriteBudgetViolation
from redraft.events import Event
from redraft.policies import Policy, Pressure
from redraft.session.actions import EDITING, action_tools, action_toolset
from redraft.session.approvals import Approver
from redraft.session.context_tools import CHANGING, ContextTools
from redraft.session.controller import Controller
from redraft.session.core import Core
from redraft.session.edits import Edits
from redraft.session.engine import Engine
from redraft.session.needs import Needs
from redraft.session.offers import Offers
from redraft.session.overflows import stored
from redraft.session.pricing import Pricing
from redraft.session.queue import binding, controlled
from redraft.session.schedule import Schedule
from redraft.session.scheduling import Scheduler
from redraft.session.strength import for_model
from redraft.session.terms import Terms
from redraft.session.toolsets import Toolset
from redraft.session.window import FileWindow
from redraft.session.wire import Wire
from redraft.store import Journal, Overflow, VolatileJournal
from redraft.tokens import Calibration, Meter

__all__ = ["Means", "assemble", "binding_of", "mirror_of", "own_tools"]


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
        schedule: the scheduled policy, who summarizes for it, and its memory.
        approver: what is asked before each call.
        overflow: where originals go whose stubs stay; by default into memory.
        on_event: called with every event.
        on_escalation: called when a rewrite cannot prove that it conserves.
    """

    journal: Journal = field(default_factory=VolatileJournal)
    dialect: Dialect = field(default_factory=OpenAIChat)
    meter: Meter = field(default_factory=Meter)
    profile: Profile | None = None
    checks: Sequence[Check] = ()
    fallback: Policy | None = None
    schedule: Schedule = field(default_factory=Schedule)
    approver: Approver | None = None
    overflow: Overflow | None = None
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


def _scheduler(core: Core, terms: Terms, means: Means) -> Scheduler:
    """Who asks the policies of a session with these terms."""
    settings, given = terms.settings, means.schedule
    needs = Needs(
        core, terms.tag, given.summarizer, given.memory, seconds=settings.summarizer_timeout
    )
    policy = given.policy
    if policy is None and terms.has_context_tools:  # the tools stand on the pass, and add to it
        policy = Pressure.of(settings, terms.span)
    policy = policy and stored(policy, core.overflow.storage)
    policy = for_model(policy, terms.model)
    return Scheduler(
        core, needs, terms.tag, policy, cooldown=settings.policy_cooldown, clock=given.clock
    )


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
        overflow=means.overflow,
    )
    core.checks += tuple(pricing.check(terms.settings, lambda: core.raw_limit, core.shown))
    rules = means.profile or partial(profile_of, means.dialect, terms.model)
    control = controlled(terms.model, means.dialect.name)
    scheduler = _scheduler(core, terms, means)
    controller = Controller(
        core,
        terms.settings,
        terms.tag,
        means.fallback,
        scheduler=scheduler,
        control=control,
        nudging=terms.interface != "none",
    )
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
        tools=_edit_tools(terms),
        model=terms.model,
        pricing=pricing,
    )
    return Engine(
        core,
        controller,
        edits,
        Wire(rules),
        tag=terms.tag,
        toolsets=_toolsets(terms, means, core, controller, edits),
        approver=means.approver,
    )


def _toolsets(
    terms: Terms, means: Means, core: Core, controller: Controller, edits: Edits
) -> Sequence[Toolset]:
    """The tools of redraft's own that a session with these terms has, beside `edit_context`."""
    toolsets: list[Toolset] = []
    settings, tag, gate = terms.settings, terms.tag, Gate(terms.gate)
    if terms.has_context_tools:
        pass_ = controller.scheduler.policy  # what reminds of them is its ceiling, where it has one
        if not isinstance(pass_, Pressure):
            pass_ = Pressure.of(settings, terms.span)
        offers = Offers(
            core, controller, settings=settings, tag=tag, span=terms.span, ceiling=pass_.ceiling
        )
        toolsets.append(ContextTools(core, edits, offers, settings=settings, gate=gate, tag=tag))
    if terms.has_actions:
        memory = means.schedule.memory
        toolsets.append(action_toolset(terms, memory, core, controller, edits))
    return toolsets


def _edit_tools(terms: Terms) -> Sequence[str]:
    """The tools beside `edit_context` whose calls are edits."""
    return (
        *(CHANGING if terms.has_context_tools else ()),
        *(EDITING if terms.has_actions else ()),
    )


def own_tools(terms: Terms, dialect: Dialect) -> Sequence[Native]:
    """The tools that the policy of a session with these terms brings from the beginning.

    Args:
        terms: what the session is set up with.
        dialect: the wire format.
    """
    return action_tools(terms, dialect, binding_of(terms, dialect))
