"""Commands that meet messages and open handles: CLEAR, DELETE, ALTER, DISPLAY QSTATUS; and P10."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pymqi
import pytest
from pymqi import CMQC, CMQCFC

if TYPE_CHECKING:
    from .conftest import Mqsc


@pytest.fixture
def connection(mqsc: Mqsc) -> Iterator[pymqi.QueueManager]:
    mqsc("DEFINE QLOCAL(Q)")
    connected = pymqi.connect("QM1")
    yield connected
    if connected.is_connected:
        connected.disconnect()


def test_P10_ALTER_QLOCAL_sets_BOTHRESH_and_BOQNAME_and_MQINQ_and_PCF_inquire_them(
    mqsc: Mqsc, connection: pymqi.QueueManager
) -> None:
    mqsc("ALTER QLOCAL(Q) BOTHRESH(3) BOQNAME(Q.BACKOUT)")
    queue = pymqi.Queue(connection, "Q", CMQC.MQOO_INQUIRE)
    assert queue.inquire(CMQC.MQIA_BACKOUT_THRESHOLD) == 3
    assert queue.inquire(CMQC.MQCA_BACKOUT_REQ_Q_NAME).strip() == b"Q.BACKOUT"
    wanted = [CMQC.MQIA_BACKOUT_THRESHOLD, CMQC.MQCA_BACKOUT_REQ_Q_NAME]
    (found,) = pymqi.PCFExecute(connection).MQCMD_INQUIRE_Q({CMQC.MQCA_Q_NAME: b"Q", CMQCFC.MQIACF_Q_ATTRS: wanted})
    assert (found[wanted[0]], found[wanted[1]].strip()) == (3, b"Q.BACKOUT")


def test_dynamic_queue_takes_the_backout_attributes_from_its_model(mqsc: Mqsc, connection: pymqi.QueueManager) -> None:
    mqsc("DEFINE QMODEL(M) BOTHRESH(2) BOQNAME(FIRST)")

    def made() -> tuple[int, bytes]:
        descriptor = pymqi.OD(ObjectName=b"M", DynamicQName=b"DYN.*")
        queue = pymqi.Queue(connection, descriptor, CMQC.MQOO_INQUIRE | CMQC.MQOO_INPUT_EXCLUSIVE)
        return queue.inquire(CMQC.MQIA_BACKOUT_THRESHOLD), queue.inquire(CMQC.MQCA_BACKOUT_REQ_Q_NAME).strip()

    assert made() == (2, b"FIRST")
    mqsc("ALTER QMODEL(M) BOTHRESH(5) BOQNAME(SECOND)")
    assert made() == (5, b"SECOND")


def test_connections_and_what_they_have_open(mqsc: Mqsc, connection: pymqi.QueueManager) -> None:
    assert "AMQ8461I" in mqsc("DISPLAY CONN(*) TYPE(HANDLE)", code=10)  # nobody has anything open
    queue = pymqi.Queue(connection, "Q", CMQC.MQOO_INQUIRE)
    queue.inquire(CMQC.MQIA_CURRENT_Q_DEPTH)
    handle = mqsc("DISPLAY CONN(*) TYPE(HANDLE)")
    for text in ("TYPE(HANDLE)", "OBJNAME(Q)", "OBJTYPE(QUEUE)", f"OPENOPTS({CMQC.MQOO_INQUIRE})", "HSTATE(INACTIVE)"):
        assert text in handle
    both = mqsc("DISPLAY CONN(*) TYPE(ALL) ALL")
    assert [both.count(text) for text in ("TYPE(CONN)", "TYPE(HANDLE)", "PID(", "OBJNAME(Q)")] == [1, 1, 1, 1]
    assert "OBJNAME(Q)" in mqsc("DISPLAY CONN(*) TYPE(HANDLE) WHERE(OBJNAME EQ 'Q')")
    queue.close()


def test_clear_and_delete_of_a_queue_with_messages(mqsc: Mqsc, connection: pymqi.QueueManager) -> None:
    queue = pymqi.Queue(connection, "Q")
    queue.put(b"x")
    assert "AMQ8148E" in mqsc("CLEAR QLOCAL(Q)", code=10)  # open
    assert "AMQ8148E" in mqsc("DELETE QLOCAL(Q) PURGE", code=10)
    queue.close()
    assert "AMQ8143E" in mqsc("DELETE QLOCAL(Q)", code=10)  # not empty
    assert "AMQ8022I" in mqsc("CLEAR QLOCAL(Q)")
    assert "CURDEPTH(0)" in mqsc("DIS QL(Q) CURDEPTH")
    assert "AMQ8007I" in mqsc("DELETE QLOCAL(Q)")


def test_delete_with_purge_takes_the_messages_along(mqsc: Mqsc, connection: pymqi.QueueManager) -> None:
    pymqi.Queue(connection, "Q").put(b"x")
    connection.disconnect()
    assert "AMQ8007I" in mqsc("DELETE QLOCAL(Q) PURGE")
    assert "CURDEPTH(0)" in mqsc("DEFINE QLOCAL(Q)", "DIS QL(Q) CURDEPTH")


def test_queue_status_and_its_handles(mqsc: Mqsc, connection: pymqi.QueueManager) -> None:
    queue = pymqi.Queue(connection, "Q", CMQC.MQOO_INPUT_EXCLUSIVE | CMQC.MQOO_OUTPUT | CMQC.MQOO_BROWSE)
    queue.put(b"x", pymqi.MD(), pymqi.PMO(Options=CMQC.MQPMO_SYNCPOINT))
    output = mqsc("DIS QSTATUS(Q)")
    assert "CURDEPTH(1)" in output
    assert "IPPROCS(1)" in output
    assert "OPPROCS(1)" in output
    assert "UNCOM(YES)" in output
    handles = mqsc("DIS QSTATUS(Q) TYPE(HANDLE) ALL")
    assert "INPUT(EXCL)" in handles
    assert "OUTPUT(YES)" in handles
    assert "BROWSE(YES)" in handles
    connection.backout()
    queue.close()
    assert "UNCOM(NO)" in mqsc("DIS QSTATUS(Q) UNCOM")


def test_usage_changes_only_while_nobody_has_the_queue_open(mqsc: Mqsc, connection: pymqi.QueueManager) -> None:
    queue = pymqi.Queue(connection, "Q", CMQC.MQOO_OUTPUT)
    queue.put(b"x")
    assert "AMQ8148E" in mqsc("ALTER QLOCAL(Q) USAGE(XMITQ)", code=10)
    queue.close()
    assert "AMQ8148E" in mqsc("ALTER QLOCAL(Q) USAGE(XMITQ)", code=10)  # not empty
    assert "AMQ8008I" in mqsc("CLEAR QLOCAL(Q)", "ALTER QLOCAL(Q) USAGE(XMITQ)")


def test_display_conn_shows_who_is_connected(mqsc: Mqsc, connection: pymqi.QueueManager) -> None:
    assert "AMQ8276I" in mqsc("DISPLAY CONN(*) ALL")
