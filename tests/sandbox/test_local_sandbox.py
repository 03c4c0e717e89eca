"""Commands on this machine: state, time, output, leftovers."""

from __future__ import annotations

import os
import shlex
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from redraft.errors import SandboxError, SettingsError
from redraft.sandbox import LocalSandbox, Outcome, Sandbox


@pytest.fixture
def box(tmp_path: Path) -> Iterator[LocalSandbox]:
    with LocalSandbox(tmp_path, timeout=30) as sandbox:
        yield sandbox


def alive(process: int) -> bool:
    """Whether the process runs; a zombie, which nobody may have collected yet, does not."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def gone(process: int) -> bool:
    for _ in range(200):
        if not alive(process):
            return True
        time.sleep(0.02)
    return False


def test_the_local_sandbox_is_a_sandbox(box: LocalSandbox) -> None:
    as_protocol: Sandbox = box
    assert as_protocol.run("echo hi") == Outcome("hi\n", 0, timed_out=False, truncated_bytes=0)


# --- what lasts ---------------------------------------------------------------------------------


def test_the_first_command_runs_in_the_workdir(box: LocalSandbox, tmp_path: Path) -> None:
    assert box.run("pwd").output == f"{tmp_path}\n"


def test_the_working_directory_lasts(box: LocalSandbox, tmp_path: Path) -> None:
    box.run("mkdir -p a/b && cd a/b")
    assert box.run("pwd; cd - >/dev/null; pwd").output == f"{tmp_path}/a/b\n{tmp_path}\n"


def test_a_directory_reached_by_a_link_keeps_its_name(box: LocalSandbox, tmp_path: Path) -> None:
    box.run("mkdir real && ln -s real link && cd link")
    assert box.run("pwd").output == f"{tmp_path}/link\n"


def test_a_directory_name_with_a_newline_lasts(box: LocalSandbox, tmp_path: Path) -> None:
    box.run("mkdir $'odd\\nname\\n' && cd $'odd\\nname\\n'")
    assert box.run("pwd").output == f"{tmp_path}/odd\nname\n\n"


def test_exported_variables_last_and_others_do_not(box: LocalSandbox) -> None:
    box.run("export KEPT=1; lost=2")
    assert box.run("echo ${KEPT-none} ${lost-none}").output == "1 none\n"


def test_an_unset_variable_stays_unset(tmp_path: Path) -> None:
    with LocalSandbox(tmp_path, env={"GIVEN": "1"}) as box:
        assert box.run("echo $GIVEN; unset GIVEN").output == "1\n"
        assert box.run("echo ${GIVEN-none}").output == "none\n"


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30))
def test_any_value_lasts_unchanged(box: LocalSandbox, value: str) -> None:
    box.run(f"export VALUE={shlex.quote(value)}")
    assert box.run('printf %s "$VALUE" | od -An -v -tx1 | tr -d " \\n"').output == (
        value.encode().hex()
    )


def test_a_value_that_is_not_utf8_lasts(box: LocalSandbox) -> None:
    box.run("export RAW=$'\\xff\\xfe'")
    assert box.run('printf %s "$RAW" | od -An -tx1').output.split() == ["ff", "fe"]


def test_the_shell_level_does_not_grow(box: LocalSandbox) -> None:
    assert box.run("echo $SHLVL").output == box.run("echo $SHLVL").output


@pytest.mark.parametrize(
    "ending",
    [
        "exit 0",
        "set -e; false",
        "trap 'echo bye >/dev/null' EXIT",
        "kill -TERM $$",
        "set -u; echo $undefined_name",
        "set -o noclobber",
        "PATH=",
        "IFS=x",
        "printf() { :; }; local() { :; }",
        "exec >/dev/null 2>&1",
        "exec 1>&- 2>&-",
        "set -f -n",
    ],
)
def test_state_lasts_however_the_shell_ends_by_its_own_rules(
    box: LocalSandbox, ending: str
) -> None:
    box.run(f"mkdir d; cd d; export V=1\n{ending}")
    # `set -n` reads without running anything, the keeping of the state included.
    expected = "none" if "-n" in ending else "1"
    assert box.run("/bin/echo ${V-none}").output == f"{expected}\n"


@pytest.mark.parametrize("ending", ["exec true", "kill -9 $$", "exec /nowhere/at/all"])
def test_a_shell_that_is_replaced_or_killed_leaves_the_state_alone(
    box: LocalSandbox, ending: str, tmp_path: Path
) -> None:
    box.run("export V=before")
    box.run(f"mkdir d; cd d; export V=after; {ending}")
    assert box.run("echo $V; pwd").output == f"before\n{tmp_path}\n"


def test_a_directory_that_is_gone_sends_the_next_command_home(
    box: LocalSandbox, tmp_path: Path
) -> None:
    box.run("mkdir d; cd d; rmdir ../d")
    outcome = box.run("pwd")
    assert outcome.exit_code == 0
    assert outcome.output == (
        f"redraft: {tmp_path}/d cannot be entered any more; this command ran in {tmp_path}\n"
        f"{tmp_path}\n"
    )


# --- how commands end ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "code", "output"),
    [
        ("true", 0, ""),
        ("", 0, ""),
        ("# only a comment", 0, ""),
        ("exit 3", 3, ""),
        ("(exit 7)", 7, ""),
        ("echo a; false", 1, "a\n"),
        ("set -e; false; echo unreached", 1, ""),
        ("exec printf replaced", 0, "replaced"),
        ("kill -9 $$", 137, ""),
        ("kill -TERM $$", 143, ""),
        ("cat <<EOF\none $((1+1))\nEOF", 0, "one 2\n"),
        ("cat <<'EOF'\n$x\nEOF\n", 0, "$x\n"),
        ("printf no-newline", 0, "no-newline"),
        ("echo a \\\n  b", 0, "a b\n"),
        ("trap 'echo bye' EXIT; exit 4", 4, "bye\n"),
        ("trap 'echo bye >&2' EXIT", 0, "bye\n"),
        ("cat", 0, ""),
        ("read -r line || echo end", 0, "end\n"),
        ('echo "$#" "$0"', 0, "0 bash\n"),
        ("set -x; echo hi", 0, "++ echo hi\nhi\n"),
        ("if true; then echo 'it'\\''s'; fi", 0, "it's\n"),
    ],
)
def test_a_command_ends_as_it_would_in_a_terminal(
    box: LocalSandbox, command: str, code: int, output: str
) -> None:
    assert box.run(command) == Outcome(output, code, timed_out=False, truncated_bytes=0)


def test_a_syntax_error_is_told_and_the_next_command_runs(box: LocalSandbox) -> None:
    outcome = box.run("echo first\nif ) then")
    assert outcome.exit_code != 0
    assert "line 2" in outcome.output
    assert "syntax error" in outcome.output
    assert box.run("echo next").output == "next\n"


def test_messages_name_no_private_path(box: LocalSandbox) -> None:
    assert box.run("no_such_program").output == (
        "bash: line 1: no_such_program: command not found\n"
    )


def test_output_and_errors_keep_their_order(box: LocalSandbox) -> None:
    outcome = box.run("for i in 1 2 3; do echo out$i; echo err$i >&2; done")
    assert outcome.output == "out1\nerr1\nout2\nerr2\nout3\nerr3\n"


def test_a_command_with_a_nul_byte_is_answered_with_advice(box: LocalSandbox) -> None:
    outcome = box.run("echo a\0b")
    assert outcome.exit_code == 2
    assert "printf" in outcome.output


def test_a_command_longer_than_one_argument_may_be_still_runs(box: LocalSandbox) -> None:
    body = "x" * 300_000
    assert box.run(f"wc -c <<'EOF'\n{body}\nEOF").output.strip() == "300001"


def test_a_pipeline_cut_short_ends_quietly(box: LocalSandbox) -> None:
    assert box.run("yes | head -2") == Outcome("y\ny\n", 0, timed_out=False, truncated_bytes=0)


def test_output_of_a_process_substitution_is_not_lost(box: LocalSandbox) -> None:
    assert box.run("echo hi > >(cat)").output == "hi\n"


# --- time and size ------------------------------------------------------------------------------


def test_a_command_whose_time_is_up_is_stopped_with_its_children(
    box: LocalSandbox, tmp_path: Path
) -> None:
    outcome = box.run("echo begun; sleep 300 & echo $! > child; cd /; sleep 300", timeout=1.5)
    assert outcome.timed_out
    assert outcome.exit_code == 128 + signal.SIGTERM
    assert outcome.output.startswith("begun\n")
    assert gone(int((tmp_path / "child").read_text()))
    assert box.run("pwd").output == f"{tmp_path}\n"


def test_a_command_that_ignores_the_polite_signal_is_killed(
    box: LocalSandbox, tmp_path: Path
) -> None:
    outcome = box.run("trap '' TERM; echo $$ > shell; while :; do sleep 0.1; done", timeout=1.5)
    assert outcome.timed_out
    assert outcome.exit_code == 128 + signal.SIGKILL
    assert gone(int((tmp_path / "shell").read_text()))


@pytest.mark.skipif(sys.platform != "linux", reason="finds them under /proc")
def test_children_in_process_groups_of_their_own_are_stopped_too(
    box: LocalSandbox, tmp_path: Path
) -> None:
    box.run("set -m; sleep 300 & echo $! > child; wait", timeout=1.5)
    assert gone(int((tmp_path / "child").read_text()))


def test_the_sandbox_has_a_time_limit_of_its_own(tmp_path: Path) -> None:
    with LocalSandbox(tmp_path, timeout=0.2) as box:
        assert box.run("sleep 300").timed_out


def test_endless_output_is_capped_while_it_comes(tmp_path: Path) -> None:
    with LocalSandbox(tmp_path, output_cap=1000) as box:
        outcome = box.run("echo start; yes", timeout=1.5)
    assert outcome.timed_out
    assert outcome.output.startswith("start\ny\ny\n")
    assert outcome.truncated_bytes > 10_000
    assert f"{outcome.truncated_bytes} bytes" in outcome.output
    assert len(outcome.output) < 1100


def test_the_tail_of_a_long_output_is_kept(tmp_path: Path) -> None:
    with LocalSandbox(tmp_path, output_cap=100) as box:
        outcome = box.run("seq 100000")
    assert outcome.output.startswith("1\n2\n3\n")
    assert outcome.output.endswith("\n99999\n100000\n")


def test_output_that_is_not_utf8_is_replaced(box: LocalSandbox) -> None:
    assert box.run("printf 'a\\xff\\xc3\\xa9'").output == "a\ufffdé"


# --- leftovers ----------------------------------------------------------------------------------


def test_a_background_process_does_not_hold_up_the_answer(
    box: LocalSandbox, tmp_path: Path
) -> None:
    outcome = box.run("sleep 300 & echo $! > child; echo done", timeout=20)
    assert (outcome.output, outcome.timed_out) == ("done\n", False)
    assert alive(int((tmp_path / "child").read_text()))


def test_a_background_process_may_go_on_printing(box: LocalSandbox, tmp_path: Path) -> None:
    box.run("(while :; do echo noise; echo beat >> beats; sleep 0.02; done) & echo $! > child")
    before = len((tmp_path / "beats").read_text())
    for _ in range(500):
        if len((tmp_path / "beats").read_text()) > before + 50:
            break
        time.sleep(0.02)
    assert alive(int((tmp_path / "child").read_text()))
    assert len((tmp_path / "beats").read_text()) > before + 50


def test_a_background_process_that_never_stops_printing_is_cut_off(box: LocalSandbox) -> None:
    outcome = box.run("yes & true", timeout=20)
    assert not outcome.timed_out
    assert outcome.exit_code == 0


@pytest.mark.parametrize("redirect", ["", ">/dev/null 2>&1"])
def test_closing_ends_background_processes(tmp_path: Path, redirect: str) -> None:
    with LocalSandbox(tmp_path) as box:
        box.run(f"nohup sleep 300 {redirect} & echo $! > child")
        child = int((tmp_path / "child").read_text())
        assert alive(child)
        box.run("true")
        assert alive(child)
    assert gone(child)


def test_forgetting_the_sandbox_ends_them_too(tmp_path: Path) -> None:
    box = LocalSandbox(tmp_path)
    box.run("sleep 300 & echo $! > child")
    del box
    assert gone(int((tmp_path / "child").read_text()))


def test_private_files_are_removed_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    private = tmp_path / "private"
    private.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(private))
    box = LocalSandbox(tmp_path)
    box.run("true")
    assert len(list(private.iterdir())) == 1
    box.close()
    box.close()
    assert list(private.iterdir()) == []


# --- credentials --------------------------------------------------------------------------------


def test_commands_do_not_see_the_harness_credentials(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-harness")
    monkeypatch.setenv("PLAIN", "seen")
    with LocalSandbox(tmp_path) as box:
        assert box.run("echo ${OPENAI_API_KEY-none} $PLAIN").output == "none seen\n"
    with LocalSandbox(tmp_path, env={"OPENAI_API_KEY": "sk-asked"}) as box:
        assert box.run("echo $OPENAI_API_KEY").output == "sk-asked\n"


# --- threads and errors -------------------------------------------------------------------------


def test_threads_take_turns(box: LocalSandbox) -> None:
    box.run("echo 0 > count")
    step = "n=$(cat count); sleep 0.01; echo $((n+1)) > count"
    threads = [threading.Thread(target=box.run, args=(step,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert box.run("cat count").output == "8\n"


def test_closing_stops_a_command_that_runs_in_another_thread(tmp_path: Path) -> None:
    box = LocalSandbox(tmp_path)
    errors: list[BaseException] = []

    def run() -> None:
        try:
            box.run("touch begun; sleep 300")
        except SandboxError as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    while not (tmp_path / "begun").exists():
        time.sleep(0.01)
    box.close()
    thread.join(20)
    assert "closed while a command ran" in str(errors[0])


def test_a_closed_sandbox_says_so(tmp_path: Path) -> None:
    box = LocalSandbox(tmp_path)
    box.close()
    with pytest.raises(SandboxError, match="Make a new one"):
        box.run("true")


def test_an_interrupted_wait_kills_the_command(
    box: LocalSandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> bool:
        while not (tmp_path / "shell").exists():
            time.sleep(0.01)
        raise KeyboardInterrupt

    monkeypatch.setattr("redraft.sandbox.shells.follow", interrupt)
    with pytest.raises(KeyboardInterrupt):
        box.run("echo $$ > new; mv new shell; sleep 300")
    assert gone(int((tmp_path / "shell").read_text()))


def test_a_missing_workdir_is_told(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match=r"does not exist. Create it"):
        LocalSandbox(tmp_path / "nowhere")


def test_a_file_for_a_workdir_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SandboxError, match="is not a directory"):
        LocalSandbox(tmp_path / "file")


def test_a_workdir_that_this_user_may_not_enter_is_told(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o000)
    root = os.geteuid() == 0
    if root:
        for parent in (tmp_path, *tmp_path.parents[:3]):
            if parent.name.startswith("pytest-") or parent == tmp_path:
                parent.chmod(0o755)
        os.seteuid(65534)
    try:
        with pytest.raises(SandboxError, match=r"cannot be (read and entered|used).*another"):
            LocalSandbox(closed)
    finally:
        if root:
            os.seteuid(0)


def test_a_workdir_that_vanishes_is_told(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    with LocalSandbox(place) as box:
        place.rmdir()
        with pytest.raises(SandboxError, match="does not exist"):
            box.run("true")
        place.mkdir()
        assert box.run("pwd").output == f"{place}\n"


def test_a_missing_bash_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SandboxError, match="Install bash"):
        LocalSandbox(tmp_path)


def test_an_environment_too_large_to_start_a_shell_is_told(box: LocalSandbox) -> None:
    box.run("export HUGE=$(head -c 200000 /dev/zero | tr '\\0' x)")
    with pytest.raises(SandboxError, match="make a new sandbox"):
        box.run("true")


@pytest.mark.parametrize("timeout", [0, -1, float("nan")])
def test_a_time_limit_must_be_positive(box: LocalSandbox, timeout: float) -> None:
    with pytest.raises(SettingsError, match="above zero"):
        box.run("true", timeout=timeout)


def test_an_output_cap_must_not_be_negative(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="output_cap"):
        LocalSandbox(tmp_path, output_cap=-1)
