"""The parts of Google's contents: what each one is, and how one is written anew."""

from __future__ import annotations

import base64
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from redraft.dialects.arguments import parse_object
from redraft.dialects.base import Call, Native, Part
from redraft.dialects.block_format import BlockFormat, Kind, word
from redraft.dialects.chat_natives import dump
from redraft.dialects.media import describe_part

__all__ = ["GeminiParts", "field_of", "key_of", "real_id", "shown_id", "snake"]

_SERVER_CALLS = {"executableCode": "codeExecutionResult", "toolCall": "toolResponse"}
"""What the server runs itself, and what it answers; the answer stands in the same turn."""

_BESIDE = frozenset({"thought", "thoughtSignature", "partMetadata", "mediaResolution"})
"""What may stand beside the data of a part."""

_IMAGE_CHARS = 262_144
"""What is looked at of an image: its size stands near its start."""

_LABEL = re.compile(r".*#\d+", re.DOTALL)
_LOOKALIKE = re.compile(r".*#\d+#+", re.DOTALL)
_HUMP = re.compile("(?<=[a-z])[A-Z]")


def snake(name: str) -> str:
    """A name in the spelling of Google's Python SDK."""
    return _HUMP.sub(lambda hump: f"_{hump.group().lower()}", name)


def key_of(native: Mapping[str, Any], name: str) -> str:
    """The key under which a field stands, in whichever spelling; `name` where it stands nowhere."""
    other = snake(name)
    return other if other in native and name not in native else name


def field_of(native: Mapping[str, Any], name: str) -> Any:
    """A field by its name in camel case, in whichever spelling it stands there."""
    return native.get(key_of(native, name))


def shown_id(own: str, name: str, number: int) -> str:
    """The id that a call is shown under: its own, or its place among the calls of that name.

    Args:
        own: the provider's id; "" where it gave none. One that looks like a label gains a `#`.
        name: the function's name.
        number: 1 for the first call of that name in the turn.
    """
    if not own:
        return f"{name}#{number}"
    return f"{own}#" if _LABEL.fullmatch(own) or _LOOKALIKE.fullmatch(own) else own


def real_id(shown: str) -> str | None:
    """The provider's id behind a shown one; None where that is a label."""
    if not shown or _LABEL.fullmatch(shown):
        return None
    return shown[:-1] if _LOOKALIKE.fullmatch(shown) else shown


