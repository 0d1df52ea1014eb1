"""The embedded queue manager as an application sees it: genuine pymqi on a queue manager of the test's own."""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pymqi
import pytest
from click.testing import CliRunner
from pymqi import CMQC

from mqlite.administration.engine_administration import EngineAdministration
from mqlite.cli import main
from mqlite.cli.creation import create
from mqlite.mqsc.runner import run_script
from mqlite.objects.manager import load
from mqlite.security import users
from mqlite.storage import ended, sql
from mqlite.storage.alive import alive_file
from mqlite.storage.rows import ConnectionRow
from mqlite.storage.store import Store

BROWSE = CMQC.MQOO_BROWSE
INPUT = CMQC.MQOO_INPUT_SHARED
OUTPUT = CMQC.MQOO_OUTPUT
PASSWORD = b"secret"  # of users who are not the owner
_templates = tempfile.TemporaryDirectory(prefix="mqlite")


class Application:
    """One connection and the calls that tests make on it.

    Parameters: `name` of the queue manager.
    """

    def __init__(self, name: str = "QM1") -> None:
        self.manager = connected(name)

    def open(self, name: str, options: int = INPUT | BROWSE | OUTPUT | CMQC.MQOO_INQUIRE, **fields: Any) -> Any:
        """An open queue; `fields` of the MQOD."""
        od = pymqi.OD(ObjectName=name.encode(), **fields)
        return pymqi.Queue(self.manager, od, options)

    def put(self, queue: str, body: bytes = b"x", *, options: int = CMQC.MQPMO_NO_SYNCPOINT, **fields: Any) -> Any:
        """MQPUT1; returns the descriptor."""
        md = pymqi.MD(**{"Version": CMQC.MQMD_VERSION_2, **fields})
        self.manager.put1(queue.encode(), body, md, pymqi.PMO(Options=options))
        return md

    def get(self, queue: Any, options: int = CMQC.MQGMO_NO_SYNCPOINT, **match: Any) -> tuple[Any, bytes]:
        """MQGET on an open queue or on a name; `match` fields of the descriptor. Returns descriptor and data."""
        opened = self.open(queue, INPUT | BROWSE) if isinstance(queue, str) else queue
        md = pymqi.MD(Version=CMQC.MQMD_VERSION_2, **match)
        body = opened.get(None, md, pymqi.GMO(Options=options))
        if isinstance(queue, str):
            opened.close()
        return md, body

    def bodies(self, queue: str) -> list[bytes]:
        """All that can be seen on a queue, in its order."""
        opened = self.open(queue, BROWSE)
        found = []
        with refused(CMQC.MQRC_NO_MSG_AVAILABLE):
            while True:
                found.append(self.get(opened, CMQC.MQGMO_BROWSE_NEXT)[1])
        opened.close()
        return found

    def depth(self, queue: str) -> int:
        """CURDEPTH."""
        opened = self.open(queue, CMQC.MQOO_INQUIRE)
        depth = int(opened.inquire(CMQC.MQIA_CURRENT_Q_DEPTH))
        opened.close()
        return depth


def connected(name: str) -> Any:
    """A connection that any thread may use, as client programs have it."""
    manager = pymqi.QueueManager(None)
    manager.connect_with_options(name, opts=CMQC.MQCNO_HANDLE_SHARE_BLOCK)
    return manager


def make(name: str = "QM1", mqsc: str = "", *, platform: str = "unix") -> None:
    """A queue manager below $MQLITE_HOME, with what the MQSC defines."""
    copy_of(platform, lambda: create(name, platform=platform), name=name)
    if mqsc:
        run_mqsc(mqsc, name)


def copy_of(template: str, prepare: Callable[[], object], *, name: str = "QM1") -> None:
    """A queue manager below $MQLITE_HOME as `prepare` makes it there, which is done once a run: this is a copy.

    Parameters: `template` a name for what `prepare` makes.
    """
    home = os.environ["MQLITE_HOME"]
    folder = Path(_templates.name, template)
    if not (folder / name).exists():
        os.environ["MQLITE_HOME"] = str(folder)
        try:
            prepare()
        finally:
            os.environ["MQLITE_HOME"] = home
    shutil.copytree(folder / name, Path(home, name))


