"""`mqops expiry forecast` on a real queue manager: dead letters first, a calendar, metrics, and the question before a
look."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import openmetrics_grammar
import pytest
from click.testing import CliRunner, Result
from mq_support import DLQ, Manager, let_expire, time_goes_by
from pymqi import CMQC

from mqops.cli import main
from mqops.expiry.record import known
from mqops.expiry.scan import refresh, run_scan

MQSC = (
    "DEFINE QLOCAL(PAY.BOQ)\nDEFINE QLOCAL(PAY) BOQNAME(PAY.BOQ)\nDEFINE QLOCAL(KEEP.1)\nDEFINE QLOCAL(REPORTS)\n"
    "ALTER QMGR MONQ(LOW)\n"
)
ESTATE = "lake: lake\nqueue_managers:\n  QM1: {connection: mq_qm1, storage: ['KEEP.*']}\n"
DAY = 864_000
Forecast = Callable[..., Result]


@pytest.fixture
def command(manager: Manager, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Forecast:
    monkeypatch.setenv("MQLITE_HOME", str(manager.home))
    monkeypatch.setenv("MQOPS_ESTATE", str(tmp_path / "estate.yaml"))
    (tmp_path / "estate.yaml").write_text(ESTATE)

    def run(*words: str, answer: str = "") -> Result:
        lake = ["-m", "QM1", "--lake", str(tmp_path / "lake")]
        return CliRunner().invoke(main, ["expiry", *words, *lake], input=answer, env={"COLUMNS": "300"})

    return run


def test_what_waits_for_a_person_comes_first_over_the_days_off_of_the_calendar(manager, command, tmp_path):
    manager.put(DLQ, [({"Expiry": DAY // 2}, b"x")] * 3 + [({}, b"stays")])
    manager.put("PAY.BOQ", [({"Expiry": DAY // 2, "Report": CMQC.MQRO_EXPIRATION, "ReplyToQ": "REPORTS"}, b"x")])
    manager.put("KEEP.1", [({"Expiry": 3 * DAY}, b"x")] * 2)
    manager.put("PAY", [({"Expiry": DAY // 24}, b"x")])
    now = datetime.now(UTC)
    two, four = (now + timedelta(days=days) for days in (2, 4))
    hours = "time_zone: UTC\nhours: 00:00-00:01\ndays: [Mon, Tue, Wed, Thu, Fri, Sat, Sun]\nholidays:\n"
    off = [f"  {now + timedelta(days=days):%Y-%m-%d}: Bank holiday\n" for days in range(1, 4)]
    (tmp_path / "calendar.yaml").write_text(hours + "".join(off))
    (tmp_path / "estate.yaml").write_text(ESTATE + "calendar: calendar.yaml\n")
    until = f"before 00:00 on {four:%A} (after Bank holiday)"
    told = command("forecast").stdout.splitlines()
    assert told[0].startswith(f"3 dead letters vanish {until}: {DLQ}")
    assert told[1].startswith(f"1 backed-out message vanishes {until}: PAY.BOQ, 1 asks for a report")
    assert told[2].startswith(f"2 stored messages vanish {until}: KEEP.1")
    assert told[3] == f"1 message expires {until} on 1 other queue"
    (tmp_path / "short.yaml").write_text(hours + off[0])
    short = command("forecast", "--calendar", str(tmp_path / "short.yaml")).stdout
    assert f"3 dead letters vanish before 00:00 on {two:%A}" in short
    assert "stored message" not in short


def test_the_words_of_a_script_and_the_metrics_have_the_same_figures(manager, command, tmp_path):
    manager.put(DLQ, [({"Expiry": 5}, b"gone")] + [({"Expiry": DAY * 9}, b"x")] * 3)
    let_expire(5)
    document = json.loads(command("forecast", "--json").stdout)
    one = document[DLQ]
    assert (one["discarded"], one["later"], one["kind"], one["unknown"]) == (1, 3, "dead-letter queue", 0)
    assert one["before"] == {"messages": 0, "reports": 0, "persistent": 0}
    text = command("forecast", "--format", "openmetrics").stdout
    samples = openmetrics_grammar.read(text)["mqops_expiry_messages"].samples
    labels = {"queue_manager": "QM1", "queue": DLQ, "kind": "dead-letter queue", "within": "later"}
    assert samples == {frozenset(labels.items()): 3.0}
    assert (tmp_path / "lake" / "QM1" / "expiry" / "forecast.prom").read_text() == text
    command("forecast", "PAY*")
    assert (tmp_path / "lake" / "QM1" / "expiry" / "forecast.prom").read_text() == text  # it is of all queues


def test_of_what_did_not_change_the_last_look_counts_and_nothing_is_browsed(manager, command, tmp_path):
    manager.put("PAY", [({"Expiry": DAY}, b"x")] * 2)
    manager.put("KEEP.1", [({"Expiry": DAY // 2}, b"x")])
    command("forecast")
    first = known(tmp_path / "lake" / "QM1")
    manager.put("KEEP.1", [({"Expiry": DAY // 2}, b"y")])
    again = json.loads(command("forecast", "--json").stdout)
    assert (again["PAY"]["looked_at"], again["KEEP.1"]["1d"]) == (first["PAY"].scanned_at, 2)
    assert again["KEEP.1"]["looked_at"] > first["KEEP.1"].scanned_at
    whole = json.loads(command("forecast", "--all", "--json").stdout)
    assert whole["PAY"]["looked_at"] > first["PAY"].scanned_at


def test_a_dead_letter_queue_that_may_not_be_browsed_ends_no_forecast_and_nothing_is_known_of_it(
    manager, command, monkeypatch
):
    manager.put(DLQ, [({"Expiry": DAY}, b"x")] * 2)
    manager.put("PAY", [({}, b"x")])
    manager.mqlite("user", "add", "QM1", "app", text="secret\n")
    manager.mqsc(
        "SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('app') AUTHADD(CONNECT,INQ,DSP)\n"
        "SET AUTHREC PROFILE('**') OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(INQ,DSP)\n"
        "SET AUTHREC PROFILE('PAY') OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(BROWSE,INQ,DSP)\n"
        "SET AUTHREC PROFILE(SYSTEM.ADMIN.COMMAND.QUEUE) OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(PUT)\n"
        "SET AUTHREC PROFILE(SYSTEM.DEFAULT.MODEL.QUEUE) OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(GET,DSP)\n"
    )
    app = {"queue_manager": "QM1", "user": "app", "password": "secret"}
    monkeypatch.setenv("MQOPS_CONNECTION", json.dumps(app))
    done = command("forecast")
    assert (done.exit_code, done.stderr) == (0, "")
    assert "of 2 messages on 1 queue it is not known when they expire" in done.stdout


def with_reports(manager: Manager, expiry: int) -> None:
    """On PAY two messages that expire soon, and ask for a report. Parameters: `expiry` in tenths of a second."""
    report = {"Report": CMQC.MQRO_EXPIRATION_WITH_FULL_DATA, "ReplyToQ": "REPORTS"}
    manager.put("PAY", [({"Expiry": expiry, **report}, b"x")] * 2 + [({}, b"stays")])


def test_E06_what_a_look_lets_the_queue_manager_discard_is_told_and_asked_before(manager, command, monkeypatch):
    with_reports(manager, 3000)
    command("scan", "PAY")
    time_goes_by(monkeypatch, 3000)
    told = "PAY (queue): a look discards up to 2 expired messages, 2 expiration reports are sent"
    refused = command("scan", "PAY", "--first-tell", answer="n\n")
    assert (refused.exit_code, told in refused.stdout) == (1, True)
    assert "not looked at: PAY" in refused.stderr
    assert (manager.depth("PAY"), manager.depth("REPORTS")) == (3, 0)
    unasked = command("forecast", "PAY", "--first-tell", "--json")
    assert (unasked.exit_code, manager.depth("PAY")) == (2, 3)
    no = json.loads(command("scan", "PAY", "--first-tell", "--json", "--yes").stdout)
    assert (no["done"], no["refused"]) == (2, [])
    assert (manager.depth("PAY"), manager.depth("REPORTS")) == (1, 2)


def test_a_refresh_that_tells_first_does_nothing_where_something_is_at_stake(manager, command, tmp_path, monkeypatch):
    with_reports(manager, 3000)
    command("scan", "PAY")
    time_goes_by(monkeypatch, 3000)
    told = []

    def no(stakes):
        told.extend(one.sentence() for one in stakes)
        return False

    done = refresh(manager.connection, tmp_path / "lake", "*", first_tell=no)
    assert (done.done, done.by, manager.depth("PAY"), manager.depth("REPORTS")) == (0, "", 3, 0)
    said = "PAY (queue): a look discards up to 2 expired messages, 2 expiration reports are sent, 2 are persistent"
    assert told == [said]
    assert refresh(manager.connection, tmp_path / "lake", "*", first_tell=lambda _told: True).done == 2


def test_a_forecast_asks_too_and_the_other_queues_are_looked_at_all_the_same(manager, command, tmp_path):
    with_reports(manager, 3000)  # within the quarter of an hour that a look may take
    command("scan", "PAY")
    manager.put("KEEP.1", [({}, b"x")])
    manager.put("REPORTS", [({}, b"x")])
    done = command("forecast", "PAY", "REPORTS", "KEEP.1", "--all", "--first-tell", answer="n\n")
    assert "KEEP.1 (storage queue): a look discards what has expired of 1 message that no look" in done.stdout
    assert "PAY (queue): a look discards up to 2 expired messages" in done.stdout
    assert (done.exit_code, "not looked at: KEEP.1, PAY" in done.stderr) == (1, True)
    assert "of 1 message on 1 queue it is not known when they expire" in done.stdout  # of KEEP.1
    assert list(known(tmp_path / "lake" / "QM1")) == ["PAY", "REPORTS"]
    asked = command("forecast", "KEEP.1", "--first-tell", answer="y\n")
    assert (asked.exit_code, "KEEP.1" in known(tmp_path / "lake" / "QM1")) == (0, True)


def test_nobody_is_asked_where_nothing_is_at_stake(manager, command):
    manager.put("REPORTS", [({"Persistence": 0}, b"x")])
    done = command("scan", "--first-tell")
    assert (done.exit_code, "Look at these queues?" in done.output) == (0, False)


def test_E16_a_queue_that_never_had_a_message_with_an_expiry_is_left_until_the_recheck(manager, tmp_path):
    def scan(recheck: timedelta = timedelta(hours=1)) -> list[str]:
        return sorted(run_scan(manager.connection, tmp_path / "lake", ["PAY", "REPORTS"], recheck=recheck)[0].why)

    for _ in range(3):
        manager.put("PAY", [({}, b"x")])
        manager.put("REPORTS", [({"Expiry": DAY}, b"x")])
        assert scan() == ["PAY", "REPORTS"]
    assert known(tmp_path / "lake" / "QM1")["REPORTS"].shortest in range(86_300, 86_401)
    manager.put("PAY", [({}, b"x")])
    manager.put("REPORTS", [({"Expiry": DAY}, b"x")])
    assert scan() == []  # none of PAY expires, and on REPORTS nothing is so old as a message there lives
    assert scan(timedelta(0)) == ["PAY", "REPORTS"]
