"""`mqops backout audit`: each way in which BOQNAME cannot take messages, with MQSC that mends it (P09, P11)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner
from mq_support import Manager

from mqops.backout.audit import audit
from mqops.cli import main
from mqops.mq.connection import MqConnection, connect

SOUND = """\
DEFINE QLOCAL(DLQ) REPLACE
ALTER QMGR DEADQ(DLQ)
DEFINE QLOCAL(GOOD) BOTHRESH(3) BOQNAME(GOOD.BOQ)
DEFINE QLOCAL(GOOD.BOQ)
DEFINE QLOCAL(OTHER)
"""


class Case(NamedTuple):
    """A queue IN and what stands behind its BOQNAME; what is said of it, and what mends it."""

    mqsc: str
    why: str
    mend: str


OWN = "DEFINE QLOCAL(IN.BOQ) DEFPSIST(YES), and ALTER QLOCAL(IN) BOQNAME(IN.BOQ)"
CASES = {
    "no BOQNAME": Case("BOTHRESH(2)", "no backout queue", OWN),
    "not there": Case("BOTHRESH(2) BOQNAME(BO)", "there is no such queue", "DEFINE QLOCAL(BO) DEFPSIST(YES)"),
    "another letter case": Case(
        "BOTHRESH(2) BOQNAME('other')", "there is no such queue, OTHER is there", "ALTER QLOCAL(IN) BOQNAME(OTHER)"
    ),
    "itself": Case("BOTHRESH(2) BOQNAME(IN)", "the queue names itself", OWN),
    "itself by an alias": Case(
        "BOTHRESH(2) BOQNAME(AL)\nDEFINE QALIAS(AL) TARGET(IN)", "the queue names itself by its alias AL", OWN
    ),
    "the dead-letter queue": Case("BOTHRESH(2) BOQNAME(DLQ)", "the dead-letter queue", OWN),
    "a remote queue": Case("BOTHRESH(2) BOQNAME(RQ)\nDEFINE QREMOTE(RQ) RNAME(X) RQMNAME(QM9)", "a remote queue", OWN),
    "a model queue": Case("BOTHRESH(2) BOQNAME(MQ)\nDEFINE QMODEL(MQ)", "a model queue", OWN),
    "a transmission queue": Case(
        "BOTHRESH(2) BOQNAME(XQ)\nDEFINE QLOCAL(XQ) USAGE(XMITQ)", "a transmission queue", OWN
    ),
    "an alias of an alias": Case(
        "BOTHRESH(2) BOQNAME(A2)\nDEFINE QALIAS(A2) TARGET(A1)\nDEFINE QALIAS(A1) TARGET(OTHER)",
        "an alias of the alias",
        OWN,
    ),
    "an alias of nothing": Case("BOTHRESH(2) BOQNAME(AN)\nDEFINE QALIAS(AN) TARGET(NONE)", "an alias of NONE", OWN),
    "inhibited": Case(
        "BOTHRESH(2) BOQNAME(OTHER)\nALTER QLOCAL(OTHER) PUT(DISABLED)",
        "PUT(DISABLED)",
        "ALTER QLOCAL(OTHER) PUT(ENABLED)",
    ),
    "an alias that is inhibited": Case(
        "BOTHRESH(2) BOQNAME(AI)\nDEFINE QALIAS(AI) TARGET(OTHER) PUT(DISABLED)",
        "PUT(DISABLED)",
        "ALTER QALIAS(AI) PUT(ENABLED)",
    ),
    "full": Case("BOTHRESH(2) BOQNAME(FULL)", "FULL is full (1 message of 1)", "ALTER QLOCAL(FULL) MAXDEPTH(2)"),
    "shorter messages": Case(
        "BOTHRESH(2) BOQNAME(SHORT) MAXMSGL(9000)\nDEFINE QLOCAL(SHORT) MAXMSGL(8999)",
        "SHORT takes messages of 8,999 bytes (MAXMSGL), and IN of 9,000 bytes",
        "ALTER QLOCAL(SHORT) MAXMSGL(9000)",
    ),
    "no right to put": Case(
        "BOTHRESH(2) BOQNAME(OTHER)\n"
        "SET AUTHREC PROFILE(IN) OBJTYPE(QUEUE) GROUP('daemon') AUTHADD(GET,BROWSE)\n"
        "SET AUTHREC PROFILE('OTH*') OBJTYPE(QUEUE) PRINCIPAL('daemon') AUTHADD(PUT)",
        "group daemon may get from IN and, by the authority records, may not put on OTHER",
        "SET AUTHREC PROFILE(OTHER) OBJTYPE(QUEUE) GROUP('daemon') AUTHADD(PUT,PASSALL)",
    ),
}
RING = "messages go round: IN → R1 → R2 → IN"


@pytest.fixture
def manager(queue_manager: Callable[..., Manager]) -> Manager:
    made = queue_manager(mqsc=SOUND + "DEFINE QLOCAL(FULL) MAXDEPTH(1)\n")
    made.put("FULL", [({}, b"poison")])
    return made


def audited(code: int) -> Any:
    done = CliRunner().invoke(main, ["backout", "audit", "QM1", "--json"])
    assert done.exit_code == code, done.output
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", CASES)
def test_P11_each_way_is_told_with_what_mends_it(manager, name):
    case = CASES[name]
    manager.mqsc(f"DEFINE QLOCAL(IN) {case.mqsc}\n")
    found = audited(1)
    assert [one["queue"] for one in found["wrong"]] == ["IN"]
    assert case.why in found["wrong"][0]["why"]
    assert found["wrong"][0]["mend"] == case.mend
    assert found["checked"] == ["GOOD", "IN"]
    for command in case.mend.split(", and "):
        manager.mqsc(f"{command}\n")
    assert audited(0)["wrong"] == []


def test_P11_a_ring_of_queues_is_told_for_each_of_them(manager):
    manager.mqsc("DEFINE QLOCAL(IN) BOTHRESH(2) BOQNAME(R1)\n")
    manager.mqsc("DEFINE QLOCAL(R1) BOTHRESH(2) BOQNAME(R2)\nDEFINE QLOCAL(R2) BOTHRESH(2) BOQNAME(IN)\n")
    found = audited(1)
    assert [one["queue"] for one in found["wrong"]] == ["IN", "R1", "R2"]
    assert found["wrong"][0]["why"] == RING
    for command in found["wrong"][0]["mend"].split(", and "):
        manager.mqsc(f"{command}\n")
    assert audited(0)["wrong"] == []


def test_P11_a_model_queue_and_long_messages_get_a_backout_queue_that_fits(manager):
    manager.mqsc("DEFINE QMODEL(IN) BOTHRESH(2) MAXMSGL(9000000)\n")
    (wrong,) = audited(1)["wrong"]
    assert wrong["mend"] == (
        "DEFINE QLOCAL(IN.BOQ) DEFPSIST(YES) MAXMSGL(9000000), and ALTER QMODEL(IN) BOQNAME(IN.BOQ)"
    )
    for command in wrong["mend"].split(", and "):
        manager.mqsc(f"{command}\n")
    assert audited(0)["wrong"] == []


def test_what_works_is_a_note(manager):
    manager.mqsc("DEFINE QLOCAL(IN) BOTHRESH(2) BOQNAME(AL)\nDEFINE QALIAS(AL) TARGET(OTHER)\n")
    manager.mqsc("DEFINE QLOCAL(OFF) BOQNAME(OTHER)\n")
    found = audited(0)
    assert [(one["queue"], one["mend"]) for one in found["notes"]] == [
        ("IN", "ALTER QLOCAL(IN) BOQNAME(OTHER)"),
        ("OFF", "ALTER QLOCAL(OFF) BOTHRESH(3)"),
    ]
    done = CliRunner().invoke(main, ["backout", "audit", "QM1"])
    assert done.exit_code == 0
    assert "note   OFF: BOTHRESH(0) BOQNAME(OTHER): BOTHRESH(0): poison stays on the queue" in done.output
    assert done.output.endswith("QM1: 2 queues with BOTHRESH, 0 are misconfigured\n")


def test_of_a_backout_queue_that_may_not_be_inquired_nothing_is_said(manager):
    manager.mqsc(
        "DEFINE QLOCAL(IN) BOTHRESH(2) BOQNAME(OTHER)\nDEFINE QLOCAL(IN2) BOTHRESH(2) BOQNAME(NONE)\n"
        "SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('app') AUTHADD(CONNECT,INQ,DSP)\n"
        "SET AUTHREC PROFILE('SYSTEM.**') OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(ALL)\n"
        "SET AUTHREC PROFILE('IN*') OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(INQ,DSP)\n"
    )
    manager.mqlite("user", "add", "QM1", "app", text="secret\n")
    app = MqConnection(queue_manager="QM1", environment=manager.environment, user="app", password="secret")
    with connect(app) as session:
        found = audit(session)
    assert [one.queue for one in found.wrong] == ["IN2"]
    assert "OTHER" in found.unseen
