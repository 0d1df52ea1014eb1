"""What a pass of the trigger monitor does with the trigger messages, whatever has started it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk import Asset, RetryAction
from airflow.sdk.exceptions import AirflowRuntimeError, ErrorType
from airflow.sdk.execution_time.comms import ErrorResponse, TriggerDagRun
from airflow.sdk.execution_time.task_runner import RuntimeTaskInstance
from mq_support import DLQ, Manager, create

from mqops.errors import PermanentMQError, SettingsError, TransientMQError
from mqops.trigger.core.trigger_message import Start
from mqops.trigger.work import NotStarted
from mqops_airflow.connections.trigger_monitor import CONNECTION
from mqops_airflow.notices.outcome_text import KEY
from mqops_airflow.operators.dag_runs import Answer
from mqops_airflow.operators.start_runs import QUEUES, STARTED, StartRunsOperator
from mqops_airflow.workflows.retry import mq_retry_policy
from mqwire import constants as c
from mqwire.structures import MQDLH, MQTM

ESTATE = """\
lake: lake
queue_managers:
  QM1:
    connection: mq_test
    trigger_monitor: {queues: [IQ, IQ2], dags: [orders, broken], unchanged_runs: 2, queued_runs: 3}
"""
ASSET = Asset(name="messages", uri="x-mqops://messages")
DEFINED = "".join(
    f"DEFINE PROCESS({dag_id}) APPLICID('{dag_id}')\nDEFINE QLOCAL({queue}) PROCESS({dag_id})\n"
    for queue, dag_id in {"APP": "orders", "APP.BROKEN": "broken", "APP.FORBIDDEN": "forbidden"}.items()
)
"""The process of each DAG has the DAG's name, in capitals."""
OPERATOR = StartRunsOperator(task_id="start_runs", queue_manager="QM1", asset=ASSET)


@pytest.fixture
def manager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Manager:
    (tmp_path / "estate.yaml").write_text(ESTATE)
    monkeypatch.setenv("MQOPS_ESTATE", str(tmp_path / "estate.yaml"))
    made = create(tmp_path / "queue_managers", "QM1", f"DEFINE QLOCAL(IQ)\nDEFINE QLOCAL(IQ2)\n{DEFINED}")
    connection = {"conn_type": "mq", "extra": {"queue_manager": "QM1", "home": str(made.home)}}
    monkeypatch.setenv("AIRFLOW_CONN_MQ_TEST", json.dumps(connection))
    return made


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ids of the runs that were started."""
    found: list[str] = []

    def start_run(_context: Any, start: Start) -> Answer:
        again = start.run_id in found
        found.append(start.run_id)
        return Answer(again=again)

    monkeypatch.setattr("mqops_airflow.operators.start_runs.start_run", start_run)
    return found


class Airflow:
    """What Airflow keeps of the passes.

    Attributes: `kept` the asset's state; `note` of the last pass; `queued` runs.
    """

    def __init__(self) -> None:
        self.kept: dict[str, Any] = {}
        self.note = ""
        self.queued: set[str] = set()

    def a_pass(self, *extras: Any) -> dict[str, Any]:
        """A pass of the operator. Parameters: `extras` of the events that have started it."""

        def push(*, key: str, value: str) -> None:
            if key == KEY:
                self.note = value

        def get_dr_count(_dag_id: str, *, run_ids: list[str], states: list[str]) -> int:
            assert states == ["queued"]
            return len(self.queued & set(run_ids))

        context: Any = {
            "asset_state_store": {ASSET: SimpleNamespace(get=self.kept.get, set=self.kept.__setitem__)},
            "triggering_asset_events": {ASSET: [SimpleNamespace(extra=extra) for extra in extras]} if extras else {},
            "ti": SimpleNamespace(xcom_push=push, get_dag=RuntimeTaskInstance.get_dag, get_dr_count=get_dr_count),
        }
        return OPERATOR.execute(context)


def connections(manager: Manager) -> list[str]:
    """The CONN of all connections."""
    return re.findall(r" CONN\((\w+)\)", manager.mqlite("mqsc", "QM1", text="DISPLAY CONN(*) TYPE(CONN)\n"))


class Api:
    """Airflow's API as a task reaches it. Parameters: `answers` DAG id → HTTP code of the error."""

    def __init__(self, answers: dict[str, int]) -> None:
        self.answers = answers
        self.asked: list[str] = []

    def send(self, msg: Any) -> Any:
        code = self.answers.get(msg.dag_id)
        if isinstance(msg, TriggerDagRun):
            self.asked.append(msg.dag_id)
            if code:
                detail = {"status_code": code, "message": "Server error"}
                raise AirflowRuntimeError(ErrorResponse(error=ErrorType.API_SERVER_ERROR, detail=detail))
        return SimpleNamespace(is_paused=False)


