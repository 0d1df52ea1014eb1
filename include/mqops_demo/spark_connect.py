"""`python -m mqops_demo.spark_connect FOLDER PORT [IDLE]`: a Spark Connect server that stays up, for Airflow's tasks.

`make up` and `make run` start it beside Airflow's processes, and `make down` ends it.

1. This process listens on 127.0.0.1:PORT for as long as it lives, and nobody else can. Spark's JVM comes and goes
   behind it: it listens on a port that the system chooses, and each connection of a client is carried there (`Relay`).
2. A client needs the token in FOLDER/token, which is private. Each start of the JVM has a new one.
3. At each connection the system is asked who is at the other end (`mqops.peer`). A client of another user gets no
   byte, and wakes nothing. If a JVM has died and another user's process listens where it did, that gets no byte either.
4. The server knows no queue manager and no credentials: clients bring them (`mqops_airflow.spark.connect`).
5. Its temporary files are private, as those of every Spark process (`mqops.spark_private`).
6. All tasks share one session, whose Python workers stay warm (extra `session_id` of the Airflow connection). After
   an upgrade of mqops start the server again (`make down`, `make up`): its workers have imported the version before.
7. When the JVM ends by itself, this process starts it again. Airflow tries the tasks again that it took down.
   If the first JVM ends before it listens, none is started again: FOLDER/logs/spark-connect.log says why it ended.
   If a later one does, the next is tried after 5 s: what has worked will work again when the machine is in order.
8. If another process holds PORT at the start, this one says whose it is and tries again until it gets the port.
9. No client brings classes or files of its own (`spark.sql.artifact.isolation` is off). With it on, each task asks the
   driver over the network for each class that Spark's generated code names, and a request that gets no answer fails
   the job after 120 s. Spark's own start script always has it on, so `mqops_demo.spark_server` starts the server.
10. A JVM that has had no client for IDLE minutes is ended, and its memory is free. The next client starts one, and
    waits until it listens.
11. The first JVM is warmed up before clients reach it, by runs over made-up messages (`mqops_demo.spark_made_up_run`).
    It is served, too, if that fails or takes longer than a minute. One that is started again is not: a client waits.
12. When the last client has gone, the JVM gives up what clients have had it keep: one that was killed has not said so.
    A client that comes at that very moment, or whose connection breaks while its job runs, loses nothing but time:
    Spark works out again what it does not have.
"""

from __future__ import annotations

import argparse
import asyncio
import errno
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from asyncio.subprocess import Process
from collections.abc import Mapping
from contextlib import suppress
from math import inf
from pathlib import Path

from mqops import peer
from mqops import spark_private as private
from mqops.errors import SettingsError
from mqops.lake.files import make_folder, refuse_foreign, write_bytes
from mqops.relay import AT_ONCE, End, carry
from mqops.spark_private import TOKEN
from mqops_airflow.spark.connect import Server
from mqops_demo.spark_archive import driver_settings

HOST = "127.0.0.1"
FIRST_PORT = 15002
MASTER = "local[*]"
SERVER = Path(__file__).with_name("spark_server.py")
WARM_UP = "mqops_demo.spark_made_up_run"
INHERITED = ("HOME", "JAVA_HOME", "LANG", "PATH", "TZ", "MQOPS_LEDGER_KEYS", "MQ_FILE_PATH", "LD_LIBRARY_PATH")
TOKEN_FILE = "token"  # noqa: S105 - the name of a file
NAME = "The Spark Connect server"
BACKLOG = 128

ANSWER = 1.0
"""Seconds in which a server that is up says its first byte."""
POLL = 0.1
PAUSE = 5.0
"""Seconds before another try, if a JVM has ended before it listened, or another process has the port."""
ENDING = 30.0
"""Seconds in which a JVM has to end."""
WARMING = 60.0
"""Seconds in which a server that has just been started is warmed up, at most."""
IDLE = 60.0  # minutes
IDLE_VARIABLE = "MQOPS_SPARK_IDLE"


