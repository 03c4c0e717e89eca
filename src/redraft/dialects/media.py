"""What can be said about an image or a file from its first bytes: format and size in pixels."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping
from typing import Any

import imagesize

from redraft.dialects.base import Part

__all__ = ["describe_part"]

# The size stands in the first bytes of every format but JPEG, where metadata may come first.
_HEADER_CHARS = 256 * 1024


def describe_part(native: Mapping[str, Any], index: int) -> Part:
    """Describe a content member of the Chat Completions API that is not text.

    Args:
        native: the member, e.g. `{"type": "image_url", "image_url": {"url": "data:..."}}`.
        index: its place among the turn's parts.

    Returns:
        a part whose label is safe to show: one line, no text from the payload.
    """
    kind = str(native.get("type", "part"))
    match kind:
        case "image_url" | "input_image":
            return _image(_url(native.get("image_url")), index)
        case "input_audio":
            sound = native.get("input_audio")
            form = sound.get("format", "") if isinstance(sound, Mapping) else ""
            return Part("audio", _label("audio", str(form)), index=index)
        case "file" | "input_file":
            return Part("file", "file", index=index)
        case _:
            return Part(_word(kind) or "part", _label("part", kind), index=index)


def _url(value: object) -> str:
    if isinstance(value, Mapping):
        value = value.get("url")
    return value if isinstance(value, str) else ""


def _image(url: str, index: int) -> Part:
    if not url.startswith("data:"):
        return Part("image", "image by link", index=index)
    head, _, payload = url.partition(",")
    form = head[5:].partition(";")[0].rpartition("/")[2]
    width, height = _pixels(payload)
    size = f"{width}x{height}" if width else ""
    return Part("image", _label("image", form, size), width, height, index)


def _pixels(payload: str) -> tuple[int, int]:
    chunk = payload[:_HEADER_CHARS]
    try:
        data = base64.b64decode(chunk[: len(chunk) // 4 * 4])
        width, height = imagesize.get(io.BytesIO(data))
    except Exception:  # a header parser fed hostile bytes may raise anything; no size is an answer
        return 0, 0
    return (int(width), int(height)) if width > 0 and height > 0 else (0, 0)


def _label(*words: str) -> str:
    return " ".join(word for word in map(_word, words) if word)


def _word(text: str) -> str:
    """Letters, digits and a few joiners: nothing that could pass for structure."""
    return "".join(char for char in text if char.isascii() and (char.isalnum() or char in "-_+"))[
        :32
    ]
