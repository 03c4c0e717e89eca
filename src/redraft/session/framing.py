"""What of a request stands beside its turns: the client's fields, the tool, the section, and the order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from redraft import prompts
from redraft.dialects import Dialect, Frame, Native, OpenAIResponses
from redraft.errors import DialectError, SettingsError
from redraft.session.calling import must_name_no_tools, taken
from redraft.tools import EDIT_CONTEXT, in_words, offered, with_tools

__all__ = [
    "alike",
    "cleaned",
    "fields_cleaned",
    "fields_of",
    "fields_swapped",
    "frame_of",
    "must_follow",
    "put_together",
    "taken_apart",
    "turns_of",
]

_BEHIND = "previous_response_id"

_EXAMPLES = (
    *(f"{prompts.EXAMPLE}\n```", f"{prompts.TOOL_EXAMPLE}\n```"),
    prompts.FENCED_EXAMPLE,
    prompts.TOOLS_END,
    prompts.NO_TOOLS_END,
)
"""What the section ends with, but for a sentence of strategy."""

_HOMES = ("system", "instructions", "systemInstruction", "system_instruction", "config")
"""Fields that hold a system prompt, in any wire format."""


def fields_of(
    dialect: Dialect,
    tools: Sequence[object] | None,
    parameters: Mapping[str, Any] | None,
    *,
    own_tool: bool,
    own: Sequence[Native] = (),
    late: Sequence[Native] = (),
) -> dict[str, Any]:
    """The request's other fields. `edit_context` and `own` join the tools at the start and stay; `late` may
    join them later.

    Raises:
        SettingsError: `parameters` holds what has an argument of its own, or a tool has the name of one of
            ours.
    """
    fields, named = dict(parameters or {}), (dialect.turns_field, "tools")
    if any(name in fields for name in named):
        raise SettingsError(
            f"`parameters` may not hold `{named[0]}` or `tools`; pass them by name, as `messages` and "
            "`tools`."
        )
    must_name_no_tools(dialect, fields)
    fields = with_tools(fields, tools, dialect.name)
    fields = offered(fields, EDIT_CONTEXT, dialect.name) if own_tool else fields
    for tool in (*own, *(one for one in late if one not in own)):
        more = offered(fields, tool, dialect.name)
        if more == fields and not in_words(dialect.name):
            raise taken(tool)
        fields = more if tool in own else fields
    return fields


def turns_of(dialect: Dialect, given: Any) -> Sequence[object]:
    """The client's messages as a list: Responses and Gemini also take text, and Gemini one content."""
    if isinstance(given, str) and dialect.turns_field != "messages":
        return dialect.note("user", given).carriers
    if isinstance(given, Mapping) and dialect.turns_field == "contents":
        return [given]
    messages: Sequence[object] = given
    return messages


def taken_apart(
    dialect: Dialect, body: Mapping[str, Any]
) -> tuple[Sequence[object], dict[str, Any], int]:
    """A client's whole request: its messages, its other fields, and how many of them stand in front.

    Raises:
        DialectError: it holds no messages.
    """
    name = dialect.turns_field
    if not isinstance(body, Mapping) or body.get(name) is None:
        raise DialectError(
            f"this is no request with `{name}`; pass the whole request as a mapping, as it would be sent."
        )
    fields = {key: value for key, value in body.items() if key != name}
    return turns_of(dialect, body[name]), fields, list(body).index(name)


def put_together(
    dialect: Dialect, messages: Sequence[object], fields: Mapping[str, Any], place: int = 0
) -> dict[str, Any]:
    """A request of these messages and fields.

    Args:
        dialect: the wire format.
        messages: its turns.
        fields: its other fields, in their order.
        place: how many of them stand in front of the turns.
    """
    items = list(fields.items())
    items.insert(place, (dialect.turns_field, messages))
    return dict(items)


def frame_of(dialect: Dialect, fields: Mapping[str, Any], place: int = 0) -> Frame:
    """These fields as a frame."""
    return dialect.split(put_together(dialect, [], fields, place))[0]


def alike(one: Frame, other: Frame) -> bool:
    """Whether two frames make the same bytes around the turns."""
    same = one.place == other.place and list(one.fields) == list(other.fields)
    return same and one.fields == other.fields


def must_follow(dialect: Dialect, before: Mapping[str, Any], named: object) -> None:
    """Raise `DialectError` where a request, or the response to one, stands behind another response on
    the server than the session's own requests: the history would be there twice, and no edit reach it.

    Args:
        dialect: the wire format.
        before: the fields of the session's request.
        named: the request or response in question.
    """
    if dialect.name != OpenAIResponses.name:
        return
    known = named if isinstance(named, Mapping) else vars(named) if hasattr(named, "output") else {}
    behind = known.get(_BEHIND)
    if behind is not None and behind != before.get(_BEHIND):
        raise DialectError(
            f"`{_BEHIND}` is {behind!r}, and the session's request says {before.get(_BEHIND)!r}: the "
            "server would put a history in front of `input` that is in it already. Leave the field out; "
            "`input` is whole each time. (A session may begin behind one response, and then names that "
            "one in every request.)"
        )


# -- the section -------------------------------------------------------------------------------------


def cleaned(text: str, section: str) -> str:
    """A system prompt without the section of another session, whose file is gone: a person goes on from
    what a session sent.

    Args:
        text: the prompt.
        section: the section of this session, which stays.
    """
    if section in text:
        return text
    text = _without_calls(text)
    if not prompts.has_section(text):
        return text
    start = text.index(prompts.SECTION_MARK)
    ends = [
        text.index(example, start) + len(example)
        for example in _EXAMPLES
        if example in text[start:]
    ]
    if not ends:
        return text
    before, behind = text[:start].rstrip(), text[ends[0] :].strip()
    if section.endswith(behind):  # the same sentence of strategy comes again
        behind = ""
    return "\n\n".join(filter(None, (before, behind)))


def _without_calls(text: str) -> str:
    """A system prompt without the part on calls that are written as text."""
    start = text.find(f"{prompts.CALLS_MARK}\n\n")
    end = text.find(prompts.CALLS_END, start)
    if start < 0 or end < 0:
        return text
    rest = text[:start].rstrip(), text[end + len(prompts.CALLS_END) :].strip()
    return "\n\n".join(filter(None, rest))


def fields_cleaned(fields: Mapping[str, Any], section: str) -> dict[str, Any]:
    """Fields whose system prompt has no section of another session. What is left empty goes."""
    homes = {key: fields[key] for key in _HOMES if key in fields}
    new = {
        key: _each_text(value, lambda text: cleaned(text, section)) for key, value in homes.items()
    }
    return {key: new.get(key, value) for key, value in fields.items()}


def fields_swapped(fields: Mapping[str, Any], old: str, new: str) -> dict[str, Any]:
    """Fields that tell of the context in the words `new` where they did in the words `old`."""
    return {
        key: _each_text(value, lambda text: text.replace(old, new)) if key in _HOMES else value
        for key, value in fields.items()
    }


def _each_text(value: Any, change: Callable[[str], str]) -> Any:
    """JSON data with each text in it changed; the same object where nothing changes."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        new: Any = {key: _each_text(item, change) for key, item in value.items()}
        same = all(new[key] is item for key, item in value.items())
    elif isinstance(value, (list, tuple)):
        new = [_each_text(item, change) for item in value]
        same = all(one is other for one, other in zip(new, value, strict=True))
    else:
        return value
    return value if same else new
