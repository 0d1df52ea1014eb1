"""What Airflow's API server does for a page: it lets the person in, and relays what the process of the pages answers.

Through the API server tasks report and people approve, so no page costs it more than this:

1. Nobody comes further without a login, and no form of another site does.
2. A person has MOST_OF_PERSON requests open at most, all together MOST; another one is refused. AT_ONCE of a person's
   are made at once, the others wait: he delays nobody but himself. A page is given up after SECONDS.
3. When the reader goes away, the connection to the process of the pages is closed: it works for him no longer.
4. The socket lies in a private folder, is listened on from the first request on, and is let go when the API server
   ends. A process of the pages that has ended is replaced. A browser is told that one starts, and asks again by itself;
   where the last one has ended before it was there, or one does not come, it waits as long as others for the error.
5. What is looked for in messages stands in no log: an address that has it has *** in its place before it is logged.
"""

from __future__ import annotations

import asyncio
import atexit
import json
import logging
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from urllib.parse import parse_qsl, urlencode

from fastapi import HTTPException, Request, Response
from starlette.types import Message, Receive, Scope, Send

from mqops.counted import counted
from mqops_airflow.airflow_private.server import BaseUser, bearer_scheme, get_auth_manager, get_user
from mqops_airflow.pages.asked import PAYLOAD
from mqops_airflow.pages.frames import encoded, head_of, read_frame, write_frame
from mqops_airflow.pages.starting import starting, waits
from mqops_airflow.pages.turns import Turns

MOST_OF_PERSON, MOST = 40, 200
AT_ONCE = 8
SECONDS = 60.0
START = 180.0
"""Seconds in which the process of the pages has to begin: it loads Airflow, which takes some seconds at least."""
STARTING = 0.5
"""Seconds that a browser waits for that, until it is told (`mqops_airflow.pages.starting`)."""
LOOK = 1.0
"""Seconds until it is looked whether the process of the pages is there still."""
BODY = 64 * 1024
"""Bytes of a form."""
BODY_SECONDS = 10.0
"""Seconds in which a form has to arrive."""
BACKLOG = 1024
SHORT = 60
"""Characters of a folder: the path of a socket has 100 at most."""
log = logging.getLogger(__name__)


class NotThereYet(Exception):
    """The process of the pages starts still. Ask again in a second."""


