"""The decider of docs/adding_a_decider.md: what stands there is run, on a queue manager, from the plan to the undo."""

from __future__ import annotations

import json
import re
import sys
import types
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mq_support import dead_letter
from pymqi import CMQC

from mqops.cli.decider import command_of
from mqops.deciders import registry
from mqops.lake.run import find_run

DOCUMENT = (Path(__file__).parents[3] / "docs" / "adding_a_decider.md").read_text()
BODIES = [b"short", b"l" * 50, b"exactly 12 b", b"m" * 13]


@pytest.fixture
def manager(queue_manager):
    return queue_manager(mqsc="DEFINE QLOCAL(APP.IN)\nDEFINE QLOCAL(APP.PARKED)\n")


@pytest.fixture
def mqops(mqops_here, monkeypatch):
    """The command, with the document's module and its line of registration."""
    code = re.search(r"```python\n(.*?)```", DOCUMENT, re.DOTALL)
    line = re.search(r'^    "(\w+)": "([\w.]+):(\w+)",$', DOCUMENT, re.MULTILINE)
    assert code
    assert line
    module = types.ModuleType(line[2])
    monkeypatch.setitem(sys.modules, line[2], module)
    exec(compile(code[1], "adding_a_decider.md", "exec"), vars(module))
    monkeypatch.setitem(registry.DECIDERS, line[1], f"{line[2]}:{line[3]}")

    def run(*arguments: str, **more: Any) -> Any:
        return json.loads(mqops_here(*arguments, "-m", "QM1", "--json", **more).stdout)

    return run


@pytest.mark.parametrize("approved", [False, True])
def test_the_documents_decider_plans_acts_proves_and_is_undone(manager, mqops, lake, approved):
    manager.put("APP.IN", [({}, body) for body in BODIES])
    ask = ("park_large", "APP.IN", "--most-bytes", "12")
    planned = mqops(*ask, "--dry-run")
    assert planned["plan"]["actions"] == {"FWD": 2, "IGNORE": 2}
    assert planned["plan"]["table_text"] == "longer than 12 bytes: to APP.PARKED"
    assert planned["preflight"]["destinations"] == 1
    assert manager.bodies("APP.IN") == BODIES
    name, digest = Path(planned["run"]).name, planned["plan"]["digest"]
    done = mqops("dlq", "act", name, "--approve", digest) if approved else mqops(*ask)
    counts = {key: done[key] for key in ("workflow", "planned", "moved", "left", "gone", "balanced", "finished")}
    assert counts == {
        **{"workflow": "park_large", "planned": 4, "moved": 2, "left": 2, "gone": 0},
        **{"balanced": True, "finished": True},
    }
    assert (manager.bodies("APP.IN"), manager.bodies("APP.PARKED")) == (BODIES[::2], BODIES[1::2])
    assert find_run(lake, key=done["run"], queue_manager="QM1").path.joinpath("summary.json").exists()
    undone = mqops("undo", done["run"], "--yes")
    assert (undone["workflow"], undone["moved"], undone["balanced"]) == ("undo", 2, True)
    assert sorted(manager.bodies("APP.IN")) == sorted(BODIES)
    assert manager.depth("APP.PARKED") == manager.depth("MQOPS.LEDGER") == 0
    assert mqops("undo", done["run"], "--dry-run")["plan"]["actions"] == {"UNDONE": 2}


def test_messages_are_put_unchanged_and_an_mq_group_is_not_split(manager, mqops, mqops_here):
    manager.put("APP.IN", [dead_letter("A", b"x" * 30)])
    group = {"GroupId": b"G" * 24, "MsgFlags": CMQC.MQMF_MSG_IN_GROUP, "MsgSeqNumber": 1}
    last = {**group, "MsgFlags": CMQC.MQMF_LAST_MSG_IN_GROUP, "MsgSeqNumber": 2}
    manager.put("APP.IN", [(group, b"short"), (last, b"l" * 50)])
    planned = mqops("park_large", "APP.IN", "--most-bytes", "12", "--dry-run")["plan"]
    assert planned["actions"] == {"FWD": 1, "SPLIT": 2}
    assert any("messages of one group would not all go the same way" in line for line in planned["remarks"])
    shown = mqops_here("park_large", "APP.IN", "--most-bytes", "12", "-m", "QM1", "--dry-run").stdout
    assert "  FWD to APP.PARKED  (" in shown
    assert "no rule" not in shown
    before = manager.bodies("APP.IN")
    assert mqops("park_large", "APP.IN", "--most-bytes", "12")["moved"] == 1
    assert manager.bodies("APP.PARKED") == before[:1]
    assert before[0].startswith(b"DLH ")
    assert manager.bodies("APP.IN") == before[1:]


def test_the_documents_decider_takes_nothing_from_a_queue_of_mqops(manager, mqops_here, mqops):
    refused = mqops_here("park_large", "MQOPS.LEDGER", "-m", "QM1", expect=1)
    assert "no workflow takes messages from it" in refused.stderr
    assert mqops("park_large", "APP.IN")["planned"] == 0


@pytest.mark.usefixtures("mqops")
def test_its_command_has_its_own_fields_and_not_what_the_form_of_each_dag_has():
    decider = registry.decider_named("park_large")
    form = ("dry_run", "queue_manager", *decider.form, "first_tell", "unit_of_work")
    with_dag = replace(decider, form=form, dag="all")
    alone, beside = ([one.name for one in command_of(each).params] for each in (decider, with_dag))
    assert alone == beside
    assert alone[:3] == ["queues", "most_bytes", "parking"]
