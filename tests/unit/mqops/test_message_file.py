"""`mqops message export` and `load`: the format of dmpmqmsg, what is refused, and what a load leaves."""

from __future__ import annotations

import hashlib
import json
import random
import re
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from mq_support import DLQ, Manager, dead_letter, reveal_estate
from pymqi import CMQC

from mqops.actions import Action
from mqops.cli import main
from mqops.decide.core import PlanSummary
from mqops.deciders.message_load import MESSAGE_LOAD, LoadRequest
from mqops.deciders.run import carry_out, plan_run
from mqops.errors import InProgress, PlanChanged, SettingsError
from mqops.lake.run import RunFolder
from mqops.look.reveal import record_reveals
from mqops.message_file import export
from mqops.message_file.core import text as text_format
from mqops.message_file.core.choice import load_actions
from mqops.message_file.core.text import FileMessage, messages_in, text_of
from mqops.message_file.load import LoadPort, all_loads_of
from mqops.prove.records import LOAD_RECORD, is_undoable
from mqwire.structures import MQMD, MQMD_LAYOUT

MD = MQMD_LAYOUT.pack({"version": 2})
BY_DMPMQMSG = """
* DMPMQMSG Version:9.3.0.0 Created:Mon Nov 23 03:00:00 2026
* Qmgr  = QM1
* Queue = IN

A VER 2
A RPT 0
A MST 8
A EXP -1
A FDB 0
A ENC 273
A CCS 500
A FMT MQSTR\x20\x20\x20
A PRI 4
A PER 1
A MSI 414D5120514D31202020202020202020616263646566676D
A COI 000000000000000000000000000000000000000000000000
A BOC 0
A RTQ REPLIES
A RTM\x20
A USR alice
A ACC 1601051500000000000000000000000000000000000000000000000000000000
A AID teller 7
A PAT 28
A PAN java.exe
A PTD 20260102
A PTT 03040506
A AOD\x20
A GRP 000000000000000000000000000000000000000000000000
A MSQ 1
A OFF 0
A MSF 0
A ORL -1
X C8859393    <Hell>
S "o ~"quoted~" ~~"
T  world
T\x20

* Index 2
A VER 1
A FMT MQSTR
X\x20
N
S "defaults"
"""


@pytest.fixture
def manager(queue_manager) -> Manager:
    return queue_manager(mqsc="DEFINE QLOCAL(IN)\nDEFINE QLOCAL(OUT)\nDEFINE QLOCAL(SMALL) MAXDEPTH(2) MAXMSGL(100)\n")


@pytest.fixture
def message(manager, mqops_here, tmp_path, monkeypatch):
    """Runs `mqops message ... -m QM1 --json`; gives what it says."""
    monkeypatch.setenv("MQOPS_ESTATE", reveal_estate(tmp_path))

    def run(*arguments: str, expect: int = 0, **more: str):
        done = mqops_here("message", *map(str, arguments), "-m", "QM1", "--json", expect=expect, **more)
        return json.loads(done.stdout.splitlines()[-1])

    return run


def load(message, *arguments: str, expect: int = 0, **more: str):
    return message("load", *arguments, "--run", "--yes", expect=expect, **more)


def parsed(text: str | bytes) -> list[FileMessage]:
    raw = text.encode() if isinstance(text, str) else text
    return list(messages_in(raw.splitlines(keepends=True), name="file"))


def exported(message, tmp_path: Path, queue: str = "IN", name: str = "a.msg") -> Path:
    message("export", queue, str(tmp_path / name))
    return tmp_path / name


