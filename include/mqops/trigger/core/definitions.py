"""What a queue manager needs for the trigger monitor and for workflows by trigger, as MQSC. Nothing here asks one."""

from __future__ import annotations

import re
from dataclasses import dataclass

from mqops.estate_sections import QueueManager, dag_prefix
from mqops.mqsc import mqsc_name
from mqwire import constants as c

_TYPES = {"FIRST": c.MQTT_FIRST, "EVERY": c.MQTT_EVERY, "DEPTH": c.MQTT_DEPTH}
DEADQ_UNKNOWN = "* ALTER QLOCAL(the queue of DEADQ) {how}"
"""MQSC takes it for a comment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessDefinition:
    """The process that names the DAG of a workflow."""

    name: str
    dag_id: str

    @property
    def mqsc(self) -> str:
        """How it is defined, or defined anew."""
        return f"DEFINE PROCESS('{self.name}') APPLTYPE(UNIX) APPLICID('{self.dag_id}') REPLACE"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueTrigger:
    """The triggering that the estate demands of a queue.

    Parameters: `queue` "" for the queue manager's DEADQ, if that is not known; `trigger` as in the estate.
    """

    queue: str
    trigger: str
    initiation_queue: str
    process: str

    @property
    def type(self) -> int:
        """MQTT_*."""
        return _TYPES[self.trigger.partition("(")[0]]

    @property
    def depth(self) -> int:
        """TRIGDPTH, 0 where the type has none."""
        found = re.search(r"\d+", self.trigger)
        return int(found[0]) if found else 0

    @property
    def mqsc(self) -> str:
        """How the queue is altered."""
        depth = f" TRIGDPTH({self.depth})" if self.depth else ""
        how = f"TRIGGER TRIGTYPE({self.trigger.partition('(')[0]}){depth} INITQ('{self.initiation_queue}')"
        how = f"{how} PROCESS('{self.process}')"
        return f"ALTER QLOCAL('{self.queue}') {how}" if self.queue else DEADQ_UNKNOWN.format(how=how)


@dataclass(frozen=True, slots=True, kw_only=True)
class Definitions:
    """What has to be defined on one queue manager."""

    initiation_queues: tuple[str, ...]
    processes: tuple[ProcessDefinition, ...]
    triggers: tuple[QueueTrigger, ...]

    @property
    def mqsc(self) -> tuple[str, ...]:
        """All of it, in an order that works."""
        queues = [initiation_queue_mqsc(name) for name in self.initiation_queues]
        processes, triggers = [each.mqsc for each in self.processes], [each.mqsc for each in self.triggers]
        return (*queues, *processes, *triggers)


def process_name(workflow: str) -> str:
    """The process of a workflow."""
    return f"MQOPS.{workflow.upper()}"


def initiation_queue_mqsc(name: str) -> str:
    """How an initiation queue is defined. Its messages are persistent (T17): they outlive the queue manager's end."""
    return f"DEFINE QLOCAL('{name}') DEFPSIST(YES) SHARE DEFSOPT(SHARED) NOTRIGGER"


def share_mqsc(name: str) -> str:
    """How an initiation queue becomes one that several handles may have open for input."""
    return f"ALTER QLOCAL({mqsc_name(name)}) SHARE"


def wanted(name: str, settings: QueueManager, *, dead_letter_queue: str = "") -> Definitions:
    """What the estate asks of the queue manager `name`. Parameters: `dead_letter_queue` its DEADQ, if that is known."""
    monitor = settings.trigger_monitor
    if monitor is None:
        return Definitions(initiation_queues=(), processes=(), triggers=())
    processes, triggers = [], []
    for workflow, section in settings.triggered():
        process = ProcessDefinition(name=process_name(workflow), dag_id=f"{dag_prefix(name)}_{workflow}")
        processes.append(process)
        triggers += [
            QueueTrigger(
                queue=queue,
                trigger=section.trigger or "",
                initiation_queue=monitor.queues[0],
                process=process.name,
            )
            for queue in section.trigger_queues(dead_letter_queue)
        ]
    return Definitions(initiation_queues=monitor.queues, processes=tuple(processes), triggers=tuple(triggers))
