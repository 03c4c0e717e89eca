"""What can be said about an image or a file from its first bytes: format and size in pixels."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping
from typing import Any

from redraft.dialects.base import Part

__all__ = ["describe_part"]

# The size stands in the first bytes of every format but those that may begin with metadata. Readers
# of the others get no more to chew on: a netpbm header of 200 KB of digits takes seconds.
_HEADER_CHARS = 4 * 1024
_LONG_HEADER_CHARS = 256 * 1024
_LONG_HEADERS = (b"\xff\xd8", b"II", b"MM")  # JPEG, TIFF
_FTYP = slice(4, 8)  # HEIF and AVIF

_LARGEST_SIDE = 1_000_000
"""Pixels; the formats in use end at 65,535 (JPEG, WebP) or are refused long before (PNG)."""


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
    if url[:5].lower() != "data:":
        return Part("image", "image by link", index=index)
    comma = url.find(",", 0, _HEADER_CHARS)
    head = url[5:comma] if comma >= 0 else ""
    form = head.partition(";")[0].rpartition("/")[2]
    width, height = _pixels(url, comma + 1) if comma >= 0 else (0, 0)
    size = f"{width}x{height}" if width else ""
    return Part("image", _label("image", form, size), width, height, index)


def _pixels(url: str, start: int) -> tuple[int, int]:
    """Width and height of the image whose base64 begins at `start`; zeros where nobody can say."""
    import imagesize  # not at the top: it imports urllib, a tenth of a second for whoever has no image

    try:
        data = _decoded(url[start : start + _HEADER_CHARS])
        if data.startswith(_LONG_HEADERS) or data[_FTYP] == b"ftyp":
            data = _decoded(url[start : start + _LONG_HEADER_CHARS])
        width, height = map(int, imagesize.get(io.BytesIO(data)))
    except Exception:  # a header parser fed hostile bytes may raise anything; no size is an answer
        return 0, 0
    usable = 0 < width <= _LARGEST_SIDE and 0 < height <= _LARGEST_SIDE
    return (width, height) if usable else (0, 0)


def _decoded(chunk: str) -> bytes:
    return base64.b64decode(chunk[: len(chunk) // 4 * 4])


def _label(*words: str) -> str:
    return " ".join(word for word in map(_word, words) if word)


def _word(text: str) -> str:
    """Letters, digits and a few joiners: nothing that could pass for structure."""
    return "".join(char for char in text if char.isascii() and (char.isalnum() or char in "-_+"))[
        :32
    ]
