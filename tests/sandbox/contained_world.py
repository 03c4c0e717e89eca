"""What the tests of contained commands share."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from redraft.sandbox import LocalSandbox, Outcome, Sandbox, available

_REASON = available()
needs_bubblewrap = pytest.mark.skipif(_REASON is not None, reason=str(_REASON))
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root could do it outside")

_PYTHONS = (Path(sys.executable).resolve(), Path("/usr/bin/python3"))
# The one of a virtual environment under /tmp is not there for contained commands.
PYTHON = next((path for path in _PYTHONS if path.exists() and path.parts[1] != "tmp"), None)
needs_python = pytest.mark.skipif(PYTHON is None, reason="needs a Python outside /tmp")

BREACH = "BREACH"
"""What an attack prints when it has worked."""


def python(script: str) -> str:
    """The command that runs a Python script."""
    return f"{PYTHON} -I - <<'PYTHON'\n{script}\nPYTHON"


def breaches(outcome: Outcome) -> bool:
    return BREACH in outcome.output


def works_outside(workdir: Path, attack: str, undo: Callable[[], object] | None = None) -> bool:
    """Whether an attack works where nothing stands in its way; a test of it could not fail else."""
    with LocalSandbox(workdir, timeout=20) as box:
        outcome = box.run(attack)
    if undo is not None:
        undo()
    return breaches(outcome)


def fails_inside(box: Sandbox, attack: str) -> bool:
    """Whether a contained attack came to nothing, although it was carried out."""
    outcome = box.run(f"{attack}\necho carried out")
    assert outcome.output.endswith("carried out\n"), outcome
    return not breaches(outcome)
