"""Groups and segments go whole or stay whole; ORDER holds behind a failure; MAXREPLAY ends the circle."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest
from act_support import EXTENDED, after_commits, counts, planned, proved, send_back, taken
from ledger_opened import act, prove
from mq_support import DLQ, dead_letter
from pymqi import CMQC

from mqops.act.core.mover import BEHIND_FAILED
from mqops.act.core.port import Taken
from mqops.act.core.unit_attempt import GROUP_GONE, GROUP_TOO_LARGE
from mqops.act.mover_port import without_dlh
from mqops.actions import Action
from mqops.decide.core.message_groups import remarks
from mqops.errors import MQError, Stopped
from mqops.lake.stop import Stop, lift, stop
from mqwire.constants import MQENC_NATIVE
from mqwire.rfh2 import MQRFH2
from mqwire.structures import MQMD, MQMDE

QUEUES = """\
DEFINE QLOCAL(A)
DEFINE QLOCAL(B)
DEFINE QLOCAL(SHORT) MAXMSGL(10)
DEFINE QLOCAL(FEW) MAXDEPTH(2)
"""
IN_GROUP, LAST = CMQC.MQMF_MSG_IN_GROUP, CMQC.MQMF_LAST_MSG_IN_GROUP
SEGMENT, LAST_SEGMENT = CMQC.MQMF_SEGMENT, CMQC.MQMF_LAST_SEGMENT


@pytest.fixture
def manager(queue_manager):
    return queue_manager(mqsc=QUEUES)


def member(dest: str, group: bytes, seq: int, *, last: bool = False, body: bytes = b"", **fields):
    """A message of a group on its way to a queue."""
    flags = fields.pop("MsgFlags", 0) | (LAST | IN_GROUP if last else IN_GROUP)
    ids = {"GroupId": group.ljust(24, b"\0"), "MsgSeqNumber": seq, "MsgFlags": flags}
    return dead_letter(dest, body or b"%s %d" % (group, seq), **ids, **fields)


def group(dest: str, name: bytes, size: int):
    return [member(dest, name, seq, last=seq == size) for seq in range(1, size + 1)]


def fates(run) -> dict[str, list[str]]:
    """Group → actions of its rows."""
    rows = pq.read_table(run.plan).to_pylist()
    found: dict[str, list[str]] = {}
    bodies = {row["msg_key"]: row["body"][172:] for row in pq.read_table(run.snapshot).to_pylist()}
    for row in rows:
        found.setdefault(bodies[row["msg_key"]].decode().split(" ")[0], []).append(row["action"])
    return found


def test_an_approver_reads_why_messages_are_left():
    actions = {Action.RETRY: 5, Action.INCOMPLETE: 2, Action.PROTECTED: 1, Action.SPLIT: 0, Action.BEHIND: 3}
    assert remarks(actions, {7: 2, 3: 1}) == (
        "1 message is left: the destination is a queue SYSTEM.* or MQOPS.*, which no message may choose; a rule that "
        "names the queue itself (FWDQ) puts messages there",
        "2 messages are left: other messages of the group are not in the plan",
        "3 messages are left: an earlier message with the same order key is left",
        "1 message is ignored: no try of the rule on line 3 is left",
        "2 messages are ignored: no try of the rule on line 7 is left",
    )


def test_a_group_goes_in_one_unit_of_work_however_small_that_is_and_wherever_its_messages_stand(manager, lake):
    one, two = group("A", b"one", 5), group("A", b"two", 3)
    single = [dead_letter("A", b"single %d" % n) for n in range(4)]
    manager.put(DLQ, [one[0], single[0], two[0], one[1], two[2], single[1], *one[2:], two[1], *single[2:]])
    run, plan = planned(manager, lake)
    assert plan.actions == {"RETRY": 12}
    depths = []
    summary = act(
        manager.connection, run, unit_size=2, port=after_commits(lambda _n: depths.append(manager.depth("A")))
    )
    assert summary.moved == 12
    assert depths == [5, 6, 9, 11, 12]
    assert proved(manager, run) == {"planned": 12, "moved": 12}
    moved = [(md["GroupId"].rstrip(b"\0"), md["MsgSeqNumber"], md["MsgFlags"]) for md, _body in manager.messages("A")]
    assert moved[:5] == [(b"one", seq, IN_GROUP | LAST if seq == 5 else IN_GROUP) for seq in range(1, 6)]


def test_a_group_that_the_table_parts_is_left_whole_and_the_plan_says_so(manager, lake):
    parted = [member("A", b"parted", 1), member("B", b"parted", 2, last=True)]
    half = [member("A", b"half", 1, UserIdentifier="x"), member("A", b"half", 2, last=True, MsgType=1, ReplyToQ="R")]
    manager.put(DLQ, [*parted, *half, *group("A", b"whole", 2), *group("GONE", b"gone", 2)])
    table = "DESTQ(GONE) ACTION(DISCARD)\nREPLYQ(R) ACTION(IGNORE)\nACTION(RETRY)\n"
    run, plan = planned(manager, lake, table)
    assert fates(run) == {
        "parted": ["SPLIT"] * 2,
        "half": ["SPLIT"] * 2,
        "whole": ["RETRY"] * 2,
        "gone": ["DISCARD"] * 2,
    }
    assert "4 messages are left: messages of one group would not all go the same way" in plan.remarks
    act(manager.connection, run)
    assert proved(manager, run) == {"planned": 8, "moved": 2, "discarded": 2, "left": 4}


def test_segments_and_what_is_here_of_a_group_go_together(manager, lake):
    """When a queue is full the rest of a group is dead-lettered: putting that completes the group."""
    ids = {"GroupId": b"s".ljust(24, b"\0"), "MsgSeqNumber": 1}
    parts = [(0, b"s 123", SEGMENT), (5, b"45", SEGMENT | LAST_SEGMENT)]
    segments = [dead_letter("A", data, **ids, Offset=offset, MsgFlags=flags) for offset, data, flags in parts]
    rest = group("A", b"rest", 5)[3:]
    manager.put(DLQ, [segments[0], rest[0], segments[1], dead_letter("A", b"single"), rest[1]])
    run, _plan = planned(manager, lake)
    depths = []
    act(manager.connection, run, unit_size=1, port=after_commits(lambda _n: depths.append(manager.depth("A"))))
    assert depths == [2, 4, 5]
    assert manager.bodies("A") == [b"s 123", b"45", b"rest 4", b"rest 5", b"single"]


def segments_of(dest: str, name: bytes, *parts: bytes):
    """A message in segments, as dead letters: the queue manager moves their fields into an MQMDE behind the MQDLH."""
    offset, found = 0, []
    for part in parts:
        flags = SEGMENT | LAST_SEGMENT if part is parts[-1] else SEGMENT
        ids = {"GroupId": name.ljust(24, b"\0"), "MsgSeqNumber": 1, "Offset": offset, "MsgFlags": flags}
        found.append(dead_letter(dest, part, **ids, OriginalLength=len(part)))
        offset += len(part)
    return found


def test_RETRY_puts_the_fields_of_a_segment_back_into_its_descriptor(manager, lake):
    """IBM MQ, "MQMDE": the descriptor of the dead letter has defaults, and the data stands behind an MQMDE."""
    manager.put(DLQ, segments_of("A", b"s", b"s 123", b"45"))
    dead = manager.messages(DLQ)
    assert [(md["GroupId"], md["Offset"], md["MsgFlags"], body[172:176]) for md, body in dead] == [
        (bytes(24), 0, 0, b"MDE ")
    ] * 2
    run, _plan = planned(manager, lake)
    rows = pq.read_table(run.snapshot).to_pylist()
    found = [(row["group_id"][:1], row["msg_seq_number"], row["msg_offset"], row["msg_flags"]) for row in rows]
    assert found == [(b"s", 1, 0, SEGMENT), (b"s", 1, 5, SEGMENT | LAST_SEGMENT)]
    act(manager.connection, run)
    assert proved(manager, run) == {"planned": 2, "moved": 2}
    whole = [
        (md["GroupId"].rstrip(b"\0"), md["Offset"], md["MsgFlags"], md["OriginalLength"], md["Format"].rstrip(), body)
        for md, body in manager.messages("A")
    ]
    assert whole == [
        (b"s", 0, SEGMENT, 5, b"MQSTR", b"s 123"),
        (b"s", 5, SEGMENT | LAST_SEGMENT, 2, b"MQSTR", b"45"),
    ]


def test_a_table_does_not_tear_segments_apart_whose_fields_are_behind_the_mqdlh(manager, lake):
    first, second = segments_of("A", b"torn", b"torn 1", b"torn 2")
    second = ({**second[0], "UserIdentifier": "x"}, second[1].replace(b"A" + b" " * 47, b"B" + b" " * 47, 1))
    manager.put(DLQ, [first, dead_letter("A", b"single"), second])
    run, plan = planned(manager, lake)
    assert plan.actions == {"SPLIT": 2, "RETRY": 1}
    act(manager.connection, run)
    assert (manager.bodies("A"), manager.bodies("B"), manager.depth(DLQ)) == ([b"single"], [], 2)


@pytest.mark.parametrize(("said", "arrives"), [(-2, 819), (819, 819), (850, 850), (0, 0)])
@pytest.mark.parametrize("native", [True, False])
def test_D08_RETRY_never_puts_MQCCSI_INHERIT_into_a_descriptor(said, arrives, native):
    """In an MQDLH it is the CCSID of the MQDLH; in an MQMD it would be the queue manager's (IBM MQ, both pages)."""
    encoding = MQENC_NATIVE if native else 273
    _fields, body = dead_letter("A", b"x", inner=("MQSTR", 785, said), encoding=encoding, ccsid=819)
    md = MQMD(format="MQDEAD", encoding=encoding, coded_char_set_id=819)
    after = MQMD.unpack(without_dlh(Taken(md=md.pack(), body=body, key=""))[0])
    assert (after.coded_char_set_id, after.encoding, after.format) == (arrives, 785, "MQSTR")


