"""Behind a run the DEPTH queues of its workflow trigger again, unless it was dry; a refusal is told in the note."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from mq_support import DLQ, Manager, create, dead_letter

from mqops_airflow.notices.outcome_text import KEY
from mqops_airflow.operators.check import DlqCheckOperator

ESTATE = """\
lake: lake
queue_managers:
  QM1:
    connection: mq_test
    trigger_monitor: {queues: [MQOPS.INITQ]}
    dlq_rules: {rules: good.rules, trigger: DEPTH(2)}
"""
QUEUES = f"""\
DEFINE QLOCAL(MQOPS.INITQ)
DEFINE PROCESS(MQOPS.DLQ_RULES) APPLTYPE(UNIX) APPLICID('qm1_dlq_rules')
ALTER QLOCAL({DLQ}) NOTRIGGER TRIGTYPE(DEPTH) TRIGDPTH(2) INITQ(MQOPS.INITQ) PROCESS(MQOPS.DLQ_RULES)
"""
NUMBERS = count()
OPERATOR = DlqCheckOperator(task_id="check", queue_manager="QM1")


@pytest.fixture
def manager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Manager:
    (tmp_path / "estate.yaml").write_text(ESTATE)
    (tmp_path / "good.rules").write_text("ACTION(RETRY)\n")
    monkeypatch.setenv("MQOPS_ESTATE", str(tmp_path / "estate.yaml"))
    made = create(tmp_path / "queue_managers", "QM1", QUEUES)
    connect(made, monkeypatch)
    return made


def connect(manager: Manager, monkeypatch: pytest.MonkeyPatch, **user: str) -> None:
    extra = {"queue_manager": "QM1", "home": str(manager.home)}
    monkeypatch.setenv("AIRFLOW_CONN_MQ_TEST", json.dumps({"conn_type": "mq", "extra": extra, **user}))


def note_of_check(*, dry_run: bool, queue: str = "") -> str:
    """The note of a run by hand that finds the dead-letter queue empty."""
    told: dict[str, Any] = {}
    OPERATOR.execute(context(told, dry_run=dry_run, queue=queue))
    return str(told[KEY])


def handed_on_by_check() -> dict[str, Any]:
    """What a dry run has found."""
    return OPERATOR.execute(context({}, dry_run=True, queue=""))


def context(told: dict[str, Any], **form: Any) -> Any:
    """Of a run by hand. Parameters: `told` gets the XComs."""
    numbers = ("limit", "unit_of_work", "canary", "canary_wait", "pace", "in_flight", "patience")
    run_id = f"run{next(NUMBERS)}"
    return {
        "params": {"rules_file": "good.rules", "message_ids": None, **dict.fromkeys(numbers, 0), **form},
        "dag_run": SimpleNamespace(
            run_type="manual",
            triggering_user_name="alice",
            **{"run_id": run_id, "dag_id": "qm1_dlq_rules", "conf": {}, "start_date": None},
        ),
        "ti": SimpleNamespace(xcom_push=lambda *, key, value: told.update({key: value})),
        "task": SimpleNamespace(get_flat_relatives=lambda upstream: []),
    }


def triggers(manager: Manager, queue: str = DLQ) -> bool:
    shown = manager.mqlite("mqsc", "QM1", text=f"DISPLAY QLOCAL({queue}) TRIGGER\n").split()
    return "NOTRIGGER" not in shown


def test_B12_the_further_dead_letter_queues_are_worked_on_unless_the_form_names_another(
    manager: Manager, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one run: one table, one plan. An alias of the same queue is the same queue."""
    sealed = "SYSTEM.PROTECTION.ERROR.QUEUE"
    manager.mqsc(f"DEFINE QLOCAL({sealed})\nDEFINE QALIAS(DEAD) TARGET({DLQ})\nDEFINE QLOCAL(OTHER)\n")
    monkeypatch.setenv("MQOPS_LAKE", str(tmp_path / "lake"))
    (tmp_path / "estate.yaml").write_text(ESTATE.replace("trigger: DEPTH(2)", f"also: [{sealed}, DEAD]"))
    assert note_of_check(dry_run=True) == f"Nothing to do: `{DLQ}`, `{sealed}` are empty"
    assert note_of_check(dry_run=True, queue="OTHER") == "Nothing to do: `OTHER` is empty"
    manager.put(sealed, [dead_letter("A", b"PDMQ", reason=2063)])
    assert handed_on_by_check()["queue"] == sealed
    manager.put(DLQ, [dead_letter("A", b"one")])
    assert handed_on_by_check()["queue"] == f"{DLQ},{sealed}"


@pytest.mark.parametrize("dry_run", [True, False])
def test_T09_an_empty_queue_triggers_again_unless_the_run_is_dry(manager: Manager, dry_run: bool) -> None:
    assert note_of_check(dry_run=dry_run) == f"Nothing to do: `{DLQ}` is empty"
    assert triggers(manager) is not dry_run


def test_T09_a_queue_of_another_workflow_stays_as_it_is(manager: Manager, tmp_path: Path) -> None:
    """Its run is at work: switched on now, it would start a second time."""
    other = "    backout_reprocess: {queues: [WORK.BOQ], rules: good.rules, quarantine: Q, trigger: DEPTH(2)}\n"
    (tmp_path / "estate.yaml").write_text(ESTATE + other)
    manager.mqsc(
        "DEFINE QLOCAL(WORK) BOQNAME(WORK.BOQ) BOTHRESH(3)\n"
        "DEFINE PROCESS(MQOPS.BACKOUT_REPROCESS) APPLTYPE(UNIX) APPLICID('qm1_backout_reprocess')\n"
        "DEFINE QLOCAL(WORK.BOQ) NOTRIGGER TRIGTYPE(DEPTH) TRIGDPTH(2) INITQ(MQOPS.INITQ) "
        "PROCESS(MQOPS.BACKOUT_REPROCESS)\n"
    )
    assert note_of_check(dry_run=False) == f"Nothing to do: `{DLQ}` is empty"
    assert (triggers(manager), triggers(manager, "WORK.BOQ")) == (True, False)


def test_a_refusal_is_told_and_fails_no_run(manager: Manager, monkeypatch: pytest.MonkeyPatch) -> None:
    manager.mqlite("user", "add", "QM1", "app", text="secret\n")
    manager.mqsc("SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('app') AUTHADD(CONNECT,INQ)\n")
    for queue, rights in ((DLQ, "INQ,GET,BROWSE"), ("MQOPS.LEDGER", "INQ,GET,BROWSE,PUT")):
        manager.mqsc(f"SET AUTHREC PROFILE({queue}) OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD({rights})\n")
    connect(manager, monkeypatch, login="app", password="secret")
    note = note_of_check(dry_run=False)
    assert note.startswith(f"Nothing to do: `{DLQ}` is empty. Warning: triggering of `{DLQ}` may stay off")
    assert f"+inq +set on `{DLQ}`. An administrator can switch it on: `ALTER QLOCAL({DLQ}) TRIGGER`" in note
    assert "MQRC_NOT_AUTHORIZED" in note
    assert not triggers(manager)
