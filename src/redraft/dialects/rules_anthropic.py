"""Anthropic's rules on what stands inside of a message, and on who speaks first and last."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from redraft.dialects.anthropic_blocks import text_of
from redraft.dialects.arguments import parse_object
from redraft.dialects.base import Native
from redraft.dialects.chat_natives import dump
from redraft.dialects.frames import CONTINUE, NO_OUTPUT, NO_WORDS, OPENING, PICTURE, demoted, framed
from redraft.dialects.pairs_anthropic import THOUGHTS, blocks_of, goes_on, kind_of, text_block
from redraft.dialects.pairs_servers import is_server_call, is_server_result
from redraft.dialects.profile import Rule, Violation

__all__ = [
    "ALTERNATION",
    "FILLED_RESULTS",
    "INPUTS",
    "NO_SYSTEM",
    "PLACES",
    "SYSTEM_BEHIND_USER",
    "TEXTS",
    "THOUGHT_LAST",
    "TRAILING",
    "USER_FIRST",
    "USER_LAST",
    "WHOLE_THOUGHTS",
    "cache_marks",
    "marks_in_frame",
]

_Change = Callable[[Native, str], list[Native] | None]
"""What becomes of one block of a message with this role: blocks in its place, or None to leave it."""


def _per_block(name: str, source: str, says: str, change: _Change) -> Rule:
    """A rule on single blocks: what it would change is what it finds. Lists that it empties lose the
    model's message; a user's gets words that say so."""

    def find(messages: Sequence[Native], start: int) -> Iterator[Violation]:
        for at in range(start, len(messages)):
            role = str(messages[at].get("role"))
            for block in blocks_of(messages[at]):
                if change(block, role) is not None:
                    yield Violation(name, at, f"{says} (a `{kind_of(block)}` of the {role}'s)")

    def mend(messages: Sequence[Native]) -> list[Native]:
        out: list[Native] = []
        for message in messages:
            new = _changed(message, change)
            if new is not None:
                out.append(new)
        return out

    return Rule(name, source, find, mend)


def _changed(message: Native, change: _Change) -> Native | None:
    role = str(message.get("role"))
    old = blocks_of(message)
    new: list[Native] = []
    touched = False
    for block in old:
        instead = change(block, role)
        touched = touched or instead is not None
        new += [block] if instead is None else instead
    if not touched:
        return message
    return _with(message, new)


def _with(message: Native, blocks: Sequence[Native]) -> Native | None:
    """The message with these blocks; None for one of the model's that then says nothing."""
    if not blocks and message.get("role") != "user":
        return None
    return {**message, "content": list(blocks) or [text_block(NO_WORDS)]}


# -- inside of a block -----------------------------------------------------------------------------


def _object_input(block: Native, _: str) -> list[Native] | None:
    if kind_of(block) != "tool_use" and not is_server_call(block):
        return None
    given = block.get("input")
    if isinstance(given, Mapping):
        return None
    return [{**block, "input": (parse_object(given) if isinstance(given, str) else None) or {}}]


_PICTURES = ("image", "document")


def _in_place(block: Native, role: str) -> list[Native] | None:
    """What may not stand in a message of this role: the model's blocks in the user's, and back."""
    kind = kind_of(block)
    if role == "assistant":
        if kind == "tool_result":
            return [text_block(framed(text_of(block.get("content"))))]
        return [text_block(PICTURE)] if kind in _PICTURES else None
    if kind in THOUGHTS or is_server_result(block):
        return []
    if kind == "tool_use" or is_server_call(block):
        return [text_block(framed(dump(block)))]
    return [text_block(framed(""))] if kind == "tool_result" and role != "user" else None


def _whole(block: Native, role: str) -> list[Native] | None:
    """A thought whose seal is gone goes as a whole."""
    if role != "assistant":
        return None
    match kind_of(block):
        case "thinking":
            whole = bool(block.get("signature")) and isinstance(block.get("thinking"), str)
        case "redacted_thinking":
            whole = bool(block.get("data"))
        case _:
            return None
    return None if whole else []


# -- texts -----------------------------------------------------------------------------------------


def _is_blank(block: Native) -> bool:
    text = block.get("text")
    return kind_of(block) == "text" and (not isinstance(text, str) or not text.strip())