def test_a_file_of_dmpmqmsg_is_read_as_ibm_reads_it():
    first, second, third = parsed(BY_DMPMQMSG)
    md = MQMD.unpack(first.md)
    assert (md.format, md.coded_char_set_id, md.encoding, md.put_date) == ("MQSTR", 500, 273, "20260102")
    assert (md.reply_to_q, md.user_identifier, md.appl_identity_data) == ("REPLIES", "alice", "teller 7")
    assert md.msg_id == b"AMQ QM1         abcdefgm"
    assert md.accounting_token[:4] == b"\x16\x01\x05\x15"
    assert first.body == bytes.fromhex("C8859393") + b'o "quoted" ~' + b" world\n\n"
    assert (first.line, second.line, third.line) == (6, 40, 43)
    assert (MQMD.unpack(second.md).format, second.body) == ("MQSTR", b"")
    assert (second.md[4:8], third.md) == (MD[4:8], MD)
    assert third.body == b"defaults"


@pytest.mark.parametrize("begin", ["* QLOAD Version:1.1", "* dmpmqmsg", "\n\n* DMPMQMSG"])
def test_older_files_are_read_too(begin):
    assert [one.body for one in parsed(f"{begin}\nN\nX 00\n")] == [b"\0"]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("A PRI four", "file:2: PRI is not a number of 32 bits"),
        ("A PRI 2147483648", "file:2: PRI is not a number of 32 bits"),
        ("A VER 3", "file:2: VER is 1 or 2"),
        ("A XYZ 1", "file:2: this is not a field of a message descriptor"),
        ("APRI 1", "file:2: this is not a field of a message descriptor"),
        ("A USR thirteen char", "file:2: USR has 13 bytes, at most 12 fit"),
        ("A MSI 00", "file:2: 48 hex digits are needed"),
        ("A PRI 1\nA PRI 1", "file:3: PRI stands there for the second time"),
        ("A AID x\nA AIX 00", "file:3: AIX stands there for the second time"),
        ("A PRI 1\nN", "file:3: `N` begins a message, and there are lines `A` before it without a body"),
        ("A PRI 1", "file:2: the file ends in the middle of a message: it has no body line"),
        ("X 0", "file:2: these are not pairs of hex digits"),
        ("X 00 11", "file:2: these are not pairs of hex digits"),
        ('S "never ends', "file:2: this is not a text in quotes"),
        ('S "~x"', "file:2: this is not a text in quotes"),
        ("Hello", "file:2: a line begins with A, N, X, S, T or *"),
    ],
)
def test_law7_a_line_that_is_damaged_is_refused_with_its_number(line, says):
    with pytest.raises(SettingsError) as error:
        parsed(f"* DMPMQMSG\n{line}\n")
    assert str(error.value).startswith(says)
    assert str(error.value).endswith("Nothing was loaded")


def test_a_line_and_a_message_are_no_longer_than_a_queue_takes(monkeypatch):
    monkeypatch.setattr(text_format, "LONGEST_MESSAGE", 100)
    monkeypatch.setattr(text_format, "LONGEST_LINE", 400)
    with pytest.raises(SettingsError, match=r"^file:3: the message has more than 100 bytes, the greatest MAXMSGL"):
        parsed(f"* DMPMQMSG\nT {'x' * 60}\nT {'x' * 60}\n")
    with pytest.raises(SettingsError, match=r"^file:2: the line has 400 bytes or more"):
        parsed(f"* DMPMQMSG\nX {'0' * 400}\n")


X_LINE = re.compile(rb" *((?:[0-9A-Fa-f]{2})*) *(?:<.*>)?")
S_LINE = re.compile(rb' *(?:"((?:[^~"]|~[~"])*)")? *')


@settings(deadline=None)
@given(st.sampled_from("XS"), st.text(alphabet=' 0aF<>"~x', max_size=9))
def test_lines_of_a_body_are_those_of_two_short_rules(kind, rest):
    """The rules as regular expressions, which take the square of the length for a long line."""
    (expected,) = ((X_LINE if kind == "X" else S_LINE).fullmatch(rest.encode()),)
    text = f"* DMPMQMSG\n{kind}{rest}\n"
    if expected is None:
        with pytest.raises(SettingsError):
            parsed(text)
        return
    value = expected[1] or b""
    body = bytes.fromhex(value.decode()) if kind == "X" else re.sub(rb'~([~"])', rb"\1", value)
    assert [one.body for one in parsed(text)] == [body]


