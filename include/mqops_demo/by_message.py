"""A run that nobody starts but a message: its queue triggers, and Airflow's triggerer has the initiation queue open."""

from __future__ import annotations

import time
from collections.abc import Callable

from mqops.trigger.core.trigger_message import RUN_ID_PREFIX
from mqops_demo.airflow_client import POLL, AirflowClient

DAG = "qm1_expiry_scan"
QUEUE_MANAGER, QUEUE, INITIATION_QUEUE = "QM1", "OFFERS.NOTICE", "MQOPS.INITQ"
EXPIRY = 10
"""Tenths of a second: the scan that the message starts finds it expired."""


def started(client: AirflowClient, report: Callable[[str], None]) -> str:
    """Put a message, and wait for the run that it starts; returns the run id."""
    before = set(_runs(client))
    while not _monitors():
        time.sleep(POLL)
    begun = time.monotonic()
    _put()
    while not (new := set(_runs(client)) - before):
        time.sleep(POLL)
    report(f"A message on {QUEUE} of {QUEUE_MANAGER} started a run of {DAG} after {time.monotonic() - begun:.1f} s")
    return min(new)


def _runs(client: AirflowClient) -> list[str]:
    asked = {"order_by": "-id", "limit": 50}
    rows = client.call("GET", f"/dags/{DAG}/dagRuns", params=asked)["dag_runs"]
    return [str(row["dag_run_id"]) for row in rows if str(row["dag_run_id"]).startswith(RUN_ID_PREFIX)]


def _monitors() -> int:
    """How many trigger monitors have the initiation queue open (T08)."""
    import pymqi  # noqa: PLC0415

    connection = pymqi.connect(QUEUE_MANAGER)
    try:
        queue = pymqi.Queue(connection, INITIATION_QUEUE, pymqi.CMQC.MQOO_INQUIRE)
        return int(queue.inquire(pymqi.CMQC.MQIA_OPEN_INPUT_COUNT))
    finally:
        connection.disconnect()


def _put() -> None:
    import pymqi  # noqa: PLC0415

    connection = pymqi.connect(QUEUE_MANAGER)
    try:
        md = pymqi.MD(Version=pymqi.CMQC.MQMD_VERSION_2, Expiry=EXPIRY, Format=pymqi.CMQC.MQFMT_STRING)
        connection.put1(QUEUE, "offers were sent", md)
    finally:
        connection.disconnect()
