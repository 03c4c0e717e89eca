"""`redraft replay` on recordings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from redraft.cli.app import app

RUN = CliRunner()


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Count."}]
    for number in range(12):
        call = {
            "id": f"call_{number}",
            "type": "function",
            "function": {"name": "bash", "arguments": json.dumps({"command": f"seq {number} 900"})},
        }
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {
                "role": "tool",
                "tool_call_id": f"call_{number}",
                "content": " ".join(map(str, range(number, 900))),
            },
        ]
    messages.append({"role": "assistant", "content": "Done."})
    path = tmp_path / "session.json"
    path.write_text(json.dumps(messages), encoding="utf-8")
    return path


def test_a_recording_is_priced_under_each_policy_and_says_what_that_means(recording: Path) -> None:
    run = RUN.invoke(app, ["replay", str(recording), "--budget", "16000"])
    assert run.exit_code == 0, run.output
    assert "append-only:" in run.stdout
    assert "observation-mask:" in run.stdout
    assert "fixed transcript" in run.stdout


def test_json_has_one_object_a_recording_and_masking_keeps_requests_small(recording: Path) -> None:
    run = RUN.invoke(app, ["replay", str(recording), str(recording), "--budget", "16000", "--json"])
    assert run.exit_code == 0, run.output
    found = json.loads(run.stdout)
    assert len(found) == 2
    by_policy = {row["policy"]: row for row in found[0]["policies"]}
    assert by_policy["append-only"]["over_limit"] > 0
    assert by_policy["observation-mask"]["peak"] < by_policy["append-only"]["peak"]
    assert by_policy["observation-mask"]["applied"] > 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["no-such-file.json"], "no-such-file.json"),
        (["{recording}", "--policy", "magic"], "magic"),
        (["{recording}", "--policy", ","], "--policy"),
        (["{recording}", "--prices", "{recording}"], "session.json"),
        (["{recording}", "--budget", "100"], "budget"),
    ],
)
def test_a_users_mistake_is_said_in_one_line_and_is_exit_code_2(
    recording: Path, arguments: list[str], said: str
) -> None:
    run = RUN.invoke(app, ["replay", *(word.format(recording=recording) for word in arguments)])
    assert run.exit_code == 2
    assert said in run.stderr
    assert "Traceback" not in run.stderr


def test_a_damaged_line_names_the_file_and_the_line_and_can_be_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    good = {
        "type": "user",
        "sessionId": "s",
        "uuid": "u1",
        "message": {"role": "user", "content": "Hello"},
    }
    path.write_text(json.dumps(good) + "\n{broken\n", encoding="utf-8")
    run = RUN.invoke(app, ["replay", str(path)])
    assert run.exit_code == 2
    assert "session.jsonl" in run.stderr
    assert "2" in run.stderr