@pytest.mark.parametrize("text", ["", "\n\n", "hello\n", "AMQSBCG0 - starts here\n"])
def test_what_is_no_such_file_is_refused(text):
    with pytest.raises(SettingsError, match=r"^file:\d: (this is not a file of dmpmqmsg|the file is empty)"):
        parsed(text)


def test_any_damage_to_a_file_of_mqops_is_found():
    """A byte changed, a line lost, doubled or moved, the end cut off: never other messages without a word."""
    chance = random.Random(3)
    given = [(MD, chance.randbytes(chance.randrange(200))) for _ in range(20)]
    raw = b"".join(text_of(given, ["somewhere"]))
    lines = raw.splitlines(keepends=True)
    assert len(parsed(raw)) == 20
    harmless = 0
    for _ in range(400):
        damaged, at, how = list(lines), chance.randrange(len(lines)), chance.randrange(5)
        if how == 0:
            place = chance.randrange(len(lines[at]))
            damaged[at] = (
                lines[at][:place] + bytes([lines[at][place] ^ 1 << chance.randrange(7)]) + lines[at][place + 1 :]
            )
        elif how == 1:
            del damaged[at]
        elif how == 2:
            damaged.insert(at, lines[at])
        elif how == 3:
            damaged = damaged[:at]
        else:
            damaged = raw[: chance.randrange(len(raw))].splitlines(keepends=True)
        if b"".join(damaged) == raw:
            continue
        try:
            found = parsed(b"".join(damaged))
        except SettingsError:
            continue
        assert at == 0, (how, at)  # its first line does not say any more that mqops wrote it
        assert [(one.md, one.body) for one in found] == given
        harmless += 1
    assert harmless < 20


def test_a_file_that_was_edited_on_purpose_can_be_loaded(tmp_path):
    raw = b"".join(text_of([(MD, b"x")], [])).replace(b"A PRI -1", b"A PRI 7")
    with pytest.raises(SettingsError, match="delete this line, and the words `by mqops` in the first"):
        parsed(raw)
    edited = b"".join(line for line in raw.splitlines(keepends=True) if b"END" not in line).replace(
        b"by mqops", b"by me"
    )
    assert MQMD.unpack(parsed(edited)[0].md).priority == 7


def test_hostile_names_steer_no_terminal_and_forge_no_line(message, manager, tmp_path):
    evil = b"\x1b[2Jq\n* mqops END 1 " + b"0" * 20
    manager.put(
        "IN",
        [({"ReplyToQ": evil, "UserIdentifier": b"\xe9\0x"}, b"\x1b]0;owned\x07")],
        options=CMQC.MQOO_SET_ALL_CONTEXT,
    )
    file = exported(message, tmp_path)
    raw = file.read_bytes()
    assert not [byte for byte in raw if byte != 10 and not 32 <= byte < 127]
    (one,) = parsed(raw)
    assert (one.md, one.body) == (whole(manager, "IN")[0], b"\x1b]0;owned\x07")


def whole(manager: Manager, queue: str) -> list[bytes]:
    from mqops.mq.browse import browse  # noqa: PLC0415
    from mqops.mq.connection import connect  # noqa: PLC0415

    with connect(manager.connection) as session:
        return [got.md for got in browse(session, queue)]


