"""An evening of poison in real Airflow, with nobody who cleans up: a loop that the guard ends, replays with a backoff,
quarantine at the cap, an undo, the prune of an old run; and `airflow db clean` beside the running processes.

It takes minutes: MQOPS_POISON_EVENING=1 asks for it, as `make full` does. Figures are printed (`pytest -s`).
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pymqi
import pytest
from click.testing import CliRunner
from mq_support import DLQ, Manager, create, dead_letter, until
from pymqi import CMQC

from e2e.conftest import Site, home_below
from mqops.cli import main
from mqops_airflow.runs.run_folder import run_key
from mqops_demo.airflow import NO_PORT
from mqops_demo.airflow_client import AirflowClient, RunResult
from mqops_demo.airflow_processes import airflow, start, stop
from mqops_demo.estate import ROOT

pytestmark = pytest.mark.skipif("MQOPS_POISON_EVENING" not in os.environ, reason="`make full` runs it")
NAME = "POISON"
ESTATE = """\
lake: lake
spark: spark_warm
retention: {snapshots: 1s, undo: 1s}
queue_managers:
  POISON:
    connection: mq_poison
    dlq_rules: {rules: year.rules, approval: {four_eyes: true}}
    backout_reprocess: {rules: back.rules, quarantine: PARKED, replay_cap: 2, backoff: [10m]}
    poison_guard: {watch: 1s}
