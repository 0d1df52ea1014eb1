"""What a pass of the trigger monitor does with the events of its asset."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk import Asset
from mq_support import DLQ, create

from mqops.errors import SettingsError
from mqops.mq.session import RawMessage
from mqops.trigger.core.trigger_message import Start, TriggerMessage
from mqops.trigger.monitor import Triggered
from mqops_airflow.dag_runs import Answer
from mqops_airflow.start_runs import HANDLED, StartRunsOperator
from mqops_airflow.trigger_monitor import payload_of
from mqwire.structures import MQMD, MQTM

ESTATE = """\
lake: lake
queue_managers:
  QM1:
    connection: mq_test
    trigger_monitor: {queues: [IQ], dags: [orders]}
"""
BY_HAND = [
    {"from_rest_api": True},
    {"from_rest_api": True, "from_trigger": True, "payload": {"refused": [], "messages": [{}], "ccsid": 1208}},
    {},
]


class Events:
    """The events of an asset, as `inlet_events` gives them."""

    def __init__(self, *extras: dict[str, Any]) -> None:
        at = datetime(2026, 11, 23, tzinfo=UTC)
        self.all = [SimpleNamespace(id=number, timestamp=at, extra=extra) for number, extra in enumerate(extras)]

    def after(self, _time: str) -> Events:
        return self

    def ascending(self) -> Events:
        return self

    def limit(self, number: int) -> list[Any]:
        return self.all[:number]


TRIGGER_MESSAGE = TriggerMessage(
    q_name="APP", process_name="P", trigger_data="", appl_type=6, appl_id="orders", env_data="", user_data=""
)
ASSET = Asset(name="messages", uri="x-mqops://messages")
OPERATOR = StartRunsOperator(task_id="start_runs", queue_manager="QM1", asset=ASSET)


@pytest.fixture(autouse=True)
def estate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "estate.yaml").write_text(ESTATE)
    monkeypatch.setenv("MQOPS_ESTATE", str(tmp_path / "estate.yaml"))


def message(dag_id: str) -> Triggered:
    """A trigger message for a DAG that the trigger monitor allowed."""
    md, body = MQMD(format="MQTRIG", msg_id=dag_id.encode()).pack(), MQTM(appl_type=6, appl_id=dag_id).pack()
    start = Start(dag_id=dag_id, run_id="", message=TRIGGER_MESSAGE)
    return Triggered(queue="IQ", message=RawMessage(md, body), verdict=start)


def context_of(kept: dict[str, Any], *extras: dict[str, Any]) -> Any:
    """A task's context. Parameters: `kept` the asset's state; `extras` of its events."""
    return {
        "asset_state_store": {ASSET: SimpleNamespace(get=kept.get, set=kept.__setitem__)},
        "inlet_events": {ASSET: Events(*extras)},
        "ti": SimpleNamespace(xcom_push=lambda **_: None),
    }


def test_an_event_that_a_person_made_starts_nothing_and_keeps_no_other() -> None:
    from_monitor = {"payload": {"refused": [{"why": "no MQTM"}], "messages": [], "ccsid": 1208}, "from_trigger": True}
    kept: dict[str, Any] = {}
    context = context_of(kept, *BY_HAND, from_monitor)
    done = OPERATOR.execute(context)
    by_hand = "an event of the asset was not made by the trigger monitor"
    assert done == {"started": [], "again": [], "refused": [*[by_hand] * len(BY_HAND), "no MQTM"]}
    assert set(kept[HANDLED]["ids"]) == {"0", "1", "2", "3"}
    assert OPERATOR.execute(context)["refused"] == [], "each event is handled once"


def test_a_message_that_cannot_be_dead_lettered_keeps_no_other_and_is_not_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager = create(tmp_path / "queue_managers", "QM1", "DEFINE QLOCAL(IQ)")
    connection = {"conn_type": "mq", "extra": {"queue_manager": "QM1", "home": str(manager.home)}}
    monkeypatch.setenv("AIRFLOW_CONN_MQ_TEST", json.dumps(connection))
    started: list[str] = []

    def start_run(_context: Any, start: Start) -> Answer:
        again = start.run_id in started
        started.append(start.run_id)
        return Answer(again=again)

    monkeypatch.setattr("mqops_airflow.start_runs.start_run", start_run)
    extra = {"from_trigger": True, "payload": payload_of("QM1", [message("forbidden"), message("orders")], 1208)}
    kept: dict[str, Any] = {}
    manager.mqsc("ALTER QMGR DEADQ(' ')")
    with pytest.raises(SettingsError, match="no dead-letter queue"):
        OPERATOR.execute(context_of(kept, extra))
    assert (len(started), kept) == (1, {})
    manager.mqsc(f"ALTER QMGR DEADQ({DLQ})")
    assert OPERATOR.execute(context_of(kept, extra))["again"] == ["orders"]
    assert (len(manager.bodies(DLQ)), len(set(started))) == (1, 1)
