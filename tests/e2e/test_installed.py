"""The wheel, installed by pip into empty environments: what each part weighs and does, and an Airflow that knows
nothing of this repository.

It installs PySpark and Airflow twice, which takes minutes and a gigabyte: MQOPS_INSTALL=1 asks for it, as `make full`
does. Figures are printed (`pytest -s`).
"""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from mq_support import DLQ, Manager, dead_letter, until
from packaging.utils import canonicalize_name
from packaging.version import Version

from mqops_demo import airflow_home
from mqops_demo.airflow_client import AirflowClient
from mqops_demo.airflow_processes import AIRFLOW

pytestmark = pytest.mark.skipif("MQOPS_INSTALL" not in os.environ, reason="`make full` runs it")
ROOT = Path(__file__).resolve().parents[2]
CORE_MIB, WITH_MQ_MIB = 250, 350
PATIENCE = 600.0
RULES = "REASON(2085) ACTION(FWD) FWDQ(A) HEADER(NO)\nACTION(RETRY)\n"
ESTATE = """\
lake: ../lake
queue_managers:
  QM1:
    connection: mq_qm1
    dlq_rules: {rules: mine.rules}
"""
THREE_LINES = """\
from mqops_airflow import estate_dags

globals().update(estate_dags("estate.yaml"))
"""


