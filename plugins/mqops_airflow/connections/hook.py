"""The hook of connection type `mq`: from an Airflow connection to mqops' own settings, and the Test button."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseHook
from airflow.sdk.exceptions import AirflowException

from mqops.counted import counted
from mqops.errors import MqopsError, SettingsError

if TYPE_CHECKING:
    from mqops.mq.connection import MqConnection
    from mqops.mq.session import Session

DEFAULT_PORT = 1414
FIELDS = frozenset({"queue_manager", "channel", "tls_cipher", "tls_key_repository", "home"})
TYPES = ("mq", "ibmmq")
"""Types of connections that are taken. The second one is of Airflow's own provider for IBM MQ, with the same fields
for a client, and `NOT_OURS`."""
NOT_OURS = frozenset({"open_options"})
"""Extra fields of that provider: how it opens queues. mqops opens each queue as its work needs."""


class MqHook(BaseHook):
    """Reaches the queue manager that an Airflow connection of type `mq` or `ibmmq` names.

    Either a host (client connection through a channel), or an embedded home, or neither (the local queue manager).

    :param mq_conn_id: id of the connection.
    """

    conn_name_attr = "mq_conn_id"
    default_conn_name = "mq_default"
    conn_type = "mq"
    hook_name = "IBM MQ"

    def __init__(self, mq_conn_id: str = default_conn_name, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.mq_conn_id = mq_conn_id

    def get_conn(self) -> MqConnection:
        """The connection's settings; open it with `mqops.mq.connection.connect`.

        Raises:
            SettingsError: there is no such connection, or its fields do not fit together.
        """
        return connection_settings(self.mq_conn_id, existing_connection(self.mq_conn_id, "mq"))

    def test_connection(self) -> tuple[bool, str]:
        """Connect and say what answered, or the reason why nothing did."""
        from mqops.mq.connection import connect  # noqa: PLC0415 - loads the MQ library

        try:
            with connect(self.get_conn()) as queue_manager:
                return True, describe(queue_manager)
        except MqopsError as error:
            return False, str(error)


def existing_connection(conn_id: str, conn_type: str) -> Any:
    """The Airflow connection `conn_id`; `conn_type` says what to make where there is none.

    Raises:
        SettingsError: Airflow has none of that id.
    """
    try:
        connection = BaseHook.get_connection(conn_id)
    except AirflowException as error:
        raise SettingsError(
            f"there is no Airflow connection {conn_id!r}: make one of type {conn_type!r} under Admin > Connections, "
            f"or set AIRFLOW_CONN_{conn_id.upper()}"
        ) from error
    return connection


def connection_settings(conn_id: str, connection: Any) -> MqConnection:
    """The settings that an Airflow connection holds.

    Raises:
        SettingsError: a field is missing or contradicts another.
    """
    from mqops.mq.connection import MqConnection  # noqa: PLC0415

    if connection.conn_type not in TYPES:
        raise SettingsError(
            f"Airflow connection {conn_id!r} is of type {connection.conn_type!r}, not {' or '.join(map(repr, TYPES))}"
        )
    extra = {key: value for key, value in connection.extra_dejson.items() if value}
    unknown = sorted(set(extra) - FIELDS - NOT_OURS)
    if unknown:
        raise SettingsError(f"Airflow connection {conn_id!r} has unknown extra fields: {', '.join(unknown)}")
    if not extra.get("queue_manager"):
        raise SettingsError(f"Airflow connection {conn_id!r} names no queue manager")
    if connection.host and not extra.get("channel"):
        raise SettingsError(f"Airflow connection {conn_id!r} has a host but no channel")
    if connection.host and extra.get("home"):
        raise SettingsError(f"Airflow connection {conn_id!r} has both a host and an embedded home; keep one of them")
    return MqConnection(
        queue_manager=extra["queue_manager"],
        channel=extra.get("channel") or "",
        conn_name=connection_name(connection.host, connection.port),
        user=connection.login or "",
        password=connection.password or "",
        tls_cipher=extra.get("tls_cipher") or "",
        tls_key_repository=extra.get("tls_key_repository") or "",
        environment={"MQLITE_HOME": extra["home"]} if extra.get("home") else {},
    )


def connection_name(host: str | None, port: int | None) -> str:
    """MQ's connection name: `host(port)`, or what already has that form, several separated by commas."""
    if not host:
        return ""
    return host if "(" in host else f"{host}({port or DEFAULT_PORT})"


def describe(session: Session) -> str:
    """What answered: the queue manager's own name and its dead-letter queue."""
    from mqops.mq.inquire import dead_letter_queue, depth, queue_manager_name  # noqa: PLC0415

    name = queue_manager_name(session)
    try:
        queue = dead_letter_queue(session)
        return f"{name} answers; dead-letter queue {queue}, {counted(depth(session, queue), 'message')}"
    except MqopsError as error:
        return f"{name} answers; but {error}"
