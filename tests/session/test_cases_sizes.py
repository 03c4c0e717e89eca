"""Faults that others shipped, with the right values: bytes, sizes, counts and budgets.

Which row of the collection each test holds is listed in docs/design/cases.md.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

import pytest
from session_world import (
    HEAD,
    SYSTEM,
    calling,
    fill,
    last,
    legal,
    play,
    replaced,
    reply,
    result,
    runs,
    says,
    tool_call,
)

from redraft import Phase, Session, Settings
from redraft.dialects import Anthropic, Dialect, Gemini, OpenAIChat, OpenAIResponses
from redraft.errors import BudgetError
from redraft.events import Event, NudgeGiven, RequestMade
from redraft.testing.strategies import png

LONE = "\ud99c"


def requested(session: Session) -> dict[str, Any]:
    request = session.request()
    assert request is not None
    return request


def wire(request: Mapping[str, Any]) -> bytes:
    """The bytes of a request, as a client that does not escape writes them; strictly UTF-8."""
    return json.dumps(request, ensure_ascii=False).encode("utf-8")


# -- bytes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [f'{{"x": "{LONE}"}}', '{"x": "\\ud99c"}'])
def test_a_bad_code_unit_in_the_models_own_arguments_is_not_sent(arguments: str) -> None:
    with Session(HEAD, budget=20_000) as session:
        play(session, calling(tool_call("bash", arguments)), "done")
        request = requested(session)
    wire(request)
    sent = request["messages"][-2]["tool_calls"][0]["function"]["arguments"]
    json.loads(sent)["x"].encode("utf-8")


def test_a_bad_code_unit_in_an_output_is_not_sent() -> None:
    with Session(HEAD, budget=20_000) as session:
        play(session, runs("look"), f"before {LONE} after")
        sent = wire(requested(session)).decode()
    assert "before" in sent
    assert "after" in sent


@pytest.mark.parametrize("letter", ["🚀", "e\u0301", "\U0010ffff", "日"])
def test_what_redraft_cuts_is_cut_between_whole_characters(letter: str) -> None:
    with Session(HEAD, budget=20_000) as session:
        play(session, runs("look"), letter * 200_000)
        shown = last(session)
        wire(requested(session))
    assert "\ufffd" not in shown
    assert len(shown) < 100_000


# -- outputs that are too large --------------------------------------------------------------------


def test_one_endless_line_is_cut_by_its_tokens() -> None:
    with Session(HEAD, budget=20_000) as session:
        play(session, runs("cat blob"), "0123456789abcdef" * 500_000)
        assert session.tokens <= session.limit
        assert session.phase is Phase.RUNNING
        requested(session)


def test_a_history_that_is_mostly_one_giant_output_is_shrunk_without_a_model() -> None:
    """No call is needed to make room: the first request goes out and fits."""
    giant = [*HEAD, runs("cat log"), result("word " * 60_000)]
    with Session(giant, budget=20_000) as session:
        request = requested(session)
        assert session.tokens <= session.limit
        assert legal(request["messages"])
        assert request["messages"][1] == HEAD[1]


# -- arguments that were cut off -------------------------------------------------------------------


@pytest.mark.parametrize("cut", ['{"command": "rm -rf /tm', '{"command": "ls"', '{"comm', ""])
@pytest.mark.parametrize("finish", ["length", "content_filter"])
def test_a_call_that_was_cut_off_is_not_run_and_history_stays_as_it_was(
    cut: str, finish: str
) -> None:
    with Session(HEAD, budget=20_000) as session:
        asked = play(session, calling(tool_call("bash", cut)), "ran", finish=finish)
        assert not asked.calls
        assert session.live.turns[-2].content.calls[0].arguments == cut
        assert "Not run" in last(session)
        request = requested(session)
    arguments = request["messages"][-2]["tool_calls"][0]["function"]["arguments"]
    assert isinstance(json.loads(arguments), dict)
    assert legal(request["messages"])


# -- images ----------------------------------------------------------------------------------------


def picture(side: int, padding: int = 0) -> dict[str, Any]:
    head, _, data = png(side, side).partition(",")
    heavy = base64.b64encode(base64.b64decode(data) + bytes(padding)).decode()
    return {"type": "image_url", "image_url": {"url": f"{head},{heavy}"}}


def test_an_image_is_not_counted_by_its_base64_and_the_only_user_turn_is_never_compacted() -> None:
    words = {
        "role": "user",
        "content": [{"type": "text", "text": "What is this?"}, picture(1024, 1_100_000)],
    }
    with Session([SYSTEM, words], budget=20_000) as session:
        assert session.tokens < 5_000
        request = requested(session)
        assert request["messages"][1] == words
        assert session.receipts == []


def test_many_images_are_not_counted_as_nothing() -> None:
    words = {"role": "user", "content": [picture(1024) for _ in range(20)]}
    with Session([SYSTEM, words], budget=60_000) as one, Session(HEAD, budget=60_000) as none:
        assert one.tokens - none.tokens > 20 * 85


# -- counts ----------------------------------------------------------------------------------------


def test_system_prompt_and_tools_are_counted() -> None:
    long = {"role": "system", "content": "Follow the rules. " * 1_000}
    function: dict[str, Any] = {"name": "bash", "description": "Run it. " * 1_000}
    wide = [{"type": "function", "function": function}]
    with (
        Session(HEAD, budget=60_000) as bare,
        Session([long, HEAD[1]], budget=60_000) as told,
        Session(HEAD, tools=wide, budget=60_000) as tooled,
    ):
        assert told.tokens - bare.tokens > 3_500
        assert tooled.tokens - bare.tokens > 2_500


def test_what_is_counted_is_what_will_be_sent_also_after_two_compactions() -> None:
    with Session(HEAD, budget=20_000, tag="beef") as session:
        fill(session, 4)
        first, second = (turn.number for turn in session.live.editable()[:3:2])
        play(session, runs(replaced(first, second, "first summary")))
        fill(session, 4, start=10)
        play(session, runs(replaced(first, second + 2, "second summary")))
        request = requested(session)
        counted = session.live.tokens
        with Session(request["messages"], interface="none", budget=20_000) as again:
            assert again.live.tokens == counted


CHAT_USAGE = {
    "prompt_tokens": 1_000,
    "completion_tokens": 5,
    "prompt_tokens_details": {"cached_tokens": 900},
}
USAGES: dict[str, tuple[Dialect, dict[str, Any]]] = {
    "chat": (
        OpenAIChat(),
        {"choices": [{"message": says("hello"), "finish_reason": "stop"}], "usage": CHAT_USAGE},
    ),
    "responses": (
        OpenAIResponses(),
        {
            "status": "completed",
            "output": [
                {
                    "type": "message",
                    "role": "assistant",
                    "content": [{"type": "output_text", "text": "hello", "annotations": []}],
                }
            ],
            "usage": {
                "input_tokens": 1_000,
                "output_tokens": 5,
                "input_tokens_details": {"cached_tokens": 900},
            },
        },
    ),
    "anthropic": (
        Anthropic(),
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "hello"}],
            "stop_reason": "end_turn",
            "usage": {
                "input_tokens": 60,
                "cache_read_input_tokens": 900,
                "cache_creation_input_tokens": 40,
                "output_tokens": 5,
            },
        },
    ),
    "gemini": (
        Gemini(),
        {
            "candidates": [
                {
                    "content": {"role": "model", "parts": [{"text": "hello"}]},
                    "finishReason": "STOP",
                }
            ],
            "usageMetadata": {
                "promptTokenCount": 1_000,
                "cachedContentTokenCount": 900,
                "candidatesTokenCount": 5,
            },
        },
    ),
}


@pytest.mark.parametrize("name", USAGES)
def test_cached_tokens_are_counted_once_whatever_the_provider_calls_them(name: str) -> None:
    dialect, response = USAGES[name]
    usage = dialect.read(response).usage
    assert usage is not None
    assert (usage.prompt, usage.cached, usage.output) == (1_000, 900, 5)


def test_reports_of_cached_tokens_do_not_add_up_over_rounds() -> None:
    """A full cache at a low fill is no reason to compact."""
    with Session(HEAD, budget=100_000, window=200_000) as session:
        for _ in range(12):
            request = session.request()
            assert request is not None
            raw = session.live.tokens
            with session.answer() as answer:
                usage = {"prompt_tokens": raw, "prompt_tokens_details": {"cached_tokens": raw}}
                answer({**reply(runs("look")), "usage": usage})
            with session.round() as now:
                for asked in now.calls:
                    now.result(asked, "ok")
        assert session.tokens < 10_000
        assert session.receipts == []


# -- budgets ---------------------------------------------------------------------------------------


def test_the_answers_share_of_the_window_is_kept_free() -> None:
    with Session(HEAD, settings=Settings(window=100_000, output_reserve=64_000)) as session:
        assert session.limit == 100_000 - 64_000 - 2_048


@pytest.mark.parametrize("window", [4_096, 8_192, 18_432])
def test_an_impossible_budget_is_refused_at_the_start_and_never_negative(window: int) -> None:
    with pytest.raises(BudgetError, match="output_reserve"):
        Session(HEAD, window=window)


def test_a_small_but_possible_window_does_not_compact_on_every_message() -> None:
    with Session(HEAD, window=24_000) as session:
        for at in range(5):
            play(session, calling(tool_call("bash", f'{{"command": "look {at}"}}', at)), "ok")
        assert session.receipts == []


@pytest.mark.parametrize("parameters", [{}, {"max_tokens": 500}, {"max_completion_tokens": 7}])
def test_the_arithmetic_of_the_budget_does_not_reach_the_request(
    parameters: dict[str, Any],
) -> None:
    with Session(HEAD, budget=20_000, parameters=parameters) as session:
        fill(session, 3)
        request = requested(session)
        assert {name for name in request if "max" in name} == set(parameters)
        assert {name: request[name] for name in parameters} == parameters


def test_where_nothing_is_left_to_forget_the_run_ends_and_does_not_turn_in_circles() -> None:
    """The server says that its window is too small for what must always be sent."""
    with Session(HEAD, budget=20_000) as session:
        requests = 0
        while session.request() is not None and requests < 100:
            requests += 1
            try:
                with session.answer():
                    raise RuntimeError(
                        "This model's maximum context length is 100 tokens. However, your messages "
                        "resulted in 500 tokens."
                    )
            except (BudgetError, RuntimeError):
                break
        assert requests < 5


def test_a_rollback_leaves_room_well_below_the_point_that_made_it() -> None:
    """Room for the margin at the least, so that the next step does not make another."""
    with Session(HEAD, budget=12_000) as session:
        fill(session, 80, output="word " * 100)
        assert session.tokens <= session.limit
        rollbacks = [receipt for receipt in session.receipts if receipt.before > receipt.after]
        assert rollbacks
        for receipt in rollbacks:
            assert receipt.before - receipt.after > 1_500
        assert len(rollbacks) < 20


def test_a_nudge_comes_again_only_after_the_context_fell_below_its_tier() -> None:
    tiers = {"inform": 25, "tidy": 50, "compact": 75}
    armed = dict.fromkeys(tiers, True)
    given: list[str] = []

    def watch(event: Event) -> None:
        if isinstance(event, RequestMade):
            for name, tier in tiers.items():
                armed[name] |= 100 * event.tokens < tier * event.limit
        if isinstance(event, NudgeGiven) and event.tier in tiers:
            assert armed[event.tier]
            armed[event.tier] = False
            given.append(event.tier)

    with Session(HEAD, budget=12_000, on_event=watch) as session:
        fill(session, 80, output="word " * 100)
    assert set(given) == set(tiers)
