"""What a wire format must be able to do, and the values that cross that line.

A provider's own message or item (a *carrier*) holds one or more turns, and one turn may spread
over several carriers. A dialect takes a request apart into contents that still hold their carriers,
and puts them together again: a carrier whose turns are all there and untouched is sent as the same
object, so the bytes on the wire do not change. `docs/design/dialects.md` shows five formats this way.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

__all__ = [
    "Call",
    "Content",
    "Dialect",
    "Frame",
    "Native",
    "Part",
    "Reply",
    "Role",
    "Usage",
    "join_carriers",
]

Role = Literal["system", "user", "assistant", "tool"]
Native = Mapping[str, Any]
"""A provider's message, item or block, exactly as it came. Never mutated after ingestion."""


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call of an assistant turn.

    Attributes:
        id: the provider's call id. Providers repeat ids; never a key by itself.
        name: the tool's name.
        arguments: the arguments as the text on the wire.
        index: the call's place among its turn's native calls.
        free: whether the arguments are free text, as a custom tool takes them, and not JSON.
    """

    id: str
    name: str
    arguments: str
    index: int = 0
    free: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a turn that is not text: an image, a file, a sound.

    Attributes:
        kind: `image`, `file`, `audio` or the provider's own word.
        label: what is shown in the context file, e.g. `image png 1024x768`.
        width, height: pixels, 0 where unknown.
        index: the part's place among its turn's native parts.
    """

    kind: str
    label: str
    width: int = 0
    height: int = 0
    index: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Content:
    """What one turn holds: what a reader sees of it, and the carriers that it came in.

    Compared by identity: two equal texts are still two turns.

    Attributes:
        role: who speaks. `developer` reads as `system`; the carrier keeps the provider's word.
        text: the visible text.
        calls: tool calls of an assistant turn, in wire order.
        parts: what is not text, in wire order.
        answers: the id of the call that a tool result answers.
        hidden: reasoning that is sent, counted, and never shown.
        carriers: the native objects this turn came in; more than one where a format spreads it.
        seat: (place, number of turns) inside a shared carrier; (0, 1) where the carrier is its own;
            (0, 0) where it is sent in one carrier with its neighbours, as formats want it of results.
    """

    role: Role
    text: str
    calls: tuple[Call, ...] = ()
    parts: tuple[Part, ...] = ()
    answers: str | None = None
    hidden: str = ""
    carriers: tuple[Native, ...] = ()
    seat: tuple[int, int] = (0, 1)


@dataclass(frozen=True, slots=True)
class Frame:
    """Everything of a request that is not turns: tools and parameters, as the client gave them.

    Attributes:
        fields: the request's other fields, by name, untouched.
        counted: the texts among them that cost tokens (tools, schemas, instructions).
        place: how many of the fields stand before the list of turns.
    """

    fields: Mapping[str, Any] = field(default_factory=dict)
    counted: tuple[str, ...] = ()
    place: int = 0


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the server reported them, in one meaning for every provider.

    Attributes:
        prompt: every token of the prompt, cached or not; cached tokens occupy the window too.
        cached: the tokens of `prompt` that were read from a cache.
        output: tokens generated, reasoning included.
        comparable: whether `prompt` measures the request as it was sent; False where the server
            edited or compacted it, or counted it once for each pass of its own tools.
    """

    prompt: int
    cached: int = 0
    output: int = 0
    comparable: bool = True


@dataclass(frozen=True, slots=True)
class Reply:
    """One model answer, read from a provider's response.

    Attributes:
        content: the assistant turn.
        complete: False where the output was cut off (by its token limit or a filter).
        usage: what the server reported, if anything.
        paused: whether the server only paused: asked again with this turn at the end, it goes on.
        broken: indexes of the calls whose arguments may lack their end, though they can be read.
        forged: whether the model wrote results itself, as tools give them.
        behind: indexes of the calls that stand behind such results, and so rest on what is not so.
    """

    content: Content
    complete: bool = True
    usage: Usage | None = None
    paused: bool = False
    broken: tuple[int, ...] = ()
    forged: bool = False
    behind: tuple[int, ...] = ()


class Dialect(Protocol):
    """A wire format. Pure: no I/O, no clock; natives are never changed, only replaced."""

    name: str
    turns_field: str
    """The key of a request that holds its turns: `messages`, `input`, `contents`."""

    def split(self, body: Native) -> tuple[Frame, tuple[Content, ...]]:
        """Take a request apart. Copies the natives once; raises `DialectError` on a bad body."""

    def join(self, frame: Frame, contents: Sequence[Content]) -> dict[str, Any]:
        """Put a request together; untouched carriers are the same objects."""

    def read(self, response: object, taken: Collection[str] = ()) -> Reply:
        """Read a provider's response (an SDK object or a mapping); raises `DialectError`.

        Args:
            response: what the SDK or the server gave.
            taken: ids of calls in the context; a call of the reply that repeats one is renamed.
        """

    def write(
        self, content: Content, text: str, calls: Sequence[Call], parts: Sequence[Part]
    ) -> Content:
        """The same turn with other text, calls or parts, in a carrier of its own.

        Calls and parts are found by `index`; a kept one keeps its native object.
        """

    def without_reasoning(self, content: Content) -> Content:
        """The same turn without its reasoning, as whole blocks or items; `content` itself where none can
        go. What is shown of the turn does not change."""

    def result(self, call: Call, text: str) -> Content:
        """A tool result that answers `call`."""

    def note(self, role: Literal["user", "assistant"], text: str) -> Content:
        """A new turn of plain text."""

    def instruct(
        self, frame: Frame, contents: Sequence[Content], section: str
    ) -> tuple[Frame, tuple[Content, ...]]:
        """Add `section` to the end of the system prompt, making one where there is none."""


def join_carriers(
    contents: Iterable[Content], rebuild: Callable[[Sequence[Content]], Native]
) -> list[Native]:
    """The carriers of `contents`, in order, each once.

    Args:
        contents: turns in the order they are sent.
        rebuild: makes one carrier for turns that shared one with others that are gone or changed.

    Returns:
        natives; a carrier whose turns all stand together is the very object they came in.
    """
    natives: list[Native] = []
    run: list[Content] = []

    def flush() -> None:
        if run:
            whole = [content.seat for content in run] == [
                (place, run[0].seat[1]) for place in range(run[0].seat[1])
            ]
            natives.append(run[0].carriers[0] if whole else rebuild(run))
            run.clear()

    for content in contents:
        if content.seat[1] == 1:
            flush()
            natives.extend(content.carriers)
            continue
        if run and run[-1].carriers[0] is not content.carriers[0]:
            flush()
        run.append(content)
    flush()
    return natives
