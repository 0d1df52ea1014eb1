"""The one Airflow plugin of mqops. What it brings lives in `mqops_airflow`, which Airflow must not load by itself."""

from __future__ import annotations

from airflow.plugins_manager import AirflowPlugin


class MqopsPlugin(AirflowPlugin):
    """Registers mqops with Airflow."""

    name = "mqops"
