"""A lake for the pages: one genuine run with a snapshot as large as one likes, and as many runs as one likes."""

from __future__ import annotations

import os
import shutil
import struct
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from mq_support import DLQ, create, dead_letter

from mqops.deciders.dead_letters import DEAD_LETTERS, DeadLetterRequest
from mqops.deciders.run import carry_out, plan_run
from mqops.lake.files import write_json
from mqops.lake.run import RunFolder
from mqops.look.runs_index import INDEX, RECENT_NS
from mqops.message_checks import CheckResult, QualitySummary
from mqops.rules import parse
from mqwire.folder import folder
from mqwire.rfh2 import MQRFH2

TEXT = "DESTQ(A) ACTION(RETRY)\nDESTQ(PAY*) ACTION(FWD) FWDQ(A)\nREASON(MQRC_Q_FULL) ACTION(IGNORE)\n"
ESTATE = """\
lake: {lake}
queue_managers:
  QM1: {{connection: mq_qm1, reveal: [admin], dlq_rules: {{rules: t.rules}}}}
"""

LINKS = 10_000


def message(number: int) -> tuple[dict[str, object], bytes]:
    """Of 40 destinations; every second one with properties; one in ten is put back by the rules."""
    name = "A" if number % 10 == 0 else f"PAY.{number % 40:02}"
    if number % 2:
        return dead_letter(name, b"%012d" % number + b"x" * 500)
    usr = folder("usr", {"country": "DE" if number % 1000 == 0 else "FR"})
    header = MQRFH2(format="MQSTR", coded_char_set_id=1208).with_folders(usr).pack()
    return dead_letter(name, header + b"%012d" % number + b"x" * 500, inner=("MQHRF2", 546, 1208))


def make_lake(base: Path, *, runs: int, recorded: int, messages: int) -> RunFolder:
    """A genuine run; its snapshot many times over, with other identifiers; the run many times over without messages.

    Parameters: `base` an empty folder; `messages` of the run, of which `recorded` are made.
    """
    home, lake = base / "queue_managers", base / "lake"
    home.mkdir()
    (base / "t.rules").write_text(TEXT)
    (base / "estate.yaml").write_text(ESTATE.format(lake=lake))
    manager = create(home, mqsc="DEFINE QLOCAL(A) MAXDEPTH(999999)\nDEFINE QLOCAL(T) TRIGGER INITQ(NONE)\n")
    request = DeadLetterRequest(connection=manager.connection, lake=lake, table=parse(TEXT).table, text=TEXT)
    manager.put(DLQ, [message(one) for one in range(10)])
    small, plan = plan_run(DEAD_LETTERS, request)
    carry_out(DEAD_LETTERS, request, small, plan)
    manager.put(DLQ, [message(one) for one in range(messages)])
    run, _plan = plan_run(DEAD_LETTERS, request)
    (part,) = run.snapshot.glob("*.parquet")
    whole = pq.read_table(part)
    for number in range(1, recorded // messages):
        pq.write_table(others(whole, number), part.with_name(f"part-9{number:05}.parquet"), compression="zstd")
    for first in range(0, runs - 2, LINKS):
        copy_run(small.path, first, min(LINKS, runs - 2 - first))
    settle(run.lake_folder)
    return run


def copy_run(run: Path, first: int, number: int) -> None:
    """The run many times over: once copied, then linked, as a file system bounds the links of a file."""
    copy = shutil.copytree(run, run.with_name(f"copy-{first:06}"))
    files = [path.relative_to(copy) for path in copy.rglob("*") if path.is_file()]
    folders = {path.parent for path in files}
    for other in range(first + 1, first + number):
        linked = run.with_name(f"copy-{other:06}")
        for folder_of in sorted(folders):
            (linked / folder_of).mkdir(mode=0o700, parents=True)
        for path in files:
            os.link(copy / path, linked / path)


def check_quality(run: RunFolder, failures: int, expectations: tuple[str, ...] = ("e",)) -> None:
    """The summary and the table of failures of a quality run, as one writes them: the messages fail the expectations in
    turn."""
    folder_of = run.quality_json.parent
    (folder_of / "failures").mkdir(parents=True, mode=0o700)
    row = {"queue_manager": "QM1", "queue": DLQ, "msg_key": "k", "suite": "s", "expectation": "e"}
    row |= {"severity": "critical", "tolerated": False, "observed": "wrong"}
    rows = [
        {**row, "position": one, "msg_id": f"{one:048x}", "expectation": expectations[one % len(expectations)]}
        for one in range(failures)
    ]
    pq.write_table(pa.Table.from_pylist(rows), folder_of / "failures" / "part.parquet")
    checks = tuple(
        CheckResult(
            suite="s", expectation=one, expect="column_values_to_be_in_set", why="", columns=("format",),
            severity="critical", met=False, checked=failures, failed=failures // len(expectations),
        )
        for one in expectations
    )  # fmt: skip
    summary = QualitySummary(
        run=run.run, queue_manager="QM1", queue=DLQ, found=failures, done=0, left=failures, checks=checks,
        failed={"critical": len(checks), "warning": 0, "info": 0}, failures=str(folder_of / "failures"),
        checked_at="2026-01-01T00:00:00+00:00",
    )  # fmt: skip
    write_json(run.quality_json, summary.to_json())


def settle(lake_folder: Path) -> None:
    """Make every run so old that a look does not ask for its time: one that changed within the last hour may change
    again. Copies come by other hands than those that mark runs: the index is made anew."""
    (lake_folder / INDEX).unlink(missing_ok=True)
    old = time.time_ns() - 2 * RECENT_NS
    for path in (lake_folder / "runs").iterdir():
        os.utime(path, ns=(old, old))


def plan_all(run: RunFolder, *, recorded: int, messages: int) -> None:
    """A plan for the messages that `make_lake` has added to the snapshot, as for the first of them."""
    (part,) = run.plan.glob("*.parquet")
    whole = pq.read_table(part)
    for number in range(1, recorded // messages):
        pq.write_table(others(whole, number), part.with_name(f"part-9{number:05}.parquet"), compression="zstd")


def others(messages: pa.Table, number: int) -> pa.Table:
    """The same messages under other identifiers, which a queue manager would give to later ones."""
    ids = [one[:16] + struct.pack(">II", number, place) for place, one in enumerate(messages["msg_id"].to_pylist())]
    keys = [f"{number:08x}{key[8:]}" for key in messages["msg_key"].to_pylist()]
    for name, values in (("msg_id", ids), ("msg_key", keys)):
        at, field = messages.schema.get_field_index(name), messages.schema.field(name)
        messages = messages.set_column(at, field, pa.array(values, field.type))
    return messages
