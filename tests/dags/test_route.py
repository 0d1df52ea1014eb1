"""The task in front of the approval makes the pre-flight, tells it, and fails for nothing that it finds."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from mq_support import DLQ, dead_letter

from mqops.decide.preflight_record import read_preflight
from mqops.deciders.dead_letters import DEAD_LETTERS, DeadLetterRequest
from mqops.deciders.run import plan_run
from mqops.lake.run import RunFolder
from mqops.rules import parse
from mqops_airflow import plan_text
from mqops_airflow.plan_files import preflight_in, read_plan

HERE = Path(__file__).parent
RULES = "ACTION(RETRY)"


def test_the_preflight_is_made_told_and_kept(queue_manager: Any, tmp_path: Path, airflow_database: Path) -> None:
    manager = queue_manager(mqsc="DEFINE QLOCAL(SHUT) PUT(DISABLED)\n")
    manager.put(DLQ, [dead_letter("SHUT", b"x")])
    table = parse(RULES).table
    assert table
    run, _plan = plan_run(
        DEAD_LETTERS, DeadLetterRequest(connection=manager.connection, lake=tmp_path / "lake", table=table, text=RULES)
    )
    (run.path / "preflight.json").unlink()
    copy = RunFolder(shutil.copytree(run.path, Path(f"{run.path}-copy")))
    states, output = routed(run, manager.home, tmp_path, airflow_database)
    assert [states[name] for name in ("reached", "reached_ask", "reached_act")] == ["success", "success", "skipped"]
    assert "problem: SHUT@QM1: PUT(DISABLED). ALTER QLOCAL(SHUT) PUT(ENABLED)" in output
    found = read_preflight(run)
    assert found is not None
    assert [one.severity for one in found.findings] == ["problem", "warning"]
    text = plan_text.body(read_plan(str(run.path)), preflight_in(str(run.path)))
    assert "| problem | `SHUT@QM1` | `PUT(DISABLED)` | `ALTER QLOCAL(SHUT) PUT(ENABLED)` |" in text
    # a queue manager that does not answer: unknown, and a person is asked
    assert (states["unreachable"], states["unreachable_ask"]) == ("success", "success")
    unknown = read_preflight(copy)
    assert unknown is not None
    assert [one.severity for one in unknown.doubts] == ["unknown"]


def routed(run: RunFolder, queue_managers: Path, folder: Path, database: Path) -> tuple[dict[str, str], str]:
    """The states of routing_dag.py's tasks after a run, and all that was written."""
    home, dags = folder / "home", folder / "dags"
    home.mkdir()
    dags.mkdir()
    shutil.copy(database, home / "airflow.db")
    shutil.copy(HERE / "routing_dag.py", dags)
    connections = {
        f"AIRFLOW_CONN_MQ_{name}": json.dumps(
            {"conn_type": "mq", "extra": {"queue_manager": queue_manager, "home": str(queue_managers)}}
        )
        for name, queue_manager in (("REACHED", "QM1"), ("UNREACHABLE", "NOBODY"))
    }
    environment = {
        **os.environ,
        **connections,
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(dags),
        "TEST_FOLDER": str(run.path),
    }
    command = [sys.executable, str(dags / "routing_dag.py")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    output = done.stdout + done.stderr
    (states,) = [line.removeprefix("STATES ") for line in output.splitlines() if line.startswith("STATES ")]
    logs = "\n".join(path.read_text() for path in home.glob("logs/**/*.log"))
    return json.loads(states), output + logs
