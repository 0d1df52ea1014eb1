"""A client of the warm Spark Connect server, as a task starts it: what it is refused, told, and what nobody sees."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import cold_spark_connect
import psutil
import pytest
from mq_support import DLQ, create, dead_letter, until
from neighbours import NOBODY, neighbour
from task_support import TASK, run_in_task

from mqops import errors
from mqops.lake.run import RunFolder
from mqops.mq.connection import MqConnection
from mqops_airflow.spark.connect import Server
from mqops_demo import airflow_home
from mqops_demo.airflow_client import PATIENCE
from mqops_demo.airflow_home import AirflowHome
from mqops_demo.airflow_processes import SPARK, running, start_spark, stop
from mqops_demo.spark_connect import NAME, answers, environment, idle_minutes

SECRET = "s3cret-of-the-queue-manager"
JOB = """\
import os
from pathlib import Path

from mqops import errors
from mqops.act.spark.act import _at_a_time
from mqops.mq.connection import MqConnection
from mqops.spark_job import session, spark_errors


class Task:
    def __init__(self, connection):
        self.connection = connection

    def __call__(self, batches):
        there = [name for name in ("MQOPS_CONNECTION", "MQLITE_HOME") if name in os.environ]
        raise errors.TransientMQError(2, 2059, verb="MQCONNX", object_name=f"{self.connection.queue_manager} {there}")


def main(arguments):
    spark = session("test")
    print("at a time:", _at_a_time(spark), "in session", spark.session_id)
    with spark_errors(Path("nowhere")):
        spark.range(0, 1, 1, 1).mapInArrow(Task(MqConnection.from_environment()), "id long").collect()
"""
"""It fails in its only Spark task. Another one would be interrupted; if it waits for a Python worker just then, Spark
starts the daemon anew."""

FORKED_JOB = """\
from mqops.spark_job import session


def told(batches):
    import os, sys
    from pathlib import Path

    parent = Path("/proc", str(os.getppid()))
    there = [name for name in ("mqops.act.spark.act", "mqlite.pcf.server", "pymqi", "pandas") if name in sys.modules]
    threads = len(os.listdir(parent / "task"))
    raise ValueError(f"has {there} from {(parent / 'cmdline').read_text().split(chr(0))[2]} with {threads} thread")
    yield from batches


def main(arguments):
    session("test").range(1).mapInArrow(told, "id long").collect()
"""

CACHED = """
def main(arguments):
    frame = session("test").range(0, 1_000_000, 1, 1)
    type(frame).unpersist = lambda *_asked: print("the server is asked to forget", flush=True)
    with cached(frame) as kept, spark_errors(Path("nowhere")):
        kept.mapInArrow(work, "id long").collect()
"""
"""The end of a job: it does its `work` on what the server keeps for it."""

KEPT_JOB = """\
import time
from pathlib import Path

from pyspark.sql import functions as F

from mqops import spark_job
from mqops.spark_job import cached, session


class Fixed:
    hex = "a mark"


def main(arguments):
    spark, spark_job.uuid4 = session("test"), Fixed
    if {asks}:
        print("kept:", spark.range(1000).withColumn("_cached_for", F.lit("a mark")).storageLevel.useMemory)
        return
    with cached(spark.range(1000)) as kept:
        kept.collect()
        Path({folder!r}, "kept").touch()
        time.sleep(600)
"""

LONG_JOB = f"""\
import time
from pathlib import Path

from mqops.spark_job import cached, session, spark_errors


def work(batches):
    Path(FOLDER, "working").touch()
    while not Path(FOLDER, "over").exists():
        time.sleep(0.1)
    yield from batches

{CACHED}

FOLDER = {{folder!r}}
"""

FORWARDER = """\
import asyncio, sys
from mqops.relay import AT_ONCE, End, carry


async def forward(reader, writer):
    server = await asyncio.open_connection("127.0.0.1", int(sys.argv[1]), limit=AT_ONCE)
    await carry(End(reader, writer), End(*server))


async def main():
    server = await asyncio.start_server(forward, "127.0.0.1", 0, limit=AT_ONCE)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(main())
"""
"""Leads to a server at a port that becomes free when it is killed: that of `make up`'s server never does."""

