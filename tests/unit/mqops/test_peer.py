"""Who is at the other end of a connection: the system says it of that very connection, before a byte is sent."""

from __future__ import annotations

import os
import socket
import threading
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import IPv4Address
from pathlib import Path

import pytest
from neighbours import neighbour

from mqops import peer, sock_diag
from mqops.errors import SettingsError


@contextmanager
def own_server(host: str, port: int = 0, family: int = socket.AF_INET) -> Iterator[int]:
    """A server of this user that accepts one connection after the other."""
    kept = []

    def accept() -> None:
        while True:
            try:
                kept.append(listening.accept()[0])
            except OSError:
                return

    with socket.create_server((host, port), family=family, dualstack_ipv6=host == "::") as listening:
        thread = threading.Thread(target=accept)
        thread.start()
        try:
            yield listening.getsockname()[1]
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()
            for one in kept:
                one.close()


@pytest.mark.parametrize(
    ("host", "family"),
    [
        ("127.0.0.1", socket.AF_INET),
        ("::", socket.AF_INET6),  # as Java listens: its connections are of ::ffff:127.0.0.1
    ],
)
def test_a_server_of_this_user_is_trusted(host: str, family: int) -> None:
    with own_server(host, family=family) as port, peer.connected("127.0.0.1", port) as connection:
        assert connection.getpeername()[1] == port
        assert peer.user_of(connection) in peer.own_users()


def test_the_connections_of_others_are_neither_kept_nor_split(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A neighbour has as many as the system lets him."""
    row = f"{' ' * 3}0: 0100007F:%04X 0100007F:%04X 01 00000000:00000000 00:00000000 00000000  1000 0 1{' ' * 40}\n"
    table = tmp_path / "tcp"
    with own_server("127.0.0.1") as port, peer.connected("127.0.0.1", port) as connection:
        own = "".join(
            row for row in Path("/proc/net/tcp").read_text().splitlines(keepends=True) if f":{port:04X} " in row
        )
        table.write_text("header\n" + "".join(row % (one // 1000, one) for one in range(50_000)) + own)
        monkeypatch.setattr(peer, "_TABLES", (table,))
        monkeypatch.setattr(sock_diag, "_is_told", lambda: False)
        tracemalloc.start()
        try:
            assert peer.user_of(connection) in peer.own_users()
            assert tracemalloc.get_traced_memory()[1] < 1_000_000
        finally:
            tracemalloc.stop()


def test_the_system_tells_of_one_connection_what_its_tables_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True) as listening:
        for host in ("127.0.0.1", "::1"):
            with socket.create_connection((host, listening.getsockname()[1])) as one:
                told = [peer.user_of(one)]
                other, _ = listening.accept()
                told += [peer.user_of(one), peer.user_of(other)]
                other.close()
                told += [peer.user_of(one)]
                assert told == [None, os.geteuid(), os.geteuid(), None], host


def test_a_listener_is_no_connection() -> None:
    """The kernel tells of one where there is no connection, of whoever listens there."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        there, nobody = (IPv4Address("127.0.0.1"), listening.getsockname()[1]), (IPv4Address("127.0.0.1"), 1)
        assert sock_diag._owner(there, nobody) is None


def test_a_server_of_another_user_gets_no_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    with neighbour(0, monkeypatch=monkeypatch) as other:
        port = other.says()["port"]
        with pytest.raises(SettingsError, match=rf"a process of user \d+ holds port {port} of this machine: nothing"):
            peer.connected("127.0.0.1", port)
        assert other.asked()["got"] == ""


def test_what_nobody_accepts_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who will accept it is not known: a listener can be handed on, and older kernels show root as its user."""
    monkeypatch.setattr(peer, "PATIENCE", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        with pytest.raises(TimeoutError, match=f"nobody accepts connections on port {port}"):
            peer.connected("127.0.0.1", port)


def test_no_listener_is_no_server() -> None:
    with socket.socket() as bound:  # so that nobody else gets the port
        bound.bind(("127.0.0.1", 0))
        with pytest.raises(ConnectionRefusedError):
            peer.connected("127.0.0.1", bound.getsockname()[1])


def test_a_neighbour_on_another_address_of_the_name_keeps_nobody_from_the_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`localhost` is ::1, too, on many machines: who listens there would be asked first."""
    with own_server("127.0.0.1") as port, neighbour(port, "127.0.0.2", monkeypatch=None) as other:
        assert other.says()["port"] == port
        places = [(socket.AF_INET, socket.SOCK_STREAM, 0, "", (host, port)) for host in ("127.0.0.2", "127.0.0.1")]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_args, **_more: places)
        monkeypatch.setattr(peer, "user_of", lambda one: user_but_for(one, "127.0.0.2"))
        with peer.connected("localhost", port) as connection:
            assert connection.getpeername() == ("127.0.0.1", port)
        assert other.asked()["got"] == ""


def user_but_for(connection: socket.socket, foreign: str) -> int | None:
    """The user at the other end, who counts as a stranger at that one address, also where the tests are not root's."""
    return -2 if connection.getpeername()[0] == foreign else USER_OF(connection)


USER_OF = peer.user_of


def test_who_holds_a_port() -> None:
    with socket.socket() as held:  # while it is bound nobody else gets the port
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
        assert peer.holder(port) is None
        held.listen()
        assert peer.holder(port) in peer.own_users()