class GeminiParts(BlockFormat):
    """How generateContent spells parts."""

    blocks_field = "parts"
    # A streamed turn is kept as several contents, cut wherever the stream was.
    glue = ""

    def _blocks(self, native: Native) -> Sequence[Native]:
        """The API reads one part as a list of one."""
        parts = native.get("parts")
        return (parts,) if isinstance(parts, Mapping) else parts or ()

    def _body(self, _: Native, blocks: list[Native]) -> object:
        return blocks

    def _sort(self, block: Native) -> Kind:
        if isinstance(field_of(block, "functionCall"), Mapping):
            return Kind.CALL
        if isinstance(field_of(block, "functionResponse"), Mapping):
            return Kind.RESULT
        text = block.get("text")
        bare = not text and set(block) <= {"text", key_of(block, "thoughtSignature")}
        if block.get("thought") is True or (bare and field_of(block, "thoughtSignature")):
            return Kind.THOUGHT
        return Kind.TEXT if isinstance(text, str) else Kind.PART

    def _text_block(self, text: str, olds: Sequence[Native]) -> Native:
        """The first old part with new words, less a signature: it was made for the old ones."""
        old = olds[0] if olds else {"text": ""}
        signature = key_of(old, "thoughtSignature")
        return {**{key: value for key, value in old.items() if key != signature}, "text": text}

    def _hidden(self, block: Native) -> str:
        text = block.get("text")
        return text if isinstance(text, str) else ""

    def _pair(self, block: Native) -> tuple[str | None, str | None]:
        for call, answer in _SERVER_CALLS.items():
            for name in (call, answer):
                data = field_of(block, name)
                if isinstance(data, Mapping):
                    key = f"{call} {data.get('id') or ''}"
                    return (key, None) if name == call else (None, key)
        return None, None

    def _part(self, block: Native, index: int) -> Part:
        for name in ("inlineData", "fileData"):
            data = field_of(block, name)
            if isinstance(data, Mapping):
                return _media(data, index)
        kind = next((name for name in _data_names(block)), "part")
        return describe_part({"type": kind}, index)

    def _calls(self, blocks: Sequence[Native]) -> tuple[Call, ...]:
        numbers: Counter[str] = Counter()
        calls: list[Call] = []
        for index, block in enumerate(blocks):
            call = field_of(block, "functionCall")
            name, own = str(call.get("name") or ""), str(call.get("id") or "")
            numbers[name] += 1
            arguments = dump(call["args"]) if call.get("args") is not None else "{}"
            calls.append(Call(shown_id(own, name, numbers[name]), name, arguments, index))
        return tuple(calls)

    def _with_arguments(self, block: Native, arguments: Mapping[str, Any]) -> Native:
        key = key_of(block, "functionCall")
        return {**block, key: {**block[key], "args": arguments}}

    def _inner(self, result: Native) -> Sequence[Native]:
        data = field_of(result, "functionResponse")
        text = _shown(data.get("response"))
        parts = data.get("parts")
        others = [p for p in parts if isinstance(p, Mapping)] if isinstance(parts, list) else []
        return [*([{"text": text}] if text else []), *others]

    def _with_inner(self, result: Native, inner: list[Native]) -> Native:
        key = key_of(result, "functionResponse")
        old = result[key]
        texts = [block["text"] for block in inner if block.keys() == {"text"}]
        new = {**old, "response": _response(old.get("response"), "".join(texts))}
        others = [block for block in inner if block.keys() != {"text"}]
        if others or "parts" in old:
            new["parts"] = others
        if not others:
            new.pop("parts", None)
        return {**result, key: new}


def _data_names(block: Native) -> list[str]:
    """The names of a part's data, those that are known first and in the reference's spelling."""
    known = [name for pair in _SERVER_CALLS.items() for name in pair if field_of(block, name)]
    return known + [key for key in block if key not in {key_of(block, name) for name in _BESIDE}]


def _shown(response: object) -> str:
    """A result as a reader sees it: the text itself where it is all there is, else JSON."""
    if isinstance(response, Mapping):
        only = next(iter(response.values())) if len(response) == 1 else None
        return only if isinstance(only, str) else dump(response) if response else ""
    return response if isinstance(response, str) else "" if response is None else dump(response)


def _response(old: object, text: str) -> Mapping[str, Any]:
    """A response that shows `text`: under the key that held the old text, as the object that it is, or
    under `output`, the API's word for what a function gave."""
    if isinstance(old, Mapping) and len(old) == 1 and isinstance(next(iter(old.values())), str):
        return dict.fromkeys(old, text)
    data = parse_object(text)
    return data if data is not None and _shown(data) == text else {"output": text}


def _media(data: Mapping[str, Any], index: int) -> Part:
    """Inline data or a file's address."""
    mime = str(field_of(data, "mimeType") or "")
    family, _, form = mime.partition("/")
    payload = data.get("data")
    link = "" if payload is not None else "by link"
    if family == "image":
        url = f"data:{mime};base64,{_base64(payload)}" if payload is not None else ""
        return describe_part({"type": "image_url", "image_url": url}, index)
    kind = family if family in ("audio", "video") else "file"
    return Part(kind, " ".join(filter(None, (kind, word(form), link))), index=index)


def _base64(payload: object) -> str:
    """The start of a payload in plain base64. The API takes the alphabet for addresses as well."""
    if isinstance(payload, (bytes, bytearray)):
        return base64.b64encode(bytes(payload[: _IMAGE_CHARS // 4 * 3])).decode("ascii")
    text = payload[:_IMAGE_CHARS] if isinstance(payload, str) else ""
    return text.replace("-", "+").replace("_", "/")
