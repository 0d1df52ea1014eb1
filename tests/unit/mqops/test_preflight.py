"""The pre-flight of a plan: every rule as a row, and every problem as a queue manager really has it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pymqi
import pytest
from ledger_opened import act_undo as undo
from ledger_opened import prove
from mq_support import DLQ, dead_letter
from pymqi import CMQC

from mqops.decide.core.preflight import (
    Channel,
    Demand,
    Finding,
    Inquired,
    LocalQueue,
    Looked,
    Preflight,
    judge,
    same_said,
    shown,
)
from mqops.decide.core.staying import Short, Staying, stay_of, staying
from mqops.decide.destination import DestinationInquiry
from mqops.decide.preflight import preflight
from mqops.decide.preflight_record import PREFLIGHT
from mqops.deciders.dead_letters import DEAD_LETTERS, DeadLetterRequest
from mqops.deciders.run import carry_out, plan_run
from mqops.errors import PlanChanged
from mqops.lake.files import read_json
from mqops.lake.run import RunFolder
from mqops.lake.run_file import Checked
from mqops.model import Destination
from mqops.mq.connection import connect
from mqops.mq.session import Session
from mqops.rules import parse
from mqops.undo.in_process import plan_undo

DEMAND = Demand(queue="A", messages=10, bytes=1000, longest=200)
QUEUE = LocalQueue(name="A", depth=5, max_depth=100, max_msg_length=5000, open_input=1)
XMIT = LocalQueue(name="QM2", depth=0, max_depth=100, max_msg_length=5000, transmission=True)


def here(**changes: object) -> Inquired:
    """A local destination in order, but for these attributes of its queue."""
    return Inquired(queue=replace(QUEUE, **changes))


def sent(*states: str, **changes: object) -> Inquired:
    """A destination behind a transmission queue that channels in these states serve."""
    channels = tuple(Channel(name=f"C{number}", state=state) for number, state in enumerate(states))
    return replace(Inquired(queue=XMIT, remote="A@QM2", channels=channels), **changes)


@pytest.mark.parametrize(
    ("there", "expected"),
    [
        (here(), []),
        (Inquired(refused=(("MQOPEN fails", "Define it"),)), ["problem: A: MQOPEN fails. Define it"]),
        # what is refused need not be inquired
        (Inquired(refused=(("MQOPEN fails", ""),), unknown="gone"), ["problem: A: MQOPEN fails"]),
        (Inquired(unknown="2035"), ["unknown: A: it cannot be inquired: 2035"]),
        (replace(here(), untried=3), ["unknown: A: not known: whether 3 more users may put"]),
        (Inquired(model=True), ["problem: A: it is a model queue. Name a queue that can hold messages"]),
        (here(put_allowed=False), ["problem: A: PUT(DISABLED). ALTER QLOCAL(A) PUT(ENABLED)"]),
        (
            replace(here(), inhibited=("QALIAS(A)",)),
            ["problem: A: QALIAS(A) has PUT(DISABLED). ALTER QALIAS(A) PUT(ENABLED)"],
        ),
        (here(depth=90), []),  # just room
        (
            here(depth=91),
            [
                "problem: A: room for 9 of 10 messages (CURDEPTH 91, MAXDEPTH 100). "
                "Raise MAXDEPTH: ALTER QLOCAL(A) MAXDEPTH(200), or let it be emptied; what finds no room stays"
            ],
        ),
        (
            here(depth=100, max_depth=4),  # more than twice MAXDEPTH is needed
            [
                "problem: A: room for 0 of 10 messages (CURDEPTH 100, MAXDEPTH 4). "
                "Raise MAXDEPTH: ALTER QLOCAL(A) MAXDEPTH(110), or let it be emptied; what finds no room stays"
            ],
        ),
        (here(depth=101), ["problem: A: room for 0 of 10 messages"]),  # MAXDEPTH was lowered below CURDEPTH
        (here(max_msg_length=200), []),
        (
            here(max_msg_length=199),
            ["problem: A: the longest message has 200 bytes, MAXMSGL is 199. Raise MAXMSGL to 200;"],
        ),
        (here(open_input=0), ["warning: A: no program has it open for input. Check that the application runs"]),
        (here(open_input=0, name="B"), ["warning: A: B: no program has it open for input"]),  # A is an alias of B
        (here(transmission=True), ["problem: A: it is a transmission queue"]),
        (sent("RUNNING"), []),
        (sent("STOPPED", "RUNNING"), []),  # one that runs is enough
        (sent("RETRYING"), ["problem: A: channel C0 behind QM2 is RETRYING: the messages wait there for it"]),
        (sent("STOPPED", "INACTIVE"), ["warning: A: channel C1 behind QM2 is INACTIVE"]),
        (
            sent("STOPPED", channels=(Channel(name="to.qm2", state="STOPPED"),)),  # MQSC would fold its letters
            [
                "problem: A: channel to.qm2 behind QM2 is STOPPED: the messages wait there for it. "
                "START CHANNEL('to.qm2'), or see why it does not run"
            ],
        ),
        (sent("NEW.STATE"), ["warning: A: channel C0 behind QM2 is NEW.STATE"]),
        (sent(), ["problem: A: no channel has XMITQ(QM2), and no program has it open for input"]),
        (sent(queue=replace(XMIT, open_input=1)), []),  # a program of one's own empties it
        (sent(channels_unknown="2035"), ["warning: A: the channel behind QM2 is not known: 2035"]),
        (sent("RUNNING", queue=replace(XMIT, max_msg_length=4200)), []),
        (
            sent("RUNNING", queue=replace(XMIT, max_msg_length=4199)),
            [
                "problem: A: QM2: the longest message has 200 bytes, MAXMSGL is 4,199 "
                "(4000 of them for the transmission header). Raise MAXMSGL to 4200;"
            ],
        ),
        (
            sent("RUNNING", queue=replace(XMIT, put_allowed=False)),
            ["problem: A: QM2: PUT(DISABLED). ALTER QLOCAL(QM2)"],
        ),
    ],
)
def test_findings_of_one_destination(there: Inquired, expected: list[str]) -> None:
    found = [str(one) for one in judge([Looked(demand=DEMAND, there=there)])]
    assert len(found) == len(expected), found
    assert all(line.startswith(start) for line, start in zip(found, expected, strict=True)), found


@pytest.mark.parametrize(
    ("there", "expected"),
    [
        (Inquired(unknown="2035"), "unknown: A: it cannot be inquired: 2035"),
        (sent(channels_unknown="2035"), "warning: A: the channel behind QM2 is not known: 2035"),
    ],
)
def test_a_finding_without_a_remedy_ends_with_what_was_found(there: Inquired, expected: str) -> None:
    assert [str(one) for one in judge([Looked(demand=DEMAND, there=there)])] == [expected]


def test_room_is_needed_for_all_names_of_a_queue_and_the_worst_comes_first() -> None:
    there = here(depth=75, open_input=0)
    looked = [Looked(demand=replace(DEMAND, queue=name), there=there) for name in ("A", "ALIAS", "OTHER")]
    found = judge(looked)
    assert [one.severity for one in found] == ["problem", "warning", "warning", "warning"]
    assert found[0].destination == "A, ALIAS, OTHER"
    assert "room for 25 of 30 messages" in found[0].what
    more = judge([*looked, Looked(demand=replace(DEMAND, queue="ONE.MORE"), there=there)])
    assert more[0].destination == "A, ALIAS, OTHER, ..."
    back = replace(DEMAND, put_back=True)
    # What is put back there came from there.
    assert not judge([Looked(demand=back, there=here(depth=100))], taken_from=["A"])


def test_what_is_said_of_several_destinations_stands_once() -> None:
    looked = [Looked(demand=replace(DEMAND, queue=name), there=here(open_input=0, name=name)) for name in ("A", "B")]
    why = ("warning", "no program has it open for input", "Check that the application runs")
    assert same_said(judge(looked)) == {why: ["A", "B"]}


def test_thirty_findings_are_shown_and_the_others_counted() -> None:
    found = [Finding(severity="warning", destination=f"Q{number}", what="x") for number in range(32)]
    lines = [f"warning: Q{number}: x" for number in range(32)]
    assert shown(found[:2]) == lines[:2]
    assert shown(found[:30]) == lines[:30]
    assert shown(found[:31]) == [*lines[:30], "1 more finding"]
    assert shown(found) == [*lines[:30], "2 more findings"]


def test_names_that_came_with_messages_are_one_printable_line() -> None:
    (finding,) = judge([Looked(demand=replace(DEMAND, queue="A\nB\x1b[2J"), there=Inquired(unknown="x"))])
    assert str(finding) == "unknown: A\ufffdB\ufffd[2J: it cannot be inquired: x"
    assert replace(DEMAND, queue="", queue_manager="QM1").name == "(blank)@QM1"


def test_a_preflight_is_kept_as_it_is() -> None:
    looked = tuple(
        Looked(demand=DEMAND, there=there)
        for there in (sent("STOPPED"), here(), Inquired(refused=(("no", "do"),), inhibited=("QALIAS(A)",)))
    )
    found = Preflight(
        plan="d", checked_at="now", destinations=1, findings=judge(looked[:1]), looked=looked, taken_from=("A",)
    )
    assert Checked(Preflight).of(json.loads(json.dumps(found.to_json())), Path("preflight.json")) == found
    assert [one.severity for one in found.doubts] == ["problem"]


def test_the_first_groups_get_the_room_of_a_queue() -> None:
    a, alias, shut, other = (Destination(name, "QM1") for name in ("A", "ALIAS", "SHUT", "OTHER"))
    short = Short(queue="A", names=frozenset({a, alias}), room=7, messages=10)
    found = Staying(messages=5, refused={shut: "PUT(DISABLED)"}, short=(short,))
    assert stay_of(found, [(a, 5), (shut, 2), (other, 9), (alias, 4), (a, 1)]) == [0, 2, 0, 2, 1]


MQSC = """\
DEFINE QLOCAL(A)
DEFINE QLOCAL(SHUT) PUT(DISABLED)
DEFINE QLOCAL(SMALL) MAXDEPTH(1)
DEFINE QLOCAL(SHORT) MAXMSGL(3)
DEFINE QALIAS(ALIAS) TARGET(SHUT)
DEFINE QALIAS(ALIAS.SHUT) TARGET(A) PUT(DISABLED)
DEFINE QALIAS('alias.shut') TARGET(A) PUT(DISABLED)
DEFINE QALIAS(DANGLING) TARGET(NOWHERE)
DEFINE QMODEL(MODEL) DEFTYPE(PERMDYN)
DEFINE QLOCAL(QM2) USAGE(XMITQ)
DEFINE QLOCAL(QM3) USAGE(XMITQ) MAXDEPTH(1)
DEFINE QLOCAL(XQ) USAGE(XMITQ) PUT(DISABLED)
DEFINE CHANNEL(QM1.QM2) CHLTYPE(SDR) CONNAME('localhost(1)') XMITQ(QM2)
DEFINE CHANNEL(QM1.QM3) CHLTYPE(SDR) CONNAME('localhost(1)') XMITQ(QM3)
DEFINE QREMOTE(REMOTE) RNAME(A) RQMNAME(QM2)
DEFINE QREMOTE(REMOTE.SHUT) RNAME(A) RQMNAME(QM2) PUT(DISABLED)
DEFINE QREMOTE(REMOTE.XQ) RNAME(A) RQMNAME(FAR) XMITQ(XQ)
DEFINE QREMOTE(LOST) RNAME(A) RQMNAME(NO.SUCH.QM)
DEFINE QREMOTE(QMALIAS) RNAME(' ') RQMNAME(QM2)
DEFINE QREMOTE(QMALIAS.SHUT) RNAME(' ') RQMNAME(QM2) PUT(DISABLED)
DEFINE QREMOTE('qmalias') RNAME(' ') RQMNAME(QM2) PUT(DISABLED)
DEFINE QREMOTE(MYSELF) RNAME(' ') RQMNAME(QM1)
STOP CHANNEL(QM1.QM2)
"""
IDLE = "no program has it open for input"
STOPPED = "problem: channel QM1.QM2 behind QM2 is STOPPED: the messages wait there for it"


@pytest.fixture
def manager(queue_manager):
    return queue_manager(mqsc=MQSC)


@pytest.fixture
def planned(manager, tmp_path):
    """Plans a pass with a rules table; returns run, plan and pre-flight."""

    def plan(text: str = "ACTION(RETRY)", *, queue: str = "", **changes):
        connection = replace(manager.connection, **changes)
        what = DeadLetterRequest(connection=connection, lake=tmp_path, table=parse(text).table, text=text, queue=queue)
        run, made = plan_run(DEAD_LETTERS, what)
        found = PREFLIGHT.find(run)
        assert found is not None
        assert found.plan == made.digest
        return what, run, made, found

    return plan


@pytest.mark.parametrize(
    ("dest_q", "dest_q_mgr", "expected"),
    [
        ("A", "QM1", [f"warning: {IDLE}"]),
        ("GONE", "QM1", ["problem: MQOPEN for puts fails: MQRC_UNKNOWN_OBJECT_NAME (2085)"]),
        ("SHUT", "QM1", ["problem: PUT(DISABLED)", f"warning: {IDLE}"]),
        ("SMALL", "QM1", ["problem: room for 1 of 2 messages (CURDEPTH 0, MAXDEPTH 1)", f"warning: {IDLE}"]),
        ("SHORT", "QM1", ["problem: the longest message has 4 bytes, MAXMSGL is 3", f"warning: {IDLE}"]),
        ("ALIAS", "QM1", ["problem: SHUT: PUT(DISABLED)", f"warning: SHUT: {IDLE}"]),
        ("ALIAS.SHUT", "QM1", ["problem: QALIAS(ALIAS.SHUT) has PUT(DISABLED)", f"warning: A: {IDLE}"]),
        # MQSC would fold its letters
        ("alias.shut", "QM1", ["problem: QALIAS('alias.shut') has PUT(DISABLED)", f"warning: A: {IDLE}"]),
        ("DANGLING", "QM1", ["problem: MQOPEN for puts fails: MQRC_UNKNOWN_ALIAS_BASE_Q (2082)"]),
        ("MODEL", "QM1", ["problem: it is a model queue"]),
        ("QM2", "QM1", ["problem: it is a transmission queue"]),
        ("A", "QM2", [STOPPED]),  # a transmission queue of the queue manager's name
        ("A", "QMALIAS", [STOPPED]),
        ("A", "QMALIAS.SHUT", ["problem: QREMOTE(QMALIAS.SHUT) has PUT(DISABLED)", STOPPED]),
        ("A", "qmalias", ["problem: QREMOTE('qmalias') has PUT(DISABLED)", STOPPED]),
        ("A", "MYSELF", [f"warning: {IDLE}"]),
        ("REMOTE", "QM1", [STOPPED]),
        ("REMOTE.SHUT", "QM1", ["problem: QREMOTE(REMOTE.SHUT) has PUT(DISABLED)", STOPPED]),
        (
            "A",
            "QM3",
            [
                "problem: QM3: room for 1 of 2 messages (CURDEPTH 0, MAXDEPTH 1)",
                "warning: channel QM1.QM3 behind QM3 is INACTIVE: the messages wait there for it",
            ],
        ),
        (
            "REMOTE.XQ",
            "QM1",
            ["problem: XQ: PUT(DISABLED)", "problem: no channel has XMITQ(XQ), and no program has it open for input"],
        ),
        ("LOST", "QM1", ["problem: MQOPEN for puts fails: MQRC_UNKNOWN_REMOTE_Q_MGR (2087)"]),
        ("A", "NO.SUCH.QM", ["problem: MQOPEN for puts fails: MQRC_UNKNOWN_REMOTE_Q_MGR (2087)"]),
    ],
)
def test_every_problem_on_a_queue_manager(manager, planned, dest_q, dest_q_mgr, expected):
    manager.put(
        DLQ, [dead_letter(dest_q, b"1234", dest_q_mgr=dest_q_mgr), dead_letter(dest_q, b"1", dest_q_mgr=dest_q_mgr)]
    )
    what, run, plan, found = planned()
    assert {one.destination for one in found.findings} == {f"{dest_q}@{dest_q_mgr}"}
    lines = [f"{one.severity}: {one.what}" for one in found.findings]
    assert len(lines) == len(expected), lines
    assert all(line.startswith(start) for line, start in zip(lines, expected, strict=True)), lines
    assert manager.depth(DLQ) == 2
    stays = staying(found, found.plan).messages
    summary = carry_out(DEAD_LETTERS, what, run, plan)
    too_long = dest_q == "SHORT"  # which messages these are is not known
    assert (stays, summary.left) == ((0, 1) if too_long else (2 - summary.moved, 2 - summary.moved))


@pytest.mark.parametrize("name", ["`mqops stop QM1`\u03a9", "ALTER QLOCAL(A) GET(DISABLED) \u03a9"])
def test_a_name_that_a_message_carries_is_nothing_to_do(manager, name):
    """A page offers the commands in a remedy for copying."""
    with connect(manager.connection) as session:
        there = DestinationInquiry(session).look(Demand(queue=name, messages=1, bytes=1, longest=1))
    (found,) = judge([Looked(demand=Demand(queue=name, messages=1, bytes=1, longest=1), there=there)])
    assert found.what.startswith("MQOPEN for puts fails: MQRC_OBJECT_NAME_ERROR (2152): ObjectName ")
    assert found.remedy == ""
    sent_on = sent(queue=XMIT, remote=f"{name}@QM2")
    (found,) = judge([Looked(demand=DEMAND, there=sent_on)])
    assert (name in found.what, found.remedy) == (True, "Define a channel with XMITQ(QM2) to its queue manager")


def test_the_default_transmission_queue_is_followed(manager, planned):
    manager.mqsc("ALTER QMGR DEFXMITQ(QM2)\n")
    manager.put(DLQ, [dead_letter("A", b"x", dest_q_mgr="FAR")])
    assert [f"{one.severity}: {one.what}" for one in planned()[3].findings] == [STOPPED]


def test_whether_the_queue_behind_many_names_is_storage_is_asked_once(manager, monkeypatch):
    opened = []

    def counted(name: str, *given: int, **more: str) -> int:
        opened.append(name)
        return Session.open(session, name, *given, **more)

    with connect(manager.connection) as session:
        monkeypatch.setattr(session, "open", counted)
        inquiry = DestinationInquiry(session)
        inquiry.inquired(replace(DEMAND, queue_manager="QM2"))
        opened.clear()
        inquiry.followed(replace(DEMAND, queue="B", queue_manager="QM2"))
        followed = len(opened)
        assert inquiry.inquired(replace(DEMAND, queue="C", queue_manager="QM2")).leads_to == "QM2 for C@QM2"
    assert len(opened) == 2 * followed


def test_an_open_queue_with_room_has_no_findings_and_the_pass_agrees(manager, planned):
    manager.put(DLQ, [dead_letter("A", b"x")])
    with manager.connected() as reader:
        handle = pymqi.Queue(reader, "A", CMQC.MQOO_INPUT_SHARED)
        what, run, plan, found = planned()
        handle.close()
    assert (found.findings, found.remarks, found.destinations) == ((), (), 1)
    assert carry_out(DEAD_LETTERS, what, run, plan).moved == 1


def test_a_model_queue_gets_nothing_and_no_queue_is_made_of_it(manager, planned):
    manager.put(DLQ, [dead_letter("MODEL", b"x", Persistence=0)])
    what, run, plan, found = planned()
    assert [one.what for one in found.doubts] == ["it is a model queue"]
    summary = carry_out(DEAD_LETTERS, what, run, plan)
    assert (summary.moved, summary.left) == (0, 1)
    assert summary.reasons == {"MQRC_DYNAMIC_Q_NAME_ERROR": 1}
    assert "AMQ." not in manager.mqlite("mqsc", "QM1", text="DISPLAY QLOCAL(*)\n")


def test_the_length_is_that_of_what_is_put(manager, planned):
    manager.put(DLQ, [dead_letter("A", b"123")])
    assert not planned("ACTION(FWD) FWDQ(SHORT) HEADER(NO)")[3].doubts
    (finding,) = planned("ACTION(FWD) FWDQ(SHORT) HEADER(YES)")[3].doubts
    assert "the longest message has 175 bytes" in finding.what


def test_an_MQDLH_with_reason_0_is_one(manager, planned):
    manager.put(DLQ, [dead_letter("SHORT", b"123", reason=0)])
    assert not planned()[3].doubts
    (finding,) = planned("ACTION(FWD) FWDQ(SHORT) HEADER(YES)")[3].doubts
    assert "the longest message has 175 bytes" in finding.what


@pytest.mark.parametrize(
    ("queue", "table", "name"),
    [
        ("", f"ACTION(FWD) FWDQ({DLQ})", DLQ),
        ("", "ACTION(FWD) FWDQ(BACK)", "BACK"),
        ("", "ACTION(RETRY)", "BACK@QM1"),  # what its sender put on an alias of the dead-letter queue
        ("BACK", f"ACTION(FWD) FWDQ({DLQ})", DLQ),
    ],
)
def test_what_comes_back_to_the_queue_it_is_taken_from_is_a_problem(manager, planned, queue, table, name):
    manager.mqsc(f"DEFINE QALIAS(BACK) TARGET({DLQ})")
    manager.put(DLQ, [dead_letter("BACK", b"x")])
    what, run, plan, found = planned(table, queue=queue)
    findings = found.doubts
    assert {(finding.severity, finding.destination) for finding in findings} == {("problem", name)}
    problems = {finding.what.removeprefix(f"{DLQ}: ") for finding in findings}
    by_alias = {f"it is an alias of {DLQ}, a protected queue: these messages will be left"} if name != DLQ else set()
    assert problems == {"messages come back to the queue they are taken from"} | by_alias
    assert findings[-1].remedy == "Name another queue (FWDQ) in a rule for them"
    assert staying(found, found.plan).messages == len(by_alias)
    assert carry_out(DEAD_LETTERS, what, run, plan).moved == 1 - len(by_alias)


@pytest.mark.parametrize(
    ("change", "leads"),
    [
        (
            "DEFINE QALIAS(DOOR) TARGET(SHORT) REPLACE",
            "DOOR@QM1 led to A when the plan was made, and leads to SHORT now",
        ),
        (
            "DELETE QALIAS(DOOR)\nDEFINE QREMOTE(DOOR) RNAME(A) RQMNAME(QM2) XMITQ(QM2)",
            "DOOR@QM1 led to A when the plan was made, and leads to QM2 for A@QM2 now",
        ),
        ("DELETE QALIAS(DOOR)\nDEFINE QLOCAL(DOOR)", "DOOR@QM1 led to A when the plan was made, and leads to DOOR now"),
    ],
)
def test_law3_a_name_that_leads_elsewhere_than_when_it_was_approved_is_refused(manager, planned, change, leads):
    manager.mqsc("DEFINE QALIAS(DOOR) TARGET(A)")
    manager.put(DLQ, [dead_letter("DOOR", b"x")])
    what, run, plan, _found = planned("ACTION(RETRY)")
    manager.mqsc(change)
    with pytest.raises(PlanChanged, match=leads):
        carry_out(DEAD_LETTERS, what, run, plan)
    assert (manager.depth(DLQ), manager.depth("MQOPS.LEDGER"), manager.depth("SHORT")) == (1, 0, 0)
    name = "QREMOTE" if "QREMOTE" in change else "QLOCAL" if "QLOCAL(DOOR)" in change else "QALIAS"
    manager.mqsc(f"DELETE {name}(DOOR)\nDEFINE QALIAS(DOOR) TARGET(A)")
    assert carry_out(DEAD_LETTERS, what, run, plan).moved == 1


def test_a_plan_that_puts_nothing_has_nothing_to_look_at(manager, planned):
    manager.put(DLQ, [dead_letter("GONE", b"x"), ({}, b"no header")])
    found = planned("ACTION(DISCARD)")[3]
    assert (found.destinations, found.findings) == (0, ())


def test_what_may_not_be_inquired_is_unknown_and_who_may_not_put_is_a_problem(manager, planned):
    manager.mqlite("user", "add", "QM1", "app", text="secret\n")
    manager.mqsc(
        "SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('app') AUTHADD(CONNECT,INQ,ALTUSR)\n"
        f"SET AUTHREC PROFILE({DLQ}) OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(BROWSE,GET,INQ)\n"
        "SET AUTHREC PROFILE(A) OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(PUT,PASSALL)\n"
        "SET AUTHREC PROFILE(QM2) OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(PUT,PASSALL,INQ)\n"
    )
    manager.put(DLQ, [dead_letter("A", b"x"), dead_letter("SHUT", b"x"), dead_letter("A", b"x", dest_q_mgr="QM2")])
    found = planned(user="app", password="secret")[3]
    lines = {one.destination: f"{one.severity}: {one.what}" for one in found.findings}
    assert lines["A@QM1"].startswith("unknown: it cannot be inquired: MQOPEN on A failed: MQRC_NOT_AUTHORIZED (2035)")
    assert lines["SHUT@QM1"] == "problem: MQOPEN for puts fails: MQRC_NOT_AUTHORIZED (2035)"
    assert lines["A@QM2"].startswith("warning: the channel behind QM2 is not known: ")
    assert staying(found, found.plan).refused == {("SHUT", "QM1"): "MQOPEN for puts fails: MQRC_NOT_AUTHORIZED (2035)"}
    assert lines["MQOPS.LEDGER"] == "problem: MQOPEN fails: MQRC_NOT_AUTHORIZED (2035): no run can begin"
    assert len(found.doubts) == 3


def test_with_PUTAUT_CTX_the_authority_of_the_messages_users_counts(manager, planned):
    manager.mqlite("user", "add", "QM1", "alice", text="secret\n")
    manager.put(DLQ, [dead_letter("A", b"x", UserIdentifier="alice")], options=CMQC.MQOO_SET_ALL_CONTEXT)
    (finding,) = planned("ACTION(RETRY) PUTAUT(CTX)")[3].doubts
    assert finding.what == "MQOPEN for puts by the authority of alice fails: MQRC_NOT_AUTHORIZED (2035)"
    assert not planned("ACTION(RETRY)")[3].doubts


def test_PUTAUT_CTX_with_a_blank_user_never_puts_by_our_own_authority(manager, planned):
    """IBM's handler opens with MQOO_ALTERNATE_USER_AUTHORITY whatever stands in MQMD.UserIdentifier."""
    blank = {"UserIdentifier": " " * 12}
    manager.put(DLQ, [dead_letter("A", b"%d" % n, **blank) for n in range(2)], options=CMQC.MQOO_SET_ALL_CONTEXT)
    manager.put(DLQ, [dead_letter("A", b"own", reason=2085, **blank)], options=CMQC.MQOO_SET_ALL_CONTEXT)
    what, run, plan, found = planned("REASON(2085) ACTION(RETRY)\nACTION(RETRY) PUTAUT(CTX)\n")
    rows = pq.read_table(run.plan).to_pylist()
    assert [(row["putaut"], row["unit_group"]) for row in rows] == [("CTX", "A@QM1!")] * 2 + [("DEF", "A@QM1")]
    (finding,) = found.doubts
    assert finding.what == (
        "MQOPEN for puts by the authority of a blank user (PUTAUT(CTX)) fails: MQRC_NOT_AUTHORIZED (2035)"
    )
    assert staying(found, found.plan).messages == 0  # which users' messages the refusal is about is not known
    summary = carry_out(DEAD_LETTERS, what, run, plan)
    assert (summary.moved, summary.reasons) == (1, {"MQRC_NOT_AUTHORIZED": 2})
    assert manager.bodies("A") == [b"own"]