@pytest.mark.parametrize("name", ["a.msg", "a.parquet"])
def test_an_export_is_private_and_overwrites_nothing(message, manager, tmp_path, name):
    manager.put("IN", [({}, b"secret")])
    done = message("export", "IN", str(tmp_path / name))
    assert (done["messages"], done["bytes"], done["form"]) == (1, 6, "parquet" if "parquet" in name else "text")
    path = tmp_path / name
    paths = [path, *path.iterdir()] if path.is_dir() else [path]
    assert not any(stat.S_IMODE(one.stat().st_mode) & 0o077 for one in paths)
    before = [one.read_bytes() for one in paths if one.is_file()]
    message("export", "IN", str(path), expect=1)
    assert [one.read_bytes() for one in paths if one.is_file()] == before
    (tmp_path / f".{name}.0123456789abcdef").touch()
    message("export", "IN", str(path), expect=1)  # an export that was killed left that file when the name was given
    message("export", "NOT.THERE", str(tmp_path / "b.msg"), expect=1)
    assert sorted(one.name for one in tmp_path.iterdir() if "msg" in one.name or "parquet" in one.name) == [name]
    assert manager.depth("IN") == 1


@pytest.mark.parametrize("name", ["a.msg", "a.parquet"])
def test_of_two_exports_to_one_file_at_the_same_moment_one_is_refused(message, manager, tmp_path, monkeypatch, name):
    manager.put("IN", [({}, b"secret")])

    def at_the_end(*about, **more):
        patched.undo()
        assert message("export", "IN", str(tmp_path / name))["messages"] == 1
        return record_reveals(*about, **more)

    with monkeypatch.context() as patched:
        patched.setattr(export, "record_reveals", at_the_end)
        refused = message("export", "IN", str(tmp_path / name), expect=1)["error"]
    assert "is there already" in refused["message"]
    assert [one.name for one in tmp_path.iterdir() if name in one.name] == [name]
    assert load(message, str(tmp_path / name), "OUT")["moved"] == 1


KILLED = """
import os, signal, sys
from mqops.cli import main
from mqops.message_file import export
place, step = {"messages": (export, "record_reveals"), "named": (os, "rename")}[sys.argv.pop(1)]
setattr(place, step, lambda *about, **more: os.kill(os.getpid(), signal.SIGKILL))
main(sys.argv[1:])
"""


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("a.msg", "messages"),  # after the last message
        ("a.parquet", "messages"),
        ("a.parquet", "named"),  # when the folder is to get its name
    ],
)
def test_what_a_killed_export_leaves_is_private_and_removed_by_the_next_one(message, manager, tmp_path, name, step):
    manager.put("IN", [({}, b"secret")])
    environment = {**manager.environment, "MQOPS_ESTATE": reveal_estate(tmp_path), "MQOPS_LAKE": str(tmp_path / "lake")}
    words = ["message", "export", "IN", str(tmp_path / name), "-m", "QM1"]
    done = subprocess.run([sys.executable, "-c", KILLED, step, *words], env=environment)
    assert done.returncode == -signal.SIGKILL
    (left,) = (one for one in tmp_path.iterdir() if name in one.name)
    assert (left.name[: len(name) + 2], stat.S_IMODE(left.stat().st_mode) & 0o077) == (f".{name}.", 0)
    message("export", "IN", str(tmp_path / name))
    assert [one.name for one in tmp_path.iterdir() if name in one.name] == [name]


def test_only_what_fits_is_exported_from_a_queue_and_from_a_snapshot(message, manager, mqops_here, tmp_path):
    first, second = manager.put("IN", [({"Priority": 1}, b"one"), ({"Priority": 1}, b"two, and longer")])
    run = json.loads(mqops_here("snapshot", "IN", "-m", "QM1", "--json").stdout)["folder"]
    manager.mqsc("CLEAR QLOCAL(IN)\n")
    manager.put("IN", [({"MsgId": first}, b"one")])
    by_id = message("export", "IN", str(tmp_path / "1"), "--msg-id", first.hex(), "--size", "<10")
    none = message("export", "IN", str(tmp_path / "2"), "--msg-id", second.hex())
    recorded = message("export", "IN", str(tmp_path / "3"), "--snapshot", run, "--msg-id", second.hex())
    assert (by_id["messages"], none["messages"], recorded["messages"]) == (1, 0, 1)
    assert [one.body for one in parsed((tmp_path / "3").read_bytes())] == [b"two, and longer"]
    message("load", str(tmp_path / "2"), "OUT", expect=1)
    message("export", "OUT", str(tmp_path / "4"), "--snapshot", run, expect=1)


