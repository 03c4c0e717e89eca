"""What holds in every sandbox: state, ends, time, output."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from contained_world import needs_bubblewrap

from redraft.errors import SandboxError, SettingsError
from redraft.sandbox import (
    BubblewrapSandbox,
    ContainerSandbox,
    LocalSandbox,
    Outcome,
    Sandbox,
)

STAND_IN = [sys.executable, str(Path(__file__).with_name("stand_ins.py"))]
KINDS = [
    "local",
    pytest.param("bubblewrap", marks=needs_bubblewrap),
    "exec",
    "run",
    "ssh",
]


def make(kind: str, workdir: Path, **options: object) -> Sandbox:
    if kind == "local":
        return LocalSandbox(workdir, **options)  # type: ignore[arg-type]
    if kind == "bubblewrap":
        return BubblewrapSandbox(workdir, **options)  # type: ignore[arg-type]
    command = [*STAND_IN, kind, "bash"]
    return ContainerSandbox(command, workdir=str(workdir), **options)  # type: ignore[arg-type]


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def any_box(kind: str, workdir: Path) -> Iterator[Sandbox]:
    with make(kind, workdir, timeout=30) as sandbox:
        yield sandbox


def ended(code: int, output: str) -> Outcome:
    return Outcome(output, code, timed_out=False, truncated_bytes=0)


def test_the_working_directory_and_exported_variables_last(any_box: Sandbox, workdir: Path) -> None:
    assert any_box.run("pwd") == ended(0, f"{workdir}\n")
    any_box.run("mkdir -p a/'b c' && cd a/'b c'; export KEPT=$'1\\n\"2\\''; lost=2; f() { :; }")
    assert any_box.run('pwd; echo "$KEPT"; echo ${lost-none}; f').output == (
        f"{workdir}/a/b c\n1\n\"2'\nnone\nbash: line 1: f: command not found\n"
    )
    any_box.run("unset KEPT; cd - >/dev/null")
    assert any_box.run("echo ${KEPT-none}; pwd").output == f"none\n{workdir}\n"


def test_bytes_that_are_no_text_last(any_box: Sandbox) -> None:
    any_box.run("mkdir $'d\\xff\\n' && cd $'d\\xff\\n' && export RAW=$'\\xff\\xfe'")
    assert any_box.run('printf %s "$RAW${PWD##*/}" | od -An -tx1').output.split() == [
        *("ff", "fe", "64", "ff", "0a"),
    ]


def test_a_directory_that_is_gone_sends_the_next_command_home(
    any_box: Sandbox, workdir: Path
) -> None:
    any_box.run("mkdir d; cd d; rmdir ../d")
    gone = f"redraft: {workdir}/d cannot be entered any more; this command ran in {workdir}\n"
    assert any_box.run("pwd") == ended(0, f"{gone}{workdir}\n")
    assert any_box.run("pwd") == ended(0, f"{workdir}\n")


ENDS = [
    ("", 0, ""),
    ("exit 3", 3, ""),
    ("set -e; false; echo unreached", 1, ""),
    ("exec printf replaced", 0, "replaced"),
    ("kill -9 $$", 137, ""),
    ("kill -TERM $$", 143, ""),
    ("cat <<'EOF'\n$x\nEOF\n", 0, "$x\n"),
    ("printf no-newline", 0, "no-newline"),
    ("trap 'echo bye' EXIT; exit 4", 4, "bye\n"),
    ("cat; read -r line || echo end", 0, "end\n"),
    ('echo "$#" "$0" "$SHLVL"', 0, "0 bash 1\n"),
    ("for i in 1 2; do echo out$i; echo err$i >&2; done", 0, "out1\nerr1\nout2\nerr2\n"),
    ("no_such_program", 127, "bash: line 1: no_such_program: command not found\n"),
    ("echo hi > >(sleep 0.05; cat)", 0, "hi\n"),
    ("printf 'a\\xff\\xc3\\xa9'", 0, "a\ufffdé"),
    ("old=$PATH; PATH=; echo still", 0, "still\n"),
    ("PATH=/usr/bin:/bin", 0, ""),
    ("exec 3>&- 4>&- 5>&- 9>&-; echo closed", 0, "closed\n"),
    ("exit() { :; }; printf() { :; }; cd() { :; }", 0, ""),
]


def test_commands_end_as_in_a_terminal(any_box: Sandbox) -> None:
    for command, code, output in ENDS:
        assert any_box.run(command) == ended(code, output), command
    assert any_box.run("/bin/echo next") == ended(0, "next\n")


def test_a_command_that_is_longer_than_an_argument_may_be_runs(any_box: Sandbox) -> None:
    body = "x" * 300_000
    assert any_box.run(f"wc -c <<'EOF'\n{body}\nEOF").output.strip() == "300001"


def test_a_nul_byte_is_answered_and_a_surrogate_replaced(any_box: Sandbox) -> None:
    assert any_box.run("echo a\0b").exit_code == 2
    assert any_box.run("echo '\ud99c'").output == "\ufffd\n"


def test_a_command_whose_time_is_up_is_stopped(any_box: Sandbox, workdir: Path) -> None:
    outcome = any_box.run("export LATE=1; echo begun; cd /; sleep 300", timeout=2)
    assert outcome == Outcome("begun\n", 128 + signal.SIGTERM, timed_out=True, truncated_bytes=0)
    assert any_box.run("pwd; echo ${LATE-none}").output == f"{workdir}\nnone\n"


def test_a_command_that_is_deaf_is_killed(any_box: Sandbox) -> None:
    outcome = any_box.run("trap '' TERM; echo begun; while :; do sleep 0.1; done", timeout=2)
    assert (outcome.output, outcome.timed_out) == ("begun\n", True)
    assert outcome.exit_code == 128 + signal.SIGKILL
    assert any_box.run("echo next") == ended(0, "next\n")


def test_the_trap_of_a_command_whose_time_is_up_still_runs(any_box: Sandbox, workdir: Path) -> None:
    any_box.run("trap 'echo cleaned > trace' EXIT; sleep 300", timeout=2)
    assert (workdir / "trace").read_text() == "cleaned\n"


def test_long_output_keeps_its_head_and_tail(kind: str, workdir: Path) -> None:
    with make(kind, workdir, output_cap=100) as box:
        outcome = box.run("seq 100000")
    assert outcome.output.startswith("1\n2\n3\n")
    assert outcome.output.endswith("\n99999\n100000\n")
    assert outcome.truncated_bytes == 588_895 - 100


def test_a_background_process_does_not_hold_up_the_answer(any_box: Sandbox) -> None:
    outcome = any_box.run("sleep 300 & echo done", timeout=20)
    assert outcome.output.startswith("done\n")
    assert (outcome.exit_code, outcome.timed_out) == (0, False)


def test_what_is_said_of_background_processes_is_so(any_box: Sandbox, workdir: Path) -> None:
    any_box.run("(while ! [ -e go ]; do sleep 0.05; done; : >alive) >/dev/null 2>&1 &")
    tries = 200 if any_box.background else 10  # what has ended will not come back
    any_box.run(f": >go; for try in $(seq {tries}); do [ -e alive ] && break; sleep 0.1; done")
    assert (workdir / "alive").exists() == any_box.background


def test_variables_can_be_set(kind: str, workdir: Path) -> None:
    with make(kind, workdir, env={"A_TOKEN": "x 'y'"}) as box:
        assert box.run('echo "$A_TOKEN"').output == "x 'y'\n"
        assert box.run('echo "$A_TOKEN"').output == "x 'y'\n"


def test_a_closed_sandbox_says_so(kind: str, workdir: Path) -> None:
    box = make(kind, workdir)
    box.close()
    box.close()
    with pytest.raises(SandboxError, match="Make a new one"):
        box.run("true")


def test_numbers_out_of_range_are_refused(kind: str, workdir: Path) -> None:
    with pytest.raises(SettingsError, match="output_cap"):
        make(kind, workdir, output_cap=-1)
    with pytest.raises(SettingsError, match="timeout"):
        make(kind, workdir, timeout=0)
