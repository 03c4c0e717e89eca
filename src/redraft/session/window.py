"""The window on the context file: what a round's commands left in it becomes one revision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from redraft.context import Gate, Receipt, Revision, Status, reconcile
from redraft.contextfile.mirror import Edited, Mirror, Refused, Untouched
from redraft.session.core import Core, Judged
from redraft.store import Refused as RefusedEntry

__all__ = ["FileWindow", "Look"]


@dataclass(frozen=True, slots=True)
class Look:
    """What is known of the commands that ran while the file could be edited.

    Attributes:
        named: whether one of them named the context file.
        exit_code: the first exit code that was not 0, else 0.
        killed: whether one of them was killed or timed out.
        plan_tokens: raw tokens of the assistant turn that issued them.
        marginal: whether the context is so full that only the marginal net counts.
    """

    named: bool = False
    exit_code: int = 0
    killed: bool = False
    plan_tokens: int = 0
    marginal: bool = False


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
        return self._mirror.path.name in text or "REDRAFT_CONTEXT_FILE" in text

    def show(self) -> Judged | None:
        """Bring the file up to date; a change that came in between rounds is judged first."""
        late = self._judge(Look()) if self._mirror.changed() else None
        self._mirror.show(self._core.live.editable())
        return late

    def read(self, look: Look) -> Judged | None:
        """Judge what now stands in the file.

        Returns:
            None where the file is untouched and no command named it.
        """
        return self._judge(look)

    def close(self) -> None:
        """Remove the file."""
        self._mirror.close()

    def _judge(self, look: Look) -> Judged | None:
        reading = self._mirror.read(
            named=look.named, failed=look.exit_code != 0, killed=look.killed
        )
        match reading:
            case Untouched():
                return self._untouched(look) if look.named else None
            case Refused(rule=rule, data=data):
                self._core.journal.record(RefusedEntry(rule, data=data))
                return self._answer(Status.REJECTED, rule)
            case Edited(window=window, blocks=blocks):
                revision = reconcile(self._core.live, window, blocks, gate=self._gate)
                return self._propose(revision, look, reading.data)
        raise AssertionError(reading)

    def _propose(self, revision: Revision, look: Look, data: bytes) -> Judged:
        if revision.gate is Gate.CONSERVE:
            revision = replace(revision, marginal=look.marginal)
        judged = self._core.propose(replace(revision, plan_tokens=look.plan_tokens))
        if judged.receipt.status is Status.REJECTED:
            self._core.journal.record(RefusedEntry(judged.receipt.rule, data=data))
        return judged

    def _untouched(self, look: Look) -> Judged:
        if look.exit_code:
            return self._answer(Status.FAILED, f"exit code {look.exit_code}")
        return self._answer(Status.NO_MATCH, "")

    def _answer(self, status: Status, rule: str) -> Judged:
        tokens = self._core.live.tokens
        receipt = Receipt(status, tokens, tokens, rule, self._core.raw_limit)
        return self._core.judged(receipt, Revision("model", "file"))
