"""Every policy on recorded sessions of real agents, request by request, with summarizers that fail."""

from __future__ import annotations

import os
import random
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from spectrum_world import FAULTS, Heavy, Words, complained, decided, eager, holds, start

from redraft.context import RECEIPT_CAP
from redraft.dialects import OPENAI_CHAT, OpenAIChat, profile_of
from redraft.dialects.capabilities import capabilities_of
from redraft.policies import POLICIES, Manager
from redraft.policies.folding import LEAST_GAIN, movable, size
from redraft.replay import load
from redraft.replay.loaders.cassette import exchanges
from redraft.replay.source import Source
from redraft.testing.rehearsal import dialect_named
from redraft.tokens import Meter

Json = dict[str, Any]

# Read at import: the tests themselves run without settings from outside.
_SHARED = Path(os.environ.get("REDRAFT_SHARED", Path(__file__).parents[3] / "shared"))
HOME = _SHARED / "data" / "trajectories"
SESSIONS = sorted((*HOME.glob("agents/*"), *HOME.glob("sessions/*")))
TRAFFIC = sorted(HOME.glob("http/*.yaml"))

pytestmark = pytest.mark.skipif(
    not SESSIONS,
    reason=f"no recordings in {HOME}; set REDRAFT_SHARED to the directory that has them",
)

CHAT = OpenAIChat()
METER = Meter(Words())
NAMES = {"chat": "openai-chat", "responses": "openai-responses", "anthropic": "anthropic"}
BOUNDED = sorted(POLICIES.keys() - {"append-only", "observation-mask"})
MOST_CALLS = 150
"""Calls of a recording that are played; the longest has 439."""


@cache
def threads(path: Path) -> list[tuple[list[Json], list[int]]]:
    """The conversations of a recording: their messages, and where each call's reply begins."""
    found = []
    for thread in load(path).threads:
        replies = [call.reply for call in thread.calls][:MOST_CALLS]
        messages = [dict(message) for message in thread.messages]
        if len(replies) >= 3:
            found.append((messages[: replies[-1] + 1], replies))
    return found


def limit_for(messages: list[Json]) -> int:
    """A limit that the session passes several times, and that what must be sent fits."""
    whole = start(CHAT, {"messages": messages}, METER)
    largest = max(turn.tokens for turn in whole.turns)
    head = sum(turn.tokens for turn in whole.turns[: whole.head])
    return int(max(whole.tokens // 4, head + 3 * largest) * 1.1) + 4 * RECEIPT_CAP


@pytest.mark.parametrize("name", sorted(POLICIES))
@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.name[:50])
def test_a_recorded_session_stays_legal_and_within_its_limit(path: Path, name: str) -> None:
    for messages, replies in threads(path):
        chance = random.Random(f"{path.name} {name}")
        limit, policy = limit_for(messages), POLICIES[name]()
        first = {"messages": messages[: replies[0]]}
        live, at = start(CHAT, first, METER), replies[0]
        for number, reply in enumerate(replies):
            live, at = live.append(CHAT.split({"messages": messages[at:reply]})[1]), reply
            for _ in range(4):
                revision, _asked = decided(policy, live, limit, chance.choice(FAULTS))
                if revision is None:
                    break
                before, live = live, holds(live, revision, limit)
                if isinstance(policy, Manager):
                    policy = policy.rotated(before, live, float(number), revision.notes[0])
                _, refused = complained(first, live, OPENAI_CHAT)
                assert refused == []
            if name in BOUNDED and live.tokens > limit:
                # All that could go is gone: what is left was said just now, or must be sent.
                assert size(movable(live, 1)) <= LEAST_GAIN * limit + 2 * RECEIPT_CAP
        assert live.recount() == live.tokens


@cache
def requests_in(path: Path) -> list[tuple[str, Json]]:
    pytest.importorskip("yaml", reason="PyYAML is not installed")
    found = exchanges(Source.read(path))
    return [(NAMES[one.api], dict(one.request)) for one in found if one.api]


@pytest.mark.parametrize("name", sorted(eager()))
@pytest.mark.parametrize("path", TRAFFIC, ids=lambda path: path.name[:60])
def test_recorded_traffic_of_each_wire_format_stays_legal(path: Path, name: str) -> None:
    for at, (form, body) in enumerate(requests_in(path)):
        dialect, model = dialect_named(form), str(body.get("model") or "")
        given = body[dialect.turns_field]
        if body.get("conversation") or "mistral" in model:
            continue
        said = [{"role": "user", "content": given}] if isinstance(given, str) else given
        whole = {**body, dialect.turns_field: said}
        binding = capabilities_of(model, form).reasoning
        live = start(dialect, whole, Meter(Heavy()), binding=binding)
        fault = FAULTS[at % len(FAULTS)]
        revision, _ = decided(eager()[name](), live, live.tokens, fault)
        if revision is not None:
            after = holds(live, revision, live.tokens)
            assert complained(whole, after, profile_of(dialect, model))[1] == []
