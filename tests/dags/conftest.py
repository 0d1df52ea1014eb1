"""An Airflow of the tests' own: its environment is set before anything imports airflow, its database when needed."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from mq_support import until

ROOT = Path(__file__).resolve().parents[2]
HOME = Path(tempfile.mkdtemp(prefix="mqops-airflow-"))
os.environ |= {
    "AIRFLOW_HOME": str(HOME),
    "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "dags"),
    "AIRFLOW__CORE__PLUGINS_FOLDER": str(ROOT / "plugins"),
    "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
    "AIRFLOW__CORE__UNIT_TEST_MODE": "False",
    "AIRFLOW__CORE__FERNET_KEY": "81HqDtbqAywKSOumSha3BhWNOdQ26slT6K0YaZeZyPs=",
    "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
}

ESTATE = """\
lake: lake
queue_managers:
  QM1:
    connection: mq_test
    spark: spark_test
    dlq_rules:
      rules: qm1.rules
"""
ALL_WORKFLOWS = """\
lake: lake
retention: {snapshots: 30d}
queue_managers:
  QM1:
    connection: mq_qm1
    dlq_rules: {rules: qm1.rules}
    backout_reprocess: {rules: qm1.rules, quarantine: Q}
    expiry_scan: {}
    snapshot: {}
    snapshot_quality: {suites: [any.yaml]}
    trigger_monitor: {queues: [IQ]}
    poison_guard: {}
"""
RULES = "ACTION(FWD) FWDQ(REALLY.DEAD.QUEUE) HEADER(YES)\n"


def pytest_unconfigure() -> None:
    shutil.rmtree(HOME, ignore_errors=True)


@pytest.fixture(scope="session")
def airflow_database() -> Path:
    """Airflow's database, migrated."""
    subprocess.run([sys.executable, "-m", "airflow", "db", "migrate"], check=True, capture_output=True)
    return HOME / "airflow.db"


@pytest.fixture
def estate_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a small estate and its rules, which the DAG files will read."""
    (tmp_path / "estate.yaml").write_text(ESTATE)
    (tmp_path / "qm1.rules").write_text(RULES)
    monkeypatch.setenv("MQOPS_ESTATE", str(tmp_path / "estate.yaml"))
    monkeypatch.delenv("MQOPS_LAKE", raising=False)
    return tmp_path


@pytest.fixture
def all_workflows(estate_folder: Path) -> Path:
    """The same with an estate in which QM1 has every workflow."""
    (estate_folder / "estate.yaml").write_text(ALL_WORKFLOWS)
    return estate_folder


@pytest.fixture
def dag_file(estate_folder: Path) -> Iterator[Any]:
    """Runs a DAG file as the DAG processor does; call it with the file's name."""

    def run(name: str) -> ModuleType:
        module = ModuleType(f"tested_{name}")
        path = ROOT / "dags" / f"{name}.py"
        module.__file__ = str(path)
        sys.modules[module.__name__] = module
        exec(compile(path.read_text(), str(path), "exec"), module.__dict__)
        return module

    yield run
    sys.modules.pop("tested_dlq_rules", None)


@pytest.fixture(scope="session")
def pages() -> Any:
    """The application of the pages. It is made once for each API server, too."""
    from mqops_airflow.pages.routes import application  # noqa: PLC0415

    return application()


@pytest.fixture(autouse=True)
def nothing_is_asked_any_more(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What the pages ask a queue manager in another thread has its answer before the test's environment is taken back:
    it sets MQLITE_HOME for a moment, and what it finds there later would be another test's."""
    yield
    if pages := sys.modules.get("mqops_airflow.pages.answers"):
        until(lambda: not [one for one in threading.enumerate() if one.name == pages.THREAD])


@pytest.fixture
def client(airflow_database: Path, estate_folder: Path, pages: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Asks a page as a person of a role; "" is nobody. The page has every answer, however busy the machine is."""
    from airflow.api_fastapi import app as airflow_app  # noqa: PLC0415
    from fastapi.testclient import TestClient  # noqa: PLC0415
    from page_text import compared  # noqa: PLC0415

    from mqops_airflow.pages import answers  # noqa: PLC0415
    from mqops_airflow.roles import ROLES, RolesAuthManager  # noqa: PLC0415

    users = ",".join(f"{role}:{role}" for role in (*ROLES, "stranger"))
    monkeypatch.setenv("AIRFLOW__CORE__AUTH_MANAGER", "mqops_airflow.roles.RolesAuthManager")
    monkeypatch.setenv("AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS", users)
    monkeypatch.setenv("AIRFLOW__API_AUTH__JWT_SECRET", "a secret of this test alone, long enough for a key" * 2)
    monkeypatch.setattr(airflow_app, "_AuthManagerState", airflow_app._AuthManagerState)
    auth = RolesAuthManager()
    monkeypatch.setattr(airflow_app._AuthManagerState, "instance", auth)
    monkeypatch.setattr(answers, "WAIT", 60.0)
    asked = TestClient(pages)

    def ask(path: str, role: str = "viewer", known: str = "", **query: str) -> Any:
        from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser  # noqa: PLC0415

        headers = {}
        if role:
            token = auth.generate_jwt(SimpleAuthManagerUser(username=role, role=role))
            headers = {"Authorization": f"Bearer {token}"} | ({"If-None-Match": known} if known else {})
        return compared(asked.get(path, params=query or None, headers=headers))

    return ask


@pytest.fixture
def manager(tmp_path: Path) -> Any:
    """A queue manager with a queue that is full after a message."""
    from mq_support import create  # noqa: PLC0415

    return create(tmp_path / "home", "QM1", "DEFINE QLOCAL(A)\nDEFINE QLOCAL(FULL) MAXDEPTH(1)\n")


@pytest.fixture
def runs_of_airflow(airflow_database: Path) -> Iterator[Any]:
    """Runs of the DAG in Airflow's database: `first` is at work and asks a question, `second` is queued behind it."""
    from airflow._shared.timezones import timezone  # noqa: PLC0415
    from airflow.models.dag import DagModel  # noqa: PLC0415
    from airflow.models.dagbundle import DagBundleModel  # noqa: PLC0415
    from airflow.models.dagrun import DagRun  # noqa: PLC0415
    from airflow.utils.session import create_session  # noqa: PLC0415
    from runs_on_pages import DAG, task_of  # noqa: PLC0415

    dag = DagModel(dag_id=DAG, bundle_name="dags", max_active_runs=1, is_paused=False)
    runs = [
        DagRun(dag_id=DAG, run_id=run_id, run_type="manual", state=state, run_after=timezone.utcnow())
        for run_id, state in (("first", "running"), ("second", "queued"), ("ended", "failed"))
    ]
    with create_session() as session:
        session.merge(DagBundleModel(name="dags"))
        session.flush()
        session.add(dag)
        session.flush()
        session.add_all(runs)
    with sqlite3.connect(airflow_database) as database:
        database.execute(task_of("first", "approve", "awaiting_input"))
    database.close()

    def change(statement: str) -> None:
        with sqlite3.connect(airflow_database) as database:
            database.execute(statement)
        database.close()

    yield change
    change("DELETE FROM dag_run_note")
    ours = f"'{DAG}', 'qm1_snapshot', 'mq_undo', 'mq_recover', 'mq_trigger_explain'"
    for table in ("task_instance", "dag_run", "dag"):
        change(f"DELETE FROM {table} WHERE dag_id IN ({ours})")
