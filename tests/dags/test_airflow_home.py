"""An Airflow of one's own: private files, a port of its own, and only what was started is ended."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import stat
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from airflow.sdk import Connection
from neighbours import NOBODY, neighbour
from process_ended import ended_by_number

from mqops import peer
from mqops.errors import SettingsError
from mqops.spark_private import TOKEN_FILE
from mqops_airflow.roles import ROLES, RolesAuthManager
from mqops_airflow.spark.connect import server_of
from mqops_demo import airflow_home, airflow_processes, spark_connect
from mqops_demo.airflow import connections, dag_ids, estate_of
from mqops_demo.airflow_client import AirflowClient
from mqops_demo.airflow_home import AirflowHome, free_port, write_private
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
    both = [psutil.Process(pid) for pid in (process.pid, child)]
    yield process, child
    for one in both:
        with suppress(psutil.NoSuchProcess):
            one.kill()
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


def test_a_file_of_settings_that_a_person_has_written_stays(home: AirflowHome) -> None:
    place, said = home.folder / "config" / "airflow_local_settings.py", list[str]()
    own = place.read_text()
    assert "import mqops_demo.sqlite_now" in own
    place.write_text("STATE_COLORS = {}\n")
    home.prepare(said.append)
    assert place.read_text() == "STATE_COLORS = {}\n"
    assert said == [
        f"{place} stays as it is. Without the line `import mqops_demo.sqlite_now` in it, runs start half a second later"
    ]
    place.write_text(f"{own}STATE_COLORS = {{}}\n")
    home.prepare(said.append)
    assert place.read_text() == f"{own}STATE_COLORS = {{}}\n"
    assert len(said) == 1


def test_two_starts_at_the_same_moment_get_different_ports(tmp_path: Path) -> None:
    one, two = (airflow_home.home(tmp_path / name) for name in ("one", "two"))
    one.prepare()
    two.prepare()
    with one.chosen_port(), two.chosen_port():
        assert one.port != two.port


def test_the_port_is_remembered_and_kept_while_it_is_free(home: AirflowHome, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        apart = free.getsockname()[1]
    monkeypatch.setattr(airflow_home, "FIRST_PORT", apart)  # another test may look for one from the usual port on
    with home.chosen_port():
        first = home.port
    with home.chosen_port():
        assert home.port == first


def test_a_port_that_somebody_listens_on_is_passed_over() -> None:
    listener = subprocess.Popen(
        [sys.executable, "-m", "http.server", "0", "--bind", "127.0.0.1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert listener.stdout is not None
    try:
        port = int(re.findall(r"port (\d+)", listener.stdout.readline())[0])  # it listens
        other, held = free_port(port)
        os.close(held)
        assert other != port
    finally:
        listener.terminate()
        listener.wait()
        listener.stdout.close()


def test_an_answer_does_not_wait_until_the_client_has_acknowledged_its_headers(home: AirflowHome) -> None:
    with (
        home.chosen_port() as descriptor,
        socket.socket(fileno=os.dup(descriptor)) as listener,
        socket.create_connection(listener.getsockname()),
        listener.accept()[0] as served,
    ):
        assert served.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_a_run_does_not_wait_for_the_next_full_second(home: AirflowHome) -> None:
    """Airflow starts a run whose `run_after` is not later than `func.now()`, and keeps times as texts in SQLite."""
    asked = "from airflow.settings import engine; from sqlalchemy import String, cast, func, select"
    with home.chosen_port(), home.chosen_spark_port():
        command = [sys.executable, "-c", f"{asked}; print(engine.connect().scalar(select(cast(func.now(), String))))"]
        done = subprocess.run(command, env=home.environment(), capture_output=True, text=True, check=True)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}", done.stdout.splitlines()[-1])


def test_stop_ends_the_whole_family(home: AirflowHome, family: tuple[subprocess.Popen[str], int]) -> None:
    process, child = family
    write_down(home, process)
    assert running(home) == {"scheduler": process.pid}
    assert stop(home, lambda _text: None)
    assert ended_by_number(child)
    assert process.poll() is not None
    assert not stop(home, lambda _text: None)


def test_stop_ends_what_a_dead_leader_left(home: AirflowHome, family: tuple[subprocess.Popen[str], int]) -> None:
    process, child = family
    write_down(home, process)
    process.kill()
    process.wait()
    assert running(home) == {}
    stop(home, lambda _text: None)
    assert ended_by_number(child)


def test_another_program_with_a_reused_number_is_left_alone(
    home: AirflowHome, family: tuple[subprocess.Popen[str], int]
) -> None:
    process, child = family
    write_down(home, process, started=12345.0)
    assert running(home) == {}
    stop(home, lambda _text: None)
    assert process.poll() is None
    assert psutil.Process(child).is_running()


def test_connections_and_dags_follow_the_estate(home: AirflowHome, monkeypatch: pytest.MonkeyPatch) -> None:
    with home.chosen_port(), home.chosen_spark_port():
        made = connections(home)
        monkeypatch.setenv(TOKEN_FILE, home.environment()[TOKEN_FILE])
    server = server_of("spark_default", Connection(conn_id="spark_default", **made["spark_default"]))
    assert (server.host, server.token) == ("localhost", "")  # the token is in the file: each start has another one
    assert {name: getattr(server, name) for name in home.spark_connect} == home.spark_connect
    assert json.loads(made["mq_qm1"]["extra"]) == {"queue_manager": "QM1", "home": str(home.queue_managers)}
    assert "qm1_dlq_rules" in dag_ids(estate_of(home))


def test_a_spark_that_cannot_start_is_not_started_again(tmp_path: Path) -> None:
    port, listener = free_port(28080)
    command = [sys.executable, "-m", "mqops_demo.spark_connect", str(tmp_path), str(port), f"--listener={listener}"]
    variables = {**spark_connect.environment(), "JAVA_HOME": str(tmp_path / "none")}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, pass_fds=[listener])
    os.close(listener)
    assert done.returncode == 1
    assert "java" in done.stderr


def test_the_port_is_held_from_before_the_start_and_another_one_is_told(home: AirflowHome) -> None:
    told: list[str] = []
    with neighbour(0) as other:
        taken = other.says()["port"]
        write_private(home.folder / "port.json", {"port": taken})
        with home.chosen_port(told.append), neighbour(home.port) as late:
            assert home.port > taken
            assert late.asked()["bound"] == 0
        user = NOBODY if os.getuid() == 0 else os.getuid()
        held = f"Port {taken} of this machine is held by a process of user {user}"
        assert told == [f"{held}: Airflow listens on port {home.port} instead"]


def test_who_listens_at_airflows_address_gets_no_password(home: AirflowHome, monkeypatch: pytest.MonkeyPatch) -> None:
    with neighbour(0, monkeypatch=monkeypatch) as other:
        write_private(home.folder / "port.json", {"port": other.says()["port"]})
        monkeypatch.setattr("mqops_demo.airflow_client.PATIENCE", 20.0)  # he answers nothing
        client = AirflowClient(home)
        for ask in (client.log_in, lambda: list(client._unhealthy()), lambda: client.page("/")):
            with pytest.raises(SettingsError, match="nothing was sent there"):
                ask()
        assert other.asked()["got"] == ""


def test_a_client_of_another_user_and_a_stranger_behind_the_relay_get_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The JVM has died, and a neighbour listens on its port: what a client says ends at the relay."""

    async def asked(listener: socket.socket, port: int) -> bytes:
        relay = spark_connect.Relay(listener)
        serving = asyncio.create_task(relay.serve())
        relay.up(port)
        reader, writer = await asyncio.open_connection(*listener.getsockname())
        writer.write(b"authorization: Bearer t0ken")
        with suppress(ConnectionError):
            return await asyncio.wait_for(reader.read(), 20)
        serving.cancel()
        return b""

    with neighbour(0, monkeypatch=None) as other, socket.create_server(("127.0.0.1", 0)) as listener:
        port = other.says()["port"]
        if os.getuid():
            monkeypatch.setattr(peer, "must_be_own", refuse)
        assert asyncio.run(asked(listener, port)) == b""
        assert other.asked()["got"] == ""


