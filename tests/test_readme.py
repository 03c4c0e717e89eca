"""What the README and the pages say is so: their snippets run, their commands exist, their links lead
somewhere.

A block marked `python` is executed; the blocks of one page share their names, as a reader would
type them one after the other. These names are there without being defined: `messages`, `tools`, `run`,
`client` and `async_client` (real OpenAI clients of servers that play a short task), `anthropic_client` and
`gemini_url` (the same task elsewhere). A block that cannot run says so on the line above:
`<!-- test: skip: why -->`.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from redraft.testing import FakeAnthropic, FakeGemini, FakeResponses, FakeServer

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
PAGES += sorted((ROOT / "docs").rglob("*.md"))

FENCE = re.compile(
    r"^(?P<fence>```+)(?P<kind>[^\n`]*)\n(?P<body>.*?)^(?P=fence)[ \t]*$", re.M | re.S
)
SKIP = re.compile(r"<!-- test: skip: \S.* -->\n\Z")
LINK = re.compile(r"(?<!!)\[[^\]]*\]\((?P<target>[^)\s]+)\)")
HEADING = re.compile(r"^#+ +(?P<title>.+?) *$", re.M)
SHELLS = ("sh", "bash", "console", "shell")


@dataclass(frozen=True)
class Block:
    """A fenced block: where it stands, what it is, and its text."""

    page: Path
    line: int
    kind: str
    body: str
    skipped: bool


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            page,
            text.count("\n", 0, found.start()) + 1,
            found["kind"].strip(),
            found["body"],
            SKIP.search(text, 0, found.start()) is not None,
        )
        for found in FENCE.finditer(text)
    ]


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


# -- snippets ----------------------------------------------------------------------------------------


def player(request: Mapping[str, Any]) -> dict[str, Any]:
    """Lists a folder, then says that it is done."""
    if any(message["role"] == "tool" for message in request["messages"]):
        return {"role": "assistant", "content": "Done: there is nothing to mend."}
    arguments = json.dumps({"command": "ls"})
    call = {
        "id": "call_1",
        "type": "function",
        "function": {"name": "bash", "arguments": arguments},
    }
    return {"role": "assistant", "content": "I look around.", "tool_calls": [call]}


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[dict[str, Any]]:
    """What a snippet finds."""
    from anthropic import Anthropic
    from openai import AsyncOpenAI, OpenAI

    monkeypatch.chdir(tmp_path)
    with (
        FakeServer(player) as server,
        FakeResponses(player) as responses,
        FakeAnthropic(player) as messages,
        FakeGemini(player) as google,
        OpenAI(api_key="none", base_url=server.base_url) as client,
        OpenAI(api_key="none", base_url=responses.base_url) as other,
        Anthropic(api_key="none", base_url=messages.base_url) as anthropic_client,
    ):
        monkeypatch.setitem(vars(client), "responses", other.responses)
        yield {
            "__name__": "__main__",
            "client": client,
            "anthropic_client": anthropic_client,
            "gemini_url": google.base_url,
            "async_client": AsyncOpenAI(api_key="none", base_url=server.base_url),
            "base_url": server.base_url,
            "messages": [
                {"role": "system", "content": "You are a careful engineer."},
                {"role": "user", "content": "See whether anything here needs mending."},
            ],
            "tools": [
                {
                    "type": "function",
                    "function": {
                        "name": "bash",
                        "description": "Run a command.",
                        "parameters": {
                            "type": "object",
                            "properties": {"command": {"type": "string"}},
                        },
                    },
                }
            ],
            "run": lambda call: (f"README.md  # {call['command']}", 0),
        }


PYTHON = [page for page in PAGES if any(block.kind == "python" for block in blocks(page))]


@pytest.mark.parametrize("page", PYTHON, ids=name)
def test_the_snippets_of_a_page_run_one_after_the_other(
    page: Path, names: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    for block in blocks(page):
        if block.kind == "python" and not block.skipped:
            execute(block, names)


def execute(block: Block, names: dict[str, Any]) -> None:
    """Run a block; `await` may stand at its top level. Errors point at the page's own lines."""
    source = "\n" * block.line + block.body
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    code = compile(source, str(block.page), "exec", flags=flags, dont_inherit=True)
    result = eval(code, names)
    if inspect.iscoroutine(result):
        asyncio.run(result)


