# Three commands to know: `make demo`, `make test`, and `make quick` after every edit. Each sets up what it needs in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
# Worker processes of the tests, one thread each, one more than two cores because some tests wait for servers and browsers. Each takes
# a third of the tests in their order, so that those of one file share what they set up, and the half of another's rest when it is done.
# A test that ends its worker is one failure: this way of sharing gives the rest to a new worker, where others repeat that test or stop.
WORKERS ?= 3
# What matrix, fuzz and truth find is kept and written into docs/reliability.md, and faults still end make with an error.
RELIABILITY = --lines benchmarks/results/reliability.jsonl; code=$$?; $(BIN)/python -m tools.reliability_page; exit $$code
PYTEST = $(BIN)/python -m pytest --numprocesses $(WORKERS) --dist worksteal --max-worker-restart 1000

export OMP_NUM_THREADS ?= 1
export TOKENIZERS_PARALLELISM ?= false
export HF_HUB_OFFLINE ?= 1
# Else every worker, and every process that a test starts, would compile the house again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test quick check bench peers llm soak soak-page soak-answers soak-trees zoo matrix fuzz truth cpus trace site outputs notebooks commands release-check oldest clean golden house wording

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# torch comes first and by its exact version, so that no other package pulls a build with gigabytes of CUDA.
$(VENV)/demo.done: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) "torch==2.13.0"
	$(PIP) --editable ".[text,data,serve]"
	@touch $@

$(VENV)/test.done: pyproject.toml papers/pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) "torch==2.13.0"
	$(PIP) --editable ".[test]" --editable ./papers
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null \
	  || (apt-get update -qq && apt-get install -y -qq chromium) >/dev/null 2>&1 \
	  || echo "chromium is not here and could not be installed: the browser tests will be skipped, and say so at the end"
	@touch $@

$(VENV)/bench.done: $(VENV)/test.done
	$(PIP) --editable ".[bench]"
	@touch $@

$(VENV)/docs.done: papers/pyproject.toml $(VENV)/demo.done
	$(PIP) --editable ".[docs]" --editable ./papers
	@touch $@

demo: $(VENV)/demo.done  ## a first answer on the terminal and as a page
	$(BIN)/accredit explain "A superb, funny and moving film." --html explanation.html

test: $(VENV)/test.done  ## every test, docstring and README example
	$(PYTEST)

quick: $(VENV)/test.done  ## what a minute can tell: no test of a fifth of a second or more, no docstrings, no other processes, no browser, no papers
	$(PYTEST) --numprocesses 2 -m "not slow and not server and not browser and not llm" tests --ignore=tests/web --ignore=tests/papers

check: $(VENV)/test.done  ## what a change must pass: lint, types, tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(PYTEST)

bench: $(VENV)/bench.done  ## measure against the peers; each keeps one JSON line, and docs/benchmarks.md draws them
	$(BIN)/python -m benchmarks.shapley
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.estimation
	$(BIN)/python -m benchmarks.flow
	$(BIN)/python -m benchmarks.explain
	$(BIN)/python -m benchmarks.answers
	$(BIN)/python -m benchmarks.valuation
	$(BIN)/python -m benchmarks.arena
	$(BIN)/python -m benchmarks.tables --large
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.one_row
	$(BIN)/python -m benchmarks.beside
	$(BIN)/python -m tools.benchmarks_page

peers: $(VENV)/test.done  ## which peers are behind their newest version, and which figures are older than their code; MAKE_PEERS=--make makes their environments first
	$(BIN)/python -m benchmarks.peers $(MAKE_PEERS)

llm: $(VENV)/test.done  ## a real language model for tests, benchmarks and calibration: 538 MB, kept outside of this folder
	$(BIN)/python -m tools.language_model

soak: $(VENV)/test.done  ## kill journalled runs 500 times, alone and in pairs, and compare what they resume to
	$(BIN)/python tools/soak_journal.py --trials 500

soak-page: $(VENV)/test.done  ## ten minutes of requests to the page beside 1,100 sockets that never finish theirs
	$(BIN)/python -m benchmarks.serve --minutes 10

soak-answers: $(VENV)/test.done  ## ten minutes of answers of a real language model on the page, some left in the middle, its process killed now and then
	$(BIN)/python -m benchmarks.serve --minutes 10 --model "$$($(BIN)/python -m tools.language_model)"

soak-trees: $(VENV)/test.done  ## exact credit of 200 random ensembles of every family against all coalitions
	ACCREDIT_ENSEMBLES=200 $(BIN)/python -m pytest tests/trees/test_brute_force.py

zoo: $(VENV)/test.done  ## several hundred ordinary models of four libraries, each explained and held to what others say
	$(BIN)/python -m tools.zoo

matrix: $(VENV)/test.done  ## every public call and every command with every kind of bad value
	$(BIN)/python -m tools.matrix --show $(RELIABILITY)

fuzz: $(VENV)/test.done  ## damaged and random input, more than a million executions
	$(BIN)/python -m tools.fuzz $(RELIABILITY)

truth: $(VENV)/test.done  ## axioms on 50,000 games, coverage of intervals, flows on 2,000 graphs, claims under attack
	$(BIN)/python -m tools.truth $(RELIABILITY)

cpus: $(VENV)/test.done  ## the numeric tests as other CPUs would compute them, and with other sizes of model passes
	$(BIN)/python -m tools.cpus --workers 2

golden: $(VENV)/test.done  ## results bit by bit: recorded the first time, compared from then on; rm -r out/golden to record anew
	$(BIN)/python -m tools.golden $(if $(wildcard out/golden/about.json),compare,record) out/golden --jobs 2

wording: $(VENV)/test.done  ## what errors say, written into tests/wording.json; its diff shows which sentences changed
	$(PYTEST) --rewrite-wording $$( (grep -rl "from tests.wording import" tests --include="test_*.py"; \
	  grep -o "tests/[a-z_/]*\.py" tests/wording.json | xargs ls 2>/dev/null) | sort -u)

house: $(VENV)/test.done  ## size, names, repeats and distances of the code, in one table
	$(BIN)/python -m tools.house

trace: $(VENV)/test.done  ## plant facts in a language model's texts and find the text behind each answer
	$(BIN)/python tools/trace_planted_facts.py

site: $(VENV)/docs.done  ## the documentation site, into out/site; look at it with python -m http.server --bind 127.0.0.1 --directory out/site
	PYTHONPATH=. DISABLE_MKDOCS_2_WARNING=true NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

outputs: $(VENV)/test.done  ## what the blocks of tutorials and concept pages print and draw, for the site, into docs/site/outputs
	$(BIN)/python -m tools.tutorial_outputs

notebooks: $(VENV)/test.done  ## the tutorials as notebooks, each cell run, into out/notebooks
	$(BIN)/python -m tools.notebooks --run --out out/notebooks

commands: $(VENV)/test.done  ## every command that the README and the docs write, run as it stands where it can be
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m tools.docs_commands

release-check: $(VENV)/docs.done  ## build the wheels and try each extra of them in an empty environment, on every Python found here
	$(BIN)/python tools/release_check.py --lines benchmarks/results/wheels.jsonl; code=$$?; $(BIN)/python -m tools.wheel_page; exit $$code

oldest: $(VENV)/docs.done  ## the same with the lowest versions that are allowed, on the oldest Python
	$(BIN)/python tools/release_check.py --oldest --lines benchmarks/results/wheels.jsonl; code=$$?; $(BIN)/python -m tools.wheel_page; exit $$code

clean:
	rm -rf $(VENV) build dist out
