"""Gemini's rules on parts, on who speaks where, and on thought signatures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from redraft.dialects.arguments import parse_object
from redraft.dialects.base import Native
from redraft.dialects.chat_natives import dump
from redraft.dialects.frames import CONTINUE, NO_WORDS, OPENING, demoted, framed
from redraft.dialects.gemini_parts import field_of, key_of
from redraft.dialects.pairs_gemini import holds, is_models, parts_of, response_text, text_part
from redraft.dialects.profile import Rule, Violation

__all__ = [
    "ONE_CALL_TURN",
    "PARTS",
    "PART_OBJECTS",
    "PART_PLACES",
    "ROLES",
    "SIGNATURES",
    "USER_ENDS",
    "USER_OPENS",
]

SKIP = "skip_thought_signature_validator"
"""The documented value for a call whose signature is not known."""

_Change = Mapping[str, Any]


# -- roles -----------------------------------------------------------------------------------------

_AUTHORITY = ("system", "developer")


def _find_roles(messages: Sequence[Native], start: int) -> Iterator[Violation]:
    for at in range(start, len(messages)):
        if messages[at].get("role") not in ("user", "model", None):
            yield Violation("roles", at, f"no content may have the role {messages[at]['role']!r}")


def _mend_roles(messages: Sequence[Native]) -> list[Native]:
    return [message if _has_role(message) else _with_role(message) for message in messages]


def _has_role(message: Native) -> bool:
    return message.get("role") in ("user", "model", None)


def _with_role(message: Native) -> Native:
    role = message["role"]
    if role in _AUTHORITY:
        text = "\n".join(str(part["text"]) for part in parts_of(message) if part.get("text"))
        return {"role": "user", "parts": [text_part(demoted(text))]}
    return {**message, "role": "model" if role == "assistant" else "user"}


# -- parts -----------------------------------------------------------------------------------------

_BESIDE = ("thought", "thoughtSignature", "thought_signature", "partMetadata", "part_metadata")


def _is_void(part: Native) -> bool:
    """Whether a part holds nothing. A signature may stand on an empty text."""
    if field_of(part, "thoughtSignature"):
        return False
    data = [key for key in part if key not in _BESIDE]
    return not data or (data == ["text"] and not part["text"])


def _find_void(messages: Sequence[Native], start: int) -> Iterator[Violation]:
    for at in range(start, len(messages)):
        parts = parts_of(messages[at])
        if not parts:
            yield Violation("parts", at, "a content has no parts")
        elif any(map(_is_void, parts)):
            yield Violation("parts", at, "a part holds nothing")


def _mend_void(messages: Sequence[Native]) -> list[Native]:
    out: list[Native] = []
    for message in messages:
        old = parts_of(message)
        kept = [part for part in old if not _is_void(part)]
        if kept and len(kept) == len(old):
            out.append(message)
        elif kept:
            out.append({**message, "parts": kept})
        elif not is_models(message):
            out.append({**message, "parts": [text_part(NO_WORDS)]})
    return out


def _find_objects(messages: Sequence[Native], start: int) -> Iterator[Violation]:
    for at in range(start, len(messages)):
        if any(_object(part) is not None for part in parts_of(messages[at])):
            says = "the arguments of a call, or what a function gave, are no object"
            yield Violation("part-objects", at, says)


def _object(part: Native) -> Native | None:
    """The part with an object where one must be; None where it is one."""
    if holds(part, "functionCall"):
        return _with_object(part, "functionCall", "args", {})
    if holds(part, "functionResponse"):
        given = field_of(part, "functionResponse").get("response")
        return _with_object(part, "functionResponse", "response", {"output": response_text(given)})
    return None


def _with_object(part: Native, name: str, field: str, instead: _Change) -> Native | None:
    key = key_of(part, name)
    given = part[key].get(field)
    if isinstance(given, Mapping) or (field == "args" and field not in part[key]):
        return None
    parsed = parse_object(given) if isinstance(given, str) else None
    return {**part, key: {**part[key], field: instead if parsed is None else parsed}}


def _mend_objects(messages: Sequence[Native]) -> list[Native]:
    out: list[Native] = []
    for message in messages:
        old = parts_of(message)
        new = [_object(part) or part for part in old]
        same = all(a is b for a, b in zip(new, old, strict=True))
        out.append(message if same else {**message, "parts": new})
    return out


def _find_places(messages: Sequence[Native], start: int) -> Iterator[Violation]:
    for at in range(start, len(messages)):
        if any(_misplaced(part, messages[at]) for part in parts_of(messages[at])):
            yield Violation("part-places", at, "a part may not stand in a content of this role")


def _misplaced(part: Native, message: Native) -> bool:
    if is_models(message):
        return holds(part, "functionResponse")
    return holds(part, "functionCall") or part.get("thought") is True


def _mend_places(messages: Sequence[Native]) -> list[Native]:
    out: list[Native] = []
    for message in messages:
        if not any(_misplaced(part, message) for part in parts_of(message)):
            out.append(message)
            continue
        new = [_placed(part) if _misplaced(part, message) else part for part in parts_of(message)]
        kept = [part for part in new if part is not None] or [text_part(NO_WORDS)]
        out.append({**message, "parts": kept})
    return out


def _placed(part: Native) -> Native | None:
    if part.get("thought") is True:
        return None
    if holds(part, "functionResponse"):
        return text_part(framed(response_text(field_of(part, "functionResponse").get("response"))))
    return text_part(framed(dump(field_of(part, "functionCall"))))


# -- who speaks where ------------------------------------------------------------------------------


def _find_opening(messages: Sequence[Native], start: int) -> Iterator[Violation]:
    if start == 0 and (not messages or is_models(messages[0])):
        yield Violation("user-opens", 0, "the first content must be the user's")


def _mend_opening(messages: Sequence[Native]) -> list[Native]:
    return [{"role": "user", "parts": [text_part(OPENING)]}, *messages]


def _find_end(messages: Sequence[Native], _: int) -> Iterator[Violation]:
    if messages and is_models(messages[-1]):
        yield Violation("user-ends", len(messages) - 1, "the last content must not be the model's")


def _mend_end(messages: Sequence[Native]) -> list[Native]:
    return [*messages, {"role": "user", "parts": [text_part(CONTINUE)]}]


def _split_turns(messages: Sequence[Native], start: int) -> Iterator[tuple[int, int]]:
    """Where turns of the model's that call something are spread over several contents: from, to."""
    begin = start
    while begin > 0 and is_models(messages[begin - 1]):
        begin -= 1
    at = begin
    while at < len(messages):
        end = at
        while end < len(messages) and is_models(messages[end]):
            end += 1
        if end - at > 1 and any(map(_calls, messages[at:end])):
            yield at, end
        at = max(end, at + 1)


