"""Chat Completions for models that only write fenced calls: a round's results are one user message.

Turns are what they are everywhere: the model's turn has calls, each result is a turn of its own, and a
group stays together. So the door, the file and the tools need to know nothing of the route. The calls'
ids are the handles `r<round>.<i>`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any

from redraft.dialects.base import Call, Content, Frame, Native, Part, Reply
from redraft.dialects.chat_natives import REASONING, content_of
from redraft.dialects.chat_writing import written
from redraft.dialects.fenced_calls import FencedCall, Spoken, call_fence, spoken
from redraft.dialects.fenced_results import (
    ROUND_KEY,
    Piece,
    pieces_of,
    read_pieces,
    results_message,
    stripped,
    unwrapped,
    wrapped,
)
from redraft.dialects.folding import LOOSE, Folder
from redraft.dialects.openai_chat import OpenAIChat

__all__ = ["Fenced"]

_WHOLE_ROUND = "tool_calls"
"""The name of the one call that stands for a round's, where nobody knows which result is whose."""

_ROUND = re.compile(r"r(\d+)(?:\.\d+)?")


class Fenced(OpenAIChat):
    """The `fenced-chat` dialect; see `redraft.dialects.base.Dialect` for the methods."""

    name = "fenced-chat"

    def __init__(self) -> None:
        self._folder = Folder(_folded)

    def split(self, body: Native) -> tuple[Frame, tuple[Content, ...]]:
        """Take a request apart. Private keys are read here and left out of every carrier."""
        frame, contents = super().split(body)
        return frame, tuple(_turns(contents))

    def join(self, frame: Frame, contents: Sequence[Content]) -> dict[str, Any]:
        """`messages` first, then the frame's fields; a round's results are one message."""
        return {self.turns_field: self._folder.messages(contents), **frame.fields}

    def read(self, response: object, taken: Collection[str] = ()) -> Reply:
        """Read a reply; the calls in it get the handles of the round behind those in `taken`."""
        reply = super().read(response, taken)
        said = spoken(reply.content.text)
        if reply.content.calls or not said.calls:
            return replace(reply, forged=said.forged)
        rounds = [int(found[1]) for found in map(_ROUND.fullmatch, taken) if found]
        content = replace(
            reply.content, text=said.prose, calls=_numbered(said.calls, max(rounds, default=0) + 1)
        )
        return replace(
            reply,
            content=content,
            complete=reply.complete and not said.cut,
            forged=said.forged,
            behind=tuple(range(said.real, len(said.calls))),
        )

    def write(
        self, content: Content, text: str, calls: Sequence[Call], parts: Sequence[Part]
    ) -> Content:
        """The same turn with other text or calls; a result leaves the message that it shared."""
        if (text, tuple(calls), tuple(parts)) == (content.text, content.calls, content.parts):
            return content
        if content.role == "tool" and content.carriers[0].get("role") == "user":
            return _rewritten_result(content, text)
        if content.calls and not content.carriers[0].get("tool_calls"):
            return _rewritten_calls(content, text, calls, parts)
        return super().write(content, text, calls, parts)

    def result(self, call: Call, text: str) -> Content:
        """A result that goes into one message with the others of its round."""
        found = _ROUND.fullmatch(call.id)
        if found is None:  # a native call: this server can do both
            return super().result(call, text)
        if "." not in call.id:
            native = {"role": "user", "content": wrapped(text, int(found[1]))}
            return Content("tool", text, answers=call.id, carriers=(native,))
        return _loose(Piece(call.id, call.name, text))


def _turns(contents: Sequence[Content]) -> Iterator[Content]:
    """The turns of chat messages: calls that are written as text become calls, where results follow
    them or may still come."""
    number, at = 0, 0
    while at < len(contents):
        content = contents[at]
        following = contents[at + 1] if at + 1 < len(contents) else None
        said = spoken(content.text) if content.role == "assistant" and not content.calls else None
        at += 1
        if said is None or not said.calls or (following is not None and not _is_results(following)):
            yield _plain(content)
            continue
        kept = None if following is None else pieces_of(following.carriers[0])
        number = max(number + 1, 0 if following is None else _round(following))
        calls = _numbered(said.calls, number)
        if following is None:
            yield replace(content, text=said.prose, calls=calls)
        elif kept and [piece.id for piece in kept[1]] == [call.id for call in calls]:
            yield replace(content, text=said.prose, calls=calls)
            yield from _seated(kept[1], stripped(following.carriers[0]))
            at += 1
        else:
            yield from _as_one(content, said, following, number)
            at += 1