# -- commands ----------------------------------------------------------------------------------------


def commands() -> Iterator[tuple[str, list[str]]]:
    """Every `redraft ...` in a shell block: where it stands, and its words after `redraft`."""
    for page in PAGES:
        for block in blocks(page):
            if block.kind not in SHELLS or block.skipped:
                continue
            text = re.sub(r"\\\n", " ", block.body)
            for line in text.splitlines():
                yield from ((f"{name(page)}:{block.line}", words) for words in calls(line))


def calls(line: str) -> Iterator[list[str]]:
    """The calls of `redraft` in one line of a shell."""
    if "redraft" not in line:
        return
    lexer = shlex.shlex(line.removeprefix("$ "), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = "#"
    words: list[str] | None = None
    for word in [*lexer, ";"]:
        if set(word) <= set("();<>|&"):
            if words is not None:
                yield words
            words = None
        elif words is not None:
            words.append(word)
        elif Path(word).name == "redraft":
            words = []


COMMANDS = list(commands())


def test_the_pages_show_commands() -> None:
    assert {words[0] for _, words in COMMANDS if words} >= {"demo", "run"}


@cache
def known_options(command: str) -> frozenset[str]:
    """The options that the help of `redraft COMMAND` names."""
    text = subprocess.run(
        [sys.executable, "-m", "redraft.cli", *command.split(), "--help"],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": "", "COLUMNS": "200", "NO_COLOR": "1"},
    ).stdout
    return frozenset(re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", text))


@pytest.mark.parametrize(("place", "words"), COMMANDS, ids=[place for place, _ in COMMANDS])
def test_a_command_on_a_page_exists_with_all_its_options(place: str, words: list[str]) -> None:
    command = words[0] if words and not words[0].startswith("-") else ""
    if command == "memory" and len(words) > 1:  # it has commands of its own
        command = " ".join(words[:2])
    options = {word.partition("=")[0] for word in words if re.match(r"--?[a-zA-Z]", word)}
    assert options <= known_options(command)


# -- links -------------------------------------------------------------------------------------------


def anchors(page: Path) -> set[str]:
    """The anchors that a page's headings make, as GitHub forms them."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    titles = (found["title"].lower().replace("`", "") for found in HEADING.finditer(text))
    return {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_link_between_the_pages_leads_somewhere(page: Path) -> None:
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    broken = []
    for found in LINK.finditer(text):
        target, _, anchor = found["target"].partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        to = (page.parent / target).resolve() if target else page
        if not to.exists() or (anchor and anchor not in anchors(to)):
            broken.append(found["target"])
    assert broken == []


def test_every_page_can_be_found_from_the_index() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    notes = (ROOT / "docs" / "design" / "README.md").read_text(encoding="utf-8")
    for page in sorted((ROOT / "docs").glob("*.md")):
        assert page.name == "index.md" or f"]({page.name})" in index, page
    for page in sorted((ROOT / "docs" / "design").glob("*.md")):
        assert page.name == "README.md" or f"]({page.name})" in notes, page


def test_the_readme_holds_the_two_commands_that_ci_runs() -> None:
    found = [
        line
        for block in blocks(ROOT / "README.md")
        if block.kind == "sh"
        for line in block.body.splitlines()
        if line.startswith("python3 -m venv ")
    ]
    assert len(found) == 2
    assert found[0].endswith("redraft demo")
    assert "pytest" in found[1]


@pytest.mark.slow
def test_the_demo_that_the_readme_shows_is_the_demo() -> None:
    """Line by line, but for what is left out and for figures, which the session's tag moves a little."""
    done = subprocess.run(
        [sys.executable, "-m", "redraft.cli", "demo"],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": os.environ["PATH"], "COLUMNS": "100", "NO_COLOR": "1"},
    )
    printed = set(map(shape, (done.stderr + done.stdout).splitlines()))
    shown = next(
        block.body
        for block in blocks(ROOT / "README.md")
        if block.body.startswith("A scripted player")
    )
    lines = [line for line in shown.splitlines() if line.strip() != "..."]
    assert [line for line in lines if shape(line) not in printed] == []


def shape(line: str) -> str:
    """A line without its figures, bars and blanks."""
    return re.sub(r"[\d,]+|[━╸╺ ]+", "", line)
