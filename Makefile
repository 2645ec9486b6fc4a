# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip install --disable-pip-version-check
# Two test processes: more only fight over the cores that torch and DuckDB already use.
PYTEST_ARGS ?= -n 2
# Their threads outnumber the cores. Those that wait must not spin, also where torch is loaded before gtea.
test: export OMP_WAIT_POLICY = PASSIVE

.PHONY: help setup demo test check format bench fuzz docs clean

help:  ## show this
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort

setup: $(VENV)/.installed $(VENV)/.kernels  ## make .venv and install gtea with all it needs

# The stamp is written last: an interrupted set-up is done again, a finished one never.
# Digests first, for all but torch, whose build differs by machine: what is then missing is torch and what it needs.
# No build isolation: it would fetch a setuptools that nobody has pinned.
$(VENV)/.installed: pyproject.toml constraints.txt constraints-hashes.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "gtea needs Python 3.11 or newer; pass PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	$(PIP) --quiet --require-hashes --no-deps --requirement constraints-hashes.txt
	$(PIP) --quiet --no-build-isolation --constraint constraints.txt --editable '.[dev]'
	find src -name '*.nb[ci]' -delete  # numba's caches of an earlier layout can't be read
	touch $@

# gtea works without the compiled kernels, only slower: no compiler is no reason to fail. What was built from older
# sources must not stay, though, neither installed nor in kernels/build, from where setuptools would pack it again.
$(VENV)/.kernels: $(VENV)/.installed $(wildcard kernels/*.* kernels/csrc/* kernels/src/gtea_kernels/*.py*)
	@echo "building the compiled kernels (half a minute)"
	@rm -rf kernels/build
	@$(PIP) --no-deps --no-build-isolation ./kernels > $(VENV)/kernels.log 2>&1 || { \
	  $(BIN)/pip uninstall --quiet --yes gtea-kernels 2> $(VENV)/kernels-uninstall.log; \
	  echo "note: the compiled kernels could not be built, and gtea runs on PyTorch alone;"; \
	  echo "      $(VENV)/kernels.log says why. To try again: rm $(VENV)/.kernels && make setup"; }
	@touch $@

demo: setup  ## run the main job on generated payments
	$(BIN)/gtea demo --out demo

# The floors: all of gtea, and what must never be wrong.
FLOOR := 92
SACRED := src/gtea/tasks/metrics.py,src/gtea/store/view.py,src/gtea/runtime/files.py,src/gtea/sampling/neighbours.py

# A server that speaks S3, for tests: in an environment of its own, because it needs older versions of what others pin.
.s3/.installed: tests/s3-server.txt
	$(PYTHON) -m venv .s3
	.s3/bin/pip install --disable-pip-version-check --quiet --require-hashes --no-deps --requirement tests/s3-server.txt
	touch $@

test: setup .s3/.installed  ## run the whole test suite, with branch coverage and its floors
	$(BIN)/python -m pytest $(PYTEST_ARGS) --cov --cov-report=
	@echo "covered, in % (the floor is $(FLOOR)):"
	@$(BIN)/python -m coverage report --format=total --fail-under=$(FLOOR)
	$(BIN)/python -m coverage report --fail-under=100 --include=$(SACRED)

check: setup  ## lint, format, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: setup  ## fix what can be fixed automatically
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: setup  ## a short form of every benchmark in under ten minutes; BENCH_JSON=file saves the results
	$(BIN)/python benchmarks/bench_all.py $(if $(BENCH_JSON),--json $(BENCH_JSON))

fuzz: setup  ## mutated inputs for MINUTES=1, other ones with SEED=1; REPLAY=folder repeats a finding
	$(BIN)/python -m tests.fuzz.campaign $(if $(REPLAY),--replay $(REPLAY),--minutes $(or $(MINUTES),1) --seed $(or $(SEED),0))

docs: setup  ## build the documentation site into site/, offline and strictly
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

clean:  ## remove everything that was made
	rm -rf $(VENV) .s3 demo site fuzz-findings kernels/build kernels/src/*.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage*
	find src -name "*.nb[ci]" -delete
