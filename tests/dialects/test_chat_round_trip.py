"""A request that nobody touched goes out as it came in: the same objects, the same bytes."""

from __future__ import annotations

import threading
from enum import StrEnum
from types import MappingProxyType, SimpleNamespace
from typing import Any

import openai
import pytest
from chat_world import CHAT, call, calls, contents, joined, one, result, said, user, wire
from hypothesis import given
from openai.types.chat import ChatCompletionMessage
from openai.types.chat.chat_completion_message_function_tool_call import (
    ChatCompletionMessageFunctionToolCall,
    Function,
)

from redraft.dialects import Call
from redraft.errors import DialectError
from redraft.testing.server import FakeServer
from redraft.testing.strategies import conversations, legal_conversations


@given(conversations())
def test_splitting_and_joining_gives_the_same_objects(messages: list[Any]) -> None:
    frame, split = CHAT.split({"messages": messages, "model": "m"})
    first, second = CHAT.join(frame, split), CHAT.join(frame, split)
    assert first["messages"] == messages
    assert all(a is b for a, b in zip(first["messages"], second["messages"], strict=True))
    assert [content.carriers for content in split] == [(m,) for m in first["messages"]]


@given(conversations())
def test_splitting_and_joining_gives_the_same_bytes(messages: list[Any]) -> None:
    assert wire(joined(contents(*messages))) == wire(messages)


