"""How many connections a thread may have (IBM MQ, "2002 (07D2)" and "Shared connections with MQCONNX")."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pymqi
import pytest
from mqlite_support import PASSWORD, add_user, connected, make, refused
from pymqi import CMQC


@pytest.fixture
def first(home: Path) -> Iterator[pymqi.QueueManager]:
    """A connection to QM1 that is not shared."""
    make("QM1", "DEFINE QLOCAL(Q1)\nDEFINE CHANNEL(APP) CHLTYPE(SVRCONN)")
    manager = pymqi.connect("QM1")
    yield manager
    if manager.is_connected:
        manager.disconnect()


def test_second_connection_of_a_thread_is_the_first_one(first: pymqi.QueueManager) -> None:
    for answer in (pymqi.pymqe.MQCONN(b"QM1"), pymqi.pymqe.MQCONN(b"")):
        assert answer == (first.get_handle(), CMQC.MQCC_WARNING, CMQC.MQRC_ALREADY_CONNECTED)


def test_pymqi_raises_on_it_and_has_the_handle(first: pymqi.QueueManager) -> None:
    """What pymqi's example avoid_mqrc_already_connected1.py is about."""
    again = pymqi.QueueManager(None)
    with refused(CMQC.MQRC_ALREADY_CONNECTED) as caught:
        again.connect_tcp_client("QM1", pymqi.CD(), "APP", "localhost(1414)")
    assert caught.value.comp == CMQC.MQCC_WARNING
    assert again.get_handle() == first.get_handle()
    again.disconnect()
    with refused(CMQC.MQRC_HCONN_ERROR):
        first.commit()


def test_another_user_gets_the_same_connection(first: pymqi.QueueManager) -> None:
    add_user("clerk")
    again = pymqi.QueueManager(None)
    with refused(CMQC.MQRC_ALREADY_CONNECTED):
        again.connect_with_options("QM1", user=b"clerk", password=PASSWORD)
    assert again.get_handle() == first.get_handle()


def test_after_mqdisc_a_connection_is_a_new_one(first: pymqi.QueueManager) -> None:
    number = first.get_handle()
    first.disconnect()
    first.connect(b"QM1")
    assert first.get_handle() != number


def test_shared_connections_are_any_number(first: pymqi.QueueManager) -> None:
    """pymqi's example avoid_mqrc_already_connected2.py."""
    others = [connected("QM1") for _ in range(3)]
    assert len({first.get_handle(), *(other.get_handle() for other in others)}) == 4
    for other in others:
        other.disconnect()
    first.commit()


def test_shared_first_then_one_that_is_not(home: Path) -> None:
    make()
    shared, own = connected("QM1"), pymqi.connect("QM1")
    assert shared.get_handle() != own.get_handle()
    shared.disconnect()
    own.disconnect()


def test_another_queue_manager_in_the_same_thread(first: pymqi.QueueManager) -> None:
    make("QM2")
    other = pymqi.connect("QM2")
    assert other.get_handle() != first.get_handle()
    other.disconnect()


def test_each_thread_has_its_own(first: pymqi.QueueManager) -> None:
    """A thread that ended without MQDISC leaves nothing to the next, which may have its number."""
    handles = []

    def connect() -> None:
        manager = pymqi.QueueManager(None, disconnect_on_exit=False)
        manager.connect(b"QM1")
        handles.append(manager.get_handle())

    for _ in range(3):
        thread = threading.Thread(target=connect)
        thread.start()
        thread.join()
    assert len({first.get_handle(), *handles}) == 4


def test_a_forked_child_connects_anew(first: pymqi.QueueManager) -> None:
    child = os.fork()
    if not child:
        answer = pymqi.pymqe.MQCONN(b"QM1")
        os._exit(0 if answer[1:] == (CMQC.MQCC_OK, CMQC.MQRC_NONE) else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_a_fork_beside_a_connection_whose_queue_manager_was_removed_holds_up_no_other(
    home: Path, first: pymqi.QueueManager
) -> None:
    make("GONE", "")
    gone = connected("GONE")
    shutil.rmtree(home / "GONE")
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
    assert first.inquire(CMQC.MQCA_Q_MGR_NAME).strip() == b"QM1"
    with pytest.raises(pymqi.MQMIError):
        gone.inquire(CMQC.MQCA_Q_MGR_NAME)
    with suppress(pymqi.MQMIError):
        gone.disconnect()


@pytest.mark.parametrize(
    ("served", "given", "longest"), [(1000, 4_194_304, 1000), (4_194_304, 500, 500), (0, 0, 4_194_304)]
)
def test_messages_no_longer_than_the_channel_lets_through(home: Path, served: int, given: int, longest: int) -> None:
    """IBM MQ, "2010 (07DA)": the lesser of what client and server-connection channel say; 0 is the queue manager's."""
    make("QM1", f"DEFINE QLOCAL(Q1) MAXMSGL(9999999)\nDEFINE CHANNEL(APP) CHLTYPE(SVRCONN) MAXMSGL({served})")
    manager = pymqi.QueueManager(None)
    channel = pymqi.CD(
        ChannelName=b"APP", ConnectionName=b"localhost(1414)", ChannelType=CMQC.MQCHT_CLNTCONN, MaxMsgLength=given
    )
    manager.connect_with_options("QM1", cd=channel, opts=CMQC.MQCNO_HANDLE_SHARE_BLOCK)
    queue = pymqi.Queue(manager, "Q1", CMQC.MQOO_OUTPUT | CMQC.MQOO_INPUT_SHARED)
    queue.put(b"x" * longest)
    with refused(CMQC.MQRC_DATA_LENGTH_ERROR):
        queue.put(b"x" * (longest + 1))
    with refused(CMQC.MQRC_DATA_LENGTH_ERROR):
        manager.put1("Q1", b"x" * (longest + 1))
    with refused(CMQC.MQRC_DATA_LENGTH_ERROR):
        queue.get(longest + 1)
    assert queue.get(longest) == b"x" * longest
    manager.disconnect()