def message(dag_id: str, **fields: Any) -> tuple[dict[str, Any], bytes]:
    """A trigger message as the queue manager would make it, but for these fields."""
    queue = "APP" if dag_id == "orders" else f"APP.{dag_id.upper()}"
    made = {"q_name": queue, "process_name": dag_id.upper(), "appl_type": 6, "appl_id": dag_id}
    body = MQTM(**made | fields).pack()
    return {"Format": "MQTRIG", "CodedCharSetId": 819}, body


@pytest.mark.parametrize("extra", [None, {}, {"from_rest_api": True}, {"payload": []}, {"payload": {CONNECTION: 1}}])
def test_whatever_starts_a_pass_it_handles_what_is_there(manager: Manager, started: list[str], extra: Any) -> None:
    manager.put("IQ", [message("orders")])
    manager.put("IQ2", [message("orders"), message("forbidden")])
    airflow = Airflow()
    done = airflow.a_pass(extra)
    assert (done["started"], len(done["refused"]), len(set(started))) == (["orders"] * 2, 1, 2)
    assert (manager.bodies("IQ"), manager.bodies("IQ2"), len(manager.bodies(DLQ))) == ([], [], 1)
    assert airflow.a_pass()["started"] == []


def test_a_message_that_cannot_be_dead_lettered_keeps_no_other_and_is_not_forgotten(
    manager: Manager, started: list[str]
) -> None:
    manager.put("IQ", [message("forbidden"), message("orders")])
    manager.mqsc("ALTER QMGR DEADQ(' ')")
    airflow = Airflow()
    with pytest.raises(SettingsError, match="no dead-letter queue"):
        airflow.a_pass()
    assert (len(started), len(manager.bodies("IQ"))) == (1, 1)
    assert "1 run started (orders)." in airflow.note
    assert "waits on its initiation queue: `QM1 has no dead-letter queue" in airflow.note
    manager.mqsc(f"ALTER QMGR DEADQ({DLQ})")
    airflow.a_pass()
    assert (len(started), len(manager.bodies("IQ")), len(manager.bodies(DLQ))) == (1, 0, 1)


def test_a_queue_that_is_not_there_fails_the_pass_at_its_end_in_words(manager: Manager, started: list[str]) -> None:
    manager.mqsc("DELETE QLOCAL(IQ)")
    manager.put("IQ2", [message("orders")])
    airflow = Airflow()
    with pytest.raises(PermanentMQError, match="MQOPEN on IQ failed: MQRC_UNKNOWN_OBJECT_NAME") as failed:
        airflow.a_pass()
    assert len(started) == 1
    assert "MQOPEN on IQ failed: MQRC_UNKNOWN_OBJECT_NAME" in airflow.note
    decision = mq_retry_policy().evaluate(failed.value, try_number=1, max_tries=30)
    assert decision.action is RetryAction.FAIL, "at once, although the task may be tried 30 times"


