"""What tests of queue-sharing groups have in common: a group of three, trigger monitors, processes that die."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from mqlite_support import Application, run_mqsc
from pymqi import CMQC
from trigger_support import PROCESS, Monitor

from mqlite.cli import main
from mqwire.structures import MQTM

MEMBERS = ("QM1", "QM2", "QM3")
SHARED = "QSGDISP(SHARED) CFSTRUCT(APP1)"
EXCLUSIVE = CMQC.MQOO_INPUT_EXCLUSIVE
Group = dict[str, Application]
Mqlite = Callable[..., Result]
DIES = """
import os, signal, pymqi
from pymqi import CMQC
manager = pymqi.connect("{name}")
{calls}
os.kill(os.getpid(), signal.SIGKILL)
"""


def command(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments), catch_exceptions=False)


@pytest.fixture
def group(home: Path) -> Iterator[Group]:
    """Connections to the members of a group, which share Q1 and REPORTS, and have each a queue OWN of its own."""
    for name in MEMBERS:
        assert not command("create", name, "--platform", "zos", "--group", "QSG1").exit_code
        run_mqsc("DEFINE QLOCAL(OWN) SHARE DEFSOPT(SHARED)", name)
    run_mqsc(f"DEFINE QLOCAL(Q1) {SHARED} SHARE DEFSOPT(SHARED)\nDEFINE QLOCAL(REPORTS) {SHARED} SHARE")
    made = {name: Application(name) for name in MEMBERS}
    yield made
    for application in made.values():
        application.manager.disconnect()


@pytest.fixture
def mqlite() -> Iterator[Mqlite]:
    """The `mqlite` command. Services that it started are ended."""
    yield command
    for name in MEMBERS:
        command("end", name)


class MonitorOf(Monitor):
    """A trigger monitor of a member."""

    def __init__(self, name: str, queue: str = "IQ") -> None:
        self.application = Application(name)
        self.queue = self.application.open(queue, CMQC.MQOO_INPUT_SHARED)

    def triggered(self) -> list[str]:
        """The queues that its trigger messages are for."""
        return [MQTM.unpack(body, encoding=CMQC.MQENC_S390, ccsid=500).q_name for _, body in self.messages()]


@pytest.fixture
def monitors(group: Group) -> Iterator[dict[str, MonitorOf]]:
    """Trigger monitors of all members, each on its own IQ."""
    for name in MEMBERS:
        run_mqsc(f"DEFINE QLOCAL(IQ) SHARE DEFSOPT(SHARED)\n{PROCESS}", name)
    made = {name: MonitorOf(name) for name in MEMBERS}
    yield made
    for monitor in made.values():
        monitor.stop()


def define_shared(attributes: str) -> None:
    """A shared queue APP that triggers."""
    control = "" if "NOTRIGGER" in attributes else "TRIGGER"
    run_mqsc(f"DEFINE QLOCAL(APP) {SHARED} SHARE DEFSOPT(SHARED) {control} INITQ(IQ) PROCESS(P) {attributes}")


def triggered(monitors: dict[str, MonitorOf]) -> dict[str, int]:
    """How many trigger messages each member has had since the last time; those with none left out."""
    counts = {name: len(monitor.triggered()) for name, monitor in monitors.items()}
    return {name: count for name, count in counts.items() if count}


def killed_at(name: str, calls: str) -> None:
    """A process connected to member `name` makes these calls on `manager` and dies."""
    done = subprocess.run([sys.executable, "-c", DIES.format(name=name, calls=calls)], env=os.environ)
    assert done.returncode == -signal.SIGKILL
