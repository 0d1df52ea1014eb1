"""Where Airflow and Spark listen: every process of `make up` holds the two ports, so that no other user ever can."""

from __future__ import annotations

from typing import Any

import psutil
from neighbours import neighbour

from mqops_demo.airflow import spark_fields
from mqops_demo.airflow_processes import PROCESSES, running


def test_a_stored_password_goes_where_the_token_is_in_a_file(site: Any) -> None:
    """Airflow itself keeps it. The server of an earlier version had one token for good, in the connection."""
    fields = spark_fields(site.client.home)
    site.client.set_connection("spark_of_before", **{**fields, "password": "of long ago"})
    assert site.client.connection("spark_of_before")["password"]
    site.client.set_connection("spark_of_before", **fields)
    assert not site.client.connection("spark_of_before")["password"]


def test_a_port_is_held_by_each_process_not_only_by_the_one_that_serves_it(site: Any) -> None:
    home = site.client.home
    ports = {home.port, home.spark_connect["port"]}
    found = {name: psutil.Process(pid).net_connections("tcp") for name, pid in running(home).items()}
    held = {name: {one.laddr.port for one in ones if one.status == psutil.CONN_LISTEN} for name, ones in found.items()}
    assert {name: sorted(ports - mine) for name, mine in held.items()} == {name: [] for name in PROCESSES}
    for port in ports:
        with neighbour(port, "127.0.0.1", "0.0.0.0", "::") as other:
            assert other.asked()["bound"] == 0
