"""What will expire, in Airflow: in the note of a scan's run, and told people from the threshold of the estate on."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from airflow.sdk import DAG, Asset
from airflow.sdk.bases.notifier import BaseNotifier
from mq_support import DLQ, Manager

from mqops.estate_sections import Notify
from mqops.expiry.calendar_file import calendar_of
from mqops.expiry.core.calendar import in_words
from mqops.expiry.look_ahead import look_ahead
from mqops.expiry.queue_manager import scan_queue
from mqops.expiry.scan import run_scan, write_summary
from mqops.lake.run import RunFolder
from mqops.mq.connection import MqConnection, connect
from mqops_airflow.notices.outcome_text import KEY
from mqops_airflow.operators.expiry import ExpiryCheckOperator, ExpiryReportOperator

ESTATE = """\
lake: lake
calendar: calendar.yaml
notify: {notifier: recording.Recording, arguments: {text: "{{ mqops.subject }} / {{ mqops.text }}"}}
queue_managers:
  QM1: {connection: mq_qm1, expiry_scan: {interval: 15m, queues: ["*"], recheck: 30d, tell_from: 3}}
"""
CALENDAR = "time_zone: UTC\nhours: {begins:%H}:00-{begins:%H}:01\ndays: [Mon, Tue, Wed, Thu, Fri, Sat, Sun]\n"
TOLD: list[str] = []
SOON = 36_000
"""An hour, in tenths of a second."""
REFRESH = "mq_refresh_expiry"


class Recording(BaseNotifier):
    """Keeps what it was made to say."""

    template_fields = ("text",)

    def __init__(self, text: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.text = text

    def notify(self, context: Any) -> None:
        TOLD.append(self.text)


@pytest.fixture
def site(queue_manager: Any, estate_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Manager:
    """A queue manager whose dead-letter queue a scan looks at only because of the threshold."""
    module = ModuleType("recording")
    module.Recording = Recording  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "recording", module)
    TOLD.clear()
    manager: Manager = queue_manager(mqsc="DEFINE QLOCAL(PAY)\n")
    (estate_folder / "estate.yaml").write_text(ESTATE)
    twelve_hours_later = datetime.now(UTC) + timedelta(hours=12)
    (estate_folder / "calendar.yaml").write_text(CALENDAR.format(begins=twelve_hours_later))
    extra = {"queue_manager": "QM1", "home": str(manager.home)}
    monkeypatch.setenv("AIRFLOW_CONN_MQ_QM1", json.dumps({"conn_type": "mq", "extra": extra}))
    return manager


NOTIFY = Notify(notifier="recording.Recording", arguments={"text": "{{ mqops.subject }} / {{ mqops.text }}"})


def context(kept: dict[str, str]) -> Any:
    run = SimpleNamespace(run_type="scheduled", conf={}, dag_id="qm1_expiry_scan", run_id="scheduled__1")
    return {
        "params": {"queues": ["*"], "all_filled": False},
        "dag_run": run,
        "ti": SimpleNamespace(xcom_push=lambda *, key, value: kept.update({key: value})),
        "task": SimpleNamespace(get_flat_relatives=lambda upstream: []),
        "outlet_events": {Asset("a"): SimpleNamespace(extra=None)},
    }


def words_of_work(folder: Path) -> str:
    """When work begins again, in words."""
    calendar, now = calendar_of(folder / "calendar.yaml"), datetime.now(UTC)
    return in_words(calendar, calendar.next_begin(now), now)


def check() -> dict[str, str]:
    """What the check has kept: its note among it."""
    kept: dict[str, str] = {}
    task = ExpiryCheckOperator(task_id="check", queue_manager="QM1", recheck=30 * 86_400.0, notify=NOTIFY)
    task.execute(context(kept))
    return kept


def look(manager: Manager, lake: Path) -> None:
    """What the scans of a run teach, without Spark."""
    run_scan(manager.connection, lake, ("*",), recheck=timedelta(days=30), forecast=True, waiting=True)


def report(folder: Path) -> dict[str, str]:
    """What the report of a run has kept that scanned PAY and the dead-letter queue."""
    run = RunFolder(folder / "lake" / "QM1" / "runs" / "scan")
    run.path.mkdir(parents=True)
    with connect(MqConnection(queue_manager="QM1")) as session:
        write_summary(run, "QM1", [scan_queue(session, one, now=lambda: datetime.now(UTC)) for one in (DLQ, "PAY")])
    kept: dict[str, str] = {}
    asset = Asset("a")
    task = ExpiryReportOperator(task_id="report", folder=str(run.path), asset=asset, queue_manager="QM1", notify=NOTIFY)
    task.execute(context(kept))
    return kept


def test_people_are_told_once_from_the_threshold_on_and_again_when_it_has_doubled(
    site: Manager, estate_folder: Path
) -> None:
    lake = estate_folder / "lake"
    until = words_of_work(estate_folder)

    def told(more: int) -> list[str]:
        TOLD.clear()
        site.put(DLQ, [({"Expiry": SOON}, b"x")] * more)
        look(site, lake)
        check()
        return list(TOLD)

    assert told(2) == []  # fewer than tell_from
    (text,) = told(1)
    assert text.startswith(f"QM1: 3 messages that wait for a person vanish before {until} / 3 dead letters vanish")
    assert told(0) == told(2) == []
    (text,) = told(1)
    assert text.startswith("QM1: 6 messages")


def test_the_note_of_a_run_has_what_vanishes_of_what_waits_for_a_person(site: Manager, estate_folder: Path) -> None:
    site.put(DLQ, [({"Expiry": SOON}, b"x")] * 4)
    site.put("PAY", [({"Expiry": SOON}, b"x"), ({}, b"y")])
    look(site, estate_folder / "lake")
    note = check()[KEY]
    assert note.startswith(f"Nothing to do. `4 dead letters vanish before {words_of_work(estate_folder)}: {DLQ}")
    site.put(DLQ, [({"Expiry": SOON}, b"x")])
    kept = report(estate_folder)
    assert kept[KEY].startswith(
        "2 queues: 7 messages found = 0 discarded because expired + 7 left. `5 dead letters van"
    )
    assert "histogram" not in json.dumps(kept["return_value"])
    prom = (estate_folder / "lake" / "QM1" / "expiry" / "forecast.prom").read_text()
    assert f'before_work{{queue_manager="QM1",queue="{DLQ}",kind="dead-letter queue"}} 5' in prom


def test_a_calendar_that_cannot_be_used_is_an_error_of_the_log_and_ends_no_run(
    site: Manager, estate_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (estate_folder / "calendar.yaml").write_text("hours: never\n")
    site.put(DLQ, [({}, b"x")])
    look(site, estate_folder / "lake")
    assert check()[KEY] == "Nothing to do"
    said = capsys.readouterr().out
    assert "The calendar cannot be used, so the forecast is until 08:00 UTC" in said
    assert "calendar.yaml:1: hours: must be two times of day" in said


def test_both_tasks_that_tell_have_the_notifier_of_the_estate(site: Manager, dag_file: Any) -> None:
    (dag,) = (dag for dag in vars(dag_file("expiry_scan")).values() if isinstance(dag, DAG) and dag.dag_id != REFRESH)
    assert [dag.get_task(task).notify for task in ("check", "report")] == [NOTIFY, NOTIFY]


def test_the_page_says_what_vanishes_before_people_are_at_work_again(
    site: Manager, estate_folder: Path, client: Any
) -> None:
    assert "Before people are at work again" not in client("/expiry", queue_manager="QM1").text
    site.put(DLQ, [({"Expiry": SOON}, b"x")] * 4)
    site.put("PAY", [({"Expiry": SOON}, b"x")] * 2)
    lake = estate_folder / "lake"
    calendar = calendar_of(estate_folder / "calendar.yaml")
    look_ahead(site.connection, lake, (), calendar=calendar, recheck=timedelta(days=30))
    text = client("/expiry", queue_manager="QM1").text.replace("<wbr>", "")
    assert f"<li>4 dead letters vanish before {words_of_work(estate_folder)}: {DLQ}" in text
    assert f"<li>2 messages expire before {words_of_work(estate_folder)} on 1 other queue</li>" in text
    assert 'aria-label="Messages by the time until they expire, and by what their queue is for"' in text
    assert "within 6h" in text
