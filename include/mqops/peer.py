"""Who is at the other end of a TCP connection of this machine: the operating system is asked, on that very connection.

1. Every user may listen on a port that nobody listens on, for as long as its server is down or starts. A look at who
   listens, before or after, says nothing of a connection: between the two the listener can be another one.
2. Linux names the user of each socket: it is asked for the one with the two addresses exchanged (`mqops.sock_diag`).
   Where it does not answer, /proc/net/tcp and /proc/net/tcp6 have a row for each, which takes longer the more
   connections others have.
3. A connection that waits to be accepted has no inode. Who will get it is not known yet, so it proves nothing.
4. Root is trusted: he reads the memory of every process anyway.
5. Where the system does not tell (no such socket, no /proc/net), the other end counts as a stranger.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

from mqops.errors import SettingsError
from mqops.sock_diag import Address, owner

PATIENCE = 5.0
"""Seconds in which a server has to answer, and to accept."""
POLL = 0.01
ROOT = 0
THIS_MACHINE = ("localhost", "127.0.0.1", "::1")
_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_LISTENS = "0A"


def own_users() -> frozenset[int]:
    """The users who may be at the other end: this process's own, and root."""
    return frozenset({ROOT, os.geteuid()})


def connected(host: str, port: int) -> socket.socket:
    """A connection to a server of this machine that this process's user or root runs. Nothing was sent on it.

    A host name such as `localhost` can have several addresses: whoever listens on one of them keeps nobody from the
    server on another.

    Raises:
        SettingsError: another user's process answers.
        OSError: nothing listens there, or nobody accepts.
    """
    refused: SettingsError | None = None
    unreachable = OSError(f"{host} has no address")
    for family, kind, protocol, _name, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        connection = socket.socket(family, kind, protocol)
        try:
            connection.settimeout(PATIENCE)
            connection.connect(address)
            must_be_own(connection)
            connection.settimeout(None)
            return connection
        except SettingsError as error:
            refused = error
        except OSError as error:
            unreachable = error
        connection.close()
    raise refused or unreachable


def must_be_own(connection: socket.socket, *, patience: float = PATIENCE) -> None:
    """See that this process's user or root is at the other end of a connection. Waits until it is accepted.

    Parameters: `patience` seconds in which it has to be accepted.

    Raises:
        SettingsError: it is another user.
        TimeoutError: nobody accepts in that time, or the system does not tell who does.
    """
    port = connection.getpeername()[1]
    until = time.monotonic() + patience
    while (user := user_of(connection)) is None and time.monotonic() < until:
        time.sleep(POLL)
    if user is None:
        raise TimeoutError(f"nobody accepts connections on port {port}, or the system does not say who does")
    if user not in own_users():
        raise SettingsError(
            f"a process of user {user} holds port {port} of this machine: nothing was sent there. End that process, or "
            "use another port, and start the server as the user that runs this program, or use TLS"
        )


def user_of(connection: socket.socket) -> int | None:
    """The user id of the process at the other end; None where it is not accepted, or the system does not tell."""
    mine, its = _address(connection.getsockname()), _address(connection.getpeername())
    try:
        user, inode = owner(its, mine) or (0, 0)
    except OSError:
        return _user_in_tables(mine, its)
    return user if inode else None


def _user_in_tables(mine: Address, its: Address) -> int | None:
    near, far = (f":{port:04X}" for _host, port in (its, mine))
    for row in _rows(f"{near} ", f"{far} "):
        if row[9] != "0" and (_parsed(row[1]), _parsed(row[2])) == (its, mine):
            return int(row[7])
    return None


def holder(port: int) -> int | None:
    """The user id of a process that listens on a port of this machine; None where there is none to be seen."""
    found = (
        int(row[7])
        for row in _rows(f":{port:04X} ")
        if row[3] == _LISTENS and int(row[1].rpartition(":")[2], 16) == port
    )
    return next(found, None)


def _rows(*texts: str) -> Iterator[list[str]]:
    """The rows of the system's tables that have these texts: addresses in fields 1 and 2, state in 3, user in 7, inode
    in 9. Others can have a hundred thousand connections: what is not asked for is neither kept nor split."""
    for table in _TABLES:
        with suppress(OSError), table.open() as lines:  # a machine without IPv6
            yield from (row.split() for row in lines if all(text in row for text in texts))


def _address(name: tuple[str, int]) -> Address:
    return _plain(ip_address(name[0].partition("%")[0])), name[1]


def _parsed(text: str) -> Address:
    """An address as the kernel writes it: words of 32 bits in the machine's own order, a colon, the port."""
    host, _, port = text.rpartition(":")
    words = [bytes.fromhex(host[at : at + 8]) for at in range(0, len(host), 8)]
    packed = b"".join(word[::-1] if sys.byteorder == "little" else word for word in words)
    return _plain(ip_address(packed)), int(port, 16)


def _plain(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """Java's sockets write 127.0.0.1 as the IPv6 address ::ffff:127.0.0.1."""
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address
