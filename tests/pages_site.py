"""The pages behind a server of their own (`tests/dags/pages_server.py`), and a client of them."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
import psutil
from mq_support import until

from mqops_airflow.ui.table import PREFIX

SERVER = Path(__file__).parent / "dags" / "pages_server.py"
LOGINS = "logins: "
PATIENCE = 600
"""Seconds for the start on a machine that does other work, too."""


class Site:
    """The API server of a test, and its processes."""

    def __init__(self, process: subprocess.Popen[str], log: Path, port: int, logins: dict[str, str]) -> None:
        self.process, self.log, self.port, self.logins = process, log, port, logins
        # The server closes a connection on which nothing was asked for 5 s: nothing more is asked on it by then.
        limits = httpx.Limits(max_connections=100, keepalive_expiry=1.0)
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=600, limits=limits)

    def ask(self, path: str, person: str = "admin", *, form: dict[str, str] | None = None, **headers: str) -> Any:
        """What a page answers. Parameters: `form` that is sent to it."""
        headers = {name.replace("_", "-"): value for name, value in headers.items()} | self.login(person)
        return self.client.request("POST" if form else "GET", PREFIX + path, data=form, headers=headers)

    def login(self, person: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.logins[person]}"} if person else {}

    def send(self, form: dict[str, str], person: str = "admin", *, most: int | None = None) -> socket.socket:
        """A connection on which a search was asked for, and nothing read. Parameters: `most` bytes of the form that
        are sent, None for all."""
        body = urlencode(form)
        lines = [
            *(f"POST {PREFIX}/messages HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}"),
            *("Content-Type: application/x-www-form-urlencoded", f"Authorization: Bearer {self.logins[person]}"),
        ]
        made = socket.create_connection(("127.0.0.1", self.port))
        made.sendall("\r\n".join([*lines, "", body[:most]]).encode())
        return made

    def pages(self) -> list[psutil.Process]:
        """The processes of the pages. A process that one of them begins is for a moment a copy of it: so only those
        that the server itself has begun."""
        children = psutil.Process(self.process.pid).children()
        return [one for one in children if _runs(one, "mqops_airflow.pages.server")]

    def searching(self) -> list[psutil.Process]:
        """The processes that search."""
        children = psutil.Process(self.process.pid).children(recursive=True)
        return [one for one in children if _runs(one, "mqops.look.search_process")]


def _runs(process: psutil.Process, module: str) -> bool:
    """Whether a process runs a module, and has not ended."""
    with suppress(psutil.NoSuchProcess):  # it ends just now
        return process.status() != psutil.STATUS_ZOMBIE and module in process.cmdline()
    return False


@contextmanager
def served(base: Path, database: Path, *, whole: bool = False) -> Iterator[Site]:
    (base / "airflow").mkdir(exist_ok=True)
    (base / "airflow" / "airflow.db").write_bytes(database.read_bytes())
    settings = {
        "AIRFLOW_HOME": str(base / "airflow"),
        "AIRFLOW__CORE__AUTH_MANAGER": "mqops_airflow.roles.RolesAuthManager",
        "AIRFLOW__API_AUTH__JWT_SECRET": "a secret of this test, which is long enough for a signature by HMAC" * 2,
        "AIRFLOW_CONN_MQ_QM1": json.dumps({"conn_type": "mq", "extra": {"queue_manager": "QM1"}}),
        "MQLITE_HOME": str(base / "queue_managers"),
        "MQOPS_ESTATE": str(base / "estate.yaml"),
        "MQOPS_LAKE": str(base / "lake"),
    }
    log = base / "log"
    with log.open("w") as stream, socket.create_server(("127.0.0.1", 0)) as listens:
        port, descriptor = listens.getsockname()[1], listens.fileno()
        command = [sys.executable, str(SERVER), str(descriptor), *(["whole"] if whole else [])]
        process = subprocess.Popen(
            command, env=os.environ | settings, stdout=stream, stderr=stream, text=True, pass_fds=(descriptor,)
        )
    try:
        until(lambda: _logins(log) or process.poll() is not None, PATIENCE)
        assert process.poll() is None, log.read_text()[-5000:]
        yield Site(process, log, port, json.loads(_logins(log)))
    finally:
        process.terminate()
        process.wait()


def _logins(log: Path) -> str:
    """What the server has written of its logins, "" before the line is whole."""
    line, end, _rest = log.read_text().partition(LOGINS)[2].partition("\n")
    return line if end else ""
