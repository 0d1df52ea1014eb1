"""The connection type `spark_connect`: what of an Airflow connection reaches PySpark, and how."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Any

import pytest
from airflow.models.connection import Connection

from mqops.errors import SettingsError
from mqops_airflow.connect import Client, Server, server_of


def found(**fields: Any) -> Server:
    return server_of("warm", Connection(conn_id="warm", conn_type="spark_connect", **fields))


@pytest.mark.parametrize(
    ("fields", "address"),
    [
        ({"host": "spark.example.com"}, "sc://spark.example.com:15002/"),
        ({"host": "sc://spark.example.com", "port": 15099}, "sc://spark.example.com:15099/"),
        ({"host": "127.0.0.1", "password": "t"}, "sc://localhost:15002/"),  # no TLS: PySpark accepts this name only
        (
            {"host": "spark.example.com", "password": "t", "login": "a b;c", "extra": '{"use_ssl": true}'},
            "sc://spark.example.com:15002/;user_id=a%20b%3Bc;use_ssl=true",
        ),
    ],
)
def test_the_address(fields: dict[str, Any], address: str) -> None:
    environment = found(**fields).environment
    assert environment["SPARK_REMOTE"] == address
    assert environment.get("SPARK_CONNECT_AUTHENTICATE_TOKEN", "") == fields.get("password", "")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "Airflow connection 'warm' names no host: enter the Spark Connect server's host"),
        (
            {"host": "spark.example.com", "password": "t0ken"},
            "Airflow connection 'warm' has a token for spark.example.com but no TLS; set 'Use SSL' in it, so that "
            "nobody on the network can read the token",
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
