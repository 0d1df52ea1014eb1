"""The Data Docs of a quality run in Airflow's UI: the link on the task, and the pages behind it.

1. The pages lie in the run's folder in the lake. Airflow's API server shows them below `/mqops/data_docs`, to people
   who may see the DAG's task logs, and to nobody else.
2. A page is found by DAG id and run id, as the run's own tasks find its folder: no path comes from outside.
3. The browser runs no script in them and fetches nothing from elsewhere (Content-Security-Policy).
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

from airflow.sdk import BaseOperatorLink, conf

from mqops.errors import MqopsError
from mqops.estate_sections import dag_prefix
from mqops.quality.results import docs_of
from mqops_airflow.runs.run_folder import found_folder
from mqops_airflow.runs.workplace import estate_to_look
from mqops_airflow.ui.table import PREFIX

PATH = "/data_docs"
FIRST = "index.html"
HEADERS = {
    "Content-Security-Policy": "sandbox allow-same-origin; default-src 'none'; style-src 'unsafe-inline'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "private, no-store",
}


class DataDocsLink(BaseOperatorLink):
    """The button on the task that leads to the run's Data Docs."""

    name = "Data Docs"

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        """The address of the first page."""
        return address(ti_key.dag_id, ti_key.run_id)


def address(dag_id: str, run_id: str) -> str:
    """The address of the first page of a run's Data Docs."""
    base = conf.get("api", "base_url", fallback="").rstrip("/")
    return f"{base}{PREFIX}{PATH}/{quote(dag_id, safe='')}/{quote(run_id, safe='')}/{FIRST}"


def page_of(dag_id: str, run_id: str, page: str) -> Path | None:
    """The file of a page, None where there is none. Raises `LakeError`, `SettingsError`."""
    for name, settings in estate_to_look().estate.queue_managers.items():
        if settings.snapshot_quality and dag_id == f"{dag_prefix(name)}_snapshot_quality":
            run = SimpleNamespace(dag_id=dag_id, run_id=run_id)
            docs = docs_of(found_folder(run, name))
            if docs is None:
                return None
            docs = docs.resolve()
            found = (docs / page).resolve()
            return found if found.is_relative_to(docs) and found.is_file() else None
    return None


def router() -> Any:
    """The route of the pages."""
    from fastapi import APIRouter, Depends, HTTPException  # noqa: PLC0415
    from fastapi.responses import FileResponse  # noqa: PLC0415

    from mqops_airflow.pages.security import may, person  # noqa: PLC0415

    made, who = APIRouter(), Depends(person)

    @made.get(f"{PATH}/{{dag_id}}/{{run_id}}/{{page:path}}")
    def data_docs(dag_id: str, run_id: str, page: str, user: Any = who) -> Any:
        if not may(user, dag_id, entity="TASK_LOGS"):
            raise HTTPException(403, "You may not read the task logs of this DAG.")
        try:
            found = page_of(dag_id, run_id, page or FIRST)
        except MqopsError:
            found = None
        if found is None:
            raise HTTPException(404, "There is no such page of Data Docs")
        return FileResponse(found, headers=HEADERS)

    return made
