"""The poison guard on a real queue manager: who loops, where the messages go, and that each is in one place."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pymqi
import pytest
from click.testing import CliRunner
from mq_support import DLQ, Manager, until
from pymqi import CMQC

from mqops.act import guard_port
from mqops.backout import guard_look
from mqops.cli import main
from mqops.mq import inquire
from mqops.mq.connection import connect
from mqops.mq.inquire import queues_above_zero, settled_queues, still_settled
from mqops.mq.session import Session
from mqwire import constants as c
from mqwire.structures import MQDLH

QUEUES = """\
DEFINE QLOCAL(PAY.IN) BOTHRESH(3) BOQNAME(PAY.BOQ)
DEFINE QLOCAL(PAY.BOQ)
DEFINE QLOCAL(REPLIES)
DEFINE QLOCAL(XMITQ) USAGE(XMITQ)
DEFINE QALIAS(PAY.BOQ.ALIAS) TARGET(PAY.BOQ)
"""
PROGRAM = Path(__file__).with_name("looping_program.py")


@pytest.fixture
def manager(queue_manager: Any) -> Manager:
    return queue_manager(mqsc=QUEUES)


@pytest.fixture
def mqops(manager: Manager, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The command with --json, in this process."""
    monkeypatch.setenv("MQLITE_HOME", str(manager.home))
    monkeypatch.setenv("MQOPS_LAKE", str(tmp_path / "lake"))

    def run(*arguments: str, expect: int = 0) -> Any:
        done = CliRunner().invoke(main, [*arguments, "-m", "QM1", "--json"])
        assert done.exit_code == expect, done.output
        return json.loads(done.stdout)

    return run


@contextmanager
def looping(manager: Manager, queue: str, done: Path) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, str(PROGRAM), "QM1", queue, str(done)]
    with subprocess.Popen(command, env=manager.environment) as program:
        try:
            yield program
        finally:
            if program.poll() is None:
                program.kill()


def counts(manager: Manager, queue: str) -> list[int]:
    return [md["BackoutCount"] for md, _body in manager.messages(queue)]


def test_P13_P08_a_program_that_loops_is_freed_and_each_message_is_in_one_place(manager, mqops, tmp_path):
    done = tmp_path / "done"
    (poison,) = manager.put("PAY.IN", [({}, b"bad one")])
    manager.put("PAY.IN", [({}, b"good %d" % number) for number in range(20)])
    with looping(manager, "PAY.IN", done) as program:
        until(lambda: max(counts(manager, "PAY.IN"), default=0) > 5)
        planned = mqops("backout", "guard", "PAY.IN", "--dry-run", "--watch", "0.5")
        assert planned["plan"]["actions"] == {"FWD": 1}
        told = " ".join(planned["plan"]["remarks"])
        assert "1 message at or over BOTHRESH(3)" in told
        assert "backouts a minute" in told
        assert "read by " in told
        assert "looping_program.py" in told
        assert poison.hex() in told
        assert "messages wait behind" in told
        assert "to its backout queue PAY.BOQ" in told
        acted = mqops("dlq", "act", Path(planned["run"]).name, "--approve", planned["plan"]["digest"])
        assert (acted["workflow"], acted["moved"], acted["balanced"]) == ("poison_guard", 1, True)
        manager.put("PAY.IN", [({}, b"end")])
        assert program.wait(60) == 0
    assert done.read_text().split("\n")[:-2] == [f"good {number}" for number in range(20)]
    assert (manager.bodies("PAY.IN"), manager.bodies("PAY.BOQ")) == ([], [b"bad one"])


