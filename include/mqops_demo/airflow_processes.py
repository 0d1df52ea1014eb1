"""Start and stop Airflow's four processes and Spark's server, each in a session of its own; end only these.

1. `processes.json` names each process by pid and start time, so that a number reused by another program is not taken
   for ours.
2. A process is ended with its whole process group (the scheduler has worker processes). Whoever still stands after the
   grace period is killed.
3. The sockets that listen are made here, before anything else is started, and all processes hold them.
4. One `make up` or `make down` at a time: two starts at once would each take other ports and a token of their own, and
   write down what runs over one another.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import psutil

from mqops_demo import api_server, spark_connect
from mqops_demo.airflow_home import AirflowHome, write_private

AIRFLOW = {
    "api-server": ("api-server",),
    "scheduler": ("scheduler", "--skip-serve-logs"),
    "dag-processor": ("dag-processor",),
    "triggerer": ("triggerer", "--skip-serve-logs"),
}
SPARK = "spark-connect"
PROCESSES = (SPARK, *AIRFLOW)
GRACE = 20.0  # seconds between asking a process group to end and killing it
POLL = 0.1
Report = Callable[[str], None]


class AirflowFailed(RuntimeError):
    """Airflow could not be started; the message holds the end of the log."""


def airflow(home: AirflowHome, *arguments: str) -> None:
    """Run one `airflow` command to its end.

    Raises:
        AirflowFailed: with what it printed, when it ends with anything but 0.
    """
    command = [sys.executable, "-m", "airflow", *arguments]
    result = subprocess.run(command, env=home.environment(), text=True, capture_output=True)
    if result.returncode:
        output = "\n".join((result.stdout + result.stderr).splitlines()[-25:])
        raise AirflowFailed(f"airflow {' '.join(arguments)} ended with {result.returncode}:\n{output}")


@contextlib.contextmanager
def one_at_a_time(home: AirflowHome) -> Iterator[None]:
    """Wait until no other process starts or ends the processes of this home. The system lets the lock go with its
    owner."""
    home.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with open(home.folder / "lock", "ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def start(home: AirflowHome, report: Report = print) -> None:
    """Start whatever does not run yet."""
    with one_at_a_time(home):
        _start(home, report)


def _start(home: AirflowHome, report: Report) -> None:
    home.prepare(report)
    alive = running(home)
    if set(alive) == set(PROCESSES):
        return
    if alive:
        _stop(home, report)
    with home.chosen_port(report) as listener, home.chosen_spark_port(report) as spark_listener:
        migrate(home, report)
        report("Airflow: starting api-server, scheduler, dag-processor and triggerer; Spark: starting a Connect server")
        start_spark(home, spark_listener, listener)
        for name in AIRFLOW:
            start_airflow(home, name, listener, spark_listener)


def start_spark(home: AirflowHome, listener: int, *held: int) -> None:
    """Start the Spark Connect server, the first process of all: nothing else is written down yet.

    Parameters: `listener` the socket that it serves; `held` those that it only holds.
    """
    (home.folder / "logs").mkdir(exist_ok=True)
    write_private(home.folder / "processes.json", {})
    for name in PROCESSES:
        (home.folder / "logs" / f"{name}.log").unlink(missing_ok=True)
    port, idle = str(home.spark_connect["port"]), str(spark_connect.idle_minutes(os.environ))
    shared = f"--session={home.spark_connect['session_id']}"
    arguments = (str(home.spark_folder), port, idle, f"--listener={listener}", shared)
    variables = spark_connect.environment()
    start_one(home, SPARK, spark_connect.__name__, *arguments, env=variables, held=(listener, *held))


def start_airflow(home: AirflowHome, name: str, listener: int | None = None, *held: int) -> None:
    """Start one of Airflow's processes, the first time or again after it has ended.

    Parameters: `listener` the socket that the api-server serves; `held` further ones. Each process holds what it is
    given, also one that does not serve it: if a server dies, its port is not free for other users, who would get what
    the other processes go on to send there.
    """
    sockets = held if listener is None else (listener, *held)
    module, arguments = ("airflow", AIRFLOW[name])
    if name == "api-server" and listener is not None:
        module, arguments = api_server.__name__, (str(listener), *AIRFLOW[name])
    start_one(home, name, module, *arguments, env=home.environment(), held=sockets)


def start_one(
    home: AirflowHome, name: str, module: str, *arguments: str, env: Mapping[str, str], held: Sequence[int]
) -> None:
    """Start a Python module in a session of its own, and write it down. Parameters: `held` descriptors it inherits."""
    with open(home.folder / "logs" / f"{name}.log", "ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=held,
        )
    known = json.loads((home.folder / "processes.json").read_text())
    known[name] = {"pid": process.pid, "started": psutil.Process(process.pid).create_time()}
    write_private(home.folder / "processes.json", known)


def migrate(home: AirflowHome, report: Report) -> None:
    """Make or update Airflow's database, once for each version of Airflow."""
    from importlib.metadata import version  # noqa: PLC0415

    stamp = home.folder / "migrated"
    wanted = version("apache-airflow-core")
    if stamp.exists() and stamp.read_text() == wanted and (home.folder / "airflow.db").exists():
        return
    report("Airflow: preparing its database")
    airflow(home, "db", "migrate")
    stamp.write_text(wanted)


