"""The catalogue of events: it is current, it says what every field is, and real runs keep to it."""

from __future__ import annotations

import ast
import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from schema_world import faults

import redraft
from redraft import Session, events
from redraft.cli.catalogue import catalogue
from redraft.errors import ContextOverflowError
from redraft.events import (
    CommandStarted,
    ContextOp,
    Event,
    RolledBack,
    event_catalogue,
    event_kinds,
    event_schema,
)

ROOT = Path(__file__).parents[2]
SCHEMA = event_catalogue()
KINDS = event_kinds()
HEAD = [{"role": "system", "content": "You are an agent."}, {"role": "user", "content": "Go."}]


def wrong(values: Any) -> list[str]:
    return list(faults(values, SCHEMA, SCHEMA))


def sample(kind: type[Event]) -> Event:
    """One with a value of the right type in each field."""
    named = {"string": "x", "integer": 1, "number": 1.5, "boolean": True, "array": ("1",)}
    properties = event_schema(kind)["properties"]
    given = {field.name: named[properties[field.name]["type"]] for field in fields(kind)}
    if kind is RolledBack:
        given["turns"] = (3, 4)
    return kind(**given)


def test_the_file_is_up_to_date() -> None:
    """If this fails: `python -m redraft.cli.catalogue > docs/api/events.json`."""
    assert (ROOT / "docs" / "api" / "events.json").read_text(encoding="utf-8") == catalogue()


def test_every_event_that_the_package_defines_is_in_it() -> None:
    defined = {
        node.name
        for path in Path(redraft.__file__).parent.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
        and any(isinstance(base, ast.Name) and base.id == "Event" for base in node.bases)
    }
    assert {kind.__name__ for kind in KINDS} == defined
    assert defined <= set(events.__all__)
    assert set(SCHEMA["$defs"]) == {"event", *(kind.type for kind in KINDS)}
    assert len(SCHEMA["oneOf"]) == len(KINDS) + 1


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.type)
def test_every_event_and_every_field_is_described(kind: type[Event]) -> None:
    schema = event_schema(kind)
    assert schema["description"].endswith(".")
    silent = [
        name
        for name, one in schema["properties"].items()
        if name != "type" and len(one["description"]) < 5
    ]
    assert silent == []


def test_a_description_that_goes_on_for_lines_is_whole() -> None:
    status = event_schema(events.EditJudged)["properties"]["status"]["description"]
    assert status.startswith("what became of it")
    assert status.endswith("`ignored` or `no-match`.")
    assert event_schema(events.RequestMade)["properties"]["round"]["description"].endswith(
        "from 1."
    )


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.type)
def test_an_event_fits_its_own_schema_and_no_other(kind: type[Event]) -> None:
    values = json.loads(json.dumps(sample(kind).as_dict()))
    assert wrong(values) == []
    assert wrong({**values, "seq": 1, "at": 0.5}) == []
    assert wrong({**values, "type": "telegram"}) != []
    assert wrong({**values, "colour": "red"}) != []
    for name in set(event_schema(kind)["required"]):
        assert wrong({key: value for key, value in values.items() if key != name}) != []
    for name in values:
        assert wrong({**values, name: None}) != []


def test_what_has_a_default_may_be_left_out() -> None:
    assert wrong({"type": "context_op", "round": 1, "op": "pin", "ok": True}) == []
    assert wrong(json.loads(json.dumps(ContextOp(1, "pin", True, ("call_1",)).as_dict()))) == []


def test_a_line_of_a_later_version_is_an_event_of_which_only_the_round_is_known() -> None:
    assert wrong(events.event_from_dict({"type": "later", "round": 3, "x": 1}).as_dict()) == []


def test_a_field_that_no_line_of_json_can_hold_is_refused_by_name() -> None:
    class Odd(CommandStarted):
        type = "odd"
        __annotations__ = {"command": "set[str]"}

    with pytest.raises(TypeError, match="plain values"):
        event_schema(Odd)


def test_what_a_session_tells_keeps_to_the_catalogue() -> None:
    told: list[Event] = []
    with Session(HEAD, budget=12_000, on_event=told.append) as session:
        for at in range(4):
            session.request()
            with session.answer() as answer:
                answer(_reply(at))
            with session.round() as now:
                for call in now.calls:
                    now.result(call, "word " * 400)
        session.request()
        with session.answer():
            raise ContextOverflowError("too large")
        session.finish("enough")
    assert {"request_made", "reply_read", "round_ended", "rolled_back", "phase_changed"} <= {
        event.type for event in told
    }
    for event in told:
        assert wrong(json.loads(json.dumps(event.as_dict()))) == []


def _reply(at: int) -> Any:
    function = {"name": "bash", "arguments": '{"command": "ls"}'}
    call = {"id": f"call_{at}", "type": "function", "function": function}
    message = {"role": "assistant", "content": "I look.", "tool_calls": [call]}
    return {"choices": [{"message": message, "finish_reason": "tool_calls"}]}
