"""What holds for every test: no hurry, no settings from outside, slow tests only when asked for."""

from __future__ import annotations

import os
import signal
import threading

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


@pytest.fixture(scope="session", autouse=True)
def signals_as_in_a_terminal() -> None:
    """Whoever starts the tests in the background ignores Ctrl-C and a terminal that closes, and their
    children inherit that."""
    if threading.current_thread() is not threading.main_thread():
        return
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
