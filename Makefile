# make demo   learn the digits and see forgetting (installs into .venv first)
# make test   the whole test suite
# make lint   style and types
# make clean  remove what these made

VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= python3.11

.PHONY: demo test lint clean

demo: $(VENV)/.demo
	$(BIN)/classgrow demo

test: $(VENV)/.dev
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

clean:
	rm -rf $(VENV) demo build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis src/*.egg-info

# A stamp for each set of extras: installed again only when pyproject.toml changes.
$(VENV)/.demo: pyproject.toml | $(BIN)/python
	@echo "Installing classgrow and what it needs into $(VENV) ..."
	$(BIN)/python -m pip install --quiet --editable '.[demo]'
	@touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	@echo "Installing classgrow with its tools for development into $(VENV) ..."
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@ $(VENV)/.demo

$(BIN)/python:
	@for python in '$(PYTHON)' python3.11 python3; do \
	  if $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	    $$python -m venv $(VENV) && exit 0; \
	    rm -rf $(VENV); exit 1; \
	  fi; \
	done; \
	echo "classgrow needs Python 3.11 or newer: install it, or name it, as in make demo PYTHON=/opt/python/bin/python3." >&2; \
	exit 1
