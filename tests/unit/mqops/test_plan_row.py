"""The row of a plan: its columns, the bytes of its file and its digest stay those of the versions before."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mqops.act.approved_plan import plan_rows, read_approved_plan
from mqops.actions import Action, Effect
from mqops.decide.arrow import PLAN, batch_of, canonical_rows, row_digests
from mqops.decide.core import PlanSummary, plan_digest
from mqops.decide.in_process import decide
from mqops.errors import PlanChanged
from mqops.lake.files import read_json
from mqops.lake.parquet import write_parquet
from mqops.lake.run_file import Checked
from mqops.plan_row import COLUMNS, PlanRow
from mqops.rules import parse

sys.path.insert(0, str(Path(__file__).parent))
from snapshots import dead_letter, recorded

TABLE = """\
* MQOPS EXTENSIONS
DESTQ(RETRY) ACTION(RETRY) MAXREPLAY(3)
DESTQ(DROP) ACTION(DISCARD)
DESTQ(MOVE) ACTION(FWD) FWDQ(PARKED) FWDQM(QM2) HEADER(NO)
DESTQ(USER) ACTION(RETRY) PUTAUT(CTX)
DESTQ('SYSTEM.*') ACTION(RETRY)
"""
QUEUES = ("RETRY", "DROP", "MOVE", "USER", "SYSTEM.ADMIN.COMMAND.QUEUE", "NOBODY")


def planned(lake: Path):
    messages = [dead_letter(queue, b"body") for queue in QUEUES]
    run = recorded(lake, [*messages, ({"Format": "MQSTR"}, "headless ü".encode())])
    return run, decide(run, parse(TABLE).table, text=TABLE, source="<rules>")


DIGEST = "53fbac80a6c39a41b5cfbfbff83fea885adaa0a783e3e7b0be55631ef6dcd979"
ROWS = "62b61dc67da078d2db9d8baa9ca14bbbadb346dc8dc6eff6816ea085d2fe2c4c"
SCHEMA = """\
row int64!, queue string!, msg_key string!, msg_id binary!, correl_id binary!, put_date string!, put_time string!, \
body_sha256 binary!, body_length int64!, dlh_reason int32, dlh_dest_q string, dlh_dest_q_mgr string, \
put_appl_name string!, rule_line int32, rule_key string, action string!, dest_q string!, dest_q_mgr string!, \
header bool!, putaut string!, alternate_user string!, tries int32!, unit_group string!, order_key string!, \
together int64!"""
"""Made by the version before the row was a type; `!` marks a column that is never null."""


def test_a_plan_has_the_digest_and_the_columns_of_the_versions_before(tmp_path):
    run, plan = planned(tmp_path)
    assert plan.digest == DIGEST
    rows = pq.read_table(run.plan).to_pylist()
    assert sha256(repr([list(row.items()) for row in rows]).encode()).hexdigest() == ROWS
    assert ", ".join(f"{field.name} {field.type}{'' if field.nullable else '!'}" for field in PLAN) == SCHEMA
    assert pq.read_schema(run.plan / "part-00000.parquet").equals(PLAN)


def test_a_name_that_is_not_ascii_stands_with_its_length_in_utf_8(tmp_path):
    """Rule 1 of the digest: Spark counts bytes."""
    run, _plan = planned(tmp_path)
    row = next(plan_rows(read_approved_plan(run)))
    plain, other = canonical_rows(batch_of([row, row._replace(put_appl_name="Müller")])).to_pylist()
    assert ",6:Müller," not in plain
    assert ",7:Müller," in other


A_ROW = PlanRow(
    *(7, "Q", "k1", b"\x01\xab", b"", "20261127", "22505182", b"\xff", 1024, 2053, "A", "QM1", "app", 3, "r"),
    *(Action.FWD, "B", "QM2", True, "DEF", "", 0, "B@QM2", "", 7),
)


def test_a_rows_form_is_its_columns_one_behind_the_other():
    """Rule 1 of the digest."""
    nothing = A_ROW._replace(dlh_reason=None, dlh_dest_q=None, dlh_dest_q_mgr=None, rule_line=None, rule_key=None)
    assert canonical_rows(batch_of([A_ROW, nothing._replace(header=False)])).to_pylist() == [
        "7,1:Q,2:k1,01AB,,8:20261127,8:22505182,FF,1024,2053,1:A,3:QM1,3:app,3,1:r,3:FWD,"
        "1:B,3:QM2,true,3:DEF,0:,0,5:B@QM2,0:,7,",
        "7,1:Q,2:k1,01AB,,8:20261127,8:22505182,FF,1024,-,-,-,3:app,-,-,3:FWD,1:B,3:QM2,false,3:DEF,0:,0,5:B@QM2,0:,7,",
    ]


def digest_of(row: PlanRow) -> str:
    (digest,) = row_digests(batch_of([row]))
    return digest


OTHER = {str: "other", Action: Action.RETRY, int: 8, bytes: b"other", bool: False}


@pytest.mark.parametrize("column", COLUMNS)
def test_the_digest_depends_on_every_column(column):
    other = A_ROW._replace(**{column: OTHER[type(getattr(A_ROW, column))]})
    assert digest_of(A_ROW) != digest_of(other)
    assert plan_digest([digest_of(A_ROW)]) != plan_digest([digest_of(other)])
    assert plan_digest([digest_of(A_ROW)]) != plan_digest([digest_of(A_ROW)] * 2)


def test_the_digest_tells_neighbouring_texts_apart():
    assert digest_of(A_ROW._replace(put_date="1:a,", put_time="")) != digest_of(
        A_ROW._replace(put_date="", put_time="1:a,")
    )
    assert digest_of(A_ROW._replace(rule_key="-")) != digest_of(A_ROW._replace(rule_key=None))


@pytest.mark.parametrize(
    ("column", "changed"),
    [
        ("dest_q", lambda texts: pa.array([f"{len(one)}:{one}" for one in texts], pa.large_string())),
        ("msg_id", lambda ids: pa.array([one.hex().upper() for one in ids]).dictionary_encode()),
        ("tries", lambda numbers: pa.array([float(one) for one in numbers])),
        ("queue", lambda texts: pa.array([[one] for one in texts])),
    ],
)
def test_a_column_of_another_type_is_no_plans_though_its_values_would_have_the_same_form(tmp_path, column, changed):
    run, _plan = planned(tmp_path)
    (part,) = run.plan.glob("*.parquet")
    table = pq.read_table(part)
    values = changed(table.column(column).to_pylist())
    pq.write_table(table.set_column(table.schema.get_field_index(column), column, values), part)
    with pytest.raises(PlanChanged, match=f"The column {column} of the plan has type .* in place of .*make a new run"):
        list(plan_rows(read_approved_plan(run)))


def test_bytes_of_a_table_that_are_not_utf_8_are_shown_as_such_and_the_digest_is_of_the_true_ones(tmp_path):
    raw = TABLE.encode() + b"* caf\xe9\n"
    text = raw.decode("utf-8", "surrogateescape")
    run = recorded(tmp_path, [dead_letter("RETRY", b"body")])
    decide(run, parse(text).table, text=text, source="<rules>")
    kept = read_json(run.plan_json)
    assert (kept["table_text"], kept["table_digest"]) == (raw.decode("utf-8", "replace"), sha256(raw).hexdigest())


def test_a_plan_of_a_version_that_made_no_remarks_is_read(tmp_path):
    run, plan = planned(tmp_path)
    document = read_json(run.plan_json)
    assert Checked(PlanSummary).of(document, Path("plan.json")) == plan
    del document["remarks"], document["message_ids"]
    assert Checked(PlanSummary).of(document, Path("plan.json")) == replace(plan, remarks=())


def test_rows_are_read_as_they_were_written(tmp_path):
    run, plan = planned(tmp_path)
    rows = list(plan_rows(read_approved_plan(run)))
    assert [row._asdict() for row in rows] == pq.read_table(run.plan).to_pylist()
    assert [row.action for row in rows if row.action.acts] == ["RETRY", "DISCARD", "FWD", "RETRY"]
    assert plan.actions == {"RETRY": 2, "DISCARD": 1, "FWD": 1, "PROTECTED": 1, "IGNORE": 1, "ERROR": 1}


def test_a_plan_with_an_action_of_another_version_is_refused(tmp_path):
    run, _plan = planned(tmp_path)
    table = pq.read_table(run.plan)
    at = table.schema.get_field_index("action")
    words = pa.array(["TELEPORT", *table["action"].to_pylist()[1:]], type=pa.string())
    write_parquet(run.plan, PLAN, table.set_column(at, PLAN.field("action"), words).to_batches())
    with pytest.raises(PlanChanged, match="action 'TELEPORT', which this version of mqops does not know; make a new"):
        list(plan_rows(read_approved_plan(run)))


def test_an_action_is_its_word_for_json_and_has_one_effect():
    assert json.dumps({"action": Action.FWD, Action.RETRY: 1}) == '{"action": "FWD", "RETRY": 1}'
    assert f"{Action.FWD}" == Action.FWD.value == "FWD" == Action("FWD")
    assert [action.name for action in Action if action.puts] == ["RETRY", "FWD"]
    assert [action.name for action in Action if action.discards] == ["DISCARD", "EXPIRE", "DISPOSE", "WITHDRAW"]
    assert [action.name for action in Action if action.puts_back] == ["RESTORE", "RETURN"]
    assert {action.effect for action in Action if not action.acts} == {Effect.LEAVE, Effect.REFUSE}
