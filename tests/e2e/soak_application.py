"""The application behind the triggered queues of the soak: one DAG run gets what is on its queue.

A message that is got and the line that says who got it, on queue SEEN, are one unit of work. So SEEN tells exactly what
became of each message, whatever was killed.
"""

from __future__ import annotations

import pymqi
from pymqi import CMQC

QUEUE_MANAGER = "SOAK"
SEEN = "SEEN"
TRIGGER_DEPTH = 25
"""TRIGDPTH of the DEPTH queues. So many messages are one unit of work of such a queue."""
_OPEN = CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_INQUIRE | CMQC.MQOO_FAIL_IF_QUIESCING
_GET = CMQC.MQGMO_SYNCPOINT | CMQC.MQGMO_FAIL_IF_QUIESCING
_PUT = CMQC.MQPMO_SYNCPOINT | CMQC.MQPMO_FAIL_IF_QUIESCING


def serve(queue: str, run_id: str) -> int:
    """Get the messages of a queue, as the application of its TRIGTYPE does; returns how many."""
    manager = pymqi.QueueManager(None)
    manager.connect_with_options(QUEUE_MANAGER, opts=CMQC.MQCNO_HANDLE_SHARE_BLOCK)
    try:
        is_depth = queue.startswith("DEPTH")
        source = pymqi.Queue(manager, queue, _OPEN | (CMQC.MQOO_SET if is_depth else 0))
        seen = pymqi.Queue(manager, SEEN, CMQC.MQOO_OUTPUT | CMQC.MQOO_FAIL_IF_QUIESCING)
        size = TRIGGER_DEPTH if is_depth else 1
        number = 0
        while source.inquire(CMQC.MQIA_CURRENT_Q_DEPTH) >= size and _unit_of_work(manager, source, seen, size, run_id):
            number += size
        if is_depth:
            source.set(CMQC.MQIA_TRIGGER_CONTROL, CMQC.MQTC_ON)
        source.close()
        return number
    finally:
        manager.backout()
        manager.disconnect()


def _unit_of_work(manager: pymqi.QueueManager, source: pymqi.Queue, seen: pymqi.Queue, size: int, run_id: str) -> bool:
    for _ in range(size):
        try:
            body = source.get(None, pymqi.MD(), pymqi.GMO(Options=_GET))
        except pymqi.MQMIError as error:
            if error.reason != CMQC.MQRC_NO_MSG_AVAILABLE:
                raise
            manager.backout()
            return False
        seen.put(b"%s %s" % (run_id.encode(), body), pymqi.MD(Persistence=1), pymqi.PMO(Options=_PUT))
    manager.commit()
    return True
