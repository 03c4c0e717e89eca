"""Google's generateContent, as the Gemini API and Vertex AI take it.

A request holds `contents` of `parts`. A content of the user's may hold a round's results and words
besides, so it may be several turns. Where a call has no id, its place among its turn's calls of that
name serves: `read_file#2`. Thought signatures stay on their parts. Both spellings of a name
(`functionCall`, `function_call`) are read, and what came is kept.

Sources: the API reference for `Content` and `Part`, and the types of Google's Gen AI SDK for Python 3.6;
the guide on function calling, for results that all stand in one content; the guide on thought
signatures, for parts that are sent back as they came.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from redraft.dialects.base import Call, Content, Frame, Native, Reply, Role
from redraft.dialects.block_format import Answering
from redraft.dialects.blocks import BlockDialect, copied
from redraft.dialects.chat_natives import dump
from redraft.dialects.gemini_parts import GeminiParts, field_of, key_of, real_id, shown_id
from redraft.dialects.gemini_replies import read_response
from redraft.errors import DialectError

__all__ = ["Gemini"]

_ROLES: Mapping[str, Role] = {"user": "user", "model": "assistant", "function": "user"}

_SDK_DUMP = {"mode": "json", "by_alias": True, "exclude_none": True, "warnings": False}
"""JSON as the API takes it: the SDK's client makes this of its objects and reads it back."""

_COUNTED = ("tools", "responseSchema", "responseJsonSchema")
_SETTINGS = ("config", "generationConfig")


class Gemini(GeminiParts, BlockDialect):
    """The `gemini` dialect; see `redraft.dialects.base.Dialect` for the methods."""

    name = "gemini"
    turns_field = "contents"
    model_role = "model"
    thoughts_follow_calls = True  # a signature may stand on either

    def _messages(self, body: Native) -> Sequence[object]:
        """The API reads one content as a list of one."""
        contents = body.get(self.turns_field) if isinstance(body, Mapping) else None
        return [contents] if isinstance(contents, Mapping) else super()._messages(body)

    def _role(self, native: Native, where: str) -> Role:
        name = native.get("role") or "user"
        role = _ROLES.get(name) if isinstance(name, str) else None
        if role is None:
            raise DialectError(
                f"{where} has the role {name!r}; generateContent knows {', '.join(_ROLES)}. The "
                "system prompt belongs into `systemInstruction`."
            )
        return role

    def _message(self, message: object, where: str) -> Native:
        native = copied(message, **_SDK_DUMP)
        if not isinstance(native, dict):
            raise DialectError(
                f"{where} is a {type(message).__name__}; each content must be a mapping with `role` "
                "and `parts`, or a `Content` of the Gen AI SDK."
            )
        _check(native, where)
        return native

    def _answering(self, calls: Sequence[Call]) -> Answering:
        return _Pairing(calls)

    def _result(self, call: Call, text: str) -> Native:
        name = real_id(call.id)
        response = {"name": call.name, "response": {"output": text}}
        return {"functionResponse": response if name is None else {"id": name, **response}}

    def _counted(self, fields: Mapping[str, Any]) -> tuple[str, ...]:
        counted = [_text(_home(fields)[0])]
        for place in (fields, *(fields.get(name) for name in _SETTINGS)):
            if isinstance(place, Mapping):
                counted += [
                    dump(field_of(place, name)) for name in _COUNTED if field_of(place, name)
                ]
        return tuple(filter(None, counted))

    def read(self, response: object, taken: Collection[str] = ()) -> Reply:
        """Read a `GenerateContentResponse` (SDK object or mapping), or the list of a stream's."""
        chunks = response if isinstance(response, (list, tuple)) else [response]
        native, complete, usage = read_response(
            [copied(chunk, **_SDK_DUMP) for chunk in chunks], type(response), taken
        )
        _check(native, "the reply")
        return Reply(self._turn("assistant", (native,)), complete, usage)

    def instruct(
        self, frame: Frame, contents: Sequence[Content], section: str
    ) -> tuple[Frame, tuple[Content, ...]]:
        """Add `section` to the end of the system instruction; once, however often asked.

        The instruction is a field of the request, or of `config` in a request to the SDK's client.
        """
        old, put = _home(frame.fields)
        if section in _text(old):
            return frame, tuple(contents)
        fields = {**frame.fields, **put(_extended(old, section))}
        return Frame(fields, self._counted(fields), frame.place), tuple(contents)


