"""The steps of a run by Spark, each a process as Airflow's tasks start them: `workflow_chain.py RUN RULES QUEUE`.

What an earlier execution has finished is kept. Ends with the first step that fails, and its exit code.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

JOBS = Path(__file__).resolve().parents[2] / "spark_jobs"
FINISH = """\
import sys
from pathlib import Path
from mqops.mq.connection import MqConnection
from mqops.lake.run import RunFolder
from mqops.act.in_process import act
from mqops.ledger.file import LedgerFile
from mqops.prove.prove import prove

connection, run = MqConnection.from_environment(), RunFolder(Path(sys.argv[1]))
if sys.argv[2:] == ["act"]:
    act(connection, run, file=LedgerFile(run.lake_folder), unit_size=10)
prove(connection, run, file=LedgerFile(run.lake_folder))
"""
"""Act, where asked, and prove in one process without Spark."""


def job(name: str, run: Path, *arguments: str) -> None:
    done = subprocess.run([sys.executable, str(JOBS / f"{name}.py"), "--run", str(run), *arguments])
    if done.returncode:
        sys.exit(1)


def main(run: Path, rules: str, queue: str) -> None:
    if not (run / "observe.json").exists():
        job("observe", run, "--queue", queue)
    if not (run / "plan.json").exists():
        job("decide", run, "--rules", rules)
    digest = json.loads((run / "plan.json").read_text())["digest"]
    job("act", run, "--plan-digest", digest, "--unit-size", "10", "--lanes", "4")
    sys.exit(subprocess.run([sys.executable, "-c", FINISH, str(run)]).returncode)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
