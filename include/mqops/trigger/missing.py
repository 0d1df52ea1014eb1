"""What a queue manager lacks of the definitions that the estate asks for, by inquiry."""

from __future__ import annotations

from collections.abc import Iterator

from mqops.errors import MQError, SettingsError
from mqops.estate_sections import QueueManager
from mqops.mq.inquire import base_queue_if_known, dead_letter_queue, is_shareable, opened
from mqops.mq.named_queue import wrong_name
from mqops.mq.session import Session, is_gone
from mqops.trigger.core.definitions import (
    Definitions,
    ProcessDefinition,
    QueueTrigger,
    initiation_queue_mqsc,
    share_mqsc,
    wanted,
)
from mqops.trigger.core.trigger_message import accepts
from mqops.trigger.look import manager, triggered_queue
from mqwire import constants as c

NOT_THERE = "is not there"


def live_definitions(session: Session, name: str, settings: QueueManager) -> Definitions:
    """As `wanted`, with the queue manager's own DEADQ; where that is an alias, the queue that triggers is its base.

    Raises `MQError`.
    """
    try:
        queue = base_queue_if_known(session, dead_letter_queue(session))
    except SettingsError:
        queue = ""
    return wanted(name, settings, dead_letter_queue=queue)


def missing_definitions(session: Session, definitions: Definitions) -> Iterator[str]:
    """A sentence for each definition that is not there, or not as it has to be, with the MQSC. Raises `MQError`."""
    for queue in definitions.initiation_queues:
        wrong = wrong_name(session, queue)
        if wrong and not wrong.there and not wrong.instead:
            yield f"the initiation queue {queue} is not there: {initiation_queue_mqsc(queue)}"
        elif wrong and not (wrong.there and wrong.instead):  # an alias of a local queue is taken
            yield f"the initiation queue {queue}, {wrong.why}: name a local queue in the estate"
        elif not is_shareable(session, queue):
            yield f"the initiation queue {queue} has NOSHARE, so no trigger message could be got: {share_mqsc(queue)}"
    for process in definitions.processes:
        if why := process_wrong(session, process):
            yield f"the process {process.name} {why}: {process.mqsc}"
    for trigger in definitions.triggers:
        if why := trigger_wrong(session, trigger):
            yield f"the queue {trigger.queue or 'of DEADQ'} {why}: {trigger.mqsc}"


def _is_there(session: Session, name: str, kind: int) -> bool:
    try:
        with opened(session, name, kind):
            return True
    except MQError as error:
        if is_gone(error):
            return False
        raise


def process_wrong(session: Session, process: ProcessDefinition) -> str:
    """What is wrong with a process, "" if nothing is. Raises `MQError`."""
    if not _is_there(session, process.name, c.MQOT_PROCESS):
        return NOT_THERE
    with opened(session, process.name, c.MQOT_PROCESS) as handle:
        dag_id = str(session.inquire(handle, c.MQCA_APPL_ID))
        appl_type = int(session.inquire(handle, c.MQIA_APPL_TYPE))
    if dag_id != process.dag_id or not accepts(appl_type):
        return f"names APPLICID({dag_id}) with APPLTYPE {appl_type}"
    return ""


def trigger_wrong(session: Session, trigger: QueueTrigger) -> str:
    """What is wrong with the triggering of a queue, "" if nothing is. Raises `MQError`."""
    if not trigger.queue:
        return "is not known, because the queue manager names no dead-letter queue"
    if not _is_there(session, trigger.queue, c.MQOT_Q):
        return NOT_THERE
    found = triggered_queue(session, trigger.queue, manager(session))
    wrong = [
        what
        for what, right in (
            ("NOTRIGGER", found.control or found.type == c.MQTT_DEPTH),  # DEPTH switches itself off
            ("TRIGTYPE", found.type == trigger.type),
            ("TRIGDPTH", not trigger.depth or found.trigger_depth == trigger.depth),
            ("INITQ", found.initiation_name == trigger.initiation_queue),
            ("PROCESS", found.process == trigger.process),
        )
        if not right
    ]
    return f"does not trigger as the estate says ({', '.join(wrong)})" if wrong else ""