DYING_JOB = f"""\
from pathlib import Path

from mqops.spark_job import cached, session, spark_errors


def work(batches):
    import array, fcntl, os, termios, time
    from contextlib import suppress

    next(batches)
    waiting = array.array("i", [0])
    while not waiting[0]:  # until there are bytes that Java has sent and this process has not read
        time.sleep(0.01)
        for number in os.listdir("/proc/self/fd"):
            with suppress(OSError):  # not a connection
                if os.readlink("/proc/self/fd/" + number).startswith("socket:") and not waiting[0]:
                    fcntl.ioctl(int(number), termios.FIONREAD, waiting)
    os.kill(os.getpid(), 9)
    yield from batches

{CACHED}"""

COUNTED = """\
import json
from collections import Counter

import grpc

from mqops import spark_client
from mqops.jobs import {job}

calls = Counter()
channel = spark_client.GuardedBuilder.toChannel


class Counting(grpc.UnaryUnaryClientInterceptor, grpc.UnaryStreamClientInterceptor):
    def intercept_unary_unary(self, go_on, details, request):
        calls[details.method.rpartition("/")[2]] += 1
        return go_on(details, request)

    intercept_unary_stream = intercept_unary_unary


def main(arguments):
    spark_client.GuardedBuilder.toChannel = lambda self: grpc.intercept_channel(channel(self), Counting())
    {job}.main({arguments!r})
    print(json.dumps(calls))
"""
CALLS = {
    "observe": {"Config": 3, "ExecutePlan": 2},  # the data source, the snapshot
    "decide": {"Config": 4, "ExecutePlan": 1},  # the plan
    "act": {"Config": 4, "ExecutePlan": 1},  # the lanes
}
"""What the jobs of a run ask the server: settings, and what it carries out. That a call has ended, they say besides."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AirflowHome]:
    """A server of these tests' own, started as Airflow's: they kill it, and count its Python workers."""
    made = airflow_home.home(tmp_path_factory.mktemp("home"))
    made.prepare()
    with made.chosen_spark_port() as lock, cold_spark_connect.started_as("patient_spark_connect"):
        start_spark(made, lock)
    try:
        until(lambda: answers(made.spark_connect["port"]), PATIENCE)
        yield made
    finally:
        stop(made)
    assert not list((made.folder / "spark").iterdir())  # its temporary folder goes with it


def ran(home: AirflowHome, folder: Path, **changes: str) -> tuple[int, str]:
    """Run the job above as a client; its exit code and what it wrote."""
    (folder / "job.py").write_text(JOB)
    connection = MqConnection(queue_manager="QM1", user="app", password=SECRET)
    environment = {"PATH": os.environ["PATH"], "MQOPS_CONNECTION": connection.to_json()}
    server = replace(Server(host="localhost", **home.spark_connect), **changes)
    code, lines = run_in_task(folder / "job.py", {**environment, **server.environment})
    return code, "\n".join(lines)


def test_the_first_job_of_a_server_finds_python_workers_of_the_session_of_all_tasks(
    home: AirflowHome, tmp_path: Path
) -> None:
    """The server was warmed up. This test is the first one: others have the server started again."""
    before = daemons(home)
    assert before
    ran(home, tmp_path)
    assert daemons(home) == before


def test_an_error_of_a_worker_keeps_its_class_and_the_server_knows_no_queue_manager(
    home: AirflowHome, tmp_path: Path
) -> None:
    code, written = ran(home, tmp_path)
    assert code == 1
    assert f"at a time: {os.cpu_count()}" in written
    expected = "mqops.errors.TransientMQError: MQCONNX on QM1 [] failed: MQRC_Q_MGR_NOT_AVAILABLE (2059)"
    assert expected in written.splitlines()[-1]
    assert SECRET not in written


def test_a_server_that_dies_while_a_job_runs_is_told_and_the_next_try_finds_another_one(
    home: AirflowHome, tmp_path: Path
) -> None:
    (tmp_path / "job.py").write_text(LONG_JOB.format(folder=str(tmp_path)))
    variables = {"PATH": os.environ["PATH"], **Server(host="localhost", **home.spark_connect).environment}
    with ThreadPoolExecutor() as threads:
        ended = threads.submit(run_in_task, tmp_path / "job.py", variables)
        while not (tmp_path / "working").exists():
            assert not ended.done(), ended.result()
            time.sleep(0.1)
        first = server_process(home)
        first.kill()
        until(lambda: first not in children(home) and children(home))
        server_process(home).kill()  # the next one, before it listens
        code, lines = ended.result()
    assert code == 1
    assert lines[-1].startswith("mqops.errors.SparkUnreachable: ")
    assert "run this step again" in lines[-1]
    assert not [line for line in lines if "asked to forget" in line], "it has, and would be waited for a minute more"
    assert "at a time: " in ran(home, tmp_path)[1]
    log = (home.folder / "logs" / "spark-connect.log").read_text()
    assert "ended with -9; it is started again" in log
    assert "ended with -9; another try in 5 s" in log
    assert server_process(home) != first
    (folder,) = (home.folder / "spark").glob("mqops-spark-*")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.skipif(os.getuid() != 0, reason="a process of another user is needed")
def test_a_job_whose_servers_port_another_user_takes_does_not_ask_there_to_forget(
    home: AirflowHome, tmp_path: Path
) -> None:
    """What is told is whose port it is; to ask would be tried for a minute more."""
    few = "from mqops import spark_job\n\nspark_job._TRIES = 3\n"
    (tmp_path / "job.py").write_text(few + LONG_JOB.format(folder=str(tmp_path)))
    command = [sys.executable, "-c", FORWARDER, str(home.spark_connect["port"])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as forwarder, ThreadPoolExecutor() as threads:
        port = int(forwarder.stdout.readline())
        server = Server(host="localhost", **{**home.spark_connect, "port": port})
        ended = threads.submit(run_in_task, tmp_path / "job.py", {"PATH": os.environ["PATH"], **server.environment})
        until(lambda: (tmp_path / "working").exists() or ended.done(), PATIENCE)
        with neighbour(port) as other:
            assert other.asked()["bound"] == 0  # he tries it all the time: the job finds him at its next try
            forwarder.kill()
            assert other.says()["bound"] == 1
            code, lines = ended.result()
        (tmp_path / "over").touch()
    assert code == 1
    assert f"holds port {port} of this machine: nothing was sent there" in lines[-1]
    assert "the server is asked to forget" not in lines


def test_what_the_server_keeps_for_a_job_that_is_killed_is_given_up(home: AirflowHome, tmp_path: Path) -> None:
    """Spark's cache is of no session, and the session of all tasks does not end. Another job asks what is kept."""
    variables = {"PATH": os.environ["PATH"], **Server(host="localhost", **home.spark_connect).environment}
    (tmp_path / "job.py").write_text(KEPT_JOB.format(asks=False, folder=str(tmp_path)))
    (tmp_path / "asks.py").write_text(KEPT_JOB.format(asks=True, folder=""))

    def kept() -> str:
        code, lines = run_in_task(tmp_path / "asks.py", variables)
        assert code == 0, lines
        return lines[-1]

    with subprocess.Popen([sys.executable, "-c", TASK, str(tmp_path / "job.py")], stdin=subprocess.PIPE) as job:
        try:
            job.stdin.write(json.dumps(variables).encode())
            job.stdin.close()
            until((tmp_path / "kept").exists, PATIENCE)
            assert kept() == "kept: True"  # another client has come and gone
        finally:
            job.kill()  # by itself it would end after ten minutes
    until(lambda: kept() == "kept: False")


