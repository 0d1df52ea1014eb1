"""Asks Airflow's real API application for every route of the pages, as each role, as nobody, and with hostile names.

Writes AIRFLOW_HOME/answers.json.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from airflow.api_fastapi.app import create_app, get_auth_manager
from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser
from fastapi.testclient import TestClient

from mqops_airflow.pages.routes import application
from mqops_airflow.roles import ROLES
from mqops_airflow.ui.table import PAGES, PREFIX
from mqops_airflow.ui.views import external_views

DLQ = "SYSTEM.DEAD.LETTER.QUEUE"
HOSTILE = "<script>alert(1)</script>"


def main() -> None:
    client = TestClient(create_app(apps="core"), raise_server_exceptions=False)

    def ask(path: str, role: str) -> dict[str, Any]:
        headers = {}
        if role != "nobody":
            token = get_auth_manager().generate_jwt(SimpleAuthManagerUser(username=role, role=role))
            headers["Authorization"] = f"Bearer {token}"
        answer = client.get(path, headers=headers, follow_redirects=False)
        return {"status": answer.status_code, "headers": dict(answer.headers), "text": answer.text}

    first = ask(f"{PREFIX}/estate", "viewer")
    silent = ask(f"{PREFIX}/triggers?queue_manager=SILENT1", "viewer")
    while f"{DLQ} is 100 % full" not in (shown := ask(f"{PREFIX}/estate", "viewer"))["text"]:
        assert shown["status"] == 200, shown  # a page waits itself for answers
    routes = [PREFIX + re.sub(r"\{[^}]*\}", "x", path) for path in paths()]
    routes += [f"{PREFIX}/static/{icon}" for icon in ("pages.css", "queues_light.svg")]
    asked = {"nobody": routes, "none": routes, **{role: list(routes) for role in ROLES}}
    asked["viewer"] += [f"{PREFIX}/estate?queue_manager={name}" for name in ("OTHER", "QM1", HOSTILE)]
    asked["viewer"] += of_each("GONE") + of_each("FILE")
    asked["operator"] += [f"{PREFIX}/{page}?queue_manager=QM1" for page in ("dead_letters", "quality")]
    answers = {role: {path: ask(path, role) for path in paths} for role, paths in asked.items()}
    found = {"first": first, "silent triggers": silent, "routes": routes, "views": external_views(), **answers}
    (Path(os.environ["AIRFLOW_HOME"]) / "answers.json").write_text(json.dumps(found))


def of_each(queue_manager: str) -> list[str]:
    """Each page of a queue manager."""
    return [f"{PREFIX}{page.path}?queue_manager={queue_manager}" for page in PAGES if page.in_menu]


def paths() -> list[str]:
    """The path of every route of the application."""
    return [str(route.path) for route in application().routes if "GET" in getattr(route, "methods", ())]


if __name__ == "__main__":
    main()
