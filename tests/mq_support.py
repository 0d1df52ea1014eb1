"""What tests of the operations need of a queue manager: one of their own, messages on its queues, a look at them.

Everything goes through genuine pymqi and the `mqlite` command, as an application and an administrator would.
"""

from __future__ import annotations

import hashlib
import json
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow.parquet as pq
import pymqi
from mqlite_command import mqlite_here
from pymqi import CMQC

from mqlite.objects.manager import folder_name
from mqops.ledger.core.head_body import CORREL_ID as HEAD
from mqops.mq.connection import _CONNECTING, MqConnection
from mqwire.constants import MQENC_NATIVE
from mqwire.structures import MQDLH

if TYPE_CHECKING:
    import pytest

DLQ, LEDGER = "SYSTEM.DEAD.LETTER.QUEUE", "MQOPS.LEDGER"
BASE = f"""\
DEFINE QLOCAL(MQOPS.LEDGER) DEFPSIST(YES) MAXDEPTH(999999)
ALTER QLOCAL({DLQ}) MAXDEPTH(999999)
ALTER QMGR DEADQ({DLQ})
"""
EVERYTHING = CMQC.MQGMO_NO_SYNCPOINT | CMQC.MQGMO_BROWSE_NEXT
Found = TypeVar("Found")


@dataclass(frozen=True)
class Manager:
    """A queue manager of the test's own."""

    name: str
    home: Path

    @property
    def environment(self) -> dict[str, str]:
        """What a process needs to reach it."""
        return {**os.environ, "MQLITE_HOME": str(self.home)}

    @property
    def connection(self) -> MqConnection:
        """How the operations reach it."""
        return MqConnection(queue_manager=self.name, environment={"MQLITE_HOME": str(self.home)})

    def mqlite(self, *arguments: str, text: str = "") -> str:
        """Run an `mqlite` command: here, unless it starts or ends a service."""
        if arguments[0] not in {"start", "end"}:
            with _CONNECTING:
                result = mqlite_here(*arguments, stdin=text, MQLITE_HOME=str(self.home))
            assert result.exit_code == 0, result.output
            return result.stdout
        command = [sys.executable, "-m", "mqlite.cli", *arguments]
        done = subprocess.run(command, input=text, text=True, capture_output=True, env=self.environment)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def mqsc(self, text: str) -> None:
        """Run MQSC commands."""
        self.mqlite("mqsc", self.name, text=text)

    @contextmanager
    def connected(self) -> Iterator[Any]:
        """A pymqi connection. A thread of the pages that has outlived its test sets MQLITE_HOME for a moment, too."""
        queue_manager = pymqi.QueueManager(None)
        with _CONNECTING:
            os.environ["MQLITE_HOME"] = str(self.home)
            queue_manager.connect_with_options(self.name, opts=CMQC.MQCNO_HANDLE_SHARE_BLOCK)
        try:
            yield queue_manager
        finally:
            queue_manager.disconnect()

    def put(self, queue: str, messages: list[tuple[dict[str, Any], bytes]], *, options: int = 0) -> list[bytes]:
        """Put messages (MQMD fields, body), persistent unless they say otherwise; returns their MsgIds."""
        given = []
        with self.connected() as queue_manager:
            handle = pymqi.Queue(queue_manager, queue, CMQC.MQOO_OUTPUT | options)
            for number, (fields, body) in enumerate(messages):
                md = pymqi.MD(Version=CMQC.MQMD_VERSION_2, **{"Persistence": 1, **_padded(fields)})
                pmo_options = CMQC.MQPMO_SYNCPOINT
                if options & CMQC.MQOO_SET_ALL_CONTEXT:
                    pmo_options |= CMQC.MQPMO_SET_ALL_CONTEXT
                handle.put(body, md, pymqi.PMO(Options=pmo_options))
                given.append(md.MsgId)
                if number % 200 == 199:
                    queue_manager.commit()
            queue_manager.commit()
            handle.close()
        return given

    def messages(self, queue: str) -> list[tuple[dict[str, Any], bytes]]:
        """All messages of a queue (MQMD fields, body), browsed. On the ledger queue the heads of ledgers, which stay
        there (`heads`), are left out."""
        return [one for one in self._browsed(queue) if queue != LEDGER or one[0]["CorrelId"] != HEAD]

    def heads(self) -> list[tuple[dict[str, Any], bytes]]:
        """The heads of ledgers on the ledger queue (MQMD fields, body), browsed."""
        return [one for one in self._browsed(LEDGER) if one[0]["CorrelId"] == HEAD]

    def _browsed(self, queue: str) -> list[tuple[dict[str, Any], bytes]]:
        found = []
        with self.connected() as queue_manager:
            handle = pymqi.Queue(queue_manager, queue, CMQC.MQOO_BROWSE)
            while True:
                md, gmo = pymqi.MD(Version=CMQC.MQMD_VERSION_2), pymqi.GMO(Options=EVERYTHING)
                try:
                    body = handle.get(None, md, gmo)
                except pymqi.MQMIError as error:
                    if error.reason == CMQC.MQRC_NO_MSG_AVAILABLE:
                        break
                    raise
                found.append((md.get(), body))
            handle.close()
        return found

    def bodies(self, queue: str) -> list[bytes]:
        """The bodies of a queue's messages, in its order."""
        return [body for _md, body in self.messages(queue)]

    def back_out(self, queue: str, times: int = 1, messages: int = 1) -> None:
        """As a program that gets the first messages of a queue under syncpoint and backs out, so often."""
        with self.connected() as program:
            handle = pymqi.Queue(program, queue, CMQC.MQOO_INPUT_SHARED)
            for _ in range(times):
                for _ in range(messages):
                    handle.get(None, pymqi.MD(), pymqi.GMO(Options=CMQC.MQGMO_SYNCPOINT))
                program.backout()
            handle.close()

    def depth(self, queue: str) -> int:
        """Current depth; that of the ledger queue without the heads of ledgers, which stay there (`heads`)."""
        with self.connected() as queue_manager:
            handle = pymqi.Queue(queue_manager, queue, CMQC.MQOO_INQUIRE)
            number = handle.inquire(CMQC.MQIA_CURRENT_Q_DEPTH)
            handle.close()
        return int(number) - (len(self.heads()) if number and queue == LEDGER else 0)


