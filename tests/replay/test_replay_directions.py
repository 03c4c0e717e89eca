"""A changed input moves the figures in the direction that it must: nothing here is a constant."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from replay_world import read

from redraft.cost import Geometry, LiteLLMPrices
from redraft.replay import CacheResult, Recording, policies_named, replay
from redraft.replay.recording import Thread

SHAPE = Geometry("small", 1_000.0, 1.0, 1)
ENTRY = {
    "input_cost_per_token": 1e-6,
    "output_cost_per_token": 4e-6,
    "cache_read_input_token_cost": 1e-7,
}


def conversation(first: str = "Find the bug. " * 200, *, pause: float = 20.0) -> Recording:
    """Six calls of Claude's, one every so many seconds."""
    rows: list[dict[str, Any]] = [{"role": "user", "content": first}]
    for at in range(6):
        rows.append(
            {
                "role": "assistant",
                "content": f"step {at} " * 100,
                "model": "claude-sonnet-4-5",
                "timestamp": 1.7e9 + at * pause,
            }
        )
        rows.append({"role": "user", "content": f"output {at} " * 300})
    return read(json.dumps(rows[:-1]))


def priced(recording: Recording, cache: str = "anthropic", **options: Any) -> CacheResult:
    prices = [LiteLLMPrices({"claude-sonnet-4-5": options.pop("entry", ENTRY)}, "mine", "1")]
    found = replay(
        recording,
        policies_named(["append-only"]),
        spans=(),
        prices=prices,
        geometry=options.pop("geometry", SHAPE),
    )
    return next(one for one in found.runs[0].caches if one.name == cache)


def usd(found: CacheResult) -> float:
    return float(found.as_dict()["money"]["usd"])


def test_twice_the_compute_for_a_token_costs_more_and_more_attention_more_still() -> None:
    base = priced(conversation()).flops
    dear = priced(conversation(), geometry=replace(SHAPE, token=2_000.0)).flops
    wide = priced(conversation(), geometry=replace(SHAPE, attention=2.0)).flops
    assert base < dear < 2 * base + 1
    assert base < wide
    both = priced(conversation(), geometry=replace(SHAPE, token=2_000.0, attention=2.0)).flops
    assert both == 2 * base


def test_pauses_longer_than_the_lifetime_make_everything_be_read_again() -> None:
    quick, slow = priced(conversation()), priced(conversation(pause=400.0))
    assert quick.totals.prompt == slow.totals.prompt
    assert slow.totals.read == 0 < quick.totals.read
    assert slow.totals.lost > quick.totals.lost == 0
    assert usd(slow) > usd(quick)
    assert slow.flops > quick.flops


def test_each_price_moves_the_money_by_the_tokens_that_it_is_for() -> None:
    base = priced(conversation())
    reads = priced(conversation(), entry={**ENTRY, "cache_read_input_token_cost": 2e-7})
    assert abs(usd(reads) - usd(base) - base.totals.read * 1e-7) < 1e-9
    writes = priced(conversation(), entry={**ENTRY, "cache_creation_input_token_cost": 2e-6})
    assert abs(usd(writes) - usd(base) - base.totals.written * 1e-6) < 1e-9
    assert base.as_dict()["money"]["source"] == "mine"


def test_a_longer_first_message_makes_every_request_larger() -> None:
    short, long = priced(conversation("Find it.")), priced(conversation("Find it. " * 2_000))
    added = long.totals.prompt - short.totals.prompt
    assert added > 6 * 4_000
    assert added % 6 == 0, "it stands in each of the six"
    assert long.flops > short.flops
    assert usd(long) > usd(short)


def test_a_first_message_that_changes_on_the_way_breaks_what_stands_behind_it() -> None:
    whole = conversation()
    (thread,) = whole.threads
    messages = list(thread.messages)
    split = thread.calls[3].reply
    begun = replace(
        thread, messages=thread.messages[: thread.calls[2].reply + 1], calls=thread.calls[:3]
    )
    changed = ({**messages[0], "content": "Find another bug. " * 200}, *messages[1:])
    second = Thread("later", tuple(changed), thread.calls[3:], follows=thread.name)
    parted = replace(whole, threads=(begun, second))
    assert split > 0
    calm, broken = priced(whole, "longest-prefix"), priced(parted, "longest-prefix")
    assert calm.totals.breaks == {}
    assert broken.totals.lost > 1_000
    assert broken.totals.read < calm.totals.read
    assert broken.flops > calm.flops
