"""What a lake asks of its file system, and what an object store takes for the same: docs/kubernetes.md argues with it.

A run of 2,000 dead letters by `mqops dlq run`: what it leaves, and the calls of Python with which it was written
(SQLite's and Arrow's own are not counted). Beside it a small file, written to last and read, and one row group of a
snapshot of 200,000 messages, on the local disk and in the bucket `mqops` of the store that MQOPS_OBJECT_STORE names:
`pip install 'moto[server]'`, `moto_server -p 5000`, `MQOPS_OBJECT_STORE=http://127.0.0.1:5000`.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from bench_redrive import folder
from mq_support import DLQ, create, dead_letter

MESSAGES, ROWS, ROUNDS = 2_000, 200_000, 30
SMALL = b"{}\n" * 300
"""As large as most files of a run are."""
RUN = """
import collections, json, os, sys
from mqops.cli import main
lake, calls = os.environ["MQOPS_LAKE"], collections.Counter()
NAMES = {"os.rename": "renames", "os.link": "hard links", "fcntl.flock": "locks"}

def count(event, given):
    if event == "open" and isinstance(given[0], str) and given[0].startswith(lake):
        calls["opens"] += 1
    elif event in NAMES:
        calls[NAMES[event]] += 1

def counted(flush):
    def call(descriptor):
        calls["flushes to the disk"] += 1
        return flush(descriptor)
    return call

os.fsync, os.fdatasync = counted(os.fsync), counted(os.fdatasync)
sys.addaudithook(count)
try:
    main(["dlq", "run", "--once", sys.argv[1], "QM1"])
except SystemExit as ended:
    assert not ended.code, ended
print(json.dumps(calls))
"""
KINDS: dict[str, Callable[[Path], bool]] = {
    "Parquet": lambda path: path.suffix == ".parquet",
    "index of runs (SQLite)": lambda path: path.suffix == ".sqlite",
    "lines of the ledger": lambda path: path.suffix == ".jsonl",
    "others": lambda _path: True,
}
TABLE = "ACTION(FWD) FWDQ(TARGET) HEADER(NO)\n"
QUEUES = "DEFINE QLOCAL(TARGET) MAXDEPTH(999999) DEFPSIST(YES)\n"


def what_a_run_asks(place: Path) -> None:
    """Carry one out and print it."""
    manager, lake = create(place, mqsc=QUEUES), place / "lake"
    manager.put(DLQ, [dead_letter("TARGET", b"x" * 500)] * MESSAGES)
    environment = {**manager.environment, "MQOPS_LAKE": str(lake)}
    done = subprocess.run(
        [sys.executable, "-c", RUN, DLQ], input=TABLE, env=environment, capture_output=True, text=True, check=True
    )
    files = {path.relative_to(lake): path.stat().st_size for path in lake.rglob("*") if path.is_file()}
    print(f"a run of {MESSAGES:,} messages leaves {len(files)} files:")
    for kind, fits in KINDS.items():
        sizes = [files.pop(path) for path in list(files) if fits(path)]
        print(f"  {kind}: {len(sizes)} with {sum(sizes) / 1000:.1f} kB, the largest {max(sizes) / 1000:.1f} kB")
    calls = json.loads(done.stdout.splitlines()[-1])
    print("and was written by", ", ".join(f"{number} {name}" for name, number in sorted(calls.items())))


def milliseconds(work: Callable[[], object]) -> float:
    """The median by the clock: a store is waited for."""
    taken = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        work()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken) * 1000


def to_last(path: Path) -> None:
    """A small file as the lake writes it: flushed, renamed into its place, and its folder flushed."""
    beside = path.with_suffix(".new")
    with beside.open("wb") as stream:
        stream.write(SMALL)
        stream.flush()
        os.fsync(stream.fileno())
    beside.rename(path)
    descriptor = os.open(path.parent, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


def snapshot() -> pa.Table:
    """As many rows as a part of a snapshot may have, of two columns that a search reads."""
    keys = [f"{number:064x}" for number in range(ROWS)]
    return pa.table({"msg_key": keys, "put_at": range(ROWS)})


def row_group(place: fs.FileSystem, path: str) -> None:
    pq.ParquetFile(place.open_input_file(path)).read_row_group(1, ["put_at"])


def on_the_disk(place: Path) -> None:
    small, large = place / "small", place / "large.parquet"
    pq.write_table(snapshot(), large, row_group_size=ROWS // 4)
    local = fs.LocalFileSystem()
    taken = (milliseconds(lambda: to_last(small)), milliseconds(small.read_bytes))
    told(f"disk of {place}", *taken, milliseconds(lambda: row_group(local, str(large))))


def in_the_store(endpoint: str) -> None:
    secret = os.environ.get("AWS_SECRET_ACCESS_KEY", "testing")
    store = fs.S3FileSystem(
        access_key=os.environ.get("AWS_ACCESS_KEY_ID", "testing"), secret_key=secret, endpoint_override=endpoint,
        region="us-east-1", allow_bucket_creation=True,
    )  # fmt: skip
    store.create_dir("mqops")

    def put() -> None:
        with store.open_output_stream("mqops/small") as stream:
            stream.write(SMALL)

    pq.write_table(snapshot(), "mqops/large.parquet", filesystem=store, row_group_size=ROWS // 4)
    taken = (milliseconds(put), milliseconds(lambda: store.open_input_stream("mqops/small").read()))
    told(endpoint, *taken, milliseconds(lambda: row_group(store, "mqops/large.parquet")))


def told(where: str, written: float, read: float, group: float) -> None:
    print(f"{where}: small file written {written:.2f} ms, read {read:.2f} ms; row group read {group:.2f} ms")


def main() -> int:
    with folder() as place:
        what_a_run_asks(place)
        on_the_disk(place)
    endpoint = os.environ.get("MQOPS_OBJECT_STORE")
    if endpoint:
        in_the_store(endpoint)
    else:
        print("MQOPS_OBJECT_STORE is not set: no object store was measured")
    return 0


if __name__ == "__main__":
    sys.exit(main())
