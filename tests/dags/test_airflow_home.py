"""An Airflow of one's own: private files, a port of its own, and only what was started is ended."""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from airflow.sdk import Connection

from mqops_airflow.connect import server_of
from mqops_airflow.roles import ROLES, RolesAuthManager
from mqops_demo import airflow_home, spark_connect
from mqops_demo.airflow import connections, dag_ids, estate_of
from mqops_demo.airflow_home import AirflowHome, free_port, lock_folder
from mqops_demo.airflow_processes import running, stop

ROOT = Path(__file__).resolve().parents[2]
# A session of its own with a child in it, as Airflow's scheduler has; says when both are there.
FAMILY = "import subprocess, sys; p = subprocess.Popen(['sleep', '1000']); print(p.pid, flush=True); p.wait()"


@pytest.fixture
def home(tmp_path: Path) -> AirflowHome:
    made = airflow_home.home(tmp_path / "var")
    made.prepare()
    return made


@pytest.fixture
def family() -> Iterator[tuple[subprocess.Popen[str], int]]:
    process = subprocess.Popen(
        [sys.executable, "-c", FAMILY], start_new_session=True, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    child = int(process.stdout.readline())
    yield process, child
    for pid in (process.pid, child):
        if psutil.pid_exists(pid):
            psutil.Process(pid).kill()
    process.wait()
    process.stdout.close()


def write_down(home: AirflowHome, process: subprocess.Popen[str], *, started: float | None = None) -> None:
    row = {"pid": process.pid, "started": started or psutil.Process(process.pid).create_time()}
    (home.folder / "processes.json").write_text(json.dumps({"scheduler": row}))


def test_secrets_and_passwords_are_private_and_stay_the_same(home: AirflowHome) -> None:
    before = {name: (home.folder / name).read_text() for name in ("secrets.json", "passwords.json")}
    home.prepare()
    for name, text in before.items():
        assert (home.folder / name).read_text() == text
        assert stat.S_IMODE((home.folder / name).stat().st_mode) == 0o600
    assert stat.S_IMODE(home.folder.stat().st_mode) == 0o700
    assert len(set(home.passwords.values())) == len(home.passwords) == 4


def test_there_is_a_user_for_each_role_and_a_new_one_gets_a_password(home: AirflowHome) -> None:
    with home.chosen_port():
        environment = home.environment()
    assert environment["AIRFLOW__CORE__AUTH_MANAGER"] == f"{RolesAuthManager.__module__}.{RolesAuthManager.__name__}"
    users = dict(user.split(":") for user in environment["AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS"].split(","))
    assert users == {role: role for role in ROLES}
    before = home.passwords
    home.password_file.write_text(json.dumps({"admin": before["admin"]}))
    home.prepare()
    assert set(home.passwords) == set(ROLES)
    assert home.passwords["admin"] == before["admin"]


def test_everything_listens_on_this_machine_only(home: AirflowHome) -> None:
    with home.chosen_port():
        environment = home.environment()
    assert environment["AIRFLOW__API__HOST"] == environment["SPARK_LOCAL_IP"] == "127.0.0.1"
    assert environment["AIRFLOW__API__BASE_URL"] == home.address
    assert environment["AIRFLOW__CORE__EXECUTION_API_SERVER_URL"] == f"{home.address}/execution/"


def test_two_starts_at_the_same_moment_get_different_ports(tmp_path: Path) -> None:
    one, two = (airflow_home.home(tmp_path / name) for name in ("one", "two"))
    one.prepare()
    two.prepare()
    with one.chosen_port(), two.chosen_port():
        assert one.port != two.port


def test_the_port_is_remembered_and_kept_while_it_is_free(home: AirflowHome) -> None:
    with home.chosen_port():
        first = home.port
    with home.chosen_port():
        assert home.port == first


def test_a_port_that_somebody_listens_on_is_passed_over() -> None:
    port, lock = free_port(28080)
    os.close(lock)
    listener = subprocess.Popen(
        [sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert listener.stdout is not None
    try:
        listener.stdout.readline()  # it listens
        other, lock = free_port(port)
        os.close(lock)
        assert other != port
    finally:
        listener.terminate()
        listener.wait()
        listener.stdout.close()


def test_a_lock_that_somebody_made_a_link_is_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    victim = tmp_path / "victim"
    lock_folder().joinpath("port-28080").symlink_to(victim)
    with pytest.raises(OSError, match="symbolic link"):
        free_port(28080)
    assert not victim.exists()


@pytest.mark.parametrize("how", ["link", "writable"])
def test_a_folder_of_locks_that_others_can_write_to_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    if how == "link":
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "mqops").symlink_to(tmp_path / "elsewhere")
    else:
        (tmp_path / "mqops").mkdir()
        (tmp_path / "mqops").chmod(0o777)
    with pytest.raises(RuntimeError, match="must be a folder that only you can write to"):
        free_port(28080)


def test_nothing_is_made_in_the_shared_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "shared"))
    port, lock = free_port(28080)
    os.close(lock)
    assert [path.name for path in tmp_path.iterdir()] == ["cache"]
    assert stat.S_IMODE((tmp_path / "cache" / "mqops").stat().st_mode) == 0o700
    assert (tmp_path / "cache" / "mqops" / f"port-{port}").exists()


def test_stop_ends_the_whole_family(home: AirflowHome, family: tuple[subprocess.Popen[str], int]) -> None:
    process, child = family
    write_down(home, process)
    assert running(home) == {"scheduler": process.pid}
    assert stop(home, lambda _text: None)
    assert not psutil.pid_exists(child) or psutil.Process(child).status() == psutil.STATUS_ZOMBIE
    assert process.poll() is not None or psutil.Process(process.pid).status() == psutil.STATUS_ZOMBIE
    assert not stop(home, lambda _text: None)


def test_stop_ends_what_a_dead_leader_left(home: AirflowHome, family: tuple[subprocess.Popen[str], int]) -> None:
    process, child = family
    write_down(home, process)
    process.kill()
    process.wait()
    assert running(home) == {}
    stop(home, lambda _text: None)
    assert not psutil.pid_exists(child) or psutil.Process(child).status() == psutil.STATUS_ZOMBIE


def test_another_program_with_a_reused_number_is_left_alone(
    home: AirflowHome, family: tuple[subprocess.Popen[str], int]
) -> None:
    process, child = family
    write_down(home, process, started=12345.0)
    assert running(home) == {}
    stop(home, lambda _text: None)
    assert process.poll() is None
    assert psutil.Process(child).is_running()


def test_connections_and_dags_follow_the_estate(home: AirflowHome) -> None:
    with home.chosen_spark_port():
        made = connections(home)
    server = server_of("spark_default", Connection(conn_id="spark_default", **made["spark_default"]))
    assert (server.host, server.port, server.token) == ("localhost", *map(home.spark_connect.get, ("port", "token")))
    assert json.loads(made["mq_qm1"]["extra"]) == {"queue_manager": "QM1", "home": str(home.queue_managers)}
    assert "qm1_dlq_rules" in dag_ids(estate_of(home))


def test_a_spark_connect_server_that_cannot_listen_is_not_started_again(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind((spark_connect.HOST, 0))
        port = other.getsockname()[1]
        command = [sys.executable, "-m", "mqops_demo.spark_connect", str(tmp_path), str(port)]
        done = subprocess.run(command, env=spark_connect.environment("token"), capture_output=True, text=True)
    assert done.returncode == 1
    assert "BindException" in done.stderr or "Failed to bind" in done.stderr
