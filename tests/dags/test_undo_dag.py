"""The DAG of the undo: one for all queue managers, its form, its wiring; always a person between plan and act."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG

ESTATE = """\
lake: lake
queue_managers:
  QM1:
    connection: mq_qm1
    dlq_rules: {rules: qm1.rules, approval: {required: false}}
  MVS/1:
    connection: mq_mvs1
    backout_reprocess: {rules: back.rules, quarantine: Q, approval: {four_eyes: true}}
"""


@pytest.fixture
def dag(dag_file: Any, estate_folder: Path) -> DAG:
    (estate_folder / "estate.yaml").write_text(ESTATE)
    found = dag_file("undo").mq_undo
    assert isinstance(found, DAG)
    return found


def test_wiring(dag: DAG) -> None:
    assert (dag.dag_id, dag.schedule, dag.tags) == ("mq_undo", None, {"mq", "undo"})
    assert {task.task_id: task.downstream_task_ids for task in dag.tasks} == {
        "plan": {"route", "planned"},
        "route": {"approve", "prove"},
        "approve": {"act"},
        "act": {"prove"},
        "prove": set(),
        "planned": set(),
    }
    assert {task.task_id: task.trigger_rule.value for task in dag.tasks if task.trigger_rule != "all_success"} == {
        "prove": "all_done",
    }


def test_law2_every_undo_waits_for_a_person_and_is_dry_unless_the_form_says_otherwise(dag: DAG) -> None:
    assert dag.params["dry_run"] is True
    assert dag.get_task("approve").approval.four_eyes is True


def test_the_form(dag: DAG) -> None:
    from airflow.sdk.exceptions import ParamValidationError  # noqa: PLC0415

    assert dag.params.get_param("queue_manager").schema["enum"] == ["MVS/1", "QM1"]
    run = dag.params.get_param("run")
    assert run.resolve("cli-2026-01-02T030405-0a1b2c") == "cli-2026-01-02T030405-0a1b2c"
    for bad in ("", "../x", "a/b", ".", None):
        with pytest.raises(ParamValidationError):
            run.resolve(bad)


def test_the_route_knows_what_an_undo_does() -> None:
    from mqops.estate_workflows import Approval  # noqa: PLC0415
    from mqops_airflow.approval.policy import judge  # noqa: PLC0415

    def way(**messages: int) -> str:
        return judge(messages=messages, approval=Approval(), dry_run=False, by_hand=True).way

    assert way(RETURN=1, CONSUMED=4) == way(RESTORE=1) == "ask"
    assert way(CONSUMED=4, EXPIRED=1, PRESENT=2, UNDONE=1) == "stop"


@pytest.mark.parametrize("workflow", ["undo", "recover", "stop"])
def test_a_queue_manager_whose_lake_cannot_be_trusted_takes_no_form_from_the_others(
    dag_file: Any, estate_folder: Path, workflow: str
) -> None:
    (estate_folder / "estate.yaml").write_text(ESTATE)
    lake = estate_folder / "lake"
    lake.mkdir(mode=0o700, exist_ok=True)
    (lake / "QM1").write_text("not a folder")
    assert isinstance(getattr(dag_file(workflow), f"mq_{workflow}"), DAG)
