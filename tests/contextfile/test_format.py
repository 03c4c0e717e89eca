from __future__ import annotations

import re

import pytest
from contextfile_world import (
    calls,
    hostile,
    live_of,
    lives,
    picture,
    result,
    says,
    shown,
    texts,
)
from hypothesis import given
from hypothesis import strategies as st

from redraft.context import Block, CallMark, Turn, reconcile
from redraft.contextfile.blocks import BEYOND, candidates, escape, structure, trimmed, unescape
from redraft.contextfile.format import (
    END,
    Parsed,
    Unreadable,
    parse,
    render,
    render_turn,
    with_attributes,
)
from redraft.dialects.base import Call, Content, Part


def blocks_of(text: str) -> tuple[Block, ...]:
    parsed = parse(text.encode())
    assert isinstance(parsed, Parsed)
    return parsed.blocks


def body(text: str) -> str:
    """The text of the one block in which `text` stands."""
    (block,) = blocks_of("[[CTX_TURN 3 role=user]]\n" + text)
    return block.text


def test_a_file_looks_as_the_design_says() -> None:
    live = live_of(calls("Let me look.", "ls"), result("a.txt"), picture("this one"), says("Fine."))
    assert render(live.editable()).decode() == (
        "[[CTX_TURN 3 role=assistant]]\n"
        "Let me look.\n"
        "[[CTX_CALL call_0 bash]]\n"
        '{"command": "ls"}\n'
        "\n"
        "[[CTX_TURN 4 role=tool]]\n"
        "a.txt\n"
        "\n"
        "[[CTX_TURN 5 role=user]]\n"
        "this one\n"
        "[[CTX_PART 1 image png 1x1]]\n"
        "\n"
        "[[CTX_TURN 6 role=assistant]]\n"
        "Fine.\n"
        "\n"
        "[[CTX_END]]\n"
    )


def test_hidden_reasoning_is_not_shown() -> None:
    live = live_of({**says("Hello."), "reasoning_content": "they want a greeting"})
    assert b"greeting" not in render(live.editable())


def test_attributes_follow_the_role_and_are_one_word_each() -> None:
    (turn,) = shown(live_of(says("Hello.")))
    block = render_turn(turn, attributes={"tokens": 5212, "odd name]]": "a b\n[[CTX_END]]"})
    header = block.splitlines()[0]
    assert header == b"[[CTX_TURN 3 role=assistant tokens=5212 odd_name__=a_b___CTX_END__]]"
    assert block == with_attributes(
        render_turn(turn), {"tokens": 5212, "odd name]]": "a b\n[[CTX_END]]"}
    )
    assert parse(block) == parse(render_turn(turn))


@given(lives)
def test_what_is_rendered_is_utf8_and_parses_to_the_turns_that_were_shown(live) -> None:
    turns = shown(live)
    parsed = parse(render(turns))
    assert isinstance(parsed, Parsed)
    assert parsed.ended
    assert len(parsed.blocks) == len(turns)
    assert all(block.shows(turn) for block, turn in zip(parsed.blocks, turns, strict=True))
    assert [block.number for block in parsed.blocks] == [turn.number for turn in turns]
    assert [block.role for block in parsed.blocks] == [turn.role for turn in turns]
    assert not reconcile(live, turns, parsed.blocks)


@given(lives, st.sampled_from(["\r\n", "\r"]))
def test_other_line_ends_and_stripped_line_ends_are_no_edit(live, ending) -> None:
    turns = shown(live)
    text = render(turns).decode()
    lines = re.split("\r\n|\n|\r", text)
    for changed in (ending.join(lines), "\n".join(line.rstrip(" \t") for line in lines)):
        assert not reconcile(live, turns, blocks_of(changed))


@given(hostile)
def test_escaping_is_undone_exactly_and_hides_all_structure(text) -> None:
    hidden = escape(text)
    assert unescape(hidden) == text
    assert all(slash < mark for _, slash, mark in candidates(hidden))


