# Everything from a fresh clone: `make demo`, `make test`. Only Python ≥ 3.11 is needed.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
# One thread for each test process: two processes share two cores.
TEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2

.PHONY: help setup setup-dev demo test test-slow lint docs wheel bench clean

help:
	@echo "make demo       set up and run the built-in example (under a minute once installed)"
	@echo "make test       set up, check style and types, run the tests (minutes)"
	@echo "make test-slow  what needs data sets, minutes or a clean environment"
	@echo "make docs       build the documentation into site/"
	@echo "make bench      run the benchmarks (about half an hour; CPGNN_DATA names the graphs)"

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) -e .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) -e '.[dev,docs]'
	@touch $@ $(VENV)/.installed

setup: $(VENV)/.installed
setup-dev: $(VENV)/.installed-dev

demo: setup
	$(BIN)/cpgnn demo --out demo

lint: setup-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: setup-dev lint
	$(TEST) -m "not slow"

test-slow: setup-dev docs wheel
	$(TEST) -m slow

# The wheel, built and run in an environment of its own.
wheel: setup-dev
	rm -rf build/wheel build/wheel-env
	$(BIN)/python -m build --quiet --wheel --outdir build/wheel .
	$(PYTHON) -m venv build/wheel-env
	build/wheel-env/bin/python -m pip install --quiet --disable-pip-version-check \
		-c constraints.txt build/wheel/*.whl
	cd build && wheel-env/bin/cpgnn --help && wheel-env/bin/cpgnn --version

docs: setup-dev
	$(BIN)/mkdocs build --strict

bench: setup-dev
	cd benchmarks && for part in epoch runs products scale plots; do \
		../$(BIN)/python $$part.py || exit 1; done

clean:
	rm -rf $(VENV) build site demo
