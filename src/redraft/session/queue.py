"""Revisions that wait for the end of an exchange, and how they take effect; see
docs/design/bound-reasoning.md."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from redraft.context import BOUNDARY, RECEIPT_CAP, Effect, Revision, exchange_at, flattening, void
from redraft.dialects import Frame
from redraft.dialects.capabilities import Reasoning, capabilities_of
from redraft.errors import DialectError
from redraft.session.core import Core

__all__ = ["BETA", "Queue", "binding", "controlled", "dropping"]

BETA = "thinking-binding-controls-2026-08-01"
"""The beta that knows `thinking.block_binding` (Anthropic's guide on preserved thinking)."""

_HEADER = "anthropic-beta"


def binding(model: str, dialect_name: str) -> Reasoning:
    """What a change in front of a model's reasoning does to it. A wire format that is not known is taken
    to bind.

    Args:
        model: the model's name; "" if unknown.
        dialect_name: the wire format.
    """
    try:
        return capabilities_of(model, dialect_name).reasoning
    except DialectError:
        return "bound"


def controlled(model: str, dialect_name: str) -> bool:
    """Whether a request can ask the server to drop void reasoning in place of refusing it."""
    try:
        return capabilities_of(model, dialect_name).binding_control
    except DialectError:
        return False


class Queue:
    """Says when accepted revisions take effect where they would disturb bound reasoning.

    Args:
        core: the session's state.
        control: whether the server can be asked to drop void reasoning.

    Attributes:
        added: the request's fields beside the frame's, as the last request had them.
    """

    def __init__(self, core: Core, *, control: bool = False) -> None:
        self.added: Mapping[str, Any] = {}
        self._core = core
        self._control = control

    def settle(self, *, urgent: bool, ended: bool = False, control: bool = True) -> None:
        """Let what is queued take effect if its time has come, and take away void reasoning.

        Args:
            urgent: whether the context is so full that the exchange cannot be waited for.
            ended: whether the model has just given its final answer. Otherwise words of the model's at
                the very end are such as it is to go on from, and stay as they are.
            control: whether the client can send what the binding control needs.
        """
        core = self._core
        live = core.live
        going_on = bool(live.turns) and live.turns[-1].role == "assistant" and not ended
        if live.open_at < len(live.turns) or going_on:
            return
        closed = exchange_at(live) == len(live.turns)
        if live.older is not None and not (closed or urgent or void(live.older)):
            return
        if not void(live):
            core.release()
        elif closed or live.binding == "dropped":
            self._clear(Revision("harness", BOUNDARY))
        elif control and self._usable(live.frame):
            core.release()
        else:
            self._clear(flattening(live))

    def may_void(self, *, urgent: bool) -> bool:
        """Whether what stands in front of everything, such as the tools, may change now: it voids all
        reasoning there is, and where that must not be sent, an exchange that is open would lose its
        form.

        Args:
            urgent: whether the context is so full that the exchange cannot be waited for.
        """
        live = self._core.live
        if live.binding != "bound" or urgent or self._usable(live.frame):
            return True
        return all(turn.number not in live.made for turn in live.turns[exchange_at(live) :])

    def _clear(self, revision: Revision) -> None:
        limit = max(self._core.raw_limit, self._core.live.tokens + RECEIPT_CAP)
        self._core.propose(revision, limit=limit, effect=Effect.CLEAR)

    def _usable(self, frame: Frame) -> bool:
        """Whether the control can be used: a request that turns thinking off has no place for it."""
        thinking = frame.fields.get("thinking")
        off = isinstance(thinking, Mapping) and thinking.get("type") == "disabled"
        return self._control and not off

    def asking(self, *, headers: bool = True) -> Mapping[str, Any]:
        """Fields to lay over those of the request that is about to be sent; none while all of its
        reasoning is valid.

        Args:
            headers: whether `extra_headers` or `betas` is to be among them, as the SDK takes it.
        """
        live = self._core.live.outgoing
        needed = self._usable(live.frame) and bool(void(live))
        fields = dropping(live.frame.fields) if needed else {}
        self.added = fields
        return fields if headers else {key: fields[key] for key in fields if key == "thinking"}

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers that the last request needs."""
        headers = self.added.get("extra_headers", {})
        return {_HEADER: ",".join(self.added["betas"])} if "betas" in self.added else dict(headers)


def dropping(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields by which a request asks the server to drop void reasoning.

    Without `thinking` the models that bind reasoning think adaptively, so saying so changes nothing.

    Args:
        fields: the request's fields.
    """
    thinking = fields.get("thinking") or {"type": "adaptive"}
    binding = {**(thinking.get("block_binding") or {}), "prefix_mismatch_behavior": "drop_block"}
    added: dict[str, Any] = {"thinking": {**thinking, "block_binding": binding}}
    if "betas" in fields:  # the SDK makes a header of them, and `extra_headers` would replace it
        return {**added, "betas": _with_beta(fields["betas"] or ())}
    known = fields.get("extra_headers") or {}
    others = {key: value for key, value in known.items() if key.lower() != _HEADER}
    old = ",".join(str(value) for key, value in known.items() if key.lower() == _HEADER)
    betas = _with_beta([beta.strip() for beta in old.split(",") if beta.strip()])
    return {**added, "extra_headers": {**others, _HEADER: ",".join(betas)}}


def _with_beta(betas: object) -> list[str]:
    known = [str(beta) for beta in betas] if isinstance(betas, (list, tuple)) else []
    return known if BETA in known else [*known, BETA]
