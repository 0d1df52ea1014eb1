"""`mqops_airflow.estate_dags`: the DAGs of an estate in a DAG file of somebody's own, of three lines."""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG, BaseOperator

from mqops.errors import SettingsError
from mqops_airflow.dag_files.of_estate import WORKFLOWS

ROOT = Path(__file__).resolve().parents[2]
THREE_LINES = """\
from mqops_airflow import estate_dags

globals().update(estate_dags({}))
"""


@pytest.fixture
def file_of(all_workflows: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], dict[str, DAG]]:
    """Runs a DAG file beside the estate file, with these arguments of `estate_dags`; the DAGs in it."""
    monkeypatch.setenv("MQOPS_ESTATE", "")

    def run(arguments: str) -> dict[str, DAG]:
        place = {"__name__": "mine", "__file__": str(all_workflows / "mine.py")}
        exec(compile(THREE_LINES.format(arguments), place["__file__"], "exec"), place)
        return {name: value for name, value in place.items() if isinstance(value, DAG)}

    return run


def test_the_readme_has_a_row_for_each_workflow() -> None:
    table = (ROOT / "README.md").read_text().split("\n| workflow |")[1].split("\n\n")[0]
    rows = re.findall(r"^\| ((?:`\S+`(?:, )?)+) \|", table, re.MULTILINE)
    named = [name for row in rows for name in re.findall(r"`(?:<qm>|mq)_(\w+)`", row)]
    assert sorted(named) == sorted([*WORKFLOWS, "refresh_expiry"]), "README.md: the table of workflows"


def test_there_are_the_dags_of_the_repository(file_of: Any, dag_file: Any, all_workflows: Path) -> None:
    mine = file_of('"estate.yaml"')
    assert os.environ["MQOPS_ESTATE"] == str(all_workflows / "estate.yaml")  # for the tasks, and the jobs of Spark
    wanted = set()
    for path in (ROOT / "dags").glob("*.py"):
        wanted |= {value.dag_id for value in vars(dag_file(path.stem)).values() if isinstance(value, DAG)}
    assert set(mine) == {dag.dag_id for dag in mine.values()} == wanted


def test_each_dag_file_of_the_repository_is_a_workflow_of_the_package() -> None:
    assert {path.stem for path in (ROOT / "dags").glob("*.py")} == {*WORKFLOWS, "estate_errors"}


def test_some_workflows_and_own_tasks_before_and_behind(file_of: Any) -> None:
    found = file_of('"estate.yaml", workflows=["dlq_rules", "undo"]')
    assert set(found) == {"qm1_dlq_rules", "mq_undo"}
    with found["qm1_dlq_rules"] as dag:
        BaseOperator(task_id="before") >> dag.get_task("check")
        dag.get_task("prove") >> BaseOperator(task_id="behind")
    assert dag.get_task("check").upstream_task_ids == {"before"}
    assert dag.get_task("prove").downstream_task_ids == {"behind"}


def test_the_documents_dag_file_has_its_own_schedule_and_tasks(file_of: Any, all_workflows: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "own_dags.md").read_text(), re.DOTALL)
    place = {"__name__": "mine", "__file__": str(all_workflows / "mine.py")}
    exec(compile(code, place["__file__"], "exec"), place)
    found = {name: value for name, value in place.items() if isinstance(value, DAG)}
    assert set(found) == {"qm1_dlq_rules", "qm1_expiry_scan", "mq_refresh_expiry", "mq_undo", "dag"}
    dag = found["qm1_dlq_rules"]
    assert [one.uri for one in dag.schedule] == ["x-bank://end_of_day"]  # type: ignore[union-attr]
    assert found["qm1_expiry_scan"].schedule is None
    assert dag.get_task("check").upstream_task_ids == {"batch_has_ended"}
    assert dag.get_task("prove").downstream_task_ids == {"report"}
    assert dag.get_task("report").trigger_rule == "all_success"  # a proof that failed fails the run


def test_schedules_are_for_dags_that_have_one(file_of: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingsError, match=r"no DAG .* is called mq_undo, qm1_dlq here; there are .*qm1_dlq_rules"):
        file_of('"estate.yaml", schedules={"qm1_dlq": None, "mq_undo": None}')
    assert file_of('"estate.yaml", schedules={"qm1_dlq_rules": "7 7 * * *"}')["qm1_dlq_rules"].schedule == "7 7 * * *"
    assert file_of('"estate.yaml"')["qm1_dlq_rules"].schedule != "7 7 * * *"
    monkeypatch.setenv("MQOPS_SCHEDULES", "off")
    assert file_of('"estate.yaml", schedules={"qm1_dlq_rules": "7 7 * * *"}')["qm1_dlq_rules"].schedule is None


def test_without_a_name_it_is_the_one_in_the_folder_of_dags(
    file_of: Any, all_workflows: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An installed mqops has no estate file of its own; the pages look there, too."""
    monkeypatch.setattr("mqops_airflow.runs.workplace.ESTATE", all_workflows / "none" / "estate.yaml")
    monkeypatch.setenv("AIRFLOW__CORE__DAGS_FOLDER", str(all_workflows))
    assert "qm1_dlq_rules" in file_of("")


def test_one_airflow_has_one_estate(file_of: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MQOPS_ESTATE", str(tmp_path / "other.yaml"))
    with pytest.raises(SettingsError, match=r"the DAG file asks for the estate .*, and MQOPS_ESTATE is .*other.yaml"):
        file_of('"estate.yaml"')


def test_an_error_takes_one_part_away_and_is_told(
    file_of: Any, all_workflows: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    estate = all_workflows / "estate.yaml"
    estate.write_text(estate.read_text() + "  QM2:\n    connection: 'a b'\n    dlq_rules: {rules: qm1.rules}\n")
    with caplog.at_level(logging.ERROR):
        assert "qm1_dlq_rules" in file_of('"estate.yaml"')
    line = estate.read_text().splitlines().index("    connection: 'a b'") + 1
    assert f"estate.yaml:{line}: queue_managers.QM2.connection" in caplog.text
    with pytest.raises(SettingsError, match=r"queue_managers.QM2.connection"):
        file_of('"estate.yaml", workflows=["estate_errors"]')


def test_the_kill_switch_in_a_file_of_its_own_outlives_the_estate(file_of: Any, all_workflows: Path) -> None:
    (all_workflows / "lake").mkdir()
    file_of('"estate.yaml"')
    (all_workflows / "estate.yaml").write_text("lake: lake\n: nothing")
    with pytest.raises(SettingsError):
        file_of('"estate.yaml"')
    assert set(file_of('"estate.yaml", workflows=["stop"]')) == {"mq_stop"}


def test_a_workflow_that_is_none_is_told(file_of: Any) -> None:
    with pytest.raises(SettingsError, match="there is no workflow dlq; there are dlq_rules, "):
        file_of('"estate.yaml", workflows=["dlq"]')


def test_the_plugin_is_there_once_with_and_without_a_folder_of_plugins(tmp_path: Path) -> None:
    """The entry point brings it; the repository's folder of plugins brings no second one, which would be an error."""
    program = """
import json
from airflow import plugins_manager
plugins, errors = plugins_manager._get_plugins()
print(json.dumps([[one.name for one in plugins if one.name == "mqops"], errors]))
"""
    for folder in (ROOT / "plugins", tmp_path):
        done = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "AIRFLOW__CORE__PLUGINS_FOLDER": str(folder)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert json.loads(done.stdout.splitlines()[-1]) == [["mqops"], {}]