def test_a_queue_manager_that_cannot_be_reached_is_unknown(manager, planned):
    manager.put(DLQ, [dead_letter("A", b"x")])
    what, run, _plan, _found = planned()
    found = preflight(replace(what.connection, queue_manager="NOBODY"), run)
    (finding,) = found.doubts
    assert str(finding).startswith("unknown: QM1: no destination could be looked at: MQCONNX on NOBODY failed")
    assert PREFLIGHT.find(run) == found


def test_destinations_that_are_not_looked_at_are_unknown(manager, planned, monkeypatch):
    manager.put(DLQ, [dead_letter(name, b"x") for name in ("A", "A", "SHUT", "SHUT", "SMALL", "GONE")])
    monkeypatch.setattr("mqops.decide.preflight.MOST_DESTINATIONS", 2)  # those with most messages
    found = planned()[3]
    assert found.destinations == 4
    assert [one.destination for one in found.findings if one.severity == "problem"] == ["SHUT@QM1"]
    assert "unknown: QM1: 2 more destinations were not looked at" in [str(one) for one in found.findings]
    assert [one.severity for one in found.findings] == ["problem", "unknown", "warning", "warning"]


def test_duplicates_are_counted(manager, planned):
    same, other = dead_letter("A", b"x", MsgId=b"M" * 24), dead_letter("A", b"y", MsgId=b"M" * 24)
    manager.put(DLQ, [same, same, other, dead_letter("A", b"x"), dead_letter("A", b"x")])
    assert planned()[3].remarks == (
        "duplicates: 3 messages with the MsgId of another message of the plan; equal in every byte: 2",
    )
    assert not planned("ACTION(DISCARD)")[3].remarks  # discarding a copy puts nothing twice


