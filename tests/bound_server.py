"""A server that binds reasoning to what stood before it, in as few lines as can be: for each signature it
remembers everything that it was asked with when it made it, and it finds every one that comes back behind
anything else. It knows nothing of turns, and nothing of redraft."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any

Body = Mapping[str, Any]
_WORDS = {"assistant": "said", "user": "user", "system": ""}


class BoundServer:
    """Attributes:
    asked: the requests, in order.
    """

    def __init__(self) -> None:
        self.asked: list[Body] = []
        self._made: dict[str, str] = {}
        self._whole: dict[str, list[str]] = {}

    def signature(self) -> str:
        """A signature for a new piece of reasoning."""
        return f"sealed-{len(self._made) + len(self.asked)}-{len(self.asked)}"

    def ask(self, body: Body) -> None:
        """Take a request; raises where it holds void or altered reasoning."""
        body = json.loads(json.dumps(body))
        self.asked.append(body)
        assert not self.mismatches(body), self.mismatches(body)
        assert not self.parted(body), self.parted(body)

    def said(self, body: Body, reply: Mapping[str, Any] | list[Any]) -> None:
        """Remember what the reasoning in an answer was made under."""
        field = next(name for name in ("messages", "input") if name in body)
        items = reply if isinstance(reply, list) else [reply]
        pieces = list(_pieces({**body, field: [*body[field], *items]}))
        new = [
            at for at, (kind, text) in enumerate(pieces) if kind == "R" and text not in self._made
        ]
        calls = [text for kind, text in pieces[min(new, default=0) :] if kind == "call"]
        for at in new:
            self._made[pieces[at][1]] = _digest(pieces[:at])
        if new and calls:
            self._whole[calls[-1]] = [pieces[at][1] for at in new]

    def mismatches(self, body: Body) -> list[str]:
        """Signatures that stand behind something else than they were made under."""
        pieces = list(_pieces(body))
        return [
            text
            for at, (kind, text) in enumerate(pieces)
            if kind == "R" and self._made[text] != _digest(pieces[:at])
        ]

    def parted(self, body: Body) -> list[str]:
        """The signatures that the newest answer lacks while nothing stands behind the results of its
        tool calls."""
        pieces = list(_pieces(body))
        behind = [kind for kind, _ in pieces]
        calls = [at for at, kind in enumerate(behind) if kind == "call"]
        if not calls or {"said", "user"} & set(behind[calls[-1] :]):
            return []
        standing = {text for kind, text in pieces if kind == "R"}
        return [one for one in self._whole.get(pieces[calls[-1]][1], []) if one not in standing]


def _digest(pieces: list[tuple[str, str]]) -> str:
    return sha256(json.dumps(pieces).encode()).hexdigest()


def _pieces(body: Body) -> Iterator[tuple[str, str]]:
    """(kind, text) of everything in a request, in order: `R` reasoning by its signature, `call` a tool
    call, `said` and `user` words of the model's and the user's, "" anything else."""
    for name in ("system", "instructions", "tools"):
        yield "", json.dumps(body.get(name))
    for message in body.get("messages", ()):
        blocks = message.get("content")
        if "tool_calls" in message or "reasoning_details" in message or "tool_call_id" in message:
            yield from _chat(message)
        elif isinstance(blocks, list):
            for block in blocks:
                yield _block(message["role"], block)
        else:
            yield _WORDS[message["role"]], json.dumps(message)
    for item in body.get("input", ()):
        yield _item(item)


def _chat(message: Body) -> Iterator[tuple[str, str]]:
    for detail in message.get("reasoning_details") or ():
        yield "R", detail["signature"]
    rest = {key: message[key] for key in message if key != "reasoning_details"}
    kind = "call" if message.get("tool_calls") else _WORDS.get(message["role"], "")
    yield kind, json.dumps(rest)


def _block(role: str, block: Body) -> tuple[str, str]:
    if block["type"] == "thinking":
        return "R", block["signature"]
    rest = {key: block[key] for key in block if key != "cache_control"}
    kind = {"tool_use": "call", "text": _WORDS[role]}
    return kind.get(block["type"], ""), json.dumps([role, rest])


def _item(item: Body) -> tuple[str, str]:
    if item["type"] == "reasoning":
        return "R", item["encrypted_content"]
    kind = {"function_call": "call"}.get(item["type"], "")
    return _WORDS.get(item.get("role", ""), kind), json.dumps(item)
