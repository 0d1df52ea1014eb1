"""A process that does one kind of engine work on queue manager A until it is killed.

`python engine_worker.py KIND NAME ACKNOWLEDGED`. Units of work have random sizes, one in five is backed out. Messages
that are put anew say which unit of work they belong to (`NAME/unit/number/size`), and ACKNOWLEDGED gets a line for
each such unit whose commit has returned. A line on standard output says that the worker has begun.

put      new messages on IN
move     IN to OUT
send     OUT to the remote queue FAR
expire   new messages on SHORT.LIVED that expire at once and ask for a report
browse   SHORT.LIVED, which makes the queue manager discard and report what has expired
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Callable

import pymqi
from pymqi import CMQC

PUT = CMQC.MQPMO_SYNCPOINT | CMQC.MQPMO_NEW_MSG_ID
MOST_WAITING = 300  # messages on a queue that is put to
REPORT = {"Report": CMQC.MQRO_EXPIRATION_WITH_FULL_DATA, "ReplyToQ": b"REPORTS", "Expiry": 1}


class Worker:
    def __init__(self, name: str, acknowledged: str) -> None:
        self.name = name
        self.acknowledged = os.open(acknowledged, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self.manager = pymqi.connect("A")
        self.chance = random.Random(name)
        self.units = 0

    def opened(self, name: str, options: int) -> pymqi.Queue:
        return pymqi.Queue(self.manager, name, options)

    def ended(self) -> bool:
        """End the unit of work; whether by a commit."""
        if self.chance.random() < 0.2:
            self.manager.backout()
            return False
        self.manager.commit()
        return True

    def new(self, queue: str, fields: dict[str, object]) -> None:
        """One unit of work of new messages, told when it is committed."""
        target = self.opened(queue, CMQC.MQOO_OUTPUT | CMQC.MQOO_INQUIRE)
        while True:
            while target.inquire(CMQC.MQIA_CURRENT_Q_DEPTH) > MOST_WAITING:
                time.sleep(0.01)
            self.units += 1
            size = self.chance.choice((1, 2, 7, 30))
            for number in range(size):
                body = f"{self.name}/{self.units}/{number}/{size}".encode()
                target.put(body, pymqi.MD(Persistence=1, **fields), pymqi.PMO(Options=PUT))
            if self.ended():
                os.write(self.acknowledged, f"{self.name}/{self.units}\n".encode())

    def move(self, queue: str, to: str) -> None:
        """One message after the other from a queue to another one."""
        source, target = self.opened(queue, CMQC.MQOO_INPUT_SHARED), self.opened(to, CMQC.MQOO_OUTPUT)
        gmo = CMQC.MQGMO_SYNCPOINT | CMQC.MQGMO_WAIT
        while True:
            for _ in range(self.chance.choice((1, 2, 7, 30))):
                try:
                    body = source.get(None, pymqi.MD(), pymqi.GMO(Options=gmo, WaitInterval=100))
                except pymqi.MQMIError as error:
                    if error.reason != CMQC.MQRC_NO_MSG_AVAILABLE:
                        raise
                    break
                target.put(body, pymqi.MD(Persistence=1), pymqi.PMO(Options=PUT))
            self.ended()

    def browse(self, queue: str) -> None:
        """What is on a queue, again and again."""
        source = self.opened(queue, CMQC.MQOO_BROWSE)
        while True:
            try:
                source.get(
                    None, pymqi.MD(), pymqi.GMO(Options=CMQC.MQGMO_BROWSE_FIRST | CMQC.MQGMO_WAIT, WaitInterval=50)
                )
            except pymqi.MQMIError as error:
                if error.reason != CMQC.MQRC_NO_MSG_AVAILABLE:
                    raise


def main() -> None:
    kind, name, acknowledged = sys.argv[1:]
    worker = Worker(name, acknowledged)
    kinds: dict[str, Callable[[], None]] = {
        "put": lambda: worker.new("IN", {}),
        "move": lambda: worker.move("IN", "OUT"),
        "send": lambda: worker.move("OUT", "FAR"),
        "expire": lambda: worker.new("SHORT.LIVED", REPORT),
        "browse": lambda: worker.browse("SHORT.LIVED"),
    }
    print("working", flush=True)
    kinds[kind]()


if __name__ == "__main__":
    main()
