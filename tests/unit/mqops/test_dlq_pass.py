"""The pipeline without Spark on a real queue manager: what each action does to messages, and what the proof says."""

from __future__ import annotations

import json
import stat
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pymqi
import pytest
from ledger_opened import act, observe, prove
from mq_support import DLQ, Manager, dead_letter
from pymqi import CMQC

from mqops.act.core.lanes import Row
from mqops.act.core.port import Taken
from mqops.act.core.unit_attempt import DIFFERS
from mqops.act.mover_port import MoverPort
from mqops.deciders.dead_letters import DEAD_LETTERS, DeadLetterRequest
from mqops.deciders.run import carry_out, plan_run
from mqops.errors import LakeError, MQError, PermanentMQError, PlanChanged, SettingsError, TransientMQError
from mqops.lake.files import read_json, write_json
from mqops.lake.run import RunFolder
from mqops.ledger.file import LedgerFile
from mqops.prove.records import SUMMARY
from mqops.rules import parse

QUEUES = """\
DEFINE QLOCAL(A)
DEFINE QLOCAL(B)
DEFINE QLOCAL(FULL) MAXDEPTH(3)
DEFINE QLOCAL(CLOSED) PUT(DISABLED)
DEFINE QLOCAL(SHORT) MAXMSGL(100)
DEFINE QLOCAL(REALLY.DEAD.QUEUE)
"""
BIG_ENDIAN = 273


@pytest.fixture
def manager(queue_manager) -> Manager:
    return queue_manager(mqsc=QUEUES)


@pytest.fixture
def work(manager, tmp_path):
    """Plans, or plans and carries out, a pass with a rules table."""

    def run(text: str, *, dry_run: bool = False, unit_size: int = 200):
        parsed = parse(text)
        assert parsed.table, parsed.errors
        what = DeadLetterRequest(
            connection=manager.connection, lake=tmp_path / "lake", table=parsed.table, text=text, unit_size=unit_size
        )
        folder, plan = plan_run(DEAD_LETTERS, what)
        return (folder, plan) if dry_run else carry_out(DEAD_LETTERS, what, folder, plan)

    return run


def counts(summary):
    return {name: getattr(summary, name) for name in ("planned", "moved", "discarded", "left", "gone", "failed")}


def only(**numbers):
    return {**dict.fromkeys(("planned", "moved", "discarded", "left", "gone", "failed"), 0), **numbers}


def test_D08_E11_retry_takes_the_header_off_and_changes_nothing_else(manager, work):
    before = dead_letter(
        "A",
        b"payload \xff\x00",
        inner=("MQHRF2", BIG_ENDIAN, 500),
        **{"CorrelId": b"C" * 24, "ReplyToQ": "REPLIES", "ReplyToQMgr": "QM9", "Priority": 7, "Expiry": 90000},
        **{"MsgType": CMQC.MQMT_REQUEST, "Report": CMQC.MQRO_PASS_CORREL_ID, "Feedback": 0, "GroupId": b"G" * 24},
        **{"MsgSeqNumber": 3, "MsgFlags": CMQC.MQMF_MSG_IN_GROUP, "PutDate": "20250203", "PutTime": "04050607"},
        **{"UserIdentifier": "alice", "ApplIdentityData": "identity", "PutApplType": 6, "PutApplName": "billing"},
        **{"AccountingToken": b"T" * 32, "ApplOriginData": "orig"},
    )
    (msg_id,) = manager.put(DLQ, [before], options=CMQC.MQOO_SET_ALL_CONTEXT)
    ((on_dlq, _body),) = manager.messages(DLQ)
    summary = work("ACTION(RETRY)")
    assert counts(summary) == only(planned=1, moved=1)
    ((moved, body),) = manager.messages("A")
    assert body == b"payload \xff\x00"
    assert moved.pop("Format") == b"MQHRF2  "
    assert (moved.pop("Encoding"), moved.pop("CodedCharSetId")) == (BIG_ENDIAN, 500)
    assert 0 < moved.pop("Expiry") <= on_dlq.pop("Expiry") <= 90000  # E11: what remains goes on counting
    assert moved["MsgId"] == msg_id
    assert moved == {name: value for name, value in on_dlq.items() if name in moved}
    assert manager.depth(DLQ) == 0


