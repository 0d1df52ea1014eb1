"""The pages' places in Airflow's UI: menu entries, tabs of a DAG, a run and a task, and the link on every task."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from airflow.sdk import BaseOperatorLink, conf

from mqops_airflow.ui.table import PAGES, PREFIX, Page, View


def external_views() -> list[dict[str, str | bool]]:
    """Airflow's `external_views`, of the table of pages."""
    return [_external_view(page, view) for page in PAGES for view in page.views]


def airflow_path() -> str:
    """The path that Airflow's UI and API have in front, "" if they lie at the root."""
    return urlsplit(str(conf.get("api", "base_url", fallback=""))).path.rstrip("/")


def path_of_dag(dag_id: str) -> str:
    """The path of a DAG's own page in Airflow, with a first slash."""
    return f"/dags/{quote(dag_id)}"


def path_of_run(dag_id: str, run_id: str) -> str:
    """The path of the page of a DAG run in Airflow, with a first slash."""
    return f"{path_of_dag(dag_id)}/runs/{quote(run_id)}"


def address(name: str, **query: str) -> str:
    """The whole address of a page, for links in notes and tasks."""
    base = conf.get("api", "base_url", fallback="").rstrip("/")
    return f"{base}{PREFIX}/{name}?{urlencode(query, quote_via=quote)}"


class RunLink(BaseOperatorLink):
    """The button on the task that leads to the page of its run."""

    name = "MQ run"

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        """The address of the page."""
        return address("run", dag_id=ti_key.dag_id, run_id=ti_key.run_id)


def _external_view(page: Page, view: View) -> dict[str, str | bool]:
    path = airflow_path() + PREFIX
    query = f"?{view.query}" if view.query else ""
    made: dict[str, str | bool] = {
        "name": view.title,
        "href": f"{path}{page.path}{query}",
        "destination": view.destination,
        "url_route": f"mqops-{page.name}-{view.destination}".replace("_", "-"),
    }
    light, dark = view.icons
    if light:
        made |= {"icon": f"{path}/static/{light}", "icon_dark_mode": f"{path}/static/{dark}"}
    return made | ({"nav_top_level": True} if view.destination == "nav" else {})
