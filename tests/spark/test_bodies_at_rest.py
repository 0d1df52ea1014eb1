"""Encrypted bodies on Spark: Spark and pyarrow read what the other has written, and decide alike."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ledger_opened import observe as observe_plainly
from mq_support import DLQ, Manager, dead_letter
from pyspark.sql.pandas.types import to_arrow_schema

from mqops.decide.in_process import decide as decide_plainly
from mqops.decide.spark.decide import Request, decide
from mqops.errors import BodiesLocked, LakeError
from mqops.lake.body_keys import add_key
from mqops.lake.parquet import read_parquet
from mqops.lake.run import RunFolder
from mqops.lake.sealing import BODY_COLUMNS, SEALED
from mqops.message_checks import QualitySummary
from mqops.observe.arrow import SEALED as SEALED_SCHEMA
from mqops.observe.spark.observe import observe
from mqops.observe.spark.schema import SNAPSHOT
from mqops.observe.spark.sealed import ENCRYPTED, read_snapshot
from mqops.quality.files import QualityFiles
from mqops.quality.frame import frame_of
from mqops.quality.one_pass import check_in_one_pass
from mqops.quality.snapshot_frame import read_snapshot as read_for_quality
from mqops.quality.suite_file import load_suites
from mqops.rules import parse
from mqops.spark_job import known_error
from mqwire.rfh2 import MQRFH2

RFH2 = MQRFH2(format="MQSTR", coded_char_set_id=1208).with_folders("<usr><country>DE</country></usr>").pack()
TABLE = """\
* MQOPS EXTENSIONS
BODY('*nis 1') ACTION(FWD) FWDQ(A) HEADER(NO)
PROP('usr.country' = 'DE') ACTION(FWD) FWDQ(B) HEADER(NO)
ACTION(RETRY)
"""


@pytest.fixture
def keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The key file of QM1, whose estate says that bodies are encrypted."""
    estate, keys = tmp_path / "estate.yaml", tmp_path / "keys.json"
    manager = {"connection": "mq_qm1", "bodies": {"keys": str(keys)}}
    estate.write_text(json.dumps({"lake": str(tmp_path / "lake"), "queue_managers": {"QM1": manager}}))
    monkeypatch.setenv("MQOPS_ESTATE", str(estate))
    add_key(keys, "")
    return keys


def by_arrow(run: RunFolder) -> list[dict[str, Any]]:
    return [row for batch in read_parquet(run.snapshot, ["position", *BODY_COLUMNS]) for row in batch.to_pylist()]


def one_pass(spark: Any, run: RunFolder, folder: Path) -> QualitySummary:
    """A check of a property of the messages, by Spark's workers."""
    suite = folder.with_suffix(".json")
    expects = {"expect": "column_values_to_be_in_set", "column": "usr.country", "value_set": ["DE"]}
    suite.write_text(json.dumps({"suite": "s", "expectations": [{"id": "country", **expects}]}))
    files = QualityFiles.of(run.path, folder=folder)
    return check_in_one_pass(spark, files, load_suites([suite]), now="2026-11-21T12:00:00Z")


def test_spark_and_pyarrow_read_what_the_other_has_encrypted(
    queue_manager: Callable[..., Manager], spark: Any, tmp_path: Path, keys: Path
) -> None:
    assert to_arrow_schema(ENCRYPTED, timezone="UTC") == SEALED_SCHEMA
    manager = queue_manager(mqsc="DEFINE QLOCAL(A)\nDEFINE QLOCAL(B)\n")
    bodies = [b"Geheimnis 1", "Grüße".encode("cp500"), RFH2 + b"text", b""]
    inner = [("MQSTR", 546, 1208), ("MQSTR", 546, 500), ("MQHRF2", 546, 1208), ("MQSTR", 546, 1208)]
    manager.put(DLQ, [dead_letter("B", body, inner=one) for body, one in zip(bodies, inner, strict=True)])
    on_spark, plain = (RunFolder.at(tmp_path / "lake", "QM1", name) for name in ("spark", "plain"))
    observe(spark, manager.connection, on_spark)
    observe_plainly(manager.connection, plain)
    seen = by_arrow(on_spark)
    assert [row["body"][172:] for row in seen] == bodies
    assert [row["text_decoded"] for row in seen] == [None, "Grüße", None, None]
    assert json.loads(seen[2]["properties"]) == {"usr.country": "DE"}
    assert seen == by_arrow(plain)
    for run in (on_spark, plain):
        (part,) = run.snapshot.glob("*.parquet")
        stored = pq.read_schema(part).names
        assert SEALED in stored
        assert not {*BODY_COLUMNS}.intersection(stored)
        found = read_snapshot(spark, run.snapshot, BODY_COLUMNS)
        assert {field.name for field in found.schema} == {field.name for field in SNAPSHOT}
        rows = [row.asDict() for row in found.select("position", *BODY_COLUMNS).orderBy("position").collect()]
        assert [{**row, "body": bytes(row["body"])} for row in rows] == seen

    table = parse(TABLE).table
    assert table
    decided = decide(spark, Request(folder=on_spark, table_text=TABLE))
    assert decided.digest == decide_plainly(plain, table, text=TABLE, source="table").digest
    assert {rule.rule_line: rule.messages for rule in decided.rules if rule.messages} == {2: 1, 3: 1, 4: 2}

    values = pq.read_table(part).column(SEALED).to_pylist()
    changed = pa.array([*values[:-1], values[-1][:-1] + bytes([values[-1][-1] ^ 1])], pa.binary())
    whole = pq.read_table(part)
    number = whole.schema.names.index(SEALED)
    pq.write_table(whole.set_column(number, whole.schema.field(number), changed), part)
    with pytest.raises(Exception, match="was changed") as caught:
        read_snapshot(spark, plain.snapshot, ["body"]).select("body").collect()
    kind, text = known_error(caught.value) or ("", "")
    assert kind == "LakeError"
    assert text.startswith(f"{part} was changed: the body of the message at position 3 of {DLQ} is not")

    assert [(one.met, one.checked) for one in one_pass(spark, on_spark, tmp_path / "q1").checks] == [
        (True, 1),
        (True, 4),
    ]
    with pytest.raises(LakeError, match=f"^{part} was changed: the body of the message at position 3 of {DLQ} is not"):
        one_pass(spark, plain, tmp_path / "q2")

    keys.unlink()
    with pytest.raises(BodiesLocked, match=f"The key file {keys} is not there"):
        decide(spark, Request(folder=on_spark, table_text=TABLE))
    with pytest.raises(BodiesLocked, match=f"The key file {keys} is not there"):
        one_pass(spark, on_spark, tmp_path / "q3")
    assert decide(spark, Request(folder=on_spark, table_text="ACTION(RETRY)\n")).rows == 4
    narrow = frame_of(read_for_quality(spark, on_spark.snapshot, needs_body=False), ["dlh_reason"])
    assert [row["dlh_reason"] for row in narrow.collect()] == [2053] * 4