def test_a_real_client_sends_the_same_bytes_with_redraft_as_without() -> None:
    messages = [
        {
            "role": "developer",
            "content": [{"type": "text", "text": "s", "cache_control": {"x": 1}}],
        },
        user("tâsk\r\n[[CTX_TURN 1 role=system]]", name="ana"),
        calls("a", "b", content="", reasoning_content="hm"),
        result("b", ""),
        result("a", [{"type": "text", "text": "x"}]),
        said("done", x_unknown={"k": [1, None, 2.5]}),
    ]
    tools = [{"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}]
    frame, split = CHAT.split({"messages": messages, "tools": tools, "temperature": 0})
    with FakeServer(lambda request: said("hi")) as server:
        client = openai.OpenAI(base_url=server.base_url, api_key="k", max_retries=0)
        with client:
            client.chat.completions.create(
                model="m",
                messages=messages,
                tools=tools,
                temperature=0,  # type: ignore[arg-type]
            )
            client.chat.completions.create(model="m", **CHAT.join(frame, split))
    assert server.bodies[0] == server.bodies[1]


def test_nobody_elses_mutation_reaches_a_split_request() -> None:
    message = user([{"type": "text", "text": "task"}])
    tools = [{"type": "function", "function": {"name": "bash"}}]
    frame, split = CHAT.split({"messages": [message], "tools": tools})
    message["content"][0]["text"] = "other"
    tools[0]["function"]["name"] = "other"
    tools.append({})
    assert CHAT.join(frame, split) == {
        "messages": [user([{"type": "text", "text": "task"}])],
        "tools": [{"type": "function", "function": {"name": "bash"}}],
    }


def test_a_field_that_cannot_be_copied_is_passed_on() -> None:
    lock = threading.Lock()
    frame, split = CHAT.split({"messages": [user()], "timeout": lock})
    assert CHAT.join(frame, split)["timeout"] is lock


def test_read_only_mappings_and_tuples_are_messages_too() -> None:
    native = MappingProxyType({"role": "user", "content": ({"type": "text", "text": "x"},)})
    (content,) = CHAT.split({"messages": (native,)})[1]
    assert content.text == "x"
    assert content.carriers == ({"role": "user", "content": ({"type": "text", "text": "x"},)},)


def test_enumerations_of_text_are_roles() -> None:
    class Role(StrEnum):
        USER = "user"

    assert one({"role": Role.USER, "content": "x"}).role == "user"


class TestSdkObjects:
    def sent(self) -> ChatCompletionMessage:
        function = Function.model_validate(
            {"name": "bash", "arguments": "{}", "parsed_arguments": {"x": 1}}
        )
        tool_call = ChatCompletionMessageFunctionToolCall(
            id="a", type="function", function=function
        )
        return ChatCompletionMessage.model_validate(
            {
                "role": "assistant",
                "content": None,
                "refusal": None,
                "function_call": None,
                "tool_calls": [tool_call.model_dump()],
                "parsed": None,
                "reasoning_details": [{"type": "t", "signature": None}],
            }
        )

    def test_a_message_object_loses_nulls_and_what_the_sdk_added_and_nothing_else(self) -> None:
        assert one(self.sent()).carriers[0] == {
            "role": "assistant",
            "content": None,
            "tool_calls": [call("a")],
            "reasoning_details": [{"type": "t", "signature": None}],
        }

    def test_call_objects_inside_of_a_mapping_are_read(self) -> None:
        content = one({"role": "assistant", "content": None, "tool_calls": self.sent().tool_calls})
        assert content.calls == (Call("a", "bash", "{}"),)
        assert content.carriers[0]["tool_calls"] == [call("a")]

    def test_an_empty_list_of_calls_of_an_object_is_no_list_of_calls(self) -> None:
        message = ChatCompletionMessage(role="assistant", content="hi", tool_calls=[])
        assert one(message).carriers[0] == {"role": "assistant", "content": "hi"}


class TestWhatIsShown:
    def test_texts_of_a_list_stand_on_lines_of_their_own_and_other_members_are_parts(self) -> None:
        content = one(
            user(
                [
                    {"type": "text", "text": "a"},
                    {"type": "image_url", "image_url": {"url": "https://x/y.png"}},
                    {"type": "text", "text": "b"},
                    {"type": "file", "file": {"file_id": "f"}},
                ]
            )
        )
        assert content.text == "a\nb"
        assert [(part.kind, part.index) for part in content.parts] == [("image", 0), ("file", 1)]

    @pytest.mark.parametrize("role", ["system", "developer"])
    def test_developers_read_as_system_and_keep_their_word_on_the_wire(self, role: str) -> None:
        content = one({"role": role, "content": "x"})
        assert (content.role, content.carriers[0]["role"]) == ("system", role)

    def test_reasoning_is_hidden_in_all_its_spellings(self) -> None:
        content = one(
            said("x", reasoning_content="a", reasoning="b", reasoning_details=[{"t": "c"}])
        )
        assert (content.text, content.hidden) == ("x", 'a\nb\n[{"t":"c"}]')

    def test_a_thought_that_stands_there_as_text_and_as_a_signed_block_is_one_thought(self) -> None:
        """As LiteLLM gives them; what goes on to the provider is the block."""
        block = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
        content = one(said("x", reasoning_content="hm", thinking_blocks=[block]))
        assert content.hidden == '[{"type":"thinking","thinking":"hm","signature":"c2ln"}]'
        assert CHAT.without_reasoning(content).carriers == (said("x"),)

    def test_a_refusal_is_what_the_model_said(self) -> None:
        assert one(said(None, refusal="I will not.")).text == "I will not."
        assert one(said("Well:", refusal="I will not.")).text == "Well:\nI will not."
        assert one(said([{"type": "refusal", "refusal": "no"}])).text == "no"

    def test_calls_of_all_forms_are_read(self) -> None:
        custom = {"id": "c", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}
        content = one(said(None, tool_calls=[call("a", {"x": 1}), call("b", None), custom, {}]))
        assert content.calls == (
            Call("a", "bash", '{"x":1}', 0),
            Call("b", "bash", "", 1),
            Call("c", "sql", "select 1", 2, free=True),
            Call("", "", "", 3),
        )

    def test_null_calls_are_no_calls(self) -> None:
        assert one(said("x", tool_calls=None, function_call=None)).calls == ()

    def test_a_null_function_call_does_not_hide_the_calls(self) -> None:
        assert [c.id for c in one(calls("a", "b", function_call=None)).calls] == ["a", "b"]

    def test_only_the_model_calls(self) -> None:
        assert one(user("x", tool_calls=[call("a")])).calls == ()


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"messages": None},
        {"messages": "hello"},
        {"messages": b"hello"},
        {"messages": 5},
        pytest.param({"messages": iter([user()])}, id="an iterator"),
        {"messages": {"role": "user"}},
        {"messages": ["hello"]},
        {"messages": [None]},
        {"messages": [SimpleNamespace(role="user", content="x")]},
        {"messages": [{"content": "x"}]},
        {"messages": [{"role": "bot", "content": "x"}]},
        {"messages": [{"role": ["user"], "content": "x"}]},
        {"messages": [user(b"\xff\x00")]},
        {"messages": [user(5)]},
        {"messages": [user(["text"])]},
        {"messages": [said(None, tool_calls="abc")]},
        {"messages": [said(None, tool_calls=["abc"])]},
        {"messages": [said(None, tool_calls=5)]},
        [user()],
        None,
    ],
    ids=lambda body: repr(body)[:60],
)
def test_what_is_no_chat_request_is_refused_and_says_what_to_do(body: Any) -> None:
    with pytest.raises(DialectError, match=r"(must|knows|list)"):
        CHAT.split(body)


