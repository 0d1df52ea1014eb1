"""What OpenLineage is told of a task where Airflow's provider is installed: queue → snapshot → plan → destinations.

1. Names and counts only: no text of a message, no MsgId, no rules table, nothing of a connection.
2. A dataset has the same name in each run of a DAG; its version is the run. So a catalogue does not grow with runs.
3. A queue is its name in the namespace `ibmmq://QUEUE MANAGER`; snapshot and plan are in `mqops://QUEUE MANAGER`.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from mqops.lake.run import RunFolder

Lineage: TypeAlias = Any
"""`airflow.providers.openlineage.extractors.OperatorLineage`."""


def of_job(dag_id: str, summary: Path) -> Lineage:
    """What a job of Spark has read and written. Nothing for one that takes no snapshot and makes no plan.

    :param summary: the file in the run's folder that the job wrote.

    Raises:
        LakeError: it cannot be read.
    """
    from mqops.lake.run import RunFolder  # noqa: PLC0415

    run = RunFolder(summary.parent)
    if summary.name == "observe.json":
        return _of_snapshot(dag_id, run)
    return _of_plan(dag_id, run) if summary.name == "plan.json" else _lineage((), ())


def _of_snapshot(dag_id: str, run: RunFolder) -> Lineage:
    from mqops.observe.recorded import OBSERVED  # noqa: PLC0415

    seen = OBSERVED.read(run)
    inputs = (_queue(one.base or one.queue, seen.queue_manager) for one in seen.queues)
    return _lineage(inputs, [_of_run(dag_id, "snapshot", run, seen.queue_manager, rows=seen.messages, size=seen.bytes)])


def _of_plan(dag_id: str, run: RunFolder) -> Lineage:
    from mqops.decide.recorded import PLAN  # noqa: PLC0415

    plan = PLAN.read(run)
    inputs = [_of_run(dag_id, "snapshot", run, plan.queue_manager)]
    return _lineage(inputs, [_of_run(dag_id, "plan", run, plan.queue_manager, rows=plan.rows, size=plan.bytes)])


def of_proof(dag_id: str, run: RunFolder) -> Lineage:
    """What a proved run has moved: from its queues and its plan to the destinations. (A plan names its largest groups:
    a run with very many destinations tells of those.) No destination where nothing was moved.

    Raises:
        LakeError: its plan or its summary cannot be read.
    """
    from mqops.decide.recorded import PLAN  # noqa: PLC0415
    from mqops.prove.records import SUMMARY  # noqa: PLC0415

    plan, proved = PLAN.read(run), SUMMARY.read(run)
    manager = plan.queue_manager
    inputs = [_of_run(dag_id, "plan", run, manager), *(_queue(name, manager) for name in plan.queue.split(","))]
    places = {(one.dest_q, one.dest_q_mgr or manager): None for one in plan.counts if one.dest_q and proved.moved}
    return _lineage(inputs, (_queue(*place) for place in places))


def _lineage(inputs: Iterable[Any], outputs: Iterable[Any]) -> Lineage:
    from airflow.providers.openlineage.extractors import OperatorLineage  # noqa: PLC0415 - where it is installed

    return OperatorLineage(inputs=list(inputs), outputs=list(outputs))


def _queue(name: str, queue_manager: str) -> Any:
    from openlineage.client.event_v2 import Dataset  # noqa: PLC0415

    return Dataset(namespace=f"ibmmq://{queue_manager}", name=name)


def _of_run(
    dag_id: str, kind: str, run: RunFolder, queue_manager: str, *, rows: int | None = None, size: int | None = None
) -> Any:
    """The snapshot or plan of a run. Parameters: `rows` messages and `size` their bytes, where the task wrote it."""
    from openlineage.client.event_v2 import OutputDataset  # noqa: PLC0415
    from openlineage.client.facet_v2 import dataset_version_dataset, output_statistics_output_dataset  # noqa: PLC0415

    written = output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(rowCount=rows, size=size)
    return OutputDataset(
        namespace=f"mqops://{queue_manager}",
        name=f"{dag_id}/{kind}",
        facets={"version": dataset_version_dataset.DatasetVersionDatasetFacet(datasetVersion=run.run)},
        outputFacets={} if rows is None else {"outputStatistics": written},
    )
