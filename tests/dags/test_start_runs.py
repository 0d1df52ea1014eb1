"""What a pass of the trigger monitor does with the events of its asset."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk import Asset

from mqops_airflow.start_runs import HANDLED, StartRunsOperator

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


def test_an_event_that_a_person_made_starts_nothing_and_keeps_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "estate.yaml").write_text(ESTATE)
    monkeypatch.setenv("MQOPS_ESTATE", str(tmp_path / "estate.yaml"))
    asset = Asset(name="messages", uri="x-mqops://messages")
    from_monitor = {"payload": {"refused": [{"why": "no MQTM"}], "messages": [], "ccsid": 1208}, "from_trigger": True}
    kept: dict[str, Any] = {}
    store = SimpleNamespace(get=kept.get, set=kept.__setitem__)
    context: Any = {
        "asset_state_store": {asset: store},
        "inlet_events": {asset: Events(*BY_HAND, from_monitor)},
        "ti": SimpleNamespace(xcom_push=lambda **_: None),
    }
    operator = StartRunsOperator(task_id="start_runs", queue_manager="QM1", asset=asset)
    done = operator.execute(context)
    by_hand = "an event of the asset was not made by the trigger monitor"
    assert done == {"started": [], "again": [], "refused": [*[by_hand] * len(BY_HAND), "no MQTM"]}
    assert set(kept[HANDLED]["ids"]) == {"0", "1", "2", "3"}
    assert operator.execute(context)["refused"] == [], "each event is handled once"
