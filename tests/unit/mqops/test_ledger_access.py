"""`mqops estate check --live`: who else may put on the ledger queue, by the queue manager's own records."""

from __future__ import annotations

import json

import pytest
from mq_support import Manager

ESTATE = "lake: lake\nqueue_managers:\n  QM1:\n    connection: mq_qm1\n"


@pytest.fixture
def manager(queue_manager) -> Manager:
    return queue_manager(mqsc="DEFINE QALIAS(SIDE.DOOR) TARGET(MQOPS.LEDGER)\nDEFINE QLOCAL(A)\n")


@pytest.fixture
def check(manager, mqops_here, tmp_path):
    file = tmp_path / "estate.yaml"
    file.write_text(ESTATE)

    def run(*options: str, expect: int = 0) -> list[str]:
        answer = mqops_here("estate", "check", str(file), "--live", "--json", *options, expect=expect)
        return json.loads(answer.stdout)["warnings" if expect == 0 else "errors"]

    return run


def test_nobody_else_may_put(check, manager):
    manager.mqsc("SET AUTHREC PROFILE('A') OBJTYPE(QUEUE) PRINCIPAL('shop') AUTHADD(PUT,GET)\n")
    manager.mqsc("SET AUTHREC PROFILE('MQOPS.**') OBJTYPE(QUEUE) PRINCIPAL('monitor') AUTHADD(DSP,INQ)\n")
    manager.mqsc("SET AUTHREC PROFILE('MQOPS.LEDGER') OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(PUT)\n")
    assert check("--own", "app") == []


def test_others_are_named_with_the_profile_that_decides(check, manager):
    manager.mqsc("SET AUTHREC PROFILE('**') OBJTYPE(QUEUE) PRINCIPAL('shop') AUTHADD(PUT,GET)\n")
    manager.mqsc("SET AUTHREC PROFILE('**') OBJTYPE(QUEUE) PRINCIPAL('card') AUTHADD(PUT)\n")
    manager.mqsc("SET AUTHREC PROFILE('MQOPS.**') OBJTYPE(QUEUE) PRINCIPAL('card') AUTHADD(NONE)\n")
    manager.mqsc("SET AUTHREC PROFILE('MQOPS.*') OBJTYPE(QUEUE) GROUP('staff') AUTHADD(ALLMQI)\n")
    manager.mqsc("SET AUTHREC PROFILE('SIDE.DOOR') OBJTYPE(QUEUE) PRINCIPAL('card') AUTHADD(PUT)\n")
    front, side = check()
    assert front.startswith(
        "QM1: others may put on MQOPS.LEDGER: principal shop (profile **), group staff (profile MQOPS.*). They can"
    ) or front.startswith(
        "QM1: others may put on MQOPS.LEDGER: group staff (profile MQOPS.*), principal shop (profile **). They can"
    )
    assert "on SIDE.DOOR, an alias of MQOPS.LEDGER: principal card (profile SIDE.DOOR), principal shop" in side


def test_who_may_put_is_unknown_where_the_queue_manager_refuses_to_tell(check, manager, monkeypatch):
    manager.mqlite("user", "add", "QM1", "app", text="secret\n")
    manager.mqsc("SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('app') AUTHADD(CONNECT,INQ)\n")
    connection = {"queue_manager": "QM1", "user": "app", "password": "secret"}
    monkeypatch.setenv("MQOPS_CONNECTION", json.dumps(connection))
    lines = check()
    assert [line[:47] for line in lines if "who may" in line] == ["QM1: who may put on MQOPS.LEDGER is not known: "]


def test_what_was_set_aside_is_told(check, manager, mqops_here):
    manager.put("MQOPS.LEDGER", [({}, b"hello")])
    mqops_here("ledger", "drain", "-m", "QM1")
    (line,) = check()
    assert line.startswith("QM1: 1 message on MQOPS.LEDGER did not come from mqops (1 not a marker)")


def test_a_queue_manager_that_does_not_answer_is_an_error(check, monkeypatch):
    monkeypatch.setenv("MQOPS_CONNECTION", json.dumps({"queue_manager": "QM9"}))
    (error,) = check(expect=1)
    assert error.startswith("QM1: MQOPS_CONNECTION is for queue manager QM9, not for QM1")
