"""Lines that tell what happens, and the state of the bar."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from redraft.agent import CommandEnded, CommandStarted, Prodded, RequestRefused
from redraft.cli.progress import Board, Progress, line_of
from redraft.events import (
    EditJudged,
    Escalated,
    Event,
    HandedOver,
    NudgeGiven,
    PhaseChanged,
    ReplyRead,
    RequestMade,
    RolledBack,
    RoundEnded,
)


def judged(status: str, rule: str = "", author: str = "model", source: str = "file") -> EditJudged:
    number = 3 if status in ("applied", "grew", "over") else 0
    return EditJudged(
        round=1,
        number=number,
        author=author,
        source=source,
        status=status,
        before=1_857,
        after=1_031,
        rule=rule,
        reread=0,
        net_raw=0,
    )


@pytest.mark.parametrize(
    ("event", "told"),
    [
        (CommandStarted(1, "ls -l", 120.0), "    5   50 %  $ ls -l"),
        (CommandEnded(1, 3, timed_out=False, printed=0), "exit code 3"),
        (CommandEnded(1, 143, timed_out=True, printed=0), "stopped: its time was up"),
        (judged("applied"), "edit 3 applied: 1,857 -> 1,031 tokens"),
        (judged("grew"), "edit 3 applied, but grew: 1,857 -> 1,031 tokens"),
        (judged("over"), "edit 3 applied, still over the limit: 1,857 -> 1,031 tokens"),
        (
            judged("applied", author="harness", source="elide"),
            "an edit's own command, in one line: 1,857 -> 1,031",
        ),
        (judged("rejected", "fit: too large"), "edit rejected (fit: too large)"),
        (judged("failed", "exit code 2"), "edit failed (exit code 2)"),
        (judged("no-match"), "named the context file and changed nothing in it"),
        (judged("ignored"), "changed only white space in the context file"),
        (
            RolledBack(1, 1, (7, 8), 900, 400),
            "rolled back: 900 -> 400 tokens (the 2 newest turns left)",
        ),
        (RequestRefused(1), "the server refused the request as too large"),
        (NudgeGiven(1, "urgent", 900), "told the model how full its context is (urgent)"),
        (PhaseChanged(1, "final", "it is late"), "last turn: it is late"),
        (Prodded(1, "broken-off"), "the reply was broken off; asked again"),
        (ReplyRead(1, 2, complete=False, prompt=0, cached=0, output=0), "broke off at its length"),
        (HandedOver(1, "mask"), "edits cost more than they freed; mask compacts instead"),
        (Escalated(1, "file", "net -3"), "a rewrite was refused: net -3"),
    ],
    ids=lambda value: getattr(value, "type", None),
)
def test_what_happens_is_told_in_a_line(event: Event, told: str) -> None:
    line = line_of(event, Board(used=500, limit=1_000, steps=4))
    assert line is not None
    assert told in line.text


@pytest.mark.parametrize(
    "event",
    [
        CommandEnded(1, 0, timed_out=False, printed=9),
        judged("applied", author="harness"),
        PhaseChanged(1, "stopped", "done"),
        ReplyRead(1, 2, complete=True, prompt=0, cached=0, output=0),
        RoundEnded(1, 1, 2, 1),
    ],
    ids=lambda value: value.type,
)
def test_what_goes_as_it_should_needs_no_line(event: Event) -> None:
    assert line_of(event, Board()) is None


@given(st.text(st.characters(), max_size=400))
def test_a_command_of_any_text_stays_one_line(command: str) -> None:
    line = line_of(CommandStarted(1, command, 1.0), Board())
    assert line is not None
    assert line.text.isprintable()


def test_the_board_follows_the_fill_and_the_steps() -> None:
    board = Board()
    for event in (
        RequestMade(1, 300, 1_000, 300, 0, 0),
        RoundEnded(1, 740, 1_000, 1),
        RoundEnded(2, 200, 1_000, 0),
        Prodded(3, "empty"),
    ):
        board = board.after(event)
    assert (board.used, board.limit, board.percent, board.steps) == (200, 1_000, 20, 2)


def shown(console: Console, *events: Event) -> str:
    with Progress(console, 9, clock=lambda: 0.0) as progress:
        for event in events:
            progress.see(event)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


EVENTS = (
    RequestMade(1, 300, 1_000, 300, 0, 0),
    CommandStarted(1, "[bold]ls[/bold] " + "x" * 90, 1.0),
)


def test_a_long_line_is_cut_on_a_terminal_and_whole_elsewhere() -> None:
    narrow = Console(file=io.StringIO(), force_terminal=True, width=40, no_color=True)
    plain = Console(file=io.StringIO(), width=40)
    assert "x\N{HORIZONTAL ELLIPSIS}" in shown(narrow, *EVENTS)
    assert shown(plain, *EVENTS).endswith("x" * 90 + "\n")


def test_a_command_is_no_markup() -> None:
    assert "[bold]ls[/bold]" in shown(Console(file=io.StringIO()), *EVENTS)


def test_a_quiet_console_shows_nothing() -> None:
    assert shown(Console(file=io.StringIO(), quiet=True, force_terminal=True), *EVENTS) == ""
