"""When the context tools are offered: each round, after the pressure pass.

Tools cost tokens in every request, so they come late: when the context is fairly full, when the turn has
gone on for long, or when the user asks. Once offered they stay for the rest of the turn. A turn is here
what `redraft` calls an exchange: from the user's words to the final answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from redraft.dialects.fenced_calls import call_fence
from redraft.settings import Settings
from redraft.tools.described import signature

__all__ = ["Offer", "Offering", "asks_for_tools", "fenced_note", "offer", "reminder_line"]

_TOOL = r"(?<![\w.-])(?:context_(?:status|pin|unpin|drop|note)|read_overflow)(?![\w-])"
_WHOSE = r"(?:your|the|some|my|our|this|up)"
_ENGLISH = (
    rf"\b(?:(?:free|clear|clean|tidy|trim|prune|shrink|compact|reduce)\s+(?:up\s+)?{_WHOSE}\s+"
    r"(?:\w+\s+)?|(?:free|clear|clean|tidy)\s+up\s+)context\b"
    r"(?!\s+(?:manager|menu|processor|switch|variable|object|class|free))",
    r"\bcontext\s+windows?\b",
    r"\bcontext\s+(?:usage|budget|is\s+(?:almost\s+|nearly\s+)?full)\b",
    r"\bhow\s+full\s+is\s+(?:your|the)\s+context\b",
)
_SPANISH = (
    r"\b(?:libera|liberar|liberes|libere|limpia|limpiar|limpie|vac[ií]a|vaciar|reduce|reducir|compacta|"
    r"compactar)\s+(?:el|tu|su|un\s+poco\s+de|algo\s+de|espacio\s+(?:en|de)(?:l|\s+el|\s+tu))\s*"
    r"(?:\s?el\s+|\s?tu\s+|\s?su\s+)?contexto\b",
    r"\b(?:libera|liberar|limpia|limpiar|compacta|compactar)\s+contexto\b",
    r"\bventanas?\s+de\s+contexto\b",
    r"\bcu[aá]nto\s+contexto\s+(?:te\s+)?(?:queda|usas|llevas|has\s+usado)\b",
)
_ASKS = re.compile("|".join((_TOOL, *_ENGLISH, *_SPANISH)), re.IGNORECASE)


def asks_for_tools(text: str) -> bool:
    """Whether a user's message asks for the context tools, in English or Spanish: it names one of
    them, wants the context freed, or speaks of the context window."""
    return _ASKS.search(text) is not None


@dataclass(frozen=True, slots=True)
class Offer:
    """What was offered so far.

    Attributes:
        made: whether the tools are offered.
        reminded: whether the model was reminded of them in this turn.
    """

    made: bool = False
    reminded: bool = False

    def next_turn(self, *, keep: bool = False) -> Offer:
        """The state at the start of the next turn.

        Args:
            keep: whether an offer holds for the rest of the session, as it must where a change of the
                tools voids a cache or bound reasoning.
        """
        return Offer(made=self.made and keep)


@dataclass(frozen=True, slots=True)
class Offering:
    """What to do in this round.

    Attributes:
        offer: the new state.
        begins: whether the tools are offered from this round on: schemas on native routes, the
            one-time note on fenced ones.
        reminds: whether the model is reminded now.
    """

    offer: Offer
    begins: bool = False
    reminds: bool = False


def offer(
    state: Offer,
    *,
    used: int,
    window: int,
    round_number: int,
    said: Iterable[str] = (),
    soft_ceiling: int,
    settings: Settings,
    reached: int = 0,
) -> Offering:
    """Whether the tools are offered in this round.

    Args:
        state: what was offered so far.
        used: the context's tokens, after the pressure pass.
        window: tokens of the route's window.
        round_number: the round's number in this turn, from 1.
        said: what the user said in this turn.
        soft_ceiling: tokens from which the pressure pass acts.
        settings: when to offer.
        reached: the context's tokens before the pressure pass, where that acted: the ceiling was
            reached, though there is room again.
    """
    if not settings.agent_context_tools_enabled:
        return Offering(replace(state, made=False))
    most = max(used, reached)
    due = (
        most >= settings.agent_context_tools_offer_pct * window
        or 0 < settings.agent_context_tools_offer_round <= round_number
        or any(map(asks_for_tools, said))
    )
    made = state.made or due
    reminds = made and not state.reminded and most >= soft_ceiling
    return Offering(Offer(made, state.reminded or reminds), made and not state.made, reminds)


def reminder_line(used: int, window: int) -> str:
    """The one line that reminds a model of the tools, at the soft ceiling, once a turn.

    Args:
        used: the context's tokens, as shown.
        window: tokens that it may hold.
    """
    return (
        f"Your context is {used * 100 // max(window, 1)} % full: context_status shows what is large, "
        "context_drop and context_note make room, context_pin keeps what you need."
    )


def fenced_note(tools: Iterable[Mapping[str, Any]]) -> str:
    """The one-time note that offers tools on a fenced route, whose system prompt was written before.

    Args:
        tools: the tools, in the form of Chat Completions.
    """
    lines = [
        "From now on you can manage your own context with these tools. Call one in a fence of its own:",
        call_fence("context_status", '{"top": 8}'),
    ]
    lines += [f"- {signature(tool)}: {tool['function']['description']}" for tool in tools]
    lines.append(
        "Handles are r<round>.<i> for one result and r<round> for all results of a round; `handles` is "
        'a list of them, such as ["r3.1", "r4"].'
    )
    return "\n".join(lines)
