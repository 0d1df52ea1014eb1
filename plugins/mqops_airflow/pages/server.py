"""The process of the pages: it makes what Airflow's API server hands on to the reader (`mqops_airflow.pages.relay`).

1. Whatever a page costs, Airflow's API server goes on: the pages share neither its threads nor its interpreter, and
   where processors are few this process comes after it (`NICE`).
2. The socket is the API server's, which listens on it before this process is there and after it has ended.
3. A reader who has gone is waited for no longer: the work of his page that is not a thread's ends at once.
4. It ends when the API server does, and between two requests when it has grown beyond MEMORY; the API server then
   starts the next one. Beyond MOST_MEMORY it gets no more: the page that asks for it is refused.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import logging
import os
import resource
import shutil
import socket
import sys
import threading
from functools import partial

import anyio.to_thread
from fastapi import FastAPI
from starlette.types import ASGIApp, Message, Send

from mqops_airflow.airflow_private.server import init_auth_manager
from mqops_airflow.pages.frames import latin, read_frame, scope_of, write_frame

NICE = 5
THREADS = 16
"""Pages that are made at once."""
SWITCH = 0.001
"""Seconds for which a thread has the interpreter while others wait for it (Python: 0.005). A page asks databases many
small questions, and waits for the interpreter behind each of them: as long as all pages that are being drawn."""
MEMORY, MOST_MEMORY = 2 * 2**30, 4 * 2**30
"""Bytes: beyond which a process is replaced, and beyond which it gets no more."""
log = logging.getLogger(__name__)


def made() -> FastAPI:
    """The application. What Airflow and the pages have loaded stays as long as the process does. Python's full garbage
    collection would look through all of it each time: 0.2 s in which no reader gets an answer."""
    from mqops_airflow.pages.routes import application  # noqa: PLC0415

    found = application()
    gc.collect()
    gc.freeze()
    return found


class Server:
    """Answers the requests of a listener."""

    def __init__(self, app: ASGIApp, listener: socket.socket) -> None:
        self._app = app
        self._listener = listener
        self._open: set[asyncio.Task[None]] = set()
        self._grown = asyncio.Event()

    async def serve(self) -> None:
        """Answer until the process has grown too large, and all open requests then."""
        anyio.to_thread.current_default_thread_limiter().total_tokens = THREADS
        start = asyncio.start_unix_server
        if sys.version_info >= (3, 13):  # the socket is not ours
            start = partial(start, cleanup_socket=False)
        serving = await start(self._connected, sock=self._listener)
        await self._grown.wait()
        log.warning("The process of the pages has used %d MiB and is replaced", _used() >> 20)
        asyncio.get_running_loop().remove_reader(self._listener.fileno())  # who connects now is the next one's
        while self._open:
            await asyncio.wait(self._open)
        serving.close()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._open.add(task)
        try:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                await self._answer(reader, writer)
        finally:
            writer.close()
            self._open.discard(task)
            if _used() > MEMORY:
                self._grown.set()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await write_frame(writer, b"")
        scope, body = scope_of(await read_frame(reader)), await read_frame(reader)
        gone = asyncio.Event()
        parts = iter([{"type": "http.request", "body": body, "more_body": False}])

        async def receive() -> Message:
            if part := next(parts, None):
                return part
            await gone.wait()
            return {"type": "http.disconnect"}

        answering = asyncio.ensure_future(self._app(scope, receive, _sender(writer)))
        leaving = asyncio.create_task(reader.read(1))
        try:
            await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not answering.done():
                gone.set()
                answering.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):  # the application has logged it, and answered
                await answering
        finally:
            leaving.cancel()


def _sender(writer: asyncio.StreamWriter) -> Send:
    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            await write_frame(writer, json.dumps([message["status"], latin(message["headers"])]).encode())
        elif message["type"] == "http.response.body":
            if message.get("body"):
                await write_frame(writer, message["body"])
            if not message.get("more_body"):
                await write_frame(writer, b"")

    return send


def _used() -> int:
    """The most memory that this process has had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _end_with_the_api_server(folder: str) -> None:
    """Standard input is a pipe that the API server holds as long as it lives. Killed, it leaves the folder behind."""
    os.read(0, 1)
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


def main() -> None:
    """Serve the pages. The arguments are the file descriptor of the listener and the folder of its socket."""
    sys.setswitchinterval(SWITCH)
    number, folder = sys.argv[1:]
    threading.Thread(target=_end_with_the_api_server, args=(folder,), name="mqops ends", daemon=True).start()
    with contextlib.suppress(ValueError, OSError):  # where the system has a lower bound already
        resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))
    listener = socket.socket(fileno=int(number))
    asyncio.run(_served(listener))


async def _served(listener: socket.socket) -> None:
    init_auth_manager(FastAPI())
    app = made()
    os.nice(NICE)  # not before: the first reader waits
    await Server(app, listener).serve()


if __name__ == "__main__":
    main()
