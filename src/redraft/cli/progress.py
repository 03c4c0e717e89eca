"""What a run looks like while it goes on: a line for each thing that happens, and a bar."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Self

from rich.console import Console, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from redraft.agent import CommandEnded, CommandStarted, Prodded, RequestRefused
from redraft.cli.texts import one_line
from redraft.events import (
    ApprovalAsked,
    ApprovalDecided,
    ContextOp,
    EditJudged,
    Escalated,
    Event,
    HandedOver,
    NeedUnmet,
    NudgeGiven,
    PhaseChanged,
    PolicyActed,
    ReplyRead,
    RequestMade,
    RolledBack,
    RoundEnded,
)

__all__ = ["INDENT", "Board", "Line", "Progress", "line_of"]

_MOST = 300
"""Characters of a line where no terminal sets a width."""
_BAR = 24
_LEAST_BAR = 4
INDENT = " " * 13
"""Stands before what came of a command, so that it lies below the command."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line to print.

    Attributes:
        text: what it says, safe to show.
        style: how, in the words of rich.
    """

    text: str
    style: str = ""


@dataclass(frozen=True, slots=True)
class Board:
    """What the bar shows.

    Attributes:
        used, limit: tokens that the context holds, and may hold.
        steps: steps spent.
        doing: what is waited for.
    """

    used: int = 0
    limit: int = 0
    steps: int = 0
    doing: str = "starting"

    def after(self, event: Event) -> Board:
        """The state after an event."""
        match event:
            case RequestMade(tokens=tokens, limit=limit):
                return replace(self, used=tokens, limit=limit, doing="waiting for the model")
            case CommandStarted():
                return replace(self, doing="running a command")
            case RoundEnded(tokens=tokens, limit=limit, cost=cost):
                return replace(self, used=tokens, limit=limit, steps=self.steps + cost)
            case Prodded():
                return replace(self, steps=self.steps + 1)
        return self

    @property
    def percent(self) -> int:
        """How full the context is, rounded down."""
        return self.used * 100 // max(self.limit, 1)


def line_of(event: Event, board: Board) -> Line | None:
    """What to say about an event, if anything.

    Args:
        event: what happened.
        board: the state after it.
    """
    match event:
        case CommandStarted(command=command):
            head = f"{board.steps + 1:>5} {board.percent:>4} %  $ "
            return Line(head + one_line(command, _MOST))
        case CommandEnded(timed_out=True):
            return _beside("stopped: its time was up", "yellow")
        case CommandEnded(exit_code=code) if code:
            return _beside(f"exit code {code}", "dim")
        case EditJudged(author="model"):
            return _edit(event)
        case EditJudged(source="elide", before=before, after=after) if after < before:
            return _beside(f"an edit's own command, in one line: {before:,} -> {after:,}", "dim")
        case ContextOp():
            return _context_op(event)
        case RequestRefused():
            return _beside("the server refused the request as too large", "yellow")
        case RolledBack(turns=turns, before=before, after=after):
            sizes = f"{before:,} -> {after:,} tokens"
            return _beside(f"rolled back: {sizes} (the {len(turns)} newest turns left)", "yellow")
        case NudgeGiven(tier=tier):
            return _beside(f"told the model how full its context is ({tier})", "dim")
        case ApprovalAsked(id=name):
            return _beside(f"not run: waits for your approval ({name})", "yellow")
        case ApprovalDecided(id=name, verdict=verdict):
            return _beside(f"approval {name} {verdict}", "yellow")
        case PhaseChanged(phase="final", why=why):
            return _beside(f"last turn: {one_line(why, _MOST)}", "yellow")
        case Prodded(why=why):
            return _beside(f"the reply was {why.replace('-', ' ')}; asked again", "yellow")
        case HandedOver(policy=policy):
            return _beside(f"edits cost more than they freed; {policy} compacts instead", "yellow")
        case PolicyActed():
            return _rotation(event)
        case NeedUnmet(source=source, why=why):
            return _beside(f"{source} goes on without help: {one_line(why, _MOST)}", "yellow")
        case Escalated(rule=rule):
            return _beside(f"a rewrite was refused: {one_line(rule, _MOST)}", "red")
        case ReplyRead(complete=False, calls=calls) if calls:
            return _beside("the reply broke off at its length limit", "yellow")
    return None


def _beside(text: str, style: str) -> Line:
    return Line(INDENT + text, style)


def _rotation(event: PolicyActed) -> Line:
    method = "" if event.method == event.policy else f" by {event.method}"
    sizes = f"{event.before:,} -> {event.after:,} tokens"
    lost = f"; {event.missing:,} of {event.critical:,} exact values left" if event.missing else ""
    why = one_line(event.why, _MOST)
    return _beside(f"{event.policy}{method}: {sizes} ({why}{lost})", "green")


def _context_op(event: ContextOp) -> Line:
    """A call of a context tool; what it changed, its edit says."""
    of = one_line(", ".join(event.handles), _MOST)
    return _beside(
        f"{event.tool} {of}".rstrip() + ("" if event.ok else ": nothing was done"), "dim"
    )


def _edit(event: EditJudged) -> Line:
    sizes = f"{event.before:,} -> {event.after:,} tokens"
    rule = f" ({one_line(event.rule, _MOST)})" if event.rule else ""
    match event.status:
        case "applied":
            return _beside(f"edit {event.number} applied: {sizes}", "green")
        case "grew" | "over":
            note = "but grew" if event.status == "grew" else "still over the limit"
            return _beside(f"edit {event.number} applied, {note}: {sizes}", "yellow")
        case "no-match":
            return _beside("named the context file and changed nothing in it", "dim")
        case "ignored":
            return _beside("changed only white space in the context file", "dim")
    return _beside(f"edit {event.status}{rule}", "red")


class Progress:
    """Prints lines, and on a terminal keeps a bar below them. Use it in a `with` block.

    Args:
        console: where to; a quiet one shows nothing.
        max_steps: steps of the run.
        clock: seconds, rising.
    """

    def __init__(
        self, console: Console, max_steps: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._console = console
        self._max_steps = max_steps
        self._clock = clock
        self._since = clock()
        self._board = Board()
        # Without a terminal to move the cursor on, a bar would be a line after line of noise.
        alive = console.is_terminal and not console.is_dumb_terminal and not console.quiet
        self._live = (
            Live(get_renderable=self._bar, console=console, transient=True, refresh_per_second=4)
            if alive
            else None
        )

    def take_up(self, steps: int, max_steps: int) -> None:
        """Count on from the steps that a run has taken already."""
        self._board, self._max_steps = replace(self._board, steps=steps), max_steps

    def see(self, event: Event) -> None:
        """Show an event of the agent's."""
        if isinstance(event, RequestMade | CommandStarted):
            self._since = self._clock()
        self._board = self._board.after(event)
        line = line_of(event, self._board)
        if line is not None:
            self._say(line)

    @contextmanager
    def paused(self) -> Iterator[Console]:
        """Take the bar away for a question, and bring it back afterwards."""
        self.__exit__(None, None, None)
        try:
            yield self._console
        finally:
            self.__enter__()

    def __enter__(self) -> Self:
        """Show the bar."""
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take the bar away."""
        if self._live is not None:
            self._live.stop()

    def _say(self, line: Line) -> None:
        text = Text(line.text, line.style, no_wrap=True)
        if self._console.is_terminal:
            text.truncate(self._console.width, overflow="ellipsis")
        self._console.print(text, soft_wrap=True)

    def _bar(self) -> RenderableType:
        board = self._board
        if not board.limit:
            return Text("")
        seconds = int(self._clock() - self._since)
        text = (
            f"{board.used:,} / {board.limit:,} tokens  step {board.steps} of {self._max_steps}  "
            f"{board.doing} {seconds} s"
        )
        colour = "green" if board.percent < 50 else "yellow" if board.percent < 75 else "red"
        bar = ProgressBar(
            board.limit,
            min(board.used, board.limit),
            # The figures say more than the bar, so it gives way where there is little room.
            width=min(max(self._console.width - len(text) - 1, _LEAST_BAR), _BAR),
            complete_style=colour,
            finished_style=colour,
        )
        grid = Table.grid(padding=(0, 1))
        grid.add_column(no_wrap=True)
        grid.add_column(no_wrap=True)
        grid.add_row(bar, text)
        return grid