@pytest.mark.parametrize(("encoding", "ccsid"), [(546, 1208), (273, 819), (785, 500), (273, 1047)])
def test_D08_the_header_is_read_in_its_own_encoding_and_character_set(manager, work, encoding, ccsid):
    manager.put(DLQ, [dead_letter("A", b"x", encoding=encoding, ccsid=ccsid, inner=("MQSTR", 785, 37))])
    assert work("DESTQ(A) REASON(2053) ACTION(RETRY)").moved == 1
    ((md, body),) = manager.messages("A")
    assert (body, md["Format"], md["Encoding"], md["CodedCharSetId"]) == (b"x", b"MQSTR   ", 785, 37)


def test_D15_forward_with_header_passes_the_message_on_as_it_is(manager, work):
    message = dead_letter("NOT.THERE", b"x" * 50, encoding=273, ccsid=500)
    manager.put(DLQ, [message])
    ((before, _body),) = manager.messages(DLQ)
    assert work("ACTION(FWD) FWDQ(REALLY.DEAD.QUEUE) HEADER(YES)").moved == 1
    ((after, body),) = manager.messages("REALLY.DEAD.QUEUE")
    assert body == message[1]
    assert after == before


def test_forward_without_header_and_with_names_from_the_message(manager, work):
    manager.put(
        DLQ,
        [
            dead_letter("A", b"one", ReplyToQ=""),
            dead_letter("B", b"two", ReplyToQ="REALLY.DEAD.QUEUE", ReplyToQMgr="QM1"),
        ],
    )
    table = "REPLYQ('?*') ACTION(FWD) FWDQ(&REPLYQ) FWDQM(&REPLYQM) HEADER(NO)\nACTION(FWD) FWDQ(&DESTQ) HEADER(NO)\n"
    assert work(table).moved == 2
    assert manager.bodies("A") == [b"one"]
    assert manager.bodies("REALLY.DEAD.QUEUE") == [b"two"]


def test_putaut_ctx_puts_by_the_authority_of_the_user_in_the_message(manager, work):
    users = {
        "UserIdentifier": "alice",
        "PutApplType": 6,
        "PutApplName": "p",
        "PutDate": "20250101",
        "PutTime": "00000000",
    }
    manager.put(DLQ, [dead_letter("A", b"x", **users)], options=CMQC.MQOO_SET_ALL_CONTEXT)
    folder, _plan = work("ACTION(RETRY) PUTAUT(CTX)", dry_run=True)
    (row,) = pq.read_table(folder.plan).to_pylist()
    assert (row["alternate_user"], row["unit_group"]) == ("alice", "A@QM1!alice")
    manager.mqsc("SET AUTHREC PROFILE(A) OBJTYPE(QUEUE) PRINCIPAL('alice') AUTHADD(PUT)\n")
    assert act(manager.connection, folder).moved == 1
    ((md, body),) = manager.messages("A")
    assert (md["UserIdentifier"].strip(), body) == (b"alice", b"x")


def test_putaut_ctx_puts_nothing_that_the_user_in_the_message_may_not_put(manager, work):
    """The connection's own user may put on A: it is not by that authority that the message is put."""
    users = {"UserIdentifier": "alice", "PutApplType": 6, "PutApplName": "p", "PutDate": "20250101", "PutTime": "0" * 8}
    manager.put(DLQ, [dead_letter("A", b"x", **users)], options=CMQC.MQOO_SET_ALL_CONTEXT)
    summary = work("ACTION(RETRY) PUTAUT(CTX)")
    assert (counts(summary), summary.reasons) == (only(planned=1, left=1, failed=1), {"MQRC_NOT_AUTHORIZED": 1})
    assert (manager.depth("A"), manager.depth(DLQ)) == (0, 1)


