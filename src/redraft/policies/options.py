"""What can be set on a policy: read from text, held to its range, listed with its default.

The dataclass of a policy is the one place where its options stand. A field that is made with one of the
functions here is an option; its range is checked however the policy is made, and its meaning is what the
class says under `Attributes`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from math import isfinite
from textwrap import dedent
from typing import Any

from redraft.errors import SettingsError

__all__ = [
    "NESTED",
    "WELL_BELOW",
    "Nested",
    "Option",
    "Range",
    "changed",
    "checked",
    "choice",
    "flag",
    "low",
    "nested",
    "options_of",
    "share",
    "target_below",
    "whole",
]

WELL_BELOW = 0.9
"""A target may be this share of its trigger at most: one that hardly lies below acts again at once and
breaks the prefix cache each time (DESIGN.md section 4, rule 10)."""

NESTED = "nested"
"""The metadata of a field whose value has options of its own (see `nested`)."""

_RANGE = "range"
_MOST = 100_000_000
_ATTRIBUTE = re.compile(r"^(\w[\w, ]*): ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Range:
    """What an option may be.

    Attributes:
        words: the same for a person.
        holds: tells of a value whether it is allowed.
        read: makes a value of what somebody typed; it raises `ValueError` or `KeyError` where it cannot.
    """

    words: str
    holds: Callable[[Any], bool]
    read: Callable[[str], Any]


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a policy.

    Attributes:
        name: what it is set by; dots lead into what lies beneath.
        default: its default, as somebody would type it.
        allowed: what it may be, in words.
        meaning: what it does.
    """

    name: str
    default: str
    allowed: str
    meaning: str

    def as_dict(self) -> dict[str, str]:
        """The option as JSON has it."""
        return {
            "name": self.name,
            "default": self.default,
            "allowed": self.allowed,
            "meaning": self.meaning,
        }


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and isfinite(value)


_FLAGS = {"true": True, "yes": True, "on": True, "1": True}
_FLAGS |= {"false": False, "no": False, "off": False, "0": False}
_SHARE = Range("a share over 0, up to 1", lambda v: _is_number(v) and 0 < v <= 1, float)
_LOW = Range("a share from 0, under 1", lambda v: _is_number(v) and 0 <= v < 1, float)
_FLAG = Range("true or false", lambda v: isinstance(v, bool), lambda typed: _FLAGS[typed.lower()])
_CHOICE = Range(
    "true, false or auto",
    lambda v: v is None or isinstance(v, bool),
    lambda typed: {**_FLAGS, "auto": None}[typed.lower()],
)


def share(default: float) -> float:
    """A field that is a share of the limit: over 0, at most 1."""
    return field(default=default, metadata={_RANGE: _SHARE})


def low(default: float) -> float:
    """A field that is a share of the limit and may be 0: a target."""
    return field(default=default, metadata={_RANGE: _LOW})


def whole(default: int, least: int = 0) -> int:
    """A field that is a whole number.

    Args:
        default: its default.
        least: the smallest that it may be.
    """

    def holds(value: Any) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and least <= value <= _MOST

    made = Range(f"a whole number from {least}", holds, lambda typed: int(typed.replace("_", "")))
    return field(default=default, metadata={_RANGE: made})


def flag(default: bool) -> bool:
    """A field that is on or off."""
    return field(default=default, metadata={_RANGE: _FLAG})


def choice() -> bool | None:
    """A field that is on, off or left to the policy, which is its default."""
    return field(default=None, metadata={_RANGE: _CHOICE})


@dataclass(frozen=True, slots=True)
class Nested:
    """How the options of a nested dataclass are named.

    Attributes:
        inline: whether as if they were the policy's own; otherwise with a dot (`fallback.keep`).
        without: those of its options that mean nothing there.
        named: where the field can also be chosen by a name, what that may be, in words.
    """

    inline: bool = False
    without: tuple[str, ...] = ()
    named: str = ""


def nested(*without: str, inline: bool = False, named: str = "") -> dict[str, Nested]:
    """The metadata of a field whose value has options of its own; see `Nested`."""
    return {NESTED: Nested(inline, without, named)}


def checked(made: Any) -> None:
    """Hold each option of a policy to its range; for `__post_init__`.

    Args:
        made: the policy, or another dataclass with options.

    Raises:
        SettingsError: one is out of its range.
    """
    for one in fields(made):
        allowed: Range | None = one.metadata.get(_RANGE)
        if allowed and not allowed.holds(getattr(made, one.name)):
            raise SettingsError(
                f"{_title(made)}: {one.name}={_typed(getattr(made, one.name))} cannot be used; it must "
                f"be {allowed.words}"
            )