ROWS = {
    # queue: attributes, BOQNAME's own definition, messages (report options, body), where they are then
    "USABLE": ("BOQNAME(USABLE.BOQ)", "QLOCAL(USABLE.BOQ)", [(0, b"u")], {"USABLE.BOQ": [b"u"]}),
    "ALIAS": ("BOQNAME(PAY.BOQ.ALIAS)", "", [(0, b"a")], {"PAY.BOQ": [b"a"]}),
    "BLANK": ("", "", [(0, b"b")], {2362: [b"b"]}),
    "MISSING": ("BOQNAME(NO.SUCH)", "", [(0, b"m")], {2085: [b"m"]}),
    "DANGLING": ("BOQNAME(NOWHERE)", "QALIAS(NOWHERE) TARGET(NO.SUCH)", [(0, b"d")], {2082: [b"d"]}),
    "FULL": ("BOQNAME(FULL.BOQ)", "QLOCAL(FULL.BOQ) MAXDEPTH(1)", [(0, b"f")], {2053: [b"f"]}),
    "ROOM": (
        *("BOQNAME(ROOM.BOQ)", "QLOCAL(ROOM.BOQ) MAXDEPTH(2)", [(0, b"r1"), (0, b"r2"), (0, b"r3")]),
        {"ROOM.BOQ": [b"r1", b"r2"], 2053: [b"r3"]},
    ),
    "SAME": ("BOQNAME(SAME.BOQ)", "QALIAS(SAME.BOQ) TARGET(ROOM.BOQ)", [(0, b"n")], {2053: [b"n"]}),
    "SHUT": ("BOQNAME(SHUT.BOQ)", "QLOCAL(SHUT.BOQ) PUT(DISABLED)", [(0, b"s")], {2051: [b"s"]}),
    "SHORT": (
        *("BOQNAME(SHORT.BOQ)", "QLOCAL(SHORT.BOQ) MAXMSGL(4)", [(0, b"long!"), (0, b"shrt")]),
        {2030: [b"long!"], "SHORT.BOQ": [b"shrt"]},
    ),
    "ITSELF": ("BOQNAME(ITSELF)", "", [(0, b"i")], {2362: [b"i"]}),
    "CHANNEL": ("BOQNAME(XMITQ)", "", [(0, b"x")], {2362: [b"x"]}),
    "COMMANDS": ("BOQNAME(SYSTEM.ADMIN.COMMAND.QUEUE)", "", [(0, b"c")], {2362: [b"c"]}),
    "DEAD": (f"BOQNAME({DLQ})", "", [(0, b"q")], {2362: [b"q"]}),
    "DROPPED": ("", "", [(c.MQRO_DISCARD_MSG, b"gone")], {}),
    "KEPT": ("BOQNAME(KEPT.BOQ)", "QLOCAL(KEPT.BOQ)", [(c.MQRO_DISCARD_MSG, b"k")], {"KEPT.BOQ": [b"k"]}),
    "TOLD": ("", "", [(c.MQRO_DISCARD_MSG | c.MQRO_EXCEPTION, b"told")], {"REPLIES": [b""]}),
    "LETTER": ("", "", [(c.MQRO_EXCEPTION_WITH_FULL_DATA, b"whole")], {2362: [b"whole"], "REPLIES": [b"whole"]}),
}


def defined(rows: Any) -> str:
    lines = [f"DEFINE {own}" for _attributes, own, _messages, _where in rows.values() if own]
    return "\n".join((*lines, *(f"DEFINE QLOCAL({name}) BOTHRESH(2) {row[0]}" for name, row in rows.items()), ""))


def dead_letters(manager: Manager) -> list[tuple[int, str, bytes, str]]:
    """Reason, queue, body and format of each."""
    found = []
    for md, body in manager.messages(DLQ):
        assert md["Format"].strip() == b"MQDEAD"
        dlh = MQDLH.unpack(body, encoding=md["Encoding"], ccsid=md["CodedCharSetId"])
        assert dlh.dest_q_mgr_name == "QM1"
        found.append((dlh.reason, dlh.dest_q_name, body[172:], dlh.format))
    return found


