"""Decide on 1,000,000 rows with 50 rules, beside the bare Parquet scan of the columns the rules compare.

Aim: choosing the rule costs at most as much again as the scan (ratio 2.0 or less). Scan and choice alternate, the best
of several rounds counts; the processor time of Spark's tasks is given too, as it depends less on what else runs.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from ledger_opened import finish

from mqops.decide.spark.counts import plan_counts
from mqops.decide.spark.decide import JIT_LIMIT, Request, chosen, decide, valid_table
from mqops.decide.spark.digest import digest_of
from mqops.decide.spark.rules import compared
from mqops.decide.spark.schema import PLAN
from mqops.lake.run import RunFolder
from mqops.observe import snapshot
from mqops.observe.core.columns import PATTERN_COLUMNS
from mqops.observe.spark.schema import SNAPSHOT

ROWS = int(os.environ.get("MQOPS_BENCH_ROWS", "1000000"))
ROUNDS = 9


def table_text() -> str:
    """50 rules of every shape: equality, prefixes, suffixes, patterns, numbers; most messages reach the last."""
    full = [f"REASON(MQRC_Q_FULL) DESTQ(APP{n}.PAYMENTS.IN) USERID('user4{n}') ACTION(RETRY)" for n in range(20)]
    orders = [f"DESTQ(APP{n}.ORDERS.*) ACTION(FWD) FWDQ(ORDERS.PARKED)" for n in range(10)]
    answers = [f"APPLNAME('banking/app{n}?') REPLYQ(?*) PERSIST(0) ACTION(DISCARD)" for n in range(8)]
    loans = [f"DESTQ('*.LOANS.{n}') DESTQM(QM?) ACTION(FWD) FWDQ(&REPLYQ) FWDQM(&REPLYQM)" for n in range(6)]
    globs = [f"DESTQ('APP*PAY*{n}') FORMAT(MQHRF2) ACTION(DISCARD)" for n in range(5)]
    return "\n".join([*full, *orders, *answers, *loans, *globs, "ACTION(FWD) FWDQ(REALLY.DEAD.QUEUE)"]) + "\n"


def one_of(number: Column, *values: str | int) -> Column:
    return F.get(F.array(*map(F.lit, values)), (number % len(values)).cast("int"))


def write_snapshot(spark: SparkSession, folder: Path) -> None:
    """Messages of 20 applications, 30 programs, 50 users, 4 reasons; 200 bytes each."""
    number = F.col("id")
    mixed = F.abs(F.xxhash64(number))
    some = mixed.cast("string")
    varying = {
        "queue_manager": F.lit("QM1"),
        "queue": F.lit("SYSTEM.DEAD.LETTER.QUEUE"),
        "position": number,
        "md": F.lit(b"x" * 364),
        "body": F.rpad(F.concat(F.lit("DLH "), some), F.lit(200), F.lit("y")).cast("binary"),
        "body_length": F.lit(200),
        "body_sha256": F.unhex(F.sha2(some, 256)),
        "msg_key": F.sha2(F.concat(F.lit("key"), number.cast("string")), 256),
        "observed_at": F.current_timestamp(),
        "msg_id": F.unhex(F.substring(F.sha2(number.cast("string"), 256), 1, 48)),
        "reply_to_q": one_of(mixed, "", "", "BRANCH.REPLIES", "CARDS.REPLIES"),
        "reply_to_q_mgr": one_of(mixed, "", "BRANCH"),
        "user_identifier": F.concat(F.lit("user"), (mixed % 50).cast("string")),
        "put_appl_name": F.concat(F.lit("banking/app"), (mixed % 30).cast("string")),
        "put_date": F.lit("20261121"),
        "put_time": F.lpad((number % 86400).cast("string"), 8, "0"),
        "persistence": mixed % 2,
        "msg_type": one_of(mixed, 8, 1, 8),
        "dlh_reason": one_of(mixed, 2053, 2085, 2051, 2030, 2053, 2035),
        "dlh_dest_q": F.concat(F.lit("APP"), (mixed % 20).cast("string"), F.lit(".PAYMENTS.IN")),
        "dlh_dest_q_mgr": F.lit("QM1"),
        "dlh_format": F.lit("MQSTR"),
        "dlh_error": F.lit(None),
    }
    empty = {"string": F.lit(""), "binary": F.lit(b""), "integer": F.lit(0), "long": F.lit(0)}
    columns = [
        varying.get(field.name, empty.get(field.dataType.typeName(), F.lit(0))).cast(field.dataType).alias(field.name)
        for field in SNAPSHOT.fields
    ]
    spark.range(0, ROWS, 1, 4).select(*columns).write.parquet(str(folder))


class Clock:
    """Best wall time and best processor time (of the tasks) of each measured thing, in seconds."""

    def __init__(self, spark: SparkSession) -> None:
        self._context = spark.sparkContext
        self.wall: dict[str, float] = {}
        self.cpu: dict[str, float] = {}

    def measure(self, name: str, action: Callable[[], object]) -> None:
        cpu, wall = self._task_seconds(), time.perf_counter()
        action()
        wall = time.perf_counter() - wall
        self.wall[name] = min(wall, self.wall.get(name, wall))
        cpu = self._task_seconds() - cpu
        self.cpu[name] = min(cpu, self.cpu.get(name, cpu))

    def _task_seconds(self) -> float:
        context = self._context._jsc.sc()
        context.listenerBus().waitUntilEmpty()
        gateway = self._context._gateway
        lists = gateway.jvm.java.util
        quantiles = gateway.new_array(gateway.jvm.double, 0)
        stages = context.statusStore().stageList(lists.ArrayList(), False, False, quantiles, lists.ArrayList())
        return sum(stages.apply(n).executorCpuTime() for n in range(stages.size())) / 1e9

    def jobs(self) -> tuple[int, int]:
        """How many Spark jobs and tasks have ended so far."""
        context = self._context._jsc.sc()
        context.listenerBus().waitUntilEmpty()
        found = context.statusStore().jobsList(self._context._gateway.jvm.java.util.ArrayList())
        return found.size(), sum(found.apply(n).numCompletedTasks() for n in range(found.size()))

    def line(self, name: str, beside: str = "") -> None:
        rate = ROWS / self.wall[name]
        text = f"{name:<34} {self.wall[name]:7.3f} s wall {self.cpu[name]:7.3f} s cpu {rate:12,.0f} rows/s"
        if beside:
            wall, cpu = self.wall[name] / self.wall[beside], self.cpu[name] / self.cpu[beside]
            text += f"   ratio to {beside}: {wall:.2f} wall, {cpu:.2f} cpu"
        print(text, flush=True)


def noop(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


def main() -> None:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    spark = (
        SparkSession.builder.master("local[2]")
        .appName("bench decide")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.codegen.hugeMethodLimit", JIT_LIMIT)
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    text = table_text()
    table = valid_table(text, "bench")
    clock = Clock(spark)
    with tempfile.TemporaryDirectory(prefix="mqops-bench-") as lake:
        folder = RunFolder.at(Path(lake), "QM1", "bench")
        snapshot.begin(folder)
        write_snapshot(spark, folder.snapshot)
        finish(folder, "QM1", ["SYSTEM.DEAD.LETTER.QUEUE"], "2026-11-21T12:00:00Z")
        messages = spark.read.schema(SNAPSHOT).parquet(str(folder.snapshot))
        used = [PATTERN_COLUMNS[name] for name in compared(table)]
        scan = messages.select(*used, "dlh_error")
        choice = chosen(messages, table, None, (*used, "dlh_error"))
        print(f"{ROWS:,} rows, {len(table.rules)} rules, columns compared: {', '.join(used)}")
        for _ in range(ROUNDS):
            clock.measure("scan", lambda: noop(scan))
            clock.measure("scan + rule of each message", lambda: noop(choice))
        clock.line("scan")
        clock.line("scan + rule of each message", "scan")

        decide(spark, Request(folder=folder, table_text=text))
        for _ in range(3):
            plan = spark.read.schema(PLAN).parquet(str(folder.plan))
            clock.measure("  digest of the plan", lambda plan=plan: digest_of(plan))
            clock.measure("  counts and samples", lambda plan=plan: plan_counts(plan, folder.snapshot))
            jobs, tasks = clock.jobs()
            clock.measure("decide: everything", lambda: decide(spark, Request(folder=folder, table_text=text)))
            jobs, tasks = (now - before for now, before in zip(clock.jobs(), (jobs, tasks), strict=True))
        for name in ("decide: everything", "  digest of the plan", "  counts and samples"):
            clock.line(name, "scan")
        print(f"decide runs {jobs} Spark jobs with {tasks} tasks")
    spark.stop()


if __name__ == "__main__":
    main()
