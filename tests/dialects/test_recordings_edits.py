"""Recorded traffic and sessions of real agents: legal as they are, and after any legal edits."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from fuzz_world import dialect_of, live_of, wire

from redraft.context import Live
from redraft.dialects import check, profile_of, repair
from redraft.dialects.capabilities import capabilities_of
from redraft.errors import RecordingError
from redraft.replay import load
from redraft.replay.loaders.cassette import exchanges
from redraft.replay.source import Source
from redraft.testing import complaints
from redraft.testing.edits import Play, closed, random_script

Json = dict[str, Any]

# Read at import: the tests themselves run without settings from outside.
_SHARED = Path(os.environ.get("REDRAFT_SHARED", Path(__file__).parents[3] / "shared"))
HOME = _SHARED / "data" / "trajectories"
PATHS = sorted(HOME.glob("*/*"))
NAMES = {"chat": "openai-chat", "responses": "openai-responses", "anthropic": "anthropic"}

pytestmark = pytest.mark.skipif(
    not PATHS, reason=f"no recordings in {HOME}; set REDRAFT_SHARED to the directory that has them"
)
every = pytest.mark.parametrize("path", PATHS, ids=lambda path: path.name[:60])


@cache
def recorded(path: Path) -> list[tuple[str, Json]]:
    """The requests in a recording, each with its wire format: as they were sent where that is known,
    else the longest conversation of each thread as Chat Completions."""
    if path.suffix == ".yaml":
        pytest.importorskip("yaml", reason="PyYAML is not installed")
        found = exchanges(Source.read(path))
        return [(NAMES[one.api], dict(one.request)) for one in found if one.api]
    return list(_threads(path))


def _threads(path: Path) -> Iterator[tuple[str, Json]]:
    for thread in load(path).threads:
        calls = list(thread.calls)
        if calls:
            messages = [dict(message) for message in thread.messages[: calls[-1].reply]]
            if messages:
                yield "openai-chat", {"model": calls[-1].model or "m", "messages": messages}


def is_mistral(body: Json) -> bool:
    """Mistral takes `tool_calls: []`, which OpenAI, whose words the check has, does not."""
    return "mistral" in str(body.get("model"))


def field_of(name: str) -> str:
    return dialect_of(name).turns_field


def listed(name: str, body: Json) -> Any:
    given = body[field_of(name)]
    return [{"role": "user", "content": given}] if isinstance(given, str) else given


def sent(name: str, model: str, live: Live) -> Json:
    body = live.outgoing.body()
    field = field_of(name)
    return {**body, field: list(repair(body[field], profile_of(dialect_of(name), model)))}


@every
def test_a_recorded_request_is_taken_as_it_is(path: Path) -> None:
    for name, body in recorded(path):
        messages = listed(name, body)
        profile = profile_of(dialect_of(name), str(body.get("model") or ""))
        if path.suffix == ".yaml":
            assert check(messages, profile) == []
            assert repair(messages, profile) is messages
            whole = {"model": "m", "max_tokens": 9, **body}
            if not is_mistral(body):
                assert complaints(name, whole) == []
        else:  # a log of an agent's own: what was interrupted in it is mended once
            once = repair(messages, profile)
            assert check(once, profile) == []
            assert repair(once, profile) is once


@every
@pytest.mark.parametrize("seed", range(2))
def test_a_recorded_request_survives_edits(path: Path, seed: int) -> None:
    for at, (name, body) in enumerate(recorded(path)[:3]):
        if body.get("conversation"):
            continue
        model = str(body.get("model") or "")
        given = {**body, field_of(name): listed(name, body)}
        binding = capabilities_of(model, name).reasoning
        live = live_of(name, given, binding=binding)
        play = Play(live).run(random_script(random.Random(f"{path.name} {seed} {at}"), 5))
        after = sent(name, model, closed(play.live))
        assert check(after[field_of(name)], profile_of(dialect_of(name), model)) == []
        if not is_mistral(body):
            assert complaints(name, {"model": "m", "max_tokens": 9, **after}) == []


@every
def test_edits_of_a_recorded_request_can_all_be_taken_back(path: Path) -> None:
    for at, (name, body) in enumerate(recorded(path)[:3]):
        given = {**body, field_of(name): listed(name, body)}
        script = random_script(random.Random(f"{path.name} {at}"), 6)
        edits = [step for step in script if step.kind not in ("append", "undo", "pin")]
        play = Play(live_of(name, given)).run(edits)
        for done in reversed(list(play.commits)):
            assert play.take_back(done) is not None
        assert wire(play.live.body()[field_of(name)]) == wire(given[field_of(name)])


def test_every_format_of_recording_is_among_them() -> None:
    read = {path.suffix for path in PATHS}
    assert {".yaml", ".jsonl", ".traj", ".json"} <= read
    for path in PATHS:
        try:
            assert recorded(path)
        except RecordingError as error:
            pytest.fail(str(error))