def test_discard_and_ignore(manager, work, tmp_path):
    manager.put(DLQ, [dead_letter("A", b"gone", reason=2085), dead_letter("B", b"stays")])
    folder, plan = work("REASON(2085) ACTION(DISCARD)\nACTION(IGNORE)\n", dry_run=True)
    assert plan.actions == {"DISCARD": 1, "IGNORE": 1}
    assert manager.depth(DLQ) == 2
    act(manager.connection, folder)
    summary = prove(manager.connection, folder)
    assert counts(summary) == only(planned=2, discarded=1, left=1)
    assert [body[172:] for body in manager.bodies(DLQ)] == [b"stays"]


def test_D05_what_has_no_header_stays_and_is_an_error_in_the_plan(manager, work):
    manager.put(DLQ, [({"Format": "MQSTR"}, b"no header"), dead_letter("A", b"x")])
    summary = work("ACTION(RETRY)")
    assert counts(summary) == only(planned=2, moved=1, left=1)
    assert {rule.action: rule.left for rule in summary.rules} == {"RETRY": 0, "ERROR": 1}
    assert manager.bodies(DLQ) == [b"no header"]


def test_P05_order_is_kept_for_each_destination(manager, work):
    messages = [dead_letter("AB"[number % 2], b"%d" % number) for number in range(40)]
    manager.put(DLQ, messages)
    assert work("ACTION(RETRY)", unit_size=7).moved == 40
    assert manager.bodies("A") == [b"%d" % number for number in range(0, 40, 2)]
    assert manager.bodies("B") == [b"%d" % number for number in range(1, 40, 2)]


def test_one_bad_destination_does_not_hold_back_the_others(manager, work):
    targets = ("A", "FULL", "CLOSED", "SHORT", "NOT.THERE")
    bodies = {"SHORT": lambda number: b"s" * (90 if number % 2 else 900)}
    messages = [
        dead_letter(target, bodies.get(target, lambda number: b"%d" % number)(number))
        for number in range(8)
        for target in targets
    ]
    manager.put(DLQ, messages)
    summary = work("ACTION(RETRY)", unit_size=5)
    assert counts(summary) == only(planned=40, moved=8 + 3 + 4, left=25, failed=25)
    assert summary.reasons == {
        "MQRC_MSG_TOO_BIG_FOR_Q": 4,
        "MQRC_PUT_INHIBITED": 8,
        "MQRC_Q_FULL": 5,
        "MQRC_UNKNOWN_OBJECT_NAME": 8,
    }
    assert manager.bodies("FULL") == [b"0", b"1", b"2"]
    assert manager.depth("SHORT") == 4
    assert manager.depth(DLQ) == 25


def test_D02_D03_D04_tries_are_remembered_over_passes_and_the_next_rule_follows(manager, work):
    manager.put(DLQ, [dead_letter("CLOSED", b"x")])
    table = "DESTQ(CLOSED) ACTION(RETRY) RETRY(2)\nDESTQ(*) ACTION(FWD) FWDQ(FULL) RETRY(1)\nREASON(1) ACTION(IGNORE)\n"
    manager.put("FULL", [({}, b"f")] * 3)
    outcomes = []
    for _ in range(4):
        summary = work(table)
        ((rule),) = summary.rules
        outcomes.append((rule.rule_line, rule.action, rule.failed, rule.left))
    assert outcomes == [(1, "RETRY", 1, 1), (1, "RETRY", 1, 1), (2, "FWD", 1, 1), (None, "IGNORE", 0, 1)]