class PageProcess:
    """The process of the pages, and the socket that it answers on."""

    def __init__(self) -> None:
        short = None if len(tempfile.gettempdir()) < SHORT else "/tmp"  # noqa: S108 - the folder in it is private
        self._folder = Path(tempfile.mkdtemp(prefix="mqops-pages-", dir=short))
        self._path = str(self._folder / "pages")
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(self._path)
        self._listener.listen(BACKLOG)
        self._process: subprocess.Popen[bytes] | None = None
        self._began = 0.0
        self._there = 0  # the process that has said that it is there
        self._failed = False  # whether the last one that has ended never said so
        self._lock = threading.Lock()
        atexit.register(shutil.rmtree, self._folder, ignore_errors=True)

    @property
    def pid(self) -> int:
        """The id of the process, 0 where none was started yet."""
        return self._process.pid if self._process else 0

    def running(self) -> subprocess.Popen[bytes]:
        """The process; one that has ended is replaced."""
        with self._lock:
            if self._process is None or self._process.poll() is not None:
                self._failed = self.pid != self._there
                self._process, self._began = self._start(), time.monotonic()
            return self._process

    def that_is_there(self, asked: subprocess.Popen[bytes]) -> subprocess.Popen[bytes]:
        """The process that has just said that it is there: the one that was asked or, where that has ended before it
        took the connection, the next one."""
        with self._lock:
            there = asked if asked.poll() is None or self._process is None else self._process
            self._there = there.pid
            return there

    @property
    def starts(self) -> bool:
        """Whether the process is on its way, and nothing says that it will not come."""
        return not (self._failed or self.pid == self._there or time.monotonic() - self._began > START)

    async def connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection to the socket. It is accepted as soon as a process is there."""
        return await asyncio.open_unix_connection(self._path)

    def _start(self) -> subprocess.Popen[bytes]:
        number = self._listener.fileno()
        command = [sys.executable, "-P", "-m", "mqops_airflow.pages.server", str(number), str(self._folder)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        return subprocess.Popen(command, stdin=subprocess.PIPE, env=environment, pass_fds=[number])


class Relay:
    """The ASGI application that Airflow's API server mounts."""

    def __init__(self) -> None:
        self._pages = PageProcess()
        self._turns = Turns(at_once=AT_ONCE, most_of_person=MOST_OF_PERSON, most=MOST)

    @property
    def pid(self) -> int:
        """The id of the process of the pages."""
        return self._pages.pid

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope)
        mask(scope)
        begun = False

        async def told(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._let_in(request, receive, told)
        except NotThereYet:
            await starting()(scope, receive, send)
        except HTTPException as error:
            await refused(request, error)(scope, receive, send)
        except (TimeoutError, OSError, asyncio.IncompleteReadError, ValueError) as error:
            log.warning("A page was not made: %s", type(error).__name__)
            if begun:  # the reader's connection ends before its content does, so that he sees that it is not whole
                raise
            what = "It took too long" if isinstance(error, TimeoutError) else "Its process has ended"
            text = f"{what}, so it was given up. Try again; the log of Airflow's API server has more."
            await refused(request, HTTPException(503, text))(scope, receive, send)

    async def _let_in(self, request: Request, receive: Receive, send: Send) -> None:
        user = await get_user(request, None, await bearer_scheme(request))
        refuse_other_sites(request)
        body = await _body(receive)
        patience = STARTING if waits(request) else START
        answering = asyncio.create_task(self._in_turn(user, request.scope, body, send, patience))
        leaving = asyncio.create_task(_left(receive))
        try:
            await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if answering.done():
                answering.result()
        finally:
            for task in (answering, leaving):
                task.cancel()
            await asyncio.wait({answering, leaving})

    async def _in_turn(self, user: BaseUser, scope: Scope, body: bytes, send: Send, patience: float) -> None:
        async with self._turns.turn(str(user.get_id())):
            head = head_of(scope, get_auth_manager().serialize_user(user))
            await self._answered(head, body, send, patience)

    async def _answered(self, head: bytes, body: bytes, send: Send, patience: float) -> None:
        process, reader, writer = await self._begun(patience)
        try:
            async with asyncio.timeout(SECONDS):
                await write_frame(writer, head)
                await write_frame(writer, body)
                status, headers = json.loads(await _frame(reader, process))
                await send({"type": "http.response.start", "status": status, "headers": encoded(headers)})
                while part := await read_frame(reader):
                    await send({"type": "http.response.body", "body": part, "more_body": True})
                await send({"type": "http.response.body", "body": b""})
        finally:
            writer.close()

    async def _begun(
        self, patience: float
    ) -> tuple[subprocess.Popen[bytes], asyncio.StreamReader, asyncio.StreamWriter]:
        """A process of the pages that has said that it is there, and the connection to it. Nothing was asked yet: where
        the process ends before, as one that has grown, the next one is asked.

        Parameters: `patience` seconds for a process that starts. Raises `NotThereYet`: it takes longer.
        """
        for last in (False, True):
            process = self._pages.running()
            reader, writer = await self._pages.connected()
            wait = patience if self._pages.starts else START
            try:
                async with asyncio.timeout(wait):
                    await _frame(reader, process)
                return self._pages.that_is_there(process), reader, writer
            except BaseException as error:
                writer.close()
                if isinstance(error, TimeoutError) and wait < START:
                    raise NotThereYet from error
                if last or not isinstance(error, OSError | asyncio.IncompleteReadError):
                    raise
        raise AssertionError


async def _frame(reader: asyncio.StreamReader, process: subprocess.Popen[bytes]) -> bytes:
    """The next frame. Raises `OSError` where the process ends before it sends one, as one that cannot start."""
    reading: asyncio.Task[bytes] = asyncio.create_task(read_frame(reader))
    try:
        while not (await asyncio.wait({reading}, timeout=LOOK))[0]:
            if process.poll() is not None:
                raise ConnectionResetError
        return reading.result()
    finally:
        reading.cancel()


async def _body(receive: Receive) -> bytes:
    """The body of a request. Raises `HTTPException` 408 where it has not come in time, and 413."""
    try:
        async with asyncio.timeout(BODY_SECONDS):
            return await _parts(receive)
    except TimeoutError:
        raise HTTPException(408, f"The form did not arrive within {BODY_SECONDS:.0f} s. Send it again.") from None


async def _parts(receive: Receive) -> bytes:
    found: bytes = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ConnectionResetError
        found += message.get("body", b"")
        if len(found) > BODY:
            raise HTTPException(413, f"The form has more than {counted(BODY, 'byte')}.")
        if not message.get("more_body"):
            return found


async def _left(receive: Receive) -> None:
    """Wait until the reader has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass


def refuse_other_sites(request: Request) -> None:
    """Raises `HTTPException` 403 for a form that a page of another site has sent: the browser adds Airflow's cookie to
    it. A browser says where a form comes from; what is no browser has no such cookie."""
    if request.method in {"GET", "HEAD"}:
        return
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    own = f"://{request.headers.get('host', '')}"
    if site not in {None, "same-origin"} or (site is None and origin is not None and not origin.endswith(own)):
        raise HTTPException(403, "This form was sent by a page of another site.")


def mask(scope: Scope) -> None:
    """Put *** into the address of a request in place of what it looks for: Airflow writes addresses to its log."""
    with suppress(ValueError):
        pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        if any(name in PAYLOAD for name, _value in pairs):
            masked = [(name, "***" if name in PAYLOAD and value else value) for name, value in pairs]
            scope["query_string"] = urlencode(masked).encode()


def refused(request: Request, error: HTTPException) -> Response:
    """The page that says why there is no other."""
    from mqops_airflow.pages.refusal import refusal  # noqa: PLC0415 - loads the templates

    return refusal(request, error)
