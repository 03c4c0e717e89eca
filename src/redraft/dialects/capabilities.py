"""What a model does with the list it is sent, as far as an edit must know it before it commits.

The facts stand in `models.toml`, each row with its source. A model that has no row gets the careful
one of its dialect.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from importlib import resources
from typing import Any, Literal

from redraft.errors import DialectError

__all__ = ["Capabilities", "Reasoning", "capabilities_of"]

Reasoning = Literal["free", "dropped", "bound", "signed"]
"""What a change in front of reasoning does to it: nothing; the server drops it; the server refuses the
request; nothing, but signatures must stay on the calls that they came with."""

_BETWEEN = re.compile("[^a-z0-9]+")
_END = r"(?![a-z0-9])(?!-\d{1,2}(?![a-z0-9]))"


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What one model does with a list.

    Attributes:
        row: the name under which it was found in the table; "" for the careful row of a dialect.
        reasoning: what a change in front of reasoning does to it.
        binding_control: whether `thinking.block_binding.prefix_mismatch_behavior: "drop_block"`, with
            its beta header, makes the server drop bound reasoning in place of refusing the request.
        cache_marks: how many explicit cache marks one request may hold; 0 where there are none.
        cache_minimum: tokens that a prefix needs to be cached; 0 where none is known.
        tools_once: whether `tools` should change at most once a session.
        prefill: whether a list may end with words of the model's that it is to go on from.
        system_midway: whether a system message may stand behind the user's first words.
    """

    row: str
    reasoning: Reasoning
    binding_control: bool
    cache_marks: int
    cache_minimum: int
    tools_once: bool
    prefill: bool
    system_midway: bool


def capabilities_of(model: str, dialect_name: str) -> Capabilities:
    """What a model does with a list.

    Args:
        model: its name as it stands in a request, in any spelling: `claude-opus-5-5`,
            `us.anthropic.claude-opus-4-5-20251101-v1:0`, `google/gemini-3.1-pro`. "" if unknown.
        dialect_name: the wire format: `openai-chat`, `fenced-chat`, `openai-responses`, `anthropic`,
            `gemini`.

    Returns:
        the row of the longest name in the table that `model` has in it, completed from the dialect's
        careful row; that row itself where there is none.

    Raises:
        DialectError: no dialect has this name.
    """
    careful, rows = _table()
    if dialect_name not in careful:
        known = ", ".join(sorted(careful))
        raise DialectError(f"no dialect is named {dialect_name!r}; name one of {known}.")
    words = _BETWEEN.sub("-", model.lower())
    row = max((name for name in rows if _has(words, name)), key=len, default="")
    facts = {**careful[dialect_name], **rows.get(row, {})}
    # The control is a field of the Messages API; no gateway passes it on from another format.
    facts["binding_control"] = facts["binding_control"] and dialect_name == "anthropic"
    return Capabilities(row=row, **facts)


def _has(words: str, name: str) -> bool:
    """Whether a model's name has a row's in it. A minor version that the row does not name is another
    model, and so is a longer word, unless the row ends in a star."""
    end = "" if name.endswith("*") else _END
    return re.search(f"(?<![a-z0-9]){name.rstrip('*')}{end}", words) is not None


@cache
def _table() -> tuple[Mapping[str, Mapping[str, Any]], Mapping[str, Mapping[str, Any]]]:
    """The careful row of each dialect, and the row of each name. The file ships in the package and
    never changes, so it is read once."""
    text = resources.files("redraft.dialects").joinpath("models.toml").read_text("utf-8")
    table = tomllib.loads(text)
    known = {field.name for field in fields(Capabilities)}
    rows = {
        name: {key: value for key, value in row.items() if key in known}
        for row in table["model"]
        for name in row["names"]
    }
    return table["careful"], rows
