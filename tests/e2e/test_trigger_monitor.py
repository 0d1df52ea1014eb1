"""Trigger messages start DAG runs: real Airflow with its triggerer, and the embedded queue manager."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import mq_support
import pymqi
import pytest
from mq_support import DLQ, Manager, dead_letter
from pymqi import CMQC

from mqops.trigger.core.trigger_message import CONF_KEY, RUN_ID_PREFIX
from mqops_demo.airflow_processes import running, signal_groups, start_airflow
from mqwire import constants as c
from mqwire.structures import MQDLH

until = partial(mq_support.until, seconds=240.0, pause=0.2)  # each look costs the API server 20 ms of processor
MONITOR, SCAN = "triggered_trigger_monitor", "triggered_expiry_scan"
DEFINITIONS = """\
DEFINE QLOCAL(MQOPS.INITQ) DEFPSIST(YES)
DEFINE PROCESS(SCAN) APPLTYPE(UNIX) APPLICID('triggered_expiry_scan') USERDATA('{{ 1/0 }}') ENVRDATA('&')
DEFINE PROCESS(PAUSED) APPLTYPE(UNIX) APPLICID('triggered_dlq_rules')
DEFINE PROCESS(MISSING) APPLTYPE(UNIX) APPLICID('no_such_dag')
DEFINE QLOCAL(APP) TRIGGER TRIGTYPE(EVERY) INITQ(MQOPS.INITQ) PROCESS(SCAN) TRIGDATA('t')
DEFINE QLOCAL(LOOP) TRIGGER TRIGTYPE(EVERY) INITQ(MQOPS.INITQ) PROCESS(SCAN)
DEFINE QLOCAL(Q.PAUSED) TRIGGER TRIGTYPE(EVERY) INITQ(MQOPS.INITQ) PROCESS(PAUSED)
DEFINE QLOCAL(Q.MISSING) TRIGGER TRIGTYPE(EVERY) INITQ(MQOPS.INITQ) PROCESS(MISSING)
"""


def runs(site: Any, dag_id: str) -> dict[str, dict[str, Any]]:
    """The runs of a DAG, by run id."""
    found = site.client.call("GET", f"/dags/{dag_id}/dagRuns", params={"limit": 100, "order_by": "id"})["dag_runs"]
    return {run["dag_run_id"]: run for run in found}


def triggered(site: Any) -> list[str]:
    """The ids of the runs that trigger messages have started."""
    return [run_id for run_id in runs(site, SCAN) if run_id.startswith(RUN_ID_PREFIX)]


def served(manager: Manager) -> int:
    """How many handles have the initiation queue open for input."""
    with manager.connected() as connection:
        queue = pymqi.Queue(connection, "MQOPS.INITQ", CMQC.MQOO_INQUIRE)
        try:
            return int(queue.inquire(CMQC.MQIA_OPEN_INPUT_COUNT))
        finally:
            queue.close()


def until_served(site: Any, manager: Manager) -> None:
    """Wait until the triggerer has the initiation queue open beside `held_open`: no opening triggers behind it."""
    until(lambda: not site.client.unfinished(MONITOR))  # a run of it has the queue open, too
    until(lambda: served(manager) == 2)


def all_told(site: Any) -> str:
    """The notes of the monitor's runs."""
    return "\n".join(str(run["note"]) for run in runs(site, MONITOR).values())


@contextmanager
def held_open(manager: Manager) -> Iterator[None]:
    """Another program has the initiation queue open for input, so that no monitor's opening triggers (T13c)."""
    with manager.connected() as connection:
        queue = pymqi.Queue(connection, "MQOPS.INITQ", CMQC.MQOO_INPUT_SHARED)
        yield
        queue.close()


@pytest.fixture(scope="module")
def queue_manager(site: Any) -> Manager:
    """The queue manager, its initiation queue served by the triggerer."""
    made: Manager = site.manager("TRIGGERED")
    made.mqsc(DEFINITIONS)
    for dag_id in (SCAN, MONITOR):
        site.client.wait_for_dag(dag_id)
        site.client.unpause(dag_id)
    site.client.parse_again(MONITOR)
    until(lambda: served(made))
    return made


def test_T08_a_message_on_a_triggered_queue_starts_a_run(site: Any, queue_manager: Manager) -> None:
    queue_manager.put("APP", [({}, b"x")])
    until(lambda: triggered(site))
    (run_id,) = triggered(site)
    assert site.client.follow(SCAN, run_id).state == "success"
    assert runs(site, SCAN)[run_id]["conf"] == {
        CONF_KEY: {
            "QName": "APP",
            "ProcessName": "SCAN",
            "TriggerData": "t",
            "ApplType": c.MQAT_UNIX,
            "ApplId": SCAN,
            "EnvData": "&",
            "UserData": "{{ 1/0 }}",
        }
    }
    until(lambda: "1 run started (`triggered_expiry_scan`)." in all_told(site))
    assert queue_manager.depth("MQOPS.INITQ") == 0


def test_what_cannot_be_started_is_dead_lettered_with_the_reason(site: Any, queue_manager: Manager) -> None:
    queue_manager.put("Q.PAUSED", [({}, b"x")])
    queue_manager.put("Q.MISSING", [({}, b"x")])
    queue_manager.put("MQOPS.INITQ", [({"Format": "MQTRIG"}, b"TM  cut short")])
    until(lambda: len(queue_manager.bodies(DLQ)) == 3)  # the depth counts what is not committed
    reasons = sorted(MQDLH.unpack(body).reason for body in queue_manager.bodies(DLQ))
    assert reasons == [c.MQFB_APPL_CANNOT_BE_STARTED, c.MQFB_APPL_CANNOT_BE_STARTED, c.MQFB_TM_ERROR]
    for words in ("the DAG triggered_dlq_rules is paused", "there is no DAG no_such_dag", "no valid trigger message"):
        until(lambda words=words: words in all_told(site))
    assert runs(site, "triggered_dlq_rules") == {}


