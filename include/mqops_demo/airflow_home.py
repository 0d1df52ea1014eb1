"""An Airflow for one person on one machine: its folder, secrets and port, and the environment of its processes.

Everything is reachable from this machine only (127.0.0.1). Secrets are made once, kept in files that only their owner
can read, and passed in the environment, never as arguments.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import secrets
import socket
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mqops.spark_private import TOKEN_FILE
from mqops_demo import spark_connect, sqlite_now
from mqops_demo.estate import ROOT, variable_folder
from mqops_demo.spark_archive import write_properties

HOST = "127.0.0.1"
FIRST_PORT = 8080
USERS = {role: role for role in ("admin", "operator", "approver", "viewer")}  # user → role (`mqops_airflow.roles`)


@dataclass(frozen=True, slots=True, kw_only=True)
class AirflowHome:
    """Where one Airflow lives.

    Parameters: `folder` AIRFLOW_HOME; `queue_managers` the folder of embedded queue managers; `lake` the folder of
    snapshots, plans and ledgers; `settings` further environment for every process (MQOPS_ESTATE, MQOPS_SCHEDULES ...).
    """

    folder: Path
    queue_managers: Path
    lake: Path
    settings: Mapping[str, str]

    @property
    def port(self) -> int:
        """The port of the UI and the API: remembered, so that the address stays the same."""
        return int(json.loads((self.folder / "port.json").read_text())["port"])

    @property
    def spark_connect(self) -> dict[str, Any]:
        """The Spark Connect server: the `session_id` that all clients share, its `port`, the private `token_file`."""
        found = json.loads((self.folder / "spark_connect.json").read_text())
        token_file = str(self.spark_folder / spark_connect.TOKEN_FILE)
        return {"session_id": found["session_id"], "port": found["port"], "token_file": token_file}

    @property
    def spark_folder(self) -> Path:
        return self.folder / "spark"

    @property
    def address(self) -> str:
        return f"http://{HOST}:{self.port}"

    @property
    def passwords(self) -> dict[str, str]:
        """User → password, as Airflow's SimpleAuthManager reads them."""
        found: dict[str, str] = json.loads(self.password_file.read_text())
        return found

    @property
    def password_file(self) -> Path:
        return self.folder / "passwords.json"

    def prepare(self, report: Callable[[str], None] = print) -> None:
        """Make the folder, the secrets and the passwords where they are missing."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.folder.chmod(0o700)
        keep(self.folder / "secrets.json", new_secrets)
        write_properties(self.folder / "spark.properties")
        self._import_sqlite_now(report)
        keep(self.folder / "spark_connect.json", new_spark_connect)
        keep(self.password_file, dict)
        missing = {user: secrets.token_urlsafe(9) for user in USERS if user not in self.passwords}
        if missing:
            write_private(self.password_file, {**self.passwords, **missing})

    def _import_sqlite_now(self, report: Callable[[str], None]) -> None:
        """Have each process of Airflow import `mqops_demo.sqlite_now`. A person's own file stays as it is."""
        place, line = self.folder / "config" / "airflow_local_settings.py", f"import {sqlite_now.__name__}"
        place.parent.mkdir(exist_ok=True)
        if not place.exists():
            place.write_text(f"{line}  # noqa\n")
        elif line not in place.read_text():
            report(f"{place} stays as it is. Without the line `{line}` in it, runs start half a second later")

    @contextlib.contextmanager
    def chosen_port(self, report: Callable[[str], None] = print) -> Iterator[int]:
        """Listen on the remembered port where it is free, else on the next free one. Not while Airflow runs.

        Gives the descriptor of the socket, to be handed to the processes that start: as long as one of them lives,
        nobody else can listen there.
        """
        with self._port_of("port.json", "Airflow", FIRST_PORT, report) as listener:
            yield listener

    @contextlib.contextmanager
    def chosen_spark_port(self, report: Callable[[str], None] = print) -> Iterator[int]:
        """The same for the Spark Connect server."""
        with self._port_of("spark_connect.json", "Spark", spark_connect.FIRST_PORT, report) as listener:
            yield listener

    @contextlib.contextmanager
    def _port_of(self, name: str, what: str, first: int, report: Callable[[str], None]) -> Iterator[int]:
        place = self.folder / name
        known = json.loads(place.read_text()) if place.exists() else {}
        first = known.get("port", first)
        port, listener = free_port(first)
        if port != first:
            report(f"{spark_connect.held(first)}: {what} listens on port {port} instead")
        write_private(place, {**known, "port": port})
        try:
            yield listener
        finally:
            os.close(listener)

    def environment(self) -> dict[str, str]:
        """The environment of every Airflow process (and of the Spark jobs that its tasks submit)."""
        base = self.address
        # On a busy machine a process of Airflow keeps SQLite's lock for longer than the 5 s that the others wait.
        database = {"AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{self.folder / 'airflow.db'}?timeout=60"}
        own = {
            "AIRFLOW_HOME": str(self.folder),
            "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "dags"),
            "AIRFLOW__CORE__PLUGINS_FOLDER": str(ROOT / "plugins"),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
            "AIRFLOW__CORE__PARALLELISM": "4",
            "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "True",
            # Who may edit connections can have this machine connect anywhere: for a demonstration on 127.0.0.1 only.
            "AIRFLOW__CORE__TEST_CONNECTION": "Enabled",
            "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{base}/execution/",
            "AIRFLOW__CORE__AUTH_MANAGER": "mqops_airflow.roles.RolesAuthManager",
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": ",".join(f"{user}:{role}" for user, role in USERS.items()),
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(self.password_file),
            "AIRFLOW__API__HOST": HOST,
            "AIRFLOW__API__PORT": str(self.port),
            "AIRFLOW__API__BASE_URL": base,
            "AIRFLOW__API__WORKERS": "1",
            "AIRFLOW__SCHEDULER__SCHEDULER_IDLE_SLEEP_TIME": "0.1",
            "AIRFLOW__DAG_PROCESSOR__REFRESH_INTERVAL": "30",
            "SPARK_LOCAL_IP": HOST,
            TOKEN_FILE: str(self.spark_folder / spark_connect.TOKEN_FILE),
            "MQOPS_SPARK_PROPERTIES": str(self.folder / "spark.properties"),
            "MQLITE_HOME": str(self.queue_managers),
            "MQOPS_LAKE": str(self.lake),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        }
        kept = json.loads((self.folder / "secrets.json").read_text())
        return {**database, **os.environ, **own, **kept, **self.settings}


