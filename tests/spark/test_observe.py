"""Observe with Spark: the snapshot has every message whole, and is what the plain one has."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import subprocess
import sys
from datetime import timedelta
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pyarrow.parquet as pq
import pytest
from format_support import says_format
from ledger_opened import observe as observe_plainly
from mq_support import DLQ, create, dead_letter
from pymqi import CMQC
from pyspark import cloudpickle
from spark_support import ENVIRONMENT, JOBS, beside_another_job, job_here

from mqops.decide import arrow as decide_arrow
from mqops.decide.spark.schema import PLAN
from mqops.errors import LakeError, PermanentMQError, SettingsError
from mqops.lake.files import read_json
from mqops.lake.parquet import SPARK_ROW_GROUPS
from mqops.lake.run import RunFolder
from mqops.mq.connection import MqConnection
from mqops.observe import arrow as observe_arrow
from mqops.observe.spark.datasource import register
from mqops.observe.spark.observe import observe
from mqops.observe.spark.schema import SNAPSHOT


@pytest.fixture
def manager(queue_manager):
    return queue_manager(mqsc="DEFINE QLOCAL(A) MAXMSGL(4194304) MSGDLVSQ(PRIORITY)\nDEFINE QLOCAL(EMPTY)\n")


def rows_of(folder: Path) -> list[dict]:
    return pq.read_table(folder).to_pylist()


def test_the_schemas_of_spark_and_arrow_are_the_same():
    from pyspark.sql.pandas.types import to_arrow_schema  # noqa: PLC0415

    for spark_schema, arrow_schema in ((SNAPSHOT, observe_arrow.SNAPSHOT), (PLAN, decide_arrow.PLAN)):
        assert to_arrow_schema(spark_schema, timezone="UTC") == arrow_schema


def test_law7_every_message_is_in_the_snapshot_whole(manager, spark, tmp_path):
    sizes = (0, 1, 171, 172, 32 * 1024, 32 * 1024 + 1, 70_000, 2_500_000)
    bodies = [bytes(number + index & 255 for index in range(size)) for number, size in enumerate(sizes)]
    ids = manager.put("A", [({"CorrelId": bytes([number]) * 24}, body) for number, body in enumerate(bodies)])
    run = RunFolder.at(tmp_path / "lake", "QM1", "r")
    summary = observe(spark, manager.connection, run, ["A"])
    rows = sorted(rows_of(run.snapshot), key=lambda row: row["position"])
    assert [row["body"] for row in rows] == bodies
    assert [row["msg_id"] for row in rows] == ids
    assert [row["correl_id"][0] for row in rows] == list(range(len(sizes)))
    assert [row["body_sha256"] for row in rows] == [hashlib.sha256(body).digest() for body in bodies]
    assert {len(row["md"]) for row in rows} == {364}
    assert (summary.messages, summary.bytes) == (len(sizes), sum(sizes))
    assert manager.bodies("A") == bodies


def test_law7_a_job_that_goes_on_without_its_driver_adds_nothing_to_the_snapshot(manager, spark, tmp_path):
    manager.put("A", [({}, b"one"), ({}, b"two")])
    earlier, run = (RunFolder.at(tmp_path / "lake", "QM1", name) for name in ("earlier", "r"))
    observe(spark, manager.connection, earlier, ["A"])
    with beside_another_job(run.snapshot, next(earlier.snapshot.glob("*.parquet"))):
        assert observe(spark, manager.connection, run, ["A"]).messages == 2
    assert sorted(row["body"] for row in rows_of(run.snapshot)) == [b"one", b"two"]


def test_the_snapshot_is_written_in_pieces_that_one_task_reads(manager, spark, tmp_path, monkeypatch):
    monkeypatch.setitem(SPARK_ROW_GROUPS, "parquet.block.row.count.limit", "4")
    manager.put("A", [({}, b"%d" % number) for number in range(9)])
    run = RunFolder.at(tmp_path / "lake", "QM1", "r")
    observe(spark, manager.connection, run, ["A"])
    (part,) = run.snapshot.glob("*.parquet")
    footer = pq.read_metadata(part)
    assert [footer.row_group(number).num_rows for number in range(footer.num_row_groups)] == [4, 4, 1]


def test_the_columns_say_what_descriptor_and_header_say(manager, spark, tmp_path):
    fields = {
        **{"Report": CMQC.MQRO_PASS_MSG_ID, "MsgType": CMQC.MQMT_REQUEST, "Expiry": 5000, "Feedback": 7, "Priority": 4},
        **{"ReplyToQ": "R.Q", "ReplyToQMgr": "R.QM", "UserIdentifier": "bob"},
        **{"ApplIdentityData": "id data", "PutApplType": 6, "PutApplName": "app"},
        **{"PutDate": "20260101", "PutTime": "02030405", "GroupId": b"G" * 24, "MsgSeqNumber": 2},
        **{"MsgFlags": CMQC.MQMF_LAST_MSG_IN_GROUP},
    }
    messages = [dead_letter("DEST.Q", b"x", encoding=785, ccsid=500, inner=("MQSTR", 273, 37), **fields)]
    manager.put(DLQ, messages, options=CMQC.MQOO_SET_ALL_CONTEXT)
    run = RunFolder.at(tmp_path / "lake", "QM1", "r")
    observe(spark, manager.connection, run)
    (row,) = rows_of(run.snapshot)
    expected = {
        **{
            "queue_manager": "QM1",
            "queue": DLQ,
            "position": 0,
            "report": CMQC.MQRO_PASS_MSG_ID,
            "msg_type": 1,
            "feedback": 7,
        },
        **{"encoding": 785, "ccsid": 500, "format": "MQDEAD", "priority": 4, "persistence": 1, "backout_count": 0},
        **{"reply_to_q": "R.Q", "reply_to_q_mgr": "R.QM", "user_identifier": "bob", "appl_identity_data": "id data"},
        **{"put_appl_type": 6, "put_appl_name": "app", "put_date": "20260101", "put_time": "02030405"},
        **{"group_id": b"G" * 24, "msg_seq_number": 2, "msg_offset": 0, "dlh_reason": 2053, "dlh_dest_q": "DEST.Q"},
        **{"dlh_dest_q_mgr": "QM1", "dlh_encoding": 273, "dlh_ccsid": 37, "dlh_format": "MQSTR"},
        **{
            "dlh_put_appl_type": 28,
            "dlh_put_appl_name": "test",
            "dlh_put_date": "20260102",
            "dlh_put_time": "03040506",
        },
        **{"dlh_error": None, "body_length": 173},
    }
    assert {name: row[name] for name in expected} == expected
    assert 0 < row["expiry"] <= 5000


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b"", "MQDLH.StrucId at offset 0"),  # nothing at all
        (b"DLH ", "MQDLH"),  # cut short
        (dead_letter("A", b"")[1][:171], "MQDLH"),  # one byte too short
        (b"XLH " + dead_letter("A", b"x")[1][4:], "MQDLH.StrucId at offset 0"),  # another structure
        (b"DLH \x02\0\0\0" + dead_letter("A", b"x")[1][8:], "MQDLH.Version at offset 4"),  # a version nobody knows
    ],
)
def test_D05_what_is_no_header_is_named_and_its_columns_are_null(manager, tmp_path, body, error):
    manager.put(DLQ, [({"Format": "MQDEAD", "CodedCharSetId": 1208}, body)])
    run = RunFolder.at(tmp_path / "lake", "QM1", "r")
    summary = observe_plainly(manager.connection, run)
    (row,) = rows_of(run.snapshot)
    assert row["dlh_error"].startswith(error)
    assert {row[name] for name in row if name.startswith("dlh_") and name != "dlh_error"} == {None}
    assert row["body"] == body
    assert summary.queues[0].without_dlh == 1


def test_with_and_without_spark_the_snapshot_is_the_same(manager, spark, tmp_path):
    messages = [dead_letter("A", b"%d" % number, ReplyToQ="R") for number in range(50)]
    manager.put(DLQ, [*messages, ({}, b"no header"), ({"Format": "MQSTR", "UserIdentifier": "\xfc"}, b"x")])
    manager.put("A", [({"Priority": number % 10}, b"%d" % number) for number in range(30)])
    plain, sparkling = (RunFolder.at(tmp_path / "lake", "QM1", name) for name in ("plain", "spark"))
    summaries = observe_plainly(manager.connection, plain, [DLQ, "A", "EMPTY"]).to_json()
    assert summaries["queues"][2]["messages"] == 0
    again = observe(spark, manager.connection, sparkling, [DLQ, "A", "EMPTY"]).to_json()
    for name in ("queue_manager", "messages", "bytes", "queues"):
        assert summaries[name] == again[name]

    def key(row):
        return row["queue"], row["position"]

    first, second = (sorted(rows_of(run.snapshot), key=key) for run in (plain, sparkling))
    assert len(first) == 82
    for row in (*first, *second):
        assert row.pop("observed_at").utcoffset() == timedelta(0)
    assert first == second


def test_the_limit_is_for_each_queue(manager, spark, tmp_path):
    manager.put("A", [({}, b"x")] * 10)
    manager.put(DLQ, [({}, b"x")] * 2)
    run = RunFolder.at(tmp_path / "lake", "QM1", "r")
    summary = observe(spark, manager.connection, run, ["A", DLQ], limit=3)
    assert [queue.messages for queue in summary.queues] == [3, 2]


def test_the_data_source_has_a_partition_for_each_queue(manager, spark):
    manager.put("A", [({}, b"x")] * 3)
    source = register(spark, manager.connection)
    frame = spark.read.format(source).option("queues", "A, EMPTY").option("queue_manager", "QM1").load()
    assert frame.schema == SNAPSHOT
    assert frame.rdd.getNumPartitions() == 2
    assert frame.count() == 3


PLANNING = """
import pickle, sys
source = pickle.load(sys.stdin.buffer)({"queues": "A,B"})
print(*[one.queue for one in source.reader(source.schema()).partitions()])
print(*sys.modules)
"""


def test_the_processes_in_which_spark_plans_the_read_import_nothing_that_browses():
    """They are new ones for each snapshot."""
    found = []
    registry = SimpleNamespace(dataSource=SimpleNamespace(register=found.append))
    register(registry, MqConnection(queue_manager="QM1", environment={"MQLITE_HOME": "/none"}))
    done = subprocess.run(
        [sys.executable, "-c", PLANNING], input=cloudpickle.dumps(found[0]), capture_output=True, check=True
    )
    queues, imported = done.stdout.decode().splitlines()
    assert queues == "A B"
    assert not {"pydantic", "pyarrow", "mqops.mq.connection", "mqops.lake.run", "mqops.rules"} & {*imported.split()}


def test_runs_that_share_a_session_read_each_from_its_own_queue_manager(manager, spark, tmp_path):
    other = create(tmp_path / "other", "QM2", "DEFINE QLOCAL(A)\n")
    manager.put("A", [({}, b"x")] * 3)
    other.put("A", [({}, b"y")])
    first, second = register(spark, manager.connection), register(spark, other.connection)
    counts = [spark.read.format(name).option("queues", "A").load().count() for name in (first, second)]
    assert counts == [3, 1]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, "The data source mq needs the option queues"),
        ({"queues": "A", "limit": "many"}, "The option limit is 'many'; it must be a number"),
        ({"queues": "A", "queue_manager": "OTHER"}, "The connection is for QM1, the option queue_manager says OTHER"),
        ({"queues": "A", "observed_at": "2026-01-01"}, "needs a time zone"),
        ({"queues": "A", "observed_at": "noon"}, "must be a time in ISO 8601"),
    ],
)
def test_wrong_options_are_told(spark, options, text):
    source = register(spark, MqConnection(queue_manager="QM1"))
    with pytest.raises(Exception, match=text):
        spark.read.format(source).options(**options).load().count()


def test_a_finished_snapshot_is_never_overwritten(manager, spark, tmp_path):
    run = RunFolder.at(tmp_path / "lake", "QM1", "r")
    observe(spark, manager.connection, run)
    with pytest.raises(SettingsError, match="has a snapshot already"):
        observe(spark, manager.connection, run)


def test_law4_the_snapshot_is_listed_and_private(manager, spark, tmp_path):
    manager.put(DLQ, [({}, b"x")])
    run = RunFolder.at(tmp_path / "lake", "QM1", "r")
    observe(spark, manager.connection, run)
    listed = read_json(run.path.joinpath("observe.json"))["files"]
    assert {name: (run.snapshot / name).stat().st_size for name in listed} == listed
    assert any(name.endswith(".parquet") for name in listed)
    assert all(says_format(run.path).values())  # by Spark's Parquet, too
    for path in run.path.rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def test_a_queue_that_is_not_there_is_told_in_one_line(manager, spark, tmp_path):
    with pytest.raises(PermanentMQError, match=r"^MQOPEN on NOT\.THERE failed: MQRC_UNKNOWN_OBJECT_NAME \(2085\)"):
        observe(spark, manager.connection, RunFolder.at(tmp_path / "lake", "QM1", "r"), ["NOT.THERE"])


def test_a_workers_error_comes_back_as_what_it_was(manager, spark, tmp_path):
    from mqops.spark_job import spark_errors  # noqa: PLC0415

    source = register(spark, manager.connection)
    with pytest.raises(PermanentMQError, match=r"^MQOPEN on NOT\.THERE failed") as raised, spark_errors(tmp_path):
        spark.read.format(source).option("queues", "NOT.THERE").load().count()
    assert (raised.value.reason, raised.value.verb) == (2085, "MQOPEN")


def test_an_executor_that_does_not_see_the_runs_folder_is_told_and_no_empty_snapshot_is_taken(
    manager, spark, tmp_path, monkeypatch
):
    """Executors in pods of their own, without the lake: each would write to its own disk."""
    module = sys.modules[observe.__module__]
    monkeypatch.setattr(module, "register", lambda *a, folder, **k: register(*a, folder=folder / "elsewhere", **k))
    manager.put("A", [({}, b"1")])
    run = RunFolder.at(tmp_path / "lake", "QM1", "r")
    said = f"does not see {run.path}/elsewhere, which the task made: the lake is not shared. Mount the same folder"
    with pytest.raises(LakeError, match=said):
        observe(spark, manager.connection, run, ["A"])
    assert not run.path.joinpath("observe.json").exists()


def test_what_spark_says_of_a_full_disk_is_told_as_that(tmp_path):
    from mqops.spark_job import spark_errors  # noqa: PLC0415

    raises_lake_error = pytest.raises(LakeError, match="No space left on device; repair it, no message was lost")
    with raises_lake_error, spark_errors(tmp_path):
        raise RuntimeError("java.io.IOException: No space left on device")


def test_the_job_tells_a_known_error_as_its_last_line(manager, spark, tmp_path):
    job = partial(job_here, spark, "observe", "--run", str(tmp_path / "lake" / "QM1" / "runs" / "r"))
    nobody = MqConnection(queue_manager="NOBODY", environment={"MQLITE_HOME": os.environ["MQLITE_HOME"]})
    wrong_name = job(MQOPS_CONNECTION=nobody.to_json())
    assert wrong_name.returncode == 1
    assert wrong_name.stderr.splitlines()[-1] == (
        "mqops: PermanentMQError: MQCONNX on NOBODY failed: MQRC_Q_MGR_NAME_ERROR (2058). "
        "Check the queue manager's name in the connection"
    )
    other = job("--queue-manager", "QM2", MQOPS_CONNECTION=manager.connection.to_json())
    assert other.returncode == 1
    assert other.stderr.splitlines()[-1] == "mqops: SettingsError: The connection is for QM1, not for QM2"


def test_the_job_takes_the_snapshot_and_shows_no_secret(manager, tmp_path):
    manager.put(DLQ, [({}, b"the payload")])
    run = RunFolder.at(tmp_path / "lake", "QM1", "r")
    environment = {**manager.environment, **ENVIRONMENT, "MQOPS_CONNECTION": manager.connection.to_json()}
    command = [sys.executable, str(JOBS / "observe.py"), "--run", str(run.path), "--queue", DLQ, "--limit", "5"]
    done = subprocess.run(command, env=environment, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(run.path.joinpath("observe.json").read_text())["messages"] == 1
    assert "the payload" not in done.stdout + done.stderr
