# Every target sets itself up: the only thing needed beforehand is Python 3.11 or newer.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: setup check test-quick test test-crash demo generate lock clean bench

setup: $(STAMP)

$(STAMP): requirements/dev.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python3"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

check: setup
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports

test-quick: setup
	$(BIN)/pytest -n 2 -m "not process and not long"

test: check
	$(BIN)/pytest -n 2 -m "not long"

test-crash: setup
	$(BIN)/pytest tests/crash --crash-rounds=500 -m "long or process" --timeout=7200

demo: setup
	$(BIN)/volcano demo

generate: setup
	$(BIN)/python scripts/generate.py

bench-%: setup
	$(BIN)/python -m benchmarks.$*

lock:
	uv pip compile pyproject.toml --generate-hashes --universal --no-header --no-annotate -o requirements/runtime.lock
	uv pip compile pyproject.toml requirements/build.in --extra dev --generate-hashes --universal --no-header --no-annotate -o requirements/dev.lock

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache
