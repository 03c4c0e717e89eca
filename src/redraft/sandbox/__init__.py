"""Where the model's commands run."""

from __future__ import annotations

from redraft.sandbox.base import Outcome, Sandbox
from redraft.sandbox.local import LocalSandbox

__all__ = ["LocalSandbox", "Outcome", "Sandbox"]
