"""The connection type `spark_connect`: what of an Airflow connection reaches PySpark, and how."""

from __future__ import annotations

import logging
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from airflow.models.connection import Connection

from mqops.errors import SettingsError
from mqops_airflow.connect import Client, Server, check_listener, listeners, server_of


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


def test_a_client_gives_its_output_and_its_exit_code(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    script = tmp_path / "job.py"
    script.write_text("import sys; print('out'); print(sys.argv[1], file=sys.stderr); sys.exit(3)")
    client = Client(Server(host="localhost"), logging.getLogger(__name__))
    with caplog.at_level(logging.INFO):
        assert client.run(str(script), ["given"], {"PATH": ""}) == 3
    assert sorted(client.lines) == ["given", "out"]
    assert {"given", "out"} <= set(caplog.messages)
    assert sys.executable not in caplog.text


def test_a_server_of_this_user_or_with_tls_is_trusted() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        assert listeners(port) == {os.getuid()}
        check_listener(Server(host="localhost", port=port), "warm")


def test_a_server_of_another_user_gets_neither_token_nor_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """As root the listener is of user nobody; else it is of this user, who takes himself for another one."""
    text = "import socket; s = socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[1], flush=True); input()"
    user = 65534 if os.getuid() == 0 else None
    python = "python3" if user else sys.executable  # user nobody may not reach the environment's own
    command = [python, "-S", "-c", text]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, **pipes, text=True, user=user) as child:
        port = int(child.stdout.readline())
        if user is None:
            monkeypatch.setattr(os, "getuid", lambda: 12345)
        with pytest.raises(SettingsError, match=f"a process of user \\d+ listens on port {port}"):
            check_listener(Server(host="localhost", port=port), "warm")
        check_listener(Server(host="localhost", port=port, tls=True), "warm")
        child.stdin.write("\n")
