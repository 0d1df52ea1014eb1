"""What Airflow asks the entry point `apache_airflow_provider` for: the connection type `mq` and its form, and what
`MessageQueueTrigger` knows as scheme `mqops`."""

from __future__ import annotations

TEXT: dict[str, object] = {"type": ["string", "null"]}
NAME: dict[str, object] = {"type": "string", "minLength": 1, "maxLength": 48}


def _field(label: str, description: str, schema: dict[str, object] = TEXT) -> dict[str, object]:
    return {"label": label, "description": description, "schema": schema}


def get_provider_info() -> dict[str, object]:
    """The provider's description, by Airflow's provider_info schema; the form is data, so nothing is imported."""
    return {
        "package-name": "mqops",
        "name": "IBM MQ operations",
        "description": "Operations workflows for IBM MQ.",
        "connection-types": [
            {
                "connection-type": "mq",
                "hook-name": "IBM MQ",
                "hook-class-name": "mqops_airflow.connections.hook.MqHook",
                "ui-field-behaviour": {
                    "hidden-fields": ["schema", "extra"],
                    "relabeling": {"login": "User"},
                    "placeholders": {
                        "host": "mq.example.com, or one(1414),two(1414); empty for the embedded queue manager",
                        "port": "1414",
                        "queue_manager": "QM1",
                        "channel": "MQOPS.SVRCONN",
                    },
                },
                "conn-fields": {
                    "queue_manager": _field("Queue manager", "Its name, exactly.", NAME),
                    "channel": _field("Channel", "Server-connection channel; needed with a host."),
                    "tls_cipher": _field(
                        "TLS cipher specification",
                        "As the channel's SSLCIPH, for example ANY_TLS12_OR_HIGHER; empty: no TLS.",
                    ),
                    "tls_key_repository": _field(
                        "TLS key repository", "Path, on the machines that run tasks, of the key repository."
                    ),
                    "home": _field(
                        "Embedded home", "Folder of embedded queue managers (MQLITE_HOME); only without a host."
                    ),
                },
            }
        ],
        "queues": ["mqops_airflow.connections.message_queue.MqopsMessageQueueProvider"],
    }
