"""Tools of redraft's own, as a round sees them: whose call it is, what it answers, what is offered when."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from redraft.session.core import Judged
from redraft.session.edits import Edits
from redraft.session.rounds import ToolCall
from redraft.store import EditSpan

__all__ = ["EditTool", "Said", "Toolset"]


@dataclass(frozen=True, slots=True)
class Said:
    """What became of one call of such a tool.

    Attributes:
        text: its result, as the model reads it; "" where the receipt alone answers.
        judged: what the door said of the revision that it proposed; None where it proposed none.
        owed: whether the receipt is to stand in the newest result of the round; where it is not, `text`
            says what became of the edit.
        own: whether the words are redraft's; where they are a tool's or a model's, they are capped,
            escaped and counted like any output.
    """

    text: str = ""
    judged: Judged | None = None
    owed: bool = True
    own: bool = True


class Toolset(Protocol):
    """Tools that the session answers itself, right after the call and before the results of the round
    are appended."""

    @property
    def names(self) -> Collection[str]:
        """The tools' names."""

    def aims(self, call: ToolCall) -> bool:
        """Whether a call proposes an edit, so that its words are what the edit costs."""

    def answer(self, call: ToolCall, *, plan: int, spans: Sequence[EditSpan]) -> Said:
        """Do what a call asks for, and say what became of it.

        Args:
            call: one of the tools' calls. The calls of one reply come in their order, and each sees
                what the ones before it did.
            plan: raw tokens of rationale and call, where the call aims at an edit.
            spans: where in the call the edit stands, for the record.
        """

    def before(self) -> None:
        """Before a request, once the policies have acted: offer what is due."""

    def among(self, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        """The fields of a request that a client made itself, with those tools among its tools that came
        with an offer. What is there from the beginning is in them already."""


class EditTool:
    """The tool `edit_context`, where the session has it.

    Args:
        edits: the model's edits.
    """

    def __init__(self, edits: Edits) -> None:
        self._edits = edits
        self.names = frozenset({"edit_context"} if edits.has_tool else ())

    def aims(self, call: ToolCall) -> bool:
        """See `Toolset.aims`."""
        return bool(call.arguments.get("edits"))

    def answer(self, call: ToolCall, *, plan: int, spans: Sequence[EditSpan]) -> Said:
        """See `Toolset.answer`."""
        said = self._edits.by_tool(call.arguments, plan=plan, spans=tuple(spans))
        return Said(said) if isinstance(said, str) else Said(judged=said)

    def before(self) -> None:
        """The tool is in the request from the beginning."""

    def among(self, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        """See `Toolset.among`."""
        return fields
