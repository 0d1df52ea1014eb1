"""Which queues of a queue manager are looked at: those that are named, or begin so, and have messages to look at."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mqops.errors import mq_error
from mqops.queue_names import selected
from mqwire import constants as c

if TYPE_CHECKING:
    from mqops.mq.session import Session
    from mqops.quality.suite import Suite


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueChoice:
    """The queues that patterns stand for. An alias stands for its base
    queue.

    Attributes: `depths` queue → messages, for those that have any; `inhibited` queues that cannot be read at the moment
    (GET(DISABLED)); `empty` those that have no message; `aliases` alias that was named → the queue; `unseen` those that
    the connection's user may not inquire.
    """

    depths: dict[str, int]
    inhibited: tuple[str, ...] = ()
    empty: tuple[str, ...] = ()
    aliases: dict[str, str] = field(default_factory=dict)
    unseen: tuple[str, ...] = ()


def aliases_in(session: Session, suites: Iterable[Suite]) -> dict[str, str]:
    """The aliases that suites name among their queues → the queue of each. A queue that may not be inquired is none.
    Raises `MQError`: the connection is lost."""
    from mqops.mq.inquire import base_queue_if_known  # noqa: PLC0415 - loads the MQ library

    names = {name for suite in suites for name in suite.queues if not set("*?") & set(name)}
    return {name: base for name in sorted(names) if (base := base_queue_if_known(session, name)) != name}


def choose_queues(session: Session, patterns: Iterable[str]) -> QueueChoice:
    """Inquire the local queues that patterns (names, or beginnings and `*`) stand for. An alias stands for its base
    queue.

    Raises:
        PermanentMQError: a queue that is named in full is not there, or is no local queue (MQRC_UNKNOWN_OBJECT_NAME).
        MQError: the queue manager cannot be inquired.
    """
    from mqops.mq.inquire import inquire_queues, unseen_queues  # noqa: PLC0415 - loads the MQ library
    from mqops.mq.named_queue import definition_of  # noqa: PLC0415

    found: dict[str, tuple[int, int]] = {}
    aliases: dict[str, str] = {}
    wanted = tuple(patterns)
    for pattern in wanted:
        rows = inquire_queues(session, pattern, (c.MQIA_CURRENT_Q_DEPTH, c.MQIA_INHIBIT_GET))
        if not rows and not pattern.endswith("*"):
            there = definition_of(session, pattern)
            if there and there.kind == "alias" and there.base:
                rows = inquire_queues(session, there.base, (c.MQIA_CURRENT_Q_DEPTH, c.MQIA_INHIBIT_GET))
                aliases |= {pattern: there.base} if rows else {}
        if not rows and not pattern.endswith("*"):
            unknown = c.MQRC_UNKNOWN_OBJECT_NAME
            raise mq_error(c.MQCC_FAILED, unknown, verb="MQCMD_INQUIRE_Q", object_name=pattern)
        for row in rows:
            name = str(row[c.MQCA_Q_NAME])
            if selected(name, (pattern,)) or not pattern.endswith("*"):
                found[name] = (int(row[c.MQIA_CURRENT_Q_DEPTH]), int(row[c.MQIA_INHIBIT_GET]))
    readable = {name: depth for name, (depth, get) in sorted(found.items()) if get == c.MQQA_GET_ALLOWED}
    return QueueChoice(
        depths={name: depth for name, depth in readable.items() if depth},
        inhibited=tuple(sorted(set(found) - set(readable))),
        empty=tuple(name for name, depth in readable.items() if not depth),
        aliases=aliases,
        unseen=unseen_queues(session, wanted),
    )