def home(folder: Path | None = None, **settings: str) -> AirflowHome:
    """The Airflow below `folder` ($MQOPS_VAR, else `var/`), with its queue managers and lake beside it."""
    place = (folder or variable_folder()).resolve()
    return AirflowHome(
        folder=place / "airflow",
        queue_managers=Path(os.environ.get("MQLITE_HOME") or place / "qmgrs"),
        lake=place / "lake",
        settings=settings,
    )


def new_secrets() -> dict[str, str]:
    """Keys for what Airflow encrypts and signs."""
    return {
        "AIRFLOW__CORE__FERNET_KEY": base64.urlsafe_b64encode(secrets.token_bytes(32)).decode(),
        "AIRFLOW__API_AUTH__JWT_SECRET": secrets.token_urlsafe(48),
        "AIRFLOW__API__SECRET_KEY": secrets.token_urlsafe(32),
    }


def new_spark_connect() -> dict[str, str]:
    """What the clients of the Spark Connect server have to know."""
    return {"session_id": str(uuid.uuid4())}


def keep(path: Path, make: Callable[[], object]) -> None:
    """Write what `make` makes to `path` unless something is there."""
    if not path.exists():
        write_private(path, make())


def write_private(path: Path, content: object) -> None:
    """Write JSON to a file that only its owner can read, from its first byte on."""
    draft = path.with_suffix(".new")
    draft.unlink(missing_ok=True)
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        json.dump(content, file)
    draft.replace(path)


def free_port(first: int) -> tuple[int, int]:
    """`first` or the next port that nobody has, and the descriptor of a socket that listens on it.

    Raises:
        RuntimeError: there is none among the next 200.
    """
    for port in range(first, first + 200):
        with contextlib.suppress(OSError):
            listener = socket.create_server((HOST, port), backlog=spark_connect.BACKLOG)
            # Connections inherit it. Uvicorn takes the descriptor for a Unix socket and does not set it: then most
            # answers come 40 ms late, when the client has acknowledged their headers (Nagle, delayed ACK).
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return port, listener.detach()
    raise RuntimeError(f"no free port from {first} on")
