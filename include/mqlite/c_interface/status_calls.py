"""MQSTAT as C makes it: how the puts with MQPMO_ASYNC_RESPONSE of a connection went.

mqlite completes each of them before it returns, and its reason code says how it went. MQSTAT has the counts and the
first failure besides, else the first warning, and begins anew (IBM MQ, "MQSTAT", usage notes).
"""

from __future__ import annotations

from typing import Any

from mqlite.connections.asynchronous_puts import AsyncPuts
from mqlite.connections.connection import connection_of
from mqlite.failure import Failure
from mqwire import constants as c
from mqwire import mqi

Outcome = tuple[int, int] | None
TYPES_OF_CLIENTS = (c.MQSTAT_TYPE_RECONNECTION, c.MQSTAT_TYPE_RECONNECTION_ERROR)
sts_filled = mqi.MQSTS.writer(
    "CompCode", "Reason", "PutSuccessCount", "PutWarningCount", "PutFailureCount", "ObjectType", "ObjectName",
    "ObjectQMgrName", "ResolvedObjectName", "ResolvedQMgrName",
)  # fmt: skip
sts_newer = mqi.MQSTS.writer("ObjectStringVSLength", "SubNameVSLength", "OpenOptions", "SubOptions")


class StatusCalls:
    """The call on a connection's asynchronous puts; part of the interface, which has `structure`."""

    def structure(self, pointer: Any, layout: Any, reason: int) -> tuple[Any, int]:
        """As the interface has it."""
        raise NotImplementedError

    def mqstat(self, hconn: int, kind: int, status: Any) -> Outcome:
        connection = connection_of(hconn)
        raw, version = self.structure(status, mqi.MQSTS, c.MQRC_STS_ERROR)
        if kind in TYPES_OF_CLIENTS:
            raise Failure(c.MQRC_FUNCTION_NOT_SUPPORTED if connection.channel else c.MQRC_ENVIRONMENT_ERROR)
        if kind != c.MQSTAT_TYPE_ASYNC_ERROR:
            raise Failure(c.MQRC_STAT_TYPE_ERROR)
        found = connection.asynchronous
        failed_on = c.MQOT_Q if found.comp else c.MQOT_NONE
        sts_filled(raw, found.comp, found.reason, *found.counts, failed_on, *found.names)
        if version >= 2:
            sts_newer(raw, 0, 0, 0, 0)
        connection.asynchronous = AsyncPuts()
        return None
