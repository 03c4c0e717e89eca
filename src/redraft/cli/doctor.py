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
from redraft.errors import RedraftError
from redraft.models import OpenAIModel
from redraft.sandbox import LocalSandbox, available
from redraft.settings import Settings
from redraft.store import runs_home
from redraft.tokens import default_counter

__all__ = ["Finding", "doctor"]


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
    """Check what a run needs: sandbox, tokenizer, key, server, places to write. Says what to do.

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
    yield _tried("settings", lambda: (Settings.load(None, os.environ), "they can be used")[1])
    yield _tried("tokenizer", _tokenizer)
    yield _tried("shell", _shell)
    reason = available()
    yield Finding("bubblewrap", reason is None, reason or "contains commands here", needed=False)
    yield _tried("context file", _context_file)
    yield _tried("runs", lambda: _writable(runs_home()))
    yield _tried("server", lambda: _server(base_url, ask))


def _tried(thing: str, look: Callable[[], str]) -> Finding:
    try:
        return Finding(thing, True, look())
    except (RedraftError, OSError) as error:
        return Finding(thing, False, str(error))


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
    if not os.access(place, os.W_OK):
        raise OSError(f"{home} cannot be written; set REDRAFT_HOME to a place that can be")
    return f"kept in {home}"


def _server(base_url: str | None, ask: bool) -> str:
    with OpenAIModel("any", base_url=base_url, timeout=10.0, max_retries=0) as model:
        if not ask:
            return "a key or a server is set; it was not asked"
        names = model.served()
    shown = ", ".join(names[:5])
    return f"answers; it serves {len(names)} models{f' ({shown}, ...)' if names else ''}"
