"""SPEC E17 in Airflow: the check of an expiry scan warns where members of a queue-sharing group differ in intervals."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from mqlite_support import home
from sharing_support import Group, group

from mqops_airflow.operators.expiry import ExpiryCheckOperator

__all__ = ["group", "home"]
ESTATE = """\
lake: lake
queue_managers:
  QM1: {connection: mq_qm1, expiry_scan: {interval: 1h, queues: [Q1]}}
  QM2: {connection: mq_qm2, expiry_scan: {interval: 5m, queues: [Q1]}}
  QM3: {connection: mq_qm3, expiry_scan: {interval: 1h, queues: [Q1]}}
"""


def check(member: str) -> dict[str, Any]:
    context: Any = {
        "params": {"queues": ["Q1"], "all_filled": False, "dry_run": True},
        "dag_run": SimpleNamespace(run_type="manual", conf={}),
        "ti": SimpleNamespace(xcom_push=lambda *, key, value: None),
        "task": SimpleNamespace(get_flat_relatives=lambda upstream: []),
    }
    found: dict[str, Any] = ExpiryCheckOperator(task_id="check", queue_manager=member, recheck=3600.0).execute(context)
    return found


def test_E17_a_difference_of_the_intervals_is_a_warning_of_the_check(
    group: Group, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "estate.yaml").write_text(ESTATE)
    monkeypatch.setenv("MQOPS_ESTATE", str(tmp_path / "estate.yaml"))
    monkeypatch.setenv("MQOPS_LAKE", str(tmp_path / "lake"))
    for member in group:
        extra = {"queue_manager": member, "home": str(home)}
        monkeypatch.setenv(f"AIRFLOW_CONN_MQ_{member}", json.dumps({"conn_type": "mq", "extra": extra}))
    assert check("QM1")["queue"] == ""
    assert check("QM3")["queue"] == ""
    assert "queue-sharing group" not in capsys.readouterr().out
    check("QM2")
    said = "QM2 is scanned each 0:05:00, other members of its queue-sharing group are not: QM1 each 1:00:00, QM3 each"
    assert said in capsys.readouterr().out
