"""From a queue manager of the estate to the connection that reaches it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mqops.errors import SettingsError
from mqops_airflow.connections.hook import MqHook

if TYPE_CHECKING:
    from mqops.estate import EstateFile
    from mqops.mq.connection import MqConnection


def connection_for(queue_manager: str, estate: EstateFile) -> MqConnection:
    """How the estate reaches a queue manager.

    Raises:
        SettingsError: Airflow has no such connection, it is for another queue manager, or the estate has an error where
            it says how the queue manager is reached.
    """
    settings = estate.queue_manager(queue_manager)
    if settings is None:
        raise SettingsError(f"the estate has no queue manager {queue_manager}")
    name = settings.connection
    connection = MqHook(name).get_conn()
    if connection.queue_manager != queue_manager:
        raise SettingsError(
            f"Airflow connection {name!r} is for queue manager {connection.queue_manager}, "
            f"the estate uses it for {queue_manager}"
        )
    return connection
