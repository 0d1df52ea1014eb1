"""Switching triggering on again behind a run: with TRIGTYPE(DEPTH) the queue manager switches it off (T09).

IBM MQ, "Trigger type depth": the application switches it on again with MQSET when it has done its work. If TRIGDPTH
messages are there by then, the queue manager makes a trigger message at once (T13).
"""

from __future__ import annotations

from mqops.estate import QueueManager
from mqops.mq.inquire import queue_attribute
from mqops.mq.session import Session
from mqops.trigger.core.definitions import process_name
from mqops.trigger.missing import live_definitions
from mqwire import constants as c


def switch_on(session: Session, name: str, settings: QueueManager, workflow: str) -> tuple[str, ...]:
    """Switch triggering on for the queues of a workflow, by MQSET, where the estate says DEPTH and it is off.

    Returns these queues. A queue that has another TRIGTYPE than DEPTH now is left as it is.

    Parameters: `name` of the queue manager in the estate, `settings` of it; `workflow` its name there.

    Raises:
        MQError: a queue may not be inquired or set (the user needs +inq and +set).
    """
    if not any(
        one == workflow and (section.trigger or "").startswith("DEPTH") for one, section in settings.triggered()
    ):
        return ()
    done = []
    for trigger in live_definitions(session, name, settings).triggers:
        queue = trigger.queue
        if not queue or trigger.type != c.MQTT_DEPTH or trigger.process != process_name(workflow):
            continue
        if queue_attribute(session, queue, c.MQIA_TRIGGER_TYPE) != c.MQTT_DEPTH:
            continue
        if queue_attribute(session, queue, c.MQIA_TRIGGER_CONTROL) == c.MQTC_OFF:
            handle = session.open(queue, c.MQOO_SET | c.MQOO_FAIL_IF_QUIESCING)
            try:
                session.set(handle, c.MQIA_TRIGGER_CONTROL, c.MQTC_ON, name=queue)
            finally:
                session.close(handle)
            done.append(queue)
    return tuple(done)
