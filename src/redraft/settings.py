"""Every setting with its default and meaning in one place; read from a file and the environment.

The file is TOML with one table, `[redraft]`. A variable `REDRAFT_<NAME>` sets the same thing and wins
over the file; the file wins over the default.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, Self

from redraft.errors import SettingsError

__all__ = ["FOREIGN_VARIABLES", "PREFIX", "Settings"]

PREFIX = "REDRAFT_"
TABLE = "redraft"

FOREIGN_VARIABLES = frozenset({"REDRAFT_CONTEXT_FILE", "REDRAFT_HOME"})
"""Variables with our prefix that are no settings: a model's commands are given the first, the second
says where runs are kept."""


@dataclass(frozen=True)
class Settings:
    """The settings of a session or a run.

    Raises:
        SettingsError: a value has the wrong type or is out of range; the message names the
            setting, the value and what is allowed. The same holds however it was set.
    """

    budget: int | None = None
    """Tokens that a prompt may take, as the model's server counts them. Default: the window."""

    window: int | None = None
    """The model's window in tokens. Default: looked up by the model's name."""

    output_reserve: int = 16_384
    """Tokens of the window that are kept for the model's answer, reasoning included."""

    margin: int = 2_048
    """Tokens kept free below the limit, and the step by which rollbacks deepen."""

    pinned: int | None = None
    """How many leading turns are pinned. Default: the system turns and the first user turn."""

    gate: Literal["fit", "shrink", "conserve"] = "fit"
    """The rule on size for the model's edits, weakest first: may grow if it fits; may not grow; must
    free more than it costs."""

    max_payback: int | None = None
    """Calls after which an edit of the model's must have paid for what it makes the server read again;
    dearer ones are refused. Default: no such test."""

    price_file: str = ""
    """A price list of your own, in the format of LiteLLM's `model_prices_and_context_window.json`. What
    it lacks is priced by `genai-prices`."""

    tool_calls: Literal["native", "fenced"] = "native"
    """How the agent's model calls tools: by the server's function calling, or as text in fences, for
    models and servers without it. A run that is resumed keeps what it began with."""

    policy_cooldown: int = 4
    """Rounds for which a scheduled policy is left in peace after a failure; doubled with each failure
    running, up to eight times as long. It ends early where the context has grown by a tenth of the
    limit meanwhile, or as many times that."""

    summarizer_timeout: float = 120.0
    """Seconds that a summary may take; then it is done without."""

    interface: Literal["file", "tool", "both", "context-tools", "all"] = "file"
    """By what means the model edits: the context file, the tool `edit_context`, or both; the context
    tools (`context_status` and its like) on top of the pressure pass; or all of these."""

    elide_edits: Literal["auto", "on", "off"] = "auto"
    """Whether the command of an edit that was applied becomes one line, since what it wrote stands in
    the context: always, never, or where that was measured to pay with the model's wire format."""

    file_attributes: bool = False
    """Whether turn headers in the context file also show sizes (`tokens=5212 after=38400`)."""

    steer: str = ""
    """A sentence of your own on when and how to edit, added to the system prompt."""

    nudge_tiers: tuple[int, int, int] = (25, 50, 75)
    """Percent of the limit at which the model is informed, asked to tidy, asked to compact."""

    rollback_max: int = 50
    """Rollbacks in one run; then the final turn. 0 turns rollback off."""

    final_turn: bool = True
    """Whether the model gets one last turn to answer in when a run must end."""

    max_steps: int = 200
    """Steps in one run. A round that only edits the context costs none."""

    output_cap: int = 1_000_000
    """Bytes of a command's output that are kept, half from its head and half from its tail."""

    command_timeout: float = 120.0
    """Seconds that a command may run."""

    sandbox: Literal["bubblewrap", "local", "container"] = "bubblewrap"
    """Where `redraft run` runs commands: contained by bubblewrap, with your own rights, or through a
    container command."""

    telemetry: Literal["off", "otel"] = "off"
    """Whether `redraft run` tells OpenTelemetry what it does; that needs the extra `otel`."""

    agent_context_tools_enabled: bool = True
    """Whether the context tools may be offered, where `interface` has them. Off: never offered, and a
    call is refused."""

    agent_context_tools_offer_pct: float = 0.45
    """The share of the window, or of the budget where that is smaller, from which the context tools are
    offered; at the soft ceiling at the latest."""

    agent_context_tools_offer_round: int = 12
    """The round of an exchange from which they are offered, however full the context is. 0: never for
    that reason."""

    agent_context_tools_max_pins: int = 20
    """Pins that the model may hold in a session."""

    agent_midturn_compact_pct: float | None = None
    """The soft ceiling: the share of the limit from which old and oversized results are spilled.
    Default: 0.8, above the last nudge and below the urgent band; 0.7 for windows under 64,000 tokens,
    where one result weighs more."""

    agent_midturn_keep_tool_rounds: int | None = None
    """How many of the newest rounds with tool calls keep their results. Default: one for each 16,000
    tokens of the window, at least 2 and at most 12."""

    agent_midturn_spill_chars: int | None = None
    """Characters from which a result is oversized and spilled however new it is. Default: a fifth of the
    window's tokens (about a twentieth of it, at four characters a token), from 4,000 to 40,000."""

    def __post_init__(self) -> None:
        for name, rule in _RULES.items():
            value = getattr(self, name)
            if not rule.holds(value):
                raise _refused(name, value, rule)

    @classmethod
    def load(cls, file: Path | None, env: Mapping[str, str]) -> Self:
        """Read the settings.

        Args:
            file: a TOML file with a table `[redraft]`, or None for none.
            env: environment variables, e.g. `os.environ`; an empty one counts as not set.

        Raises:
            SettingsError: the file cannot be read, or a key is unknown, or a value is not allowed.
        """
        values = _from_file(file) if file is not None else {}
        return cls(**{**values, **_from_env(env)})


