"""Undo on a real queue manager: what a pass did is put back, and what cannot be proved absent is refused."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pymqi
import pytest
from ledger_opened import act, act_undo, prove
from mq_support import DLQ, Manager, dead_letter, let_expire
from pymqi import CMQC

from mqops.actions import Action
from mqops.decide.arrow import read_plan
from mqops.decide.preflight_record import read_preflight
from mqops.deciders.dead_letters import DEAD_LETTERS, DeadLetterRequest
from mqops.deciders.run import carry_out, plan_run
from mqops.deciders.undo import finish_undos
from mqops.errors import InProgress, LakeError, PlanChanged, SettingsError
from mqops.expiry.core.lifetime import remaining
from mqops.lake.files import read_json, write_json
from mqops.lake.run import RunFolder, find_run
from mqops.ledger.core.history import events
from mqops.ledger.file import LedgerFile
from mqops.mq.connection import connect
from mqops.plan_row import PlanRow
from mqops.prove.undone_rules import undone_rules
from mqops.rules import parse
from mqops.undo.core.decision import Done, UndoChoice, undo_choices
from mqops.undo.in_process import plan_undo
from mqwire.structures import MQMD_LAYOUT

QUEUES = """\
DEFINE QLOCAL(A)
DEFINE QLOCAL(B)
DEFINE QLOCAL(PARKED)
DEFINE QLOCAL(XMIT) USAGE(XMITQ)
DEFINE QREMOTE(FAR) RNAME(THERE) RQMNAME(QM9) XMITQ(XMIT)
DEFINE QALIAS(ALIAS) TARGET(A)
"""
CONTEXT: dict[str, Any] = {
    **{"CorrelId": b"C" * 24, "ReplyToQ": "REPLIES", "ReplyToQMgr": "QM9", "Priority": 7, "MsgType": 1, "Feedback": 0},
    **{"Report": CMQC.MQRO_PASS_CORREL_ID, "GroupId": b"G" * 24, "MsgSeqNumber": 3, "Offset": 0},
    **{"MsgFlags": CMQC.MQMF_MSG_IN_GROUP, "PutDate": "20250203", "PutTime": "04050607", "UserIdentifier": "alice"},
    **{"ApplIdentityData": "identity", "PutApplType": 6, "PutApplName": "billing", "AccountingToken": b"T" * 32},
    "ApplOriginData": "orig",
}


@pytest.fixture
def manager(queue_manager) -> Manager:
    return queue_manager(mqsc=QUEUES)


class Bench:
    """Passes with a rules table, and undos of them."""

    def __init__(self, manager: Manager, lake) -> None:
        self.manager = manager
        self.lake = lake
        self.number = 0

    def run(self, text: str, *, queue: str = "") -> RunFolder:
        table = parse(text).table
        assert table
        what = DeadLetterRequest(
            connection=self.manager.connection, lake=self.lake, table=table, text=text, queue=queue
        )
        folder, plan = plan_run(DEAD_LETTERS, what)
        carry_out(DEAD_LETTERS, what, folder, plan)
        return folder

    def plan(self, run: RunFolder, **more: Any):
        self.number += 1
        folder = RunFolder.at(self.lake, "QM1", f"undo{self.number}")
        return folder, plan_undo(
            self.manager.connection, find_run(self.lake, key=run.run, queue_manager="QM1", planned=True), folder, **more
        )

    def undo(self, run: RunFolder, **more: Any):
        folder, plan = self.plan(run)
        act_undo(self.manager.connection, folder, approved=plan.digest, **more)
        summary = prove(self.manager.connection, folder)
        assert summary.balanced
        assert summary.finished
        assert self.manager.depth("MQOPS.LEDGER") == 0
        return plan.actions, summary


@pytest.fixture
def bench(manager, tmp_path) -> Bench:
    return Bench(manager, tmp_path / "lake")


def take(manager: Manager, queue: str) -> bytes:
    with manager.connected() as connection:
        handle = pymqi.Queue(connection, queue)
        body = handle.get()
        handle.close()
    return body


def manager_of(name: str) -> str:
    return f"FWDQM({name})" if name else ""


def without_expiry(messages):
    return [({name: value for name, value in md.items() if name != "Expiry"}, body) for md, body in messages]


@pytest.mark.parametrize(
    ("table", "moved"),
    [
        ("ACTION(DISCARD)", ""),
        ("ACTION(RETRY)", "A"),
        ("ACTION(FWD) FWDQ(PARKED) HEADER(YES)", "PARKED"),
        ("ACTION(FWD) FWDQ(PARKED) HEADER(NO)", "PARKED"),
        ("ACTION(FWD) FWDQ(ALIAS) HEADER(NO)", "A"),
        ("ACTION(FWD) FWDQ(A) FWDQM(QM1) HEADER(YES)", "A"),
    ],
)
def test_law1_undone_is_put_back_byte_for_byte_with_all_its_context(manager, bench, table, moved):
    first = dead_letter("A", b"payload \xff\x00", inner=("MQHRF2", 273, 500), **CONTEXT, Expiry=90000)
    second = dead_letter("A", b"", encoding=273, ccsid=500, **CONTEXT | {"Persistence": 0, "MsgSeqNumber": 4})
    manager.put(DLQ, [first, second], options=CMQC.MQOO_SET_ALL_CONTEXT)
    before = manager.messages(DLQ)
    run = bench.run(table)
    assert manager.depth(DLQ) == 0
    assert not moved or manager.depth(moved) == 2
    actions, summary = bench.undo(run)
    assert actions == ({Action.RETURN: 2} if moved else {Action.RESTORE: 2})
    assert (summary.workflow, summary.moved, summary.left, summary.gone) == ("undo", 2, 0, 0)
    after = manager.messages(DLQ)
    assert without_expiry(after) == without_expiry(before)
    assert 0 < after[0][0]["Expiry"] <= before[0][0]["Expiry"]
    assert after[1][0]["Expiry"] == CMQC.MQEI_UNLIMITED
    assert not moved or manager.depth(moved) == 0
    assert prove(manager.connection, run).balanced


def test_the_approver_of_an_undo_reads_of_the_run_that_it_undoes(manager, bench):
    manager.put(DLQ, [dead_letter("A", b"x"), dead_letter("DROP", b"y")])
    run = bench.run("DESTQ(A) ACTION(RETRY)\nACTION(DISCARD)\n")
    folder, plan = bench.plan(run)
    digest = read_json(run.plan_json)["digest"]
    assert (plan.workflow, plan.queue, plan.rows) == ("undo", f"A,{DLQ}", 2)
    assert (plan.table_source, plan.table_digest, plan.table_text) == (f"undo of run {run.run}", digest, "")
    found = read_preflight(folder)
    assert found is not None
    for row in read_plan(folder.plan, PlanRow):  # of the run's rule nothing is left
        assert (row.rule_line, row.rule_key, row.dest_q_mgr, row.header) == (None, None, "", True)
        assert (row.putaut, row.alternate_user) == ("", "")
    # That the run has put these messages is no news: it is what is undone.
    assert (found.plan, found.destinations, plan.remarks, found.remarks) == (plan.digest, 1, (), ())


def test_consumed_messages_are_refused_and_the_others_returned(manager, bench):
    manager.put(DLQ, [dead_letter("A", b"%d" % number) for number in range(4)])
    run = bench.run("ACTION(RETRY)")
    assert take(manager, "A") == b"0"
    actions, summary = bench.undo(run, unit_size=2)
    assert actions == {"CONSUMED": 1, Action.RETURN: 3}
    assert (summary.planned, summary.moved, summary.gone) == (4, 3, 1)
    assert [body[172:] for body in manager.bodies(DLQ)] == [b"1", b"2", b"3"]
    assert manager.depth("A") == 0


def test_consumed_between_plan_and_act_is_counted_and_not_put(manager, bench):
    manager.put(DLQ, [dead_letter("A", b"%d" % number) for number in range(3)])
    run = bench.run("ACTION(RETRY)")
    folder, plan = bench.plan(run)
    assert take(manager, "A") == b"0"
    done = act_undo(manager.connection, folder, approved=plan.digest)
    assert (done.moved, done.absent) == (2, 1)
    summary = prove(manager.connection, folder)
    assert (summary.moved, summary.gone) == (2, 1)
    assert [body[172:] for body in manager.bodies(DLQ)] == [b"1", b"2"]


def test_a_message_that_looks_the_same_where_it_went_is_left_there(manager, bench):
    same = {"MsgId": b"M" * 24, "CorrelId": b"C" * 24}
    manager.put("A", [({"Format": "MQSTR", **same}, b"another")])
    manager.put(DLQ, [dead_letter("A", b"mine", **same)])
    run = bench.run("ACTION(RETRY)")
    assert bench.undo(run)[0] == {Action.RETURN: 1}
    assert manager.bodies("A") == [b"another"]


def test_what_came_later_is_counted_without_what_the_undo_put_back_itself(manager, bench):
    manager.put(DLQ, [dead_letter("A", b"a1"), dead_letter("A", b"a2"), dead_letter("B", b"gone")])
    run = bench.run("DESTQ(A) ACTION(RETRY)\nACTION(DISCARD)\n")
    manager.put(DLQ, [dead_letter("A", b"later")])
    folder, plan = bench.plan(run)
    act_undo(manager.connection, folder, approved=plan.digest)
    summary = prove(manager.connection, folder)
    assert (summary.moved, summary.arrived, summary.returned, summary.balanced) == (3, 1, 0, True)
    assert undone_rules(folder) == [(1, "RETRY", 2, 2), (2, "DISCARD", 1, 1)]
    assert undone_rules(run) == []


def test_all_actions_of_a_run_together_keep_their_order(manager, bench):
    bodies = [b"%d" % number for number in range(12)]
    manager.put(DLQ, [dead_letter(("A", "B", "DROP")[number % 3], body) for number, body in enumerate(bodies)])
    run = bench.run(f"DESTQ(DROP) ACTION(DISCARD)\nDESTQ(B) ACTION(FWD) FWDQ({DLQ}) HEADER(YES)\nACTION(RETRY)\n")
    actions, summary = bench.undo(run, unit_size=3)
    assert actions == {"PRESENT": 4, Action.RESTORE: 4, Action.RETURN: 4}
    assert (summary.moved, summary.left) == (8, 4)
    assert sorted(body[172:] for body in manager.bodies(DLQ)) == sorted(bodies)
    back = [body[172:] for body in manager.bodies(DLQ)][4:]
    assert back == [body for number, body in enumerate(bodies) if number % 3 != 1]


@pytest.mark.parametrize("table", ["ACTION(RETRY)", "ACTION(FWD) FWDQ(PARKED) HEADER(YES)", "ACTION(DISCARD)"])
def test_E11_the_lifetime_of_an_undone_message_ends_when_it_would_have_ended(manager, bench, table):
    """The time between the snapshot and the undo is not given back: the moment of the end is the same."""
    before = time.time()
    manager.put(DLQ, [dead_letter("A", b"x", Expiry=90000)])
    put = time.time()
    run = bench.run(table)
    let_expire(20)
    bench.undo(run)
    looked_at = time.time()
    ((md, _body),) = manager.messages(DLQ)
    assert before + 9000 - 60 < looked_at + md["Expiry"] / 10 <= put + 9000 + 0.2


def test_E11_a_discarded_message_whose_lifetime_is_over_is_not_put_again(manager, bench):
    manager.put(DLQ, [dead_letter("A", b"%d" % number, Expiry=9000 * number) for number in (1, 2, 3)])
    run = bench.run("ACTION(DISCARD)")
    quarter_of_an_hour = timedelta(seconds=900)
    folder, plan = bench.plan(run, now=lambda: datetime.now(UTC) + quarter_of_an_hour)
    assert plan.actions == {"EXPIRED": 1, Action.RESTORE: 2}
    later = {"now": lambda: datetime.now(UTC) + 2 * quarter_of_an_hour}
    done = act_undo(manager.connection, folder, approved=plan.digest, **later)
    assert (done.moved, done.absent) == (1, 1)
    summary = prove(manager.connection, folder)
    assert (summary.moved, summary.gone) == (1, 2)
    ((md, body),) = manager.messages(DLQ)
    assert body[172:] == b"3"
    assert 0 < md["Expiry"] <= 9000


@pytest.mark.parametrize(
    ("queue", "remote", "why"),
    [("FAR", "", "not a local queue"), ("THERE", "XMIT", "a queue of queue manager XMIT")],
)
def test_what_left_for_another_queue_manager_is_refused_with_the_reason(manager, bench, queue, remote, why):
    manager.put(DLQ, [dead_letter("A", b"x")])
    run = bench.run(f"ACTION(FWD) FWDQ({queue}) {manager_of(remote)} HEADER(YES)")
    name = f"{queue}@{remote}".rstrip("@")
    folder, plan = bench.plan(run)
    assert plan.actions == {"UNPROVABLE": 1}
    assert plan.remarks == (f"{name} cannot be looked at: it is {why}; messages wait on transmission queue XMIT",)
    assert act_undo(manager.connection, folder, approved=plan.digest).moved == 0
    proof = prove(manager.connection, folder)
    assert (proof.left, proof.gone) == (1, 0)  # no program took it: it waits on the transmission queue
    assert (manager.depth(DLQ), manager.depth("XMIT")) == (0, 1)


@pytest.mark.parametrize(
    ("mqsc", "why"),
    [
        ("CLEAR QLOCAL(B)\nDELETE QLOCAL(B)\n", r"B@QM1 cannot be looked at: MQOPEN.*MQRC_UNKNOWN_OBJECT_NAME"),
        ("ALTER QLOCAL(B) GET(DISABLED)\n", r"B@QM1 cannot be looked at: MQGET on B.*MQRC_GET_INHIBITED"),
    ],
)
def test_a_destination_that_is_gone_or_shut_does_not_hold_back_the_others(manager, bench, mqsc, why):
    manager.put(DLQ, [dead_letter("B", b"x"), dead_letter("A", b"y")])
    run = bench.run("ACTION(RETRY)")
    manager.mqsc(mqsc)
    _folder, plan = bench.plan(run)
    assert plan.actions == {Action.RETURN: 1, "UNPROVABLE": 1}
    (remark,) = plan.remarks
    assert re.match(why, remark)
    assert bench.undo(run)[0] == plan.actions
    assert [body[172:] for body in manager.bodies(DLQ)] == [b"y"]


def test_what_would_confirm_a_delivery_is_not_got(manager, bench):
    manager.mqsc("DEFINE QLOCAL(REPORTS)")
    message = dead_letter("A", b"x", Report=CMQC.MQRO_COD_WITH_FULL_DATA, ReplyToQ="REPORTS", ReplyToQMgr="QM1")
    manager.put(DLQ, [message])
    run = bench.run("ACTION(FWD) FWDQ(A) HEADER(NO)")
    reports = manager.depth("REPORTS")
    actions, summary = bench.undo(run)
    assert (actions, summary.left, summary.gone) == ({"CONFIRMS": 1}, 1, 0)
    assert manager.bodies("A") == [b"x"]
    assert manager.depth("REPORTS") == reports


def group(name: bytes, count: int, **fields: Any) -> list[tuple[dict[str, Any], bytes]]:
    """A whole MQ group."""
    flags = [CMQC.MQMF_MSG_IN_GROUP] * (count - 1) + [CMQC.MQMF_LAST_MSG_IN_GROUP]
    ids = {"GroupId": name.ljust(24, b"\0"), **fields}
    return [
        dead_letter("A", b"%s %d" % (name, number), MsgFlags=flag, MsgSeqNumber=number, **ids)
        for number, flag in enumerate(flags, start=1)
    ]


def test_a_group_of_which_one_is_consumed_stays_where_it_is(manager, bench):
    messages = [*group(b"begun", 3), *group(b"whole", 2), dead_letter("A", b"alone")]
    manager.put(DLQ, messages)
    run = bench.run("ACTION(RETRY)")
    assert take(manager, "A").endswith(b"begun 1")
    actions, summary = bench.undo(run)
    assert actions == {"CONSUMED": 1, "PARTED": 2, Action.RETURN: 3}
    assert (summary.moved, summary.left, summary.gone) == (3, 2, 1)
    assert manager.bodies("A") == [b"begun 2", b"begun 3"]
    assert [body[172:] for body in manager.bodies(DLQ)] == [b"whole 1", b"whole 2", b"alone"]


def test_of_a_discarded_group_what_has_lifetime_left_is_put_back(manager, bench):
    first, *others = group(b"g", 3)
    manager.put(DLQ, [({**first[0], "Expiry": 9000}, first[1]), *others])
    run = bench.run("ACTION(DISCARD)")
    _folder, plan = bench.plan(run, now=lambda: datetime.now(UTC) + timedelta(seconds=900))
    assert plan.actions == {"EXPIRED": 1, Action.RESTORE: 2}


@pytest.mark.parametrize("table", ["ACTION(DISCARD)", "ACTION(RETRY)"])
def test_nothing_is_undone_twice_also_when_it_was_consumed_since(manager, bench, table):
    manager.put(DLQ, [dead_letter("A", b"x"), dead_letter("A", b"y")])
    run = bench.run(table)
    assert bench.undo(run)[1].moved == 2
    assert bench.undo(run)[0] == {"UNDONE": 2}
    take(manager, DLQ)
    actions, summary = bench.undo(run)
    assert (actions, summary.moved, summary.left, summary.gone) == ({"UNDONE": 2}, 0, 1, 1)
    assert manager.depth(DLQ) == 1


def test_a_discarded_message_that_somebody_put_back_is_not_put_again(manager, bench):
    message = dead_letter("A", b"x", MsgId=b"M" * 24, **CONTEXT)
    manager.put(DLQ, [message], options=CMQC.MQOO_SET_ALL_CONTEXT)
    run = bench.run("ACTION(DISCARD)")
    folder, plan = bench.plan(run)
    manager.put(DLQ, [message], options=CMQC.MQOO_SET_ALL_CONTEXT)
    done = act_undo(manager.connection, folder, approved=plan.digest)
    assert (plan.actions, done.moved, done.absent) == ({Action.RESTORE: 1}, 0, 1)
    assert prove(manager.connection, folder).left == 1
    assert bench.undo(run)[0] == {"PRESENT": 1}
    assert manager.depth(DLQ) == 1


def test_messages_that_are_equal_in_everything_are_each_put_back_once(manager, bench):
    twin = dead_letter("A", b"twin", MsgId=b"M" * 24, **CONTEXT)
    manager.put(DLQ, [twin] * 5, options=CMQC.MQOO_SET_ALL_CONTEXT)
    before = manager.messages(DLQ)
    for table in ("ACTION(DISCARD)", "ACTION(RETRY)"):
        run = bench.run(table)
        assert manager.depth(DLQ) == 0
        assert bench.undo(run, unit_size=2)[1].moved == 5
        assert manager.messages(DLQ) == before


def test_a_put_that_fails_leaves_the_message_where_it_is(manager, bench):
    manager.put(DLQ, [dead_letter("A", b"x"), dead_letter("DROP", b"y")])
    run = bench.run("DESTQ(A) ACTION(RETRY)\nACTION(DISCARD)\n")
    manager.mqsc(f"ALTER QLOCAL({DLQ}) PUT(DISABLED)")
    folder, plan = bench.plan(run)
    assert act_undo(manager.connection, folder, approved=plan.digest).failed == 2
    summary = prove(manager.connection, folder)
    # The discarded message is nowhere but in the lake, where the next undo finds it: it is not gone.
    assert (summary.moved, summary.left, summary.gone, summary.reasons) == (0, 2, 0, {"MQRC_PUT_INHIBITED": 2})
    manager.mqsc(f"ALTER QLOCAL({DLQ}) PUT(ENABLED)")
    assert bench.undo(run)[0] == {Action.RESTORE: 1, Action.RETURN: 1}
    assert [body[172:] for body in manager.bodies(DLQ)] == [b"x", b"y"]


def test_the_preflight_of_an_undo_counts_the_mqdlh_that_is_put_back(manager, bench):
    manager.put(DLQ, [dead_letter("A", b"x")])
    run = bench.run("ACTION(RETRY)")
    manager.mqsc(f"ALTER QLOCAL({DLQ}) MAXMSGL(100)")
    folder, plan = bench.plan(run)
    (found,) = read_preflight(folder).findings
    assert (found.destination, "MAXMSGL" in found.what) == (DLQ, True)
    assert act_undo(manager.connection, folder, approved=plan.digest).failed == 1


def test_law2_only_the_approved_plan_is_acted_on(manager, bench):
    manager.put(DLQ, [dead_letter("A", b"x")])
    folder, _plan = bench.plan(bench.run("ACTION(DISCARD)"))
    with pytest.raises(PlanChanged, match="but digest 00 was approved"):
        act_undo(manager.connection, folder, approved="00")
    assert manager.depth(DLQ) == 0


def test_law2_of_two_undos_planned_at_once_one_is_acted_on(manager, bench):
    manager.put(DLQ, [dead_letter("A", b"x")])
    run = bench.run("ACTION(DISCARD)")
    (first, _), (second, _) = bench.plan(run), bench.plan(run)
    assert act_undo(manager.connection, first).moved == 1
    take(manager, DLQ)
    with pytest.raises(PlanChanged, match=r"Another undo of run .* was begun after this undo was planned"):
        act_undo(manager.connection, second)
    assert act_undo(manager.connection, first).moved == 0
    assert manager.depth(DLQ) == 0


def test_an_undo_that_was_begun_is_finished_before_another_is_planned(manager, bench):
    manager.put(DLQ, [dead_letter("A", b"%d" % number) for number in range(3)])
    run = bench.run("ACTION(DISCARD)")
    folder, plan = bench.plan(run)
    manager.mqsc("ALTER QLOCAL(MQOPS.LEDGER) MAXDEPTH(3)")  # with the head enough to issue, not to act
    with pytest.raises(Exception, match="MQRC_Q_FULL"):
        act_undo(manager.connection, folder, approved=plan.digest, unit_size=1)
    manager.mqsc("ALTER QLOCAL(MQOPS.LEDGER) MAXDEPTH(9999)")
    begun = f"Undo {folder.run} of run {run.run} was begun and is not finished: .*`mqops undo {run.run}`"
    with pytest.raises(InProgress, match=begun):
        bench.plan(run)
    (summary,) = finish_undos(manager.connection, run, who="carol@host")
    assert (summary.run, summary.moved, summary.finished) == (folder.run, 3, True)
    assert finish_undos(manager.connection, run, who="carol@host") == []
    put_back = [one for one in events("QM1", LedgerFile(run.lake_folder, str).entries()) if one.run == folder.run]
    assert [one.finished_by for one in put_back] == ["carol@host"] * 3
    assert bench.undo(run)[0] == {"UNDONE": 3}
    assert [body[172:] for body in manager.bodies(DLQ)] == [b"0", b"1", b"2"]


def test_messages_hidden_by_a_unit_of_work_count_as_not_proved_absent(manager, bench):
    manager.put(DLQ, [dead_letter("A", b"x")])
    run = bench.run("ACTION(DISCARD)")
    manager.put(DLQ, [dead_letter("A", b"another")])
    with manager.connected() as connection:
        handle = pymqi.Queue(connection, DLQ)
        handle.get(None, pymqi.MD(), pymqi.GMO(Options=CMQC.MQGMO_SYNCPOINT))
        with pytest.raises(InProgress, match=f"Units of work of other programs hide messages of {DLQ}"):
            bench.plan(run)
        connection.backout()
        handle.close()
    assert bench.undo(run)[0] == {Action.RESTORE: 1}


def test_law4_nothing_is_put_from_a_copy_that_was_changed(manager, bench):
    manager.put(DLQ, [dead_letter("A", b"x"), dead_letter("A", b"y")])
    first, _ = bench.plan(bench.run("ACTION(DISCARD)"))
    manager.put(DLQ, [dead_letter("A", b"z"), dead_letter("A", b"w")])
    second, _ = bench.plan(bench.run("ACTION(DISCARD)"))
    (mine,), (other,) = first.snapshot.glob("*.parquet"), second.snapshot.glob("*.parquet")
    mine.write_bytes(other.read_bytes())
    observed = read_json(first.path.joinpath("observe.json"))
    write_json(first.path.joinpath("observe.json"), observed | {"files": {mine.name: mine.stat().st_size}})
    with pytest.raises(PlanChanged, match="The copy of row 0 is not the message of the plan"):
        act_undo(manager.connection, first)
    mine.unlink()
    with pytest.raises(LakeError, match="has lost part-00000"):
        act_undo(manager.connection, first)
    assert manager.depth(DLQ) == 0


@pytest.mark.parametrize(("column", "at"), [("md", MQMD_LAYOUT.offset("msg_id")), ("body", -1)])
def test_law4_nothing_is_put_back_from_a_copy_of_which_one_byte_was_changed(manager, bench, column, at):
    manager.put(DLQ, [dead_letter("A", b"x", MsgId=b"M" * 24)])
    folder, _plan = bench.plan(bench.run("ACTION(RETRY)"))
    (part,) = folder.snapshot.glob("*.parquet")
    table = pq.read_table(part)
    (copy,) = map(bytearray, table[column].to_pylist())
    copy[at] ^= 1
    number = table.schema.get_field_index(column)
    field = table.schema.field(number)
    pq.write_table(table.set_column(number, field, pa.array([bytes(copy)], type=field.type)), part)
    write_json(
        folder.path.joinpath("observe.json"),
        read_json(folder.path.joinpath("observe.json")) | {"files": {part.name: part.stat().st_size}},
    )
    with pytest.raises(PlanChanged, match="The copy of row 0 is not the message of the plan"):
        act_undo(manager.connection, folder)
    assert (manager.bodies("A"), manager.depth(DLQ)) == ([b"x"], 0)


def test_a_run_that_did_nothing_has_nothing_to_undo_and_leaves_no_trace(manager, bench, tmp_path):
    manager.put(DLQ, [dead_letter("A", b"x")])
    run = bench.run("ACTION(IGNORE)")
    actions, summary = bench.undo(run)
    assert (actions, summary.planned) == ({}, 0)
    assert list(LedgerFile(tmp_path / "lake" / "QM1", str).lines()) == []


def test_a_run_killed_before_its_proof_is_undone_from_the_markers_on_the_ledger_queue(manager, bench):
    manager.put(DLQ, [dead_letter("A", b"x")])
    table = parse("ACTION(RETRY)").table
    what = DeadLetterRequest(connection=manager.connection, lake=bench.lake, table=table, text="")
    run, _plan = plan_run(DEAD_LETTERS, what)
    act(manager.connection, run)
    assert bench.undo(run)[0] == {Action.RETURN: 1}


def test_unknown_runs_and_undos_are_refused(manager, bench):
    with pytest.raises(SettingsError, match="has no run nothing of QM1 with a plan"):
        find_run(bench.lake, key="nothing", queue_manager="QM1", planned=True)
    manager.put(DLQ, [dead_letter("A", b"x")])
    folder, _plan = bench.plan(run := bench.run("ACTION(DISCARD)"))
    with pytest.raises(SettingsError, match=r"is an undo\. An undo cannot be undone"):
        plan_undo(manager.connection, folder, RunFolder.at(bench.lake, "QM1", "undo-of-undo"))
    with pytest.raises(SettingsError, match="is not an undo"):
        act_undo(manager.connection, run)


def test_the_ledger_says_what_an_undo_undid(manager, bench):
    manager.put(DLQ, [dead_letter("A", b"x")])
    run = bench.run("ACTION(RETRY)")
    bench.undo(run, about={"requested_by": "me"})
    entries = list(LedgerFile(bench.lake / "QM1", str).entries())
    about = entries[2]["about"]
    plan = read_json(run.plan_json)["digest"]
    assert (about["workflow"], about["undoes"], about["undoes_plan"], about["requested_by"]) == (
        *("undo", run.run, plan, "me"),
    )
    assert [row[3:7] for row in entries[3]["rows"]] == [[Action.RETURN, "", DLQ, ""]]
    with connect(manager.connection):
        assert manager.depth("MQOPS.LEDGER") == 0


NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("expiry", "seconds", "left"),
    [
        (-1, 1e9, -1),
        (100, 0, 100),
        (100, 9.9, 1),
        (100, 9.91, None),  # a tenth that has begun counts as over
        (100, 10, None),
        (100, -5, 100),  # a clock that was set back adds nothing
    ],
)
def test_E11_the_lifetime_that_is_left(expiry, seconds, left):
    assert remaining(expiry, NOW - timedelta(seconds=seconds), NOW) == left


def test_equal_messages_may_be_there_as_often_as_the_run_left_them():
    def done(row: int) -> Done:
        place = {"queue": "Q", "msg_key": "k", "there": "", "key_there": ""}
        return Done(row=row, discarded=True, expiry=-1, seen_at=NOW, report=0, together=row, **place)

    found = undo_choices([done(row) for row in range(5)], undone={4}, on_queues={("Q", "k"): 2}, now=NOW)
    assert [choice for _one, choice in found] == [
        *(
            UndoChoice(Action.PRESENT),
            UndoChoice(Action.PRESENT),
            UndoChoice(Action.RESTORE, 2),
            UndoChoice(Action.RESTORE, 3),
            UndoChoice(Action.UNDONE),
        ),
    ]


@pytest.mark.parametrize(("copies", "originals", "last"), [(3, 4, Action.CONSUMED), (4, 3, Action.LAST)])
def test_of_equal_copies_as_many_are_taken_as_have_their_original(copies, originals, last):
    """Rule 12: the only message of its kind stays where it is."""
    place = {"queue": "Q", "msg_key": "k", "there": "COPIES", "key_there": "c", "discarded": False, "copied": True}
    done = [Done(row=row, expiry=-1, seen_at=NOW, report=0, together=row, **place) for row in range(4)]
    on_queues = {("COPIES", "c"): copies, ("Q", "k"): originals}
    found = [choice for _one, choice in undo_choices(done, undone=set(), on_queues=on_queues, now=NOW)]
    assert found == [*(UndoChoice(Action.WITHDRAW, before) for before in range(3)), UndoChoice(last)]


def test_what_a_queue_may_have_that_nobody_can_look_at_is_hidden():
    def done(row: int, *, home: str = "SHUT", there: str = "", discarded: bool = False, expiry: int = -1) -> Done:
        keys = {"queue": home, "msg_key": f"k{row}", "there": there, "key_there": f"t{row}"}
        return Done(row=row, discarded=discarded, expiry=expiry, seen_at=NOW, report=0, together=row, **keys)

    rows = {
        "RETURN": done(0, there="A"),
        "HIDDEN": done(1, there="A"),
        "RESTORE": done(2, home="SEEN", discarded=True),
        "EXPIRED": done(3, discarded=True, expiry=0),
        "CONSUMED": done(4, home="SEEN", there="A"),
        "UNPROVABLE": done(5, home="SEEN"),
        "UNDONE": done(6, discarded=True),
    }
    more = [done(7, discarded=True), done(8)]
    found = undo_choices([*rows.values(), *more], undone={6}, on_queues={("A", "t0"): 1}, now=NOW, hidden={"SHUT"})
    assert [choice.action for _one, choice in found] == [*rows, "HIDDEN", "HIDDEN"]
