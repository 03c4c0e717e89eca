"""The segments and breakpoints of a request as it was sent, in the order in which servers read it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from redraft.cost import HOUR, MINUTES, Mark, Segment, name_of
from redraft.cost.openai_cache import OPENAI_BREAKPOINT_LIFETIME
from redraft.cost.requests import Kind
from redraft.replay.convert import text_of
from redraft.tokens import TURN_TOKENS, Meter

__all__ = ["Prompt", "prompt_of"]

_MARKS = ("cache_control", "prompt_cache_breakpoint")
_LIFETIMES = {"5m": MINUTES, "1h": HOUR, "30m": OPENAI_BREAKPOINT_LIFETIME}


@dataclass(slots=True)
class Prompt:
    """A request, cut into content blocks.

    Attributes:
        segments: tools, system prompt, then the messages' blocks.
        marks: the breakpoints that it sets.
    """

    segments: list[Segment] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)

    def add(self, block: Any, meter: Meter, kind: Kind, role: str) -> None:
        """A block, and the breakpoint behind it if it sets one."""
        bare = block
        if isinstance(block, Mapping):
            bare = {key: value for key, value in block.items() if key not in _MARKS}
        shown = text_of(bare) if kind == "turn" else _dump(bare)
        name = name_of(role, _dump(bare))
        self.segments.append(Segment(name, TURN_TOKENS + meter.text(shown), kind))
        if isinstance(block, Mapping):
            for key in _MARKS:
                self.mark(block.get(key))

    def mark(self, control: object) -> None:
        """A breakpoint behind all segments so far; nothing where `control` is none."""
        if not isinstance(control, Mapping):
            return
        default = MINUTES if control.get("type") == "ephemeral" else OPENAI_BREAKPOINT_LIFETIME
        lifetime = _LIFETIMES.get(str(control.get("ttl")), default)
        if self.segments and (not self.marks or self.marks[-1].after < len(self.segments)):
            self.marks.append(Mark(len(self.segments), lifetime))


def prompt_of(body: Mapping[str, Any], api: str, meter: Meter) -> Prompt:
    """Cut a request.

    Args:
        body: the request.
        api: `anthropic`, `chat`, `responses`, `gemini` or `converse`.
        meter: counts; sizes are rough and meant to be fitted to what the server reported.
    """
    if api in _OTHERS:
        body, api = _OTHERS[api](body), "anthropic"
    prompt = Prompt()
    for tool in body.get("tools") or ():
        prompt.add(tool, meter, "frame", "tool")
    for block in _listed(body.get("system", body.get("instructions"))):
        prompt.add(block, meter, "frame", "system")
    rest = list(_messages(body, api))
    lead = 0
    while lead < len(rest) and rest[lead][0] in ("system", "developer"):
        prompt.add(rest[lead][1], meter, "frame", "system")
        lead += 1
    settings = {key: body[key] for key in ("thinking", "tool_choice") if body.get(key)}
    if settings and api == "anthropic":
        prompt.segments.append(
            Segment(name_of("settings", _dump(settings)), 0, "frame", ends=False)
        )
    for role, block in rest[lead:]:
        prompt.add(block, meter, "turn", role)
    prompt.mark(body.get("cache_control"))
    options = body.get("prompt_cache_options")
    explicit = isinstance(options, Mapping) and options.get("mode") == "explicit"
    if api != "anthropic" and prompt.marks and not explicit:
        prompt.mark({})  # OpenAI's own, beside those that the client set
    return prompt


def _of_gemini(body: Mapping[str, Any]) -> dict[str, Any]:
    """A `generateContent` request in the places of Anthropic's; its parts stay as they are."""
    system = body.get("systemInstruction", body.get("system_instruction"))
    return {
        "tools": body.get("tools"),
        "system": _parts(system),
        "messages": [
            {"role": content.get("role"), "content": _parts(content)}
            for content in _listed(body.get("contents"))
            if isinstance(content, Mapping)
        ],
        "tool_choice": body.get("toolConfig"),
    }


def _parts(content: object) -> object:
    return content.get("parts") if isinstance(content, Mapping) else content


def _of_converse(body: Mapping[str, Any]) -> dict[str, Any]:
    """A Converse request in the places of Anthropic's, its cache points as marks."""
    config = body.get("toolConfig")
    config = config if isinstance(config, Mapping) else {}
    return {
        "tools": _pointed(config.get("tools")),
        "system": _pointed(body.get("system")),
        "messages": [
            {**message, "content": _pointed(message.get("content"))}
            for message in _listed(body.get("messages"))
            if isinstance(message, Mapping)
        ],
        "tool_choice": config.get("toolChoice"),
    }


def _pointed(blocks: object) -> list[Any]:
    """Blocks, each cache point as a mark of the block in front of it."""
    found: list[Any] = []
    for block in _listed(blocks):
        point = block.get("cachePoint") if isinstance(block, Mapping) else None
        if not isinstance(point, Mapping):
            found.append(block)
        elif found and isinstance(found[-1], Mapping):
            control = {"type": "ephemeral", "ttl": point.get("ttl")}
            found[-1] = {**found[-1], "cache_control": control}
    return found


_OTHERS: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "gemini": _of_gemini,
    "converse": _of_converse,
}


def _messages(body: Mapping[str, Any], api: str) -> Iterator[tuple[str, Any]]:
    """The messages' blocks, each with its role."""
    messages = list(_listed(body.get("input" if api == "responses" else "messages")))
    for message in messages[_compacted(messages) :]:
        if not isinstance(message, Mapping):
            continue
        role = str(message.get("role") or message.get("type") or "")
        if message.get("content") is None and "role" not in message:
            yield role, message  # an item of Responses
            continue
        yield from ((role, block) for block in _listed(message.get("content")))
        yield from ((role, call) for call in message.get("tool_calls") or ())


def _compacted(items: Sequence[Any]) -> int:
    """Where the last compaction stands: the server reads nothing in front of it."""
    kinds = [item.get("type") if isinstance(item, Mapping) else None for item in items]
    return max((at for at, kind in enumerate(kinds) if kind == "compaction"), default=0)


def _listed(value: Any) -> Iterable[Any]:
    if value is None:
        return ()
    if isinstance(value, str):
        return [{"type": "text", "text": value}] if value else ()
    return value if isinstance(value, list) else [value]


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