"""
QUEUES = """\
DEFINE QLOCAL(APP.BOQ)
DEFINE QLOCAL(APP) BOTHRESH(2) BOQNAME(APP.BOQ)
DEFINE QLOCAL(PARKED)
DEFINE QLOCAL(DONE)
"""
PLACES = ("APP", "APP.BOQ", "PARKED", "DONE", DLQ)
GOOD = (b"good 1", b"good 2", b"good 3")
ACTING = 3
"""Runs that act, of which rows and bytes are measured."""
PATIENCE = 600.0
"""Seconds to wait for a question."""


@pytest.fixture(scope="module")
def evening(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """An Airflow of its own: its retention would remove the runs of the other tests."""
    folder = tmp_path_factory.mktemp("poison", numbered=False)
    home = home_below(folder)
    (folder / "estate.yaml").write_text(ESTATE)
    (folder / "year.rules").write_text("DESTQ(DONE) ACTION(RETRY)\n")
    (folder / "back.rules").write_text("ACTION(RETRY)\n")
    try:
        start(home)
        client = AirflowClient(home)
        client.wait_until_healthy()
        site = Site(client=client, folder=folder, queue_managers=home.queue_managers)
        extra = json.dumps({"queue_manager": NAME, "home": str(home.queue_managers)})
        client.set_connection("mq_poison", conn_type="mq", port=NO_PORT, extra=extra)
        site.use_warm_spark("spark_warm")
        create(home.queue_managers, NAME, QUEUES)
        yield site
    finally:
        stop(home)


@pytest.fixture
def manager(evening: Site, monkeypatch: pytest.MonkeyPatch) -> Manager:
    monkeypatch.setenv("MQLITE_HOME", str(evening.queue_managers))
    monkeypatch.setenv("MQOPS_LAKE", str(evening.folder / "lake"))
    return Manager(NAME, evening.queue_managers)


def mqops(*words: str, expect: int = 0) -> Any:
    done = CliRunner().invoke(main, [*words, "--json"])
    assert done.exit_code == expect, done.output
    return json.loads(done.stdout)


def run(site: Site, dag_id: str, **form: Any) -> RunResult:
    """A run that an operator starts and an approver approves, where it asks."""
    site.client.wait_for_dag(dag_id)
    site.client.unpause(dag_id)
    run_id = site.as_user("operator").trigger(dag_id, dry_run=False, **form)
    result = site.as_user("approver").follow(dag_id, run_id, approve=lambda _question: True)
    assert result.state == "success", site.client.failures(result)
    return result


def moved(site: Site, dag_id: str, **form: Any) -> tuple[RunResult, int]:
    """A run, and how many messages it moved; it balances."""
    result = run(site, dag_id, **form)
    summary = site.summary(result)
    assert summary["balanced"], summary
    return result, summary["moved"]


def bodies(manager: Manager) -> Counter[bytes]:
    return Counter(body for queue in PLACES for body in manager.bodies(queue))


def test_an_evening_of_poison_is_accounted_for_to_the_last_message(evening: Site, manager: Manager) -> None:
    (poison,) = manager.put("APP", [({}, b"poison")])
    manager.put("APP", [({}, body) for body in GOOD])

    manager.back_out("APP", 3)
    first_guard, number = moved(evening, "poison_poison_guard")
    assert (number, manager.bodies("APP"), manager.bodies("APP.BOQ")) == (1, list(GOOD), [b"poison"])

    replayed, number = moved(evening, "poison_backout_reprocess")
    assert (number, manager.bodies("APP")) == (1, [*GOOD, b"poison"])
    with manager.connected() as program:  # the program goes on with the good ones
        queue = pymqi.Queue(program, "APP", CMQC.MQOO_INPUT_SHARED)
        assert [queue.get() for _ in GOOD] == list(GOOD)
        queue.close()
    manager.back_out("APP", 3)
    assert moved(evening, "poison_poison_guard")[1] == 1

    waits, number = moved(evening, "poison_backout_reprocess")
    assert (number, manager.bodies("APP.BOQ")) == (0, [b"poison"])
    assert "(LATER)" in evening.log(waits, "prove")
    estate = (evening.folder / "estate.yaml").read_text()
    (evening.folder / "estate.yaml").write_text(estate.replace("backoff: [10m]", "backoff: [1s]"))
    assert moved(evening, "poison_backout_reprocess")[1] == 1
    manager.back_out("APP", 3)
    assert moved(evening, "poison_poison_guard")[1] == 1

    parked, number = moved(evening, "poison_backout_reprocess")  # the cap is 2
    assert (number, manager.bodies("PARKED"), manager.bodies("APP.BOQ")) == (1, [b"poison"], [])
    assert moved(evening, "mq_undo", queue_manager=NAME, run=parked.run_id)[1] == 1
    assert (manager.bodies("PARKED"), manager.bodies("APP.BOQ")) == ([], [b"poison"])

    run(evening, "mq_lake_retention")
    lake = evening.folder / "lake" / NAME
    key = run_key(replayed.dag_id, replayed.run_id)
    assert not (lake / "runs" / key / "snapshot").exists()
    refused = CliRunner().invoke(main, ["undo", key, "-m", NAME, "--yes"])
    assert refused.exit_code != 0
    assert "removed by `mqops lake prune`" in " ".join(refused.output.split())

    assert bodies(manager) == Counter([b"poison"])
    events = [one["action"] for one in mqops("ledger", "show", poison.hex())["events"] if one["outcome"] == "acted"]
    assert Counter(events) == Counter({"FWD": 4, "RETRY": 2, "RETURN": 1})  # the guard three times, and the quarantine
    assert CliRunner().invoke(main, ["ledger", "verify", NAME]).exit_code == 0
    assert evening.client.call("GET", f"/dags/{first_guard.dag_id}/dagRuns/{first_guard.run_id}")["note"]


def database(site: Site) -> Path:
    return site.client.home.folder / "airflow.db"


def sizes(site: Site) -> tuple[Counter[str], Counter[str], int, int]:
    """Table → bytes, table → rows; bytes and files of the logs of tasks."""
    with closing(sqlite3.connect(database(site))) as connection:
        of_index = dict(connection.execute("SELECT name, tbl_name FROM sqlite_master"))
        size, rows = Counter[str](), Counter[str]()
        for name, found in connection.execute("SELECT name, sum(pgsize - unused) FROM dbstat GROUP BY name"):
            size[of_index.get(name, name)] += found
        for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            rows[table] = connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
    logs = [path.stat().st_size for path in (site.client.home.folder / "logs").glob("dag_id=*/**/*") if path.is_file()]
    return size, rows, sum(logs), len(logs)


def acts(site: Site, manager: Manager) -> RunResult:
    """A run of dead letters that asks, and moves a message."""
    manager.put(DLQ, [dead_letter("DONE", b"letter", dest_q_mgr=NAME)])
    result, number = moved(site, "poison_dlq_rules")
    assert number == 1
    return result


def test_airflow_cleans_its_database_while_a_question_is_open(evening: Site, manager: Manager) -> None:
    first = acts(evening, manager)
    before = sizes(evening)
    for _ in range(ACTING):
        acts(evening, manager)
    after = sizes(evening)
    grown, rows = after[0] - before[0], after[1] - before[1]
    figures = {table: f"{grown[table] // ACTING:,} bytes in {rows[table] / ACTING:.1f} rows" for table in grown}
    print(f"a run that acts: {grown.total() // ACTING:,} bytes, {rows.total() / ACTING:.0f} rows: {figures}")
    print(f"and logs: {(after[2] - before[2]) // ACTING:,} bytes in {(after[3] - before[3]) / ACTING:.1f} files")

    date = datetime.now(UTC).isoformat()  # as the page on a year of running says: no open question is older
    manager.put(DLQ, [dead_letter("DONE", b"letter", dest_q_mgr=NAME)])
    dag_id = "poison_dlq_rules"
    asked = evening.client.trigger(dag_id, dry_run=False)  # by the administrator
    tasks = evening.client.task_instances
    until(lambda: tasks(dag_id, asked)["approve"]["state"] == "awaiting_input", PATIENCE, pause=0.5)
    (line,) = re.findall(r"^airflow (db clean .*)$", (ROOT / "docs" / "a_year.md").read_text(), re.MULTILINE)
    words = shlex.split(line)
    words[words.index("--clean-before-timestamp") + 1] = date
    began = datetime.now(UTC)
    airflow(evening.client.home, *words)
    left = sizes(evening)
    took = (datetime.now(UTC) - began).total_seconds()
    print(f"airflow db clean took {took:.0f} s; rows removed {dict(after[1] - left[1])}")
    known = [one["dag_run_id"] for one in evening.client.call("GET", f"/dags/{dag_id}/dagRuns")["dag_runs"]]
    assert (asked in known, first.run_id in known) == (True, False)

    own = evening.client.follow(dag_id, asked, approve=lambda _question: True)  # four eyes by Airflow's own record
    assert "admin started this run; the estate asks for another person's approval" in evening.log(own, "approve")
    again = {"dry_run": False, "dag_run_id": asked, "task_ids": ["approve"], "include_downstream": True}
    evening.as_user("operator").call("POST", f"/dags/{dag_id}/clearTaskInstances", json={**again, "only_failed": False})
    result = evening.as_user("approver").follow(dag_id, asked, approve=lambda _question: True)
    assert (result.state, evening.summary(result)["moved"]) == ("success", 1)

    page = evening.client.page(f"/mqops/run?queue_manager={NAME}&run={run_key(dag_id, first.run_id)}").text
    assert "Airflow has no record of this run" in page
    there = manager.depth("DONE")
    assert moved(evening, "mq_undo", queue_manager=NAME, run=first.run_id)[1] == 1
    assert (manager.depth("DONE"), manager.depth(DLQ)) == (there - 1, 1)
