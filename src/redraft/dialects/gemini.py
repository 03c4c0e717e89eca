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
from redraft.dialects.gemini_frame import SDK_DUMP, counted_texts, instructed
from redraft.dialects.gemini_parts import GeminiParts, field_of, real_id, shown_id
from redraft.dialects.gemini_replies import read_response
from redraft.errors import DialectError

__all__ = ["Gemini"]

_ROLES: Mapping[str, Role] = {"user": "user", "model": "assistant", "function": "user"}


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
        native = copied(message, **SDK_DUMP)
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
        return counted_texts(fields)

    def read(self, response: object, taken: Collection[str] = ()) -> Reply:
        """Read a `GenerateContentResponse` (SDK object or mapping), or the list of a stream's."""
        chunks = response if isinstance(response, (list, tuple)) else [response]
        native, complete, usage = read_response(
            [copied(chunk, **SDK_DUMP) for chunk in chunks], type(response), taken
        )
        _check(native, "the reply")
        return self._reply(native, complete, usage)

    def instruct(
        self, frame: Frame, contents: Sequence[Content], section: str
    ) -> tuple[Frame, tuple[Content, ...]]:
        """Add `section` to the end of the system instruction; once, however often asked.

        The instruction is a field of the request, or of `config` in a request to the SDK's client.
        """
        fields = instructed(frame.fields, section)
        if fields is frame.fields:
            return frame, tuple(contents)
        return Frame(fields, counted_texts(fields), frame.place), tuple(contents)


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
