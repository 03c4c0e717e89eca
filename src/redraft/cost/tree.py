"""The tree of all prompts seen: a node for each segment at its place. Memory grows with distinct text."""

from __future__ import annotations

from dataclasses import dataclass, field

from redraft.cost.caches import Step
from redraft.cost.requests import Request

__all__ = ["Clock", "Forest", "Node"]


@dataclass(slots=True, eq=False)
class Node:
    """A segment at its place. What a cache keeps there, it keeps in the other fields.

    Attributes:
        children: by the next segment's digest.
        stored: whether the cache holds what ends here.
        blocks: how many of its blocks end in this segment.
        used: when it was last read or written, in seconds.
        lifetime: seconds from `used` on that it lives.
    """

    children: dict[str, Node] = field(default_factory=dict)
    stored: bool = False
    blocks: int = 0
    used: float = 0.0
    lifetime: float = 0.0


class Forest:
    """One tree a model, since no model reads another's cache."""

    def __init__(self) -> None:
        self._roots: dict[str, Node] = {}
        self._last: dict[str, list[Node]] = {}

    def path(self, step: Step) -> list[Node]:
        """The nodes of the request's segments in order; those that are missing are made.

        What a request shares with the one before it in its thread is not walked again.
        """
        request = step.request
        path = self._last.get(request.thread, [])[: step.change.at]
        node = path[-1] if path else self._roots.setdefault(request.model, Node())
        for segment in request.segments[len(path) :]:
            child = node.children.get(segment.digest)
            if child is None:
                child = node.children[segment.digest] = Node()
            path.append(child)
            node = child
        self._last[request.thread] = path
        return path


class Clock:
    """The time as the requests tell it. It stands still where one does not say, and never runs back."""

    def __init__(self) -> None:
        self._now = 0.0

    def read(self, request: Request) -> float:
        """The time of `request`, in seconds."""
        if request.at is not None:
            self._now = max(self._now, request.at)
        return self._now
