"""How a session's context begins: its section, its fields, its limit, and calls that nobody answered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from redraft import budget as budgets
from redraft import prompts
from redraft.context import Gate, Live
from redraft.dialects import Content, Dialect, Native
from redraft.errors import SettingsError
from redraft.session.assembly import Means
from redraft.session.terms import Terms
from redraft.settings import Settings
from redraft.tokens import Meter
from redraft.tools import EDIT_CONTEXT

__all__ = [
    "Beginning",
    "beginning_of",
    "fields_of",
    "gate_of",
    "limit_of",
    "one_of",
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
    """

    dialect: Dialect
    meter: Meter
    fields: Mapping[str, Any]
    section: str
    head: int | None
    tag: str
    heal: bool

    def live(self, messages: Sequence[object], *, first: int = 1, open_end: bool = False) -> Live:
        """The live context that `messages` make.

        Args:
            messages: the client's messages.
            first: the number of the first turn.
            open_end: whether the results of the last turn's calls may still come.
        """
        frame, contents = self.dialect.split({"messages": messages, **self.fields})
        if self.heal:
            contents = tuple(self._healed(contents, open_end))
        if self.section:
            contents = self._without_old_section(contents)
            frame, contents = self.dialect.instruct(frame, contents, self.section)
        live = Live.start(self.dialect, self.meter, frame, contents, head=self.head)
        if first == 1:
            return live
        empty = replace(live, turns=(), tokens=live.frame_tokens, next_number=first, answered=0)
        return empty.append(contents)

    def contents(self, messages: Sequence[object]) -> tuple[Content, ...]:
        """Further messages as turns to be; raises `DialectError`."""
        return self.dialect.split({"messages": messages})[1]

    def _healed(self, contents: Sequence[Content], open_end: bool) -> Iterator[Content]:
        """A result for each call that has none anywhere: the run that made it was killed
        (charmbracelet/crush#1206). Written down here, once, and not mended in every request."""
        answered = {content.answers for content in contents if content.role == "tool"}
        waiting: list[Content] = []
        for content in contents:
            if content.role != "tool":
                yield from waiting
                waiting = []
            yield content
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
        if not prompts.has_section(content.text) or self.section in content.text:
            return content
        start = content.text.index(prompts.SECTION_MARK)
        ends = [
            content.text.index(example, start) + len(example)
            for example in (f"{prompts.EXAMPLE}\n```", f"{prompts.TOOL_EXAMPLE}\n```")
            if example in content.text[start:]
        ]
        if not ends:
            return content
        before, behind = content.text[:start].rstrip(), content.text[ends[0] :].strip()
        if self.section.endswith(behind):  # the same sentence of strategy comes again
            behind = ""
        text = "\n\n".join(filter(None, (before, behind)))
        return self.dialect.write(content, text, (), content.parts)


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
    )


def section_of(terms: Terms, steer: str) -> str:
    """What the system prompt is told about the context; nothing where nothing can be edited."""
    if terms.observing or terms.interface == "none":
        return ""
    return prompts.system_section(
        terms.context_file,
        interface=cast("Literal['file', 'tool', 'both']", terms.interface),
        tag=terms.tag,
        steer=steer,
    )


def fields_of(
    tools: Sequence[Native] | None, parameters: Mapping[str, Any] | None, *, own_tool: bool
) -> dict[str, Any]:
    """The request's other fields. `edit_context` joins the tools at the start and stays."""
    fields = dict(parameters or {})
    if "messages" in fields or "tools" in fields:
        raise SettingsError("`parameters` may not hold `messages` or `tools`; pass them by name.")
    schemas = [*(tools or ()), *([EDIT_CONTEXT] if own_tool else [])]
    return {"tools": schemas, **fields} if schemas else fields


def limit_of(model: str, budget: int | None, window: int | None, settings: Settings) -> int:
    """The limit in tokens as shown; arguments win over settings, these over the model's name."""
    wanted = settings.budget if budget is None else budget
    known = settings.window if window is None else window
    if known is None:
        known = budgets.window_of(model) or budgets.DEFAULT_WINDOW
    return budgets.limit(
        known if wanted is None else wanted, known, settings.output_reserve, settings.margin
    )


def gate_of(name: Gate | str) -> Gate:
    """A gate by its name."""
    return Gate(one_of("gate", str(name), tuple(Gate)))


def one_of(setting: str, value: str, allowed: Sequence[str]) -> str:
    """`value`, if it is one of the allowed words; raises `SettingsError`."""
    if value not in allowed:
        raise SettingsError(f"{setting} is {value!r}; give one of {', '.join(allowed)}.")
    return value
