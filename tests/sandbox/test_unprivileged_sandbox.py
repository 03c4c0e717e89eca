"""An ordinary user is contained as root is. Where root runs the tests, they give up its privileges."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from contained_world import needs_bubblewrap, needs_root

pytestmark = [needs_bubblewrap, needs_root]

NOBODY = 65534
SOURCES = Path(__file__).parents[2] / "src"
PACKAGES = Path(pytest.__file__).parents[1]
SCRIPT = """
import json, sys
from pathlib import Path
from redraft.sandbox import BubblewrapSandbox, Limits, available

assert available() is None, available()
with BubblewrapSandbox(Path(sys.argv[1]), limits=Limits(processes=60), timeout=20) as box:
    print(json.dumps([[o.output, o.exit_code] for o in map(box.run, json.load(sys.stdin))]))
"""


def can_run(python: str) -> bool:
    check = "import sys, redraft.sandbox; assert sys.version_info >= (3, 11)"
    try:
        done = subprocess.run(
            [python, "-c", check], capture_output=True, check=False, **as_nobody()
        )
    except PermissionError:
        return False
    return done.returncode == 0


def as_nobody() -> dict[str, object]:
    variables = {
        "PATH": os.defpath,
        "PYTHONPATH": f"{SOURCES}:{PACKAGES}",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    return {"user": NOBODY, "group": NOBODY, "extra_groups": [], "env": variables, "cwd": "/"}


@pytest.fixture
def place() -> Iterator[Path]:
    """A work directory of that user, which the directories of these tests cannot hold."""
    path = Path(tempfile.mkdtemp())
    os.chown(path, NOBODY, NOBODY)
    yield path
    shutil.rmtree(path)


def outcomes(place: Path, *commands: str) -> list[list[object]]:
    python = next((p for p in (sys.executable, "/usr/bin/python3") if can_run(p)), None)
    if python is None:
        pytest.skip("an ordinary user can run no Python 3.11 with these sources")
    done = subprocess.run(
        [python, "-c", SCRIPT, place],
        input=json.dumps(commands),
        capture_output=True,
        text=True,
        check=False,
        **as_nobody(),
    )
    assert done.returncode == 0, done.stderr
    found: list[list[object]] = json.loads(done.stdout)
    return found


def test_what_should_work_works(place: Path) -> None:
    first, second, third = outcomes(
        place, "mkdir d && cd d && export A=1 && echo x > file", "pwd; echo $A; cat file", "id -u"
    )
    assert first == ["", 0]
    assert second == [f"{place}/d\n1\nx\n", 0]
    assert third == [f"{NOBODY}\n", 0]
    assert (place / "d" / "file").stat().st_uid == NOBODY


def test_what_should_not_work_does_not(place: Path, outside: Path) -> None:
    outside.chmod(0o777)
    (outside / "file").chmod(0o666)
    for output, _code in outcomes(
        place,
        f"echo x > {outside}/file && echo BREACH",
        f"[ -e /proc/{os.getpid()}/stat ] && [ -e /proc/{os.getppid()}/stat ] && echo BREACH",
        "unshare --user --map-root-user true && echo BREACH",
        "exec 9<>/proc/sys/kernel/core_pattern && echo BREACH",
    ):
        assert "BREACH" not in str(output)
    assert (outside / "file").read_text() == "untouched\n"


def test_the_kernel_itself_refuses_more_processes(place: Path) -> None:
    bomb, after = outcomes(place, "bomb() { bomb | bomb & }; bomb; exec sleep 1", "echo next")
    assert "Resource temporarily unavailable" in str(bomb[0])
    assert after == ["next\n", 0]
