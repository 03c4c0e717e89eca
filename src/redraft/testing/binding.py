"""Thinking that is bound to what stands in front of it, as the newer models of Anthropic have it.

The server signs each thinking block, and remembers for each signature the prefix under which it was
made: system prompt, tools, and every block before. Where a request brings the block back behind
another prefix, it is refused or dropped. Source: Anthropic's guide on preserved thinking (prefix checks
on thinking blocks, and how to mend a block that is bound to a different conversation).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from redraft.testing.prefixes import Piece, anthropic_pieces

__all__ = ["CONTROL", "Binding", "Unfit"]

CONTROL = "thinking-binding-controls-2026-08-01"
"""The beta header that the binding control needs."""

_THOUGHTS = ("thinking", "redacted_thinking")


@dataclass(frozen=True, slots=True)
class Unfit:
    """A thinking block that may not be read where it stands.

    Attributes:
        path: where it stands, as `messages.1.content.0`.
        says: what the API says of it.
        bound: whether only its prefix is wrong, so that it may be dropped on demand.
    """

    path: str
    says: str
    bound: bool = False


@dataclass(frozen=True, slots=True)
class _Made:
    """What the server remembers of a block.

    Attributes:
        text: what the block held.
        prefix: digests of tools, system prompt and messages in front of it, thinking left out.
        earlier: the signatures in front of it.
        family: the signatures of its own answer.
    """

    text: str
    prefix: tuple[str, ...]
    earlier: tuple[str, ...]
    family: tuple[str, ...] = ()


class Binding:
    """The server's memory of its signatures."""

    def __init__(self) -> None:
        self._made: dict[str, _Made] = {}
        self._number = 0

    def sign(
        self, body: Mapping[str, Any], blocks: Sequence[Mapping[str, Any]]
    ) -> list[dict[str, Any]]:
        """The blocks of an answer with a signature on each thinking block.

        Args:
            body: the request, as the model saw it.
            blocks: the answer.
        """
        signed = [self._signed(block) for block in blocks]
        self.learn({**body, "messages": [*body["messages"], _said(signed)]})
        return signed

    def learn(self, body: Mapping[str, Any]) -> None:
        """Take every thinking block of a request that is not known yet for one of our own, made where
        it stands: for conversations that began elsewhere."""
        walk = _Walk()
        new: list[tuple[str, _Made, str]] = []
        for piece in anthropic_pieces(body):
            name = _signature(piece.block)
            if name and name not in self._made:
                answer = piece.path.rpartition(".content.")[0]
                new.append((name, _Made(_held(piece.block), walk.prefix, walk.earlier), answer))
            walk.pass_by(piece)
        for name, made, answer in new:
            family = tuple(one for one, _, where in new if where == answer)
            self._made[name] = _Made(made.text, made.prefix, made.earlier, family)

    def unfit(self, body: Mapping[str, Any]) -> Iterator[Unfit]:
        """The thinking blocks of a request that may not be read, each judged by what the model would
        read in front of it: one that is unfit itself is not there for those behind it."""
        walk = _Walk()
        pieces = anthropic_pieces(body)
        for piece in pieces:
            name = _signature(piece.block)
            made = self._made.get(name) if name else None
            if name and (made is None or made.text != _held(piece.block)):
                kind = piece.block["type"]
                yield Unfit(piece.path, f"{piece.path}: Invalid `signature` in `{kind}` block")
            elif made is not None and not walk.fits(made):
                says = _BOUND.format(path=piece.path, kind=piece.block["type"])
                yield Unfit(piece.path, f"{says} {walk.difference(made)}", bound=True)
            else:
                walk.pass_by(piece)

    def parted(self, body: Mapping[str, Any]) -> Iterator[Unfit]:
        """Thinking of the last answer in an open tool exchange that is there in part only."""
        last = _open_answer(body)
        names = [name for piece in last if (name := _signature(piece.block))]
        for piece in last:
            made = self._made.get(_signature(piece.block))
            if made is not None and [name for name in names if name in made.family] != list(
                made.family
            ):
                yield Unfit(piece.path, _MODIFIED.format(path=piece.path))

    def _signed(self, block: Mapping[str, Any]) -> dict[str, Any]:
        if block.get("type") not in _THOUGHTS or _signature(block):
            return dict(block)
        self._number += 1
        text = sha256(f"{self._number}".encode()).hexdigest()
        return {**block, "signature" if block["type"] == "thinking" else "data": f"Eq{text}=="}


_BOUND = (
    "{path}: Invalid `signature` in `{kind}` block. The block is bound to a different conversation. "
    'Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block". '
    f"That setting requires the `{CONTROL}` value in the `anthropic-beta` header."
)
_MODIFIED = (
    "{path}: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be "
    "modified. These blocks must remain as they were in the original response."
)


class _Walk:
    """What stands in front of a block, while a request is read."""

    def __init__(self) -> None:
        self._digests = {part: sha256() for part in ("tools", "system", "messages")}
        self.earlier: tuple[str, ...] = ()

    @property
    def prefix(self) -> tuple[str, ...]:
        return tuple(digest.hexdigest() for digest in self._digests.values())

    def pass_by(self, piece: Piece) -> None:
        name = _signature(piece.block)
        if name:
            self.earlier = (*self.earlier, name)
        else:
            self._digests[piece.part].update(piece.data)

    def fits(self, made: _Made) -> bool:
        """The prefix is the same; thinking may be missing at its beginning, not in between."""
        known = made.earlier[len(made.earlier) - len(self.earlier) :]
        return self.prefix == made.prefix and self.earlier == known

    def difference(self, made: _Made) -> str:
        for part, now, then in zip(self._digests, self.prefix, made.prefix, strict=True):
            if now != then:
                return f"The `{part}` differ from those that this block was created with."
        return "Another thinking block in front of it was left out or moved."


def _said(blocks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def _signature(block: Mapping[str, Any]) -> str:
    """What signs a thinking block; "" for any other."""
    match block.get("type"):
        case "thinking":
            return str(block.get("signature") or "")
        case "redacted_thinking":
            return str(block.get("data") or "")
        case _:
            return ""


def _held(block: Mapping[str, Any]) -> str:
    return str(block.get("thinking", ""))


def _open_answer(body: Mapping[str, Any]) -> list[Piece]:
    """The blocks of the assistant's last message, where results stand behind it."""
    messages = body["messages"]
    at = len(messages) - 1
    while at >= 0 and messages[at].get("role") != "assistant":
        at -= 1
    behind = {"messages": messages[at + 1 :]}
    if at < 0 or not any(p.block.get("type") == "tool_result" for p in anthropic_pieces(behind)):
        return []
    return [p for p in anthropic_pieces(body) if p.path.startswith(f"messages.{at}.content.")]
