"""Requests whose messages are lists of blocks, taken apart, put together and written anew.

What Anthropic's and Google's formats have in common. A turn that is written keeps every block that it
does not change, as the same object.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal

from redraft.dialects.arguments import parse_object
from redraft.dialects.base import Call, Content, Frame, Native, Part, Reply, Role, Usage
from redraft.dialects.block_format import Answering, BlockFormat, Kind
from redraft.dialects.block_texts import retexted
from redraft.dialects.folding import LOOSE, Folder
from redraft.errors import DialectError

__all__ = ["BlockDialect", "copied", "dumped"]


class BlockDialect(BlockFormat):
    """A dialect of this kind; see `redraft.dialects.base.Dialect` for the methods."""

    name: str
    turns_field: str
    """The request's key that holds the messages."""
    model_role: ClassVar[str]
    """The format's word for the model."""
    thoughts_follow_calls: ClassVar[bool]
    """Whether a turn that is written keeps its thoughts while it keeps a call; else they go."""

    def __init__(self) -> None:
        self._folder = Folder(self._folded)

    @abstractmethod
    def _role(self, native: Native, where: str) -> Role:
        """Who speaks; raises `DialectError` for a role that the format does not know."""

    @abstractmethod
    def _message(self, message: object, where: str) -> Native:
        """A private copy of one message, whatever object the client holds it in."""

    @abstractmethod
    def _answering(self, calls: Sequence[Call]) -> Answering:
        """How the results behind a turn with these calls find them."""

    @abstractmethod
    def _result(self, call: Call, text: str) -> Native:
        """A new result that answers `call`."""

    @abstractmethod
    def _counted(self, fields: Mapping[str, Any]) -> tuple[str, ...]:
        """The texts of a request besides its messages that cost tokens."""

    # -- apart and together ----------------------------------------------------------------------

    def split(self, body: Native) -> tuple[Frame, tuple[Content, ...]]:
        """Take a request apart."""
        messages = self._messages(body)
        try:
            fields = {key: copied(body[key]) for key in body if key != self.turns_field}
            frame = Frame(fields, self._counted(fields), list(body).index(self.turns_field))
            return frame, tuple(self._contents(messages))
        except RecursionError as error:
            raise DialectError(
                "the request is nested too deeply or contains itself; send plain JSON data."
            ) from error

    def _messages(self, body: Native) -> Sequence[object]:
        messages = body.get(self.turns_field) if isinstance(body, Mapping) else None
        if isinstance(messages, (str, bytes)) or not isinstance(messages, Sequence):
            raise DialectError(
                f"`{self.turns_field}` must be a list of messages; pass "
                f"[{{'role': 'user', '{self.blocks_field}': [{{'text': ...}}]}}]."
            )
        return messages

    def _contents(self, messages: Sequence[object]) -> list[Content]:
        contents: list[Content] = []
        said: list[Native] = []
        answering = self._answering(())
        for at, message in enumerate(messages):
            where = f"{self.turns_field}[{at}]"
            native = self._message(message, where)
            role = self._role(native, where)
            if role == "assistant":
                said.append(native)
                continue
            if said:
                contents.append(self._turn("assistant", tuple(said)))
                answering = self._answering(contents[-1].calls)
                said = []
            contents.extend(self._seated(native, role, answering))
        if said:
            contents.append(self._turn("assistant", tuple(said)))
        return contents

    def _seated(self, native: Native, role: Role, answering: Answering) -> list[Content]:
        """The turns of a message that is not the model's: each result, then the rest."""
        seats = self._seats(native, role)
        results = len(self._of_kind(Kind.RESULT, self._blocks(native), role))
        return [
            self._result_turn(blocks[0], native, (place, len(seats)), answering(blocks[0]))
            if place < results
            else self._turn(role, (native,), blocks, (place, len(seats)))
            for place, blocks in enumerate(seats)
        ]

    def join(self, frame: Frame, contents: Sequence[Content]) -> dict[str, Any]:
        """The request's fields in the order in which they came, the messages in their place."""
        fields = list(frame.fields.items())
        fields.insert(frame.place, (self.turns_field, self._folder.messages(contents)))
        return dict(fields)

    def _folded(self, run: Sequence[Content]) -> Native:
        blocks = [block for content in run for block in self._own(content)]
        return {**run[0].carriers[0], self.blocks_field: blocks}

    def _reply(
        self, native: Native, complete: bool, usage: Usage | None, *, paused: bool = False
    ) -> Reply:
        """A reply of one message. Clients that stream mend the arguments of a call that was cut off,
        so the call that ends a broken reply may be anything but what the model meant."""
        content = self._turn("assistant", (native,))
        blocks = self._blocks(native)
        cut = not (complete or paused) and blocks and self._sort(blocks[-1]) is Kind.CALL
        broken = (content.calls[-1].index,) if cut else ()
        return Reply(content, complete, usage, paused, broken)

    # -- written anew ----------------------------------------------------------------------------

    def write(
        self, content: Content, text: str, calls: Sequence[Call], parts: Sequence[Part]
    ) -> Content:
        """The same turn with other text, calls or parts; `content` itself where nothing differs.

        Blocks that stay are the same objects. Arguments that are no JSON object are not taken over:
        the format has no place for them.
        """
        standing = {call.index: call.arguments for call in calls if call.index < len(content.calls)}
        kept = {part.index for part in parts}
        if (
            text == content.text
            and all(standing.get(call.index) == call.arguments for call in content.calls)
            and all(part.index in kept for part in content.parts)
        ):
            return content
        if content.role == "tool":
            return self._written_result(content, text, kept)
        edits = {
            at: None if arguments == content.calls[at].arguments else parse_object(arguments)
            for at, arguments in standing.items()
        }
        blocks = self._written(self._own(content), content.role, text, edits, kept)
        native, seat = self._carrier(content, blocks)
        return _with_old_ids(content, self._turn(content.role, (native,), seat=seat), standing)

    def _written_result(self, content: Content, text: str, parts: Collection[int]) -> Content:
        old = self._own(content)[0]
        block = self._with_inner(old, self._written(self._inner(old), "tool", text, {}, parts))
        native, seat = self._carrier(content, [block])
        return self._result_turn(block, native, seat, content.answers or "")

    def _written(
        self,
        blocks: Sequence[Native],
        role: Role,
        text: str,
        calls: Mapping[int, Mapping[str, Any] | None],
        parts: Collection[int],
    ) -> list[Native]:
        """The blocks that stay, with the new text in the place of the old.

        Args:
            blocks: the turn's blocks as they were.
            role: who speaks.
            text: the new text.
            calls: the calls that stay, each with its new arguments or None.
            parts: the parts that stay.
        """
        kept: list[Native] = []
        for block, unit in zip(blocks, self._units(blocks, role), strict=True):
            match self._kind(block, role):
                case Kind.CALL if unit in calls:
                    new = calls[unit]
                    kept.append(block if new is None else self._with_arguments(block, new))
                case Kind.PART if unit in parts:
                    kept.append(block)
                case Kind.THOUGHT if calls and self.thoughts_follow_calls:
                    kept.append(block)
                case Kind.TEXT:
                    kept.append(block)
        kinds = [self._kind(block, role) for block in kept]
        place = kinds.index(Kind.CALL) if Kind.CALL in kinds else len(kept)
        return retexted(kept, text, lambda new: self._pieces(new, role), self._text_block, place)

    def _carrier(
        self, content: Content, blocks: list[Native]
    ) -> tuple[dict[str, Any], tuple[int, int]]:
        """A message of its own for a turn that is written, and the seat in it.

        A turn that came alone stays alone. One that shared a message is folded into what is left of
        it, so that a round's results still stand in one.
        """
        old = content.carriers[0]
        seat = (0, 1) if content.seat == (0, 1) else LOOSE
        return {**old, self.blocks_field: self._body(old, blocks)}, seat

    def without_reasoning(self, content: Content) -> Content:
        """The same turn without its thoughts, each removed whole; `content` itself if it has none.

        What is shown of the turn does not change, nor any other block.
        """
        carriers: list[Native] = []
        for native in content.carriers if content.role == "assistant" else ():
            old = self._blocks(native)
            new = [block for block in old if self._kind(block, "assistant") is not Kind.THOUGHT]
            same = len(new) == len(old)
            carriers.append(native if same else {**native, self.blocks_field: new})
        if all(one is other for one, other in zip(carriers, content.carriers, strict=False)):
            return content
        spoken = [native for native in carriers if native[self.blocks_field]] or carriers[:1]
        return replace(content, hidden="", carriers=tuple(spoken))

    # -- new turns -------------------------------------------------------------------------------

    def result(self, call: Call, text: str) -> Content:
        """A result that answers `call`; those of one round are sent in one message."""
        block = self._result(call, text)
        native = {"role": "user", self.blocks_field: [block]}
        return self._result_turn(block, native, LOOSE, call.id)

    def note(self, role: Literal["user", "assistant"], text: str) -> Content:
        """A message of plain text."""
        native = {"role": self.model_role if role == "assistant" else role, self.blocks_field: ""}
        body = self._body(native, [self._text_block(text, ())])
        return self._turn(role, ({**native, self.blocks_field: body},))


