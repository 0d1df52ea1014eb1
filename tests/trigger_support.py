"""What tests of triggering have in common: queues that trigger, a trigger monitor, a process that dies."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from mqlite_support import Application, refused, run_mqsc
from pymqi import CMQC

from mqwire.structures import MQTM, MQXQH

KINDS = ["FIRST", "EVERY", "DEPTH"]
SYNCPOINT = CMQC.MQPMO_SYNCPOINT
PROCESS = "DEFINE PROCESS(P) APPLTYPE(CICS) APPLICID('/usr/bin/serve') ENVRDATA('&') USERDATA('for the user')"
TRIGGER_MESSAGE = MQTM(
    q_name="APP", process_name="P", trigger_data="data", appl_type=1, appl_id="/usr/bin/serve", env_data="&",
    user_data="for the user",
)  # fmt: skip
DIES = """
import os, signal, pymqi
from pymqi import CMQC
manager = pymqi.connect("QM1")
{calls}
os.kill(os.getpid(), signal.SIGKILL)
"""


def define(attributes: str = "", name: str = "APP", process: str = "P") -> None:
    """A queue for the initiation queue IQ, with triggering on unless `attributes` say otherwise."""
    control = "" if "NOTRIGGER" in attributes else "TRIGGER"
    run_mqsc(f"DEFINE QLOCAL({name}) {control} INITQ(IQ) PROCESS({process}) TRIGDATA('data') {attributes}")


def alter(attributes: str, name: str = "APP") -> None:
    run_mqsc(f"ALTER QLOCAL({name}) {attributes}")


def triggering_is_on(name: str = "APP") -> bool:
    return any(line.split() == ["TRIGGER"] for line in run_mqsc(f"DISPLAY QLOCAL({name}) TRIGGER"))


def killed(calls: str) -> None:
    """Another process makes these calls on `manager` and dies."""
    done = subprocess.run([sys.executable, "-c", DIES.format(calls=calls)], env=os.environ)
    assert done.returncode == -9


def transmitted() -> bytes:
    """Data that a transmission queue takes."""
    return MQXQH(remote_q_name="THERE", remote_q_mgr_name="QM2").pack()


class Monitor:
    """A trigger monitor: it has the initiation queue open, in a connection of its own."""

    def __init__(self, queue: str = "IQ") -> None:
        self.application = Application()
        self.queue = self.application.open(queue, CMQC.MQOO_INPUT_SHARED)

    def messages(self) -> list[tuple[Any, bytes]]:
        """The trigger messages that have come since the last time, with their descriptors."""
        found = []
        with refused(CMQC.MQRC_NO_MSG_AVAILABLE):
            while True:
                found.append(self.application.get(self.queue))
        return found

    def triggered(self) -> list[str]:
        """The queues that they are for."""
        return [MQTM.unpack(body, ccsid=1208).q_name for _, body in self.messages()]

    def stop(self) -> None:
        if self.application.manager.is_connected:
            self.application.manager.disconnect()


@pytest.fixture
def monitor(application: Application) -> Iterator[Monitor]:
    """A trigger monitor on IQ of `application`'s queue manager, where process P is defined."""
    run_mqsc(f"DEFINE QLOCAL(IQ)\n{PROCESS}")
    made = Monitor()
    yield made
    made.stop()


@pytest.fixture
def other(application: Application) -> Iterator[Application]:
    """A second connection."""
    made = Application()
    yield made
    made.manager.disconnect()
