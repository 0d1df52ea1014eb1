"""What a message on a dead-letter queue may not do: send itself where it likes, or harm who reads its names."""

from __future__ import annotations

import csv
import io
import json

import pytest
from mq_support import DLQ, create, dead_letter

QUEUES = """\
DEFINE QLOCAL(A)
DEFINE QLOCAL(SYSTEM.MINE)
DEFINE QLOCAL(REPAIR)
DEFINE QALIAS(INNOCENT) TARGET(MQOPS.LEDGER)
DEFINE QLOCAL(MQOPS.PARKED)
DEFINE QLOCAL(QM2) USAGE(XMITQ)
DEFINE QREMOTE(REMOTE) RNAME(A) RQMNAME(QM2)
DEFINE QREMOTE(QM1.ALIAS) RNAME(' ') RQMNAME(QM1)
DEFINE QALIAS(TOQM2) TARGET(QM2)
DEFINE QREMOTE(ADMIN) RNAME(SYSTEM.ADMIN.COMMAND.QUEUE) RQMNAME(QM2)
"""
RETRY = "ACTION(RETRY)\n"
FORGED = b'{"kind":"ticket"}'


@pytest.fixture
def manager(tmp_path):
    return create(tmp_path / "home", mqsc=QUEUES)


def run(mqops_here, rules=RETRY, *options):
    done = mqops_here("dlq", "run", DLQ, "QM1", "--once", "--json", *options, text=rules, expect=None)
    return json.loads(done.stdout)


@pytest.mark.parametrize("queue", ["MQOPS.LEDGER", "SYSTEM.ADMIN.COMMAND.QUEUE", "MQOPS.PARKED"])
def test_a_message_cannot_send_itself_to_a_queue_of_the_queue_manager_or_of_mqops(manager, mqops_here, queue):
    manager.put(DLQ, [dead_letter(queue, FORGED), dead_letter("A", b"good")])
    summary = run(mqops_here)
    assert (summary["moved"], summary["left"], summary["balanced"]) == (1, 1, True)
    assert manager.bodies("A") == [b"good"]
    assert FORGED not in manager.bodies(queue)
    assert [body[172:] for body in manager.bodies(DLQ)] == [FORGED]
    assert any("SYSTEM.* or MQOPS.*" in remark for remark in summary["remarks"])


def test_nor_by_the_reply_queue_that_a_rule_forwards_to(manager, mqops_here):
    manager.put(DLQ, [dead_letter("A", FORGED, ReplyToQ="MQOPS.LEDGER", ReplyToQMgr="QM1")])
    summary = run(mqops_here, "ACTION(FWD) FWDQ(&REPLYQ) FWDQM(&REPLYQM) HEADER(NO)\n")
    assert (summary["moved"], summary["left"]) == (0, 1)


def test_a_rule_that_names_the_queue_itself_puts_there(manager, mqops_here):
    manager.put(DLQ, [dead_letter("A", b"parked")])
    assert run(mqops_here, "ACTION(FWD) FWDQ(MQOPS.PARKED) HEADER(NO)\n")["moved"] == 1
    assert manager.bodies("MQOPS.PARKED") == [b"parked"]


@pytest.mark.parametrize(
    ("queue", "queue_manager", "why"),
    [
        ("INNOCENT", "QM1", "alias of the protected queue MQOPS.LEDGER"),
        ("QM2", "QM1", "transmission queue"),
        ("QM2", "", "transmission queue"),
        ("QM2", "QM1.ALIAS", "transmission queue"),  # a queue manager alias that leads back here
        ("TOQM2", "QM1.ALIAS", "transmission queue"),  # and there by an alias of it
        ("QM2".ljust(48, "\0"), "QM1".ljust(48, "\0"), "transmission queue"),  # as a program in C pads them
        ("QM2\0x", "QM1\0x", "transmission queue"),
        ("INNOCENT\0", "QM1.ALIAS\0x", "alias of the protected queue MQOPS.LEDGER"),
        ("ADMIN", "QM1", "alias of the protected queue SYSTEM.ADMIN.COMMAND.QUEUE"),  # of QM2
    ],
)
def test_nor_under_another_name(manager, mqops_here, queue, queue_manager, why):
    manager.put(
        DLQ, [dead_letter(queue, FORGED, dest_q_mgr=queue_manager, inner=("MQXMIT", 546, 1208)), dead_letter("A", b"x")]
    )
    summary = run(mqops_here)
    assert (summary["moved"], summary["left"], summary["failed"], summary["balanced"]) == (1, 1, 0, True)
    assert any(why in reason for reason in summary["left_because"])
    assert FORGED not in [*manager.bodies("MQOPS.LEDGER"), *manager.bodies("QM2")]


def test_a_rule_puts_nothing_on_a_transmission_queue_under_its_own_name(manager, mqops_here):
    manager.put(DLQ, [dead_letter("A", FORGED)])
    summary = run(mqops_here, "ACTION(FWD) FWDQ(QM2) HEADER(NO)\n")
    assert (summary["moved"], summary["left"]) == (0, 1)


