"""Decide: from a snapshot and a rules table to plan, digest and summary."""

from __future__ import annotations

import json
import random
import shutil
import sys
from hashlib import sha256
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from mqops.decide import counts
from mqops.decide.arrow import batch_of, row_digests
from mqops.decide.core import PlanSummary, plan_digest
from mqops.decide.core.gate import GateCheck, GateFound, Verdict
from mqops.decide.gate import write_found
from mqops.decide.in_process import decide as decide_plainly
from mqops.decide.spark import counts as spark_counts
from mqops.decide.spark.decide import Request, decide, message_id
from mqops.decide.spark.digest import digest_of
from mqops.decide.spark.schema import PLAN
from mqops.decide.spark.totals import counted_by_spark, counted_here
from mqops.errors import LakeError, PlanChanged, RulesError, SettingsError
from mqops.given_file import table_text
from mqops.lake.parquet import SPARK_ROW_GROUPS
from mqops.lake.run_file import Checked
from mqops.message_checks import OnFailure
from mqops.observe.spark.schema import SNAPSHOT
from mqops.plan_row import COLUMNS, PlanRow
from mqops.rules import parse

sys.path.insert(0, str(Path(__file__).parent))
from dead_letters import dead, headless
from format_support import says_format
from spark_support import beside_another_job

TABLE = """\
REASON(MQRC_Q_FULL) ACTION(RETRY) RETRY(2) PUTAUT(CTX)
DESTQ('FX.*') PERSIST(0) ACTION(DISCARD)
DESTQ(OLD) ACTION(FWD) FWDQ(NEW) FWDQM(QM2) HEADER(NO)
REPLYQ(?*) ACTION(FWD) FWDQ(&REPLYQ) FWDQM(&REPLYQM)
DESTQ(KEEP) ACTION(IGNORE)
REASON(MQRC_PUT_INHIBITED) ACTION(FWD) FWDQ(&DESTQ) FWDQM(&DESTQM)
"""

MESSAGES = [
    dead(0, user_identifier="alice"),
    dead(1, dlh_dest_q_name="FX.RATES", dlh_reason=2085, persistence=0),
    dead(2, dlh_dest_q_name="OLD", dlh_reason=2085),
    dead(3, dlh_dest_q_name="LOST", dlh_reason=2085, reply_to_q="ANSWERS", reply_to_q_mgr="BRANCH"),
    dead(4, dlh_dest_q_name="KEEP", dlh_reason=2085),
    dead(5, dlh_dest_q_name="SHUT", dlh_reason=2051),
    dead(6, dlh_dest_q_name="NOWHERE", dlh_reason=2085),
    headless(7),
    dead(8, user_identifier="bob", text=b"x" * 1000),
]


def decided(spark, folder, table=TABLE, **request):
    summary = decide(spark, Request(folder=folder, table_text=table, **request))
    return summary, sorted(pq.read_table(folder.plan).to_pylist(), key=lambda row: row["row"])


def test_D01_D04_D05_D06_every_message_gets_its_rule(spark, make_run):
    folder = make_run(MESSAGES)
    summary, rows = decided(spark, folder)
    assert counted_by_spark(spark, folder) == counted_here(folder)
    names = ("rule_line", "action", "dest_q", "dest_q_mgr", "header", "putaut", "alternate_user", "unit_group")
    assert [tuple(row[name] for name in names) for row in rows] == [
        (1, "RETRY", "PAYMENTS.IN", "QM1", False, "CTX", "alice", "PAYMENTS.IN@QM1!alice"),
        (2, "DISCARD", "", "", False, "", "", "DISCARD"),
        (3, "FWD", "NEW", "QM2", False, "DEF", "", "NEW@QM2"),
        (4, "FWD", "ANSWERS", "BRANCH", True, "DEF", "", "ANSWERS@BRANCH"),
        (5, "IGNORE", "", "", False, "", "", "IGNORE"),
        (6, "FWD", "SHUT", "QM1", True, "DEF", "", "SHUT@QM1"),
        (None, "IGNORE", "", "", False, "", "", "IGNORE"),
        (None, "ERROR", "", "", False, "", "", "ERROR"),
        (1, "RETRY", "PAYMENTS.IN", "QM1", False, "CTX", "bob", "PAYMENTS.IN@QM1!bob"),
    ]
    assert summary.actions == {"RETRY": 2, "DISCARD": 1, "FWD": 3, "IGNORE": 2, "ERROR": 1}


