# The front door: each step makes what it needs first. Everything is installed into .venv, nothing beside it.
PYTHON  ?= $(shell command -v python3.11 || command -v python3 || echo python3.11)
PROFILE ?= release
VENV    := .venv
BIN     := $(CURDIR)/$(VENV)/bin
CHECKED := python/callgate $(wildcard .ci/*.py)

export VIRTUAL_ENV := $(CURDIR)/$(VENV)
export PATH := $(BIN):$(PATH)

INSTALLED := $(VENV)/.installed
BUILT     := $(VENV)/.built-$(PROFILE)
RUST      := $(shell find rust -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock pyproject.toml

.DEFAULT_GOAL := help
.PHONY: help setup build test test-rust test-python lint lint-rust lint-python conformance bench quality demo package-check ci pins clean
# The steps share one cargo target folder and one virtual environment.
.NOTPARALLEL:

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile
	@echo "  PYTHON=... chooses the interpreter for $(VENV) (3.11 or newer), PROFILE=dev builds faster code-to-run cycles"

setup: build ## make .venv with the pinned tools and build callgate into it

$(INSTALLED): requirements-dev.txt
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "callgate needs Python 3.11 or newer, and \`$(PYTHON)\` is not: \`make PYTHON=/path/to/python3\` names one" >&2; exit 2; }
	@command -v cargo >/dev/null || { echo "callgate needs Rust 1.88 or newer: \`cargo\` is not on the PATH" >&2; exit 2; }
	@echo "callgate: installing the pinned development tools into $(VENV): a download, once" >&2
	@"$(PYTHON)" -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@

build: $(BUILT) ## build the extension into .venv (PROFILE=release, or dev for a faster build)

$(BUILT): $(INSTALLED) $(RUST)
	@echo "callgate: building the engine (profile $(PROFILE)): minutes the first time, when all that it needs is compiled too" >&2
	@$(BIN)/maturin develop --quiet --profile $(PROFILE)
	@rm -f $(VENV)/.built-* && touch $@

test: test-rust test-python ## cargo test, pytest, doc examples, and the code blocks of README and docs

test-rust: ## cargo test alone
	cargo test --workspace --locked

test-python: build ## pytest alone, doc examples and code blocks of the documents included
	$(BIN)/python -m pytest

lint: lint-rust lint-python ## formatting, lints, types, layers, and the rules of the house

lint-rust: ## rustfmt, clippy, and who may depend on whom among the crates
	@.ci/cargo-part fmt rustfmt -- cargo fmt --all --check
	@.ci/cargo-part clippy clippy -- cargo clippy --workspace --all-targets --locked -- -D warnings

lint-python: build ## ruff, mypy, import-linter, stubtest, the rules of the house, and the form of what ships
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy $(CHECKED)
	$(BIN)/stubtest callgate._core
	$(BIN)/lint-imports
	$(BIN)/python .ci/check_crates.py
	$(BIN)/python .ci/check_files.py
	$(BIN)/callgate fmt --check policies python/callgate/cli/starter

conformance: ## run the public CEL cases: counts by file, and each exception with its reason
	@cargo test --quiet --locked -p callgate-cel --test conformance -- --nocapture --exact the_public_conformance_cases_pass

bench: build ## time callgate against its baselines in one run, and print the ratios (BENCH=batch for one of them)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-bench.txt
	$(BIN)/python -m tests.bench $(BENCH)

quality: build ## measure the packs on recorded runs of real agents: tables, and each bar met or missed
	@$(BIN)/python -m tests.quality

demo: setup ## judge a recorded looping run and tell what was stopped, and why
	@$(BIN)/callgate demo
	@printf '\ncallgate is installed in %s: `. %s/bin/activate` puts it on the PATH of this shell\n' $(VENV) $(VENV)

package-check: build ## install from the folder and from the sdist into fresh environments, and look for the packs
	$(BIN)/python .ci/check_package.py

ci: ## all that has to pass before a change lands
	bash .ci/run

pins: ## resolve requirements-dev.in into requirements-dev.txt anew
	PYTHON="$(PYTHON)" .ci/pins

clean: ## remove .venv and everything built
	rm -rf $(VENV) target dist python/callgate/_core*.so
