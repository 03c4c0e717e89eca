"""A request made anew: core instructions, recent turns, what a memory holds, and the current input.

    made = reconstruct(core, "Deploy the service", limit=32_000, memories=[Recalled("...", "memory 7")])
    session = Session(made.request["messages"])

Nothing is ever cut: a turn's group and a memory are there whole or not at all, so no payload ends inside
a token or a string. What stands before the memory does not depend on it, byte for byte, so a provider's
prefix cache goes on holding whatever is retrieved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from redraft.context import Live
from redraft.context.groups import Group, groups
from redraft.dialects import Dialect, OpenAIChat
from redraft.dialects.base import Content
from redraft.errors import BudgetError
from redraft.policies.audit import states_constraint
from redraft.prompts.recalled import recalled_section
from redraft.tokens import Meter

__all__ = ["LeftOut", "PartSize", "Recalled", "Reconstruction", "Shares", "reconstruct"]

Part = Literal["core", "recent", "memory", "input"]


@dataclass(frozen=True, slots=True)
class Recalled:
    """Something that a memory holds.

    Attributes:
        text: what is remembered.
        label: where it comes from, in a few words.
    """

    text: str
    label: str = ""


@dataclass(frozen=True, slots=True)
class Shares:
    """Shares of the limit, from 0 to 1, that two parts may take. The core, the input and the work to come
    have the rest.

    Attributes:
        recent: for recent turns.
        memory: for what a memory holds.
    """

    recent: float = 0.4
    memory: float = 0.2

    def __post_init__(self) -> None:
        if not (min(self.recent, self.memory) >= 0 and self.recent + self.memory <= 1):
            raise BudgetError(
                f"shares of {self.recent} and {self.memory} cannot both be had; give two values of at "
                "least 0 that come to 1 at most."
            )


@dataclass(frozen=True, slots=True)
class PartSize:
    """How large a part is.

    Attributes:
        part: which.
        tokens: raw tokens that it takes.
        room: raw tokens that it might take.
        count: how many turns or memories it has.
    """

    part: Part
    tokens: int
    room: int
    count: int


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something that is not there.

    Attributes:
        part: where it would have been.
        what: a memory's label, or what the turn begins with.
        tokens: raw tokens that it would take.
        why: the reason.
    """

    part: Part
    what: str
    tokens: int
    why: str


@dataclass(frozen=True, slots=True)
class Reconstruction:
    """A request, counted before it is used.

    Attributes:
        request: the body, as the provider takes it.
        tokens: raw tokens of all of it, the sum of its parts.
        limit: raw tokens that it might have.
        parts: how large each part is, in the order in which they stand.
        left_out: what is not there, and why.
    """

    request: Mapping[str, Any]
    tokens: int
    limit: int
    parts: tuple[PartSize, ...]
    left_out: tuple[LeftOut, ...]

    @property
    def stable(self) -> int:
        """Raw tokens before the memory and the input, which a prefix cache may hold."""
        return sum(one.tokens for one in self.parts if one.part in ("core", "recent"))

    def as_dict(self) -> dict[str, Any]:
        """The count without the request, in plain values."""
        values = {key: value for key, value in asdict(self).items() if key != "request"}
        return {**values, "stable": self.stable}


def reconstruct(
    core: str,
    current: str,
    *,
    limit: int,
    memories: Sequence[Recalled] = (),
    recent: Mapping[str, Any] | None = None,
    shares: Shares | None = None,
    dialect: Dialect | None = None,
    meter: Meter | None = None,
) -> Reconstruction:
    """Make a request from its parts, within a limit. The same arguments make the same bytes.

    The core and the input are always there, whole. Of the recent turns first come the user's last one and
    those that lay something down ("never", "must"), then the newest, as many whole groups as fit their
    share; the one in front is a user's. Of the memories those come that fit the
    other share, in the order given, but for those whose words stand in the request already. They stand in
    front of the input, in one message with it.

    Args:
        core: the instructions, for the end of the system prompt; "" for none.
        current: what the user says now.
        limit: raw tokens that the request may have.
        memories: the most relevant first.
        recent: a request as the provider takes it, with the turns so far; its tools, parameters and
            system prompt stay, and are part of the core. None for Chat Completions without any.
        shares: how much of the limit the recent turns and the memories may take.
        dialect: the provider's format; Chat Completions by default.
        meter: counts.

    Raises:
        BudgetError: the core and the input alone are larger than the limit.
        DialectError: `recent` is no request of this format.
    """
    dialect, meter, shares = dialect or OpenAIChat(), meter or Meter(), shares or Shares()
    frame, contents = dialect.split({dialect.turns_field: []} if recent is None else recent)
    live = Live.start(dialect, meter, frame, contents, head=0)
    head = _head(contents)
    turns = list(groups(live.turns, head))
    system = contents[:head]
    if core:
        frame, system = dialect.instruct(frame, system, core)
    size_of_core = meter.frame(frame) + sum(map(meter.content, system))
    size_of_input = meter.content(dialect.note("user", current))
    free = limit - size_of_core - size_of_input
    if free < 0:
        raise BudgetError(
            f"the core has {size_of_core:,} tokens and the input {size_of_input:,}, which is more than the "
            f"limit of {limit:,}; raise the limit, or say less."
        )
    room_of_recent, room_of_memory = _rooms(limit, free, shares)
    kept, gone = _newest(turns, meter, room_of_recent)
    stable = [*system, *(turn.content for group in kept for turn in group.turns)]
    last, used, unused = _with_memories(
        memories,
        current,
        dialect=dialect,
        meter=meter,
        room=room_of_memory,
        there=[one.text for one in stable],
    )
    size_of_recent = sum(_size(group, meter) for group in kept)
    size_of_memory = meter.content(last) - size_of_input
    parts = (
        PartSize("core", size_of_core, limit, len(system)),
        PartSize("recent", size_of_recent, room_of_recent, len(stable) - len(system)),
        PartSize("memory", size_of_memory, room_of_memory, used),
        PartSize("input", size_of_input, limit, 1),
    )
    return Reconstruction(
        dialect.join(frame, [*stable, last]),
        sum(one.tokens for one in parts),
        limit,
        parts,
        (*gone, *unused),
    )


