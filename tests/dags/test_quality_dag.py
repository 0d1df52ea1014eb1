"""The data quality DAG: one a queue manager that has the workflow, its form, its wiring, its page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG

from mqops.lake.files import write_json
from mqops.lake.run import RunFolder
from mqops.message_checks import CheckResult, QualitySummary
from mqops.quality.results import keep
from mqops_airflow.operators.quality import in_words
from mqops_airflow.pages.data_docs import page_of
from mqops_airflow.runs.run_folder import run_key

ESTATE = """\
lake: lake
queue_managers:
  QM1:
    connection: mq_qm1
    snapshot: {queues: [PAYMENTS.*], schedule: "@hourly", limit: 7}
    snapshot_quality:
      queues: [PAYMENTS.*, SYSTEM.DEAD.LETTER.QUEUE]
      suites: [expectations/a.yaml, expectations/b.yaml]
      schedule: "@daily"
      limit: 500
  MVS/1:
    connection: mq_mvs1
    spark: spark_other
    snapshot_quality:
      suites: [expectations/a.yaml]
  IDLE:
    connection: mq_idle
"""


@pytest.fixture
def dags(dag_file: Any, estate_folder: Path) -> dict[str, DAG]:
    (estate_folder / "estate.yaml").write_text(ESTATE)
    return {name: value for name, value in vars(dag_file("snapshot_quality")).items() if isinstance(value, DAG)}


def test_one_dag_for_each_queue_manager_with_the_workflow(dags: dict[str, DAG]) -> None:
    assert {dag.dag_id: dag.tags for dag in dags.values()} == {
        "qm1_snapshot_quality": {"mq", "snapshot_quality", "QM1"},
        "mvs-1_snapshot_quality": {"mq", "snapshot_quality", "MVS/1"},
    }


def test_settings_of_the_estate_reach_the_dag(dags: dict[str, DAG]) -> None:
    dag = dags["qm1_snapshot_quality"]
    assert (dag.schedule, dag.catchup, dag.max_active_runs) == ("@daily", False, 1)
    assert dag.params.dump() == {
        "queues": ["PAYMENTS.*", "SYSTEM.DEAD.LETTER.QUEUE"],
        "first_tell": False,
        "suites": ["expectations/a.yaml", "expectations/b.yaml"],
        "limit": 500,
    }
    assert dags["mvs-1_snapshot_quality"].get_task("quality").conn_id == "spark_other"
    assert "`PAYMENTS.*`, `SYSTEM.DEAD.LETTER.QUEUE`" in (dag.doc_md or "")


def test_wiring(dags: dict[str, DAG]) -> None:
    dag = dags["qm1_snapshot_quality"]
    assert {task.task_id: task.downstream_task_ids for task in dag.tasks} == {
        "check": {"observe"},
        "observe": {"quality"},
        "quality": {"report"},
        "report": set(),
    }
    assert {task.trigger_rule.value for task in dag.tasks} == {"all_success"}


def test_the_snapshot_dag_copies_by_the_same_step_and_has_an_asset(dag_file: Any, dags: dict[str, DAG]) -> None:
    (dag,) = (one for one in vars(dag_file("snapshot")).values() if isinstance(one, DAG))
    assert (dag.dag_id, dag.schedule, dag.max_active_runs, dag.tags) == (
        *("qm1_snapshot", "@hourly", 1),
        {"mq", "snapshot", "QM1"},
    )
    assert dag.params.dump() == {"queues": ["PAYMENTS.*"], "first_tell": False, "limit": 7}
    assert {task.task_id: task.downstream_task_ids for task in dag.tasks} == {"check": {"observe"}, "observe": set()}
    assert [one.uri for one in dag.get_task("observe").outlets] == ["x-mqops://qm1/snapshot/snapshot"]
    assert "`PAYMENTS.*`" in (dag.doc_md or "")


@pytest.mark.parametrize(
    ("field", "good", "bad"),
    [
        ("queues", [["A.B_C/D%1"], ["A*", "*"]], [[], ["has blank"], ["A*B"], ["x" * 49], "A"]),
        ("suites", [["a/b c.yaml"]], [[], ["/etc/passwd"], ["../x"], [""]]),
        ("limit", [None, 1], [0, "5"]),
    ],
)
def test_the_form_checks_its_fields(dags: dict[str, DAG], field: str, good: list[Any], bad: list[Any]) -> None:
    from airflow.sdk.exceptions import ParamValidationError  # noqa: PLC0415

    param = dags["qm1_snapshot_quality"].params.get_param(field)
    for value in good:
        assert param.resolve(value) == value
    for value in bad:
        with pytest.raises(ParamValidationError):
            param.resolve(value)


def test_data_docs_are_those_of_the_workflow_and_lie_in_the_run(dags: dict[str, DAG], estate_folder: Path) -> None:
    """A check on the command line does not replace them, and no address leads out of their folder."""
    dag_id, run_id = "qm1_snapshot_quality", "manual__1"
    run = RunFolder.at(estate_folder / "lake", "QM1", run_key(dag_id, run_id)).create()
    write_json(run.path.joinpath("handed_on.json"), {"dag_id": dag_id, "run_id": run_id, "found": {}})

    def checked(check: str, text: str, *, by_workflow: bool) -> None:
        docs = run.quality_checks / check / "docs"
        docs.mkdir(parents=True)
        (docs / "index.html").write_text(text)
        summary = QualitySummary(run=run.run, queue_manager="QM1", queue="A", docs=str(docs / "index.html"))
        summary = replace(summary, check=check, by_workflow=by_workflow)
        write_json(docs.parent / "quality.json", summary.to_json())
        keep(run, summary)

    assert page_of(dag_id, run_id, "index.html") is None
    checked("1", "by the workflow", by_workflow=True)
    checked("2", "by hand", by_workflow=False)
    page = page_of(dag_id, run_id, "index.html")
    assert page is not None
    assert page.read_text() == "by the workflow"
    for outside in ("../quality.json", "../../2/docs/index.html", str(run.quality_json), "", "."):
        assert page_of(dag_id, run_id, outside) is None, outside


def test_the_note_has_a_sentence_for_each_suite_that_looked_at_nothing() -> None:
    check = CheckResult(suite="s", expectation="a", expect="x", columns=(), severity="critical", met=False)
    checks = [replace(check, expectation=name, skipped="looked at no message: why") for name in "abcdefgh"]
    counts = {"failed": {"critical": 8}, "messages": {"critical": 0}}
    summary = QualitySummary(run="r", queue_manager="QM1", queue="", checks=tuple(checks), **counts)
    note = in_words(replace(summary, told=("suite s: no queue fits A", "B is not checked")), "")
    assert note.replace("`", "") == (
        "8 critical checks are not met. suite s: looked at no message: why. suite s: no queue fits A. B is not checked."
    )
    note = in_words(replace(summary, told=tuple(f"suite t: no queue fits {name}" for name in "abcdefgh")), "")
    assert note.endswith("3 more lines of this kind: see the page Quality.")
