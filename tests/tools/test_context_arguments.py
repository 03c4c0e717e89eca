"""Arguments of the context tools: what is forgiven, what is refused and with which words."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redraft.tools import (
    CONTEXT_TOOLS,
    DropIntent,
    NoteIntent,
    Outline,
    PinIntent,
    ReadIntent,
    StatusIntent,
    UnpinIntent,
    declared,
    intent_of,
)

NAMES = [tool["function"]["name"] for tool in CONTEXT_TOOLS]
ID = "0123456789abcdef" * 4


def complaint(name: str, arguments: Any, **options: Any) -> str:
    answer = intent_of(name, arguments, **options)
    assert isinstance(answer, Outline)
    assert answer.failed
    return answer.text


@pytest.mark.parametrize(
    ("name", "arguments", "intent"),
    [
        ("context_status", {}, StatusIntent(8)),
        ("context_status", {"top": 1}, StatusIntent(1)),
        ("context_status", {"top": 30}, StatusIntent(30)),
        ("context_status", {"top": "12"}, StatusIntent(12)),
        ("context_status", {"top": 5.0}, StatusIntent(5)),
        ("context_status", {"top": 500}, StatusIntent(30)),
        ("context_status", {"top": None}, StatusIntent(8)),
        ("context_pin", {"handles": ["a"]}, PinIntent(("a",))),
        ("context_pin", {"handles": "a"}, PinIntent(("a",))),
        ("context_pin", {"handles": "a, b"}, PinIntent(("a", "b"))),
        ("context_pin", {"handles": '["a", "b"]'}, PinIntent(("a", "b"))),
        ("context_pin", {"snippet": "x" * 12}, PinIntent((), "x" * 12)),
        ("context_unpin", {"all": True}, UnpinIntent(everything=True)),
        ("context_unpin", {"all": "true"}, UnpinIntent(everything=True)),
        ("context_unpin", {"all": False, "handles": ["a"]}, UnpinIntent(("a",))),
        ("context_drop", {"handles": ["a", " a ", "b"]}, DropIntent(("a", "b"))),
        ("context_note", {"handles": ["a"], "note": "n" * 4_000}, NoteIntent(("a",), "n" * 4_000)),
        ("read_overflow", {"id": ID}, ReadIntent(ID)),
        ("read_overflow", {"id": ID[:8].upper()}, ReadIntent(ID[:8])),
        ("read_overflow", {"id": ID, "length": 10**9}, ReadIntent(ID, 0, 16_000)),
        ("read_overflow", {"id": ID, "start": 5, "find": "x"}, ReadIntent(ID, 5, 4_000, "x")),
    ],
)
def test_what_a_call_asks_for(name: str, arguments: Any, intent: Any) -> None:
    assert intent_of(name, arguments) == intent


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("context_status", {"top": 0}, "`top` must be a whole number from 1"),
        ("context_status", {"top": True}, "`top` must be a whole number from 1"),
        ("context_status", {"top": "many"}, "`top` must be a whole number from 1"),
        ("context_status", {"limit": 3}, "there is no argument `limit`; it takes `top`"),
        ("context_pin", {}, "give `handles` or a `snippet`"),
        ("context_pin", {"snippet": "x" * 11}, "the snippet is too short; quote at least 12"),
        ("context_pin", {"snippet": f"{' ' * 20}x"}, "the snippet is too short"),
        ("context_pin", {"snippet": 7}, "`snippet` must be a text"),
        ("context_unpin", {}, "give `handles`, a `snippet`, or `all`: true"),
        ("context_unpin", {"all": "perhaps"}, "`all` must be true or false"),
        ("context_drop", {}, "`handles` is missing"),
        ("context_drop", {"handles": []}, "`handles` is missing"),
        ("context_drop", {"handles": [""]}, "`handles` is missing"),
        ("context_drop", {"handles": [1]}, "`handles` must be a list of texts"),
        ("context_drop", {"handles": {"a": 1}}, "`handles` must be a list of texts"),
        ("context_drop", {"handles": "[not json"}, "`handles` must be a list of texts"),
        ("context_drop", {"handles": [str(n) for n in range(1_001)]}, "too many for one call"),
        ("context_note", {"handles": ["a"]}, "`note` is missing"),
        ("context_note", {"handles": ["a"], "note": " \n"}, "`note` is missing"),
        ("context_note", {"handles": ["a"], "note": 7}, "`note` must be a text"),
        ("context_note", {"note": "n"}, "`handles` is missing"),
        ("context_note", {"handles": ["a"], "note": "n" * 4_001}, "the note has 4,001 characters"),
        ("read_overflow", {}, "`id` must be the id in a stub"),
        ("read_overflow", {"id": "%"}, "`id` must be the id in a stub"),
        ("read_overflow", {"id": ID, "start": -1}, "`start` must be a whole number from 0"),
        ("read_overflow", {"id": ID, "find": 3}, "`find` must be a text"),
    ],
)
def test_a_wrong_call_is_told_what_is_wrong(name: str, arguments: Any, words: str) -> None:
    text = complaint(name, arguments)
    assert text.startswith(f"{name}: nothing was done: ")
    assert words in text


@pytest.mark.parametrize("name", NAMES)
def test_switched_off_a_call_is_refused(name: str) -> None:
    assert "is switched off here; nothing was done" in complaint(name, {}, enabled=False)


def test_a_tool_of_another_name_is_not_ours() -> None:
    with pytest.raises(KeyError):
        intent_of("bash", {})


@pytest.mark.parametrize("dialect", ["openai-chat", "openai-responses", "anthropic", "gemini"])
@pytest.mark.parametrize("tool", CONTEXT_TOOLS, ids=NAMES)
def test_every_tool_has_a_form_in_every_format(tool: Any, dialect: str) -> None:
    form: Any = declared(tool, dialect)
    form = form.get("function", form)
    assert form["name"] == tool["function"]["name"]
    places = ("parameters", "input_schema", "parametersJsonSchema")
    (schema,) = (form[key] for key in places if key in form)
    assert schema["properties"].keys() == tool["function"]["parameters"]["properties"].keys()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=2)
    ),
    max_leaves=6,
)
ARGUMENTS = ("top", "handles", "snippet", "all", "note", "id", "start", "length", "find", "other")


@settings(max_examples=60)
@given(st.sampled_from(NAMES), st.dictionaries(st.sampled_from(ARGUMENTS), JSON, max_size=4))
def test_whatever_the_arguments_are_there_is_an_answer(
    name: str, arguments: dict[str, Any]
) -> None:
    answer = intent_of(name, arguments)
    assert not isinstance(answer, Outline) or (answer.failed and answer.text)