def _is_results(content: Content) -> bool:
    native = content.carriers[0]
    return content.role == "user" and (ROUND_KEY in native or unwrapped(content.text) is not None)


def _round(content: Content) -> int:
    """The number that a results message gives its round; 0 for none."""
    number = content.carriers[0].get(ROUND_KEY)
    if isinstance(number, int) and not isinstance(number, bool):
        return max(number, 0)
    inside = unwrapped(content.text)
    return inside[0] if inside else 0


def _plain(content: Content) -> Content:
    native = content.carriers[0]
    clean = stripped(native)
    return content if len(clean) == len(native) else replace(content, carriers=(clean,))


def _seated(pieces: Sequence[Piece], native: Native) -> Iterator[Content]:
    count = len(pieces)
    for place, piece in enumerate(pieces):
        seat = (place, count)
        yield Content("tool", piece.text, answers=piece.id, carriers=(native,), seat=seat)


def _as_one(content: Content, said: Spoken, following: Content, number: int) -> Iterator[Content]:
    """A round of which nobody knows which result is whose: one call, one result."""
    name = f"r{number}"
    fences = [call_fence(one.name, one.arguments) for one in said.calls]
    call = Call(name, _WHOLE_ROUND, "\n\n".join(fences), free=True)
    yield replace(content, text=said.prose, calls=(call,))
    native, inside = stripped(following.carriers[0]), unwrapped(following.text)
    text = following.text if inside is None else inside[1]
    yield replace(following, role="tool", text=text, answers=name, carriers=(native,))


def _numbered(calls: Sequence[FencedCall], number: int) -> tuple[Call, ...]:
    return tuple(
        Call(f"r{number}.{at + 1}", call.name, call.arguments, at) for at, call in enumerate(calls)
    )


def _rewritten_calls(
    content: Content, text: str, calls: Sequence[Call], parts: Sequence[Part]
) -> Content:
    fences = [
        call.arguments if call.free else call_fence(call.name, call.arguments) for call in calls
    ]
    old = content.carriers[0]
    said = content_of(old, "the edited turn")  # its text has the fences in it
    native = written(said, "\n\n".join(filter(None, (text, *fences))), (), parts)
    if calls:  # reasoning stays while a call stays
        native.update({key: old[key] for key in REASONING if key in old})
    new = content_of(native, "the edited turn")
    kept = tuple(replace(call, index=at) for at, call in enumerate(calls))
    return replace(new, text=text, calls=kept)


def _rewritten_result(content: Content, text: str) -> Content:
    answers = content.answers or ""
    if "." not in answers:
        framed = unwrapped(str(content.carriers[0].get("content")))
        number = framed[0] if framed else int(answers.removeprefix("r"))
        native = {**content.carriers[0], "content": wrapped(text, number)}
        return replace(content, text=text, carriers=(native,))
    return _loose(Piece(answers, _own_piece(content).tool, text))


def _own_piece(content: Content) -> Piece:
    """The piece of a message that is this turn's: the message is ours, so it can be read."""
    found = read_pieces(str(content.carriers[0].get("content")))
    pieces = found[1] if found else ()
    own = (piece for piece in pieces if piece.id == content.answers)
    return next(own, Piece(content.answers or "", "-", content.text))


def _loose(piece: Piece) -> Content:
    number = int(piece.id[1:].partition(".")[0])
    native = stripped(results_message(number, [piece]))
    return Content("tool", piece.text, answers=piece.id, carriers=(native,), seat=LOOSE)


def _folded(run: Sequence[Content]) -> Native:
    pieces = [replace(_own_piece(content), text=content.text) for content in run]
    number = int(pieces[0].id[1:].partition(".")[0])
    return stripped(results_message(number, pieces))