def _find_split(messages: Sequence[Native], start: int) -> Iterator[Violation]:
    for at, _ in _split_turns(messages, start):
        says = "a turn of the model's that calls something is spread over several contents"
        yield Violation("one-call-turn", at, says)


def _calls(message: Native) -> bool:
    return any(holds(part, "functionCall") for part in parts_of(message))


def _mend_split(messages: Sequence[Native]) -> list[Native]:
    """Its contents become one, each part as it was."""
    out = list(messages)
    for at, end in reversed(list(_split_turns(messages, 0))):
        parts = [part for message in messages[at:end] for part in parts_of(message)]
        out[at:end] = [{**messages[at], "parts": parts}]
    return out


# -- signatures ------------------------------------------------------------------------------------


def _find_unsigned(messages: Sequence[Native], _: int) -> Iterator[Violation]:
    for at in range(_current_turn(messages), len(messages)):  # older steps of it may be new in it
        call = _first_call(messages[at])
        if call is not None and not field_of(call, "thoughtSignature"):
            says = "the first call of a step in the current turn has no thought signature"
            yield Violation("signatures", at, says)


def _current_turn(messages: Sequence[Native]) -> int:
    """The first index behind the user's last words."""
    at = len(messages)
    while at > 0 and not _speaks_up(messages[at - 1]):
        at -= 1
    return at


def _speaks_up(message: Native) -> bool:
    if is_models(message):
        return False
    return not all(holds(part, "functionResponse") for part in parts_of(message))


def _first_call(message: Native) -> Native | None:
    if not is_models(message):
        return None
    return next((part for part in parts_of(message) if holds(part, "functionCall")), None)


def _mend_unsigned(messages: Sequence[Native]) -> list[Native]:
    unsigned = {violation.at for violation in _find_unsigned(messages, 0)}
    return [_signed(message) if at in unsigned else message for at, message in enumerate(messages)]


def _signed(message: Native) -> Native:
    call = _first_call(message)
    return {
        **message,
        "parts": [
            {**part, _key(part): SKIP} if part is call else part for part in parts_of(message)
        ],
    }


def _key(part: Native) -> str:
    return "thought_signature" if "function_call" in part else "thoughtSignature"


# -- the rules -------------------------------------------------------------------------------------

ROLES = Rule(
    "roles", "Gemini API: 'Please use a valid role: user, model.'", _find_roles, _mend_roles
)
PARTS = Rule(
    "parts",
    "Gemini API: 'contents.parts must not be empty', 'required oneof field 'data' must have one "
    "initialized field'",
    _find_void,
    _mend_void,
)
PART_OBJECTS = Rule(
    "part-objects",
    "API reference, FunctionCall.args and FunctionResponse.response: 'object (Struct format)'",
    _find_objects,
    _mend_objects,
)
PART_PLACES = Rule(
    "part-places",
    "API reference, Content and Part: the model calls and thinks, the user answers",
    _find_places,
    _mend_places,
)
USER_OPENS = Rule(
    "user-opens",
    "Gemini API: 'Please ensure that function call turn comes immediately after a user turn or after a "
    "function response turn' (google-gemini/gemini-cli#11814)",
    _find_opening,
    _mend_opening,
)
USER_ENDS = Rule(
    "user-ends",
    "Gemini API: 'Please ensure that multiturn requests ends with a user role or a function response'",
    _find_end,
    _mend_end,
)
ONE_CALL_TURN = Rule("one-call-turn", USER_OPENS.source, _find_split, _mend_split)
SIGNATURES = Rule(
    "signatures",
    "guide 'Thought signatures': Gemini 3 and later refuse a call of the current turn without one; the "
    "value for a call that has none is documented there (rowboatlabs/rowboat#694)",
    _find_unsigned,
    _mend_unsigned,
)