def test_an_mqmde_that_the_queue_manager_did_not_put_there_stays_data(manager):
    """Under an MQMD with fields of its own (IBM MQ, "MQMDE", table 1), or behind a header of a program."""
    extension = MQMDE(format="MQSTR", group_id=b"G" * 24, msg_flags=SEGMENT, encoding=MQENC_NATIVE).pack()
    _fields, body = dead_letter("A", extension + b"x", inner=("MQHMDE", MQENC_NATIVE, 819), ccsid=819)
    md = MQMD(format="MQDEAD", coded_char_set_id=819, group_id=b"M" * 24, msg_flags=IN_GROUP)
    after, rest = without_dlh(Taken(md=md.pack(), body=body, key=""))
    assert (MQMD.unpack(after).group_id, MQMD.unpack(after).format, rest) == (b"M" * 24, "MQHMDE", extension + b"x")
    rfh = MQRFH2(format="MQHMDE", encoding=MQENC_NATIVE, coded_char_set_id=819).pack()
    _fields, body = dead_letter("A", rfh + extension, inner=("MQHRF2", MQENC_NATIVE, 819), ccsid=819)
    after, rest = without_dlh(Taken(md=MQMD(format="MQDEAD", coded_char_set_id=819).pack(), body=body, key=""))
    assert (MQMD.unpack(after).group_id, rest) == (bytes(24), rfh + extension)


