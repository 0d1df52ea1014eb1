# run: everything end to end. up/down: Airflow with its UI. test: every check. bench, crash: the long ones.
PYTHON ?= python3
ENV = . build/env.sh &&

.PHONY: run up down test lint spec bench crash lock setup clean

setup:
	@$(PYTHON) include/setup/install.py

run: setup
	@$(ENV) python -m mqops_demo.run

up: setup
	@$(ENV) python -m mqops_demo.estate up
	@$(ENV) python -m mqops_demo.airflow up

down: setup
	@$(ENV) python -m mqops_demo.airflow down
	@$(ENV) python -m mqops_demo.estate down

test: lint
	@$(ENV) python -m pytest

lint: setup
	@$(ENV) ruff check .
	@$(ENV) ruff format --check .
	@$(ENV) mypy
	@$(ENV) lint-imports

spec: setup
	@$(ENV) python tests/spec_table.py

bench: setup
	@$(ENV) python tests/bench/run.py

crash: setup
	@$(ENV) MQOPS_CRASH_MESSAGES=20000 MQOPS_CRASH_KILLS=20 python -m pytest tests/crash

lock: setup
	@.tools/bin/uv lock --quiet
	@.tools/bin/uv export --quiet --frozen --no-emit-project --format requirements-txt --output-file requirements.lock

clean:
	rm -rf build var .venv .tools
