"""`mq_undo`: puts back what a run moved and discarded, by hand, after a person has approved the plan."""

from __future__ import annotations

from airflow.sdk import DAG

from mqops_airflow import params
from mqops_airflow.documentation import UNDO
from mqops_airflow.pipeline import for_all
from mqops_airflow.undo import UndoPlanOperator
from mqops_airflow.which_run import undoable
from mqops_airflow.workplace import estate_file, lake

_FILE = estate_file()

mq_undo: DAG = for_all(
    "undo",
    UndoPlanOperator,
    _FILE,
    description="Undo a run: put back what it moved and discarded",
    page=UNDO,
    form={"run": params.run(undoable(lake(_FILE), _FILE.estate.queue_managers))},
)
