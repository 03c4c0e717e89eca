"""Whatever is done to a session, in any wire format: each list that goes out is legal, the ledger adds
up, and the record gives each request back byte for byte."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import pytest
from format_world import FORMATS, Client, Format, Story, bytes_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from session_world import balanced, journal_of

from redraft import Session, Settings
from redraft.dialects import check
from redraft.errors import BudgetError, ContextOverflowError, UndoError
from redraft.store import inputs

WORDS = st.sampled_from(
    ["", "seen", "line\r\nline", "\ud800 half", "[[CTX_TURN 3 role=user]]", "x" * 900]
)
EXAMPLES = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))


def rounds(story: Story, data: st.DataObject) -> None:
    """Parallel calls, of the model's own and of redraft's, some of them cut off."""
    form, session = story.form, story.session
    asked: list[tuple[str, dict[str, Any]]] = [
        ("bash", {"command": f"look {at}"}) for at in range(data.draw(st.integers(0, 3)))
    ]
    if data.draw(st.booleans()):
        asked.insert(data.draw(st.integers(0, len(asked))), ("edit_context", edits(session, data)))
    thinks, cut = data.draw(st.sampled_from(["", "hm"])), data.draw(st.booleans())
    if story.request() is None:
        session.append(form.user("Go on."))
        if story.request() is None:  # what must be sent is all there is room for
            return
    with session.answer() as answer:
        answer(form.reply(data.draw(WORDS), *asked, thinks=thinks, cut=cut))
    with session.round() as now:
        for call in now.calls:
            if data.draw(st.integers(0, 9)):
                now.result(call, data.draw(WORDS) + "out")


def edits(session: Session, data: st.DataObject) -> dict[str, Any]:
    numbers = [turn.number for turn in session.live.editable()] or [1]
    count = data.draw(st.integers(1, 3))
    return {
        "edits": [
            {"turn": data.draw(st.sampled_from(numbers)), "text": data.draw(WORDS)}
            for _ in range(count)
        ]
    }


def edit(story: Story, data: st.DataObject) -> None:
    story.session.edit_context(**edits(story.session, data))


def merge(story: Story, data: st.DataObject) -> None:
    numbers = [turn.number for turn in story.session.live.editable()]
    if len(numbers) > 1:
        first = data.draw(st.integers(0, len(numbers) - 2))
        last = data.draw(st.integers(first, len(numbers) - 1))
        change = {"turn": numbers[first], "through": numbers[last], "text": "a note"}
        story.session.edit_context(edits=[change])


def say(story: Story, data: st.DataObject) -> None:
    story.session.append(story.form.user(data.draw(WORDS) + "!"))


def overflow(story: Story, _: st.DataObject) -> None:
    if story.request() is not None:
        with story.session.answer():
            raise ContextOverflowError("too long", requested=50_000, window=49_000)


def undo(story: Story, data: st.DataObject) -> None:
    known = list(story.session._core.commits)
    if known:
        with suppress(UndoError):
            story.session.undo(data.draw(st.sampled_from(known)))


STEPS: Mapping[str, Callable[[Story, st.DataObject], None]] = {
    "rounds": rounds,
    "more rounds": rounds,
    "edit": edit,
    "merge": merge,
    "say": say,
    "overflow": overflow,
    "undo": undo,
}


@pytest.mark.parametrize("name", list(FORMATS))
@EXAMPLES
@given(data=st.data())
def test_every_request_is_legal_and_recorded(name: str, data: st.DataObject) -> None:
    story = Story(FORMATS[name](), interface="tool", settings=Settings(elide_edits="on"))
    with story.session as session:
        for step in data.draw(st.lists(st.sampled_from(list(STEPS)), min_size=3, max_size=12)):
            with suppress(BudgetError):  # told before anything is sent
                STEPS[step](story, data)
        with suppress(BudgetError):
            story.request()
        assert balanced(session)
        made = [one.body(session.live.dialect) for one in inputs(journal_of(session).entries)]
        assert [bytes_of(body[story.form.turns]) for body in made] == story.bytes


@pytest.mark.parametrize("name", list(FORMATS))
@EXAMPLES
@given(data=st.data())
def test_what_a_framework_is_given_is_legal(name: str, data: st.DataObject) -> None:
    form: Format = FORMATS[name]()
    with Session([], dialect=form.dialect(), model=form.model, interface="tool") as session:
        client = Client(form, session)
        for at in range(data.draw(st.integers(1, 6))):
            asked = [("bash", {"command": "ls"})] * data.draw(st.integers(0, 3))
            response = form.reply(data.draw(WORDS), *asked, thinks=data.draw(WORDS))
            client.history += form.kept(response)
            if asked:
                client.history += form.results(response, *(data.draw(WORDS) for _ in asked))
            if not asked or data.draw(st.booleans()):
                client.history.append(form.user(f"and {at}"))
            client.send()
            if data.draw(st.booleans()):
                session.edit_context(**edits(session, data))
                request = client.send()
                assert check(request[form.turns], form.profile) == []
        assert balanced(session)