def test_a_group_stays_whole_where_one_of_it_cannot_be_put_or_is_gone(manager, lake):
    long = [
        member("SHORT", b"long", 1),
        member("SHORT", b"long", 2, body=b"x" * 11),
        member("SHORT", b"long", 3, last=True),
    ]
    short, gone = group("SHORT", b"short", 2), group("A", b"gone", 3)
    manager.put(DLQ, [*long, *short, *gone])
    run, _plan = planned(manager, lake)
    everything = taken(manager, DLQ)
    for md, body in everything:
        if body[172:] != b"gone 2":
            fields = {name: value for name, value in md.get().items() if name not in ("StrucId", "Version")}
            manager.put(DLQ, [(fields, body)], options=CMQC.MQOO_SET_ALL_CONTEXT)
    act(manager.connection, run)
    assert manager.bodies("SHORT") == [b"short 1", b"short 2"]
    assert manager.depth("A") == 0
    proof = prove(manager.connection, run)
    assert counts(proof) == {"planned": 8, "moved": 2, "left": 5, "gone": 1, "failed": 3}
    assert proof.left_because == {GROUP_GONE: 3}


THEN_AWAY = "DESTQ(FEW) ACTION(RETRY)\nACTION(FWD) FWDQ(A) HEADER(YES)\n"


