"""`python -m mqops_demo.fill` (`make demo`): the incident, for a person to deal with in Airflow's UI."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from mqops.counted import counted
from mqops.printable import visible
from mqops_demo import airflow_home, airflow_processes, estate
from mqops_demo.airflow_home import AirflowHome

FILLED = ("SYSTEM.DEAD.LETTER.QUEUE", "PAYMENTS.IN.BOQ", "DESK.BOQ", "CARDS.OFFERS")
DAGS = {
    "qm1_dlq_rules": "the dead-letter queue, by its rules table. Begin here",
    "qm1_backout_reprocess": "the backout queues. It also runs by schedule, and needs no approval for few messages",
    "qm1_expiry_scan": "the messages that have expired",
    "qm1_snapshot_quality": "what is wrong with which message. It fails, as it should: its checks find the incident",
}
HOW = """\
"MQ estate" in Airflow's menu shows what is wrong; each run and its plan have pages there.
A run that you start is a dry run unless you take the tick out of "Dry run": then it waits until user approver answers
under "Required Actions". Runs also start by the schedules of include/estate.yaml, and these are no dry runs: each waits
for an answer, too, but where the estate lets small plans pass (auto_approve), and scans discard what has expired.
mq_undo puts back what a run moved. mq_stop is the kill switch."""


def fill(report: Callable[[str], None]) -> None:
    """Make the queue managers where they are missing, start them, and let the incident happen."""
    home = airflow_home.home()
    os.environ["MQLITE_HOME"] = str(home.queue_managers)
    home.queue_managers.mkdir(parents=True, exist_ok=True, mode=0o700)
    estate.create_and_start()
    from mqops_demo import incident, poison  # noqa: PLC0415 - pymqi is wanted only now

    incident.happen(report)
    poison.happen(report)
    next_steps(home, report)


def next_steps(home: AirflowHome, report: Callable[[str], None]) -> None:
    """What is on the queues now, and which DAG deals with it."""
    from mqops_demo import incident  # noqa: PLC0415 - pymqi is wanted only now

    report("")
    for queue in FILLED:
        report(f"{counted(incident.depth('QM1', queue), 'message')} on {queue} of QM1")
    report("")
    if airflow_processes.running(home):
        report(f"Open {home.address}/dags and trigger a DAG (login: user operator, see `make up`):")
    else:
        report("Start Airflow with `make up`, log in as it says, and trigger a DAG:")
    for dag, what in DAGS.items():
        report(f"  {dag:<22} {what}")
    for line in HOW.splitlines():
        report(line)


def main() -> int:
    fill(lambda text: print(visible(text), flush=True))
    return 0


if __name__ == "__main__":
    sys.exit(main())
