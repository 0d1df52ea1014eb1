"""Two queue managers A (sends) and B (receives), made and administered through the `mqlite` command."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pymqi
import pytest
from mqlite_command import mqlite_here
from mqlite_support import until
from pymqi import CMQC

from mqwire.structures import MQDLH, MQMD

NO_MESSAGE = 2033
GET = CMQC.MQGMO_NO_SYNCPOINT | CMQC.MQGMO_NO_WAIT


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message as got through pymqi."""

    md: MQMD
    body: bytes

    def dead_letter_header(self) -> tuple[MQDLH, bytes]:
        """The MQDLH, read in the encoding and CCSID that the descriptor says, and the data after it."""
        header = MQDLH.unpack(self.body, encoding=self.md.encoding, ccsid=self.md.coded_char_set_id)
        return header, self.body[MQDLH.LAYOUT.size :]


class Estate:
    """Queue managers under one MQLITE_HOME."""

    def __init__(self) -> None:
        self._made: list[str] = []

    def mqlite(self, *arguments: str, stdin: str = "", code: int = 0) -> str:
        """Run an `mqlite` command; what it printed."""
        result = mqlite_here(*arguments, stdin=stdin)
        assert result.exit_code == code, result.output
        return result.output

    def create(self, name: str, platform: str = "unix") -> None:
        """Make a queue manager."""
        self.mqlite("create", name, "--platform", platform)
        self._made.append(name)

    def folder(self, name: str) -> Path:
        """Where a queue manager lives."""
        return Path(os.environ["MQLITE_HOME"], name)

    def mqsc(self, name: str, *commands: str, code: int = 0) -> str:
        """Run MQSC commands."""
        return self.mqlite("mqsc", name, stdin="\n".join(commands) + "\n", code=code)

    def channel_pair(self, *, sender: str = "SHORTTMR(0)", receiver: str = "MRRTY(0)", platform: str = "unix") -> None:
        """A and B with a channel A.TO.B, both running, the channel not started. B has a DEADQ and the queue TARGET."""
        self.create("A")
        self.create("B", platform)
        self.mqsc(
            "A",
            "DEFINE QLOCAL(B) USAGE(XMITQ)",
            f"DEFINE CHANNEL(A.TO.B) CHLTYPE(SDR) CONNAME('localhost(1414)') XMITQ(B) {sender}",
        )
        self.mqsc(
            "B",
            "DEFINE QLOCAL(TARGET)",
            f"DEFINE CHANNEL(A.TO.B) CHLTYPE(RCVR) {receiver}",
            "ALTER QMGR DEADQ(SYSTEM.DEAD.LETTER.QUEUE)",
        )
        self.mqlite("start", "A")
        self.mqlite("start", "B")

    def put(self, queue: str, *bodies: bytes, to: str = "B", at: str = "A", **fields: object) -> list[MQMD]:
        """Put messages at a queue manager for a queue of another; their descriptors as MQPUT gave them back."""
        connection = pymqi.connect(at)
        opened = pymqi.Queue(
            connection, pymqi.OD(ObjectName=queue.encode(), ObjectQMgrName=to.encode()), CMQC.MQOO_OUTPUT
        )
        given = []
        for body in bodies:
            md = pymqi.MD(Version=2, **{"Format": CMQC.MQFMT_STRING, **fields})
            opened.put(body, md, pymqi.PMO(Options=CMQC.MQPMO_NO_SYNCPOINT))
            given.append(MQMD.unpack(md.pack()))
        opened.close()
        connection.disconnect()
        return given

    def take(self, name: str, queue: str) -> list[Message]:
        """Get everything that is on a queue."""
        connection = pymqi.connect(name)
        opened = pymqi.Queue(connection, queue, CMQC.MQOO_INPUT_SHARED)
        found: list[Message] = []
        while True:
            md = pymqi.MD(Version=2)
            try:
                body = opened.get(None, md, pymqi.GMO(Options=GET))
            except pymqi.MQMIError as error:
                if error.reason != NO_MESSAGE:
                    raise
                break
            found.append(Message(md=MQMD.unpack(md.pack()), body=body))
        opened.close()
        connection.disconnect()
        return found

    def depth(self, name: str, queue: str) -> int:
        """CURDEPTH."""
        connection = pymqi.connect(name)
        opened = pymqi.Queue(connection, queue, CMQC.MQOO_INQUIRE)
        found = int(opened.inquire(CMQC.MQIA_CURRENT_Q_DEPTH))
        opened.close()
        connection.disconnect()
        return found

    def channel_state(self, name: str, channel: str = "A.TO.B") -> str:
        """STATUS of DISPLAY CHSTATUS; empty for an inactive channel."""
        output = mqlite_here("mqsc", name, stdin=f"DIS CHSTATUS({channel}) STATUS\n").output
        return output.split("STATUS(", 2)[-1].split(")")[0] if "AMQ8417I" in output else ""

    def until(self, condition: Callable[[], bool]) -> None:
        """Wait until a condition holds; that it never does fails the test."""
        until(condition)

    def holds(self, name: str, queue: str, count: int) -> bool:
        """True if a queue has that many messages and no unit of work is on it."""
        output = self.mqsc(name, f"DISPLAY QSTATUS({queue}) CURDEPTH UNCOM")
        return f"CURDEPTH({count})" in output and "UNCOM(NO)" in output

    def is_drained(self) -> bool:
        """True if the transmission queue of A is empty and no batch is under way."""
        return self.holds("A", "B", 0)

    def run_channel(self) -> None:
        """START CHANNEL, and wait until the transmission queue is empty or the channel has stopped."""
        self.mqsc("A", "START CHANNEL(A.TO.B)")
        self.until(lambda: self.channel_state("A") == "STOPPED" or self.is_drained())

    def run_channel_until_it_stops(self) -> None:
        """START CHANNEL, and wait until it is STOPPED: CURDEPTH and UNCOM of `is_drained` are not of one moment."""
        self.mqsc("A", "START CHANNEL(A.TO.B)")
        self.until(lambda: self.channel_state("A") == "STOPPED")

    def end(self) -> None:
        """End what is running."""
        for name in self._made:
            mqlite_here("end", name)


@pytest.fixture
def estate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Estate]:
    """An empty folder of queue managers."""
    monkeypatch.setenv("MQLITE_HOME", str(tmp_path / "queue managers"))
    made = Estate()
    yield made
    made.end()