def test_D02_D03_tries_are_counted_for_the_whole_group_which_goes_on_to_the_next_rule(manager, lake):
    manager.put(DLQ, group("FEW", b"one", 3))
    run, _plan = planned(manager, lake, THEN_AWAY)
    act(manager.connection, run)
    proof = prove(manager.connection, run)
    assert (counts(proof), proof.reasons) == ({"planned": 3, "left": 3, "failed": 3}, {"MQRC_Q_FULL": 3})
    run, plan = planned(manager, lake, THEN_AWAY)
    assert plan.actions == {"FWD": 3}
    act(manager.connection, run)
    assert proved(manager, run) == {"planned": 3, "moved": 3}
    assert [body[172:] for body in manager.bodies("A")] == [b"one 1", b"one 2", b"one 3"]


def test_what_joins_its_group_after_a_failed_try_has_had_that_try(manager, lake):
    manager.mqsc("ALTER QLOCAL(FEW) MAXDEPTH(1)")
    *early, late = group("FEW", b"one", 3)
    manager.put(DLQ, early)
    run, _plan = planned(manager, lake, THEN_AWAY)
    act(manager.connection, run)
    assert proved(manager, run) == {"planned": 2, "left": 2, "failed": 2}
    manager.put(DLQ, [dead_letter("FEW", b"single"), late])
    run, _plan = planned(manager, lake, THEN_AWAY)
    assert [row["action"] for row in pq.read_table(run.plan).to_pylist()] == ["FWD", "FWD", "RETRY", "FWD"]
    act(manager.connection, run)
    assert proved(manager, run) == {"planned": 4, "moved": 4}
    assert manager.bodies("FEW") == [b"single"]


def test_a_group_larger_than_MAXUMSGS_is_left_and_others_go(manager, lake):
    manager.mqsc("ALTER QMGR MAXUMSGS(20)")
    manager.put(DLQ, group("A", b"small", 4))
    for message in group("A", b"large", 30):
        manager.put(DLQ, [message])
    manager.put(DLQ, group("A", b"late", 3))
    run, _plan = planned(manager, lake)
    act(manager.connection, run)
    proof = prove(manager.connection, run)
    assert counts(proof) == {"planned": 37, "moved": 7, "left": 30}
    assert proof.left_because == {GROUP_TOO_LARGE: 30}


def test_what_stands_before_a_group_that_fits_only_alone_is_not_left_with_it(manager, lake):
    manager.mqsc("ALTER QMGR MAXUMSGS(19)")
    manager.put(DLQ, [dead_letter("A", b"single"), *group("A", b"large", 8)])
    run, _plan = planned(manager, lake)
    assert act(manager.connection, run).units == 2
    assert proved(manager, run) == {"planned": 9, "moved": 9}


