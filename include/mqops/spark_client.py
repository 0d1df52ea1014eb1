"""How a job speaks to a Spark Connect server of this machine: through a guard that sees who is there, each time.

1. gRPC connects by itself, again and again while a job runs. A server can die, and another user's process can listen on
   its port: it would get the token and the pickled functions, in which the queue manager's credentials are.
2. So gRPC gets a Unix socket of this very process. For each connection the guard behind it connects to the server,
   asks the system who is at the other end (`mqops.peer`), and carries bytes only if it is this user, or root.
3. The socket has a name that nobody can foresee and no file. The guard serves its own process only.
4. The token is SPARK_CONNECT_AUTHENTICATE_TOKEN, or stands in the file that MQOPS_SPARK_TOKEN_FILE names, which is read
   for each call: a server that has been started again has a new one.
5. A server elsewhere proves by TLS who it is. `mqops_airflow.spark.connect` refuses it without.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import struct
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import grpc
from pyspark.sql.connect.client.core import DefaultChannelBuilder

from mqops import peer
from mqops.errors import SettingsError
from mqops.relay import AT_ONCE, End, carry
from mqops.spark_private import TOKEN_FILE


class Guard:
    """A listener for this process alone, through which it reaches a server of this user, and no other.

    `problem` says why the last connection was refused, "" where it was not.
    """

    def __init__(self, host: str, port: int) -> None:
        self.host, self.port = host, port
        self.problem = ""
        self.name = f"mqops-{secrets.token_hex(16)}"
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(f"\0{self.name}")
        self._listener.listen()
        self._end, self._ended = socket.socketpair()
        threading.Thread(target=lambda: asyncio.run(self._serve()), name="guard", daemon=True).start()

    def close(self) -> None:
        """Let go of the listener and of all connections: the thread ends."""
        self._end.close()

    async def _serve(self) -> None:
        server = await asyncio.start_unix_server(self._guard, sock=self._listener, limit=AT_ONCE)
        ended, writer = await asyncio.open_connection(sock=self._ended)
        await ended.read()  # until `close`
        writer.close()
        server.close()

    async def _guard(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if _process_of(writer.get_extra_info("socket")) == os.getpid():
                connection = await asyncio.to_thread(peer.connected, self.host, self.port)
                self.problem = ""
                server = End(*await asyncio.open_connection(sock=connection, limit=AT_ONCE))
                await carry(End(reader, writer), server)
        except SettingsError as error:
            self.problem = str(error)
        except OSError:
            self.problem = ""  # nothing listens: gRPC says so
        except asyncio.CancelledError:
            pass  # by `close`, and all is done: asyncio would write a traceback of it into the job's log
        finally:
            writer.close()


class GuardedBuilder(DefaultChannelBuilder):
    """Makes PySpark's channel to a Spark Connect server of this machine, through a guard.

    Parameters: `remote` the server's address, `sc://localhost:15002/...`; `token` gives the token of a call, or "".
    """

    def __init__(self, remote: str, token: Callable[[], str]) -> None:
        super().__init__(remote)
        self.guard = Guard(self.host.strip("[]"), self._port)
        self._token = token

    def toChannel(self) -> grpc.Channel:
        credentials = grpc.local_channel_credentials(grpc.LocalConnectionType.UDS)
        bearer = grpc.metadata_call_credentials(self._authorization)
        return self._secure_channel(
            f"unix-abstract:{self.guard.name}", grpc.composite_channel_credentials(credentials, bearer)
        )

    def _authorization(self, _context: object, tell: Callable[..., None]) -> None:
        try:
            token = self._token()
        except OSError as error:
            tell((), error)
        else:
            tell((("authorization", f"Bearer {token}"),) if token else (), None)


def guarded_builder(remote: str, environment: Mapping[str, str]) -> GuardedBuilder | None:
    """The builder for a server of this machine; None for one elsewhere, or with TLS, which needs no guard."""
    builder = DefaultChannelBuilder(remote)
    if builder.use_ssl or builder.host.strip("[]") not in peer.THIS_MACHINE:
        return None
    file, given = environment.get(TOKEN_FILE), builder.token or ""
    return GuardedBuilder(remote, Path(file).read_text if file else lambda: given)


def _process_of(connection: socket.socket) -> int:
    """The id of the process at the other end of a Unix socket (SO_PEERCRED)."""
    found = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return int(struct.unpack("3i", found)[0])
