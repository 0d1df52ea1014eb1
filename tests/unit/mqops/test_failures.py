"""What goes wrong around a run: each is told in one clear line, and no message is lost."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from dataclasses import replace

import pyarrow.parquet as pq
import pytest
from ledger_opened import act, observe, prove
from mq_support import DLQ, dead_letter

from mqops.deciders.dead_letters import DEAD_LETTERS, DeadLetterRequest
from mqops.deciders.run import plan_run
from mqops.errors import LakeError, PermanentMQError, SettingsError
from mqops.lake.run import RunFolder
from mqops.mq.connection import VARIABLE, MqConnection, connect
from mqops.mq.inquire import dead_letter_queue, depth, inquire_queues, queue_manager_name, queue_state
from mqops.rules import parse
from mqwire import constants as c


@pytest.fixture
def manager(queue_manager):
    return queue_manager(mqsc="DEFINE QLOCAL(A)\n")


def test_an_unknown_queue_manager_is_told(manager):
    with (
        pytest.raises(PermanentMQError, match=r"^MQCONNX on NOBODY failed: MQRC_Q_MGR_NAME_ERROR \(2058\)\. Check the"),
        connect(MqConnection(queue_manager="NOBODY")),
    ):
        pass


def test_a_wrong_password_is_told_and_not_shown(manager):
    manager.mqlite("user", "add", "QM1", "alice", text="right one\n")
    manager.mqsc("SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('alice') AUTHADD(CONNECT,INQ)\n")
    connection = {"queue_manager": "QM1", "channel": "SYSTEM.DEF.SVRCONN", "conn_name": "localhost(1414)"}
    with connect(MqConnection(**connection, user="alice", password="right one")) as session:
        assert queue_manager_name(session) == "QM1"
    with (
        pytest.raises(PermanentMQError) as raised,
        connect(MqConnection(**connection, user="alice", password="hunter2")),
    ):
        pass
    assert raised.value.reason == c.MQRC_NOT_AUTHORIZED
    assert str(raised.value) == (
        "MQCONNX on QM1 failed: MQRC_NOT_AUTHORIZED (2035). "
        "Check user and password of the connection and the authority records"
    )
    assert "hunter2" not in repr(raised.value)


def test_a_missing_library_is_told(manager):
    code = "from mqops.mq.connection import *\nopen_session(MqConnection(queue_manager='QM1'))"
    environment = {**manager.environment, "MQLITE_PREFIX": "/nonexistent"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, text=True, capture_output=True)
    last = done.stderr.splitlines()[-1]
    assert last.startswith("mqops.errors.SettingsError: The MQ library cannot be loaded (")
    assert "/nonexistent/lib64/libmqm_r.so" in last
    assert last.endswith("in LD_LIBRARY_PATH, or for embedded queue managers run `mqlite build`")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", f"Set {VARIABLE} to the connection as JSON"),
        ("{", f"{VARIABLE} is not a connection as JSON: it is no JSON (JSONDecodeError)"),
        ('{"queue_manager": "QM1", "pasword": "hunter2"}', f"{VARIABLE} is not a connection as JSON: pasword: "),
        ('{"queue_manager": "QM1", "password": ["hunter2"]}', f"{VARIABLE} is not a connection as JSON: password: "),
        ('{"password": "hunter2"}', f"{VARIABLE} is not a connection as JSON: queue_manager: Field required. "),
    ],
)
def test_a_connection_that_is_none_is_told_without_its_text(text, error):
    with pytest.raises(SettingsError) as raised:
        MqConnection.from_environment({VARIABLE: text})
    assert str(raised.value).startswith(error)
    assert "hunter2" not in str(raised.value)


def test_a_connection_travels_as_json():
    connection = MqConnection(queue_manager="QM1", user="u", password="p", environment={"MQLITE_HOME": "/x"})
    assert MqConnection.from_environment({VARIABLE: connection.to_json()}) == connection
    bytes_of_no_text = replace(connection, password=b"p\xff".decode("utf-8", "surrogateescape"))
    assert MqConnection.from_environment({VARIABLE: bytes_of_no_text.to_json()}) == bytes_of_no_text


def test_half_a_client_connection_is_told():
    with (
        pytest.raises(SettingsError, match="needs both channel and conn_name"),
        connect(MqConnection(queue_manager="QM1", channel="C")),
    ):
        pass


def test_no_dead_letter_queue_is_told(manager):
    manager.mqsc("ALTER QMGR DEADQ(' ')")
    with connect(manager.connection) as session, pytest.raises(SettingsError, match="QM1 has no dead-letter queue"):
        dead_letter_queue(session)


def test_what_queues_say_of_themselves(manager):
    manager.mqsc("ALTER QLOCAL(A) MAXDEPTH(7) MAXMSGL(99) PUT(DISABLED) BOTHRESH(3) BOQNAME(B)")
    with connect(manager.connection) as session:
        state = queue_state(session, "A")
        assert (state.name, state.depth, state.max_depth, state.max_msg_length) == ("A", 0, 7, 99)
        assert (state.put_allowed, state.get_allowed, state.open_input) == (False, True, 0)
        assert (state.backout_threshold, state.backout_queue) == (3, "B")
        assert depth(session, DLQ) == 0
        (found,) = inquire_queues(session, "A", (c.MQIA_MAX_Q_DEPTH,))
        assert (found[c.MQCA_Q_NAME], found[c.MQIA_MAX_Q_DEPTH]) == ("A", 7)
        assert inquire_queues(session, "NO.SUCH.*") == []


def test_a_full_disk_stops_observe_before_anything_is_moved(manager, tmp_path, monkeypatch):
    manager.put(DLQ, [dead_letter("A", b"x")])

    def full(*_args):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    run = RunFolder.at(tmp_path / "lake", "QM1", "r")
    monkeypatch.setattr(pq.ParquetWriter, "write_batch", full)
    with pytest.raises(LakeError, match="No space left on device; make room on the disk, no message was lost"):
        observe(manager.connection, run)
    monkeypatch.undo()
    assert not run.path.joinpath("observe.json").exists()
    assert manager.depth(DLQ) == 1
    assert observe(manager.connection, run).messages == 1


def test_a_lake_that_is_no_folder_is_told(manager, tmp_path):
    (tmp_path / "lake").write_text("")
    with pytest.raises(
        LakeError, match=r"lake is not a folder, or it is a link to one: remove it, or name the folder itself"
    ):
        observe(manager.connection, RunFolder.at(tmp_path / "lake", "QM1", "r"))


def test_a_damaged_plan_is_told(manager, tmp_path):
    manager.put(DLQ, [dead_letter("A", b"x")])
    table = parse("ACTION(RETRY)").table
    run, _plan = plan_run(
        DEAD_LETTERS, DeadLetterRequest(connection=manager.connection, lake=tmp_path / "lake", table=table, text="")
    )
    (part,) = run.plan.glob("*.parquet")
    part.write_bytes(part.read_bytes()[:-10])
    with pytest.raises(LakeError, match="is not a whole Parquet file"):
        act(manager.connection, run)
    assert manager.depth(DLQ) == 1


def test_a_full_disk_while_proving_leaves_the_markers_where_they_are(manager, tmp_path, monkeypatch):
    manager.put(DLQ, [dead_letter("A", b"x")] * 3)
    table = parse("ACTION(RETRY)").table
    run, _plan = plan_run(
        DEAD_LETTERS, DeadLetterRequest(connection=manager.connection, lake=tmp_path / "lake", table=table, text="")
    )
    act(manager.connection, run)
    waiting = manager.depth("MQOPS.LEDGER")
    whole_write = os.write

    def full(descriptor, content):
        if bytes(content).startswith(b'{"unit"'):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return whole_write(descriptor, content)

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(LakeError, match="make room on the disk, no message was lost") as error:
        prove(manager.connection, run)
    assert f"Run {run.run}: the last execution of act had 3 moved, 0 discarded; what the ledger does not have" in str(
        error.value
    )
    lake = (tmp_path / "lake").resolve()
    assert str(error.value).endswith(f"To go on: `mqops resume {run.run} --finish -m QM1 --lake {lake}`")
    monkeypatch.undo()
    assert manager.depth("MQOPS.LEDGER") == waiting > 0
    assert prove(manager.connection, run).moved == 3


def test_half_a_unit_of_work_is_never_committed_by_the_end_of_a_process(manager):
    """An MQDISC commits; pymqi makes one when its object goes. A process that just ends must not move half a unit."""
    manager.put(DLQ, [dead_letter("A", b"x")])
    code = """
import sys
from mqops.mq.connection import *
from mqops.act.mover_port import *
session = open_session(MqConnection(queue_manager="QM1"))
handle = session.open("SYSTEM.DEAD.LETTER.QUEUE", OPEN_OPTIONS)
assert session.get(handle, GET_OPTIONS)
if sys.argv[1] == "disconnect":
    session.disconnect()
elif sys.argv[1] == "raise":
    with connect(MqConnection(queue_manager="QM1")) as other:
        assert other.get(other.open("SYSTEM.DEAD.LETTER.QUEUE", OPEN_OPTIONS), GET_OPTIONS) is None
        raise SystemExit(3)
"""
    for way, code_of_exit in (("end", 0), ("disconnect", 0), ("raise", 3)):
        done = subprocess.run([sys.executable, "-c", code, way], env=manager.environment, check=False)
        assert done.returncode == code_of_exit, way
        assert len(manager.messages(DLQ)) == 1, way
