# Everything from a fresh clone: `make demo`, `make test`. Only Python ≥ 3.11 is needed.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
# One thread for each test process: two processes share two cores.
TEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2

.PHONY: help setup setup-dev demo test test-slow java chromium lint docs pictures wheel bench \
	clean reproduce reproduce-quick results-docs commands-docs audit fuzz

help:
	@echo "make demo       set up and run the built-in example (under a minute once installed)"
	@echo "make test       set up, check style and types, run the tests (minutes)"
	@echo "make test-slow  what needs data sets, minutes or a clean environment"
	@echo "make docs       build the documentation into site/"
	@echo "make reproduce  all of the paper's experiments (about 14 hours of one core; resumes)"
	@echo "make pictures   draw the pictures of docs/decision.md again"
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

test-slow: setup-dev docs wheel java chromium reproduce-quick
	$(TEST) -m slow

# Spark needs Java; where there is none, Debian's is installed.
SUDO := $(shell test "$$(id -u)" = 0 || echo sudo)
java:
	@command -v java > /dev/null || { $(SUDO) apt-get update -q && \
		$(SUDO) apt-get install -q -y openjdk-17-jre-headless; }

# The browser that reports are tested in: Debian's, for Playwright's own may not download.
chromium:
	@command -v chromium > /dev/null || { $(SUDO) apt-get update -q && \
		$(SUDO) apt-get install -q -y --no-install-recommends chromium; }

# The wheel, built and run in an environment of its own.
wheel: setup-dev
	rm -rf build/wheel build/wheel-env
	$(BIN)/python -m build --quiet --wheel --outdir build/wheel .
	$(PYTHON) -m venv build/wheel-env
	build/wheel-env/bin/python -m pip install --quiet --disable-pip-version-check \
		-c constraints.txt build/wheel/*.whl
	cd build && wheel-env/bin/cpgnn --help && wheel-env/bin/cpgnn --version

# Known vulnerabilities of what is pinned; a note where no database can be reached.
audit: setup-dev
	-@$(PIP) pip-audit
	$(BIN)/python scripts/audit.py

# Every reader against 100,000 files that are almost right; goes on where it was stopped.
fuzz: setup-dev
	nice -n 19 $(BIN)/python benchmarks/fuzz/fuzz.py --inputs 100000
	rm -f benchmarks/results/steps.jsonl
	CPGNN_EVERY_STEP=benchmarks/results/steps.jsonl $(BIN)/python -m pytest -q \
		tests/run/test_every_step.py
	$(BIN)/python benchmarks/fuzz/summary.py

docs: setup-dev
	$(BIN)/mkdocs build --strict

# The pictures of docs/decision.md, by running the page itself.
pictures: setup-dev chromium
	OMP_NUM_THREADS=1 $(BIN)/python docs/pictures.py

bench: setup-dev
	$(PIP) -e '.[bench]'
	cd benchmarks && for part in epoch runs products fits scale million plots; do \
		../$(BIN)/python $$part.py || exit 1; done

# Everything: what is in results/ already is not run again. CPGNN_DATA names the graphs.
EXPERIMENTS := compatibility real synthetic ablation
reproduce: setup-dev
	for name in $(EXPERIMENTS); do $(BIN)/cpgnn reproduce $$name --workers 2 || exit 1; done
	$(MAKE) results-docs

# A slice of every experiment, from nothing, in about five minutes.
QUICK := build/quick
reproduce-quick: setup-dev
	rm -rf $(QUICK)
	$(BIN)/cpgnn reproduce synthetic --datasets h=0.0,h=0.9 --splits 0 \
		--methods CPGNN-MLP-1,GCN,MLP --results $(QUICK)
	$(BIN)/cpgnn reproduce ablation --datasets h=0.0 --splits 0 --results $(QUICK)
	$(BIN)/cpgnn reproduce compatibility --datasets h=0.0 --splits 0 --results $(QUICK)
	if [ -n "$$CPGNN_DATA" ]; then $(BIN)/cpgnn reproduce real --datasets texas --splits 0 \
		--results $(QUICK); fi
	for name in $(EXPERIMENTS); do $(BIN)/cpgnn table $$name --results $(QUICK) || exit 1; done
	$(BIN)/python scripts/paper/same_results.py $(QUICK) results

# The tables and figures of the docs, from results/.
results-docs: setup-dev
	$(BIN)/python scripts/paper/results_docs.py

# docs/commands.md, from the options of the commands.
commands-docs: setup-dev
	$(BIN)/python scripts/commands_docs.py

clean:
	rm -rf $(VENV) build site demo
