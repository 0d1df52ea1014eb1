"""Runs a Spark entry point as a client of the Spark Connect server that an Airflow connection `spark_connect` names.

1. The client is a Python process without Java, so it starts at once. The server is running already.
2. The server's token is in the client's environment, and nowhere else: not in the arguments, not in the address, not in
   a log. The same holds for the credentials of the queue manager; they travel to the server inside pickled functions,
   which are neither settings nor options.
3. PySpark sends a token without TLS to the host `localhost` only.
4. Each session of a server has Python workers of its own, which Spark keeps for as long as the server runs. If the
   connection names a session (extra `session_id`), all its tasks share that one, and its workers stay warm. The server
   must then keep a session that is not in use (`spark.connect.session.manager.defaultSessionTimeout`).
5. The client ends with its task. What it has begun on the server may go on for a while beside a retry. No message is
   moved twice by that: each unit of work happens once (`mqops.act.spark.act`).
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import UUID

from mqops.errors import SettingsError
from mqops.printable import printable
from mqops.spark_private import UMASK

CONNECTION_TYPE = "spark_connect"
DEFAULT_PORT = 15002
THIS_MACHINE = ("localhost", "127.0.0.1", "::1")
LISTENING = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
KEPT_LINES = 100  # of the client's output; its error is the last of them


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """Where a Spark Connect server listens, and how a client may speak to it.

    Parameters: `token` what the server was started with (SPARK_CONNECT_AUTHENTICATE_TOKEN); empty: it asks for none.
    `session_id` the session that all clients share, a UUID; empty: each has one of its own, which ends with it.
    """

    host: str
    port: int = DEFAULT_PORT
    user: str = ""
    token: str = field(default="", repr=False)
    tls: bool = False
    session_id: str = ""

    @property
    def environment(self) -> dict[str, str]:
        """What makes PySpark a client of this server."""
        options = {
            "user_id": self.user,
            "use_ssl": "true" if self.tls else "",
            "session_id": self.session_id,
        }
        address = f"sc://{self.host}:{self.port}/" + "".join(f";{name}={quote(v)}" for name, v in options.items() if v)
        secret = {"SPARK_CONNECT_AUTHENTICATE_TOKEN": self.token} if self.token else {}
        release = {} if self.session_id else {"SPARK_CONNECT_RELEASE_SESSION_ON_EXIT": "true"}
        return {"SPARK_REMOTE": address, **release, **secret}


def server_of(conn_id: str, connection: Any) -> Server:
    """The server that an Airflow connection names: host, port, login (user), password (token).

    Extra: `use_ssl` true or false; `session_id` see `Server`.

    Raises:
        SettingsError: it names no host, another machine without TLS, or a session that is no UUID.
    """
    host = (connection.host or "").removeprefix("sc://").rstrip("/")
    if not host:
        raise SettingsError(f"Airflow connection {conn_id!r} names no host: enter the Spark Connect server's host")
    tls = str(connection.extra_dejson.get("use_ssl") or "").lower() == "true"
    if not tls and host in THIS_MACHINE:
        host = "localhost"
    elif not tls:
        raise SettingsError(
            f"Airflow connection {conn_id!r} leads to {host} without TLS; set 'Use SSL' in it. The token, the "
            "credentials of the queue manager and the messages would cross the network in clear"
        )
    return Server(
        host=host,
        port=connection.port or DEFAULT_PORT,
        user=connection.login or "",
        token=connection.password or "",
        tls=tls,
        session_id=_session_id(conn_id, str(connection.extra_dejson.get("session_id") or "")),
    )


def _session_id(conn_id: str, given: str) -> str:
    try:
        return str(UUID(given)) if given else ""
    except ValueError:
        raise SettingsError(
            f"Airflow connection {conn_id!r} has the session_id {printable(given)}, which is no UUID: correct it, or "
            "leave it empty for a session of each task's own"
        ) from None


def check_listener(server: Server, conn_id: str) -> None:
    """See that the server on this machine is run by this user or by root.

    Any user can listen on its port while the server is down, and would get the token and the credentials of the queue
    manager. With TLS the server's certificate says who it is.

    Raises:
        SettingsError: a process of another user listens there.
    """
    if server.tls:
        return
    foreign = sorted(listeners(server.port) - {0, os.getuid()})
    if foreign:
        raise SettingsError(
            f"a process of user {foreign[0]} listens on port {server.port}, to which Airflow connection {conn_id!r} "
            "leads. Start the Spark Connect server as the user that Airflow runs as, or use TLS"
        )


def listeners(port: int) -> set[int]:
    """The user ids of the processes that listen on a TCP port of this machine; none where there is no /proc/net/tcp."""
    rows = [row.split() for table in LISTENING if table.exists() for row in table.read_text().splitlines()[1:]]
    return {int(row[7]) for row in rows if row[3] == "0A" and int(row[1].rpartition(":")[2], 16) == port}


class Client:
    """One Spark entry point as a client process.

    Parameters: `server` whom it speaks to; `log` gets its output, line by line.
    """

    def __init__(self, server: Server, log: Any) -> None:
        self.server = server
        self.log = log
        self.lines: deque[str] = deque(maxlen=KEPT_LINES)
        self._process: subprocess.Popen[str] | None = None

    def run(
        self,
        application: str,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        preexec_fn: Callable[[], None] | None = None,
    ) -> int:
        """Run it to its end; returns its exit code. `lines` keeps the end of its output.

        Parameters: `environment` the process's; the server's is added. `preexec_fn` is called in the new process.
        """
        self._process = subprocess.Popen(
            [sys.executable, application, *arguments],
            env={**environment, **self.server.environment, "PYTHONUNBUFFERED": "1"},  # the log in its own order
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            umask=UMASK,
            preexec_fn=preexec_fn,  # noqa: PLW1509 - it only calls prctl
        )
        self.log.info(
            "Spark Connect client of %s:%d: %s", printable(self.server.host), self.server.port, printable(application)
        )
        with self._process as process:
            for line in process.stdout or ():
                self.lines.append(line.rstrip("\n"))
                self.log.info("%s", printable(self.lines[-1]))
        return process.returncode

    def kill(self) -> None:
        """End the process, where it runs."""
        if self._process is not None:
            self._process.kill()