def run_mqsc(text: str, name: str = "QM1") -> list[str]:
    """Run MQSC commands, all of which must work; returns their output."""
    output: list[str] = []
    admin = EngineAdministration(load(name))
    gc.disable()  # it must not close pymqi's queues in the middle of a command of this same thread
    try:
        tally = run_script(admin, text.splitlines(), output.append)
    finally:
        gc.enable()
        admin.close()
    assert not tally.exit_code, "\n".join(output)
    return output


def expire(tenths: int = 1) -> None:
    """So many tenths of a second of lifetime have passed: the shortest that there is, or one to do something in."""
    end = int(time.time() * 10) + tenths + 1
    while time.time() * 10 <= end:
        time.sleep(0.02)


def until(condition: Callable[[], bool], seconds: float = 120) -> None:
    """Wait for what another process does; that it never comes fails the test."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come to it"
        time.sleep(0.02)


@contextmanager
def refused(reason: int) -> Iterator[pytest.ExceptionInfo[Any]]:
    """The calls inside end with this reason code."""
    with pytest.raises(pymqi.MQMIError) as caught:
        yield caught
    assert caught.value.reason == reason, f"{caught.value.errorAsString()} where {reason} was expected"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of queue managers."""
    place = tmp_path / "queue_managers"
    monkeypatch.setenv("MQLITE_HOME", str(place))
    return place


@pytest.fixture
def application(home: Path) -> Iterator[Application]:
    """A connection to a new QM1 that has QLOCAL(Q1)."""
    copy_of("with_q1", lambda: make("QM1", "DEFINE QLOCAL(Q1)"))
    made = Application()
    yield made
    if made.manager.is_connected:
        made.manager.disconnect()


def begin_to_end(option: str) -> threading.Thread:
    """`mqlite end` of QM1 in a thread; returns when it takes no new connection, and every connection knows that."""
    command = ["end", "QM1", option]
    thread = threading.Thread(target=lambda: CliRunner().invoke(main, command, catch_exceptions=False))
    thread.start()
    folder = Path(os.environ["MQLITE_HOME"], "QM1")
    until(lambda: bool(ended.state(folder)) and not _untold(folder))
    return thread


def _untold(folder: Path) -> list[int]:
    """The connections that do not know yet that their queue manager ends."""
    store, lives = Store(folder), alive_file(folder)
    try:
        connected = [row.id for row in store.rows(ConnectionRow, sql.CONNECTIONS)]
    finally:
        store.close()
    return [one for one in connected if not (lives.is_quiescing(one) or lives.is_stopped(one))]


class Clerk(Application):
    """A connection to QM1 as a user who is not the owner."""

    def __init__(self, user: bytes = b"clerk", password: bytes = PASSWORD) -> None:
        self.manager = pymqi.QueueManager(None)
        options = CMQC.MQCNO_HANDLE_SHARE_BLOCK
        self.manager.connect_with_options("QM1", user=user, password=password, opts=options)


def add_user(name: str) -> None:
    """A user of QM1 with the password of this module."""
    users.add(load("QM1").folder, name, PASSWORD.decode())


def allow(profile: str, authorities: str, *, kind: str = "QUEUE", entity: str = "PRINCIPAL('clerk')") -> None:
    """SET AUTHREC ... AUTHADD."""
    named = f"PROFILE('{profile}')" if profile else ""
    run_mqsc(f"SET AUTHREC {named} OBJTYPE({kind}) {entity} AUTHADD({authorities})")


def _with_clerk() -> None:
    make("QM1", "DEFINE QLOCAL(Q1)")
    add_user("clerk")
    allow("", "CONNECT", kind="QMGR")


@pytest.fixture
def clerk(home: Path) -> Iterator[Clerk]:
    """Connected as user clerk, who may connect and nothing else, to a QM1 that has QLOCAL(Q1)."""
    copy_of("with_clerk", _with_clerk)
    made = Clerk()
    yield made
    made.manager.disconnect()
