# The verbs of this project, the same for a person and for CI. `make` alone lists them.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help setup test lint docs bench

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

bench: $(READY) ## measure milliseconds per round by the context's size; ARGS=--json for a script
	$(BIN)/python bench/rounds.py $(ARGS)
	$(if $(ARGS),,$(BIN)/python bench/bench_cost.py)
