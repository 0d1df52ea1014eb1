"""How long Airflow's own API takes to answer, looked at from another process than the one that asks for pages."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import NamedTuple

import httpx

OWN = ("/api/v2/monitor/health", "/execution/health")
PAUSE = 0.05
"""Seconds between two looks."""


class Slowest(NamedTuple):
    """The answer that took longest, in seconds. Parameters: `waited` of them the API server was ready to run, and had
    no processor."""

    took: float = 0.0
    waited: float = 0.0

    def __str__(self) -> str:
        return f"{self.took:.2f} s ({self.waited:.2f} s without a processor)"


class Watch:
    """Looks, from `begin` to `end`."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe

    def begin(self) -> None:
        self._pipe.send("begin")

    def end(self) -> Slowest:
        self._pipe.send("end")
        return Slowest(*self._pipe.recv())


@contextmanager
def watching(port: int, server: int) -> Iterator[Watch]:
    """A process that looks. Parameters: `port` of the API server, `server` its process id."""
    spawn = multiprocessing.get_context("spawn")
    here, there = spawn.Pipe()
    process = spawn.Process(target=_watch, args=(port, server, there), daemon=True)
    process.start()
    try:
        yield Watch(here)
    finally:
        process.kill()
        process.join()


def _watch(port: int, server: int, pipe: Connection) -> None:
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=120) as client:
        for path in OWN:  # Airflow makes the one of its applications when it is first asked
            client.get(path)
        while True:
            pipe.recv()
            slowest = Slowest()
            while not pipe.poll():
                slowest = max(slowest, *(_asked(client, path, server) for path in OWN))
                time.sleep(PAUSE)
            pipe.recv()
            pipe.send(slowest)


def _asked(client: httpx.Client, path: str, server: int) -> Slowest:
    began, waited = time.perf_counter(), _waited(server)
    assert client.get(path).status_code == 200, path
    return Slowest(time.perf_counter() - began, _waited(server) - waited)


def _waited(server: int) -> float:
    """Seconds that the process's first thread, which has the event loop, was ready to run and had no processor (Linux,
    /proc/PID/schedstat)."""
    with open(f"/proc/{server}/schedstat") as stream:
        return int(stream.read().split()[1]) / 1e9
