# Everything is installed into .venv first, once; another Python: make test PYTHON=/opt/python/bin/python3

VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= python3.11

.DEFAULT_GOAL := help
.PHONY: help demo test lint docs build sdist report images clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.demo ## learn the digits and see forgetting
	$(BIN)/classgrow demo

test: $(VENV)/.dev ## run the whole test suite
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2

lint: $(VENV)/.dev ## check style and types, also as Windows sees them
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --platform win32 --cache-dir .mypy_cache/windows

# Not --quiet: with it, --strict sees no warnings.
docs: $(VENV)/.docs ## build guide and API reference into site/
	PATH="$(abspath $(BIN)):$$PATH" NO_MKDOCS_2_WARNING=true $(BIN)/python -m mkdocs build --strict
	@echo "Open site/index.html"

build: $(VENV)/.dev ## build the wheel and the source distribution into dist/
	$(BIN)/python -m build --no-isolation

sdist: $(VENV)/.dev ## build the source distribution alone
	$(BIN)/python -m build --no-isolation --sdist

report: $(VENV)/.demo ## rebuild the report of the measured runs into report/
	$(BIN)/classgrow report results --output report

images: report ## copy the figures that README and docs show from report/ into docs/images/
	cp report/figures/headline.svg docs/images/fgp-curve.svg
	cp report/figures/curves-cifar100-20classes-4plus4-m200-matched-30epochs.svg docs/images/reduced-protocol.svg

clean: ## remove what these made, .venv included
	rm -rf $(VENV) demo report site build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis src/*.egg-info

# A stamp for each set of extras: installed again only when pyproject.toml changes.
$(VENV)/.demo: pyproject.toml | $(BIN)/python
	@echo "Installing classgrow and what it needs into $(VENV) ..."
	$(BIN)/python -m pip install --quiet --editable '.[demo]'
	@touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	@echo "Installing classgrow with its tools for development into $(VENV) ..."
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@ $(VENV)/.demo

$(VENV)/.docs: pyproject.toml | $(BIN)/python
	@echo "Installing classgrow with its tools for documentation into $(VENV) ..."
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	@touch $@

$(BIN)/python:
	@for python in '$(PYTHON)' python3.11 python3; do \
	  if $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	    $$python -m venv $(VENV) && exit 0; \
	    rm -rf $(VENV); exit 1; \
	  fi; \
	done; \
	echo "classgrow needs Python 3.11 or newer: install it, or name it, as in make demo PYTHON=/opt/python/bin/python3." >&2; \
	exit 1
