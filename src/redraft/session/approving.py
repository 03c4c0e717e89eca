"""The verbs of a session for calls that wait for a person."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from redraft.errors import SessionStateError
from redraft.session.approvals import Pending
from redraft.session.blocks import Block
from redraft.session.engine import Engine
from redraft.session.rounds import Outcome, ToolCall, as_text

__all__ = ["Approving", "Replay"]


class Replay(Block[None]):
    """A call that was approved, to be run now; use it with `with` or `async with`.

    Attributes:
        call: the call, with the arguments that it had when it was made.
        answered: whether it has its result: redraft itself answers the calls of its own tools.
    """

    def __init__(self, engine: Engine, name: str) -> None:
        self._engine = engine
        self._name = name
        self._outcome: Outcome | None = None
        self._call: ToolCall | None = None

    @property
    def call(self) -> ToolCall:
        """The call; raises `SessionStateError` outside of the `with` block."""
        if self._call is None:
            raise SessionStateError("open it first: `with session.replay(id) as replay:`.")
        return self._call

    @property
    def answered(self) -> bool:
        """Whether it has its result."""
        return self._outcome is not None

    def result(self, output: object, *, exit_code: int = 0, timed_out: bool = False) -> None:
        """Hand in what the call gave.

        Args:
            output: text; bytes are decoded as UTF-8; anything else is written as JSON.
            exit_code: the command's exit code, 0 for success.
            timed_out: whether the command was killed for taking too long.

        Raises:
            SessionStateError: it has its result already, or the block is closed.
        """
        if self._outcome is not None:
            raise SessionStateError(
                f"the call of approval {self._name!r} has its result already; run it only where "
                "`replay.answered` is False."
            )
        assert self.call
        self._outcome = Outcome(as_text(output), exit_code, timed_out)

    def __enter__(self) -> Self:
        self._call, self._outcome = self._engine.approvals.begin(self._name)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        approvals = self._engine.approvals
        outcome = self._outcome or approvals.lost(interrupted=error is not None)
        self._call, self._outcome = None, outcome
        approvals.finish(self._name, outcome)


class Approving:
    """What a person does with the calls that wait, as `redraft.Session` offers it."""

    _engine: Engine
    _closed: bool

    @property
    def pending(self) -> tuple[Pending, ...]:
        """The calls that wait for a person, or that were approved and wait to be run."""
        return self._engine.approvals.pending

    def approve(self, approval: str) -> None:
        """Grant an approval: its call may be run, with `replay`. Recorded, so that another process can
        run it.

        Args:
            approval: its id.

        Raises:
            ApprovalError: no such approval waits for a decision.
        """
        self._must_be_open()
        self._engine.approvals.approve(approval)

    def reject(self, approval: str, why: str = "") -> None:
        """Refuse an approval, also one that was granted and not yet run. The model is told, and the loop
        goes on.

        Args:
            approval: its id.
            why: the reason, for the model.

        Raises:
            ApprovalError: no such approval waits.
        """
        self._must_be_open()
        self._engine.approvals.reject(approval, why)

    def replay(self, approval: str) -> Replay:
        """Run a call that was approved; one that still waits for a decision is granted by this.

            with session.replay(waiting.id) as replay:
                if not replay.answered:
                    output, code = run(replay.call)
                    replay.result(output, exit_code=code)

        The model reads the result in the place of the one that said that the call waits, if it has not
        read that one yet, else as a turn of its own. A call that is begun is never run again: without a
        result, the model is told that there is none.

        Args:
            approval: its id.

        Returns:
            a context manager. Entering it raises `ApprovalError` where no such call waits, and
            `SessionStateError` where a model call or a round is under way.
        """
        self._must_be_open()
        return Replay(self._engine, approval)

    def _must_be_open(self) -> None:
        if self._closed:
            raise SessionStateError(
                "the session is closed; its record can be read, and Session(session.messages, ...) "
                "goes on from where it stands."
            )
