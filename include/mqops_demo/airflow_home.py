"""An Airflow for one person on one machine: its folder, secrets and port, and the environment of its processes.

Everything is reachable from this machine only (127.0.0.1). Secrets are made once, kept in files that only their owner
can read, and passed in the environment, never as arguments.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import secrets
import socket
import stat
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mqops_demo import spark_connect
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
        """The Spark Connect server: `token`, the `session_id` that all clients share; `port` once it was started."""
        found: dict[str, Any] = json.loads((self.folder / "spark_connect.json").read_text())
        return found

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

    def prepare(self) -> None:
        """Make the folder, the secrets and the passwords where they are missing; choose another port where taken."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.folder.chmod(0o700)
        keep(self.folder / "secrets.json", new_secrets)
        write_properties(self.folder / "spark.properties")
        keep(self.folder / "spark_connect.json", new_spark_connect)
        keep(self.password_file, dict)
        missing = {user: secrets.token_urlsafe(9) for user in USERS if user not in self.passwords}
        if missing:
            write_private(self.password_file, {**self.passwords, **missing})

    @contextlib.contextmanager
    def chosen_port(self) -> Iterator[int]:
        """Keep the remembered port where it is free, else take the next free one. Not while Airflow runs.

        Gives the descriptor of a lock on that port, to be handed to the process that will listen: as long as that
        process lives, no other Airflow of ours (another folder, another start at the same moment) takes the port.
        """
        with self._port_of("port.json", FIRST_PORT) as lock:
            yield lock

    @contextlib.contextmanager
    def chosen_spark_port(self) -> Iterator[int]:
        """The same for the Spark Connect server."""
        with self._port_of("spark_connect.json", spark_connect.FIRST_PORT) as lock:
            yield lock

    @contextlib.contextmanager
    def _port_of(self, name: str, first: int) -> Iterator[int]:
        place = self.folder / name
        known = json.loads(place.read_text()) if place.exists() else {}
        port, lock = free_port(known.get("port", first))
        write_private(place, {**known, "port": port})
        try:
            yield lock
        finally:
            os.close(lock)

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
            "AIRFLOW__SCHEDULER__SCHEDULER_IDLE_SLEEP_TIME": "0.2",
            "AIRFLOW__DAG_PROCESSOR__REFRESH_INTERVAL": "30",
            "SPARK_LOCAL_IP": HOST,
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
    return {"token": secrets.token_urlsafe(24), "session_id": str(uuid.uuid4())}


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


def lock_folder() -> Path:
    """The folder of the locks on ports: one for each user, below $XDG_CACHE_HOME, else `.cache` in the home folder.

    Not the system's temporary folder, where every user can make a file or a link of that name beforehand.

    Raises:
        RuntimeError: it is another user's, a link, or other users may write there.
    """
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mqops"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o022:
        raise RuntimeError(f"{folder} must be a folder that only you can write to: remove it, or correct its rights")
    return folder


def free_port(first: int) -> tuple[int, int]:
    """`first` or the next port that nobody listens on, and the descriptor of a lock on it.

    Raises:
        RuntimeError: there is none among the next 200, or the folder of the locks is another user's.
    """
    folder = lock_folder()
    for port in range(first, first + 200):
        lock = os.open(folder / f"port-{port}", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        with contextlib.suppress(OSError), socket.socket() as probe:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((HOST, port))
            return port, lock
        os.close(lock)
    raise RuntimeError(f"no free port from {first} on")
