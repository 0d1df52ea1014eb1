"""Proves a run of a benchmark. The connection comes from MQOPS_CONNECTION."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from mqops.lake.run import RunFolder
from mqops.ledger.file import LedgerFile
from mqops.mq.connection import MqConnection
from mqops.prove.prove import prove


def main(arguments: Sequence[str]) -> None:
    run = RunFolder(Path(arguments[0]))
    prove(MqConnection.from_environment(), run, file=LedgerFile(run.lake_folder))


if __name__ == "__main__":
    main(sys.argv[1:])
