"""Submits a Spark entry point that talks to a queue manager, and gives its summary, or its error, back to Airflow.

The type of the Airflow connection decides how: `spark` by spark-submit, `spark_connect` by `spark.connect`.

1. Credentials reach the driver in the environment variable MQOPS_CONNECTION and nowhere else: not in the arguments, not
   in `env_vars` (Airflow stores rendered fields; YARN and Kubernetes get them as arguments), not in XCom, not in a log.
2. Hence the driver runs where the task runs: deploy mode `client`, which every kind of master has.
3. A Spark connection that is not there is an error. (The provider's hook would take the master `yarn` instead.)
4. The job's own error, class and text, becomes the task's error, so that the retry policy can tell them apart.
5. The submitted process ends with its task, even when the task is killed, so that a retry does not run beside it.
6. The job gets the variables of `spark.job_environment`, not Airflow's own, and a private temporary folder.
7. Where MQOPS_LEDGER_KEYS says in which folder the ledger's keys are, driver and executors get that path: with another
   key than the task has, all that the job signs would look forged. A path is no secret, so it may stand in `conf`.
"""

from __future__ import annotations

import ctypes
import os
import re
import signal
import socket
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.providers.common.compat.sdk import AirflowException
from airflow.sdk import Asset

from mqops import errors
from mqops import spark_private as private
from mqops.lake.files import read_json
from mqops.ledger.keys import VARIABLE as LEDGER_KEYS
from mqops.printable import printable
from mqops_airflow.connections.hook import MqHook, existing_connection
from mqops_airflow.runs.workplace import estate_file, estate_path, lake
from mqops_airflow.spark.connect import CONNECTION_TYPE, Client, server_must_answer, server_of
from mqops_airflow.spark.job_environment import job_environment
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


class MqSparkSubmitOperator(SparkSubmitOperator):
    """Runs `spark_jobs/<job>.py` for one queue manager; returns the summary that the job wrote.

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

    template_fields = (*SparkSubmitOperator.template_fields, "summary", "repeated")

    def __init__(
        self,
        *,
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
        self.mq_conn_id = mq_conn_id
        self.summary = summary
        self.shown = tuple(shown)
        self.asset = asset
        self.repeated = dict(repeated or {})
        self.once = once
        self._client: Client | None = None

    def execute(self, context: Context) -> XCom:  # type: ignore[override]
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

    def _submit(self) -> None:
        spark = existing_connection(self._conn_id, "spark")
        if spark.conn_type == CONNECTION_TYPE:
            self._run_client(spark)
            return
        master = f"{spark.host or ''}:{spark.port}" if spark.port else spark.host or ""
        master_must_answer(master, self._conn_id)
        self.properties_file = self.properties_file or os.environ.get("MQOPS_SPARK_PROPERTIES")
        self.conf = (
            QUIET
            | (LOCAL if master.startswith("local") else {})
            | private.settings(master)
            | {f"spark.executorEnv.{name}": path for name, path in self._ledger_keys().items()}
            | (self.conf or {})
        )
        for argument, values in self.repeated.items():
            self.application_args = [*(self.application_args or ()), *spread(argument, values)]
        estate = estate_file()
        environment = self._environment(estate.estate.job_environment)
        with private.scratch(private.scratch_parent(lake(estate), os.environ)) as place:
            with temporary_files_in(place.folder):  # a keytab of the Spark connection is written there
                self._hook = self._get_hook()
            if self._hook._connection["deploy_mode"] == "cluster":
                raise errors.SettingsError(
                    f"Spark connection {self._conn_id!r} has deploy mode cluster; mqops needs client, "
                    "because the driver gets the MQ credentials from its own environment"
                )
            try:
                self._hook.submit(
                    self.application,
                    env=place.environment(environment),
                    preexec_fn=end_with_parent,
                    umask=private.UMASK,
                    pass_fds=(place.descriptor,),
                )
            except AirflowException as error:
                raise job_error(self._hook._last_submit_log_lines, str(error), self._conn_id) from None

    def _run_client(self, spark: Any) -> None:
        """Run the job as a client of the Spark Connect server that the connection names."""
        conn_id = str(self._conn_id)
        server = server_of(conn_id, spark)
        server_must_answer(server, conn_id)
        spread_out = [given for name, values in self.repeated.items() for given in spread(name, values)]
        arguments = [*map(str, self.application_args or ()), *spread_out]
        environment = self._environment(estate_file().estate.job_environment)
        self._client = Client(server, self.log)
        if self._client.run(self.application, arguments, environment, end_with_parent):
            raise job_error(self._client.lines, "the client ended with an error", conn_id)

    def on_kill(self) -> None:
        """Airflow ends the task: the job's process ends with it."""
        if self._client is not None:
            self._client.kill()
        else:
            super().on_kill()

    def _environment(self, also: Sequence[str]) -> dict[str, str]:
        """The job's environment: what every job gets, the interpreter, and the credentials.

        Parameters: `also` what the estate adds.
        """
        interpreter = {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
        chosen = job_environment(os.environ, also=also, mq=self.needs_queue_manager)
        # Not to the hook, which would add all of Airflow's environment, or make them arguments (YARN, Kubernetes).
        given, self.env_vars = self.env_vars or {}, None
        environment = interpreter | chosen | {name: str(value) for name, value in given.items()}
        if self.needs_queue_manager:
            environment["MQOPS_CONNECTION"] = MqHook(self.mq_conn_id).get_conn().to_json()
            environment["MQOPS_ESTATE"] = str(estate_path().absolute())  # it names the queues that are storage
        return environment | self._ledger_keys()

    def _ledger_keys(self) -> dict[str, str]:
        """The folder of the ledger's keys, absolute, where this task has one and the job acts on a queue manager."""
        folder = os.environ.get(LEDGER_KEYS) if self.needs_queue_manager else None
        return {LEDGER_KEYS: str(Path(folder).absolute())} if folder else {}


@contextmanager
def temporary_files_in(folder: Path) -> Iterator[None]:
    """Let this process make its temporary files in a private folder for a while, readable by its own user only."""
    before, mask = tempfile.tempdir, os.umask(private.UMASK)
    tempfile.tempdir = str(folder)
    try:
        yield
    finally:
        tempfile.tempdir = before
        os.umask(mask)


def spread(argument: str, values: str) -> list[str]:
    """`argument=value` for each of the values."""
    return [f"{argument}={value}" for value in values.split(",") if value]


def end_with_parent() -> None:
    """Ask Linux to end this process when the task's process dies (prctl PR_SET_PDEATHSIG); nothing on other systems."""
    if LIBC is not None:
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def job_error(lines: Iterable[str], otherwise: str, conn_id: str | None) -> Exception:
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


def master_must_answer(master: str, conn_id: str | None) -> None:
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
