# Set-up is done once per change of pyproject.toml or constraints.txt; the stamp file says so.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV ?= .venv
DATA ?= simulated
OUT ?= out/model.onnx
FIT_ARGS ?=
BENCH_DATA ?=
TEST_ARGS ?=
# Further arguments of pip install, e.g. --extra-index-url for PyTorch's CPU wheels (README).
PIP_ARGS ?=

BIN := $(VENV)/bin
STAMP := $(VENV)/.ready
# pip of a known version: the one inside a fresh venv is as old as its Python.
PIP_VERSION := 26.1
ROOMS := data features train serve eval configs models cli
# mypy follows no editable install; a folder of links shows it the packages under their real names.
TYPING := $(VENV)/typing

.DEFAULT_GOAL := help
.PHONY: help setup fit test test-slow lint bench wheel clean

help: ## this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(STAMP): pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "error: no python3 found; make PYTHON=/path/to/python3.11" >&2; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "error: $(PYTHON) is older than 3.11; make PYTHON=/path/to/python3.11" >&2; exit 2; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check pip==$(PIP_VERSION)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(PIP_ARGS) \
		-c constraints.txt -e '.[test]'
	mkdir -p $(TYPING)/memvalue
	for room in $(ROOMS); do ln -sfn "$(CURDIR)/$$room" $(TYPING)/memvalue/$$room; done
	touch $@

setup: $(STAMP) ## create .venv with everything installed

fit: $(STAMP) ## fit on the embedded corpus (DATA=, OUT=, FIT_ARGS= for others)
	$(BIN)/memvalue fit --data '$(DATA)' --out '$(OUT)' $(FIT_ARGS)

lint: $(STAMP) ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	cd $(TYPING) && MYPYPATH=. "$(abspath $(BIN))/mypy" --config-file "$(CURDIR)/pyproject.toml" \
		--cache-dir "$(CURDIR)/.mypy_cache" --namespace-packages --explicit-package-bases \
		-p memvalue.features -p memvalue.serve

test: lint ## lint, then the everyday tests
	$(BIN)/python -m pytest -m 'not slow' $(TEST_ARGS)

test-slow: $(STAMP) ## the slow tests
	$(BIN)/python -m pytest -m slow $(TEST_ARGS)

bench: $(STAMP) ## time scan, extraction, fits, runtime, stream and history (BENCH_DATA=longmemeval:PATH)
	@test -n "$(BENCH_DATA)" || { echo "error: name the data: make bench BENCH_DATA=longmemeval:PATH.json" >&2; exit 2; }
	mkdir -p out
	set -e; for job in scan extract fit runtime stream; do echo "== $$job"; OMP_NUM_THREADS=1 \
		$(BIN)/python benchmarks/$$job.py --data '$(BENCH_DATA)' --out out/$$job.json; done
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/history.py --out out/history.json

wheel: $(STAMP) ## build the distribution into dist/
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .

clean: ## remove what make made
	rm -rf $(VENV) out build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
