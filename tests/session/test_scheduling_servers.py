"""Policies over a real socket: servers that refuse what their provider refuses take every request."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest
from format_world import FORMATS, Format
from session_world import balanced
from test_dialects_servers import PATHS, SERVERS, Script, bash, calling

from redraft import Session, Settings
from redraft.events import EditJudged, PolicyActed
from redraft.testing import FakeAnthropic

OUTPUT = "nothing new in this line\n" * 60
ROUNDS = 14
KINDS = {**SERVERS, "anthropic, bound": lambda player: FakeAnthropic(player, bound=True)}


def post(server: Any, form: Format, request: dict[str, Any], session: Session) -> Any:
    """Send a request as a client that speaks JSON itself."""
    about = {} if form.name == "gemini" else {"model": form.model}
    headers = {"Authorization": "Bearer none", "anthropic-version": "2023-06-01"}
    body = {name: value for name, value in request.items() if name != "extra_headers"}
    url = server.base_url + PATHS[form.name]
    response = httpx2.post(url, json={**about, **body}, headers={**headers, **session.headers})
    assert response.status_code == 200, response.text
    return response.json()


@pytest.mark.parametrize("policy", ["manager", "threshold-summary"])
@pytest.mark.parametrize("name", sorted(KINDS))
def test_every_request_of_a_run_under_a_policy_is_taken(name: str, policy: str) -> None:
    form = FORMATS[name.partition(",")[0]]()
    if "bound" in name:
        form.model = "claude-opus-5-5"  # type: ignore[misc]
    events: list[Any] = []
    session = form.session(
        interface="none",
        budget=9_000,
        settings=Settings(output_reserve=500),
        policy=policy,
        on_event=events.append,
    )
    turns = range(2 * ROUNDS)
    answers = [calling(at, *(() if at % 7 == 6 else (bash(f"look {at}"),))) for at in turns]
    script = Script([lambda answer=answer: answer for answer in answers])  # type: ignore[misc]
    with KINDS[name](script) as server, session:
        for _ in range(len(turns) // 7):
            while request := session.request():
                with session.answer() as answer:
                    answer(post(server, form, request, session))
                with session.round() as now:
                    for call in now.calls:
                        now.result(call, OUTPUT)
            session.append(form.user("And on."))
        assert balanced(session)
        assert len(server.bodies) == len(turns)
    acted = [event for event in events if isinstance(event, PolicyActed)]
    assert acted
    judged = {event.status for event in events if isinstance(event, EditJudged)}
    assert "rejected" not in judged
