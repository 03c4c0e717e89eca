"""How a request of the Responses API comes apart into turns."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from block_world import Letters, wire
from openai.types.responses import ResponseFunctionToolCall, ResponseReasoningItem
from responses_world import (
    PNG,
    RESPONSES,
    SEALED,
    call,
    compaction,
    contents,
    output,
    said,
    search,
    sent,
    thought,
    user,
)

from redraft.context import Change, Commit, Live, Refusal, Revision, commit, groups
from redraft.dialects import Frame
from redraft.errors import DialectError
from redraft.tokens import Meter

# -- turns -----------------------------------------------------------------------------------------


def test_the_exchange_of_the_design_note_is_these_turns() -> None:
    items = [
        user("task"),
        thought(),
        said("looking"),
        call("a"),
        call("b", '{"x": 1}'),
        output("a", "one"),
        output("b", "two"),
        user("also"),
    ]
    turns = contents(*items)
    assert [turn.role for turn in turns] == ["user", "assistant", "tool", "tool", "user"]
    model = turns[1]
    assert model.text == "looking"
    assert [(c.id, c.name, c.arguments) for c in model.calls] == [
        ("a", "bash", '{"command": "ls"}'),
        ("b", "bash", '{"x": 1}'),
    ]
    assert list(model.carriers) == items[1:5]
    assert [(turn.answers, turn.text) for turn in turns[2:4]] == [("a", "one"), ("b", "two")]


def test_results_between_calls_begin_another_turn() -> None:
    turns = contents(user(), call("a"), output("a"), call("b"), output("b"), said())
    assert [turn.role for turn in turns][1:] == [
        "assistant",
        "tool",
        "assistant",
        "tool",
        "assistant",
    ]


def test_the_texts_of_a_turn_are_shown_on_lines_of_their_own() -> None:
    refusal = {"type": "refusal", "refusal": "but no"}
    two = said("one")
    two["content"].append(refusal)
    (turn,) = contents(two, said("two", "msg_2"), {"role": "assistant", "content": "three"})
    assert turn.text == "one\nbut no\ntwo\nthree"


@pytest.mark.parametrize(
    ("role", "reads_as"), [("user", "user"), ("system", "system"), ("developer", "system")]
)
@pytest.mark.parametrize("kind", [{}, {"type": "message"}])
def test_a_message_of_anybody_else_is_a_turn(
    role: str, reads_as: str, kind: dict[str, str]
) -> None:
    turns = contents({**kind, "role": role, "content": "x"}, {**kind, "role": role, "content": "y"})
    assert [(turn.role, turn.text) for turn in turns] == [(reads_as, "x"), (reads_as, "y")]


def test_images_and_files_are_parts_in_their_order() -> None:
    image = {"type": "input_image", "image_url": PNG, "detail": "auto"}
    file = {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,"}
    uploaded = {"type": "input_image", "file_id": "file_1"}
    text = {"type": "input_text", "text": "what is this?"}
    (turn,) = contents(user([image, text, file, uploaded]))
    assert turn.text == "what is this?"
    assert [part.label for part in turn.parts] == ["image png 640x480", "file", "image by link"]
    (_, result) = contents(call(), output(text=[text, image]))
    assert (result.text, [part.width for part in result.parts]) == ("what is this?", [640])


def test_what_the_servers_own_tools_did_is_parts_of_the_turn() -> None:
    drawn = {"type": "image_generation_call", "id": "ig_1", "result": PNG.partition(",")[2]}
    asked = {
        "type": "mcp_call",
        "id": "mcp_1",
        "server_label": "s",
        "name": "find",
        "arguments": "{}",
    }
    (turn,) = contents(search(), drawn, asked, said("done"))
    assert [part.label for part in turn.parts] == [
        "part web_search_call",
        "image png 640x480",
        "part mcp_call find",
    ]
    assert turn.calls == ()


def test_a_shell_that_the_server_ran_is_one_part_and_no_call() -> None:
    box = {"type": "container_reference", "container_id": "cntr_1"}
    asked = {"type": "shell_call", "id": "sh_1", "call_id": "c", "action": {}, "environment": box}
    (turn,) = contents(asked, {"type": "shell_call_output", "call_id": "c", "output": []}, said())
    assert (turn.calls, [part.label for part in turn.parts]) == ((), ["part shell_call"])


@pytest.mark.parametrize(
    "item",
    [
        {"type": "from_the_future", "payload": {"deep": [1, None]}},
        {"type": "future_call", "id": "x_1", "call_id": "c"},
        {"type": "future_call_output", "call_id": "c", "output": ["a", 1]},
        {"id": "msg_9"},
        {"type": "item_reference", "id": "ws_9"},
        {"type": "mcp_list_tools", "id": "mcpl_1", "server_label": "s", "tools": []},
    ],
)
def test_an_item_that_nobody_knows_passes_through_as_a_part_of_the_turn(item: Any) -> None:
    turns = contents(user(), item, said())
    assert [turn.role for turn in turns] == ["user", "assistant"]
    assert len(turns[1].parts) == 1
    assert sent(turns) == [user(), item, said()]


def test_an_item_of_unknown_type_stands_on_the_side_that_its_role_says() -> None:
    turns = contents(said(), {"type": "wave", "role": "user"}, {"type": "wave", "role": "system"})
    assert [turn.role for turn in turns] == ["assistant", "user", "system"]


# -- calls that are no functions -------------------------------------------------------------------

BUILT_IN = [
    (
        {"type": "computer_call", "id": "cu_1", "call_id": "c", "action": {"type": "wait"}},
        "computer_call",
        {"action": {"type": "wait"}},
    ),
    (
        {"type": "computer_call", "id": "cu_1", "call_id": "c", "actions": [{"type": "wait"}]},
        "computer_call",
        {"actions": [{"type": "wait"}]},
    ),
    (
        {"type": "local_shell_call", "id": "l_1", "call_id": "c", "action": {"command": ["ls"]}},
        "local_shell_call",
        {"command": ["ls"]},
    ),
    (
        {"type": "shell_call", "call_id": "c", "action": {"commands": ["ls"]}},
        "shell_call",
        {"commands": ["ls"]},
    ),
    (
        {"type": "apply_patch_call", "call_id": "c", "operation": {"type": "delete_file"}},
        "apply_patch_call",
        {"type": "delete_file"},
    ),
    (
        {"type": "tool_search_call", "call_id": "c", "execution": "client", "arguments": {"q": 1}},
        "tool_search_call",
        {"q": 1},
    ),
    (
        {
            "type": "mcp_approval_request",
            "id": "c",
            "server_label": "s",
            "name": "rm",
            "arguments": "{}",
        },
        "mcp_approval_request",
        {"server_label": "s", "name": "rm", "arguments": "{}"},
    ),
]


@pytest.mark.parametrize(("item", "name", "arguments"), BUILT_IN)
def test_a_built_in_tool_of_the_client_is_a_call_that_a_result_of_its_kind_answers(
    item: Any, name: str, arguments: Any
) -> None:
    (turn,) = contents(item)
    (asked,) = turn.calls
    assert (asked.id, asked.name, json.loads(asked.arguments)) == ("c", name, arguments)
    result = RESPONSES.result(asked, "out")
    assert result.answers == "c"
    live = _live(user(), item, result.carriers[0])
    (group,) = [group for group in groups(live.turns) if group.head.content.calls]
    assert group.open_calls == ()


def test_each_kind_of_call_gets_its_kind_of_result() -> None:
    kinds = [
        RESPONSES.result(contents(item)[0].calls[0], "out").carriers[0] for item, *_ in BUILT_IN
    ]
    assert [native["type"] for native in kinds] == [
        *["computer_call_output"] * 2,
        *("local_shell_call_output", "shell_call_output", "apply_patch_call_output"),
        *("tool_search_output", "mcp_approval_response"),
    ]
    custom = {"type": "custom_tool_call", "call_id": "c", "name": "sql", "input": "select"}
    (turn,) = contents(custom)
    assert (turn.calls[0].free, turn.calls[0].arguments) == (True, "select")
    assert RESPONSES.result(turn.calls[0], "out").carriers == (
        {"type": "custom_tool_call_output", "call_id": "c", "output": "out"},
    )


@pytest.mark.parametrize(
    ("said_", "approved"),
    [("yes", True), ("Approved", True), ("", False), ("no", False), ("error: yes", False)],
)
def test_nothing_but_a_plain_yes_approves(said_: str, approved: bool) -> None:
    (turn,) = contents(BUILT_IN[-1][0])
    assert RESPONSES.result(turn.calls[0], said_).carriers[0]["approve"] is approved


def test_results_without_a_text_field_show_what_they_hold() -> None:
    chunks = [
        {"stdout": "out", "stderr": "err", "outcome": {"type": "exit", "exit_code": 1}},
        {"stdout": "", "stderr": "", "outcome": {"type": "timeout"}},
    ]
    shot = {"type": "computer_screenshot", "image_url": PNG}
    results = [
        {"type": "shell_call_output", "call_id": "a", "output": chunks},
        {"type": "computer_call_output", "call_id": "a", "output": shot},
        {"type": "mcp_approval_response", "approval_request_id": "a", "approve": False},
        {"type": "local_shell_call_output", "id": "a", "output": "{}"},
        {"type": "apply_patch_call_output", "call_id": "a", "status": "completed"},
    ]
    turns = contents(*results)
    assert [turn.text for turn in turns] == ["out\nerr", "", "denied", "{}", ""]
    assert {turn.answers for turn in turns} == {"a"}
    assert [part.label for part in turns[1].parts] == ["image png 640x480"]


def test_a_call_that_is_only_referenced_belongs_to_the_result_that_nothing_else_asked_for() -> None:
    items = [
        user(),
        {"type": "item_reference", "id": "rs_1"},
        {"type": "item_reference", "id": "fc_1"},
        call("b"),
        output("a"),
        output("b"),
    ]
    live = _live(*items)
    assert [(c.id, c.name) for c in live.turns[1].content.calls] == [("a", "fc_1"), ("b", "bash")]
    done = commit(live, Revision("model", "file", (_drop(live, 1),)), 10**9)
    assert isinstance(done, Commit)
    assert done.live.body()["input"] == [user()]


def _live(*items: Any) -> Live:
    frame, turns = RESPONSES.split({"input": list(items)})
    return Live.start(RESPONSES, Meter(Letters()), frame, turns)


def _drop(live: Live, at: int) -> Change:
    return Change(live.turns[at].number, live.turns[at].digest, None)


# -- what nobody may edit --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "item",
    [
        compaction(),
        {"type": "compaction_trigger"},
        {"type": "additional_tools", "role": "developer", "tools": [{"type": "web_search"}]},
        {"type": "configuration_update", "reasoning": {"effort": "low"}},
    ],
)
def test_state_in_the_list_is_held_and_parts_the_turns_around_it(item: Any) -> None:
    turns = contents(user(), said("one"), item, said("two", "msg_2"))
    assert [turn.role for turn in turns] == ["user", "assistant", "system", "assistant"]
    assert RESPONSES.write(turns[2], "other", (), ()) is turns[2]
    live = _live(user(), said("one"), item, said("two", "msg_2"))
    assert live.holds(2)


def test_two_compactions_are_told_apart() -> None:
    live = _live(compaction("cmp_1"), compaction("cmp_2"))
    assert live.turns[0].digest != live.turns[1].digest


def test_tools_that_a_search_revealed_stay_with_their_turn() -> None:
    found = {"type": "tool_search_output", "execution": "server", "tools": [{"name": "x"}]}
    asked = {"type": "tool_search_call", "execution": "server", "arguments": {}}
    (turn,) = contents(asked, found, call())
    assert turn.parts == ()
    written = RESPONSES.write(turn, "never mind", (), ())
    assert list(written.carriers[:2]) == [asked, found]
    assert '"name":"x"' in turn.hidden


# -- tokens that nobody sees -----------------------------------------------------------------------


def test_sealed_reasoning_is_counted_and_never_shown() -> None:
    (turn,) = contents(thought(), said("hi"))
    assert turn.hidden
    assert SEALED.startswith(turn.hidden)
    assert turn.text == "hi"


def test_reasoning_in_the_open_is_counted_as_it_stands() -> None:
    open_ = thought(
        encrypted_content=None,
        summary=[{"type": "summary_text", "text": "first"}],
        content=[{"type": "reasoning_text", "text": "then"}],
    )
    (turn,) = contents(open_, said())
    assert turn.hidden == "first\nthen"


def test_instructions_tools_and_schemas_are_counted() -> None:
    schema = {"type": "json_schema", "name": "answer", "schema": {"type": "object"}}
    tools = [{"type": "function", "name": "bash"}]
    frame, _ = RESPONSES.split(
        {"input": [], "instructions": "Help.", "tools": tools, "text": {"format": schema}}
    )
    assert frame.counted == (
        "Help.",
        '[{"type":"function","name":"bash"}]',
        '{"type":"json_schema","name":"answer","schema":{"type":"object"}}',
    )


# -- the request as a whole ------------------------------------------------------------------------


def test_plain_text_is_one_user_turn_and_goes_out_as_plain_text() -> None:
    frame, turns = RESPONSES.split({"model": "m", "input": "hi", "stream": False})
    assert [(turn.role, turn.text) for turn in turns] == [("user", "hi")]
    assert wire(RESPONSES.join(frame, turns)) == wire(
        {"model": "m", "input": "hi", "stream": False}
    )
    more = RESPONSES.join(frame, [*turns, RESPONSES.note("assistant", "hello")])
    assert [item["content"] for item in more["input"]] == ["hi", "hello"]


@pytest.mark.parametrize(
    "body", [{"prompt": {"id": "p"}}, {"prompt": {"id": "p"}, "input": None}, {}]
)
def test_a_request_without_input_stays_one(body: Any) -> None:
    frame, turns = RESPONSES.split(body)
    assert turns == ()
    assert wire(RESPONSES.join(frame, turns)) == wire(body)
    assert RESPONSES.join(frame, [RESPONSES.note("user", "x")])["input"][0]["content"] == "x"


def test_objects_of_the_sdk_in_the_list_become_what_the_api_takes_back() -> None:
    asked = ResponseFunctionToolCall.construct(
        type="function_call", id=None, call_id="a", name="bash", arguments="{}", parsed_arguments={}
    )
    hm = ResponseReasoningItem(type="reasoning", id="rs_1", summary=[], status="completed")
    turns = contents(user(), hm, asked)
    assert sent(turns)[1:] == [
        {"id": "rs_1", "summary": [], "type": "reasoning"},
        {"type": "function_call", "call_id": "a", "name": "bash", "arguments": "{}"},
    ]


def test_a_field_that_cannot_be_copied_is_passed_on() -> None:
    lock = threading.Lock()
    frame, _ = RESPONSES.split({"input": [], "extra": {"lock": lock}})
    assert frame.fields["extra"]["lock"] is lock


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ([], "no request"),
        ({"input": 3}, "text or a list of items"),
        ({"input": b"x"}, "text or a list of items"),
        ({"input": ["hi"]}, r"input\[0\] is a str"),
        ({"input": [{"role": "tool", "content": "x"}]}, "'tool'"),
        ({"input": [{"role": ["user"], "content": "x"}]}, "has the role"),
        ({"input": [{}]}, "names no item"),
        ({"input": [{"role": "user", "content": 3}]}, "is a int"),
        ({"input": [{"role": "user", "content": ["x"]}]}, "list of something else"),
        ({"input": [{"type": "function_call_output", "output": ["x"]}]}, "list of something else"),
        ({"input": [], "conversation": "conv_1"}, "where no edit reaches it"),
        ({"input": [], "conversation": {"id": "conv_1"}}, "where no edit reaches it"),
    ],
)
def test_a_request_that_cannot_be_edited_is_refused_with_what_to_do(body: Any, says: str) -> None:
    with pytest.raises(DialectError, match=says):
        RESPONSES.split(body)


def test_a_request_that_contains_itself_is_refused() -> None:
    item: dict[str, Any] = user([])
    item["content"].append({"type": "x", "deep": item})
    with pytest.raises(DialectError, match="contains itself"):
        RESPONSES.split({"input": [item]})


# -- a history on the server -----------------------------------------------------------------------


def test_results_that_answer_calls_on_the_server_are_held() -> None:
    body = {
        "previous_response_id": "resp_1",
        "input": [output("a"), user("and?"), call("b"), output("b"), said()],
    }
    frame, turns = RESPONSES.split(body)
    assert [turn.role for turn in turns] == ["system", "user", "assistant", "tool", "assistant"]
    assert wire(RESPONSES.join(frame, turns)) == wire(body)
    live = Live.start(RESPONSES, Meter(Letters()), frame, turns)
    refused = commit(live, Revision("model", "file", (_drop(live, 0),)), 10**9)
    assert isinstance(refused, Refusal)
    rest = tuple(_drop(live, at) for at in range(2, len(live.turns)))
    done = commit(live, Revision("model", "file", rest), 10**9)
    assert isinstance(done, Commit)
    assert done.live.body()["input"] == body["input"][:2]


def test_without_such_a_history_a_lone_result_is_a_result() -> None:
    (turn,) = contents(output("a"))
    assert (turn.role, turn.answers) == ("tool", "a")


# -- the section -----------------------------------------------------------------------------------


def test_the_section_joins_the_instructions() -> None:
    frame, turns = RESPONSES.split(
        {"instructions": "Help.", "input": [user("x", role="developer")]}
    )
    told, same = RESPONSES.instruct(frame, turns, "SECTION")
    assert told.fields["instructions"] == "Help.\n\nSECTION"
    assert told.counted == ("Help.\n\nSECTION",)
    assert all(one is other for one, other in zip(same, turns, strict=True))


@pytest.mark.parametrize("form", ["text", "list"])
def test_without_instructions_it_joins_the_last_leading_developer_message(form: str) -> None:
    content: Any = "Be kind." if form == "text" else [{"type": "input_text", "text": "Be kind."}]
    items = [
        user("Be brief.", role="system"),
        user(content, role="developer"),
        compaction(),
        user(),
    ]
    frame, turns = RESPONSES.split({"input": items})
    same, told = RESPONSES.instruct(frame, turns, "SECTION")
    assert same is frame
    assert told[1].text.endswith("SECTION")
    assert [turn for turn in told if turn is not told[1]] == [turns[0], turns[2], turns[3]]


@pytest.mark.parametrize("body", [{}, {"instructions": None}, {"instructions": ""}])
def test_where_there_is_neither_it_is_a_developer_message_at_the_start(body: Any) -> None:
    frame, turns = RESPONSES.split({**body, "input": [user()]})
    same, told = RESPONSES.instruct(frame, turns, "SECTION")
    assert same is frame
    assert RESPONSES.join(same, told)["input"] == [
        {"type": "message", "role": "developer", "content": "SECTION"},
        user(),
    ]
    assert Live.start(RESPONSES, Meter(Letters()), same, told).head == 2


def test_behind_a_history_on_the_server_it_is_the_instructions() -> None:
    frame, turns = RESPONSES.split({"previous_response_id": "resp_1", "input": [user()]})
    told, same = RESPONSES.instruct(frame, turns, "SECTION")
    assert told == Frame(
        {"previous_response_id": "resp_1", "instructions": "SECTION"}, ("SECTION",), 1
    )
    assert same == turns


@pytest.mark.parametrize("body", [{}, {"instructions": "Help."}, {"previous_response_id": "r"}])
def test_it_is_added_once(body: Any) -> None:
    told = RESPONSES.instruct(*RESPONSES.split({**body, "input": [user()]}), "SECTION")
    assert RESPONSES.instruct(*told, "SECTION") == told
    again = RESPONSES.split(RESPONSES.join(*told))
    assert RESPONSES.instruct(*again, "SECTION") == again