def test_law2_a_job_that_goes_on_without_its_driver_adds_nothing_to_the_next_plan(spark, make_run, tmp_path):
    folder = make_run(MESSAGES)
    before, rows = decided(spark, folder)
    largest = max(folder.plan.glob("*.parquet"), key=lambda path: path.stat().st_size)
    shutil.copy(largest, tmp_path / "part")
    left = folder.path / ".plan-of-another-job"
    left.mkdir()
    with beside_another_job(folder.plan, tmp_path / "part"):
        assert decided(spark, folder) == (before, rows)
    assert not left.exists()


def test_PUTAUT_CTX_with_a_blank_user_is_not_our_own_authority(spark, make_run):
    folder = make_run([dead(0, user_identifier=""), dead(1, user_identifier=" x"), dead(2, dlh_reason=2085)])
    table = "REASON(2053) ACTION(RETRY) PUTAUT(CTX)\nACTION(RETRY)\n"
    summary, rows = decided(spark, folder, table)
    targets = [(row["alternate_user"], row["unit_group"]) for row in rows]
    assert targets == [(" ", "PAYMENTS.IN@QM1!"), (" x", "PAYMENTS.IN@QM1!x"), ("", "PAYMENTS.IN@QM1")]
    assert decide_plainly(folder, parse(table).table, text=table, source="<rules>").digest == summary.digest


def test_the_plan_has_its_schema_and_the_messages_identity(spark, make_run):
    folder = make_run(MESSAGES)
    _, rows = decided(spark, folder)
    assert PLAN.names == list(COLUMNS)
    assert list(rows[0]) == PLAN.names
    snapshot = {row["position"]: row for row in spark.read.schema(SNAPSHOT).parquet(str(folder.snapshot)).collect()}
    for row in rows:
        message = snapshot[row["row"]]
        same = set(PLAN.names) & set(SNAPSHOT.names)
        assert {name: row[name] for name in same} == {name: message[name] for name in same}


def test_the_digest_is_the_one_by_arrow_and_knows_no_order(spark, make_run):
    folder = make_run(MESSAGES * 40)
    summary, rows = decided(spark, folder)
    digests = row_digests(batch_of(PlanRow(**row) for row in rows))
    random.Random(1).shuffle(digests)
    assert summary.digest == plan_digest(digests)
    shuffled = spark.read.parquet(str(folder.plan)).orderBy("msg_key", "row").repartition(3)
    assert digest_of(shuffled) == summary.digest
    assert decided(spark, make_run(MESSAGES * 40, run="run-2"))[0].digest == summary.digest


def test_D02_D03_failed_tries_lead_to_the_next_rule(spark, make_run):
    table = "REASON(2053) ACTION(RETRY) RETRY(2)\nACTION(FWD) FWDQ(D)\n"
    folder = make_run([dead(0), dead(1), dead(2)])
    _, rows = decided(spark, folder, table)
    assert [(row["rule_line"], row["tries"]) for row in rows] == [(1, 0)] * 3
    retry, forward = rows[0]["rule_key"], "0-1"
    tries = [
        {"msg_key": rows[0]["msg_key"], "tries": {retry: 1}},
        {"msg_key": rows[1]["msg_key"], "tries": {retry: 2, forward: 5}},
    ]
    folder.tries.write_text("".join(json.dumps(line) + "\n" for line in tries))
    _, rows = decided(spark, folder, table)
    assert [(row["rule_line"], row["tries"]) for row in rows] == [(1, 1), (2, 0), (1, 0)]
    tries[1]["tries"][rows[1]["rule_key"]] = 1
    folder.tries.write_text(json.dumps(tries[1]) + "\n")
    _, rows = decided(spark, folder, table)
    assert [(row["rule_line"], row["action"]) for row in rows] == [(1, "RETRY"), (None, "IGNORE"), (1, "RETRY")]


