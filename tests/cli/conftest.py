"""Runs of these tests are kept in a place of their own, and their commands run on this machine."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def runs_of_this_test(
    settings_of_nobody: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("REDRAFT_HOME", str(tmp_path / "redraft-home"))
    monkeypatch.setenv("REDRAFT_SANDBOX", "local")
