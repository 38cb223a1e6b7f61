# The front door; `make help` lists the targets. docs/setup.md has the details.
#
# PYTHON=python3.12 make setup    another interpreter for .venv
# make report CORES=4 ARGS="--config repeats=20"    what Snakemake gets beside the defaults

VENV := .venv
BIN := $(VENV)/bin
CORES ?= all
ARGS ?=
QUICK := not slow and not gpu and not cluster

.DEFAULT_GOAL := help
.PHONY: help setup setup-cluster pycuda report test test-slow test-cluster lint types doctor lock clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-13s %s\n", $$1, $$2}' Makefile

setup: ## .venv with exactly what requirements.lock pins; does nothing when it is up to date
	@PYTHON='$(PYTHON)' scripts/setup.sh

setup-cluster: setup ## Snakemake's executors for Slurm and other batch systems
	@scripts/setup-cluster.sh

pycuda: setup ## build PyCUDA once more, on a machine with a GPU
	@scripts/install-pycuda.sh

report: setup ## the full reproduction: results/report.md, charts, both Parquet files
	@scripts/unlock-stale.sh
	$(BIN)/snakemake --cores $(CORES) $(ARGS)
	@echo "the report: results/report.md"

test: setup ## the quick tests
	$(BIN)/python -m pytest -n auto --maxprocesses 8 -m '$(QUICK)' $(ARGS)

test-slow: setup ## the tests that take minutes
	$(BIN)/python -m pytest -n auto --maxprocesses 8 -m 'slow and not gpu and not cluster' $(ARGS)

test-cluster: setup-cluster ## the tests on a throw-away Slurm; as root, with Debian's packages of it
	$(BIN)/python -m pytest -m cluster tests/cluster $(ARGS)

lint: setup ## ruff, snakefmt and Snakemake's own linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/snakefmt --check Snakefile workflow
	$(BIN)/snakemake --lint

types: setup ## mypy
	$(BIN)/mypy

doctor: setup ## what this machine has and lacks
	@$(BIN)/probelab doctor

lock: ## write the lock files anew from pyproject.toml; UPGRADE=1 takes newer versions
	@UPGRADE='$(UPGRADE)' PYTHON='$(PYTHON)' scripts/lock.sh

clean: ## remove results and logs; .venv and the store (.cache) stay
	rm -rf results logs .snakemake .mypy_cache .ruff_cache .pytest_cache