class _Pairing:
    """Pairs results with calls inside one group: by id, else the next call of that name that has no
    result, else the last of that name (a later result of one call), else the next call in order."""

    def __init__(self, calls: Sequence[Call]) -> None:
        self._calls = calls
        self._open = list(calls)
        self._strangers: dict[str, int] = {}

    def __call__(self, part: Native) -> str:
        result = field_of(part, "functionResponse")
        name, wanted = str(result.get("name") or ""), str(result.get("id") or "")
        call = self._take(lambda one: bool(wanted) and real_id(one.id) == wanted)
        if call is None:
            call = self._take(lambda one: one.name == name and not (wanted and real_id(one.id)))
        if call is None and not (name or wanted):
            call = self._take(lambda _: True)
        if call is not None:
            return call.id
        if wanted:
            return shown_id(wanted, name, 0)
        number = self._strangers[name] = self._strangers.get(name, 0) + 1
        return shown_id("", name, number)

    def _take(self, fits: Callable[[Call], bool]) -> Call | None:
        call = next(filter(fits, self._open), None)
        if call is None:
            return next(filter(fits, reversed(self._calls)), None)
        self._open.remove(call)
        return call


def _check(native: Native, where: str) -> None:
    """What the rest relies on; anything else may be in a content."""
    parts = native.get("parts")
    if parts is None or isinstance(parts, Mapping):
        return
    if not isinstance(parts, (list, tuple)) or not all(isinstance(p, Mapping) for p in parts):
        raise DialectError(
            f"`parts` of {where} must be a list of parts, each a mapping; write plain text as "
            "{'text': ...}."
        )


# -- the system instruction ----------------------------------------------------------------------

_SYSTEM = "systemInstruction"


def _home(fields: Mapping[str, Any]) -> tuple[object, Callable[[object], Mapping[str, Any]]]:
    """The system instruction as plain data, and what to change of the fields to put in another."""
    config = fields.get("config")
    copy = getattr(config, "model_copy", None)
    if isinstance(config, Mapping):
        key = key_of(config, _SYSTEM) if field_of(config, _SYSTEM) else "system_instruction"
        return copied(config.get(key), **_SDK_DUMP), lambda new: {"config": {**config, key: new}}
    if callable(copy):
        old = copied(getattr(config, "system_instruction", None), **_SDK_DUMP)
        return old, lambda new: {"config": copy(update={"system_instruction": new})}
    name = key_of(fields, _SYSTEM)
    return copied(fields.get(name), **_SDK_DUMP), lambda new: {name: new}


def _text(instruction: object) -> str:
    """The text of an instruction: text, a part, a content, or (for the SDK) a list of these."""
    if isinstance(instruction, str):
        return instruction
    if isinstance(instruction, Mapping):
        text = instruction.get("text")
        return text if isinstance(text, str) else _text(instruction.get("parts"))
    members = instruction if isinstance(instruction, (list, tuple)) else ()
    return "\n".join(filter(None, map(_text, members)))


def _extended(old: object, section: str) -> object:
    """The instruction with one more part, in the form that it had."""
    new = {"text": section}
    if not old:
        return {"parts": [new]}
    if isinstance(old, str):
        return f"{old}\n\n{section}"
    if isinstance(old, (list, tuple)):
        return [*old, new]
    if isinstance(old, Mapping) and "parts" in old:
        parts = old["parts"]
        return {**old, "parts": [*([parts] if isinstance(parts, Mapping) else parts or ()), new]}
    return {"parts": [old, new]}
