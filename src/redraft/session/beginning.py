"""How a session's context begins: its section, its fields, its limit, and calls that nobody answered."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from redraft import budget as budgets
from redraft import prompts
from redraft.context import Gate, Live
from redraft.dialects import Content, Dialect, Frame, Native, OpenAIChat, Profile
from redraft.dialects.capabilities import Reasoning
from redraft.errors import SettingsError
from redraft.prompts.section import Interface as SectionInterface
from redraft.session.assembly import Means, binding_of, own_tools
from redraft.session.framing import cleaned, fields_cleaned, frame_of, put_together, turns_of
from redraft.session.terms import Terms
from redraft.settings import Settings
from redraft.store import Journal, SQLiteJournal
from redraft.tokens import Meter
from redraft.tools import EDIT_CONTEXT, offered

__all__ = [
    "Beginning",
    "beginning_of",
    "dialect_for",
    "gate_of",
    "limit_of",
    "one_of",
    "profile_for",
    "section_of",
]


@dataclass(frozen=True, slots=True)
class Beginning:
    """What every context of a session begins with, whatever the client's messages are.

    Attributes:
        dialect: the wire format of the messages.
        meter: how they are counted.
        fields: the request's other fields.
        section: what the system prompt is told about the context; "" for nothing.
        head: how many leading turns are pinned; None for the system prompts and the task.
        tag: the session's tag.
        heal: whether calls that nobody answered get a result that says so.
        own_tool: whether the model has the tool `edit_context`.
        place: how many of the fields stand in front of the turns.
        binding: what a change in front of the model's reasoning does to it.
        own: further tools of ours that it has from the beginning.
    """

    dialect: Dialect
    meter: Meter
    fields: Mapping[str, Any]
    section: str
    head: int | None
    tag: str
    heal: bool
    own_tool: bool = False
    place: int = 0
    binding: Reasoning = "free"
    own: Sequence[Native] = ()

    def live(self, messages: Sequence[object], *, first: int = 1, open_end: bool = False) -> Live:
        """The live context that `messages` make.

        Args:
            messages: the client's messages.
            first: the number of the first turn.
            open_end: whether the results of the last turn's calls may still come.
        """
        messages = turns_of(self.dialect, messages)
        fields = fields_cleaned(self.fields, self.section) if self.section else self.fields
        body = put_together(self.dialect, messages, fields, self.place)
        frame, contents = self.dialect.split(body)
        given = len(contents)
        if self.heal:
            contents = tuple(self._healed(contents, open_end))
        intact = not self.section and len(contents) == given
        if self.section:
            contents = self._without_old_section(contents)
            frame, contents = self.dialect.instruct(frame, contents, self.section)
        live = Live.start(
            self.dialect,
            self.meter,
            frame,
            contents,
            head=self.head,
            binding=self.binding,
            intact=intact,
        )
        if first == 1:
            return live
        empty = replace(
            live, turns=(), tokens=live.frame_tokens, next_number=first, answered=0, made={}
        )
        live = empty.append(contents)
        return live if intact else live.doubted()

    def contents(self, messages: Sequence[object]) -> tuple[Content, ...]:
        """Further messages as turns to be; raises `DialectError`."""
        return self.dialect.split({self.dialect.turns_field: turns_of(self.dialect, messages)})[1]

    def frame(self, live: Live) -> Frame | None:
        """The frame that the fields make around turns that are known; None where the section would
        have to stand in another turn than now."""
        fields = fields_cleaned(self.fields, self.section)
        frame = frame_of(self.dialect, fields, self.place)
        if not self.section:
            return frame
        known = tuple(turn.content for turn in live.turns)
        frame, contents = self.dialect.instruct(frame, known, self.section)
        same = len(contents) == len(known) and all(map(operator.is_, contents, known))
        return frame if same else None

    def sending(self, fields: Mapping[str, Any], place: int) -> Beginning:
        """The same with the fields of a client's own request, and our tools among them.

        Args:
            fields: the request's fields beside its turns.
            place: how many of them stand in front of the turns.
        """
        name = self.dialect.name
        fields = offered(fields, EDIT_CONTEXT, name) if self.own_tool else dict(fields)
        for tool in self.own:
            fields = offered(fields, tool, name)
        return replace(self, fields=fields, place=place)

    def _healed(self, contents: Sequence[Content], open_end: bool) -> Iterator[Content]:
        """A result for each call that has none anywhere: the run that made it was killed
        (charmbracelet/crush#1206). Written down here, once, and not mended in every request."""
        waiting: list[Content] = []
        for at, content in enumerate(contents):
            if content.role != "tool":
                yield from waiting
                waiting = []
            yield content
            if content.calls:
                answered = _answers(contents, at)
                waiting += [
                    self.dialect.result(call, prompts.interrupted_result(self.tag))
                    for call in content.calls
                    if call.id not in answered
                ]
        if not open_end:
            yield from waiting

    def _without_old_section(self, contents: Sequence[Content]) -> tuple[Content, ...]:
        """The same turns without the section of another session, whose file is gone: a person goes
        on from the messages that a session exported."""
        return tuple(
            self._cleaned(content) if content.role == "system" else content for content in contents
        )

    def _cleaned(self, content: Content) -> Content:
        text = cleaned(content.text, self.section)
        return self.dialect.write(content, text, (), content.parts)


def _answers(contents: Sequence[Content], at: int) -> set[str | None]:
    """Ids of the calls of one turn that have a result, right behind it or later: one behind another
    call of the same id belongs to that, since formats without ids name calls by their place."""
    wanted = {call.id for call in contents[at].calls}
    found: set[str | None] = set()
    for content in contents[at + 1 :]:
        if not wanted:
            break
        wanted -= {call.id for call in content.calls}
        if content.role == "tool" and content.answers in wanted:
            wanted.discard(content.answers)
            found.add(content.answers)
    return found


def beginning_of(terms: Terms, means: Means, fields: Mapping[str, Any]) -> Beginning:
    """What every context of a session with these terms begins with."""
    return Beginning(
        means.dialect,
        means.meter,
        fields,
        section=terms.section,
        head=terms.pinned,
        tag=terms.tag,
        heal=not terms.observing,
        own_tool=terms.has_tool,
        binding=binding_of(terms, means.dialect),
        own=own_tools(terms, means.dialect),
    )


def section_of(terms: Terms, steer: str, calls: str = "") -> str:
    """What the system prompt is told: how to call tools, where requests do not say it, and about the
    context, where it can be edited.

    Args:
        terms: what the session was set up with.
        steer: a sentence of the user's on when and how to edit.
        calls: the part on calls (`redraft.session.calling.calls_part`).
    """
    if terms.observing or terms.interface == "none":
        return calls
    section = prompts.system_section(
        terms.context_file,
        interface=cast("SectionInterface", terms.interface),
        tag=terms.tag,
        steer=steer,
        fenced=bool(calls),
        tools=terms.settings.agent_context_tools_enabled,
    )
    return "\n\n".join(filter(None, (calls, section)))


def limit_of(model: str, budget: int | None, window: int | None, settings: Settings) -> int:
    """The limit in tokens as shown; arguments win over settings, these over the model's name."""
    wanted = settings.budget if budget is None else budget
    known = settings.window if window is None else window
    if known is None:
        known = budgets.window_of(model) or budgets.DEFAULT_WINDOW
    return budgets.limit(
        known if wanted is None else wanted, known, settings.output_reserve, settings.margin
    )


def dialect_for(dialect: Dialect | None, journal: Journal | None) -> Dialect:
    """The wire format of a new session: what was asked for, which a journal on disk must write as well.

    Raises:
        SettingsError: the journal was made for another one.
    """
    kept = journal.dialect if isinstance(journal, SQLiteJournal) else None
    if dialect is not None and kept is not None and dialect.name != kept.name:
        raise SettingsError(
            f"the session speaks {dialect.name} and its journal {kept.name}; open the journal with "
            f"SQLiteJournal(directory, dialect={type(dialect).__name__}())."
        )
    return dialect or kept or OpenAIChat()


def profile_for(dialect: Dialect, profile: Profile) -> Profile:
    """`profile`, if its rules are on this wire format; raises `SettingsError`."""
    if profile.dialect != dialect.name:
        raise SettingsError(
            f"the rules {profile.name!r} are on lists of {profile.dialect}, and the session speaks "
            f"{dialect.name}; leave `profile` out, or give one of that format."
        )
    return profile


def gate_of(name: Gate | str) -> Gate:
    """A gate by its name."""
    return Gate(one_of("gate", str(name), tuple(Gate)))


def one_of(setting: str, value: str, allowed: Sequence[str]) -> str:
    """`value`, if it is one of the allowed words; raises `SettingsError`."""
    if value not in allowed:
        raise SettingsError(f"{setting} is {value!r}; give one of {', '.join(allowed)}.")
    return value