def _texts(filled: bool) -> Rule:
    """The rule on empty text.

    Args:
        filled: whether every result must hold something, and not only one that reports an error.
    """

    def change(block: Native, _: str) -> list[Native] | None:
        if _is_blank(block):
            return []
        return _filled(block, filled) if kind_of(block) == "tool_result" else None

    blocks = _per_block("texts", "", "a block of text is empty, or white space alone", change)

    def find(messages: Sequence[Native], start: int) -> Iterator[Violation]:
        for at in range(start, len(messages)):
            body = messages[at].get("content")
            if not body or (isinstance(body, str) and not body.strip()):
                yield Violation(
                    "texts", at, f"a message of the {messages[at].get('role')}'s is empty"
                )
        yield from blocks.find(messages, start)

    def mend(messages: Sequence[Native]) -> list[Native]:
        kept: list[Native] = []
        for message in blocks.mend(messages):
            body = message.get("content")
            if body and not (isinstance(body, str) and not body.strip()):
                kept.append(message)
            elif message.get("role") == "user":
                kept.append({**message, "content": NO_WORDS})
        return kept

    return Rule(
        "texts",
        "Messages API: 'text content blocks must be non-empty', '... must contain non-whitespace text', "
        "'user messages must have non-empty content', 'tool_result: content cannot be empty if "
        "`is_error` is true'"
        + (
            "; Amazon Bedrock: 'The text field in the ContentBlock object is blank'"
            if filled
            else ""
        ),
        find,
        mend,
    )


def _filled(result: Native, filled: bool) -> list[Native] | None:
    """A result whose blank texts are gone, and which says so where it must say something."""
    body = result.get("content")
    must = filled or bool(result.get("is_error"))
    if isinstance(body, (list, tuple)):
        kept = [member for member in body if not _is_blank(member)]
        if len(kept) == len(body) and (kept or not must):
            return None
        return [{**result, "content": kept or NO_OUTPUT}]
    blank = not body or (isinstance(body, str) and not body.strip())
    return [{**result, "content": NO_OUTPUT}] if blank and must else None


# -- who speaks where ------------------------------------------------------------------------------


def _find_opening(messages: Sequence[Native], start: int) -> Iterator[Violation]:
    if start == 0 and (not messages or messages[0].get("role") != "user"):
        yield Violation("user-first", 0, "the first message must be the user's")


def _mend_opening(messages: Sequence[Native]) -> list[Native]:
    return [{"role": "user", "content": OPENING}, *messages]


def _find_last(messages: Sequence[Native], _: int) -> Iterator[Violation]:
    if messages and goes_on(messages[-1]):
        yield Violation("user-last", len(messages) - 1, "the list ends with words of the model's")


def _mend_last(messages: Sequence[Native]) -> list[Native]:
    return [*messages, {"role": "user", "content": CONTINUE}]


def _find_trailing(messages: Sequence[Native], _: int) -> Iterator[Violation]:
    if not messages or not goes_on(messages[-1]):
        return
    at = len(messages) - 1
    if any(kind_of(block) in THOUGHTS for block in blocks_of(messages[-1])):
        yield Violation("trailing", at, "the list ends with words that were thought about first")
    elif _last_text(messages[-1]) != _last_text(messages[-1]).rstrip():
        yield Violation(
            "trailing", at, "the words that the model is to go on from end in white space"
        )


def _last_text(message: Native) -> str:
    body = message.get("content")
    last = body[-1].get("text") if isinstance(body, (list, tuple)) and body else body
    return last if isinstance(last, str) else ""


def _mend_trailing(messages: Sequence[Native]) -> list[Native]:
    last = messages[-1]
    if any(kind_of(block) in THOUGHTS for block in blocks_of(last)):
        return _mend_last(messages)
    text = _last_text(last).rstrip()
    blocks = blocks_of(last)
    content = [*blocks[:-1], {**blocks[-1], "text": text}] if blocks else text
    return [*messages[:-1], {**last, "content": content}]