def test_where_not_even_one_message_fits_into_a_unit_of_work_act_ends_with_the_reason(manager, lake):
    manager.put(DLQ, [dead_letter("A", b"1"), dead_letter("A", b"2")])
    run, _plan = planned(manager, lake)
    manager.mqsc("ALTER QMGR MAXUMSGS(3)")
    with pytest.raises(MQError, match="MQRC_SYNCPOINT_LIMIT_REACHED"):
        act(manager.connection, run)
    assert (manager.depth(DLQ), manager.depth("A")) == (2, 0)


def test_P05_ORDER_keeps_what_is_behind_a_failed_message_of_the_same_key_and_says_so(manager, lake):
    def keyed(key: bytes, body: bytes):
        return dead_letter("SHORT", body, CorrelId=key.ljust(24, b"\0") if key else bytes(24))

    messages = [keyed(b"a", b"a1"), keyed(b"b", b"b1"), keyed(b"a", b"x" * 11), keyed(b"b", b"b2"), keyed(b"a", b"a3")]
    manager.put(
        DLQ,
        [*messages, keyed(b"", b"none"), keyed(b"a", b"a4"), dead_letter("A", b"A", CorrelId=b"a".ljust(24, b"\0"))],
    )
    run, _plan = planned(manager, lake, EXTENDED + "ACTION(RETRY) ORDER(CORRELID)\n")
    act(manager.connection, run, unit_size=3)
    assert manager.bodies("SHORT") == [b"a1", b"b1", b"b2", b"none"]
    assert manager.bodies("A") == [b"A"]  # another destination has its own order
    proof = prove(manager.connection, run)
    assert counts(proof) == {"planned": 8, "moved": 5, "left": 3, "failed": 1}
    assert proof.left_because == {BEHIND_FAILED: 2}


@pytest.mark.parametrize("order", ["CORRELID", "GROUPID", "'usr.customer'"])
def test_P05_messages_without_what_ORDER_names_hold_none_back(manager, lake, order):
    """Twenty-four NULs are no identifier that messages share."""
    manager.put(DLQ, [dead_letter("SHORT", body, CorrelId=bytes(24)) for body in (b"x" * 11, b"2", b"3")])
    table = EXTENDED + f"ACTION(RETRY) ORDER({order})\n"
    run, _plan = planned(manager, lake, table)
    act(manager.connection, run)
    assert manager.bodies("SHORT") == [b"2", b"3"]
    assert proved(manager, run) == {"planned": 3, "moved": 2, "left": 1, "failed": 1}
    manager.put(DLQ, [dead_letter("SHORT", b"4", CorrelId=bytes(24))])
    run, plan = planned(manager, lake, table)
    assert plan.actions == {"IGNORE": 1, "RETRY": 1}
    act(manager.connection, run)
    assert manager.bodies("SHORT") == [b"2", b"3", b"4"]


def of_key(dest: str, key: bytes, body: bytes, **fields):
    return dead_letter(dest, body, CorrelId=key.ljust(24, b"\0"), **fields)


IN_ORDER = EXTENDED + "DESTQ(SHORT) ACTION(RETRY) ORDER(CORRELID)\n"


@pytest.mark.parametrize("behind", ["", "ACTION(IGNORE)\n"])
def test_ORDER_holds_in_the_next_pass_behind_a_message_whose_tries_are_used_up(manager, lake, behind):
    manager.put(DLQ, [of_key("SHORT", b"k", body) for body in (b"x" * 11, b"2", b"3")])
    run, _plan = planned(manager, lake, IN_ORDER + behind)
    act(manager.connection, run)
    assert proved(manager, run) == {"planned": 3, "left": 3, "failed": 1}
    manager.put(DLQ, [of_key("SHORT", b"k", b"4"), of_key("SHORT", b"other", b"5")])
    run, plan = planned(manager, lake, IN_ORDER + behind)
    assert plan.actions == {"IGNORE": 1, "BEHIND": 3, "RETRY": 1}
    assert "3 messages are left: an earlier message with the same order key is left" in plan.remarks
    expected = "1 message is ignored: no try of the rule on line 2 is left"
    assert (expected in plan.remarks) == (not behind)  # not where the table says that such messages are ignored
    act(manager.connection, run)
    assert proved(manager, run) == {"planned": 5, "moved": 1, "left": 4}
    assert manager.bodies("SHORT") == [b"5"]


