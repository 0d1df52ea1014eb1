"""Switching triggering on again behind a run: with TRIGTYPE(DEPTH) the queue manager switches it off (T09).

IBM MQ, "Trigger type depth": the application switches it on again with MQSET when it has done its work. If TRIGDPTH
messages are there by then, the queue manager makes a trigger message at once (T13).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mqops.errors import PermanentMQError
from mqops.estate_sections import QueueManager
from mqops.mq.inquire import queue_attribute
from mqops.mq.session import Session
from mqops.trigger.core.definitions import process_name
from mqops.trigger.missing import live_definitions
from mqwire import constants as c


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchedOn:
    """What `switch_on` did. Parameters: `queues` that trigger again; `refused` why the other ones do not, by name."""

    queues: tuple[str, ...] = ()
    refused: Mapping[str, PermanentMQError] = field(default_factory=dict)


def switch_on(session: Session, name: str, settings: QueueManager, workflow: str) -> SwitchedOn:
    """Switch triggering on for the queues of a workflow, by MQSET, where the estate says DEPTH and it is off.

    A queue that has another TRIGTYPE than DEPTH now is left as it is.

    Parameters: `name` of the queue manager in the estate, `settings` of it; `workflow` its name there.

    Raises:
        MQError: the queue manager does not answer.
    """
    if not any(
        one == workflow and (section.trigger or "").startswith("DEPTH") for one, section in settings.triggered()
    ):
        return SwitchedOn()
    done, refused = [], {}
    for trigger in live_definitions(session, name, settings).triggers:
        queue = trigger.queue
        if not queue or trigger.type != c.MQTT_DEPTH or trigger.process != process_name(workflow):
            continue
        try:
            if _switch_on(session, queue):
                done.append(queue)
        except PermanentMQError as error:
            refused[queue] = error
    return SwitchedOn(queues=tuple(done), refused=refused)


def _switch_on(session: Session, queue: str) -> bool:
    """Whether it had to be done. Raises `MQError`."""
    if queue_attribute(session, queue, c.MQIA_TRIGGER_TYPE) != c.MQTT_DEPTH:
        return False
    if queue_attribute(session, queue, c.MQIA_TRIGGER_CONTROL) != c.MQTC_OFF:
        return False
    handle = session.open(queue, c.MQOO_SET | c.MQOO_FAIL_IF_QUIESCING)
    try:
        session.set(handle, c.MQIA_TRIGGER_CONTROL, c.MQTC_ON, name=queue)
    finally:
        session.close(handle)
    return True
