"""What the entry points in spark_jobs/ share: a Spark session, and errors as one line.

An entry point is a file with a function `main(arguments)`. It is a process of its own (`run`), or runs in another one
(`run_here`): as a client of a Spark Connect server it needs no Java.
"""

from __future__ import annotations

import atexit
import logging
import os
import re
import runpy
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from mqops import errors
from mqops.errors import LakeError, MqopsError, SettingsError, SparkUnreachable
from mqops.lake_place import lake_named
from mqops.pandas_later import arrow_without_pandas, pandas_later
from mqops.parts import missing_part, pyspark_must_be_whole
from mqops.printable import printable
from mqops.short_process import collect_seldom, without_plugins
from mqops.spark_private import RELEASE, UMASK, first_jars, scratch, scratch_parent, settings, short_job_options

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from mqops.spark_client import Guard

_NO_DISK = ("No space left on device", "Disk quota exceeded", "Read-only file system", "Permission denied")
_CONNECT = "pyspark.sql.connect.session"
_TRIES = 6
"""How often a Connect client tries a call again: for about a minute, in which a server can have been restarted."""
_SERVER_GONE = ("UNAVAILABLE", "RETRIES_EXCEEDED", "INVALID_HANDLE.")
"""What the client's error for a lost connection has. A server tells of "Connection reset" if a Python worker died."""
_MARK = "_cached_for"
_guards: list[Guard] = []
"""Through which this process speaks to Spark Connect servers of this machine."""
_RAISED = re.compile(r"^(?:[\w.]*\.)?errors\.(\w+): (.+)$", re.MULTILINE)


def session(name: str, *, short: bool = False) -> SparkSession:
    """A Spark session. Master and resources are the submitter's; what correctness or privacy needs is set here.

    Parameters: `short` whether the job is one of seconds: if Java is started here, it is started for such a job, with
    the archive of its classes that MQOPS_SPARK_ARCHIVE names.

    Raises:
        LakeError: Spark's temporary folder cannot be made.
        SettingsError: another package has overwritten files of pyspark.
    """
    if remote := os.environ.get("SPARK_REMOTE"):
        _connect(remote)
    else:
        pyspark_must_be_whole()
    from pyspark.errors import utils  # noqa: PLC0415
    from pyspark.sql import SparkSession  # noqa: PLC0415

    # PySpark looks for the caller of each function of a column, for texts of errors that show a line of Python. A
    # quarter of what decide costs its client is this. The setting (spark.python.sql.dataFrameDebugging.enabled) is the
    # server's, and asking for it takes a call of its own.
    utils._enable_debugging_cache = False  # type: ignore[assignment]
    return (
        SparkSession.builder.appName(name)
        .config(map=_private_start(short=short))
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", "2000")
        .getOrCreate()
    )


def import_connect() -> None:
    """Import PySpark's Connect client, without pandas. Nothing of gRPC begins: the process can still be forked. PyArrow
    converts nothing: forks that are not ours use it with pandas.

    Raises:
        SettingsError: another package has overwritten files of pyspark.
    """
    if _CONNECT in sys.modules:
        return
    pyspark_must_be_whole()
    with pandas_later():
        import_module(_CONNECT)
    import_module("mqops.spark_client")


def _connect(remote: str) -> None:
    """Make the session of a Spark Connect client, unless there is one. PySpark's own builder takes it, then.

    Parameters: `remote` the server's address; one of this machine is spoken to through `mqops.spark_client`.
    """
    import_connect()
    arrow_without_pandas()
    from pyspark.sql.connect.client.retries import DefaultPolicy  # noqa: PLC0415
    from pyspark.sql.connect.session import SparkSession  # noqa: PLC0415

    from mqops.spark_client import guarded_builder  # noqa: PLC0415

    if SparkSession.getActiveSession() or SparkSession._get_default_session():
        return
    guarded = guarded_builder(remote, os.environ)
    _guards.extend([guarded.guard] if guarded else [])
    builder = SparkSession.builder
    made = (builder.channelBuilder(guarded) if guarded else builder.remote(remote)).create()
    made.client.set_retry_policies([DefaultPolicy(max_retries=_TRIES)])
    made.release_session_on_close = os.environ.get(RELEASE) == "true"


