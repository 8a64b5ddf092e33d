# Every target sets itself up: the only thing needed beforehand is Python 3.11 or newer.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: help setup check test-quick test test-crash demo generate schemas lock clean bench

help: ## this list
	@grep -hE '^[a-z%-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

setup: $(STAMP) ## the virtual environment in .venv

$(STAMP): requirements/dev.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python3"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	$(BIN)/python -m compileall -q src
	@touch $@

check: setup ## formatting, lint, types, import contracts
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports

test-quick: setup ## tests without processes, under two minutes
	$(BIN)/pytest -n 2 -m "not process and not long"

test: check ## everything but the named long runs
	$(BIN)/pytest -n 2 -m "not long"

test-crash: setup ## 500 rounds of kill -9
	$(BIN)/pytest tests/crash --crash-rounds=500 -m "long or process" --timeout=7200

demo: setup ## a real job of two GPU tasks, from the queue to the result
	$(BIN)/volcano demo

generate: setup ## the CRDs from the typed structs
	$(BIN)/python scripts/generate.py

bench: bench-scheduler bench-apiserver bench-local ## all of them

bench-%: setup ## one benchmark: local, apiserver, scheduler
	$(BIN)/python -m benchmarks.$*

schemas: setup ## core schemas and protobuf field numbers from the Kubernetes Go modules (needs go)
	$(BIN)/python scripts/core_schemas.py
	$(BIN)/python scripts/protobuf_fields.py

lock: ## pin the dependencies anew, with hashes (needs uv)
	uv pip compile pyproject.toml --generate-hashes --universal --no-header --no-annotate -o requirements/runtime.lock
	uv pip compile pyproject.toml requirements/build.in --extra dev --generate-hashes --universal --no-header --no-annotate -o requirements/dev.lock

clean: ## remove what was installed and cached
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache
