"""How a function tool is declared, wire format by wire format, and where it stands in a request.

Sources: the API references of Chat Completions, Responses, Messages and generateContent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from redraft.dialects.base import Native
from redraft.dialects.blocks import copied
from redraft.dialects.gemini_frame import SDK_DUMP
from redraft.dialects.gemini_parts import field_of, key_of
from redraft.errors import DialectError
from redraft.tools.described import in_words

__all__ = ["declared", "offered", "with_tools"]

_DECLARATIONS = "functionDeclarations"


def declared(tool: Native, dialect: str) -> Native:
    """A function tool as a wire format writes it; for Gemini, what stands among the declarations.

    Args:
        tool: the tool as Chat Completions write it.
        dialect: the name of the wire format.

    Raises:
        DialectError: nothing is known of how that format writes tools.
    """
    form = _FORMS.get(dialect)
    if form is None:
        raise DialectError(
            f"how {dialect} writes a tool is not known; choose an interface without the tool, or declare "
            f"{tool['function']['name']!r} among the session's tools yourself."
        )
    return form(tool["function"])


def with_tools(
    fields: Mapping[str, Any], tools: Sequence[object] | None, dialect: str
) -> dict[str, Any]:
    """A request's fields with `tools` in their place: a field, or for Gemini's SDK one of `config`. Where
    the system prompt describes the tools, the fields stay as they are.

    Args:
        fields: the fields of a request, which has no tools yet unless they are in `config`.
        tools: the tools as the wire format writes them.
        dialect: the name of the wire format.
    """
    if not tools or in_words(dialect):
        return dict(fields)
    return _changed(fields, lambda old: [*old, *tools], dialect)


def offered(fields: Mapping[str, Any], tool: Native, dialect: str) -> dict[str, Any]:
    """A request's fields with one more function tool at the end; once, however often asked. They stay as
    they are where tools are described in words.

    Args:
        fields: the fields of a request.
        tool: the tool as Chat Completions write it.
        dialect: the name of the wire format.

    Raises:
        DialectError: nothing is known of how that format writes tools.
    """
    if in_words(dialect):
        return dict(fields)
    name = tool["function"]["name"]

    def more(old: Sequence[object]) -> Sequence[object]:
        if any(name == known for one in old for known in _names(one)):
            return old
        new = declared(tool, dialect)
        return _among_declarations(old, new) if dialect == "gemini" else [*old, new]

    return _changed(fields, more, dialect)


def _changed(
    fields: Mapping[str, Any],
    change: Callable[[Sequence[object]], Sequence[object]],
    dialect: str,
) -> dict[str, Any]:
    """The fields with other tools, wherever these stand."""
    config = fields.get("config") if dialect == "gemini" else None
    if config is None:
        new = change(_listed(fields.get("tools")))
        return {**fields, "tools": new} if "tools" in fields else {"tools": new, **fields}
    if isinstance(config, Mapping):
        return {**fields, "config": {**config, "tools": change(_listed(config.get("tools")))}}
    tools = change(_listed(getattr(config, "tools", None)))
    return {**fields, "config": config.model_copy(update={"tools": tools})}


def _listed(tools: object) -> Sequence[object]:
    """Tools as a list; an SDK's sign for a field that is left out stands for none."""
    return list(tools) if isinstance(tools, (list, tuple)) else []


def _among_declarations(old: Sequence[object], new: Native) -> list[object]:
    """The tools with one more declaration, in the tool that has some: a list with several tools of
    functions is refused by some models ("Multiple tools are supported only when they are all search
    tools")."""
    tools = list(old)
    for at, tool in enumerate(tools):
        plain = copied(tool, **SDK_DUMP)
        if isinstance(plain, Mapping) and field_of(plain, _DECLARATIONS):
            key = key_of(plain, _DECLARATIONS)
            tools[at] = {**plain, key: [*plain[key], new]}
            return tools
    return [*tools, {_DECLARATIONS: [new]}]


def _names(tool: object) -> Iterator[object]:
    """The names of the functions that a tool declares, in any format."""
    plain = copied(tool, **SDK_DUMP)
    if not isinstance(plain, Mapping):
        return
    yield plain.get("name")
    for inner in (plain.get("function"), *(field_of(plain, _DECLARATIONS) or ())):
        if isinstance(inner, Mapping):
            yield inner.get("name")


def _chat(function: Native) -> Native:
    return {"type": "function", "function": function}


def _responses(function: Native) -> Native:
    """Responses are strict unless told otherwise, and then want every property to be required."""
    return {"type": "function", **function, "strict": False}


def _anthropic(function: Native) -> Native:
    return {
        "name": function["name"],
        "description": function["description"],
        "input_schema": function["parameters"],
    }


def _gemini(function: Native) -> Native:
    """`parameters` knows a part of OpenAPI's schema only; another field takes JSON Schema as it is."""
    return {
        "name": function["name"],
        "description": function["description"],
        "parametersJsonSchema": function["parameters"],
    }


_FORMS: Mapping[str, Callable[[Native], Native]] = {
    "openai-chat": _chat,
    "openai-responses": _responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
}