def _private_start(*, short: bool) -> dict[str, bool | float | int | str | None]:
    """Start Java in a private temporary folder, where this process has none yet; returns the settings for privacy.

    Nothing is started in a process that spark-submit started: who submitted it has seen to both.
    """
    from pyspark import SparkConf, SparkContext  # noqa: PLC0415

    if SparkContext._gateway is not None or {"PYSPARK_GATEWAY_PORT", "SPARK_REMOTE"} & os.environ.keys():
        return {}
    until_exit = ExitStack()
    place = until_exit.enter_context(scratch(scratch_parent(lake_named(os.environ), os.environ)))
    atexit.register(until_exit.close)
    os.umask(UMASK)
    archive = os.environ.get("MQOPS_SPARK_ARCHIVE")
    java = short_job_options(archive) if short else ""
    given_options = {"SPARK_SUBMIT_OPTS": f"{java} {os.environ.get('SPARK_SUBMIT_OPTS', '')}".strip()}  # given ones win
    os.environ.update(place.environment({**os.environ, **given_options}))
    first = {"spark.driver.extraClassPath": first_jars(os.environ)} if short and archive else {}
    SparkContext._ensure_initialized(conf=SparkConf().setAll(list(first.items())))
    given = SparkConf()
    wanted = settings(given.get("spark.master", "local[*]"))
    if short:  # with a few rows nothing is gained by planning again between two stages
        wanted |= {"spark.sql.adaptive.enabled": "false"}
    return {key: value for key, value in wanted.items() if not given.contains(key)}


def run(main: Callable[[Sequence[str]], None]) -> int:
    """Run an entry point with the command line's arguments; returns its exit code.

    A known error, also one raised in a Python worker, ends as the last line on standard error,
    `mqops: <class>: <text>`, and exit code 1. Anything else keeps its traceback. What mqops logs at info level goes to
    standard error, which the task's log has.
    """
    collect_seldom()
    without_plugins()
    _log_to_standard_error()
    try:
        main(sys.argv[1:])
    except Exception as error:
        known = known_error(error)
        if known is None:
            traceback.print_exc()
            known = ("MqopsError", _told(error))
        print(f"mqops: {known[0]}: {known[1]}", file=sys.stderr, flush=True)
        return 1
    return 0


def run_here(application: str, arguments: Sequence[str], environment: Mapping[str, str]) -> None:
    """Run an entry point in this process, and give the process back as it was: variables, umask, no Spark session.

    Nothing else may run in the process meanwhile: variables and umask are all its threads'. The variables come back
    when gRPC has ended: its threads read them.

    Parameters: `application` path of the entry point; `environment` all the variables that it sees.

    Raises:
        MqopsError: of the class that the job, or a Python worker, raised; any other error is its cause.
    """
    variables, umask = dict(os.environ), os.umask(UMASK)
    _set_variables(environment)
    try:
        arrow_without_pandas()
        if (main := runpy.run_path(application).get("main")) is None:
            raise SettingsError(f"{printable(application)} has no function main(arguments), which runs the job: add it")
        main(list(arguments))
    except MqopsError as error:
        raise error from None  # the rest is what Java says of the way that it came
    except Exception as error:
        if known := known_error(error):
            raise _as_raised(*known) from None
        raise MqopsError(_told(error)) from error
    except SystemExit as error:
        raise MqopsError(f"the job ended itself: {printable(str(error.code))}") from None
    finally:
        try:
            _end_connect_session()
        finally:  # also if the task is killed meanwhile
            _set_variables(variables)
            os.umask(umask)


def _set_variables(wanted: Mapping[str, str]) -> None:
    for name in os.environ.keys() - wanted.keys():
        del os.environ[name]
    os.environ.update(wanted)


