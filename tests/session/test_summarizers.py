"""Who summarizes: a model over any wire format, the built-in one; and nobody waits for ever."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import pytest
from format_world import FORMATS

from redraft.dialects import check
from redraft.errors import ModelTimeoutError
from redraft.models import OpenAIModel
from redraft.policies import Summarize
from redraft.session.summarizers import (
    OWN,
    ExtractiveSummarizer,
    ModelSummarizer,
    Summary,
    TimeLimited,
    named,
)
from redraft.testing import FakeServer

NEED = Summarize("key", "user: look at /srv/app/main.py\n\nassistant: it has 812 lines", 200)
LAYERS = Summarize("key", "user: look", 200, ("Goals", "Facts"))


class Client:
    """A client that answers with one response, and keeps what it was asked."""

    name = "small-model"

    def __init__(self, response: object) -> None:
        self.response = response
        self.asked: list[Mapping[str, Any]] = []

    def complete(self, request: Mapping[str, Any]) -> object:
        self.asked.append(request)
        return self.response


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_a_model_is_asked_in_the_words_of_its_own_wire_format(name: str) -> None:
    form = FORMATS[name]()
    client = Client(form.reply("- 812 lines in /srv/app/main.py", prompt=321))
    summarizer = ModelSummarizer(client, dialect=form.dialect())
    assert summarizer(NEED) == Summary(
        "- 812 lines in /srv/app/main.py", 321, 9 if name != "gemini" else 0, model="small-model"
    )
    (request,) = client.asked
    assert check(request[form.turns], form.profile) == []
    assert "You shorten the record" in str(request)
    assert "/srv/app/main.py" in str(request)
    assert "tools" not in request


def test_the_headings_and_the_length_are_asked_for() -> None:
    client = Client(FORMATS["openai-chat"]().reply("## Goals\n-\n## Facts\n-"))
    ModelSummarizer(client)(LAYERS)
    words = client.asked[0]["messages"][-1]["content"]
    assert "## Goals\n## Facts" in words
    assert "At most 120 words" in words


def test_a_model_that_counts_nothing_is_counted_here() -> None:
    summary = ModelSummarizer(Client(FORMATS["openai-chat"]().reply("short")))(NEED)
    assert summary.prompt_tokens > 100
    assert summary.output_tokens == 1


def test_a_reply_that_broke_off_is_paid_for_and_not_used() -> None:
    response = {
        "choices": [
            {"message": {"role": "assistant", "content": "half of"}, "finish_reason": "length"}
        ],
        "usage": {"prompt_tokens": 50, "completion_tokens": 7},
    }
    summary = ModelSummarizer(Client(response))(NEED)
    assert (summary.text, summary.prompt_tokens, summary.output_tokens) == ("", 50, 7)
    assert "broke off" in summary.why


def test_the_sessions_own_model_has_no_name_of_its_own_in_the_books() -> None:
    summarizer = ModelSummarizer(Client(FORMATS["openai-chat"]().reply("short")), name=OWN)
    assert named(summarizer) == "own"
    assert summarizer(NEED).model == ""


def test_over_a_real_socket() -> None:
    player = lambda request: {"role": "assistant", "content": "it has 812 lines"}  # noqa: E731
    with (
        FakeServer(player) as server,
        OpenAIModel("m", base_url=server.base_url, api_key="k") as model,
    ):
        summary = ModelSummarizer(model)(NEED)
    assert summary.text == "it has 812 lines"
    assert summary.prompt_tokens > 0


def test_the_built_in_one_spends_nothing_and_keeps_to_its_length() -> None:
    text = "still waiting\n" * 50 + "commit 3f2a91c07be4 broke it\n"
    summary = ExtractiveSummarizer()(Summarize("key", text, 40))
    assert "3f2a91c07be4" in summary.text
    assert (summary.prompt_tokens, summary.output_tokens) == (0, 0)


# -- time ------------------------------------------------------------------------------------------------


class Slow:
    """Comes back when it is let go."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.calls = 0

    def __call__(self, need: Summarize, /) -> Summary:
        self.calls += 1
        self.go.wait(30)
        return Summary("late", 70, 7)


def test_one_that_hangs_is_given_up_and_not_called_again_until_it_is_back() -> None:
    slow = Slow()
    limited = TimeLimited(slow, 0.01)
    assert "within 0.01 seconds" in limited(NEED).why
    assert "not come back" in limited(NEED).why
    assert slow.calls == 1
    slow.go.set()
    for thread in threading.enumerate():
        if thread.name == "summarizer":
            thread.join(30)
    summary = TimeLimited.__call__(limited, NEED) if slow.calls > 1 else limited(NEED)
    assert slow.calls == 2
    assert summary.text in ("late", "")
    # What the late one has spent is not lost.
    assert summary.prompt_tokens >= 70


def test_what_it_raises_comes_out_here() -> None:
    def broken(need: Summarize, /) -> Summary:
        raise ModelTimeoutError("too slow")

    with pytest.raises(ModelTimeoutError):
        TimeLimited(broken, 10)(NEED)


def test_one_that_ends_its_thread_is_not_waited_for() -> None:
    def leaves(need: Summarize, /) -> Summary:
        raise SystemExit

    with pytest.raises(RuntimeError, match="SystemExit"):
        TimeLimited(leaves, 30)(NEED)
