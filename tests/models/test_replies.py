"""What is a chat completion and what is not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from redraft.models.replies import ErrorInReplyError, fault_of

MESSAGE = {"role": "assistant", "content": "hi"}


def objects(value: Any) -> Any:
    """The same reply as an SDK gives it: attributes in place of keys."""
    if isinstance(value, dict):
        return SimpleNamespace(**{key: objects(item) for key, item in value.items()})
    return [objects(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("as_sdk", [False, True])
@pytest.mark.parametrize(
    ("reply", "fault"),
    [
        ({"choices": [{"message": MESSAGE}]}, None),
        ({"choices": [{"message": {"role": "assistant", "content": None}}]}, None),
        ({"choices": [{"message": MESSAGE}], "error": None}, None),
        ({}, "it has no choices"),
        ({"choices": None}, "it has no choices"),
        ({"choices": []}, "its list of choices is empty"),
        ({"choices": "none"}, "its choices are not a list"),
        ({"choices": [{"message": None}]}, "its choice has no message"),
        ({"choices": [{"text": "hi"}]}, "its choice has no message"),
        ({"choices": [{"message": "hi"}]}, "its choice has no message"),
        ({"choices": [None]}, "its choice has no message"),
    ],
)
def test_a_completion_needs_a_choice_with_a_message(
    reply: dict[str, Any], fault: str | None, as_sdk: bool
) -> None:
    assert fault_of(objects(reply) if as_sdk else reply) == fault


@pytest.mark.parametrize(
    ("reply", "fault"),
    [
        ("<html>", "text instead of JSON: <html>"),
        (" \n", "an empty body"),
        (None, "it has no choices"),
        ([], "it has no choices"),
        (3, "it has no choices"),
    ],
)
def test_anything_else_is_no_completion(reply: object, fault: str) -> None:
    assert fault_of(reply) == fault


def test_an_error_in_place_of_choices_is_kept_whole() -> None:
    fault = fault_of({"error": {"message": "upstream is down", "code": 502}})
    assert isinstance(fault, ErrorInReplyError)
    assert fault.body == {"message": "upstream is down", "code": 502}
