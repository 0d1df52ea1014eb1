"""A run that Spark observed, decided and acted on is undone like any other: its Parquet files are read all the same."""

from __future__ import annotations

import time

from ledger_opened import act_undo, prove
from mq_support import DLQ, dead_letter

from mqops.act.spark.act import act
from mqops.decide.spark.decide import Request, decide
from mqops.lake.run import RunFolder, find_run
from mqops.observe.spark.observe import observe
from mqops.undo.in_process import plan_undo

RULES = "DESTQ(DROP) ACTION(DISCARD)\nACTION(RETRY)\n"


def test_a_run_of_spark_is_undone(queue_manager, spark, tmp_path):
    manager = queue_manager(mqsc="DEFINE QLOCAL(A)\nDEFINE QLOCAL(OTHER.DLQ)\n")
    begun = time.time()
    for queue in (DLQ, "OTHER.DLQ"):
        messages = [dead_letter(("A", "DROP")[number % 2], b"%d" % number, Expiry=90000) for number in range(20)]
        manager.put(queue, messages)
    before = {queue: [body for _md, body in manager.messages(queue)] for queue in (DLQ, "OTHER.DLQ")}
    run = RunFolder.at(tmp_path / "lake", "QM1", "spark")
    observing = time.time()
    observe(spark, manager.connection, run, [DLQ, "OTHER.DLQ"])
    observing = time.time() - observing
    decide(spark, Request(folder=run, table_text=RULES))
    assert act(spark, manager.connection, run).moved == 20
    folder = RunFolder.at(tmp_path / "lake", "QM1", "undo")
    plan = plan_undo(
        manager.connection, find_run(tmp_path / "lake", key="spark", queue_manager="QM1", planned=True), folder
    )
    assert plan.actions == {"RESTORE": 20, "RETURN": 20}
    act_undo(manager.connection, folder, approved=plan.digest, unit_size=7)
    assert prove(manager.connection, folder).moved == 40
    assert manager.depth("A") == 0
    for queue, bodies in before.items():
        found = manager.messages(queue)
        assert [body for _md, body in found] == bodies
        # The undo gives no message a new life, and takes what passed: a row counts as seen when observing began.
        least = 90000 - 10 * (time.time() - begun + observing) - 10
        assert all(least <= md["Expiry"] <= 90000 for md, _body in found)
