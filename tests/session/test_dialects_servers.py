"""Whole runs over a real socket, against servers that refuse what their provider would refuse."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import httpx2
import pytest
from format_world import FORMATS, Format
from session_world import balanced, shell, statuses

from redraft.testing import (
    FakeAnthropic,
    FakeGemini,
    FakeResponses,
    FakeServer,
    refused_by_openai,
)

Json = dict[str, Any]
Asked = tuple[str, Json]
Player = Callable[[Mapping[str, Any]], Mapping[str, Any]]

SERVERS: Mapping[str, Callable[[Player], Any]] = {
    "openai-chat": lambda player: FakeServer(player, check=refused_by_openai),
    "openai-responses": FakeResponses,
    # (What binds thinking to its prefix is another matter: see the tests of bound reasoning.)
    "anthropic": lambda player: FakeAnthropic(player, bound=False),
    "gemini": FakeGemini,
}
PATHS = {
    "openai-chat": "/chat/completions",
    "openai-responses": "/responses",
    "anthropic": "/v1/messages",
    "gemini": "/v1beta/models/gemini-2.5-pro:generateContent",
}


def calling(at: int, *asked: Asked) -> Json:
    """An answer of a player: reasoning, words, and parallel calls."""
    calls = [
        {
            "id": f"call_{at}_{place}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        for place, (name, arguments) in enumerate(asked)
    ]
    message = {"role": "assistant", "content": f"step {at}", "reasoning_content": f"thought {at}"}
    return {**message, "tool_calls": calls} if calls else message


def bash(command: str) -> Asked:
    return "bash", {"command": command}


class Script:
    """Plays one answer after the other; those that depend on the context are made when their turn comes."""

    def __init__(self, answers: Sequence[Callable[[], Json]]) -> None:
        self.answers = iter(answers)

    def __call__(self, _: Mapping[str, Any]) -> Json:
        return next(self.answers)()


def post(server: Any, form: Format, request: Json) -> Any:
    about = {} if form.name == "gemini" else {"model": form.model}
    headers = {"Authorization": "Bearer none", "anthropic-version": "2023-06-01"}
    url = server.base_url + PATHS[form.name]
    response = httpx2.post(url, json={**about, **request}, headers=headers)
    assert response.status_code == 200, response.text
    return response.json()


@pytest.mark.parametrize("name", list(FORMATS))
def test_every_request_of_a_run_with_edits_is_taken(name: str) -> None:
    form = FORMATS[name]()
    session = form.session(interface="both", budget=40_000)

    def number(words: str) -> int:
        return next(turn.number for turn in session.live.turns if words in turn.content.text)

    def edit(words: str, text: str, through: int = 0) -> Json:
        turn = number(words)
        more = {"through": turn + through} if through else {}
        return {"edits": [{"turn": turn, "text": text, **more}]}

    script = Script(
        [
            lambda: calling(0, bash("seq 1 300"), bash("echo zero")),
            lambda: calling(1, bash("seq 1 200"), bash("false"), bash("echo one")),
            lambda: calling(2, bash("echo two")),
            # A result goes, in a round of two calls.
            lambda: calling(3, ("edit_context", edit("\n200\n", "")), bash("echo three")),
            # An early round becomes a note.
            lambda: calling(4, ("edit_context", edit("step 0", "Nothing there.", 2))),
            lambda: calling(
                5, bash('echo "A note by the file." >> "$REDRAFT_CONTEXT_FILE"'), bash("echo five")
            ),
            lambda: calling(6),
            lambda: calling(7, bash("echo seven")),
            lambda: calling(8),
        ]
    )
    with SERVERS[name](script) as server, session:
        for words in ("And now?", ""):
            while request := session.request():
                with session.answer() as answer:
                    answer(post(server, form, request))
                with session.round() as now:
                    for call in now.calls:
                        output, code = shell(call["command"], session.env)
                        now.result(call, output, exit_code=code)
            if words:
                session.undo(2)
                session.append(form.user(words))
        assert next(script.answers, None) is None
        assert len(server.bodies) == 9
        assert not {"rejected", "no-match", "failed"} & set(statuses(session))
        assert number("step 0")
        assert number("A note by the file.")
        assert balanced(session)
