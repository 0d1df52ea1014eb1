"""What the queue manager counts of a queue (RESET QSTATS), and when it was last put to and got from (MONQ)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pymqi
import pytest
from mqlite_support import Application, make, refused, run_mqsc
from pymqi import CMQC, CMQCFC

NAME = CMQC.MQCA_Q_NAME
FIGURES = (CMQC.MQIA_HIGH_Q_DEPTH, CMQC.MQIA_MSG_ENQ_COUNT, CMQC.MQIA_MSG_DEQ_COUNT)
PUT = (CMQCFC.MQCACF_LAST_PUT_DATE, CMQCFC.MQCACF_LAST_PUT_TIME)
GET = (CMQCFC.MQCACF_LAST_GET_DATE, CMQCFC.MQCACF_LAST_GET_TIME)
SYNCPOINT = CMQC.MQPMO_SYNCPOINT


@pytest.fixture
def application(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Application:
    monkeypatch.setenv("MQLITE_HOME", str(tmp_path / "home"))
    make("QM1", "DEFINE QLOCAL(Q1) SHARE DEFSOPT(SHARED)\nDEFINE QALIAS(A1) TARGET(Q1)")
    return Application()


def statistics(application: Application, name: bytes = b"Q1") -> list[tuple[int, ...]]:
    rows = pymqi.PCFExecute(application.manager).MQCMD_RESET_Q_STATS({NAME: name})
    assert all(0 <= row[CMQC.MQIA_TIME_SINCE_RESET] < 600 for row in rows)
    return [tuple(row[selector] for selector in FIGURES) for row in rows]


def test_puts_gets_and_highest_depth_since_the_last_reset(application: Application) -> None:
    for _ in range(3):
        application.put("Q1")
    application.get("Q1")
    application.put("A1")
    assert statistics(application) == [(3, 4, 1)]
    assert statistics(application) == [(3, 0, 0)]


def test_unfinished_and_backed_out_work_counts(application: Application) -> None:
    application.put("Q1", options=SYNCPOINT)
    application.put("Q1")
    opened = application.open("Q1")
    application.get(opened, CMQC.MQGMO_SYNCPOINT)
    assert statistics(application) == [(2, 2, 1)]
    application.manager.backout()
    assert statistics(application) == [(1, 0, 0)]


def test_browse_and_refused_put_count_nothing(application: Application) -> None:
    run_mqsc("ALTER QLOCAL(Q1) MAXDEPTH(1)")
    application.put("Q1")
    with refused(CMQC.MQRC_Q_FULL):
        application.put("Q1")
    application.bodies("Q1")
    assert statistics(application) == [(1, 1, 0)]


def test_generic_name(application: Application) -> None:
    run_mqsc("DEFINE QLOCAL(Q2)")
    application.put("Q2")
    assert statistics(application, b"Q*") == [(0, 0, 0), (1, 1, 0)]


@pytest.mark.parametrize(
    ("name", "reason"), [(b"NONE", CMQC.MQRC_UNKNOWN_OBJECT_NAME), (b"A1", CMQCFC.MQRCCF_Q_WRONG_TYPE)]
)
def test_refused(application: Application, name: bytes, reason: int) -> None:
    with refused(reason):
        statistics(application, name)


def test_MQSC_on_zos_only_and_there_with_performance_events(application: Application) -> None:
    with pytest.raises(AssertionError, match="AMQ8101S"):
        run_mqsc("RESET QSTATS(Q1)")
    make("Z", "DEFINE QLOCAL(Q1)", platform="zos")
    with pytest.raises(AssertionError, match="PERFMEV"):
        run_mqsc("RESET QSTATS(Q1)", "Z")
    zos = Application("Z")
    with refused(CMQCFC.MQRCCF_EVENTS_DISABLED):
        statistics(zos)
    run_mqsc("ALTER QMGR PERFMEV(ENABLED)", "Z")
    zos.put("Q1")
    output = "\n".join(run_mqsc("RESET QSTATS(Q1)", "Z"))
    assert [text in output for text in ("QSTATS(Q1)", "HIQDEPTH(1)", "MSGSIN(1)", "MSGSOUT(0)")] == [True] * 4
    zos.manager.disconnect()


def moments(application: Application) -> list[str]:
    """Last put and last get as queue status has them."""
    (row,) = pymqi.PCFExecute(application.manager).MQCMD_INQUIRE_Q_STATUS({NAME: b"Q1"})
    return [b" ".join(row[part].strip() for part in parts).strip().decode() for parts in (PUT, GET)]


@pytest.mark.parametrize(
    ("mqsc", "kept"),
    [
        ("", False),
        ("ALTER QLOCAL(Q1) MONQ(MEDIUM)", True),
        ("ALTER QMGR MONQ(LOW)", True),
        ("ALTER QMGR MONQ(HIGH)\nALTER QLOCAL(Q1) MONQ(OFF)", False),
        ("ALTER QMGR MONQ(NONE)\nALTER QLOCAL(Q1) MONQ(HIGH)", False),  # NONE: whatever the queue says
        ("ALTER QLOCAL(Q1) MONQ(HIGH)\nALTER QMGR MONQ(NONE)", False),
    ],
)
def test_last_put_and_get_are_kept_while_the_queue_is_monitored(
    application: Application, mqsc: str, kept: bool
) -> None:
    run_mqsc(mqsc)
    begun = datetime.now(UTC) - timedelta(seconds=1)
    application.put("A1")
    put, got = moments(application)
    assert got == ""
    application.get("Q1")
    found = [put, moments(application)[1]]
    if not kept:
        assert found == ["", ""]
        return
    for moment in found:
        at = datetime.strptime(moment, "%Y-%m-%d %H.%M.%S").replace(tzinfo=UTC)
        assert begun - timedelta(seconds=1) <= at <= datetime.now(UTC)


def test_level_of_monitoring_is_told_and_a_dynamic_queue_has_it(application: Application) -> None:
    run_mqsc("ALTER QMGR MONQ(MEDIUM)\nDEFINE QLOCAL(OFF) MONQ(OFF)")
    assert "MONQ(MEDIUM)" in "\n".join(run_mqsc("DISPLAY QSTATUS(Q1) MONQ"))
    assert "MONQ(OFF)" in "\n".join(run_mqsc("DISPLAY QSTATUS(OFF) MONQ"))
    dynamic = application.open("SYSTEM.DEFAULT.MODEL.QUEUE", CMQC.MQOO_OUTPUT, DynamicQName=b"DYN.*")
    dynamic.put(b"x")
    assert "MONQ(MEDIUM)" in "\n".join(run_mqsc("DISPLAY QSTATUS(DYN.*) ALL"))
    run_mqsc("ALTER QMGR MONQ(OFF)")
    assert "MONQ(OFF)" in "\n".join(run_mqsc("DISPLAY QSTATUS(Q1) MONQ LPUTDATE"))
