"""`<queue manager>_dlq_rules`: the dead-letter queue of each queue manager of the estate, by its rules table."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from airflow.sdk import DAG

from mqops import form_files
from mqops.estate import EstateFile
from mqops.estate_sections import QueueManager
from mqops.estate_workflows import DlqRules
from mqops_airflow.forms import params
from mqops_airflow.operators.check import DlqCheckOperator
from mqops_airflow.runs.workplace import dags_of, estate_file
from mqops_airflow.workflows.documentation import dlq_rules_page
from mqops_airflow.workflows.pipeline import by_rules

WORKFLOW = "dlq_rules"


def build(file: EstateFile, tables: Sequence[str], name: str, settings: QueueManager, section: DlqRules) -> DAG:
    """The DAG of one queue manager. Parameters: `tables` that its form may name."""
    return by_rules(
        name,
        settings,
        section,
        file,
        tables,
        workflow=WORKFLOW,
        description=f"Dead-letter queue rules of {name}",
        page=dlq_rules_page(name, section),
        check=DlqCheckOperator,
        queues={
            "queue": params.queue(section.queue, what=", ".join((f"the dead-letter queue of {name}", *section.also)))
        },
    )


def dags() -> dict[str, DAG]:
    """The DAGs by their ids, one for each queue manager that has the section in the estate."""
    file = estate_file()
    return dags_of(WORKFLOW, partial(build, file, form_files.tables(file)), file.estate)
