"""Keys of message bodies (`mqops.lake.body_keys`) that are the password of an Airflow connection, of whatever type."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from mqops.errors import MqopsError
from mqops.lake.body_keys import ask_for_passwords, note_of
from mqops.lake.run import RunFolder


def password(conn_id: str) -> str:
    """The password of a connection. Raises `SettingsError`: Airflow has none of that id."""
    from mqops_airflow.connections.hook import existing_connection  # noqa: PLC0415 - only where bodies are encrypted

    return existing_connection(conn_id, "generic").password or ""


def passwords_for(run: Path) -> dict[str, str]:
    """What another process needs to read the bodies of a run: connection → password. Nothing where the keys are not in
    a connection, or Airflow has none of that id: the other process says so."""
    with suppress(MqopsError):
        found = note_of(RunFolder(run).lake_folder)
        if found and found.place.connection:
            return {found.place.connection: password(found.place.connection)}
    return {}


def install() -> None:
    """Let this process read such keys."""
    ask_for_passwords(password)
