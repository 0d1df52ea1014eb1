"""A snapshot with encrypted bodies beside one in clear, in one process: taking it, its size, reading its bodies.

Messages are orders in JSON, of 1 KB, whose values are random: bodies that compress as those of payments do. Both ways
alternate; a ratio is that of the least processor times of some rounds. Aim: encrypted, at most 1.25 times the time.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from ledger_opened import observe
from mq_support import DLQ, Manager, create, dead_letter

from mqops.lake.body_keys import add_key
from mqops.lake.parquet import read_parquet
from mqops.lake.run import RunFolder

MESSAGES = int(os.environ.get("MQOPS_BENCH_MESSAGES", "50000"))
ROUNDS = 5
CHUNK = 10_000


def order(number: int) -> bytes:
    """An order of about 850 bytes."""
    lines = [{"article": random.randrange(10**8), "pieces": random.randrange(100)} for _ in range(14)]
    account, text = f"DE{random.randrange(10**20):020}", f"invoice {random.randrange(10**9)} of customer {number}"
    return json.dumps({"order": number, "account": account, "text": text, "lines": lines}).encode()


def estate(folder: Path, name: str, manager: dict[str, object]) -> str:
    """The path of an estate file with QM1."""
    path = folder / f"{name}.yaml"
    path.write_text(json.dumps({"lake": str(folder / name), "queue_managers": {"QM1": manager}}))
    return str(path)


def measured(work: Callable[[], object]) -> tuple[float, float]:
    """Processor seconds of this process, and seconds."""
    begun, at = time.process_time(), time.perf_counter()
    work()
    return time.process_time() - begun, time.perf_counter() - at


def compared(folder: Path, manager: Manager) -> None:
    add_key(folder / "keys.json", "")
    plain: dict[str, object] = {"connection": "mq_qm1"}
    estates = {
        "in clear": estate(folder, "clear", plain),
        "encrypted": estate(folder, "encrypted", {**plain, "bodies": {"keys": "keys.json"}}),
    }
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in estates}
    read: dict[str, list[tuple[float, float]]] = {name: [] for name in estates}
    size: dict[str, float] = {}
    for number in range(ROUNDS):
        for name, path in estates.items():
            os.environ["MQOPS_ESTATE"] = path
            run = RunFolder.at(Path(path).with_suffix(""), "QM1", f"r{number}")
            taken[name].append(measured(lambda run=run: observe(manager.connection, run)))
            read[name].append(measured(lambda run=run: deque(read_parquet(run.snapshot, ["body"], rows=2000), 0)))
            size[name] = sum(file.stat().st_size for file in run.snapshot.iterdir()) / MESSAGES
            shutil.rmtree(run.path)
    print(f"observe {MESSAGES:,} messages: microseconds of processor time a message; microseconds; bytes a message")
    least: dict[str, tuple[float, float]] = {}
    for name, times in taken.items():
        least[name] = min(one for one, _ in times), min(one for _, one in times)
        processor, seconds = (1e6 * one / MESSAGES for one in least[name])
        bodies = 1e6 * min(one for one, _ in read[name]) / MESSAGES
        print(f"  {name:<10} {processor:6.1f} {seconds:6.1f} {size[name]:6.0f}   reading all bodies {bodies:5.1f}")
    ratio = [one / other for one, other in zip(least["encrypted"], least["in clear"], strict=True)]
    print(f"  encrypted beside in clear: processor {ratio[0]:.2f}, time {ratio[1]:.2f}")


def main() -> None:
    random.seed(1)
    with tempfile.TemporaryDirectory(prefix="mqops-bench-") as at:
        manager = create(Path(at) / "queue_managers")
        for first in range(0, MESSAGES, CHUNK):
            numbers = range(first, min(first + CHUNK, MESSAGES))
            manager.put(DLQ, [dead_letter(f"T{n % 20:02}", order(n)) for n in numbers])
        compared(Path(at), manager)


if __name__ == "__main__":
    main()
