"""The listener that writes notes leaves the runs of other people's DAGs alone (`mqops_airflow.notices.notes`)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG

from mqops_airflow.notices import notes


@pytest.fixture
def run(airflow_database: Path) -> Iterator[Any]:
    """A run as Airflow hands it to a listener: in a session, with its DAG."""
    from airflow.models.dagrun import DagRun  # noqa: PLC0415 - after the database is there
    from airflow.utils import timezone  # noqa: PLC0415
    from airflow.utils.session import create_session  # noqa: PLC0415

    with create_session() as session:
        made = DagRun(dag_id="somebody_elses", run_id="one", run_type="manual", run_after=timezone.utcnow())
        session.add(made)
        session.flush()
        session.expire(made, ["dag_run_note"])
        yield made
        session.rollback()


@contextmanager
def statements() -> Iterator[list[str]]:
    """The statements that Airflow's database is asked meanwhile."""
    from airflow.settings import engine  # noqa: PLC0415 - after the database is there
    from sqlalchemy import event  # noqa: PLC0415

    asked: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_more: Any) -> None:
        asked.append(statement)

    event.listen(engine, "before_cursor_execute", note)
    try:
        yield asked
    finally:
        event.remove(engine, "before_cursor_execute", note)


@pytest.mark.parametrize(("tags", "asks"), [([], False), (["sales"], False), (["mq", "QM1"], True)])
def test_the_run_of_a_dag_without_the_tag_costs_no_query(run: Any, tags: list[str], asks: bool) -> None:
    run.dag = DAG("somebody_elses", tags=tags)
    with statements() as asked:
        for ended in (notes.on_dag_run_success, notes.on_dag_run_failed):
            ended(dag_run=run, msg="")
    assert bool(asked) is asks


@pytest.mark.parametrize("tags", [["sales"], ["mq"]])
def test_a_run_in_no_session_raises_nothing(run: Any, tags: list[str]) -> None:
    """`airflow dags test` hands one over."""
    from sqlalchemy.orm import object_session  # noqa: PLC0415

    run.dag = DAG("somebody_elses", tags=tags)
    session = object_session(run)
    assert session is not None
    session.expunge(run)
    notes.on_dag_run_success(dag_run=run, msg="")
    notes.on_dag_run_failed(dag_run=run, msg="")
