"""The DAGs of the deciders: each has the decider's name, its section of the estate and the fields of its form."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG

from mqops.deciders.registry import DECIDERS, decider_named
from mqops.estate_workflows import PacingSection
from mqops.mq.connection import connect
from mqops_airflow.operators.check import drain_and_log
from mqops_airflow.runs.dags_for_all import FOR_ALL, THAT_ACT

ESTATE = """\
lake: lake
queue_managers:
  QM1:
    connection: mq_qm1
    dlq_rules: {rules: qm1.rules}
    backout_reprocess: {rules: back.rules, quarantine: Q}
    poison_guard: {}
"""
DAGS = {name: decider_named(name) for name in DECIDERS if decider_named(name).dag}


@pytest.mark.parametrize("name", DAGS)
def test_a_deciders_dag_has_its_name_and_the_fields_of_its_form(name: str, dag_file: Any, estate_folder: Path) -> None:
    (estate_folder / "estate.yaml").write_text(ESTATE)
    decider = DAGS[name]
    dag_id = f"mq_{name}" if decider.dag == "all" else f"qm1_{name}"
    found = [one for one in vars(dag_file(name)).values() if isinstance(one, DAG)]
    assert [dag.dag_id for dag in found] == [dag_id]
    assert found[0].tags >= {"mq", name}
    fields = {field for field in decider.form if field != "pacing"}
    assert set(found[0].params) == fields | ({*PacingSection.model_fields} if "pacing" in decider.form else set())
    assert decider.section == (name if decider.dag == "each" else "")
    assert (dag_id in THAT_ACT) == (dag_id in FOR_ALL) == (decider.dag == "all")


def test_the_first_task_logs_what_was_set_aside(
    queue_manager: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    manager = queue_manager()
    manager.put("MQOPS.LEDGER", [({}, b"not of mqops")])
    with connect(manager.connection) as session, caplog.at_level(logging.WARNING):
        drain_and_log(session, tmp_path / "lake", "QM1", logging.getLogger("task"))
    assert "1 message on MQOPS.LEDGER did not come from mqops" in caplog.text
