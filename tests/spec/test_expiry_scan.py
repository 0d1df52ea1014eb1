"""SPEC E16 and E18: scans for expired messages, periodic and on request, seen through pymqi."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pymqi
import pytest
from click.testing import CliRunner, Result
from mq_support import time_goes_by
from mqlite_support import INPUT, Application, expire, make, refused, run_mqsc, until
from pymqi import CMQC, CMQCFC

from mqlite.cli import main
from mqlite.storage import sql
from mqlite.storage.rows import QueueRow
from mqops.expiry.scan import refresh
from mqops.mq.connection import MqConnection

QUEUES = "\n".join(f"DEFINE QLOCAL({name}) SHARE DEFSOPT(SHARED)" for name in ("Q1", "Q2", "OTHER", "REPORTS"))
REFRESH = {CMQCFC.MQIACF_REFRESH_TYPE: CMQCFC.MQRT_EXPIRY}
Mqlite = Callable[..., Result]


@pytest.fixture
def zos(home: Path) -> Iterator[Application]:
    """A connection to a z/OS-like QM1."""
    make("QM1", QUEUES, platform="zos")
    made = Application()
    yield made
    made.manager.disconnect()


@pytest.fixture
def mqlite() -> Iterator[Mqlite]:
    """The `mqlite` command. What it started is ended."""

    def call(*arguments: str) -> Result:
        return CliRunner().invoke(main, list(arguments), catch_exceptions=False)

    yield call
    call("end", "QM1")


def test_E16_running_service_scans_every_interval(zos: Application, mqlite: Mqlite) -> None:
    run_mqsc("ALTER QMGR EXPRYINT(1)")
    mqlite("start", "QM1")
    for _ in range(2):
        zos.put("Q1", b"old", Expiry=1, Report=CMQC.MQRO_EXPIRATION_WITH_FULL_DATA, ReplyToQ=b"REPORTS")
        zos.put("Q1", b"live", Expiry=36_000)
        until(lambda: zos.depth("REPORTS") == 1)
        assert zos.bodies("Q1") == [b"live"]
        assert (zos.get("REPORTS")[1], zos.get("Q1")[1]) == (b"old", b"live")


def test_E16_change_of_the_interval_is_noticed(zos: Application, mqlite: Mqlite, home: Path) -> None:
    run_mqsc("ALTER QMGR EXPRYINT(99999999)")
    zos.put("Q1", Expiry=1)
    expire()
    mqlite("start", "QM1")
    until(
        lambda: "Expired messages discarded: 1;" in (home / "QM1" / "errors.log").read_text()
    )  # the scan at the start
    zos.put("Q1", Expiry=1)
    expire()
    assert zos.depth("Q1") == 1
    run_mqsc("ALTER QMGR EXPRYINT(1)")
    until(lambda: zos.depth("Q1") == 0)


def test_E16_off_is_the_default_and_a_start_scans_all_the_same(zos: Application, mqlite: Mqlite) -> None:
    assert "EXPRYINT(OFF)" in "\n".join(run_mqsc("DISPLAY QMGR EXPRYINT"))
    zos.put("Q1", Expiry=1)
    expire()
    assert zos.depth("Q1") == 1
    mqlite("start", "QM1")
    until(lambda: zos.depth("Q1") == 0)


def test_E16_only_queues_worth_it_are_looked_at(zos: Application, home: Path) -> None:
    """The knowledge is the index of expiries: no other part of a queue with messages is read."""
    for _ in range(50):
        zos.put("OTHER")
    zos.put("Q1", Expiry=1)
    zos.put("Q2", Expiry=36_000)
    expire()
    store = sqlite3.connect(home / "QM1" / "qm.db")
    now = int(time.time() * 10)
    rows = [store.execute(sql.QUEUE_BY_ID, number).fetchone() for number in store.execute(sql.WITH_EXPIRED, (now,))]
    plan = " ".join(row[3] for row in store.execute("EXPLAIN QUERY PLAN " + sql.WITH_EXPIRED, (now,)))
    store.close()
    assert [QueueRow(*row).name for row in rows] == ["Q1"]
    assert "SEARCH message USING INDEX message_expires (queue=? AND expires<?)" in plan


def test_E16_unix_has_no_such_attribute(application: Application) -> None:
    with pytest.raises(AssertionError, match="AMQ8405I"):
        run_mqsc("ALTER QMGR EXPRYINT(5)")
    with refused(CMQC.MQRC_SELECTOR_ERROR):
        application.manager.inquire(CMQC.MQIA_EXPIRY_INTERVAL)


def test_E16_messages_that_somebody_holds_are_left(zos: Application, monkeypatch: pytest.MonkeyPatch) -> None:
    zos.put("Q1", b"got", Expiry=6000)
    opened = zos.open("Q1", INPUT)
    zos.get(opened, CMQC.MQGMO_SYNCPOINT)
    zos.put("Q1", b"put", Expiry=6000, options=CMQC.MQPMO_SYNCPOINT)
    time_goes_by(monkeypatch, 6000)
    run_mqsc("REFRESH QMGR TYPE(EXPIRY)")
    zos.manager.backout()
    assert zos.depth("Q1") == 1
    run_mqsc("REFRESH QMGR TYPE(EXPIRY)")
    assert zos.depth("Q1") == 0


@pytest.mark.parametrize(
    ("name", "left"),
    [("", []), (" NAME(*)", []), (" NAME(Q*)", ["OTHER"]), (" NAME(Q2)", ["Q1", "OTHER"]), (" NAME(NONE*)", None)],
)
def test_E18_refresh_by_MQSC(zos: Application, name: str, left: list[str] | None) -> None:
    for queue in ("Q1", "Q2", "OTHER"):
        zos.put(queue, b"old", Expiry=1)
        zos.put(queue, b"live")
    expire()
    run_mqsc(f"REFRESH QMGR TYPE(EXPIRY){name}")
    kept = ["Q1", "Q2", "OTHER"] if left is None else left
    assert {queue: zos.depth(queue) for queue in ("Q1", "Q2", "OTHER")} == {
        queue: 1 + (queue in kept) for queue in ("Q1", "Q2", "OTHER")
    }


def test_E18_refresh_by_PCF_with_reports(zos: Application) -> None:
    sent = zos.put("Q1", b"old", Expiry=1, Report=CMQC.MQRO_EXPIRATION, ReplyToQ=b"REPORTS")
    expire()
    pcf = pymqi.PCFExecute(zos.manager)
    pcf.MQCMD_REFRESH_Q_MGR({**REFRESH, CMQCFC.MQCACF_OBJECT_NAME: b"Q*"})
    assert zos.depth("Q1") == 0
    assert zos.get("REPORTS")[0].CorrelId == sent.MsgId
    assert pcf.MQCMD_REFRESH_Q_MGR(REFRESH) == [{}]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({}, CMQCFC.MQRCCF_PARM_COUNT_TOO_SMALL),
        ({CMQCFC.MQIACF_REFRESH_TYPE: 77}, CMQCFC.MQRCCF_PARM_VALUE_ERROR),
        ({**REFRESH, CMQCFC.MQCACF_OBJECT_NAME: b"A B"}, CMQCFC.MQRCCF_OBJECT_NAME_ERROR),
    ],
)
def test_E18_refused(zos: Application, arguments: dict[int, object], reason: int) -> None:
    with refused(reason):
        pymqi.PCFExecute(zos.manager).MQCMD_REFRESH_Q_MGR(arguments)


def test_E18_unix_refuses(application: Application) -> None:
    with refused(CMQCFC.MQRCCF_PARM_VALUE_ERROR):
        pymqi.PCFExecute(application.manager).MQCMD_REFRESH_Q_MGR(REFRESH)
    with pytest.raises(AssertionError, match="AMQ8405I"):
        run_mqsc("REFRESH QMGR TYPE(EXPIRY) NAME(*)")


def test_E18_the_operations_have_it_done(zos: Application, home: Path, tmp_path: Path) -> None:
    for _ in range(2):
        zos.put("Q1", Expiry=1)
    zos.put("Q1")
    zos.put("OTHER", Expiry=1)
    expire()
    connection = MqConnection(queue_manager="QM1", environment={"MQLITE_HOME": str(home)})
    summary = refresh(connection, tmp_path / "lake", "Q*")
    assert summary.by == "REFRESH QMGR TYPE(EXPIRY)"
    assert (summary.found, summary.done, summary.left, summary.balanced) == (3, 2, 1, True)
    assert (zos.depth("Q1"), zos.depth("OTHER")) == (1, 1)