def test_a_dag_that_Airflow_cannot_start_now_keeps_no_other_and_is_tried_again(
    manager: Manager, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager.put("IQ", [message("broken"), message("broken"), message("orders")])
    manager.put("IQ2", [message("orders")])
    api, airflow = Api({"broken": 500}), Airflow()
    monkeypatch.setattr("airflow.sdk.execution_time.task_runner.SUPERVISOR_COMMS", api, raising=False)
    with pytest.raises(NotStarted) as failed:
        airflow.a_pass()
    assert api.asked == ["broken", "orders", "orders"], "a DAG that failed is asked once in a pass"
    assert (len(manager.bodies("IQ")), len(manager.bodies(DLQ))) == (2, 0)
    assert "2 runs started (orders)." in airflow.note
    assert "Airflow could not start a run of the DAG broken now (HTTP 500): Server error" in airflow.note
    assert mq_retry_policy().evaluate(failed.value, try_number=1, max_tries=30).action is RetryAction.RETRY
    api.answers.clear()
    assert airflow.a_pass()["started"] == ["broken", "broken"]
    assert manager.bodies("IQ") == []


def test_T12b_runs_are_counted_also_if_their_pass_breaks(manager: Manager, monkeypatch: pytest.MonkeyPatch) -> None:
    manager.put("APP", [({}, b"nobody deals with me")])
    airflow = Airflow()

    def start_run(_context: Any, start: Start) -> Answer:
        if start.dag_id == "broken":
            manager.mqsc("\n".join(f"STOP CONN({number})" for number in connections(manager)))
        return Answer()

    monkeypatch.setattr("mqops_airflow.operators.start_runs.start_run", start_run)
    for _ in range(2):
        manager.put("IQ", [message("orders")])
        manager.put("IQ2", [message("broken")])
        with pytest.raises(TransientMQError, match="MQRC_CONNECTION_BROKEN"):
            airflow.a_pass()
        assert "2 runs started (broken, orders)." in airflow.note
        manager.mqsc("CLEAR QLOCAL(IQ2)")
    manager.put("IQ", [message("orders")])
    (why,) = airflow.a_pass()["refused"]
    assert "a closed loop (T12b): 2 runs in a row" in why


def test_T12b_a_loop_is_told_and_reconnects_do_not_make_one(manager: Manager, started: list[str]) -> None:
    manager.put("APP", [({}, b"nobody deals with me")])
    airflow = Airflow()

    def a_pass(connection: str) -> dict[str, Any]:
        manager.put("IQ", [message("orders")])
        return airflow.a_pass({"payload": {CONNECTION: connection}})

    for number in range(4):
        assert a_pass(f"connection {number}")["refused"] == [], "each time the queue manager has made it for T13c"
    assert a_pass("connection 3")["refused"] == []
    (why,) = a_pass("connection 3")["refused"]
    assert "a closed loop (T12b): 2 runs in a row left the queue APP as it was" in why
    assert (len(started), set(airflow.kept)) == (5, {QUEUES, STARTED})
    assert a_pass("connection 4")["refused"] == []


def test_T13c_the_newest_event_of_a_pass_tells_the_connection(manager: Manager, started: list[str]) -> None:
    """After a reconnect a pass may have events of both: what the new connection brought is no closed loop."""
    manager.put("APP", [({}, b"nobody deals with me")])
    airflow = Airflow()
    old, new = ({"payload": {CONNECTION: name}} for name in ("old", "new"))
    for extras in ([old], [old], [old, new], [new]):
        manager.put("IQ", [message("orders")])
        assert airflow.a_pass(*extras)["refused"] == [], extras
    manager.put("IQ", [message("orders")])
    (why,) = airflow.a_pass(new)["refused"]
    assert "a closed loop (T12b)" in why


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        (
            {"q_name": "NOT.THERE"},
            "the queue NOT.THERE and the process ORDERS of the trigger message must be there",
        ),
        ({"q_name": ""}, "the queue  and the process ORDERS of the trigger message must be there"),
        ({"q_name": "OTHER"}, "is not one of the queue OTHER, which has no PROCESS, not PROCESS(ORDERS)"),
        (
            {"q_name": "APP.BROKEN"},
            "the queue APP.BROKEN, which has PROCESS(BROKEN), not PROCESS(ORDERS)",
        ),
        ({"q_name": "APP.BROKEN", "process_name": "BROKEN"}, "of the queue APP.BROKEN has APPLICID broken, not orders"),
        (
            {"q_name": "GONE", "process_name": "GONE"},
            "the queue GONE and the process GONE of the trigger message",
        ),
    ],
)
def test_30_forged_trigger_messages_start_no_run(
    manager: Manager, started: list[str], fields: dict[str, str], why: str
) -> None:
    """Whoever may put on the initiation queue names a queue that is not there, or one of another process."""
    manager.mqsc("DEFINE QLOCAL(OTHER)\nDEFINE QLOCAL(GONE) PROCESS(GONE)")
    manager.put("IQ", [message("orders", **fields)] * 30 + [message("orders")])
    airflow = Airflow()
    done = airflow.a_pass()
    assert (len(started), done["started"]) == (1, ["orders"]), "the true one"
    assert [why in one for one in done["refused"]] == [True] * 30
    letters = [MQDLH.unpack(body) for body in manager.bodies(DLQ)]
    assert {letter.reason for letter in letters} == {c.MQFB_APPL_CANNOT_BE_STARTED}
    assert (len(letters), manager.bodies("IQ")) == (30, [])


def test_law1_trigger_messages_wait_while_enough_runs_of_their_queue_are_queued(
    manager: Manager, started: list[str]
) -> None:
    manager.put("IQ", [message("orders")] * 30 + [message("broken")])
    airflow = Airflow()
    starts = airflow.kept
    done = airflow.a_pass()
    assert len(done["started"]) == 31, "Airflow has begun each at once"
    manager.put("IQ", [message("orders")] * 5 + [message("broken")])
    airflow.queued = set(starts[STARTED]["APP"]["orders"])
    assert len(airflow.queued) == 3
    assert airflow.a_pass()["started"] == ["broken"]
    assert len(manager.bodies("IQ")) == 5
    assert (
        "5 trigger messages wait on the initiation queue: `3 runs of the DAG orders that the queue APP" in airflow.note
    )
    airflow.queued.pop()
    assert airflow.a_pass()["started"] == ["orders"] * 5
    assert (len(started), manager.bodies("IQ"), manager.bodies(DLQ)) == (37, [], [])


def test_no_more_runs_are_queued_at_once_than_the_estate_says(manager: Manager, started: list[str]) -> None:
    """As Airflow's scheduler sees it that begins none of them meanwhile."""
    airflow = Airflow()
    airflow.queued = AlwaysIn()
    manager.put("IQ", [message("orders")] * 30)
    assert airflow.a_pass()["started"] == ["orders"] * 3
    assert airflow.a_pass()["started"] == []
    assert (len(set(started)), len(manager.bodies("IQ"))) == (3, 27)


class AlwaysIn(set[str]):
    """All runs are queued."""

    def __and__(self, other: Any) -> set[str]:
        return set(other)
