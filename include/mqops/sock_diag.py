"""Asks Linux for the owner of one TCP socket of this machine (netlink, sock_diag(7)): the answer takes the same time
however many connections others have, where the tables of /proc/net have a line for each.

The module `tcp_diag` of the kernel answers. Where it is not there, nothing is known.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
from functools import cache
from ipaddress import IPv4Address, IPv6Address
from typing import TypeAlias

Address: TypeAlias = tuple[IPv4Address | IPv6Address, int]
_PROTOCOL, _BY_FAMILY, _REQUEST, _ERROR = 4, 20, 1, 2  # NETLINK_SOCK_DIAG, SOCK_DIAG_BY_FAMILY, NLM_F_*, NLMSG_*
_HEADER = struct.Struct("=IHHII")  # length, type, flags, number, port
_ASKED = struct.Struct("=BBxxI")  # family, protocol, states
_PORTS = struct.Struct("!HH")
_OF_ANY_INTERFACE = struct.pack("=III", 0, 0xFFFFFFFF, 0xFFFFFFFF)
_OWNER = struct.Struct("=II")  # user, inode
_OWNER_AT = _HEADER.size + 4 + 48 + 12  # behind the family and so on, the addresses, and three lengths
_LONGEST = 8192
_IPV4_INSIDE = bytes(10) + b"\xff\xff"


def owner(its: Address, others: Address) -> tuple[int, int] | None:
    """The user id and the inode of a connected socket; None where there is none.

    Parameters: `its` its own address; `others` that of the other end. Raises `OSError`: the system does not tell.
    """
    if not _is_told():
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))
    return _owner(its, others)


def _owner(its: Address, others: Address) -> tuple[int, int] | None:
    family = socket.AF_INET if isinstance(its[0], IPv4Address) else socket.AF_INET6
    ports = _PORTS.pack(its[1], others[1])
    wanted = ports + b"".join(one.packed.ljust(16, b"\0") for one, _port in (its, others))
    body = _ASKED.pack(family, socket.IPPROTO_TCP, 0xFFFFFFFF) + wanted + _OF_ANY_INTERFACE
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _PROTOCOL) as system:
        system.sendto(_HEADER.pack(_HEADER.size + len(body), _BY_FAMILY, _REQUEST, 0, 0) + body, (0, 0))
        answer = system.recv(_LONGEST)
    if _HEADER.unpack_from(answer)[1] == _ERROR:
        return None
    # Without such a connection the kernel can tell of a listener. Java's sockets have ::ffff:127.0.0.1 for 127.0.0.1.
    found = answer[_HEADER.size + 4 :][: len(wanted)]
    if found not in (wanted, ports + b"".join(_IPV4_INSIDE + one.packed for one, _port in (its, others))):
        return None
    user, inode = _OWNER.unpack_from(answer, _OWNER_AT)
    return user, inode


@cache
def _is_told() -> bool:
    """Whether the system tells of a connection that is there."""
    try:
        with (
            socket.create_server(("127.0.0.1", 0)) as listening,
            socket.create_connection(listening.getsockname()) as one,
        ):
            here, there = ((IPv4Address(host), port) for host, port in (one.getsockname(), one.getpeername()))
            return _owner(here, there) is not None
    except (OSError, AttributeError, struct.error):  # no netlink here
        return False
