# up/down: Airflow with its UI. demo: an incident for it. run: everything end to end. test: every check. quick: the
# fast ones.
# bench, crash, full, mutants: the long ones.
PYTHON ?= python3
ENV = . build/env.sh &&

.PHONY: run up demo down test browser collected quick lint spec docs mutants bench bench-million crash full lock setup clean

setup:
	@$(PYTHON) include/setup/install.py

# Quick starts of small Spark jobs.
build/spark.jsa: include/mqops/spark_private.py include/mqops_demo/spark_archive.py | setup
	@$(ENV) python -m mqops_demo.spark_archive

run: setup build/spark.jsa
	@$(ENV) python -m mqops_demo.run

up: setup build/spark.jsa
	@$(ENV) python -m mqops_demo.estate up
	@$(ENV) python -m mqops_demo.airflow up

demo: setup
	@$(ENV) python -m mqops_demo.fill

# Builds nothing: what was never set up does not run.
down:
	@test -f build/env.sh || { echo "Airflow: was not running"; exit 0; }; \
	$(ENV) python -m mqops_demo.airflow down && python -m mqops_demo.estate down

# A worker that died is not replaced: pytest-xdist may give the new one nothing to do, and wait for it for ever.
test:
	@$(MAKE) --no-print-directory --jobs=4 --output-sync lint build/spark.jsa browser collected
	@$(ENV) python -m pytest --numprocesses 4 --max-worker-restart 0 --dist loadfile --no-loadscope-reorder --durations=15

# Every file compiled once: on a clean checkout each worker would do it for itself. `nice`: what Spark's archive and mypy,
# which take longest, leave of the processor.
collected: setup
	@$(ENV) nice python -m pytest --collect-only --quiet --quiet --quiet > build/collected 2>&1 || { cat build/collected; exit 1; }

# Chromium and its driver, for the browser tests.
browser:
	@$(PYTHON) include/setup/browser.py

# No Airflow, no Java, no killed processes, and no whole passes (tests/unit/mqops): before `make test`.
quick: lint
	@$(ENV) python -m pytest --numprocesses 2 --max-worker-restart 0 --dist loadfile tests/unit --ignore=tests/unit/mqops

lint: setup
	@$(ENV) ruff check .
	@$(ENV) ruff format --check .
	@$(ENV) djlint --lint --quiet plugins/mqops_airflow
	@$(ENV) mypy
	@$(ENV) lint-imports

docs: setup
	@$(ENV) python tests/house_picture.py
	@$(ENV) python tests/manual.py
	@$(ENV) python tests/made_tables.py

spec: setup
	@$(ENV) python tests/spec_table.py

mutants: setup
	@$(ENV) python tests/mutants.py --sample $(or $(SAMPLE),0) --seed $(or $(SEED),1) $(ROOM)

bench: setup
	@$(ENV) python tests/bench/run.py

bench-million: setup
	@$(ENV) python tests/bench/dlq_million.py

crash: setup build/spark.jsa
	@$(ENV) MQOPS_CRASH_MESSAGES=20000 MQOPS_CRASH_KILLS=20 MQOPS_CONNECT_KILLS=30 MQOPS_WORKFLOW_KILLS=100 MQLITE_KILLS=100 MQLITE_CRASH_KILLS=200 python -m pytest -o faulthandler_timeout=14400 tests/crash

