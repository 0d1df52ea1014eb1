"""What the trigger monitor costs while nothing happens: 500 idle initiation queues of one queue manager.

Processor seconds a minute of a process that does nothing else, and its connections to the queue manager. Aims: less
than 1, and 1.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))
from bench_redrive import folder
from mq_support import create

from mqops.trigger.monitor import TriggerMonitor

QUEUES = int(os.environ.get("MQOPS_BENCH_INITIATION_QUEUES", "500"))
SECONDS = float(os.environ.get("MQOPS_BENCH_IDLE_SECONDS", "60"))


def main() -> None:
    names = [f"IQ.{number}" for number in range(QUEUES)]
    with folder() as home:
        definitions = "\n".join(f"DEFINE QLOCAL({name})" for name in names)
        manager = create(Path(home), mqsc=f"ALTER QMGR MAXHANDS(999)\n{definitions}")

        monitor = TriggerMonitor(manager.connection, names)
        monitor.look()
        shown = manager.mqlite("mqsc", "QM1", text="DISPLAY CONN(*) TYPE(CONN)\n")
        made = sum(line.lstrip().startswith("CONN(") for line in shown.splitlines())
        began, used = time.monotonic(), time.process_time()
        while (lasted := time.monotonic() - began) < SECONDS:
            assert monitor.look() == ()
        used = time.process_time() - used
        monitor.close()
    print(f"{QUEUES} idle initiation queues: {60 * used / lasted:.2f} processor seconds a minute, {made} connection")


if __name__ == "__main__":
    main()
