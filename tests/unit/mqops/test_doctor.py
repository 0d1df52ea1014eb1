"""`mqops doctor`: each check holds on a queue manager that has everything, and fails alone where one thing is wrong."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pymqi
import pytest
from click.testing import CliRunner
from mq_support import DLQ, Manager, dead_letter
from pymqi import CMQC

from mqops.cli import main
from mqops.doctor import queue_manager as live
from mqops.doctor import this_machine
from mqops.doctor.check import State
from mqops.doctor.needs import LEDGER
from mqops.errors import PermanentMQError, mq_error
from mqops.lake.files import write_json
from mqops.lake.run import RunFolder
from mqops.ledger.queue import DEFINITION
from mqops.look.core.question import Answer, Asked, Question
from mqops.look.run_row import APPROVAL
from mqops.message_checks import QualitySummary
from mqops.model import ObserveSummary
from mqops.mq.browse import browse
from mqops.mq.connection import connect
from mqops.observe.core.anatomy import Group, label
from mqops.observe.recorded import OBSERVED
from mqops.quality.results import keep
from mqwire import constants as c

ESTATE = """\
lake: lake
queue_managers:
  QM1:
    connection: mq_qm1
    dlq_rules: {rules: a.rules}
"""


def java(home: Path, version: str) -> str:
    """A folder with a program that answers as Java of a version does, without its start-up time."""
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "java").write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    (home / "bin" / "java").chmod(0o755)
    return str(home)


@pytest.fixture
def manager(queue_manager) -> Manager:
    return queue_manager(mqsc="DEFINE QLOCAL(A)\nDEFINE CHANNEL(MQOPS.SVRCONN) CHLTYPE(SVRCONN)\n")


@pytest.fixture
def doctor(manager, mqops_here, tmp_path, monkeypatch):
    """Runs `mqops doctor QM1 --json`: check → (state, found, do). The exit code must fit the states."""
    monkeypatch.setenv("JAVA_HOME", java(tmp_path / "java", "17.0.9"))
    (tmp_path / "estate.yaml").write_text(ESTATE)
    (tmp_path / "a.rules").write_text("ACTION(FWD) FWDQ(A)\n")
    monkeypatch.setenv("MQOPS_ESTATE", str(tmp_path / "estate.yaml"))

    def run(*options: str, name: str = "QM1", **more: str) -> dict[str, tuple[str, str, str]]:
        answer = CliRunner().invoke(main, ["doctor", name, "--json", *options], env=more)
        found = json.loads(answer.stdout)
        rows = {one["check"]: (one["state"], one["found"], one["do"]) for one in found["checks"]}
        assert len(rows) == len(found["checks"])
        fails = "fails" in {state for state, _, _ in rows.values()}
        assert (answer.exit_code, found["ok"]) == (int(fails), not fails)
        return rows

    return run


def failing(rows: dict[str, tuple[str, str, str]]) -> dict[str, tuple[str, str]]:
    return {name: (found, do) for name, (state, found, do) in rows.items() if state == "fails"}


def test_everything_holds_and_nothing_is_changed(doctor, manager, tmp_path):
    manager.put(DLQ, [dead_letter("A", b"x")])
    before = manager.messages(DLQ)
    rows = doctor()
    assert {state for state, _, _ in rows.values()} == {"holds"}
    assert list(rows) == [  # docs/command_line.md names them, too
        *("connection", "platform", "channel", "authorities", "ledger queue", "ledger", "ledger access"),
        *("dead-letter queue", "dead letters", "protection errors", "poison", "MAXMSGL", "clock", "estate"),
        *("lake", "file system", "ledger key", "unfinished runs", "stop", "Spark", "versions"),
    ]
    assert rows["platform"][1].startswith("UNIX, command level ")
    assert "pymqi 1." in rows["versions"][1]
    assert "libmqm" in rows["versions"][1]
    assert manager.messages(DLQ) == before
    assert manager.depth("MQOPS.LEDGER") == 0
    assert not (tmp_path / "lake").exists()
    assert not list(tmp_path.glob(".mqops-doctor-*"))


@pytest.mark.parametrize(
    ("mqsc", "check", "says"),
    [
        ("DELETE QLOCAL(MQOPS.LEDGER)", "ledger queue", ("MQRC_UNKNOWN_OBJECT_NAME", f"Define it: {DEFINITION}")),
        ("ALTER QLOCAL(MQOPS.LEDGER) MAXDEPTH(2)", "ledger queue", ("it is full", "mqops ledger drain")),
        ("ALTER QLOCAL(MQOPS.LEDGER) PUT(DISABLED)", "ledger queue", ("PUT(DISABLED)", "PUT(ENABLED)")),
        ("ALTER QLOCAL(MQOPS.LEDGER) MAXMSGL(1000)", "ledger queue", ("MAXMSGL(1000)", "MAXMSGL(4194304)")),
        ("ALTER QLOCAL(MQOPS.LEDGER) DEFPSIST(NO)", "ledger queue", ("DEFPSIST(NO)", "DEFPSIST(YES)")),
        ("ALTER QLOCAL(MQOPS.LEDGER) NOSHARE", "ledger queue", ("NOSHARE", "ALTER QLOCAL(MQOPS.LEDGER) SHARE")),
        ("ALTER QMGR DEADQ(' ')", "dead-letter queue", ("has no dead-letter queue", "ALTER QMGR DEADQ")),
        ("ALTER QMGR DEADQ(NOT.THERE)", "dead-letter queue", ("which is not there", "DEFINE QLOCAL(NOT.THERE)")),
        ("ALTER QMGR DEADQ('dead.letters')", "dead-letter queue", ("is not there", "DEFINE QLOCAL('dead.letters')")),
        ("ALTER QMGR DEADQ('a')", "dead-letter queue", ("names a, which is not there, A is", "ALTER QMGR DEADQ(A)")),
        (
            f"DEFINE QREMOTE(R) RNAME({DLQ}) RQMNAME(QM2) XMITQ(X)\nALTER QMGR DEADQ(R)",
            "dead-letter queue",
            ("which is a remote queue", f"ALTER QMGR DEADQ({DLQ})"),
        ),
        (
            "DEFINE QMODEL(M)\nALTER QMGR DEADQ(M)",
            "dead-letter queue",
            ("which is a model queue", f"ALTER QMGR DEADQ({DLQ})"),
        ),
        (
            "DEFINE QLOCAL(X) USAGE(XMITQ)\nALTER QMGR DEADQ(X)",
            "dead-letter queue",
            ("which is a transmission queue", f"ALTER QMGR DEADQ({DLQ})"),
        ),
        (f"ALTER QLOCAL({DLQ}) PUT(DISABLED)", "dead-letter queue", ("PUT(DISABLED)", "PUT(ENABLED)")),
        (f"ALTER QLOCAL({DLQ}) MAXMSGL(1000)", "dead-letter queue", ("MAXMSGL 1,000", "MAXMSGL(4194304)")),
        ("ALTER QMGR MAXMSGL(50000)", "MAXMSGL", ("has 50000, and these queues more", "ALTER QMGR MAXMSGL(4194304)")),
        ("DELETE QLOCAL(A)", "estate", ("a.rules:1: FWDQ A does not exist", "Define it")),
        (
            "SET AUTHREC PROFILE('MQOPS.**') OBJTYPE(QUEUE) PRINCIPAL('shop') AUTHADD(PUT)",
            "ledger access",
            ("principal shop (profile MQOPS.**)", "Take PUT"),
        ),
        (
            "SET AUTHREC PROFILE('MQOPS.**') OBJTYPE(QUEUE) PRINCIPAL('not known') AUTHADD(PUT)",
            "ledger access",
            ("principal not known (profile MQOPS.**)", "Take PUT"),
        ),
    ],
)
def test_one_thing_is_wrong_and_it_says_what_to_do(doctor, manager, mqsc, check, says):
    manager.mqsc(mqsc + "\n")
    rows = failing(doctor())
    assert all(text in told for text, told in zip(says, rows[check], strict=True))
    named_by_the_estate_too = "DEADQ" in mqsc or "DELETE" in mqsc
    assert set(rows) == ({check, "estate"} if named_by_the_estate_too else {check})


def test_a_deadq_that_is_an_alias_is_named_and_its_base_queue_is_read(doctor, manager, mqops_here):
    """IBM MQ, "Working with dead-letter queues": it must be a local queue."""
    manager.mqsc(f"DEFINE QALIAS(D) TARGET({DLQ})\nALTER QMGR DEADQ(D)\n")
    manager.put(DLQ, [dead_letter("A", b"x")])
    found, do = failing(doctor())["dead-letter queue"]
    assert found == f"DEADQ names D, which is an alias of {DLQ}. IBM MQ wants a local queue there"
    assert do == f"ALTER QMGR DEADQ({DLQ})"
    done = CliRunner().invoke(main, ["dlq", "run", "--once", "-m", "QM1"], input="ACTION(RETRY)\n")
    assert f"the messages are those of D (an alias of {DLQ})" in done.stderr
    assert manager.bodies("A") == [b"x"]


@pytest.mark.parametrize("kind", ["QREMOTE", "QMODEL"])
def test_a_deadq_without_messages_is_named_by_each_command_that_reads_it(manager, mqops_here, kind):
    more = f"RNAME({DLQ}) RQMNAME(QM2) XMITQ(X)" if kind == "QREMOTE" else ""
    manager.mqsc(f"DEFINE {kind}(D) {more}\nALTER QMGR DEADQ(D)\n")
    for command in (("dlq", "run", "--once"), ("dlq", "run", "--dry-run"), ("message", "find"), ("dlq", "anatomy")):
        done = CliRunner().invoke(main, [*command, "-m", "QM1"], input="ACTION(RETRY)\n")
        assert done.exit_code, command
        assert f"DEADQ of QM1 names D, which is a {kind[1:].lower()} queue" in done.stderr, (command, done.stderr)
        assert f"ALTER QMGR DEADQ({DLQ})" in " ".join(done.stderr.split()), command


def test_reports_and_messages_that_expire_are_told_by_number_and_reason(doctor, manager, mqops_here, tmp_path):
    """B13: what lies on the dead-letter queue besides plain dead letters."""
    assert doctor()["dead letters"] == ("holds", f"{DLQ}: 0 messages looked at", None)
    kinds = {CMQC.MQFB_EXPIRATION: 2, CMQC.MQFB_COD: 1, CMQC.MQFB_COA: 1, CMQC.MQRC_Q_FULL: 1}
    fields, body = dead_letter("A", b"x")
    for feedback, number in kinds.items():
        manager.put(DLQ, [({**fields, "MsgType": CMQC.MQMT_REPORT, "Feedback": feedback}, body)] * number)
    manager.put(DLQ, [({**fields, "Expiry": 36_000}, body), (fields, body), ({**fields, "Expiry": 1}, body)])
    with pytest.raises(pymqi.MQMIError), manager.connected() as program:  # the last one has expired
        pymqi.Queue(program, "A").get(None, pymqi.MD(), pymqi.GMO(Options=CMQC.MQGMO_WAIT, WaitInterval=150))
    state, found, _do = doctor()["dead letters"]
    reports = "2 MQFB_EXPIRATION, 1 MQFB_COA, 1 MQFB_COD, 1 MQRC_Q_FULL"
    assert state == "holds"
    assert f"5 of them are reports that could not be put on the reply-to queue ({reports})" in found
    assert "1 of them has a lifetime and is discarded when it is over, the first in " in found
    assert re.search(r"the first in (59 min|1 h)", found)
    assert f"{DLQ}: the queue manager discarded 1 expired message when the queue was browsed" in found
    (tmp_path / "estate.yaml").write_text(ESTATE_NOW)
    mqops_here("snapshot", DLQ, "-m", "QM1")
    said = " ".join(mqops_here("estate", "status", str(tmp_path / "estate.yaml"), expect=1).stdout.split())
    assert f'to know: QM1: No run has taken these messages from {DLQ} since the run "snapshot of QM1, ' in said
    assert (
        f"found them: 5 of them are reports that could not be put on the reply-to queue ({reports}); 1 of them" in said
    )


def test_what_ams_could_not_open_is_a_problem_and_the_queue_a_dead_letter_queue(doctor, manager, mqops_here, tmp_path):
    """B12: SYSTEM.PROTECTION.ERROR.QUEUE. mqlite has no Advanced Message Security: the test puts the message there."""
    ams = "SYSTEM.PROTECTION.ERROR.QUEUE"
    assert doctor()["protection errors"] == ("holds", f"there is no {ams}", None)
    manager.mqsc(f"DEFINE QLOCAL({ams})\n")
    assert doctor()["protection errors"][0] == "holds"
    manager.put(ams, [dead_letter("A", b"PDMQ")])
    found, do = failing(doctor())["protection errors"]
    assert found.startswith(f"{ams} has 1 message that Advanced Message Security could not open")
    assert f"mqops dlq anatomy {ams} QM1" in do
    (tmp_path / "estate.yaml").write_text(ESTATE_NOW)
    status = mqops_here("estate", "status", str(tmp_path / "estate.yaml"), expect=1).stdout
    assert f"QM1: {ams} has 1 message that Advanced Message Security could not open" in " ".join(status.split())
    (tmp_path / "estate.yaml").write_text(ESTATE.replace("a.rules", f"a.rules, queue: {ams}"))
    assert "estate" not in failing(doctor())
    done = mqops_here("dlq", "run", ams, "QM1", "--once", text="ACTION(FWD) FWDQ(A) HEADER(NO)\n")
    assert (manager.depth(ams), manager.bodies("A")) == (0, [b"PDMQ"]), done.output


def test_a_loop_that_nobody_reads_speaks_of_no_program(manager, doctor, mqops_here):
    """B10: at or over BOTHRESH, and the queue open by nobody."""
    manager.mqsc("DEFINE QLOCAL(IN) BOTHRESH(1)\nDEFINE QLOCAL(MQOPS.QUARANTINE)\n")
    manager.put("IN", [({}, b"poison")])
    with manager.connected() as application:
        pymqi.Queue(application, "IN").get(None, pymqi.MD(), pymqi.GMO(Options=CMQC.MQGMO_SYNCPOINT))
        application.backout()
    found, _do = failing(doctor())["poison"]
    told = (
        "no program has the queue open for input now. The queue manager takes no action at BOTHRESH, so what is there "
        "stays"
    )
    assert found == f"IN has 1 message with BackoutCount 1, at or over BOTHRESH(1): {told}"
    said = " ".join(mqops_here("backout", "run", "-m", "QM1", "--dry-run", text="ACTION(RETRY)").stdout.split())
    assert told in said
    assert "program takes none" not in said


def test_a_message_that_loops_is_named_with_who_reads_it(doctor, manager, mqops_here):
    """IBM MQ, "BackoutThreshold": the queue manager takes no action; the program has to."""
    manager.mqsc("DEFINE QLOCAL(IN.BO)\nDEFINE QLOCAL(IN) BOTHRESH(2) BOQNAME(IN.BO)\n")
    manager.mqsc("DEFINE QLOCAL(MQOPS.QUARANTINE)\n")
    manager.put("IN", [({}, b"poison"), ({}, b"good")])
    with manager.connected() as application:
        queue = pymqi.Queue(application, "IN", CMQC.MQOO_INPUT_SHARED)
        for number in range(2):
            assert number or doctor()["poison"][0] == "holds"
            queue.get(None, pymqi.MD(), pymqi.GMO(Options=CMQC.MQGMO_SYNCPOINT))
            application.backout()
        found, do = failing(doctor())["poison"]
        assert found.startswith("IN has 1 message with BackoutCount 2, at or over BOTHRESH(2): it is read by ")
        assert do == "`mqops backout guard IN -m QM1` moves them to BOQNAME"
        said = mqops_here("backout", "run", "-m", "QM1", text="ACTION(RETRY)").stdout
        assert "poison: IN has 1 message with BackoutCount 2" in said
    moved = mqops_here(*["backout", "guard", "IN", "-m", "QM1", "--watch", "0", "--yes"])
    assert "1 moved" in moved.stdout
    assert (manager.bodies("IN"), manager.bodies("IN.BO")) == ([b"good"], [b"poison"])
    assert doctor()["poison"][0] == "holds"


def test_a_queue_whose_messages_are_not_committed_is_not_called_empty(manager, mqops_here, tmp_path):
    manager.mqsc("DEFINE QLOCAL(MQOPS.QUARANTINE)\n")
    with manager.connected() as application:
        queue = pymqi.Queue(application, DLQ, CMQC.MQOO_OUTPUT)
        for _ in range(3):
            queue.put(b"x", pymqi.MD(), pymqi.PMO(Options=CMQC.MQPMO_SYNCPOINT))
        for words in (
            *("dlq run --once", "dlq run --dry-run", f"snapshot {DLQ}", f"message find {DLQ}", "dlq anatomy"),
            *(f"message show {DLQ} 41", f"message move {DLQ} --all --to A --dry-run"),
            *(f"message move {DLQ} 41 --to A --dry-run", f"message export {DLQ} {tmp_path / 'a'}"),
            f"backout run {DLQ} --dry-run",
        ):
            done = mqops_here(*words.split(), "-m", "QM1", text="ACTION(RETRY)", expect=None)
            text = " ".join(f"{done.stdout} {done.stderr}".split())
            assert f"{DLQ} has 3 messages (CURDEPTH), and a browse is given none of them" in text, words
            assert "not committed (UNCOM); the oldest unit of work is of " in text, words
            assert re.search(r"since \d{4}-\d\d-\d\d \d\d\.\d\d\.\d\d", text), words
            assert "is empty" not in text, words
        application.backout()
    assert "is empty" in mqops_here("dlq", "run", "--once", "-m", "QM1", text="ACTION(RETRY)").stdout


def test_a_channel_that_is_too_short_for_the_longest_message(manager, doctor, monkeypatch):
    connection = manager.connection
    with connect(connection) as session:
        local = live.channel(session, connection)
        client = type(connection)(
            queue_manager="QM1",
            channel="MQOPS.SVRCONN",
            conn_name="localhost(1414)",
            environment=connection.environment,
        )
        holds = live.channel(session, client)
        manager.mqsc("ALTER QMGR MAXMSGL(104857600)\n")
        no_longer_queue = live.channel(session, client)
        manager.mqsc("ALTER CHANNEL(MQOPS.SVRCONN) CHLTYPE(SVRCONN) MAXMSGL(1000)\n")
        short = live.channel(session, client)
    states = (local.state, holds.state, no_longer_queue.state, short.state)
    assert states == (State.HOLDS, State.HOLDS, State.HOLDS, State.FAILS)
    assert "without TLS" in holds.what
    assert short.remedy == "ALTER CHANNEL(MQOPS.SVRCONN) CHLTYPE(SVRCONN) MAXMSGL(4194304)"


def test_a_message_that_the_channel_does_not_let_through_says_what_to_do(manager):
    manager.mqsc("DEFINE CHANNEL(SHORT) CHLTYPE(SVRCONN) MAXMSGL(1000)\n")
    manager.put("A", [({}, b"x" * 2000)])
    local = manager.connection
    client = type(local)(
        queue_manager="QM1", channel="SHORT", conn_name="localhost(1414)", environment=local.environment
    )
    with connect(client) as session, pytest.raises(PermanentMQError) as caught:
        list(browse(session, "A"))
    assert "MQRC_DATA_LENGTH_ERROR (2010). Raise MAXMSGL of the server-connection channel" in str(caught.value)


def test_authorities_that_are_lacking_are_named_with_the_command_that_gives_them(manager, doctor):
    manager.mqlite("user", "add", "QM1", "app", text="secret\n")
    least = "CONNECT,INQ,DSP"
    manager.mqsc(
        f"SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('app') AUTHADD({least})\n"
        "SET AUTHREC PROFILE('**') OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(INQ,DSP,BROWSE,GET)\n"
        "SET AUTHREC PROFILE('SYSTEM.ADMIN.COMMAND.QUEUE') OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(PUT)\n"
    )
    connection = json.dumps({"queue_manager": "QM1", "user": "app", "password": "secret"})
    rows = failing(doctor(MQOPS_CONNECTION=connection))
    found, do = rows["authorities"]
    assert "PUT on MQOPS.LEDGER lacking" in found
    assert f"PUT, PASSALL, PASSID, SETALL on {DLQ} lacking" in found
    assert "SET AUTHREC PROFILE('A') OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(PUT,PASSALL,PASSID,SETALL)" in do
    assert "SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('app') AUTHADD(SETALL)" in do
    assert "MQRC_NOT_AUTHORIZED" in rows["ledger queue"][0]


def test_each_authority_is_asked_for_by_itself(manager, doctor):
    """PASSID is part of what PASSALL is, and does not stand for it."""
    manager.mqlite("user", "add", "QM1", "app", text="secret\n")
    manager.mqsc(
        "SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('app') AUTHADD(CONNECT,INQ,DSP)\n"
        "SET AUTHREC PROFILE('**') OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(INQ,DSP,BROWSE,GET,PUT,PASSID)\n"
    )
    connection = json.dumps({"queue_manager": "QM1", "user": "app", "password": "secret"})
    found, _do = failing(doctor(MQOPS_CONNECTION=connection))["authorities"]
    assert f"PASSALL, SETALL on {DLQ} lacking" in found


def test_a_queue_manager_that_is_not_reached_leaves_its_checks_unknown(doctor):
    rows = doctor(name="QM9")
    assert failing(rows).keys() == {"connection"}
    assert "MQRC_Q_MGR_NAME_ERROR (2058)" in rows["connection"][1]
    assert rows["ledger queue"][0] == rows["clock"][0] == "unknown"
    assert rows["lake"][0] == rows["Spark"][0] == "holds"


def test_a_connection_that_is_lost_meanwhile_leaves_the_rest_unknown(doctor, monkeypatch):
    def lost(_session):
        raise mq_error(2, c.MQRC_CONNECTION_BROKEN, verb="MQINQ")

    monkeypatch.setattr(live, "dead_letters", lost)
    rows = doctor()
    assert failing(rows).keys() == {"connection"}
    assert "MQRC_CONNECTION_BROKEN (2009)" in rows["connection"][1]
    assert (rows["ledger queue"][0], rows["dead-letter queue"][0], rows["clock"][0]) == ("holds", "unknown", "unknown")


def test_the_clock_is_compared_with_the_time_in_the_answer_of_the_queue_manager(manager):
    with connect(manager.connection) as session:
        right = live.clock(session, lambda: datetime.now(UTC))
        slow = live.clock(session, lambda: datetime.now(UTC) - timedelta(minutes=2))
        fast = live.clock(session, lambda: datetime.now(UTC) + timedelta(minutes=2))
    assert right.state is State.HOLDS
    assert (slow.state, fast.state) == (State.FAILS, State.FAILS)
    assert " s ahead of " in slow.what
    assert " s behind " in fast.what


def test_a_run_that_was_begun_and_a_stop_are_told_with_the_command_that_goes_on(doctor, manager, mqops_here, tmp_path):
    manager.put(DLQ, [dead_letter("A", b"x")])
    mqops_here("dlq", "run", DLQ, "QM1", "--once", text="ACTION(RETRY)\n")
    (run,) = (tmp_path / "lake" / "QM1" / "runs").iterdir()
    assert not failing(doctor())
    (run / "summary.json").unlink()
    mqops_here("stop", "-m", "QM1", "--why", "full moon")
    rows = failing(doctor())
    assert rows.keys() == {"unfinished runs", "stop"}
    assert f"mqops resume {run.name} --finish -m QM1" in rows["unfinished runs"][1]
    assert "full moon" in rows["stop"][0]
    assert rows["stop"][1] == "To go on: `mqops resume -m QM1`"


def test_a_damaged_ledger_and_a_key_that_others_may_read(doctor, manager, mqops_here, tmp_path):
    manager.put(DLQ, [dead_letter("A", b"x")])
    mqops_here("dlq", "run", DLQ, "QM1", "--once", text="ACTION(RETRY)\n")
    ledger = tmp_path / "lake" / "QM1" / "ledger"
    lines = (ledger / "ledger.jsonl").read_bytes()
    (ledger / "ledger.jsonl").write_bytes(lines.replace(b'"kind":"acted"', b'"kind":"wrong"'))
    assert failing(doctor()).keys() == {"ledger"}
    (ledger / "ledger.jsonl").write_bytes(lines)
    (ledger / "keys.json").chmod(0o644)
    assert "chmod 600" in failing(doctor())["ledger key"][0]


def test_a_lake_that_others_can_write_to(doctor, tmp_path):
    (tmp_path / "lake").mkdir()
    (tmp_path / "lake").chmod(0o777)
    found, _do = failing(doctor())["lake"]
    assert "Other users can write to" in found


def test_a_lake_without_room(tmp_path, monkeypatch):
    monkeypatch.setattr(this_machine, "LEAST_ROOM", 1 << 60)
    check = this_machine.lake(tmp_path / "lake")
    assert check.state is State.FAILS
    assert check.remedy.startswith("Make room")


def test_spark_needs_a_java_that_it_runs_on(tmp_path):
    old = this_machine.spark(None, "QM1", {"JAVA_HOME": java(tmp_path / "old", "1.8.0_392")})
    none = this_machine.spark(None, "QM1", {"JAVA_HOME": str(tmp_path / "nothing")})
    secret = {
        "JAVA_HOME": java(tmp_path / "new", "21.0.1"),
        "AIRFLOW_CONN_SPARK_DEFAULT": "spark-connect://me:pass@host:15002",
    }
    good = this_machine.spark(None, "QM1", secret)
    assert (old.state, none.state, good.state) == (State.FAILS, State.UNKNOWN, State.HOLDS)
    assert "connection spark_default (spark-connect)" in good.what
    assert "pass" not in str(good)


def test_the_table_for_people_has_every_check_and_the_numbers(manager, mqops):
    manager.mqsc("ALTER QMGR DEADQ(' ')\n")
    done: subprocess.CompletedProcess[str] = mqops("doctor", "QM1", expect=1, COLUMNS="80", MQOPS_ESTATE="")
    assert "FAILS   dead-letter queue " in done.stdout
    assert "to do: ALTER QMGR DEADQ(SYSTEM.DEAD.LETTER.QUEUE)" in done.stdout
    assert all(len(line) <= 80 or len(line.split()) == 1 for line in done.stdout.splitlines())
    assert any(re.match("QM1: [12][0-9] checks", line) for line in done.stdout.splitlines())


def test_the_definition_that_an_error_names_has_all_that_the_doctor_asks_for():
    assert all(one.mqsc(one.value) in f"{DEFINITION} USAGE(NORMAL)" for one in LEDGER.attributes)


ESTATE_NOW = """\
lake: lake
queue_managers:
  QM1:
    connection: mq_qm1
    expiry_scan: {queues: [A]}
