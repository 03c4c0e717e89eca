"""What a shell starts with and what it reports back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.sandbox.shell import (
    State,
    command_bytes,
    first_environment,
    looks_secret,
    read_state,
)

BEFORE = State(b"/before", {b"OLD": b"1", b"BASH_FUNC_module%%": b"() { :; }"})


@pytest.mark.parametrize(
    "name",
    [
        "OPENAI_API_KEY",
        "HF_TOKEN",
        "GITHUB_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "CLIENT_SECRET",
        "DB_PASSWORD",
        "azure_openai_key",
        "STRIPE_APIKEY",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "TOKEN",
    ],
)
def test_a_variable_named_like_a_credential_looks_secret(name: str) -> None:
    assert looks_secret(name)


@pytest.mark.parametrize(
    "name", ["PATH", "TOKENIZERS_PARALLELISM", "MAX_TOKENS", "KEYBOARD", "SSH_AUTH_SOCK", "PATTERN"]
)
def test_an_ordinary_variable_does_not(name: str) -> None:
    assert not looks_secret(name)


def test_the_first_environment_leaves_out_credentials_and_start_up_hooks() -> None:
    harness = {"PATH": "/bin", "OPENAI_API_KEY": "sk", "BASH_ENV": "/x", "SHELLOPTS": "xtrace"}
    assert first_environment(harness, {}) == {"PATH": "/bin"}


def test_what_is_asked_for_by_name_is_given_even_if_it_is_a_credential() -> None:
    assert first_environment({"A_TOKEN": "1"}, {"A_TOKEN": "2", "B": "3"}) == {
        "A_TOKEN": "2",
        "B": "3",
    }


def test_a_finished_report_is_the_new_state() -> None:
    report = b"/srv/new\n\0A=x\ny=z\0SHLVL=3\0_=/bin/ls\0E=\0=\0"
    state = read_state(report, BEFORE)
    assert state.directory == b"/srv/new"
    assert state.environment == {
        b"A": b"x\ny=z",
        b"E": b"",
        b"BASH_FUNC_module%%": b"() { :; }",
    }


@given(st.binary(max_size=60))
def test_any_bytes_that_are_not_a_finished_report_change_nothing(report: bytes) -> None:
    state = read_state(report, BEFORE)
    if not (report.startswith(b"/") and report.endswith(b"\0=\0")):
        assert state is BEFORE


@given(st.integers(0, 40))
def test_a_report_cut_short_anywhere_changes_nothing(length: int) -> None:
    report = b"/srv/new\n\0A=1\0B=2\0=\0"
    expected = b"/srv/new" if length >= len(report) else b"/before"
    assert read_state(report[:length], BEFORE).directory == expected


@given(st.text())
def test_every_text_has_a_byte_form(command: str) -> None:
    assert command_bytes(command).decode() == command


def test_a_lone_surrogate_becomes_a_replacement_character() -> None:
    assert command_bytes("echo \ud99c!") == "echo \ufffd!".encode()