@given(hostile)
def test_the_lines_that_escape_are_those_of_the_design(text) -> None:
    lines = re.split(r"(\r\n|\n|\r)", text)
    gained = [re.sub(r"^([ \t]*)(\\*\[\[CTX_)", r"\1\\\2", line) for line in lines]
    assert escape(text) == "".join(gained)


@given(hostile, hostile, hostile)
def test_any_text_label_and_call_leave_one_block_with_the_same_body(text, label, words) -> None:
    content = Content("assistant", text, (Call(words, words, words),), (Part("image", label),))
    turn = Turn(7, content, "original", 1)  # type: ignore[arg-type]
    parsed = parse(render([turn]))
    assert isinstance(parsed, Parsed)
    (block,) = parsed.blocks
    assert block.shows(turn)
    assert (block.number, block.role, block.parts) == (7, "assistant", (1,))


@given(st.binary() | hostile.map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_bytes_give_a_result(data) -> None:
    parsed = parse(data)
    try:
        data.decode()
    except UnicodeDecodeError:
        assert isinstance(parsed, Unreadable)
    else:
        assert isinstance(parsed, Parsed)


@pytest.mark.parametrize(
    ("line", "number", "role"),
    [
        ("[[CTX_TURN 7 role=tool]]", 7, "tool"),
        ("  \t[[CTX_TURN 7 role=tool]]  \t", 7, "tool"),
        ("[[CTX_TURN   7\trole=tool  ]]\x0c", 7, "tool"),
        ("[[CTX_TURN 7 role=Tool]]", 7, "tool"),
        ('[[CTX_TURN 7 role="tool"]]', 7, "tool"),
        ("[[CTX_TURN 7 role='tool']]", 7, "tool"),
        ('[[CTX_TURN 7 role=" tool "]]', 7, ""),
        ("[[CTX_TURN role=tool 7]]", 7, "tool"),
        ("[[CTX_TURN tokens=5 ROLE=tool after=9 7]]", 7, "tool"),
        ('[[CTX_TURN title="8 days" role=tool 7]]', 7, "tool"),
        ("[[CTX_TURN title='8 \"days' role=tool 7]]", 7, "tool"),
        ("[[CTX_TURN 7]]", 7, ""),
        ("[[CTX_TURN 7 edited role=notes]]", 7, "notes"),
        ("[[CTX_TURN 007 role=tool]]", 7, "tool"),
        ("[[CTX_TURN 0 role=tool]]", 0, "tool"),
        (f"[[CTX_TURN {'9' * 5000} role=tool]]", BEYOND, "tool"),
        (f"[[CTX_TURN {'0' * 5000}7 role=tool]]", 7, "tool"),
    ],
)
def test_a_header_may_be_written_in_many_ways(line, number, role) -> None:
    (block,) = blocks_of(line + "\nhello\n")
    assert (block.number, block.role, block.text) == (number, role, "hello")


@pytest.mark.parametrize(
    "line",
    [
        "[[CTX_TURN]]",
        "[[CTX_TURN role=user]]",
        "[[CTX_TURN seven role=user]]",
        "[[CTX_TURN -7 role=user]]",
        "[[CTX_TURN ٧ role=user]]",
        "[[CTX_TURN 7 role=user]",
        "[[CTX_TURN 7 role=user]] and more",
        "[[CTX_TURN 7 [role=user]]",
        "[[CTX_TURNS 7 role=user]]",
        "[[CTX_]]",
        "[[CTX_ TURN 7]]",
        "[[CTX_END now]]",
        "[[CTX_PART one image]]",
        "[[CTX_PART]]",
        "[[CTX_CALL]]",
        "[[ctx_end]]",
        "x [[CTX_END]]",
        "\x0c[[CTX_END]]",
        "\u2028[[CTX_END]]",
        "\xa0[[CTX_END]]",
    ],
)
def test_what_is_no_known_structure_is_plain_text(line) -> None:
    assert body(f"before\n{line}\nafter") == f"before\n{line}\nafter"


def test_an_escaped_line_loses_one_backslash_wherever_it_stands() -> None:
    assert body("\\[[CTX_END]]\n \\\\[[CTX_X") == "[[CTX_END]]\n \\[[CTX_X"
    assert texts(blocks_of("\\[[CTX_TURN 3]]")) == ["[[CTX_TURN 3]]"]


def test_a_body_loses_the_blank_lines_at_its_end_only() -> None:
    assert body("\n\n  a  \n\n b \t\n \t\n\r\n\r") == "\n\n  a  \n\n b \t"
    assert body("\n \n") == ""
    assert trimmed("form feed\n\x0c\n\n") == "form feed\n\x0c"


def test_a_carriage_return_alone_ends_a_line_and_a_line_separator_does_not() -> None:
    assert texts(blocks_of("[[CTX_TURN 3]]\rone\r[[CTX_TURN 4]]\r\ntwo")) == ["one", "two"]
    assert body("a\u2028[[CTX_END]]\x0b[[CTX_END]]\x85[[CTX_END]]").endswith("\x85[[CTX_END]]")


def test_the_end_mark_closes_a_block_and_what_follows_is_a_note() -> None:
    parsed = parse(b"[[CTX_TURN 3 role=user]]\none\n[[CTX_END]]\nnote\n\n[[CTX_TURN 4]]\ntwo\n")
    assert parsed == Parsed((Block("one", 3, "user"), Block("note"), Block("two", 4)), ended=True)


def test_text_before_the_first_header_is_a_note_and_blank_lines_are_none() -> None:
    assert blocks_of("hello\n[[CTX_TURN 3]]\n") == (Block("hello"), Block("", 3))
    assert blocks_of(" \n\n[[CTX_TURN 3]]\n[[CTX_END]]\n\n") == (Block("", 3),)


def test_a_byte_order_mark_is_ignored_at_the_start_alone() -> None:
    assert blocks_of("\ufeff[[CTX_TURN 3]]\n") == (Block("", 3),)
    assert blocks_of("\ufeff") == ()
    assert body("\ufeffa") == "\ufeffa"


def test_nothing_at_all_is_no_blocks_and_no_end() -> None:
    assert parse(b"") == Parsed((), ended=False)


def test_invalid_utf8_is_a_value() -> None:
    assert parse(b"[[CTX_TURN 3]]\n\xff\n") == Unreadable(
        "the file is not valid UTF-8 (invalid start byte)"
    )


def test_lines_under_a_call_are_its_arguments_until_the_next_mark() -> None:
    (block,) = blocks_of(
        "[[CTX_TURN 3 role=assistant]]\ntext\n[[CTX_CALL a bash]]\n{\n\n}\n\n"
        "[[CTX_CALL b]]\n\\[[CTX_END]]\n[[CTX_PART 2 image]]\nmore text\n"
    )
    assert block.calls == (CallMark("a", "bash", "{\n\n}"), CallMark("b", "", "[[CTX_END]]"))
    assert block.parts == (2,)
    assert block.text == "text\nmore text"


def test_marks_outside_of_a_block_are_words() -> None:
    text = "see [[\n[[CTX_CALL a bash]]\n{}\n[[CTX_PART 1 image]]"
    assert blocks_of("[[CTX_END]]\n" + text) == (Block(text),)


def test_structure_knows_its_four_shapes() -> None:
    assert structure("[[CTX_PART 0001]]") == structure("[[CTX_PART 1 image png]]")
    assert structure("[[CTX_CALL a b c]]") == structure("[[CTX_CALL a b]]")
    assert structure(END.decode().rstrip()) is not None


def test_long_lines_full_of_marks_take_linear_time() -> None:
    # Each of these took minutes with a pattern that backtracks; a hang is the failure.
    many = 200_000
    for text in (
        "[[CTX_TURN 3]]" * many,
        "[[CTX_TURN" + " " * many + "x",
        "[[CTX_TURN 3 " + "'\" " * many + "]]",
        "[[CTX_TURN 3 " + "]] " * many,
        "\\" * many + "[[CTX_",
        " " * many + "x[[CTX_END]]",
        ("\\" * 50 + "[[CTX_END]]\r") * (many // 50),
    ):
        assert unescape(escape(text)) == text
        assert isinstance(parse(text.encode()), Parsed)
