"""Tools in words: nothing that a schema says is lost."""

from __future__ import annotations

import json
from typing import Any

import pytest

from redraft.errors import DialectError
from redraft.tools import (
    CONTEXT_TOOLS,
    EDIT_CONTEXT,
    described,
    in_words,
    offered,
    signature,
    with_tools,
)


def tool(**properties: Any) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": [*properties][:1]}
    function = {"name": "f", "description": "Does\n  it.", "parameters": parameters}
    return {"type": "function", "function": function}


def test_a_line_for_the_tool_and_one_for_each_argument() -> None:
    text = described(
        tool(a={"type": "string", "description": "One."}, b={"type": ["integer", "null"]})
    )
    assert text.splitlines() == [
        "- `f(a, b?)`: Does it.",
        "  - `a`: string. One.",
        "  - `b`: integer or null, optional.",
    ]


def test_bounds_and_choices_stand_as_they_are() -> None:
    text = described(
        tool(a={"type": "string", "enum": ["x", "y"]}, b={"type": "number", "minimum": 1})
    )
    assert '({"enum": ["x", "y"]})' in text
    assert '({"minimum": 1})' in text


def test_objects_in_lists_are_described_and_what_lies_deep_stands_as_a_schema() -> None:
    deep: dict[str, Any] = {"type": "object", "properties": {"z": {"type": "string"}}}
    for name in "yxwv":
        deep = {"type": "object", "properties": {name: deep}}
    text = described(tool(a={"type": "array", "items": deep}))
    assert "    - `v`: object" in text
    assert '"z": {"type": "string"}' in text


@pytest.mark.parametrize("one", [EDIT_CONTEXT, *CONTEXT_TOOLS])
def test_every_argument_of_our_own_tools_is_named(one: Any) -> None:
    text = described(one)
    for name, about in one["function"]["parameters"]["properties"].items():
        assert f"`{name}`" in text
        assert " ".join(about["description"].split()) in text
    assert signature(one) in text


def test_a_tool_without_words_or_arguments_is_described() -> None:
    assert described({"type": "function", "function": {"name": "stop"}}) == "- `stop()`"


@pytest.mark.parametrize(
    "other", [{"name": "f", "input_schema": {}}, "f", {"type": "web_search"}, None]
)
def test_what_is_no_function_of_chat_completions_is_refused(other: Any) -> None:
    with pytest.raises(DialectError, match="as Chat Completions write it"):
        described(other)


def test_requests_of_this_route_never_hold_a_tool() -> None:
    assert in_words("fenced-chat")
    assert not in_words("openai-chat")
    fields = {"temperature": 0}
    assert with_tools(fields, [EDIT_CONTEXT], "fenced-chat") == fields
    assert offered(fields, EDIT_CONTEXT, "fenced-chat") == fields
    assert json.dumps(offered(fields, EDIT_CONTEXT, "openai-chat")).count("edit_context") == 1
