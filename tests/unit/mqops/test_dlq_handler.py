"""`mqops dlq run` as runmqdlq: WAIT and RETRYINT of the table, signals, the kill switch, the messages it prints."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from shutil import rmtree
from types import SimpleNamespace
from typing import Any

import commands
import pyarrow.parquet as pq
import pymqi
import pytest
from act_support import send_back, taken
from click.testing import CliRunner
from mq_support import DLQ, Manager, dead_letter
from pymqi import CMQC

from mqops.cli import amq, main
from mqops.decide.core.pacing import Pacing
from mqops.deciders.dead_letters import DeadLetterRequest
from mqops.deciders.handler import Handler
from mqops.errors import mq_error
from mqops.lake.files import size_of
from mqops.lake.parquet import read_parquet
from mqops.lake.run import RunFolder
from mqops.lake.stop import Stop, stop
from mqops.ledger.core.marker import Marker
from mqops.ledger.file import LedgerFile
from mqops.observe.arrivals import ArrivalWatch
from mqops.observe.unchanged import _worth_it
from mqops.rules import parse

RETRY = "ACTION(RETRY)\n"
SHUT = "DEFINE QLOCAL(SHUT) PUT(DISABLED)\n"


@pytest.fixture
def manager(queue_manager) -> Manager:
    return queue_manager(mqsc=f"DEFINE QLOCAL(A)\nDEFINE QLOCAL(DEAD)\nDEFINE QLOCAL(SHORT) MAXMSGL(10)\n{SHUT}")


class Invocation:
    """A `mqops dlq run` under way, and what it has said so far."""

    def __init__(self, manager: Manager, folder: Path, table: str, *options: str, queue: str = DLQ) -> None:
        self.lake = folder / "lake"
        rules = folder / "table.rules"
        rules.write_text(table)
        self.said, self.errors = folder / "out", folder / "err"
        environment = {**os.environ, **manager.environment, "MQOPS_LAKE": str(self.lake)}
        command = [sys.executable, "-m", "mqops.cli", "dlq", "run", queue, "QM1", "--rules", str(rules), *options]
        with self.said.open("w") as said, self.errors.open("w") as stderr:
            self.process = commands.Command(command, env=environment, stdout=said, stderr=stderr)

    @property
    def out(self) -> str:
        return self.said.read_text()

    @property
    def err(self) -> str:
        return self.errors.read_text()

    @property
    def runs(self) -> list[str]:
        return sorted(path.name for path in self.lake.glob("QM1/runs/*"))

    def until(self, condition: Callable[[], Any]) -> None:
        """Wait for a condition while it is at work."""
        end = time.monotonic() + 60
        while not condition():
            assert self.process.poll() is None, self.err
            assert time.monotonic() < end, self.err
            time.sleep(0.02)

    def until_it_waits(self) -> None:
        self.until(lambda: "AMQ8708" in self.err)

    def ended(self, code: int = 0) -> str:
        """Wait for its end; gives what it said on standard error."""
        assert self.process.wait(60) == code, self.err
        return self.err

    def texts(self, number: int) -> list[str]:
        """What it said under an AMQ number."""
        return re.findall(rf"^\d\d/\d\d/\d\d  \d\d:\d\d:\d\d  AMQ{number}: (.*)$", self.err, re.MULTILINE)


@pytest.fixture
def started(manager, tmp_path) -> Iterator[Callable[..., Invocation]]:
    all_of_them = []

    def start(table: str, *options: str, **more: str) -> Invocation:
        all_of_them.append(Invocation(manager, tmp_path, table, *options, **more))
        return all_of_them[-1]

    yield start
    for one in all_of_them:
        one.process.kill()
        one.process.wait()


def test_wait_no_ends_when_nothing_is_left_to_do_and_an_empty_queue_makes_no_run(manager, started):
    empty = started(f"WAIT(NO)\n{RETRY}")
    empty.ended()
    assert empty.out == f"nothing to do: {DLQ} of QM1 is empty\n"
    assert empty.runs == []
    texts = [text for number in (8708, 8709) for text in empty.texts(number)]
    assert texts == [
        f"the dead-letter queue handler has started to process INPUTQ({DLQ}) of QM1 (WAIT(NO))",
        "the dead-letter queue handler ends: WAIT(NO)",
    ]
    manager.put(DLQ, [dead_letter("A", b"x"), dead_letter("NOWHERE", b"y")])
    busy = started("WAIT(NO)\nDESTQ(A) ACTION(RETRY)\n", "--json")
    busy.ended()
    (summary,) = map(json.loads, busy.out.splitlines())
    assert (summary["moved"], summary["left"]) == (1, 1)
    assert len(busy.runs) == 1  # what is ignored is no reason for another


def test_an_empty_queue_is_a_summary_of_zeros_with_json(started):
    done = started(RETRY, "--once", "--json")
    done.ended()
    document = json.loads(done.out)
    assert (document["queue"], document["queue_manager"], document["planned"], document["balanced"]) == (
        DLQ,
        "QM1",
        0,
        True,
    )
    assert done.runs == []


def test_D02_D03_a_message_goes_through_its_tries_to_the_next_rule_in_one_invocation(manager, started):
    manager.put(DLQ, [dead_letter("SHUT", b"x"), dead_letter("SHUT", b"y")])
    table = "RETRYINT(1) WAIT(NO)\nDESTQ(SHUT) ACTION(RETRY) RETRY(3)\nACTION(FWD) FWDQ(DEAD) HEADER(NO)\n"
    begun = time.monotonic()
    done = started(table, "--json")
    done.ended()
    assert time.monotonic() - begun >= 3  # three intervals between four passes
    assert manager.bodies("DEAD") == [b"x", b"y"]
    summaries = [json.loads(line) for line in done.out.splitlines()]
    assert [(one["failed"], one["moved"]) for one in summaries] == [(2, 0), (2, 0), (2, 0), (0, 2)]
    assert [one["run"] for one in summaries] == done.runs
    failure = "2 messages could not be put on SHUT@QM1 by the rule at line 2: MQRC_PUT_INHIBITED (2051); the next try"
    assert done.texts(8722) == [f"{failure} is in 1 s"] * 3


def test_wait_no_ends_where_no_try_is_left(manager, started):
    manager.put(DLQ, [dead_letter("SHUT", b"x")])
    done = started(f"RETRYINT(600) WAIT(NO)\n{RETRY}")
    assert "raise RETRY of the rule whose tries are used up" in done.ended(1)
    (failure,) = done.texts(8722)
    assert failure.endswith("MQRC_PUT_INHIBITED (2051); no try is left, they stay on the queue")
    assert manager.depth(DLQ) == 1


def test_a_try_is_told_of_where_one_is_left_whatever_stands_behind(manager, started):
    key = {"CorrelId": b"k".ljust(24, b"\0")}
    manager.put(DLQ, [dead_letter("SHORT", body, **key) for body in (b"x" * 11, b"2", b"3")])
    manager.put(DLQ, [dead_letter("SHUT", b"x")])
    rules = "DESTQ(SHORT) ACTION(RETRY) ORDER(CORRELID)\nDESTQ(SHUT) ACTION(RETRY) RETRY(2)\n"
    done = started(f"* MQOPS EXTENSIONS\n{rules}", "--once")
    done.ended(1)
    assert "       2  left: behind a message that failed" in done.out
    assert [text.split("; ", 1)[1] for text in done.texts(8722)] == [
        "no try is left, they stay on the queue",
        "start the handler again for the next try",
    ]


def test_wait_n_ends_so_many_seconds_after_the_last_message(manager, started):
    manager.put(DLQ, [dead_letter("A", b"x")])
    handler = started(f"WAIT(2)\n{RETRY}")
    handler.ended()
    (run,) = handler.lake.glob("QM1/runs/*")
    assert time.time() - (run / "summary.json").stat().st_mtime >= 2  # it waits from when the message was dealt with
    assert manager.bodies("A") == [b"x"]


def test_D13_wait_yes_deals_with_what_arrives_until_sigterm(manager, started):
    manager.mqsc(f"ALTER QLOCAL({DLQ}) MSGDLVSQ(PRIORITY)\n")
    manager.put(DLQ, [dead_letter("NOWHERE", b"stays", Priority=3)])
    handler = started("RETRYINT(5)\nDESTQ(A) ACTION(RETRY)\n")
    handler.until(lambda: handler.out)
    for number, priority in enumerate((0, 9), start=1):  # behind what is ignored, and before it
        manager.put(DLQ, [dead_letter("A", b"%d" % number, Priority=priority)])
        handler.until(lambda number=number: handler.out.count("balances") == number + 1)
    assert sorted(manager.bodies("A")) == [b"1", b"2"]
    handler.process.send_signal(signal.SIGTERM)
    handler.ended()
    assert handler.texts(8709) == [
        "the dead-letter queue handler ends: SIGTERM came; what is left is where it was, start it again to go on"
    ]
    assert len(handler.runs) == 3


@pytest.mark.parametrize("queue", [DLQ, "DLQ.ALIAS"])
def test_a_message_before_others_is_seen_long_before_retryint(manager, started, queue):
    """The queue is deeper: it was put outside syncpoint, so that nobody sees its depth before it."""
    manager.mqsc(f"ALTER QLOCAL({DLQ}) MSGDLVSQ(PRIORITY)\nDEFINE QALIAS(DLQ.ALIAS) TARGET({DLQ})\n")
    manager.put(DLQ, [dead_letter("NOWHERE", b"stays", Priority=3)])
    handler = started("RETRYINT(900)\nDESTQ(A) ACTION(RETRY)\n", queue=queue)
    handler.until(lambda: "balances" in handler.out)
    _fields, body = dead_letter("A", b"x")
    with manager.connected() as connection:
        md = pymqi.MD(Format=CMQC.MQFMT_DEAD_LETTER_HEADER, Priority=9)
        pymqi.Queue(connection, DLQ, CMQC.MQOO_OUTPUT).put(body, md)
    handler.until(lambda: handler.out.count("balances") == 2)
    assert manager.bodies("A") == [b"x"]


def test_ctrl_c_ends_a_wait_for_the_next_try(manager, started):
    manager.put(DLQ, [dead_letter("SHUT", b"x")])
    handler = started("RETRYINT(900)\nACTION(RETRY) RETRY(9)\n")
    handler.until(lambda: "AMQ8722" in handler.err)
    handler.process.send_signal(signal.SIGINT)
    assert "SIGINT came" in handler.ended()


LATER = "  no rule: LATER: 0 moved, 0 discarded, {0} left, 0 gone"


def failed_tries(handler: Invocation) -> list[Marker]:
    return list(LedgerFile(handler.lake / "QM1", str).markers(kind="failed"))


def test_what_comes_while_a_try_is_to_be_repeated_is_dealt_with_at_once(manager, started):
    manager.put(DLQ, [dead_letter("SHUT", b"waits")])
    handler = started("RETRYINT(900)\nDESTQ(SHUT) ACTION(RETRY) RETRY(5)\nACTION(FWD) FWDQ(A) HEADER(NO)\n")
    handler.until(lambda: "balances" in handler.out)
    for number in (1, 2):
        manager.put(DLQ, [dead_letter("NOWHERE", b"%d" % number)])
        handler.until(lambda number=number: handler.out.count("balances") == number + 1)
    assert manager.bodies("A") == [b"1", b"2"]
    assert handler.out.count(LATER.format(1)) == 2
    first = re.findall(r"left \(LATER\): the first such try is at (\S+)\n", handler.out)
    assert len(set(first)) == 1
    assert 800 < (datetime.fromisoformat(first[0]) - datetime.now(UTC)).total_seconds() < 900
    assert len(handler.texts(8722)) == len(failed_tries(handler)) == 1
    handler.process.send_signal(signal.SIGTERM)
    handler.ended()
    assert len(handler.runs) == 3


def test_no_try_is_used_up_sooner_whatever_comes(manager, started):
    table = "RETRYINT(3) WAIT(NO)\nDESTQ(SHUT) ACTION(RETRY) RETRY(2)\nACTION(FWD) FWDQ(DEAD) HEADER(NO)\n"
    manager.put(DLQ, [dead_letter("SHUT", b"first")])
    handler = started(table)
    handler.until(lambda: "balances" in handler.out)
    manager.put(DLQ, [dead_letter("SHUT", b"second")])  # its own tries come later than those of the first
    handler.ended()
    assert manager.bodies("DEAD") == [b"first", b"second"]
    times: dict[str, list[datetime]] = {}
    for marker in failed_tries(handler):
        for row in marker.rows:
            times.setdefault(row[1], []).append(datetime.fromisoformat(marker.at))
    assert [len(of_one) for of_one in times.values()] == [2, 2]
    assert all((later - sooner).total_seconds() >= 3 for sooner, later in times.values())


def test_what_waits_for_its_next_try_keeps_its_order(manager, started):
    same, other = ({"CorrelId": name.ljust(24, b"\0")} for name in (b"same", b"other"))
    manager.put(DLQ, [dead_letter("SHORT", b"too long" * 2, **same)])
    handler = started("* MQOPS EXTENSIONS\nRETRYINT(900)\nACTION(RETRY) RETRY(5) ORDER(CORRELID)\n")
    handler.until(lambda: "balances" in handler.out)
    manager.put(DLQ, [dead_letter("SHORT", b"behind", **same), dead_letter("SHORT", b"free", **other)])
    handler.until(lambda: handler.out.count("balances") == 2)
    assert manager.bodies("SHORT") == [b"free"]
    assert LATER.format(1) in handler.out
    assert "  line 3: BEHIND: 0 moved, 0 discarded, 1 left, 0 gone" in handler.out


def test_a_group_waits_as_a_whole(manager, started):
    def of_group(seq: int) -> tuple[dict[str, Any], bytes]:
        ids = {"GroupId": b"g".ljust(24, b"\0"), "MsgSeqNumber": seq, "MsgFlags": CMQC.MQMF_MSG_IN_GROUP}
        return dead_letter("SHUT", b"%d" % seq, **ids)

    manager.put(DLQ, [of_group(1), of_group(2)])
    handler = started("RETRYINT(900)\nDESTQ(SHUT) ACTION(RETRY) RETRY(5)\nACTION(FWD) FWDQ(A) HEADER(NO)\n")
    handler.until(lambda: "balances" in handler.out)
    manager.put(DLQ, [of_group(3), dead_letter("NOWHERE", b"x")])
    handler.until(lambda: manager.bodies("A"))
    handler.until(lambda: handler.out.count("balances") == 2)
    assert LATER.format(3) in handler.out
    assert "SPLIT" not in handler.out
    assert len(failed_tries(handler)) == 1


def test_a_message_that_is_one_that_waits_waits_too_and_another_with_its_ids_does_not(manager, started):
    at = {"PutDate": b"20260102", "PutTime": b"03040506"}
    ids = {"MsgId": b"m".ljust(24, b"\0"), "CorrelId": b"c".ljust(24, b"\0"), **at}
    table = "RETRYINT(900)\nDESTQ(SHUT) ACTION(RETRY) RETRY(5)\nACTION(FWD) FWDQ(A) HEADER(NO)\n"

    def put(dest_q: str) -> None:
        manager.put(DLQ, [dead_letter(dest_q, b"x", **ids)], options=CMQC.MQOO_SET_ALL_CONTEXT)

    put("SHUT")
    handler = started(table)
    handler.until(lambda: "balances" in handler.out)
    put("SHUT")
    handler.until(lambda: handler.out.count("balances") == 2)
    assert LATER.format(2) in handler.out
    put("NOWHERE")
    handler.until(lambda: manager.bodies("A"))
    handler.until(lambda: handler.out.count("balances") == 3)
    assert len(failed_tries(handler)) == 1
    assert len(handler.runs) == 3


def test_law1_sigterm_ends_a_pass_behind_its_unit_of_work(manager, started, tmp_path):
    bodies = [b"%02d" % number for number in range(60)]
    manager.put(DLQ, [dead_letter("A", body) for body in bodies])
    handler = started(f"WAIT(NO)\n{RETRY}", "--unit-size", "1", "--pace", "10", "--json")
    handler.until(lambda: manager.depth("A") > 2)
    handler.process.send_signal(signal.SIGTERM)
    err = handler.ended(1)  # messages that were to go have not gone
    summary = json.loads(handler.out)
    assert 2 < summary["moved"] < 60
    assert (summary["finished"], summary["balanced"]) == (False, True)
    assert manager.bodies("A") == bodies[: summary["moved"]]
    assert f"mqops: SIGTERM: `mqops resume {summary['run']} --finish` does the rest" in err
    again = started(f"WAIT(NO)\n{RETRY}")
    assert f"run {summary['run']} was begun and is not finished. To finish it: `mqops resume" in again.ended()
    assert manager.bodies("A") == bodies


def test_the_kill_switch_ends_a_wait(manager, started):
    handler = started(RETRY)
    handler.until_it_waits()
    environment = {**os.environ, **manager.environment, "MQOPS_LAKE": str(handler.lake)}
    commands.run([sys.executable, "-m", "mqops.cli", "stop", "-m", "QM1"], env=environment, check=True)
    last = handler.ended(1).splitlines()[-1]
    assert last.startswith("mqops: All acting on QM1 was stopped by ")
    assert last.endswith("To go on: `mqops resume -m QM1`, and start the handler again")
    assert handler.runs == []


def test_D05_messages_without_an_mqdlh_are_told_of_at_each_retryint(manager, started):
    ids = manager.put(DLQ, [({}, b"no header %d" % number) for number in range(7)])
    handler = started(f"RETRYINT(1)\n{RETRY}")
    handler.until(lambda: len(handler.texts(8721)) >= 15)
    handler.process.send_signal(signal.SIGTERM)
    handler.ended()
    named = re.findall(r"message (\w+) on", "\n".join(handler.texts(8721)))
    assert named[:5] == named[5:10] == [msg_id.hex() for msg_id in ids[:5]]
    assert f"and 2 more messages without a valid MQDLH: see `mqops dlq anatomy {DLQ}`" in handler.err
    assert len(handler.runs) == 1
    assert manager.depth(DLQ) == 7


def test_messages_that_get_older_are_looked_at_again(manager, started):
    handler = started("* MQOPS EXTENSIONS\nRETRYINT(1)\nAGE(>8s) ACTION(RETRY)\n")
    handler.until_it_waits()  # to start it may take longer than the message stays young
    fields, body = dead_letter("A", b"x")
    now = datetime.now(UTC).strftime("%Y%m%d%H%M%S00").encode()
    manager.put(DLQ, [(fields, body[:156] + now + body[172:])])  # the date and time of the MQDLH
    handler.until(lambda: manager.bodies("A"))
    handler.until(lambda: handler.out.count("balances") == 2)
    assert len(handler.runs) == 2  # the first pass left it


def test_messages_that_were_backed_out_meanwhile_are_looked_at_again(manager, started):
    manager.put(DLQ, [dead_letter("NOWHERE", b"x")])
    handler = started("* MQOPS EXTENSIONS\nRETRYINT(1)\nBACKOUT(>=2) ACTION(FWD) FWDQ(A) HEADER(NO)\n")
    handler.until(lambda: "balances" in handler.out)
    with manager.connected() as connection:
        queue = pymqi.Queue(connection, DLQ, CMQC.MQOO_INPUT_SHARED)
        for _ in range(2):
            queue.get(None, pymqi.MD(), pymqi.GMO(Options=CMQC.MQGMO_SYNCPOINT))
            connection.backout()
    handler.until(lambda: manager.bodies("A"))


def put_back(handler: Invocation) -> int:
    """How often it put something."""
    return sum(len(marker.rows) for marker in LedgerFile(handler.lake / "QM1", str).markers(kind="acted"))


def of_round(line: int, name: str) -> str:
    return (
        f"mqops: what the rule at line {line} puts on {name} is on DEAD again, as it was, and is left from now on. "
        "Correct the rules table and start the handler again\n"
    )


@pytest.mark.parametrize("target", ["DEAD", "DEAD.ALIAS"])
def test_what_is_put_back_on_its_queue_is_left_from_then_on_and_others_go_on(manager, started, target):
    manager.mqsc("DEFINE QALIAS(DEAD.ALIAS) TARGET(DEAD)\n")
    manager.put("DEAD", [dead_letter("A", b"goes"), dead_letter("B", b"round")])
    handler = started(f"RETRYINT(1)\nDESTQ(A) ACTION(RETRY)\nACTION(FWD) FWDQ({target})\n", queue="DEAD")
    handler.until(lambda: "balances" in handler.out)
    manager.put("DEAD", [dead_letter("A", b"goes, too")])
    handler.until(lambda: handler.out.count("balances") == 2)
    handler.process.send_signal(signal.SIGTERM)
    assert handler.ended().count(of_round(3, target)) == 1
    assert (manager.bodies("A"), manager.depth("DEAD")) == ([b"goes", b"goes, too"], 1)
    assert LATER.format(1) in handler.out
    assert "messages that a rule put back on this queue as they were are left (LATER)\n" in handler.out
    assert (len(handler.runs), put_back(handler)) == (2, 3)
    again = started(f"WAIT(NO)\nACTION(FWD) FWDQ({target})\n", queue="DEAD")
    again.ended()
    assert put_back(again) == 4  # another start deals with it anew


@pytest.mark.parametrize("wait", ["NO", "1"])
def test_what_is_put_back_prolongs_no_wait_and_holds_up_no_try(manager, started, wait):
    manager.put("DEAD", [dead_letter("SHUT", b"x"), dead_letter("DEAD", b"odd")])
    handler = started(
        f"RETRYINT(1) WAIT({wait})\nDESTQ(SHUT) ACTION(RETRY) RETRY(3)\nACTION(FWD) FWDQ(&DESTQ)\n", queue="DEAD"
    )
    handler.ended(1)
    assert handler.texts(8709) == [f"the dead-letter queue handler ends: WAIT({wait})"]
    assert [len(marker.rows) for marker in failed_tries(handler)] == [1] * 4  # three of its rule, one of the last
    assert (len(handler.runs), put_back(handler), manager.depth("DEAD")) == (4, 1, 2)
    assert handler.err.count(of_round(3, "DEAD")) == 1


def test_P05_a_message_that_came_again_is_put_when_its_BACKOFF_is_over(manager, started):
    manager.put(DLQ, [dead_letter("A", b"again")])
    handler = started("* MQOPS EXTENSIONS\nRETRYINT(600) WAIT(YES)\nACTION(RETRY) BACKOFF(4s)\n", "--json")
    handler.until(lambda: manager.bodies("A") and handler.out)
    assert send_back(manager, "A") == 1
    handler.until(lambda: manager.bodies("A") and len(acted(handler)) == 2)
    first, second = (datetime.fromisoformat(marker.at) for marker in acted(handler))
    assert (second - first).total_seconds() >= 4


def acted(handler: Invocation) -> list[Marker]:
    return [one for one in LedgerFile(handler.lake / "QM1").markers(kind="acted") if one.rows]


def test_one_that_is_put_back_while_a_try_is_to_be_repeated_does_not_end_it(manager, started):
    manager.put("DEAD", [dead_letter("SHUT", b"waits")])
    table = "RETRYINT(600) WAIT(YES)\nDESTQ(SHUT) ACTION(RETRY) RETRY(5)\nACTION(FWD) FWDQ(&DESTQ) HEADER(YES)\n"
    handler = started(table, queue="DEAD")
    handler.until(lambda: "balances" in handler.out)
    for number, dest_q in enumerate(("DEAD", "DEAD", "A"), start=2):
        manager.put("DEAD", [dead_letter(dest_q, b"%d" % number)])
        handler.until(lambda number=number: handler.out.count("balances") == number)
    assert [body[172:] for body in manager.bodies("A")] == [b"4"]
    assert LATER.format(3) in handler.out
    handler.process.send_signal(signal.SIGTERM)
    assert handler.ended().count(of_round(3, "DEAD")) == 1
    assert (len(failed_tries(handler)), put_back(handler), manager.depth("DEAD")) == (1, 3, 3)
    assert len(handler.runs) == 4


def test_what_was_put_back_holds_back_nobody_with_its_order_key(manager, started):
    key = {"CorrelId": b"k".ljust(24, b"\0")}
    manager.put(DLQ, [dead_letter("SHORT", b"too long" * 2, **key)])
    rules = f"DESTQ(SHORT) ACTION(RETRY) ORDER(CORRELID)\nACTION(FWD) FWDQ({DLQ})\n"
    handler = started(f"* MQOPS EXTENSIONS\nRETRYINT(1)\n{rules}")
    handler.until(lambda: handler.out.count("balances") == 2)
    manager.put(DLQ, [dead_letter("SHORT", b"behind", **key)])
    handler.until(lambda: manager.bodies("SHORT"))
    assert manager.depth(DLQ) == 1


def test_the_more_stays_the_longer_it_lets_messages_gather(manager, started):
    """A pass copies what stays, too: it does so for a sixth of the time at most."""
    manager.mqsc(f"ALTER QLOCAL({DLQ}) MAXDEPTH(10000)\n")
    manager.put(DLQ, [dead_letter("SHUT", os.urandom(500)) for _ in range(800)])
    handler = started("RETRYINT(900)\nDESTQ(SHUT) ACTION(RETRY) RETRY(5)\nACTION(FWD) FWDQ(A) HEADER(NO)\n")
    handler.until(lambda: "balances" in handler.out)
    manager.put(DLQ, [dead_letter("NOWHERE", b"x")])
    handler.until(lambda: handler.out.count("balances") == 2)
    first, second = (handler.lake / "QM1" / "runs" / run for run in handler.runs)
    begun, ended = begin_of(first), (first / "summary.json").stat().st_mtime
    assert begin_of(second) - ended > 5 * (ended - begun)
    assert manager.bodies("A") == [b"x"]


def begin_of(run: Path) -> float:
    """When a run began, by its key: seconds since the epoch."""
    at = run.name.removeprefix("cli-").split("Z")[0]
    return datetime.strptime(at, "%Y-%m-%dT%H%M%S-%f").replace(tzinfo=UTC).timestamp()


def test_messages_put_back_without_their_header_are_no_reason_to_end(manager, started):
    manager.put("DEAD", [dead_letter("DEAD", b"x")])
    handler = started(f"WAIT(1)\n{RETRY}", queue="DEAD")
    handler.ended()
    assert handler.texts(8709) == ["the dead-letter queue handler ends: WAIT(1)"]
    assert handler.texts(8721)  # nothing more can be done with it


@pytest.mark.parametrize("option", ["--once", ""])
def test_growth_is_told_since_a_pass_that_found_the_queue_empty(manager, started, option):
    options = [option] if option else []
    manager.put(DLQ, [dead_letter("A", b"%d" % number) for number in range(6)])
    for _ in range(2):
        started("WAIT(NO)\nACTION(DISCARD)\n", *options).ended()
    manager.put(DLQ, [dead_letter("A", b"x")] * 4)
    done = started("WAIT(NO)\nACTION(DISCARD)\n", *options)
    done.ended()
    assert re.search(
        rf"{DLQ} was made of 4 messages, \+4 since it was empty at 2\S+Z\n +4  MQRC_Q_FULL .*, \+4\n", done.out
    )
    assert len(done.runs) == 2


def test_messages_without_an_mqdlh_do_not_prolong_the_wait(manager, started):
    manager.put(DLQ, [({}, b"no header")])
    handler = started(f"RETRYINT(1) WAIT(1)\n{RETRY}")
    handler.ended()
    assert len(handler.runs) == 1


def test_canaries_that_came_back_end_it(manager, started):
    manager.put(DLQ, [dead_letter("A", b"%d" % number) for number in range(5)])
    handler = started(RETRY, "--canary", "1", "--canary-wait", "60")
    handler.until(lambda: manager.bodies("A"))
    send_back(manager, "A")
    handler.ended(1)
    assert handler.texts(8709)[0].endswith(
        "canaries came back, and the other messages were left. "
        "Find out why the application refuses them, and start it again"
    )
    assert manager.depth(DLQ) == 5
    assert len(handler.runs) == 1


def test_what_had_no_room_goes_with_a_later_pass(manager, started):
    bodies = [b"%d" % number for number in range(4)]
    manager.put(DLQ, [dead_letter("A", body) for body in bodies])
    handler = started(f"RETRYINT(1)\n{RETRY}", "--in-flight", "2", "--patience", "0")
    handler.until(lambda: "balances" in handler.out)
    found = [body for _md, body in taken(manager, "A")]
    handler.until(lambda: manager.depth(DLQ) == 0)
    handler.process.send_signal(signal.SIGTERM)
    handler.ended()
    assert sorted(found + manager.bodies("A")) == bodies


def test_what_an_application_held_and_backed_out_is_dealt_with(manager, started):
    manager.put("A", [({}, b"takes the room")])
    manager.put(DLQ, [dead_letter("A", b"x")])
    handler = started(f"WAIT(YES)\n{RETRY}", "--in-flight", "1", "--patience", "600")
    handler.until(lambda: list(handler.lake.glob("QM1/runs/*/issued.json")))  # planned; it waits for room
    with manager.connected() as connection:
        pymqi.Queue(connection, DLQ).get(None, pymqi.MD(), pymqi.GMO(Options=CMQC.MQGMO_SYNCPOINT))
        pymqi.Queue(connection, "A").get()
        handler.until(lambda: list(handler.lake.glob("QM1/runs/*/summary.json")))
        connection.backout()
    handler.until(lambda: manager.depth("A"))
    assert manager.bodies("A") == [b"x"]


@pytest.mark.parametrize(("wait", "passes"), [("NO", {1}), ("4", {2, 3, 4})])
def test_what_has_no_room_holds_nobody_past_wait(manager, started, wait, passes):
    manager.put(DLQ, [dead_letter("A", b"%d" % number) for number in range(8)])
    handler = started(f"RETRYINT(1) WAIT({wait})\n{RETRY}", "--in-flight", "5", "--patience", "0")
    handler.ended(1)
    assert len(handler.runs) in passes
    assert "3  left: its destination had 5 messages or more for 0 s" in handler.out
    assert (manager.depth("A"), manager.depth(DLQ)) == (5, 3)


def test_who_wakes_late_makes_no_pass_behind_the_end_of_wait(manager, lake, monkeypatch):
    """Both times are over then: that of WAIT was first."""
    manager.put(DLQ, [dead_letter("A", b"%d" % number) for number in range(2)])
    table = parse("RETRYINT(2) WAIT(1)\nACTION(RETRY)\n").table
    assert table
    few = Pacing(in_flight=1, patience=0)
    what = DeadLetterRequest(connection=manager.connection, lake=lake, table=table, text=RETRY, pacing=few)
    handler, measured, slept = Handler(what, Goes(), report_errors=print), time.monotonic, [0.0]
    assert handler.has_work()
    assert handler.make_pass(*handler.plan()).left == 1

    def wakes_late(_watch: ArrivalWatch, seconds: float) -> bool:
        slept[0] += seconds + 60
        return False

    monkeypatch.setattr(ArrivalWatch, "gets_new", wakes_late)
    monkeypatch.setattr("mqops.deciders.handler.time", SimpleNamespace(monotonic=lambda: measured() + slept[0]))
    assert not handler.has_work()
    assert slept[0]


def test_canaries_that_have_no_room_hold_nobody_past_wait(manager, started):
    manager.put("A", [({}, b"unread")] * 2)
    manager.put(DLQ, [dead_letter("A", b"%d" % number) for number in range(3)])
    options = ("--in-flight", "2", "--patience", "0", "--canary", "1", "--canary-wait", "1")
    handler = started(f"RETRYINT(1) WAIT(NO)\n{RETRY}", *options)
    handler.ended(1)
    assert len(handler.runs) == 1
    assert "2  left: canary could not be put" in handler.out
    assert manager.depth(DLQ) == 3


class Asked:
    """An end that is asked for before a pass acts."""

    asked = "SIGTERM"

    def sleep(self, _seconds: float) -> None:
        raise AssertionError

    def stops(self, run: RunFolder) -> None:
        stop(run.path, Stop(by="test", at="now", why=self.asked))


def test_an_end_before_the_first_unit_of_work_moves_nothing(manager, lake):
    manager.put(DLQ, [dead_letter("A", b"x")])
    table = parse(RETRY).table
    assert table
    what = DeadLetterRequest(connection=manager.connection, lake=lake, table=table, text=RETRY)
    handler = Handler(what, Asked(), report_errors=print)
    run, plan = handler.plan()
    summary = handler.make_pass(run, plan)
    assert (summary.left, summary.finished, run.issued_json.exists()) == (1, False, False)
    assert not handler.has_work()
    assert manager.depth(DLQ) == 1


@pytest.mark.parametrize(
    ("verb", "name", "number"),
    [
        ("MQCONNX", "QM1", "AMQ8741"),
        ("MQOPEN", "QM1", "AMQ8742"),
        ("MQINQ", "", "AMQ8743"),
        ("MQOPEN", DLQ, "AMQ8745"),
        ("MQCLOSE", "", "AMQ8746"),
        ("MQGET", DLQ, "AMQ8748"),
        ("MQCMIT", "QM1", "AMQ8749"),
        ("MQBACK", "QM1", "AMQ8749"),
        ("MQOPEN", "MQOPS.LEDGER", ""),  # runmqdlq has no such queue
        ("MQCMD_INQUIRE_Q", "QM1", ""),
    ],
)
def test_a_call_that_failed_has_the_number_of_runmqdlq(capsys, verb, name, number):
    amq.say_error(mq_error(2, 2035, verb=verb, object_name=name), "QM1")
    said = capsys.readouterr().err
    assert (f"{number}: " in said and "MQRC_NOT_AUTHORIZED (2035)" in said) if number else not said


@pytest.mark.parametrize(
    ("change", "number", "text"),
    [
        (f"ALTER QLOCAL({DLQ}) GET(DISABLED)", 8748, f"no message can be got from the dead-letter queue {DLQ}"),
        ("DELETE QLOCAL(A)", 8708, "the dead-letter queue handler has started"),  # a destination is no error of ours
    ],
)
def test_what_ends_it_has_its_number(manager, started, change, number, text):
    manager.put(DLQ, [dead_letter("A", b"x")])
    manager.mqsc(f"{change}\n")
    handler = started(f"WAIT(NO)\n{RETRY}")
    handler.ended(1)
    assert handler.texts(number)[0].startswith(text)
    assert len(handler.texts(8709)) == (number == 8708)


class Goes(Asked):
    """Nobody asks for the end."""

    asked = ""

    def stops(self, run: RunFolder) -> None:
        pass


class Passes:
    """A handler of which each pass is asked for by the test."""

    def __init__(self, manager: Manager, lake: Path, table: str) -> None:
        parsed = parse(table)
        assert parsed.table, parsed.errors
        what = DeadLetterRequest(connection=manager.connection, lake=lake, table=parsed.table, text=table)
        self.handler = Handler(what, Goes(), report_errors=lambda _ids: None)

    def make(self) -> tuple[RunFolder, list[bytes]]:
        """One pass; its run, and the bodies that it copied: not those in files that it shares with an earlier one."""
        run, plan = self.handler.plan()
        own = [path for path in sorted(run.snapshot.glob("*.parquet")) if path.stat().st_nlink == 1]
        copied = [body[-2:] for path in own for body in pq.read_table(path)["body"].to_pylist()]
        summary = self.handler.make_pass(run, plan)
        assert summary.balanced
        return run, copied


def whole(run: RunFolder) -> list[tuple[int, bytes]]:
    """Each message of a snapshot: its place on the queue, and its body's last bytes."""
    rows = [row for batch in read_parquet(run.snapshot, ["position", "body"]) for row in batch.to_pylist()]
    return [(row["position"], row["body"][-2:]) for row in rows]


