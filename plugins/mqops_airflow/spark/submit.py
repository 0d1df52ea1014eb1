"""Runs a Spark entry point that talks to a queue manager, and gives its summary, or its error, back to Airflow.

The type of the Airflow connection decides how: `spark` by spark-submit, a process of its own; `spark_connect` in the
task's process, as a client of a server (`spark.connect`). A job that needs no Spark runs in the task's process, too.

1. Credentials reach the driver in the environment variable MQOPS_CONNECTION and nowhere else: not in the arguments, not
   in `env_vars` (Airflow stores rendered fields; YARN and Kubernetes get them as arguments), not in XCom, not in a log.
   A job in the task's process has the variable while it runs, and /proc does not show it.
2. Hence the driver runs where the task runs: deploy mode `client`, which every kind of master has.
3. A Spark connection that is not there is an error.
4. The job's own error, class and text, becomes the task's error, so that the retry policy can tell them apart.
5. The job ends with its task, even when the task is killed, so that a retry does not run beside it.
6. The job gets the variables of `spark.job_environment`, not Airflow's own, and the umask 077; a process that starts
   Java gets a private temporary folder.
7. Where MQOPS_LEDGER_KEYS says in which folder the ledger's keys are, driver and executors get that path: with another
   key than the task has, all that the job signs would look forged. A path is no secret, so it may stand in `conf`.
8. Keys of message bodies that are in an Airflow connection reach the driver as credentials do, in MQOPS_BODY_KEYS.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import signal
import socket
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.sdk import Asset, BaseOperator

from mqops import errors
from mqops import spark_private as private
from mqops.lake.body_keys import VARIABLE as BODY_KEYS
from mqops.lake.files import read_json
from mqops.ledger.keys import VARIABLE as LEDGER_KEYS
from mqops.printable import printable
from mqops.spark_job import run_here
from mqops_airflow.connections.body_keys import password
from mqops_airflow.connections.hook import MqHook, existing_connection
from mqops_airflow.runs.lineage import Lineage, of_job
from mqops_airflow.runs.workplace import estate_file, estate_path, lake
from mqops_airflow.spark.connect import CONNECTION_TYPE, server_must_answer, server_of
from mqops_airflow.spark.job_environment import job_environment
from mqops_airflow.spark.job_process import JobProcess
from mqops_airflow.spark.spark_submit import master_of, shown, submission
from mqops_airflow.ui.views import RunLink

if TYPE_CHECKING:
    from airflow.sdk import Context

    from mqops_airflow.runs.run_folder import XCom

QUIET = {"spark.log.level": "WARN", "spark.ui.showConsoleProgress": "false"}
LOCAL = {"spark.sql.shuffle.partitions": "8"}  # one machine: few, larger shuffle partitions
MASTER = re.compile(r"(?<![^:,/\s])([^:,/\s]+):(\d+)")
MASTER_ANSWERS_WITHIN = 5.0  # seconds
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None  # loaded before any fork
NAMED_ERROR = re.compile(r"mqops: (\w+): (.*)")


class SparkJobFailed(errors.MqopsError):
    """The Spark job ended with an error that it could not name, or Spark never started it: its output says which."""


class TaskKilled(BaseException):
    """Airflow ended this task while its job ran. The next try goes on where this one was; nothing is moved twice."""


class MqSparkSubmitOperator(BaseOperator):
    """Runs an entry point of `mqops.jobs` for one queue manager; returns the summary that the job wrote.

    :param application: path (templated) of the entry point, `application_args` its arguments (templated).
    :param conn_id: Airflow connection of type `spark` or `spark_connect`.
    :param name: of the Spark application.
    :param conf: Spark settings (templated).
    :param properties_file: Spark's file of settings (templated); default: $MQOPS_SPARK_PROPERTIES.
    :param mq_conn_id: Airflow connection of type `mq`.
    :param summary: path (templated) of the JSON file that the job writes; becomes the XCom.
    :param shown: the keys of the summary that go to XCom and the asset (none: all); the file may be large.
    :param asset: asset whose event gets what XCom gets as extra.
    :param repeated: argument → values separated by commas (templated); given once a value.
    :param once: whether a summary that is there already is taken, and nothing submitted: a snapshot is taken once.

    `env_vars` go to the driver only, with every master.
    """

    operator_extra_links = (RunLink(),)
    needs_queue_manager = True
    """Whether the job gets the connection to the queue manager. A job that only reads the lake does not."""

    template_fields: tuple[str, ...] = (
        *("application", "application_args", "name", "conf", "env_vars", "properties_file"),
        *("summary", "repeated"),
    )

    def __init__(
        self,
        *,
        application: str,
        application_args: Sequence[str] = (),
        conn_id: str = "spark_default",
        name: str = "mqops",
        conf: Mapping[str, str] | None = None,
        env_vars: Mapping[str, str] | None = None,
        properties_file: str | None = None,
        mq_conn_id: str,
        summary: str,
        shown: Sequence[str] = (),
        asset: Asset | None = None,
        repeated: Mapping[str, str] | None = None,
        once: bool = False,
        **kwargs: Any,
    ) -> None:
        if asset is not None:
            kwargs.setdefault("outlets", [asset])
        super().__init__(**kwargs)
        self.application = application
        self.application_args = list(application_args)
        self.conn_id = conn_id
        self.name = name
        self.conf = dict(conf or {})
        self.env_vars = dict(env_vars or {})
        self.properties_file = properties_file
        self.mq_conn_id = mq_conn_id
        self.summary = summary
        self.shown = tuple(shown)
        self.asset = asset
        self.repeated = dict(repeated or {})
        self.once = once
        self._process: JobProcess | None = None
        self._runs_here = False

    def execute(self, context: Context) -> XCom:
        if self.once and Path(self.summary).exists():
            self.log.info("Kept %s of an earlier try", printable(self.summary))
        else:
            self._submit()
        summary = read_json(Path(self.summary))
        shown = {key: summary[key] for key in self.shown or summary}
        for key, value in shown.items():
            if isinstance(value, (str, int, float)):
                self.log.info("%s: %s", printable(key), printable(value))
        if self.asset is not None:
            context["outlet_events"][self.asset].extra = shown
        return shown

    def needs_spark(self) -> bool:
        """Whether the job has so much to do that Spark is worth its start."""
        return True

    def get_openlineage_facets_on_complete(self, task_instance: Any) -> Lineage:
        """From queues to the snapshot, and from it to the plan, for Airflow's provider of OpenLineage."""
        return of_job(task_instance.dag_id, Path(self.summary))

    def _submit(self) -> None:
        estate = estate_file()
        environment = self._environment(estate.estate.job_environment)
        given = [one for argument, values in self.repeated.items() for one in spread(argument, values)]
        arguments = [*map(str, self.application_args), *given]
        if not self.needs_spark():
            self._run_here(arguments, environment, "Without Spark")
            return
        spark = existing_connection(self.conn_id, "spark")
        if spark.conn_type == CONNECTION_TYPE:
            server = server_of(self.conn_id, spark)
            server_must_answer(server, self.conn_id)
            said = f"Spark Connect client of {server.host}:{server.port}"
            self._run_here(arguments, {**environment, **server.environment}, said)
        else:
            self._run_spark_submit(spark, arguments, environment, private.scratch_parent(lake(estate), os.environ))

    def _run_spark_submit(
        self, spark: Any, arguments: Sequence[str], environment: Mapping[str, str], temporary: Path
    ) -> None:
        """Run the job by spark-submit. Parameters: `temporary` where private temporary folders are."""
        master_must_answer(master_of(spark), self.conn_id)
        asked = submission(self.conn_id, spark)
        conf = (
            QUIET
            | (LOCAL if asked.master.startswith("local") else {})
            | private.settings(asked.master)
            | {f"spark.executorEnv.{name}": path for name, path in self._ledger_keys().items()}
            | self.conf
        )
        with private.scratch(temporary) as place:
            keytab = place.folder / "keytab" if asked.keytab else None
            if keytab is not None:
                write_private(keytab, asked.keytab)
            command = asked.command(
                *(self.name, conf, self.application, arguments),
                properties=self.properties_file or os.environ.get("MQOPS_SPARK_PROPERTIES"),
                keytab=keytab,
            )
            self._process = JobProcess(self.log)
            code = self._process.run_command(
                command,
                place.environment(environment),
                said=f"Spark-Submit cmd: {shown(command)}",
                preexec_fn=end_with_parent,
                pass_fds=(place.descriptor,),
            )
        if code:
            raise job_error(
                self._process.lines, f"Cannot execute: {shown(command)}. Error code is: {code}.", self.conn_id
            )

    def _run_here(self, arguments: Sequence[str], environment: Mapping[str, str], said: str) -> None:
        """Run the job in this process. Parameters: `said` where it runs, for the log."""
        self.log.info("%s: %s", printable(said), printable(self.application))
        self._runs_here = True
        try:
            run_here(self.application, arguments, environment)
        finally:
            self._runs_here = False

    def on_kill(self) -> None:
        """Airflow ends the task (SIGTERM): the job's process ends with it.

        Raises:
            TaskKilled: the job runs in this process. Airflow's handler of the signal returns to it otherwise.
        """
        if self._process is not None:
            self._process.kill()
        if self._runs_here:
            raise TaskKilled(TaskKilled.__doc__)

    def _environment(self, also: Sequence[str]) -> dict[str, str]:
        """The job's environment: what every job gets, the interpreter, and the credentials.

        Parameters: `also` what the estate adds.
        """
        interpreter = {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
        chosen = job_environment(os.environ, also=also, mq=self.needs_queue_manager)
        environment = interpreter | chosen | {name: str(value) for name, value in self.env_vars.items()}
        if self.needs_queue_manager:
            environment["MQOPS_CONNECTION"] = MqHook(self.mq_conn_id).get_conn().to_json()
            environment["MQOPS_ESTATE"] = str(estate_path().absolute())  # it names the queues that are storage
        return environment | self._ledger_keys() | self._body_keys()

    def _body_keys(self) -> dict[str, str]:
        """The keys of bodies that are in an Airflow connection, of the queue managers that the task's connection
        reaches. Those that Airflow does not have are left out: what the job does may need none."""
        found = {}
        for name, manager in estate_file().estate.queue_managers.items():
            conn_id = manager.bodies.connection if manager.bodies and manager.connection == self.mq_conn_id else None
            if conn_id:
                with suppress(errors.SettingsError):
                    found[name] = password(conn_id)
        return {BODY_KEYS: json.dumps(found)} if found else {}

    def _ledger_keys(self) -> dict[str, str]:
        """The folder of the ledger's keys, absolute, where this task has one and the job acts on a queue manager."""
        folder = os.environ.get(LEDGER_KEYS) if self.needs_queue_manager else None
        return {LEDGER_KEYS: str(Path(folder).absolute())} if folder else {}


def write_private(path: Path, content: bytes) -> None:
    """Write a new file that only this user can read."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)


def spread(argument: str, values: str) -> list[str]:
    """`argument=value` for each of the values."""
    return [f"{argument}={value}" for value in values.split(",") if value]


def end_with_parent() -> None:
    """Ask Linux to end this process when the task's process dies (prctl PR_SET_PDEATHSIG); nothing on other systems."""
    if LIBC is not None:
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def job_error(lines: Iterable[str], otherwise: str, conn_id: str) -> Exception:
    """The error that the job named in its last line `mqops: <class>: <text>`; without one, the submitter's own text.

    Parameters: `lines` the end of the job's output; `otherwise` what spark-submit's failure says; `conn_id` Airflow's
    connection to Spark.
    """
    named = [match for line in lines if (match := NAMED_ERROR.match(line))]
    if not named:
        return SparkJobFailed(
            f"the Spark job ended and named no error: see its output above. If it could not reach Spark, correct the "
            f"Airflow connection {conn_id!r}. Then clear this task: the run goes on where it was, and nothing is moved "
            "twice.",
            *otherwise.splitlines(),
        )
    kind = getattr(errors, named[-1][1], None)
    if not (isinstance(kind, type) and issubclass(kind, errors.MqopsError)):
        kind = SparkJobFailed
    return kind.__new__(kind, named[-1][2])  # not __init__: an MQError would want its reason code


def master_must_answer(master: str, conn_id: str) -> None:
    """Look whether a standalone Spark master is there; Spark itself would try for a minute and say little.

    Parameters: `conn_id` the Airflow connection that names it.

    Raises:
        SparkUnreachable: none of the hosts of `spark://host:port,...` accepts a connection.
    """
    if not master.startswith("spark://"):
        return
    problems = []
    for host, port in MASTER.findall(master.removeprefix("spark://")):
        try:
            socket.create_connection((host, int(port)), timeout=MASTER_ANSWERS_WITHIN).close()
            return
        except OSError as error:
            problems.append(f"{host}:{port} ({error.strerror or error})")
    raise errors.SparkUnreachable(
        f"no Spark master answers at {master}: {'; '.join(problems) or 'no host:port in it'}. Start the master, or "
        f"correct host and port of the Airflow connection {conn_id!r}, and clear this task; nothing was moved by it."
    )
