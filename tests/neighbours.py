"""Another user of the machine, who takes a port when he can and keeps what he is sent.

As root the tests start him as user nobody. Otherwise he is this user, and this process takes itself for another one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from mqops import peer

NOBODY = 65534
PROGRAM = """
import json, os, select, socket, sys
if int(sys.argv[2]) >= 0:
    os.setuid(int(sys.argv[2]))
port, tries, bound, got, open_ones = int(sys.argv[1]), 0, 0, b"", []
listening = {}
def say():
    print(json.dumps({"tries": tries, "bound": bound, "port": port, "got": got.decode("latin-1")}), flush=True)
while True:
    for host in sys.argv[3:]:
        if host in listening:
            continue
        tries += 1
        one = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        try:
            one.bind((host, port))
            one.listen()
        except OSError:
            one.close()
            continue
        bound, port, listening[host] = bound + 1, one.getsockname()[1], one
        say()
    ready = select.select([sys.stdin, *listening.values(), *open_ones], [], [], 0.002)[0]
    for one in ready:
        if one is sys.stdin:
            if not sys.stdin.readline():
                sys.exit()
            say()
        elif one in open_ones:
            try:
                data = one.recv(65536)
            except OSError:
                data = b""
            got += data
            if not data:
                open_ones.remove(one)
        else:
            open_ones.append(one.accept()[0])
"""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A process that loops a bind on a port, without end; it says each time that it got it."""

    process: subprocess.Popen[str]

    def says(self) -> dict[str, Any]:
        """The next line: `tries` and `bound` count, `port`, `got` what he was sent."""
        found: dict[str, Any] = json.loads(self.process.stdout.readline())
        return found

    def asked(self) -> dict[str, Any]:
        """What he has by now."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self.says()


@contextmanager
def neighbour(port: int, *hosts: str, monkeypatch: pytest.MonkeyPatch | None = None) -> Iterator[Neighbour]:
    """Start one. Parameters: `port` 0 for any; `hosts` the addresses that he binds, 127.0.0.1 where none is given.

    `monkeypatch` is for tests in which this process itself has to see that he is a stranger.
    """
    user = NOBODY if os.getuid() == 0 else -1
    if user < 0 and monkeypatch:
        monkeypatch.setattr(peer, "own_users", lambda: frozenset({12345}))
    command = [sys.executable, "-S", "-c", PROGRAM, str(port), str(user), *(hosts or ("127.0.0.1",))]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, **pipes, text=True) as process:
        try:
            yield Neighbour(process)
        finally:
            process.kill()
