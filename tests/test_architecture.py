"""The shape of the house: floors, pure rooms, small rooms, and nothing left half done."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median, quantiles

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "redraft"
SOURCES = sorted(PACKAGE.rglob("*.py"))
WRITTEN = sorted(
    path for folder in ("src", "tests", "bench") for path in (ROOT / folder).rglob("*.py")
)

PURE = (
    "budget",
    "context",
    "contextfile/blocks.py",
    "contextfile/format.py",
    "cost",
    "dialects",
    "errors.py",
    "events",
    "policies",
    "prompts",
    "tokens",
    "tools",
)
"""Rooms that decide on values alone: no I/O, no clock, no chance."""

VALUES_ONLY = {
    *("__future__", "abc", "base64", "binascii", "bisect", "collections", "copy", "dataclasses"),
    *("difflib", "enum", "fractions", "functools", "hashlib", "heapq", "imagesize", "io"),
    *("itertools", "json"),
    *("math", "operator", "re", "string", "struct", "textwrap", "types", "typing", "unicodedata"),
    "redraft",
}
"""What a pure room may import. `io` is here for bytes in memory; the built-in `open` is not."""

EXCEPTIONS = {
    "cost/genai_prices.py": {"datetime", "importlib"},  # an optional look into a price list
    "dialects/capabilities.py": {"importlib", "tomllib"},  # its table ships inside
    "events/otel.py": {"opentelemetry", "time"},  # an optional extra, and how long a span took
    "events/otel_metrics.py": {"opentelemetry"},  # for types alone
    "prompts/tags.py": {"random"},  # a session's tag; the session may hand in its own chance
    "tokens/counter.py": {"importlib", "threading", "tiktoken"},  # finds the fast counter, once
    "tokens/memory.py": {"threading"},  # a lock around the counts
    "tokens/vocabulary.py": {"gzip", "importlib", "tiktoken", "threading", "zlib"},  # ships inside
}
FORBIDDEN_CALLS = frozenset({"open", "print", "input", "eval", "exec", "compile", "__import__"})

MOST_LINES = {"src": 600, "bench": 600, "tests": 700}  # a list of cases may be a little longer
MEDIAN_LINES = 10
LONGEST_OF_NINE_TENTHS = 35


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def in_package(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def pure_sources() -> list[Path]:
    return [
        path
        for path in SOURCES
        if any(in_package(path) == room or in_package(path).startswith(f"{room}/") for room in PURE)
    ]


def imported(module: ast.Module) -> Iterator[str]:
    """The top-level name of everything that a module imports, wherever the import stands."""
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield (node.module or "").partition(".")[0]


def test_every_room_imports_only_from_the_floors_below() -> None:
    """The contracts stand in pyproject.toml; import-linter reads the imports."""
    script = (
        "from importlinter.cli import lint_imports; raise SystemExit(lint_imports(no_cache=True))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " kept, 0 broken." in done.stdout


def test_every_pure_room_exists() -> None:
    assert [room for room in PURE if not (PACKAGE / room).exists()] == []


@pytest.mark.parametrize("path", pure_sources(), ids=in_package)
def test_a_pure_room_imports_nothing_that_does_io(path: Path) -> None:
    foreign = set(imported(tree(path))) - VALUES_ONLY
    assert foreign == EXCEPTIONS.get(in_package(path), set())


@pytest.mark.parametrize("path", pure_sources(), ids=in_package)
def test_a_pure_room_opens_and_prints_nothing(path: Path) -> None:
    called = {
        node.func.id
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert called & FORBIDDEN_CALLS == set()


def test_no_file_is_too_long_to_read() -> None:
    lines = {name(path): len(path.read_text(encoding="utf-8").splitlines()) for path in WRITTEN}
    too_long = {path: n for path, n in lines.items() if n > MOST_LINES[path.partition("/")[0]]}
    assert too_long == {}


def test_functions_are_short() -> None:
    lengths = [
        (node.end_lineno or node.lineno) - node.lineno + 1
        for path in SOURCES
        for node in ast.walk(tree(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    assert median(lengths) < MEDIAN_LINES
    assert quantiles(lengths, n=10)[-1] < LONGEST_OF_NINE_TENTHS


def test_nothing_is_left_half_done() -> None:
    words = ("TO" + "DO", "FIX" + "ME", "XX" + "X", "NotImplemented" + "Error")
    found = [
        f"{name(path)}:{at}"
        for path in WRITTEN
        for at, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if any(word in line for word in words)
    ]
    assert found == []


def test_importing_the_package_loads_no_client_and_no_command_line() -> None:
    """A library that is imported for its types must not cost a second."""
    heavy = ("openai", "typer", "rich", "tiktoken", "quicktok", "click", "httpx2", "asyncio")
    script = f"import sys, redraft; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