def test_D15_the_pages_catch_all(spark, make_run):
    table = "REASON(2053) ACTION(RETRY)\nACTION(FWD) FWDQ(REALLY.DEAD.QUEUE) HEADER(YES)\n"
    _, rows = decided(spark, make_run(MESSAGES), table)
    assert [row["dest_q"] for row in rows] == [
        *("PAYMENTS.IN", *["REALLY.DEAD.QUEUE"] * 6),
        *("", "PAYMENTS.IN"),  # without an MQDLH nothing is done
    ]
    assert {row["header"] for row in rows if row["dest_q"] == "REALLY.DEAD.QUEUE"} == {True}


def test_limit_and_message_ids_narrow_the_frozen_set(spark, make_run):
    folder = make_run(MESSAGES)
    everything = decided(spark, folder)[1]
    summary, rows = decided(spark, folder, limit=3)
    assert [row["msg_id"] for row in rows] == [row["msg_id"] for row in everything[:3]]
    assert (summary.observed, summary.rows, summary.limit) == (9, 3, 3)
    wanted = (bytes(everything[8]["msg_id"]), bytes(everything[2]["msg_id"]))
    summary, rows = decided(spark, folder, message_ids=wanted)
    assert [(row["row"], bytes(row["msg_id"])) for row in rows] == [(0, wanted[1]), (1, wanted[0])]
    assert summary.message_ids == (wanted[0].hex(), wanted[1].hex())
    assert [bytes(row["msg_id"]) for row in decided(spark, folder, message_ids=wanted, limit=1)[1]] == [wanted[1]]


def test_several_queues_are_numbered_one_after_the_other(spark, make_run):
    one, two = make_run(MESSAGES[:2], run="one", queue="B"), make_run(MESSAGES[2:4], run="two", queue="A")
    for file in two.snapshot.glob("*.parquet"):
        shutil.copy(file, one.snapshot)
    _, rows = decided(spark, one)
    assert counted_by_spark(spark, one) == counted_here(one)
    assert [(row["row"], row["queue"], row["dlh_dest_q"]) for row in rows] == [
        (0, "A", "OLD"),
        (1, "A", "LOST"),
        (2, "B", "PAYMENTS.IN"),
        (3, "B", "FX.RATES"),
    ]


def test_counts_per_rule_reason_origin_and_destination(spark, make_run):
    folder = make_run([*MESSAGES, *[dead(20 + n, text=b"IBAN DE89 3704, Anna") for n in range(5)]])
    summary, _ = decided(spark, folder)
    assert counted_by_spark(spark, folder) == counted_here(folder)
    largest = summary.counts[0]
    assert (largest.rule_line, largest.action, largest.reason, largest.symbol) == (1, "RETRY", 2053, "MQRC_Q_FULL")
    assert (largest.origin_q, largest.origin_q_mgr, largest.dest_q, largest.dest_q_mgr) == ("PAYMENTS.IN", "QM1") * 2
    assert largest.messages == 7
    assert largest.bytes == 172 * 7 + len(b"account 12345, EUR 99.50") + 1000 + 5 * 20
    assert largest.oldest == "2026-11-21T10:15:00.00Z"
    assert [sample.row for sample in largest.samples] == [0, 8, 9]  # the first ones
    assert [(rule.rule_line, rule.action, rule.messages) for rule in summary.rules] == [
        *((1, "RETRY", 7), (2, "DISCARD", 1), (3, "FWD", 1), (4, "FWD", 1), (5, "IGNORE", 1), (6, "FWD", 1)),
        *((None, "ERROR", 1), (None, "IGNORE", 1)),
    ]
    assert summary.rows == sum(count.messages for count in summary.counts) == 14
    assert summary.bytes == sum(count.bytes for count in summary.counts)


