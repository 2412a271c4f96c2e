# Two commands do everything on a fresh machine: `make demo` and `make test`.
# The demo installs what it needs, tests and lint what `make setup` installs; neither does anything a second time.

# The first of these that the frameworks support; another one with `make PYTHON=... setup`.
PYTHON ?= $(or $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))' 2>/dev/null && echo $$p && break; \
	done),python3)
BIN := .venv/bin
CHECKED := conftest.py src adapters packages tests scripts $(wildcard benchmarks)
# More arguments for pytest, the demo or the benchmark: make test ARGS="tests/unit -x"
ARGS ?=

# The frameworks' own telemetry stays off, and a bug of ours is raised instead of logged. OTEL_SDK_DISABLED
# would switch our spans off too, so it is taken out of the environment; PYTHONDONTWRITEBYTECODE would let each of the
# processes that tests start compile the library anew.
TEST_ENV := env -u OTEL_SDK_DISABLED -u PYTHONDONTWRITEBYTECODE OMP_NUM_THREADS=1 CREWAI_DISABLE_TELEMETRY=true \
	CREWAI_TRACING_ENABLED=false CREWAI_DISABLE_VERSION_CHECK=true \
	AUTOGEN_DISABLE_RUNTIME_TRACING=true TRACER_HOOKS_STRICT=1

# All tests run on several cores, some tests in one process: workers take longer to start than a file takes to run.
WORKERS := $(if $(ARGS),,-n auto --dist loadfile)

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-all backends coverage test-oldest test-newest test-python fuzz lint format bench docs build release-check lock licenses sbom clean

help: ## List these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## Create .venv and install everything that tests and lint need; a no-op when nothing changed
	@$(PYTHON) scripts/setup_venv.py dev

demo: ## Run a failing team in each framework: trace, diagnose, repair, report
	@$(PYTHON) scripts/setup_venv.py demo
	@$(BIN)/tracer-hooks demo $(ARGS)

test: setup ## Run the tests, all but the slow ones
	@$(TEST_ENV) $(BIN)/python -m pytest $(WORKERS) -m "not slow" $(ARGS)

test-all: setup ## Run all tests; those with a real Phoenix or MLflow where these can be installed
	-@$(PYTHON) scripts/backends.py
	@$(TEST_ENV) $(BIN)/python -m pytest $(WORKERS) $(ARGS)

backends: ## Install Phoenix and MLflow for the slow tests that start them, each in an environment of its own
	@$(PYTHON) scripts/backends.py

coverage: setup ## Run the tests, all but the slow ones, and print which branches of the code they never take
	@$(BIN)/coverage erase
	@$(TEST_ENV) $(BIN)/coverage run -m pytest $(WORKERS) -m "not slow" $(ARGS)
	@$(BIN)/coverage combine --quiet
	@$(BIN)/coverage report

fuzz: setup ## Damaged inputs for every reader: make fuzz ARGS="--seconds 3600 --seed 7 --format otlp"
	@$(TEST_ENV) $(BIN)/python -m tests.fuzz $(ARGS)

test-oldest: ## Run tests on the lowest versions that the pyproject files allow; ARGS="crewai" for one set
	@$(TEST_ENV) $(PYTHON) scripts/test_oldest.py $(ARGS)

test-newest: ## Run the unit tests on the newest versions that the pyproject files allow, without PyTorch
	@$(TEST_ENV) $(PYTHON) scripts/test_python.py --newest $(ARGS)

test-python: ## Run the unit tests with another Python, without PyTorch: make test-python PYTHON=python3.12
	@$(TEST_ENV) $(PYTHON) scripts/test_python.py $(ARGS)

lint: setup ## Check style, formatting, types, layers, sizes and patterns
	@$(BIN)/ruff check $(CHECKED)
	@$(BIN)/ruff format --check $(CHECKED)
	@$(BIN)/mypy
	@$(BIN)/lint-imports --config .importlinter
	@$(BIN)/python scripts/check_structure.py
	@$(BIN)/python scripts/check_patterns.py

format: setup ## Format the code and fix what can be fixed
	@$(BIN)/ruff check --fix-only --quiet $(CHECKED)
	@$(BIN)/ruff format $(CHECKED)

bench: ## Measure the overhead beside the OpenInference and OpenLLMetry instrumentors
	@$(PYTHON) scripts/setup_venv.py bench
	@$(BIN)/python benchmarks/overhead.py $(ARGS)

docs: ## Build the documentation into site/
	@$(PYTHON) scripts/setup_venv.py docs
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

build: ## Build every distribution into dist/: make build REPOSITORY=https://...; needs a package index
	@REPOSITORY="$(REPOSITORY)" $(PYTHON) scripts/build.py

release-check: ## Say what is not ready for a release: make release-check TAG=v1.2.3
	@$(PYTHON) scripts/release_check.py "$(TAG)"

lock: ## Write requirements/ anew from the pyproject files and constraints.txt; needs uv
	@$(PYTHON) scripts/lock.py

licenses: setup ## Write THIRD_PARTY_LICENSES anew from what is installed; needs uv
	@$(BIN)/python scripts/licenses.py

sbom: ## Write a bill of materials into dist/ with cyclonedx-py; needs a package index
	@$(PYTHON) scripts/sbom.py

clean: ## Remove .venv and everything that was built
	rm -rf .venv .venv-oldest .venv-python .backends site dist build .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .coverage .coverage.*
	find src adapters tests benchmarks scripts -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
