"""Puts and gets of queues: counted where the estate asks for it, each message once, and told where they are refused."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pymqi
import pytest
from ledger_opened import observe
from mq_support import Manager
from pymqi import CMQC

from mqops.clock import utc, utc_text
from mqops.errors import InProgress
from mqops.lake.files import read_json, write_json
from mqops.lake.lock_file import locked
from mqops.lake.run import RunFolder
from mqops.look.depths import depths
from mqops.look.figures import Figures, figures
from mqops.look.words.puts_and_gets import puts_and_gets, rates
from mqops.model import Count
from mqops.mq import statistics as counts
from mqops.mq.connection import MqConnection
from mqops.observe import statistics as module
from mqops.observe.samples import MOST_SAMPLES
from mqops.observe.statistics import FILE, LOCK, Statistics, statistics

MQSC = "DEFINE QLOCAL(A)\nDEFINE QLOCAL(PAY.IN)\nDEFINE QLOCAL(OTHER)\nDEFINE QALIAS(BY.ALIAS) TARGET(A)"


@pytest.fixture
def manager(queue_manager: Callable[..., Manager]) -> Manager:
    return queue_manager(mqsc=MQSC)


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    (tmp_path / "lake").mkdir(mode=0o700)
    return tmp_path / "lake"


@pytest.fixture
def counting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """The estate with `reset_statistics` of these queues."""

    def write(*queues: str) -> None:
        text = f"lake: lake\nqueue_managers:\n  QM1:\n    connection: mq_qm1\n    reset_statistics: {list(queues)}\n"
        (tmp_path / "estate.yaml").write_text(text)
        monkeypatch.setenv("MQOPS_ESTATE", str(tmp_path / "estate.yaml"))

    return write


def look(manager: Manager, lake: Path, connection: MqConnection | None = None) -> Figures:
    """A look, as those of the pages."""
    found = figures(connection or manager.connection, lake, "QM1")
    assert not found.unreachable
    return found


def known(lake: Path) -> Statistics:
    return statistics(lake / "QM1", utc())


def make_older(lake: Path, minutes: float) -> None:
    """Let time pass, for the statistics."""
    path = lake / "QM1" / FILE
    found = read_json(path)
    for one in (found, *found["samples"]):
        key = "at" if "at" in one else "asked_at"
        one[key] = utc_text(datetime.fromisoformat(one[key]) - timedelta(minutes=minutes))
    write_json(path, found)


def count_at(manager: Manager, queue: str) -> tuple[int, int]:
    """The counts that the queue manager has now. They are 0 afterwards."""
    with manager.connected() as connected:
        (row,) = pymqi.PCFExecute(connected).MQCMD_RESET_Q_STATS({CMQC.MQCA_Q_NAME: queue.encode()})
    return row[CMQC.MQIA_MSG_ENQ_COUNT], row[CMQC.MQIA_MSG_DEQ_COUNT]


def put(manager: Manager, queue: str, number: int) -> None:
    manager.put(queue, [({}, b"x")] * number)


def take(manager: Manager, queue: str) -> None:
    with manager.connected() as connected:
        pymqi.Queue(connected, queue).get()


def test_looks_and_runs_count_each_message_once(manager, lake, counting):
    counting("A", "PAY.*")
    put(manager, "A", 3)
    put(manager, "OTHER", 1)
    take(manager, "A")
    look(manager, lake)
    put(manager, "A", 2)
    look(manager, lake)  # too early
    make_older(lake, 16)
    observe(manager.connection, RunFolder.at(lake, "QM1", "run"), ["PAY.IN"])
    put(manager, "PAY.IN", 4)
    make_older(lake, 16)
    look(manager, lake)
    counts = {queue: [one for _at, one in known(lake).of(queue)] for queue in ("A", "PAY.IN", "OTHER")}
    assert [(one.puts, one.gets, one.high) for one in counts["A"]] == [(3, 1, 3), (2, 0, 4), (0, 0, 4)]
    assert [one.puts for one in counts["PAY.IN"]] == [0, 0, 4]
    assert counts["OTHER"] == []
    assert count_at(manager, "OTHER") == (1, 0)  # for other monitors


def test_without_the_key_nothing_is_reset(manager, lake, counting):
    counting()
    put(manager, "A", 2)
    look(manager, lake)
    observe(manager.connection, RunFolder.at(lake, "QM1", "run"), ["A"])
    assert not (lake / "QM1" / FILE).exists()
    assert count_at(manager, "A") == (2, 0)


def test_nothing_is_reset_while_another_process_counts_or_where_the_lake_takes_no_file(manager, lake, counting):
    counting("A")
    put(manager, "A", 2)
    (lake / "QM1").mkdir(mode=0o700)
    with locked(lake / "QM1" / LOCK, wait=0, refused=InProgress(), place=lake):
        look(manager, lake)
    assert known(lake) == Statistics()
    (lake / "QM1" / FILE).mkdir()
    look(manager, lake)
    assert count_at(manager, "A") == (2, 0)


def test_what_is_refused_is_told_of_its_queue_and_the_look_goes_on(manager, lake, counting):
    counting("A", "PAY.*", "BY.ALIAS", "GONE")
    manager.mqlite("user", "add", "QM1", "app", text="secret\n")
    manager.mqsc(
        "SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('app') AUTHADD(CONNECT,INQ,DSP)\n"
        "SET AUTHREC PROFILE('**') OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(DSP)\n"
        "SET AUTHREC PROFILE(SYSTEM.ADMIN.COMMAND.QUEUE) OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(PUT)\n"
        "SET AUTHREC PROFILE(SYSTEM.DEFAULT.MODEL.QUEUE) OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(GET,DSP)\n"
        "SET AUTHREC PROFILE('PAY.*') OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(DSP,CHG)\n"
        "SET AUTHREC PROFILE(GONE) OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(DSP,CHG)\n"
        "SET AUTHREC PROFILE(BY.ALIAS) OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(DSP,CHG)"
    )
    put(manager, "A", 2)
    app = {"user": "app", "password": "secret"}
    look(manager, lake, MqConnection(queue_manager="QM1", environment=manager.connection.environment, **app))
    found = known(lake)
    assert "MQRC_NOT_AUTHORIZED" in found.why_not("A")
    assert "+chg" in found.why_not("A")
    assert "MQRCCF_Q_WRONG_TYPE" in found.why_not("BY.ALIAS")
    assert "MQRC_UNKNOWN_OBJECT_NAME" in found.why_not("GONE")
    assert (found.why_not("PAY.IN"), found.why_not("OTHER")) == ("", "")
    assert len(found.of("PAY.IN")) == 1
    assert [one.of("A") for one in depths(lake / "QM1", utc())] == [2]
    assert count_at(manager, "A") == (2, 0)


def test_that_no_queue_is_counted_any_more_is_told_beside_what_was_counted_before(manager, lake, counting):
    counting("A")
    look(manager, lake)
    manager.mqsc("DELETE QLOCAL(A)")
    make_older(lake, 16)
    look(manager, lake)
    assert len(known(lake).of("A")) == 1
    assert "MQRC_UNKNOWN_OBJECT_NAME" in known(lake).why_not("A")


def test_zos_without_performance_events_is_asked_once(queue_manager, lake, counting):
    zos = queue_manager(mqsc=MQSC, platform="zos")
    counting("*")
    look(zos, lake)
    why = known(lake).why_not("A")
    assert "MQRCCF_EVENTS_DISABLED" in why
    assert "PERFMEV(ENABLED)" in why
    assert known(lake).why_not("PAY.IN") == why
    zos.mqsc("ALTER QMGR PERFMEV(ENABLED)")
    put(zos, "A", 2)
    make_older(lake, 16)
    look(zos, lake)
    assert [one.puts for _at, one in known(lake).of("A")] == [2]
    assert known(lake).why_not("A") == ""


def test_samples_and_queues_are_bounded(manager, lake, counting, monkeypatch):
    counting("*")
    monkeypatch.setattr(module, "MOST", 2)
    (lake / "QM1").mkdir(mode=0o700)
    count = {"puts": 1, "gets": 0, "high": 1, "seconds": 60}
    samples = [
        {"at": utc_text(utc() - timedelta(minutes=14 * number)), "of": {"A": count}}
        for number in range(2 * MOST_SAMPLES, 0, -1)
    ]
    write_json(lake / "QM1" / FILE, {"samples": samples, "asked_at": samples[-2]["at"]})
    look(manager, lake)
    found = known(lake)
    assert len(found.samples) == MOST_SAMPLES
    assert set(found.samples[-1].of) == {"A", "OTHER"}  # no SYSTEM. queue by *
    assert found.why_not("PAY.IN") == "reset_statistics means 3 queues, of which the first 2 by name are counted"


@pytest.mark.parametrize("there", ["{", '{"format": 99}', '{"samples": [{"at": "noon", "of": {}}], "asked_at": "no"}'])
def test_a_file_that_says_nothing_is_made_anew(manager, lake, counting, there):
    counting("A")
    (lake / "QM1").mkdir(mode=0o700)
    (lake / "QM1" / FILE).write_text(there)
    look(manager, lake)
    assert len(known(lake).of("A")) == 1
    assert statistics(lake / "QM1", utc() + timedelta(hours=25)) == Statistics()


def at(minutes: float) -> str:
    return utc_text(datetime(2026, 11, 27, 12, tzinfo=UTC) + timedelta(minutes=minutes))


def sample(minutes: float, puts: int, gets: int, seconds: int = 900, high: int = 7) -> tuple[str, Count]:
    return at(minutes), Count(puts=puts, gets=gets, high=high, seconds=seconds)


def test_rates_are_messages_a_minute_of_the_time_since_the_last_reset():
    found = rates([sample(0, 3, 0), sample(15, 1_500, 60, seconds=600), sample(15, 9, 9, seconds=0)])
    assert [(one.puts, one.gets) for one in found] == [(0.2, 0.0), (150.0, 6.0)]


UP_TO = "up to 2026-11-27T12:15:00.000000Z"
RESET_BY_OTHERS = "13 min are missing: another program reset the statistics, or the queue manager was started."


@pytest.mark.parametrize(
    ("samples", "why_not", "said"),
    [
        pytest.param([], "", "", id="the estate asks for nothing"),
        pytest.param(
            [sample(0, 3, 0), sample(15, 1_497, 60, high=1_440)],
            "",
            f"In 30 min {UP_TO} 1,500 messages were put on A and 60 got from it, at most 99.8 and 4 a minute from "
            "sample to sample; at most 1,440 were there at a time.",
            id="whole",
        ),
        pytest.param(
            [sample(0, 1, 0), sample(15, 300, 0, seconds=120)],
            "",
            f"In 17 min {UP_TO} 301 messages were put on A and 0 got from it, at most 150 and 0 a minute from sample "
            f"to sample; at most 7 were there at a time. {RESET_BY_OTHERS}",
            id="another monitor resets, too",
        ),
        pytest.param(
            [sample(15, 0, 0)],
            "WHY",
            f"In 15 min {UP_TO} 0 messages were put on A and 0 got from it; at most 7 were there at a time. "
            "Puts and gets on A are not counted now: WHY.",
            id="not any more",
        ),
    ],
)
def test_words(samples: Any, why_not: str, said: str) -> None:
    assert str(puts_and_gets("A", samples, why_not)) == said


def test_an_answer_without_all_counts_is_told_and_the_look_goes_on(manager, lake, counting, monkeypatch):
    """No queue manager was seen to answer so: the field that is asked for here is one that none has."""
    counting("A", "PAY.*")
    monkeypatch.setattr(counts, "COUNTS", counts.COUNTS | {CMQC.MQIA_TRIGGER_DEPTH})
    look(manager, lake)
    assert known(lake).why_not("A") == "MQCMD_RESET_Q_STATS on A was answered without all its counts"
    assert known(lake).samples == ()