def test_P09_P11_where_a_poison_message_goes_by_its_queue_and_its_report_options(manager, mqops):
    manager.mqsc(defined(ROWS))
    manager.put("FULL.BOQ", [({}, b"was there")])
    before: dict[str, list[bytes]] = {}
    for name, (_attributes, _own, messages, _where) in ROWS.items():
        fields = {"ReplyToQ": "REPLIES", "Format": "MQSTR"}
        manager.put(name, [({**fields, "Report": report}, body) for report, body in messages])
        manager.back_out(name, 2, len(messages))
        before[name] = manager.bodies(name)
    done = mqops("backout", "guard", "--yes", "--watch", "0")
    total = sum(len(row[2]) for row in ROWS.values())
    assert (done["planned"], done["moved"], done["discarded"], done["balanced"]) == (total, total - 2, 2, True)
    wanted: dict[Any, list[bytes]] = {}
    for name, row in ROWS.items():
        for place, bodies in row[3].items():
            wanted.setdefault(place if isinstance(place, str) else (place, name), []).extend(bodies)
        assert manager.bodies(name) == [], name
    letters = dead_letters(manager)
    assert {one[3] for one in letters} == {"MQSTR"}
    found = {(reason, name): [body] for reason, name, body, _format in letters}
    found |= {place: manager.bodies(place) for place in wanted if isinstance(place, str)}
    assert found == wanted
    assert {md["Feedback"] for md, _body in manager.messages("REPLIES")} == {2362}
    undone = mqops("undo", done["run"], "--yes")
    assert (undone["moved"], undone["balanced"]) == (total, True)
    assert any("BackoutCount begins at 0" in remark for remark in undone["remarks"])
    assert {name: manager.bodies(name) for name in ROWS} == before
    assert {count for name in ROWS for count in counts(manager, name)} == {0}
    assert manager.depth(DLQ) == manager.depth("PAY.BOQ") == 0


def test_P09_without_a_dead_letter_queue_the_message_stays(manager, mqops):
    manager.mqsc("ALTER QMGR DEADQ(' ')\nDEFINE QLOCAL(BLANK) BOTHRESH(1)\n")
    manager.put("BLANK", [({}, b"stays"), ({"Report": c.MQRO_DISCARD_MSG}, b"goes")])
    manager.back_out("BLANK", 1, 2)
    planned = mqops("backout", "guard", "--dry-run", "--watch", "0")["plan"]
    assert planned["actions"] == {"DISPOSE": 1, "STUCK": 1}
    done = mqops("backout", "guard", "--yes", "--watch", "0")
    assert (done["discarded"], done["left"], done["balanced"]) == (1, 1, True)
    assert manager.bodies("BLANK") == [b"stays"]


def grouped(letter: bytes, number: int, *, last: bool = False, report: int = 0) -> dict[str, Any]:
    flags = c.MQMF_LAST_MSG_IN_GROUP if last else c.MQMF_MSG_IN_GROUP
    return {"GroupId": letter * 24, "MsgSeqNumber": number, "MsgFlags": flags, "Report": report}


def test_P05_the_messages_of_a_group_go_together_or_stay(manager, mqops, monkeypatch):
    monkeypatch.setattr(guard_look, "PATIENCE", 0.2)
    manager.mqsc("DEFINE QLOCAL(LETTERS) BOTHRESH(2)\n")
    manager.put("PAY.IN", [(grouped(b"G", 1), b"g1"), (grouped(b"G", 2), b"g2"), (grouped(b"G", 3, last=True), b"g3")])
    manager.put("PAY.IN", [(grouped(b"H", 1), b"h1"), (grouped(b"H", 2, last=True), b"h2"), ({}, b"single")])
    discard = c.MQRO_DISCARD_MSG
    manager.put("LETTERS", [(grouped(b"I", 1, report=discard), b"i1"), (grouped(b"I", 2, last=True), b"i2")])
    manager.back_out("PAY.IN", 3, 2)
    manager.back_out("LETTERS", 2)
    with manager.connected() as program:
        handle = pymqi.Queue(program, "PAY.IN", CMQC.MQOO_INPUT_SHARED)
        third = pymqi.MD(Version=2, GroupId=b"G" * 24, MsgSeqNumber=3)
        options = {"MatchOptions": CMQC.MQMO_MATCH_GROUP_ID | CMQC.MQMO_MATCH_MSG_SEQ_NUMBER, "Version": 2}
        handle.get(None, third, pymqi.GMO(Options=CMQC.MQGMO_SYNCPOINT, **options))
        hidden = mqops("backout", "guard", "PAY.IN", "--dry-run", "--watch", "0")["plan"]
        assert hidden["actions"] == {"INCOMPLETE": 2}
        program.backout()
        handle.close()
    limited = mqops("backout", "guard", "PAY.IN", "--dry-run", "--limit", "1", "--watch", "0")["plan"]
    assert limited["actions"] == {"FWD": 3}
    done = mqops("backout", "guard", "--yes", "--watch", "0")
    assert (done["moved"], done["balanced"]) == (5, True)
    assert manager.bodies("PAY.IN") == [b"h1", b"h2", b"single"]
    assert manager.bodies("PAY.BOQ") == [b"g1", b"g2", b"g3"]
    assert [letter[2] for letter in dead_letters(manager)] == [b"i1", b"i2"]


