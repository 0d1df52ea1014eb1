"""The table that `make run` ends with, from the summaries that the workflows return."""

from __future__ import annotations

from typing import Any

from mqops.expiry.core.outcome import QueueScan, summarise
from mqops.model import RuleBalance, RunSummary
from mqops_demo.airflow_client import RunResult
from mqops_demo.workflows import Line, good, lines, table


class Answers:
    """What Airflow would answer: (DAG id, task) → XCom."""

    def __init__(self, values: dict[tuple[str, str], Any]) -> None:
        self._values = values

    def xcom(self, dag_id: str, _run_id: str, task_id: str) -> Any:
        return self._values.get((dag_id, task_id))


def rule(queue: str, **counts: int) -> RuleBalance:
    return RuleBalance(queue=queue, rule_line=1, rule_key="k", action="RETRY", **counts)


def test_one_line_a_workflow_and_queue() -> None:
    plan = RunSummary(
        run="r",
        workflow="backout_reprocess",
        queue_manager="QM1",
        queue="A.BOQ,B.BOQ",
        plan="d",
        rules=(
            rule("A.BOQ", planned=5, moved=4, left=1),
            rule("A.BOQ", planned=2, discarded=1, gone=1),
            rule("B.BOQ", planned=3, left=3),
        ),
    )
    scans = summarise([QueueScan(queue="A", there=9, discarded=4, left=4, in_flight=1)], run="r", queue_manager="QM1")
    quality = {"balanced": True, "queues": [{"queue": "A", "found": 3, "done": 2, "left": 1}]}
    answers = Answers(
        {
            ("qm1_backout_reprocess", "prove"): plan.to_json(),
            ("qm1_expiry_scan", "report"): scans.to_json(),
            ("qm1_snapshot_quality", "report"): quality,
        }
    )
    results = [
        RunResult(dag_id=f"qm1_{name}", run_id="x", state="success")
        for name in ("dlq_rules", "expiry_scan", "backout_reprocess", "snapshot_quality")
    ]
    rows = list(lines(answers, results))  # type: ignore[arg-type]
    assert rows == [
        Line(workflow="dlq_rules", queue="(nothing to do)", found=0, done=0, left=0, balanced=True),
        Line(workflow="expiry_scan", queue="A", found=9, done=4, left=5, balanced=True),
        Line(workflow="backout_reprocess", queue="A.BOQ", found=7, done=5, left=1, balanced=True),
        Line(workflow="backout_reprocess", queue="B.BOQ", found=3, done=0, left=3, balanced=True),
        Line(workflow="snapshot_quality", queue="A", found=3, done=2, left=1, balanced=True),
    ]
    assert table(rows).row_count == 5


def test_only_a_quality_run_may_fail_and_only_for_what_it_found() -> None:
    found = {"check": "success", "quality": "success", "report": "failed"}
    broken = {"check": "success", "quality": "failed", "report": "upstream_failed"}
    quality, dlq = "qm1_snapshot_quality", "qm1_dlq_rules"
    assert good(RunResult(dag_id=quality, run_id="x", state="failed", tasks=found))
    assert not good(RunResult(dag_id=quality, run_id="x", state="failed", tasks=broken))
    assert not good(RunResult(dag_id=dlq, run_id="x", state="failed", tasks=found))
    assert good(RunResult(dag_id=dlq, run_id="x", state="success", tasks={"prove": "success"}))
