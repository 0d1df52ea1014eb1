"""The trigger monitor on a queue manager: one connection, at least once, dead letters, quiescing, killed passes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from mqlite_support import Application, begin_to_end, run_mqsc
from pymqi import CMQC
from trigger_support import define

from mqops.errors import PermanentMQError, SettingsError, TransientMQError
from mqops.mq.connection import MqConnection, connect
from mqops.mq.session import RawMessage
from mqops.trigger import dead_letter
from mqops.trigger.core.trigger_message import Start, Unusable, to_start
from mqops.trigger.monitor import TriggerMonitor
from mqops.trigger.work import handle_messages
from mqwire import constants as c
from mqwire.structures import MQDLH, MQTM

DLQ = "SYSTEM.DEAD.LETTER.QUEUE"
HERE = MqConnection(queue_manager="QM1")
STARTS_AND_DIES = """
import os, signal
from mqops.mq.connection import MqConnection, connect
from mqops.trigger.core.trigger_message import run_id
from mqops.trigger.work import handle_messages
def start(seen):
    print(run_id(seen.md, seen.body), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
with connect(MqConnection(queue_manager="QM1")) as session:
    list(handle_messages(session, "IQ", start))
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
    made = TriggerMonitor(HERE, ["IQ", "IQ2"])
    made.open()
    yield made
    made.close()


def process(name: str, dag_id: str, attributes: str = "APPLTYPE(UNIX)") -> str:
    return f"DEFINE PROCESS({name}) APPLICID('{dag_id}') USERDATA('for the dag') {attributes}"


def told(by: TriggerMonitor) -> tuple[str, ...]:
    """The queues that the monitor tells of next."""
    for _ in range(20):
        if queues := by.look():
            return queues
    raise AssertionError("no trigger message came")


def handled(*queues: str, errors: int = 0, by: MqConnection = HERE) -> list[Start | Unusable]:
    """What the messages of these initiation queues (IQ) start, all handled."""
    found: list[Start | Unusable] = []

    def start(seen: RawMessage) -> Unusable | None:
        found.append(to_start(seen.md, seen.body, allowed={"orders"}))
        return found[-1] if isinstance(found[-1], Unusable) else None

    with connect(by) as session:
        waiting = [error for queue in queues or ("IQ",) for error in handle_messages(session, queue, start)]
    assert len(waiting) == errors, waiting
    return found


def run_ids(found: list[Start | Unusable]) -> list[str]:
    return [one.run_id for one in found if isinstance(one, Start)]


def letters(here: Application) -> list[MQDLH]:
    return [MQDLH.unpack(body) for body in here.bodies(DLQ)]


def test_T08_each_message_of_a_triggered_queue_starts_one_run(here: Application, served: TriggerMonitor) -> None:
    here.put("APP")
    here.put("APP")
    assert told(served) == ("IQ",)
    assert here.depth("IQ") == 2, "the monitor only looks"
    found = handled()
    assert len(set(run_ids(found))) == 2
    verdict = found[0]
    assert isinstance(verdict, Start)
    assert (verdict.dag_id, verdict.message.q_name, verdict.message.user_data) == ("orders", "APP", "for the dag")
    assert served.look() == ()
    assert here.depth("IQ") == 0


def test_a_message_is_told_once_and_again_as_long_as_it_is_there(here: Application) -> None:
    time = [0.0]
    made = TriggerMonitor(HERE, ["IQ", "IQ2"], now=lambda: time[0])
    here.put("IQ", b"one")
    assert made.look() == ("IQ",)
    assert made.look() == ()
    here.put("IQ", b"two")
    here.put("IQ2", b"three")
    assert made.look() == ("IQ", "IQ2")
    time[0] += 59.0
    assert made.look() == ()
    time[0] += 1.0  # a minute, as docs/triggering.md says
    assert made.look() == ("IQ", "IQ2")
    assert made.look() == ()
    first = made.connection_id
    made.close()
    assert made.look() == ("IQ", "IQ2"), "who connects anew does not know what was told"
    assert made.connection_id not in {first, ""}
    made.close()


def test_all_initiation_queues_are_open_in_one_connection(here: Application, served: TriggerMonitor) -> None:
    for name in ("IQ", "IQ2"):
        opened = here.open(name, CMQC.MQOO_INQUIRE)
        assert opened.inquire(CMQC.MQIA_OPEN_INPUT_COUNT) == 1

    def connections() -> int:
        return sum("CONN(" in line for line in run_mqsc("DISPLAY CONN(*) TYPE(CONN)"))

    with_it = connections()
    served.close()
    assert with_it - connections() == 1


def test_law1_a_message_stays_until_its_run_is_there(here: Application, served: TriggerMonitor) -> None:
    here.put("APP")

    def start(seen: RawMessage) -> Unusable | None:
        assert here.bodies("IQ") == [seen.body], "it is not got before its run is there"
        raise TimeoutError

    with connect(HERE) as session, pytest.raises(TimeoutError):
        list(handle_messages(session, "IQ", start))
    assert len(run_ids(handled())) == 1
    assert here.depth("IQ") == 0


def test_law1_a_pass_that_is_killed_loses_nothing(here: Application, served: TriggerMonitor) -> None:
    here.put("APP")
    killed = subprocess.run(
        [sys.executable, "-c", STARTS_AND_DIES], env=os.environ, capture_output=True, text=True, check=False
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert run_ids(handled()) == killed.stdout.split()
    assert handled() == []


def test_two_passes_at_once_take_each_message_once(here: Application, served: TriggerMonitor) -> None:
    run_mqsc("ALTER PROCESS(P) APPLICID('not_allowed')")
    here.put("APP")

    def start(seen: RawMessage) -> Unusable | None:
        assert [type(one) for one in handled()] == [Unusable]  # another pass is quicker
        return Unusable(reason=c.MQFB_TM_ERROR, why="late")

    with connect(HERE) as session:
        assert list(handle_messages(session, "IQ", start)) == []
    assert [letter.reason for letter in letters(here)] == [c.MQFB_APPL_CANNOT_BE_STARTED]


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
    (message,) = here.bodies("IQ")
    assert isinstance(handled()[0], Unusable)
    (letter,) = letters(here)
    assert (letter.reason, letter.dest_q_name, letter.dest_q_mgr_name) == (reason, "IQ", "QM1")
    assert letter.format == "MQTRIG"
    assert here.bodies(DLQ)[0][172:] == message
    assert here.depth("IQ") == 0


def test_D08_a_dead_letter_keeps_its_identity(here: Application) -> None:
    forged = MQTM(q_name="APP", appl_type=6, appl_id="not_allowed").pack()
    sent = here.put("IQ", forged[:300], Format=CMQC.MQFMT_TRIGGER, MsgId=b"m" * 24, UserIdentifier=b"")
    (verdict,) = handled()
    assert isinstance(verdict, Unusable)
    assert verdict.reason == c.MQFB_TM_ERROR
    opened = here.open(DLQ, CMQC.MQOO_BROWSE)
    md, body = here.get(opened, CMQC.MQGMO_BROWSE_NEXT)
    assert (md.MsgId, md.PutDate, md.PutTime) == (b"m" * 24, sent.PutDate, sent.PutTime)
    assert MQDLH.unpack(body).put_appl_name == dead_letter.APPLICATION


@pytest.mark.parametrize("breaks", ["ALTER QMGR DEADQ(' ')", f"ALTER QLOCAL({DLQ}) PUT(DISABLED)"])
def test_without_a_dead_letter_queue_the_message_stays_and_keeps_no_other(
    here: Application, served: TriggerMonitor, breaks: str
) -> None:
    here.put("IQ", b"x")
    run_mqsc(breaks)
    here.put("APP")
    assert len(run_ids(handled(errors=1))) == 1
    assert here.bodies("IQ") == [b"x"]
    run_mqsc(f"ALTER QMGR DEADQ({DLQ})\nALTER QLOCAL({DLQ}) PUT(ENABLED)")
    handled()
    assert (here.depth("IQ"), here.depth(DLQ)) == (0, 1)


def test_a_queue_that_is_not_there_does_not_keep_the_others(here: Application, caplog: Any) -> None:
    both = TriggerMonitor(HERE, ["MISSING", "IQ"])
    here.put("IQ", MQTM(appl_type=6, appl_id="orders").pack(), Format=CMQC.MQFMT_TRIGGER)
    assert told(both) == ("IQ",)
    assert "initiation queue MISSING of QM1 is not served" in caplog.text
    both.close()
    alone = TriggerMonitor(HERE, ["MISSING"])
    with pytest.raises(PermanentMQError):
        alone.look()
    alone.close()


def test_a_queue_that_another_program_has_for_itself_does_not_keep_the_others(here: Application, caplog: Any) -> None:
    exclusive = here.open("IQ2", CMQC.MQOO_INPUT_EXCLUSIVE)
    both = TriggerMonitor(HERE, ["IQ2", "IQ"])
    here.put("IQ", MQTM(appl_type=6, appl_id="orders").pack(), Format=CMQC.MQFMT_TRIGGER)
    assert told(both) == ("IQ",)
    assert "initiation queue IQ2 of QM1 is not served: MQOPEN on IQ2 failed: MQRC_OBJECT_IN_USE" in caplog.text
    assert "Another program has it open for itself alone: DISPLAY QSTATUS(queue) TYPE(HANDLE)" in caplog.text
    both.close()
    assert len(run_ids(handled("IQ2", "IQ", errors=1))) == 1
    exclusive.close()


def test_a_queue_with_NOSHARE_is_not_served_because_no_message_of_it_could_be_got(
    here: Application, caplog: Any
) -> None:
    run_mqsc("ALTER QLOCAL(IQ2) NOSHARE")
    time = [0.0]
    both = TriggerMonitor(HERE, ["IQ2", "IQ"], now=lambda: time[0])
    for name in ("IQ", "IQ2"):
        here.put(name, MQTM(appl_type=6, appl_id="orders").pack(), Format=CMQC.MQFMT_TRIGGER)
    assert told(both) == ("IQ",)
    assert "initiation queue IQ2 of QM1 is not served: IQ2 has NOSHARE: ALTER QLOCAL(IQ2) SHARE" in caplog.text
    assert len(run_ids(handled("IQ2", "IQ"))) == 2
    run_mqsc("ALTER QLOCAL(IQ2) SHARE")
    here.put("IQ2", MQTM(appl_type=6, appl_id="orders").pack(), Format=CMQC.MQFMT_TRIGGER)
    time[0] += 60.0
    assert told(both) == ("IQ2",)
    assert len(run_ids(handled("IQ2", "IQ"))) == 1
    both.close()
    run_mqsc("ALTER QLOCAL(IQ2) NOSHARE")
    alone = TriggerMonitor(HERE, ["IQ2"])
    with pytest.raises(SettingsError, match="NOSHARE"):
        alone.look()
    alone.close()


def test_inhibited_gets_are_waited_for(here: Application, served: TriggerMonitor, caplog: Any) -> None:
    run_mqsc("ALTER QLOCAL(IQ) GET(DISABLED)")
    for _ in range(3):
        assert served.look() == ()
    assert caplog.text.count("MQRC_GET_INHIBITED") == 1
    here.put("IQ", MQTM(appl_type=6, appl_id="orders").pack(), Format=CMQC.MQFMT_TRIGGER)
    run_mqsc("ALTER QLOCAL(IQ) GET(ENABLED)")
    assert told(served) == ("IQ",)


def test_it_lets_go_when_the_queue_manager_quiesces(here: Application, served: TriggerMonitor) -> None:
    here.put("IQ", b"one")
    here.manager.disconnect()
    ending: list[threading.Thread] = []
    with connect(HERE) as session:
        handling = handle_messages(session, "IQ", lambda _seen: ending.append(begin_to_end("--quiesce")))
        with pytest.raises(TransientMQError, match="MQRC_Q_MGR_QUIESCING"):
            list(handling)
    with pytest.raises(TransientMQError, match="MQRC_Q_MGR_QUIESCING"):
        served.look()
    served.close()
    ending[0].join()  # nobody is connected any more


def test_a_message_that_is_too_long_keeps_no_other_and_goes_to_the_dead_letter_queue(here: Application) -> None:
    run_mqsc("ALTER QLOCAL(IQ) MAXMSGL(9999999)\nDEFINE CHANNEL(APP) CHLTYPE(SVRCONN) MAXMSGL(100000)")
    here.put("IQ", b"x" * 200_000, Format=CMQC.MQFMT_TRIGGER)
    here.put("IQ", MQTM(appl_type=6, appl_id="orders").pack(), Format=CMQC.MQFMT_TRIGGER)
    client = MqConnection(queue_manager="QM1", channel="APP", conn_name="localhost(1414)")
    found = handled(errors=1, by=client)
    assert len(run_ids(found)) == 1
    assert (here.depth("IQ"), here.depth(DLQ)) == (1, 0), "over this channel it comes in no call"
    (unusable,) = handled()
    assert isinstance(unusable, Unusable)
    assert [letter.reason for letter in letters(here)] == [c.MQFB_TM_ERROR]
    assert here.bodies(DLQ)[0].endswith(b"x" * 200_000)


@pytest.mark.parametrize("deadq", [DLQ, "ALIAS"])
def test_a_trigger_message_for_the_dead_letter_queue_does_not_trigger_there_for_ever(
    here: Application, served: TriggerMonitor, caplog: Any, deadq: str
) -> None:
    run_mqsc(process("P2", "not_allowed"))
    run_mqsc(f"DEFINE QALIAS(ALIAS) TARGET({DLQ})\nALTER QMGR DEADQ({deadq})")
    run_mqsc(f"ALTER QLOCAL({DLQ}) TRIGGER TRIGTYPE(EVERY) INITQ(IQ) PROCESS(P2)")
    here.put(DLQ, b"some dead letter")
    assert [type(one) for one in handled()] == [Unusable]
    assert handled() == []
    assert here.depth(DLQ) == 1
    assert "is dropped" in caplog.text
