"""`offload-and-retrieve` in a session: the model stores facts in a memory and fetches them again. Nothing
leaves the context by it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from redraft import prompts
from redraft.budget import cap_output
from redraft.dialects import Native
from redraft.errors import MemoryFormatError, MemoryMissingError
from redraft.events import ContextOp, NeedUnmet
from redraft.policies import OffloadAndRetrieve
from redraft.prompts.actions import fetched, item_left_out, nothing_fetched, stored
from redraft.prompts.tags import defuse, one_line, opening
from redraft.session.controller import Controller
from redraft.session.core import Core
from redraft.session.joining import Joining
from redraft.session.keeping import session_name
from redraft.session.rounds import ToolCall
from redraft.session.toolsets import Said
from redraft.store import EditSpan
from redraft.store.memory_base import Draft, ItemQuery, Memory, MemoryItem
from redraft.tools import FetchIntent, Outline, StoreIntent, action_of

__all__ = ["MemoryTools", "session_name"]

_LEAST = 100
"""Raw tokens below which an item is not begun: it is named in its place."""

_WORDS = 300


class MemoryTools:
    """Answers `memory_store` and `memory_fetch`.

    Args:
        core: the session's state.
        controller: the budget.
        memory: where facts are kept.
        offer: what is offered.
        tools: the tools, as Chat Completions write them.
        tag: the session's tag.
    """

    names = frozenset({"memory_store", "memory_fetch"})

    def __init__(
        self,
        core: Core,
        controller: Controller,
        memory: Memory,
        offer: OffloadAndRetrieve,
        tools: Sequence[Native],
        *,
        tag: str,
    ) -> None:
        self._core = core
        self._joining = Joining(core, controller, tools)
        self._memory = memory
        self._offer = offer
        self._tag = tag
        self._session = session_name(core.journal, tag)

    def aims(self, call: ToolCall) -> bool:
        """See `Toolset.aims`. Nothing in the context changes."""
        del call
        return False

    def before(self) -> None:
        """See `Toolset.before`. The tools are in the request from the beginning, unless the session began
        under another policy."""
        self._joining.done()

    def among(self, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        """See `Toolset.among`."""
        return self._joining.among(fields)

    def answer(self, call: ToolCall, *, plan: int = 0, spans: Sequence[EditSpan] = ()) -> Said:
        """See `Toolset.answer`."""
        del plan, spans
        intent = action_of(call.name, call.arguments)
        match intent:
            case StoreIntent():
                return self._store(intent)
            case FetchIntent():
                return self._fetch(intent)
            case _:
                op = call.name.removeprefix("memory_")
                text = intent.text if isinstance(intent, Outline) else ""
                return self._refused(op, text)

    def _store(self, intent: StoreIntent) -> Said:
        live = self._core.live
        newest = live.turns[min(live.open_at, len(live.turns) - 1)].number if live.turns else None
        draft = Draft(
            intent.text, intent.task_type, intent.tags, session=self._session, turn=newest
        )
        try:
            added = self._memory.add(draft)
        except MemoryFormatError as error:
            return self._refused("store", f"memory_store: nothing was kept: {error}")
        except Exception as error:  # anybody's store
            return self._lost("store", error)
        if added.id is None:
            return self._refused("store", f"memory_store: nothing was kept: {added.reason}")
        self._tell("store", ok=True, handles=(str(added.id),))
        return Said(self._words(stored(added.id, merged=added.outcome == "merged")))

    def _fetch(self, intent: FetchIntent) -> Said:
        try:
            if intent.id:
                items = [self._memory.item(intent.id)]
            else:
                hits = self._memory.search(ItemQuery(intent.query, limit=intent.limit))
                items = [hit.item for hit in hits]
        except (MemoryMissingError, MemoryFormatError) as error:
            return self._refused("fetch", f"memory_fetch: {error}")
        except Exception as error:  # anybody's store
            return self._lost("fetch", error)
        if not items:
            return self._refused("fetch", nothing_fetched(intent.query))
        text, shown = self._shown(items)
        self._tell("fetch", ok=True, handles=tuple(str(item.id) for item in shown))
        return Said(text, own=False)

    def _shown(self, items: Sequence[MemoryItem]) -> tuple[str, list[MemoryItem]]:
        """Items in their order, as far as there is room; of the first at least head and tail."""
        count, room = self._core.live.meter.text, self._offer.tokens
        parts: list[str] = []
        shown: list[MemoryItem] = []
        for item in items:
            text = fetched(item.id, _about(item), item.text)
            size = count(text)
            if size > room and (shown or room < _LEAST):
                continue
            if size > room:
                text = cap_output(text, room, count, self._marker)[0]
            parts.append(text)
            shown.append(item)
            room -= size
        left = [item.id for item in items if item not in shown]
        return "\n\n".join([*parts, item_left_out(left)] if left else parts), shown

    def _marker(self, left_out: int) -> str:
        return prompts.cut_marker(left_out, self._tag)

    # -- what is said ----------------------------------------------------------------------------

    def _refused(self, op: str, text: str) -> Said:
        self._tell(op, ok=False)
        return Said(self._words(text))

    def _lost(self, op: str, error: Exception) -> Said:
        """The memory failed: an answer and an event, never an error in somebody's loop."""
        why = one_line(f"{type(error).__name__}: {error}", _WORDS)
        need = "retrieve" if op == "fetch" else "store"
        self._core.tell(NeedUnmet(self._core.round, f"memory_{op}", need, why))
        return self._refused(
            op,
            f"memory_{op}: the memory cannot be used now. Go on without it; try once more later.",
        )

    def _tell(self, op: str, *, ok: bool, handles: tuple[str, ...] = ()) -> None:
        self._core.tell(ContextOp(self._core.round, op, ok, handles))

    def _words(self, text: str) -> str:
        return f"{opening(self._tag)} {defuse(text, self._tag)}"


def _about(item: MemoryItem) -> str:
    """What a model is told of an item beside its text."""
    last = item.sources[-1] if item.sources else None
    turn = f"turn {last.turn}" if last is not None and last.turn is not None else ""
    session = f"session {last.session}" if last is not None and last.session else ""
    tags = f"tags {', '.join(item.tags)}" if item.tags else ""
    return "; ".join(filter(None, (item.task_type, tags, session, turn)))
