"""The poison-aware consumer on a real queue manager: every message ends in one place, for the right reason."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pymqi
import pytest
from mq_support import DLQ, Manager, let_expire, time_goes_by
from pymqi import CMQC

from mqops.backout.core.disposal import aged
from mqops.deciders.backout import BACKOUT, BackoutRequest
from mqops.deciders.run import carry_out, plan_run
from mqops.errors import MQError
from mqops.poison_consumer import GET_OPTIONS, Delivery, Handled, PoisonAwareConsumer, PoisonStuck
from mqops.rules import parse
from mqwire.headers import split_dlh
from mqwire.structures import MQDLH, MQDLH_LAYOUT, MQMD

MESSAGES = int(os.environ.get("MQOPS_CONSUMER_MESSAGES", "120"))
PROGRAM = Path(__file__).with_name("consuming_program.py")
MARKINGS = ["mark", "plain"] if MESSAGES > 120 else ["plain"]
"""With which queue managers the program is killed: a process takes a second to start."""
QUEUES = """\
DEFINE QLOCAL(IN) BOTHRESH(3) BOQNAME(IN.BOQ) MAXDEPTH(100000)
DEFINE QLOCAL(IN.BOQ) MAXDEPTH(100000)
DEFINE QLOCAL(OUT) MAXDEPTH(100000)
DEFINE QLOCAL(REPLIES) MAXDEPTH(100000)
DEFINE QALIAS(IN.ALIAS) TARGET(IN)
"""


@pytest.fixture(params=["mark", "plain"])
def marking(request: pytest.FixtureRequest) -> str:
    """On a z/OS-like queue manager, which has MQGMO_MARK_SKIP_BACKOUT, and on one that refuses it (K07)."""
    return str(request.param)


@pytest.fixture
def manager(queue_manager: Any, marking: str) -> Manager:
    return queue_manager(mqsc=QUEUES, platform="zos" if marking == "mark" else "unix")


def failing(body: bytes) -> bool:
    return body.startswith(b"bad")


class Broken(Exception):
    """What the application raises."""


def consume(manager: Manager, queue: str = "IN") -> list[Handled]:
    """Run an application that copies messages to OUT and cannot bear those that begin with `bad`."""
    with manager.connected() as connection:
        out = pymqi.Queue(connection, "OUT", CMQC.MQOO_OUTPUT)

        def process(delivery: Delivery) -> None:
            out.put(delivery.body, pymqi.MD(), pymqi.PMO(Options=CMQC.MQPMO_SYNCPOINT))
            if failing(delivery.body):
                raise Broken

        with PoisonAwareConsumer(connection, queue) as consumer:
            return list(consumer.run(process))


def header(body: bytes) -> MQDLH:
    split = split_dlh("MQDEAD", 546, 1208, body)
    assert split is not None
    return split[0]


def whats(handled: list[Handled]) -> Counter[str]:
    return Counter(one.what for one in handled)


def test_P08_K08_requeued_to_the_backout_queue_at_the_threshold(manager, marking):
    [good, bad] = manager.put("IN", [({}, b"good"), ({"CorrelId": b"c" * 24, "ReplyToQ": "REPLIES"}, b"bad one")])
    handled = consume(manager)
    assert whats(handled) == {"done": 1, "redelivered": 2, "requeued": 1}
    assert [h.backout_count for h in handled if h.msg_id == bad] == [1, 2, 3]
    assert isinstance(handled[-1].error, Broken)
    [(md, body)] = manager.messages("IN.BOQ")
    assert (md["MsgId"], md["CorrelId"], md["ReplyToQ"].strip(), body) == (bad, b"c" * 24, b"REPLIES", b"bad one")
    assert manager.depth("IN") == 0
    assert manager.bodies("OUT") == [b"good"], "what a failed delivery put is undone"
    assert (handled[0].msg_id, manager.depth(DLQ), manager.depth("REPLIES")) == (good, 0, 0)


@pytest.mark.parametrize(("before", "delivered"), [(2, [b"bad"]), (3, []), (4, [])])
def test_P08_a_message_at_the_threshold_is_not_delivered_once_more(manager, marking, before, delivered):
    manager.put("IN", [({}, b"bad")])
    manager.back_out("IN", before)
    got = []
    with manager.connected() as connection, PoisonAwareConsumer(connection, "IN") as consumer:

        def fail(delivery: Delivery) -> None:
            got.append(delivery.body)
            raise Broken

        handled = list(consumer.run(fail))
    assert got == delivered
    assert [(one.what, one.backout_count) for one in handled] == [("requeued", max(3, before))]
    assert manager.bodies("IN.BOQ") == [b"bad"]


def test_P08_context_is_passed(manager, marking):
    manager.put(
        "IN",
        [({"UserIdentifier": "alice", "PutApplName": "till", "PutDate": "20260102", "PutTime": "03040506"}, b"bad")],
        options=CMQC.MQOO_SET_ALL_CONTEXT,
    )
    consume(manager)
    [(md, _body)] = manager.messages("IN.BOQ")
    assert [md[name].strip() for name in ("UserIdentifier", "PutApplName", "PutDate", "PutTime")] == [
        *(b"alice", b"till", b"20260102", b"03040506")
    ]


def test_P13_threshold_zero_leaves_the_message(manager, marking):
    manager.mqsc("ALTER QLOCAL(IN) BOTHRESH(0)")
    manager.put("IN", [({}, b"bad")])
    with manager.connected() as connection, PoisonAwareConsumer(connection, "IN") as consumer:

        def fail(_delivery: Delivery) -> None:
            raise Broken

        handled = [consumer.consume(fail) for _ in range(7)]
    assert [one.backout_count for one in handled if one] == [1, 2, 3, 4, 5, 6, 7]
    assert manager.bodies("IN") == [b"bad"]
    assert manager.depth("IN.BOQ") == manager.depth(DLQ) == 0


@pytest.mark.parametrize(
    ("mqsc", "reason"),
    [
        ("ALTER QLOCAL(IN) BOQNAME(' ')", 2362),  # none defined
        ("ALTER QLOCAL(IN) BOQNAME(IN)", 2362),  # itself: the message would begin again
        ("ALTER QLOCAL(IN) BOQNAME(NO.SUCH.QUEUE)", 2085),
        ("ALTER QLOCAL(IN.BOQ) PUT(DISABLED)", 2051),
        ("ALTER QLOCAL(IN.BOQ) MAXMSGL(2)", 2030),
        ("ALTER QLOCAL(IN.BOQ) MAXDEPTH(0)", 2053),
    ],
)
def test_P09_requeue_fails_so_it_is_dead_lettered(manager, marking, mqsc, reason):
    manager.mqsc(mqsc)
    [msg_id] = manager.put("IN", [({"Format": "MQSTR", "CodedCharSetId": 819, "Encoding": 273}, b"bad")])
    handled = consume(manager)
    assert (handled[-1].what, handled[-1].reason, handled[-1].queue) == ("dead-lettered", reason, DLQ)
    [(md, body)] = manager.messages(DLQ)
    dlh = header(body)
    assert (dlh.reason, dlh.dest_q_name, dlh.dest_q_mgr_name) == (reason, "IN", "QM1")
    assert (dlh.format, dlh.encoding, dlh.coded_char_set_id) == ("MQSTR", 273, 819)
    assert dlh.put_appl_name == "mqops consumer"
    assert (dlh.put_date + dlh.put_time).isdigit()
    assert (len(dlh.put_date), len(dlh.put_time)) == (8, 8)
    assert (md["MsgId"], md["Format"].strip(), body[172:]) == (msg_id, b"MQDEAD", b"bad")
    assert manager.depth("IN") == manager.depth("IN.BOQ") == manager.depth("OUT") == 0


def test_P09_discarded_where_the_report_options_say_so(manager, marking):
    manager.mqsc("ALTER QLOCAL(IN) BOQNAME(' ')")
    report = CMQC.MQRO_DISCARD_MSG | CMQC.MQRO_EXCEPTION
    [msg_id] = manager.put("IN", [({"Report": report, "ReplyToQ": "REPLIES"}, b"bad")])
    assert consume(manager)[-1].what == "discarded"
    assert [manager.depth(queue) for queue in ("IN", "IN.BOQ", DLQ, "OUT")] == [0, 0, 0, 0]
    [(md, body)] = manager.messages("REPLIES")
    assert (md["MsgType"], md["Feedback"], md["CorrelId"], body) == (CMQC.MQMT_REPORT, 2362, msg_id, b"")


@pytest.mark.parametrize(
    ("report", "length"),
    [
        (CMQC.MQRO_EXCEPTION, 0),
        (CMQC.MQRO_EXCEPTION_WITH_DATA, 100),
        (CMQC.MQRO_EXCEPTION_WITH_FULL_DATA, 303),
    ],
)
def test_P09_exception_report_with_the_data_asked_for(manager, marking, report, length):
    manager.mqsc("ALTER QLOCAL(IN) BOQNAME(NO.SUCH.QUEUE)")
    fields = {"Report": report, "ReplyToQ": "REPLIES", "Format": "MQSTR"}
    [msg_id] = manager.put("IN", [(fields, b"bad" + b"x" * 300)])
    consume(manager)
    [(md, body)] = manager.messages("REPLIES")
    assert (md["Feedback"], len(body), md["CorrelId"]) == (2085, length, msg_id)
    assert md["MsgId"] != msg_id
    assert md["Persistence"] == CMQC.MQPER_PERSISTENT
    assert manager.depth(DLQ) == 1


def test_P09_report_passes_the_identifiers_asked_for(manager, marking):
    manager.mqsc("ALTER QLOCAL(IN) BOQNAME(' ')")
    report = CMQC.MQRO_EXCEPTION | CMQC.MQRO_PASS_MSG_ID | CMQC.MQRO_PASS_CORREL_ID
    [msg_id] = manager.put("IN", [({"Report": report, "ReplyToQ": "REPLIES", "CorrelId": b"c" * 24}, b"bad")])
    consume(manager)
    [(md, _body)] = manager.messages("REPLIES")
    assert (md["MsgId"], md["CorrelId"]) == (msg_id, b"c" * 24)


def test_P09_no_report_unless_asked_and_a_report_that_cannot_be_sent_is_dead_lettered(manager, marking):
    manager.mqsc("ALTER QLOCAL(IN) BOQNAME(' ')")
    exception = CMQC.MQRO_EXCEPTION
    manager.put(
        "IN",
        [
            ({"ReplyToQ": "REPLIES"}, b"bad 1"),
            ({"ReplyToQ": "GONE", "Report": exception}, b"bad 2"),
            ({"ReplyToQ": "GONE", "Report": exception, "Persistence": 0}, b"bad 3"),
        ],
    )
    consume(manager)
    assert manager.depth("REPLIES") == 0
    found = [(header(body).reason, header(body).dest_q_name, body[172:]) for _md, body in manager.messages(DLQ)]
    assert sorted(found) == [(2085, "GONE", b""), *((2362, "IN", b"bad %d" % n) for n in (1, 2, 3))]


@pytest.mark.parametrize("queue", ["MQOPS.LEDGER", "INNOCENT", "PRIVATE", "TRANSMIT", b"\xff" * 48])
def test_P09_no_report_goes_where_the_putter_may_not_put(manager, marking, queue):
    manager.mqsc(
        "ALTER QLOCAL(IN) BOQNAME(' ')\nDEFINE QALIAS(INNOCENT) TARGET(MQOPS.LEDGER)\nDEFINE QLOCAL(PRIVATE)\n"
        "DEFINE QLOCAL(TRANSMIT) USAGE(XMITQ)\n"
    )
    report = CMQC.MQRO_EXCEPTION_WITH_FULL_DATA
    asks = {"Report": report, "ReplyToQ": queue, "UserIdentifier": "clerk"}
    manager.put("IN", [(asks, b"bad forged")], options=CMQC.MQOO_SET_ALL_CONTEXT)
    assert whats(consume(manager))["dead-lettered"] == 1
    assert [manager.depth(name) for name in ("MQOPS.LEDGER", "PRIVATE", "TRANSMIT")] == [0, 0, 0]
    dead = [body for md, body in manager.messages(DLQ) if md["MsgType"] == CMQC.MQMT_REPORT]
    name = queue if isinstance(queue, bytes) else queue.encode()
    assert [body[12:60].rstrip() for body in dead] == [name]


def test_K08_nothing_takes_it_so_it_stays(manager, marking):
    manager.mqsc(f"ALTER QLOCAL(IN) BOQNAME(' ')\nALTER QLOCAL({DLQ}) PUT(DISABLED)")
    manager.put("IN", [({}, b"bad"), ({}, b"good")])
    with pytest.raises(PoisonStuck, match=r"MQRC_BACKOUT_THRESHOLD_REACHED.*MQRC_PUT_INHIBITED"):
        consume(manager)
    assert sorted(manager.bodies("IN")) == [b"bad", b"good"]
    manager.mqsc("ALTER QMGR DEADQ(' ')")
    with pytest.raises(PoisonStuck, match="no dead-letter queue"):
        consume(manager)
    manager.mqsc(f"ALTER QMGR DEADQ({DLQ})\nALTER QLOCAL({DLQ}) PUT(ENABLED)")
    handled = consume(manager)
    assert whats(handled) == {"dead-lettered": 1, "done": 1}
    assert [one.error for one in handled] == [None, None], "at the threshold it is not delivered again"


def test_P08_limits_of_the_base_queue_count_behind_an_alias(manager, marking):
    manager.put("IN.ALIAS", [({}, b"bad")])
    assert consume(manager, "IN.ALIAS")[-1].what == "requeued"
    assert manager.bodies("IN.BOQ") == [b"bad"]


def test_K07_same_message_is_found_again_among_its_twins(manager, marking):
    same = {"MsgId": b"m" * 24, "CorrelId": b"c" * 24}
    manager.put("IN", [(same, b"good 1"), (same, b"bad"), (same, b"good 2")])
    handled = consume(manager)
    assert whats(handled) == {"done": 2, "redelivered": 2, "requeued": 1}
    assert manager.bodies("IN.BOQ") == [b"bad"]
    assert sorted(manager.bodies("OUT")) == [b"good 1", b"good 2"]


def test_K07_a_twin_that_another_application_backs_out_meanwhile_is_not_taken_for_the_message(manager, marking):
    same = {"MsgId": b"m" * 24, "CorrelId": b"c" * 24}
    manager.mqsc("ALTER QLOCAL(IN) SHARE DEFSOPT(SHARED)")
    manager.put("IN", [(same, b"twin")])
    manager.back_out("IN", 2)
    manager.put("IN", [(same, b"bad")])
    with manager.connected() as others, manager.connected() as connection:
        other = pymqi.Queue(others, "IN", CMQC.MQOO_INPUT_SHARED)
        other.get(None, pymqi.MD(), pymqi.GMO(Options=CMQC.MQGMO_SYNCPOINT))
        with PoisonAwareConsumer(connection, "IN") as consumer:

            def fail(delivery: Delivery) -> None:
                if delivery.md.backout_count == 2:
                    others.backout()
                raise Broken

            handled = [consumer.consume(fail) for _ in range(3)]
        other.close()
    assert [one.what for one in handled if one] == ["redelivered", "redelivered", "requeued"]
    assert (manager.bodies("IN.BOQ"), manager.bodies("IN")) == ([b"bad"], [b"twin"])


def test_E11_remaining_expiry_goes_along_less_the_time_the_application_had_the_message(manager, marking):
    manager.put("IN", [({"Expiry": 36000}, b"bad")])
    had = []
    with manager.connected() as connection, PoisonAwareConsumer(connection, "IN") as consumer:

        def fail(delivery: Delivery) -> None:
            had.append(delivery.md.expiry)
            let_expire(3)
            raise Broken

        assert list(consumer.run(fail))[-1].what == "requeued"
    [(md, _body)] = manager.messages("IN.BOQ")
    assert had[-1] - 50 <= md["Expiry"] <= had[-1] - 3


def test_E11_a_lifetime_that_ran_out_while_the_application_had_the_message_leaves_it_a_tenth_of_a_second(
    manager, marking, monkeypatch
):
    """An Expiry of 0 is MQRC_EXPIRY_ERROR (E01): the message could be put nowhere. Without the mark the message is on
    its queue again before it is disposed of, and expires there (E09)."""
    manager.mqsc("ALTER QLOCAL(IN) BOTHRESH(1)")
    manager.put("IN", [({"Expiry": 6000}, b"bad")])
    with manager.connected() as connection, PoisonAwareConsumer(connection, "IN") as consumer:

        def fail(_delivery: Delivery) -> None:
            measured = time.monotonic
            time_goes_by(monkeypatch, 6000)
            monkeypatch.setattr(time, "monotonic", lambda: measured() + 600.1)
            raise Broken

        handled = consumer.consume(fail)
    assert handled is not None
    expected = ("requeued", "IN.BOQ", 0) if marking == "mark" else ("elsewhere", "", 0)
    assert (handled.what, handled.queue, handled.reason) == expected


@pytest.mark.parametrize(
    ("expiry", "retained", "left"), [(50, 3, 47), (50, 0, 50), (50, 50, 1), (50, 999, 1), (-1, 9, -1)]
)
def test_E11_the_rest_of_a_lifetime_is_never_zero(expiry, retained, left):
    assert MQMD.unpack(aged(MQMD(expiry=expiry).pack(), retained)).expiry == left


def test_no_handle_stays_open_behind_a_poison_message(manager, marking):
    """At MAXHANDS the application would get MQRC_HANDLE_NOT_AVAILABLE."""
    manager.mqsc("ALTER QLOCAL(IN) BOTHRESH(1)")
    to = {"requeued": "IN.BOQ", "dead-lettered": DLQ}
    for what, queue in to.items():
        manager.put("IN", [({"Report": CMQC.MQRO_EXCEPTION, "ReplyToQ": "REPLIES"}, b"bad")] * 2)
        with manager.connected() as connection, PoisonAwareConsumer(connection, "IN") as consumer:

            def fail(_delivery: Delivery) -> None:
                raise Broken

            assert [one.what for one in consumer.run(fail)] == [what] * 2
            for name in (queue, "REPLIES"):
                opened = pymqi.Queue(connection, name, CMQC.MQOO_INQUIRE)
                assert opened.inquire(CMQC.MQIA_OPEN_OUTPUT_COUNT) == 0, name
                opened.close()
        manager.mqsc("ALTER QLOCAL(IN) BOQNAME(' ')")


def test_interrupted_application_loses_nothing(manager, marking):
    manager.put("IN", [({}, b"bad")])
    with manager.connected() as connection, PoisonAwareConsumer(connection, "IN") as consumer:

        def interrupt(_delivery: Delivery) -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            consumer.consume(interrupt)
    [(md, body)] = manager.messages("IN")
    assert (md["BackoutCount"], body) == (1, b"bad")


def test_K03_message_survives_a_failure_between_the_two_units_of_work(manager, marking):
    """MQDISC commits: what the consumer still holds then would be gone."""
    manager.mqsc("ALTER QMGR MAXHANDS(9)")
    manager.put("IN", [({}, b"bad")])
    with manager.connected() as connection, PoisonAwareConsumer(connection, "IN") as consumer:

        def exhaust(_delivery: Delivery) -> None:
            with pytest.raises(pymqi.MQMIError):
                held.extend(iter(lambda: pymqi.Queue(connection, "OUT", CMQC.MQOO_OUTPUT), None))
            raise Broken

        held: list[Any] = []
        with pytest.raises(MQError, match="MQRC_HANDLE_NOT_AVAILABLE"):
            consumer.consume(exhaust)
    [(md, body)] = manager.messages("IN")
    assert (md["BackoutCount"], body) == (1, b"bad")


def test_unknown_queue_is_told(manager):
    with manager.connected() as connection, pytest.raises(Exception, match=r"NO\.SUCH\.QUEUE failed: MQRC_UNKNOWN"):
        PoisonAwareConsumer(connection, "NO.SUCH.QUEUE")


def test_P08_P09_five_percent_poison_and_a_backout_queue_that_fills_up(manager, marking):
    """The proof of issue 5; MQOPS_CONSUMER_MESSAGES=5000 is its full size."""
    poison = MESSAGES // 20
    room = poison // 2
    manager.mqsc(f"ALTER QLOCAL(IN.BOQ) MAXDEPTH({room})")
    bodies = [b"%s %06d" % (b"bad" if number % 20 == 7 else b"good", number) for number in range(MESSAGES)]
    manager.put("IN", [({}, body) for body in bodies])
    handled = consume(manager)
    bad, good = [b for b in bodies if failing(b)], [b for b in bodies if not failing(b)]
    assert whats(handled) == {
        "done": len(good),
        "redelivered": 2 * poison,
        "requeued": room,
        "dead-lettered": poison - room,
    }
    dead = manager.bodies(DLQ)
    assert manager.bodies("OUT") == good
    assert manager.bodies("IN.BOQ") == bad[:room]
    assert [body[172:] for body in dead] == bad[room:]
    assert {header(body).reason for body in dead} == {CMQC.MQRC_Q_FULL}
    assert manager.depth("IN") == 0


def consume_and_kill(manager: Manager, errors: Path, kills: int, seed: int, most: int) -> int:
    """Run the program until it ends by itself, and have it killed so often before: after some deliveries, at most
    `most`, and by turns between its put of a poisonous message and the commit. No good message is in two killed units
    of work. Gives the number of kills.

    Parameters: `errors` the file for what the program writes on standard error.
    """
    chosen, done = random.Random(seed), 0
    command = [sys.executable, str(PROGRAM), manager.name, "IN", "OUT"]
    while True:
        with (
            errors.open("wb") as file,
            subprocess.Popen(
                [*command, *(["DIE"] if done < kills and done % 2 else [])],
                env=manager.environment,
                stdout=subprocess.PIPE,
                stderr=file,
            ) as one,
        ):
            assert one.stdout is not None
            last = chosen.randint(2, most) if done < kills and not done % 2 else 0
            for number, _line in enumerate(one.stdout, 1):
                if number == last:
                    one.kill()
                    break
            if one.wait() == 0:
                return done
            done += 1
            assert one.returncode == -signal.SIGKILL, errors.read_text()


@pytest.mark.parametrize("marking", MARKINGS, indirect=True)
def test_P08_P09_a_consumer_that_is_killed_leaves_each_message_in_exactly_one_place(manager, marking, tmp_path):
    """5 % of the messages are poison, BOTHRESH is 3, the backout queue fills up half-way, and what is put back too
    often goes to quarantine. MQOPS_CONSUMER_MESSAGES=50000 is the full size."""
    poison = MESSAGES // 20
    room, kills = poison // 2, max(2, MESSAGES // 1000)
    manager.mqsc(f"ALTER QLOCAL(IN.BOQ) MAXDEPTH({room})\nDEFINE QLOCAL(MQOPS.QUARANTINE) MAXDEPTH(100000)")
    manager.mqsc("ALTER QLOCAL(MQOPS.LEDGER) SHARE DEFSOPT(SHARED)")  # as `mqops init` has it: not so on z/OS
    bodies = [b"%s %06d" % (b"bad" if number % 20 == 7 else b"good", number) for number in range(MESSAGES)]
    stays = {body for number, body in enumerate(filter(failing, bodies)) if number % 3 == 0}
    manager.put("IN", [({"Format": "STAYS"} if body in stays else {}, body) for body in bodies])
    assert consume_and_kill(manager, tmp_path / "errors", kills, MESSAGES, MESSAGES // kills) == kills
    assert (manager.depth("IN"), manager.depth("IN.BOQ"), manager.depth(DLQ)) == (0, room, poison - room)
    summaries = []
    for _ in range(2):  # the first puts back, and all fail again; the second finds that they came again
        text = "FORMAT(STAYS) ACTION(IGNORE)\nACTION(RETRY)"
        table = parse(text, origins=True).table
        assert table
        asked = BackoutRequest(
            connection=manager.connection, lake=tmp_path / "lake", table=table, text=text, replay_cap=1, origins=()
        )
        summaries.append(carry_out(BACKOUT, asked, *plan_run(BACKOUT, asked)))
        assert consume_and_kill(manager, tmp_path / "errors", min(1, manager.depth("IN")), 7, 2) <= 1
    ends = {queue: manager.bodies(queue) for queue in ("IN", "OUT", "IN.BOQ", "MQOPS.QUARANTINE")}
    ends[DLQ] = [body[MQDLH_LAYOUT.size :] for body in manager.bodies(DLQ)]
    assert sorted(body for found in ends.values() for body in found) == sorted(bodies), "each once"
    assert (ends["IN"], sorted(ends["OUT"])) == ([], sorted(body for body in bodies if not failing(body)))
    assert set(ends["IN.BOQ"]) <= stays
    assert not stays & {*ends["MQOPS.QUARANTINE"]}
    assert [len(ends[queue]) for queue in ("IN.BOQ", "MQOPS.QUARANTINE", DLQ)] == [
        *(summaries[0].left, room - summaries[0].left, poison - room),
    ]
    assert all(ends.pop(queue) for queue in ("OUT", "IN.BOQ", "MQOPS.QUARANTINE", DLQ)), "each way was gone"
    assert [(one.moved, one.balanced) for one in summaries] == [(room - summaries[0].left, True)] * 2


def test_K07_the_option_is_asked_for_until_it_is_refused(manager, marking):
    with manager.connected() as connection, PoisonAwareConsumer(connection, "IN") as consumer:
        assert consumer.marks
        assert consumer.consume(lambda _delivery: None) is None
        assert consumer.marks is (marking == "mark")
    assert not GET_OPTIONS & CMQC.MQGMO_MARK_SKIP_BACKOUT
