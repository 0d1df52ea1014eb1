"""The other workflows of the demonstration, run one after the other, and the table that `make run` ends with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from mqops.lake.run_file import Checked
from mqops.model import RunSummary, total_of
from mqops.printable import printable
from mqops_demo import by_message
from mqops_demo.airflow_client import AirflowClient, RunResult

OTHERS: Mapping[str, Mapping[str, Any]] = {
    "qm1_expiry_scan": {},
    "qm1_backout_reprocess": {"dry_run": False},
    "qm1_snapshot_quality": {},
}
"""DAG → the values of its form, in the order in which they run."""
LAST_TASK = {
    "dlq_rules": "prove",
    "backout_reprocess": "prove",
    "expiry_scan": "report",
    "snapshot_quality": "report",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of the table; counts in messages."""

    workflow: str
    queue: str
    found: int
    done: int
    left: int
    balanced: bool


def run_others(
    client: AirflowClient, approve: Callable[[Mapping[str, Any]], bool], report: Callable[[str], None]
) -> list[RunResult]:
    """Run `OTHERS`, each to its end; a message starts the expiry scan."""
    results = []
    for dag_id, form in OTHERS.items():
        if dag_id == by_message.DAG:
            run_id = by_message.started(client, report)
        else:
            run_id = client.trigger(dag_id, **form)
            report(f"Airflow run {run_id} of {dag_id}")
        results.append(client.follow(dag_id, run_id, approve=approve, report=report))
    return results


def found_what_is_wrong(result: RunResult) -> bool:
    """Whether it is a quality run that failed for nothing but what its checks found (its last task says so)."""
    failed = [name for name, state in result.tasks.items() if state == "failed"]
    return result.dag_id.endswith("_snapshot_quality") and failed == [LAST_TASK["snapshot_quality"]]


def good(result: RunResult) -> bool:
    """Whether a run ended as it should on this incident, which holds messages that the quality suites are for."""
    return result.state == "success" or found_what_is_wrong(result)


def lines(client: AirflowClient, results: list[RunResult]) -> Iterator[Line]:
    """The lines of the table, from what the last task of each run returned."""
    for result in results:
        workflow = result.dag_id.partition("_")[2]
        summary = client.xcom(result.dag_id, result.run_id, LAST_TASK[workflow])
        if not isinstance(summary, Mapping):
            yield Line(workflow=workflow, queue="(nothing to do)", found=0, done=0, left=0, balanced=True)
        elif "rules" in summary:
            yield from _of_plan(workflow, Checked(RunSummary).of(summary, Path("XCom")))
        else:
            yield from _of_queues(workflow, summary)


def _of_plan(workflow: str, summary: RunSummary) -> Iterator[Line]:
    for queue in summary.queue.split(","):
        total = total_of(rule for rule in summary.rules if rule.queue == queue)
        yield Line(
            workflow=workflow,
            queue=queue,
            found=total.planned,
            done=total.moved + total.discarded,
            left=total.left,
            balanced=summary.balanced and total.adds_up,
        )


def _of_queues(workflow: str, summary: Mapping[str, Any]) -> Iterator[Line]:
    queues = summary["queues"]
    for queue in queues["__data__"] if isinstance(queues, Mapping) else queues:
        found = queue.get("found", queue.get("there", 0))
        done = queue.get("done", queue.get("discarded", 0))
        left = queue["left"] + queue.get("in_flight", 0)
        yield Line(
            workflow=workflow,
            queue=queue["queue"],
            found=found,
            done=done,
            left=left,
            balanced=summary["balanced"] and found == done + left,
        )


def table(rows: list[Line]) -> Table:
    """The lines as a table."""
    made = Table(title="What the workflows found and did")
    for name in ("workflow", "queue"):
        made.add_column(name)
    for name in ("found", "done", "left"):
        made.add_column(name, justify="right")
    made.add_column("balanced")
    for row in rows:
        counts = (str(row.found), str(row.done), str(row.left))
        made.add_row(printable(row.workflow), printable(row.queue), *counts, "yes" if row.balanced else "NO")
    return made