@pytest.mark.parametrize(
    ("table", "actions"),
    [
        # the first one goes elsewhere
        (IN_ORDER + "ACTION(FWD) FWDQ(A)\n", {"FWD": 1, "RETRY": 2}),
        # a rule before it says that it stays: who wrote that wants the others to go on
        (IN_ORDER.replace("DESTQ", "CORRELATED\nDESTQ"), {"IGNORE": 1, "RETRY": 2}),
        # one try more
        (IN_ORDER.replace("ORDER", "RETRY(2) ORDER"), {"RETRY": 3}),
        # nobody asks for the order any more
        (IN_ORDER.replace("ORDER(CORRELID)", ""), {"IGNORE": 1, "RETRY": 2}),
    ],
)
def test_ORDER_is_let_go_on_by_another_rule_for_the_first_message(manager, lake, table, actions):
    manager.put(DLQ, [of_key("SHORT", b"k", b"x" * 11, reason=7)])
    manager.put(DLQ, [of_key("SHORT", b"k", body) for body in (b"2", b"3")])
    run, _plan = planned(manager, lake, IN_ORDER)
    act(manager.connection, run)
    assert proved(manager, run) == {"planned": 3, "left": 3, "failed": 1}
    run, plan = planned(manager, lake, table.replace("CORRELATED", "REASON(7) ACTION(IGNORE)"))
    assert plan.actions == actions


def test_ORDER_holds_behind_what_is_replayed_or_split_and_behind_others_of_its_group(manager, lake):
    table = EXTENDED + "DESTQ(A) ACTION(RETRY) ORDER(CORRELID) MAXREPLAY(1)\nACTION(RETRY) ORDER(CORRELID)\n"
    manager.put(DLQ, [of_key("A", b"again", b"0")])
    run, _plan = planned(manager, lake, table)
    act(manager.connection, run)
    prove(manager.connection, run)
    assert send_back(manager, "A") == 1  # CorrelId and all
    split = [member(dest, b"split", 1, body=b"1", CorrelId=b"s".ljust(24, b"\0")) for dest in "AB"]
    keys = (b"again", b"second")
    whole = [member("A", b"whole", n, body=b"2", CorrelId=key.ljust(24, b"\0")) for n, key in enumerate(keys, 1)]
    late = [(b"again", "B"), (b"s", "A"), (b"s", "B"), (b"second", "A"), (b"free", "A")]
    manager.put(DLQ, [*split, of_key("A", b"second", b"early"), *whole])
    manager.put(DLQ, [of_key(dest, key, b"3") for key, dest in late])
    run, _plan = planned(manager, lake, table)
    actions = [row["action"] for row in pq.read_table(run.plan).to_pylist()]
    assert actions == [
        *("REPLAYED", "SPLIT", "SPLIT", "RETRY", "BEHIND", "BEHIND"),
        *("RETRY", "BEHIND", "BEHIND", "BEHIND", "RETRY"),
    ]