def test_a_pass_that_stays_does_not_copy_again_what_has_not_changed(manager, lake):
    """The beginning of the queue that stays is linked; every snapshot is whole, also when an earlier one is pruned."""
    stays = [dead_letter("STAY", b"s%d" % number, Expiry=90_000) for number in range(6)]
    manager.put(DLQ, stays)
    passes = Passes(manager, lake, "DESTQ(STAY) ACTION(IGNORE)\nACTION(RETRY)\n")
    first, copied = passes.make()
    assert copied == [b"s%d" % number for number in range(6)]
    manager.put(DLQ, [dead_letter("A", b"a1"), dead_letter("STAY", b"s6")])
    second, copied = passes.make()
    assert copied == [b"a1", b"s6"]
    assert [body for _place, body in whole(second)] == [*(b"s%d" % n for n in range(6)), b"a1", b"s6"]
    assert [place for place, _body in whole(second)] == list(range(8))
    assert manager.bodies("A") == [b"a1"]
    manager.put(DLQ, [dead_letter("A", b"a2")])
    third, copied = passes.make()
    assert copied == [b"s6", b"a2"]  # a1 is gone from the file that s6 was in: now it is apart from what is new
    rmtree(first.path)
    rmtree(second.path)
    assert [body for _place, body in whole(third)] == [*(b"s%d" % n for n in range(7)), b"a2"]
    fourth, copied = passes.make()
    assert copied == []
    assert [body for _place, body in whole(fourth)] == [b"s%d" % n for n in range(7)]
    assert CliRunner().invoke(main, ["undo", third.run, "--lake", str(lake)], input="y\n").exit_code == 0
    _fifth, copied = passes.make()
    assert copied == [b"a2"]
    with manager.connected() as application:
        pymqi.Queue(application, DLQ, CMQC.MQOO_INPUT_SHARED).get()
    last, copied = passes.make()
    assert copied == [b"s%d" % n for n in range(1, 7)]
    assert size_of(fourth.snapshot) < size_of(last.snapshot)  # a file that is shared counts in parts


