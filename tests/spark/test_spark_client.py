"""A job and a Spark Connect server of this machine: gRPC, which connects by itself, reaches this user's server only."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import grpc
import pytest
from mq_support import until
from neighbours import neighbour

from mqops.spark_client import GuardedBuilder, guarded_builder
from mqops.spark_private import TOKEN_FILE

SERVER = """
import sys
from concurrent.futures import ThreadPoolExecutor
import grpc

class Any(grpc.GenericRpcHandler):
    def service(self, details):
        said = dict(details.invocation_metadata).get("authorization", "none")
        return grpc.unary_unary_rpc_method_handler(lambda _request, _context: said.encode())

server = grpc.server(ThreadPoolExecutor(2), handlers=[Any()], options=[("grpc.so_reuseport", 0)])
print(server.add_insecure_port(f"127.0.0.1:{sys.argv[1]}"), flush=True)
server.start()
server.wait_for_termination()
"""
"""A server of gRPC that answers every call with the token that it got."""


TWICE = """\
import json, os, sys, threading
from contextlib import suppress
from mqops.errors import MqopsError
from mqops.spark_job import run_here

for _job in range(2):
    with suppress(MqopsError):  # that is no server of Spark
        run_here(sys.argv[1], [], {**os.environ, "SPARK_REMOTE": sys.argv[2]})
    guards = [one for one in threading.enumerate() if one.name == "guard"]
    for one in guards:
        one.join(30)
    print("a guard is left" if any(one.is_alive() for one in guards) else "none is left")
"""
JOB = """\
from mqops import spark_client, spark_job

made = spark_client.Guard.__init__
spark_client.Guard.__init__ = lambda *given: print("a guard") or made(*given)


def main(arguments):
    spark_job.session("test").range(1).collect()
"""


@contextmanager
def own_server(port: int = 0) -> Iterator[tuple[subprocess.Popen[str], int]]:
    with subprocess.Popen([sys.executable, "-c", SERVER, str(port)], stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process, int(process.stdout.readline())
        finally:
            process.kill()


def call(channel: grpc.Channel) -> str:
    """One call; what the server got as its token."""
    answer: bytes = channel.unary_unary("/any/call")(b"", timeout=10)
    return answer.decode()


def built(port: int, token_file: Path) -> GuardedBuilder:
    made = guarded_builder(f"sc://localhost:{port}", {TOKEN_FILE: str(token_file)})
    assert made is not None
    return made


def test_each_call_has_the_token_of_the_servers_present_start(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("one")
    with own_server() as (_process, port), built(port, file).toChannel() as channel:
        assert call(channel) == "Bearer one"
        file.write_text("two")
        assert call(channel) == "Bearer two"


def test_a_neighbour_who_takes_the_port_of_a_dead_server_gets_no_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server dies under a client, gRPC connects again, and the neighbour was faster than the next server."""
    (tmp_path / "token").write_text("secret")
    with own_server() as (process, port):
        builder = built(port, tmp_path / "token")
        with builder.toChannel() as channel:
            assert call(channel) == "Bearer secret"
            with neighbour(port, monkeypatch=monkeypatch) as other:
                process.send_signal(signal.SIGKILL)
                assert other.says()["bound"] == 1
                until(lambda: refused(channel) and builder.guard.problem)
                assert f"holds port {port} of this machine: nothing was sent there" in builder.guard.problem
                assert other.asked()["got"] == ""
            monkeypatch.undo()
            with own_server(port):
                until(lambda: answered(channel))
                assert builder.guard.problem == ""


def refused(channel: grpc.Channel) -> bool:
    """A call that no server gets. The first one may still go to the dead server; gRPC connects again for the next."""
    with pytest.raises(grpc.RpcError) as caught:
        call(channel)
    return bool(caught.value.code() == grpc.StatusCode.UNAVAILABLE)


def answered(channel: grpc.Channel) -> bool:
    try:
        return call(channel) == "Bearer secret"
    except grpc.RpcError:
        return False


def test_nobody_else_gets_through_the_guard(tmp_path: Path) -> None:
    """Its name stands in /proc/net/unix, for everybody to read."""
    code = "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect('\\0' + sys.argv[1]); print(s.recv(9))"
    with socket.create_server(("127.0.0.1", 0)) as listening, ThreadPoolExecutor(1) as threads:
        accepted = threads.submit(listening.accept)
        guard = built(listening.getsockname()[1], tmp_path).guard
        other = subprocess.run([sys.executable, "-c", code, guard.name], capture_output=True, text=True)
        assert other.stdout == "b''\n", other.stderr
        assert not accepted.done()
        with socket.socket(socket.AF_UNIX) as mine:
            mine.connect(f"\0{guard.name}")
            accepted.result()[0].close()


@pytest.mark.parametrize("remote", ["sc://spark.example.com", "sc://localhost/;use_ssl=true"])
def test_a_server_with_tls_needs_no_guard(remote: str) -> None:
    assert guarded_builder(remote, {}) is None


def test_the_guard_of_a_job_ends_with_it(tmp_path: Path) -> None:
    """As `dag.test()` runs them, the jobs of a workflow one after another in one process."""
    (tmp_path / "job.py").write_text(JOB)
    with own_server() as (_server, port):
        remote = f"sc://localhost:{port}"
        command = [sys.executable, "-c", TWICE, str(tmp_path / "job.py"), remote]
        done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "asyncio" not in done.stderr
    assert done.stdout.splitlines()[:2] == ["a guard", "none is left"]
    assert done.stdout.splitlines()[-1] == "none is left"
