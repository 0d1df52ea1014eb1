"""The page of a run that was stopped, and how it goes on."""

from __future__ import annotations

import json
import re
from html import unescape

from ledger_opened import act, prove
from runs_on_pages import DAG, letters, of_dag, planned, task_of

from mqops.clock import utc_now
from mqops.lake.files import write_json
from mqops.lake.stop import Stop, lift, stop


def test_a_run_tells_who_stopped_it_after_it_went_on(manager, estate_folder, client):
    letters(manager, "A", "A", "OTHER")
    run = planned(manager, estate_folder / "lake")
    page = client("/run/live", queue_manager="QM1", run=run.run).text
    assert '<th scope="row">decide</th><td><time' in page
    stop(run.lake_folder, Stop(by="eve", at="2020-01-01T00:00:00Z"))
    lift(run.lake_folder, by="eve", at="2020-01-02T00:00:00Z")  # before this run
    stop(run.lake_folder, Stop(by="carol", at=utc_now(), why="the site is down"))
    assert "all runs of QM1 are stopped by carol" in client("/run/live", queue_manager="QM1", run=run.run).text
    lift(run.lake_folder, by="dave", at=utc_now())
    act(manager.connection, run)
    prove(manager.connection, run)
    page = client("/run/live", queue_manager="QM1", run=run.run).text
    assert "all runs of QM1 were stopped by carol at <time" in page
    assert "(the site is down); taken back by dave at <time" in page
    assert "stopped by eve" not in page


def test_a_stop_that_came_after_the_end_of_a_run_holds_nothing_back(manager, estate_folder, client):
    letters(manager, "A")
    run = planned(manager, estate_folder / "lake")
    act(manager.connection, run)
    prove(manager.connection, run)
    stop(run.path, Stop(by="carol", at=utc_now()))
    page = client("/run/live", "operator", queue_manager="QM1", run=run.run).text
    assert "this run was stopped by carol at <time" in page
    assert ": it has done all of its plan, so this holds nothing back" in page
    assert "this run is stopped" not in page
    assert "Resume this run" not in page
    assert "data-over" in page
    stop(run.lake_folder, Stop(by="carol", at=utc_now()))
    page = client("/run/live", "operator", queue_manager="QM1", run=run.run).text
    assert "all runs of QM1 are stopped by carol" in page
    assert "Resume all runs" in page


def test_a_stopped_run_is_resumed_on_its_page_and_goes_on_there(manager, estate_folder, client, runs_of_airflow):
    letters(manager, "A", "A", "FULL")
    run = of_dag(planned(manager, estate_folder / "lake"), "first")
    write_json(run.plan_json, {**json.loads(run.plan_json.read_text()), "run": run.run})
    act(manager.connection, run, unit_size=1)
    summary = prove(manager.connection, run)
    write_json(run.path.joinpath("summary.json"), {**summary.to_json(), "finished": False, "moved": 1, "left": 2})
    stop(run.path, Stop(by="carol", at=utc_now()))
    runs_of_airflow("UPDATE dag_run SET state = 'failed' WHERE run_id = 'first'")
    runs_of_airflow("DELETE FROM task_instance WHERE run_id = 'first'")
    for task in ("act", "prove"):
        runs_of_airflow(task_of("first", task, "failed"))

    def page(role: str) -> str:
        return re.sub(r"\s+", " ", unescape(client("/run/live", role, dag_id=DAG, run_id="first").text))

    assert "it balances. The task prove ended as failed because the run was stopped and is not finished<" in page(
        "viewer"
    )
    cleared = json.dumps({"dag_id": DAG, "run_id": "first", "task_ids": ["act", "prove"]})
    once = f'data-clears="{cleared}"'
    assert '"run": "' + run.run in page("operator")
    form = re.findall('<form class="starts" id="resume-on".*?</form>', page("operator"))
    assert [(' data-starts="mq_stop"' in one, once in one) for one in form] == [(True, True)]
    assert ">Resume this run, and go on</button>" in form[0]
    assert ">Resume this run</button>" in page("approver")  # who may not clear tasks
    assert "data-clears" not in page("approver")
    assert "Go on with this run" not in page("operator")
    stop(run.lake_folder, Stop(by="carol", at=utc_now()))  # two stops: what is taken back first leaves the other
    assert ">Resume this run</button>" in page("operator")
    assert ">Resume all runs</button>" in page("operator")
    lift(run.path)
    assert "This takes the stop back for all runs, and moves nothing" in page("operator")
    assert "data-clears" not in page("operator")
    lift(run.lake_folder)
    assert "data-over" not in page("operator")
    task = f'<a href="/dags/{DAG}/runs/first/tasks/act" data-airflow-page>'
    assert once in page("operator")
    assert "Resume this run" not in page("operator")
    assert task in page("operator")
    assert "data-clears" not in page("approver")  # who may not clear tasks
    assert f"when a person who may clear its tasks clears act and prove: {task}" in page("approver")
    old = "1 moved + 0 discarded + 2 left + 0 gone"
    assert f"<p>3 planned = {old}.</p>" in page("operator")
    runs_of_airflow("UPDATE dag_run SET state = 'running' WHERE run_id = 'first'")
    runs_of_airflow("UPDATE task_instance SET state = 'running' WHERE run_id = 'first' AND task_id = 'act'")
    now = page("operator")
    assert '<span class="badge note">at work</span> in Airflow the task act is on its way.' in now
    assert "data-clears" not in now
    assert f"<p>3 planned = {old}.</p>" not in now
    assert re.search(
        rf"Not proved since the run went on. The proof of <time .*</time> found 3 planned = {re.escape(old)} then", now
    )
    assert "Balance by rule" not in now


def test_a_run_that_was_stopped_before_it_began_to_act_goes_on_too(manager, estate_folder, client, runs_of_airflow):
    """One that the policy of the estate approves has no answer of a person."""
    letters(manager, "A")
    run = of_dag(planned(manager, estate_folder / "lake"), "ended")
    prove(manager.connection, run)
    runs_of_airflow(task_of("ended", "prove", "failed"))
    page = client("/run/live", "operator", dag_id=DAG, run_id="ended").text
    assert "data-clears" not in page  # nobody has said that it shall act
    assert "data-over" in page
    runs_of_airflow(task_of("ended", "act", "failed"))
    stop(run.path, Stop(by="carol", at=utc_now()))
    page = client("/run/live", "operator", dag_id=DAG, run_id="ended").text
    assert "Resume this run, and go on" in page
    assert "Go on with this run" not in page
    assert "data-over" not in page
    lift(run.path)
    page = client("/run/live", "operator", dag_id=DAG, run_id="ended").text
    assert "data-clears" in page
    assert "data-over" not in page