def test_D10_the_queue_is_opened_as_its_definition_says(manager, tmp_path):
    manager.mqsc("DEFINE QLOCAL(OTHER.DLQ) SHARE DEFSOPT(EXCL)")
    manager.put("OTHER.DLQ", [dead_letter("A", b"x")])
    table = parse("ACTION(RETRY)").table
    what = DeadLetterRequest(
        connection=manager.connection, lake=tmp_path / "lake", table=table, text="", queue="OTHER.DLQ"
    )
    folder, _plan = plan_run(DEAD_LETTERS, what)
    with manager.connected() as connection:
        reader = pymqi.Queue(connection, "OTHER.DLQ", CMQC.MQOO_INPUT_SHARED)
        with pytest.raises(TransientMQError, match=r"MQOPEN on OTHER\.DLQ failed: MQRC_OBJECT_IN_USE"):
            act(manager.connection, folder)
        reader.close()
    assert act(manager.connection, folder).moved == 1


def test_D12_every_message_that_was_seen_and_not_removed_is_on_record(manager, work, tmp_path):
    (kept, failed) = manager.put(DLQ, [dead_letter("B", b"kept"), dead_letter("CLOSED", b"failed")])
    summary = work("DESTQ(B) ACTION(IGNORE)\nACTION(RETRY)\n")
    assert counts(summary) == only(planned=2, left=2, failed=1)
    folder = RunFolder.at(tmp_path / "lake", "QM1", summary.run)
    seen = {row["msg_id"]: row["body"][172:] for row in pq.read_table(folder.snapshot).to_pylist()}
    assert seen == {kept: b"kept", failed: b"failed"}
    planned = {row["msg_id"]: row["action"] for row in pq.read_table(folder.plan).to_pylist()}
    assert planned == {kept: "IGNORE", failed: "RETRY"}


def test_D12_what_was_seen_and_not_removed_is_known_to_the_next_process(manager, mqops):
    """Each command is a process of its own, as after a restart."""
    (msg_id,) = manager.put(DLQ, [dead_letter("CLOSED", b"x")])
    table = "DESTQ(CLOSED) ACTION(RETRY) RETRY(1)\nACTION(FWD) FWDQ(A) HEADER(YES)\n"
    first = json.loads(mqops("dlq", "run", "--once", "--json", DLQ, "QM1", text=table, expect=1).stdout)
    assert (first["moved"], first["failed"], first["reasons"]) == (0, 1, {"MQRC_PUT_INHIBITED": 1})
    assert "RETRY CLOSED@QM1 failed: MQRC_PUT_INHIBITED" in mqops("ledger", "show", msg_id.hex()).stdout
    second = json.loads(mqops("dlq", "run", "--once", "--json", DLQ, "QM1", text=table).stdout)
    assert [(rule["rule_line"], rule["moved"]) for rule in second["rules"]] == [(2, 1)]
    assert manager.depth("A") == 1


def test_D13_each_pass_sees_what_arrived_wherever_it_stands_in_the_queue(manager, work):
    manager.mqsc(f"ALTER QLOCAL({DLQ}) MSGDLVSQ(PRIORITY)")
    manager.put(DLQ, [dead_letter("NOT.THERE", b"%d" % number, Priority=5) for number in range(3)])
    assert counts(work("DESTQ(A) ACTION(RETRY)\nACTION(IGNORE)\n")) == only(planned=3, left=3)
    manager.put(DLQ, [dead_letter("A", b"low", Priority=0), dead_letter("A", b"high", Priority=9)])
    assert counts(work("DESTQ(A) ACTION(RETRY)\nACTION(IGNORE)\n")) == only(planned=5, moved=2, left=3)
    assert sorted(manager.bodies("A")) == [b"high", b"low"]


def test_law3_what_came_after_the_snapshot_is_left_and_counted(manager, work):
    manager.put(DLQ, [dead_letter("A", b"planned")])
    folder, _plan = work("ACTION(RETRY)", dry_run=True)
    manager.put(DLQ, [dead_letter("A", b"later")])
    act(manager.connection, folder)
    summary = prove(manager.connection, folder)
    assert counts(summary) == only(planned=1, moved=1)
    assert summary.arrived == 1
    assert manager.bodies("A") == [b"planned"]


