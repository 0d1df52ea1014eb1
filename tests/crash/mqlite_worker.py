"""A process that moves messages between queues until it is killed.

`python mqlite_worker.py SOURCE TARGET SIZE END [QMGR]`. In units of work of random size; one in four is backed out.
END is `kill` (work for ever) or `empty` (stop when nothing is left). A line on standard output says that it has begun.
"""

from __future__ import annotations

import random
import sys

import pymqi
from pymqi import CMQC

GET = CMQC.MQGMO_SYNCPOINT | CMQC.MQGMO_FAIL_IF_QUIESCING
INPUT = CMQC.MQOO_INPUT_SHARED


def main() -> None:
    source_name, target_name, size, end, *named = sys.argv[1:]
    manager = pymqi.connect(named[0] if named else "QM1")
    source = pymqi.Queue(manager, source_name, INPUT)
    target = pymqi.Queue(manager, target_name, CMQC.MQOO_OUTPUT)
    print("working", flush=True)
    chance = random.Random()
    while True:
        moved = 0
        for _ in range(chance.randint(1, int(size))):
            try:
                md = pymqi.MD()
                body = source.get(None, md, pymqi.GMO(Options=GET))
            except pymqi.MQMIError as error:
                if error.reason != CMQC.MQRC_NO_MSG_AVAILABLE:
                    raise
                break
            target.put(body, pymqi.MD(Persistence=md.Persistence), pymqi.PMO(Options=CMQC.MQPMO_SYNCPOINT))
            moved += 1
        if moved and chance.random() < 0.25:
            manager.backout()
        else:
            manager.commit()
        if not moved and end == "empty":
            break
        if not moved:
            source_name, target_name = target_name, source_name
            source = pymqi.Queue(manager, source_name, INPUT)
            target = pymqi.Queue(manager, target_name, CMQC.MQOO_OUTPUT)
    manager.disconnect()


if __name__ == "__main__":
    main()
