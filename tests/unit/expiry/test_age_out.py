"""Discarding by age (E15): what is too old goes with the report that was asked for, or it does not go."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from click.testing import CliRunner, Result
from mq_support import DLQ, Manager
from pymqi import CMQC

from mqops.cli import main
from mqops.expiry.core.age_out import too_old
from mqwire.structures import MQDLH

MQSC = """\
DEFINE QLOCAL(A) MAXDEPTH(9999)
DEFINE QLOCAL(B)
DEFINE QLOCAL(REPORTS)
DEFINE QLOCAL(CLOSED) PUT(DISABLED)
DEFINE QLOCAL(QM2) USAGE(XMITQ)
DEFINE QLOCAL(PRIVATE)
DEFINE QALIAS(INNOCENT) TARGET(MQOPS.LEDGER)
SET AUTHREC PROFILE(REPORTS) OBJTYPE(QUEUE) PRINCIPAL('clerk') AUTHADD(PUT)
SET AUTHREC PROFILE(CLOSED) OBJTYPE(QUEUE) PRINCIPAL('clerk') AUTHADD(PUT)
"""
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
OLD = {"PutDate": "20200101", "PutTime": "12000000", "PutApplName": "test", "UserIdentifier": "clerk"}
FULL = CMQC.MQRO_EXPIRATION_WITH_FULL_DATA


@pytest.fixture
def age_out(manager: Manager, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("MQOPS_CONNECTION", manager.connection.to_json())
    monkeypatch.setenv("MQOPS_LAKE", str(tmp_path / "lake"))

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(
            main,
            ["expiry", "age-out", *arguments, "--older-than", "1d", "--yes"],
        )

    return run


def put_old(manager: Manager, queue: str, *messages: tuple[dict[str, Any], bytes]) -> list[bytes]:
    context = CMQC.MQOO_SET_ALL_CONTEXT
    return manager.put(queue, [({**OLD, **fields}, body) for fields, body in messages], options=context)


def of_result(result: Result, *, exit_code: int = 0) -> dict[str, Any]:
    assert result.exit_code == exit_code, result.output
    return dict(json.loads(result.stdout))


def reports(manager: Manager) -> list[tuple[dict[str, Any], bytes]]:
    found = manager.messages("REPORTS")
    assert {md["Feedback"] for md, _body in found} <= {CMQC.MQFB_EXPIRATION}
    assert {md["MsgType"] for md, _body in found} <= {CMQC.MQMT_REPORT}
    return found


@pytest.mark.parametrize(
    ("put_date", "put_time", "old"),
    [
        ("20260228", "12000000", True),  # as old as the limit
        ("20260228", "12000001", False),  # a hundredth of a second younger
        ("20260301", "12000000", False),
        ("20270101", "00000000", False),  # put in the future
        ("", "", False),  # no date: no age
        ("20261399", "12000000", False),
    ],
)
def test_E15_age_is_counted_from_the_put_date_and_time(put_date, put_time, old):
    assert too_old(put_date, put_time, now=NOW, limit=DAY) is old


@pytest.mark.parametrize(
    ("option", "length"),
    [
        (CMQC.MQRO_EXPIRATION, 0),
        (CMQC.MQRO_EXPIRATION_WITH_DATA, 100),
        (FULL, 300),
    ],
)
def test_E15_who_asked_for_a_report_gets_it_with_the_data_asked_for(manager, age_out, option, length):
    body = b"0123456789" * 30
    [msg_id] = put_old(manager, "A", ({"Report": option, "ReplyToQ": "REPORTS", "Format": "MQSTR"}, body))
    summary = of_result(age_out("A", "--json"))
    assert (summary["planned"], summary["discarded"], summary["balanced"]) == (1, 1, True)
    assert manager.bodies("A") == []
    [(md, data)] = reports(manager)
    assert (md["CorrelId"], md["Format"].strip(), data) == (msg_id, b"MQSTR", body[:length])
    assert md["UserIdentifier"].strip() == b"clerk"


def test_E15_only_what_is_too_old_goes_and_only_who_asked_gets_a_report(manager, age_out):
    asks = {"Report": FULL, "ReplyToQ": "REPORTS"}
    for number in range(60):
        put_old(manager, "A", (asks if number % 2 else {}, b"old %d" % number))
    manager.put("A", [(asks, b"young")])
    put_old(manager, "B", (asks, b"old of B"))
    summary = of_result(age_out("A", "B", "--json", "--unit-size", "7"))
    counts = {name: summary[name] for name in ("planned", "discarded", "left", "gone", "moved")}
    assert counts == {"planned": 62, "discarded": 61, "left": 1, "gone": 0, "moved": 0}
    assert (manager.bodies("A"), manager.bodies("B")) == ([b"young"], [])
    wanted = [b"old of B"] + [b"old %d" % number for number in range(60) if number % 2]
    assert sorted(body for _md, body in reports(manager)) == sorted(wanted)


@pytest.mark.parametrize("attribute", ["GET", "PUT"])
def test_a_dry_run_makes_the_preflight(manager: Manager, age_out: Any, attribute: str) -> None:
    put_old(manager, "A", ({}, b"x"))
    manager.mqsc(f"ALTER QLOCAL(MQOPS.LEDGER) {attribute}(DISABLED)")
    found = of_result(age_out("A", "--dry-run", "--json"))["preflight"]["findings"]
    assert [(one["destination"], one["what"]) for one in found] == [
        ("MQOPS.LEDGER", f"{attribute}(DISABLED): no run can begin")
    ]


def test_E15_a_dry_run_discards_and_reports_nothing(manager, age_out):
    put_old(manager, "A", ({"Report": FULL, "ReplyToQ": "REPORTS"}, b"old"))
    result = age_out("A", "--dry-run")
    assert result.exit_code == 0, result.output
    assert "EXPIRE" in result.output
    assert "dry run: nothing was moved" in result.output
    assert (manager.bodies("A"), reports(manager)) == ([b"old"], [])


def test_E15_a_report_that_cannot_be_sent_is_dead_lettered_if_it_is_persistent(manager, age_out):
    asks = {"Report": FULL, "ReplyToQ": "CLOSED"}
    put_old(manager, "A", ({**asks, "Persistence": 1}, b"persistent"), ({**asks, "Persistence": 0}, b"not"))
    assert of_result(age_out("A", "--json"))["discarded"] == 2
    [(md, dead)] = manager.messages(DLQ)
    header, body = MQDLH.unpack(dead, encoding=md["Encoding"], ccsid=md["CodedCharSetId"]), dead[172:]
    assert (header.reason, header.dest_q_name) == (CMQC.MQRC_PUT_INHIBITED, "CLOSED")
    assert (md["Feedback"], body) == (CMQC.MQFB_EXPIRATION, b"persistent")


@pytest.mark.parametrize(
    "queue",
    [
        "PRIVATE",  # the clerk may not put there
        "MQOPS.LEDGER",
        "INNOCENT",
        "SYSTEM.ADMIN.COMMAND.QUEUE",
        "QM2",  # a transmission queue: what stands there is sent as it is
    ],
)
def test_E15_no_report_goes_where_the_putter_may_not_put(manager, age_out, queue):
    right = "INQ" if queue == "PRIVATE" else "PUT"
    manager.mqsc(f"SET AUTHREC PROFILE({queue}) OBJTYPE(QUEUE) PRINCIPAL('clerk') AUTHADD({right})")
    asks = {"Report": FULL | CMQC.MQRO_PASS_CORREL_ID, "CorrelId": b"C" * 24, "ReplyToQ": queue, "Persistence": 1}
    put_old(manager, "A", (asks, b"forged"))
    assert of_result(age_out("A", "--json"))["discarded"] == 1
    assert b"forged" not in manager.bodies("MQOPS.LEDGER" if queue == "INNOCENT" else queue)
    [(md, dead)] = manager.messages(DLQ)
    header = MQDLH.unpack(dead, encoding=md["Encoding"], ccsid=md["CodedCharSetId"])
    assert (header.reason, header.dest_q_name) == (CMQC.MQRC_NOT_AUTHORIZED, queue)


@pytest.mark.parametrize(
    ("names", "dead"),
    [
        ({"ReplyToQ": "REPORTS", "ReplyToQMgr": b"\xff" * 48}, (b"REPORTS".ljust(48), b"\xff" * 48)),
        ({"ReplyToQ": b"\xff" * 48}, (b"\xff" * 48, b"QM1".ljust(48))),
        ({"ReplyToQ": "J\u00f6rg"}, ("J\u00f6rg".encode().ljust(48), b"QM1".ljust(48))),
        ({"ReplyToQ": b"REPORTS\0\xff", "ReplyToQMgr": b"QM1\0" + b"\xfe" * 44}, None),
    ],
)
def test_E15_names_that_are_no_names_stop_nobody_else(manager, age_out, names, dead):
    """They stand in the MQDLH byte for byte, and the dead letter can be read again."""
    asks = {"Report": FULL, "Persistence": 1, **names}
    put_old(manager, "A", ({}, b"before"), (asks, b"odd"), ({}, b"after"))
    assert of_result(age_out("A", "--json"))["discarded"] == 3
    assert manager.bodies("A") == []
    if dead is None:
        assert manager.bodies("REPORTS") == [b"odd"]
        return
    [(md, found)] = manager.messages(DLQ)
    assert (found[12:60], found[60:108], found[172:]) == (*dead, b"odd")
    MQDLH.unpack(found, encoding=md["Encoding"], ccsid=md["CodedCharSetId"])


def test_E15_no_message_with_odd_fields_stops_its_queue(manager, age_out):
    """MQOPS_REPORT_FUZZ raises the number of messages that ask for reports, one field or more of theirs at random."""
    number, chance = int(os.environ.get("MQOPS_REPORT_FUZZ", "60")), Random(18)
    put_old(manager, "A", *(fuzzed(chance) for _ in range(number)), ({}, b"good"))
    done = age_out("A", "--json", "--unit-size", "10")
    summary = of_result(done)
    assert (summary["planned"], summary["balanced"]) == (number + 1, True)
    assert summary["discarded"] + summary["left"] == number + 1
    assert summary["left"] == sum(summary["reasons"].values())
    assert b"good" not in manager.bodies("A")
    for md, body in manager.messages(DLQ):
        MQDLH.unpack(body, encoding=md["Encoding"], ccsid=md["CodedCharSetId"])


def fuzzed(chance: Random) -> tuple[dict[str, Any], bytes]:
    """An old message that asks for a report, in which the putter has chosen anything it may."""
    names = (b"", b"REPORTS", b"CLOSED", b"GONE", b"QM1", b"\xff" * 48, "J\u00f6rg".encode(), b"REPORTS\0\xff")
    fields: dict[str, Any] = {"Report": FULL, "ReplyToQ": "REPORTS", "Persistence": 1}
    odd: dict[str, Any] = {
        "ReplyToQ": chance.choice((*names[1:], b"R" + chance.randbytes(47))),
        "ReplyToQMgr": chance.choice((*names, chance.randbytes(48))),
        "UserIdentifier": chance.choice((b"", b"clerk\0\xff", b"\xff" * 12, chance.randbytes(12))),
        "Format": chance.choice((b"MQDEAD", b"MQXMIT", b"MQHRF2", b"\xff" * 8, chance.randbytes(8))),
        "Encoding": chance.choice((0, -1, 273, 2**31 - 1, -(2**31))),
        "CodedCharSetId": chance.choice((0, -1, -2, 500, 1200, 2**31 - 1)),
        "Report": FULL | chance.choice((CMQC.MQRO_PASS_MSG_ID, CMQC.MQRO_PASS_CORREL_ID, CMQC.MQRO_DISCARD_MSG)),
        "Persistence": 0,
    }
    fields |= {name: odd[name] for name in chance.sample(sorted(odd), chance.randint(1, 4))}
    return fields, chance.choice((b"", b"text", b"DLH ", b"XQH " + b"\xff" * 600, chance.randbytes(300)))


def test_E15_without_its_report_a_message_is_not_discarded(manager, age_out):
    """The DEADQ takes nothing either: the message stays, the others go."""
    manager.mqsc(f"ALTER QLOCAL({DLQ}) PUT(DISABLED)")
    put_old(manager, "A", ({}, b"one"), ({"Report": FULL, "ReplyToQ": "CLOSED"}, b"stays"), ({}, b"two"))
    summary = of_result(age_out("A", "--json"), exit_code=1)
    assert (summary["discarded"], summary["left"], summary["failed"]) == (2, 1, 1)
    assert summary["reasons"] == {"MQRC_PUT_INHIBITED": 1}
    assert manager.bodies("A") == [b"stays"]


def test_E15_what_was_discarded_by_age_can_be_undone(manager, age_out):
    put_old(manager, "A", ({}, b"first"), ({}, b"second"))
    run = of_result(age_out("A", "--json"))["run"]
    assert manager.bodies("A") == []
    undone = CliRunner().invoke(main, ["undo", run, "--queue-manager", "QM1"], input="y\n")
    assert undone.exit_code == 0, undone.output
    assert manager.bodies("A") == [b"first", b"second"]


@pytest.mark.parametrize(
    ("queue", "why"),
    [
        ("QM2", "QM2 is a transmission queue: no workflow takes the messages of a channel"),
        (
            "SYSTEM.DEFAULT.LOCAL.QUEUE",
            "SYSTEM.DEFAULT.LOCAL.QUEUE: messages of SYSTEM.* and MQOPS.* queues are not discarded by age",
        ),
    ],
)
def test_E15_queues_that_are_refused(age_out, queue, why):
    result = age_out(queue)
    assert (result.exit_code, result.output.strip()) == (1, f"mqops: {why}")


def test_E15_an_age_that_is_none(age_out):
    result = CliRunner().invoke(main, ["expiry", "age-out", "A", "--older-than", "soon"])
    assert result.exit_code == 2
    assert "must be a time such as 90s, 30m, 8h or 2d (found 'soon')" in result.output


def test_E15_a_pattern_means_the_queues_with_messages_that_wait_for_no_person(manager, age_out):
    manager.mqsc(
        "DEFINE QLOCAL(PAY.ONE)\nDEFINE QLOCAL(PAY.TWO) BOTHRESH(3) BOQNAME(PAY.BACK)\nDEFINE QLOCAL(PAY.BACK)\n"
        "DEFINE QLOCAL(PAY.SHUT)\nDEFINE QLOCAL(PAY.XMIT) USAGE(XMITQ)\nDEFINE QLOCAL(PAY.EMPTY)\n"
        "DEFINE QLOCAL(OTHER)\nDEFINE QLOCAL(PAY.DLQ)\nALTER QMGR DEADQ(PAY.DLQ)\n"
    )
    for queue in ("PAY.ONE", "PAY.TWO", "PAY.BACK", "PAY.SHUT", "PAY.DLQ", "OTHER"):
        put_old(manager, queue, ({}, b"old"))
    manager.put("PAY.ONE", [({}, b"new")])
    manager.mqsc("ALTER QLOCAL(PAY.SHUT) GET(DISABLED)\n")
    done = age_out("PAY.*", "-m", "QM1", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["discarded"] == 2
    left = {queue: manager.depth(queue) for queue in ("PAY.ONE", "PAY.TWO", "PAY.BACK", "PAY.SHUT", "PAY.DLQ", "OTHER")}
    assert left == {"PAY.ONE": 1, "PAY.TWO": 0, "PAY.BACK": 1, "PAY.SHUT": 1, "PAY.DLQ": 1, "OTHER": 1}
    assert "wait there for a person: PAY.BACK, PAY.DLQ, PAY.SHUT. To age them out, name them" in done.stderr

    assert age_out("PAY.B*", "PAY.BACK", "-m", "QM1").exit_code == 0  # named
    assert manager.depth("PAY.BACK") == 0
    nothing = age_out("NONE*", "-m", "QM1")
    assert (nothing.exit_code, nothing.stdout) == (0, "nothing to do: no queue that is meant has messages\n")


def test_E15_a_queue_that_a_pattern_means_and_nobody_may_see_is_named(manager, age_out, monkeypatch):
    manager.mqsc(
        "DEFINE QLOCAL(PAY.ONE)\nDEFINE QLOCAL(PAY.SECRET)\n"
        "SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('app') AUTHADD(CONNECT,INQ,DSP)\n"
        "SET AUTHREC PROFILE('SYSTEM.**') OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(ALL)\n"
        "SET AUTHREC PROFILE('MQOPS.**') OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(ALL)\n"
        "SET AUTHREC PROFILE(PAY.ONE) OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(ALL)\n"
    )
    manager.mqlite("user", "add", "QM1", "app", text="secret\n")
    put_old(manager, "PAY.ONE", ({}, b"old"))
    monkeypatch.setenv("MQOPS_CONNECTION", replace(manager.connection, user="app", password="secret").to_json())
    for what, number in (("PAY.*", 1), ("PAY.*", 0)):
        done = age_out(what, "-m", "QM1", "--json")
        said = json.loads(done.stdout)
        assert (done.exit_code, said.get("discarded", 0)) == (1, number)
        assert "PAY.SECRET" in done.stdout
    assert "PAY.SECRET" in age_out("PAY.*", "-m", "QM1").stdout
