"""The Spark Connect server that an Airflow connection `spark_connect` names, and how a job becomes its client.

1. The client is the task's own process: it needs no Java, and the server is running already. PySpark's client is
   imported before Airflow forks the task (`spark.imported_once`), gRPC begins behind the fork.
2. The server's token is among the job's variables, or in a private file that one of them names, and nowhere else: not
   in the arguments, not in the address, not in a log. The same holds for the credentials of the queue manager; they
   travel to the server inside pickled functions, which are neither settings nor options.
3. Without TLS a server is spoken to on this machine only, and only if this user or root runs it: `mqops.spark_client`
   sees to that at each connection, before anything is sent.
4. Each session of a server has Python workers of its own, which Spark keeps for as long as the server runs. If the
   connection names a session (extra `session_id`), all its tasks share that one, and its workers stay warm. The server
   must then keep a session that is not in use (`spark.connect.session.manager.defaultSessionTimeout`).
5. A session of the client's own is released when the job ends, unless the task is killed: then the server forgets it
   after a while. What it has begun there may go on for a while beside a retry. No message is moved twice by that: each
   unit of work happens once (`mqops.act.spark.act`).
"""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote
from uuid import UUID

from mqops import peer
from mqops.errors import SettingsError, SparkUnreachable
from mqops.printable import printable
from mqops.spark_private import RELEASE, TOKEN, TOKEN_FILE

CONNECTION_TYPE = "spark_connect"
DEFAULT_PORT = 15002


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """Where a Spark Connect server listens, and how a client may speak to it.

    Parameters: `token` what the server was started with (SPARK_CONNECT_AUTHENTICATE_TOKEN); empty: it asks for none,
    or `token_file`, on this machine, has the one of its present start. `session_id` the session that all clients share,
    a UUID; empty: each has one of its own, which ends with it.
    """

    host: str
    port: int = DEFAULT_PORT
    user: str = ""
    token: str = field(default="", repr=False)
    token_file: str = ""
    tls: bool = False
    session_id: str = ""

    @property
    def environment(self) -> dict[str, str]:
        """What makes PySpark a client of this server."""
        options = {"user_id": self.user, "use_ssl": "true" if self.tls else "", "session_id": self.session_id}
        address = f"sc://{self.host}:{self.port}/" + "".join(f";{name}={quote(v)}" for name, v in options.items() if v)
        secret = {TOKEN: self.token} if self.token else {}
        if self.token_file and not self.token:
            secret = {TOKEN_FILE: self.token_file}
        release = {} if self.session_id else {RELEASE: "true"}
        return {"SPARK_REMOTE": address, **release, **secret}


def server_of(conn_id: str, connection: Any) -> Server:
    """The server that an Airflow connection names: host, port, login (user), password (token).

    If a connection to this machine has no password, the file that MQOPS_SPARK_TOKEN_FILE names in Airflow's environment
    has the token: the server of `make up` has a new one at each start. No connection names a file.

    Extra: `use_ssl` true or false; `session_id` see `Server`.

    Raises:
        SettingsError: it names no host, another machine without TLS, or a session that is no UUID.
    """
    host = (connection.host or "").removeprefix("sc://").rstrip("/")
    if not host:
        raise SettingsError(f"Airflow connection {conn_id!r} names no host: enter the Spark Connect server's host")
    tls = str(connection.extra_dejson.get("use_ssl") or "").lower() == "true"
    if not tls and host in peer.THIS_MACHINE:
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
        token_file="" if tls else os.environ.get(TOKEN_FILE, ""),
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


def server_must_answer(server: Server, conn_id: str) -> None:
    """Look whether the server is there, and on this machine whether this user or root runs it.

    The client itself would try for minutes, and then say little. What is found here is told at once; that nobody else
    gets the token and the credentials is seen to at each connection (`mqops.spark_client`). With TLS the server's
    certificate says who it is.

    Raises:
        SparkUnreachable: nothing accepts a connection.
        SettingsError: a process of another user does.
    """
    try:
        if server.tls:
            socket.create_connection((server.host, server.port), timeout=peer.PATIENCE).close()
        else:
            peer.connected(server.host, server.port).close()
    except OSError as error:
        raise SparkUnreachable(
            f"no Spark Connect server answers at {server.host}:{server.port} ({error.strerror or error}). Start the "
            f"server, or correct host and port of the Airflow connection {conn_id!r}, and clear this task; nothing was "
            "moved by it."
        ) from None
    except SettingsError as error:
        raise SettingsError(f"Airflow connection {conn_id!r} leads to another user's server: {error}") from None
