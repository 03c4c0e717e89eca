"""One round: the calls of a reply, one window on the context file, and their results."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from redraft.dialects import Call, Content
from redraft.dialects.preserve import Approval
from redraft.errors import SessionStateError
from redraft.session.blocks import Block
from redraft.session.core import Judged

if TYPE_CHECKING:
    from redraft.session.engine import Engine

__all__ = ["Outcome", "Results", "Round", "ToolCall", "as_text", "parse_calls"]


@dataclass(frozen=True, slots=True, eq=False)
class ToolCall:
    """A call that the model wants run.

    Attributes:
        id: the provider's call id.
        name: the tool's name.
        arguments: the arguments, parsed.
        place: the call's place in its turn.
    """

    id: str
    name: str
    arguments: Mapping[str, Any]
    place: int

    def __getitem__(self, name: str) -> Any:
        """An argument by name."""
        return self.arguments[name]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What running a call gave.

    Attributes:
        text: the output as the model will read it, before it is capped.
        exit_code: 0 for success.
        timed_out: whether it was killed for taking too long.
        own: whether redraft itself answered the call.
        approval: what the call waits for; None where it does not.
        edited: whether the call was an edit that was applied, and `text` is its receipt.
    """

    text: str
    exit_code: int = 0
    timed_out: bool = False
    own: bool = False
    approval: Approval | None = None
    edited: bool = False

    @property
    def silent(self) -> bool:
        """Whether it succeeded and printed nothing but a receipt."""
        said = self.text.strip() and not self.edited
        return not (said or self.exit_code or self.timed_out or self.approval)


@dataclass(slots=True)
class Results:
    """What is known of the calls of one reply while their results come in.

    It outlives a round that could not be closed, e.g. because the journal could not record it, so
    that nothing is run twice.

    Attributes:
        head: the reply.
        calls: those of its calls that somebody else must run; None until a round was opened.
        own: those that redraft answers.
        outcomes: what each call gave, by its place.
        aimed: places of the calls that aim at the context, as far as they were judged.
        judged: what became of this round's edits.
        plan: raw tokens of rationale and command that are theirs.
        open: whether a `Round` is using it.
        read: whether the context file was read back.
        broken: places of the calls whose arguments may lack their end, though they can be read.
        behind: places of the calls that stand behind results which the model made up.
    """

    head: Content
    calls: list[ToolCall] | None = None
    own: list[ToolCall] = field(default_factory=list)
    outcomes: dict[int, Outcome] = field(default_factory=dict)
    aimed: tuple[int, ...] = ()
    judged: list[Judged] = field(default_factory=list)
    plan: int = 0
    open: bool = False
    read: bool = False
    broken: tuple[int, ...] = ()
    behind: tuple[int, ...] = ()

    def call(self, place: int) -> Call:
        """The call at that place of the reply."""
        return next(call for call in self.head.calls if call.index == place)

    @property
    def free(self) -> bool:
        """Whether the round's only effect was an applied edit."""
        edited = any(judged.applied for judged in self.judged)
        return edited and all(outcome.silent for outcome in self.outcomes.values())

    @property
    def shrank(self) -> bool:
        """Whether its edits together made the context smaller."""
        return sum(judged.growth for judged in self.judged) < 0


class Round(Block[None]):
    """A round in progress; use it with `with` or `async with`.

    Attributes:
        calls: the calls to run. Those that redraft answers itself (`edit_context`, calls whose
            arguments were cut off) are not among them.
        free: after the round, whether its only effect was an applied edit.
        cost: after the round, the steps that it costs, 0 or 1.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._results: Results | None = None
        self.calls: list[ToolCall] = []
        self.free = False
        self.cost = 1

    def result(
        self,
        call: ToolCall,
        output: object,
        *,
        exit_code: int = 0,
        timed_out: bool = False,
    ) -> None:
        """Hand in what a call gave.

        Args:
            call: one of `calls`.
            output: text; bytes are decoded as UTF-8; anything else is written as JSON.
            exit_code: the command's exit code, 0 for success.
            timed_out: whether the command was killed for taking too long; what it left in the
                context file is not taken over then.

        Raises:
            SessionStateError: the call is not of this round, or has its result already.
        """
        results = self._awaiting(call)
        results.outcomes[call.place] = Outcome(as_text(output), exit_code, timed_out)
        self._engine.handed_in(results, call.place)

    def pending(
        self, call: ToolCall, asked: str = "", *, approval: str = "", output: object = ""
    ) -> Approval:
        """Do not run a call yet, since a person must approve it. Its result says that it waits; run it
        later with `session.replay`, or refuse it with `session.reject`.

        Args:
            call: one of `calls`.
            asked: what is to be approved, in one line; by default the call itself.
            approval: the approval's id; by default one that is new.
            output: what the result is to say beside that; by default that the call was not run.

        Returns:
            the approval.

        Raises:
            SessionStateError: the call is not of this round, or has its result already.
            SettingsError: the id is in use, or has other characters than letters, digits and `.:/+-_`.
        """
        results = self._awaiting(call)
        wanted = Approval(approval, asked)
        return self._engine.approvals.ask(results, call, wanted, as_text(output))

    def _awaiting(self, call: ToolCall) -> Results:
        """The results that this call's is to join; raises `SessionStateError`."""
        results = self._results
        if results is None or call not in self.calls:
            raise SessionStateError(
                f"{getattr(call, 'id', call)!r} is no open call of this round; hand in one result for "
                "each of `round.calls`, inside `with session.round() as round:`."
            )
        if call.place in results.outcomes:
            raise SessionStateError(
                f"call {call.id!r} has its result already; hand in one for each of `round.calls`."
            )
        return results

    def __enter__(self) -> Self:
        self._results = self._engine.begin()
        if self._results is not None:
            known = self._results.outcomes
            self.calls = [call for call in self._results.calls or () if call.place not in known]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        results, self._results = self._results, None
        self.free, self.cost = False, 0
        if results is not None:
            self.free, self.cost = self._engine.end(results, interrupted=error is not None)


def as_text(output: object) -> str:
    """A tool's output as text."""
    if isinstance(output, str):
        return output
    if isinstance(output, (bytes, bytearray)):
        return bytes(output).decode("utf-8", "replace")
    if output is None:
        return ""
    return json.dumps(output, ensure_ascii=False, default=str)


def parse_calls(
    calls: Sequence[Call], *, cut_off: bool = False
) -> tuple[list[ToolCall], list[Call]]:
    """The calls that can be run, and those that cannot.

    Args:
        calls: the calls of one reply, in order.
        cut_off: whether the reply broke off. Its last call is then only run where its arguments are
            a JSON object that says something: free text, nothing and `{}` look the same whether more
            was to come or not (earendil-works/pi#6284).
    """
    good: list[ToolCall] = []
    bad: list[Call] = []
    for call in calls:
        arguments = _arguments(call)
        if cut_off and call is calls[-1] and (call.free or not arguments):
            arguments = None
        if arguments is None:
            bad.append(call)
        else:
            good.append(ToolCall(call.id, call.name, arguments, call.index))
    return good, bad


def _arguments(call: Call) -> Mapping[str, Any] | None:
    if call.free:  # a custom tool takes text
        return {"input": call.arguments}
    try:
        arguments = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        return None
    return arguments if isinstance(arguments, dict) else None
