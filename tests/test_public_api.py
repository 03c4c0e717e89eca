"""What the package offers: every name listed, real and documented."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

import redraft

MODULES = [
    "redraft",
    *(found.name for found in pkgutil.walk_packages(redraft.__path__, "redraft.")),
]


def is_package(module: str) -> bool:
    spec = find_spec(module)
    return spec is not None and spec.submodule_search_locations is not None


def load(module: str) -> ModuleType:
    return importlib.import_module(module)


def in_order(names: list[str]) -> list[str]:
    """Constants, then classes, then the rest, each by the alphabet: the order that ruff keeps."""

    def kind(name: str) -> int:
        bare = name.strip("_")
        return 0 if bare.isupper() and len(bare) > 1 else 1 if bare[:1].isupper() else 2

    return sorted(names, key=lambda name: (kind(name), name))


def tree(module: ModuleType) -> ast.Module:
    assert module.__file__ is not None
    return ast.parse(Path(module.__file__).read_text(encoding="utf-8"))


def bound(module: ModuleType) -> set[str]:
    """Public names that a package's own code binds; its submodules and `annotations` are not meant."""
    names: set[str] = set()
    for node in tree(module).body:
        match node:
            case ast.ImportFrom(names=aliases) | ast.Import(names=aliases):
                names |= {alias.asname or alias.name for alias in aliases}
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                names.add(name)
    return {name for name in names if not name.startswith("_") and name != "annotations"}


@pytest.mark.parametrize("name", MODULES)
def test_a_module_says_what_it_is_for_and_lists_its_names(name: str) -> None:
    module = load(name)
    assert module.__doc__, "a module begins with a docstring"
    listed = list(module.__all__)
    assert listed == in_order(listed)
    assert [item for item in listed if not hasattr(module, item)] == []


@pytest.mark.parametrize("name", list(filter(is_package, MODULES)))
def test_what_a_package_lists_is_what_it_offers(name: str) -> None:
    module = load(name)
    listed = {item for item in module.__all__ if not item.startswith("__")}
    assert listed == bound(module)


@pytest.mark.parametrize("name", MODULES)
def test_every_public_name_is_documented(name: str) -> None:
    module = load(name)
    missing = [
        item
        for item in module.__all__
        if inspect.getmodule(getattr(module, item)) is module and not getattr(module, item).__doc__
    ]
    assert missing == []


@pytest.mark.parametrize("name", MODULES)
def test_every_public_method_is_documented(name: str) -> None:
    public = set(load(name).__all__)
    missing = [
        f"{node.name}.{item.name}"
        for node in tree(load(name)).body
        if isinstance(node, ast.ClassDef) and node.name in public
        for item in node.body
        if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef)
        and not item.name.startswith("_")
        and ast.get_docstring(item) is None
    ]
    assert missing == []


def test_the_version_is_the_distributions() -> None:
    assert redraft.__version__ == version("redraft")
