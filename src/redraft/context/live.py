"""The live context: what the next request will contain. Immutable; every change makes a new one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

from redraft.context.binding import is_bound, made_under, reasons
from redraft.context.groups import is_final, is_unanswered, open_start
from redraft.context.turn import Draft, Origin, Turn
from redraft.dialects.base import Content, Dialect, Frame
from redraft.dialects.capabilities import Reasoning
from redraft.tokens import Meter

if TYPE_CHECKING:
    from redraft.context.checks import Check
    from redraft.context.planning import EditPlan
    from redraft.context.revision import Revision

__all__ = ["Live"]


@dataclass(frozen=True, slots=True, eq=False)
class Live:
    """The turns in order, the frame around them, and what all of it costs.

    Attributes:
        dialect: how turns go on the wire.
        meter: how they are counted.
        frame: everything of a request that is not turns.
        turns: all turns, the pinned prefix first, in the order of their places.
        head: how many leading turns are the pinned prefix.
        tokens: raw tokens of the whole: the frame's and every turn's.
        next_number: the number that the next new turn gets.
        answered: the number of the newest turn that ended an exchange; 0 for none.
        pins: numbers of turns that a person or the model pinned; never changed by a revision.
        plans: numbers of turns that hold a policy's rationale; no policy may rewrite them.
        newest: the number of the newest turn that was appended and is no tool result. Only its calls
            can still get results: one that was interrupted does not open again when an edit removes
            what came after it.
        frame_tokens: raw tokens of the frame alone.
        binding: what a change in front of the model's reasoning does to it.
        made: for turns that came with reasoning, also those that left, the mark of what they were made
            under; see `redraft.context.binding`. Empty where nothing is bound.
        older: what goes on being sent while accepted revisions are queued, since they would disturb
            the reasoning of the open exchange; None where nothing is.
        settled: ids of the approvals that wait no more, wherever a text still says that they do.
    """

    dialect: Dialect
    meter: Meter
    frame: Frame
    turns: tuple[Turn, ...]
    head: int
    tokens: int
    next_number: int
    answered: int = 0
    pins: frozenset[int] = frozenset()
    plans: frozenset[int] = frozenset()
    frame_tokens: int = 0
    newest: int = 0
    binding: Reasoning = "free"
    made: Mapping[int, str] = field(default_factory=dict)
    older: Live | None = None
    settled: frozenset[str] = frozenset()

    @classmethod
    def start(
        cls,
        dialect: Dialect,
        meter: Meter,
        frame: Frame,
        contents: Iterable[Content],
        *,
        head: int | None = None,
        binding: Reasoning = "free",
        intact: bool = True,
    ) -> Live:
        """A live context at its beginning.

        Args:
            dialect: the wire format of `contents`.
            meter: counts turns and the frame.
            frame: tools and parameters.
            contents: the request's turns, as `Dialect.split` gives them.
            head: how many leading turns are the pinned prefix. By default the system turns at the
                start and the first user turn, the task (DESIGN.md section 2).
            binding: what a change in front of the model's reasoning does to it.
            intact: whether the reasoning in `contents` was made under just these turns and this frame;
                otherwise it is void where it is bound.
        """
        contents = tuple(contents)
        head = _prefix(contents) if head is None else max(0, min(head, len(contents)))
        cost = meter.frame(frame)
        empty = cls(dialect, meter, frame, (), 0, cost, 1, frame_tokens=cost, binding=binding)
        live = replace(empty.append(contents), head=head)
        return live if intact else live.doubted()

    def draft(self, content: Content, origin: Origin) -> Draft:
        """Price `content` as a turn of this context."""
        reasoning = self.meter.text(content.hidden) if content.hidden else 0
        return Draft(content, origin, self.meter.content(content), reasoning)

    def append(
        self,
        contents: Iterable[Content],
        origin: Origin = Origin.ORIGINAL,
        *,
        under: Live | None = None,
        paused: bool = False,
    ) -> Live:
        """The same context with new turns at its end: the only change besides the door's.

        Args:
            contents: the turns.
            origin: where their words come from.
            under: what was sent when they were made; by default what would be sent now.
            paused: whether the server only paused: then a reply without calls answers nobody yet.
        """
        drafts = [self.draft(content, origin) for content in contents]
        turns = tuple(Turn.of(draft, self.next_number + at) for at, draft in enumerate(drafts))
        sent = under or self.outgoing
        made = made_under(sent, turns, asked=under is not None) if is_bound(self) else {}
        return self.joined(turns, made, paused=paused)

    def joined(
        self, turns: Sequence[Turn], made: Mapping[int, str], *, paused: bool = False
    ) -> Self:
        """The same context with turns at its end that have their numbers already.

        Args:
            turns: the turns, in order.
            made: the marks of those that came with reasoning.
            paused: whether they are a reply that the server goes on with.
        """
        finals = [turn.number for turn in turns if is_final(turn) and not paused]
        asking = [turn.number for turn in turns if turn.role != "tool"]
        return replace(
            self,
            turns=(*self.turns, *turns),
            tokens=self.tokens + sum(turn.tokens for turn in turns),
            next_number=max([self.next_number, *(turn.number + 1 for turn in turns)]),
            answered=finals[-1] if finals else self.answered,
            newest=asking[-1] if asking else self.newest,
            made={**self.made, **made} if made else self.made,
            older=self.older and self.older.joined(turns, made, paused=paused),
        )

    def bind(self, binding: Reasoning) -> Live:
        """The same context for a model that binds its reasoning in this way. What reasoning was made under
        that has no mark yet, nobody knows: where it is bound, it is taken to be void."""
        if binding == self.binding:
            return self
        live = replace(self, binding=binding, older=self.older and self.older.bind(binding))
        if not is_bound(live):
            return live
        unknown = {turn.number: "" for turn in live.turns if reasons(live.dialect, turn)}
        return replace(live, made={**unknown, **live.made})

    def doubted(self) -> Live:
        """The same context with all of its reasoning taken to be made under something else."""
        return replace(self, made=dict.fromkeys(self.made, ""))

    def pin(self, numbers: Iterable[int]) -> Live:
        """The same context with more turns pinned. Pins are not gated: nothing changes in size."""
        return replace(self, pins=self.pins | frozenset(numbers))

    def unpin(self, numbers: Iterable[int]) -> Live:
        """The same context with fewer turns pinned."""
        return replace(self, pins=self.pins - frozenset(numbers))

    def settle(self, approval: str) -> Live:
        """The same context with one more approval that nobody waits for any more."""
        return replace(self, settled=self.settled | {approval})

    def framed(self, frame: Frame, tokens: int) -> Live:
        """The same turns in another frame.

        Args:
            frame: tools and parameters from here on.
            tokens: their raw tokens.
        """
        total = self.tokens - self.frame_tokens + tokens
        older = self.older and self.older.framed(frame, tokens)
        return replace(self, frame=frame, frame_tokens=tokens, tokens=total, older=older)

    def body(self) -> dict[str, Any]:
        """The request: untouched carriers are the very objects that came in."""
        return self.dialect.join(self.frame, [turn.content for turn in self.turns])

    @property
    def outgoing(self) -> Live:
        """What the next request contains: this, or the older view while revisions are queued."""
        return self.older or self

    def plan(self, revision: Revision, limit: int, checks: Sequence[Check] = ()) -> EditPlan:
        """What `revision` would do, before it is proposed; nothing changes.

        Args:
            revision: what is to be proposed.
            limit: the raw limit.
            checks: further tests, as for `redraft.context.commit`.
        """
        from redraft.context.planning import plan_edit

        return plan_edit(self, revision, limit, checks)

    def positions(self) -> Mapping[int, int]:
        """Where each turn stands, by number."""
        return {turn.number: at for at, turn in enumerate(self.turns)}

    @property
    def open_at(self) -> int:
        """Where the open group begins; `len(turns)` where no call waits for its result."""
        at = open_start(self.turns)
        waits = at < len(self.turns) and self.turns[at].number == self.newest
        return at if waits else len(self.turns)

    def holds(self, position: int) -> bool:
        """Whether no revision may change the turn at `position`.

        Held are the pinned prefix, system turns wherever they stand, pins, and the user's turns that
        have no answer yet.
        """
        turn = self.turns[position]
        return (
            position < self.head
            or turn.role == "system"
            or turn.number in self.pins
            or is_unanswered(turn, self.answered)
        )

    def protected(self) -> frozenset[int]:
        """Numbers of the turns that no revision may change; see `holds`."""
        held = (turn.number for at, turn in enumerate(self.turns) if self.holds(at))
        return self.pins.union(held)

    def editable(self) -> Sequence[Turn]:
        """The turns that the context file shows: all but pinned prefix, system turns and the open
        group (a plan may not touch itself)."""
        turns = self.turns[self.head : max(self.head, self.open_at)]
        return [turn for turn in turns if turn.role != "system"]

    def candidates(self) -> Sequence[Turn]:
        """The turns that a policy may rewrite: editable, not held, and no plan of its own making."""
        stop = max(self.head, self.open_at)
        return [
            self.turns[at]
            for at in range(self.head, stop)
            if not self.holds(at) and self.turns[at].number not in self.plans
        ]

    def recount(self) -> int:
        """Every token counted anew: a checkpoint, which must equal `tokens`."""
        return self.meter.frame(self.frame) + sum(
            self.meter.content(turn.content) for turn in self.turns
        )


def _prefix(contents: Sequence[Content]) -> int:
    at = 0
    while at < len(contents) and contents[at].role == "system":
        at += 1
    return at + 1 if at < len(contents) and contents[at].role == "user" else at