def test_a_load_is_a_dry_run_unless_it_is_told_to_run(message, manager, mqops_here, tmp_path):
    manager.put("IN", [({}, b"one"), ({}, b"two")])
    file = str(exported(message, tmp_path))
    plan = message("load", file, "OUT")["plan"]
    assert plan["actions"] == {"LOAD": 2}
    asked = mqops_here("message", "load", file, "OUT", "-m", "QM1", "--run", text="n\n", expect=1)
    assert "Load these messages?" in asked.stdout
    assert manager.depth("OUT") == manager.depth("MQOPS.LEDGER") == 0
    mqops_here("message", "load", file, "OUT", "-m", "QM1", "--run", text="y\n")
    assert manager.bodies("OUT") == [b"one", b"two"]
    mqops_here("message", "load", file, "OUT", "-m", "QM1", "--run", "--json", expect=2)


def test_a_message_of_a_file_was_not_seen_on_the_queue_that_it_is_to_be_loaded_onto(
    message, manager, mqops_here, tmp_path
):
    manager.put("IN", [({}, b"x")])
    file = exported(message, tmp_path)
    (one,) = parsed(file.read_bytes())
    message("load", file, "OUT")
    manager.mqsc("CLEAR QLOCAL(IN)\n")
    told = mqops_here("ledger", "show", one.md[48:72].hex(), "--json").stdout
    assert "OUT" not in told


def test_law3_what_was_loaded_is_not_loaded_again_whatever_became_of_it(message, manager, tmp_path):
    """By the messages, not by the name or the format of the file, nor by an alias; on another queue it is another."""
    manager.mqsc("DEFINE QALIAS(DOOR) TARGET(OUT)\n")
    manager.put("IN", [({}, b"one"), ({}, b"two")])
    text, parquet = exported(message, tmp_path), exported(message, tmp_path, name="b.parquet")
    assert load(message, text, "OUT")["moved"] == 2
    manager.mqsc("CLEAR QLOCAL(OUT)\n")
    again = load(message, parquet, "OUT")
    assert (again["moved"], again["left"], manager.depth("OUT")) == (0, 2, 0)
    assert any("2 messages of the file: put before by load-" in line for line in again["remarks"])
    assert load(message, text, "DOOR")["moved"] == 0
    assert load(message, text, "SMALL")["moved"] == 2
    assert load(message, text, "DOOR", "--again")["moved"] == 2
    assert manager.bodies("OUT") == [b"one", b"two"]


def test_what_is_on_the_queue_already_is_left(message, manager, tmp_path):
    manager.put("IN", [({}, b"one"), ({}, b"two")])
    file = exported(message, tmp_path)
    manager.put("IN", [({}, b"three")])
    assert load(message, file, "IN")["left"] == 2
    assert manager.bodies("IN") == [b"one", b"two", b"three"]


def test_run_show_says_why_a_load_left_a_message(message, manager, mqops_here, tmp_path):
    manager.put("IN", [({}, b"x")])
    file = exported(message, tmp_path)
    for queue, why in (("IN", "it is on its queue already"), ("OUT", "an earlier load of the file has put it")):
        load(message, file, queue)
        run = load(message, file, queue)["run"]
        (left,) = json.loads(mqops_here("run", "show", run, "--json").stdout)["messages"]
        assert (left["became"], left["why"]) == ("left", why)


