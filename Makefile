# Every target does its own set-up. `make` alone lists them.

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-thorough test-pure test-spark test-elastic test-versions lint format bench docs release lock clean

# Leftovers of the caller's shell would put other packages, another Spark or another Python under ours.
unexport PYTHONPATH PYTHONHOME VIRTUAL_ENV PYTHONDONTWRITEBYTECODE
unexport SPARK_HOME SPARK_CONF_DIR PYSPARK_PYTHON PYSPARK_DRIVER_PYTHON PYSPARK_SUBMIT_ARGS

BIN := .venv/bin
PURE_TESTS := src/streamshed benchmarks/streamshed_bench tests --ignore=tests/spark
# One session more than cores: tests that wait for a browser or a program leave a core free.
PURE_SESSIONS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
SPARK_TESTS := tests/spark
ELASTIC_TESTS := $(SPARK_TESTS)/elastic
# A thorough run of these measures times, and has the machine to itself.
APART := $(if $(filter thorough,$(HYPOTHESIS_PROFILE)),--ignore=$(ELASTIC_TESTS))
# Two keep two cores busy (tests/README.md). Each session may take 5 GiB, with the programs that it starts.
# The elastic course and trunks come first, whole: what is begun last should be short.
SPARK_SESSIONS ?= 2
BENCHMARKS ?= throughput overhead burst
BENCH_FOLDER ?= out/bench
BENCH_OPTIONS = $(if $(QUICK),--quick) $(if $(TRACE),--trace '$(TRACE)')
UV_COMPILE := uv pip compile --quiet --generate-hashes --universal --python-version 3.11 \
	--no-emit-index-url --no-annotate --no-header

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## create or update .venv (Python, Java and locked packages); PYTHON=/path chooses the interpreter
	@PYTHON='$(PYTHON)' bash scripts/setup.sh

demo: setup ## watch a network of queries survive a burst (at most four minutes)
	$(BIN)/streamshed demo

test: setup ## run the tests: doctests, unit and property tests, then those on Spark
	@bash scripts/parts.sh test test-pure test-spark

test-thorough: export HYPOTHESIS_PROFILE := thorough
test-thorough: setup ## run them with five times as many examples, and those that take long, too (hours)
	@bash scripts/parts.sh test-thorough test-pure test-spark test-elastic

test-pure: setup ## run the doctests, unit and property tests (no Spark)
	$(BIN)/python -m pytest --numprocesses $(PURE_SESSIONS) --dist worksteal $(PURE_TESTS)

test-spark: setup ## run the tests on Spark, in two sessions side by side; SPARK_SESSIONS=1 runs them one by one
	$(BIN)/python -m pytest --numprocesses $(SPARK_SESSIONS) --dist loadscope --no-loadscope-reorder $(APART) $(SPARK_TESTS)

test-elastic: setup ## run those of workers that come, go and die alone: a thorough run measures times
	$(BIN)/python -m pytest $(ELASTIC_TESTS)

test-versions: setup ## run the contract tests on each supported release of PySpark; VERSIONS="4.3.0" chooses
	@bash scripts/versions.sh $(VERSIONS)

lint: setup ## check style, format, types, the direction of dependencies and the licenses of packages
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache --no-logo
	$(BIN)/python scripts/licenses.py

format: setup ## format the sources and repair what ruff can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: setup ## run the benchmarks; BENCHMARKS="burst" chooses, QUICK=1 shortens, TRACE=FILE replays a trace
	@mkdir -p $(BENCH_FOLDER)
	@set -e; for name in $(BENCHMARKS); do \
		$(BIN)/streamshed bench $$name $(BENCH_OPTIONS) --json $(BENCH_FOLDER)/$$name.json; \
	done

docs: ## make the documentation a site with search and an API reference: out/site/index.html
	@bash scripts/docs.sh

release: setup ## make what is published: wheels, sources and the site, in dist
	@bash scripts/release.sh

lock: ## renew the lock files from pyproject.toml (needs uv)
	@command -v uv >/dev/null || { echo 'make lock needs uv: pipx install uv' >&2; exit 1; }
	$(UV_COMPILE) --group build --output-file requirements-build.lock
	$(UV_COMPILE) --group docs --output-file requirements-docs.lock
	$(UV_COMPILE) --group dev --output-file requirements.lock pyproject.toml

clean: ## remove the environment, caches and outputs
	rm -rf .venv .venv-docs .venv-pyspark-* .venv.lock .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis out build dist
	rm -rf spark-warehouse artifacts metastore_db derby.log src/*.egg-info benchmarks/*.egg-info benchmarks/build
	find src benchmarks tests -type d -name __pycache__ -prune -exec rm -rf {} +
