"""The deciders: one name everywhere, the steps that all of them share, and the names that earlier versions wrote."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta

import pytest
from act_support import after_commits, planned
from click.testing import CliRunner
from ledger_opened import act, act_undo
from mq_support import DLQ, dead_letter
from pymqi import CMQC

from mqops.act import in_process
from mqops.cli import main
from mqops.deciders.age_out import AGE_OUT, AgeOutRequest
from mqops.deciders.registry import DECIDERS, EARLIER_NAMES, decider_named
from mqops.deciders.run import carry_out, finish_run, plan_run
from mqops.deciders.undo import UNDO, UndoRequest
from mqops.errors import SettingsError, Stopped
from mqops.estate_sections import QueueManager
from mqops.lake.files import read_json, write_json
from mqops.lake.stop import Stop, lift, stop
from mqops.ledger.core.history import events
from mqops.ledger.file import LedgerFile
from mqops.workflow import Workflow

CAROL = Stop(by="carol@desk", at="2026-11-21T12:00:00Z")
OLD = {"PutDate": "20200101", "PutTime": "12000000"}


@pytest.fixture
def manager(queue_manager):
    return queue_manager(mqsc="DEFINE QLOCAL(A)\n")


def test_plans_and_ledgers_have_these_names_of_workflows():
    named = {"dlq_rules", "backout_reprocess", "poison_guard", "age_out", "undo", "recover", "message_load"}
    assert {*DECIDERS} == named, "plans and ledgers keep the name of a decider: it is listed here, and never changes"
    assert {*DECIDERS} == {*Workflow} - {"expiry_scan", "snapshot", "snapshot_quality"}  # which have no plan


@pytest.mark.parametrize("name", DECIDERS)
def test_a_decider_has_one_name_and_what_it_names_is_there(name):
    decider = decider_named(name)
    assert decider.name == name
    assert not decider.section or decider.section in QueueManager.model_fields
    shown = CliRunner().invoke(main, [name, "--help"])
    assert shown.exit_code == 0, shown.output
    assert f"Usage: main {name} " in shown.output


def test_the_list_of_deciders_loads_neither_the_mq_library_nor_arrow():
    """Forms and help are shown without them."""
    code = (
        "import sys; from mqops.deciders.registry import *; [decider_named(name) for name in DECIDERS];"
        "print([name for name in ('pymqi', 'pyarrow') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_stopped_age_out_is_proved_and_goes_on(manager, lake):
    manager.put("A", [(OLD, b"%d" % number) for number in range(5)], options=CMQC.MQOO_SET_ALL_CONTEXT)
    what = AgeOutRequest(connection=manager.connection, lake=lake, queues=("A",), limit=timedelta(days=1), unit_size=2)
    run, plan = plan_run(AGE_OUT, what)
    stopped = replace(AGE_OUT, act=_stopping(in_process.act, run, after=2))
    with pytest.raises(Stopped):
        carry_out(stopped, what, run, plan)
    summary = read_json(run.path.joinpath("summary.json"))
    assert (summary["planned"], summary["discarded"], summary["left"], summary["balanced"]) == (5, 4, 1, True)
    assert (summary["workflow"], summary["finished"]) == ("age_out", False)
    lift(run.path)
    assert finish_run(manager.connection, run).discarded == 5


def test_a_stopped_undo_is_proved(manager, lake):
    manager.put(DLQ, [dead_letter("A", b"%d" % number) for number in range(5)])
    undone, _plan = planned(manager, lake)
    act(manager.connection, undone)
    what = UndoRequest(connection=manager.connection, lake=lake, undoes=undone, unit_size=2)
    run, plan = plan_run(UNDO, what)
    assert run.run.startswith("undo-")
    stop(run.path, CAROL)
    with pytest.raises(Stopped):
        carry_out(UNDO, what, run, plan)
    summary = read_json(run.path.joinpath("summary.json"))
    assert (summary["workflow"], summary["planned"], summary["left"], summary["balanced"]) == ("undo", 5, 5, True)
    lift(run.path)
    assert act_undo(manager.connection, run, approved=plan.digest).moved == 5


def _stopping(acts, run, *, after: int):
    """The same, but somebody stops the run behind so many units of work."""
    port = after_commits(lambda number: stop(run.path, CAROL) if number == after else None)
    return lambda *arguments, **named: acts(*arguments, **named, port=port)


def test_a_plan_that_an_earlier_version_named_dlq_is_carried_out(manager, mqops_here, lake):
    manager.put(DLQ, [dead_letter("A", b"x")])
    shown = json.loads(mqops_here("dlq_rules", DLQ, "QM1", "--dry-run", "--json", text="ACTION(RETRY)\n").stdout)
    assert shown["plan"]["workflow"] == "dlq_rules"
    path = lake / "QM1" / "runs" / shown["plan"]["run"] / "plan.json"
    write_json(path, {**read_json(path), "workflow": "dlq"})
    digest = shown["plan"]["digest"]
    done = json.loads(mqops_here("dlq", "act", shown["plan"]["run"], "--approve", digest, "--json").stdout)
    assert (done["moved"], done["workflow"]) == (1, "dlq")
    assert [one.workflow for one in events("QM1", LedgerFile(lake / "QM1", str).entries())] == ["dlq"]
    assert EARLIER_NAMES["dlq"] == "dlq_rules"


def test_a_plan_of_a_workflow_that_is_not_there_is_refused(manager, lake):
    with pytest.raises(SettingsError, match="There is no workflow 'later'; there are dlq_rules, backout_reprocess"):
        decider_named("later")
