"""`<queue manager>_backout_reprocess`: the backout queues of each queue manager of the estate, by its rules table."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from airflow.sdk import DAG

from mqops import form_files
from mqops.estate import EstateFile
from mqops.estate_sections import QueueManager
from mqops.estate_workflows import BackoutReprocess
from mqops_airflow.forms import params
from mqops_airflow.operators.backout import BackoutCheckOperator
from mqops_airflow.runs.workplace import dags_of, estate_file
from mqops_airflow.workflows.documentation import backout_reprocess_page
from mqops_airflow.workflows.pipeline import by_rules

WORKFLOW = "backout_reprocess"


def build(file: EstateFile, tables: Sequence[str], name: str, settings: QueueManager, section: BackoutReprocess) -> DAG:
    """The DAG of one queue manager. Parameters: `tables` that its form may name."""
    return by_rules(
        name,
        settings,
        section,
        file,
        tables,
        workflow=WORKFLOW,
        description=f"Backed-out messages of {name}",
        page=backout_reprocess_page(name, section),
        check=BackoutCheckOperator,
        queues={"queues": params.backout_queues(section.queues)},
        more={"replay_cap": params.replay_cap(section.replay_cap)},
    )


def dags() -> dict[str, DAG]:
    """The DAGs by their ids, one for each queue manager that has the section in the estate."""
    file = estate_file()
    return dags_of(WORKFLOW, partial(build, file, form_files.tables(file)), file.estate)
