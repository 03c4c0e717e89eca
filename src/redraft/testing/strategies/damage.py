"""Lists of any format that something went wrong with: a crash, a bad cut, another tool's edit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

__all__ = ["damaged"]

Json = dict[str, Any]
Damage = Callable[[list[Json], int, int], list[Json]]

_MEMBERS = ("content", "parts", "output", "tool_calls")
_NAMES = ("id", "call_id", "tool_use_id", "tool_call_id")
_CUT = ('{"command": "ls', "", "[1]", '{"x": NaN}', '{"x": "\\ud99c"}', None)


@st.composite
def damaged(draw: DrawFn, lists: SearchStrategy[list[Json]], *, max_damages: int = 4) -> list[Json]:
    """Lists in which messages, and the blocks in them, are lost, moved, repeated, emptied and renamed.

    Args:
        lists: of any wire format.
        max_damages: how many things went wrong at most.
    """
    natives = draw(lists)
    for _ in range(draw(st.integers(0, max_damages))):
        if natives:
            at = draw(st.integers(0, len(natives) - 1))
            natives = draw(_DAMAGES)(natives, at, draw(st.integers(0, 11)))
    return natives


def _lost(natives: list[Json], at: int, _how: int) -> list[Json]:
    return natives[:at] + natives[at + 1 :]


def _repeated(natives: list[Json], at: int, how: int) -> list[Json]:
    to = how % (len(natives) + 1)
    return [*natives[:to], natives[at], *natives[to:]]


def _moved(natives: list[Json], at: int, how: int) -> list[Json]:
    left = _lost(natives, at, 0)
    to = how % (len(left) + 1)
    return [*left[:to], natives[at], *left[to:]]


def _changed(natives: list[Json], at: int, **fields: Any) -> list[Json]:
    return [*natives[:at], {**natives[at], **fields}, *natives[at + 1 :]]


def _emptied(natives: list[Json], at: int, how: int) -> list[Json]:
    key = _holder(natives[at]) or "content"
    return _changed(natives, at, **{key: (None, "", [])[how % 3]})


def _holder(native: Json) -> str:
    """The key under which a message keeps its blocks; "" for none."""
    return next((key for key in _MEMBERS if isinstance(native.get(key), list)), "")


def _member(natives: list[Json], at: int, how: int, make: Callable[[Any], list[Any]]) -> list[Json]:
    """Something happens to one block of a message."""
    key = _holder(natives[at])
    blocks: Sequence[Any] = natives[at].get(key, ())
    if not blocks:
        return natives
    place = how % len(blocks)
    return _changed(
        natives, at, **{key: [*blocks[:place], *make(blocks[place]), *blocks[place + 1 :]]}
    )


def _block_lost(natives: list[Json], at: int, how: int) -> list[Json]:
    return _member(natives, at, how, lambda _block: [])


def _block_repeated(natives: list[Json], at: int, how: int) -> list[Json]:
    return _member(natives, at, how, lambda block: [block, block])


def _block_emptied(natives: list[Json], at: int, how: int) -> list[Json]:
    def empty(block: Any) -> list[Any]:
        key = next((k for k in ("text", "content", "thinking") if k in block), "text")
        return [{**block, key: ("", " \n")[how % 2]}]

    return _member(natives, at, how, empty)


def _block_moved(natives: list[Json], at: int, how: int) -> list[Json]:
    """A block goes to the end of another message that holds blocks."""
    key = _holder(natives[at])
    others = [place for place, one in enumerate(natives) if _holder(one) == key and place != at]
    blocks = natives[at].get(key) or []
    if not blocks or not others:
        return natives
    to = others[how % len(others)]
    block = blocks[how % len(blocks)]
    natives = _block_lost(natives, at, how)
    return _changed(natives, to, **{key: [*natives[to][key], block]})


def _renamed(natives: list[Json], at: int, how: int) -> list[Json]:
    """An id that something else has already, or none."""
    name = ("", "call_1", "\ud800", None, "toolu_0", "x" * 80)[how % 6]
    native = natives[at]
    key = next((key for key in _NAMES if key in native), "")
    if key:
        return _changed(natives, at, **{key: name})

    def rename(block: Any) -> list[Any]:
        inner = next((key for key in _NAMES if key in block), "")
        return [{**block, inner: name}] if inner else [block]

    return _member(natives, at, how, rename)


def _cut_off(natives: list[Json], at: int, how: int) -> list[Json]:
    """Arguments that end too early, wherever a format keeps them."""
    cut = _CUT[how % len(_CUT)]
    if "arguments" in natives[at]:
        return _changed(natives, at, arguments=cut)

    def cut_off(block: Any) -> list[Any]:
        for key, inner in (("function", "arguments"), ("functionCall", "args")):
            if key in block:
                return [{**block, key: {**block[key], inner: cut}}]
        return [{**block, "input": cut}] if "input" in block else [block]

    return _member(natives, at, how, cut_off)


def _surrogate(natives: list[Json], at: int, how: int) -> list[Json]:
    if isinstance(natives[at].get("content"), str):
        return _changed(natives, at, content="half \ud83d of it")

    def spoil(block: Any) -> list[Any]:
        return [{**block, "text": "half \ud83d of it"}] if "text" in block else [block]

    return _member(natives, at, how, spoil)


def _unknown_key(natives: list[Json], at: int, _how: int) -> list[Json]:
    return _changed(natives, at, **{"x_\udc80": {"\ud800": ["\udfff", 1]}})


def _another_role(natives: list[Json], at: int, how: int) -> list[Json]:
    """The user's words as the model's, or the other way round: neighbours of one role."""
    role = natives[at].get("role")
    other = {"user": "assistant", "assistant": "user", "model": "user"}.get(str(role))
    if "parts" in natives[at]:
        other = {"user": "model", "model": "user"}.get(str(role))
    return _changed(natives, at, role=other) if other and how % 2 else natives


_DAMAGES: SearchStrategy[Damage] = st.sampled_from(
    (
        _lost,
        _repeated,
        _moved,
        _emptied,
        _block_lost,
        _block_repeated,
        _block_emptied,
        _block_moved,
        _renamed,
        _cut_off,
        _surrogate,
        _unknown_key,
        _another_role,
    )
)
