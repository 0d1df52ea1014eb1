"""The pages behind Airflow's login and its access log, on a socket that listens: `pages_server.py DESCRIPTOR [whole]`.

`whole` is all of Airflow's API server; else only what the pages need of it, which starts at once. A line of standard
output has a login for each role and for `admin`, JSON; what follows is the log.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import uvicorn
from airflow.api_fastapi.app import create_app, create_auth_manager, get_auth_manager, init_access_logging
from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser
from fastapi import FastAPI

from mqops_airflow.pages.app import app
from mqops_airflow.roles import ROLES
from mqops_airflow.ui.table import PREFIX

LOGINS = "logins: "


def served(*, whole: bool) -> Any:
    if whole:
        return create_app(apps="all")
    create_auth_manager()
    made = FastAPI()
    made.mount(PREFIX, app)
    init_access_logging(made)
    return made


def main() -> None:
    application = served(whole=sys.argv[2:] == ["whole"])
    people = {name: SimpleAuthManagerUser(username=name, role=name) for name in (*ROLES, "nobody")}
    logins = {name: get_auth_manager().generate_jwt(user) for name, user in people.items()}
    print(f"\n{LOGINS}{json.dumps(logins)}", flush=True)
    uvicorn.run(application, fd=int(sys.argv[1]), log_level="error", access_log=False)


if __name__ == "__main__":
    main()
