"""The figures of a run are a function of its events: live, from the journal, and over a resumption."""

from __future__ import annotations

import contextlib
from pathlib import Path

from agent_world import Scripted, bash, say
from hypothesis import given
from hypothesis import strategies as st

from redraft.agent import Agent, Metrics, RunResult, collected, metrics_of
from redraft.errors import ModelConnectionError
from redraft.events import EditJudged, Event, ReplyRead, RequestMade
from redraft.sandbox import LocalSandbox
from redraft.settings import Settings
from redraft.store import SQLiteJournal

NOTE = f"""python3 - <<'EOF'
import os, re
path = os.environ["REDRAFT_CONTEXT_FILE"]
text = open(path).read()
first = re.search(r"^\\[\\[CTX_TURN (\\d+) ", text, re.M)[1]
open(path, "w").write(f"[[CTX_TURN {{first}} role=assistant]]\\nnoted\\n\\n[[CTX_END]]\\n")
# {"the note, word for word " * 20}
EOF"""
LOOK = bash("seq 1 400")
SCRIPT = (LOOK, bash(NOTE), LOOK, bash("rm $REDRAFT_CONTEXT_FILE"), LOOK, bash(NOTE), say("42"))


def work(home: Path, *script: object, resume: bool = False) -> tuple[RunResult, list[Event]]:
    """Run or resume in `home`; what the run says of itself, and the events of its journal."""
    (home / "work").mkdir(parents=True, exist_ok=True)
    with (
        LocalSandbox(home / "work", timeout=20) as sandbox,
        SQLiteJournal(home / "run") as journal,
    ):
        model = Scripted(*script)
        if resume:
            agent = Agent.resume(model, sandbox, journal)
        else:
            settings = Settings(budget=8_000)
            agent = Agent(
                *(model, sandbox),
                task="Do it.",
                settings=settings,
                journal=journal,
                path=home / "run" / "context",
            )
        with contextlib.suppress(ModelConnectionError):
            agent.run()
        return agent.result, list(journal.events())


def test_the_journal_gives_the_figures_of_the_run(tmp_path: Path) -> None:
    result, events = work(tmp_path, *SCRIPT)
    assert metrics_of(events) == result.metrics
    assert collected(events).calls == result.calls
    m = result.metrics
    assert (m.rounds, m.steps, m.free_rounds) == (7, 4, 2)
    assert m.edits == {"applied": 2, "rejected": 1}
    assert sum(m.rejected.values()) == 1
    assert m.elided_tokens > 100
    assert 0 < m.median_tokens < m.peak_tokens
    assert len(result.calls) == m.rounds
    assert max(call.tokens for call in result.calls) == m.peak_tokens


def test_a_resumed_run_goes_on_counting(tmp_path: Path) -> None:
    whole, _ = work(tmp_path / "whole", *SCRIPT)
    first, told = work(tmp_path / "parts", *SCRIPT[:3], ModelConnectionError("gone"))
    assert metrics_of(told) == first.metrics
    second, told = work(tmp_path / "parts", *SCRIPT[3:], resume=True)
    assert metrics_of(told) == second.metrics
    assert first.metrics.rounds == 3
    assert second.metrics.rounds == whole.metrics.rounds
    assert second.metrics.edits == whole.metrics.edits
    assert (second.metrics.steps, second.metrics.free_rounds) == (
        whole.metrics.steps,
        whole.metrics.free_rounds,
    )
    # Not the same to the token: each run draws a tag of its own, which costs two tokens or four.
    assert abs(second.metrics.elided_tokens - whole.metrics.elided_tokens) <= 8
    assert second.calls[:3] == first.calls
    assert second.cost() == whole.cost() or second.calls != whole.calls


def asked(tokens: int) -> RequestMade:
    return RequestMade(1, tokens, 9_000, tokens, 0, 0)


ANSWER = ReplyRead(1, 1, complete=True, prompt=0, cached=0, output=0)


@given(st.lists(st.integers(0, 9_000), min_size=1, max_size=30))
def test_the_median_is_a_request_with_as_many_above_as_below(sizes: list[int]) -> None:
    metrics = metrics_of(event for size in sizes for event in (asked(size), ANSWER))
    assert metrics.median_tokens == sorted(sizes)[(len(sizes) - 1) // 2]
    assert metrics.peak_tokens == max(sizes)


def test_a_reply_to_a_request_that_nobody_told_of_has_no_size() -> None:
    metrics = metrics_of([ANSWER, asked(500), ANSWER])
    assert (metrics.median_tokens, metrics.rounds) == (500, 2)


def judged(author: str, source: str, status: str) -> EditJudged:
    return EditJudged(1, 1, author, source, status, 900, 650, "", 0, 0)


def test_every_outcome_of_an_edit_is_counted_under_its_own_name() -> None:
    outcomes = ("applied", "grew", "over", "queued", "rejected", "failed", "ignored", "no-match")
    metrics = metrics_of(judged("model", "file", status) for status in outcomes)
    assert metrics.edits == dict.fromkeys(outcomes, 1)
    assert metrics.applied == 3


def test_what_elision_saves_is_no_edit_of_the_models() -> None:
    told = [judged("harness", "elide", "applied"), judged("harness", "elide", "rejected")]
    assert metrics_of(told) == Metrics(elided_tokens=250)


def test_the_figures_of_a_part_and_the_rest_are_those_of_the_whole(tmp_path: Path) -> None:
    _, events = work(tmp_path, *SCRIPT)
    for cut in range(0, len(events), 5):
        collector = collected(events[:cut])
        for event in events[cut:]:
            collector = collector.after(event)
        assert collector == collected(events)
