# Everything that a person types. Needs Python 3.11 or newer and make; the rest is installed into .venv.

# The first that is new enough and runs; without one, python3, and deploy/bootstrap.py says what to do.
PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && exit; done; echo python3)
BIN := .venv/bin

.PHONY: run test test-all lint lint-format lint-rules lint-types lint-imports lint-migrations format audit spec bench profile campaign storm topology bench-retrieval bench-sandbox bench-guardrails bench-admin bench-size simulate bench-redaction eval lock messages pictures vendor install install-dev clean

run: install  ## Sets everything up, then serves: PORT=8000, DATA_DIR=var
	@exec $(BIN)/python manage.py up $(if $(PORT),--port $(PORT)) $(if $(RUNNERS),--runners $(RUNNERS))

install:
	@"$(PYTHON)" deploy/bootstrap.py

install-dev:
	@"$(PYTHON)" deploy/bootstrap.py --dev

test: install-dev  ## Sets everything up, then runs every test that is not slow
	@sh deploy/install-apt.sh
	@mkdir -p var
	$(BIN)/pytest -n 4 --dist loadgroup --record-to=var/tests.json $(ARGS)

test-all:  ## Every test, the slow ones as well: several times as long
	@$(MAKE) test ARGS="--slow $(ARGS)"

lint: lint-format lint-rules lint-types lint-imports lint-migrations  ## Format, lint, types, import contracts, migrations

lint-format: install-dev
	$(BIN)/ruff format --check .

lint-rules: install-dev
	$(BIN)/ruff check .

lint-types: install-dev
	$(BIN)/mypy

lint-imports: install-dev
	$(BIN)/lint-imports --no-cache

lint-migrations: install-dev
	ENV_FILE=/dev/null DATA_DIR=/nonexistent $(BIN)/python manage.py makemigrations --check --dry-run

format: install-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

audit: install-dev  ## What is installed: locked, as locked, and without known holes (for that it asks the net)
	@$(BIN)/python -m deploy.audit

spec:  ## A line for each requirement: S41  passed  tests/…::test_…
	@"$(PYTHON)" deploy/spec.py

bench: install-dev  ## What it costs and how fast it is, beside others, which it installs: ARGS="--only first_token --peers none"
	@mkdir -p var/bench
	@$(BIN)/python benchmarks/run.py $(ARGS)

profile: install-dev  ## The ten most costly lines of runner and web process: ARGS="--turns 160 --streams 8 --seconds 15"
	@$(BIN)/python -m benchmarks.profile $(ARGS)

campaign: install-dev  ## What breaks a whole town of processes on purpose, and a tiny storm: minutes, and it wants the machine for itself
	@sh deploy/install-apt.sh
	$(BIN)/pytest --campaign -p no:xdist $(ARGS)

storm: install-dev  ## Breaks everything at random over a house of its own: ARGS="--minutes 60 --seed 7"
	@$(BIN)/python -m tests.storm $(ARGS)

topology: install  ## Two web servers, two workers, Postgres, Redis and nginx on this machine: ARGS="--isolated" PORT=8080
	@exec $(BIN)/python -m deploy.topology $(or $(VERB),up) $(NAME) $(ARGS)

bench-retrieval: install-dev  ## How well it finds, on the collections in BENCH_DATA=/path/to/collections
	@mkdir -p var/bench
	@$(BIN)/python -m benchmarks.retrieval $(ARGS)

bench-sandbox: install-dev  ## Hostile programs of BENCH_DATA=/path/to/data, each in a sandbox, and what a sandbox costs
	@mkdir -p var/bench
	@$(BIN)/python -m benchmarks.sandbox_start $(ARGS)

bench-guardrails: install-dev  ## Attacks found, false alarms and cost of the scanners of questions and calls, on the collections in BENCH_DATA=/path/to/data
	@mkdir -p var/bench
	@$(BIN)/python -m benchmarks.guardrails $(ARGS)

bench-admin: install-dev  ## How long each list of the admin takes with a million rows
	@mkdir -p var/bench
	@$(BIN)/python -m benchmarks.admin_lists $(ARGS)

bench-size: install-dev  ## Pages, runners and jobs with 10 million events, against nearly empty: ARGS="--events 1000000"
	@mkdir -p var/bench
	@$(BIN)/python -m benchmarks.size $(ARGS)

simulate: install-dev  ## What so many people need, from what the parts cost: ARGS="--measure --users 10000"
	@mkdir -p var/bench
	@$(BIN)/python -m benchmarks.simulation $(ARGS)

bench-redaction: install-dev  ## What is taken out of streamed answers, in BENCH_DATA=/path/to/collections, and what it costs
	@mkdir -p var/bench
	@$(BIN)/python -m benchmarks.redaction $(ARGS)

eval: install-dev  ## The evaluation cases against a model: ARGS="--model openai/gpt-5.4 --suite routing"
	@$(BIN)/python -m evals.run $(ARGS)

UV_LOCK := $(BIN)/uv pip compile -q --universal --generate-hashes --python-version 3.11 --no-header --no-annotate pyproject.toml --extra local

lock: install-dev  ## Locks what pyproject.toml asks for
	$(UV_LOCK) -o requirements.txt
	$(BIN)/uv pip compile -q --universal --generate-hashes --python-version 3.11 --no-header --no-annotate \
		deploy/sandbox/requirements.in -o deploy/sandbox/requirements.txt
	$(UV_LOCK) --group dev --group bench -c requirements.txt -o requirements-dev.txt

messages: install-dev  ## Collects the texts of code and pages into locale/, compiles them, and says what is not translated
	@$(BIN)/python -m deploy.messages $(ARGS)

pictures: install-dev  ## Takes the pictures of the README anew
	@$(BIN)/python -m tests.page.pictures

vendor:  ## Makes static/vendor from the npm packages that deploy/vendor-js locks; for who develops the page
	cd deploy/vendor-js && npm ci && npm run build

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
