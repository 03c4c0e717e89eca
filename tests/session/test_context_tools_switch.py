"""The context tools where they are switched off, and their calls where a framework makes them."""

from __future__ import annotations

import pytest
from context_tools_world import Tools, body, drop, quiet, status
from session_world import HEAD

from redraft import Session

OFF = quiet(agent_context_tools_enabled=False)


@pytest.mark.parametrize("interface", ["context-tools", "all"])
def test_switched_off_the_system_prompt_promises_none(interface: str) -> None:
    with Session(list(HEAD), interface=interface, settings=OFF) as session:
        request = session.request()
    assert request is not None
    said = str(request["messages"][0]["content"])
    assert "## Redrafting your own context" in said
    assert "context_drop" not in said
    assert "read_overflow" not in said


def test_a_new_session_replaces_the_section_of_one_that_had_them_switched_off() -> None:
    with Session(list(HEAD), interface="context-tools", settings=OFF) as session:
        before = session.messages
    with Session(before, interface="context-tools", settings=quiet()) as session:
        request = session.request()
    assert request is not None
    said = str(request["messages"][0]["content"])
    assert said.count("## Redrafting your own context") == 1
    assert "`context_drop`" in said
    assert "get its contents again from where they came" not in said


@pytest.mark.parametrize("arguments", ['{"handles": ["a"]}', None, [1], 7])
def test_arguments_that_are_no_object_are_answered(arguments: object) -> None:
    chat = Tools()
    with chat.session as session:
        chat.work(body("alpha"))
        tokens = session.tokens
        for name, _ in (drop(), status()):
            said = session.context_tool(name, arguments)
            assert "Not run: the arguments are not a JSON object" in said
        assert session.tokens == tokens
        assert not session.receipts