def _find_system(midway: bool) -> Callable[[Sequence[Native], int], Iterator[Violation]]:
    def find(messages: Sequence[Native], start: int) -> Iterator[Violation]:
        for at in range(start, len(messages)):
            if _misplaced(messages, at, midway):
                role = messages[at].get("role")
                yield Violation(
                    "system", at, f"a message with the role {role!r} may not stand here"
                )

    return find


def _misplaced(messages: Sequence[Native], at: int, midway: bool) -> bool:
    role = messages[at].get("role")
    if role in ("user", "assistant"):
        return False
    if not midway or role != "system":
        return True
    while at > 0 and messages[at - 1].get("role") == "system":
        at -= 1
    return at == 0 or messages[at - 1].get("role") != "user"


def _mend_system(midway: bool) -> Callable[[Sequence[Native]], list[Native]]:
    def mend(messages: Sequence[Native]) -> list[Native]:
        return [
            _lowered(message) if _misplaced(messages, at, midway) else message
            for at, message in enumerate(messages)
        ]

    return mend


def _lowered(message: Native) -> Native:
    """The same words as a user's message that says what they were."""
    return {"role": "user", "content": demoted(text_of(message.get("content")))}


def _find_neighbours(messages: Sequence[Native], start: int) -> Iterator[Violation]:
    for at in range(max(start, 1), len(messages)):
        role = messages[at].get("role")
        if role == messages[at - 1].get("role"):
            yield Violation("alternation", at, f"two messages of the {role}'s follow each other")


def _mend_neighbours(messages: Sequence[Native]) -> list[Native]:
    """Neighbours go into one message, each block as it was: nobody's words become part of another's."""
    out: list[Native] = []
    for message in messages:
        if out and out[-1].get("role") == message.get("role"):
            out[-1] = {**out[-1], "content": [*_as_blocks(out[-1]), *_as_blocks(message)]}
        else:
            out.append(message)
    return out


def _as_blocks(message: Native) -> Sequence[Native]:
    body = message.get("content")
    return [text_block(body)] if isinstance(body, str) else blocks_of(message)


# -- thoughts --------------------------------------------------------------------------------------


def _thought_tails(messages: Sequence[Native], start: int) -> Iterator[int]:
    """The model's messages that end in a thought, where none of its messages follows."""
    for at in range(max(start - 1, 0), len(messages)):  # what follows the one before may be new
        blocks = blocks_of(messages[at])
        if messages[at].get("role") != "assistant" or not blocks:
            continue
        following = messages[at + 1].get("role") if at + 1 < len(messages) else None
        if following != "assistant" and kind_of(blocks[-1]) in THOUGHTS:
            yield at


def _find_tails(messages: Sequence[Native], start: int) -> Iterator[Violation]:
    for at in _thought_tails(messages, start):
        yield Violation("thought-last", at, "a turn of the model's ends in a thought")


def _mend_tails(messages: Sequence[Native]) -> list[Native]:
    """The thoughts at the end go, each as a whole, and a message that then holds nothing."""
    out = list(messages)
    while (at := next(_thought_tails(out, 0), None)) is not None:
        kept = list(blocks_of(out[at]))
        while kept and kind_of(kept[-1]) in THOUGHTS:
            kept.pop()
        out[at : at + 1] = [{**out[at], "content": kept}] if kept else []
    return out


# -- cache marks -----------------------------------------------------------------------------------

_MARK = "cache_control"


def cache_marks(most: int) -> Rule:
    """The rule on cache marks.

    Args:
        most: how many may stand in the messages: 4, less those in the tools and the system prompt.
    """

    def find(messages: Sequence[Native], start: int) -> Iterator[Violation]:
        new = [at for at in range(start, len(messages)) for _ in range(_marks(messages[at]))]
        if not new:
            return
        count = len(new) + sum(map(_marks, messages[:start]))
        if count > most:
            says = f"{count} cache marks stand in the messages, {most} are the most"
            yield Violation("cache-marks", new[-1], says)

    def mend(messages: Sequence[Native]) -> list[Native]:
        left = most
        out: list[Native] = []
        for message in reversed(messages):  # the last marks serve the longest prefixes
            count = _marks(message)
            out.append(message if count <= left else _unmarked(message, count - left))
            left = max(left - count, 0)
        return out[::-1]

    source = "Messages API: 'A maximum of 4 blocks with cache_control may be provided'"
    return Rule("cache-marks", source, find, mend)


