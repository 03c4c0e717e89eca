"""What can be looked at in a session, at any time, without changing anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path

from redraft.budget import Phase
from redraft.context import EditPlan, Ledger, Live, Receipt, Revision
from redraft.contextfile.mirror import Mirror
from redraft.dialects import Native
from redraft.policies import ContextReport, Policy
from redraft.session.context_tools import ContextTools
from redraft.session.controller import Controller
from redraft.session.core import Core
from redraft.session.engine import Engine
from redraft.session.rotations import report_of
from redraft.session.wire import Wire
from redraft.store import Journal

__all__ = ["Facts"]


class Facts:
    """The read-only side of `redraft.Session`."""

    _core: Core
    _engine: Engine
    _controller: Controller
    _wire: Wire
    _mirror: Mirror | None
    _started: float
    _chosen: str
    _memory: str

    @property
    def messages(self) -> list[Native]:
        """The live context as messages, to keep or to go on from: what the next request would
        contain, but for what it may do first to make room. A copy, so that nothing done to it
        reaches the session."""
        return deepcopy(self._wire.preview(self._core.live.outgoing))

    @property
    def live(self) -> Live:
        """The live context itself: immutable, with every turn's number, origin and size."""
        return self._core.live

    @property
    def tokens(self) -> int:
        """The live context's size, as the server would count it."""
        return self._core.used

    @property
    def limit(self) -> int:
        """Tokens that the live context may hold."""
        return self._core.limit

    @property
    def phase(self) -> Phase:
        """`running`, `final` (one last turn) or `stopped`."""
        return self._controller.phase

    @property
    def done(self) -> bool:
        """Whether the model has given its final answer; `append` takes up the loop again."""
        return self._engine.done

    @property
    def why(self) -> str:
        """Why the run has its final turn or has stopped; "" while it goes on."""
        return self._controller.why

    @property
    def receipts(self) -> list[Receipt]:
        """What became of every proposal so far, in order."""
        return list(self._core.receipts)

    @property
    def rejections(self) -> Mapping[str, int]:
        """How many proposals were rejected, by source (`file`, `edit_context`, a policy's name).
        Counted apart from the ledger: a gate that refuses everything frees nothing."""
        return dict(self._core.rejections)

    @property
    def headers(self) -> Mapping[str, str]:
        """HTTP headers that the last request needs beside the client's own; none for most. `request`
        holds them as the SDK takes them, in `extra_headers` or `betas`; a client that sends JSON
        itself sends these, and leaves those two fields out."""
        return dict(self._controller.queue.headers)

    def plan(self, revision: Revision) -> EditPlan:
        """What a revision would do, before it is proposed: what it breaks, whether it would have to
        wait, and what would refuse it. Nothing changes."""
        return self._core.live.plan(revision, self._core.raw_limit, self._core.checks)

    @property
    def policy(self) -> Policy | None:
        """The scheduled policy as it stands now, with its log where it keeps one; None for none."""
        return self._controller.scheduler.policy

    def report(self) -> ContextReport:
        """The context report: how full the context is, what was done last and why, what became of all that
        had to survive, where offloaded material is, and the tokens saved for each hour."""
        core, scheduler = self._core, self._controller.scheduler
        now = scheduler.clock()
        return report_of(
            scheduler.policy,
            scheduler.log,
            core.live,
            core.limit,
            shown=core.shown,
            chosen=self._chosen,
            memory=self._memory,
            started=self._started or now,
            now=now,
        )

    @property
    def own_tools(self) -> Sequence[str]:
        """The tools that the model has from the session and that the session answers itself."""
        offered = (
            toolset
            for toolset in self._engine.toolsets
            if not isinstance(toolset, ContextTools) or toolset.offers.state.made
        )
        return [name for toolset in offered for name in sorted(toolset.names)]

    @property
    def ledger(self) -> Ledger:
        """The ledger: one closed row a round, and one for each change between rounds."""
        return self._core.books.ledger

    @property
    def journal(self) -> Journal:
        """Where everything is recorded."""
        return self._core.journal

    @property
    def context_file(self) -> Path | None:
        """Where the context file lies, if the session has one."""
        return self._mirror.path if self._mirror else None

    @property
    def env(self) -> Mapping[str, str]:
        """What the model's commands must have in their environment."""
        return self._mirror.env if self._mirror else {}
