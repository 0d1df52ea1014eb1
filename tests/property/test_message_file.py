"""Export, then load: the same messages, byte for byte, each once and in their order, also where loads are killed.

MQOPS_FILE_MESSAGES raises their number (50,000 takes some minutes), MQOPS_FILE_KILLS that of the kills.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import commands
import pymqi
import pytest
from click.testing import CliRunner
from crash.test_kill_nine import kill_one, run_until
from fuzzed import Fuzz
from ledger_opened import prove
from mq_support import Manager, reveal_estate
from pymqi import CMQC

from mqops.cli import main
from mqops.lake.run import RunFolder
from mqops.message_file.core.text import messages_in, text_of
from mqops.message_file.export import Fingerprint
from mqops.message_file.load import read_messages
from mqops.mq.browse import browse
from mqops.mq.connection import connect
from mqops.prove.records import SUMMARY
from mqwire import constants as c
from mqwire.structures import MQMD_LAYOUT

MESSAGES = int(os.environ.get("MQOPS_FILE_MESSAGES", "300"))
KILLS = int(os.environ.get("MQOPS_FILE_KILLS", "2"))
SEED = int(os.environ.get("MQOPS_FILE_SEED", "17"))
LONG = 4 * 1024 * 1024
DEEP = "MAXDEPTH(999999)"
MQSC = f"DEFINE QLOCAL(IN) {DEEP}\nDEFINE QLOCAL(OUT) {DEEP}\n"
_set = MQMD_LAYOUT.writer("backout_count", "expiry")
_expiry = MQMD_LAYOUT.reader("expiry")
_backouts = MQMD_LAYOUT.reader("backout_count")


def mixed(count: int) -> Iterator[tuple[dict[str, Any], bytes]]:
    """Fuzzed messages (EBCDIC, UTF-16, chains of headers, malformed ones), groups, segments, lifetimes, empty and long
    bodies; some are alike to the last byte."""
    chance, fuzz = random.Random(SEED), Fuzz.of(SEED)
    context = {"PutDate": b"20260102", "PutTime": b"03040500", "MsgId": b""}
    for number, message in enumerate(fuzz.messages(count)):
        md = {**context, **message.md, "MsgId": b"%024d" % number, "CorrelId": chance.randbytes(24)}
        body = message.body
        if md.get("Format") in {"MQXMIT", b"MQXMIT"}:
            md["Format"] = b"MQXMITX"  # the queue manager counts the lifetime in an MQXQH down (E13)
        elif md.get("Format") in {"MQHMDE", b"MQHMDE"}:
            md["Format"] = b"MQHMDEX"  # a put refuses a first MQMDE whose flags are damaged
        if number % 10 == 1:  # a group of three
            md |= {"GroupId": b"%024d" % (number // 30), "MsgSeqNumber": 1 + number // 10 % 3}
            md["MsgFlags"] = c.MQMF_MSG_IN_GROUP | (c.MQMF_LAST_MSG_IN_GROUP if number // 10 % 3 == 2 else 0)
        elif number % 10 == 2:
            md |= {"AccountingToken": chance.randbytes(32), "ApplOriginData": b"\0\xff\n\x1b", "Priority": number % 10}
            md |= {"ReplyToQ": b"q\r\n* mqops END", "Report": CMQC.MQRO_COD, "Feedback": number, "PutApplType": -7}
        elif number % 10 == 3:
            md, body = {**md, "Format": b""}, b""
        elif number % 10 == 4:
            md |= {"Expiry": 1_000_000 + number, "Persistence": 0}
        elif number % 10 == 5 and number > 10:
            md |= {"MsgId": b"%024d" % 5, "CorrelId": b"c" * 24}
            body = b"alike"
        elif number == 6:
            body = chance.randbytes(LONG - 4000)
        yield md, body


@pytest.fixture
def manager(queue_manager) -> Manager:
    made = queue_manager(mqsc=MQSC)
    given = list(mixed(MESSAGES))
    for first in range(0, len(given), 1000):
        made.put("IN", given[first : first + 1000], options=CMQC.MQOO_SET_ALL_CONTEXT)
    with made.connected() as queue_manager_:  # one of them was backed out
        queue = pymqi.Queue(queue_manager_, "IN", CMQC.MQOO_INPUT_SHARED)
        queue.get(None, pymqi.MD(), pymqi.GMO(Options=CMQC.MQGMO_SYNCPOINT))
        queue_manager_.backout()
        queue.close()
    return made


@pytest.fixture
def mqops(manager, tmp_path, monkeypatch) -> Callable[..., Any]:
    """Runs `mqops` here; returns what it says as JSON."""
    monkeypatch.setenv("MQLITE_HOME", str(manager.home))
    monkeypatch.setenv("MQOPS_LAKE", str(tmp_path / "lake"))
    monkeypatch.setenv("MQOPS_ESTATE", reveal_estate(tmp_path))

    def command(*arguments: str) -> Any:
        result = CliRunner().invoke(main, [*arguments, "--json"])
        assert result.exit_code == 0, (result.output, result.exception)
        return json.loads(result.stdout)

    return command


def on(manager: Manager, queue: str) -> list[tuple[bytes, bytes]]:
    """MQMD and all that follows of each message of a queue, in its order."""
    with connect(manager.connection) as session:
        return [(got.md, got.body) for got in browse(session, queue)]


def steady(messages: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """The same without what changes by itself: a lifetime that runs, and the backout count, which a put begins."""
    found = []
    for md, body in messages:
        changed = bytearray(md)
        _set(changed, 0, min(_expiry(md)[0], 0))
        found.append((bytes(changed), body))
    return found


def by_priority(messages: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """The order in which a queue with MSGDLVSQ(PRIORITY) gives messages that were put in this order."""
    (priority,) = (MQMD_LAYOUT.reader("priority"),)
    return sorted(messages, key=lambda message: -priority(message[0])[0])


@pytest.mark.parametrize("form", ["text", "parquet"])
def test_law7_what_was_exported_and_loaded_is_the_same_byte_for_byte(manager, mqops, tmp_path, form):
    before = on(manager, "IN")
    assert len(before) == MESSAGES
    assert {_backouts(md)[0] for md, _ in before} == {0, 1}
    file = tmp_path / f"messages.{form}"
    done = mqops("message", "export", "IN", str(file), "-m", "QM1", "--format", form)
    assert (done["messages"], done["bytes"]) == (MESSAGES, sum(len(body) for _, body in before))
    assert steady(list(read_messages(file))) == steady(before)
    if form == "parquet":
        assert mqops("message", "load", str(file), "OUT", "-m", "QM1", "--run", "--yes")["moved"] == MESSAGES
    else:
        killed = loads_that_are_killed(manager, file, tmp_path)
        assert killed or KILLS == 0
    after = on(manager, "OUT")
    assert steady(after) == by_priority(steady(before))
    assert {_backouts(md)[0] for md, _ in after} == {0}
    assert all(_expiry(md)[0] > 900_000 for md, _ in after if _expiry(md)[0] > 0)
    again = mqops("message", "load", str(file), "OUT", "-m", "QM1", "--run", "--yes")
    assert (again["moved"], again["left"]) == (0, MESSAGES)
    assert on(manager, "IN") == before or steady(on(manager, "IN")) == steady(before)
    assert manager.depth("OUT") == MESSAGES
    assert manager.depth("MQOPS.LEDGER") == 0
    for folder in (tmp_path / "lake" / "QM1" / "runs").iterdir():
        assert prove(manager.connection, RunFolder(folder)).balanced


def loads_that_are_killed(manager: Manager, file: Path, tmp_path: Path) -> int:
    """Load the file by a process of its own, again and again until it comes to its end; how many were killed."""
    print(f"MQOPS_FILE_SEED={SEED}")
    chance, killed = random.Random(SEED), 0
    environment = {**manager.environment, "MQOPS_LAKE": str(tmp_path / "lake")}
    unit = str(max(1, MESSAGES // 60))
    command = [sys.executable, "-m", "mqops.cli", "message", "load", str(file), "OUT", "-m", "QM1"]
    command += ["--run", "--yes", "--json", "--unit-size", unit]
    with manager.connected() as queue_manager, (tmp_path / "log").open("ab") as log:
        queue = pymqi.Queue(queue_manager, "OUT", CMQC.MQOO_INQUIRE)
        for _ in range(KILLS):
            at = queue.inquire(CMQC.MQIA_CURRENT_Q_DEPTH) + chance.randrange(1, max(2, MESSAGES // (KILLS + 1)))
            process = commands.Command(command, env=environment, stdout=subprocess.DEVNULL, stderr=log)
            if run_until(process, lambda at=at: queue.inquire(CMQC.MQIA_CURRENT_Q_DEPTH) >= at):
                killed += kill_one(process, chance) != "nobody"
        queue.close()
    runs = (RunFolder(path) for path in (tmp_path / "lake" / "QM1" / "runs").iterdir())
    left = any(run.issued_json.exists() and not SUMMARY.exists(run) for run in runs)
    done = commands.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    told = "was not finished; it is now" in done.stderr
    assert left <= told <= (killed > 0)  # one that was killed as it ended has left nothing
    return killed


def test_the_text_format_gives_any_descriptor_and_body_back():
    """Also descriptors that no queue manager would make: every field odd."""
    chance = random.Random(SEED)
    begin = MQMD_LAYOUT.pack({"version": 2})[:8]
    length = MQMD_LAYOUT.length(2) - 8
    odd = (b" ", b"\0", b"A", b"~", b'"', b"\n", b"\r", b"?", b"\xe9")
    for _ in range(50):
        messages = [
            (begin + b"".join(chance.choices(odd, k=length)), chance.randbytes(chance.choice([0, 1, 63, 64, 65, 999])))
            for _ in range(chance.randrange(5))
        ]
        raw = b"".join(text_of(messages, ["odd \n names"]))
        assert [(one.md, one.body) for one in messages_in(raw.splitlines(keepends=True), name="file")] == messages


def test_the_fingerprint_knows_the_messages_and_their_order():
    md = MQMD_LAYOUT.pack({"version": 2})

    def of(*bodies: bytes) -> str:
        found = Fingerprint()
        list(found.over((md, body) for body in bodies))
        return found.hex()

    assert len({of(), of(b""), of(b"a", b"b"), of(b"b", b"a"), of(b"ab"), of(b"a", b"b", b"")}) == 6
