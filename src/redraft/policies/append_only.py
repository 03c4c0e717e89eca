"""`append-only`: never changes anything. The baseline that everything is measured against."""

from __future__ import annotations

from dataclasses import dataclass

from redraft.policies.base import View

__all__ = ["AppendOnly"]


@dataclass(frozen=True, slots=True)
class AppendOnly:
    """Leave the context as it grows."""

    name: str = "append-only"

    def decide(self, view: View) -> None:
        """Nothing, ever."""
        del view
