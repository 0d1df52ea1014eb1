"""What stands behind the name of a queue that a reader has written: the queue manager is asked, nothing is browsed."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from mqops.errors import MqopsError
from mqops.estate_values import MQ_NAME
from mqops_airflow.connections.reach import connection_for
from mqops_airflow.pages.answers import Answers

if TYPE_CHECKING:
    from mqops.estate import EstateFile
    from mqops.mq.named_queue import Named

ANSWERS: Answers[Named | None] = Answers(10.0)


def named_now(estate: EstateFile, name: str, queue: str) -> Named | None:
    """The queue behind a name; None where the queue is not known now. Parameters: `name` of the queue manager."""
    if not MQ_NAME.fullmatch(queue):
        return None
    key = f"{name} {queue}"
    return ANSWERS.of({key: partial(_ask, estate, name, queue)}, scope=str(estate.path), lane=name)[key].value


def _ask(estate: EstateFile, name: str, queue: str) -> Named | None:
    from mqops.mq.connection import connect  # noqa: PLC0415 - loads the MQ library
    from mqops.mq.named_queue import named_by_person  # noqa: PLC0415

    try:
        with connect(connection_for(name, estate)) as session:
            return named_by_person(session, queue)
    except MqopsError:
        return None
