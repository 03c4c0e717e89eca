"""A validator for as much of JSON Schema as the catalogue of events uses; anything else is an error."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

TYPES: Mapping[str, tuple[type, ...]] = {
    "array": (list,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "object": (dict,),
    "string": (str,),
}
NOTES = {"$schema", "$defs", "title", "description"}


def faults(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with a value."""
    for word, rule in schema.items():
        if word not in NOTES:
            yield from globals()[f"_{word.strip('$')}"](value, rule, schema, root)


def _ref(value: Any, rule: str, schema: Any, root: Any) -> Iterator[str]:
    place = rule.removeprefix("#/$defs/")
    yield from faults(value, root["$defs"][place], root)


def _oneOf(value: Any, rule: Any, schema: Any, root: Any) -> Iterator[str]:
    fits = [one for one in rule if not list(faults(value, one, root))]
    if len(fits) != 1:
        yield f"{value} is {len(fits)} of the events"


def _const(value: Any, rule: Any, schema: Any, root: Any) -> Iterator[str]:
    if value != rule:
        yield f"{value!r} is not {rule!r}"


def _type(value: Any, rule: str, schema: Any, root: Any) -> Iterator[str]:
    if not isinstance(value, TYPES[rule]) or (isinstance(value, bool) and rule != "boolean"):
        yield f"{value!r} is no {rule}"


def _items(value: Any, rule: Any, schema: Any, root: Any) -> Iterator[str]:
    for one in value if isinstance(value, list) else ():
        yield from faults(one, rule, root)


def _properties(value: Any, rule: Any, schema: Any, root: Any) -> Iterator[str]:
    for name, one in rule.items():
        if name in value:
            yield from faults(value[name], one, root)


def _required(value: Any, rule: Any, schema: Any, root: Any) -> Iterator[str]:
    yield from (f"{name} is missing" for name in rule if name not in value)


def _additionalProperties(value: Any, rule: bool, schema: Any, root: Any) -> Iterator[str]:
    assert rule is False
    yield from (f"{name} is not known" for name in value if name not in schema["properties"])
