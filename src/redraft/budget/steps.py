"""Which rounds cost a task step, so that a step budget does not discourage tidying."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["FREE_RUN", "FreeRounds"]

FREE_RUN = 3
"""Free rounds in a row that need not shrink the context (DESIGN.md section 5)."""


@dataclass(frozen=True, slots=True)
class FreeRounds:
    """How many rounds in a row only edited the context and did not shrink it.

    Attributes:
        running: such rounds since the last one that did work or shrank the context.
    """

    running: int = 0

    def step(self, free: bool, shrank: bool) -> tuple[FreeRounds, int]:
        """The state after a round, and what it costs.

        Cases: (1) a round that did anything else costs one step and ends the run; (2) a free round
        that shrank the context costs nothing and ends the run; (3) up to three others cost nothing;
        (4) each further one costs a step, until the run ends.

        Args:
            free: its only effect was an applied edit: nothing printed, exit code 0.
            shrank: the context is smaller than before the edit.

        Returns:
            (state, cost): cost in steps, 0 or 1.
        """
        if not free:
            return FreeRounds(), 1  # (1)
        if shrank:
            return FreeRounds(), 0  # (2)
        cost = 1 if self.running >= FREE_RUN else 0
        return FreeRounds(min(self.running + 1, FREE_RUN)), cost  # (3), (4)
