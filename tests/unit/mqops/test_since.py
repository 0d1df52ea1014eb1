"""Since when a line of `mqops estate status` is so: by the queue manager, by the looks of the day, or not known."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from mq_support import DLQ, dead_letter

from mqops.clock import utc_text
from mqops.deciders.dead_letters import DEAD_LETTERS, DeadLetterRequest
from mqops.deciders.run import carry_out, plan_run
from mqops.rules import parse

ESTATE = """\
lake: lake
queue_managers:
  QM1: {connection: mq_qm1}
"""


@pytest.fixture
def status(queue_manager, mqops_here, tmp_path) -> Callable[..., str]:
    (tmp_path / "estate.yaml").write_text(ESTATE)
    (tmp_path / "lake").mkdir(mode=0o700)
    return lambda *options: " ".join(
        mqops_here("estate", "status", str(tmp_path / "estate.yaml"), *options, expect=None).stdout.split()
    )


@pytest.fixture
def manager(queue_manager) -> Any:
    return queue_manager(mqsc="DEFINE QLOCAL(A)\nDEFINE QLOCAL(B)\nDEFINE QLOCAL(FULL) MAXDEPTH(2)\n")


def sampled(lake: Path, *depths: dict[str, int]) -> list[str]:
    """Looks of the last hours, the newest an hour ago; their times."""
    times = [utc_text(datetime.now(UTC) - timedelta(hours=hours)) for hours in range(len(depths), 0, -1)]
    samples = [{"at": at, "depths": one, "whole": True} for at, one in zip(times, depths, strict=True)]
    (lake / "QM1" / "depths.json").write_text(json.dumps({"samples": samples}))
    return times


def test_since_when_is_told_by_the_looks_of_the_day_where_the_queue_is_not_monitored(manager, status, tmp_path):
    manager.put(DLQ, [dead_letter("A", b"x")])
    manager.put("FULL", [({}, b"x")] * 2)
    switches_on = f"`ALTER QLOCAL({DLQ}) MONQ(MEDIUM)` has the queue manager tell the age of the oldest message"
    first = status()
    assert f"{DLQ}, the dead-letter queue, has 1 message; since when is not known. {switches_on}" in first
    assert "No look of the last day before this one found it so" in first.partition("FULL is 100 % full")[2]
    times = sampled(tmp_path / "lake", {DLQ: 3}, {"FULL": 1}, {DLQ: 1, "FULL": 2}, {DLQ: 2, "FULL": 2})
    later = status()
    assert f"has 1 message; it had messages at each look since {times[2]}." in later
    assert f"It was so at each look since {times[2]}" in later.partition("FULL is 100 % full")[2]
    sampled(tmp_path / "lake", {DLQ: 3, "FULL": 2}, {})
    emptied = status()
    assert f"since when is not known. {switches_on}" in emptied
    assert "at each look" not in emptied
    sampled(tmp_path / "lake", {DLQ: 3})
    manager.mqsc(f"ALTER QMGR MONQ(LOW)\nCLEAR QLOCAL({DLQ})")
    begun = time.monotonic()
    manager.put(DLQ, [dead_letter("A", b"x")])
    known = status().partition("the dead-letter queue, has 1 message")[2].partition("FULL")[0]
    told = re.match(r", the oldest (\d+) s old\.", known)
    assert told, known
    assert int(told[1]) <= time.monotonic() - begun + 0.1  # of the put the tenth of a second is kept
    assert "each look" not in known


def test_several_queues_that_nobody_reads_have_the_command_that_shows_the_deepest(manager, status, tmp_path):
    text = "DESTQ(A) ACTION(RETRY)\nDESTQ(B) ACTION(RETRY)\n"
    request = DeadLetterRequest(
        connection=manager.connection, lake=tmp_path / "lake", table=parse(text).table, text=text
    )
    manager.put(DLQ, [dead_letter(name, b"x") for name in ("A", "B", "B")])
    carry_out(DEAD_LETTERS, request, *plan_run(DEAD_LETTERS, request))
    (line,) = [
        one for one in json.loads(status("--json"))["QM1"]["besides"] if "have no program that reads them" in one
    ]
    assert "B (CURDEPTH 2), A (CURDEPTH 1)" in line
    assert "reads the queue. mqops message find B -m QM1" in status()
    assert "mqops message find B -m QM1" in status("--daily")
