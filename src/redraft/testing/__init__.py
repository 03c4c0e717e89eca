"""Stand-ins for tests of anything that calls a model: servers, and what can go wrong with them.

`redraft.testing.players` has scripted models, `redraft.testing.strategies` makes conversations (it needs
`hypothesis`), `redraft.testing.refusals` says what a provider would refuse. See `docs/testing.md`.
"""

from __future__ import annotations

from redraft.testing.anthropic_server import FakeAnthropic
from redraft.testing.embedding import HashedNgrams
from redraft.testing.faults import Answer, Fault
from redraft.testing.fenced import in_fences, refused_in_fences
from redraft.testing.gemini_server import FakeGemini
from redraft.testing.refusals import Complaint, complaints
from redraft.testing.responses_server import FakeResponses
from redraft.testing.server import FakeServer, refused_by_openai

__all__ = [
    "Answer",
    "Complaint",
    "FakeAnthropic",
    "FakeGemini",
    "FakeResponses",
    "FakeServer",
    "Fault",
    "HashedNgrams",
    "complaints",
    "in_fences",
    "refused_by_openai",
    "refused_in_fences",
]
