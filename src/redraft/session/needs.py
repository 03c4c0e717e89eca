"""What a policy or a tool needs from outside of the context: a summary, or what a memory holds.

Whatever goes wrong out there is an empty answer and an event, never an error in somebody's loop: whoever
asked must know what to do without.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from redraft.context import Revision
from redraft.events import NeedUnmet
from redraft.policies import Need, Policy, Retrieve, Summarize, View
from redraft.prompts import FELL_BACK, SPILLED, defuse, one_line, opening
from redraft.session.core import Core
from redraft.session.keeping import session_name
from redraft.session.summarizers import ExtractiveSummarizer, Summarizer, Summary, TimeLimited
from redraft.store.memory import answer
from redraft.store.memory_base import Memory, StateStore

__all__ = ["MOST_NEEDS", "Decided", "Needs"]

MOST_NEEDS = 8
"""Answers that a policy may ask for, one after the other, before it must decide."""

_WORDS = 300


@dataclass(frozen=True, slots=True)
class Decided:
    """What a policy came to, its needs met.

    Attributes:
        revision: what it proposes; None for nothing.
        spent: tokens that its needs cost outside of the window.
        fault: what a need of it lacked; "" where it had all that it asked for.
    """

    revision: Revision | None = None
    spent: int = 0
    fault: str = ""


class Needs:
    """Fulfils needs.

    Args:
        core: the session's state: its events and its spend ledger.
        tag: the session's tag, which nothing from outside may imitate.
        summarizer: who writes summaries; by default the built-in one.
        memory: where it is looked up; None for a session without a memory.
        seconds: how long a summary may take.
    """

    def __init__(
        self,
        core: Core,
        tag: str,
        summarizer: Summarizer | None = None,
        memory: Memory | None = None,
        *,
        seconds: float = 120.0,
    ) -> None:
        self._core = core
        self._session = session_name(core.journal, tag)
        self._tag = tag
        summarizer = summarizer or ExtractiveSummarizer(core.live.meter.text)
        if not isinstance(summarizer, (ExtractiveSummarizer, TimeLimited)):
            summarizer = TimeLimited(summarizer, seconds)
        self._summarizer = summarizer
        self._memory = memory

    def fulfil(self, need: Need, source: str) -> tuple[str, int]:
        """Meet one need.

        Args:
            need: what is needed.
            source: who needs it: the name of a policy or a tool.

        Returns:
            (answer, spent): the answer, "" where there is none, with whatever imitates a notice of
            redraft escaped; and the tokens that it cost outside of the window. They are in the spend
            ledger already, and where there is no answer an event has told why.
        """
        if isinstance(need, Retrieve):
            return self._looked_up(need, source), 0
        summary = self._summary(replace(need, text=self._without_ours(need.text)))
        spent = summary.prompt_tokens + summary.output_tokens
        if spent:
            self._core.spend(source, summary.prompt_tokens, summary.output_tokens, summary.model)
        text, why = summary.text.strip(), summary.why
        if text and self._core.live.meter.text(text) > need.max_tokens:
            text, why = "", f"it is longer than the {need.max_tokens:,} tokens that it may have"
        if not text:
            self.unmet(source, "summarize", why or "it gave nothing")
        return defuse(text, self._tag), spent

    def decided(self, policy: Policy, *, paying: bool = True) -> Decided:
        """Ask a policy what to do, and again with what it needed.

        Args:
            policy: the policy.
            paying: whether a summarizer may be asked; otherwise what it would give is "".
        """
        core, given = self._core, dict[str, str]()
        spent, asked, fault = 0, False, ""
        for _ in range(MOST_NEEDS):
            decision = policy.decide(View(core.live, core.raw_limit, given, self._tag))
            if decision is None or isinstance(decision, Revision):
                if asked and not fault and not _used(decision):
                    fault = "it failed the checks that a summary must pass"
                    self.unmet(policy.name, "summarize", fault)
                return Decided(decision, spent, fault)
            if decision.key in given:
                break
            text = ""
            if paying or isinstance(decision, Retrieve):
                text, cost = self.fulfil(decision, policy.name)
                spent += cost
                if isinstance(decision, Summarize):
                    asked, fault = True, fault or ("" if text else "there is no summary")
            given[decision.key] = text
        fault = "it asks without end"
        self.unmet(policy.name, "decide", fault)
        return Decided(None, spent, fault)

    def keep(self, state: Mapping[str, Any], source: str) -> None:
        """Save the state of the session as its next version, where its memory keeps states.

        Args:
            state: an object of plain JSON values.
            source: who rotated: the name of a policy.
        """
        memory: object = self._memory  # a memory need not keep states
        if not isinstance(memory, StateStore):
            return
        try:
            now = memory.state(self._session)
            memory.save_state(self._session, state, base=now.version, task_type="rotation")
        except Exception as error:  # anybody's store
            self.unmet(source, "keep", f"{type(error).__name__}: {error}")

    def unmet(self, source: str, need: str, why: str) -> None:
        """Tell that something could not be had, and why."""
        self._core.tell(NeedUnmet(self._core.round, source, need, one_line(why, _WORDS)))

    def _summary(self, need: Summarize) -> Summary:
        try:
            return self._summarizer(need)
        except Exception as error:  # anybody's code, and anybody's server
            return Summary("", why=f"{type(error).__name__}: {error}")

    def _without_ours(self, text: str) -> str:
        """A text without the lines that redraft itself wrote: they are about a context that is gone."""
        mark = opening(self._tag)
        lines = text.split("\n")
        return "\n".join(line for line in lines if not _bare(line).startswith(mark))

    def _looked_up(self, need: Retrieve, source: str) -> str:
        if self._memory is None:
            self.unmet(source, "retrieve", "the session has no memory")
            return ""
        try:
            return defuse(answer(self._memory, need), self._tag)
        except Exception as error:
            self.unmet(source, "retrieve", f"{type(error).__name__}: {error}")
            return ""


def _bare(line: str) -> str:
    """A line without the role that stands in front of it where it is a turn's first."""
    role, colon, rest = line.partition(": ")
    return rest if colon and role in ("user", "assistant", "tool") else line


def _used(decision: Revision | None) -> bool:
    """Whether a policy made use of the summary that it was given."""
    return decision is not None and not {FELL_BACK, SPILLED}.intersection(decision.notes)