def test_law3_what_is_gone_meanwhile_is_counted_and_no_error(manager, work):
    manager.put(DLQ, [dead_letter("A", b"%d" % number) for number in range(5)])
    folder, _plan = work("ACTION(RETRY)", dry_run=True)
    with manager.connected() as connection:
        queue = pymqi.Queue(connection, DLQ)
        assert queue.get()[172:] == b"0"
        queue.close()
    act(manager.connection, folder)
    assert counts(prove(manager.connection, folder)) == only(planned=5, moved=4, gone=1)
    assert manager.bodies("A") == [b"1", b"2", b"3", b"4"]


def test_law3_messages_with_equal_identifiers_are_told_apart(manager, work):
    same = {"MsgId": b"M" * 24, "CorrelId": b"C" * 24}
    manager.put(DLQ, [dead_letter("A", b"to A", **same), dead_letter("B", b"to B", **same)])
    folder, _plan = work("DESTQ(B) ACTION(RETRY)\nACTION(IGNORE)\n", dry_run=True)
    manager.put(DLQ, [dead_letter("B", b"later, same identifiers", **same)])
    act(manager.connection, folder)
    summary = prove(manager.connection, folder)
    assert counts(summary) == only(planned=2, moved=1, left=1)
    assert manager.bodies("B") == [b"to B"]
    assert [body[172:] for body in manager.bodies(DLQ)] == [b"to A", b"later, same identifiers"]


def test_law1_messages_that_are_equal_in_everything_are_each_moved_once(manager, work):
    twin = dead_letter(
        "A", b"twin", **{"MsgId": b"M" * 24, "PutDate": "20250101", "PutTime": "00000000", "PutApplName": "p"}
    )
    manager.put(DLQ, [twin] * 6, options=CMQC.MQOO_SET_ALL_CONTEXT)
    summary = work("ACTION(RETRY)", unit_size=2)
    assert counts(summary) == only(planned=6, moved=6)
    assert manager.bodies("A") == [b"twin"] * 6


@pytest.mark.parametrize("shares_its_ids", [True, False])
def test_a_message_that_a_get_gives_otherwise_than_a_browse_is_left_with_the_reason(manager, work, shares_its_ids):
    """As where an API exit changes what MQGET returns: its get under the browse cursor gives no message of the plan."""

    class Changed(MoverPort):
        def take(self, row: Row, *, careful: bool) -> Taken | None:
            taken = super().take(row, careful=careful)
            return replace(taken, key="changed") if taken and taken.body.endswith(b"odd") else taken

    ids = {"MsgId": b"M" * 24} if shares_its_ids else {}
    manager.put(DLQ, [dead_letter("A", body, **ids) for body in (b"1", b"odd", b"2")])
    folder, _plan = work("ACTION(RETRY)", dry_run=True)
    act(manager.connection, folder, port=Changed)
    summary = prove(manager.connection, folder)
    assert counts(summary) == only(planned=3, moved=2, left=1)
    assert summary.left_because == {DIFFERS: 1}
    assert manager.bodies("A") == [b"1", b"2"]
    assert [body[172:] for body in manager.bodies(DLQ)] == [b"odd"]


def test_law3_forwarding_to_the_same_queue_ends(manager, work):
    manager.put(DLQ, [dead_letter("A", b"%d" % number) for number in range(5)])
    summary = work(f"ACTION(FWD) FWDQ({DLQ}) HEADER(YES)", unit_size=2)
    assert counts(summary) == only(planned=5, moved=5)
    assert (summary.arrived, summary.returned) == (0, 0)
    assert [body[172:] for body in manager.bodies(DLQ)] == [b"0", b"1", b"2", b"3", b"4"]


