"""What stands beside the contents of a generateContent request: the system instruction and the tools.

They are fields of a request to the API, and of `config` in a request to Google's SDK.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from redraft.dialects.blocks import copied
from redraft.dialects.chat_natives import dump
from redraft.dialects.gemini_parts import field_of, key_of, snake

__all__ = ["SDK_DUMP", "counted_texts", "instructed"]

SDK_DUMP = {"mode": "json", "by_alias": True, "exclude_none": True, "warnings": False}
"""JSON as the API takes it: the SDK's client makes this of its objects and reads it back."""

_COUNTED = ("tools", "responseSchema", "responseJsonSchema")
_SETTINGS = ("config", "generationConfig")
_SYSTEM = "systemInstruction"


def counted_texts(fields: Mapping[str, Any]) -> tuple[str, ...]:
    """The texts that cost tokens: instruction, tools, the schema of the answer."""
    places = [fields, *(_settings(fields.get(name)) for name in _SETTINGS)]
    found = [field_of(place, name) for place in places for name in _COUNTED]
    return tuple(filter(None, [_text(_home(fields)[0]), *(dump(one) for one in found if one)]))


def instructed(fields: Mapping[str, Any], section: str) -> Mapping[str, Any]:
    """The fields with `section` at the end of the system instruction; `fields` if it is in there."""
    old, put = _home(fields)
    return fields if section in _text(old) else {**fields, **put(_extended(old, section))}


def _settings(config: object) -> Mapping[str, Any]:
    """The settings in a mapping, or in a configuration object of the SDK, which is left as it is."""
    if isinstance(config, Mapping):
        return config
    return {name: copied(getattr(config, snake(name), None), **SDK_DUMP) for name in _COUNTED}


def _home(fields: Mapping[str, Any]) -> tuple[object, Callable[[object], Mapping[str, Any]]]:
    """The system instruction as plain data, and what to change of the fields to put in another."""
    config = fields.get("config")
    copy = getattr(config, "model_copy", None)
    if isinstance(config, Mapping):
        key = key_of(config, _SYSTEM) if field_of(config, _SYSTEM) else "system_instruction"
        return copied(config.get(key), **SDK_DUMP), lambda new: {"config": {**config, key: new}}
    if callable(copy):
        old = copied(getattr(config, "system_instruction", None), **SDK_DUMP)
        return old, lambda new: {"config": copy(update={"system_instruction": new})}
    name = key_of(fields, _SYSTEM)
    return copied(fields.get(name), **SDK_DUMP), lambda new: {name: new}


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
