"""The Messages API: what becomes a turn, and what a turn of the model's keeps when it is written."""

from __future__ import annotations

import pytest
from anthropic_world import (
    CLAUDE,
    Json,
    call,
    contents,
    joined,
    one,
    one_turn,
    result,
    rewritten,
    said,
    text,
    thought,
    user,
)

from redraft.dialects import Call
from redraft.testing.strategies.anthropic import MARK, anthropic_image

# -- apart -----------------------------------------------------------------------------------------


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


# -- the model's turn, written ---------------------------------------------------------------------


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
