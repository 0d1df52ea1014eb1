"""`mq_undo` run by Airflow itself on a queue manager: dry, and with its approval marked as success instead of given."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mq_support import DLQ, Manager, dead_letter

from mqops.deciders.dead_letters import DEAD_LETTERS, DeadLetterRequest
from mqops.deciders.run import carry_out, plan_run
from mqops.rules import parse

ROOT = Path(__file__).resolve().parents[2]
ESTATE = "lake: lake\nqueue_managers:\n  QM1:\n    connection: mq_test\n"
CODE = """
import json, os, runpy
dag = runpy.run_path(os.environ["DAG_FILE"])["mq_undo"]
for form in json.loads(os.environ["FORMS"]):
    run = dag.test(run_conf=form, mark_success_pattern="approve")
    print("STATES " + json.dumps({ti.task_id: str(ti.state) for ti in run.get_task_instances()}), flush=True)
"""


@pytest.fixture
def manager(queue_manager: Any) -> Manager:
    made: Manager = queue_manager(mqsc="DEFINE QLOCAL(A)\n")
    return made


@pytest.fixture
def airflow(manager: Manager, tmp_path: Path, airflow_database: Path) -> Any:
    """Runs the DAG with one form after the other, in one process; gives task → state of each run."""
    (tmp_path / "estate.yaml").write_text(ESTATE)
    (tmp_path / "airflow").mkdir()
    shutil.copy(airflow_database, tmp_path / "airflow" / "airflow.db")

    def run(*forms: dict[str, Any]) -> list[dict[str, str]]:
        environment = {
            **manager.environment,
            "AIRFLOW_HOME": str(tmp_path / "airflow"),
            "MQOPS_ESTATE": str(tmp_path / "estate.yaml"),
            "DAG_FILE": str(ROOT / "dags" / "undo.py"),
            "FORMS": json.dumps([{"queue_manager": "QM1", **form} for form in forms]),
            "AIRFLOW_CONN_MQ_TEST": json.dumps(
                {"conn_type": "mq", "extra": {"queue_manager": "QM1", "home": str(manager.home)}}
            ),
        }
        environment.pop("MQOPS_LAKE", None)
        done = subprocess.run([sys.executable, "-c", CODE], env=environment, capture_output=True, text=True)
        found = [line for line in done.stdout.splitlines() if line.startswith("STATES ")]
        assert len(found) == len(forms), done.stdout[-3000:] + done.stderr[-3000:]
        return [json.loads(line.removeprefix("STATES ")) for line in found]

    return run


def test_law2_nothing_is_put_back_by_a_dry_run_and_without_an_approval(
    manager: Manager, airflow: Any, tmp_path: Path
) -> None:
    text = "DESTQ(A) ACTION(RETRY)\nACTION(DISCARD)\n"
    table = parse(text).table
    assert table
    manager.put(DLQ, [dead_letter("A", b"x"), dead_letter("B", b"y")])
    what = DeadLetterRequest(connection=manager.connection, lake=tmp_path / "lake", table=table, text=text)
    run, plan = plan_run(DEAD_LETTERS, what)
    carry_out(DEAD_LETTERS, what, run, plan)
    dry, marked = airflow({"run": run.run}, {"run": run.run, "dry_run": False})
    planned = {"plan": "success", "route": "success", "planned": "success"}
    assert dry == {**planned, "approve": "skipped", "act": "skipped", "prove": "success"}
    assert marked == {**planned, "approve": "success", "act": "failed", "prove": "failed"}
    assert (manager.depth(DLQ), manager.depth("A")) == (0, 1)