def running(home: AirflowHome) -> dict[str, int]:
    """Name → pid of the processes that were started here and are alive."""
    return {name: pid for name, pid, alive in recorded(home) if alive}


def recorded(home: AirflowHome) -> Iterator[tuple[str, int, bool]]:
    """Each process written down: its name, pid, and whether that very process is alive."""
    try:
        rows = json.loads((home.folder / "processes.json").read_text())
    except FileNotFoundError:
        return
    for name, row in rows.items():
        pid = int(row["pid"])
        with contextlib.suppress(psutil.NoSuchProcess):
            process = psutil.Process(pid)
            if process.create_time() == row["started"]:
                yield name, pid, process.status() != psutil.STATUS_ZOMBIE
                continue
            # The pid is somebody else's now, so the group of that number is not ours either.
            continue
        yield name, pid, False


def group_members(group: int) -> list[psutil.Process]:
    """The live processes of a process group."""
    members = []
    for process in psutil.process_iter():
        with contextlib.suppress(ProcessLookupError, psutil.NoSuchProcess):
            if os.getpgid(process.pid) == group and process.status() != psutil.STATUS_ZOMBIE:
                members.append(process)
    return members


def stop(home: AirflowHome, report: Report = print) -> bool:
    """End exactly what was started here; returns whether anything was there to end."""
    if not home.folder.exists():
        return False
    with one_at_a_time(home):
        return _stop(home, report)


def _stop(home: AirflowHome, report: Report) -> bool:
    groups = [pid for _, pid, _ in recorded(home) if group_members(pid)]
    if groups:
        report("Airflow and Spark: stopping")
    signal_groups(groups, signal.SIGTERM)
    deadline = time.monotonic() + GRACE
    while (groups := [group for group in groups if group_members(group)]) and time.monotonic() < deadline:
        reap(groups)
        time.sleep(POLL)
    signal_groups(groups, signal.SIGKILL)
    while any(group_members(group) for group in groups):
        reap(groups)
        time.sleep(POLL)
    found = (home.folder / "processes.json").exists()
    (home.folder / "processes.json").unlink(missing_ok=True)
    return found


def signal_groups(groups: list[int], number: signal.Signals) -> None:
    for group in groups:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, number)


def reap(pids: list[int]) -> None:
    """Take note of our own children that have ended, so that they do not linger as zombies."""
    for pid in pids:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)


def log_tail(home: AirflowHome, name: str, lines: int = 25) -> str:
    """The last lines of one process's log."""
    path = Path(home.folder / "logs" / f"{name}.log")
    return "\n".join(path.read_text(errors="replace").splitlines()[-lines:]) if path.exists() else ""