def test_a_python_worker_that_dies_is_told_and_the_server_keeps_nothing_for_its_job(
    home: AirflowHome, tmp_path: Path
) -> None:
    """As one does for which the machine has no memory. To Java its connection is reset, and the server is there."""
    (tmp_path / "job.py").write_text(DYING_JOB)
    variables = {"PATH": os.environ["PATH"], **Server(host="localhost", **home.spark_connect).environment}
    code, lines = run_in_task(tmp_path / "job.py", variables)
    assert code == 1
    assert "the server is asked to forget" in lines
    assert lines[-1].startswith("mqops.errors.MqopsError: SparkException: ")
    assert "Python worker exited unexpectedly" in lines[-1]


def test_the_tasks_share_one_session_and_its_python_workers_stay(home: AirflowHome, tmp_path: Path) -> None:
    ran(home, tmp_path)
    before = daemons(home)
    ran(home, tmp_path)
    assert before
    assert daemons(home) == before


def test_a_new_worker_has_what_the_process_has_imported_that_forks_it(home: AirflowHome, tmp_path: Path) -> None:
    """Spark ends the workers that had nothing to do for a minute. A session of the client's own has a new worker."""
    (tmp_path / "job.py").write_text(FORKED_JOB)
    server = replace(Server(host="localhost", **home.spark_connect), session_id="")
    code, lines = run_in_task(tmp_path / "job.py", {"PATH": os.environ["PATH"], **server.environment})
    assert code == 1
    assert "has ['mqops.act.spark.act', 'mqlite.pcf.server'] from mqops.spark_daemon with 1 thread" in "\n".join(lines)


