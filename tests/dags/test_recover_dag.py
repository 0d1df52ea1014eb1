"""`mq_recover`: its form refuses with sentences, and Airflow plans, asks and does not act without an answer."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG
from airflow.sdk.exceptions import ParamValidationError
from mq_support import DLQ, Manager, dead_letter

from mqops.errors import SettingsError
from mqops_airflow.formats import FILTER
from mqops_airflow.recover import refuse_contradictions

ROOT = Path(__file__).resolve().parents[2]
ESTATE = "lake: lake\nqueue_managers:\n  QM1:\n    connection: mq_test\n"
CODE = """
import json, os, runpy
dag = runpy.run_path(os.environ["DAG_FILE"])["mq_recover"]
for form in json.loads(os.environ["FORMS"]):
    run = dag.test(run_conf=form, mark_success_pattern="approve")
    print("STATES " + json.dumps({ti.task_id: str(ti.state) for ti in run.get_task_instances()}), flush=True)
"""


@pytest.fixture
def dag(dag_file: Any) -> DAG:
    found = dag_file("recover").mq_recover
    assert isinstance(found, DAG)
    return found


def test_law2_a_run_is_dry_unless_the_form_says_otherwise(dag: DAG) -> None:
    assert dag.params["dry_run"] is True
    assert dag.task_dict["act"].upstream_task_ids == {"approve"}


@pytest.mark.parametrize("text", ["BODY('secret')", "PROP('usr.a' = 'x')", "REASON(", "NOSUCH(1)"])
def test_law9_a_filter_that_is_wrong_or_has_payload_is_refused_before_the_run_is_queued(dag: DAG, text: str) -> None:
    where = dag.params.get_param("where")
    with pytest.raises(ParamValidationError) as refused:
        where.resolve(text)
    assert f"is not a '{FILTER}'" in str(refused.value)
    assert where.resolve("REASON(MQRC_Q_FULL) AGE(>15m)")


@pytest.mark.parametrize(
    ("form", "says"),
    [
        ({"action": "restore", "run": None, "queue": None}, "Run: restore needs the run"),
        ({"action": "move", "run": "x", "queue": "A"}, "Run: move takes no run"),
        ({"action": "move", "run": None, "queue": None}, "Queue: move needs the queue"),
    ],
)
def test_fields_that_do_not_go_together_are_refused_by_name(form: dict[str, Any], says: str) -> None:
    with pytest.raises(SettingsError, match=says):
        refuse_contradictions(form)


def test_airflow_plans_and_acts_only_with_an_answer(queue_manager: Any, tmp_path: Path, airflow_database: Path) -> None:
    manager: Manager = queue_manager(mqsc="DEFINE QLOCAL(A)\n")
    manager.put(DLQ, [dead_letter("A", b"payload-x"), ({}, b"payload-y")])
    (tmp_path / "estate.yaml").write_text(ESTATE)
    (tmp_path / "airflow").mkdir()
    shutil.copy(airflow_database, tmp_path / "airflow" / "airflow.db")
    forms = [
        {"action": "replay", "queue": DLQ, "all_messages": True},
        {"action": "move", "queue": DLQ, "all_messages": True, "destination": None},
        {"action": "move", "queue": DLQ, "all_messages": True, "destination": "A", "dry_run": False},
    ]
    environment = {
        **manager.environment,
        "AIRFLOW_HOME": str(tmp_path / "airflow"),
        "MQOPS_ESTATE": str(tmp_path / "estate.yaml"),
        "DAG_FILE": str(ROOT / "dags" / "recover.py"),
        "FORMS": json.dumps([{"queue_manager": "QM1", **form} for form in forms]),
        "AIRFLOW_CONN_MQ_TEST": json.dumps(
            {"conn_type": "mq", "extra": {"queue_manager": "QM1", "home": str(manager.home)}}
        ),
    }
    environment.pop("MQOPS_LAKE", None)
    done = subprocess.run([sys.executable, "-c", CODE], env=environment, capture_output=True, text=True)
    found = [json.loads(line[7:]) for line in done.stdout.splitlines() if line.startswith("STATES ")]
    assert len(found) == len(forms), done.stdout[-3000:] + done.stderr[-3000:]
    planned = {"plan": "success", "route": "success", "planned": "success"}
    assert found[0] == {**planned, "approve": "skipped", "act": "skipped", "prove": "success"}
    assert found[2] == {**planned, "approve": "success", "act": "failed", "prove": "failed"}
    assert found[1]["plan"] == "failed"
    said = done.stdout + done.stderr
    assert "Destination: move needs the queue that the messages are put on" in said
    assert (manager.depth(DLQ), manager.depth("A")) == (2, 0)
    everywhere = said.encode() + (tmp_path / "airflow" / "airflow.db").read_bytes()
    for path in (tmp_path / "lake").rglob("*"):
        if path.is_file() and "snapshot" not in path.parts:
            everywhere += path.read_bytes()
    assert b"payload-" not in everywhere, "law 9: no payload in a log, the database, or the lake but its snapshots"
