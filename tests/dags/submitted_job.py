"""A Spark entry point for the tests: says what it was given, or fails in a named way."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import psutil


def main() -> None:
    folder, how, *_ = sys.argv[1:]
    if how == "named":
        print("mqops: TransientMQError: MQCONNX on QM1 failed: MQRC_Q_MGR_NOT_AVAILABLE (2059)", file=sys.stderr)
        sys.exit(1)
    if how == "unnamed":
        sys.exit("went wrong without a name")
    connection = json.loads(os.environ["MQOPS_CONNECTION"])
    secret = connection["password"]
    secrets = (secret, os.environ.get("SPARK_CONNECT_AUTHENTICATE_TOKEN", secret))
    lines = [" ".join(process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"])]
    summary = {
        "user": connection["user"],
        "secret_length": len(secret),
        "processes_with_the_secret_in_their_arguments": sum(any(map(line.count, secrets)) for line in lines),
        "arguments": sys.argv[2:],
        "python": os.environ["PYSPARK_PYTHON"],
        "not_shown": "x",
        "server": os.environ.get("SPARK_REMOTE", ""),
        "token_length": len(os.environ.get("SPARK_CONNECT_AUTHENTICATE_TOKEN", "")),
    }
    Path(folder, "summary.json").write_text(json.dumps(summary))


main()