def test_a_session_of_the_clients_own_ends_with_its_job(home: AirflowHome, tmp_path: Path) -> None:
    own = re.findall(r"in session (\S+)", ran(home, tmp_path, session_id="")[1])
    assert len(own) == 1
    assert own != [home.spark_connect["session_id"]]
    code, written = ran(home, tmp_path, session_id=own[0])  # a server makes a session that it never had
    assert code == 1
    assert written.splitlines()[-1].startswith("mqops.errors.SparkUnreachable: ")


def test_the_jobs_of_a_run_ask_the_server_for_nothing_that_they_know(home: AirflowHome, tmp_path: Path) -> None:
    """Each analysis of a plan, and each further query, is a tenth of a second of a run over a few messages."""
    manager, run = create(tmp_path / "queue_managers", mqsc="DEFINE QLOCAL(A)"), RunFolder.at(tmp_path, "QM1", "run")
    manager.put(DLQ, [dead_letter("A", b"%d" % number) for number in range(5)])
    (tmp_path / "dlq.rules").write_text("ACTION(RETRY)\n")
    environment = {
        **{"PATH": os.environ["PATH"], "MQOPS_CONNECTION": manager.connection.to_json(), **manager.environment},
        **Server(host="localhost", **home.spark_connect).environment,
    }
    more = {"observe": ["--queue", DLQ], "decide": ["--rules", str(tmp_path / "dlq.rules")], "act": []}
    found = {}
    for job, given in more.items():
        (tmp_path / "job.py").write_text(COUNTED.format(job=job, arguments=["--run", str(run.path), *given]))
        code, lines = run_in_task(tmp_path / "job.py", environment)
        assert code == 0, lines
        found[job] = json.loads(lines[-1])
    asked = {
        job: {name: calls for name, calls in of_job.items() if "xecute" not in name or name == "ExecutePlan"}
        for job, of_job in found.items()
    }
    assert asked == CALLS
    assert manager.depth("A") == 5


@pytest.mark.parametrize("given", ["", "soon", "0", "-1", "inf", "nan"])
def test_an_idle_time_that_is_none_is_refused(given: str) -> None:
    if not given:
        assert idle_minutes({}) == 60
        return
    with pytest.raises(errors.SettingsError, match="MQOPS_SPARK_IDLE"):
        idle_minutes({"MQOPS_SPARK_IDLE": given})


def test_the_port_is_never_free_while_the_server_waits_wakes_or_dies_and_a_taken_one_is_told(tmp_path: Path) -> None:
    """What an attacker did: bind the port in a loop, and take the token of whoever connects."""
    with neighbour(0) as first:  # a port that no other test looks for
        port = first.says()["port"]
        watcher = start_watcher(tmp_path / "spark", port)
        assert watcher.stdout.readline().startswith(f"Port {port} of this machine is held by a process of user ")
        assert not watcher.children()
    with ended_after(watcher):
        assert "listens on" in watcher.stdout.readline()
        with neighbour(port, "127.0.0.1", "0.0.0.0", "::") as other:
            token = (tmp_path / "spark" / "token").read_text()
            assert "had no client for" in watcher.stdout.readline()
            assert not watcher.children()
            server = Server(host="localhost", port=port, token_file=str(tmp_path / "spark" / "token"))
            (tmp_path / "job.py").write_text(JOB)
            given = {"PATH": os.environ["PATH"], "MQOPS_CONNECTION": "{}", **server.environment}
            lines = run_in_task(tmp_path / "job.py", given)[1]
            assert any(line.startswith("at a time: ") for line in lines), lines
            assert "listens on" in watcher.stdout.readline()
            woken = (tmp_path / "spark" / "token").read_text()
            assert len(woken) > 30
            assert woken != token
            assert stat.S_IMODE((tmp_path / "spark" / "token").stat().st_mode) == 0o600
            with socket.create_connection(("127.0.0.1", port)):  # a client: the server does not end for want of one
                until(lambda: answers(port), PATIENCE)
                for one in watcher.children():
                    one.kill()
                assert any("it is started again" in line for line in watcher.stdout)
            found = other.asked()
            assert found["tries"] > 100
            assert (found["bound"], found["got"]) == (0, "")
    assert not list((tmp_path / "spark").iterdir())


