"""What a session was set up with, as far as it is plain values: recorded, so that it can be resumed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Self

from redraft.budget import DEFAULT_WINDOW, window_of
from redraft.errors import JournalError
from redraft.settings import Settings
from redraft.store import SQLiteJournal

__all__ = ["ACTION_POLICIES", "FILE_INTERFACES", "Terms", "recorded_terms"]

ACTION_POLICIES = ("fold", "offload-and-retrieve", "self-compact")
"""The policies that are tools by which the model acts; see `redraft.session.actions`."""

FILE_INTERFACES = ("file", "both", "all")
"""The interfaces with a context file."""


@dataclass(frozen=True, slots=True)
class Terms:
    """The values of a session that no turn says.

    Attributes:
        model: the model's name.
        tag: what marks redraft's own words.
        interface: how the model edits its context.
        observing: whether nothing is changed.
        gate: the rule on size for the model's edits.
        name: the agent's name, part of the context file's name.
        pinned: how many leading turns are pinned; None for the system prompts and the task.
        limit: tokens that the context may hold.
        family: how the model's tokens compare with ours.
        budget, window: what the limit was made from, where it was given apart from the settings.
        settings: all other numbers.
        section: what the system prompt was told about the context.
        context_file: the file's path, as the system prompt names it; "" for none.
        private: whether the file's directory is a temporary one of the session's own.
        lent: whether it still belongs to the session that this one was forked from.
        policy: the scheduled policy's name; "" for none.
        policy_options: what it was made with, as somebody would type it; None for one that no options
            make, so that it must be given again.
        summarizer: who summarizes: `extractive`, `own` or a model's name; "" for the built-in one.
        memory: the memory's file; "" for none, or one that must be given again.
        started: when the session began, in seconds since the epoch; 0 where nobody noted it.
    """

    model: str
    tag: str
    interface: str
    observing: bool
    gate: str
    name: str
    pinned: int | None
    limit: int
    family: float
    settings: Settings
    budget: int | None = None
    window: int | None = None
    section: str = ""
    context_file: str = ""
    private: bool = False
    lent: bool = False
    policy: str = ""
    policy_options: Mapping[str, str] | None = field(default_factory=dict)
    summarizer: str = ""
    memory: str = ""
    started: float = 0.0

    @property
    def has_file(self) -> bool:
        """Whether there is a context file."""
        return self.interface in FILE_INTERFACES

    @property
    def has_tool(self) -> bool:
        """Whether the model has the tool `edit_context`."""
        return self.interface in ("tool", "both", "all") and not self.observing

    @property
    def has_context_tools(self) -> bool:
        """Whether the model is offered the context tools when they are due."""
        return self.interface in ("context-tools", "all") and not self.observing

    @property
    def has_actions(self) -> bool:
        """Whether the model has the tools of a policy by which it acts itself."""
        return self.policy in ACTION_POLICIES and not self.observing

    @property
    def span(self) -> int:
        """Tokens of the model's window, or of the budget where that is smaller."""
        wanted = self.settings.budget if self.budget is None else self.budget
        known = self.settings.window if self.window is None else self.window
        if known is None:
            known = window_of(self.model) or DEFAULT_WINDOW
        return known if wanted is None else min(wanted, known)

    def values(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """From the plain values; what this version does not know is left out.

        Raises:
            JournalError: something is missing.
        """
        known = {one.name for one in fields(cls)}
        given = {name: value for name, value in values.items() if name in known}
        try:
            return cls(**{**given, "settings": _settings(values["settings"])})
        except (KeyError, TypeError) as error:
            raise JournalError(
                f"the run does not say how it was set up ({error}); start it again."
            ) from error


def recorded_terms(journal: SQLiteJournal) -> Terms:
    """What the session in a journal was set up with last; raises `JournalError` where there is none."""
    opened = [logged for logged in journal.log() if logged.kind == "opened"]
    if not opened:
        raise JournalError(
            "this journal holds no session; nothing was sent, so start the run again."
        )
    return Terms.of(journal.value(opened[-1].values["values"]))


def _settings(values: Mapping[str, Any]) -> Settings:
    known = {one.name for one in fields(Settings)}
    given: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in values.items()
        if name in known
    }
    return Settings(**given)
