"""On SQLite the time now has microseconds. Airflow imports this in each of its processes (`airflow_local_settings`).

SQLite's CURRENT_TIMESTAMP has whole seconds. Airflow starts a run only if its `run_after` is not later than that. So a
run that a person starts would wait for the next full second, half a second on average. On other databases it does not.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import now


@compiles(now, "sqlite")
def now_on_sqlite(_element: object, _compiler: object, **_options: Any) -> str:
    """The SQL of the time now, UTC, written as SQLAlchemy writes times to SQLite."""
    return "strftime('%Y-%m-%d %H:%M:%f000', 'now')"
