"""A turn with other text, calls or parts: what stays is the very object it was."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from chat_world import CHAT, call, calls, contents, legacy, one, result, said, user
from hypothesis import given
from hypothesis import strategies as st

from redraft.dialects import Content
from redraft.testing.strategies import conversations

IMAGE = {"type": "image_url", "image_url": {"url": "https://x/y.png"}}
FILE = {"type": "file", "file": {"file_id": "f"}}
MARKED = {"type": "text", "text": "marked", "cache_control": {"type": "ephemeral"}}


def written(content: Content, text: str) -> Any:
    """What is sent once the text is another and all else stays."""
    return CHAT.write(content, text, content.calls, content.parts).carriers[0]


@given(conversations())
def test_writing_what_stands_there_gives_the_very_turn(messages: list[Any]) -> None:
    for content in contents(*messages):
        assert CHAT.write(content, content.text, content.calls, content.parts) is content


@given(conversations(), st.data())
def test_a_written_turn_reads_back_as_what_was_asked_for(
    messages: list[Any], data: st.DataObject
) -> None:
    for content in contents(*messages):
        text = data.draw(st.sampled_from(("", "new", content.text)))
        kept = [c for c in content.calls if data.draw(st.booleans())]
        parts = [p for p in content.parts if data.draw(st.booleans())]
        before = str(content.carriers)
        new = CHAT.write(content, text, kept, parts)
        assert (new.role, new.text, new.answers) == (content.role, text, content.answers)
        assert [(c.id, c.name, c.arguments) for c in new.calls] == [
            (c.id, c.name, c.arguments) for c in kept
        ]
        assert [p.label for p in new.parts] == [p.label for p in parts]
        assert str(content.carriers) == before
        unknown = set(content.carriers[0]) - {"content", "tool_calls", "function_call"}
        for key in unknown - {"reasoning_content"}:
            assert new.carriers[0][key] is content.carriers[0][key]


class TestContentLists:
    def test_the_new_text_stands_where_the_first_text_stood_and_parts_stay_the_same(self) -> None:
        content = one(
            user([IMAGE, {"type": "text", "text": "a"}, FILE, {"type": "text", "text": "b"}])
        )
        members = written(content, "new")["content"]
        assert members == [IMAGE, {"type": "text", "text": "new"}, FILE]
        assert members[0] is content.carriers[0]["content"][0]

    def test_a_cache_marker_goes_over_to_the_new_text(self) -> None:
        content = one(user([{"type": "text", "text": "a"}, MARKED]))
        assert written(content, "new")["content"] == [{**MARKED, "text": "new"}]

    def test_text_where_there_was_none_comes_first(self) -> None:
        content = one(user([IMAGE, FILE]))
        assert written(content, "new")["content"] == [{"type": "text", "text": "new"}, IMAGE, FILE]

    def test_a_part_that_goes_leaves_the_texts_as_they_were(self) -> None:
        content = one(user([MARKED, IMAGE, {"type": "text", "text": "b"}]))
        members = CHAT.write(content, content.text, (), ()).carriers[0]["content"]
        assert members == [MARKED, {"type": "text", "text": "b"}]
        assert members[0] is content.carriers[0]["content"][0]

    def test_no_text_and_no_parts_is_empty_text_and_no_empty_list(self) -> None:
        content = one(user([{"type": "text", "text": "a"}, IMAGE]))
        assert CHAT.write(content, "", (), ()).carriers[0]["content"] == ""

    def test_of_equal_texts_each_stands_once(self) -> None:
        member = {"type": "text", "text": "a"}
        content = one(user([member, member, IMAGE]))
        assert written(content, "new")["content"] == [{"type": "text", "text": "new"}, IMAGE]


class TestCalls:
    def test_calls_that_stay_are_the_same_objects(self) -> None:
        content = one(calls("a", "b", "c"))
        kept = CHAT.write(content, "", [content.calls[0], content.calls[2]], ()).carriers[0]
        assert [c["id"] for c in kept["tool_calls"]] == ["a", "c"]
        assert kept["tool_calls"][1] is content.carriers[0]["tool_calls"][2]

    def test_without_calls_the_field_goes_and_so_does_the_reasoning(self) -> None:
        content = one(calls("a", content="x", reasoning_content="hm", reasoning_details=[1]))
        assert CHAT.write(content, "x", (), ()).carriers[0] == said("x")

    def test_while_a_call_stays_the_reasoning_stays_beside_it(self) -> None:
        content = one(calls("a", "b", content="x", reasoning_content="hm"))
        new = CHAT.write(content, "y", content.calls[:1], ()).carriers[0]
        assert new == calls("a", content="y", reasoning_content="hm")

    def test_a_null_function_call_does_not_keep_calls_alive(self) -> None:
        """The list would hold a call whose result is gone."""
        content = one(calls("a", "b", content="x", function_call=None))
        new = CHAT.write(content, "x", content.calls[:1], ()).carriers[0]
        assert [c["id"] for c in new["tool_calls"]] == ["a"]
        assert CHAT.write(content, "x", (), ()).calls == ()

    def test_null_content_stays_null_while_calls_stand_and_becomes_text_when_they_go(self) -> None:
        content = one(calls("a", "b", content=None))
        assert CHAT.write(content, "", content.calls[:1], ()).carriers[0]["content"] is None
        assert CHAT.write(content, "", (), ()).carriers[0]["content"] in ("", None)

    def test_the_legacy_call_is_kept_changed_or_dropped(self) -> None:
        content = one(legacy('{"x": 1}'))
        changed = replace(content.calls[0], arguments="{}")
        assert CHAT.write(content, "", [changed], ()).carriers[0] == legacy("{}")
        assert CHAT.write(content, "t", (), ()).carriers[0] == said("t")

    @pytest.mark.parametrize(
        ("native", "arguments", "form"),
        [
            (call("a", "{}"), '{"x":1}', {"name": "bash", "arguments": '{"x":1}'}),
            (call("a", {"y": 2}), '{"x":1}', {"name": "bash", "arguments": {"x": 1}}),
            (call("a", {"y": 2}), "no json", {"name": "bash", "arguments": {}}),
        ],
    )
    def test_arguments_keep_the_form_they_had(self, native: Any, arguments: str, form: Any) -> None:
        content = one(said(None, tool_calls=[native]))
        edited = [replace(content.calls[0], arguments=arguments)]
        (new,) = CHAT.write(content, "", edited, ()).carriers[0]["tool_calls"]
        assert new["function"] == form

    def test_a_custom_tools_input_is_changed_in_its_place(self) -> None:
        native = {"id": "c", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}
        content = one(said(None, tool_calls=[native]))
        edited = [replace(content.calls[0], arguments="select 2")]
        (new,) = CHAT.write(content, "", edited, ()).carriers[0]["tool_calls"]
        assert new == {"id": "c", "type": "custom", "custom": {"name": "sql", "input": "select 2"}}


def test_a_rewritten_refusal_is_text() -> None:
    content = one(said(None, refusal="I will not."))
    assert written(content, "Later.") == said("Later.")


def test_a_result_keeps_its_id_and_unknown_fields() -> None:
    content = one({**result("a", "long"), "x_cost": 1})
    assert written(content, "short") == {**result("a", "short"), "x_cost": 1}