def target_below(made: Any, target: float, trigger: float, name: str = "trigger") -> None:
    """Hold a target to lie well below what makes the policy act.

    Args:
        made: the policy.
        target, trigger: shares of the limit.
        name: what the trigger is called.

    Raises:
        SettingsError: it does not.
    """
    if target > trigger * WELL_BELOW:
        raise SettingsError(
            f"{_title(made)}: target={target:g} does not lie well below {name}={trigger:g}; set target to "
            f"{trigger * WELL_BELOW:.3g} or less"
        )


def options_of(policy: Any) -> tuple[Option, ...]:
    """The options of a policy, with its values as the defaults.

    Args:
        policy: the policy, or another dataclass with options.
    """
    return tuple(_options(policy, "")) if is_dataclass(policy) else ()


def _options(policy: Any, prefix: str) -> Iterator[Option]:
    meant = _meanings(type(policy))
    for one in fields(policy):
        value = getattr(policy, one.name)
        allowed: Range | None = one.metadata.get(_RANGE)
        if allowed:
            name, meaning = f"{prefix}{one.name}", meant.get(one.name, "")
            yield Option(name, _typed(value), allowed.words, meaning)
        elif NESTED in one.metadata:
            how: Nested = one.metadata[NESTED]
            if how.named:
                yield Option(
                    f"{prefix}{one.name}", _title(value), how.named, meant.get(one.name, "")
                )
            under = prefix if how.inline else f"{prefix}{one.name}."
            left_out = {under + name for name in how.without}
            yield from (found for found in _options(value, under) if found.name not in left_out)


def changed(policy: Any, typed: Mapping[str, str]) -> Any:
    """The same policy with options as somebody typed them.

    Args:
        policy: the policy, or another dataclass with options.
        typed: texts by the options' names.

    Raises:
        SettingsError: there is no such option, or it may not be what it is to be; the message lists
            all that there are.
    """
    if not typed:
        return policy
    try:
        return _changed(policy, typed)
    except SettingsError as error:
        raise SettingsError(f"{error}.\n{listed(policy)}") from None


def listed(policy: Any) -> str:
    """The options of a policy as an error message lists them."""
    found = options_of(policy)
    if not found:
        return f"{_title(policy)} has no options"
    lines = [f"  {one.name}={one.default}  ({one.allowed})" for one in found]
    return "\n".join((f"Options of {_title(policy)}, with their defaults:", ";\n".join(lines)))


def _changed(policy: Any, typed: Mapping[str, str]) -> Any:
    left = dict(typed)
    values: dict[str, Any] = {}
    known = {option.name for option in options_of(policy)}
    unknown = next((name for name in left if name not in known), None)
    if unknown is not None:
        raise SettingsError(f"{_title(policy)} has no option {unknown!r}")
    for one in fields(policy):
        allowed: Range | None = one.metadata.get(_RANGE)
        if allowed and one.name in left:
            values[one.name] = _read(policy, one.name, left.pop(one.name), allowed)
        elif NESTED in one.metadata:
            value, how = getattr(policy, one.name), one.metadata[NESTED]
            if how.named and one.name in left:
                raise SettingsError(f"{_title(policy)}: {one.name} is chosen by name with `made`")
            prefix = "" if how.inline else f"{one.name}."
            mine = {option.name for option in _options(value, prefix)}
            under = {name[len(prefix) :]: left.pop(name) for name in mine & left.keys()}
            if under:
                values[one.name] = _changed(value, under)
    return replace(policy, **values)


def _read(policy: Any, name: str, typed: str, allowed: Range) -> Any:
    try:
        return allowed.read(typed.strip())
    except (ValueError, KeyError):
        raise SettingsError(
            f"{_title(policy)}: {name}={typed} cannot be used; it must be {allowed.words}"
        ) from None


def _title(policy: Any) -> str:
    return str(getattr(policy, "name", type(policy).__name__.lower()))


def _typed(value: Any) -> str:
    if value is None:
        return "auto"
    return str(value).lower() if isinstance(value, bool) else f"{value}"


def _meanings(cls: type) -> dict[str, str]:
    """What the class says of each of its attributes, in one line each."""
    told = dedent((cls.__doc__ or "").partition("Attributes:\n")[2])
    found = list(_ATTRIBUTE.finditer(told))
    ends = [*(one.start() for one in found[1:]), len(told)]
    meant: dict[str, str] = {}
    for one, end in zip(found, ends, strict=False):
        words = " ".join(told[one.end() : end].split())
        meant |= dict.fromkeys(one[1].split(", "), words)
    return meant
