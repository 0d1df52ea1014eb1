"""Backout reprocessing on Spark decides as the plain one does: same rows, same digest, same remarks."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from mqops.backout.core.origin import Misconfigured, Setting
from mqops.clock import utc_text
from mqops.decide import backout_setting as backout
from mqops.decide.in_process import decide
from mqops.decide.spark.decide import Request
from mqops.decide.spark.decide import decide as decide_with_spark
from mqops.lake.files import read_json, write_bytes
from mqops.lake.parquet import read_parquet
from mqops.lake.run import RunFolder
from mqops.observe.recorded import OBSERVED
from mqops.rules import parse
from mqwire import constants as c
from mqwire.rfh2 import MQRFH2
from mqwire.structures import MQMD

sys.path.insert(0, str(Path(__file__).parent))
from dead_letters import dead

SETTING = Setting(
    queue_manager="QM1",
    replay_cap=2,
    quarantine="MQOPS.QUARANTINE",
    named_by={"SHARED.BOQ": ("ONE", "TWO"), "SOLE.BOQ": ("PAY",)},
    aliases={"TWO.ALIAS": "TWO"},
    local=("ELSEWHERE", "GIVEN", "ONE", "PAY", "TWO"),
    misconfigured=(Misconfigured(queue="BAD", threshold=1, backout_queue="", why="none"),),
    dead_letter_queue="DEADQ",
)
DESTINATIONS = (
    *("queue:///ONE", "queue://QM1/TWO", "queue:///TWO.ALIAS?persistence=2", "queue://QM9/ONE", "topic://ONE"),
    *("queue:///ELSEWHERE", "queue:///GIVEN", "queue:///", "ONE", "", None),
)
RULES = """\
DESTQ(' ') FORMAT(MQSTR) ACTION(FWD) FWDQ(ELSEWHERE) HEADER(NO)
DESTQ(PAY) REASON(0) DESTQM(QM1) ACTION(RETRY) RETRY(2)
DESTQ(T*) ACTION(FWD) FWDQ(&ORIGQ) PUTAUT(CTX)
DESTQ(ELSEWHERE) ACTION(DISCARD)
REASON(MQRC_Q_FULL) ACTION(IGNORE)
ACTION(RETRY)
"""


def message(number: int, destination: str | None, **fields: Any) -> tuple[bytes, bytes]:
    """MQMD and body, with an MQRFH2 where there is a destination."""
    body = b"text %d" % number
    if destination is not None:
        folder = f"<jms><Dst>{destination}</Dst></jms>"
        body = MQRFH2(format="MQSTR", coded_char_set_id=1208).with_folders(folder).pack() + body
    md = MQMD(
        msg_id=b"%024d" % number,
        format="MQHRF2" if destination is not None else "MQSTR" if number % 2 else "",
        coded_char_set_id=1208,
        user_identifier="app",
        put_date="20261121",
        put_time=f"{100000 + number}00",
        **fields,
    )
    return md.pack(encoding=c.MQENC_NATIVE, ccsid=1208), body


@pytest.mark.parametrize(
    ("queue", "backoff"), [("SHARED.BOQ", ()), ("SOLE.BOQ", (60, 7200)), ("GIVEN", ()), ("DEADQ", (3600,))]
)
def test_P08_both_decide_the_same(spark: Any, make_run: Any, queue: str, backoff: tuple[int, ...]) -> None:
    messages = [message(number, where) for number, where in enumerate(DESTINATIONS)]
    messages += [message(90, None), dead(91, dlh_dest_q_name="TWO"), dead(92)]
    run: RunFolder = make_run(messages, queue=queue)
    backout.write_setting(run, replace(SETTING, backoff=backoff))
    observed = datetime.fromisoformat(OBSERVED.read(run).observed_at)
    keys = [row["msg_key"] for batch in read_parquet(run.snapshot, ["msg_key"]) for row in batch.to_pylist()]
    counts = [
        {"msg_key": key, "replays": n % 4, "puts": n % 5, "last": utc_text(observed - timedelta(seconds=30 + 700 * n))}
        for n, key in enumerate(sorted(keys))
    ]
    write_bytes(run.replays, "".join(json.dumps(row) + "\n" for row in counts).encode())
    table = parse(RULES, origins=True).table
    assert table
    plain = decide(run, table, text=RULES, source="t", workflow="backout_reprocess")
    rows = read_rows(run.plan)
    run.plan_json.unlink()
    for part in run.plan.iterdir():
        part.unlink()
    with_spark = decide_with_spark(
        spark, Request(folder=run, table_text=RULES, table_source="t", workflow="backout_reprocess")
    )
    assert read_rows(run.plan) == rows
    assert (with_spark.digest, with_spark.actions) == (plain.digest, plain.actions)
    assert with_spark.remarks == plain.remarks
    assert plain.remarks[0] == "misconfigured: BAD: BOTHRESH(1) BOQNAME( ): none"
    assert ["put before wait" in remark for remark in plain.remarks[1:]] == [True] * bool(backoff)
    assert ("LATER" in plain.actions) == bool(backoff)
    assert read_json(run.plan_json)["remarks"] == list(plain.remarks)
    assert {row["rule_key"] for row in rows} >= {"replay-cap"}


def read_rows(folder: Path) -> list[dict[str, Any]]:
    """The rows of a plan in their order."""
    names = ("row", "action", "rule_line", "rule_key", "dest_q", "dest_q_mgr", "alternate_user", "unit_group", "header")
    found = [row for batch in read_parquet(folder, list(names)) for row in batch.to_pylist()]
    return sorted(found, key=lambda row: row["row"])
