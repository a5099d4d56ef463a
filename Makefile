# A few verbs; `make help` lists them. Every verb sets up what it needs.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON ?= python3
SEEDS ?= 200
BIN := .venv/bin
# A uv on PATH is used as it is; otherwise one is installed beside the project.
UV := $(or $(shell command -v uv),.bootstrap/bin/uv)
UV_READY := $(if $(filter .bootstrap/%,$(UV)),$(UV))
STAMP := .venv/.ready
UI := src/windlass/server/ui_dist/index.html
UI_READY := ui/node_modules/.ready
UI_FILES := $(shell find ui/src ui/scripts ui/index.html ui/vite.config.ts -type f 2>/dev/null)
# A wheel brings the UI along; a checkout without Node works, and its server says what is missing.
UI_BUILT := $(if $(shell command -v npm),$(UI))

.PHONY: help setup setup-tests ui ui-test ui-types dev check format test test-all bench simulate chaos lock

help: ## Show these verbs
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(STAMP) $(UI_BUILT) ## Create .venv with the locked packages

.bootstrap/bin/uv:
	$(PYTHON) -m venv .bootstrap
	.bootstrap/bin/pip install --quiet 'uv>=0.9'

$(STAMP): requirements.lock pyproject.toml | $(UV_READY)
	test -x $(BIN)/python || $(UV) venv --quiet --no-python-downloads --python $(PYTHON) .venv
	$(UV) pip sync --quiet --python $(BIN)/python --require-hashes requirements.lock
	$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e .
	touch $@

$(UI_READY): ui/package-lock.json ui/package.json
	cd ui && npm ci --silent --no-audit --no-fund
	touch $@

$(UI): $(UI_READY) $(UI_FILES)
	cd ui && npm run --silent build
	touch $@

ui: $(UI) ## Build the web UI into the package

ui-test: $(UI) $(STAMP) ## Check the web UI's types, limits and unit tests
	$(BIN)/python ui/scripts/openapi.py --check
	cd ui && npm run --silent types:check && npm run --silent typecheck && npm run --silent limits && npm test --silent

ui-types: $(UI_READY) $(STAMP) ## Generate the web UI's types after a change of the API
	$(BIN)/python ui/scripts/openapi.py
	cd ui && npm run --silent types

# What wheels do not bring: a program to look for, and the Debian packages it comes with.
define install
	@if command -v $(1) >/dev/null || [ -x /usr/sbin/$(1) ]; then \
	  echo "$(1): $$(command -v $(1) || echo /usr/sbin/$(1))"; \
	elif [ "$$(id -u)" -ne 0 ]; then \
	  echo "$(1): missing; $(3) tests need it: ask an administrator to run 'apt-get install $(2)'"; \
	else \
	  export DEBIAN_FRONTEND=noninteractive; \
	  install="apt-get install -y -qq --no-install-recommends $(2)"; \
	  $$install >/dev/null || { apt-get update -qq && $$install >/dev/null; }; \
	fi
endef

setup-tests: setup ## Make PostgreSQL, NATS, Redis, Chromium and podman available to the tests
	$(BIN)/python -m windlass.testing.servers
	$(call install,chromium,chromium,the browser)
	$(call install,podman,podman runc busybox-static uidmap,the container)
	$(call install,busybox,podman runc busybox-static uidmap,the container)
	$(call install,runc,podman runc busybox-static uidmap,the container)

dev: setup ## Run everything in one process, with an embedded store
	$(BIN)/windlass dev

check: setup ## Check format, lint, types, imports, tidiness and generated pages
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(BIN)/python tools/tidy.py
	$(BIN)/python tools/diagrams.py --check
	$(BIN)/python tools/reference.py --check
	$(BIN)/python tools/schemas.py --check

format: setup ## Format the code and apply safe fixes
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

test: setup ## Run the unit and property tests
	$(BIN)/pytest $(wildcard tests/unit tests/property)

# The browser's driver keeps an event loop running for as long as its process lives, which no other
# asynchronous test can bear: its tests have a process of their own.
test-all: setup setup-tests check $(if $(UI_BUILT),ui-test) ## Check, then run every test
	$(BIN)/python tools/test_all.py

bench: setup ## Measure throughput and latency
	$(BIN)/windlass bench

simulate: setup ## Run the seeded simulator on worlds never seen (SEEDS=200)
	$(BIN)/python -m windlass.testing.simulator --seeds $(SEEDS) --fresh

chaos: setup ## Kill, cut and restart real processes, then check the store
	$(BIN)/python -m tests.chaos.run --report docs/chaos-report.json

lock: | $(UV_READY) ## Resolve requirements.lock again after a change in pyproject.toml
	$(UV) pip compile pyproject.toml --group dev --universal --generate-hashes --no-header --quiet -o requirements.lock >/dev/null
