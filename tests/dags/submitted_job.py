"""A Spark entry point for the tests: says what it was given, fails in a named way, or is killed."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import stat
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil

from mqops.errors import TransientMQError
from mqops.spark_job import run

LEDGER_KEYS = "MQOPS_LEDGER_KEYS"
MARK = "PAYMENTS.OF.ANNA"  # what a shuffle must not leave on the disk for everybody to read


def shuffled() -> dict[str, Any]:
    """Shuffle and spill with Spark, and look at what lies on the disk meanwhile."""
    from pyspark.sql import functions as F  # noqa: PLC0415

    from mqops.spark_job import session  # noqa: PLC0415

    spark = session("looked at")
    rows = spark.range(20_000).select(F.sha2(F.col("id").cast("string"), 256).alias("id"), F.lit(MARK).alias("queue"))
    assert rows.repartition(4, "id").sortWithinPartitions("id").groupBy("queue").agg(F.collect_list("id")).count() == 1
    context = spark.sparkContext
    places = [Path(os.environ["TMPDIR"]), Path(context._jvm.System.getProperty("java.io.tmpdir"))]
    found = [path for place in places for path in (place, *place.rglob("*"))]
    java = psutil.Process(os.getppid())
    return {
        "open_to_others": [str(path) for path in found if stat.S_IMODE(path.lstat().st_mode) & 0o077],
        "shuffle_files": len([path for path in found if path.name.startswith("shuffle_") and path.suffix == ".data"]),
        "with_the_mark": [str(path) for path in found if path.is_file() and MARK.encode() in path.read_bytes()],
        "places": [str(place) for place in places],
        "listens_on": sorted({c.laddr.ip for c in java.net_connections("tcp") if c.status == psutil.CONN_LISTEN}),
        "ui": context.uiWebUrl,
        "authenticated": context.getConf().get("spark.authenticate"),
    }


def lock_is_held() -> bool:
    """Whether another process holds the lock of this job's temporary folder."""
    with (Path(os.environ["TMPDIR"]).parent / "lock").open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


def main(arguments: Sequence[str]) -> None:
    folder, how, *_ = arguments
    print("a line of the job's", how)
    if how == "named":
        raise TransientMQError(2, 2059, verb="MQCONNX", object_name="QM1")
    if how == "killed":
        os.kill(os.getpid(), signal.SIGTERM)
        Path(folder, "summary.json").write_text("{}")
        return
    if how == "unforeseen":
        raise ValueError("nobody foresaw\nthis")
    if how == "unnamed":
        sys.exit("went wrong without a name")
    if how == "looked_at":
        summary = shuffled() | {"variables": sorted(os.environ), "locked": lock_is_held()}
        summary |= {"body_keys_length": len(os.environ["MQOPS_BODY_KEYS"])}
        Path(folder, "summary.json").write_text(json.dumps(summary))
        return
    connection = json.loads(os.environ["MQOPS_CONNECTION"])
    secret = connection["password"]
    secrets = (secret, os.environ.get("SPARK_CONNECT_AUTHENTICATE_TOKEN", secret))
    lines = [" ".join(process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"])]
    summary = {
        "user": connection["user"],
        "secret_length": len(secret),
        "processes_with_the_secret_in_their_arguments": sum(any(map(line.count, secrets)) for line in lines),
        "keys_of_executors": any(
            f"spark.executorEnv.{LEDGER_KEYS}={os.environ[LEDGER_KEYS]}" in line for line in lines
        ),
        "arguments": arguments[1:],
        "process": os.getpid(),
        "connection_in_proc": b"MQOPS_CONNECTION=" in Path("/proc/self/environ").read_bytes(),
        "python": os.environ["PYSPARK_PYTHON"],
        "variables": sorted(os.environ),
        "body_keys_length": len(os.environ["MQOPS_BODY_KEYS"]),
        "given": os.environ["GIVEN_TO_THE_OPERATOR"],
        "not_shown": "x",
        "server": os.environ.get("SPARK_REMOTE", ""),
        "token_length": len(os.environ.get("SPARK_CONNECT_AUTHENTICATE_TOKEN", "")),
    }
    Path(folder, "summary.json").write_text(json.dumps(summary))


if __name__ == "__main__":
    sys.exit(run(main))
