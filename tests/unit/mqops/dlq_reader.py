"""An application that reads a queue under syncpoint, as a program that does not know mqops would.

`dlq_reader.py QMGR QUEUE MOST`: takes units of one to four messages and backs them out; from the line `go` on standard
input on it commits about every other unit, until it has MOST messages. Ends with its input, and not before it has them;
prints `ready` once it holds messages, and at the end the MsgIds (hex) and bodies (hex) of what it has committed, and
how often it backed out.
"""

from __future__ import annotations

import json
import random
import sys
import threading

import pymqi
from pymqi import CMQC


def main(name: str, queue: str, most: int) -> None:
    going, ended = threading.Event(), threading.Event()
    threading.Thread(target=listen, args=(going, ended), daemon=True).start()
    queue_manager = pymqi.connect(name)
    handle = pymqi.Queue(queue_manager, queue, CMQC.MQOO_INPUT_SHARED)
    chance = random.Random(11)
    got: list[tuple[str, str]] = []
    backouts = 0
    while not ended.is_set() or len(got) < most:
        unit = taken(handle, chance.randint(1, 4))
        if unit and not got and not backouts:
            print("ready", flush=True)
        if going.is_set() and len(got) < most and chance.random() < 0.5:
            queue_manager.commit()
            got += unit
        else:
            queue_manager.backout()
            backouts += bool(unit)
    handle.close()
    queue_manager.disconnect()
    print(json.dumps({"got": got, "backouts": backouts}), flush=True)


def listen(going: threading.Event, ended: threading.Event) -> None:
    for _line in sys.stdin:
        going.set()
    ended.set()


def taken(handle: pymqi.Queue, number: int) -> list[tuple[str, str]]:
    """So many messages, or as many as come."""
    unit = []
    for _ in range(number):
        gmo = pymqi.GMO(Options=CMQC.MQGMO_SYNCPOINT | CMQC.MQGMO_WAIT | CMQC.MQGMO_FAIL_IF_QUIESCING, WaitInterval=50)
        md = pymqi.MD()
        try:
            body = handle.get(None, md, gmo)
        except pymqi.MQMIError as error:
            if error.reason == CMQC.MQRC_NO_MSG_AVAILABLE:
                break
            raise
        unit.append((md.MsgId.hex(), body.hex()))
    return unit


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