def _end_connect_session() -> None:
    """Close what this process has of a Spark Connect server's session; the session ends if it is this client's own."""
    if _CONNECT not in sys.modules:
        return
    from pyspark.sql.connect.session import SparkSession  # noqa: PLC0415

    try:
        if made := SparkSession._get_default_session():
            made.client.set_retry_policies([])  # a server that is gone has forgotten it, and the task has waited enough
            made.stop()
    finally:
        while _guards:
            _guards.pop().close()


def _log_to_standard_error() -> None:
    logger = logging.getLogger("mqops")
    if not logger.handlers:
        logger.addHandler(logging.StreamHandler())
        logger.setLevel(logging.INFO)


@contextmanager
def cached(frame: DataFrame) -> Iterator[DataFrame]:
    """The frame, which Spark keeps once it was worked out, for as long.

    Spark takes what it has kept for each query that is the same, and knows files by their names. A job that was killed
    leaves its cache in a warm server, where the files may be others by now. So each cache has a mark of its own, and
    no other query is the same. A server that is gone has forgotten its cache, and is not asked to: the client would
    try that for a minute more. So it would where another user's process is at the server's port.
    """
    from pyspark.sql import functions as F  # noqa: PLC0415

    marked = frame.withColumn(_MARK, F.lit(uuid4().hex)).persist()
    gone = False
    try:
        yield marked.drop(_MARK)
    except Exception as error:
        gone = _is_gone(error) or any(one.problem for one in _guards)
        raise
    finally:
        if not gone:
            marked.unpersist()


@contextmanager
def spark_errors(folder: Path) -> Iterator[None]:
    """Turn what Spark says of a worker's error, or of the disk, into the error that it is.

    Raises:
        LakeError: the disk below `folder` refused.
        MqopsError: of the class that the worker raised.
    """
    try:
        yield
    except MqopsError:
        raise
    except Exception as error:
        text = str(error)
        for sign in _NO_DISK:
            if sign in text:
                raise LakeError(f"The lake failed at {folder}: {sign}; repair it, no message was lost") from error
        known = known_error(error)
        if known is None:
            raise
        raise _as_raised(*known) from error


def _as_raised(kind: str, text: str) -> MqopsError:
    """An error of a worker again, by the name of its class; reason and completion code come from its text."""
    found = getattr(errors, kind)
    reason = re.search(r"\bMQRC_\w+ \((\d+)\)", text)
    if not issubclass(found, errors.MQError):
        raised: MqopsError = found(text)
        return raised
    verb = text.split(" ", 1)[0]
    again: MqopsError = found(2, int(reason[1]) if reason else 0, verb=verb)
    again.args = (text,)
    return again


def known_error(error: BaseException) -> tuple[str, str] | None:
    """Class name and text of the `MqopsError` that an exception is, or that Spark quotes from a worker."""
    error = missing_part(error) or error
    if isinstance(error, MqopsError):
        return type(error).__name__, str(error)
    for kind, text in reversed(_RAISED.findall(str(error))):
        if isinstance(getattr(errors, kind, None), type) and issubclass(getattr(errors, kind), MqopsError):
            return kind, text
    if _is_gone(error):
        for problem in filter(None, (one.problem for one in _guards)):
            return SettingsError.__name__, problem
        return (
            SparkUnreachable.__name__,
            "the Spark Connect server ended, or was restarted, while the job ran. No message was lost or moved twice: "
            "what was committed is in the ledger or on the ledger queue. Start the server if it is down, and run this "
            "step again; it goes on where it was",
        )
    return None


def _is_gone(error: BaseException) -> bool:
    """Whether an error says that the Spark Connect server is gone."""
    if isinstance(error, SparkUnreachable):
        return True
    return type(error).__module__.startswith("pyspark.errors") and any(sign in str(error) for sign in _SERVER_GONE)


def _told(error: BaseException) -> str:
    """An error that nobody foresaw, in one line."""
    return printable(f"{type(error).__name__}: {(str(error).strip() or 'no text').splitlines()[0]}")
