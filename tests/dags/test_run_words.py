"""The words about a run, on values: no page, no queue manager."""

from __future__ import annotations

import re

import pytest
from airflow.sdk import DAG as SdkDag
from ledger_opened import observe
from mq_support import DLQ
from runs_on_pages import DAG, WITH_A_RUN, letters, task_of

from mqops.actions import Action
from mqops.deciders.registry import by_choice, fates_of
from mqops.lake.files import write_json
from mqops.lake.run import RunFolder
from mqops.look.core.run_state import RunLine
from mqops.look.words.fates import rule_name
from mqops.look.words.run import state_in_words
from mqops.look.words.state import RunState
from mqops_airflow.pages.which_run import ORDER
from mqops_airflow.pages.who_answers import asks_for_four_eyes
from mqops_airflow.runs.run_folder import run_key
from mqops_airflow.runs.workplace import estate_file


@pytest.mark.parametrize(
    ("line", "action", "workflow", "words"),
    [
        (3, "RETRY", "dlq_rules", "line 3 RETRY"),
        (None, "IGNORE", "dlq_rules", "no rule: IGNORE"),
        (None, "ERROR", "dlq_rules", "no MQDLH can be read, so it stays"),
        (None, "FWD", "recover", "chosen: FWD"),
        (None, "IGNORE", "recover", "not chosen: IGNORE"),
        (None, "RETURN", "undo", "undo: RETURN"),
    ],
)
def test_what_decided_is_told_in_words(line, action, workflow, words):
    of = {"by_choice": by_choice(workflow), "fates": fates_of(workflow)}
    assert rule_name(line, Action(action), **of) == words


@pytest.mark.parametrize("state", ["incomplete", "observed", "planned"])
def test_a_run_that_has_just_begun_is_at_work(state):
    """Its files are those of a run that ended too early."""

    def said(of: str, task: str, its_state: str) -> tuple[str, str, str]:
        line = RunLine(run="r", queue_manager="QM1", state=RunState(of))
        return state_in_words(line, {task: its_state})

    assert said(state, "observe", "running")[0] == "at work"
    assert said(state, "observe", "failed")[0] == state
    assert said("begun", "act", "running") == ("at work", "in Airflow the task act is on its way", "note")
    assert said("begun", "observe", "failed")[0] == "begun"


@pytest.mark.parametrize(
    ("dag_id", "asks"), [(DAG, False), ("qm1_backout_reprocess", True), ("mq_undo", True), ("mq_recover", True)]
)
def test_four_eyes_are_those_of_the_workflow_and_of_all_for_a_dag_of_all(estate_folder, dag_id, asks):
    workflows = (
        "    dlq_rules: {rules: qm1.rules}\n"
        "    backout_reprocess: {rules: qm1.rules, quarantine: Q, approval: {four_eyes: true}}\n"
    )
    text = f"lake: lake\nqueue_managers:\n  QM1:\n    connection: mq_test\n{workflows}"
    (estate_folder / "estate.yaml").write_text(text)
    assert asks_for_four_eyes(estate_file(), dag_id) == asks


def test_tasks_to_come_stand_in_the_order_in_which_they_run(manager, estate_folder, client, runs_of_airflow):
    letters(manager, "A")
    key = estate_folder / "lake" / "QM1" / "runs" / run_key(DAG, "first")
    observe(manager.connection, RunFolder(key), [DLQ])
    write_json(RunFolder(key).path.joinpath("handed_on.json"), {"dag_id": DAG, "run_id": "first", "found": {}})
    for task in ("act", "decide", "prove", "route"):
        runs_of_airflow(task_of("first", task, "scheduled"))
    runs_of_airflow(task_of("first", "observe", "running"))
    page = client("/run", dag_id=DAG, run_id="first").text
    tasks = page.split("Steps: tasks in Airflow, and what the lake has</span>")[1].split("</tbody>")[0]
    assert re.findall(r'<th scope="row">(\w+)</th>', tasks) == ["observe", "decide", "route", "approve", "act", "prove"]
    assert "Not planned yet." in page


@pytest.mark.parametrize("name", WITH_A_RUN)
def test_the_order_of_tasks_is_that_of_the_dags(dag_file, all_workflows, name):
    dags = [dag for dag in vars(dag_file(name)).values() if isinstance(dag, SdkDag) and len(dag.tasks) > 1]
    (dag,) = dags
    for task in dag.tasks:
        for behind in task.downstream_task_ids:
            assert ORDER.index(task.task_id) < ORDER.index(behind), (task.task_id, behind)
