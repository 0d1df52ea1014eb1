"""`mq_lake_retention`: there where the estate has `retention`; it removes by schedule, and says by hand."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk import DAG
from airflow.sdk.exceptions import AirflowException
from click.testing import CliRunner
from mq_support import DLQ, Manager, dead_letter, until

from mqops.cli import main
from mqops.lake.run import RunFolder
from mqops_airflow.operators.retention import LakeRetentionOperator
from mqops_airflow.ui.markdown import plain

RETENTION = "retention: {snapshots: 1s, undo: 1s, schedule: '45 3 * * *'}\n"


def estate_with(folder: Path, more: str) -> None:
    file = folder / "estate.yaml"
    file.write_text(file.read_text().split("retention:", maxsplit=1)[0] + more)


def context(kind: str, *, dry_run: bool, noted: dict[str, Any]) -> Any:
    return {
        "params": {"dry_run": dry_run},
        "dag_run": SimpleNamespace(run_type=SimpleNamespace(value=kind), triggering_user_name="alice"),
        "ti": SimpleNamespace(xcom_push=lambda *, key, value: noted.update({key: value})),
    }


def test_it_is_there_where_the_estate_says_what_is_removed(dag_file: Any, estate_folder: Path) -> None:
    assert not any(isinstance(one, DAG) for one in vars(dag_file("lake_retention")).values())
    estate_with(estate_folder, RETENTION)
    dag = dag_file("lake_retention").mq_lake_retention
    assert (dag.dag_id, dag.schedule, [task.task_id for task in dag.tasks]) == (
        "mq_lake_retention",
        "45 3 * * *",
        ["prune"],
    )
    assert dag.params.dump() == {"dry_run": True}
    assert "snapshots after" in dag.doc_md
    assert "plans\nnever by age" in dag.doc_md


def test_a_run_of_the_schedule_removes_and_one_by_hand_says_what_it_would(
    queue_manager: Any, estate_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager: Manager = queue_manager(mqsc="DEFINE QLOCAL(A)\n")
    rules, lake = estate_folder / "t.rules", estate_folder / "lake"
    rules.write_text("ACTION(RETRY)\n")
    for number in range(2):
        manager.put(DLQ, [dead_letter("A", b"%d" % number)])
        command = ["dlq", "run", DLQ, "QM1", "--once", "--rules", str(rules), "--lake", str(lake)]
        done = CliRunner().invoke(main, command)
        assert done.exit_code == 0, done.output
    first, second = (RunFolder(path) for path in sorted((lake / "QM1" / "runs").iterdir()))
    estate_with(estate_folder, RETENTION)
    operator, noted = LakeRetentionOperator(task_id="prune"), dict[str, Any]()

    def by_hand() -> Any:
        return operator.execute(context("manual", dry_run=True, noted=noted))["queue_managers"][0]

    until(lambda: by_hand()["runs"] == 1)
    assert plain(noted["mqops_told"]).endswith("of 1 run would be removed")
    assert first.snapshot.is_dir()
    found = operator.execute(context("scheduled", dry_run=True, noted=noted))
    assert plain(noted["mqops_told"]).endswith("of 1 run removed")
    assert (found["dry_run"], found["queue_managers"][0]["parts"]) == (False, {"snapshot": 1})
    assert json.loads(json.dumps(found)) == found
    assert (first.snapshot.exists(), second.snapshot.exists()) == (False, True)


def test_without_it_a_run_that_was_begun_before_removes_nothing(estate_folder: Path) -> None:
    with pytest.raises(AirflowException, match="no `retention` any more"):
        LakeRetentionOperator(task_id="prune").execute(context("scheduled", dry_run=False, noted={}))