@pytest.mark.parametrize(("queue", "queue_manager"), [("REMOTE", "QM1"), ("A", "QM2"), ("A\0x", "QM2\0x")])
def test_a_remote_queue_is_put_to_as_ever(manager, mqops_here, queue, queue_manager):
    manager.put(DLQ, [dead_letter(queue, b"far", dest_q_mgr=queue_manager)])
    assert run(mqops_here)["moved"] == 1
    (body,) = manager.bodies("QM2")
    assert body.startswith(b"XQH ")
    assert body.endswith(b"far")


def test_names_that_end_with_NUL_are_put_to_and_shown_as_the_queue_manager_reads_them(manager, mqops_here):
    dest, q_mgr = "A".ljust(48, "\0"), "QM1\0\0x"
    manager.put(
        DLQ, [dead_letter(dest, b"honest", dest_q_mgr=q_mgr, ReplyToQ=b"B\0rubbish", inner=("MQSTR\0", 546, 1208))]
    )
    rules = "DESTQ(A) DESTQM(QM1) REPLYQ(B) FORMAT(MQSTR) ACTION(RETRY)\n"
    planned = mqops_here("dlq", "run", DLQ, "QM1", "--dry-run", text=rules)
    assert "line 1: RETRY to A@QM1  (MQRC_Q_FULL A@QM1;" in planned.stdout
    assert "problem:" not in planned.output
    assert "unknown:" not in planned.output
    summary = run(mqops_here, rules)
    assert (summary["moved"], summary["balanced"]) == (1, True)
    assert manager.bodies("A") == [b"honest"]
    mqops_here("undo", summary["run"], "-m", "QM1", "--yes")
    assert manager.bodies("A") == []
    [(_md, body)] = manager.messages(DLQ)
    assert body[12:60] == dest.encode()  # to the last byte


def test_what_will_be_left_is_told_before_anybody_approves(manager, mqops_here):
    manager.put(DLQ, [dead_letter("QM2", FORGED), dead_letter("INNOCENT", FORGED), dead_letter("MQOPS.LEDGER", FORGED)])
    plan = mqops_here("dlq", "run", DLQ, "QM1", "--dry-run", text=RETRY).output
    assert "problem: QM2@QM1: it is a transmission queue: only the queue manager puts there" in plan
    assert "problem: INNOCENT@QM1: it is an alias of MQOPS.LEDGER, a protected queue" in plan
    assert "PROTECTED" in plan


@pytest.mark.parametrize("name", ['=HYPERLINK("//evil","x")', "@SUM(A1)", "+1+cmd|x", "-2", "A\nB\x1b[2J"])
def test_a_spreadsheet_takes_no_name_of_a_message_for_a_formula(manager, mqops_here, name):
    manager.put(DLQ, [dead_letter(name, b"x")])
    assert run(mqops_here)["failed"] == 1
    (row,) = csv.DictReader(io.StringIO(mqops_here("ledger", "export", "--format", "csv").stdout))
    assert row["dest_q"] == ("A\ufffdB\ufffd[2J" if name[0] == "A" else f"'{name}")
    assert json.loads(mqops_here("ledger", "export").stdout)["dest_q"] == name


@pytest.mark.parametrize(
    ("queue", "why"),
    [
        ("MQOPS.LEDGER", "holds the records of mqops"),
        ("INNOCENT", "(an alias of MQOPS.LEDGER) holds the records"),
        ("SYSTEM.MINE", "is a queue of the queue manager"),
        ("QM2", "is a transmission queue"),
    ],
)
@pytest.mark.parametrize(
    "command", [("dlq", "run", "--once"), ("backout", "run", "-m", "QM1", "--quarantine", "MQOPS.PARKED")]
)
def test_no_workflow_takes_messages_from_queues_that_are_not_for_that(manager, mqops_here, command, queue, why):
    if command[0] == "backout" and queue == "INNOCENT":
        why = "MQOPS.LEDGER holds the records"  # it takes the alias for its queue
    manager.put("REMOTE" if queue == "QM2" else queue, [({}, b"stays")])
    arguments = (queue, "QM1") if command[0] == "dlq" else (queue,)
    done = mqops_here(*command, *arguments, text="ACTION(FWD) FWDQ(REPAIR)\n", expect=1)
    assert why in done.output
    assert manager.bodies("REPAIR") == []


@pytest.mark.parametrize("form", ["MQXMIT", "MQSTR"])
@pytest.mark.parametrize("place", [("QM3", "QM2"), ("A", "QM1")])
@pytest.mark.parametrize("rules", [RETRY, "ACTION(FWD) FWDQ(REPAIR) HEADER(NO)\n"])
def test_a_transmission_header_of_the_senders_own_making_is_put_nowhere(manager, mqops_here, place, form, rules):
    """QM3 may be a transmission queue of QM2: its channel would believe the header."""
    forged = b"XQH \x01\0\0\0" + bytes(420)
    manager.put(DLQ, [dead_letter(place[0], forged, dest_q_mgr=place[1], inner=(form, 546, 1208))])
    summary = run(mqops_here, rules)
    assert (summary["moved"], summary["reasons"]) == (0, {"MQRC_FORMAT_ERROR": 1})
    assert [body[172:] for body in manager.bodies(DLQ)] == [forged]
    assert [*manager.bodies("A"), *manager.bodies("QM2"), *manager.bodies("REPAIR")] == []
