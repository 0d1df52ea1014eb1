"""ORDER, MAXREPLAY, MQ groups and a gate, with a past: the same plans with and without Spark."""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow.parquet as pq
from pymqi import CMQC

from mqops.clock import utc_text
from mqops.decide.core.gate import GateCheck, GateFound, Verdict
from mqops.decide.gate import write_found
from mqops.decide.in_process import decide
from mqops.decide.spark.decide import Request
from mqops.decide.spark.decide import decide as decide_with_spark
from mqops.message_checks import OnFailure
from mqops.observe.recorded import OBSERVED
from mqops.rules import parse

sys.path.insert(0, str(Path(__file__).parent))
from dead_letters import dead, headless

TABLES = [
    "* MQOPS EXTENSIONS\nREASON(7) ACTION(IGNORE)\nDESTQ(A) ACTION(RETRY) ORDER(CORRELID) MAXREPLAY(2)\n"
    "ACTION(RETRY) RETRY(2) ORDER(CORRELID)\n",
    "* MQOPS EXTENSIONS\nDESTQ(A) ACTION(RETRY) ORDER(CORRELID)\nREASON(7) ACTION(FWD) FWDQ(C) ORDER(GROUPID)\n"
    "DESTQ(A) ACTION(FWD) FWDQ(B) FWDQM(QM1) ORDER(CORRELID) MAXREPLAY(1)\nACTION(IGNORE)\n",
    "* MQOPS EXTENSIONS\nDESTQ(A) ACTION(RETRY) ORDER(CORRELID) BACKOFF('1m,1h,2d') MAXREPLAY(3)\n"
    "REASON(7) ACTION(DISCARD)\nACTION(RETRY) BACKOFF(30m)\n",
]
MESSAGES, PLANS = 200, 3
WAITED = (1, 61, 1799, 1801, 3601, 100_000, 200_000)
"""Seconds since messages were put, about the bounds of the BACKOFFs."""


def message(chance: random.Random, number: int) -> tuple[bytes, bytes]:
    """A message for one of two queues, perhaps with a key that ORDER asks for, perhaps of an MQ group."""
    fields = {"dlh_dest_q_name": chance.choice("AB"), "dlh_reason": chance.choice([2053, 2053, 7])}
    fields["correl_id"] = chance.choice([bytes(24), *(b"%024d" % n for n in range(1, 12))])
    if chance.random() < 0.15:
        group = chance.randrange(12)
        fields |= {"group_id": b"%024d" % group, "msg_flags": CMQC.MQMF_MSG_IN_GROUP, "version": 2}
        fields["dlh_dest_q_name"] = "AB"[group % 2] if group else fields["dlh_dest_q_name"]
    if chance.random() < 0.2:
        fields["dlh_dest_q_name"] = chance.choice(["SYSTEM.ADMIN.COMMAND.QUEUE", "MQOPS.LEDGER", "SYSTEMS.Q"])
    return headless(number) if chance.random() < 0.02 else dead(number, **fields)


def give_past(chance: random.Random, folder, keys: list[str], rules: list[str]) -> None:
    """Earlier tries and puts of some messages."""
    some = {key: {rule: chance.randint(1, 2) for rule in rules if chance.random() < 0.7} for key in keys}
    tries = [{"msg_key": key, "tries": past} for key, past in some.items() if past and chance.random() < 0.15]
    observed = OBSERVED.read(folder).observed_at
    puts = [
        {"msg_key": key, "replays": 0, "puts": chance.randint(1, 3), "last": before(observed, chance.choice(WAITED))}
        for key in keys
        if chance.random() < 0.6
    ]
    for path, lines in ((folder.tries, tries), (folder.replays, puts)):
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def give_gate(chance: random.Random, folder, keys: list[str]) -> None:
    """What a gate has said of some messages, and of others like all of them on another queue. C is a queue that a table
    itself puts messages on."""
    some = (key for key in keys if chance.random() < 0.1)
    verdicts = {("OTHER", key): Verdict("gate:s:other", "BAD") for key in keys}
    for key in some:
        said = Verdict(f"gate:s:{chance.choice('ab')}", chance.choice(["", "BAD", "C"]))
        verdicts["DLQ", key] = said
    check = GateCheck(suite="s", check="a", severity="info", on_failure=OnFailure.QUARANTINE, failed=1)
    write_found(folder, GateFound(checks=(check,), quarantine="BAD"), verdicts)


def before(at: str, seconds: int) -> str:
    """The time so many seconds before, as a marker has it."""
    return utc_text(datetime.fromisoformat(at) - timedelta(seconds=seconds))


def test_ORDER_holds_over_passes_the_same_with_and_without_spark(spark, make_run):
    actions, gates = Counter[str](), Counter[str]()
    spark.catalog.clearCache()
    for seed in range(PLANS):
        chance, text = random.Random(seed), TABLES[seed % len(TABLES)]
        table = parse(text).table
        folder = make_run([message(chance, number) for number in range(MESSAGES)], run=f"run-{seed}")
        keys = pq.read_table(folder.snapshot, columns=["msg_key"]).column("msg_key").to_pylist()
        give_past(chance, folder, sorted(keys), [rule.key for rule in table.rules])
        if seed:
            give_gate(chance, folder, sorted(keys))
        with_spark = decide_with_spark(spark, Request(folder=folder, table_text=text))
        assert spark._jsparkSession.sharedState().cacheManager().isEmpty()  # a warm server would keep it for ever
        rows = sorted(pq.read_table(folder.plan).to_pylist(), key=lambda row: row["row"])
        for part in folder.plan.iterdir():
            part.unlink()
        plain = decide(folder, table, text=text, source="<rules>")
        assert pq.read_table(folder.plan).to_pylist() == rows, seed
        assert (plain.digest, plain.remarks, plain.gate) == (with_spark.digest, with_spark.remarks, with_spark.gate)
        assert [one.check for one in plain.gate] == ["a"] * bool(seed)
        assert "gate:s:other" not in {row["rule_key"] for row in rows}
        gates.update(row["action"] for row in rows if (row["rule_key"] or "").startswith("gate:"))
        actions.update(plain.actions)
        assert any("no try of the rule on line" in remark for remark in plain.remarks) == (seed % 2 == 0)
    assert (
        min(actions[name] for name in ("RETRY", "FWD", "IGNORE", "REPLAYED", "PROTECTED", "SPLIT", "BEHIND", "LATER"))
        >= 3
    ), actions
    assert min(gates["FWD"], gates["GATED"]) >= 3, gates
