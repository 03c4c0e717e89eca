"""The Messages API: what becomes a turn, what a written turn keeps, and how a reply is read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from block_world import MARK, PNG, anthropic_image

from redraft.dialects import Call, Content, Frame
from redraft.dialects.anthropic import Anthropic
from redraft.errors import DialectError

Json = dict[str, Any]

CLAUDE = Anthropic()


def text(words: str = "words", **fields: Any) -> Json:
    return {"type": "text", "text": words, **fields}


def call(name: str = "a", **fields: Any) -> Json:
    return {"type": "tool_use", "id": name, "name": "bash", "input": {"command": "ls"}, **fields}


def result(name: str = "a", content: Any = "out", **fields: Any) -> Json:
    return {"type": "tool_result", "tool_use_id": name, "content": content, **fields}


def thought(words: str = "hm") -> Json:
    return {"type": "thinking", "thinking": words, "signature": "c2ln"}


def said(*blocks: Any) -> Json:
    return {"role": "assistant", "content": list(blocks)}


def user(*blocks: Any) -> Json:
    return {"role": "user", "content": list(blocks)}


def contents(*messages: Any) -> tuple[Content, ...]:
    return CLAUDE.split({"messages": list(messages)})[1]


def one(message: Any) -> Content:
    (content,) = contents(message)
    return content


def one_turn(*messages: Any) -> Content:
    (content,) = contents(*messages)
    return content


def joined(*turns: Content) -> list[Any]:
    messages: list[Any] = CLAUDE.join(Frame(), turns)["messages"]
    return messages


def rewritten(content: Content, words: str) -> Content:
    return CLAUDE.write(content, words, content.calls, content.parts)


# -- apart ---------------------------------------------------------------------------------------


def test_a_message_with_results_and_words_is_a_turn_for_each_result_and_one_for_the_words() -> None:
    turns = contents(
        said(call("a"), call("b")),
        user(result("a", "ra"), result("b", "rb"), anthropic_image(), text("also")),
    )[1:]
    assert [(turn.role, turn.text, turn.answers, turn.seat) for turn in turns] == [
        ("tool", "ra", "a", (0, 3)),
        ("tool", "rb", "b", (1, 3)),
        ("user", "also", None, (2, 3)),
    ]
    assert [part.label for part in turns[2].parts] == ["image png 640x480"]


def test_messages_of_the_model_that_follow_each_other_are_one_turn() -> None:
    body = [said(thought(), text("one")), said(text("two"), call()), user(result())]
    turns = contents(*body)
    assert [turn.role for turn in turns] == ["assistant", "tool"]
    assert turns[0].text == "one\ntwo"
    assert [c.id for c in turns[0].calls] == ["a"]
    assert joined(*turns) == body
    written = rewritten(turns[0], "one\nthree")
    assert written.carriers == (said(text("one"), text("\nthree"), call()),)
    assert written.text == "one\nthree"


def test_text_around_a_citation_reads_as_one_sentence() -> None:
    cited = text("8 million", citations=[{"type": "char_location", "cited_text": "8m"}])
    turn = one(said(text("It has "), cited, text(" people.")))
    assert turn.text == "It has 8 million people."
    written = rewritten(turn, "It has 8 million inhabitants.")
    assert written.carriers[0]["content"][:2] == [text("It has "), cited]
    assert written.text == "It has 8 million inhabitants."


def test_texts_of_the_user_stand_on_lines_of_their_own() -> None:
    assert one(user(text("a file"), text("a question"))).text == "a file\na question"


def test_a_rewritten_text_loses_the_citations_of_the_old_words() -> None:
    cited = text("8 million", citations=[{"cited_text": "8m"}])
    assert rewritten(one(said(cited)), "9 million").carriers == (said(text("9 million")),)


@pytest.mark.parametrize("server", ["server_tool_use", "mcp_tool_use"])
def test_what_a_server_did_with_its_tool_is_one_part_of_the_models_turn(server: str) -> None:
    kind = "web_search_tool_result" if server == "server_tool_use" else "mcp_tool_result"
    asked = {"type": server, "id": "srv", "name": "web_search", "input": {"query": "x"}}
    found = {"type": kind, "tool_use_id": "srv", "content": [{"encrypted_content": "e"}]}
    turn = one(said(asked, found, text("so"), call()))
    assert [part.label for part in turn.parts] == [f"part {server} web_search"]
    assert [c.id for c in turn.calls] == ["a"]
    without = CLAUDE.write(turn, turn.text, turn.calls, ())
    assert without.carriers == (said(text("so"), call()),)
    kept = CLAUDE.write(turn, "then", turn.calls, turn.parts)
    assert kept.carriers == (said(asked, found, text("then"), call()),)


def test_two_searches_are_two_parts_and_go_one_by_one() -> None:
    pairs = [
        ({"type": "server_tool_use", "id": n, "name": "web_search", "input": {}}, n) for n in "xy"
    ]
    blocks = [
        block
        for asked, name in pairs
        for block in (asked, {"type": "web_search_tool_result", "tool_use_id": name, "content": []})
    ]
    turn = one(said(*blocks, text("so")))
    assert [part.index for part in turn.parts] == [0, 1]
    assert CLAUDE.write(turn, "so", (), turn.parts[1:]).carriers == (said(*blocks[2:], text("so")),)


def test_a_server_result_whose_call_stands_elsewhere_is_a_part_of_its_own() -> None:
    found = {"type": "code_execution_tool_result", "tool_use_id": "gone", "content": {}}
    assert [part.kind for part in one(said(found, text())).parts] == ["code_execution_tool_result"]


@pytest.mark.parametrize(
    "block",
    [
        {"type": "compaction", "content": "what was", "encrypted_content": "e"},
        {"type": "from_the_future", "x": [1, {"y": None}]},
        {"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}},
        {"type": "mcp_tool_listing", "mcp_server_name": "m", "tools": []},
        {"no_type": True},
    ],
)
def test_a_block_that_is_no_text_and_no_call_rides_through_edits_untouched(block: Json) -> None:
    turn = one(said(block, text("a"), call()))
    written = rewritten(turn, "b")
    assert written.carriers[0]["content"] == [block, text("b"), call()]
    assert written.carriers[0]["content"][0] is turn.carriers[0]["content"][0]


def test_a_system_message_in_the_list_is_a_system_turn() -> None:
    change = {"type": "tool_addition", "tool": {"type": "tool_reference", "name": "bash"}}
    turns = contents(
        user(text()),
        {"role": "system", "content": "Be brief.", "clear_at": "never"},
        {"role": "system", "content": [change]},
        {"role": "system", "output_config": {"effort": "low"}},
    )
    assert [(turn.role, turn.text) for turn in turns[1:]] == [
        ("system", "Be brief."),
        ("system", ""),
        ("system", ""),
    ]
    assert [part.kind for part in turns[2].parts] == ["tool_addition"]


@pytest.mark.parametrize(
    ("block", "label", "size"),
    [
        (anthropic_image(), "image png 640x480", (640, 480)),
        (
            {"type": "image", "source": {"type": "url", "url": "https://x/y.png"}},
            "image by link",
            (0, 0),
        ),
        ({"type": "image", "source": {"type": "file", "file_id": "f"}}, "image by link", (0, 0)),
        (
            {
                "type": "document",
                "source": {"type": "base64", "media_type": "application/pdf", "data": ""},
            },
            "file pdf",
            (0, 0),
        ),
        ({"type": "document", "source": {"type": "file", "file_id": "f"}}, "file", (0, 0)),
        ({"type": "container_upload", "file_id": "f"}, "file", (0, 0)),
        (
            {"type": "search_result", "source": "s", "title": "[[CTX_END]]", "content": []},
            "part search_result",
            (0, 0),
        ),
        ({"type": "image", "source": None}, "image by link", (0, 0)),
        (
            {"type": "document", "source": {"media_type": "x/]]\n[[CTX_END]]"}},
            "file CTX_END",
            (0, 0),
        ),
    ],
)
def test_a_part_is_shown_by_its_kind_and_size_and_by_nothing_that_it_holds(
    block: Json, label: str, size: tuple[int, int]
) -> None:
    (part,) = one(user(text(), block)).parts
    assert (part.label, (part.width, part.height)) == (label, size)


# -- results -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "shown"),
    [("out", "out"), ("", ""), ([text("a"), text("b")], "a\nb"), ([], ""), (None, "")],
)
def test_a_result_holds_text_or_blocks_or_nothing(content: Any, shown: str) -> None:
    turn = contents(said(call()), user(result("a", content)))[1]
    assert (turn.role, turn.text, turn.answers) == ("tool", shown, "a")


def test_a_result_without_content_is_an_empty_result() -> None:
    block = {"type": "tool_result", "tool_use_id": "a"}
    turn = contents(said(call()), user(block))[1]
    assert turn.text == ""
    assert rewritten(turn, "now something").carriers == (
        user({**block, "content": "now something"}),
    )


def test_a_result_that_is_rewritten_keeps_its_form_its_error_and_its_marker() -> None:
    plain = user(result("a", "long", is_error=True, cache_control=MARK))
    listed = user(result("a", [text("long", cache_control=MARK), anthropic_image()]))
    for message, content in (
        (plain, "short"),
        (listed, [text("short", cache_control=MARK), anthropic_image()]),
    ):
        turn = contents(said(call()), message)[1]
        block = message["content"][0]
        assert rewritten(turn, "short").carriers == (user({**block, "content": content}),)


def test_a_result_that_is_emptied_holds_no_empty_text() -> None:
    for content in ("long", [text("long")]):
        turn = contents(said(call()), user(result("a", content)))[1]
        assert rewritten(turn, "").carriers == (user({"type": "tool_result", "tool_use_id": "a"}),)


def test_an_image_in_a_result_can_be_taken_out() -> None:
    turn = contents(said(call()), user(result("a", [text("seen"), anthropic_image()])))[1]
    assert [part.label for part in turn.parts] == ["image png 640x480"]
    assert CLAUDE.write(turn, "seen", (), ()).carriers == (user(result("a", [text("seen")])),)


def test_a_rewritten_result_goes_back_among_its_siblings_and_before_the_words() -> None:
    message = user(result("a", "ra"), result("b", "rb"), text("also"))
    turns = contents(said(call("a"), call("b")), message)
    for at, sent in ((1, ["new", "rb"]), (2, ["ra", "new"])):
        changed = [*turns]
        changed[at] = rewritten(turns[at], "new")
        (_, last) = joined(*changed)
        assert last == user(result("a", sent[0]), result("b", sent[1]), text("also"))
        assert last["content"][2] is turns[3].carriers[0]["content"][2]


def test_rewritten_words_stay_in_the_message_of_the_results_they_came_with() -> None:
    turns = contents(said(call()), user(result(), text("also")))
    assert joined(*turns[:2], rewritten(turns[2], "never mind"))[1] == user(
        result(), text("never mind")
    )


def test_words_that_came_before_a_result_stand_behind_it_once_anything_changes() -> None:
    turns = contents(said(call("a"), call("b")), user(text("also"), result("a"), result("b")))
    assert joined(*turns)[1]["content"][0] == text("also")
    assert joined(turns[0], turns[1], rewritten(turns[2], "new"), turns[3])[1] == user(
        result("a"), result("b", "new"), text("also")
    )


def test_results_that_the_client_sent_apart_stay_apart_when_one_is_rewritten() -> None:
    turns = contents(said(call("a"), call("b")), user(result("a")), user(result("b")))
    sent = joined(turns[0], rewritten(turns[1], "new"), turns[2])
    assert sent[1] == user(result("a", "new"))
    assert sent[2] is turns[2].carriers[0]
    sent = joined(turns[0], rewritten(turns[1], "new"), rewritten(turns[2], "newer"))
    assert sent[1:] == [user(result("a", "new")), user(result("b", "newer"))]


def test_words_that_the_client_sent_apart_stay_apart_when_they_are_rewritten() -> None:
    turns = contents(said(call("a"), call("b")), user(result("a"), result("b")), user(text("also")))
    sent = joined(turns[0], turns[1], rewritten(turns[2], "new"), rewritten(turns[3], "never mind"))
    assert sent[1:] == [user(result("a"), result("b", "new")), user(text("never mind"))]


def test_turns_of_two_messages_are_never_taken_for_one_that_is_all_there() -> None:
    turns = contents(
        said(call("a"), call("b")),
        user(result("a"), result("b")),
        said(call("c"), call("d")),
        user(result("c"), result("d")),
    )
    assert joined(turns[1], turns[5]) == [user(result("a"), result("d"))]
    assert joined(turns[2], turns[1]) == [user(result("b"), result("a"))]


def test_what_is_left_of_two_messages_is_two_messages_where_words_end_the_first() -> None:
    turns = contents(
        user(result("a"), text("one")), said(text("so")), user(result("b"), text("two"))
    )
    assert joined(turns[1], turns[4]) == [user(text("one")), user(text("two"))]
    assert joined(turns[1], turns[3]) == [user(text("one")), user(result("b"))]


def test_a_note_between_results_and_words_makes_them_two_messages() -> None:
    turns = contents(said(call()), user(result(), text("also")))
    note = CLAUDE.note("user", "a note")
    assert joined(*turns[:2], note, turns[2]) == [
        said(call()),
        user(result()),
        {"role": "user", "content": "a note"},
        user(text("also")),
    ]


def test_new_results_of_one_round_are_one_message_in_the_form_the_api_wants() -> None:
    (turn,) = contents(said(call("a"), call("b")))
    results = [CLAUDE.result(c, out) for c, out in zip(turn.calls, ("out", ""), strict=True)]
    assert [(r.role, r.text, r.answers) for r in results] == [
        ("tool", "out", "a"),
        ("tool", "", "b"),
    ]
    assert joined(turn, *results)[1] == user(
        result("a"), {"type": "tool_result", "tool_use_id": "b"}
    )


def test_fields_that_nobody_knows_ride_on_a_message_that_is_folded() -> None:
    message = {**user(result("a"), result("b")), "x_new": {"n": 1}}
    turns = contents(said(call("a"), call("b")), message)
    assert joined(turns[0], turns[1], rewritten(turns[2], "new"))[1] == {
        **user(result("a"), result("b", "new")),
        "x_new": {"n": 1},
    }


# -- the model's turn, written -------------------------------------------------------------------


def test_reasoning_goes_as_whole_blocks_when_its_turn_is_rewritten_and_stays_when_it_is_not() -> (
    None
):
    sealed = {"type": "redacted_thinking", "data": "c2VhbGVk"}
    bridge = {"type": "connector_text", "connector_text": "so", "signature": "c2ln"}
    turn = one(said(thought("a plan"), text("one"), sealed, bridge, call("a"), call("b")))
    assert turn.text == "one"
    assert turn.hidden.splitlines()[0] == "a plan"
    for written in (
        rewritten(turn, "two"),
        CLAUDE.write(turn, "one", turn.calls[1:], ()),
    ):
        kinds = {block["type"] for block in written.carriers[0]["content"]}
        assert kinds == {"text", "tool_use"}
        assert not written.hidden
    assert rewritten(turn, "one") is turn


def test_reasoning_can_be_taken_off_a_turn_that_is_otherwise_left_alone() -> None:
    turn = one(said(thought(), text("one"), call()))
    bare = CLAUDE.without_reasoning(turn)
    assert bare.carriers == (said(text("one"), call()),)
    assert bare.carriers[0]["content"][1] is turn.carriers[0]["content"][2]
    assert bare.calls == turn.calls
    assert CLAUDE.without_reasoning(bare) is bare
    spread = one_turn(said(thought()), said(text("one"), call()))
    assert CLAUDE.without_reasoning(spread).carriers == spread.carriers[1:]
    lonely = CLAUDE.without_reasoning(one(said(thought())))
    assert (lonely.text, lonely.carriers) == ("", (said(),))


def test_a_thought_without_words_still_counts_by_its_seal() -> None:
    sealed = {"type": "thinking", "thinking": "", "signature": "x" * 400}
    assert len(one(said(sealed)).hidden) == 100
    assert len(one(said({"type": "redacted_thinking", "data": "y" * 401})).hidden) == 101


def test_a_call_that_stays_is_the_same_block_and_edited_arguments_are_an_object() -> None:
    turn = one(said(call("a", cache_control=MARK), call("b", caller={"type": "direct"})))
    assert turn.calls[0] == Call("a", "bash", '{"command":"ls"}', 0)
    edited = [turn.calls[0], Call("b", "bash", '{"command": "pwd"}', 1)]
    blocks = CLAUDE.write(turn, "", edited, ()).carriers[0]["content"]
    assert blocks[0] is turn.carriers[0]["content"][0]
    assert blocks[1] == call("b", input={"command": "pwd"}, caller={"type": "direct"})


@pytest.mark.parametrize("bad", ["[1]", "{", "", "null", '{"n": NaN}'])
def test_arguments_that_are_no_json_object_are_not_taken_over(bad: str) -> None:
    turn = one(said(text("x"), call()))
    written = CLAUDE.write(turn, "y", [Call("a", "bash", bad, 0)], ())
    assert written.carriers == (said(text("y"), call()),)


def test_an_input_that_was_cut_off_is_shown_as_it_came() -> None:
    assert one(said(call(input='{"comm'))).calls[0].arguments == '{"comm'
    assert one(said({"type": "tool_use", "id": "a", "name": "n"})).calls[0].arguments == "{}"


def test_the_last_cache_marker_of_the_texts_that_become_one_stays() -> None:
    turn = one(
        user(
            text("a", cache_control={"type": "ephemeral", "ttl": "1h"}),
            text("b", cache_control=MARK),
        )
    )
    assert rewritten(turn, "c").carriers == (user(text("c", cache_control=MARK)),)


def test_an_edit_of_one_text_leaves_the_others_and_their_places_alone() -> None:
    turn = one(user(text("before"), anthropic_image(), text("between"), text("after")))
    blocks = rewritten(turn, "before\nin the middle\nafter").carriers[0]["content"]
    assert blocks == [text("before"), anthropic_image(), text("in the middle"), text("after")]
    assert blocks[0] is turn.carriers[0]["content"][0]
    blocks = rewritten(turn, "before\nafter").carriers[0]["content"]
    assert blocks == [text("before"), anthropic_image(), text("after")]


def test_a_text_that_alone_is_left_is_the_very_block_it_was() -> None:
    turn = one(user(text("a", cache_control=MARK), anthropic_image(), text("b")))
    for words, at in (("a", 0), ("b", 2)):
        blocks = rewritten(turn, words).carriers[0]["content"]
        assert [b["type"] for b in blocks] == (["text", "image"] if at == 0 else ["image", "text"])
        assert any(block is turn.carriers[0]["content"][at] for block in blocks)


def test_new_words_are_kept_to_the_letter_where_they_look_like_a_piece_of_the_old() -> None:
    turn = one(user(text("a"), text("b")))
    for words in ("\nb", "a\n", "a\n\nb", "\n", "b\na", "a\nb\n"):
        assert rewritten(turn, words).text == words


def test_new_words_stand_before_the_calls() -> None:
    turn = one(said(call()))
    assert rewritten(turn, "looking").carriers == (said(text("looking"), call()),)


def test_plain_text_stays_plain_text() -> None:
    turn = one({"role": "assistant", "content": "one"})
    assert rewritten(turn, "two").carriers == ({"role": "assistant", "content": "two"},)
    assert CLAUDE.note("assistant", "a").carriers == ({"role": "assistant", "content": "a"},)


def test_a_call_or_a_thought_in_the_users_message_is_only_a_part() -> None:
    turn = one(user(call(), thought(), text("look at this")))
    assert (turn.calls, turn.hidden) == ((), "")
    assert [part.kind for part in turn.parts] == ["tool_use", "thinking"]


# -- the frame -----------------------------------------------------------------------------------


def test_the_fields_of_a_request_keep_their_order_and_their_values() -> None:
    body = {
        "cache_control": MARK,
        "max_tokens": 9,
        "messages": [user(text())],
        "thinking": {},
        "x": [1],
    }
    frame, turns = CLAUDE.split(body)
    assert json.dumps(CLAUDE.join(frame, turns)) == json.dumps(body)
    assert "messages" not in frame.fields


def test_the_system_prompt_and_the_tools_are_counted() -> None:
    tools = [{"name": "bash"}]
    frame, _ = CLAUDE.split({"messages": [], "system": [text("Be"), text("brief")], "tools": tools})
    assert frame.counted == ("Be\nbrief", '[{"name":"bash"}]')


@pytest.mark.parametrize(
    ("system", "instructed"),
    [
        (None, "SECTION"),
        ("", "SECTION"),
        ([], "SECTION"),
        ("Be brief.", "Be brief.\n\nSECTION"),
        (
            [text("Be brief.", cache_control=MARK)],
            [text("Be brief.", cache_control=MARK), text("SECTION")],
        ),
    ],
)
def test_a_section_goes_to_the_end_of_the_system_field_once(system: Any, instructed: Any) -> None:
    fields = {} if system is None else {"system": system}
    frame, turns = CLAUDE.split({**fields, "messages": [user(text())], "max_tokens": 1})
    for _ in range(2):
        frame, turns = CLAUDE.instruct(frame, turns, "SECTION")
    body = CLAUDE.join(frame, turns)
    assert body["system"] == instructed
    assert body["messages"] == [user(text())]
    assert any("SECTION" in counted for counted in frame.counted)


def test_a_section_does_not_move_the_messages_among_the_fields() -> None:
    body = {"system": "s", "messages": [user(text())], "max_tokens": 1}
    frame, turns = CLAUDE.instruct(*CLAUDE.split(body), "SECTION")
    assert list(CLAUDE.join(frame, turns)) == list(body)


# -- replies -------------------------------------------------------------------------------------


def reply(*blocks: Json, **fields: Any) -> Json:
    usage = {"input_tokens": 3, "output_tokens": 7}
    return {
        "type": "message",
        "role": "assistant",
        "content": list(blocks),
        "usage": usage,
        **fields,
    }


def test_a_reply_is_sent_back_block_by_block_as_it_came() -> None:
    blocks = [thought(), text("so", citations=None), call()]
    read = CLAUDE.read(reply(*blocks, stop_reason="tool_use", id="msg", model="m"))
    assert read.content.carriers == (said(*blocks),)
    assert (read.complete, read.content.calls[0].id) == (True, "a")


@pytest.mark.parametrize(
    ("reason", "complete"),
    [
        ("end_turn", True),
        ("tool_use", True),
        ("stop_sequence", True),
        (None, True),
        ("max_tokens", False),
        ("model_context_window_exceeded", False),
        ("refusal", False),
        ("pause_turn", False),
        ("compaction", False),
    ],
)
def test_a_reply_is_complete_unless_it_was_cut_off_paused_or_refused(
    reason: str | None, complete: bool
) -> None:
    assert CLAUDE.read(reply(text(), stop_reason=reason)).complete is complete


def test_the_prompt_is_what_was_read_and_what_the_cache_gave_and_took() -> None:
    usage = {
        "input_tokens": 3,
        "cache_read_input_tokens": 1111,
        "cache_creation_input_tokens": 418,
        "output_tokens": 33,
    }
    read = CLAUDE.read(reply(text(), usage=usage)).usage
    assert read is not None
    assert (read.prompt, read.cached, read.output, read.comparable) == (1532, 1111, 33, True)


@pytest.mark.parametrize("usage", [None, {}, {"input_tokens": 0}, {"input_tokens": True}, "x"])
def test_a_usage_without_a_prompt_is_none(usage: Any) -> None:
    assert CLAUDE.read(reply(text(), usage=usage)).usage is None


def test_a_loop_over_server_tools_counts_the_first_pass_as_the_prompt() -> None:
    passes = [
        {"type": "message", "input_tokens": 10, "cache_read_input_tokens": 5, "output_tokens": 2},
        {"type": "message", "input_tokens": 20, "cache_read_input_tokens": 9, "output_tokens": 3},
    ]
    usage = {
        "input_tokens": 30,
        "cache_read_input_tokens": 14,
        "output_tokens": 5,
        "server_tool_use": {"web_search_requests": 1},
    }
    read = CLAUDE.read(reply(text(), usage={**usage, "iterations": passes})).usage
    assert read is not None
    assert (read.prompt, read.cached, read.output, read.comparable) == (15, 5, 5, True)
    looped = CLAUDE.read(reply(text(), usage=usage)).usage
    assert looped is not None
    assert not looped.comparable


@pytest.mark.parametrize(
    "fields",
    [
        {"context_management": {"applied_edits": [{"type": "clear_tool_uses_20250919"}]}},
        {"input_transformations": [{"type": "thinking_dropped", "path": "messages.1.content.0"}]},
        {"usage": {"input_tokens": 9, "iterations": [{"type": "compaction", "input_tokens": 90}]}},
    ],
)
def test_a_prompt_that_the_server_changed_is_no_measure_of_what_was_sent(fields: Json) -> None:
    usage = CLAUDE.read(reply(text(), **fields)).usage
    assert usage is not None
    assert usage.comparable is False


def test_an_untouched_prompt_is_a_measure_of_what_was_sent() -> None:
    usage = CLAUDE.read(
        reply(text(), context_management={"applied_edits": []}, input_transformations=[])
    ).usage
    assert usage is not None
    assert usage.comparable


def test_calls_of_a_reply_have_ids_of_their_own() -> None:
    other = call("a", input={"command": "pwd"})
    nameless = {"type": "tool_use", "name": "bash", "input": {}}
    read = CLAUDE.read(reply(call("a"), call("a"), other, nameless, call("old")), taken={"old"})
    ids = [c.id for c in read.content.calls]
    assert ids == ["a", "a_2", "toolu_3", "old_2"]
    assert len({*ids}) == 4


def test_a_reply_that_holds_nothing_is_read_as_nothing() -> None:
    content = CLAUDE.read(reply(stop_reason="end_turn")).content
    assert (content.text, content.calls, content.parts) == ("", (), ())


@pytest.mark.parametrize(
    ("response", "says"),
    [
        (42, "int is not a message"),
        ("text", "str is not a message"),
        ({"type": "error", "error": {"message": "Overloaded"}}, "Overloaded"),
        ({"choices": []}, "dict is not a message"),
        (reply("text"), "`content` of the reply is a list"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_reply_is_refused_with_what_to_pass(response: Any, says: str) -> None:
    with pytest.raises(DialectError, match=says):
        CLAUDE.read(response)


# -- the official SDK ----------------------------------------------------------------------------


def _sdk_message(*blocks: Json, beta: bool = False) -> Any:
    types = pytest.importorskip("anthropic.types", reason="the anthropic SDK is not installed")
    kind = types.beta.BetaMessage if beta else types.Message
    fields = {"id": "msg", "model": "claude", "stop_reason": "tool_use", "stop_sequence": None}
    return kind.model_validate({**reply(*blocks), **fields})


@pytest.mark.parametrize("beta", [False, True])
def test_a_message_of_the_sdk_is_read_like_its_json(beta: bool) -> None:
    blocks = [thought(), text("so", citations=None), call(input={"n": None, "deep": [None]})]
    read = CLAUDE.read(_sdk_message(*blocks, beta=beta))
    assert read.content.carriers == (said(*blocks),)
    assert read.usage is not None
    assert (read.usage.prompt, read.usage.output) == (3, 7)


def test_what_the_sdk_added_to_a_parsed_text_is_not_sent_back() -> None:
    parsed = {**text("{}"), "parsed_output": {"a": 1}}
    assert CLAUDE.read(reply(parsed)).content.carriers == (said(text("{}")),)


def test_objects_of_the_sdk_may_stand_in_the_messages() -> None:
    message = _sdk_message(text("so", citations=None), call())
    blocks = [text("so", citations=None), call()]
    for given in ({"role": "assistant", "content": message.content}, message):
        turns = contents(given, user(result()))
        assert turns[0].carriers == (said(*blocks),)


# -- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "says"),
    [
        ({"role": "tool", "content": "x"}, "role 'tool'"),
        ({"content": "x"}, "role None"),
        ({"role": ["user"], "content": "x"}, "role"),
        ("hello", "messages.0. is a str"),
        ({"role": "user", "content": 5}, "`content` of messages.0. is a int"),
        ({"role": "user", "content": ["x"]}, "`content` of messages.0. is a list"),
        (user(result("a", {"x": 1})), "a `tool_result` in messages.0. holds a dict"),
        (user(result("a", ["x"])), "a `tool_result` in messages.0. holds a list"),
    ],
)
def test_a_message_of_no_known_shape_is_refused_with_its_place(message: Any, says: str) -> None:
    with pytest.raises(DialectError, match=says):
        contents(message)


@pytest.mark.parametrize("messages", [None, "hello", b"x", 5, {"role": "user"}])
def test_messages_must_be_a_list(messages: Any) -> None:
    with pytest.raises(DialectError, match="`messages` must be a list"):
        CLAUDE.split({"messages": messages})


def test_a_request_that_contains_itself_is_refused() -> None:
    loop: list[Any] = []
    loop.append({"type": "x", "y": loop})
    with pytest.raises(DialectError, match="nested too deeply"):
        contents({"role": "user", "content": loop})


def test_a_large_image_is_measured_by_its_start() -> None:
    data = PNG + "A" * 5_000_000
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
    assert one(user(image)).parts[0].width == 640
