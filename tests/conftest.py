"""What holds for every test: no hurry, no settings from outside, slow tests only when asked for."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

# No deadlines: the first example of a property may build the vocabulary, and machines differ.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")

_FOREIGN = ("REDRAFT_", "OPENAI_")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--run-slow", action="store_true", help="run the tests marked slow as well")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--run-slow"):
        return
    skip = pytest.mark.skip(reason="slow; run it with --run-slow")
    for item in items:
        if "slow" in item.keywords:
            item.add_marker(skip)


@pytest.fixture(autouse=True)
def settings_of_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys, servers and settings of whoever runs the tests do not reach them."""
    for name in list(os.environ):
        if name.startswith(_FOREIGN):
            monkeypatch.delenv(name)
