"""The authority records of the docker composition are what mqops needs: a pass as that user, on the embedded one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from mq_support import DLQ, dead_letter

from mqops.errors import PermanentMQError
from mqops.rules import parse
from mqops.workflow.dlq import Pass, carry_out, plan_pass

ACCESS = Path(__file__).resolve().parents[3] / "include" / "docker" / "qm1_access.mqsc"
RULES = "DESTQ(A) ACTION(RETRY)\nACTION(FWD) FWDQ(REALLY.DEAD.QUEUE) HEADER(YES)\n"


@pytest.fixture
def manager(queue_manager):
    made = queue_manager(mqsc="DEFINE QLOCAL(A)\nDEFINE QLOCAL(REALLY.DEAD.QUEUE)\n")
    made.mqlite("user", "add", "QM1", "app", text="app's own\n")
    return made


def run(manager, lake):
    """Plan and carry out a pass as user app."""
    connection = replace(manager.connection, user="app", password="app's own")
    what = Pass(connection=connection, lake=lake, table=parse(RULES).table, text=RULES)
    return carry_out(what, *plan_pass(what))


def test_a_pass_with_the_authority_that_docker_gives(manager, tmp_path):
    manager.put(DLQ, [dead_letter("A", b"one"), dead_letter("GONE", b"two")])
    with pytest.raises(PermanentMQError):
        run(manager, tmp_path / "lake")
    lines = ACCESS.read_text(encoding="utf-8").splitlines()
    manager.mqsc("\n".join(line for line in lines if line.startswith("SET AUTHREC")) + "\n")
    summary = run(manager, tmp_path / "lake")
    assert (summary.moved, summary.left) == (2, 0)
    assert manager.bodies("A") == [b"one"]
