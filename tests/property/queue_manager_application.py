"""The applications of the state machine: each a process of its own with one connection, doing what it is told."""

from __future__ import annotations

import os
from multiprocessing.connection import Connection
from typing import Any

import pymqi
from pymqi import CMQC

OPEN = (
    CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_OUTPUT | CMQC.MQOO_BROWSE | CMQC.MQOO_CO_OP | CMQC.MQOO_INQUIRE | CMQC.MQOO_SET
)
UNDER_CURSOR, FIRST, NEXT = CMQC.MQGMO_MSG_UNDER_CURSOR, CMQC.MQGMO_BROWSE_FIRST, CMQC.MQGMO_BROWSE_NEXT


class Worker:
    """One connection to QM1 and its open queues."""

    def __init__(self) -> None:
        self.manager = pymqi.connect("QM1")
        self.opened: dict[str, Any] = {}

    def queue(self, name: str) -> Any:
        if name not in self.opened:
            self.opened[name] = pymqi.Queue(self.manager, name, OPEN)
        return self.opened[name]

    def put(self, name: str, body: bytes, msg_id: bytes, priority: int, syncpoint: bool) -> tuple[Any, ...]:
        md = pymqi.MD(MsgId=msg_id, Priority=priority, Persistence=priority % 2)
        options = CMQC.MQPMO_SYNCPOINT if syncpoint else CMQC.MQPMO_NO_SYNCPOINT
        self.queue(name).put(body, md, pymqi.PMO(Options=options))
        return (0, b"", md.MsgId, md.Priority, 0)

    def get(self, name: str, options: int, msg_id: bytes, syncpoint: bool) -> tuple[Any, ...]:
        if not options & (FIRST | NEXT):
            options |= CMQC.MQGMO_SYNCPOINT if syncpoint else CMQC.MQGMO_NO_SYNCPOINT
        md = pymqi.MD(MsgId=msg_id or CMQC.MQMI_NONE)
        gmo = pymqi.GMO(Options=options, Version=CMQC.MQGMO_VERSION_2)
        gmo.MatchOptions = CMQC.MQMO_MATCH_MSG_ID if msg_id else CMQC.MQMO_NONE
        body = self.queue(name).get(None, md, gmo)
        return (0, body, md.MsgId, md.Priority, md.BackoutCount)

    def look(self, name: str) -> tuple[int, list[bytes]]:
        """The depth, and what another cooperating handle finds unmarked; it is closed at once."""
        queue, found = pymqi.Queue(self.manager, name, OPEN), []
        depth = int(queue.inquire(CMQC.MQIA_CURRENT_Q_DEPTH))
        try:
            while True:
                options = CMQC.MQGMO_BROWSE_NEXT | CMQC.MQGMO_UNMARKED_BROWSE_MSG
                found.append(queue.get(None, pymqi.MD(), pymqi.GMO(Options=options)))
        except pymqi.MQMIError as error:
            if error.reason not in {CMQC.MQRC_NO_MSG_AVAILABLE, CMQC.MQRC_GET_INHIBITED}:
                raise
        queue.close()
        return depth, found

    def inhibit(self, name: str, attribute: int, value: int) -> None:
        self.queue(name).set(attribute, value)

    def end(self, how: str) -> None:
        """Commit, back out, or disconnect and connect anew."""
        if how != "disconnect":
            getattr(self.manager, how)()
            return
        self.manager.disconnect()
        self.manager, self.opened = pymqi.connect("QM1"), {}


def serve(pipe: Connection, home: str) -> None:
    """Do what comes through the pipe until it closes: (method, arguments) → its answer, or the reason code."""
    os.environ["MQLITE_HOME"] = home
    worker = Worker()
    pipe.send("ready")
    while True:
        try:
            method, arguments = pipe.recv()
        except EOFError:
            return
        try:
            pipe.send(getattr(worker, method)(*arguments))
        except pymqi.MQMIError as error:
            pipe.send((error.reason, b"", b"", 0, 0))
