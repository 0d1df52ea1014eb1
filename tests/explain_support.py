"""What tests of `mqops trigger` have in common: a queue manager of their own, the explanation of queue APP."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pymqi
import pytest
from mqlite_support import Application, make
from pymqi import CMQC
from trigger_support import PROCESS

from mqops.mq.connection import MqConnection, connect
from mqops.trigger.core import Explanation
from mqops.trigger.core import explain as judge
from mqops.trigger.look import manager, triggered_queue


@contextmanager
def queue_manager(platform: str = "unix", mqsc: str = "") -> Iterator[Application]:
    """QM1 with initiation queue IQ and process P, in a folder of its own."""
    with tempfile.TemporaryDirectory() as home, pytest.MonkeyPatch.context() as patch:
        patch.setenv("MQLITE_HOME", home)
        make("QM1", f"DEFINE QLOCAL(IQ)\n{PROCESS}\n{mqsc}", platform=platform)
        application = Application()
        try:
            yield application
        finally:
            application.manager.disconnect()


def explained(queue: str = "APP") -> Explanation:
    with connect(MqConnection(queue_manager="QM1")) as session:
        return judge(triggered_queue(session, queue, manager(session)))


def next_message_triggers(application: Application, initiation: str = "IQ", **fields: Any) -> bool:
    """Put one more message, and see whether a trigger message is on the initiation queue that was not there before.

    Parameters: `fields` of the message's MQMD.
    """
    before = application.depth(initiation)
    with suppress(pymqi.MQMIError):  # PUT(DISABLED), or the queue is full
        application.put("APP", **{"Priority": CMQC.MQPRI_PRIORITY_AS_Q_DEF} | fields)
    return application.depth(initiation) > before
