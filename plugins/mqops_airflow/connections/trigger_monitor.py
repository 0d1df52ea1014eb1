"""The trigger monitor in Airflow's triggerer: trigger messages become events of an asset (docs/triggering.md).

1. An event says only that trigger messages are there. They stay on their initiation queues until the task `start_runs`
   has started their runs. So it does no harm that Airflow may lose an event: it drops one, and says that it has stored
   it, if the DAG is paused at that moment (`Trigger.submit_event` of a trigger that has no asset any more).
2. The queue manager's calls run in one thread of their own, because a connection belongs to the thread that made it.
3. An error of the queue manager ends the connection, never the trigger: it connects again, later each time.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from airflow.sdk import BaseHook
from airflow.sdk.exceptions import AirflowException, AirflowRuntimeError
from airflow.triggers.base import BaseEventTrigger, TriggerEvent

from mqops.errors import MqopsError, SettingsError
from mqops.mq.connection import MqConnection
from mqops.printable import printable
from mqops.trigger.monitor import TriggerMonitor
from mqops_airflow.connections.hook import connection_settings

FIRST_DELAY, LONGEST_DELAY = 1.0, 60.0
"""Seconds until it connects again; each failure doubles them."""
BETWEEN_EVENTS = 1.0
"""Seconds between two events at least: an event is a row in Airflow's database."""
CONNECTION = "connection"
"""Key of the event: another value for each connection that the monitor makes."""

_log = logging.getLogger(__name__)
_Result = TypeVar("_Result")


class TriggerMessages(BaseEventTrigger):
    """Fires an event when trigger messages are there.

    :param queue_manager: its name.
    :param mq_conn_id: Airflow connection of type `mq`.
    :param queues: the initiation queues.
    """

    def __init__(self, *, queue_manager: str, mq_conn_id: str, queues: Sequence[str]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.queue_manager = queue_manager
        self.mq_conn_id = mq_conn_id
        self.queues = list(queues)
        self._monitor: TriggerMonitor | None = None
        self._thread: ThreadPoolExecutor | None = None

    def serialize(self) -> tuple[str, dict[str, object]]:
        """How Airflow stores the trigger."""
        return f"{type(self).__module__}.{type(self).__qualname__}", {
            "queue_manager": self.queue_manager,
            "mq_conn_id": self.mq_conn_id,
            "queues": self.queues,
        }

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """An event whenever trigger messages have come; never ends."""
        delay = FIRST_DELAY
        while True:
            try:
                found = await self._look()
                delay = FIRST_DELAY
            except MqopsError as error:
                text = f"trigger monitor of {self.queue_manager}: {error}. Next try in {delay:.0f} s"
                _log.warning("%s", printable(text))
                await self._close()
                await asyncio.sleep(delay)
                delay = min(2 * delay, LONGEST_DELAY)
                continue
            if found and self._monitor:
                said = {"queues": list(found), CONNECTION: self._monitor.connection_id}
                yield TriggerEvent(said)  # type: ignore[no-untyped-call]
                await asyncio.sleep(BETWEEN_EVENTS)

    async def cleanup(self) -> None:
        """Disconnect, behind the call that runs now."""
        await self._close()
        if self._thread is not None:
            self._thread.shutdown(wait=False)

    async def _look(self) -> tuple[str, ...]:
        if self._monitor is None:
            self._monitor = TriggerMonitor(await _settings(self.mq_conn_id), self.queues)
        return await self._in_thread(self._monitor.look)

    async def _close(self) -> None:
        monitor, self._monitor = self._monitor, None
        if monitor is not None:
            await self._in_thread(monitor.close)

    async def _in_thread(self, call: Callable[[], _Result]) -> _Result:
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"trigger monitor {self.queue_manager}")
        return await asyncio.get_running_loop().run_in_executor(self._thread, call)


async def _settings(conn_id: str) -> MqConnection:
    """As `MqHook.get_conn`, for the triggerer, which must not be blocked."""
    try:
        connection = await BaseHook.aget_connection(conn_id)
    except (AirflowException, AirflowRuntimeError) as error:
        raise SettingsError(f"there is no Airflow connection {conn_id!r}: make one of type 'mq'") from error
    return connection_settings(conn_id, connection)
