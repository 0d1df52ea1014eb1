"""`<queue manager>_poison_guard`: messages that loop on the input queues of each queue manager of the estate."""

from __future__ import annotations

from functools import partial

from airflow.sdk import DAG

from mqops.estate import EstateFile
from mqops.estate_sections import QueueManager
from mqops.estate_workflows import PoisonGuard
from mqops_airflow.forms import params
from mqops_airflow.operators.guard import GuardPlanOperator
from mqops_airflow.runs.workplace import dags_of, estate_file
from mqops_airflow.workflows.documentation import poison_guard_page
from mqops_airflow.workflows.pipeline import in_one_process

WORKFLOW = "poison_guard"


def build(file: EstateFile, name: str, _settings: QueueManager, section: PoisonGuard) -> DAG:
    """The DAG of one queue manager."""
    return in_one_process(
        name,
        section,
        file,
        workflow=WORKFLOW,
        plan_operator=GuardPlanOperator,
        description=f"Messages that loop on {name}",
        page=poison_guard_page(name, section),
        form={
            "queues": params.input_queues(section.queues),
            "first_tell": params.first_tell(),
            "limit": params.limit(section.limit),
        },
    )


def dags() -> dict[str, DAG]:
    """The DAGs by their ids, one for each queue manager that has the section in the estate."""
    file = estate_file()
    return dags_of(WORKFLOW, partial(build, file), file.estate)
