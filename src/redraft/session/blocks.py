"""Blocks that are used with `with` or `async with`: nothing in them waits, so both do the same."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Generic, Self, TypeVar

__all__ = ["Block"]

Swallows = TypeVar("Swallows", bool, None)
"""What leaving the block gives: whether the error is swallowed, or None where none ever is."""


class Block(ABC, Generic[Swallows]):
    """A context manager that is an asynchronous one too."""

    __slots__ = ()

    @abstractmethod
    def __enter__(self) -> Self: ...

    @abstractmethod
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> Swallows: ...

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> Swallows:
        return self.__exit__(kind, error, trace)