def test_messages_that_an_earlier_run_put_are_told(manager, planned):
    manager.put(DLQ, [dead_letter("A", b"x", MsgId=b"M" * 24)])
    what, run, plan, found = planned()
    assert not found.remarks
    assert carry_out(DEAD_LETTERS, what, run, plan).moved == 1
    manager.put(DLQ, [dead_letter("A", b"x", MsgId=b"M" * 24), dead_letter("A", b"new")])
    _what, run, _plan, found = planned()
    (remark,) = found.remarks
    assert remark.startswith("replayed before: 1 message with a MsgId that earlier runs put on a queue")
    assert read_json(run.path / "preflight.json")["remarks"] == [remark]


def test_what_an_undo_took_back_counts_as_not_put(manager, planned, tmp_path):
    manager.put(DLQ, [dead_letter("A", b"x")])
    what, run, plan, _found = planned()
    carry_out(DEAD_LETTERS, what, run, plan)
    folder = RunFolder.at(tmp_path, "QM1", "undo")
    plan_undo(what.connection, run, folder)
    undo(what.connection, folder)
    assert prove(what.connection, folder).moved == 1
    assert manager.depth(DLQ) == 1
    assert not planned()[3].remarks


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (
            "DELETE QLOCAL(MQOPS.LEDGER)",
            "problem: MQOPS.LEDGER: MQOPEN fails: MQRC_UNKNOWN_OBJECT_NAME (2085): no run can begin. Define it: DEFINE",
        ),
        (
            "ALTER QLOCAL(MQOPS.LEDGER) PUT(DISABLED)",
            "problem: MQOPS.LEDGER: PUT(DISABLED): no run can begin. ALTER QLOCAL(MQOPS.LEDGER) PUT(ENABLED)",
        ),
        (
            "ALTER QLOCAL(MQOPS.LEDGER) GET(DISABLED)",
            "problem: MQOPS.LEDGER: GET(DISABLED): no run can begin. ALTER QLOCAL(MQOPS.LEDGER) GET(ENABLED)",
        ),
        (
            "ALTER QLOCAL(MQOPS.LEDGER) MAXDEPTH(2)",
            "problem: MQOPS.LEDGER: it is full (CURDEPTH 0, MAXDEPTH 2): no run can begin. Let `mqops ledger drain`",
        ),
    ],
)
def test_a_dry_run_tells_what_keeps_the_ledger_queue_from_recording(manager, mqops_here, change, expected):
    manager.put(DLQ, [dead_letter("A", b"x")])
    manager.mqsc(change)
    lines = mqops_here("dlq", "run", "--dry-run", text="ACTION(RETRY)").stdout.splitlines()
    assert [line for line in lines if line.startswith(expected)], lines
    lines = mqops_here("dlq", "run", "--dry-run", text="ACTION(IGNORE)").stdout.splitlines()
    assert not [line for line in lines if "MQOPS.LEDGER" in line]  # nothing is to be recorded


