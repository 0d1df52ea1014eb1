"""A plan of one queue manager, and a connection that leads to another: nothing is touched, and no folder is shared."""

from __future__ import annotations

import pytest
from act_support import planned
from ledger_opened import act, prove
from mq_support import DLQ, create, dead_letter

from mqops.deciders.run import finish_run
from mqops.errors import SettingsError
from mqops.lake.files import read_json, write_json
from mqops.lake.run import RunFolder, folder_of, queue_manager_of

QUEUE = "DEFINE QLOCAL(A)\n"
NAMES = ("QX/1", "QX%1", "QX_1")


@pytest.fixture
def home(tmp_path):
    return tmp_path / "managers"


def test_two_queue_managers_never_share_a_folder_of_the_lake(tmp_path):
    folders = [folder_of(tmp_path, name) for name in (*NAMES, "QX+2F1", "QM1", "A.B_C")]
    assert [queue_manager_of(folder) for folder in folders] == [*NAMES, "QX+2F1", "QM1", "A.B_C"]
    assert [folder.name for folder in folders] == ["QX+2F1", "QX+251", "QX_1", "QX+2B2F1", "QM1", "A.B_C"]
    assert {folder.parent for folder in folders} == {tmp_path}


@pytest.fixture
def manager(home):
    return create(home, NAMES[0], QUEUE)


def test_a_dry_run_of_one_queue_manager_is_not_carried_out_on_another_of_a_like_name(manager, home, mqops_here, lake):
    other = create(home, NAMES[1], QUEUE)
    for one in (manager, other):
        one.put(DLQ, [dead_letter("A", b"1")])
    mqops_here("dlq", "run", DLQ, manager.name, "--dry-run", text="ACTION(DISCARD)")
    (run,) = (RunFolder(path) for path in lake.glob("*/runs/*"))
    digest = read_json(run.plan_json)["digest"]
    refused = mqops_here("dlq", "act", run.run, "-m", other.name, "--approve", digest, expect=1)
    assert f"has no run {run.run} of {other.name}\n" in refused.stderr
    assert (manager.depth(DLQ), other.depth(DLQ)) == (1, 1)
    mqops_here("dlq", "act", run.run, "-m", manager.name, "--approve", digest)
    assert (manager.depth(DLQ), other.depth(DLQ)) == (0, 1)
    assert f"{manager.name}: 2 lines, unbroken" in mqops_here("ledger", "verify").stdout


@pytest.mark.parametrize("step", [act, prove, finish_run])
def test_a_connection_to_another_queue_manager_is_refused_before_anything_else(manager, home, lake, step):
    other = create(home, "OTHER", QUEUE)
    manager.put(DLQ, [dead_letter("A", b"1", dest_q_mgr=manager.name)])
    run, plan = planned(manager, lake)
    if step is finish_run:
        write_json(run.issued_json, {"run": run.run, "plan": plan.digest, "lanes": [1]})
    before = sorted(path.name for path in run.path.iterdir() if path.suffix == ".json")
    with pytest.raises(SettingsError, match=f"Run {run.run} is one of QX/1, this is OTHER: connect to QX/1"):
        step(other.connection, run)
    assert sorted(path.name for path in run.path.iterdir() if path.suffix == ".json") == before
    assert not (run.lake_folder / "ledger" / "ledger.jsonl").exists()
    assert (manager.depth(DLQ), other.depth("MQOPS.LEDGER")) == (1, 0)
    run.issued_json.unlink(missing_ok=True)
    act(manager.connection, run)
    assert prove(manager.connection, run).moved == 1