"""
TROUBLE = """\
DEFINE QLOCAL(FULL) MAXDEPTH(2)
DEFINE QLOCAL(IN) BOTHRESH(1) BOQNAME(IN.BOQ)
DEFINE QLOCAL(IN.BOQ)
DEFINE QLOCAL(QM2) USAGE(XMITQ)
DEFINE QLOCAL(LONELY) USAGE(XMITQ)
DEFINE CHANNEL(TO.QM2) CHLTYPE(SDR) CONNAME('127.0.0.1(1)') XMITQ(QM2)
DEFINE QREMOTE(THERE) RNAME(A) RQMNAME(QM2) XMITQ(QM2)
DEFINE QREMOTE(NOWHERE) RNAME(A) RQMNAME(QM3) XMITQ(LONELY)
DEFINE QLOCAL(BROKEN) TRIGGER TRIGTYPE(FIRST) INITQ(NO.INITQ) PROCESS(NONE)
STOP CHANNEL(TO.QM2)
"""


def test_estate_status_says_what_needs_a_person_worst_first(manager, mqops_here, doctor, tmp_path):
    estate = tmp_path / "estate.yaml"
    estate.write_text(ESTATE_NOW)
    status = ("estate", "status", str(estate))
    assert "1 queue manager: nothing needs a person" in mqops_here(*status).stdout
    manager.mqsc(TROUBLE)
    manager.put("FULL", [({}, b"x")] * 2)
    for queue in ("IN.BOQ", "THERE", "NOWHERE"):
        manager.put(queue, [({}, b"x")])
    manager.put(DLQ, [dead_letter("A", b"x")])
    assert not failing(doctor())  # it looks at the needs of mqops only, and says so
    assert "these are the needs of mqops only: `mqops estate status`" in mqops_here("doctor", "QM1").stdout
    with manager.connected() as program:
        pymqi.Queue(program, "A", CMQC.MQOO_OUTPUT).put(b"x", pymqi.MD(), pymqi.PMO(Options=CMQC.MQPMO_SYNCPOINT))
        shown = mqops_here(*status, expect=1).stdout
    for told in (
        "FULL is 100 % full (CURDEPTH 2, MAXDEPTH 2)",
        "Channel TO.QM2 is STOPPED: 1 message on QM2. START CHANNEL(TO.QM2)",
        "LONELY, a transmission queue, has 1 message, and no channel has it as XMITQ",
        f"{DLQ}, the dead-letter queue, has 1 message",
        "IN.BOQ, a backout queue, has 1 message",
        "BROKEN cannot trigger: ",
        "A has 1 message (CURDEPTH) and open units of work (UNCOM); the oldest unit of work ",
    ):
        assert f"QM1: {told}" in shown
    assert "1 queue manager: 6 things need a person" in shown
    urgent = [line.partition(":")[0] for line in shown.splitlines() if line.startswith(("now: ", "soon: "))]
    assert urgent == ["now"] * 4 + ["soon"] * 2
    mqops_here("stop", "-m", "QM1", expect=None)
    document = json.loads(mqops_here(*status, "--only", "QM1", "--json", expect=1).stdout)["QM1"]
    assert document["in_order"] is False
    (dead,) = [one for one in document["needs_a_person"] if one["place"] == "dead_letters"]
    assert dead["command"] == f"mqops dlq anatomy {DLQ} QM1"
    preview = json.loads(mqops_here(*status, "--daily", "--json", expect=1).stdout)
    assert preview["sends"] is False  # the estate has no notify.daily
    assert preview["lines"][0].startswith("now: QM1: ")
    assert preview["subject"] == "1 queue manager: 4 now, 3 soon need a person"
    assert any("All acting on QM1 is stopped" in one["text"] for one in document["needs_a_person"])
    gone = mqops_here(*status, MQLITE_HOME=str(tmp_path / "nowhere"), expect=1).stdout.splitlines()
    assert gone[0].startswith("now: QM1: The queue manager does not answer: ")  # the worst comes first


def test_estate_status_has_all_problems_of_the_page_estate(manager, mqops_here, tmp_path):
    """Also without a snapshot: poison. And what only the lake knows: quality, and runs that nothing carries out."""
    (tmp_path / "estate.yaml").write_text(ESTATE_NOW)
    manager.mqsc(
        "DEFINE QLOCAL(IN) BOTHRESH(1) BOQNAME(IN.BOQ)\nDEFINE QLOCAL(IN.BOQ)\nDEFINE PROCESS(P) APPLICID(p)\n"
    )
    manager.mqsc("DEFINE QLOCAL(IQ)\nDEFINE QLOCAL(OFF) NOTRIGGER TRIGTYPE(FIRST) INITQ(IQ) PROCESS(P)\n")
    manager.put("IN", [({}, b"x")])
    with manager.connected() as program:
        queue = pymqi.Queue(program, "IN", CMQC.MQOO_INPUT_SHARED)
        queue.get(None, pymqi.MD(), pymqi.GMO(Options=CMQC.MQGMO_SYNCPOINT))
        program.backout()
        queue.close()
        served = pymqi.Queue(program, "IQ", CMQC.MQOO_INPUT_SHARED)
        lake = tmp_path / "lake"
        run = RunFolder.at(lake, "QM1", "checks")
        found = QualitySummary(run="checks", queue_manager="QM1", queue="A", checked_at="2026-11-01T00:00:00+00:00")
        run.create()
        run.quality_json.parent.mkdir()
        keep(run, replace(found, failed={"critical": 2, "warning": 0, "info": 0}, by_workflow=True))
        approved = RunFolder.at(lake, "QM1", "approved").create()
        at = "2026-11-01T00:00:00+00:00"
        OBSERVED.write(
            approved,
            ObserveSummary(run="approved", queue_manager="QM1", observed_at=at, messages=0, bytes=0, queues=()),
        )
        write_json(approved.plan_json, {"queue": "A", "workflow": "dlq_rules", "rows": 1})
        answer = Answer(approved=True, by_id="alice", by="alice", at=at)
        question = Question(dag_id="qm1_dlq_rules", run_id="one", digest="d", text="t")
        APPROVAL.write(approved, Asked(question=question, task_instance="task", answer=answer))
        shown = mqops_here("estate", "status", str(tmp_path / "estate.yaml"), expect=1).stdout
        served.close()
    for told in (
        "Poison: IN has 1 message with BackoutCount 1, at or over BOTHRESH(1): no program has the queue",
        "The last quality run, of 2026-11-01T00:00:00+00:00, found 2 critical checks that are not met",
        "Triggering is switched off (NOTRIGGER) on OFF, and no message waits there",
    ):
        assert f"QM1: {told}" in shown
    assert ", real: it was approved, and it has moved nothing: look whether something is at work on it." in shown
    assert "mqops backout guard IN -m QM1" in shown
    assert "1 queue manager: 3 things need a person" in shown


def test_a_full_disk_is_told_as_what_it_is(monkeypatch, tmp_path):
    monkeypatch.setattr(this_machine.shutil, "disk_usage", lambda _path: SimpleNamespace(free=0))
    do = this_machine.lake(tmp_path).remedy
    assert "What a run under way has moved stays moved, and its markers wait on MQOPS.LEDGER" in do
    assert "before it moves anything" not in do


def test_a_pattern_finds_on_each_queue_that_it_fits(manager, mqops_here):
    manager.mqsc("DEFINE QLOCAL(APP.ONE)\nDEFINE QLOCAL(APP.TWO)\n")
    for queue in ("APP.ONE", "APP.TWO", "A"):
        manager.put(queue, [({}, b"x")])
    found = mqops_here("message", "find", "APP.*", "-m", "QM1", "--json").stdout
    assert {one["queue"] for one in json.loads(found)["messages"]} == {"APP.ONE", "APP.TWO"}
    assert (
        "no local queue whose name fits NO.*" in mqops_here("message", "find", "NO.*", "-m", "QM1", expect=None).stderr
    )


def test_a_message_without_an_mqdlh_is_told_with_why_and_what_moves_it_and_without_its_bytes(manager, mqops_here):
    manager.put(DLQ, [({"Format": "MQDEAD"}, b"SECRET".ljust(200)), dead_letter("A", b"x")])
    said = mqops_here("dlq", "run", "--once", "-m", "QM1", text="ACTION(RETRY)", expect=None)
    assert "has no valid MQDLH (MQDLH.StrucId at offset 0 is not valid): no rule applies" in said.stderr
    assert f"`mqops message move {DLQ} -m QM1 --reason 0 --to QUEUE`" in said.stderr
    assert "SECR" not in said.stdout + said.stderr
    mqops_here(*f"message move {DLQ} -m QM1 --reason 0 --to A --yes".split())
    assert (manager.depth(DLQ), manager.depth("A")) == (0, 2)
    here = Group(reason="MQRC_Q_FULL", origin_q="A", origin_q_mgr="", application="app")
    assert label(here) == "MQRC_Q_FULL  A  app"


def test_a_browse_by_an_alias_gives_every_message_of_a_deep_queue(manager):
    """An alias has no depth of its own, by which a browse knows when it has seen enough."""
    manager.mqsc("DEFINE QALIAS(ALSO) TARGET(A)\n")
    manager.put("A", [({"Persistence": 0}, b"x")] * 1100)
    with connect(manager.connection) as session:
        assert sum(1 for _message in browse(session, "ALSO")) == 1100


@pytest.mark.parametrize(
    ("mark", "code"), [("utf-8-sig", "a byte order mark,"), ("utf-16", "a byte order mark of UTF-16,")]
)
def test_a_message_file_with_a_byte_order_mark_is_told_so(manager, mqops_here, tmp_path, mark, code):
    file = tmp_path / "saved.msg"
    file.write_bytes("* DMPMQMSG\n".encode(mark))
    said = mqops_here("message", "load", str(file), "A", "-m", "QM1", expect=None)
    assert f"the file begins with {code} unseen here: save it as UTF-8 without one" in " ".join(said.stderr.split())
