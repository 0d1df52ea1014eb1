"""What stands behind the name of a queue that a reader has written: the queue manager is asked, nothing is browsed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from mqops.errors import MqopsError
from mqops.estate_values import MQ_NAME
from mqops_airflow.connections.reach import connection_for
from mqops_airflow.pages.answers import Answers

if TYPE_CHECKING:
    from mqops.estate import EstateFile
    from mqops.mq.named_queue import Named
    from mqops.mq.session import Session

ANSWERS: Answers[Named | None] = Answers(10.0)
DESTINATIONS: Answers[str | None] = Answers(10.0)
T = TypeVar("T")


def named_now(estate: EstateFile, name: str, queue: str) -> Named | None:
    """The queue behind a name; None where the queue is not known now. Parameters: `name` of the queue manager."""

    def named(session: Session) -> Named:
        from mqops.mq.named_queue import named_by_person  # noqa: PLC0415 - loads the MQ library

        return named_by_person(session, queue)

    return _answer(ANSWERS, estate, name, queue, named)


def why_no_destination_now(estate: EstateFile, name: str, queue: str) -> str | None:
    """Why nothing can be put to a name, "" where a queue is there; None where that is not known now. Parameters:
    `name` of the queue manager."""

    def why(session: Session) -> str:
        from mqops.mq.named_queue import why_no_destination  # noqa: PLC0415 - loads the MQ library

        return why_no_destination(session, queue)

    return _answer(DESTINATIONS, estate, name, queue, why)


def _answer(
    answers: Answers[T | None], estate: EstateFile, name: str, queue: str, ask: Callable[[Session], T]
) -> T | None:
    """The answer to a question about a name. None where the name is no name of a queue, or none comes in time."""
    if not MQ_NAME.fullmatch(queue):
        return None
    key = f"{name} {queue}"
    return answers.of({key: partial(_asked, estate, name, ask)}, scope=str(estate.path), lane=name)[key].value


def _asked(estate: EstateFile, name: str, ask: Callable[[Session], T]) -> T | None:
    from mqops.mq.connection import connect  # noqa: PLC0415 - loads the MQ library

    try:
        with connect(connection_for(name, estate)) as session:
            return ask(session)
    except MqopsError:
        return None
