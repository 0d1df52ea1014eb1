"""Header checks on a large snapshot by Spark: one pass beside the bare scan of their columns, and beside Great
Expectations on the same session. And checks of payloads, JSON of 1 KB, by the same pass.

Aims: at most 3 times the bare scan, and at least 5 times as fast as Great Expectations; 100,000 payloads a second on
two cores. In each round every way runs once, one after the other; the first round, with imports and cold caches, does
not count. Told are the medians and their ratio, by the clock and by the processor time of this process, its JVM and its
Python workers: that hardly depends on what else the machine does. The scan is Spark's own, of the same columns as the
suite names them, and nothing is done with a row. Great Expectations has the same suite, and the same table of failures
is written. Payloads are also checked in this process, without Spark. MQOPS_BENCH_MESSAGES and MQOPS_BENCH_PAYLOADS say
how many messages.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

import psutil
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from mq_support import DLQ

from mqops.lake.files import make_folder
from mqops.lake.parquet import write_parquet
from mqops.message_checks import QualitySummary
from mqops.observe.arrow import SNAPSHOT
from mqops.observe.core.columns import SnapshotRow
from mqops.observe.core.decode import Browsed, snapshot_row
from mqops.quality.check import check
from mqops.quality.files import QualityFiles
from mqops.quality.frame import frame_of
from mqops.quality.in_process import check_here
from mqops.quality.one_pass import check_in_one_pass
from mqops.quality.snapshot_frame import read_snapshot
from mqops.quality.suite import columns_of
from mqops.quality.suite_file import load_suites
from mqops.spark_job import session
from mqwire.structures import MQDLH, MQMD

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MESSAGES = int(os.environ.get("MQOPS_BENCH_MESSAGES", "1000000"))
PAYLOADS = int(os.environ.get("MQOPS_BENCH_PAYLOADS", "300000"))
"""More than are checked in one process."""
ROUNDS = 3
KINDS = 1000
"""Different messages; the snapshot has each several times."""
NOW = "2026-11-21T12:00:01Z"
CHECKS = [
    {"expect": "column_values_to_be_between", "column": "priority", "min_value": 0, "max_value": 9},
    {"expect": "column_values_to_be_between", "column": "backout_count", "max_value": 4},
    {"expect": "column_values_to_be_between", "column": "age_seconds", "max_value": 864000, "mostly": 0.9},
    {"expect": "column_values_to_be_between", "column": "expires_in_seconds", "min_value": 60},
    {"expect": "column_values_to_be_between", "column": "body_length", "min_value": 1},
    {"expect": "column_values_to_be_in_set", "column": "format", "value_set": ["MQDEAD", "MQSTR"]},
    {"expect": "column_values_to_be_in_set", "column": "msg_type", "value_set": [1, 2, 4, 8]},
    {"expect": "column_values_to_be_in_set", "column": "persistence", "value_set": [0, 1]},
    {"expect": "column_values_to_be_in_set", "column": "dlh_reason", "value_set": [2053, 2051]},
    {"expect": "column_values_to_not_be_in_set", "column": "dlh_dest_q", "value_set": ["NOWHERE"]},
    {"expect": "column_values_to_not_be_null", "column": "dlh_dest_q"},
    {"expect": "column_values_to_match_regex", "column": "dlh_dest_q", "regex": "^[A-Z0-9.]+$"},
    {"expect": "column_value_lengths_to_be_between", "column": "put_appl_name", "max_value": 28},
    {"expect": "column_values_to_be_in_set", "column": "dlh_valid", "value_set": [True]},
    {"expect": "table_row_count_to_be_between", "min_value": 1},
]

PAYLOAD_CHECKS = [
    {"expect": "column_values_to_be_between", "column": "$.amount", "min_value": 0.01, "max_value": 9999},
    {"expect": "column_values_to_be_in_set", "column": "$.currency", "value_set": ["EUR", "USD"]},
    {"expect": "column_values_to_not_be_null", "column": "$.debtor.name"},
    {"expect": "column_values_to_match_regex", "column": "$.id", "regex": "^P[0-9]{6}$"},
]


def snapshot(folder: Path) -> None:
    """Dead letters, of which one in a thousand fails a check."""
    read = Browsed(queue_manager="QM1", queue=DLQ, observed_at=datetime(2026, 11, 21, 12, tzinfo=UTC))
    rows = []
    for number in range(KINDS):
        header = MQDLH(
            reason=2053, dest_q_name=f"T{number % 20:02}", format="MQSTR", coded_char_set_id=1208, encoding=546
        )
        md = MQMD(
            format="MQDEAD",
            msg_id=number.to_bytes(24, "big"),
            priority=4,
            persistence=1,
            backout_count=9 if number == 7 else 0,
            put_date="20261120",
            put_time=f"{number % 24:02}000000",
            put_appl_name="payments",
            coded_char_set_id=1208,
            encoding=546,
        )
        rows.append(snapshot_row(read, number, md.pack(), header.pack() + b"%064d" % number))
    _write(folder, rows, MESSAGES)


def payloads(folder: Path) -> None:
    """Messages of 1,024 bytes of JSON, of which one in a thousand has an amount that is too high."""
    read = Browsed(queue_manager="QM1", queue="PAYMENTS", observed_at=datetime(2026, 11, 21, 12, tzinfo=UTC))
    rows = []
    for number in range(KINDS):
        document = {
            "id": f"P{number:06}",
            "amount": 12345.67 if number == 7 else round(1 + number / 100, 2),
            "currency": "EUR",
            "debtor": {"name": "A" * 40, "iban": "DE89370400440532013000"},
            "lines": [{"sku": f"SKU{line:05}", "quantity": line, "text": "x" * 30} for line in range(9)],
            "note": "",
        }
        document["note"] = "n" * (1024 - len(json.dumps(document)))
        body = json.dumps(document).encode()
        assert len(body) == 1024
        md = MQMD(format="MQSTR", msg_id=number.to_bytes(24, "big"), coded_char_set_id=1208, encoding=546)
        rows.append(snapshot_row(read, number, md.pack(), body))
    _write(folder, rows, PAYLOADS)


def _write(folder: Path, rows: list[SnapshotRow], messages: int) -> None:
    batch = pa.RecordBatch.from_pylist(rows, SNAPSHOT)
    make_folder(folder)
    write_parquet(folder, SNAPSHOT, (batch for _ in range(messages // KINDS)))


class Took(NamedTuple):
    """Seconds by the clock, and of processors."""

    clock: float
    processor: float


def processors() -> dict[int, float]:
    """Processor seconds so far of this process and of each that it started, by process id."""
    found = {}
    for one in (psutil.Process(), *psutil.Process().children(recursive=True)):
        with suppress(psutil.Error):
            found[one.pid] = sum(one.cpu_times()[:2])
    return found


def took(work: Callable[[], object]) -> Took:
    clock, before = time.perf_counter(), processors()
    work()
    used = {pid: seconds - before.get(pid, 0.0) for pid, seconds in processors().items()}
    return Took(time.perf_counter() - clock, sum(used.values()))


def rounds(ways: Mapping[str, Callable[[], object]]) -> dict[str, Took]:
    """The medians of each way. Each round has all ways, so that what else the machine does meets all of them."""
    found: dict[str, list[Took]] = {name: [] for name in ways}
    for number in range(ROUNDS + 1):
        for name, work in ways.items():
            one = took(work)
            print(f"  round {number}, {name}: {one.clock:.1f} s, processors {one.processor:.1f} s", flush=True)
            if number:
                found[name].append(one)
    return {name: Took(*(median(values) for values in zip(*of, strict=True))) for name, of in found.items()}


def told(messages: int, what: str, medians: Mapping[str, Took]) -> None:
    for name, one in medians.items():
        each = 1e6 * one.processor / messages
        print(
            f"{messages:,} messages, {what}, {name:20}{one.clock:8.1f} s{messages / one.clock:12,.0f} a second; "
            f"processors {one.processor:.1f} s, {each:.1f} microseconds a message"
        )


def measured(spark: SparkSession, folder: Path) -> None:
    snapshot(folder / "snapshot")
    path = folder / "suite.json"
    checks = [{"id": f"c{number}", **one} for number, one in enumerate(CHECKS)]
    path.write_text(json.dumps({"suite": "bench", "expectations": checks}))
    suites = load_suites([path])
    numbers = iter(range(1000))

    def files() -> QualityFiles:
        return QualityFiles.of(folder / "snapshot", folder=folder / f"result-{next(numbers)}")

    def scan() -> None:
        rows = frame_of(read_snapshot(spark, folder / "snapshot", needs_body=False), columns_of(suites))
        rows.write.format("noop").mode("overwrite").save()

    def one_pass() -> None:
        found = check_in_one_pass(spark, files(), suites, now=NOW)
        assert {one.expectation: one.failed for one in found.checks if one.failed} == {"c1": MESSAGES // KINDS}

    def gx() -> None:
        check(spark, files(), suites, now=NOW)

    found = rounds({"bare scan": scan, "one pass": one_pass, "Great Expectations": gx})
    told(MESSAGES, f"{len(CHECKS)} checks", found)
    for way, beside in (("one pass", "bare scan"), ("Great Expectations", "one pass")):
        ratios = [of / by for of, by in zip(found[way], found[beside], strict=True)]
        print(f"{way} beside {beside}: {ratios[0]:.1f} by the clock, {ratios[1]:.1f} by processor time")


def payloads_measured(spark: SparkSession, folder: Path) -> None:
    payloads(folder / "payloads")
    path = folder / "payloads.json"
    checks = [{"id": f"c{number}", **one} for number, one in enumerate(PAYLOAD_CHECKS)]
    named = {"$.amount": "number", "$.currency": "text", "$.debtor.name": "text", "$.id": "text"}
    path.write_text(json.dumps({"suite": "payloads", "columns": named, "expectations": checks}))
    suites = load_suites([path])
    numbers = iter(range(1000))

    def by(way: Callable[[QualityFiles], QualitySummary]) -> None:
        found = way(QualityFiles.of(folder / "payloads", folder=folder / f"of-payloads-{next(numbers)}"))
        assert {one.expectation: one.failed for one in found.checks if one.failed} == {"c0": PAYLOADS // KINDS}

    ways = {
        "one pass": lambda: by(lambda files: check_in_one_pass(spark, files, suites, now=NOW)),
        "one process": lambda: by(lambda files: check_here(files, suites, now=NOW)),
    }
    told(PAYLOADS, f"JSON of 1 KB, {len(PAYLOAD_CHECKS)} checks", rounds(ways))


def main() -> None:
    spark = session("bench quality")
    with tempfile.TemporaryDirectory(prefix="mqops-bench-") as folder:
        measured(spark, Path(folder))
        payloads_measured(spark, Path(folder))


if __name__ == "__main__":
    main()
