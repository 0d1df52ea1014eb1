"""The connection type `spark_connect`: what of an Airflow connection reaches PySpark, and how."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from airflow.models.connection import Connection
from neighbours import neighbour
from task_support import run_in_task

from mqops.errors import MqopsError, SettingsError, SparkUnreachable
from mqops.spark_job import run_here
from mqops.spark_private import TOKEN, TOKEN_FILE
from mqops_airflow.spark.connect import Server, server_must_answer, server_of

JOB = """\
from mqops import peer, spark_job

{others}
spark_job._TRIES = 1


def main(arguments):
    spark_job.session("test").range(1).collect()
"""


def found(**fields: Any) -> Server:
    return server_of("warm", Connection(conn_id="warm", conn_type="spark_connect", **fields))


@pytest.mark.parametrize(
    ("fields", "address"),
    [
        ({"host": "localhost"}, "sc://localhost:15002/"),
        (
            {"host": "sc://spark.example.com", "port": 15099, "extra": '{"use_ssl": true}'},
            "sc://spark.example.com:15099/;use_ssl=true",
        ),
        ({"host": "127.0.0.1", "password": "t"}, "sc://localhost:15002/"),  # no TLS: PySpark accepts this name only
        (
            {"host": "spark.example.com", "password": "t", "login": "a b;c", "extra": '{"use_ssl": true}'},
            "sc://spark.example.com:15002/;user_id=a%20b%3Bc;use_ssl=true",
        ),
        (
            {"host": "localhost", "extra": '{"session_id": "7EAAAF4C-7712-41aa-8391-f57703952cf5"}'},
            "sc://localhost:15002/;session_id=7eaaaf4c-7712-41aa-8391-f57703952cf5",
        ),
    ],
)
def test_the_address(fields: dict[str, Any], address: str) -> None:
    environment = found(**fields).environment
    assert environment["SPARK_REMOTE"] == address
    ends_with_its_client = environment.get("SPARK_CONNECT_RELEASE_SESSION_ON_EXIT") == "true"
    assert ends_with_its_client == ("session_id" not in address)
    assert environment.get("SPARK_CONNECT_AUTHENTICATE_TOKEN", "") == fields.get("password", "")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"host": "localhost", "extra": '{"session_id": "mine;user_id=x"}'},
            "Airflow connection 'warm' has the session_id mine;user_id=x, which is no UUID: correct it, or leave it "
            "empty for a session of each task's own",
        ),
        ({}, "Airflow connection 'warm' names no host: enter the Spark Connect server's host"),
        (
            {"host": "spark.example.com", "password": "t0ken"},
            "Airflow connection 'warm' leads to spark.example.com without TLS; set 'Use SSL' in it. The token, the "
            "credentials of the queue manager and the messages would cross the network in clear",
        ),
    ],
)
def test_what_cannot_work_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        found(**fields)
    assert str(caught.value) == message


def test_no_token_where_a_server_is_shown() -> None:
    assert "t0ken" not in repr(found(host="localhost", password="t0ken"))


@contextmanager
def closed_port() -> Iterator[int]:
    """A port that nobody listens on, and that no other process can take meanwhile."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


GONE = """\
from pyspark.sql.connect.client.retries import DefaultPolicy
from pyspark.sql.connect.session import SparkSession

from mqops import spark_job

spark_job._TRIES = 1


class Told(DefaultPolicy):
    def can_retry(self, error):
        print("is tried again", flush=True)
        return super().can_retry(error)


def main(arguments):
    try:
        spark_job.session("test").range(1).collect()
    finally:
        SparkSession._get_default_session().client.set_retry_policies([Told(max_retries=1)])
"""


def test_the_release_of_the_session_of_a_server_that_is_gone_is_not_tried_again(tmp_path: Path) -> None:
    """The job has tried for a minute already: the task would hang for another one, also if Airflow ends it."""
    (tmp_path / "job.py").write_text(GONE)
    with closed_port() as port:
        server = Server(host="localhost", port=port, token="t0ken")
        code, lines = run_in_task(tmp_path / "job.py", {"PATH": os.environ["PATH"], **server.environment})
    assert code == 1
    assert lines[-1].startswith("mqops.errors.SparkUnreachable: "), lines
    assert "is tried again" not in lines