def test_P08_what_a_program_has_in_a_unit_of_work_is_left_and_told(manager, mqops, monkeypatch):
    monkeypatch.setattr(guard_port, "WAIT_MS", 20)
    manager.put("PAY.IN", [({}, b"held"), ({}, b"free")])
    manager.back_out("PAY.IN", 3, 2)
    planned = mqops("backout", "guard", "PAY.IN", "--dry-run", "--watch", "0")
    with manager.connected() as program:
        handle = pymqi.Queue(program, "PAY.IN", CMQC.MQOO_INPUT_SHARED)
        assert handle.get(None, pymqi.MD(), pymqi.GMO(Options=CMQC.MQGMO_SYNCPOINT)) == b"held"
        done = mqops("dlq", "act", Path(planned["run"]).name, "--approve", planned["plan"]["digest"])
        program.backout()
        handle.close()
    assert (done["moved"], done["gone"], done["balanced"]) == (1, 1, True)
    assert any("may be hidden by units of work of others" in remark for remark in done["remarks"])
    assert (manager.bodies("PAY.IN"), manager.bodies("PAY.BOQ")) == ([b"held"], [b"free"])


def test_P08_a_message_that_its_program_backs_out_meanwhile_is_waited_for(manager, mqops, monkeypatch):
    waits, wait_for = threading.Event(), guard_port.GuardPort._wait_for
    monkeypatch.setattr(guard_port, "WAIT_MS", 60_000)
    monkeypatch.setattr(guard_port.GuardPort, "_wait_for", lambda *of: waits.set() or wait_for(*of))
    manager.put("PAY.IN", [({}, b"held")])
    manager.back_out("PAY.IN", 3)
    planned = mqops("backout", "guard", "PAY.IN", "--dry-run", "--watch", "0")
    held, done = threading.Event(), threading.Event()

    def program() -> None:
        with manager.connected() as connection:
            handle = pymqi.Queue(connection, "PAY.IN", CMQC.MQOO_INPUT_SHARED)
            handle.get(None, pymqi.MD(), pymqi.GMO(Options=CMQC.MQGMO_SYNCPOINT))
            held.set()
            waits.wait(60)
            connection.backout()
            done.wait(60)
            handle.close()

    thread = threading.Thread(target=program)
    thread.start()
    held.wait(60)
    acted = mqops("dlq", "act", Path(planned["run"]).name, "--approve", planned["plan"]["digest"])
    done.set()
    thread.join()
    assert (acted["moved"], manager.bodies("PAY.BOQ")) == (1, [b"held"])


@pytest.mark.parametrize(
    ("queue", "said"),
    [
        ("PAY.BOQ", "a backout queue or the dead-letter queue"),
        (DLQ, "a backout queue or the dead-letter queue"),
        ("REPLIES", "ALTER QLOCAL(REPLIES) BOTHRESH(3)"),  # P13
        ("SYSTEM.DEFAULT.LOCAL.QUEUE", "no queue of an application"),
        ("XMITQ", "no queue of an application"),
        ("NO.SUCH", "2085"),
    ],
)
def test_P13_queues_that_are_no_input_queue_are_refused(manager, mqops, queue, said):
    assert said in mqops("backout", "guard", queue, "--dry-run", expect=1)["error"]["message"]


