"""Fuzzed messages through observe, decide and anatomy: no traceback, none lost, and the good ones come out right.

MQOPS_FUZZ_MESSAGES raises their number. Most go in where a browsed message becomes a row of the snapshot: from there on
it is what `mqops snapshot` and `mqops dlq run` do, files and all. One in 50 goes through a queue and the commands.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from fuzzed import ACTIONS, TABLE, Fuzz, Fuzzed, md_bytes
from mq_support import DLQ
from pymqi import CMQC
from snapshot_support import browsed, written_snapshot

from mqops.cli import main
from mqops.decide.arrow import PLAN
from mqops.decide.in_process import decide
from mqops.lake.parquet import read_parquet
from mqops.lake.run import RunFolder
from mqops.observe import anatomy
from mqops.observe.arrow import SNAPSHOT
from mqops.rules import parse

MESSAGES = int(os.environ.get("MQOPS_FUZZ_MESSAGES", "4000"))
SEED = int(os.environ.get("MQOPS_FUZZ_SEED", "12"))
IN_A_RUN = 5000
OBSERVED = "2026-01-03T03:04:05+00:00"
MQSC = "".join(f"DEFINE QLOCAL({name})\n" for name in ("JSON", "XML", "TEXT", "ODD"))


def test_fuzzed_messages_are_observed_decided_and_counted(tmp_path: Path) -> None:
    table = parse(TABLE).table
    fuzz, done, good, slowest = Fuzz.of(SEED), 0, 0, 0.0
    while done < MESSAGES:
        given = list(fuzz.messages(min(IN_A_RUN, MESSAGES - done)))
        begin = time.process_time()
        mds = [md_bytes(position, message) for position, message in enumerate(given)]
        run = recorded(tmp_path, f"run{done}", mds, given)
        decide(run, table, text=TABLE, source="fuzz")
        slowest = max(slowest, (time.process_time() - begin) / len(given))
        assert [queue.messages for queue in anatomy.of_snapshot(None, run.snapshot)] == [len(given)]
        good += assert_right(run, mds, given)
        done += len(given)
        if done % 50_000 == 0:
            print(f"{done} messages, {good} of them good", flush=True)
        shutil.rmtree(run.path)
    print(f"{done} messages, {good} of them good; the slowest run took {slowest * 1e6:.0f} us of CPU time a message")
    assert good > MESSAGES // 20


def recorded(lake: Path, name: str, mds: Sequence[bytes], given: Sequence[Fuzzed]) -> RunFolder:
    """A run's snapshot of these messages."""
    messages = ((md, message.body) for md, message in zip(mds, given, strict=True))
    return written_snapshot(RunFolder.at(lake, "QM1", name), browsed(DLQ, datetime.fromisoformat(OBSERVED)), messages)


def assert_right(run: RunFolder, mds: Sequence[bytes], given: Sequence[Fuzzed]) -> int:
    """Every message is in the snapshot and in the plan, byte for byte; returns how many good ones came out right."""
    good = 0
    observed = rows_of(run.snapshot, SNAPSHOT.names)
    planned = rows_of(run.plan, PLAN.names)
    assert len(observed) == len(planned) == len(given)
    for position, (message, seen, row) in enumerate(zip(given, observed, planned, strict=True)):
        assert (seen["position"], row["row"]) == (position, position)
        assert (seen["md"], seen["body"]) == (mds[position], message.body)
        assert (row["msg_key"], row["body_length"]) == (seen["msg_key"], len(message.body))
        assert row["action"] in ACTIONS
        assert (row["action"] == "ERROR") is (seen["dlh_error"] is not None)
        if message.becomes is not None:
            good += 1
            assert {name: {**seen, **row}[name] for name in message.becomes} == message.becomes
    return good


def rows_of(folder: Path, columns: Sequence[str]) -> list[dict[str, Any]]:
    """The rows of a folder of Parquet files."""
    return [row for batch in read_parquet(folder, columns) for row in batch.to_pylist()]


@pytest.fixture
def mqops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Runs an `mqops` command on the lake; returns what it says as JSON."""
    monkeypatch.setenv("MQLITE_HOME", str(tmp_path / "queue_managers"))

    def command(*arguments: str, text: str = "") -> Any:
        result = CliRunner().invoke(main, [*arguments, "--lake", str(tmp_path / "lake"), "--json"], input=text)
        assert result.exit_code == 0, (result.output, result.exception)
        return json.loads(result.stdout)

    return command


def test_fuzzed_messages_on_a_queue(queue_manager: Any, mqops: Callable[..., Any], tmp_path: Path) -> None:
    manager = queue_manager(mqsc=MQSC)
    given = list(Fuzz.of(SEED + 1).messages(max(200, MESSAGES // 50)))
    ids = manager.put(DLQ, [(described(message), message.body) for message in given], options=CMQC.MQOO_SET_ALL_CONTEXT)
    taken = mqops("snapshot", DLQ, "-m", "QM1")
    assert taken["messages"] == len(given)
    (queue,) = mqops("dlq", "anatomy", DLQ, "QM1")["queues"]
    assert queue["messages"] == sum(cell["messages"] for cell in queue["cells"]) == len(given)
    plan = mqops("dlq", "run", DLQ, "QM1", "--dry-run", text=TABLE)
    run = RunFolder(Path(plan["run"]))
    by_id = {row["msg_id"]: row for row in rows_of(run.snapshot, SNAPSHOT.names)}
    decided = {row["msg_id"]: row for row in rows_of(run.plan, PLAN.names)}
    assert len(set(ids)) == len(by_id) == len(decided) == len(given)
    for msg_id, message in zip(ids, given, strict=True):
        assert by_id[msg_id]["body"] == message.body
        becomes: Mapping[str, Any] = message.becomes or {}
        assert {name: {**by_id[msg_id], **decided[msg_id]}[name] for name in becomes} == becomes
    assert Counter(manager.bodies(DLQ)) == Counter(message.body for message in given)


def described(message: Fuzzed) -> dict[str, Any]:
    """The fields of its MQMD as a program sets them that may set all context."""
    context = {"PutDate": b"20260102", "PutTime": b"03040500"}
    return {**context, **message.md}