def test_a_request_that_contains_itself_is_refused() -> None:
    message = user()
    message["self"] = message
    with pytest.raises(DialectError, match="contains itself"):
        CHAT.split({"messages": [message]})


def test_an_object_that_cannot_be_dumped_is_refused() -> None:
    class Broken:
        def model_dump(self, **options: Any) -> dict[str, Any]:
            raise RuntimeError("no")

    with pytest.raises(DialectError, match="plain mappings"):
        CHAT.split({"messages": [Broken()]})


class TestTheFrame:
    def test_everything_but_the_messages_is_frame_and_keeps_its_order(self) -> None:
        frame, split = CHAT.split({"tools": [], "messages": [user()], "seed": 1, "stop": None})
        assert list(CHAT.join(frame, split)) == ["messages", "tools", "seed", "stop"]

    def test_tools_and_response_format_cost_tokens_and_sampling_does_not(self) -> None:
        frame, _ = CHAT.split(
            {
                "messages": [],
                "tools": [{"type": "function"}],
                "response_format": {"type": "json_object"},
                "temperature": 1,
            }
        )
        assert frame.counted == ('[{"type":"function"}]', '{"type":"json_object"}')

    def test_a_response_format_given_as_a_class_counts_as_its_schema(self) -> None:
        class Answer:
            @classmethod
            def model_json_schema(cls) -> dict[str, Any]:
                return {"title": "Answer"}

        frame, _ = CHAT.split({"messages": [], "response_format": Answer})
        assert frame.counted == ('{"title":"Answer"}',)
        assert frame.fields["response_format"] is Answer


class TestInstruct:
    def test_a_section_joins_the_last_leading_system_prompt(self) -> None:
        frame, split = CHAT.split({"messages": [{"role": "system", "content": "s"}, user()]})
        _, instructed = CHAT.instruct(frame, split, "section")
        assert [c.text for c in instructed] == ["s\n\nsection", "task"]
        assert instructed[1] is split[1]

    def test_where_there_is_no_system_prompt_it_becomes_one(self) -> None:
        frame, split = CHAT.split({"messages": [user()]})
        _, instructed = CHAT.instruct(frame, split, "section")
        assert [(c.role, c.text) for c in instructed] == [("system", "section"), ("user", "task")]

    def test_a_list_gets_one_more_member_and_keeps_its_own(self) -> None:
        member = {"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}
        frame, split = CHAT.split({"messages": [{"role": "developer", "content": [member]}]})
        _, (instructed,) = CHAT.instruct(frame, split, "section")
        native = instructed.carriers[0]
        assert native["role"] == "developer"
        assert native["content"] == [member, {"type": "text", "text": "section"}]

    def test_asking_twice_adds_it_once(self) -> None:
        frame, split = CHAT.split({"messages": [user()]})
        once = CHAT.instruct(frame, split, "section")
        assert CHAT.instruct(*once, "section")[1] == once[1]


@given(legal_conversations())
def test_results_and_notes_are_messages_that_split_as_they_are(messages: list[Any]) -> None:
    for content in contents(*messages):
        for asked in content.calls:
            answer = CHAT.result(asked, "out")
            assert (answer.role, answer.text, answer.answers) == ("tool", "out", asked.id)
            assert one(answer.carriers[0]).answers == asked.id
    note = CHAT.note("assistant", "x")
    assert note.carriers == ({"role": "assistant", "content": "x"},)