def _padded(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value.encode() if isinstance(value, str) else value for name, value in fields.items()}


_templates = tempfile.TemporaryDirectory(prefix="mqops")


def create(home: Path, name: str = "QM1", mqsc: str = "", *, platform: str = "unix") -> Manager:
    """A new queue manager with a ledger queue, a deep dead-letter queue, and what `mqsc` defines; made once a run."""
    template = Manager(name, Path(_templates.name, platform))
    folder = folder_name(name)
    if not (template.home / folder).exists():
        template.mqlite("create", name, "--platform", platform)
        template.mqsc(BASE)
    manager = Manager(name, home)
    shutil.copytree(template.home / folder, home / folder)
    if mqsc:
        manager.mqsc(mqsc)
    return manager


def storage_estate(folder: Path, *queues: str, name: str = "QM1") -> str:
    """An estate file for MQOPS_ESTATE in which these queues (names, or beginnings and *) are storage."""
    path = folder / "storage_estate.yaml"
    manager = {"connection": "mq_qm1", "storage": list(queues)}
    path.write_text(json.dumps({"lake": str(folder / "lake"), "queue_managers": {name: manager}}))
    return str(path)


def reveal_estate(folder: Path, *users: str, name: str = "QM1") -> str:
    """An estate file for MQOPS_ESTATE whose `reveal` names these users; none: who runs the tests."""
    path = folder / "reveal_estate.yaml"
    manager = {"connection": "mq_qm1", "reveal": list(users) or [pwd.getpwuid(os.getuid()).pw_name]}
    path.write_text(json.dumps({"lake": str(folder / "lake"), "queue_managers": {name: manager}}))
    return str(path)


def until(condition: Callable[[], Found], seconds: float = 60, *, pause: float = 0.01) -> Found:
    """What a condition gives in the end: what other processes do is asked for each `pause` seconds. That it never comes
    fails the test.

    A condition that takes long is asked for less often: who waits leaves the processor to those that he waits for.
    """
    begun = time.monotonic()
    end = begun + seconds
    while not (found := condition()):
        now = time.monotonic()
        assert now < end, "it did not come to it"
        time.sleep(max(pause, min(4 * (now - begun), 0.25)))
        begun = time.monotonic()
    return found


def one_file_a_message(snapshot: Path) -> None:
    """Write a snapshot, or a plan, anew as Spark may: in several files, here of one row each."""
    (part,) = snapshot.glob("*.parquet")
    whole = pq.read_table(part)
    for number in range(whole.num_rows):
        pq.write_table(whole.slice(number, 1), snapshot / f"part-{number:05}.parquet")


def let_expire(tenths: int) -> None:
    """Until an expiry that was put before has run out: there is no condition to wait for but the clock itself."""
    end = time.time() + tenths / 10 + 0.1
    while time.time() < end:
        time.sleep(0.05)


def time_goes_by(monkeypatch: pytest.MonkeyPatch, tenths: int) -> None:
    """An expiry that was put before has run out, for the embedded queue manager and for mqops in this process: their
    clocks are put forward. What has to be done before has so much time for it, on a slow machine too.
    """
    real, ahead = time.time, tenths / 10 + 0.1

    class Later(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
            return datetime.now(tz) + timedelta(seconds=ahead)

    monkeypatch.setattr(time, "time", lambda: real() + ahead)
    monkeypatch.setattr("mqops.clock.datetime", Later)


def dead_letter(
    dest_q: str,
    body: bytes,
    *,
    reason: int = 2053,
    dest_q_mgr: str = "QM1",
    encoding: int = MQENC_NATIVE,
    ccsid: int = 1208,
    inner: tuple[str, int, int] = ("MQSTR", MQENC_NATIVE, 1208),
    **fields: Any,
) -> tuple[dict[str, Any], bytes]:
    """A message as it lies on a dead-letter queue.

    Parameters: `encoding` and `ccsid` of the MQDLH itself; `inner` Format, Encoding and CCSID of the body behind it.
    """
    header = MQDLH(
        reason=reason,
        dest_q_name=dest_q,
        dest_q_mgr_name=dest_q_mgr,
        format=inner[0],
        encoding=inner[1],
        coded_char_set_id=inner[2],
        put_appl_type=28,
        put_appl_name="test",
        put_date="20260102",
        put_time="03040506",
    )
    raw = header.pack(encoding=encoding, ccsid=ccsid)
    return {"Format": "MQDEAD", "Encoding": encoding, "CodedCharSetId": ccsid, **fields}, raw + body


def digests(bodies: list[bytes]) -> Counter[str]:
    """How often which body is there."""
    return Counter(hashlib.sha256(body).hexdigest()[:16] for body in bodies)


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The objects of a file of JSON lines."""
    return [json.loads(line) for line in path.read_text().splitlines()]
