"""The DAG files: quick to import, no heavy library, one DAG a queue manager, wired so that proof always follows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from airflow.sdk import DAG, Param
from airflow.sdk.definitions.context import _AIRFLOW_PARSING_CONTEXT_DAG_ID
from airflow.sdk.exceptions import ParamValidationError
from airflow.serialization.serialized_objects import DagSerialization

from mqops.estate_workflows import AutoApprove
from mqops_airflow.forms import given, params

ROOT = Path(__file__).resolve().parents[2]
DAG_FILES = sorted((ROOT / "dags").glob("*.py"))
HEAVY = ("pyspark", "pymqi", "great_expectations", "pandas", "pyarrow")
FULL = """\
lake: lake
spark: spark_everywhere
queue_managers:
  QM1:
    connection: mq_qm1
    dlq_rules:
      queue: MY.DLQ
      rules: qm1.rules
      schedule: "*/15 * * * *"
      unit_of_work: 50
      approval:
        timeout: 90m
        four_eyes: true
        auto_approve: {actions: [RETRY, FWD], max_messages: 20}
  MVS/1:
    connection: mq_mvs1
    dlq_rules:
      rules: mvs1.rules
      approval: {required: false}
  IDLE:
    connection: mq_idle
"""


def test_a_task_makes_its_own_dag_only(dag_file: Any, estate_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (estate_folder / "estate.yaml").write_text(FULL)
    assert set(dags_of(dag_file("dlq_rules"))) == {"qm1_dlq_rules", "mvs-1_dlq_rules"}
    monkeypatch.setenv(_AIRFLOW_PARSING_CONTEXT_DAG_ID, "mvs-1_dlq_rules")  # as Airflow's task runner does
    assert set(dags_of(dag_file("dlq_rules"))) == {"mvs-1_dlq_rules"}


def test_there_are_dag_files() -> None:
    assert DAG_FILES


def test_import_is_clean_and_light() -> None:
    """One after the other in one process: starting Airflow takes far longer than any of them."""
    code = f"""
import json, runpy, sys
for path in {[str(path) for path in DAG_FILES]!r}:
    runpy.run_path(path)
    print(json.dumps([path, [name for name in {HEAVY!r} if name in sys.modules]]))
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    documents = [json.loads(line) for line in result.stdout.splitlines()[-len(DAG_FILES) :]]
    assert documents == [[str(path), []] for path in DAG_FILES]


def test_airflow_itself_imports_them_without_error(airflow_database: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "MQOPS_ESTATE"}
    command = [sys.executable, "-m", "airflow", "dags", "list-import-errors", "--local", "--output", "json"]
    result = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert result.returncode == 0, result.stderr
    assert "No data found" in result.stdout or json.loads(result.stdout.splitlines()[-1]) == []


def test_the_only_plugin_is_the_plugin_file() -> None:
    assert [path.name for path in (ROOT / "plugins").glob("*.py")] == ["mqops_plugin.py"]
    assert "mqops_airflow/" in (ROOT / "plugins" / ".airflowignore").read_text().splitlines()


def dags_of(module: Any) -> dict[str, DAG]:
    return {name: value for name, value in vars(module).items() if isinstance(value, DAG)}


def test_one_dag_for_each_queue_manager_with_the_workflow(dag_file: Any, estate_folder: Path) -> None:
    (estate_folder / "estate.yaml").write_text(FULL)
    dags = dags_of(dag_file("dlq_rules"))
    assert set(dags) == {dag.dag_id for dag in dags.values()} == {"qm1_dlq_rules", "mvs-1_dlq_rules"}
    assert {dag_id: dag.tags for dag_id, dag in dags.items()} == {
        "qm1_dlq_rules": {"mq", "dlq_rules", "QM1"},
        "mvs-1_dlq_rules": {"mq", "dlq_rules", "MVS/1"},
    }


