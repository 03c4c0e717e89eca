"""The place where a model's answer comes in, and where an overflow is caught."""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Self

from redraft.errors import SessionStateError
from redraft.models.overflow import overflow_of
from redraft.session.blocks import Block
from redraft.session.framing import must_follow

if TYPE_CHECKING:
    from redraft.session.engine import Engine

__all__ = ["Answer"]


@dataclass(slots=True)
class Answer(Block[bool]):
    """Wrap the model call in it; call it with the response.

    An error that says that the request was too large becomes a rollback: it is swallowed, the round
    that follows is empty, and `Session.request` asks again with a smaller context. Every other
    error goes through untouched, and the same request can be made again. So does an overflow in
    `observe` mode, which changes nothing.

    Attributes:
        given: whether a response was handed in.
    """

    engine: Engine
    given: bool = False

    def __call__(self, response: object) -> None:
        """Take in a response: an SDK object, the final object of a stream, or a mapping.

        Raises:
            DialectError: it is not a response of the session's wire format.
            SessionStateError: there was a response already, or no request.
        """
        if self.given:
            raise SessionStateError("this request has its answer; call session.request() again.")
        self._must_be_asked()
        live = self.engine.core.live
        must_follow(live.dialect, live.frame.fields, response)
        self.engine.take_answer(response)
        self.given = True

    def __enter__(self) -> Self:
        self._must_be_asked()
        self.engine.answering = True
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        self.engine.answering = False
        try:
            if error is not None:
                return self._rolled_back(error)
            if not self.given:
                raise SessionStateError(
                    "no response was handed in; call answer(response) inside "
                    "`with session.answer() as answer:`."
                )
            return False
        finally:
            self.engine.release()

    def _rolled_back(self, error: BaseException) -> bool:
        overflow = None if self.given or self.engine.core.observe else overflow_of(error)
        if overflow is None:
            return False
        self.engine.overflowed(overflow)
        return True

    def _must_be_asked(self) -> None:
        self.engine.must_be_settled()
        if not self.engine.asked:
            raise SessionStateError(
                "there is no request to answer; call session.request() first, and stop where it "
                "gives None."
            )
