# The verbs of this project, the same for a person and for CI. `make` alone lists them.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help setup test lint docs bench fuzz

help: ## list the verbs
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-6s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(READY) ## make .venv with redraft and all that its tests need

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --editable '.[test]'
	touch $@

test: $(READY) ## run the tests; ARGS=... goes to pytest
	$(BIN)/python -m pytest -q -n 2 $(ARGS)

lint: $(READY) ## check style, format, types and the floors
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

docs: $(READY) ## write the command reference anew; check links and snippets
	$(BIN)/python -m redraft.cli.reference > docs/.cli.md
	mv docs/.cli.md docs/cli.md
	$(BIN)/python -m pytest -q tests/test_readme.py

bench: $(READY) ## measure rounds, accounting and the journal; ARGS=--json for a script
	$(BIN)/python bench $(ARGS)

fuzz: $(READY) ## look for a list that a provider refuses, for a minute; ARGS='--seconds 3600' for longer
	$(BIN)/python bench/fuzz_door.py $(ARGS)
