"""The one Airflow plugin of mqops. What it brings lives in `mqops_airflow`, which Airflow must not load by itself."""

from __future__ import annotations

from typing import ClassVar

from airflow.plugins_manager import AirflowPlugin

from mqops_airflow import data_docs, formats, notes

formats.register()


class MqopsPlugin(AirflowPlugin):
    """Registers mqops with Airflow."""

    name = "mqops"
    listeners: ClassVar = [notes]
    fastapi_apps: ClassVar = [{"app": data_docs.app, "url_prefix": data_docs.PREFIX, "name": "mqops"}]
    operator_extra_links: ClassVar = [data_docs.DataDocsLink()]
