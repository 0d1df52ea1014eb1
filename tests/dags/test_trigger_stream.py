"""The trigger monitor's stream under Airflow's own shared-stream manager: it commits what Airflow has stored."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from airflow.triggers.base import TriggerEvent
from airflow.triggers.shared_stream import SharedStreamManager
from mq_support import DLQ, Manager, create

from mqops.trigger.core.trigger_message import run_id
from mqops_airflow import trigger_monitor
from mqops_airflow.trigger_monitor import TriggerMessages, message_in
from mqwire.structures import MQTM

TRIGGER = TriggerMessages(queue_manager="QM1", mq_conn_id="mq_stream", queues=["IQ"], dags=["orders"])
GOOD = MQTM(q_name="APP", appl_type=6, appl_id="orders").pack()
ID = 1


@pytest.fixture
def manager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Manager:
    monkeypatch.setattr(trigger_monitor, "FIRST_DELAY", 0.05)
    home = tmp_path / "queue_managers"
    connection = {"conn_type": "mq", "extra": {"queue_manager": "QM1", "home": str(home)}}
    monkeypatch.setenv("AIRFLOW_CONN_MQ_STREAM", json.dumps(connection))
    return create(home, "QM1", "DEFINE QLOCAL(IQ) DEFPSIST(YES)")


class Stream:
    """A trigger in a triggerer: `event` is what it fires next, `stored` what the database says."""

    def __init__(self) -> None:
        self.manager = SharedStreamManager()
        self.key = TRIGGER.shared_stream_key()
        raw = self.manager.subscribe(trigger_id=ID, trigger=TRIGGER, key=self.key)
        self.events = TRIGGER.filter_shared_stream(raw)
        self.next: asyncio.Task[TriggerEvent] | None = None

    async def event(self) -> tuple[dict[str, Any], int | None]:
        """The payload of the next event, and the number by which Airflow confirms it."""
        task = self.next or asyncio.ensure_future(anext(self.events))
        event = await task
        seq = self.manager.bind_pending_event(trigger_id=ID, key=self.key)
        self.next = asyncio.ensure_future(anext(self.events))  # as the triggerer asks for the next one at once
        await asyncio.sleep(0)
        return event.payload, seq

    async def end(self) -> None:
        if self.next is not None:
            self.next.cancel()
            await asyncio.gather(self.next, return_exceptions=True)
        await self.manager.unsubscribe(ID, self.key)


@asynccontextmanager
async def stream() -> AsyncIterator[Stream]:
    made = Stream()
    try:
        yield made
    finally:
        await made.end()


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(60):
        while not await asyncio.to_thread(condition):
            await asyncio.sleep(0.02)


def put(manager: Manager, *bodies: bytes) -> None:
    manager.put("IQ", [({"Format": "MQTRIG", "CodedCharSetId": 819}, body) for body in bodies])


def identity(payload: dict[str, Any]) -> list[str]:
    """The run ids of an event's messages."""
    return [run_id(message.md, message.body) for message in map(message_in, payload["messages"])]


def run(test: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(test(), 120))


def test_law1_the_get_is_committed_when_airflow_has_stored_the_event(manager: Manager) -> None:
    async def test() -> None:
        put(manager, GOOD, b"unusable")
        async with stream() as airflow:
            payload, seq = await airflow.event()
            assert message_in(payload["messages"][0]).body == GOOD
            assert [one["reason"] for one in payload["refused"]] == [266]
            assert manager.bodies("IQ") == manager.bodies(DLQ) == [], "a unit of work is open"
            airflow.manager.confirm_persisted([seq])
            await until(lambda: manager.bodies(DLQ))
        assert manager.bodies("IQ") == []

    run(test)


def test_law1_what_airflow_does_not_store_comes_again(manager: Manager) -> None:
    async def test() -> None:
        put(manager, GOOD)
        async with stream() as airflow:
            first, _ = await airflow.event()
        assert manager.bodies("IQ") == [GOOD], "the triggerer has ended before it was stored"
        async with stream() as airflow:
            again, seq = await airflow.event()
            assert identity(again) == identity(first)
            airflow.manager.confirm_persisted([seq])
            put(manager, GOOD)
            other, _ = await airflow.event()
            assert identity(other) != identity(first)
        assert len(manager.bodies("IQ")) == 1, "the one that was not stored, and no other"

    run(test)


def test_it_waits_for_a_queue_manager_that_is_not_there(manager: Manager, caplog: Any) -> None:
    away = manager.home.with_name("away")
    shutil.move(manager.home, away)

    async def test() -> None:
        async with stream() as airflow:
            waiting = asyncio.ensure_future(airflow.event())
            await until(lambda: caplog.text.count("Next try in") >= 3)
            shutil.move(away, manager.home)
            put(manager, GOOD)
            payload, seq = await waiting
            assert len(payload["messages"]) == 1
            airflow.manager.confirm_persisted([seq])
        assert manager.bodies("IQ") == []

    run(test)


def test_a_changed_estate_gets_a_stream_of_its_own() -> None:
    _, kwargs = TRIGGER.serialize()
    assert TriggerMessages(**kwargs).shared_stream_key() == TRIGGER.shared_stream_key()
    for name, value in (("queues", ["IQ", "IQ2"]), ("dags", []), ("mq_conn_id", "x"), ("queue_manager", "QM2")):
        assert TriggerMessages(**kwargs | {name: value}).shared_stream_key() != TRIGGER.shared_stream_key()
