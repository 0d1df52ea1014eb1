"""The wheel, installed by pip into empty environments: what each part weighs and does, and what the README says of
"your own Airflow", to the letter, in an Airflow that knows nothing of this repository.

It installs PySpark and Airflow, the oldest and the newest that are supported, which takes a quarter of an hour and
gigabytes: MQOPS_INSTALL=1 asks for it, as `make full` does; MQOPS_AIRFLOW names other versions. Figures are printed
(`pytest -s`).
"""

from __future__ import annotations

import base64
import csv
import gzip
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
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
CORE_MB, WITH_MQ_MB = 250, 320
PATIENCE = 600.0
AIRFLOWS = os.environ.get("MQOPS_AIRFLOW", "3.3.0 3.3.2").split()
"""The oldest and the newest that can be had."""
RULES = "REASON(2085) ACTION(FWD) FWDQ(A) HEADER(NO)\nACTION(RETRY)\n"
THEIRS = """\
from airflow.sdk import dag, task


@dag(schedule=None)
def theirs():
    @task
    def work():
        import pandas

        return pandas.__version__

    work()


theirs()
"""
CONNECTIONS = ("mq_qm1", "spark_default")
DAG = "qm1_dlq_rules"
SECRET = b"TOPSECRET-4711"


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
        program = self.folder / "bin" / words[0]
        done = subprocess.run(
            [str(program if program.exists() else words[0]), *map(str, words[1:])],
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
        print(f"pip install {' '.join(wanted)}: {time.monotonic() - begun:.0f} s, {self.megabytes()} MB")

    def megabytes(self) -> int:
        """Size of what was installed, compiled modules included, pip and setuptools not."""
        site = next(self.folder.glob("lib/python3*/site-packages"))
        ours = [path for path in site.iterdir() if not path.name.startswith(("pip", "setuptools", "pkg_res", "_distu"))]
        files = (one for path in ours for one in (path.rglob("*") if path.is_dir() else [path]) if one.is_file())
        return sum(one.stat().st_size for one in files) // 10**6

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
    assert environment.megabytes() <= CORE_MB
    assert "Process dead-letter queues" in environment.run("mqops", "--help")
    (environment.folder / "t.rules").write_text(RULES)
    assert "valid" in environment.run("mqops", "rules", "check", "t.rules")
    missing = environment.run("mqops", "dlq", "run", DLQ, "QM1", "--dry-run", expect=1)
    assert "pip install 'mqops[mq]'" in missing
    assert missing.count("\n") == 1
    environment.pip(f"{wheel}[embedded]")
    environment.run("mqlite", "build")
    environment.pip(f"{wheel}[mq]", MQ_FILE_PATH=str(environment.folder / "mqlite"))
    assert environment.megabytes() <= WITH_MQ_MB
    environment.run("mqlite", "create", "QM1")
    environment.run("mqlite", "mqsc", "QM1", text="DEFINE QLOCAL(A)\nDEFINE QLOCAL(MQOPS.LEDGER) DEFPSIST(YES)\n")
    manager = Manager("QM1", environment.folder / "queue_managers")
    manager.put(DLQ, [dead_letter("GONE", b"x", reason=2085)])
    said = environment.run("mqops", "dlq", "run", "--once", DLQ, "QM1", "--json", text=RULES)
    assert json.loads(said[: said.rindex("}") + 1])["balanced"] is True
    assert "unbroken" in environment.run("mqops", "ledger", "verify")


class Collector:
    """A server that OpenTelemetry sends to: the names of mqops' metrics that it got."""

    def __init__(self) -> None:
        names = self.names = set[bytes]()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                body = gzip.decompress(body) if self.headers["Content-Encoding"] == "gzip" else body
                names.update(re.findall(rb"mqops\.\w+", body))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def collector() -> Iterator[Collector]:
    made = Collector()
    threading.Thread(target=made.server.serve_forever, daemon=True).start()
    yield made
    made.server.shutdown()


@pytest.fixture(scope="module", params=AIRFLOWS)
def airflow(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    """An Airflow with what people have in it, in which mqops is installed then as the README says."""
    made = Environment(tmp_path_factory.mktemp("airflow") / "environment")
    theirs = ("pandas", "apache-airflow-providers-openlineage")
    made.pip(f"apache-airflow=={request.param}", *theirs, "cffi", "setuptools")
    before = made.versions()
    clone = _clone(tmp_path_factory.mktemp("clone"))
    made.variables |= {"AIRFLOW_HOME": str(made.folder / "airflow")}
    begun = time.monotonic()
    made.run("bash", "-c", f"set -e\ncd {clone}\n{_readme()}")
    print(f"the README's lines: {time.monotonic() - begun:.0f} s, {made.megabytes()} MB")
    made.run("mqlite", "build")  # for IBM's client, and what it connects to
    made.variables |= {"LD_LIBRARY_PATH": str(made.folder / "mqlite" / "lib64")}
    after = made.versions()
    assert {name: after.get(name) for name, version in before.items() if after.get(name, Version("0")) < version} == {}
    print({name: str(after[name]) for name in ("apache-airflow", "pandas", "pyspark", "great-expectations", "ibmmq")})
    yield made
    shutil.rmtree(made.folder)


def _clone(folder: Path) -> Path:
    """What a clone of this repository has."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file() or (ROOT / name).is_symlink():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name, follow_symlinks=False)
    return folder


def _readme() -> str:
    """The commands of the README's section."""
    section = (ROOT / "README.md").read_text().partition("## In your own Airflow\n")[2].partition("\n## ")[0]
    (commands,) = re.findall(r"```sh\n(.*?)```", section, re.DOTALL)
    assert all(f"`{name}`" in section for name in CONNECTIONS)
    return str(commands)


def test_the_lines_of_the_readme_carry_an_incident_to_its_proof_beside_a_dag_of_others(
    airflow: Environment, tmp_path: Path, collector: Collector
) -> None:
    folder, dags = airflow.folder, airflow.folder / "airflow" / "dags"
    (dags / "theirs.py").write_text(THEIRS)
    airflow.run("mqlite", "create", "QM1")
    airflow.run("mqlite", "mqsc", "QM1", text=(dags / "mqsc" / "QM1.mqsc").read_text())
    manager = Manager("QM1", folder / "queue_managers")
    manager.put(DLQ, [dead_letter("PAYMENTS.IN", SECRET, reason=2053) for _ in range(20)])
    home = replace(
        airflow_home.home(tmp_path, AIRFLOW__CORE__DAGS_FOLDER=str(dags), AIRFLOW__CORE__PLUGINS_FOLDER=str(tmp_path)),
        folder=folder / "airflow",
        lake=folder / "airflow" / "var" / "lake",
    )
    home.prepare()
    with home.chosen_port():
        pass  # it is free: Airflow's own server listens there
    own = {name: value for name, value in home.environment().items() if name.startswith("AIRFLOW")}
    (home.folder / "logs").mkdir(exist_ok=True)
    airflow.variables = {name: value for name, value in airflow.variables.items() if name != "MQOPS_LAKE"} | own
    lineage = home.folder / "lineage.jsonl"
    to_file = {"type": "file", "log_file_path": str(lineage), "append": True}
    airflow.variables["AIRFLOW__OPENLINEAGE__TRANSPORT"] = json.dumps(to_file)
    airflow.variables |= {"AIRFLOW__METRICS__OTEL_ON": "True", "OTEL_EXPORTER_OTLP_ENDPOINT": collector.address}
    airflow.run("airflow", "db", "migrate")
    of_mq = json.dumps({"queue_manager": "QM1", "home": str(folder / "queue_managers")})
    airflow.run("airflow", "connections", "add", CONNECTIONS[0], "--conn-type", "mq", "--conn-extra", of_mq)
    of_spark = ("--conn-type", "spark", "--conn-host", "local[*]")
    airflow.run("airflow", "connections", "add", CONNECTIONS[1], *of_spark)
    processes = [_start(airflow, home.folder / "logs", name) for name in AIRFLOW]
    try:
        client = AirflowClient(home)
        until(lambda: _healthy(client), PATIENCE)
        client.log_in()
        for name in (DAG, "theirs"):
            client.wait_for_dag(name)
            client.unpause(name)
        assert client.call("GET", "/importErrors")["total_entries"] == 0
        of_others = client.trigger("theirs")
        run_id = client.trigger(DAG, dry_run=False)
        result = client.follow(DAG, run_id, approve=lambda question: True)
        assert result.state == "success", client.failures(result)
        assert client.xcom(DAG, run_id, "prove")["balanced"] is True
        assert manager.depth("PAYMENTS.IN") == 20
        assert client.follow("theirs", of_others, approve=lambda question: True).state == "success"
        viewer = AirflowClient(home, "viewer")
        viewer.log_in()
        assert viewer.page("/mqops/estate").status_code == 200
        assert httpx.get(f"{home.address}/mqops/estate").status_code == 401
    finally:
        for one in processes:
            os.killpg(one.pid, signal.SIGTERM)
        for one in processes:
            one.wait()
    (exported,) = re.findall(r"`(export MQOPS_ESTATE=.*?)`", (ROOT / "README.md").read_text())
    assert "unbroken" in airflow.run("bash", "-c", f"{exported}; mqops ledger verify")
    assert "ibmmq" in airflow.run("bash", "-c", f"{exported}; mqops doctor QM1 || test $? = 1")
    _lineage_is_told(lineage)
    assert {b"mqops.messages_moved", b"mqops.runs_proved"} <= collector.names


def _lineage_is_told(file: Path) -> None:
    """Queue → snapshot → plan → destination, and nothing of a message."""
    assert SECRET not in file.read_bytes()
    told = {}
    for event in map(json.loads, file.read_text().splitlines()):
        if event["eventType"] == "COMPLETE":
            sides = [{(one["namespace"], one["name"]) for one in event.get(side, ())} for side in ("inputs", "outputs")]
            told[event["job"]["name"]] = sides
    dlq, snapshot, plan = ("ibmmq://QM1", DLQ), ("mqops://QM1", f"{DAG}/snapshot"), ("mqops://QM1", f"{DAG}/plan")
    assert told[f"{DAG}.observe"] == [{dlq}, {snapshot}]
    assert told[f"{DAG}.decide"] == [{snapshot}, {plan}]
    assert told[f"{DAG}.prove"] == [{plan, dlq}, {("ibmmq://QM1", "PAYMENTS.IN")}]


def test_every_part_leaves_pyspark_whole(airflow: Environment, wheel: Path) -> None:
    before = airflow.versions()
    airflow.pip(f"{wheel}[all]", MQ_FILE_PATH=str(airflow.folder / "mqlite"))
    after = airflow.versions()
    assert {name for name, version in before.items() if after.get(name, Version("0")) < version} == set()
    assert airflow.broken_files("pyspark") == []
    assert "pyspark-client" not in after
    assert "No broken requirements found" in airflow.run("pip", "check")


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
