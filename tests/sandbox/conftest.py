"""Places for the tests of contained commands."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from redraft.sandbox import BubblewrapSandbox, Limits


@pytest.fixture
def outside(pytestconfig: pytest.Config) -> Iterator[Path]:
    """A directory that contained commands can see: not under /tmp, which is their own."""
    assert pytestconfig.cache is not None
    root = pytestconfig.cache.mkdir("outside")
    if root.is_relative_to("/tmp"):
        pytest.skip("the checkout lies under /tmp, which contained commands do not see")
    place = Path(tempfile.mkdtemp(dir=root))
    (place / "file").write_text("untouched\n")
    (place / "secret").write_text("BREACH\n")
    yield place
    # Where an attack worked, the modes may be anything.
    shutil.rmtree(place)


@pytest.fixture
def workdir(tmp_path: Path) -> Path:
    place = tmp_path / "work"
    place.mkdir()
    return place


@pytest.fixture
def box(workdir: Path) -> Iterator[BubblewrapSandbox]:
    with BubblewrapSandbox(workdir, timeout=30, limits=Limits(processes=200)) as sandbox:
        yield sandbox
