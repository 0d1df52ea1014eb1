"""The one Airflow plugin of mqops. What it brings lives in `mqops_airflow`, which Airflow must not load by itself."""

from __future__ import annotations

from typing import ClassVar

from airflow.plugins_manager import AirflowPlugin

from mqops_airflow import data_docs, formats, imported_once, marked, notes
from mqops_airflow.pages import app, table, views

formats.register()


class MqopsPlugin(AirflowPlugin):
    """Registers mqops with Airflow."""

    name = "mqops"
    listeners: ClassVar = [imported_once, marked, notes]
    fastapi_apps: ClassVar = [{"app": app.app, "url_prefix": table.PREFIX, "name": "mqops"}]
    external_views: ClassVar = views.external_views()
    operator_extra_links: ClassVar = [data_docs.DataDocsLink(), views.RunLink()]
