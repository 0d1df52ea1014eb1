"""The scan on a real queue manager: it discards exactly what has expired, the queue manager sends the reports."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pymqi
import pytest
from click.testing import CliRunner
from mq_support import Manager, let_expire
from pymqi import CMQC

from mqops.cli import main
from mqops.errors import MQError
from mqops.expiry.core.outcome import BUCKETS, ExpirySummary, summarise
from mqops.expiry.queue_manager import scan_queue
from mqops.expiry.record import known
from mqops.expiry.scan import Candidates, candidates, refresh, run_scan
from mqops.expiry.scan import scan as scan_candidates
from mqops.lake.run_file import Checked
from mqops.mq.connection import MqConnection, connect

MESSAGES = int(os.environ.get("MQOPS_EXPIRY_MESSAGES", "400"))
QUEUES = [f"EXP.{number}" for number in range(10)]
MQSC = "".join(f"DEFINE QLOCAL({name}) MAXDEPTH(99999)\n" for name in (*QUEUES, "REPORTS", "OTHER"))
HOUR = timedelta(hours=1)


@pytest.fixture
def scan(manager: Manager, tmp_path: Path) -> Any:
    def run(*patterns: str, **more: Any) -> tuple[Candidates, Any]:
        return run_scan(manager.connection, tmp_path / "lake", patterns or ("*",), recheck=HOUR, **more)

    return run


def test_E16_half_of_the_messages_on_ten_queues_have_expired(manager, scan):
    """The proof of issue 5; MQOPS_EXPIRY_MESSAGES=20000 is its full size."""
    each = MESSAGES // len(QUEUES)
    wants_report = CMQC.MQRO_EXPIRATION_WITH_FULL_DATA
    for queue in QUEUES:
        messages: list[tuple[dict[str, Any], bytes]] = []
        for number in range(each):
            body = b"%s %06d" % (queue.encode(), number)
            if number % 2:
                messages.append(({"Expiry": -1 if number % 4 == 1 else 36_000}, body))
            else:
                report = {"Report": wants_report, "ReplyToQ": "REPORTS"} if number % 4 == 0 else {}
                messages.append(({"Expiry": 1, "Persistence": number % 8 == 0, **report}, body))
        manager.put(queue, messages)
    let_expire(1)
    found, summary = scan()
    assert sorted(found.why) == QUEUES
    assert (summary.found, summary.done, summary.left, summary.balanced) == (10 * each, 5 * each, 5 * each, True)
    for one in summary.queues:
        assert (one.there, one.discarded, one.left, one.exact) == (each, each // 2, each // 2, True)
        assert one.soon == {"1h": each // 4, "never": each // 4}
        assert one.next_expiry
    for queue in QUEUES:
        assert manager.bodies(queue) == [b"%s %06d" % (queue.encode(), n) for n in range(1, each, 2)]
    reports = manager.messages("REPORTS")
    wanted = sorted(b"%s %06d" % (queue.encode(), n) for queue in QUEUES for n in range(0, each, 4))
    assert sorted(body for _md, body in reports) == wanted
    assert {md["Feedback"] for md, _body in reports} == {CMQC.MQFB_EXPIRATION}


def test_E16_what_a_scan_taught_saves_the_next_one(manager, scan, tmp_path):
    manager.put("EXP.0", [({"Expiry": 36_000}, b"soon")])
    manager.put("EXP.1", [({}, b"never")])
    assert sorted(scan()[0].why) == ["EXP.0", "EXP.1"]
    assert scan()[0].why == {}
    assert set(known(tmp_path / "lake" / "QM1")) == {"EXP.0", "EXP.1"}
    manager.put("EXP.1", [({}, b"one more")])
    assert list(scan()[0].why) == ["EXP.1"]
    assert sorted(scan(all_filled=True)[0].why) == ["EXP.0", "EXP.1"]


def test_E16_a_message_that_was_due_makes_its_queue_a_candidate(manager, scan):
    lifetime, first = 4, None
    while first is None or first.done:  # until a scan is quicker than the lifetime
        lifetime *= 2
        manager.mqsc("CLEAR QLOCAL(EXP.0)")
        manager.put("EXP.0", [({"Expiry": lifetime}, b"soon"), ({}, b"never")])
        _found, first = scan()
    assert first.left == 2
    let_expire(lifetime)
    found, second = scan()
    assert found.why["EXP.0"].startswith("a message expired at ")
    assert (second.done, second.left, second.next_expiry) == (1, 1, "")


def test_messages_of_a_unit_of_work_are_in_flight(manager, scan):
    manager.put("EXP.0", [({}, b"there")])
    with manager.connected() as connection:
        queue = pymqi.Queue(connection, "EXP.0", CMQC.MQOO_OUTPUT)
        queue.put(b"not yet", pymqi.MD(), pymqi.PMO(Options=CMQC.MQPMO_SYNCPOINT))
        [one] = scan()[1].queues
        connection.backout()
    assert (one.there, one.discarded, one.left, one.in_flight, one.exact) == (2, 0, 1, 1, False)


def test_with_a_program_that_comes_while_a_queue_is_browsed_the_figures_are_not_exact(manager):
    manager.put("EXP.0", [({}, b"there")])
    with manager.connected() as program, connect(manager.connection) as session:
        opened: list[pymqi.Queue] = []

        def now() -> datetime:
            """Asked for when the browse is at its end: by then the program is there."""
            opened.append(pymqi.Queue(program, "EXP.0", CMQC.MQOO_INPUT_SHARED))
            return datetime.now(UTC)

        one = scan_queue(session, "EXP.0", now=now)
        opened[0].close()
    assert (one.there, one.left, one.exact) == (1, 1, False)


def test_inhibited_and_empty_queues_are_left(manager, scan):
    manager.put("EXP.0", [({}, b"x")])
    manager.mqsc("ALTER QLOCAL(EXP.0) GET(DISABLED)")
    found, summary = scan("EXP.*")
    assert (found.why, found.inhibited, found.looked_at, summary.found) == ({}, ("EXP.0",), 10, 0)


def test_a_queue_that_ends_between_look_and_scan_is_passed_over_and_forgotten(manager, tmp_path):
    """A dynamic queue ends with its program; another one ended before."""
    lake = tmp_path / "lake"
    manager.put("EXP.0", [({"Expiry": 1}, b"gone"), ({}, b"stays")])
    with manager.connected() as connection, connect(manager.connection) as session:
        dynamic = pymqi.OD(ObjectName=b"SYSTEM.DEFAULT.MODEL.QUEUE", DynamicQName=b"REPLY.1")
        program = pymqi.Queue(connection, dynamic, CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_OUTPUT)
        program.put(b"answer")
        run_scan(manager.connection, lake, ("*",), recheck=HOUR)
        assert set(known(lake / "QM1")) == {"EXP.0", "REPLY.1"}
        found = candidates(session, lake, ("*",), all_filled=True)
        program.close()
        done, gone = scan_candidates(session, lake, found)
    assert ([one.queue for one in done], gone) == (["EXP.0"], ("REPLY.1",))
    summary = summarise(done, run="r", queue_manager="QM1", gone=gone)
    assert "1 queue ended before the scan came to it: REPLY.1" in summary.passed_over()
    assert Checked(ExpirySummary).of(json.loads(json.dumps(summary.to_json())), Path("expiry.json")) == summary
    assert summary.balanced
    run_scan(manager.connection, lake, ("EXP.*",), recheck=HOUR)
    assert set(known(lake / "QM1")) == {"EXP.0"}


def test_E18_refresh_by_generic_name_where_the_platform_lacks_the_command(manager, tmp_path):
    manager.put("EXP.0", [({"Expiry": 1}, b"gone"), ({}, b"stays")])
    manager.put("OTHER", [({"Expiry": 1}, b"not named")])
    let_expire(1)
    summary = refresh(manager.connection, tmp_path / "lake", "EXP.*")
    assert (summary.by, summary.found, summary.done, summary.left) == ("scan", 2, 1, 1)
    assert manager.depth("OTHER") == 1


def test_wrong_input_is_told(manager, scan, tmp_path):
    with pytest.raises(MQError, match=r"NO\.SUCH failed: MQRC_UNKNOWN_OBJECT_NAME"):
        scan("NO.SUCH")
    gone = MqConnection(queue_manager="GONE", environment=manager.connection.environment)
    with pytest.raises(MQError, match="MQRC_Q_MGR_NAME_ERROR"):
        run_scan(gone, tmp_path, ("*",), recheck=HOUR)


def test_commands(manager, tmp_path, monkeypatch):
    monkeypatch.setenv("MQLITE_HOME", str(manager.home))
    manager.put("EXP.0", [({"Expiry": 1}, b"gone"), ({"Expiry": 3_000}, b"five minutes"), ({}, b"stays")])
    let_expire(1)
    common = ["-m", "QM1", "--lake", str(tmp_path / "lake")]
    result = CliRunner().invoke(main, ["expiry", "scan", *common])
    assert "3  EXP.0: 1 discarded, 2 left, 0 in flight; next expires" in result.output
    assert "3 there = 1 discarded + 2 left: balances" in result.output
    again = json.loads(CliRunner().invoke(main, ["expiry", "scan", *common, "--json"]).output)
    assert (again["found"], again["candidates"]) == (0, {})
    soon = json.loads(CliRunner().invoke(main, ["expiry", "forecast", "EXP.*", *common, "--json"]).output)
    assert {name: soon["EXP.0"].get(name) for name in (*BUCKETS, "later", "never") if name in soon["EXP.0"]} == {
        "10m": 1,
        "never": 1,
    }
    told = CliRunner().invoke(main, ["expiry", "forecast", *common], env={"COLUMNS": "80"}).output
    assert "EXP.0; next expires" in told
    assert max(map(len, told.splitlines())) <= 80
    wrong = CliRunner().invoke(main, ["expiry", "scan", "NO.SUCH", *common])
    assert (wrong.exit_code, "MQRC_UNKNOWN_OBJECT_NAME" in wrong.output) == (1, True)


def test_an_alias_is_scanned_as_its_base_queue_and_it_is_said(manager, tmp_path, monkeypatch):
    monkeypatch.setenv("MQLITE_HOME", str(manager.home))
    manager.mqsc("DEFINE QLOCAL(BASE)\nDEFINE QALIAS(ALSO) TARGET(BASE)\nDEFINE QMODEL(NO.QUEUE)\n")
    manager.put("BASE", [({"Expiry": 100_000}, b"one"), ({}, b"two")])
    for command in ("scan", "forecast"):
        words = ["expiry", command, "ALSO", "-m", "QM1", "--lake", str(tmp_path / "lake")]
        done = CliRunner().invoke(main, words)
        assert (done.exit_code, done.stderr) == (0, "")
        assert "ALSO is an alias of BASE, which is looked at" in done.stdout
        words[2] = "NO.QUEUE"
        assert "NO.QUEUE is a model queue, which holds no messages" in CliRunner().invoke(main, words).stderr


def test_queues_that_the_user_may_not_inquire_are_named_and_nothing_balances(manager, tmp_path, monkeypatch):
    """The queue manager answers for the other ones only, as if there were no more."""
    manager.mqlite("user", "add", "QM1", "app", text="secret\n")
    manager.mqsc(
        "SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('app') AUTHADD(CONNECT,INQ,DSP)\n"
        "SET AUTHREC PROFILE('EXP.1') OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(BROWSE,INQ,DSP)\n"
        "SET AUTHREC PROFILE(SYSTEM.ADMIN.COMMAND.QUEUE) OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(PUT)\n"
        "SET AUTHREC PROFILE(SYSTEM.DEFAULT.MODEL.QUEUE) OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(GET,DSP)\n"
    )
    manager.put("EXP.1", [({}, b"stays")])
    monkeypatch.setenv("MQLITE_HOME", str(manager.home))
    app = {"MQOPS_CONNECTION": json.dumps({"queue_manager": "QM1", "user": "app", "password": "secret"})}
    common = ["-m", "QM1", "--lake", str(tmp_path / "lake")]
    told = CliRunner().invoke(main, ["expiry", "scan", "EXP.*", *common], env=app)
    assert told.exit_code == 1
    assert (
        "9 queues not looked at, because the connection's user may not inquire them (+dsp, +inq, +browse)"
        in told.output
    )
    assert "EXP.0, EXP.2" in told.output
    assert "balances" not in told.output
    found = json.loads(CliRunner().invoke(main, ["expiry", "scan", "EXP.*", *common, "--json"], env=app).output)
    assert (found["balanced"], len(found["unseen"]), found["unseen"][0]) == (False, 9, "EXP.0")
    assert "EXP.1" not in found["unseen"]
    for more in ([], ["--json"]):
        soon = CliRunner().invoke(main, ["expiry", "forecast", "EXP.*", *common, *more], env=app)
        assert (soon.exit_code, "9 queues not looked at" in soon.stderr) == (1, True)
        assert "EXP.1" in soon.stdout
    whole = CliRunner().invoke(main, ["expiry", "scan", "EXP.1", *common, "--all"], env=app)
    assert (whole.exit_code, "1 there = 0 discarded + 1 left: balances" in whole.output) == (0, True)