def test_what_finds_no_room_is_left_and_the_next_load_puts_the_rest(message, manager, tmp_path):
    long = b"x" * 101
    manager.put("IN", [({}, b"one"), ({}, long), ({}, b"two"), ({}, b"three")])
    file = exported(message, tmp_path)
    plan = message("load", file, "SMALL")
    told = " ".join(one["what"] for one in plan["preflight"]["findings"] if one["severity"] == "problem")
    assert "the longest message has 101 bytes, MAXMSGL is 100" in told
    assert "room for 2 of 4 messages" in told
    done = load(message, file, "SMALL", expect=1)
    assert (done["moved"], done["left"], done["balanced"]) == (2, 2, True)
    assert set(done["reasons"]) == {"MQRC_MSG_TOO_BIG_FOR_Q", "MQRC_Q_FULL"}
    manager.mqsc("CLEAR QLOCAL(SMALL)\nALTER QLOCAL(SMALL) MAXMSGL(1000)\n")
    assert load(message, file, "SMALL")["moved"] == 2
    assert manager.bodies("SMALL") == [long, b"three"]


def test_a_load_is_not_begun_while_the_queue_manager_is_stopped(message, manager, mqops_here, tmp_path):
    manager.put("IN", [({}, b"x")])
    file = exported(message, tmp_path)
    message("load", file, "OUT")
    mqops_here("stop", "-m", "QM1")
    assert load(message, file, "OUT", expect=1)["error"]["code"] == "Stopped"
    mqops_here("resume", "-m", "QM1")
    assert load(message, file, "OUT")["moved"] == 1


def test_law1_a_load_with_again_that_broke_off_is_finished_and_not_put_once_more(
    message, manager, tmp_path, monkeypatch
):
    """The messages that it put before were consumed: only the ledger knows of them."""
    manager.put("IN", [({}, b"%d" % number) for number in range(4)])
    file, put = exported(message, tmp_path), LoadPort.put
    load(message, file, "OUT")
    manager.mqsc("CLEAR QLOCAL(OUT)\n")

    def breaks_off(self, row, taken):
        if row.row == 2:
            raise MemoryError
        return put(self, row, taken)

    words = ["message", "load", str(file), "OUT", "-m", "QM1", "--run", "--yes", "--again", "--unit-size", "2"]
    with monkeypatch.context() as patched:
        patched.setattr(LoadPort, "put", breaks_off)
        assert isinstance(CliRunner().invoke(main, words).exception, MemoryError)
    assert manager.bodies("OUT") == [b"0", b"1"]
    manager.mqsc("CLEAR QLOCAL(OUT)\n")
    assert load(message, file, "OUT", "--again")["moved"] == 0
    assert manager.bodies("OUT") == [b"2", b"3"]
    assert load(message, file, "OUT", "--again")["moved"] == 2, "what is there is left, the rest is put once more"


@pytest.mark.parametrize("by", ["load", "resume"])
def test_law1_a_load_that_broke_off_goes_on_where_it_was(message, manager, mqops_here, *, tmp_path, monkeypatch, by):
    bodies = [b"%d" % number for number in range(6)]
    manager.put("IN", [({}, body) for body in bodies])
    file, put = exported(message, tmp_path), LoadPort.put
    done: list[int] = []

    def breaks_off(self, row, taken):
        if len(done) == 3:
            raise MemoryError
        done.append(row.row)
        return put(self, row, taken)

    monkeypatch.setattr(LoadPort, "put", breaks_off)
    words = ["message", "load", str(file), "OUT", "-m", "QM1", "--run", "--yes", "--unit-size", "2"]
    broken = CliRunner().invoke(main, words)
    assert isinstance(broken.exception, MemoryError)
    monkeypatch.setattr(LoadPort, "put", put)
    assert manager.bodies("OUT") == bodies[:2]
    refused = message("load", file, "OUT", expect=1)["error"]
    assert refused["code"] == "InProgress"
    (run,) = re.findall(r"mqops resume (\S+) --finish", refused["message"])
    if by == "resume":
        assert json.loads(mqops_here("resume", run, "--finish", "--json").stdout)["moved"] == 6
    assert load(message, file, "OUT")["moved"] == 0
    assert manager.bodies("OUT") == bodies
    assert manager.depth("MQOPS.LEDGER") == 0


