"""The trigger of the trigger monitor, as Airflow's triggerer runs it: it tells of messages, and survives errors."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowOptionalProviderFeatureException
from airflow.sdk.module_loading import import_string
from airflow.triggers.base import TriggerEvent
from mq_support import Manager, create, until

from mqops_airflow.connections import trigger_monitor
from mqops_airflow.connections.trigger_monitor import CONNECTION, TriggerMessages


@pytest.fixture
def manager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Manager:
    monkeypatch.setattr(trigger_monitor, "FIRST_DELAY", 0.05)
    home = tmp_path / "queue_managers"
    connection = {"conn_type": "mq", "extra": {"queue_manager": "QM1", "home": str(home)}}
    monkeypatch.setenv("AIRFLOW_CONN_MQ_STREAM", json.dumps(connection))
    return create(home, "QM1", "DEFINE QLOCAL(IQ) DEFPSIST(YES)")


@asynccontextmanager
async def events(trigger: TriggerMessages | None = None) -> AsyncIterator[AsyncIterator[TriggerEvent]]:
    """The events of a trigger that a triggerer runs, and then cancels."""
    trigger = trigger or TriggerMessages(queue_manager="QM1", mq_conn_id="mq_stream", queues=["IQ"])
    fired: asyncio.Queue[TriggerEvent] = asyncio.Queue()

    async def run() -> None:
        try:
            async for event in trigger.run():
                await fired.put(event)
        finally:
            await trigger.cleanup()

    async def each() -> AsyncIterator[TriggerEvent]:
        while True:
            yield await fired.get()

    task = asyncio.create_task(run())
    try:
        yield each()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def run(test: Callable[[], Any]) -> None:
    asyncio.run(asyncio.wait_for(test(), 120))


def served(manager: Manager) -> bool:
    return any(
        "IPPROCS(1)" in line for line in manager.mqlite("mqsc", "QM1", text="DISPLAY QLOCAL(IQ) IPPROCS\n").split()
    )


def test_it_tells_of_messages_and_leaves_them(manager: Manager) -> None:
    async def test() -> None:
        async with events() as fired:
            manager.put("IQ", [({}, b"one")])
            first = await anext(fired)
            assert first.payload["queues"] == ["IQ"]
            manager.put("IQ", [({}, b"two")])
            second = await anext(fired)
            assert second.payload[CONNECTION] == first.payload[CONNECTION]
            assert manager.bodies("IQ") == [b"one", b"two"]
            assert served(manager)
        assert not served(manager), "it lets go when it is cancelled"

    run(test)


def test_airflows_message_queue_trigger_knows_it_by_its_scheme(manager: Manager) -> None:
    """What is stored is our trigger: the triggerer needs nothing of the package of `MessageQueueTrigger`."""
    from airflow.providers.common.messaging.triggers.msg_queue import MessageQueueTrigger  # noqa: PLC0415 - is slow

    asked = MessageQueueTrigger(scheme="mqops", queue_manager="QM1", mq_conn_id="mq_stream", queues=["IQ"])
    stored, kwargs = asked.serialize()
    assert (stored, kwargs) == TriggerMessages(queue_manager="QM1", mq_conn_id="mq_stream", queues=["IQ"]).serialize()

    async def test() -> None:
        async with events(import_string(stored)(**kwargs)) as fired:
            manager.put("IQ", [({}, b"one")])
            assert (await anext(fired)).payload["queues"] == ["IQ"]
            assert manager.bodies("IQ") == [b"one"]

    run(test)


def test_without_the_package_airflow_passes_it_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "airflow.providers.common.messaging.providers.base_provider", None)
    monkeypatch.delitem(sys.modules, "mqops_airflow.connections.message_queue", raising=False)
    with pytest.raises(AirflowOptionalProviderFeatureException, match=r"airflow\.providers\.common\.messaging"):
        import_string("mqops_airflow.connections.message_queue.MqopsMessageQueueProvider")


def test_it_waits_for_a_queue_manager_that_is_not_there(manager: Manager, caplog: Any) -> None:
    away = manager.home.with_name("away")
    shutil.move(manager.home, away)

    async def test() -> None:
        async with events() as fired:
            await asyncio.to_thread(until, lambda: caplog.text.count("Next try in") >= 3)
            shutil.move(away, manager.home)
            manager.put("IQ", [({}, b"one")])
            assert (await anext(fired)).payload["queues"] == ["IQ"]

    run(test)


def test_a_changed_estate_gets_a_trigger_of_its_own() -> None:
    kwargs: dict[str, Any] = {"queue_manager": "QM1", "mq_conn_id": "mq_stream", "queues": ["IQ"]}
    assert TriggerMessages(**kwargs).serialize()[1] == kwargs


def test_a_trigger_that_a_released_version_put_into_airflows_database_is_found() -> None:
    """By the name of its class and its arguments, while the new version is installed."""
    kept: dict[str, dict[str, Any]] = {
        "mqops_airflow.connections.trigger_monitor.TriggerMessages": {
            "queue_manager": "QM1", "mq_conn_id": "mq_stream", "queues": ["IQ"]
        },
        "mqops_airflow.approval.recorded_answer.RecordedAnswer": {"asked": "u", "at": "2026-01-01T00:00:00+00:00"},
    }  # fmt: skip
    for name, kwargs in kept.items():
        assert import_string(name)(**kwargs).serialize() == (name, kwargs)


def test_it_connects_again_after_its_connection_was_broken(manager: Manager) -> None:
    async def test() -> None:
        async with events() as fired:
            manager.put("IQ", [({}, b"one")])
            first = await anext(fired)
            shown = manager.mqlite("mqsc", "QM1", text="DISPLAY CONN(*) TYPE(CONN)\n")
            for number in re.findall(r" CONN\((\w+)\)", shown):
                await asyncio.to_thread(manager.mqsc, f"STOP CONN({number})")
            await asyncio.to_thread(manager.put, "IQ", [({}, b"two")])
            assert (await anext(fired)).payload[CONNECTION] != first.payload[CONNECTION]

    run(test)