def test_T12b_a_closed_loop_is_stopped_and_told(site: Any, queue_manager: Manager) -> None:
    before, letters = len(triggered(site)), len(queue_manager.bodies(DLQ))
    queue_manager.put("LOOP", [({}, b"nobody deals with me")])
    until(lambda: len(triggered(site)) == before + 1)
    for expected in (2, 3):  # the queue triggers again and again, and nothing changes
        queue_manager.mqsc("ALTER QLOCAL(LOOP) NOTRIGGER\nALTER QLOCAL(LOOP) TRIGGER\n")
        number = before + min(expected, 2)
        until(lambda n=number: len(triggered(site)) == n and queue_manager.depth("MQOPS.INITQ") == 0)
    until(lambda: len(queue_manager.bodies(DLQ)) == letters + 1)
    until(lambda: "a closed loop (T12b): 2 runs in a row left the queue LOOP as it was" in all_told(site))
    assert len(triggered(site)) == before + 2
    queue_manager.put("LOOP", [({}, b"the queue changes")])
    until(lambda: len(triggered(site)) == before + 3)


def test_law1_a_killed_triggerer_loses_nothing_and_doubles_nothing(site: Any, queue_manager: Manager) -> None:
    before, home = len(triggered(site)), site.client.home
    with held_open(queue_manager):
        queue_manager.put("APP", [({}, b"in flight")])
        pid = running(home)["triggerer"]
        signal_groups([pid], signal.SIGKILL)
        until(lambda: "triggerer" not in running(home))
        queue_manager.put("APP", [({}, b"nobody is there"), ({}, b"still nobody")])
        start_airflow(home, "triggerer")
        until(lambda: len(triggered(site)) == before + 3)
        until(lambda: queue_manager.depth("MQOPS.INITQ") == 0)
        until_served(site, queue_manager)  # a run that was begun before may have done it all
    for run_id in triggered(site):
        site.client.follow(SCAN, run_id)
    assert len(triggered(site)) == before + 3


def watched(site: Any) -> bool:
    """Whether Airflow has a trigger for the asset of the monitor's DAG."""
    found = site.client.call("GET", "/assets", params={"dag_ids": MONITOR})["assets"]
    return any(asset["watchers"] for asset in found)


def test_law1_a_dag_that_is_paused_while_a_message_is_on_its_way_loses_nothing(
    site: Any, queue_manager: Manager
) -> None:
    """Airflow may drop the event then, and say that it has stored it: its trigger has no asset any more."""
    before, supervisor = len(triggered(site)), running(site.client.home)["triggerer"]
    with held_open(queue_manager):
        queue_manager.put("APP", [({}, b"on its way")])
        os.kill(supervisor, signal.SIGSTOP)  # the process that has the queue open is another one, and goes on
        try:
            site.client.pause(MONITOR)
            site.client.parse_again(MONITOR)
            until(lambda: not watched(site))
        finally:
            os.kill(supervisor, signal.SIGCONT)
        until(lambda: served(queue_manager) == 1)
        site.client.unpause(MONITOR)
        site.client.parse_again(MONITOR)
        until(lambda: len(triggered(site)) == before + 1 and not queue_manager.depth("MQOPS.INITQ"))
        until_served(site, queue_manager)
    assert len(triggered(site)) == before + 1


def test_T09_dead_and_backed_out_letters_start_their_workflows_and_depth_triggers_again(
    site: Any, queue_manager: Manager
) -> None:
    dag_id, backout = "triggered_dlq_rules", "triggered_backout_reprocess"
    for each in (dag_id, backout):
        site.client.unpause(each)
    queue_manager.mqsc(
        f"DEFINE PROCESS(MQOPS.BACKOUT_REPROCESS) APPLTYPE(UNIX) APPLICID('{backout}')\n"
        "DEFINE QLOCAL(IN) BOTHRESH(1) BOQNAME(IN.BOQ)\n"
        "DEFINE QLOCAL(IN.BOQ) TRIGGER TRIGTYPE(FIRST) INITQ(MQOPS.INITQ) PROCESS(MQOPS.BACKOUT_REPROCESS)"
    )
    queue_manager.put("IN.BOQ", [({}, b"backed out")])
    queue_manager.put(DLQ, [dead_letter("BACK.AGAIN", b"%d" % n, dest_q_mgr="TRIGGERED") for n in range(2)])
    how = "TRIGGER TRIGTYPE(DEPTH) TRIGDPTH(2) INITQ(MQOPS.INITQ) PROCESS(MQOPS.DLQ_RULES)"
    queue_manager.mqsc(f"DEFINE PROCESS(MQOPS.DLQ_RULES) APPLTYPE(UNIX) APPLICID('{dag_id}')")
    queue_manager.mqsc(f"ALTER QLOCAL({DLQ}) {how}")  # T13
    for each in (dag_id, backout):  # side by side
        until(lambda each=each: runs(site, each))
        run_id = next(iter(runs(site, each)))
        assert run_id.startswith(
            RUN_ID_PREFIX
        )  # FIRST may trigger again when act closes the queue: that run steps aside
        result = site.client.follow(each, run_id)
        assert result.state == "success", site.client.failures(result)
    assert (queue_manager.bodies(DLQ), queue_manager.bodies("IN")) == ([], [b"backed out"])
    shown = queue_manager.mqlite("mqsc", "TRIGGERED", text=f"DISPLAY QLOCAL({DLQ}) TRIGGER\n").split()
    assert "TRIGGER" in shown, "the queue manager has switched it off, the run on again"
    assert "NOTRIGGER" not in shown