def _head(contents: Sequence[Content]) -> int:
    """How many turns at the start are instructions."""
    return next(
        (at for at, one in enumerate(contents) if one.role not in ("system", "developer")),
        len(contents),
    )


def _rooms(limit: int, free: int, shares: Shares) -> tuple[int, int]:
    """What recent turns and memories may take. Neither depends on what is retrieved, and where the core
    and the input leave less than both shares, both give way alike."""
    both = shares.recent + shares.memory
    part = min(1.0, free / (limit * both)) if limit * both > 0 else 0.0
    return int(limit * shares.recent * part), int(limit * shares.memory * part)


def _size(group: Group, meter: Meter) -> int:
    return sum(meter.content(turn.content) for turn in group.turns)


def _newest(found: Sequence[Group], meter: Meter, room: int) -> tuple[list[Group], list[LeftOut]]:
    """What the user said last, the user's constraints and the newest groups that fit, in order, and what
    became of the others."""
    kept: dict[int, Group] = {}
    why: dict[int, str] = {}
    left = room
    said = [group for group in reversed(found) if group.head.role == "user"]
    for group in said:
        size = _size(group, meter)
        if size <= left and (group is said[0] or any(map(states_constraint, group.turns))):
            left -= size
            kept[group.start] = group
    for group in reversed(found):
        size = _size(group, meter)
        if group.open_calls:
            why[group.start] = "its calls have no results, and the input would come between"
        elif group.start not in kept:
            if size > left:
                break
            left -= size
            kept[group.start] = group
    # Providers refuse a conversation that begins with an answer, and an answer needs what it is to.
    while kept and kept[first := min(kept)].head.role != "user":
        opening = next((one for one in said if one.start < first), None)
        if opening is not None and (size := _size(opening, meter)) <= left:
            left -= size
            kept[opening.start] = opening
        else:
            why[first] = "it answers what is not there"
            left += _size(kept.pop(first), meter)
    stay = kept.keys()
    gone = [
        LeftOut(
            "recent",
            _start(group.head.content.text) or group.head.role,
            _size(group, meter),
            why.get(
                group.start, f"the newest turns fill the {room:,} tokens that recent turns may take"
            ),
        )
        for group in found
        if group.start not in stay
    ]
    return [kept[start] for start in sorted(kept)], gone


def _with_memories(
    memories: Sequence[Recalled],
    current: str,
    *,
    dialect: Dialect,
    meter: Meter,
    room: int,
    there: Sequence[str],
) -> tuple[Content, int, list[LeftOut]]:
    """The last turn: what is recalled and the input; how many memories it has; which are left out."""
    last = dialect.note("user", current)
    bare = meter.content(last)
    used: list[Recalled] = []
    unused: list[LeftOut] = []
    for memory in memories:
        size = meter.text(memory.text)
        what = memory.label or _start(memory.text)
        if any(memory.text in text for text in (*there, current, *(one.text for one in used))):
            unused.append(LeftOut("memory", what, size, "its words stand in the request already"))
            continue
        section = recalled_section([(one.label, one.text) for one in (*used, memory)])
        longer = dialect.note("user", f"{section}\n\n{current}")
        if meter.content(longer) - bare > room:
            left = room - (meter.content(last) - bare)
            why = f"it does not fit whole; {left:,} of {room:,} tokens for memories are left"
            unused.append(LeftOut("memory", what, size, why))
            continue
        last = longer
        used.append(memory)
    return last, len(used), unused


def _start(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= 60 else f"{words[:59]}…"
