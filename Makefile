# Everything runs inside .venv, which the first target that needs it creates from requirements.lock.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
CONFIG ?= configs/default.yaml
MINUTES ?= 20
# One process of tests per processor. The tests of a file stay together in the slow tier, whose fixtures are dear.
PYTEST := $(BIN)/python -m pytest --numprocesses $(or $(WORKERS),auto)
COVERED := --cov --cov-report=term:skip-covered

.PHONY: help run quick test test-slow lint lint-deploy types check bench soak dashboards crashes soak-kill lock clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 13

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "PRISM needs Python 3.11 or newer; name one with: make PYTHON=/path/to/python3 ..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

run: $(READY) ## run the main job: 1,000 people, 50 rounds, no server (CONFIG=... for another)
	$(BIN)/prism run $(CONFIG)

quick: $(READY) ## the tests that need no socket, no other process and no whole runs (about 20 seconds)
	$(PYTEST) --dist worksteal -m "not slow and not long and not network and not process"

test: $(READY) ## what has to pass before a push (under 3 minutes on two processors; COVERAGE=1 measures that as well)
	$(PYTEST) --dist worksteal -m "not slow" $(if $(COVERAGE),$(COVERED))

test-slow: $(READY) ## the rest: soaks, kills, a real Prometheus, and all schedules and crashes instead of some
	$(PYTEST) --dist loadfile -m "slow or sized" --full

lint: $(READY) ## ruff and the layering rules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

lint-deploy: $(READY) ## what is under deploy/, with the tools that are installed here
	deploy/lint.sh $(BIN)

types: $(READY) ## mypy, strict
	$(BIN)/mypy

check: lint types test test-slow ## all that CI runs

bench: $(READY) ## the benchmarks behind docs/performance.md and docs/oracle.md (about 16 minutes)
	$(BIN)/python -m benchmarks.step
	$(BIN)/python -m benchmarks.rate
	$(BIN)/python -m benchmarks.concurrency
	$(BIN)/python -m benchmarks.lookahead
	$(BIN)/python -m benchmarks.journal

soak: $(READY) ## 10,000 people and a server that fails, watched for memory (MINUTES=20; more: docs/operations.md)
	$(BIN)/python -m benchmarks.soak --minutes $(MINUTES) --out runs/soak-report-$$(date +%Y%m%d-%H%M%S)

dashboards: $(READY) ## build the dashboards of deploy/grafana/dashboards from their code
	$(BIN)/python -m deploy.grafana.build

crashes: $(READY) ## crash small runs 100,000 times on a simulated disk (TRIALS=... of each of 8 kinds; about an hour)
	$(BIN)/python -m tests.crash --trials $(or $(TRIALS),5000)

soak-kill: $(READY) ## kill real runs 300 times, and 30 with a live oracle (KILLS=...; about 15 minutes)
	$(BIN)/python -m benchmarks.soak_kill --kills $(or $(KILLS),300)
	$(BIN)/python -m benchmarks.soak_kill --kills 30 --live

lock: ## resolve requirements.lock anew from pyproject.toml (needs uv)
	uv pip compile pyproject.toml --extra dev --universal --generate-hashes --python-version 3.11 \
	  --no-header --no-annotate --upgrade --quiet --output-file requirements.lock

clean: ## remove the virtual environment, caches and runs
	rm -rf $(VENV) runs dist .coverage .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