def planned(manager: Manager, lake: Path, file: Path, queue: str) -> tuple[LoadRequest, RunFolder, PlanSummary]:
    what = LoadRequest(connection=manager.connection, lake=lake, file=file, queue=queue)
    return (what, *plan_run(MESSAGE_LOAD, what))


def test_law1_of_two_loads_of_the_same_messages_one_is_carried_out(message, manager, tmp_path):
    manager.put("IN", [({}, b"one"), ({}, b"two")])
    text, parquet = exported(message, tmp_path), exported(message, tmp_path, name="b.parquet")
    plans = [planned(manager, tmp_path / "lake", file, "OUT") for file in (text, parquet)]
    assert carry_out(MESSAGE_LOAD, *plans[0]).moved == 2
    with pytest.raises(PlanChanged, match="Another load of these messages was begun"):
        carry_out(MESSAGE_LOAD, *plans[1])
    assert manager.bodies("OUT") == [b"one", b"two"]


def test_law1_no_two_processes_load_the_same_messages(message, manager, tmp_path):
    manager.put("IN", [({}, b"x")])
    file = exported(message, tmp_path)
    one, other = (planned(manager, tmp_path / "lake", file, "OUT") for _ in range(2))
    found = LOAD_RECORD.find(one[1])
    assert found
    busy = "Another process loads the messages of a.msg onto OUT; wait for it to end"
    with all_loads_of(one[1], found).lock(), pytest.raises(InProgress, match=busy):
        carry_out(MESSAGE_LOAD, *other)
    assert manager.depth("OUT") == 0


def test_an_alias_that_leads_to_the_ledger_queue_after_the_plan_gets_nothing(message, manager, tmp_path):
    manager.mqsc("DEFINE QALIAS(DOOR) TARGET(OUT)\n")
    manager.put("IN", [({}, b"x")])
    plan = planned(manager, tmp_path / "lake", exported(message, tmp_path), "DOOR")
    manager.mqsc("ALTER QALIAS(DOOR) TARGET(MQOPS.LEDGER)\n")
    with pytest.raises(PlanChanged, match=r"DOOR led to OUT when the plan was made, and leads to MQOPS\.LEDGER now"):
        carry_out(MESSAGE_LOAD, *plan)
    assert (manager.depth("OUT"), manager.depth("MQOPS.LEDGER")) == (0, 0)


@pytest.mark.parametrize("queue", ["MQOPS.LEDGER", "SYSTEM.ADMIN.COMMAND.QUEUE", "BACK.DOOR", "XMIT"])
def test_nothing_is_loaded_onto_the_queues_of_mqops_and_of_the_queue_manager(message, manager, tmp_path, queue):
    manager.mqsc("DEFINE QALIAS(BACK.DOOR) TARGET(MQOPS.LEDGER)\nDEFINE QLOCAL(XMIT) USAGE(XMITQ)\n")
    manager.put("IN", [({}, b"x")])
    error = load(message, exported(message, tmp_path), queue, expect=1)["error"]
    assert error["code"] == "SettingsError"
    assert manager.depth("MQOPS.LEDGER") == 0


def test_a_dead_letter_goes_back_to_the_dead_letter_queue(message, manager, tmp_path):
    manager.put(DLQ, [dead_letter("A", b"x")])
    file = exported(message, tmp_path, DLQ)
    before = whole(manager, DLQ)
    manager.mqsc(f"CLEAR QLOCAL({DLQ})\n")
    assert load(message, file, DLQ)["moved"] == 1
    assert whole(manager, DLQ) == before


