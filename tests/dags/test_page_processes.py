"""The processes behind the pages, where two requests meet: one that ends, and one that takes what another one needs."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from mqops_airflow.pages import relay, searches

IS_THERE = """
import socket, sys, time
connection = socket.socket(fileno=int(sys.argv[1])).accept()[0]
connection.sendall(bytes(4))
time.sleep(1000)
"""
"""Takes a connection, and says that it is there."""


class Pages(relay.PageProcess):
    """The first process takes no connection, as one that has grown and still answers others."""

    def __init__(self) -> None:
        super().__init__()
        self.started: list[subprocess.Popen[bytes]] = []

    def _start(self) -> subprocess.Popen[bytes]:
        number = self._listener.fileno()
        program = IS_THERE if self.started else "import time; time.sleep(1000)"
        command = [sys.executable, "-S", "-c", program, str(number)]
        self.started.append(subprocess.Popen(command, pass_fds=[number]))
        return self.started[-1]

    async def connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Behind it the first process ends, and another reader has the next one started."""
        found = await super().connected()
        self.started[0].kill()
        self.started[0].wait()
        self.running()
        return found


def test_a_reader_waits_for_the_process_that_has_taken_his_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a page that takes longer than LOOK would be given up, because the process before has ended."""
    monkeypatch.setattr(relay, "LOOK", 60.0)
    pages, made = Pages(), relay.Relay()
    made._pages = pages

    async def asked() -> Any:
        process, _reader, writer = await made._begun(60.0)
        writer.close()
        return process

    try:
        assert asyncio.run(asked()) is pages.started[1]
        assert not pages.starts
    finally:
        for process in pages.started:
            process.kill()
            process.wait()


class Taken(list[Any]):
    """The processes that wait for a search: another search takes the last one behind each look whether there is one."""

    def __bool__(self) -> bool:
        found = len(self) > 0
        self.clear()
        return found


def test_a_search_whose_process_another_one_has_just_taken_gets_a_new_one(monkeypatch: pytest.MonkeyPatch) -> None:
    waits, new = (SimpleNamespace(poll=lambda: None) for _ in range(2))
    monkeypatch.setattr(searches, "_started", lambda: new)
    made = searches.Searches()
    made._idle = Taken([waits])
    assert made._ready() in (waits, new)
    assert made._ready() is new