@dataclass(frozen=True)
class _Rule:
    """What a setting may be: in words, as a test, and how to read it from a string."""

    allowed: str
    holds: Callable[[object], bool]
    parse: Callable[[str], object] = str


def _whole(low: int, high: int, *, optional: bool = False) -> _Rule:
    def holds(value: object) -> bool:
        if not isinstance(value, int) or isinstance(value, bool):
            return optional and value is None
        return low <= value <= high

    return _Rule(f"a whole number from {low} to {high}", holds, int)


def _seconds(low: float, high: float) -> _Rule:
    def holds(value: object) -> bool:
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            return False
        return low <= value <= high

    return _Rule(f"a number of seconds from {low:g} to {high:g}", holds, float)


def _share(*, optional: bool = False) -> _Rule:
    def holds(value: object) -> bool:
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            return optional and value is None
        return 0.05 <= value <= 0.95

    return _Rule("a share of the window from 0.05 to 0.95", holds, float)


def _one_of(*words: str) -> _Rule:
    return _Rule(f"one of {', '.join(words)}", lambda value: value in words)


def _flag() -> _Rule:
    def parse(text: str) -> object:
        return {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}[
            text.lower()
        ]

    return _Rule("true or false", lambda value: isinstance(value, bool), parse)


def _text() -> _Rule:
    return _Rule("text", lambda value: isinstance(value, str))


def _tiers() -> _Rule:
    def holds(value: object) -> bool:
        return (
            isinstance(value, tuple)
            and len(value) == 3
            and all(type(tier) is int for tier in value)  # True is no percentage
            and 0 < value[0] < value[1] < value[2] < 100
        )

    def parse(text: str) -> object:
        return tuple(int(part) for part in text.split(","))

    return _Rule("three rising percentages from 1 to 99, such as 25, 50, 75", holds, parse)


_MOST = 100_000_000

