from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys
from importlib import resources

import pytest

import redraft.tokens

MODULES = ["redraft.tokens"] + [
    f"redraft.tokens.{module.name}" for module in pkgutil.iter_modules(redraft.tokens.__path__)
]


@pytest.mark.parametrize("name", MODULES)
def test_every_public_name_exists_is_documented_and_stands_in_order(name: str) -> None:
    module = importlib.import_module(name)
    names = module.__all__
    shouting = [each for each in names if each.isupper()]
    titled = [each for each in names if each[0].isupper() and not each.isupper()]
    plain = [each for each in names if each[0].islower()]
    assert names == sorted(shouting) + sorted(titled) + sorted(plain)
    for each in names:
        value = getattr(module, each)
        assert not callable(value) or value.__doc__, each


def test_importing_the_room_loads_no_tokenizer() -> None:
    code = "import sys, redraft.tokens; print({'tiktoken', 'quicktok'} & set(sys.modules))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "set()"


def test_the_vocabulary_ships_with_its_notice() -> None:
    notice = resources.files("redraft.tokens").joinpath("data/NOTICE").read_text(encoding="utf-8")
    assert "Copyright (c) 2022 OpenAI, Shantanu Jain" in notice
    assert "o200k_base.tiktoken.gz" in notice
