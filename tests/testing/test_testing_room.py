"""The room of test doubles: what it needs, and that its checks can say no."""

from __future__ import annotations

import random
import subprocess
import sys

import pytest

from redraft.testing import complaints
from redraft.testing.edits import KINDS, random_script
from redraft.testing.file_edits import FILE_EDITS, rewritten
from redraft.testing.judge import Judge
from redraft.testing.replies import reply
from redraft.testing.trials import door_trial, list_trial

FILE = """[[CTX_TURN 2 role=assistant]]
looking
[[CTX_CALL a bash]]
{"command": "ls"}
[[CTX_CALL b bash]]
{}

[[CTX_TURN 3 role=tool]]
out
[[CTX_PART 1 image png 1x1]]

[[CTX_END]]
"""


def test_without_hypothesis_all_but_the_strategies_can_be_imported() -> None:
    script = (
        "import sys; sys.modules['hypothesis'] = None\n"
        "import redraft.testing, redraft.testing.rehearsal, redraft.testing.trials\n"
        "try: import redraft.testing.strategies\n"
        "except ImportError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert "pip install hypothesis" in done.stdout


def test_the_same_chance_gives_the_same_script() -> None:
    one, other = (random_script(random.Random(5), 20) for _ in range(2))
    assert one == other
    assert {step.kind for step in one} <= set(KINDS)


@pytest.mark.parametrize("which", range(len(FILE_EDITS)), ids=lambda at: FILE_EDITS[at].__name__)
def test_every_edit_of_the_file_changes_it_somewhere(which: int) -> None:
    texts = {rewritten(FILE, which, at, to, "new") for at in (0, 1) for to in range(4)}
    assert texts - {FILE}
    assert all(isinstance(text, str) for text in texts)


def test_a_file_without_blocks_gains_the_text_at_its_end() -> None:
    assert rewritten("[[CTX_END]]\n", 0, 3, 1, "note").endswith("note")


@pytest.mark.parametrize(
    ("dialect", "body"),
    [
        ("anthropic", {"messages": [{"role": "user", "content": " "}]}),
        ("gemini", {"contents": [{"role": "user", "parts": []}]}),
        ("openai-chat", {"messages": [{"role": "assistant", "content": None}]}),
        ("openai-responses", {"input": [{"type": "reasoning", "id": "rs_1", "summary": []}]}),
    ],
)
def test_each_provider_can_say_no(dialect: str, body: dict[str, object]) -> None:
    assert complaints(dialect, body)


def test_a_judge_remembers_what_was_made_where() -> None:
    judge = Judge("anthropic")
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "go"}]}
    message = {"reasoning_content": "hm", "content": "done"}
    judge.answered(body, reply("anthropic", message, 1))
    said = {"role": "assistant", "content": reply("anthropic", message, 1)["content"]}
    user = {"role": "user", "content": "and?"}
    same = [*body["messages"], said, user]  # type: ignore[misc]
    assert judge.complaints({**body, "messages": same}) == []
    other = [{"role": "user", "content": "stop"}, said, user]
    assert "different conversation" in judge.complaints({**body, "messages": other})[0]


def test_a_trial_tells_what_is_refused_of_a_list_that_nobody_repaired(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without repairs the trials find something: they can fail."""
    monkeypatch.setattr("redraft.testing.trials.repair", lambda messages, profile: messages)
    orphan = {"role": "tool", "tool_call_id": "x", "content": "out"}
    assert list_trial("openai-chat", [orphan])
    user = {"role": "user", "content": "go"}
    assert door_trial("openai-chat", {"messages": [user, orphan]}, [])


def test_an_unknown_format_has_no_reply() -> None:
    with pytest.raises(ValueError, match="no wire format is named 'morse'"):
        reply("morse", {"content": "x"}, 1)