def test_settings_of_the_estate_reach_the_dag(dag_file: Any, estate_folder: Path) -> None:
    (estate_folder / "estate.yaml").write_text(FULL)
    dag = dags_of(dag_file("dlq_rules"))["qm1_dlq_rules"]
    assert (dag.schedule, dag.catchup, dag.max_active_runs) == ("*/15 * * * *", False, 8)
    assert (dag.params["unit_of_work"], dag.params["queue"], dag.params["rules_file"]) == (50, "MY.DLQ", "qm1.rules")
    approve = dag.get_task("approve")
    assert (approve.response_timeout, approve.approval.four_eyes, approve.defaults) == (
        timedelta(minutes=90),
        True,
        ["Reject"],
    )
    assert dag.get_task("route").approval.auto_approve == AutoApprove(actions=("RETRY", "FWD"), max_messages=20)
    assert dag.get_task("observe").conn_id == "spark_everywhere"
    assert "at most 20 messages with only RETRY, FWD" in dag.doc_md


def test_documentation_follows_the_policy(dag_file: Any, estate_folder: Path) -> None:
    (estate_folder / "estate.yaml").write_text(FULL)
    assert "every other plan goes to *act*" in dags_of(dag_file("dlq_rules"))["mvs-1_dlq_rules"].doc_md


def test_wiring(dag_file: Any) -> None:
    (dag,) = dags_of(dag_file("dlq_rules")).values()
    assert {task.task_id: task.downstream_task_ids for task in dag.tasks} == {
        "check": {"observe"},
        "observe": {"decide"},
        "decide": {"route", "planned"},
        "route": {"approve", "act", "prove"},
        "approve": {"act"},
        "act": {"prove"},
        "prove": set(),
        "planned": set(),  # so that a run without a plan fails, though prove is skipped then
    }
    assert {task.task_id: task.trigger_rule.value for task in dag.tasks if task.trigger_rule != "all_success"} == {
        "act": "none_failed_min_one_success",
        "prove": "all_done",
    }


def test_a_snapshot_is_taken_once_also_if_its_task_is_cleared(dag_file: Any, all_workflows: Path) -> None:
    """Else a retry of `observe` fails because the run has its snapshot, and the run cannot go on."""
    found = [
        dag.get_task("observe")
        for path in DAG_FILES
        for dag in dags_of(dag_file(path.stem)).values()
        if "observe" in dag.task_ids
    ]
    workflows = ("dlq_rules", "backout_reprocess", "snapshot", "snapshot_quality")
    assert {task.dag_id for task in found} == {f"qm1_{one}" for one in workflows}
    assert all(task.once for task in found)


def test_the_dag_processor_can_send_each_dag(dag_file: Any, all_workflows: Path) -> None:
    """It encodes them for its parent by msgspec, which takes no class that is derived from `str`."""
    dags = [dag for path in DAG_FILES for dag in dags_of(dag_file(path.stem)).values()]
    assert len(dags) >= 9
    for dag in dags:
        assert msgspec.msgpack.encode(DagSerialization.to_dict(dag)), dag.dag_id


def test_chosen_messages_are_looked_for_behind_the_limit_of_the_form(dag_file: Any) -> None:
    """The limit is then one of the plan: the chosen messages may stand behind so many others."""
    (dag,) = dags_of(dag_file("dlq_rules")).values()
    form = {name: dag.params.get_param(name).resolve() for name in dag.params}
    asked = lambda **fields: given.DeadLetters.of({"params": form | fields}).arguments()  # noqa: E731
    chosen = asked(limit=1, message_ids=["ab" * 24])
    assert (chosen["observe_limit"], chosen["limit"], chosen["message_ids"]) == (0, 1, "AB" * 24)
    assert [asked(limit=limit)["observe_limit"] for limit in (None, 7)] == [0, 7]


