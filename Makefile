# Everything runs inside .venv, which the first target that needs it creates from requirements.lock.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
CONFIG ?= configs/default.yaml

.PHONY: help run test lint types check bench lock clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "PRISM needs Python 3.11 or newer; name one with: make PYTHON=/path/to/python3 ..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

run: $(READY) ## run the main job: 1,000 people, 50 rounds, no server (CONFIG=... for another)
	$(BIN)/prism run $(CONFIG)

test: $(READY) ## run the test suite
	$(BIN)/python -m pytest

lint: $(READY) ## ruff and the layering rules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(READY) ## mypy, strict
	$(BIN)/mypy

check: lint types test ## all that CI runs

bench: $(READY) ## the benchmarks behind docs/performance.md and docs/oracle.md (about 12 minutes)
	$(BIN)/python -m benchmarks.step
	$(BIN)/python -m benchmarks.rate
	$(BIN)/python -m benchmarks.concurrency
	$(BIN)/python -m benchmarks.lookahead

lock: ## resolve requirements.lock anew from pyproject.toml (needs uv)
	uv pip compile pyproject.toml --extra dev --universal --generate-hashes --python-version 3.11 \
	  --no-header --no-annotate --upgrade --quiet --output-file requirements.lock

clean: ## remove the virtual environment, caches and runs
	rm -rf $(VENV) runs dist .coverage .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