def test_long_messages_and_empty_ones_are_whole(manager, work):
    manager.mqsc("ALTER QLOCAL(A) MAXMSGL(4194304)")
    sizes = (0, 1, 32 * 1024 - 172, 32 * 1024, 100_000, 3_000_000)
    manager.put(DLQ, [dead_letter("A", bytes([number]) * size) for number, size in enumerate(sizes)])
    assert work("ACTION(RETRY)").moved == len(sizes)
    assert [len(body) for body in manager.bodies("A")] == list(sizes)


def test_a_second_act_on_the_same_plan_does_nothing(manager, work):
    manager.put(DLQ, [dead_letter("A", b"x")] * 3)
    folder, _plan = work("ACTION(RETRY)", dry_run=True)
    assert act(manager.connection, folder).moved == 3
    manager.put(DLQ, [dead_letter("A", b"x")])
    again = act(manager.connection, folder)
    assert (again.moved, again.absent, again.lanes_held) == (0, 0, 0)
    summary = prove(manager.connection, folder)
    assert summary == SUMMARY.read(folder)
    assert manager.depth("A") == 3


def test_a_pass_with_nothing_to_do_leaves_no_trace_in_the_ledger(manager, work, tmp_path):
    assert counts(work("ACTION(RETRY)")) == only()
    manager.put(DLQ, [dead_letter("A", b"x")])
    summary = work("ACTION(IGNORE)")
    assert counts(summary) == only(planned=1, left=1)
    assert summary.finished
    assert list(LedgerFile(tmp_path / "lake" / "QM1", str).lines()) == []
    assert manager.depth("MQOPS.LEDGER") == 0


def test_the_ledger_says_what_was_done_and_the_ledger_queue_is_empty_afterwards(manager, work, tmp_path):
    ids = manager.put(DLQ, [dead_letter("A", b"x"), dead_letter("CLOSED", b"y")])
    work("ACTION(RETRY)")
    assert manager.depth("MQOPS.LEDGER") == 0
    entries = list(LedgerFile(tmp_path / "lake" / "QM1", str).entries())
    assert [entry["kind"] for entry in entries] == ["issued", "acted", "failed"]
    assert [row[2] for entry in entries[1:] for row in entry["rows"]] == [msg_id.hex() for msg_id in ids]
    assert entries[2]["rows"][0][3:8] == ["RETRY", entries[2]["rows"][0][4], "CLOSED", "QM1", 2051]
    assert entries[0]["about"]["rows"] == 2


def test_law4_nothing_is_moved_when_the_snapshot_is_not_what_was_written(manager, work):
    manager.put(DLQ, [dead_letter("A", b"x")])
    folder, _plan = work("ACTION(RETRY)", dry_run=True)
    (part,) = folder.snapshot.glob("*.parquet")
    part.write_bytes(part.read_bytes()[:-1])
    with pytest.raises(LakeError, match=r"has lost part-00000\.parquet: restore it. Nothing is moved without a copy"):
        act(manager.connection, folder)
    assert manager.depth(DLQ) == 1


def test_a_plan_of_an_older_version_is_refused_in_words(manager, work):
    manager.put(DLQ, [dead_letter("A", b"x")])
    folder, _plan = work("ACTION(RETRY)", dry_run=True)
    (part,) = folder.plan.glob("*.parquet")
    pq.write_table(pq.read_table(part).drop_columns(["together"]), part)
    with pytest.raises(LakeError, match=r"another version of mqops, without the columns together\. Use that"):
        act(manager.connection, folder)
    assert manager.depth(DLQ) == 1


def test_law2_only_the_approved_plan_is_acted_on(manager, work):
    manager.put(DLQ, [dead_letter("A", b"x")])
    folder, plan = work("ACTION(RETRY)", dry_run=True)
    with pytest.raises(
        PlanChanged, match=f"The plan has digest {plan.digest}, but digest 00 was approved. Look at the plan again"
    ):
        act(manager.connection, folder, approved="00")
    assert manager.depth(DLQ) == 1