ENDED_AS_IT_SAYS = """\
import os, signal, sys
from pathlib import Path
from mqops_demo import spark_connect

warm_up, said, jvm = sys.argv.pop(), sys.argv.pop(), sys.argv.pop()


def told(line, flush):
    print(line, flush=True)
    if "listens on" in line:
        for file in Path(sys.argv[1]).rglob("port"):
            file.unlink()
    if said in line:
        os.kill(os.getpid(), signal.SIGTERM)


spark_connect.print = told
spark_connect.command = lambda port_file, _forget: ["sh", "-c", jvm, str(port_file)]
spark_connect.warm_up_command = lambda: ["sh", "-c", warm_up] if warm_up else ["/no/such/program"]
spark_connect.WARMING = float(os.environ.get("WARMING", "600"))
sys.exit(spark_connect.main())
"""
"""The file with the port of the JVM goes when the watcher has said that it listens."""

LISTENS = 'echo 1 > "$0.new" && mv "$0.new" "$0" && '
STAYS = f"{LISTENS} exec sleep 600"
ENDS = f'{LISTENS} while [ -e "$0" ]; do sleep 0.05; done'
"""Programs in the place of the JVM. The second one ends when it was said that it listens."""


@pytest.mark.parametrize(
    ("jvm", "idle", "said", "warm_up"),
    [
        (ENDS, "60", "listens on", "true"),
        (ENDS, "60", "it is started again", "true"),
        (STAYS, "0.01", "had no client for", "true"),
        (STAYS, "60", "nothing", "kill -TERM $PPID; exec sleep 60"),  # while the server is warmed up
    ],
)
def test_a_watcher_that_is_asked_to_end_at_any_moment_ends(
    tmp_path: Path, jvm: str, idle: str, said: str, warm_up: str
) -> None:
    """Also in the moment in which a JVM has ended."""
    code, written = watched(tmp_path / "spark", idle, jvm, said, warm_up)
    assert code == 0, written
    assert (said in written) == (said != "nothing")
    assert not list((tmp_path / "spark").iterdir())


def watched(
    folder: Path, idle: str, jvm: str, said: str, warm_up: str, *options: str, **variables: str
) -> tuple[int, str]:
    """Run that watcher to its end; its exit code and what it wrote. Parameters: `warm_up` a script in place of ours;
    `options` of its command line."""
    done = subprocess.run(
        [sys.executable, "-c", ENDED_AS_IT_SAYS, str(folder), "0", idle, *options, jvm, said, warm_up],
        env={**environment(), **variables},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("warm_up", "warming", "why"),
    [
        ("env; exit 3", "600", "that ended with 3"),
        ("exec sleep 600", "0.2", "that takes longer than 0.2 s"),
        ("", "600", "that cannot be started: "),  # as where the machine has no memory for it
    ],
)
def test_a_server_is_there_for_clients_if_its_warm_up_fails_or_does_not_end(
    tmp_path: Path, warm_up: str, warming: str, why: str
) -> None:
    """What warms the server up knows its address, and nothing that leads to a lake, to keys or to a queue manager."""
    given = {"MQOPS_LEDGER_KEYS": "/keys", "MQ_FILE_PATH": "/mqm", "WARMING": warming}
    ended, written = watched(tmp_path / "spark", "60", STAYS, "listens on", warm_up, **given)
    assert ended == 0, written
    assert re.search(f"is not warmed up: {re.escape(why)}.*[.] Its first jobs are slow", written)
    assert "listens on" in written.splitlines()[-1]
    assert ("SPARK_REMOTE=sc://127.0.0.1:1/" in written) == warm_up.startswith("env")
    assert not re.search(r"^MQ", written, re.MULTILINE)