def environment() -> dict[str, str]:
    """The environment of the server. It has nothing of Airflow's own."""
    inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
    return {**inherited, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": HOST}


def idle_minutes(variables: Mapping[str, str]) -> float:
    """Minutes without a client after which a server ends: MQOPS_SPARK_IDLE, or 60.

    Raises:
        SettingsError: it is not a number above 0.
    """
    given = variables.get(IDLE_VARIABLE, "")
    try:
        minutes = float(given) if given else IDLE
    except ValueError:
        minutes = 0.0
    if not 0 < minutes < inf:
        raise SettingsError(f"{IDLE_VARIABLE} is {given!r}: set it to a number of minutes above 0, or unset it")
    return minutes


def command(port_file: Path, forget: Path) -> list[str]:
    """How a JVM is started. No secret stands in the arguments. Parameters: `port_file` where it writes its port;
    `forget` the FIFO at which it gives up what it keeps for clients."""
    settings = {
        **private.settings(MASTER),
        **driver_settings(),
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.address": HOST,
        "spark.connect.grpc.binding.port": "0",  # any: clients do not see it
        "spark.connect.session.manager.defaultSessionTimeout": "-1",  # the session that all tasks share stays
        "spark.log.level": "WARN",
        "spark.python.daemon.module": "mqops.spark_daemon",
        "spark.sql.artifact.isolation.enabled": "false",
        "spark.sql.artifact.isolation.alwaysApplyClassloader": "false",
        "spark.sql.shuffle.partitions": "8",
        "spark.ui.showConsoleProgress": "false",
    }
    given = [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
    submit = str(Path(sys.executable).with_name("spark-submit"))
    return [submit, "--master", MASTER, *given, str(SERVER), str(port_file), str(forget)]


def warm_up_command() -> list[str]:
    """How a server is warmed up."""
    return [sys.executable, "-m", WARM_UP]


def answers(port: int) -> bool:
    """Whether a server of this user answers: it speaks first, as HTTP/2 wants it.

    Raises:
        SettingsError: another user's process listens there.
    """
    with suppress(OSError), peer.connected(HOST, port) as probe:
        probe.settimeout(ANSWER)
        return bool(probe.recv(1))
    return False


class Relay:
    """Listens for clients and carries what they say to the JVM, when there is one, and back.

    Parameters: `listener` the socket that clients connect to. It is not closed before this process ends.
    """

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self.port = int(listener.getsockname()[1])
        self._jvm = 0
        self._forget: Path | None = None
        self._up = asyncio.Event()
        self._wanted = asyncio.Event()
        self._clients = 0
        self._used = time.monotonic()

    async def serve(self) -> None:
        """Accept clients, for ever."""
        server = await asyncio.start_server(self._serve_client, sock=self._listener, limit=AT_ONCE)
        await server.serve_forever()

    def up(self, port: int, forget: Path | None = None) -> None:
        """The JVM listens on that port: let the clients that wait, and the next ones, get there. Parameters: `forget`
        as of `command`, None for a JVM that keeps nothing."""
        self._jvm, self._forget, self._used = port, forget, time.monotonic()
        self._up.set()

    def down(self) -> None:
        """There is no JVM: let clients wait."""
        self._up.clear()
        self._wanted.clear()

    @property
    def idle(self) -> float:
        """Seconds since the last client has gone."""
        return 0.0 if self._clients else time.monotonic() - self._used

    async def next_client(self) -> None:
        """Wait for a client that has come since `down`."""
        await self._wanted.wait()

    async def _serve_client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if _user_of(writer.get_extra_info("socket")) in peer.own_users():
                await self._carry(End(reader, writer))
        except (OSError, SettingsError) as error:  # the JVM has just ended, or something else listens where it did
            print(f"A client was turned away: {error}", flush=True)
        finally:
            writer.close()

    async def _carry(self, client: End) -> None:
        self._clients += 1
        self._wanted.set()
        try:
            if not await self._up_before_it_goes(client):
                return
            connection = await asyncio.to_thread(peer.connected, HOST, self._jvm)
            await carry(client, End(*await asyncio.open_connection(sock=connection, limit=AT_ONCE)))
        finally:
            self._clients -= 1
            self._used = time.monotonic()
            if self._forget and self._up.is_set() and not self._clients:
                with suppress(OSError):  # the JVM has just ended
                    _write(self._forget)

    async def _up_before_it_goes(self, client: End) -> bool:
        """Wait for the JVM, or until the client has gone; returns whether the client is there. What it says meanwhile
        stays to be read: no client of Spark says as much as `AT_ONCE` before it is answered (HTTP/2: 64 KiB)."""
        goes = asyncio.create_task(client.reader.readexactly(AT_ONCE))
        up = asyncio.create_task(self._up.wait())
        try:
            await asyncio.wait((goes, up), return_when=asyncio.FIRST_COMPLETED)
            return not goes.done()
        finally:
            goes.cancel()
            up.cancel()
            await asyncio.gather(goes, up, return_exceptions=True)


def _write(fifo: Path) -> None:
    descriptor = os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
    try:
        os.write(descriptor, b"\n")
    finally:
        os.close(descriptor)


def _user_of(client: socket.socket) -> int | None:
    """The user of a client; None where it has gone. Others come and go as often as they like: no line tells of it."""
    with suppress(OSError):
        return peer.user_of(client)
    return None


async def serve(listener: socket.socket, folder: Path, idle: float = IDLE, session: str = "") -> None:
    """Keep a server running while it has clients. Returns if the first JVM ends before it has listened.

    Parameters: `listener` where clients connect; `folder` where temporary files and the token go; `idle` minutes
    without a client after which the JVM ends until the next one connects; `session` that the clients share, a UUID: its
    Python workers are warmed up, too.
    """
    relay = Relay(listener)
    clients = asyncio.create_task(relay.serve())
    try:
        with private.scratch(folder) as place:
            has_listened = False
            while await _one_jvm(relay, place, folder / TOKEN_FILE, idle, session, again=has_listened):
                has_listened = True
    finally:
        (folder / TOKEN_FILE).unlink(missing_ok=True)
        clients.cancel()


async def _one_jvm(
    relay: Relay, place: private.Scratch, token_file: Path, idle: float, session: str, *, again: bool
) -> bool:
    """Start a JVM and let clients reach it until it ends; returns whether another one is to be started.

    Parameters: `session` as for `serve`; `again` whether one has listened before.
    """
    port_file, forget = place.folder / "port", place.folder / "forget"
    for one in (port_file, forget):
        one.unlink(missing_ok=True)
    os.mkfifo(forget, 0o600)
    token = secrets.token_urlsafe(24)
    write_bytes(token_file, token.encode())
    process = await asyncio.create_subprocess_exec(
        *command(port_file, forget),
        env=place.environment({**environment(), TOKEN: token}),
        stdin=subprocess.DEVNULL,
        cwd=place.folder,
        umask=private.UMASK,
        pass_fds=(place.descriptor,),
    )
    try:
        port = await _listens(process, port_file)
        if not port:
            if again:
                print(f"{NAME} has ended with {process.returncode}; another try in {PAUSE:g} s", flush=True)
                await asyncio.sleep(PAUSE)
            return again
        if not again:
            await _warm_up(process, place, Server(host=HOST, port=port, token=token, session_id=session))
        if process.returncode is None:
            relay.up(port, forget)
            print(f"{NAME} listens on {HOST}:{relay.port}", flush=True)
        if await _ended(process, relay, idle):
            print(f"{NAME} has ended with {process.returncode}; it is started again", flush=True)
            return True
    finally:
        relay.down()
        await end(process)
    print(f"{NAME} had no client for {idle:g} min; the next one starts it", flush=True)
    await relay.next_client()
    return True


async def _warm_up(jvm: Process, place: private.Scratch, server: Server) -> None:
    """Warm a JVM up, for as long as it runs, but not for ever. Parameters: `server` what a client knows of it."""
    known = ("HOME", "LANG", "PATH", "PYSPARK_PYTHON", "TZ")  # nothing that leads to a lake or a queue manager
    variables = {name: value for name, value in environment().items() if name in known}
    try:
        client = await asyncio.create_subprocess_exec(
            *warm_up_command(),
            env={**place.environment(variables), **server.environment},
            stdin=subprocess.DEVNULL,
            cwd=place.folder,
            umask=private.UMASK,
        )
    except (OSError, RuntimeError) as error:  # no memory, no process or no thread is left
        print(f"{NAME} is not warmed up: that cannot be started: {error}. Its first jobs are slow", flush=True)
        return
    ended = [asyncio.create_task(one.wait()) for one in (client, jvm)]
    try:
        in_time, _ = await asyncio.wait(ended, timeout=WARMING, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for one in ended:
            one.cancel()
        await end(client)
    if client.returncode and jvm.returncode is None:
        why = f"that ended with {client.returncode}" if in_time else f"that takes longer than {WARMING:g} s"
        print(f"{NAME} is not warmed up: {why}. Its first jobs are slow", flush=True)


async def end(process: Process) -> None:
    """Ask a process to end, and kill it where it does not: clients wait for the next JVM."""
    with suppress(ProcessLookupError):
        process.terminate()
    try:
        async with asyncio.timeout(ENDING):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()


async def _listens(process: Process, port_file: Path) -> int:
    """Wait until the JVM listens; returns its port, or 0 where it ends before."""
    while process.returncode is None:
        if port_file.exists():
            return int(port_file.read_text())
        await asyncio.sleep(POLL)
    return 0


async def _ended(process: Process, relay: Relay, idle: float) -> bool:
    """Wait until the JVM has ended: by itself (True), or because it had no client for `idle` minutes (False)."""
    while relay.idle < idle * 60:
        with suppress(TimeoutError):
            async with asyncio.timeout(min(1.0, idle * 60)):
                await process.wait()
            return True
    return False


def listening(port: int) -> socket.socket:
    """A socket that listens on the port. If another process has the port, it is told whose, and tried again."""
    told = ""
    while True:
        try:
            return socket.create_server((HOST, port), backlog=BACKLOG)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
        if (text := taken(port)) != told:
            print(f"{text}; another try every {PAUSE:g} s", flush=True)
            told = text
        time.sleep(PAUSE)


def taken(port: int) -> str:
    """Who has the port, and what to do, in words."""
    return f"{held(port)}: end it, or use another port"


def held(port: int) -> str:
    """Who has the port, in words."""
    user = peer.holder(port)
    whose = "another process" if user is None else f"a process of user {user}"
    return f"Port {port} of this machine is held by {whose}"


async def _until_ended(listener: socket.socket, folder: Path, idle: float, session: str) -> int:
    """Serve until the system asks this process to end (exit code 0), or the first JVM ends (1).

    Nothing here waits by `asyncio.wait_for`: in Python 3.11 it forgets that it was cancelled, if what it waits for has
    just ended.
    """
    serving = asyncio.create_task(serve(listener, folder, idle, session))
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, serving.cancel)
    try:
        await serving
    except asyncio.CancelledError:
        return 0
    return 1


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m mqops_demo.spark_connect")
    parser.add_argument("folder", type=Path)
    parser.add_argument("port", type=int)
    parser.add_argument("idle", type=float, nargs="?", default=IDLE)
    parser.add_argument("--listener", type=int, metavar="DESCRIPTOR", help="of a socket that listens on PORT already")
    parser.add_argument("--session", default="", metavar="UUID", help="that all clients share: it is warmed up, too")
    given = parser.parse_args()
    folder = given.folder.absolute()  # the JVM works in another one
    make_folder(folder)
    refuse_foreign(folder)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # while it waits for the port
    listener = listening(given.port) if given.listener is None else socket.socket(fileno=given.listener)
    return asyncio.run(_until_ended(listener, folder, given.idle, given.session))


if __name__ == "__main__":
    sys.exit(main())