def test_a_ledger_queue_that_nothing_can_be_got_from_is_told_when_the_plan_is_looked_at_again(manager, planned):
    manager.put(DLQ, [dead_letter("A", b"x")])
    what, run, _plan, found = planned()
    assert not found.doubts
    manager.mqsc("ALTER QLOCAL(MQOPS.LEDGER) GET(DISABLED)")
    assert [str(one) for one in preflight(what.connection, run).doubts] == [
        "problem: MQOPS.LEDGER: GET(DISABLED): no run can begin. ALTER QLOCAL(MQOPS.LEDGER) GET(ENABLED)"
    ]


def test_a_run_does_not_begin_while_nothing_can_be_got_from_the_ledger_queue(manager, mqops_here):
    manager.put(DLQ, [dead_letter("A", b"x")])
    manager.mqsc("ALTER QLOCAL(MQOPS.LEDGER) GET(DISABLED)")
    refused = mqops_here("dlq", "run", "--once", text="ACTION(RETRY)", expect=1)
    assert "MQGET on MQOPS.LEDGER failed: MQRC_GET_INHIBITED (2016)" in refused.stderr
    assert [manager.depth(queue) for queue in (DLQ, "A", "MQOPS.LEDGER")] == [1, 0, 0]


def test_what_is_said_of_many_dynamic_queues_is_one_line():
    names = [f"AMQ.{0x674A1B2C00000000 + number:016X}@QM1" for number in range(400)]
    findings = [Finding(severity="problem", destination=name, what="gone") for name in [*names, "A@QM1", "B@QM1"]]
    assert shown(findings) == [
        "problem: AMQ.*@QM1 (400 dynamic queues): gone",
        "problem: A@QM1: gone",
        "problem: B@QM1: gone",
    ]
    assert shown(findings[:1]) == [f"problem: {names[0]}: gone"]