_RULES: Mapping[str, _Rule] = MappingProxyType(
    {
        "budget": _whole(1, _MOST, optional=True),
        "window": _whole(1, _MOST, optional=True),
        "output_reserve": _whole(0, _MOST),
        "margin": _whole(1, _MOST),
        "pinned": _whole(0, 1_000, optional=True),
        "gate": _one_of("fit", "shrink", "conserve"),
        "max_payback": _whole(0, 1_000_000, optional=True),
        "price_file": _text(),
        "policy_cooldown": _whole(0, 1_000),
        "summarizer_timeout": _seconds(0.001, 86_400),
        "tool_calls": _one_of("native", "fenced"),
        "interface": _one_of("file", "tool", "both", "context-tools", "all"),
        "elide_edits": _one_of("auto", "on", "off"),
        "file_attributes": _flag(),
        "steer": _text(),
        "nudge_tiers": _tiers(),
        "rollback_max": _whole(0, 1_000),
        "final_turn": _flag(),
        "max_steps": _whole(1, 1_000_000),
        "output_cap": _whole(0, 1_000_000_000),
        "command_timeout": _seconds(0.1, 86_400),
        "sandbox": _one_of("bubblewrap", "local", "container"),
        "telemetry": _one_of("off", "otel"),
        "agent_context_tools_enabled": _flag(),
        "agent_context_tools_offer_pct": _share(),
        "agent_context_tools_offer_round": _whole(0, 1_000_000),
        "agent_context_tools_max_pins": _whole(0, 1_000),
        "agent_midturn_compact_pct": _share(optional=True),
        "agent_midturn_keep_tool_rounds": _whole(0, 1_000_000, optional=True),
        "agent_midturn_spill_chars": _whole(600, _MOST, optional=True),
    }
)


def _refused(name: str, value: object, rule: _Rule, where: str = "") -> SettingsError:
    return SettingsError(f"{where or name} is {value!r}; give {rule.allowed}")


def _unknown(name: str, where: str) -> SettingsError:
    known = ", ".join(field.name for field in fields(Settings))
    return SettingsError(f"{where} is no setting; remove {name!r} or use one of {known}")


def _from_file(file: Path) -> dict[str, Any]:
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"{file} cannot be read ({error}); check the path") from error
    except ValueError as error:
        raise SettingsError(f"{file} is not TOML in UTF-8 ({error}); mend that place") from error
    strangers = [name for name in document if name != TABLE]
    table = document.get(TABLE, {})
    if strangers or not isinstance(table, dict):
        culprit = strangers[0] if strangers else TABLE
        raise SettingsError(
            f"{file}: {culprit!r} stands outside the table [{TABLE}]; put every setting under it"
        )
    return {name: _file_value(file, name, value) for name, value in table.items()}


def _file_value(file: Path, name: str, value: object) -> object:
    where = f"{name} in {file}"
    rule = _RULES.get(name)
    if rule is None:
        raise _unknown(name, where)
    value = tuple(value) if isinstance(value, list) else value
    if not rule.holds(value):
        raise _refused(name, value, rule, where)
    return value


def _from_env(env: Mapping[str, str]) -> dict[str, Any]:
    return {
        variable.removeprefix(PREFIX).lower(): _env_value(variable, env[variable])
        for variable in sorted(env)
        if variable.startswith(PREFIX) and variable not in FOREIGN_VARIABLES and env[variable]
    }


def _env_value(variable: str, text: str) -> object:
    name = variable.removeprefix(PREFIX).lower()
    rule = _RULES.get(name)
    if rule is None or variable != f"{PREFIX}{name.upper()}":
        raise _unknown(variable, f"{variable} in the environment")
    try:
        value = rule.parse(text if name == "steer" else text.strip())
    except (ValueError, KeyError):
        value = None
    if value is None or not rule.holds(value):
        raise _refused(name, text, rule, variable)
    return value