@pytest.mark.parametrize("table", ["AGE(>1h) ACTION(RETRY)\n", "BACKOFF('1m') ACTION(FWD) FWDQ(SHUT) HEADER(NO)\n"])
def test_where_a_rule_asks_how_old_a_message_is_all_is_looked_at_again(manager, lake, table):
    manager.put(DLQ, [dead_letter("STAY", b"s0")])
    passes = Passes(manager, lake, f"* MQOPS EXTENSIONS\n{table}")
    assert [passes.make()[1] for _ in range(2)] == [[b"s0"], [b"s0"]]


def test_where_a_check_of_a_gate_asks_how_old_a_message_is_a_pass_looks_at_all_again(
    manager, lake, tmp_path, monkeypatch
):
    monkeypatch.setattr("mqops.deciders.handler.REVISIT", 0)  # at once, and not 10 RETRYINT later
    suite = tmp_path / "old.yaml"
    age = "{id: old, expect: column_values_to_be_between, column: %s, min_value: 86400, on_failure: leave}"
    gate = "{rules: r.rules, gate: {suites: [old.yaml]}}"
    estate = tmp_path / "estate.yaml"
    estate.write_text(f"lake: lake\nqueue_managers:\n  QM1:\n    connection: mq\n    dlq_rules: {gate}\n")
    monkeypatch.setenv("MQOPS_ESTATE", str(estate))
    manager.put(DLQ, [dead_letter("A", b"s0")])
    passes = Passes(manager, lake, "WAIT(60)\nACTION(RETRY)\n")  # which is not over on a slow machine
    copied = []
    for column in ("body_length", "age_seconds", "age_seconds"):  # the suite is changed meanwhile
        suite.write_text(f"suite: s\nexpectations:\n- {age % column}\n")
        copied.append(passes.make()[1])
    assert copied == [[b"s0"], [b"s0"], [b"s0"]]
    assert passes.handler.has_work()
    assert manager.depth(DLQ) == 1


def test_the_files_of_many_passes_are_few():
    """A message that stays in each of a thousand passes is in one of ten files, and was copied about ten times."""
    sizes, copied = list[int](), 0
    for _ in range(1000):
        few = _worth_it(sizes)
        new = sum(sizes[few:]) + 1
        sizes, copied = [*sizes[:few], new], copied + new
        assert len(sizes) <= 11
    assert sum(sizes) == 1000
    assert copied < 12_000
