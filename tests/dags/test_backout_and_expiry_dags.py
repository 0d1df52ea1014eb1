"""The DAGs of backout reprocessing and of expiry: one a queue manager that has the workflow, form, wiring, page."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk import DAG
from explain_support import queue_manager

from mqops.errors import MQError
from mqops.estate import parse
from mqops_airflow.notices import outcome_text

ESTATE = """\
lake: lake
queue_managers:
  QM1:
    connection: mq_qm1
    backout_reprocess:
      rules: back.rules
      quarantine: QUARANTINE
      schedule: "@hourly"
      replay_cap: 5
      approval: {auto_approve: {actions: [RETRY], max_messages: 20}}
    expiry_scan:
      interval: 15m
      queues: [PAYMENTS.*]
      recheck: 2h
  MVS/1:
    connection: mq_mvs1
    spark: spark_other
    backout_reprocess: {rules: back.rules, quarantine: Q, queues: [A.BOQ, B.BOQ]}
    expiry_scan: {}
  IDLE:
    connection: mq_idle
"""
PIPELINE = {
    "check": {"observe"},
    "observe": {"decide"},
    "decide": {"route", "planned"},
    "route": {"approve", "act", "prove"},
    "approve": {"act"},
    "act": {"prove"},
    "prove": set(),
    "planned": set(),
}


def dags_of(dag_file: Any, folder: Path, name: str) -> dict[str, DAG]:
    (folder / "estate.yaml").write_text(ESTATE)
    return {dag.dag_id: dag for dag in vars(dag_file(name)).values() if isinstance(dag, DAG)}


@pytest.fixture
def backout(dag_file: Any, estate_folder: Path) -> dict[str, DAG]:
    return dags_of(dag_file, estate_folder, "backout_reprocess")


@pytest.fixture
def expiry(dag_file: Any, estate_folder: Path) -> dict[str, DAG]:
    return dags_of(dag_file, estate_folder, "expiry_scan")


def wiring(dag: DAG) -> dict[str, set[str]]:
    return {task.task_id: task.downstream_task_ids for task in dag.tasks}


def test_backout_dags_have_the_estates_settings(backout: dict[str, DAG]) -> None:
    assert set(backout) == {"qm1_backout_reprocess", "mvs-1_backout_reprocess"}
    dag = backout["qm1_backout_reprocess"]
    assert (dag.schedule, dag.catchup, dag.max_active_runs, dag.tags) == (
        *("@hourly", False, 8, {"mq", "backout_reprocess", "QM1"}),
    )
    form = dag.params.dump()
    assert (form["dry_run"], form["queues"], form["replay_cap"], form["rules_file"]) == (True, [], 5, "back.rules")
    assert backout["mvs-1_backout_reprocess"].params.dump()["queues"] == ["A.BOQ", "B.BOQ"]
    assert backout["mvs-1_backout_reprocess"].get_task("act").conn_id == "spark_other"
    for said in ("put back 5 times goes to `QUARANTINE`", "every queue that another one names", "at most 20 messages"):
        assert said in (dag.doc_md or "")


def test_backout_dag_is_the_pipeline(backout: dict[str, DAG]) -> None:
    assert wiring(backout["qm1_backout_reprocess"]) == PIPELINE


def test_expiry_dags_run_at_their_interval(expiry: dict[str, DAG]) -> None:
    assert set(expiry) == {"qm1_expiry_scan", "mvs-1_expiry_scan", "mq_refresh_expiry"}
    dag = expiry["qm1_expiry_scan"]
    assert (dag.schedule, expiry["mvs-1_expiry_scan"].schedule) == (timedelta(minutes=15), None)
    assert dag.params.dump() == {"queues": ["PAYMENTS.*"], "all_filled": False, "first_tell": False}
    assert wiring(dag) == {"check": {"scan"}, "scan": {"report"}, "report": set()}
    assert "Every 0:15:00" in (dag.doc_md or "")


@pytest.mark.parametrize(("recheck", "seconds"), [("2h", 7_200), ("1d", 86_400), ("2d", 172_800)])
def test_a_scan_looks_at_each_queue_again_after_the_whole_time_of_the_estate(
    dag_file: Any, estate_folder: Path, recheck: str, seconds: int
) -> None:
    section = f"connection: mq_qm1, expiry_scan: {{recheck: {recheck}}}"
    (estate_folder / "estate.yaml").write_text(f"lake: lake\nqueue_managers:\n  QM1: {{{section}}}\n")
    assert dag_file("expiry_scan").qm1_expiry_scan.get_task("check").recheck == seconds


@pytest.mark.parametrize("platform", ["unix", "zos"])
def test_E18_refresh_takes_an_alias_and_says_so(
    dag_file: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, platform: str
) -> None:
    connection = {"conn_type": "mq", "extra": {"queue_manager": "QM1"}}
    monkeypatch.setenv("AIRFLOW_CONN_MQ_TEST", json.dumps(connection))
    monkeypatch.setenv("MQOPS_LAKE", str(tmp_path / "lake"))
    operator = dag_file("expiry_scan").mq_refresh_expiry.get_task("refresh")
    pushed: dict[str, Any] = {}
    ti = SimpleNamespace(xcom_push=lambda key, value: pushed.update({key: value}))
    with queue_manager(platform, "DEFINE QLOCAL(PAY)\nDEFINE QALIAS(BY.ALIAS) TARGET(PAY)\n") as application:
        application.put("PAY")
        found = operator.execute({"params": {"queue_manager": "QM1", "name": "BY.ALIAS"}, "ti": ti})
        assert (found["queue"], found["aliases"]) == ("PAY", {"BY.ALIAS": "PAY"})
        assert "`BY.ALIAS is an alias of PAY, which is looked at`" in pushed[outcome_text.KEY]
        with pytest.raises(MQError, match="It is not there, PAY is: names of queues are case-sensitive"):
            operator.execute({"params": {"queue_manager": "QM1", "name": "pay"}, "ti": ti})


def test_E18_refresh_has_a_form(expiry: dict[str, DAG]) -> None:
    dag = expiry["mq_refresh_expiry"]
    assert dag.schedule is None
    assert dag.params.dump() == {"queue_manager": None, "name": "*", "first_tell": False}
    assert dag.params.get_param("queue_manager").schema["enum"] == ["IDLE", "MVS/1", "QM1"]


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("      quarantine: QUARANTINE\n", "", "queue_managers.QM1.backout_reprocess.quarantine"),
        ("replay_cap: 5", "replay_cap: 0", "queue_managers.QM1.backout_reprocess.replay_cap"),
        ("replay_cap: 5", "backoff: [1m, soon]", "backout_reprocess.backoff.1: must be a time such as 90s"),
        ("replay_cap: 5", "backoff: 5m", "queue_managers.QM1.backout_reprocess.backoff"),
        ("interval: 15m", "interval: often", "must be a time such as 90s, 30m, 8h or 2d"),
        ("[PAYMENTS.*]", "[]", "must not be empty"),
    ],
)
def test_errors_of_the_sections_are_told(old: str, new: str, text: str) -> None:
    found, document = parse(ESTATE.replace(old, new))
    assert found is None
    assert text in "\n".join(map(str, document.problems))
