"""Backout reprocessing on Spark decides as the plain one does: same rows, same digest, same remarks."""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from examples import TIMES, generated
from hypothesis import strategies as st

from mqops.backout.core.decision import with_origin
from mqops.backout.core.origin import By, Misconfigured, Setting, origin_of
from mqops.backout.core.origin_table import OriginRow
from mqops.clock import utc_text
from mqops.decide import backout_setting as backout
from mqops.decide.in_process import decide
from mqops.decide.spark.backout import with_origins
from mqops.decide.spark.decide import Request
from mqops.decide.spark.decide import decide as decide_with_spark
from mqops.lake.files import read_json, write_bytes
from mqops.lake.parquet import read_parquet
from mqops.lake.run import RunFolder
from mqops.observe.core.decode import Browsed, snapshot_row
from mqops.observe.recorded import OBSERVED
from mqops.observe.spark.schema import SNAPSHOT
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
def test_P08_P13_both_decide_the_same(spark: Any, make_run: Any, queue: str, backoff: tuple[int, ...]) -> None:
    messages = [message(number, where) for number, where in enumerate(DESTINATIONS)]
    messages += [message(90, None), dead(91, dlh_dest_q_name="TWO"), dead(92)]
    run: RunFolder = make_run(messages, queue=queue)
    table_of_origins = (OriginRow(when="PROP('jms.Dst' = 'topic*') SIZE(<900)", queue="ONE", backout_queue=queue),)
    backout.write_setting(
        run, replace(SETTING, backoff=backoff, origins=table_of_origins, counting={queue: (0,)} if backoff else {})
    )
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
    others = [remark for remark in plain.remarks[1:] if "of ambiguous origin" not in remark]
    assert ["put before wait" in remark for remark in others] == [True] * bool(backoff)
    assert (len(others) < len(plain.remarks) - 1) == ("AMBIGUOUS" in plain.actions)
    assert ("LATER" in plain.actions) == bool(backoff)
    assert read_json(run.plan_json)["remarks"] == list(plain.remarks)
    assert {row["rule_key"] for row in rows} >= {"replay-cap"}


ROWS, KINDS = 10, 240 * TIMES
"""Rows of the generated table of origins, and messages."""
NAMED = ("'till*'", "'ACME'", "java", "'?*'", "' '", "'*x'", "*", "ORDERS.*")


@st.composite
def origin_rows(draw: Any) -> OriginRow:
    """A row whose conditions hold for some of the generated messages."""
    fields = st.sampled_from([f"{name}({value})" for name in ("APPLNAME", "REPLYQ", "USERID") for value in NAMED])
    formats = st.sampled_from([f"FORMAT({one})" for one in ("MQHRF2", "MQSTR", "' '", "'MQ?*'")])
    numbers = st.sampled_from(["PRIORITY(>5)", "SIZE(>=64)", "MSGTYPE(MQMT_DATAGRAM)", "PERSIST(MQPER_PERSISTENT)"])
    texts = st.sampled_from(["PROP('usr.a' = 'D*')", "PROP('jms.Dst' = '?*')", "BODY('*7*')", "BODY(JSON '$.a' = '*')"])
    chosen = draw(st.lists(fields | formats | numbers | texts, min_size=1, max_size=2, unique_by=lambda one: one[:5]))
    queue, only = draw(
        st.sampled_from([("ONE", ""), ("TWO", ""), ("PAY", ""), ("ELSEWHERE", "GIVEN"), ("ONE", "SOLE.BOQ")])
    )
    return OriginRow(when=" ".join(chosen), queue=queue, backout_queue=only)


@st.composite
def backed_out(draw: Any) -> tuple[bytes, bytes]:
    """A message of the extended rules' own grammar, without MQDLH, or one with a JMS destination."""
    names = {
        "put_appl_name": draw(st.sampled_from(["till 7", "ACME", "java", "", "box"])),
        "reply_to_q": draw(st.sampled_from(["ORDERS.REPLY", "", "ACME"])),
        "msg_type": draw(st.sampled_from([c.MQMT_DATAGRAM, c.MQMT_REPLY])),
        "persistence": draw(st.sampled_from([0, 1])),
        "priority": draw(st.integers(0, 9)),
    }
    number = draw(st.integers(0, 99))
    if draw(st.booleans()):
        return message(number, draw(st.sampled_from(DESTINATIONS)), **names)
    text = draw(st.sampled_from([b'{"a":7}', b'{"b":1}', b"x" * 70, b"", b"\xff7"]))
    folder = draw(st.sampled_from(["<usr><a>DE</a></usr>", "<usr><a>FR</a></usr>", ""]))
    header = MQRFH2(format="MQSTR", coded_char_set_id=1208).with_folders(folder).pack() if folder else b""
    md = MQMD(format="MQHRF2" if folder else "MQSTR", coded_char_set_id=1208, user_identifier="app", **names)
    return md.pack(encoding=c.MQENC_NATIVE, ccsid=1208), header + text


def test_P08_the_table_of_origins_decides_alike(spark: Any) -> None:
    rows, messages = generated(origin_rows(), ROWS), generated(backed_out(), KINDS)
    counting = {
        "SHARED.BOQ": [n for n, row in enumerate(rows) if not row.backout_queue and row.queue != "PAY"],
        "SOLE.BOQ": [n for n, row in enumerate(rows) if row.backout_queue == "SOLE.BOQ" or row.queue == "PAY"],
        "GIVEN": [n for n, row in enumerate(rows) if row.backout_queue == "GIVEN"],
    }
    where = replace(SETTING, origins=tuple(rows), counting={name: tuple(found) for name, found in counting.items()})
    observed = datetime(2026, 11, 21, 12, tzinfo=UTC)
    found = []
    for place, (md, body) in enumerate(messages):
        browsed = Browsed(queue_manager="QM1", queue=(*counting, "DEADQ")[place % 4], observed_at=observed)
        found.append(snapshot_row(browsed, place, md, body))
    by_spark = with_origins(spark.createDataFrame(found, SNAPSHOT), where).select("position", "dlh_dest_q", "dlh_error")
    plain = {one["position"]: with_origin(one, where)["dlh_dest_q"] for one in found}
    assert {row["position"]: row["dlh_dest_q"] for row in by_spark.collect()} == plain
    decided = Counter((origin_of(one, where).by, one["queue"]) for one in found)
    assert {by for by, _queue in decided} == {By.TABLE, By.BOQNAME, By.JMS, By.NOTHING}, decided
    assert all(decided[By.TABLE, queue] > 5 for queue in counting), decided


def read_rows(folder: Path) -> list[dict[str, Any]]:
    """The rows of a plan in their order."""
    names = ("row", "action", "rule_line", "rule_key", "dest_q", "dest_q_mgr", "alternate_user", "unit_group", "header")
    found = [row for batch in read_parquet(folder, list(names)) for row in batch.to_pylist()]
    return sorted(found, key=lambda row: row["row"])
