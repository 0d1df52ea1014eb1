"""A program with the poison-aware consumer, as tests run and kill it in a process of its own: `QMGR QUEUE OUT [DIE]`.

It copies messages to the queue OUT in the unit of work that gets them, and cannot bear those that begin with `bad`. It
prints what became of each delivery, and ends when no message is there; with DIE it kills itself when it has put a
poisonous message elsewhere, before it commits.
"""

from __future__ import annotations

import os
import signal
import sys

import pymqi
from pymqi import CMQC

from mqops.poison_consumer import Delivery, PoisonAwareConsumer


class Broken(Exception):
    """What the application raises."""


def main(name: str, queue: str, out: str, die: str = "") -> None:
    """Consume."""
    manager = pymqi.connect(name)
    copies = pymqi.Queue(manager, out, CMQC.MQOO_OUTPUT)

    def process(delivery: Delivery) -> None:
        copies.put(delivery.body, pymqi.MD(), pymqi.PMO(Options=CMQC.MQPMO_SYNCPOINT))
        if delivery.body.startswith(b"bad"):
            raise Broken

    with PoisonAwareConsumer(manager, queue) as consumer:
        if die:
            place = consumer._place
            consumer._place = lambda *of: (place(*of), os.kill(os.getpid(), signal.SIGKILL))[0]  # type: ignore[method-assign]
        for handled in consumer.run(process):
            print(handled.what, flush=True)
    manager.disconnect()


if __name__ == "__main__":
    main(*sys.argv[1:])
