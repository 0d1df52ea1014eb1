"""A snapshot in one process: decoded by columns beside message by message, then the whole pass step by step.

All figures are processor time, the least of some rounds. Messages are of 1 KB. Both ways of decoding end in Arrow's
record batches, one at a time. Aim: by columns at least 4 times as fast for text, and peak memory that does not grow
with the depth of the queue.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

import pyarrow as pa

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from ledger_opened import observe
from mq_support import DLQ, Manager, create, dead_letter

from mqops.lake.files import make_folder
from mqops.lake.parquet import write_parquet
from mqops.lake.run import RunFolder
from mqops.mq.browse import browse
from mqops.mq.connection import MqConnection, connect
from mqops.mq.session import RawMessage
from mqops.observe.arrow import SNAPSHOT
from mqops.observe.batches import BATCH_ROWS, record_batches
from mqops.observe.core.decode import Browsed, snapshot_row
from mqwire.rfh2 import MQRFH2
from mqwire.structures import MQDLH, MQMD

MESSAGES = int(os.environ.get("MQOPS_BENCH_MESSAGES", "100000"))
DECODED = min(MESSAGES, 20_000)
CHUNK = 10_000
ROUNDS = 5
BROWSED = Browsed(queue_manager="QM1", queue=DLQ, observed_at=datetime.now(UTC))
JMS = MQRFH2(format="MQSTR", coded_char_set_id=1208).with_folders(
    "<jms><Dst>queue:///Q</Dst></jms>", "<usr><a>1</a></usr>"
)
ORDINARY = MQMD(format="MQSTR", coded_char_set_id=1208, put_date="20261121", put_time="12000000").pack()
KINDS: Mapping[str, Callable[[int], RawMessage]] = {
    "text": lambda n: dead(n, b"%012d" % n),
    "text, header in EBCDIC and big-endian": lambda n: dead(n, b"%012d" % n, encoding=273, ccsid=500),
    "text, no dead-letter header": lambda n: RawMessage(ORDINARY, (b"order %012d" % n).ljust(1024, b"x")),
    "JSON": lambda n: dead(n, b'{"id": %d, "of": "' % n, end=b'"}'),
    "MQRFH2 and text": lambda n: dead(n, JMS.pack() + b"%012d" % n, data_format="MQHRF2"),
}


def dead(
    number: int, data: bytes, *, encoding: int = 546, ccsid: int = 1208, data_format: str = "MQSTR", end: bytes = b""
) -> RawMessage:
    """A dead-lettered message of 1 KB."""
    said = {"encoding": 546, "coded_char_set_id": 1208, "format": data_format}
    dlh = MQDLH(reason=2053, dest_q_name=f"T{number % 20:02}", dest_q_mgr_name="QM1", put_appl_name="app", **said)
    header = dlh.pack(encoding=encoding, ccsid=ccsid)
    context = {"put_appl_name": "app", "user_identifier": "user", "put_date": "20261121", "put_time": "12000000"}
    md = MQMD(format="MQDEAD", encoding=encoding, coded_char_set_id=ccsid, msg_id=number.to_bytes(24, "big"), **context)
    return RawMessage(md.pack(), header + data.ljust(1024 - len(header) - len(end), b"x") + end)


def message_by_message(messages: Sequence[RawMessage]) -> Iterator[pa.RecordBatch]:
    """`snapshot_row` of each."""
    rows = (snapshot_row(BROWSED, position, got.md, got.body) for position, got in enumerate(messages))
    while some := list(islice(rows, BATCH_ROWS)):
        columns = [pa.array([row[field.name] for row in some], field.type) for field in SNAPSHOT]
        yield pa.RecordBatch.from_arrays(columns, schema=SNAPSHOT)


def seconds(work: Callable[[], object]) -> float:
    """Processor seconds of this process."""
    started = time.process_time()
    work()
    return time.process_time() - started


def consumed(batches: Iterator[pa.RecordBatch]) -> None:
    deque(batches, maxlen=0)


def decoding() -> None:
    print(f"decode {DECODED:,} messages, microseconds of processor time a message")
    for kind, make in KINDS.items():
        messages = [make(number) for number in range(DECODED)]
        slow, fast = [], []
        for _ in range(ROUNDS):
            slow.append(seconds(lambda given=messages: consumed(message_by_message(given))))
            fast.append(seconds(lambda given=messages: consumed(record_batches(BROWSED, given))))
        one, columns = (min(taken) * 1e6 / DECODED for taken in (slow, fast))
        print(f"  {kind:<40} {one:6.1f} one by one {columns:6.1f} by columns   {one / columns:5.1f} times as fast")


def whole_pass(manager: Manager, lake: Path) -> None:
    print(f"observe {MESSAGES:,} messages, microseconds of processor time a message")
    folder = RunFolder.at(lake, "QM1", "parts").snapshot
    make_folder(folder)
    with connect(manager.connection) as session:
        steps = {
            "browse": lambda: deque(browse(session, DLQ), maxlen=0),
            "browse, decode": lambda: consumed(record_batches(BROWSED, browse(session, DLQ))),
            "browse, decode, Parquet": lambda: write_parquet(
                folder, SNAPSHOT, record_batches(BROWSED, browse(session, DLQ))
            ),
        }
        for name, step in steps.items():
            print(f"  {name:<40} {min(seconds(step) for _ in range(2)) * 1e6 / MESSAGES:6.1f}")
    for depth in (MESSAGES // 10, MESSAGES):
        command = [sys.executable, __file__, str(manager.home), str(lake / f"depth{depth}"), str(depth)]
        print(f"  {f'all of it, {depth:,} messages':<40} {subprocess.check_output(command, text=True).strip()}")


def alone(home: str, lake: str, depth: int) -> None:
    """Observe so many messages in this process, which did nothing else."""
    connection = MqConnection(queue_manager="QM1", environment={"MQLITE_HOME": home})
    taken = seconds(lambda: observe(connection, RunFolder.at(Path(lake), "QM1", "run1"), limit=depth))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"{taken * 1e6 / depth:6.1f}   peak memory {memory} MiB")


def main() -> None:
    decoding()
    with tempfile.TemporaryDirectory(prefix="mqops-bench-") as at:
        manager = create(Path(at) / "queue_managers")
        for first in range(0, MESSAGES, CHUNK):
            numbers = range(first, min(first + CHUNK, MESSAGES))
            manager.put(DLQ, [dead_letter(f"T{n % 20:02}", (b"%012d" % n).ljust(1024 - 172, b"x")) for n in numbers])
        whole_pass(manager, Path(at) / "lake")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        alone(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    else:
        main()
