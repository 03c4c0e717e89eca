"""The window on the context file: what a round's commands left in it becomes one revision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from redraft.context import Gate, Receipt, Revision, Status, Turn, reconcile
from redraft.contextfile.mirror import Edited, Mirror, Refused, Untouched
from redraft.session.core import Core, Judged
from redraft.store import EditSpan
from redraft.store import Refused as RefusedEntry

__all__ = ["FileWindow", "Look"]

VARIABLE = "REDRAFT_CONTEXT_FILE"

STALE = "turns that it touches have changed since the file was shown"


@dataclass(frozen=True, slots=True)
class Look:
    """What is known of the commands that ran while the file could be edited.

    Attributes:
        named: whether one of them named the context file.
        exit_code: the first exit code that was not 0, else 0.
        killed: whether one of them was killed or timed out.
        plan_tokens: raw tokens of rationale and command that the edit cost.
        marginal: whether the context is so full that only the marginal net counts.
        spans: where in the calls that may have made the edit it stands, for the record.
    """

    named: bool = False
    exit_code: int = 0
    killed: bool = False
    plan_tokens: int = 0
    marginal: bool = False
    spans: tuple[EditSpan, ...] = ()


class FileWindow:
    """Shows the context file before a round and reads it back after it.

    Args:
        core: the session's state.
        mirror: the file.
        gate: the rule on size for what the model writes.
    """

    def __init__(self, core: Core, mirror: Mirror, gate: Gate) -> None:
        self._core = core
        self._mirror = mirror
        self._gate = gate

    @property
    def env(self) -> Mapping[str, str]:
        """What the commands must have in their environment."""
        return self._mirror.env

    def names(self, text: str) -> bool:
        """Whether a command, as text, names the context file."""
        return self._mirror.path.name in text or VARIABLE in text

    def show(self) -> None:
        """Bring the file up to date; raises `ContextFileError` where it cannot be written."""
        self._mirror.show(self._core.live.editable())

    def late(self) -> Judged | None:
        """Judge what was written since the file was last read: by a command that was left running,
        or by a person. None where nothing was."""
        return self.read(Look()) if self._mirror.changed() else None

    def read(self, look: Look) -> Judged | None:
        """Judge what now stands in the file; it is not shown anew.

        Returns:
            None where the file is untouched and no command named it.
        """
        reading = self._mirror.read(
            named=look.named, failed=look.exit_code != 0, killed=look.killed
        )
        match reading:
            case Untouched():
                return self._untouched(look) if look.named else None
            case Refused(rule=rule, data=data):
                return self._refuse(rule, data)
            case Edited(window=window, data=data) if not self._stands(window):
                return self._refuse(STALE, data)
            case Edited(window=window, blocks=blocks, data=data):
                revision = reconcile(self._core.live, window, blocks, gate=self._gate)
                return self._propose(revision, look, data)
        raise AssertionError(reading)

    def discard(self, rule: str) -> Judged | None:
        """Refuse whatever was written since the file was last read; None where nothing was."""
        if not self._mirror.changed():
            return None
        reading = self._mirror.read()
        return None if isinstance(reading, Untouched) else self._refuse(rule, reading.data)

    def _stands(self, window: Sequence[Turn]) -> bool:
        """Whether the turns that were shown are still those of the live context."""
        standing = set(map(id, self._core.live.turns))
        return all(id(turn) in standing for turn in window)

    def _propose(self, revision: Revision, look: Look, data: bytes) -> Judged:
        if revision.gate is Gate.CONSERVE:
            revision = replace(revision, marginal=look.marginal)
        revision = replace(revision, plan_tokens=look.plan_tokens)
        judged = self._core.propose(revision, spans=look.spans)
        if judged.receipt.status is Status.REJECTED:
            self._core.journal.record(RefusedEntry(judged.receipt.rule, data=data))
        return judged

    def _refuse(self, rule: str, data: bytes) -> Judged:
        self._core.journal.record(RefusedEntry(rule, data=data))
        return self._answer(Status.REJECTED, rule)

    def _untouched(self, look: Look) -> Judged:
        if look.exit_code:
            return self._answer(Status.FAILED, f"exit code {look.exit_code}")
        return self._answer(Status.NO_MATCH, "")

    def _answer(self, status: Status, rule: str) -> Judged:
        tokens = self._core.live.tokens
        receipt = Receipt(status, tokens, tokens, rule, self._core.raw_limit)
        return self._core.judged(receipt, Revision("model", "file"))