def test_P13_nothing_is_done_where_nothing_loops(manager, mqops):
    manager.put("REPLIES", [({}, b"BOTHRESH(0)")])
    manager.put("PAY.IN", [({}, b"below")])
    manager.back_out("REPLIES", 5)
    manager.back_out("PAY.IN", 2)
    assert mqops("backout", "guard", "--yes", "--watch", "0")["planned"] == 0
    assert (counts(manager, "REPLIES"), counts(manager, "PAY.IN")) == ([5], [2])


def test_an_alias_is_told_whether_anything_loops_or_not(manager, mqops):
    manager.mqsc("DEFINE QALIAS(PAY.ALIAS) TARGET(PAY.IN)")
    told = "PAY.ALIAS is an alias of PAY.IN, which is looked at"
    guard = ("backout", "guard", "PAY.ALIAS", "--dry-run", "--watch", "0")
    assert mqops(*guard)["remarks"] == [told]
    manager.put("PAY.IN", [({}, b"bad")])
    manager.back_out("PAY.IN", 3)
    assert told in mqops(*guard)["plan"]["remarks"]


def test_P08_a_good_message_with_the_identifiers_of_one_that_loops_stays(manager, mqops):
    same = {"MsgId": b"S" * 24, "CorrelId": b"C" * 24}
    manager.put("PAY.IN", [(same, b"loops"), (same, b"good")])
    manager.back_out("PAY.IN", 3)
    done = mqops("backout", "guard", "--yes", "--watch", "0")
    assert (done["planned"], done["moved"]) == (1, 1)
    assert (manager.bodies("PAY.IN"), manager.bodies("PAY.BOQ")) == ([b"good"], [b"loops"])


@pytest.mark.parametrize("asked_by_name", [inquire.ASKED_BY_NAME, 0])  # each queue by its name; all queues at once
def test_the_queue_manager_answers_for_the_queues_that_are_in_use_alone(
    manager: Manager, monkeypatch: pytest.MonkeyPatch, asked_by_name: int
) -> None:
    asked, command = set(), inquire.command

    def heard(session: Session, name: str, arguments: dict[int, Any], **more: Any) -> list[dict[int, Any]]:
        asked.add(arguments[c.MQCA_Q_NAME])
        return command(session, name, arguments, **more)

    monkeypatch.setattr(inquire, "command", heard)
    monkeypatch.setattr(inquire, "ASKED_BY_NAME", asked_by_name)
    manager.mqsc("DEFINE QALIAS(PAY.ALIAS) TARGET(REPLIES)")
    names = ("PAY.IN", "REPLIES", "PAY.ALIAS", "NOWHERE")

    def uncommitted(session: Session) -> frozenset[str]:
        return queues_above_zero(session, c.MQIACF_UNCOMMITTED_MSGS) or frozenset()

    with manager.connected() as program, connect(manager.connection) as session:
        settled = settled_queues(session, names)
        assert settled == {"PAY.IN", "REPLIES"}
        assert asked == ({name.encode() for name in names} if asked_by_name else {b"*"})
        assert not {"PAY.IN", "REPLIES"} & uncommitted(session)
        queue = pymqi.Queue(program, "PAY.IN", CMQC.MQOO_OUTPUT | CMQC.MQOO_INPUT_SHARED)
        queue.put(b"x", pymqi.MD(), pymqi.PMO(Options=CMQC.MQPMO_SYNCPOINT))
        assert {"PAY.IN", "REPLIES"} & uncommitted(session) == {"PAY.IN"}
        assert "PAY.IN" in (queues_above_zero(session, c.MQIA_OPEN_INPUT_COUNT) or ())
        left = still_settled(session, settled)
        assert ("PAY.IN" in left, "REPLIES" in left) == (False, True)
        program.backout()
        assert "PAY.IN" in still_settled(session, settled)
        assert "PAY.IN" not in still_settled(session, settled - {"PAY.IN"})
