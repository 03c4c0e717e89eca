"""`redraft doctor`: whether what a run needs is there, and what to do where it is not."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

from redraft.cli.kept import AsJson
from redraft.cli.texts import one_line, write_out
from redraft.contextfile.mirror import Mirror
from redraft.errors import RedraftError, SettingsError
from redraft.models import OpenAIModel
from redraft.sandbox import ALTERNATIVES, LocalSandbox, available
from redraft.settings import FOREIGN_VARIABLES, PREFIX, Settings
from redraft.store import runs_home
from redraft.tokens import default_counter

__all__ = ["Finding", "doctor"]


_SHOWN = 5
_ROOM = 200 * 10**6
"""Bytes that should be free where runs are kept; measured: 4 MB for 1,000 rounds, and what they read."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found out about one thing.

    Attributes:
        thing: what was looked at.
        good: whether it is as a run needs it.
        says: what was found, and what to do where it is not good.
        needed: whether no run can do without it.
    """

    thing: str
    good: bool
    says: str
    needed: bool = True


def doctor(
    base_url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="The server to ask. Default: OPENAI_BASE_URL, or OpenAI."),
    ] = None,
    ask: Annotated[
        bool,
        typer.Option("--ask/--no-ask", help="Whether to ask the server for its list of models."),
    ] = True,
    as_json: AsJson = False,
) -> None:
    """Check what a run needs, and say what to do.

    Looks at settings, tokenizer, sandbox, places to write, key and server, and changes nothing. What a run
    cannot do without is marked FAIL, what it can do without is marked note. Nothing is sent to a model.

    \b
    Examples:
      redraft doctor
      redraft doctor --base-url http://localhost:8000/v1
      redraft doctor --no-ask --json

    Ends with exit code 0 where a run can start, 1 where something that it needs is missing.
    """
    findings = list(_findings(base_url, ask))
    if as_json:
        write_out(json.dumps([asdict(finding) for finding in findings]))
    else:
        for finding in findings:
            mark = "ok  " if finding.good else "FAIL" if finding.needed else "note"
            write_out(f"{mark}  {finding.thing:<12} {one_line(finding.says, 400)}")
    if not all(finding.good for finding in findings if finding.needed):
        raise typer.Exit(1)


def _findings(base_url: str | None, ask: bool) -> Iterator[Finding]:
    yield _tried("settings", _settings)
    yield _tried("tokenizer", _tokenizer)
    yield _tried("shell", _shell)
    yield _bubblewrap()
    yield _tried("context file", _context_file)
    yield _tried("runs", lambda: _writable(runs_home()))
    yield _tried("server", lambda: _server(base_url, ask))


def _tried(thing: str, look: Callable[[], str]) -> Finding:
    try:
        return Finding(thing, True, look())
    except (RedraftError, OSError) as error:
        return Finding(thing, False, str(error))


def _settings() -> str:
    given = sorted({name for name in os.environ if name.startswith(PREFIX)} - FOREIGN_VARIABLES)
    Settings.load(None, os.environ)
    return f"can be used; set: {', '.join(given)}" if given else "can be used; none is set"


def _bubblewrap() -> Finding:
    """A run stops where the sandbox that it is to use does not work."""
    try:
        needed = Settings.load(None, os.environ).sandbox == "bubblewrap"
    except SettingsError:
        needed = True
    reason = available()
    if reason is None:
        return Finding("bubblewrap", True, "contains commands here", needed)
    return Finding("bubblewrap", False, f"{reason} {ALTERNATIVES}" if needed else reason, needed)


def _tokenizer() -> str:
    counter = default_counter()
    tokens = counter.count("redraft counts tokens")
    return f"{type(counter).__name__} counts ({tokens} tokens in a probe)"


def _shell() -> str:
    with tempfile.TemporaryDirectory() as place, LocalSandbox(Path(place)) as sandbox:
        outcome = sandbox.run("echo $((6 * 7))")
    if outcome.output.strip() != "42":
        raise OSError(f"bash answers {outcome.output[:80]!r}; check that /bin/bash works")
    return f"bash works ({shutil.which('bash')})"


def _context_file() -> str:
    with Mirror() as mirror:
        mirror.show(())
        return f"can be written in {mirror.directory.parent}"


def _writable(home: Path) -> str:
    place = next(parent for parent in (home, *home.parents) if parent.exists())
    advice = "set REDRAFT_HOME to a place where runs can be kept"
    try:
        with tempfile.TemporaryFile(dir=place):
            free = shutil.disk_usage(place).free
    except OSError as error:
        raise OSError(f"nothing can be written to {place} ({error.strerror}); {advice}") from error
    if free < _ROOM:
        raise OSError(f"{place} has {free // 10**6} MB left; make room, or {advice}")
    return f"kept in {home}"


def _server(base_url: str | None, ask: bool) -> str:
    with OpenAIModel("any", base_url=base_url, timeout=10.0, max_retries=0) as model:
        if not ask:
            return "a key or a server is set; it was not asked"
        names = model.served()
    shown = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
    models = "1 model" if len(names) == 1 else f"{len(names)} models"
    return f"answers; it serves {models}{f' ({shown})' if names else ''}"