def marks_in_frame(fields: Mapping[str, Any]) -> int:
    """How many cache marks a request has beside its messages. The one for the whole request counts."""
    blocks = [
        block
        for key in ("tools", "system")
        if isinstance(fields.get(key), (list, tuple))
        for block in fields[key]
    ]
    marks = sum(bool(block.get(_MARK)) for block in blocks if isinstance(block, Mapping))
    return marks + bool(fields.get(_MARK))


def _marks(message: Native) -> int:
    return sum(map(_marks_of, blocks_of(message)))


def _marks_of(block: Native) -> int:
    inner = block.get("content")
    members = inner if isinstance(inner, (list, tuple)) else ()
    return bool(block.get(_MARK)) + sum(
        bool(member.get(_MARK)) for member in members if isinstance(member, Mapping)
    )


def _unmarked(message: Native, count: int) -> Native:
    """The message without its first `count` marks."""
    blocks: list[Any] = []
    for block in blocks_of(message):
        here = min(_marks_of(block), count)
        count -= here
        blocks.append(_block_unmarked(block, here) if here else block)
    return {**message, "content": blocks}


def _block_unmarked(block: Native, count: int) -> Native:
    inner = block.get("content")
    if isinstance(inner, (list, tuple)):
        members: list[Any] = []
        for member in inner:
            marked = count > 0 and isinstance(member, Mapping) and bool(member.get(_MARK))
            members.append(_without_mark(member) if marked else member)
            count -= marked
        block = {**block, "content": members}
    return _without_mark(block) if count > 0 else block


def _without_mark(native: Native) -> Native:
    return {key: value for key, value in native.items() if key != _MARK}


# -- the rules -------------------------------------------------------------------------------------

INPUTS = _per_block(
    "inputs",
    "Messages API: 'tool_use.input: Input should be a valid dictionary'",
    "the input of a call is no object",
    _object_input,
)
PLACES = _per_block(
    "places",
    "Messages API: '`tool_use` blocks can only be in `assistant` messages', '`tool_result` blocks can "
    "only be in `user` messages'; images and documents are the user's ('Vision', API reference)",
    "a block may not stand in a message of this role",
    _in_place,
)
WHOLE_THOUGHTS = _per_block(
    "whole-thoughts",
    "guide 'Extended thinking': blocks go back complete and unmodified; 'thinking.signature: Field "
    "required' (anomalyco/opencode PR #14393)",
    "a thought has lost its seal",
    _whole,
)
TEXTS = _texts(filled=False)
FILLED_RESULTS = _texts(filled=True)
THOUGHT_LAST = Rule(
    "thought-last",
    "Messages API: 'The final block in an assistant message cannot be `thinking`'. Others measured it for "
    "the last message alone; through Bedrock it is reported of any",
    _find_tails,
    _mend_tails,
)
USER_FIRST = Rule(
    "user-first",
    "Messages API: 'first message must use the \"user\" role' (coder/coder PR #22819)",
    _find_opening,
    _mend_opening,
)
USER_LAST = Rule(
    "user-last",
    "Messages API since Claude 4.6: 'This model does not support assistant message prefill. The "
    "conversation must end with a user message' (strands-agents/sdk-python#1694)",
    _find_last,
    _mend_last,
)
TRAILING = Rule(
    "trailing",
    "guide 'Prefill Claude's response': the prefill cannot end in white space, nor be used with "
    "extended thinking",
    _find_trailing,
    _mend_trailing,
)
NO_SYSTEM = Rule(
    "system",
    "Messages API: \"role 'system' is not supported on this model\"; the system prompt is a field "
    "(bytedance/deer-flow#1299)",
    _find_system(midway=False),
    _mend_system(midway=False),
)
SYSTEM_BEHIND_USER = Rule(
    "system",
    "guide 'Mid-conversation system messages', from Claude Opus 4.8 on: right behind a user's turn",
    _find_system(midway=True),
    _mend_system(midway=True),
)
ALTERNATION = Rule(
    "alternation",
    "Amazon Bedrock, Converse: 'A conversation must alternate between user and assistant roles'",
    _find_neighbours,
    _mend_neighbours,
)
