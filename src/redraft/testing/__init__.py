"""Stand-ins for tests of anything that calls a model: a server, and what can go wrong with it."""

from __future__ import annotations

from redraft.testing.faults import Answer, Fault
from redraft.testing.server import FakeServer

__all__ = ["Answer", "FakeServer", "Fault"]
