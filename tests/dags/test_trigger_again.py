"""Behind a run the DEPTH queues of its workflow trigger again, unless it was dry; a refusal is told in the note."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from mq_support import DLQ, Manager, create

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


def note_of_check(*, dry_run: bool) -> str:
    """The note of a run by hand that finds the dead-letter queue empty."""
    told: dict[str, Any] = {}
    context: Any = {
        "params": {"rules_file": "good.rules", "queue": "", "dry_run": dry_run},
        "dag_run": SimpleNamespace(run_type="manual", conf={}),
        "ti": SimpleNamespace(xcom_push=lambda *, key, value: told.update({key: value})),
        "task": SimpleNamespace(get_flat_relatives=lambda upstream: []),
    }
    OPERATOR.execute(context)
    return str(told[KEY])


def triggers(manager: Manager, queue: str = DLQ) -> bool:
    shown = manager.mqlite("mqsc", "QM1", text=f"DISPLAY QLOCAL({queue}) TRIGGER\n").split()
    return "NOTRIGGER" not in shown


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
