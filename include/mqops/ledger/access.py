"""Which users besides mqops can put on the ledger queue, and which messages there did not come from mqops."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from mqops.errors import MQError
from mqops.ledger.queue import NAME
from mqops.ledger.set_aside import remark
from mqops.mq.authority import who_may_put
from mqops.mq.inquire import queue_definitions
from mqops.mq.session import Session, is_gone

ADMINISTRATORS = "mqm"
"""The group whose members may do everything with a queue manager."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessWarning:
    """A sentence; and whether it tells what is so, or that the queue manager does not tell (`known`)."""

    text: str
    known: bool = True


def ledger_access(session: Session, lake_folder: Path, own: Collection[str]) -> Iterator[AccessWarning]:
    """Warnings about the ledger queue.

    Parameters: `lake_folder` LAKE/<queue manager>; `own` names of the users and groups that mqops works as.
    """
    try:
        aliases = [one.name for one in queue_definitions(session) if one.base == NAME]
    except MQError as error:
        aliases = []
        yield AccessWarning(text=f"whether alias queues lead to {NAME} is not known: {error}", known=False)
    for queue in (NAME, *aliases):
        yield from _others(session, queue, {*own, ADMINISTRATORS})
    if warning := remark(lake_folder):
        yield AccessWarning(text=warning)


def _others(session: Session, queue: str, own: Collection[str]) -> Iterator[AccessWarning]:
    which = queue if queue == NAME else f"{queue}, an alias of {NAME}"
    try:
        others = [grant for grant in who_may_put(session, queue) if grant.entity not in own]
    except MQError as error:
        if queue != NAME and is_gone(error):
            return  # the alias was deleted since the look
        yield AccessWarning(text=f"who may put on {which} is not known: {error}", known=False)
        return
    if others:
        yield AccessWarning(
            text=f"others may put on {which}: {', '.join(map(str, others))}. They can fill the queue, and mqops sets "
            "aside what they put. Only the user that mqops works as needs PUT there"
        )
