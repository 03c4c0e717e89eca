"""OpenAI's Responses API, and the servers that speak it.

A request's `input` is a list of items. A turn of the model's is the longest run of items that the model
made: messages, reasoning, calls, what the server's own tools did. Each result is a turn, and so is each
message of anybody else. What is state and no speech (a compaction, further tools) is held like a
system prompt: sent where it stood, shown to nobody, never edited.

`previous_response_id` names a history on the server. redraft neither sees nor counts nor edits it. What
stands in `input` behind it is edited as ever, as long as the id stays the same: a session that starts
from one response. Results in `input` that answer calls on the server are held, since nobody could take
these calls back. `conversation` adds each request to a history on the server, where no later edit could
reach it: such a request is refused with a `DialectError`, and is to be passed on unedited.

Sources: the API reference, and the types of OpenAI's Python SDK 3.57 (`ResponseInputItemParam`,
`ResponseOutputItem`), for the items; the guides on conversation state and on compaction.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from redraft.dialects.base import Call, Content, Frame, Native, Part, Reply
from redraft.dialects.blocks import copied, dumped
from redraft.dialects.chat_natives import dump
from redraft.dialects.responses_calls import new_result, result_of, written_result
from redraft.dialects.responses_items import Kind, call_id_of, kind_of
from redraft.dialects.responses_replies import read_response
from redraft.dialects.responses_texts import written_body
from redraft.dialects.responses_turns import (
    SDK_DUMP,
    PlainInput,
    check_item,
    contents_of,
    items_of,
    message_of,
)
from redraft.dialects.responses_writing import turn_of, without_thoughts, written_turn
from redraft.errors import DialectError

__all__ = ["OpenAIResponses"]

_COUNTED = ("tools", "text_format")


class OpenAIResponses:
    """The `openai-responses` dialect; see `redraft.dialects.base.Dialect` for the methods."""

    name = "openai-responses"
    turns_field = "input"

    # -- apart and together ----------------------------------------------------------------------

    def split(self, body: Native) -> tuple[Frame, tuple[Content, ...]]:
        """Take a request (`input` and any other fields) apart."""
        if not isinstance(body, Mapping):
            raise DialectError(
                f"a {type(body).__name__} is no request; pass a mapping with `input`, a list of items."
            )
        if body.get("conversation") is not None:
            raise DialectError(
                "`conversation` keeps the history on the server, where no edit reaches it. Leave it out "
                "and send the items themselves, or pass this request on unedited."
            )
        try:
            frame, items = self._frame(body), items_of(body.get(self.turns_field))
            return frame, contents_of(items, on_server=body.get("previous_response_id") is not None)
        except RecursionError as error:
            raise DialectError(
                "the request is nested too deeply or contains itself; send plain JSON data."
            ) from error

    def _frame(self, body: Native) -> Frame:
        given = body.get(self.turns_field) is not None
        fields = {
            key: copied(value, **SDK_DUMP)
            for key, value in body.items()
            if key != self.turns_field or not given
        }
        place = list(body).index(self.turns_field) if given else -1
        return Frame(fields, _counted(fields), place)

    def join(self, frame: Frame, contents: Sequence[Content]) -> dict[str, Any]:
        """The request's fields in the order in which they came, the items in their place."""
        items = [native for content in contents for native in content.carriers]
        if frame.place < 0:  # the request had none, as with a prompt that the server keeps
            return {**frame.fields, self.turns_field: items} if items else dict(frame.fields)
        plain = len(items) == 1 and isinstance(items[0], PlainInput)
        fields = list(frame.fields.items())
        fields.insert(frame.place, (self.turns_field, items[0]["content"] if plain else items))
        return dict(fields)

    def read(self, response: object, taken: Collection[str] = ()) -> Reply:
        """Read a `Response` (SDK object, final response of a stream, or mapping), or its `output`."""
        data = dumped(response, **SDK_DUMP)
        body = copied(response if data is None else data, **SDK_DUMP)
        items, complete, usage = read_response(body, type(response), taken)
        for at, item in enumerate(items):
            check_item(item, f"output[{at}]")
        content = turn_of(items)
        cut = {call_id_of(item) for item in items if item.get("status") == "incomplete"}
        broken = (call.index for call in content.calls if call.id in cut)
        return Reply(content, complete, usage, broken=tuple(broken))

    # -- written anew ----------------------------------------------------------------------------

    def write(
        self, content: Content, text: str, calls: Sequence[Call], parts: Sequence[Part]
    ) -> Content:
        """The same turn with other text, calls or parts; `content` itself where nothing differs.

        Items that stay are the same objects. Reasoning goes, and with it the ids that would miss it;
        it stays where an item that stays could not be sent without. Some items have no place for
        words: a screenshot that goes leaves a blank one, and text for it is left out.
        """
        arguments = {call.index: call.arguments for call in calls}
        kept = {part.index for part in parts}
        if (
            text == content.text
            and all(arguments.get(call.index) == call.arguments for call in content.calls)
            and all(part.index in kept for part in content.parts)
        ):
            return content
        if content.role == "assistant":
            return written_turn(content, text, calls, kept)
        item = content.carriers[0]
        if content.role == "tool":
            new = written_result(item, text, kept)
            return content if new is item else replace(result_of(new), answers=content.answers)
        if kind_of(item) is Kind.MESSAGE:
            return message_of(written_body(item, text, kept), content.role)
        return content

    def without_reasoning(self, content: Content) -> Content:
        """The same turn without its reasoning, each item removed whole; `content` itself if none goes.

        What is shown of the turn does not change. Reasoning stays in front of what the server's own
        tools did: those items are refused without it, and cannot give up the id that asks for it.
        """
        return without_thoughts(content) if content.role == "assistant" else content

    # -- new turns -------------------------------------------------------------------------------

    def result(self, call: Call, text: str) -> Content:
        """An item that answers `call`, of the kind that its own kind asks for.

        For a call of the client's computer the text is left out: the API takes nothing but a
        screenshot. A request for an approval is granted by `yes`, `true` or `approved` alone.
        """
        return result_of(new_result(call, text))

    def note(self, role: Literal["user", "assistant"], text: str) -> Content:
        """A message of plain text."""
        native = {"type": "message", "role": role, "content": text}
        return turn_of((native,)) if role == "assistant" else message_of(native, role)

    def instruct(
        self, frame: Frame, contents: Sequence[Content], section: str
    ) -> tuple[Frame, tuple[Content, ...]]:
        """Add `section` to `instructions`, else to the last of the leading system or developer
        messages; once, however often asked.

        Where there is neither, it becomes a developer message at the start of `input`: newer models
        read `instructions` behind the input and never from the cache (guide "Using GPT-6.2"). Behind
        `previous_response_id` there is no start, so there it is `instructions`.
        """
        lead = [at for at in range(_lead(contents)) if _is_message(contents[at])]
        said = _instructions(frame.fields)
        if section in said or any(section in contents[at].text for at in lead):
            return frame, tuple(contents)
        if said or (not lead and frame.fields.get("previous_response_id") is not None):
            text = f"{said}\n\n{section}" if said else section
            fields = {**frame.fields, "instructions": text}
            return Frame(fields, _counted(fields), frame.place), tuple(contents)
        if not lead:
            native = {"type": "message", "role": "developer", "content": section}
            return frame, (message_of(native, "system"), *contents)
        at = lead[-1]
        told = message_of(_told(contents[at].carriers[0], section), "system")
        return frame, (*contents[:at], told, *contents[at + 1 :])


def _instructions(fields: Mapping[str, Any]) -> str:
    said = fields.get("instructions")
    return said if isinstance(said, str) else ""


def _counted(fields: Mapping[str, Any]) -> tuple[str, ...]:
    """The texts of a request besides its items that cost tokens."""
    form = fields.get("text")
    counted = [_instructions(fields), *(dump(fields[key]) for key in _COUNTED if fields.get(key))]
    if isinstance(form, Mapping) and isinstance(form.get("format"), Mapping):
        counted.append(dump(form["format"]))
    return tuple(filter(None, counted))


def _lead(contents: Sequence[Content]) -> int:
    lead = 0
    while lead < len(contents) and contents[lead].role == "system":
        lead += 1
    return lead


def _is_message(content: Content) -> bool:
    return kind_of(content.carriers[0]) is Kind.MESSAGE


def _told(native: Native, section: str) -> Native:
    body = native.get("content")
    if isinstance(body, (list, tuple)):
        return {**native, "content": [*body, {"type": "input_text", "text": section}]}
    return {**native, "content": f"{body}\n\n{section}" if body else section}