def _with_old_ids(old: Content, new: Content, standing: Collection[int]) -> Content:
    """A written turn with its calls under the ids they had: a label is not in the message."""
    kept = [call for call in old.calls if call.index in standing]
    calls = (replace(now, id=was.id) for now, was in zip(new.calls, kept, strict=True))
    return replace(new, calls=tuple(calls))


def copied(value: Any, **dump: object) -> Any:
    """A copy of JSON data that shares no container with it.

    Not `copy.deepcopy`: a field may hold what cannot be copied (a client's time-out, a lock), and
    such a leaf is kept.

    Args:
        value: mappings, lists and leaves.
        dump: how an object of the provider's SDK becomes a mapping: the arguments for its
            `model_dump`. Without any, it is a leaf.
    """
    if isinstance(value, Mapping):
        return {key: copied(item, **dump) for key, item in value.items()}
    if isinstance(value, list):
        return [copied(item, **dump) for item in value]
    if isinstance(value, tuple):
        return tuple(copied(item, **dump) for item in value)
    mapping = dumped(value, **dump) if dump and not isinstance(value, str) else None
    return value if mapping is None else copied(mapping, **dump)


def dumped(value: object, **dump: object) -> Mapping[str, Any] | None:
    """What an object of an SDK holds, as its client would send it; None for any other object."""
    method = getattr(value, "model_dump", None)
    if isinstance(value, type) or not callable(method):
        return None
    try:
        mapping = method(**dump)
    except Exception as error:  # a stranger's method may raise anything
        raise DialectError(
            f"a {type(value).__name__} could not be read ({error}); pass plain mappings instead."
        ) from error
    return mapping if isinstance(mapping, Mapping) else None
