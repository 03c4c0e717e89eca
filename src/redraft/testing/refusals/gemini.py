"""What `generateContent` refuses, in its own words.

Written from the API's error messages as people report them and its guides on function calling and
thought signatures, and not from `redraft.dialects.rules`: a second opinion.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from redraft.testing.refusals.base import Body, Complaint, broken_text

__all__ = ["complaints", "field", "parts_of", "unsigned"]

Part = Mapping[str, Any]


def complaints(body: Body) -> Iterator[Complaint]:
    """All that the API would complain of, the first first."""
    if broken_text(body):
        yield Complaint("Invalid JSON payload received. Invalid UTF-8 in string.")
    contents = body.get("contents")
    contents = [contents] if isinstance(contents, Mapping) else contents
    if not isinstance(contents, list) or not contents:
        yield Complaint("* GenerateContentRequest.contents: contents is not specified")
        return
    for at, content in enumerate(contents):
        yield from _content(at, content)
    yield from _order(contents)
    yield from _pairs(contents)


def field(part: Part, name: str) -> Any:
    """A field under either of its spellings: `functionCall` or `function_call`."""
    snake = "".join(f"_{char.lower()}" if char.isupper() else char for char in name)
    return part.get(name, part.get(snake))


def parts_of(content: Any) -> Sequence[Part]:
    """The parts of a content."""
    parts = content.get("parts") if isinstance(content, Mapping) else None
    return [part for part in parts or () if isinstance(part, Mapping)]


def _role(content: Mapping[str, Any]) -> str:
    role = str(content.get("role") or "user")
    return "user" if role == "function" else role


def _content(at: int, content: Any) -> Iterator[Complaint]:
    if not isinstance(content, Mapping) or _role(content) not in ("user", "model"):
        yield Complaint("Please use a valid role: user, model.")
        return
    if not parts_of(content):
        yield Complaint(
            f"* GenerateContentRequest.contents[{at}].parts: contents.parts must not be empty."
        )
    for place, part in enumerate(parts_of(content)):
        where = f"* GenerateContentRequest.contents[{at}].parts[{place}]"
        data = set(part) - {"thought", "thoughtSignature", "thought_signature"}
        signed = field(part, "thoughtSignature")
        if not data or (part.get("text") == "" and not signed and len(data) == 1):
            yield Complaint(
                f"{where}.data: required oneof field 'data' must have one initialized field"
            )
        call = field(part, "functionCall")
        if call is not None and not isinstance(call.get("args", {}), Mapping):
            yield Complaint(
                f"Invalid value at {where}.function_call.args: Starting an object on a scalar"
            )
        result = field(part, "functionResponse")
        if result is not None and not isinstance(result.get("response"), Mapping):
            yield Complaint(f"{where}.function_response.response: must be a struct")


def _calls(content: Any) -> list[Part]:
    return [part for part in parts_of(content) if field(part, "functionCall") is not None]


def _results(content: Any) -> list[Part]:
    return [part for part in parts_of(content) if field(part, "functionResponse") is not None]


def _order(contents: Sequence[Any]) -> Iterator[Complaint]:
    if _role(contents[0]) != "user":
        yield Complaint("Please ensure that multiturn requests begin with a user turn.")
    for at, content in enumerate(contents):
        if _calls(content) and _role(content) != "model":
            yield Complaint(
                "Please ensure that function calls stand in contents of the role model."
            )
        if _calls(content) and (at == 0 or _role(contents[at - 1]) != "user"):
            yield Complaint(
                "Please ensure that function call turn comes immediately after a user turn or after a "
                "function response turn."
            )


def _pairs(contents: Sequence[Any]) -> Iterator[Complaint]:
    """The results of a turn's calls stand in the content right behind it, as many as there are calls,
    and before any words."""
    for at, content in enumerate(contents):
        calls = _calls(contents[at - 1]) if at else []
        results = _results(content)
        if results and not calls:
            yield Complaint(
                "Please ensure that function response turn comes immediately after a function call "
                "turn."
            )
        elif len(results) != len(calls) or _names(calls) != _names(results):
            yield Complaint(_UNEQUAL)
        kinds = [field(part, "functionResponse") is not None for part in parts_of(content)]
        if kinds != sorted(kinds, reverse=True):
            yield Complaint("Please ensure that function responses stand before any other part.")
    if _calls(contents[-1]):
        yield Complaint(_UNEQUAL)


_UNEQUAL = (
    "Please ensure that the number of function response parts is equal to the number of function call "
    "parts of the function call turn."
)


def _names(parts: Sequence[Part]) -> Counter[tuple[str, str]]:
    """What calls and results are paired by: the name, and the id where there is one."""
    found = [field(part, "functionCall") or field(part, "functionResponse") for part in parts]
    return Counter((str(one.get("name")), str(one.get("id") or "")) for one in found)


def unsigned(body: Body) -> Iterator[Complaint]:
    """What the models from Gemini 3 on add: in the current turn, which begins behind the user's last
    words, the first call of each step must carry its signature."""
    contents = body["contents"]
    current = 0
    for at, content in enumerate(contents):
        if _role(content) == "user" and not _results(content):
            current = at + 1
    for at, content in enumerate(contents[current:], current):
        calls = _calls(content)
        if calls and not field(calls[0], "thoughtSignature"):
            name = field(calls[0], "functionCall").get("name")
            yield Complaint(
                "Function call is missing a thought_signature in functionCall parts. This is required "
                "for tools to work correctly, and missing thought_signature may lead to degraded model "
                f"performance. Additional data, function call `default_api:{name}`, position {at + 1}."
            )