ENDED_MEANWHILE = """\
from pyspark.sql.connect.session import SparkSession


class Ending:
    is_stopped = False

    @property
    def client(self):
        return self

    def set_retry_policies(self, policies):
        pass

    def stop(self):
        SparkSession._default_session = None
        raise KeyboardInterrupt


def main(arguments):
    SparkSession._default_session = Ending()
"""


def test_a_task_that_is_killed_while_its_session_ends_gets_its_process_back(tmp_path: Path) -> None:
    """What Airflow then calls, as a notifier, would have the job's variables, and not Airflow's."""
    (tmp_path / "job.py").write_text(ENDED_MEANWHILE)
    variables, umask = dict(os.environ), os.umask(0o022)
    try:
        with pytest.raises(KeyboardInterrupt):
            run_here(str(tmp_path / "job.py"), [], {"ONLY": "this"})
        assert (dict(os.environ), os.umask(0o022)) == (variables, 0o022)
    finally:
        os.environ.update(variables)
        os.umask(umask)


def test_an_entry_point_without_its_function_is_told(tmp_path: Path) -> None:
    script = tmp_path / "job.py"
    script.write_text("print('a script of before')")
    with pytest.raises(SettingsError, match=r"job\.py has no function main\(arguments\)"):
        run_here(str(script), [], {})


def test_a_job_in_a_task_gives_the_process_back_as_it_was(tmp_path: Path) -> None:
    script = tmp_path / "job.py"
    script.write_text(f"def main(arguments): open({str(tmp_path / 'made')!r}, 'w').close(); raise RuntimeError('x')")
    umask, variables = os.umask(0o022), dict(os.environ)
    try:
        with pytest.raises(MqopsError, match=r"^RuntimeError: x$"):
            run_here(str(script), [], {"ONLY": "this"})
        assert os.umask(0o022) == 0o022
    finally:
        os.umask(umask)
    assert dict(os.environ) == variables
    assert (tmp_path / "made").stat().st_mode & 0o777 == 0o600


def test_a_server_of_this_user_or_with_tls_is_trusted() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening, ThreadPoolExecutor(1) as threads:
        accepted = threads.submit(listening.accept)
        server = Server(host="localhost", port=listening.getsockname()[1])
        server_must_answer(server, "warm")
        accepted.result()[0].close()
        server_must_answer(replace(server, tls=True), "warm")  # its certificate says who it is


def test_a_port_that_nobody_listens_on_is_refused() -> None:
    with (
        closed_port() as port,
        pytest.raises(SparkUnreachable, match=f"no Spark Connect server answers at localhost:{port}"),
    ):
        server_must_answer(Server(host="localhost", port=port), "warm")


def test_a_server_of_another_user_gets_neither_token_nor_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    with neighbour(0, monkeypatch=monkeypatch) as other:
        server = Server(host="localhost", port=other.says()["port"], token="t0ken")
        text = r"^Airflow connection 'warm' leads to another user's server: a process of user \d+ holds port "
        with pytest.raises(SettingsError, match=f"{text}{server.port} "):
            server_must_answer(server, "warm")
        server_must_answer(replace(server, tls=True), "warm")
        assert other.asked()["got"] == ""


def test_the_client_itself_tells_of_another_users_server(tmp_path: Path) -> None:
    """He takes the port after the task has looked: the client sends him nothing, and its error says whose it is."""
    script = tmp_path / "job.py"
    script.write_text(JOB.format(others="" if os.getuid() == 0 else "peer.own_users = lambda: {12345}"))
    with neighbour(0) as other:
        port = other.says()["port"]
        server = Server(host="localhost", port=port, token="t0ken")
        code, lines = run_in_task(script, {"PATH": os.environ["PATH"], **server.environment})
        assert code == 1
        assert other.asked()["got"] == ""
    assert lines[-1].startswith("mqops.errors.SettingsError: ")
    assert f"holds port {port} of this machine: nothing was sent there" in lines[-1]


def test_the_token_of_this_start_is_for_a_server_of_this_machine_that_has_no_password(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(TOKEN_FILE, "/private/token")
    assert found(host="localhost").environment[TOKEN_FILE] == "/private/token"
    assert TOKEN not in found(host="localhost").environment
    assert TOKEN_FILE not in found(host="localhost", password="t").environment
    elsewhere = found(host="spark.example.com", extra='{"use_ssl": true}').environment
    assert not {TOKEN, TOKEN_FILE} & elsewhere.keys()