def test_a_load_cannot_be_undone(message, manager, mqops_here, tmp_path):
    manager.put("IN", [({}, b"x")])
    run = load(message, exported(message, tmp_path), "OUT")["run"]
    done: subprocess.CompletedProcess[str] = mqops_here("undo", run, "--dry-run", expect=1)
    assert "is a load of a file: it took nothing from a queue" in done.stderr
    since = mqops_here("undo", "--since", "2020-01-01", "-m", "QM1", "--dry-run")
    assert "0 runs to undo" in since.stdout
    (tmp_path / "a.rules").write_text("ACTION(RETRY)\n")
    runs = str(tmp_path / "lake" / "QM1" / "runs")
    checked = mqops_here("rules", "check", str(tmp_path / "a.rules"), "--runs", runs, expect=2)
    assert "There is no recorded run of a dead-letter queue" in checked.stdout + checked.stderr
    assert [is_undoable(RunFolder(path)) for path in Path(runs).iterdir()] == [False]


def test_without_setall_nothing_is_put_and_it_says_what_is_missing(message, manager, tmp_path, caplog):
    manager.put("IN", [({}, b"x")])
    file = exported(message, tmp_path)
    manager.mqlite("user", "add", "QM1", "app", text="secret\n")
    manager.mqsc("SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('app') AUTHADD(CONNECT,INQ,DSP)\n")
    manager.mqsc("SET AUTHREC PROFILE('**') OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(GET,BROWSE,INQ,PUT,DSP)\n")
    app = json.dumps({"queue_manager": "QM1", "user": "app", "password": "secret"})
    done = load(message, file, "OUT", expect=1, MQOPS_CONNECTION=app)
    assert done["reasons"] == {"MQRC_NOT_AUTHORIZED": 1}
    assert "lacks SETALL on OUT or on the queue manager, because a load sets all context" in caplog.text
    assert manager.depth("OUT") == 0


def test_a_damaged_file_leaves_no_run_behind(message, manager, tmp_path):
    manager.put("IN", [({}, b"x")])
    file = exported(message, tmp_path)
    file.write_bytes(file.read_bytes().replace(b"A PER 1", b"A PER one"))
    error = load(message, file, "OUT", expect=1)["error"]
    assert f"{file}:" in error["message"]
    assert "PER is not a number of 32 bits" in error["message"]
    assert not list((tmp_path / "lake").glob("QM1/runs/*"))
    manager.put("IN", [({}, b"y")])
    parquet = exported(message, tmp_path, name="b.parquet")
    (part,) = parquet.iterdir()
    part.write_bytes(part.read_bytes()[:-20])
    assert "is not a whole Parquet file" in load(message, parquet, "OUT", expect=1)["error"]["message"]
    assert manager.depth("OUT") == 0


def test_the_copy_of_the_file_is_what_is_put(message, manager, tmp_path):
    """The plan is about the messages that were read, not about a file that somebody changes meanwhile (law 2)."""
    manager.put("IN", [({}, b"x")])
    file = exported(message, tmp_path)
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    load(message, file, "OUT")
    assert hashlib.sha256(file.read_bytes()).hexdigest() == digest
    (run,) = (tmp_path / "lake" / "QM1" / "runs").iterdir()
    assert json.loads((run / "load.json").read_text())["file"] == str(file)


def test_the_choice_of_what_is_put():
    def chosen(keys: str, loaded: set[int], there: dict[str, int]) -> str:
        words = {Action.LOAD: "L", Action.LOADED: "-", Action.PRESENT: "p"}
        return "".join(words[one] for one in load_actions(keys, loaded=loaded, on_queue=there))

    assert chosen("abc", set(), {}) == "LLL"
    assert chosen("abc", {1}, {}) == "L-L"
    assert chosen("aab", set(), {"a": 1, "z": 9}) == "pLL"
    assert chosen("aab", {0}, {"a": 1}) == "-LL"  # what is there is the one that was loaded