def test_of_many_groups_those_that_are_ignored_are_left_off_first(spark, make_run, monkeypatch):
    for module in (counts, spark_counts):
        monkeypatch.setattr(module, "MOST_GROUPS", 7)
    folder = make_run(
        [
            *MESSAGES,
            *[dead(20 + n, dlh_dest_q_name="KEEP", dlh_reason=2085) for n in range(5)],
            *[dead(30 + n) for n in range(2)],
        ]
    )
    summary, _ = decided(spark, folder)
    assert counted_by_spark(spark, folder) == counted_here(folder)
    assert summary.counts_left_off > 0
    everything = [one.action for one in summary.counts]
    assert everything == sorted(everything, key=lambda action: action == "IGNORE")
    assert sum(rule.messages for rule in summary.rules if rule.action != "IGNORE") == sum(
        one.messages for one in summary.counts if one.action != "IGNORE"
    )


ORDERED = "* MQOPS EXTENSIONS\n{more}REASON(MQRC_Q_FULL) ACTION(RETRY) ORDER({order})\n"


def test_what_a_killed_decide_has_left_in_the_cache_of_spark_is_in_no_other_plan(spark, make_run, monkeypatch):
    """A warm server keeps it, and takes it for each query that is the same. The files behind it are others by now."""
    folder, table = make_run(MESSAGES), ORDERED.format(order="CORRELID", more="")
    key = pq.read_table(folder.snapshot).to_pylist()[0]["msg_key"]
    check = GateCheck(suite="s", check="a", severity="info", on_failure=OnFailure.QUARANTINE, failed=1)
    with monkeypatch.context() as killed:
        killed.setattr(type(spark.range(1)), "unpersist", lambda self, _blocking=False: self)
        write_found(folder, GateFound(checks=(check,), quarantine="BAD"), {("OTHER", key): Verdict("gate:s:a", "BAD")})
        decided(spark, folder, table)
        counted_by_spark(spark, folder)
    write_found(folder, GateFound(checks=(check,), quarantine="BAD"), {("DLQ", key): Verdict("gate:s:a", "BAD")})
    _summary, rows = decided(spark, folder, table)
    by_spark = counted_by_spark(spark, folder)
    spark.catalog.clearCache()
    assert [row["dest_q"] for row in rows[:2]] == ["BAD", ""]
    assert by_spark == counted_here(folder)


def test_what_applications_wrote_is_not_in_the_cache_of_a_plan(spark, make_run, monkeypatch):
    cached = []
    kind = type(spark.range(1))
    persist = kind.persist
    monkeypatch.setattr(kind, "persist", lambda self, *how: cached.append(set(self.columns)) or persist(self, *how))
    decided(spark, make_run(MESSAGES), ORDERED.format(order="'usr.account'", more=""))
    assert len(cached) == 1
    assert "properties" not in cached[0]


def test_samples_show_the_shape_and_never_the_text(spark, make_run):
    ebcdic = dead(1, text="Konto 4711".encode("cp500"), dlh_coded_char_set_id=500, dlh_encoding=785, dlh_reason=2085)
    folder = make_run([dead(0, text=b"IBAN DE89 3704, Anna"), ebcdic, headless(2)])
    summary, _ = decided(spark, folder)
    assert counted_by_spark(spark, folder) == counted_here(folder)
    shapes = {sample.row: sample.shape for count in summary.counts for sample in count.samples}
    assert shapes == {0: "xxxx xx99 9999, xxxx", 1: "xxxxx 9999", 2: "xxx xxxx, xxxx xxxx"}
    assert "Anna" not in folder.plan_json.read_text()


def test_plan_json_is_the_summary_and_private(spark, make_run):
    folder = make_run(MESSAGES)
    summary, _ = decided(spark, folder, table_source="t.rules", workflow="dlq")
    document = json.loads(folder.plan_json.read_text())
    assert Checked(PlanSummary).of(document, Path("plan.json")) == summary
    assert document["actions"]["FWD"] == 3
    assert (document["run"], document["queue_manager"], document["queue"]) == ("run-1", "QM1", "DLQ")
    assert document["table_text"] == TABLE
    files = [folder.plan_json, *folder.plan.iterdir()]
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
    assert all(says_format(folder.plan).values())


