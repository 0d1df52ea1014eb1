"""The trigger of the trigger monitor for Airflow's `MessageQueueTrigger`, by the scheme `mqops`, for DAGs of your own.

Airflow imports this module when a `MessageQueueTrigger` is made, and only where the package of it is installed.
"""

from __future__ import annotations

from airflow.sdk.exceptions import AirflowOptionalProviderFeatureException

try:
    from airflow.providers.common.messaging.providers.base_provider import BaseMessageQueueProvider
except ModuleNotFoundError as error:  # Airflow passes it over then
    raise AirflowOptionalProviderFeatureException(error) from error

from mqops_airflow.connections.trigger_monitor import TriggerMessages


class MqopsMessageQueueProvider(BaseMessageQueueProvider):
    """Leads `MessageQueueTrigger(scheme="mqops", queue_manager=..., mq_conn_id=..., queues=[...])` to
    `TriggerMessages`, whose events say that messages are there. It takes no message from a queue."""

    scheme = "mqops"

    def trigger_class(self) -> type[TriggerMessages]:
        """The trigger; its parameters are those of `MessageQueueTrigger`."""
        return TriggerMessages
