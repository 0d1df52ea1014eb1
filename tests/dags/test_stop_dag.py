"""The kill switch in Airflow: its form, and what it does to the lake; the forms of canary, rate and in-flight limit."""

from __future__ import annotations

from copy import copy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk import DAG
from airflow.sdk.exceptions import ParamValidationError

from mqops.errors import SettingsError, Stopped
from mqops.lake.files import write_json
from mqops.lake.run import RunFolder
from mqops.lake.stop import Stop, is_stopped, lifted_in, refuse_if_stopped, stop
from mqops_airflow.runs.run_folder import HANDED_ON, run_key

ESTATE = """\
lake: lake
queue_managers:
  QM1:
    connection: mq_qm1
    dlq_rules:
      rules: qm1.rules
      handling: {canary: 5, canary_wait: 2m, pace: 100, in_flight: 5000}
  MVS/1:
    connection: mq_mvs1
    backout_reprocess: {rules: back.rules, quarantine: Q}
"""


@pytest.fixture
def estate(estate_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (estate_folder / "estate.yaml").write_text(ESTATE)
    monkeypatch.delenv("MQOPS_LAKE", raising=False)
    return estate_folder


@pytest.fixture
def switch(dag_file: Any, estate: Path) -> Any:
    """Runs the task with a form, as its operator is run."""
    dag = dag_file("stop").mq_stop
    assert isinstance(dag, DAG)

    notes: list[str] = []
    defaults = {name: dag.params.get_param(name).value for name in dag.params}

    def run(**form: Any) -> Any:
        params = {name: copy(dag.params.get_param(name)).resolve(form.get(name, defaults[name])) for name in dag.params}
        task: Any = dag.get_task("stop")
        run = SimpleNamespace(triggering_user_name="carol")
        told = SimpleNamespace(xcom_push=lambda key, value: notes.append(value))
        return task.execute({"params": params, "dag_run": run, "ti": told})

    run.notes = notes  # type: ignore[attr-defined]
    return run


def test_a_run_is_stopped_and_goes_on(switch: Any, estate: Path) -> None:
    run = RunFolder.at(estate / "lake", "QM1", "cli-1").create()
    found = switch(queue_manager="QM1", run="cli-1", why="night")
    assert (found["what"], found["stopped"]["by"], found["stopped"]["why"]) == ("run cli-1 of QM1", "carol", "night")
    with pytest.raises(Stopped, match=r"Run cli-1 was stopped by carol at .* \(night\)"):
        refuse_if_stopped(run)
    assert switch(do="resume", queue_manager="QM1", run="cli-1") == {"what": "run cli-1 of QM1", "stopped": None}
    assert not is_stopped(run)
    (lifted,) = lifted_in(run.path)
    assert (lifted.by, lifted.why, lifted.lifted_by) == ("carol", "night", "carol")
    with pytest.raises(SettingsError, match="has no run cli-2 of QM1"):
        switch(queue_manager="QM1", run="cli-2")


@pytest.mark.parametrize(
    "why", ["x\nmqops: all is well. To go on: `evil`", "x\x1b[2J\x1b]0;owned\x07", "x\n", "x\x9b2J"]
)
def test_a_reason_that_steers_a_terminal_is_refused_by_the_form_and_shown_in_one_line(
    switch: Any, estate: Path, why: str
) -> None:
    run = RunFolder.at(estate / "lake", "QM1", "cli-1").create()
    with pytest.raises(ParamValidationError):
        switch(queue_manager="QM1", run="cli-1", why=why)
    assert not is_stopped(run)
    found = stop(run.path, Stop(by="eve\n", at="now", why=why))  # as `mqops stop --why` takes it
    assert str(found).isprintable()
    with pytest.raises(Stopped) as stopped:
        refuse_if_stopped(run)
    assert str(stopped.value).isprintable()


def test_a_queue_manager_is_stopped_with_all_its_runs(switch: Any, estate: Path) -> None:
    runs = [RunFolder.at(estate / "lake", name, "cli-1").create() for name in ("QM1", "MVS/1")]
    assert switch(queue_manager="MVS/1")["what"] == "all acting on MVS/1"
    assert [is_stopped(run) for run in runs] == [False, True]
    assert switch.notes[-1].endswith(". Resume all runs on the page Estate takes the stop back")
    switch(do="resume", queue_manager="MVS/1")
    assert not is_stopped(runs[1])


def test_the_form_opens_ready_and_takes_airflows_run_id(switch: Any, dag_file: Any, estate: Path) -> None:
    key = run_key("qm1_dlq_rules", "manual__2026-11-23T02:31:26.49+00:00")
    run = RunFolder.at(estate / "lake", "QM1", key).create()
    write_json(
        run.path / HANDED_ON.name,
        {"dag_id": "qm1_dlq_rules", "run_id": "manual__2026-11-23T02:31:26.49+00:00", "found": {}},
    )
    run.plan_json.touch()
    dag = dag_file("stop").mq_stop
    for name in dag.params:  # Airflow's form greys Trigger out where a text that may not be null is empty
        ready = dag.params.get_param(name).value or "null" in dag.params.get_param(name).schema["type"]
        assert bool(ready) == (name != "queue_manager"), name
    found = switch(queue_manager="QM1", run="manual__2026-11-23T02:31:26.49+00:00")
    assert (found["what"], found["stopped"]["why"]) == (f"run {key} of QM1", "")
    assert is_stopped(run)
    with pytest.raises(SettingsError, match=r"has no run manual__other of QM1"):
        switch(queue_manager="QM1", run="manual__other")


def test_a_stopped_run_is_not_tried_again_by_itself() -> None:
    from mqops_airflow.workflows.retry import FINAL  # noqa: PLC0415

    assert {"mqops.errors.Stopped", "mqops.errors.GateStopped"} <= set(FINAL)


def test_the_forms_have_canary_rate_and_in_flight_limit_as_the_estate_sets_them(dag_file: Any, estate: Path) -> None:
    from airflow.sdk.exceptions import ParamValidationError  # noqa: PLC0415

    (dlq,) = (dag for dag in vars(dag_file("dlq_rules")).values() if isinstance(dag, DAG))
    (backout,) = (dag for dag in vars(dag_file("backout_reprocess")).values() if isinstance(dag, DAG))
    names = ("canary", "canary_wait", "pace", "in_flight", "patience")
    assert [dlq.params[name] for name in names] == [5, 120, 100, 5000, 60]
    assert [backout.params[name] for name in names] == [0, 30, 0, 0, 60]
    for name in names:
        with pytest.raises(ParamValidationError):
            dlq.params.get_param(name).resolve(-1)
    arguments = dlq.get_task("decide").application_args
    wanted = [f"--{name.replace('_', '-')}={{{{ handed_on(dag_run, 'QM1')['{name}'] }}}}" for name in names]
    assert [
        argument for argument in arguments if argument.split("=")[0] in {f"--{n.replace('_', '-')}" for n in names}
    ] == wanted
