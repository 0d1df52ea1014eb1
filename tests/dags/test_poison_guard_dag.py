"""`<queue manager>_poison_guard`: off by default, its form and its wiring. Its runs are in test_approval_run.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG

from mqops.actions import Action
from mqops.estate import parse
from mqops.estate_workflows import Approval, AutoApprove
from mqops_airflow.approval.policy import judge

ESTATE = """\
lake: lake
queue_managers:
  QM1:
    connection: mq_qm1
    poison_guard: {schedule: "*/5 * * * *", queues: [PAY.IN], limit: 10, approval: {required: false}}
  MVS/1: {connection: mq_mvs1, poison_guard: {}}
  IDLE: {connection: mq_idle}
"""


@pytest.fixture
def dags(dag_file: Any, estate_folder: Path) -> dict[str, DAG]:
    (estate_folder / "estate.yaml").write_text(ESTATE)
    return {dag.dag_id: dag for dag in vars(dag_file("poison_guard")).values() if isinstance(dag, DAG)}


def test_each_queue_manager_with_the_section_has_the_dag(dags: dict[str, DAG]) -> None:
    assert set(dags) == {"qm1_poison_guard", "mvs-1_poison_guard"}
    dag, other = dags["qm1_poison_guard"], dags["mvs-1_poison_guard"]
    assert (dag.schedule, other.schedule, dag.catchup) == ("*/5 * * * *", None, False)
    wanted = {
        "dry_run": True,
        "queue_manager": "QM1",
        "queues": ["PAY.IN"],
        "first_tell": False,
        "limit": 10,
        "unit_of_work": 200,
    }
    assert dag.params.dump() == wanted
    assert other.params.dump()["queue_manager"] == "MVS/1"
    assert {task.task_id: task.downstream_task_ids for task in dag.tasks} == {
        "plan": {"route", "planned"},
        "route": {"approve", "act", "prove"},
        "approve": {"act"},
        "act": {"prove"},
        "prove": set(),
        "planned": set(),
    }
    assert "every other plan goes to *act*" in (dag.doc_md or "")
    assert "every queue with BOTHRESH that is no backout queue" in (other.doc_md or "")


@pytest.mark.parametrize("field", ["trigger: FIRST, queues: [A]", "handling: {canary: 1}"])
def test_a_setting_that_has_no_effect_is_refused(field: str) -> None:
    text = f"lake: lake\nqueue_managers:\n  QM1: {{connection: mq_qm1, poison_guard: {{{field}}}}}\n"
    found, document = parse(text)
    assert found is None
    assert "has no effect here" in "\n".join(map(str, document.problems))


@pytest.mark.parametrize(
    ("approval", "by_hand", "way"),
    [
        (Approval(), True, "ask"),
        (Approval(required=False), True, "act"),
        (Approval(auto_approve=AutoApprove(actions=("FWD",), max_messages=1)), True, "act"),
        (Approval(auto_approve=AutoApprove(actions=("DISCARD",), max_messages=1)), True, "ask"),
        (Approval(auto_approve=AutoApprove(actions=("FWD",), max_messages=1)), False, "act"),
    ],
)
def test_the_policy_counts_for_a_run_by_hand_too(approval: Approval, by_hand: bool, way: str) -> None:
    found = judge(messages={Action.FWD: 1}, approval=approval, dry_run=False, by_hand=by_hand, asks_by_hand=False)
    assert found.way == way
    always = judge(messages={Action.FWD: 1}, approval=approval, dry_run=False, by_hand=True)
    assert always.way == "ask"
