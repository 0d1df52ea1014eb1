"""The trigger monitor on a queue manager: one connection, at least once, dead letters, quiescing, killed processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from mqlite_support import Application, run_mqsc
from pymqi import CMQC
from trigger_support import define

from mqops.errors import MQError, PermanentMQError, SettingsError
from mqops.mq.connection import MqConnection, connect
from mqops.trigger import dead_letter, monitor
from mqops.trigger.core.trigger_message import Start, Unusable
from mqops.trigger.monitor import Triggered, TriggerMonitor
from mqwire import constants as c
from mqwire.structures import MQDLH, MQTM

DLQ = "SYSTEM.DEAD.LETTER.QUEUE"
HERE = MqConnection(queue_manager="QM1")
GETS_AND_DIES = """
import os, signal
from mqops.mq.connection import MqConnection
from mqops.trigger.monitor import TriggerMonitor
monitor = TriggerMonitor(MqConnection(queue_manager="QM1"), ["IQ"], {"orders"})
got = []
while not got:
    got = monitor.next_batch()
print(*(one.verdict.run_id for one in got), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def here(application: Application) -> Application:
    """A connection to QM1, where queue APP triggers for IQ, and process P starts the DAG `orders`."""
    run_mqsc(f"DEFINE QLOCAL(IQ)\nDEFINE QLOCAL(IQ2)\nALTER QMGR DEADQ({DLQ})\n{process('P', 'orders')}")
    define("TRIGTYPE(EVERY)")
    return application


@pytest.fixture
def served(here: Application) -> Iterator[TriggerMonitor]:
    """The trigger monitor, which has IQ and IQ2 open."""
    made = TriggerMonitor(HERE, ["IQ", "IQ2"], {"orders"})
    made.open()
    yield made
    made.close()


def process(name: str, dag_id: str, attributes: str = "APPLTYPE(UNIX)") -> str:
    return f"DEFINE PROCESS({name}) APPLICID('{dag_id}') USERDATA('for the dag') {attributes}"


def batch(of: TriggerMonitor) -> tuple[Triggered, ...]:
    """The next batch that is not empty."""
    for _ in range(20):
        if got := of.next_batch():
            return got
    raise AssertionError("no trigger message came")


def run_ids(got: tuple[Triggered, ...]) -> list[str]:
    return [one.verdict.run_id for one in got if isinstance(one.verdict, Start)]


def letters(here: Application) -> list[MQDLH]:
    return [MQDLH.unpack(body) for body in here.bodies(DLQ)]


def test_T08_each_message_of_a_triggered_queue_starts_one_run(here: Application, served: TriggerMonitor) -> None:
    here.put("APP")
    here.put("APP")
    got = batch(served)
    assert len(set(run_ids(got))) == 2
    assert [one.queue for one in got] == ["IQ", "IQ"]
    verdict = got[0].verdict
    assert isinstance(verdict, Start)
    assert (verdict.dag_id, verdict.message.q_name, verdict.message.user_data) == ("orders", "APP", "for the dag")
    served.commit()
    assert served.next_batch() == ()
    assert here.depth("IQ") == 0


def test_all_initiation_queues_are_open_in_one_connection(here: Application, served: TriggerMonitor) -> None:
    for name in ("IQ", "IQ2"):
        opened = here.open(name, CMQC.MQOO_INQUIRE)
        assert opened.inquire(CMQC.MQIA_OPEN_INPUT_COUNT) == 1

    def connections() -> int:
        return sum("CONN(" in line for line in run_mqsc("DISPLAY CONN(*) TYPE(CONN)"))

    with_it = connections()
    served.close()
    assert with_it - connections() == 1


def test_law1_until_the_commit_a_message_comes_again_with_the_same_run_id(
    here: Application, served: TriggerMonitor
) -> None:
    here.put("APP")
    first = run_ids(batch(served))
    served.back_out()
    assert run_ids(batch(served)) == first
    served.close()
    served.open()
    again = run_ids(batch(served))
    assert again[: len(first)] == first  # T13c: that the queue is opened makes one more
    served.commit()


def test_law1_a_monitor_that_is_killed_loses_nothing(here: Application) -> None:
    keeper = here.open("IQ", CMQC.MQOO_INPUT_SHARED)  # so that no opening of the queue makes trigger messages
    here.put("APP")
    killed = subprocess.run(
        [sys.executable, "-c", GETS_AND_DIES], env=os.environ, capture_output=True, text=True, check=False
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    one = TriggerMonitor(HERE, ["IQ"], {"orders"})
    assert run_ids(batch(one)) == killed.stdout.split()
    one.commit()
    assert one.next_batch() == ()
    one.close()
    keeper.close()


@pytest.mark.parametrize(
    ("definition", "reason"),
    [
        (process("P2", "/usr/bin/serve"), c.MQFB_APPL_CANNOT_BE_STARTED),
        (process("P2", "not_allowed"), c.MQFB_APPL_CANNOT_BE_STARTED),
        (process("P2", "orders", "APPLTYPE(CICS)"), c.MQFB_APPL_TYPE_ERROR),
    ],
)
def test_P01_what_cannot_be_started_goes_to_the_dead_letter_queue(
    here: Application, served: TriggerMonitor, definition: str, reason: int
) -> None:
    run_mqsc(definition)
    define("TRIGTYPE(EVERY)", name="APP2", process="P2")
    here.put("APP2")
    (got,) = batch(served)
    assert isinstance(got.verdict, Unusable)
    assert letters(here) == [], "the dead letter is in the same unit of work"
    served.commit()
    (letter,) = letters(here)
    assert (letter.reason, letter.dest_q_name, letter.dest_q_mgr_name) == (reason, "IQ", "QM1")
    assert letter.format == "MQTRIG"
    assert here.bodies(DLQ)[0][172:] == got.message.body
    assert here.depth("IQ") == 0


def test_D08_a_dead_letter_keeps_its_identity(here: Application, served: TriggerMonitor) -> None:
    forged = MQTM(q_name="APP", appl_type=6, appl_id="not_allowed").pack()
    sent = here.put("IQ", forged[:300], Format=CMQC.MQFMT_TRIGGER, MsgId=b"m" * 24, UserIdentifier=b"")
    (got,) = batch(served)
    assert isinstance(got.verdict, Unusable)
    assert got.verdict.reason == c.MQFB_TM_ERROR
    served.commit()
    opened = here.open(DLQ, CMQC.MQOO_BROWSE)
    md, body = here.get(opened, CMQC.MQGMO_BROWSE_NEXT)
    assert (md.MsgId, md.PutDate, md.PutTime) == (b"m" * 24, sent.PutDate, sent.PutTime)
    assert MQDLH.unpack(body).put_appl_name == dead_letter.APPLICATION


def test_good_and_unusable_messages_of_a_batch_share_its_fate(here: Application, served: TriggerMonitor) -> None:
    here.put("IQ2", b"no trigger message", Format=CMQC.MQFMT_STRING)
    here.put("APP")
    got = batch(served)
    assert [type(one.verdict) for one in got] == [Start, Unusable]
    served.back_out()
    assert (here.depth(DLQ), here.depth("IQ"), here.depth("IQ2")) == (0, 1, 1)
    batch(served)
    served.commit()
    assert (here.depth(DLQ), here.depth("IQ"), here.depth("IQ2")) == (1, 0, 0)


def test_without_a_dead_letter_queue_the_message_stays(here: Application, served: TriggerMonitor) -> None:
    run_mqsc("ALTER QMGR DEADQ(' ')")
    here.put("IQ", b"x")
    with pytest.raises(SettingsError, match="no dead-letter queue"):
        batch(served)
    served.close()
    assert here.depth("IQ") == 1
    run_mqsc(f"ALTER QMGR DEADQ({DLQ})\nALTER QLOCAL({DLQ}) PUT(DISABLED)")
    with pytest.raises(MQError):
        batch(served)
    served.close()
    assert here.depth("IQ") == 1
    run_mqsc(f"ALTER QLOCAL({DLQ}) PUT(ENABLED)")
    batch(served)
    served.commit()
    assert (here.depth("IQ"), here.depth(DLQ)) == (0, 1)


def test_a_queue_that_is_not_there_does_not_keep_the_others(here: Application, caplog: Any) -> None:
    both = TriggerMonitor(HERE, ["MISSING", "IQ"], {"orders"})
    here.put("IQ", MQTM(appl_type=6, appl_id="orders").pack(), Format=CMQC.MQFMT_TRIGGER)
    assert len(batch(both)) == 1
    both.commit()
    assert "initiation queue MISSING of QM1 is not served" in caplog.text
    both.close()
    alone = TriggerMonitor(HERE, ["MISSING"], {"orders"})
    with pytest.raises(PermanentMQError):
        alone.next_batch()
    alone.close()


def test_a_queue_that_another_program_has_for_itself_does_not_keep_the_others(here: Application, caplog: Any) -> None:
    exclusive = here.open("IQ2", CMQC.MQOO_INPUT_EXCLUSIVE)
    both = TriggerMonitor(HERE, ["IQ2", "IQ"], {"orders"})
    here.put("IQ", MQTM(appl_type=6, appl_id="orders").pack(), Format=CMQC.MQFMT_TRIGGER)
    assert len(batch(both)) == 1
    both.commit()
    assert "initiation queue IQ2 of QM1 is not served: MQOPEN on IQ2 failed: MQRC_OBJECT_IN_USE" in caplog.text
    both.close()
    exclusive.close()


def test_inhibited_gets_are_waited_for(here: Application, served: TriggerMonitor, caplog: Any) -> None:
    run_mqsc("ALTER QLOCAL(IQ) GET(DISABLED)")
    for _ in range(3):
        assert served.next_batch() == ()
    assert caplog.text.count("MQRC_GET_INHIBITED") == 1
    here.put("IQ", MQTM(appl_type=6, appl_id="orders").pack(), Format=CMQC.MQFMT_TRIGGER)
    run_mqsc("ALTER QLOCAL(IQ) GET(ENABLED)")
    assert len(batch(served)) == 1
    served.commit()


def test_every_call_fails_if_the_queue_manager_quiesces() -> None:
    """mqlite never quiesces, so this is seen in the options alone."""
    assert monitor.OPEN_OPTIONS & c.MQOO_FAIL_IF_QUIESCING
    assert monitor.GET_OPTIONS & c.MQGMO_FAIL_IF_QUIESCING


def test_put_later_puts_once(here: Application) -> None:
    here.put("IQ", b"some", Format=CMQC.MQFMT_TRIGGER)
    with connect(HERE) as session:
        got = session.get(session.open("IQ", c.MQOO_INPUT_SHARED), c.MQGMO_NO_SYNCPOINT)
        assert got is not None
        verdict = Unusable(reason=c.MQFB_APPL_CANNOT_BE_STARTED, why="paused", q_name="APP")
        at = datetime(2026, 11, 23, tzinfo=UTC)
        assert dead_letter.put_later(session, "IQ", got, verdict, at=at) == DLQ
        dead_letter.put_later(session, "IQ", got, verdict, at=at)
        dead_letter.put_later(session, "IQ2", got, verdict, at=at)  # from another queue: another message
        assert dead_letter.put_later(session, "IQ", got, replace(verdict, q_name=DLQ), at=at) == ""
    assert [letter.dest_q_name for letter in letters(here)] == ["IQ", "IQ2"]
    assert all(letter.reason == c.MQFB_APPL_CANNOT_BE_STARTED for letter in letters(here))


def test_a_trigger_message_for_the_dead_letter_queue_does_not_trigger_there_for_ever(
    here: Application, served: TriggerMonitor, caplog: Any
) -> None:
    run_mqsc(process("P2", "not_allowed"))
    run_mqsc(f"ALTER QLOCAL({DLQ}) TRIGGER TRIGTYPE(EVERY) INITQ(IQ) PROCESS(P2)")
    here.put(DLQ, b"some dead letter")
    (got,) = batch(served)
    served.commit()
    assert isinstance(got.verdict, Unusable)
    assert served.next_batch() == ()
    assert here.depth(DLQ) == 1
    assert "is dropped" in caplog.text