def test_a_queue_deleted_between_plan_and_act_is_told_and_nothing_is_lost(manager, work):
    manager.mqsc("DEFINE QLOCAL(OTHER.DLQ)\nDEFINE QLOCAL(TARGET)\n")
    manager.put("OTHER.DLQ", [dead_letter("TARGET", b"x")] * 3)
    manager.put(DLQ, [dead_letter("TARGET", b"x")] * 3)
    folder, _plan = work("ACTION(RETRY)", dry_run=True)
    other, _plan = work("INPUTQ(OTHER.DLQ)\nACTION(RETRY)\n", dry_run=True)
    manager.mqsc("DELETE QLOCAL(TARGET)")
    act(manager.connection, folder)
    summary = prove(manager.connection, folder)
    assert counts(summary) == only(planned=3, left=3, failed=3)
    assert summary.reasons == {"MQRC_UNKNOWN_OBJECT_NAME": 3}
    assert manager.depth(DLQ) == 3
    document = read_json(folder.plan_json)
    write_json(folder.plan_json, document | {"queue": "NOT.THERE.ANY.MORE"})
    with pytest.raises(PermanentMQError, match=r"MQOPEN on NOT\.THERE\.ANY\.MORE failed: MQRC_UNKNOWN_OBJECT_NAME"):
        act(manager.connection, folder)
    assert other.run != folder.run


def test_a_missing_ledger_queue_is_told_with_its_definition(manager, work):
    manager.put(DLQ, [dead_letter("A", b"x")])
    folder, _plan = work("ACTION(RETRY)", dry_run=True)
    manager.mqsc("DELETE QLOCAL(MQOPS.LEDGER)")
    with pytest.raises(PermanentMQError, match=r"Define it: DEFINE QLOCAL\(MQOPS\.LEDGER\) DEFPSIST\(YES\)"):
        act(manager.connection, folder)
    assert manager.depth(DLQ) == 1


def test_a_full_ledger_queue_stops_everything_and_loses_nothing(manager, work):
    manager.put(DLQ, [dead_letter("A", b"x")])
    folder, _plan = work("ACTION(RETRY)", dry_run=True)
    manager.mqsc("ALTER QLOCAL(MQOPS.LEDGER) MAXDEPTH(1)")
    with pytest.raises(PermanentMQError, match=r"MQPUT on MQOPS\.LEDGER failed: MQRC_Q_FULL \(2053\)\. Let `mqops"):
        act(manager.connection, folder)
    assert manager.depth(DLQ) == 1
    assert manager.depth("A") == 0


def test_small_syncpoint_limits_are_lived_with(manager, work):
    manager.put(DLQ, [dead_letter("A", b"%d" % number) for number in range(30)])
    manager.mqsc("ALTER QMGR MAXUMSGS(11)")
    assert counts(work("ACTION(RETRY)")) == only(planned=30, moved=30)
    assert manager.bodies("A") == [b"%d" % number for number in range(30)]


def test_a_syncpoint_limit_that_takes_no_message_is_told_and_nothing_is_left_for_it(manager, work):
    """A message needs a unit of work with the lane token, itself twice, its marker and the lane token again."""
    manager.put(DLQ, [dead_letter("A", b"%d" % number) for number in range(3)])
    folder, _plan = work("ACTION(RETRY)", dry_run=True)
    manager.mqsc("ALTER QMGR MAXUMSGS(3)")
    with pytest.raises(MQError, match=r"MQPUT on MQOPS.LEDGER failed: MQRC_SYNCPOINT_LIMIT_REACHED \(2024\)"):
        act(manager.connection, folder, unit_size=1)
    manager.mqsc("ALTER QMGR MAXUMSGS(2)")
    with pytest.raises(MQError, match=r"MQPUT on A failed: MQRC_SYNCPOINT_LIMIT_REACHED \(2024\)"):
        act(manager.connection, folder, unit_size=1)
    manager.mqsc("ALTER QMGR MAXUMSGS(99)")
    assert (manager.depth(DLQ), manager.depth("A")) == (3, 0)
    summary = act(manager.connection, folder)
    assert summary.moved == 3
    assert 0 < summary.seconds == round(summary.seconds, 3)