def test_runs_by_hand_are_dry_unless_the_form_says_otherwise(dag_file: Any) -> None:
    (dag,) = dags_of(dag_file("dlq_rules")).values()
    assert dag.params["dry_run"] is True


@pytest.mark.parametrize(
    ("field", "good", "bad"),
    [
        ("dry_run", [True, False], ["yes", None]),
        ("rules_file", ["rules/a b.txt"], ["/etc/passwd", "../x", "a/../../b", "", None]),
        ("queue", [None, "A.B_C/D%1"], ["has blank", "x" * 49, ""]),
        ("limit", [None, 1, 999_999_999], [0, "5", 10**9, 10**30]),
        *((field, [0, 86_400], [-1, 86_401, 10**12]) for field in ("canary_wait", "patience")),
        *((field, [0, 999_999_999], [-1, 10**9, 10**30]) for field in ("canary", "pace", "in_flight")),
        ("message_ids", [[], ["0a" * 24]], [["0a"], "0a" * 24]),
        ("unit_of_work", [1, 4999], [0, 5000, None]),
    ],
)
def test_the_form_checks_its_fields(dag_file: Any, field: str, good: list[Any], bad: list[Any]) -> None:
    (dag,) = dags_of(dag_file("dlq_rules")).values()
    param = dag.params.get_param(field)
    for value in good:
        assert param.resolve(value) == value
    for value in bad:
        with pytest.raises(ParamValidationError):
            param.resolve(value)


@pytest.mark.parametrize(
    ("param", "value"),
    [
        (params.run(), "run-1"),
        (params.stopped_run(), "run-1"),
        (params.queue(None, what="all"), "A"),
        (params.queues([]), ["A*"]),
        (params.backout_queues([]), ["A"]),
        (params.generic_name(), "A*"),
        (params.suites([], []), ["a.yaml"]),
        (params.rules_file("", []), "a.rules"),
        (params.message_ids(), ["0a" * 24]),
        (params.why(), "why"),
    ],
)
def test_no_field_of_the_form_takes_a_line_end_behind_a_value(param: Param, value: str | list[str]) -> None:
    assert param.resolve(value) == value
    with pytest.raises(ParamValidationError):
        param.resolve(f"{value}\n" if isinstance(value, str) else [f"{value[0]}\n"])


def test_the_replay_cap_of_the_form_has_an_end_and_a_higher_one_of_the_estate_is_its_own() -> None:
    assert params.replay_cap(3).resolve(999_999_999) == 999_999_999
    with pytest.raises(ParamValidationError):
        params.replay_cap(3).resolve(10**30)
    assert params.replay_cap(10**10).resolve() == 10**10


def test_the_form_offers_the_tables_that_it_may_name(dag_file: Any, estate_folder: Path) -> None:
    (estate_folder / "rules").mkdir()
    (estate_folder / "rules" / "more.rules").write_text("ACTION(RETRY)\n")
    (dag,) = dags_of(dag_file("dlq_rules")).values()
    assert dag.params.get_param("rules_file").schema["examples"] == ["qm1.rules", "rules/more.rules"]


def test_schedules_can_be_held_back(dag_file: Any, estate_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (estate_folder / "estate.yaml").write_text(FULL)
    monkeypatch.setenv("MQOPS_SCHEDULES", "off")
    assert dags_of(dag_file("dlq_rules"))["qm1_dlq_rules"].schedule is None


def test_a_wrong_estate_is_an_import_error_with_its_lines(dag_file: Any, estate_folder: Path) -> None:
    from mqops.errors import SettingsError  # noqa: PLC0415

    (estate_folder / "estate.yaml").write_text(FULL.replace("unit_of_work: 50", "unit_of_work: 0"))
    with pytest.raises(SettingsError) as caught:
        dag_file("estate_errors")
    assert str(caught.value) == (
        f"{estate_folder}/estate.yaml:10: queue_managers.QM1.dlq_rules.unit_of_work: must be at least 1 (found 0)"
    )
