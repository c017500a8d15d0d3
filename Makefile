# Two commands to know: `make demo` and `make test`. Each sets up everything it needs in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

export OMP_NUM_THREADS ?= 1
export TOKENIZERS_PARALLELISM ?= false
export HF_HUB_OFFLINE ?= 1

.PHONY: demo test check bench soak trace clean

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# torch comes first and by its exact version, so that no other package pulls a build with gigabytes of CUDA.
$(VENV)/demo.done: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) "torch==2.13.0"
	$(PIP) --editable ".[text,data]"
	@touch $@

$(VENV)/test.done: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) "torch==2.13.0"
	$(PIP) --editable ".[test]"
	@command -v chromium >/dev/null || (apt-get update -qq && apt-get install -y -qq chromium) >/dev/null 2>&1 \
	  || echo "chromium is not here and could not be installed: the browser tests will be skipped"
	@touch $@

$(VENV)/bench.done: $(VENV)/test.done
	$(PIP) --editable ".[bench]"
	@touch $@

demo: $(VENV)/demo.done  ## a first answer on the terminal and as a page
	$(BIN)/accredit explain "A gripping, beautifully shot film that never quite lands." --html explanation.html

test: $(VENV)/test.done  ## every test, docstring and README example
	$(BIN)/python -m pytest

check: $(VENV)/test.done  ## what a change must pass: lint, types, tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest

bench: $(VENV)/bench.done  ## measure against the peers; each ends with one JSON line
	$(BIN)/python -m benchmarks.shapley
	$(BIN)/python -m benchmarks.flow
	$(BIN)/python -m benchmarks.explain
	$(BIN)/python -m benchmarks.valuation
	$(BIN)/python -m benchmarks.arena

soak: $(VENV)/test.done  ## kill a journalled run 200 times and compare what it resumes to
	$(BIN)/python tools/soak_journal.py --trials 200

trace: $(VENV)/test.done  ## plant facts in a language model's texts and find the text behind each answer
	$(BIN)/python tools/trace_planted_facts.py

clean:
	rm -rf $(VENV) build dist out