def test_files_of_a_run_are_private(manager, work, tmp_path):
    manager.put(DLQ, [dead_letter("A", b"secret")])
    work("ACTION(RETRY)")
    paths = [tmp_path / "lake", *(tmp_path / "lake").rglob("*")]
    assert {path.suffix for path in paths} >= {".parquet", ".json", ".jsonl"}
    for path in paths:
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), path


def test_a_run_keeps_its_snapshot(manager, tmp_path):
    manager.put(DLQ, [dead_letter("A", b"x")])
    run = RunFolder.at(tmp_path / "lake", "QM1", "mine")
    observe(manager.connection, run)
    with pytest.raises(SettingsError, match="Run mine has a snapshot already; a new snapshot needs a new run"):
        observe(manager.connection, run)


def test_password_and_payload_stand_nowhere(manager, tmp_path):
    manager.mqlite("user", "add", "QM1", "alice", text="hunter2\n")
    manager.mqsc(
        "SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('alice') AUTHADD(ALL)\n"
        "SET AUTHREC PROFILE('**') OBJTYPE(QUEUE) PRINCIPAL('alice') AUTHADD(ALL)\n"
    )
    reach = {"channel": "SYSTEM.DEF.SVRCONN", "conn_name": "localhost(1414)", "user": "alice", "password": "hunter2"}
    connection = replace(manager.connection, **reach)
    assert "hunter2" not in repr(connection)
    manager.put(DLQ, [dead_letter("A", b"the payload of it"), dead_letter("CLOSED", b"the payload of it")])
    text = "ACTION(RETRY)\n"
    what = DeadLetterRequest(connection=connection, lake=tmp_path / "lake", table=parse(text).table, text=text)
    assert carry_out(DEAD_LETTERS, what, *plan_run(DEAD_LETTERS, what)).moved == 1
    files = {path: path.read_bytes() for path in (tmp_path / "lake").rglob("*") if path.is_file()}
    assert {path.name for path in files} >= {"ledger.jsonl", "plan.json", "summary.json", "act.json", "issued.json"}
    for path, content in files.items():
        assert b"hunter2" not in content, path
        if "snapshot" not in path.parts:  # the only place for it
            assert b"the payload" not in content, path


def test_messages_longer_than_a_client_channel_has_by_default(manager: Manager, tmp_path: Path) -> None:
    """What counts is MAXMSGL of the server-connection channel: no buffer is longer than the message it is for."""
    most = 6_000_000
    manager.mqsc(
        f"ALTER QMGR MAXMSGL({most})\nALTER QLOCAL({DLQ}) MAXMSGL({most})\nALTER QLOCAL(A) MAXMSGL({most})\n"
        f"DEFINE CHANNEL(OPS) CHLTYPE(SVRCONN) MAXMSGL({most})\n"
    )
    bodies = [b"x" * length for length in (10, 5_000_000, most - 172)]
    manager.put(DLQ, [dead_letter("A", body) for body in bodies])
    connection = replace(manager.connection, channel="OPS", conn_name="localhost(1414)")
    table = parse("ACTION(RETRY)\n").table
    what = DeadLetterRequest(connection=connection, lake=tmp_path / "lake", table=table, text="ACTION(RETRY)\n")
    assert carry_out(DEAD_LETTERS, what, *plan_run(DEAD_LETTERS, what)).moved == len(bodies)
    assert manager.bodies("A") == bodies
