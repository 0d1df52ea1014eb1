"""The forecast of expiry: 1,000 queues, of which 100 changed since the last look (`mqops expiry forecast`).

Aim: 10 s. The first forecast looks at all 1,000; the next one at the 100 that have new messages, and the last at none.
Processor time beside the time of the clock: a busy machine lengthens the second only. The figures of the candidates
are the queue manager's time and ours together: mqlite answers in our process.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from datetime import timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from mq_support import Manager, create

from mqops.expiry.core.calendar import EVERY_MORNING
from mqops.expiry.look_ahead import look_ahead

QUEUES = int(os.environ.get("MQOPS_BENCH_QUEUES", "1000"))
CANDIDATES = int(os.environ.get("MQOPS_BENCH_CANDIDATES", "100"))
MESSAGES = int(os.environ.get("MQOPS_BENCH_QUEUE_MESSAGES", "100"))
"""Of each candidate; of the other queues two."""
HOUR = 36_000


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="mqops-bench") as name:
        home, lake = Path(name, "queue_managers"), Path(name, "lake")
        home.mkdir()
        os.environ["MQLITE_HOME"] = str(home)
        names = [f"APP.{number:04}" for number in range(QUEUES)]
        manager = create(home, mqsc="".join(f"DEFINE QLOCAL({one}) MAXDEPTH(99999)\n" for one in names))
        for one in names:
            manager.put(one, [({"Expiry": HOUR * 30}, b"x"), ({}, b"y")])
        forecast("the first forecast", manager, lake, QUEUES)
        for one in names[:CANDIDATES]:
            manager.put(one, [({"Expiry": HOUR * (1 + n % 200)}, b"x" * 1000) for n in range(MESSAGES)])
        forecast(f"{CANDIDATES} candidates of {MESSAGES} messages", manager, lake, CANDIDATES)
        forecast("nothing changed", manager, lake, 0)


def forecast(what: str, manager: Manager, lake: Path, candidates: int) -> None:
    """One forecast of all queues. Raises `AssertionError`: it looked at others than those."""
    began, began_at = time.process_time(), time.perf_counter()
    found, _summary, outlook = look_ahead(
        manager.connection, lake, (), calendar=EVERY_MORNING, recheck=timedelta(hours=6)
    )
    cpu, clock = time.process_time() - began, time.perf_counter() - began_at
    assert len(found.why) == candidates, len(found.why)
    assert not sum(one.unknown for one in outlook.queues)
    print(
        f"{what}: {len(found.why)} of {len(outlook.queues)} queues looked at, {clock:.1f} s, {cpu:.1f} of processor",
        flush=True,
    )


if __name__ == "__main__":
    main()
