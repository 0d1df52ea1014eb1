"""Canaries first: what comes back stops its group and no other, once and for all; the run balances and says why."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from act_support import EXTENDED, after_commits, counts, planned, proved, send_back, taken
from ledger_opened import act, prove
from mq_support import DLQ, dead_letter, storage_estate
from pymqi import CMQC

from mqops.act import in_process as acting
from mqops.act.approved_plan import acted_rows
from mqops.act.beginning import begin
from mqops.act.canary import CAME_BACK, FAILED, NONE_THERE, UNREAD, CanaryRecord
from mqops.act.core.deal import by_lanes, lane_lengths
from mqops.act.core.mover import BEHIND_FAILED
from mqops.errors import PlanChanged, Stopped
from mqops.lake.files import read_json, write_json
from mqops.lake.stop import Stop, lift, stop
from mqops.ledger.core.marker import Marker
from mqops.ledger.file import LedgerFile
from mqops.ledger.noted import ISSUED
from mqops.ledger.opened import OpenLedger
from mqops.mq.connection import OneSession

QUEUES = """\
DEFINE QLOCAL(A)
DEFINE QLOCAL(B)
DEFINE QLOCAL(B.BACK)
ALTER QLOCAL(B) BOTHRESH(1) BOQNAME(B.BACK)
DEFINE QLOCAL(SHUT) PUT(DISABLED)
DEFINE QALIAS(ALSO.B) TARGET(B)
"""


@pytest.fixture
def manager(queue_manager):
    return queue_manager(mqsc=QUEUES)


@pytest.fixture(autouse=True)
def nobody_has_to_read(tmp_path, monkeypatch):
    """These tests are about canaries that come back; what is not read is tested with another estate."""
    monkeypatch.setenv("MQOPS_ESTATE", storage_estate(tmp_path, "*"))


def fill(manager, *queues: str, each: int = 10) -> None:
    manager.put(DLQ, [dead_letter(queue, b"%s %d" % (queue.encode(), n)) for n in range(each) for queue in queues])


def fates(summary) -> dict[str, tuple[int, int, str]]:
    """Destination → canaries, those that came back, why the group is stopped."""
    return {one.unit_group: (one.canaries, one.back, one.why) for one in summary.canaries}


def test_groups_whose_canaries_came_back_are_stopped_and_others_go_on(manager, lake):
    fill(manager, "A", "B")
    run, plan = planned(manager, lake, canary=2, canary_wait=0)
    assert plan.remarks == (
        "canaries: 2 messages of each destination and rule go first; after 0 s the rest follows where all were read "
        "and none came back",
    )
    moved_before = []

    def fail_on_a(number: int) -> None:
        if number == 1:
            moved_before.extend((manager.depth("A"), manager.depth("B")))
            send_back(manager, "A")

    summary = act(manager.connection, run, port=after_commits(fail_on_a))
    assert moved_before == [2, 2]
    assert (summary.moved, summary.left) == (12, 8)
    proof = prove(manager.connection, run)
    assert counts(proof) == {"planned": 20, "moved": 12, "left": 8, "arrived": 2}
    assert proof.finished
    assert proof.left_because == {CAME_BACK: 8}
    assert fates(proof) == {"A@QM1": (2, 2, CAME_BACK), "B@QM1": (2, 0, "")}
    digest = read_json(run.plan_json)["digest"]
    kept = CanaryRecord.read(run, digest)
    assert kept is not None
    assert kept.decision == proof.canaries
    assert kept.decided_at > proof.proved_at[:10]
    assert CanaryRecord.read(run, "another plan") is None
    for record in (kept, replace(kept, decision=None, decided_at="")):
        record.write(run)
        assert CanaryRecord.read(run, digest) == record
    assert manager.bodies("B") == [b"B %d" % n for n in range(10)]
    ledger = [Marker.from_json(entry) for entry in LedgerFile(run.lake_folder, str).entries()]
    assert sum(len(rows) for marker in ledger for rows in marker.left.values()) == 8
    assert act(manager.connection, run).units == 0


@pytest.mark.parametrize(
    ("back_to", "new_ids", "target"),
    [
        (DLQ, False, "B"),
        (DLQ, True, "B"),  # told by its body
        ("B.BACK", False, "B"),  # on the backout queue of the destination
        ("B.BACK", True, "ALSO.B"),  # the one behind the alias
    ],
)
def test_a_canary_is_known_again_by_its_id_or_its_body_on_dead_letter_and_backout_queue(
    manager, lake, back_to, new_ids, target
):
    fill(manager, target, each=5)
    run, _plan = planned(manager, lake, canary=1, canary_wait=0)
    act(manager.connection, run, port=after_commits(lambda _number: send_back(manager, "B", back_to, new_ids=new_ids)))
    assert fates(prove(manager.connection, run)) == {f"{target}@QM1": (1, 1, CAME_BACK)}
    assert manager.depth(DLQ) == 4 + (back_to == DLQ)


def test_a_canary_without_a_payload_is_known_again_by_its_id(manager, lake):
    manager.put(DLQ, [dead_letter("B", b"")] * 5)
    run, _plan = planned(manager, lake, canary=1, canary_wait=0)
    act(manager.connection, run, port=after_commits(lambda _number: send_back(manager, "B")))
    assert fates(prove(manager.connection, run)) == {"B@QM1": (1, 1, CAME_BACK)}


def test_messages_alike_that_were_there_before_are_no_canaries_that_came_back(manager, lake):
    """The same body many times in the plan, on the backout queue before, and arrived between plan and act."""
    manager.put("B.BACK", [({}, b"beat")] * 3)
    manager.put(DLQ, [dead_letter("B", b"beat", MsgId=b"M" * 24) for _ in range(6)])
    run, _plan = planned(manager, lake, canary=2, canary_wait=0)
    manager.put(DLQ, [dead_letter("B", b"beat") for _ in range(3)])
    act(manager.connection, run)
    proof = prove(manager.connection, run)
    assert counts(proof) == {"planned": 6, "moved": 6, "arrived": 3}
    assert fates(proof) == {"B@QM1": (2, 0, "")}


RETRY_OR_KEEP = "REASON(MQRC_Q_FULL) ACTION(RETRY)\nACTION(FWD) FWDQ({}) HEADER({})\n"


def fill_with_two_kinds(manager) -> None:
    """Three messages for each of the two rules."""
    manager.put(DLQ, [dead_letter("B", b"full %d" % n, reason=CMQC.MQRC_Q_FULL) for n in range(3)])
    manager.put(DLQ, [dead_letter("NO.Q", b"lost %d" % n, reason=CMQC.MQRC_UNKNOWN_OBJECT_NAME) for n in range(3)])


@pytest.mark.parametrize("header", ["YES", "NO"])
@pytest.mark.parametrize("keep", ["B.BACK", "ALSO.BACK", DLQ])
def test_a_canary_has_not_come_back_where_its_own_rule_put_it(manager, lake, keep, header):
    """On the backout queue of another destination, by an alias of it, on the queue it was taken from."""
    manager.mqsc("DEFINE QALIAS(ALSO.BACK) TARGET(B.BACK)\n")
    fill_with_two_kinds(manager)
    run, _plan = planned(manager, lake, RETRY_OR_KEEP.format(keep, header), canary=1, canary_wait=0)
    act(manager.connection, run)
    proof = prove(manager.connection, run)
    assert counts(proof)["moved"] == 6
    assert fates(proof) == {"B@QM1": (1, 0, ""), f"{keep}@": (1, 0, "")}
    assert manager.depth("B") == manager.depth(DLQ if keep == DLQ else "B.BACK") == 3


def test_a_canary_from_another_queue_has_not_come_back_on_the_dead_letter_queue_it_is_sent_to(manager, lake):
    manager.put("A", [dead_letter("B", b"%d" % n) for n in range(3)])
    run, _plan = planned(manager, lake, f"ACTION(FWD) FWDQ({DLQ}) HEADER(YES)", queue="A", canary=1, canary_wait=0)
    act(manager.connection, run)
    assert counts(prove(manager.connection, run)) == {"planned": 3, "moved": 3}
    assert manager.depth(DLQ) == 3


def test_a_canary_that_came_back_to_where_another_rule_put_its_own_stops_only_its_group(manager, lake):
    fill_with_two_kinds(manager)
    run, _plan = planned(manager, lake, RETRY_OR_KEEP.format("B.BACK", "YES"), canary=1, canary_wait=0)
    sent_back = []

    def first_ones_back(number: int) -> None:
        sent_back.append(send_back(manager, "B", "B.BACK") if not sent_back else 0)

    act(manager.connection, run, port=after_commits(first_ones_back))
    proof = prove(manager.connection, run)
    assert fates(proof) == {"B@QM1": (1, 1, CAME_BACK), "B.BACK@": (1, 0, "")}
    assert counts(proof) == {"planned": 6, "moved": 4, "left": 2}


def test_a_canary_that_cannot_be_put_stops_its_group(manager, lake):
    fill(manager, "SHUT", "A", each=4)
    run, _plan = planned(manager, lake, canary=1, canary_wait=0)
    act(manager.connection, run)
    proof = prove(manager.connection, run)
    assert counts(proof) == {"planned": 8, "moved": 4, "left": 4, "failed": 1}
    assert fates(proof)["SHUT@QM1"] == (1, 0, FAILED)


def test_canaries_that_are_all_gone_prove_nothing(manager, lake):
    fill(manager, "A", each=3)
    run, _plan = planned(manager, lake, canary=1, canary_wait=0)
    ((_md, first), *rest) = taken(manager, DLQ)
    manager.put(DLQ, [({"Format": "MQDEAD", "MsgId": md.MsgId, "CorrelId": md.CorrelId}, body) for md, body in rest])
    act(manager.connection, run)
    assert fates(prove(manager.connection, run)) == {"A@QM1": (1, 0, NONE_THERE)}
    assert first[172:] == b"A 0"


def test_CANARY_of_a_rule_takes_the_place_of_the_runs_and_discards_have_none(manager, lake):
    fill(manager, "A", "B", each=9)
    manager.put(DLQ, [dead_letter("GONE", b"x")] * 3)
    text = EXTENDED + "DESTQ(GONE) ACTION(DISCARD)\nDESTQ(A) ACTION(RETRY) CANARY(5)\nACTION(RETRY)\n"
    run, _plan = planned(manager, lake, text, canary=2, canary_wait=0)
    ahead = []
    act(manager.connection, run, port=after_commits(lambda _n: ahead.append((manager.depth("A"), manager.depth("B")))))
    assert ahead[0] == (5, 2)
    proof = prove(manager.connection, run)
    assert counts(proof) == {"planned": 21, "moved": 18, "discarded": 3}
    assert fates(proof) == {"A@QM1": (5, 0, ""), "B@QM1": (2, 0, "")}


def test_two_rules_for_one_destination_are_two_groups(manager, lake):
    manager.put(DLQ, [dead_letter("A", b"%d" % n, reason=2051 + n % 2 * 2) for n in range(10)])
    run, _plan = planned(manager, lake, "REASON(2051) ACTION(RETRY)\nACTION(RETRY)\n", canary=1, canary_wait=0)

    def one_back(number: int) -> None:
        if number == 1:
            (_good, good), (_bad, bad) = taken(manager, "A")
            assert (good, bad) == (b"0", b"1")
            manager.put(DLQ, [dead_letter("A", bad)])

    act(manager.connection, run, port=after_commits(one_back))
    proof = prove(manager.connection, run)
    assert counts(proof) == {"planned": 10, "moved": 6, "left": 4, "arrived": 1}
    assert manager.bodies("A") == [b"2", b"4", b"6", b"8"]


TWO_RULES = EXTENDED + (
    "REASON(MQRC_Q_FULL) ACTION(RETRY) ORDER(CORRELID) CANARY(1)\nACTION(RETRY) ORDER(CORRELID) CANARY(1)\n"
)


def keyed(key: bytes, body: bytes, *, full: bool, **fields):
    reason = CMQC.MQRC_Q_FULL if full else CMQC.MQRC_PUT_INHIBITED
    return dead_letter("A", body, reason=reason, CorrelId=key.ljust(24, b"\0"), **fields)


def test_a_canary_overtakes_no_message_with_its_order_key(manager, lake):
    manager.put(DLQ, [keyed(b"X", b"0", full=True), keyed(b"K", b"1", full=True), keyed(b"K", b"2", full=False)])
    manager.put(DLQ, [keyed(b"Y", b"3", full=False), keyed(b"Y", b"4", full=True)])
    run, _plan = planned(manager, lake, TWO_RULES, canary_wait=0)
    ahead = []
    act(manager.connection, run, port=after_commits(lambda _number: ahead.append(manager.bodies("A"))))
    assert ahead[0] == [b"0", b"3"]  # the next one of the second rule is tried in the place of the first
    assert manager.bodies("A") == [b"0", b"3", b"1", b"2", b"4"]
    assert proved(manager, run) == {"planned": 5, "moved": 5}


def test_canaries_with_one_order_key_and_rule_go_ahead_in_their_order(manager, lake):
    manager.put(DLQ, [keyed(b"K", b"%d" % n, full=True) for n in range(3)])
    run, _plan = planned(manager, lake, TWO_RULES.replace("CANARY(1)", "CANARY(2)"), canary_wait=0)
    ahead = []
    act(manager.connection, run, port=after_commits(lambda _number: ahead.append(manager.bodies("A"))))
    assert ahead == [[b"0", b"1"], [b"0", b"1", b"2"]]


def test_a_group_goes_ahead_only_where_none_of_it_overtakes(manager, lake):
    group = {"GroupId": b"g".ljust(24, b"\0"), "MsgFlags": CMQC.MQMF_MSG_IN_GROUP}
    messages = [keyed(b"X", b"0", full=True), keyed(b"K", b"1", full=True)]
    members = [keyed(key, body, full=False, **group) for key, body in ((b"G", b"2"), (b"K", b"3"))]
    manager.put(DLQ, [*messages, *members, keyed(b"G", b"4", full=False), keyed(b"H", b"5", full=False)])
    run, _plan = planned(manager, lake, TWO_RULES, canary_wait=0)
    act(manager.connection, run)
    assert manager.bodies("A") == [b"0", b"5", b"1", b"2", b"3", b"4"]


KEPT_IN_ORDER = EXTENDED + (
    "REASON(MQRC_MSG_TOO_BIG_FOR_Q) ACTION(FWD) FWDQ(SHORT) HEADER(NO) ORDER(CORRELID)\n"
    "REASON(MQRC_Q_FULL) ACTION(FWD) FWDQ(B) HEADER(NO) ORDER(CORRELID)\n"
    "ACTION(FWD) FWDQ(SHORT) HEADER(NO) ORDER(CORRELID)\n"
)


def fill_behind_one_that_is_too_long(manager) -> None:
    """By the last rule "same" has the key of the first message and its destination; the others have not both."""
    too_long, full, other = CMQC.MQRC_MSG_TOO_BIG_FOR_Q, CMQC.MQRC_Q_FULL, CMQC.MQRC_PUT_INHIBITED
    messages = [(b"K", b"x" * 99, too_long), (b"K", b"same", other), (b"K", b"elsewhere", full)]
    messages += [(b"L", b"other key", other), (b"K", b"same", other)]
    manager.mqsc("DEFINE QLOCAL(SHORT) MAXMSGL(20)\n")
    manager.put(DLQ, [dead_letter("X", body, reason=why, CorrelId=key.ljust(24, b"\0")) for key, body, why in messages])


@pytest.mark.parametrize(
    "options", [(), ("--canary", "1", "--canary-wait", "0"), ("--canary", "9", "--canary-wait", "0")]
)
def test_behind_a_canary_that_cannot_be_put_waits_what_another_rule_sends_there_with_its_key(manager, mqops, options):
    fill_behind_one_that_is_too_long(manager)
    said = mqops("dlq", "run", "--once", DLQ, "QM1", "--json", *options, text=KEPT_IN_ORDER, expect=1)
    summary = json.loads(said.stdout)
    assert [summary[name] for name in ("planned", "moved", "left", "failed", "balanced")] == [5, 2, 3, 1, True]
    assert summary["left_because"] == {BEHIND_FAILED: 2}
    assert (manager.bodies("SHORT"), manager.bodies("B")) == ([b"other key"], [b"elsewhere"])
    assert [body[172:] for body in manager.bodies(DLQ)] == [b"x" * 99, b"same", b"same"]


def test_what_waits_behind_a_canary_waits_for_whoever_goes_on(manager, lake):
    fill_behind_one_that_is_too_long(manager)
    run, _plan = planned(manager, lake, KEPT_IN_ORDER, canary=1, canary_wait=0)

    def stop_behind_the_canaries(_number: int) -> None:
        if manager.bodies("SHORT"):
            stop(run.path, Stop(by="carol", at="now"))

    with pytest.raises(Stopped):
        act(manager.connection, run, port=after_commits(stop_behind_the_canaries))
    assert read_json(run.path.joinpath("canary.json"))["decision"]
    assert (manager.bodies("SHORT"), manager.bodies("B")) == ([b"other key"], [b"elsewhere"])
    assert manager.depth(DLQ) == 3
    lift(run.path)
    assert act(manager.connection, run).left == 2
    proof = prove(manager.connection, run)
    assert counts(proof) == {"planned": 5, "moved": 2, "left": 3, "failed": 1}
    assert proof.left_because == {BEHIND_FAILED: 2}


def test_behind_more_canaries_than_keys_are_kept_all_with_a_key_wait_for_their_destination(manager, lake, monkeypatch):
    monkeypatch.setattr("mqops.act.canary.MOST_KEYS", 3)
    manager.mqsc("DEFINE QLOCAL(SHORT) MAXMSGL(20)\n")
    messages = [(b"%d" % n, b"x" * 99, CMQC.MQRC_MSG_TOO_BIG_FOR_Q) for n in range(4)]
    ones = (b"A", b"B", b"C", b"D", b"E", b"", b"0")  # four of them are canaries
    messages += [(key, key, CMQC.MQRC_PUT_INHIBITED) for key in ones]
    manager.put(DLQ, [dead_letter("X", body, reason=why, CorrelId=key.ljust(24, b"\0")) for key, body, why in messages])
    run, _plan = planned(manager, lake, KEPT_IN_ORDER, canary=4, canary_wait=0)
    act(manager.connection, run)
    assert manager.bodies("SHORT") == [b"A", b"B", b"C", b"D", b""]
    assert prove(manager.connection, run).left_because == {BEHIND_FAILED: 2}


def test_the_decision_is_made_once_whatever_happens_to_the_canaries_afterwards(manager, lake):
    fill(manager, "A", "B", each=6)
    run, _plan = planned(manager, lake, canary=1, canary_wait=0)
    person = Stop(by="carol", at="now")

    def stopped_in_the_rest(number: int) -> None:
        if number == 1:
            send_back(manager, "A")
        if number == 2:
            stop(run.path, person)

    with pytest.raises(Stopped):
        act(manager.connection, run, unit_size=4, port=after_commits(stopped_in_the_rest))
    decision = read_json(run.path.joinpath("canary.json"))["decision"]
    assert [one["why"] for one in decision] == [CAME_BACK, ""]
    taken(manager, DLQ)[-1:]  # everything leaves the dead-letter queue: nothing there would stop A any more
    lift(run.path)
    act(manager.connection, run)
    assert read_json(run.path.joinpath("canary.json"))["decision"] == decision
    assert manager.depth("A") == 0
    assert proved(manager, run)["planned"] == 12


@pytest.mark.parametrize("proved_meanwhile", [False, True])  # then the canaries' markers are in the ledger
def test_stopped_while_it_waits_it_waits_again(manager, lake, proved_meanwhile):
    fill(manager, "A", each=6)
    run, _plan = planned(manager, lake, canary=2, canary_wait=1)
    stop_it = after_commits(lambda _number: stop(run.path, Stop(by="carol", at="now")))
    with pytest.raises(Stopped):
        act(manager.connection, run, port=stop_it)
    assert read_json(run.path.joinpath("canary.json"))["decision"] is None
    assert manager.depth("A") == 2
    if proved_meanwhile:
        assert prove(manager.connection, run).moved == 2
    send_back(manager, "A")
    lift(run.path)
    act(manager.connection, run)
    assert fates(prove(manager.connection, run)) == {"A@QM1": (2, 2, CAME_BACK)}
    assert proved(manager, run) == {"planned": 6, "moved": 2, "left": 4, "arrived": 2}


def test_law2_the_approval_covers_how_a_plan_is_carried_out(manager, lake):
    fill(manager, "A", each=3)
    run, plan = planned(manager, lake, canary=2, canary_wait=0)
    same, other = planned(manager, lake), planned(manager, lake, canary=1, canary_wait=0)
    assert len({plan.digest, same[1].digest, other[1].digest}) == 3
    document = read_json(run.plan_json)
    write_json(run.plan_json, {**document, "handling": {**document["handling"], "canary": 1}})
    with pytest.raises(PlanChanged, match="its files were changed"):
        act(manager.connection, run, approved=plan.digest)
    write_json(run.plan_json, {**document, "handling": {}})
    with pytest.raises(PlanChanged, match="its files were changed"):
        act(manager.connection, run, approved=plan.digest)
    assert manager.depth(DLQ) == 3


def test_lanes_of_canaries_are_the_second_half(manager, lake):
    fill(manager, "A", "B", each=4)
    run, _plan = planned(manager, lake, canary=1)
    approved_plan = acting.read_approved_plan(run)
    dealt = by_lanes(acted_rows(approved_plan), 2, approved_plan.pacing)
    assert [[(row.dest_q, row.position) for row in lane] for lane in dealt] == [
        [*(("A", n) for n in range(3)), *(("B", n) for n in range(3, 6))],
        [("A", 0), ("B", 1)],
    ]


@pytest.mark.parametrize("is_noted", [True, False])
def test_a_run_that_was_begun_with_more_lanes_is_finished_in_one_process(manager, lake, is_noted):
    """As one that Spark began; also where that died between the issue and the note of it."""
    fill(manager, "A", "B", each=4)
    run, _plan = planned(manager, lake, canary=1, canary_wait=0)
    approved_plan = acting.read_approved_plan(run)
    ledger = OpenLedger(LedgerFile(run.lake_folder), approved_plan.identity, run)
    with OneSession(manager.connection) as step:
        lengths = lane_lengths(acted_rows(approved_plan), approved_plan.pacing, 16)
        begin(step, approved_plan, ledger, lambda: lengths, None)
    if not is_noted:
        ISSUED.path(run).unlink()
    assert act(manager.connection, run).moved == 8
    assert len(lengths) == 32
    assert counts(prove(manager.connection, run)) == {"planned": 8, "moved": 8}


def test_what_cannot_be_watched_is_told(manager, lake):
    manager.mqsc("ALTER QLOCAL(A) BOTHRESH(1) BOQNAME(NOT.THERE)\nDEFINE QLOCAL(X) USAGE(XMITQ)\n")
    manager.mqsc("DEFINE QREMOTE(FAR) RNAME(THERE) RQMNAME(QM9) XMITQ(X)\n")
    fill(manager, "A", "FAR", each=3)
    run, _plan = planned(manager, lake, canary=1, canary_wait=0)
    act(manager.connection, run)
    proof = prove(manager.connection, run)
    assert counts(proof) == {"planned": 6, "moved": 6}
    not_known, not_watched = proof.remarks[1:]
    assert not_known == (
        "canaries: whether FAR@QM1 has a backout queue and a program that reads is not known: it is not a local queue"
    )
    assert not_watched.startswith("canaries: NOT.THERE is not watched: MQOPEN on NOT.THERE failed: MQRC_UNKNOWN_OBJECT")


def test_canaries_that_nobody_has_read_prove_nothing(manager, lake, tmp_path, monkeypatch):
    """A is read, B is not; of two more that nobody reads, one is storage by the estate, one as a backout queue."""
    monkeypatch.setenv("MQOPS_ESTATE", storage_estate(tmp_path, "KEPT.*"))
    manager.mqsc("DEFINE QLOCAL(KEPT.HERE)\n")
    fill(manager, "A", "B", "KEPT.HERE", "B.BACK", each=3)
    run, plan = planned(manager, lake, canary=1, canary_wait=1)
    assert "the rest follows where all were read and none came back" in plan.remarks[0]
    act(manager.connection, run, port=after_commits(lambda _number: taken(manager, "A") and None))
    proof = prove(manager.connection, run)
    assert fates(proof) == {
        "A@QM1": (1, 0, ""),
        "B@QM1": (1, 0, UNREAD),
        "B.BACK@QM1": (1, 0, ""),
        "KEPT.HERE@QM1": (1, 0, ""),
    }
    assert (proof.left_because, [one.unread for one in proof.canaries]) == ({UNREAD: 2}, [0, 0, 1, 0])
    assert counts(proof) == {"planned": 12, "moved": 10, "left": 2}
    assert manager.bodies("B") == [b"B 0"]


def test_a_destination_behind_an_alias_that_may_not_be_inquired_is_told(manager, lake):
    manager.mqlite("user", "add", "QM1", "app", text="app's own\n")
    manager.mqsc(
        "SET AUTHREC PROFILE(QM1) OBJTYPE(QMGR) PRINCIPAL('app') AUTHADD(ALL)\n"
        "SET AUTHREC PROFILE('**') OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(ALL)\n"
        "SET AUTHREC PROFILE(B) OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(BROWSE,GET,PUT,PASSALL)\n"
    )
    fill(manager, "A", "ALSO.B", each=3)
    run, _plan = planned(manager, lake, canary=1, canary_wait=0)
    app = replace(manager.connection, user="app", password="app's own")
    act(app, run)
    proof = prove(app, run)
    assert counts(proof) == {"planned": 6, "moved": 3, "left": 3}
    (not_known,) = proof.remarks[1:]
    assert not_known.startswith(
        "canaries: whether ALSO.B@QM1 has a backout queue and a program that reads is not known: MQOPEN on B failed: "
        "MQRC_NOT_AUTHORIZED (2035)"
    )
