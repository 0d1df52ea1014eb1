"""Queues on which messages lie until a person looks at them: that no program has one open for input is no fault.

The estate names them (`storage` of a queue manager, `quarantine` of its backout_reprocess and of its gates). Others are
storage by their definition: the queue manager's DEADQ, the backout queues (BOQNAME) of other queues, and queues with
GET(DISABLED).
"""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from mqops.errors import MQError, SettingsError
from mqops.mq.inquire import dead_letter_queue, inquire_queues, queue_attribute
from mqops.mq.session import Session
from mqops.queue_names import is_named
from mqwire import constants as c

if TYPE_CHECKING:
    from mqops.estate import EstateFile

ESTATE = Path(__file__).resolve().parents[1] / "estate.yaml"
"""The estate file of the sources, which an installed mqops does not have: used where MQOPS_ESTATE names no other."""


def estate_argument() -> Path:
    """The estate file of a command that is given none: that of the sources, else `estate.yaml` where it is called."""
    return ESTATE if ESTATE.exists() else Path(ESTATE.name)


class Storage:
    """Which queues of a queue manager are storage. Each is asked about once, and only when it matters.

    Parameters: `of_queues` queues whose BOQNAME is asked for before that of all queues, which costs more.

    Raises:
        SettingsError: the estate file is not valid.
    """

    def __init__(self, session: Session, queue_manager: str, of_queues: Collection[str] = ()) -> None:
        self._session = session
        self._of_queues = of_queues
        self._named = named_in_estate(queue_manager)
        self._by_definition: frozenset[str] | None = None

    def has(self, queue: str) -> bool:
        """Whether a local queue is storage; one that cannot be inquired is not.

        Raises:
            MQError: the connection is lost.
        """
        if is_named(queue, self._named) or any(self._names(one, queue) for one in self._of_queues):
            return True
        if self._by_definition is None:
            self._by_definition = _by_definition(self._session)
        return queue in self._by_definition or self._is_inhibited(queue)

    def _names(self, one: str, queue: str) -> bool:
        """Whether a queue names another one as its BOQNAME."""
        try:
            return queue_attribute(self._session, one, c.MQCA_BACKOUT_REQ_Q_NAME) == queue
        except MQError as error:
            error.raise_if_lost()
            return False

    def _is_inhibited(self, queue: str) -> bool:
        try:
            return queue_attribute(self._session, queue, c.MQIA_INHIBIT_GET) == c.MQQA_GET_INHIBITED
        except MQError as error:
            error.raise_if_lost()
            return False


def estate_here() -> EstateFile | None:
    """The estate file that MQOPS_ESTATE names, else the project's, as far as it can be used; None if there is neither.

    Raises:
        SettingsError: nothing of it can be used; with every error of the file.
    """
    given = os.environ.get("MQOPS_ESTATE")
    path = Path(given or ESTATE)
    if not (given or path.exists()):
        return None
    from mqops.estate import load_usable  # noqa: PLC0415 - pydantic, which a Spark worker does not need

    return load_usable(path)


def named_in_estate(queue_manager: str) -> tuple[str, ...]:
    """The names, or beginnings and `*`, that the estate has for a queue manager. Raises `SettingsError`.

    Without a valid backout_reprocess its quarantine is not among them: then more is left, not less.
    """
    file = estate_here()
    found = file.queue_manager(queue_manager) if file else None
    backout = found.backout_reprocess if found else None
    gates = found.gate_quarantines() if found else ()
    return (*(found.storage if found else ()), *([backout.quarantine] if backout else []), *gates)


def dead_letters_in_estate(queue_manager: str) -> tuple[str, ...]:
    """The dead-letter queues that the estate names for a queue manager, besides its DEADQ. Raises `SettingsError`."""
    file = estate_here()
    found = file.queue_manager(queue_manager) if file else None
    section = found.dlq_rules if found else None
    return (*([section.queue] if section.queue else []), *section.also) if section else ()


def _by_definition(session: Session) -> frozenset[str]:
    """DEADQ and all backout queues, as far as they may be inquired."""
    found: set[str] = set()
    try:
        rows = inquire_queues(session, "*", (c.MQCA_BACKOUT_REQ_Q_NAME,))
        found |= {str(row.get(c.MQCA_BACKOUT_REQ_Q_NAME, "")) for row in rows}
    except MQError as error:
        error.raise_if_lost()
    try:
        found.add(dead_letter_queue(session))
    except SettingsError:
        pass  # it has none
    except MQError as error:
        error.raise_if_lost()
    return frozenset(found - {""})