full: crash
	@$(ENV) MQOPS_CONSUMER_MESSAGES=5000 MQOPS_EXPIRY_MESSAGES=20000 python -m pytest -o faulthandler_timeout=14400 \
		tests/unit/backout/test_consumer.py tests/unit/expiry/test_scan.py
	@$(ENV) MQOPS_CONSUMER_MESSAGES=50000 python -m pytest -o faulthandler_timeout=14400 \
		tests/unit/backout/test_consumer.py -k killed
	@$(ENV) PYTHONPATH=tests python -m pytest -p through_ibmmq -o faulthandler_timeout=14400 tests/unit/mqops tests/unit/backout \
		tests/unit/expiry tests/unit/trigger
	@$(ENV) MQOPS_YEAR_RUNS=10000 MQOPS_YEAR_BESIDE=100 python -m pytest -s -o faulthandler_timeout=14400 tests/crash/test_year.py
	@$(ENV) MQLITE_MACHINE_STEPS=10000 MQLITE_FUZZ_CASES=1000000 MQLITE_FUZZ=10000 python -m pytest -o faulthandler_timeout=14400 \
		tests/property/test_mqlite_machine.py tests/property/test_mqlite_fuzz.py tests/property/test_mqlite_admin_input.py
	@$(ENV) MQOPS_LEDGER_FUZZ=1000000 MQOPS_LEDGER_SEGMENTS=2000 MQOPS_LEDGER_KILLS=200 python -m pytest -o faulthandler_timeout=14400 \
		tests/property/test_ledger_fuzz.py tests/property/test_ledger_segments.py
	@$(ENV) folder=$$(mktemp -d) && python tests/golden_lake.py $$folder/site $$folder/this.tar.xz && \
		MQOPS_GOLDEN=$$folder/this.tar.xz python -m pytest -o faulthandler_timeout=14400 tests/unit/mqops/test_upgrade.py
	@$(ENV) MQOPS_SOAK_MESSAGES=10000 MQOPS_SOAK_TRIGGERER_KILLS=20 MQOPS_SOAK_SCHEDULER_KILLS=5 MQOPS_SOAK_ENDS=3 \
		python -m pytest -o faulthandler_timeout=14400 tests/e2e/test_trigger_soak.py
	@$(ENV) MQOPS_QUICK_ANSWERS=10 python -m pytest -o faulthandler_timeout=14400 tests/e2e/test_evening.py
	@$(ENV) MQOPS_POISON_EVENING=1 python -m pytest -s -o faulthandler_timeout=14400 tests/e2e/test_evening_of_poison.py
	@$(ENV) MQOPS_INSTALL=1 python -m pytest -s -o faulthandler_timeout=14400 tests/e2e/test_installed.py
	@$(ENV) MQOPS_SPARK_CLUSTER=1 python -m pytest -o faulthandler_timeout=14400 tests/e2e/test_spark_cluster.py
	@$(ENV) MQOPS_PAGES_AT_ONCE=40 MQOPS_PAGES_MESSAGES=1000000 MQOPS_PAGES_RUNS=100000 \
		python -m pytest -o faulthandler_timeout=14400 tests/dags/test_pages_load.py
	@$(ENV) MQOPS_RUNS=20000 python -m pytest -s -o faulthandler_timeout=14400 tests/dags/test_many_runs.py tests/dags/test_run_folder.py \
		tests/dags/test_runs_page.py
	@$(ENV) MQOPS_RUNS=100000 python -m pytest -s -o faulthandler_timeout=14400 tests/dags/test_runs_in_browser.py
	@$(ENV) MQLITE_LOAD_SECONDS=120 python -m pytest -o faulthandler_timeout=14400 tests/crash/test_mqlite_load.py
	@$(ENV) MQOPS_FUZZ_MESSAGES=1000000 MQOPS_FUZZ_CASES=100000 python -m pytest -o faulthandler_timeout=14400 \
		tests/property/test_message_fuzz.py tests/property/test_parser_fuzz.py
	@$(ENV) MQOPS_PAGES_EXAMPLES=1000 MQOPS_MARKUP_EXAMPLES=10000 python -m pytest -o faulthandler_timeout=14400 \
		tests/dags/test_text_on_pages.py tests/dags/test_markdown.py
	@$(ENV) MQOPS_TRIGGER_EXAMPLES=500 python -m pytest -o faulthandler_timeout=14400 tests/property/test_trigger_explain.py
	@$(ENV) MQOPS_RULES_PAIRS=100000 MQOPS_EXAMPLES=20 python -m pytest -o faulthandler_timeout=14400 \
		tests/property/test_rules_language.py tests/property/test_trigger_model.py tests/property/test_mqwire_structures.py \
		tests/property/test_mqwire_malformed.py tests/spark/test_rules_agree.py tests/spark/test_extensions_agree.py
	@$(ENV) MQOPS_QUALITY_MIXTURES=25 python -m pytest -o faulthandler_timeout=14400 tests/spark/test_quality.py \
		-k "same_is_found or kinds"
	@$(ENV) MQOPS_FILE_MESSAGES=50000 python -m pytest -o faulthandler_timeout=14400 tests/property/test_message_file.py

lock: setup
	@.tools/bin/uv lock --quiet
	@.tools/bin/uv export --quiet --frozen --no-emit-project --format requirements-txt --output-file requirements.lock

clean:
	rm -rf build var .venv .tools