def test_those_who_come_and_go_keep_no_client_waiting_and_fill_no_log(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Who connects from 127.0.0.2 counts as another user: he opens connection after connection, and breaks them off."""
    user_of = peer.user_of
    monkeypatch.setattr(peer, "user_of", lambda one: -2 if one.getpeername()[0] == "127.0.0.2" else user_of(one))

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.read(5))

    def come_and_go(address: tuple[str, int]) -> socket.socket:
        one = socket.create_connection(address, source_address=("127.0.0.2", 0))
        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # closed, it is reset
        return one

    async def asked(listener: socket.socket) -> bytes:
        relay = spark_connect.Relay(listener)
        strangers = [come_and_go(listener.getsockname()) for _ in range(spark_connect.BACKLOG)]
        for one in strangers[::2]:
            one.close()
        serving = asyncio.create_task(relay.serve())
        jvm = await asyncio.start_server(echo, "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*listener.getsockname())
        writer.write(b"hello")
        woken = asyncio.create_task(relay.next_client())
        await asyncio.wait_for(woken, 20)
        relay.up(jvm.sockets[0].getsockname()[1])
        said = await asyncio.wait_for(reader.read(5), 20)
        assert {one.recv(1) for one in strangers[1::2]} == {b""}
        for one in strangers:
            one.close()
        serving.cancel()
        return said

    with socket.create_server(("127.0.0.1", 0), backlog=spark_connect.BACKLOG) as listener:
        assert asyncio.run(asked(listener)) == b"hello"
    assert capfd.readouterr().out == ""


def test_a_jvm_that_does_not_end_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_connect, "ENDING", 0.2)
    stubborn = "import signal, time; signal.signal(15, signal.SIG_IGN); print('on', flush=True); time.sleep(99)"

    async def ended() -> int | None:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-S", "-c", stubborn, stdout=asyncio.subprocess.PIPE
        )
        await process.stdout.readline()
        await spark_connect.end(process)
        return process.returncode

    assert asyncio.run(ended()) == -signal.SIGKILL


def test_a_second_start_waits_for_the_first_one(home: AirflowHome, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[str] = []
    monkeypatch.setattr(airflow_processes, "_start", lambda _home, _report: begun.append("second"))
    with airflow_processes.one_at_a_time(home):
        second = threading.Thread(target=airflow_processes.start, args=(home,))
        second.start()
        second.join(0.2)
        begun.append("first is done")
    second.join()
    assert begun == ["first is done", "second"]


def refuse(_connection: socket.socket) -> None:
    raise SettingsError("another user's")
