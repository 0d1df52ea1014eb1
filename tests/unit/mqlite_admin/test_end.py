"""`mqlite end --quiesce` and `--immediate`: what programs see of it, as of endmqm -c and -i."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pymqi
import pytest
from click.testing import CliRunner
from mqlite_support import Application, application, begin_to_end, home, refused
from pymqi import CMQC

from mqlite.cli import main
from mqlite.storage import ended
from mqlite.storage.service_lock import ServiceLock, holder

__all__ = ["application", "home"]
QUIESCING = CMQC.MQRC_Q_MGR_QUIESCING
FAILS = CMQC.MQGMO_FAIL_IF_QUIESCING | CMQC.MQGMO_NO_SYNCPOINT
CALLS: dict[str, Callable[[Application], object]] = {
    "MQCONN": lambda _there: Application(),
    "MQOPEN": lambda there: there.open("Q1", CMQC.MQOO_INQUIRE | CMQC.MQOO_FAIL_IF_QUIESCING),
    "MQPUT1": lambda there: there.put("Q1", options=CMQC.MQPMO_FAIL_IF_QUIESCING),
    "MQGET": lambda there: there.get("Q1", FAILS),
}


def start() -> None:
    ended.forget(Path(os.environ["MQLITE_HOME"], "QM1"))  # as `mqlite start`, without its service


def test_a_lock_that_was_given_up_has_no_holder(tmp_path: Path) -> None:
    lock = ServiceLock(tmp_path)
    assert holder(tmp_path) == os.getpid()
    lock.release()
    assert holder(tmp_path) == 0


def test_quiesce_fails_the_calls_that_ask_for_it_and_waits_for_the_programs(application: Application) -> None:
    there = Application()
    queue = there.open("Q1")
    thread = begin_to_end("--quiesce")
    with refused(QUIESCING):  # it waits for a message when the queue manager begins to quiesce
        gmo = pymqi.GMO(Options=FAILS | CMQC.MQGMO_WAIT, WaitInterval=CMQC.MQWI_UNLIMITED)
        queue.get(None, pymqi.MD(), gmo)
    for name, call in CALLS.items():
        with refused(QUIESCING):
            call(there)
            pytest.fail(name)
    there.put("Q1", b"goes on")
    assert there.get("Q1")[1] == b"goes on"
    there.manager.disconnect()
    assert thread.is_alive(), "the other program is connected"
    application.manager.disconnect()
    thread.join()
    with refused(CMQC.MQRC_Q_MGR_NOT_AVAILABLE):
        Application()
    start()
    Application().manager.disconnect()


def test_immediate_breaks_the_connections_and_backs_out(application: Application) -> None:
    application.put("Q1", b"mine", options=CMQC.MQPMO_SYNCPOINT)
    begin_to_end("--immediate").join()
    with refused(CMQC.MQRC_CONNECTION_BROKEN):
        application.manager.commit()
    with refused(CMQC.MQRC_Q_MGR_NOT_AVAILABLE):
        Application()
    assert CliRunner().invoke(main, ["end", "QM1", "--immediate"]).exit_code == 1
    start()
    again = Application()
    assert again.bodies("Q1") == []
    again.manager.disconnect()