def test_an_empty_queue_gives_an_empty_plan(spark, make_run):
    summary, rows = decided(spark, make_run([]))
    assert rows == []
    assert (summary.rows, summary.rules, summary.counts) == (0, (), ())
    assert summary.digest == plan_digest([])


def test_D07_an_invalid_table_is_refused_whole_and_the_last_plan_stands(spark, make_run):
    folder = make_run(MESSAGES)
    decided(spark, folder)
    before = folder.plan_json.read_bytes()
    said = r"2 errors.*\n.*1:1: this rule has no ACTION(.|\n)*2:8: 'X' is not a value of"
    with pytest.raises(RulesError, match=said):
        decided(spark, folder, "DESTQ(A)\nACTION(X)\n")
    assert folder.plan_json.read_bytes() == before


def test_D07_the_plan_keeps_the_version_it_was_made_with(spark, make_run, tmp_path):
    rules = tmp_path / "t.rules"
    rules.write_text("ACTION(FWD) FWDQ(ONE)\n")
    text = table_text(rules)
    rules.write_text("ACTION(FWD) FWDQ(TWO)\n")
    summary, rows = decided(spark, make_run(MESSAGES), text)
    assert {row["dest_q"] for row in rows if row["action"] == "FWD"} == {"ONE"}
    assert summary.table_text == text


def test_a_comment_that_is_not_UTF_8_does_no_harm(spark, make_run, tmp_path):
    rules = tmp_path / "t.rules"
    rules.write_bytes(b"* f\xfcr die Schicht\nACTION(DISCARD)\n")
    folder = make_run(MESSAGES)
    decided(spark, folder, table_text(rules))
    document = json.loads(folder.plan_json.read_text(encoding="utf-8"))
    assert document["table_text"] == "* f\N{REPLACEMENT CHARACTER}r die Schicht\nACTION(DISCARD)\n"
    assert document["table_digest"] == sha256(rules.read_bytes()).hexdigest()


def test_a_plan_that_is_acted_on_is_not_made_anew(spark, make_run):
    folder = make_run(MESSAGES)
    folder.issued_json.write_text("{}")
    with pytest.raises(PlanChanged, match="is being acted on"):
        decided(spark, folder)


def test_without_a_snapshot_there_is_no_plan(spark, make_run):
    folder = make_run(MESSAGES)
    folder.path.joinpath("observe.json").unlink()
    with pytest.raises(LakeError, match=r"observe\.json"):
        decided(spark, folder)


def test_settings_that_are_wrong(tmp_path):
    with pytest.raises(SettingsError, match="cannot be read"):
        table_text(tmp_path / "none.rules")
    for digits in ("414D51", "x" * 48, ""):
        with pytest.raises(SettingsError, match="48 hex digits"):
            message_id(digits)
    assert message_id("41" * 24) == b"A" * 24


def test_names_end_at_the_first_NUL(spark, make_run):
    md, body = dead(0)
    name = b"PAYMENTS.IN"
    padded = body.replace(name.ljust(48), name.ljust(48, b"\0"), 1)
    table = "DESTQ(PAYMENTS.IN) ACTION(DISCARD)\nDESTQ(PAYMENTS.IN*) ACTION(FWD) FWDQ(D)\n"
    _, rows = decided(spark, make_run([(md, padded), (md, body)]), table)
    assert [row["rule_line"] for row in rows] == [1, 1]
    assert [row["dlh_dest_q"] for row in rows] == ["PAYMENTS.IN", "PAYMENTS.IN"]


def test_the_plan_is_written_in_pieces_that_one_task_reads(spark, make_run, monkeypatch):
    monkeypatch.setitem(SPARK_ROW_GROUPS, "parquet.block.row.count.limit", "1")
    folder = make_run(MESSAGES)
    decided(spark, folder)
    assert sum(pq.read_metadata(part).num_row_groups for part in folder.plan.glob("*.parquet")) == len(MESSAGES)
