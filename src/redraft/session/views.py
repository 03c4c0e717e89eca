"""For frameworks that own the loop: their whole history in, what to send out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from redraft.budget import Phase
from redraft.context import digest, void
from redraft.dialects import Content, Native
from redraft.errors import SessionStateError
from redraft.events import StartedOver
from redraft.session.beginning import Beginning
from redraft.session.edits import plan_tokens
from redraft.session.engine import Engine
from redraft.session.framing import alike, must_follow, taken_apart, turns_of
from redraft.session.history import ClientHistory, Known
from redraft.session.past import Past
from redraft.session.window import Look
from redraft.store import Seen

__all__ = ["Views"]

REWRITTEN = "the history was rewritten after the file was shown"


class Views:
    """Takes in a client's history and gives out the live context.

    Args:
        engine: the session's moving parts.
        beginning: makes a context from messages.
        messages: what the client has sent already.
        past: what the record says of an earlier process, if there was one.

    Attributes:
        blank: whether the client has not sent anything yet.
    """

    def __init__(
        self,
        engine: Engine,
        beginning: Beginning,
        messages: Sequence[object],
        past: Past | None = None,
    ) -> None:
        self._engine = engine
        self._beginning = beginning
        known = past.seen if past else ()
        self._history = ClientHistory(
            self._shown, messages, [Known(bytes.fromhex(exact), shown) for exact, shown in known]
        )
        self._recorded = len(known)
        self.blank = not (engine.core.live.turns if past else messages)
        if past is not None and self._recorded:
            self._history.gave(engine.wire.sent)
        self._receipts: set[str] = set()
        self._joined = False

    def view(self, messages: Sequence[object], prompt_tokens: int) -> list[Native]:
        """See `Session.view`."""
        dialect = self._beginning.dialect
        self._engine.must_be_settled()
        request = self._request(turns_of(dialect, messages), prompt_tokens, control=False)
        sent: list[Native] = request[dialect.turns_field]
        return sent

    def view_body(self, body: Mapping[str, Any], prompt_tokens: int) -> dict[str, Any]:
        """See `Session.view_body`."""
        engine, dialect = self._engine, self._beginning.dialect
        engine.must_be_settled()
        messages, fields, place = taken_apart(dialect, body)
        given: Mapping[str, Any] = fields
        for toolset in engine.toolsets:
            given = toolset.among(given)
        live, beginning = engine.core.live, self._beginning.sending(given, place)
        if not self.blank:
            must_follow(dialect, live.frame.fields, body)
            frame = beginning.frame(live)
            if frame is None:
                self._history.forget()
            elif not alike(frame, live.frame):
                engine.core.reframe(frame)
        self._beginning = beginning
        return self._request(messages, prompt_tokens, control=True)

    def _request(
        self, messages: Sequence[object], prompt_tokens: int, *, control: bool
    ) -> dict[str, Any]:
        engine = self._engine
        if not messages:
            raise SessionStateError("there is nothing to ask yet; give the client's messages.")
        self._take(messages, prompt_tokens)
        if not control:
            self._close_the_round()
        request = engine.request(control=control, headers=False)
        if request is None:
            raise SessionStateError(
                f"the run has stopped: {engine.controller.why}. Append the user's next words, raise the "
                "budget, or start a new session."
            )
        self._history.gave(request[self._beginning.dialect.turns_field])
        return request

    def _take(self, messages: Sequence[object], prompt_tokens: int) -> None:
        """Take in what is new. A message counts as known once it has joined the context: where that
        could not be recorded, it is new again the next time."""
        history = self._history
        known, recorded = history.known, self._recorded
        new = history.new(messages)
        self._joined = False
        try:
            if new is None:
                self._recorded = 0
            self._note()
            if new is None:
                self._rebase(messages)
            elif new:
                self._take_in(self._beginning.contents(new), prompt_tokens)
        except BaseException:
            if not self._joined:
                history.known, self._recorded = known, recorded
            raise

    def _note(self) -> None:
        """Record what of the client's history is new, so that another process knows it."""
        known = self._history.known
        if len(known) != self._recorded:
            start = min(self._recorded, len(known))
            marks = tuple((mark.exact.hex(), mark.shown) for mark in known[start:])
            self._engine.core.journal.record(Seen(start, marks))
            self._recorded = len(known)

    def append(self, messages: Sequence[object]) -> None:
        """See `Session.append`."""
        if self.blank and messages:
            self._engine.core.restart(self._beginning.live(messages))
            self._engine.done = self.blank = False
        else:
            self._engine.append(self._beginning.contents(messages))

    def receipt(self, text: str) -> str:
        """Remember a receipt that goes to the model as a tool result of the client's."""
        self._receipts.add(text)
        return text

    def _shown(self, message: object) -> str:
        """What a reader sees of one message of the client's."""
        return "".join(digest(content) for content in self._beginning.contents([message]))

    def _rebase(self, messages: Sequence[object]) -> None:
        engine = self._engine
        core = engine.core
        first = 1 if self.blank else core.live.next_number
        live = self._beginning.live(messages, first=first, open_end=True)
        engine.edits.discard(REWRITTEN)
        core.restart(live)
        self._joined = True
        if not self.blank:
            core.tell(StartedOver(core.round, len(live.turns), core.used))
        self.blank = False
        engine.controller.resume()

    def _take_in(self, contents: Sequence[Content], prompt_tokens: int) -> None:
        """Append what a client's own round brought: the reply, its results, the user's next words."""
        engine = self._engine
        core, edits = engine.core, engine.edits
        engine.answered(prompt_tokens)
        core.begin_round()
        plan, named = self._plan(contents)
        judged = edits.by_file(Look(named=named, plan_tokens=plan))
        own = [
            at
            for at, content in enumerate(contents)
            if content.role == "tool" and content.text in self._receipts
        ]
        engine.stand_in(contents)
        engine.append_dressed(contents, own, plan=0 if judged is None else plan)
        self._joined = True
        core.end_round()
        self._receipts.clear()
        self._mind_the_phase(contents)

    def _close_the_round(self) -> None:
        """Where the client asks while calls have no result, and the server may not be asked to drop void
        reasoning: let the round end here, so that such reasoning can be taken out of it."""
        core, live = self._engine.core, self._engine.core.live
        if live.open_at < len(live.turns) and not core.observe and void(live.outgoing):
            core.stand_in(self._engine.wire.stood_in(live.outgoing))

    def _plan(self, contents: Sequence[Content]) -> tuple[int, bool]:
        """What an edit by these turns cost, as rationale and command, and whether a call named the
        file."""
        names_file, meter = self._engine.edits.names_file, self._engine.core.live.meter
        heads = [content for content in contents if content.calls]
        named = [
            (head, places)
            for head in heads
            if (places := [call.index for call in head.calls if names_file(call)])
        ]
        aimed = named or [(head, []) for head in heads]
        return sum(plan_tokens(meter, head, places) for head, places in aimed), bool(named)

    def _mind_the_phase(self, contents: Sequence[Content]) -> None:
        controller = self._engine.controller
        replies = [content for content in contents if content.role == "assistant"]
        if replies and controller.phase is Phase.FINAL:
            controller.answered(calls=bool(replies[-1].calls))
        if any(content.role == "user" for content in contents):
            controller.resume()
