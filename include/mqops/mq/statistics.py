"""The counts of puts and gets that the queue manager keeps for each local queue, by PCF MQCMD_RESET_Q_STATS.

The command gives the counts since the last reset and sets them to 0, for everybody: other monitors, and the statistics
in performance events, begin anew (IBM MQ, "Reset Queue Statistics"; "Performance event statistics").
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from mqops.errors import MQError, MqopsError, mq_error
from mqops.model import Count
from mqops.mq.inquire import command_server
from mqops.mq.library import library
from mqops.mq.session import Session
from mqwire import constants as c

COMMAND = "MQCMD_RESET_Q_STATS"
OF_ONE_QUEUE = frozenset({c.MQRC_NOT_AUTHORIZED, c.MQRC_UNKNOWN_OBJECT_NAME, c.MQRCCF_Q_WRONG_TYPE})
"""Reason codes that say nothing of other queues."""
COUNTS = frozenset({c.MQIA_MSG_ENQ_COUNT, c.MQIA_MSG_DEQ_COUNT, c.MQIA_HIGH_Q_DEPTH, c.MQIA_TIME_SINCE_RESET})
"""What the answer for a queue has."""
_ADVICE = {
    c.MQRC_NOT_AUTHORIZED: "The connection's user needs +dsp and +chg on the queue: `mqops init` has the records",
    c.MQRCCF_Q_WRONG_TYPE: "Name a local queue",
    c.MQRCCF_EVENTS_DISABLED: "z/OS counts with ALTER QMGR PERFMEV(ENABLED) only",
}


@dataclass(slots=True, kw_only=True)
class Counts:
    """What the queue manager answered. Parameters: `of` queue → its count; `refused` queue → why it was not counted;
    `failed` why the rest was not asked for, None where all were."""

    of: dict[str, Count] = field(default_factory=dict)
    refused: dict[str, MqopsError] = field(default_factory=dict)
    failed: MQError | None = None


def reset_statistics(session: Session, queues: Iterable[str]) -> Counts:
    """Reset the statistics of local queues, one by one: of a generic name an error would take the counts of all.

    Raises nothing, as what was counted by then is counted nowhere else.
    """
    found = Counts()
    try:
        with command_server(session, COMMAND) as server:
            for queue in queues:
                try:
                    rows = server.MQCMD_RESET_Q_STATS({c.MQCA_Q_NAME: queue.encode()})
                except library().MQMIError as error:
                    advice = _ADVICE.get(error.reason, "")
                    refused = mq_error(error.comp, error.reason, verb=COMMAND, object_name=queue, advice=advice)
                    if error.reason not in OF_ONE_QUEUE:
                        raise refused from None
                    found.refused[queue] = refused
                    continue
                for row in rows:
                    if row.keys() >= COUNTS:  # not the summary that z/OS answers with besides
                        found.of[queue] = _count(row)
                    elif c.MQIA_MSG_ENQ_COUNT in row:
                        found.refused[queue] = MqopsError(f"{COMMAND} on {queue} was answered without all its counts")
    except MQError as error:
        found.failed = error
    return found


def _count(row: Mapping[int, int]) -> Count:
    return Count(
        puts=row[c.MQIA_MSG_ENQ_COUNT],
        gets=row[c.MQIA_MSG_DEQ_COUNT],
        high=row[c.MQIA_HIGH_Q_DEPTH],
        seconds=row[c.MQIA_TIME_SINCE_RESET],
    )