def test_a_client_that_goes_while_the_server_is_warmed_up_leaves_nothing_behind(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        watcher = psutil.Popen(
            [
                *(sys.executable, "-c", ENDED_AS_IT_SAYS, str(tmp_path / "spark"), str(port), "60"),
                *(f"--listener={listener.fileno()}", STAYS, "nothing", "exec sleep 600"),
            ],
            env=environment(),
            pass_fds=(listener.fileno(),),
            start_new_session=True,
        )

    def connections() -> int:
        return sum(one.laddr.port == port and bool(one.raddr) for one in watcher.net_connections("tcp"))

    def was_read(client: socket.socket) -> bool:
        """Whether the process has read what the client has said: it knows then whose client it is."""
        ends = [f"0100007F:{one:04X}" for one in (port, client.getsockname()[1])]
        rows = [row.split() for row in Path("/proc/net/tcp").read_text().splitlines()]
        return connections() > 0 and any(row[1:3] == ends and row[4].endswith(":00000000") for row in rows)

    with ended_after(watcher):
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(b"PRI * HTTP/2.0")
            until(lambda: was_read(client))
        until(lambda: not connections())
        assert watcher.is_running()


@pytest.mark.parametrize("session", ["", str(UUID(int=1))])
def test_only_a_session_that_clients_share_stays_behind_the_warm_up(tmp_path: Path, session: str) -> None:
    """The server forgets no session by itself (`defaultSessionTimeout`)."""
    written = watched(tmp_path / "spark", "60", STAYS, "listens on", "env", f"--session={session}")[1]
    assert ("SPARK_CONNECT_RELEASE_SESSION_ON_EXIT=true" in written) == (not session)
    assert (f";session_id={session}\n" in written) == bool(session)


def test_a_server_that_dies_while_it_is_warmed_up_is_not_said_to_listen(tmp_path: Path) -> None:
    kill = "for one in $(cat /proc/$PPID/task/*/children); do [ $one = $$ ] || kill $one; done; exec sleep 600"
    code, written = watched(tmp_path / "spark", "60", STAYS, "it is started again", kill)
    assert code == 0, written
    first = next(line for line in written.splitlines() if line.startswith(NAME))
    assert first == f"{NAME} has ended with -15; it is started again"


def start_watcher(folder: Path, port: int) -> psutil.Popen:
    """A server by hand, that waits for half a second without a client. Its first JVM is no warmer than the next."""
    return psutil.Popen(
        [*cold_spark_connect.COMMAND, str(folder), str(port), str(0.5 / 60)],
        env=environment(),
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


@contextmanager
def ended_after(watcher: psutil.Popen) -> Iterator[None]:
    try:
        yield
    finally:
        os.killpg(watcher.pid, signal.SIGTERM)
        assert watcher.wait(PATIENCE) == 0


def test_another_user_neither_reaches_nor_wakes_a_server(home: AirflowHome) -> None:
    """As far as the tests are root's: otherwise he would be this user."""
    code = "import encodings.idna, os, socket, sys; os.setuid(int(sys.argv[2]))"
    code += "; print(socket.create_connection(('127.0.0.1', int(sys.argv[1]))).recv(9))"
    user = str(NOBODY if os.getuid() == 0 else os.getuid())
    asked = [sys.executable, "-S", "-c", code, str(home.spark_connect["port"]), user]
    done = subprocess.run(asked, capture_output=True, text=True)
    assert (done.stdout == "b''\n") == (os.getuid() == 0), done.stderr


def daemons(home: AirflowHome) -> set[int]:
    """The processes from which Spark forks Python workers."""
    found = set()
    for one in server_process(home).children():
        with suppress(psutil.NoSuchProcess):  # it has just ended
            if "mqops.spark_daemon" in one.cmdline():
                found.add(one.pid)
    return found


def server_process(home: AirflowHome) -> psutil.Process:
    """The Spark Connect server itself, below the process that starts it again."""
    (server,) = children(home)
    return server


def children(home: AirflowHome) -> list[psutil.Process]:
    """What the process that starts the server again has started."""
    found: list[psutil.Process] = psutil.Process(running(home)[SPARK]).children()
    return found


@pytest.mark.parametrize("token", ["", "another"])
def test_a_client_without_the_token_is_refused(home: AirflowHome, tmp_path: Path, token: str) -> None:
    code, written = ran(home, tmp_path, token=token, token_file="")
    assert code == 1
    assert "UNAUTHENTICATED" in written
    assert "at a time" not in written


def test_no_secret_in_the_servers_log_arguments_or_environment(home: AirflowHome, tmp_path: Path) -> None:
    ran(home, tmp_path)
    family = processes_of_server(home)
    token = Path(home.spark_connect["token_file"]).read_bytes()
    seen = {}
    for place in (one / name for one in family for name in ("cmdline", "environ")):
        with suppress(FileNotFoundError, ProcessLookupError):  # a Python worker has just ended
            seen[place] = place.read_bytes()
    assert family[0] / "environ" in seen
    seen[home.folder / "logs" / "spark-connect.log"] = (home.folder / "logs" / "spark-connect.log").read_bytes()
    for place, content in seen.items():
        assert SECRET.encode() not in content, place
        if place.name != "environ":
            assert token not in content, place


def processes_of_server(home: AirflowHome) -> list[Path]:
    """The folders in /proc of the server, of what watches it, and of its Python workers."""
    watcher = psutil.Process(running(home)[SPARK])
    return [Path("/proc", str(one.pid)) for one in (watcher, *watcher.children(recursive=True))]
