"""An error in the estate takes away what has it, and nothing else: DAGs, pages, the kill switch."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG
from click.testing import CliRunner

from mqops.cli.estate import estate as estate_command
from mqops.errors import SettingsError
from mqops.model import Account
from mqops_airflow.dag_files.of_estate import WORKFLOWS
from mqops_airflow.runs import dags_for_all

ESTATE = """\
lake: lake
queue_managers:
  QM1:
    connection: mq_test
    reveal: [viewer]
    dlq_rules: {rules: qm1.rules}
    snapshot_quality: {suites: [a.yaml]}
  QM2:
    connection: mq_two
    dlq_rules: {rules: qm1.rules, approval: {four_eyes: true}}
    expiry_scan: {interval: 1h}
"""
BROKEN = {
    "a section": ESTATE.replace("rules: qm1.rules, approval", "rulez: qm1.rules, approval"),
    "a queue manager": ESTATE.replace("mq_two", "mq two"),
    "the file": ESTATE.replace("interval: 1h}", "interval: 1h"),
}
FOR_ALL = {*dags_for_all.FOR_ALL}
OF_QM1 = {"qm1_dlq_rules", "qm1_snapshot_quality"}


def dags(dag_file: Any) -> set[str]:
    """The DAGs that there are, and "error" where a file cannot be imported."""
    found: set[str] = set()
    for name in WORKFLOWS:
        try:
            found |= {dag.dag_id for dag in vars(dag_file(name)).values() if isinstance(dag, DAG)}
        except SettingsError:
            found.add("error")
    return found


@pytest.fixture
def broken(estate_folder: Path, client: Any, dag_file: Any) -> Any:
    """Reads the estate while it is valid, then breaks it; returns what `mqops estate check` says."""

    def run(what: str) -> list[str]:
        path = estate_folder / "estate.yaml"
        path.write_text(ESTATE)
        (estate_folder / "lake").mkdir(mode=0o700)
        assert client("/rules").status_code == 200
        assert "qm2_expiry_scan" in dags(dag_file)
        path.write_text(BROKEN[what])
        said = CliRunner().invoke(estate_command, ["check", str(path)]).output
        return [line for line in said.splitlines() if re.match(rf"{re.escape(str(path))}:\d", line)]

    return run


@pytest.mark.parametrize(
    ("what", "left"),
    [
        ("a section", FOR_ALL | OF_QM1 | {"qm2_expiry_scan"}),
        ("a queue manager", FOR_ALL | OF_QM1),
        ("the file", {"mq_stop", "error"}),
    ],
)
def test_only_what_has_the_error_has_no_dag(broken: Any, dag_file: Any, what: str, left: set[str]) -> None:
    said = broken(what)
    assert dags(dag_file) == left
    with pytest.raises(SettingsError) as caught:
        dag_file("estate_errors")
    assert str(caught.value).splitlines() == said


@pytest.mark.parametrize("what", list(BROKEN))
def test_every_page_is_there_and_has_the_words_of_estate_check(broken: Any, client: Any, what: str) -> None:
    said = broken(what)
    assert said
    for path in ("/rules", "/quality", "/messages", "/expiry"):
        answer = client(path)
        assert answer.status_code == 200, path
        banner = re.search(
            r'<div class="problem bad" role="alert" id="estate-errors">.*?</div>', answer.text, re.DOTALL
        )
        assert banner, path
        text = html.unescape(banner[0])
        assert all(line in text for line in said), text
        assert ("It cannot be used" in text) == (what == "the file")
    assert ("mq_two" in client("/rules?queue_manager=QM2").text) is False


def test_without_an_error_no_page_has_a_banner(client: Any, estate_folder: Path) -> None:
    assert "estate-errors" not in client("/rules").text


def test_a_queue_manager_with_an_error_says_so_on_its_page(broken: Any, client: Any) -> None:
    (line,) = broken("a queue manager")
    answer = client("/rules", queue_manager="QM2")
    assert answer.status_code == 503
    assert line.partition(": ")[2].partition(" (")[0] in answer.text
    assert client("/rules", queue_manager="QM3").status_code == 403


def test_the_page_estate_names_no_dag_of_a_queue_manager_whose_workflows_have_all_an_error(
    client: Any, estate_folder: Path
) -> None:
    nothing = "There is no run yet"
    only = ESTATE.replace("    expiry_scan: {interval: 1h}\n", "")
    (estate_folder / "lake").mkdir(mode=0o700)
    (estate_folder / "estate.yaml").write_text(only)
    assert f"{nothing}. Start one from" in client("/estate", queue_manager="QM2").text
    (estate_folder / "estate.yaml").write_text(only.replace("rules: qm1.rules, approval", "rulez: qm1.rules, approval"))
    shown = client("/estate", queue_manager="QM2").text
    assert f"{nothing}, and the estate has no valid workflow for QM2." in shown
    assert "Start one from" not in shown


@pytest.mark.parametrize("what", list(BROKEN))
def test_the_kill_switch_stops_every_queue_manager(broken: Any, dag_file: Any, estate_folder: Path, what: str) -> None:
    from types import SimpleNamespace  # noqa: PLC0415

    from mqops.lake.run import RunFolder  # noqa: PLC0415
    from mqops.lake.stop import is_stopped  # noqa: PLC0415

    broken(what)
    dag = dag_file("stop").mq_stop
    assert dag.params.get_param("queue_manager").schema["enum"] == ["QM1", "QM2"]
    run = RunFolder.at(estate_folder / "lake", "QM2", "cli-1").create()
    form = {"do": "stop", "queue_manager": "QM2", "run": None, "why": None}
    told = SimpleNamespace(xcom_push=lambda key, value: None)
    person = SimpleNamespace(triggering_user_name="carol")
    dag.get_task("stop").execute({"params": form, "dag_run": person, "ti": told})
    assert is_stopped(run)


def test_an_undo_asks_for_four_eyes_while_the_part_that_asks_for_them_is_left_out(broken: Any, dag_file: Any) -> None:
    broken("a section")
    assert dag_file("undo").mq_undo.get_task("approve").approval.four_eyes is True


@pytest.mark.parametrize("what", list(BROKEN))
def test_nobody_is_given_a_right_by_what_the_estate_had_before(broken: Any, what: str) -> None:
    from mqops.look.reveal import refuse_question, refuse_unless_named  # noqa: PLC0415

    broken(what)
    whole = what != "the file"
    for refuse in (refuse_unless_named, refuse_question):
        for kind in Account:
            if whole:
                refuse("QM1", "viewer", kind)
            else:
                with pytest.raises(SettingsError):
                    refuse("QM1", "viewer", kind)
            if what == "a queue manager":
                with pytest.raises(SettingsError):
                    refuse("QM2", "viewer", kind)
