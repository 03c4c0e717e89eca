"""`redraft run --telemetry`: spans and metrics where it is asked for, and no cost where it is not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from cli_world import process, redraft, run, script

from redraft.cli.telemetry import provider_name

LOCAL = ("--sandbox", "local")


@pytest.fixture(autouse=True)
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_off_it_is_never_imported() -> None:
    code = (
        "import sys, redraft, redraft.events, redraft.agent, redraft.cli.app, redraft.cli.job\n"
        "print([name for name in sys.modules if name.startswith('opentelemetry')])\n"
        "print('redraft.events.otel' in sys.modules, 'redraft.cli.telemetry' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\nFalse False\n"


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with script("ls") as server:
        done = run(server, *LOCAL, "--telemetry")
        assert done.code == 2
        assert "OpenTelemetry is not installed; run pip install 'redraft[otel]'" in done.err
        assert server.requests == []


def test_an_exporter_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("opentelemetry.sdk")
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "pigeon")
    with script("ls") as server:
        done = run(server, *LOCAL, "--telemetry")
        assert done.code == 2
        assert "no exporter 'pigeon' for traces is installed" in done.err


@pytest.mark.parametrize("how", ["option", "variable"])
def test_a_run_is_told_with_its_calls_and_commands(how: str, tmp_path: Path) -> None:
    pytest.importorskip("opentelemetry.sdk")
    # A process of its own: the providers' threads end with it.
    with script("echo secret") as server:
        env = {
            "OPENAI_API_KEY": "k",
            "OTEL_TRACES_EXPORTER": "console",
            "OTEL_METRICS_EXPORTER": "console",
            **({"REDRAFT_TELEMETRY": "otel"} if how == "variable" else {}),
        }
        options = ["--telemetry"] if how == "option" else []
        where = ["--base-url", server.base_url, "--retries", "0", "--budget", "12000"]
        with process(
            "run", "Do it.", "--model", "test-model", *where, *LOCAL, *options, env=env
        ) as running:
            out, err = running.communicate(timeout=60)
    told = err.decode()
    assert running.returncode == 0, told
    assert out == b"done\n"
    for name in (
        '"name": "invoke_agent redraft"',
        '"name": "chat test-model"',
        '"name": "execute_tool bash"',
        '"gen_ai.operation.name": "chat"',
        '"gen_ai.provider.name": "127.0.0.1"',
        '"gen_ai.conversation.id":',
        '"service.name": "redraft"',
        "gen_ai.client.token.usage",
    ):
        assert name in told, name
    spans = told[told.index('"name": "invoke_agent') - 2000 :]
    assert "gen_ai.tool.call.arguments" not in spans


def test_a_run_that_is_taken_up_goes_on_as_it_was_told(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("opentelemetry.sdk")
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "none")
    monkeypatch.setenv("OTEL_METRICS_EXPORTER", "none")
    again = ("resume", "last", "--retries", "0", "--say", "More.")
    key = {"OPENAI_API_KEY": "k"}
    with script() as server:
        assert run(server, *LOCAL, "--telemetry").code == 0
        assert redraft(*again, env=key).code == 0
        monkeypatch.setitem(sys.modules, "opentelemetry", None)
        assert redraft(*again, env=key).code == 2
        assert redraft(*again, "--no-telemetry", env=key).code == 0


def test_the_provider_is_named_by_its_host() -> None:
    assert provider_name(None) == "openai"
    assert provider_name("https://api.openai.com/v1") == "openai"
    assert provider_name("http://gpu.example:8000/v1") == "gpu.example"
