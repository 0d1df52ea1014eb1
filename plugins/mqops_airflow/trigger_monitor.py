"""The trigger monitor in Airflow's triggerer: trigger messages become events of an asset (docs/triggering.md).

1. One event holds all trigger messages of one unit of work. Airflow says when it has stored the event in its database
   (the shared stream's ack mode, `airflow.triggers.shared_stream`). Only then is the unit of work committed.
2. If Airflow does not store it, or the triggerer dies, the unit of work is backed out and the messages come again.
3. The queue manager's calls run in one thread of their own, because a connection belongs to the thread that made it.
4. An error of the queue manager ends the connection, never the trigger: it connects again, later each time.
"""

from __future__ import annotations

import asyncio
import base64
import logging
from collections.abc import AsyncIterator, Callable, Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

from airflow.sdk import BaseHook
from airflow.sdk.exceptions import AirflowException, AirflowRuntimeError
from airflow.triggers.base import BaseEventTrigger, TriggerEvent
from airflow.triggers.shared_stream import AdvanceItem, SharedStreamProducer

from mqops.errors import MqopsError, SettingsError
from mqops.mq.connection import MqConnection
from mqops.mq.session import RawMessage
from mqops.printable import printable
from mqops.trigger.core.trigger_message import Start, Unusable
from mqops.trigger.monitor import Triggered, TriggerMonitor
from mqops_airflow.hook import connection_settings

FIRST_DELAY, LONGEST_DELAY = 1.0, 60.0
"""Seconds until it connects again; each failure doubles them."""

_log = logging.getLogger(__name__)
_Result = TypeVar("_Result")


class TriggerMessages(BaseEventTrigger):
    """Fires an event for each unit of work of trigger messages.

    :param queue_manager: its name.
    :param mq_conn_id: Airflow connection of type `mq`.
    :param queues: the initiation queues.
    :param dags: the ids of the DAGs that trigger messages may start.
    """

    def __init__(self, *, queue_manager: str, mq_conn_id: str, queues: Sequence[str], dags: Sequence[str]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.queue_manager = queue_manager
        self.mq_conn_id = mq_conn_id
        self.queues = list(queues)
        self.dags = list(dags)

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """How Airflow stores the trigger."""
        return f"{type(self).__module__}.{type(self).__qualname__}", {
            "queue_manager": self.queue_manager,
            "mq_conn_id": self.mq_conn_id,
            "queues": self.queues,
            "dags": self.dags,
        }

    def shared_stream_key(self) -> Hashable:
        """All that the stream depends on, so that a changed estate gets a stream of its own."""
        return ("mqops", self.queue_manager, self.mq_conn_id, tuple(self.queues), tuple(self.dags))

    @classmethod
    def create_shared_stream_producer(cls, kwargs: dict[str, Any]) -> SharedStreamProducer:
        """Airflow calls this once for each stream."""
        return MonitorStream(**kwargs)

    async def filter_shared_stream(self, shared_stream: AsyncIterator[Any]) -> AsyncIterator[TriggerEvent]:
        """Each unit of work is an event."""
        async for payload in shared_stream:
            yield TriggerEvent(payload)  # type: ignore[no-untyped-call]

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Not called: the events come from the shared stream."""
        raise NotImplementedError
        yield  # an asynchronous generator


class MonitorStream(SharedStreamProducer):
    """One trigger monitor in its thread. Parameters as for `TriggerMessages`."""

    def __init__(self, *, queue_manager: str, mq_conn_id: str, queues: Sequence[str], dags: Sequence[str]) -> None:
        self._queue_manager = queue_manager
        self._mq_conn_id = mq_conn_id
        self._queues = tuple(queues)
        self._dags = tuple(dags)
        self._monitor: TriggerMonitor | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"trigger monitor {queue_manager}")
        self._ended = asyncio.Event()

    async def open_stream(self) -> AsyncIterator[tuple[dict[str, Any], None]]:
        """The units of work, one after the other; the next begins when the last one has ended."""
        delay = FIRST_DELAY
        while True:
            try:
                found, ccsid = await self._next_batch()
                delay = FIRST_DELAY
            except MqopsError as error:
                text = f"trigger monitor of {self._queue_manager}: {error}. Next try in {delay:.0f} s"
                _log.warning("%s", printable(text))
                await self._close()
                await asyncio.sleep(delay)
                delay = min(2 * delay, LONGEST_DELAY)
                continue
            if found:
                self._ended.clear()
                yield payload_of(self._queue_manager, found, ccsid), None
                await self._ended.wait()

    async def advance(self, batch: Sequence[AdvanceItem]) -> None:
        """Airflow has stored the event, or it has not: commit or back out."""
        stored = all(item.outcome.is_clean for item in batch)
        monitor = self._monitor
        try:
            if monitor is not None:
                await self._in_thread(monitor.commit if stored else monitor.back_out)
        except MqopsError as error:
            _log.warning("trigger monitor of %s: %s", printable(self._queue_manager), printable(error))
            await self._close()  # what was not committed comes again, with the same run ids
        if not stored:
            _log.warning("trigger monitor of %s: Airflow has not stored the event", printable(self._queue_manager))
            await asyncio.sleep(FIRST_DELAY)
        self._ended.set()

    async def aclose(self) -> None:
        """Back out and disconnect, behind the call that runs now."""
        await self._close()
        self._thread.shutdown(wait=False)

    async def _next_batch(self) -> tuple[tuple[Triggered, ...], int]:
        if self._monitor is None:
            self._monitor = TriggerMonitor(await _settings(self._mq_conn_id), self._queues, self._dags)
        found = await self._in_thread(self._monitor.next_batch)
        return found, self._monitor.ccsid

    async def _close(self) -> None:
        monitor, self._monitor = self._monitor, None
        if monitor is not None:
            with suppress(MqopsError):
                await self._in_thread(monitor.close)

    async def _in_thread(self, call: Callable[[], _Result]) -> _Result:
        return await asyncio.get_running_loop().run_in_executor(self._thread, call)


async def _settings(conn_id: str) -> MqConnection:
    """As `MqHook.get_conn`, for the triggerer, which must not be blocked."""
    try:
        connection = await BaseHook.aget_connection(conn_id)
    except (AirflowException, AirflowRuntimeError) as error:
        raise SettingsError(f"there is no Airflow connection {conn_id!r}: make one of type 'mq'") from error
    return connection_settings(conn_id, connection)


def payload_of(queue_manager: str, found: Sequence[Triggered], ccsid: int) -> dict[str, Any]:
    """A unit of work as an event's payload: the messages that start runs, and why the others do not."""
    return {
        "queue_manager": queue_manager,
        "ccsid": ccsid,
        "messages": [
            {"queue": one.queue, "md": _text(one.message.md), "body": _text(one.message.body)}
            for one in found
            if isinstance(one.verdict, Start)
        ],
        "refused": [
            {"queue": one.queue, "reason": one.verdict.reason, "why": printable(one.verdict.why)}
            for one in found
            if isinstance(one.verdict, Unusable)
        ],
    }


def message_in(entry: Mapping[str, str]) -> RawMessage:
    """A message of `payload_of`."""
    return RawMessage(base64.b64decode(entry["md"]), base64.b64decode(entry["body"]))


def _text(raw: bytes) -> str:
    return base64.b64encode(raw).decode("ascii")
