"""What `make run` says of its first workflow: what is left and why, each rule with its own causes."""

from __future__ import annotations

import io

import pytest
from mq_support import DLQ, dead_letter
from rich.console import Console

from mqops.deciders.dead_letters import DEAD_LETTERS, DeadLetterRequest
from mqops.deciders.run import carry_out, plan_run
from mqops.model import RuleBalance
from mqops.rules import parse
from mqops_demo import run

TABLE = """\
RETRYINT(60)
DESTQ(SHUT) ACTION(RETRY)
DESTQ(GONE*) ACTION(FWD) FWDQ(NOT.THERE) HEADER(NO)
DESTQ(KEPT) ACTION(IGNORE)
DESTQ(A) ACTION(RETRY)
"""


@pytest.fixture
def summary(queue_manager, lake):
    """Of a run in which two rules failed, each for a reason of its own."""
    manager = queue_manager(mqsc="DEFINE QLOCAL(A)\nDEFINE QLOCAL(SHUT) PUT(DISABLED)\n")
    left = ["SHUT"] * 3 + ["GONE1", "GONE2", "KEPT", "NO.RULE"]
    manager.put(DLQ, [dead_letter(name, b"x") for name in ("A", *left)] + [({}, b"no header")])
    what = DeadLetterRequest(connection=manager.connection, lake=lake, table=parse(TABLE).table, text=TABLE)
    return carry_out(DEAD_LETTERS, what, *plan_run(DEAD_LETTERS, what))


def test_each_rule_has_its_own_causes(summary, lake):
    causes = run.causes(lake, summary)
    assert causes == {2: {"failed with MQRC_PUT_INHIBITED": 3}, 3: {"failed with MQRC_UNKNOWN_OBJECT_NAME": 2}}
    why_left = {run.why_left(rule, causes.get(rule.rule_line, {})): rule.left for rule in summary.rules if rule.left}
    assert why_left == {
        "line 2, RETRY: 3 failed with MQRC_PUT_INHIBITED; tried again next time": 3,
        "line 3, FWD: 2 failed with MQRC_UNKNOWN_OBJECT_NAME; tried again next time": 2,
        "ACTION(IGNORE) of line 4": 1,
        "no rule matches": 1,
        "do not begin with an MQDLH: somebody has to look at them": 1,
    }


def test_several_causes_of_a_rule_are_told_each_with_its_number():
    rule = RuleBalance(queue=DLQ, rule_line=7, rule_key="k", action="RETRY")
    why = {"not tried: canaries came back": 5, "failed with MQRC_Q_FULL": 2}
    assert run.why_left(rule, why) == (
        "line 7, RETRY: 2 failed with MQRC_Q_FULL, 5 not tried: canaries came back; tried again next time"
    )


def test_it_is_shown(summary, lake, monkeypatch):
    shown = io.StringIO()
    monkeypatch.setattr(run, "CONSOLE", Console(file=shown, width=120, highlight=False, soft_wrap=True))
    run.show(summary, run.causes(lake, summary))
    lines = shown.getvalue().splitlines()
    assert "Left on the queue: 8" in lines
    assert "       3  line 2, RETRY: 3 failed with MQRC_PUT_INHIBITED; tried again next time" in lines
    assert "9 planned = 1 moved + 0 discarded + 8 left + 0 gone: balances" in lines
