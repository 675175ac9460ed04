# make setup   .venv with everything, .venv/bin/satura, Java found or installed
# make demo    generate a university, close it, show what was inferred and why
# make test    all tests          make check   format, lint, types, import order
# make soak    full-size tests    make bench   Satura beside its peers
# make bench-updates  updates beside a full materialization
# make bench-stream   a stream beside closing again at every batch
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

.PHONY: setup demo test check soak bench bench-updates bench-stream lock clean
.DEFAULT_GOAL := setup

setup: $(STAMP)

$(STAMP): requirements.lock pyproject.toml scripts/ensure-java
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed: $$($(PYTHON) --version) found; set PYTHON=python3.11"; exit 1; }
	@sh scripts/ensure-java
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	$(BIN)/satura warm-up
	@touch $@

demo: setup
	@sh examples/demo.sh

test: setup
	$(BIN)/python -m pytest -m 'not soak' -n 2 --dist loadgroup

soak: setup
	$(BIN)/python -m pytest -m soak -s

check: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest tests/architecture

bench: setup .venv-bench/.installed
	.venv-bench/bin/python benchmarks/run.py

bench-updates: setup .venv-bench/.installed
	.venv-bench/bin/python benchmarks/updates.py

bench-stream: setup
	$(BIN)/python benchmarks/stream.py

# The peers have an environment of their own: some want older libraries than Satura does.
.venv-bench/.installed: benchmarks/requirements.lock
	$(PYTHON) -m venv .venv-bench
	.venv-bench/bin/pip install --quiet --disable-pip-version-check -r benchmarks/requirements.lock
	@touch $@

# Writes the locks again; needs `uv` (pip install uv).
lock:
	uv pip compile --quiet --universal --python-version 3.11 --no-emit-index-url --no-header \
	  --extra dev --extra build -o requirements.lock pyproject.toml
	uv pip compile --quiet --universal --python-version 3.11 --no-emit-index-url --no-header \
	  -o benchmarks/requirements.lock benchmarks/requirements.in

clean:
	rm -rf $(VENV) .venv-bench .demo .bench build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
