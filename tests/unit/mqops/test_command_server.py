"""The command server: one that does not answer is told as that, and many answers have the time that they take."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Event

import pymqi
import pytest
from mq_support import until
from pymqi import CMQC

from mqops.errors import PermanentMQError
from mqops.mq import inquire
from mqops.mq.connection import connect, one_session
from mqops.mq.inquire import FEW_ANSWERS, inquire_queues
from mqops.mq.session import Session
from mqops.mq.statistics import reset_statistics

COMMANDS = "SYSTEM.ADMIN.COMMAND.QUEUE"
SILENT, SPEAKS = (f"ALTER QLOCAL({COMMANDS}) GET({how})\n" for how in ("DISABLED", "ENABLED"))


@pytest.fixture
def manager(queue_manager):
    return queue_manager(mqsc="DEFINE QLOCAL(A)\n")


def test_a_command_server_that_does_not_answer_is_told_with_what_to_do(manager):
    manager.mqsc(SILENT)
    with connect(manager.connection) as session, pytest.raises(PermanentMQError) as raised:
        inquire_queues(session, "*")
    assert str(raised.value) == (
        "MQCMD_INQUIRE_Q_MGR on QM1 failed: MQRC_NO_MSG_AVAILABLE (2033). The command server has not answered in time: "
        "start it (`strmqcsv`; on z/OS START CMDSERV), or see whether commands wait for it: DISPLAY QSTATUS of "
        "SYSTEM.ADMIN.COMMAND.QUEUE"
    )


def test_who_may_not_ask_is_told_of_what_was_asked(manager):
    """A refusal of the small inquiry before is an answer: on z/OS who may not DISPLAY QMGR may DISPLAY QUEUE."""
    manager.mqlite("user", "add", "QM1", "app", text="secret\n")
    manager.mqsc(
        "SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('app') AUTHADD(CONNECT,INQ)\n"
        "SET AUTHREC PROFILE('**') OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(INQ,DSP,GET,PUT)\n"
    )
    with (
        connect(replace(manager.connection, user="app", password="secret")) as session,
        pytest.raises(PermanentMQError, match=r"MQCMD_INQUIRE_Q on \* failed: MQRC_NOT_AUTHORIZED"),
    ):
        inquire_queues(session, "*")


def test_the_answers_about_many_queues_may_take_a_minute(manager):
    """As pymqi asks, they expire with the command. This one waits until a message has expired that has the lifetime of
    a command about one queue."""
    silent = Event()

    def asked_twice() -> list[set[str]]:
        with connect(manager.connection) as session:
            begun = names(session)
            manager.mqsc(SILENT)
            silent.set()
            return [begun, names(session)]

    with ThreadPoolExecutor(1) as thread, manager.connected() as connection:
        asked = thread.submit(asked_twice)
        until(lambda: silent.is_set() or asked.done(), 60)
        commands = pymqi.Queue(connection, COMMANDS, CMQC.MQOO_INQUIRE)
        until(lambda: commands.inquire(CMQC.MQIA_CURRENT_Q_DEPTH) or asked.done(), 60)
        commands.close()
        manager.put("A", [({"Expiry": FEW_ANSWERS // 100}, b"")])
        until(lambda: manager.bodies("A") == [], 60)
        manager.mqsc(SPEAKS)
        with connect(manager.connection) as other:
            inquire_queues(other, "A")  # the embedded queue manager answers what waits, too
        begun, again = asked.result()
    assert "A" in begun
    assert begun == again


def test_after_a_command_without_an_answer_a_session_tells_at_once_that_there_is_none(manager, monkeypatch):
    """A command server that ends within a session cost as long again for each command: nothing is sent any more, and
    it is asked again later, something small first."""
    with connect(manager.connection) as session, manager.connected() as connection:
        assert "A" in names(session)
        manager.mqsc(SILENT)
        commands = pymqi.Queue(connection, COMMANDS, CMQC.MQOO_INQUIRE)
        for asked in ("A", "*", "A", "*"):
            with pytest.raises(PermanentMQError, match="The command server has not answered in time"):
                inquire_queues(session, asked)
            assert commands.inquire(CMQC.MQIA_CURRENT_Q_DEPTH) == 1
        monkeypatch.setattr(inquire, "SILENCE", 0.0)
        with pytest.raises(PermanentMQError, match="MQCMD_INQUIRE_Q_MGR on QM1 failed"):
            inquire_queues(session, "*")
        commands.close()
        manager.mqsc(SPEAKS)
        assert "A" in names(session)


def test_counts_without_an_answer_are_noted_too(manager):
    """It is one of several commands, which are sent by one who knows what each is for."""
    with connect(manager.connection) as session, manager.connected() as connection:
        assert "A" in names(session)
        manager.mqsc(SILENT)
        commands = pymqi.Queue(connection, COMMANDS, CMQC.MQOO_INQUIRE)
        failed = reset_statistics(session, ["A", "B"]).failed
        assert "MQCMD_RESET_Q_STATS on A failed: MQRC_NO_MSG_AVAILABLE (2033)" in str(failed)
        with pytest.raises(PermanentMQError, match="The command server has not answered in time"):
            inquire_queues(session, "A")
        assert commands.inquire(CMQC.MQIA_CURRENT_Q_DEPTH) == 1
        commands.close()


def test_the_next_part_of_a_step_does_not_wait_for_the_command_server_again(manager):
    manager.mqsc(SILENT)
    with one_session(manager.connection) as step, manager.connected() as connection:
        commands = pymqi.Queue(connection, COMMANDS, CMQC.MQOO_INQUIRE)
        for _part in range(2):
            with connect(step) as session, pytest.raises(PermanentMQError, match="has not answered in time"):
                inquire_queues(session, "A")
            assert commands.inquire(CMQC.MQIA_CURRENT_Q_DEPTH) == 1
        commands.close()


def test_an_answer_may_have_more_messages_than_a_unit_of_work(manager):
    manager.mqsc("ALTER QMGR MAXUMSGS(3)\n")
    with connect(manager.connection) as session:
        assert "A" in names(session)


def names(session: Session) -> set[str]:
    """The local queues but those of answers, by an inquiry about all of them."""
    found = {queue[CMQC.MQCA_Q_NAME] for queue in inquire_queues(session, "*")}
    return {name for name in found if not name.startswith("PYMQPCF.")}
