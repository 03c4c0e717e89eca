"""What models write into calls of the action tools, and what becomes of it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.tools import (
    BRANCH,
    COMPACT_CONTEXT,
    MEMORY_FETCH,
    MEMORY_STORE,
    RETURN_FROM_BRANCH,
    BranchIntent,
    CompactIntent,
    FetchIntent,
    Outline,
    ReturnIntent,
    StoreIntent,
    action_of,
    declared,
    described,
    guided,
)
from redraft.tools.action_catalogue import MOST_ITEMS, MOST_RESULT, MOST_SUMMARY, MOST_TITLE

TOOLS = {
    tool["function"]["name"]: tool
    for tool in (BRANCH, COMPACT_CONTEXT, MEMORY_FETCH, MEMORY_STORE, RETURN_FROM_BRANCH)
}

RIGHT: dict[str, tuple[str, dict[str, Any], Any]] = {
    "a fact": ("memory_store", {"text": " the port is 5433 "}, StoreIntent("the port is 5433")),
    "tags once each": (
        "memory_store",
        {"text": "x", "tags": ["db", " db ", "", "prod"], "task_type": " deploy "},
        StoreIntent("x", ("db", "prod"), "deploy"),
    ),
    "tags as text": (
        "memory_store",
        {"text": "x", "tags": "db, prod"},
        StoreIntent("x", ("db", "prod")),
    ),
    "tags as JSON in a text": (
        "memory_store",
        {"text": "x", "tags": '["db", "prod"]'},
        StoreIntent("x", ("db", "prod")),
    ),
    "a question": ("memory_fetch", {"query": " which port "}, FetchIntent("which port")),
    "more than the most is all there is": (
        "memory_fetch",
        {"query": "x", "limit": 900},
        FetchIntent("x", limit=MOST_ITEMS),
    ),
    "a number": ("memory_fetch", {"id": 12}, FetchIntent(id=12)),
    "a number as text": ("memory_fetch", {"id": "12", "query": ""}, FetchIntent(id=12)),
    "the mark of an answer": ("memory_fetch", {"id": "[memory 12]"}, FetchIntent(id=12)),
    "a whole float": ("memory_fetch", {"id": 12.0, "limit": "3"}, FetchIntent(id=12, limit=3)),
    "an empty id beside a question": ("memory_fetch", {"query": "x", "id": ""}, FetchIntent("x")),
    "a summary": ("compact_context", {"summary": "all done\n"}, CompactIntent("all done")),
    "keep none": ("compact_context", {"summary": "x", "keep": 0}, CompactIntent("x", 0)),
    "keep as text": ("compact_context", {"summary": "x", "keep": "4"}, CompactIntent("x", 4)),
    "keep left open": ("compact_context", {"summary": "x", "keep": None}, CompactIntent("x")),
    "a branch, in one line": (
        "branch",
        {"description": "look\n for it", "goal": "find it"},
        BranchIntent("look for it", "find it"),
    ),
    "a result": ("return_from_branch", {"result": "it is 5433"}, ReturnIntent("it is 5433")),
}


@pytest.mark.parametrize("case", list(RIGHT))
def test_right_arguments_become_an_intent(case: str) -> None:
    name, given, intent = RIGHT[case]
    assert action_of(name, given) == intent


WRONG: dict[str, tuple[str, dict[str, Any], str]] = {
    "no text": ("memory_store", {}, "`text` is missing"),
    "an empty text": ("memory_store", {"text": " \n"}, "`text` is missing"),
    "a number for a text": ("memory_store", {"text": 5}, "`text` is missing"),
    "a book": ("memory_store", {"text": "x" * 16_001}, "16,000 at most"),
    "a number among the tags": ("memory_store", {"text": "x", "tags": [1]}, "list of texts"),
    "a number for a type": ("memory_store", {"text": "x", "task_type": 3}, "must be a text"),
    "another argument": ("memory_store", {"text": "x", "key": "y"}, "no argument `key`"),
    "neither of the two": ("memory_fetch", {}, "one of the two"),
    "both of the two": ("memory_fetch", {"query": "x", "id": 3}, "one of the two"),
    "a list for a question": ("memory_fetch", {"query": ["x"]}, "must be a text"),
    "an id that is none": ("memory_fetch", {"id": "abc"}, "whole number from 1"),
    "id 0": ("memory_fetch", {"id": 0}, "whole number from 1"),
    "a truth for an id": ("memory_fetch", {"id": True}, "whole number from 1"),
    "limit 0": ("memory_fetch", {"query": "x", "limit": 0}, "whole number from 1"),
    "a page for a question": ("memory_fetch", {"query": "x" * 2_001}, "2,000 at most"),
    "no summary": ("compact_context", {"keep": 3}, "`summary` is missing"),
    "a book for a summary": (
        "compact_context",
        {"summary": "x" * (MOST_SUMMARY + 1)},
        f"{MOST_SUMMARY:,} at most",
    ),
    "keep fewer than none": ("compact_context", {"summary": "x", "keep": -1}, "from 0"),
    "no goal": ("branch", {"description": "x"}, "`goal` is missing"),
    "no description": ("branch", {"goal": "x"}, "`description` is missing"),
    "a long description": (
        "branch",
        {"description": "x" * (MOST_TITLE + 1), "goal": "y"},
        f"{MOST_TITLE:,} at most",
    ),
    "no result": ("return_from_branch", {}, "`result` is missing"),
    "a long result": (
        "return_from_branch",
        {"result": "x" * (MOST_RESULT + 1)},
        f"{MOST_RESULT:,} at most",
    ),
}


@pytest.mark.parametrize("case", list(WRONG))
def test_wrong_arguments_are_answered_with_what_to_do(case: str) -> None:
    name, given, said = WRONG[case]
    answer = action_of(name, given)
    assert isinstance(answer, Outline)
    assert answer.failed
    assert answer.text.startswith(f"{name}: nothing was done: ")
    assert said in answer.text


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=30),
    st.lists(st.one_of(st.text(max_size=5), st.integers()), max_size=3),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)
NAMES = ("text", "tags", "task_type", "query", "id", "limit", "summary", "keep", "goal", "result")


@given(
    st.sampled_from(sorted(TOOLS)),
    st.dictionaries(st.sampled_from((*NAMES, "description", "x")), VALUES, max_size=4),
)
def test_whatever_a_model_writes_there_is_an_answer(name: str, given: dict[str, Any]) -> None:
    answer = action_of(name, given)
    if isinstance(answer, Outline):
        assert answer.text.startswith(f"{name}: nothing was done: ")
        assert len(answer.text) < 300, "it quotes no more of the arguments than it must"
    else:
        assert set(given) <= set(TOOLS[name]["function"]["parameters"]["properties"])


def test_a_name_that_no_action_has_is_a_mistake_of_ours() -> None:
    with pytest.raises(KeyError):
        action_of("context_drop", {})


@pytest.mark.parametrize("name", sorted(TOOLS))
@pytest.mark.parametrize("dialect", ["openai-chat", "openai-responses", "anthropic", "gemini"])
def test_every_format_can_write_the_tools_with_their_guide(name: str, dialect: str) -> None:
    tool = guided(TOOLS[name], "Use it well.")
    written = declared(tool, dialect)
    assert "Use it well." in str(written)
    assert TOOLS[name]["function"]["description"] in str(written)
    assert "Use it well." in described(tool)
    assert "Use it well." not in str(TOOLS[name])


@pytest.mark.parametrize("name", sorted(TOOLS))
def test_what_the_schema_demands_is_what_the_reader_demands(name: str) -> None:
    function = TOOLS[name]["function"]
    for needed in function["parameters"].get("required", ()):
        given = {one: "x" for one in function["parameters"]["required"] if one != needed}
        assert isinstance(action_of(name, given), Outline)
