"""Proves a run of a benchmark. The connection comes from MQOPS_CONNECTION."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from mqops.lake.run import RunFolder
from mqops.mq.connection import MqConnection
from mqops.prove.prove import prove


def main(arguments: Sequence[str]) -> None:
    prove(MqConnection.from_environment(), RunFolder(Path(arguments[0])))


if __name__ == "__main__":
    main(sys.argv[1:])
