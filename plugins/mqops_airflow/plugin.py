"""The one Airflow plugin of mqops; Airflow finds it by the entry point `airflow.plugins` of the installed package.

The scheduler and the DAG processor load plugins before they fork a process for each task and for each parse of a DAG
file. So what the DAG files import is loaded here, once, and not in each of these processes.
"""

from __future__ import annotations

from airflow.plugins_manager import AirflowPlugin

from mqops.parts import missing_part

try:
    from mqops_airflow.approval import marked
    from mqops_airflow.forms import formats
    from mqops_airflow.notices import notes
    from mqops_airflow.pages import app, data_docs
    from mqops_airflow.spark import imported_once
    from mqops_airflow.ui import table, views
    from mqops_airflow.workflows import pipeline  # noqa: F401
except ModuleNotFoundError as error:  # the core alone in an Airflow: its page of plugins shows this sentence
    raise missing_part(error) or error from error

formats.register()


class MqopsPlugin(AirflowPlugin):
    """Registers mqops with Airflow."""

    name = "mqops"
    listeners = [imported_once, marked, notes]  # noqa: RUF012 - instance variables to Airflow's own types
    fastapi_apps = [{"app": app.app, "url_prefix": table.PREFIX, "name": "mqops"}]  # noqa: RUF012
    external_views = views.external_views()
    operator_extra_links = [  # noqa: RUF012
        data_docs.DataDocsLink(),
        views.RunLink(),
    ]
