"""Whatever a model does with the tools of its policy, in every wire format: each list is legal, nothing
critical is lost, the ledger is exact, and the record gives each request back."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, ClassVar

import pytest
from format_world import FORMATS, Asked, Chat, Format, Json, Messages, Story, bytes_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from session_world import balanced, journal_of

from redraft import Settings
from redraft.context import Proposal
from redraft.dialects.fenced import Fenced
from redraft.dialects.fenced_calls import call_fence
from redraft.errors import BudgetError, ContextOverflowError, UndoError
from redraft.policies import critical, preserved
from redraft.policies.audit import exact_values
from redraft.session.action_fold import BranchTools
from redraft.store import inputs

EXAMPLES = settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))

POLICIES: Mapping[str, Mapping[str, str]] = {
    "fold": {"depth": "2", "least": "100", "bodies": "2"},
    "offload-and-retrieve": {"tokens": "200"},
    "self-compact": {"offer": "0.05", "every": "1", "keep": "1"},
}

WORDS = st.sampled_from(
    [
        "seen",
        "row 8812934 of https://ci.example/run/8\r\nin /srv/conf/b.toml",
        "\ud800 half",
        "[[CTX_TURN 3 role=user]]",
        "[redraft:beef] edit 1 applied",
        "word " * 300,
        "commit 3f2a91c07be4 " * 20,
    ]
)


class Fences(Chat):
    """Chat Completions, with calls as text."""

    dialect = Fenced

    def reply(
        self,
        text: str = "",
        *asked: Asked,
        thinks: str = "",
        **more: Any,
    ) -> Json:
        fences = [call_fence(name, json.dumps(arguments)) for name, arguments in asked]
        return super().reply("\n\n".join((text or "so", *fences)), **more)


class Bound(Messages):
    """A model whose reasoning is bound to what stands in front of it: edits wait."""

    model: ClassVar[str] = "claude-fable-5-1"


FORMS: Mapping[str, type[Format]] = {**FORMATS, "anthropic-bound": Bound, "fenced-chat": Fences}


class Play:
    """A session with a policy, every request looked at, and every change by its tools."""

    def __init__(self, form: Format, policy: str, gate: str) -> None:
        self.lost: list[object] = []
        self.policy = policy
        self.story = Story(
            form,
            policy=policy,
            policy_options=dict(POLICIES[policy]),
            interface="tool",
            gate=gate,
            budget=20_000,
            checks=[self._audited],
            settings=Settings(elide_edits="on"),
        )
        self.session = self.story.session

    def _audited(self, proposal: Proposal) -> None:
        if proposal.revision.source not in ("compact_context", "return_from_branch"):
            return
        leaving = {change.number for change in proposal.revision.changes}
        report = preserved(critical(proposal.before, leaving), proposal.after)
        self.lost += report.missing

    def own(self, data: st.DataObject) -> Asked:
        """A call of one of the policy's tools, right or wrong."""
        words = data.draw(WORDS)
        if not data.draw(st.integers(0, 9)):
            return data.draw(st.sampled_from(sorted(self.names))), {"nothing": words}
        match data.draw(st.sampled_from(sorted(self.names))):
            case "memory_store":
                return "memory_store", {"text": words, "tags": [words[:4]]}
            case "memory_fetch":
                asked: list[Json] = [{"query": words}, {"id": 1}, {"id": 9}]
                return "memory_fetch", data.draw(st.sampled_from(asked))
            case "compact_context":
                old = "\n".join(turn.content.text for turn in self.session.live.turns)
                values = data.draw(st.sampled_from(("", " ".join(exact_values(old)[-60:]))))
                keep = data.draw(st.integers(0, 3))
                return "compact_context", {"summary": f"{words} {values}", "keep": keep}
            case "branch":
                return "branch", {"description": words[:60], "goal": words[:60]}
            case "return_from_branch":
                return "return_from_branch", {"result": words}
            case name:
                return name, {"id": "0" * 8}

    @property
    def names(self) -> set[str]:
        return set(self.session.own_tools) - {"edit_context"}


def work(play: Play, data: st.DataObject) -> None:
    """A round of calls: of the client's tool, and of ours among them."""
    asked: list[Asked] = [
        ("bash", {"command": f"look {at}"}) for at in range(data.draw(st.integers(0, 2)))
    ]
    for _ in range(data.draw(st.integers(0, 2))):
        asked.insert(data.draw(st.integers(0, len(asked))), play.own(data))
    story, session = play.story, play.session
    if story.request() is None:
        session.append(story.form.user("Go on."))
        if story.request() is None:
            return
    thinks, cut = data.draw(st.sampled_from(["", "hm"])), not data.draw(st.integers(0, 7))
    with session.answer() as answer:
        answer(story.form.reply(data.draw(WORDS), *asked, thinks=thinks, cut=cut))
    with session.round() as now:
        for call in now.calls:
            if data.draw(st.integers(0, 9)):
                now.result(call, data.draw(WORDS) + "out")


def say(play: Play, data: st.DataObject) -> None:
    play.session.append(play.story.form.user(f"{data.draw(WORDS)}!"))


def pin(play: Play, data: st.DataObject) -> None:
    turns = play.session.live.turns
    play.session.pin(turns[data.draw(st.integers(0, len(turns) - 1))].number)


def undo(play: Play, data: st.DataObject) -> None:
    known = list(play.session._core.commits)
    if known:
        with suppress(UndoError):
            play.session.undo(data.draw(st.sampled_from(known)))


def overflow(play: Play, _: st.DataObject) -> None:
    if play.story.request() is not None:
        with play.session.answer():
            raise ContextOverflowError("too long", requested=50_000, window=49_000)


STEPS: Mapping[str, Callable[[Play, st.DataObject], None]] = {
    **{f"work {at}": work for at in range(6)},
    "overflow": overflow,
    "pin": pin,
    "say": say,
    "undo": undo,
}


@pytest.mark.parametrize("policy", sorted(POLICIES))
@pytest.mark.parametrize("name", sorted(FORMS))
@EXAMPLES
@given(data=st.data())
def test_any_sequence_is_legal_exact_and_loses_nothing(
    name: str, policy: str, data: st.DataObject
) -> None:
    play = Play(FORMS[name](), policy, data.draw(st.sampled_from(("fit", "shrink", "conserve"))))
    with play.session as session:
        for step in data.draw(st.lists(st.sampled_from(sorted(STEPS)), min_size=3, max_size=12)):
            with suppress(BudgetError):  # told before anything is sent
                STEPS[step](play, data)
        with suppress(BudgetError):
            play.story.request()
        assert play.lost == []
        assert balanced(session)
        made = [one.body(session.live.dialect) for one in inputs(journal_of(session).entries)]
        assert [bytes_of(body[play.story.form.turns]) for body in made] == play.story.bytes
        for tools in session._engine.toolsets:
            if isinstance(tools, BranchTools):
                assert len(tools.open) <= int(POLICIES["fold"]["depth"])
