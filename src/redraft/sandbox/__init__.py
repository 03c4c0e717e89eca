"""Where the model's commands run."""

from __future__ import annotations

from redraft.sandbox.base import Outcome, Sandbox
from redraft.sandbox.bubblewrap import BubblewrapSandbox
from redraft.sandbox.container import ContainerSandbox
from redraft.sandbox.diagnosis import ALTERNATIVES
from redraft.sandbox.limits import Limits
from redraft.sandbox.local import LocalSandbox
from redraft.sandbox.making import SandboxKind, make_sandbox
from redraft.sandbox.wrapper import available

__all__ = [
    "ALTERNATIVES",
    "BubblewrapSandbox",
    "ContainerSandbox",
    "Limits",
    "LocalSandbox",
    "Outcome",
    "Sandbox",
    "SandboxKind",
    "available",
    "make_sandbox",
]
