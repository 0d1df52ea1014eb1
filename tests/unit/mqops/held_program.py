"""A program that puts and gets beside mqops, and holds something on the queue meanwhile.

`held_program.py QMGR QUEUE HOLD`: each line on standard input takes it one step on; it prints a line at each.

1. It takes hold and prints `held`: `put` three messages uncommitted, `get` two uncommitted, `co_op` or `handle` two
   messages browsed with a mark.
2. It puts and gets a message of its own again and again, prints `busy` after the first one, and how many at the end.
3. It ends what it holds, by commit, backout, or a browse to the end of what has no mark, and prints the bodies as JSON.
"""

from __future__ import annotations

import json
import select
import sys
from collections.abc import Iterator

import pymqi
from pymqi import CMQC

MARKED = {
    "co_op": CMQC.MQGMO_UNMARKED_BROWSE_MSG | CMQC.MQGMO_MARK_BROWSE_CO_OP,
    "handle": CMQC.MQGMO_UNMARKED_BROWSE_MSG | CMQC.MQGMO_MARK_BROWSE_HANDLE,
}


def main(name: str, queue: str, hold: str) -> None:
    queue_manager = pymqi.connect(name)
    options = CMQC.MQOO_BROWSE | CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_OUTPUT
    handle = pymqi.Queue(queue_manager, queue, options | (CMQC.MQOO_CO_OP if hold == "co_op" else 0))
    if hold == "put":
        for number in range(3):
            handle.put(b"new %d" % number, pymqi.MD(), pymqi.PMO(Options=CMQC.MQPMO_SYNCPOINT))
        bodies = ["new 0", "new 1", "new 2"]
    elif hold == "get":
        gmo = CMQC.MQGMO_SYNCPOINT
        bodies = [handle.get(None, pymqi.MD(), pymqi.GMO(Options=gmo)).decode() for _ in range(2)]
    else:
        unmarked = browsed(handle, MARKED[hold])
        bodies = [next(unmarked), next(unmarked)]
    told("held")
    print(busy(handle, f"busy {hold}".encode()), flush=True)
    sys.stdin.readline()
    if hold == "put":
        queue_manager.commit()
    elif hold == "get":
        queue_manager.backout()
    else:
        bodies += browsed(handle, MARKED[hold])
    print(json.dumps(bodies), flush=True)
    handle.close()
    queue_manager.disconnect()


def told(word: str) -> None:
    print(word, flush=True)
    sys.stdin.readline()


def browsed(handle: pymqi.Queue, options: int) -> Iterator[str]:
    """The messages without a mark, in their order."""
    while True:
        try:
            gmo = pymqi.GMO(Options=options | CMQC.MQGMO_BROWSE_FIRST)
            yield handle.get(None, pymqi.MD(), gmo).decode()
        except pymqi.MQMIError as error:
            if error.reason != CMQC.MQRC_NO_MSG_AVAILABLE:
                raise
            return


def busy(handle: pymqi.Queue, body: bytes) -> int:
    """Put a message and get that one, until a line comes. Raises MQMIError: somebody has taken it."""
    rounds = 0
    while not select.select([sys.stdin], [], [], 0)[0]:
        md = pymqi.MD()
        handle.put(body, md, pymqi.PMO(Options=CMQC.MQPMO_NO_SYNCPOINT))
        mine = pymqi.GMO(Version=CMQC.MQGMO_VERSION_2, MatchOptions=CMQC.MQMO_MATCH_MSG_ID)
        mine.Options = CMQC.MQGMO_NO_SYNCPOINT
        assert handle.get(None, pymqi.MD(MsgId=md.MsgId), mine) == body
        rounds += 1
        if rounds == 1:
            print("busy", flush=True)
    sys.stdin.readline()
    return rounds


if __name__ == "__main__":
    main(*sys.argv[1:])
