"""Whether a trigger message claims what the queue manager has defined: who may put on its queue can forge one.

The queue manager makes a trigger message of two definitions: the queue, which names its process, and the process, which
names the application (IBM MQ, "Trigger messages"). So the queue must be there, its PROCESS must be the one in the
message, and the APPLICID of that process the DAG. A definition that was changed since, or that may not be inquired, is
no proof: such a message starts nothing and goes to the dead-letter queue, from where it can be put back.
"""

from __future__ import annotations

from mqops.errors import PermanentMQError
from mqops.mq.inquire import opened
from mqops.mq.session import Session
from mqops.printable import printable
from mqops.trigger.core.trigger_message import Start
from mqwire import constants as c


def refuted(session: Session, start: Start) -> str:
    """Why a trigger message is not one that the queue manager would make, or nothing.

    Raises:
        MQError: the queue manager does not answer.
    """
    message = start.message
    queue, process = printable(message.q_name), printable(message.process_name)
    try:
        named = _attribute(session, message.q_name, c.MQOT_Q, c.MQCA_PROCESS_NAME)
        if not named or named != message.process_name:
            has = f"PROCESS({printable(named)})" if named else "no PROCESS"
            return f"the trigger message is not one of the queue {queue}, which has {has}, not PROCESS({process})"
        dag_id = _attribute(session, named, c.MQOT_PROCESS, c.MQCA_APPL_ID)
    except PermanentMQError as error:
        error.raise_if_lost()
        return f"the queue {queue} and the process {process} of the trigger message must be there: {error}"
    if dag_id != start.dag_id:
        return f"the process {process} of the queue {queue} has APPLICID {printable(dag_id)}, not {start.dag_id}"
    return ""


def _attribute(session: Session, name: str, kind: int, selector: int) -> str:
    with opened(session, name, kind) as handle:
        return str(session.inquire(handle, selector))
