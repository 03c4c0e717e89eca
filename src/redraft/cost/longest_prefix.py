"""`longest-prefix`: what the thread's request before and this one share. The simplest of caches."""

from __future__ import annotations

from redraft.cost.caches import Found, Reader, Use
from redraft.cost.requests import Request

__all__ = ["LongestPrefix"]


class LongestPrefix:
    """A cache of one request a thread, to the token, for ever."""

    name = "longest-prefix"

    def __init__(self) -> None:
        self._reader = Reader()

    def serve(self, request: Request) -> Use:
        """Account for one request: everything behind the shared prefix is computed and stored."""
        step = self._reader.step(request)
        read = step.change.shared
        return self._reader.use(step, Found(read, step.total - read, possible=read))