@pytest.mark.parametrize("key", [b"one", b""])
def test_ORDER_is_remembered_by_whoever_goes_on(manager, lake, key):
    """Stopped behind the failure; the destination is mended meanwhile. Without a key later messages do go."""
    manager.put(DLQ, [dead_letter("FEW", b"%d" % n, CorrelId=key.ljust(24, b"\0")) for n in range(8)])
    run, _plan = planned(manager, lake, EXTENDED + "ACTION(RETRY) ORDER(CORRELID)\n")
    hold = after_commits(lambda number: stop(run.path, Stop(by="carol", at="now")) if number == 2 else None)
    with pytest.raises(Stopped):
        act(manager.connection, run, unit_size=2, port=hold)
    manager.mqsc("ALTER QLOCAL(FEW) MAXDEPTH(100)")
    lift(run.path)
    act(manager.connection, run)
    proof = prove(manager.connection, run)
    assert proof.finished
    assert proof.failed >= 1
    bodies = [int(body) for body in manager.bodies("FEW")]
    assert bodies[:2] == [0, 1]
    if key:
        assert bodies == [0, 1]
        assert proof.left == 6
    else:
        assert bodies[2:] == list(range(8 - proof.moved + 2, 8))


def test_ORDER_behind_a_destination_that_was_blocked_to_the_end_holds_for_all_its_keys(manager, lake):
    """Its queue is defined before the next process goes on (rule 9 of `mqops.act`)."""
    manager.put(DLQ, [of_key("LATER", b"%d" % n, b"%d" % n) for n in range(4)])
    run, _plan = planned(manager, lake, EXTENDED + "ACTION(RETRY) ORDER(CORRELID)\n")
    hold = after_commits(lambda number: stop(run.path, Stop(by="carol", at="now")) if number == 1 else None)
    with pytest.raises(Stopped):
        act(manager.connection, run, unit_size=2, port=hold)
    manager.mqsc("DEFINE QLOCAL(LATER)")
    lift(run.path)
    act(manager.connection, run, unit_size=2)
    proof = prove(manager.connection, run)
    failed = proof.failed
    assert proof.left_because == {BEHIND_FAILED: 4 - failed}
    assert 0 < failed < 4
    assert manager.depth("LATER") == 0


def of_customer(dest: str):
    """A message with a property."""
    rfh2 = MQRFH2(format="MQSTR", coded_char_set_id=1208).with_folders("<usr><customer>Müller</customer></usr>")
    return dead_letter(dest, rfh2.pack() + b"order", inner=("MQHRF2", MQENC_NATIVE, 1208))


def test_ORDER_by_a_property_and_by_group_is_in_the_plan(manager, lake):
    manager.put(
        DLQ, [member("A", b"G" * 24, 1, last=True), dead_letter("B", b"y", CorrelId=b"C" * 24), of_customer("B")]
    )
    text = EXTENDED + "DESTQ(A) ACTION(RETRY) ORDER(GROUPID)\nACTION(RETRY) ORDER('usr.customer')\n"
    run, _plan = planned(manager, lake, text)
    keys = [row["order_key"] for row in pq.read_table(run.plan).to_pylist()]
    assert keys == ["GROUPID:" + "47" * 24, "", "usr.customer:Müller"]


def test_MAXREPLAY_leaves_what_was_put_so_often_and_an_undo_does_not_count(manager, lake):
    manager.put(DLQ, [dead_letter("A", b"again"), dead_letter("B", b"once")])
    text = EXTENDED + "ACTION(RETRY) MAXREPLAY(2)\n"
    for _ in range(2):
        run, plan = planned(manager, lake, text)
        assert plan.actions["RETRY"] >= 1
        act(manager.connection, run)
        prove(manager.connection, run)
        assert send_back(manager, "A") == 1
    manager.put(DLQ, [dead_letter("A", b"new")])
    run, plan = planned(manager, lake, text)
    assert plan.actions == {"REPLAYED": 1, "RETRY": 1}
    assert "1 message is left: earlier runs have put each as often as MAXREPLAY allows" in plan.remarks
    act(manager.connection, run)
    assert proved(manager, run) == {"planned": 2, "moved": 1, "left": 1}
    assert manager.bodies("A") == [b"new"]
    raised, plan = planned(manager, lake, text.replace("2", "3"))
    assert plan.actions == {"RETRY": 1}
    assert raised.run != run.run
