"""`spark.read.format("mq")`: the examples of docs/snapshots.md in a plain Spark session."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from mq_support import dead_letter
from pyspark.errors import PySparkException

from mqops.lake.run import RunFolder
from mqops.ledger.file import LedgerFile
from mqops.observe.in_process import observe
from mqops.observe.spark.schema import SNAPSHOT
from mqops.spark import register

PAGE = Path(__file__).parents[2] / "docs" / "snapshots.md"


def _example(beginning: str) -> str:
    (found,) = [one for one in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL) if beginning in one]
    return found


@pytest.fixture
def manager(queue_manager):
    return queue_manager(mqsc="DEFINE QLOCAL(ORDERS)\nDEFINE QLOCAL(BILLS)\n")


def test_law2_the_examples_of_the_page_read_a_snapshot_and_browse_queues_and_take_nothing(
    manager, spark, tmp_path, monkeypatch, capsys
):
    manager.put("ORDERS", [dead_letter("A", b"x"), dead_letter("A", b"y"), ({}, b"z")])
    manager.put("BILLS", [({}, b"bill")])
    run = RunFolder.at(tmp_path / "lake", "QM1", "run-1")
    observe(manager.connection, run, ["ORDERS"], ledger=LedgerFile(run.lake_folder))
    monkeypatch.setenv("MQOPS_CONNECTION", manager.connection.to_json())
    monkeypatch.setenv("MQOPS_LAKE", str(tmp_path / "lake"))
    names = {"spark": spark}
    exec(_example('.option("run"').replace("RUN", "run-1"), names)
    assert names["messages"].schema == SNAPSHOT
    assert {(row["dlh_reason"], row["count"]) for row in names["reasons"].collect()} == {(2053, 2), (None, 1)}
    monkeypatch.delenv("MQOPS_CONNECTION")  # the session has the connection
    exec(_example('.option("queues"'), names)
    assert {(row["queue"], row["count"]) for row in names["depths"].collect()} == {("ORDERS", 3), ("BILLS", 1)}
    assert (manager.depth("ORDERS"), manager.bodies("BILLS")) == (3, [b"bill"])
    assert "2053" in capsys.readouterr().out
    by_path = spark.read.format("mq").load(str(run.snapshot))
    assert sorted(row["position"] for row in by_path.collect()) == [0, 1, 2]
    assert {row["body"][-1:] for row in by_path.collect()} == {b"x", b"y", b"z"}


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({}, "needs one of: load(FOLDER), option run, option queues; none was said"),
        ({"run": "r", "queues": "A"}, "not run and queues"),
        ({"queues": "A"}, "To browse queues set MQOPS_CONNECTION"),
        ({"run": "r"}, "has no run r"),
        ({"path": "/nowhere"}, "There is no snapshot in /nowhere"),
    ],
)
def test_a_wrong_option_is_told(spark, tmp_path, monkeypatch, options, told):
    monkeypatch.delenv("MQOPS_CONNECTION", raising=False)
    register(spark, lake=tmp_path)
    with pytest.raises(PySparkException, match=re.escape(told)):
        spark.read.format("mq").options(**options).load().count()