class Environment:
    """An empty Python environment of its own; without the variables of this repository."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        self.variables = {
            "PATH": f"{folder / 'bin'}{os.pathsep}/usr/bin{os.pathsep}/bin",
            "HOME": str(folder),
            "JAVA_HOME": os.environ["JAVA_HOME"],
            "SPARK_LOCAL_IP": "127.0.0.1",
            "MQLITE_HOME": str(folder / "queue_managers"),
            "MQOPS_LAKE": str(folder / "lake"),
        } | {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_", "HTTP"))}

    def run(self, *words: str | Path, text: str = "", expect: int = 0, **variables: str) -> str:
        """Run a program of the environment; its output, that of errors behind it."""
        done = subprocess.run(
            [str(self.folder / "bin" / words[0]), *map(str, words[1:])],
            input=text,
            env=self.variables | variables,
            cwd=self.folder,
            capture_output=True,
            text=True,
        )
        assert done.returncode == expect, done.stdout + done.stderr
        return done.stdout + done.stderr

    def pip(self, *wanted: str, **variables: str) -> None:
        """Install, and print seconds and size."""
        begun = time.monotonic()
        self.run("pip", "install", "--quiet", *wanted, **variables)
        print(f"pip install {' '.join(wanted)}: {time.monotonic() - begun:.0f} s, {self.mib()} MiB")

    def mib(self) -> int:
        """Size of what was installed, compiled modules included, pip and setuptools not."""
        site = next(self.folder.glob("lib/python3*/site-packages"))
        ours = [path for path in site.iterdir() if not path.name.startswith(("pip", "setuptools", "pkg_res", "_distu"))]
        files = (one for path in ours for one in (path.rglob("*") if path.is_dir() else [path]) if one.is_file())
        return sum(one.stat().st_size for one in files) // 2**20

    def versions(self) -> dict[str, Version]:
        """Package → its version."""
        found = json.loads(self.run("pip", "list", "--format", "json").splitlines()[0])
        return {canonicalize_name(one["name"]): Version(one["version"]) for one in found}

    def broken_files(self, package: str) -> list[str]:
        """Files of a package that are not those that it was installed with."""
        site = next(self.folder.glob("lib/python3*/site-packages"))
        (record,) = site.glob(f"{package}-*.dist-info/RECORD")
        rows = [row for row in csv.reader(record.read_text().splitlines()) if row[1]]
        assert rows
        return [name for name, digest, _ in rows if digest.partition("=")[2] != _digest(site / name)]


def _digest(path: Path) -> str:
    raw = hashlib.sha256(path.read_bytes()).digest()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(place)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return next(place.glob("*.whl"))


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[Environment]:
    made = Environment(tmp_path / "environment")
    yield made
    shutil.rmtree(made.folder)


def test_the_core_needs_no_compiler_and_its_command_line_a_queue_manager(environment: Environment, wheel: Path) -> None:
    environment.pip(str(wheel), CC="/bin/false")
    assert environment.mib() <= CORE_MIB
    assert "Process dead-letter queues" in environment.run("mqops", "--help")
    (environment.folder / "t.rules").write_text(RULES)
    assert "valid" in environment.run("mqops", "rules", "check", "t.rules")
    missing = environment.run("mqops", "dlq", "run", DLQ, "QM1", "--dry-run", expect=1)
    assert missing.endswith("pip install 'mqops[mq]'\n")
    environment.pip(f"{wheel}[embedded]")
    environment.run("mqlite", "build")
    environment.pip(f"{wheel}[mq]", MQ_FILE_PATH=str(environment.folder / "mqlite"))
    assert environment.mib() <= WITH_MQ_MIB
    environment.run("mqlite", "create", "QM1")
    environment.run("mqlite", "mqsc", "QM1", text="DEFINE QLOCAL(A)\n")
    manager = Manager("QM1", environment.folder / "queue_managers")
    manager.put(DLQ, [dead_letter("GONE", b"x", reason=2085)])
    said = environment.run("mqops", "dlq", "run", "--once", DLQ, "QM1", "--json", text=RULES)
    assert json.loads(said[: said.rindex("}") + 1])["balanced"] is True
    assert "unbroken" in environment.run("mqops", "ledger", "verify")


@pytest.fixture(scope="module")
def airflow(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Iterator[Environment]:
    """An Airflow with what people have in it, in which mqops is installed then, with all its parts."""
    made = Environment(tmp_path_factory.mktemp("airflow") / "environment")
    made.pip("apache-airflow>=3.3,<3.5", "pandas", "cffi", "setuptools")
    before = made.versions()
    made.pip(f"{wheel}[embedded]")
    made.run("mqlite", "build")
    made.pip(f"{wheel}[all]", MQ_FILE_PATH=str(made.folder / "mqlite"))
    after = made.versions()
    assert {name: after.get(name) for name, version in before.items() if after.get(name, Version("0")) < version} == {}
    print({name: str(after[name]) for name in ("apache-airflow", "pandas", "pyspark", "great-expectations")})
    yield made
    shutil.rmtree(made.folder)


def test_pyspark_is_whole(airflow: Environment) -> None:
    assert airflow.broken_files("pyspark") == []
    assert "pyspark-client" not in airflow.versions()
    assert "No broken requirements found" in airflow.run("pip", "check")


def test_an_airflow_of_three_lines_proves_the_incident(airflow: Environment, tmp_path: Path) -> None:
    folder, dags = airflow.folder, tmp_path / "airflow" / "dags"
    dags.mkdir(parents=True)
    (dags / "estate.yaml").write_text(ESTATE)
    (dags / "mine.rules").write_text(RULES)
    (dags / "mine.py").write_text(THREE_LINES)
    airflow.run("mqlite", "create", "QM1")
    airflow.run("mqlite", "mqsc", "QM1", text="DEFINE QLOCAL(A)\nDEFINE QLOCAL(MQOPS.LEDGER) DEFPSIST(YES)\n")
    manager = Manager("QM1", folder / "queue_managers")
    manager.put(DLQ, [dead_letter("GONE", b"x", reason=2085) for _ in range(20)])
    spark = {"conn_type": "spark", "host": "local[2]"}
    mq = {"conn_type": "mq", "extra": {"queue_manager": "QM1", "home": str(folder / "queue_managers")}}
    settings = {
        "AIRFLOW__CORE__DAGS_FOLDER": str(dags),
        "AIRFLOW__CORE__PLUGINS_FOLDER": str(tmp_path / "plugins"),
        "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps(spark),
        "AIRFLOW_CONN_MQ_QM1": json.dumps(mq),
    }
    home = replace(airflow_home.home(tmp_path, **settings), lake=tmp_path / "airflow" / "lake")
    home.prepare()
    with home.chosen_port():
        pass  # it is free: Airflow's own server listens there
    variables = {name: value for name, value in home.environment().items() if name.startswith("AIRFLOW")}
    (home.folder / "logs").mkdir(exist_ok=True)
    own = {name: value for name, value in airflow.variables.items() if name != "MQOPS_LAKE"}
    airflow.variables = own | variables
    airflow.run("airflow", "db", "migrate")
    processes = [_start(airflow, home.folder / "logs", name) for name in AIRFLOW]
    try:
        client = AirflowClient(home)
        until(lambda: _healthy(client), PATIENCE)
        client.log_in()
        client.wait_for_dag("qm1_dlq_rules")
        assert client.call("GET", "/importErrors")["total_entries"] == 0
        client.unpause("qm1_dlq_rules")
        run_id = client.trigger("qm1_dlq_rules", dry_run=False)
        result = client.follow("qm1_dlq_rules", run_id, approve=lambda question: True)
        assert result.state == "success", client.failures(result)
        assert client.xcom("qm1_dlq_rules", run_id, "prove")["balanced"] is True
        assert manager.depth("A") == 20
        viewer = AirflowClient(home, "viewer")
        viewer.log_in()
        assert viewer.page("/mqops/estate").status_code == 200
        assert httpx.get(f"{home.address}/mqops/estate").status_code == 401
    finally:
        for one in processes:
            os.killpg(one.pid, signal.SIGTERM)
        for one in processes:
            one.wait()
    said = airflow.run("mqops", "ledger", "verify", MQOPS_LAKE=str(tmp_path / "airflow" / "lake"))
    assert "unbroken" in said


def _start(airflow: Environment, logs: Path, name: str) -> subprocess.Popen[bytes]:
    with open(logs / f"{name}.log", "ab") as log:
        return subprocess.Popen(
            [airflow.folder / "bin" / "airflow", *AIRFLOW[name]],
            env=airflow.variables,
            cwd=airflow.folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def _healthy(client: AirflowClient) -> Any:
    try:
        parts = client.page("/api/v2/monitor/health").json()
    except (httpx.TransportError, ValueError):
        return False
    return all(
        parts.get(name, {}).get("status") == "healthy" for name in ("metadatabase", "scheduler", "dag_processor")
    )
