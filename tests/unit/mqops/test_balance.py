"""The arithmetic of the proof, and every contradiction it must see."""

from __future__ import annotations

import pytest

from mqops.ledger.core.account import account
from mqops.ledger.core.identity import PlanIdentity
from mqops.ledger.core.marker import Marker
from mqops.ledger.core.tries import count_tries
from mqops.model import RunSummary
from mqops.prove.core.balance import PlannedRow, balance

PLAN = PlanIdentity(run="r", digest="d")
EMPTY = RunSummary(run="r", workflow="dlq", queue_manager="QM", queue="DLQ", plan="d")


def row(number, action="RETRY", key=None, line=1):
    return PlannedRow(number, "DLQ", key or f"k{number}", action, line, f"rule-{line}")


def done(number, action="RETRY", key=None, reason=None, dest="A"):
    return (number, key or f"k{number}", "00", action, "rule-1", dest, "", reason)


def marker(first, following, *rows, kind="acted", lane=0):
    unit = PLAN.marker_id(lane, first, kind).hex()
    values = {"unit": unit, "run": "r", "plan": "d", "kind": kind, "at": "now"}
    return Marker(**values, lane=lane, first=first, next=following, rows=tuple(rows))


def issued(*lengths):
    return Marker(unit="u", run="r", plan="d", kind="issued", at="now", lanes=lengths)


def prove(rows, markers, on_queue=()):
    found = {}
    for key in on_queue:
        found["DLQ", key] = found.get(("DLQ", key), 0) + 1
    return balance(EMPTY, lambda: rows, account(markers), found, reason_names={2053: "MQRC_Q_FULL"})


def totals(summary):
    return summary.moved, summary.discarded, summary.left, summary.gone


def test_law5_planned_is_moved_discarded_left_and_gone():
    rows = [row(0), row(1, "DISCARD", line=2), row(2), row(3, "IGNORE", line=3), row(4), row(5, "ERROR", line=None)]
    markers = [issued(4), marker(0, 3, done(0), done(1, "DISCARD", dest="")), marker(3, 4)]
    markers.append(marker(0, 3, done(2, reason=2053), kind="failed"))
    summary = prove(rows, markers, ["k2", "k3", "k5", "new"])
    assert totals(summary) == (1, 1, 3, 1)
    assert (summary.planned, summary.failed, summary.arrived, summary.returned) == (6, 1, 1, 0)
    assert summary.reasons == {"MQRC_Q_FULL": 1}
    assert summary.balanced
    assert summary.finished
    assert [(rule.rule_line, rule.action, rule.planned, rule.left) for rule in summary.rules] == [
        *((1, "RETRY", 3, 1), (2, "DISCARD", 1, 0), (3, "IGNORE", 1, 1), (None, "ERROR", 1, 1)),
    ]
    assert RunSummary.from_json(summary.to_json()) == summary


def test_messages_of_the_same_identity_stand_for_each_other():
    rows = [row(number, key="same") for number in range(4)]
    summary = prove(rows, [issued(4), marker(0, 4, done(1, key="same"))], ["same", "same"])
    assert totals(summary) == (1, 0, 2, 1)


def test_what_was_forwarded_to_the_same_queue_is_moved_and_no_evidence_of_anything_left():
    rows = [row(0, "FWD", key="same"), row(1, "FWD", key="same")]
    summary = prove(rows, [issued(2), marker(0, 2, done(0, "FWD", key="same", dest="DLQ"))], ["same"])
    assert totals(summary) == (1, 0, 0, 1)
    assert summary.returned == 0


def test_a_moved_message_that_is_on_the_queue_again_has_returned():
    summary = prove([row(0)], [issued(1), marker(0, 1, done(0))], ["k0", "other"])
    assert (summary.moved, summary.returned, summary.arrived) == (1, 1, 1)
    assert summary.balanced


def test_a_lane_that_has_not_come_to_its_end_is_not_finished():
    summary = prove([row(0), row(1)], [issued(2), marker(0, 1, done(0))], ["k1"])
    assert (summary.balanced, summary.finished) == (True, False)


def test_a_plan_that_nobody_acted_on_is_not_finished():
    summary = prove([row(0)], [], ["k0"])
    assert (summary.balanced, summary.finished, totals(summary)) == (True, False, (0, 0, 1, 0))
    assert prove([row(0, "IGNORE")], [], ["k0"]).finished


def test_law5_what_was_not_acted_on_is_left_on_a_queue_that_nobody_can_look_at():
    rows = [row(0), row(1), row(2, "CONSUMED", line=None), row(3)._replace(queue="SEEN")]
    markers = [issued(3), marker(0, 3, done(0)), marker(0, 3, done(1, reason=2016), kind="failed")]
    summary = balance(EMPTY, lambda: rows, account(markers), {}, reason_names={}, unseen={"DLQ"})
    assert totals(summary) == (1, 0, 2, 1)
    assert (summary.arrived, summary.balanced) == (0, True)


@pytest.mark.parametrize(
    ("markers", "problem"),
    [
        ([issued(2), marker(0, 2, done(0)), marker(1, 2, done(1))], "lane 0: the units of work overlap at position 1"),
        ([issued(2), marker(1, 2, done(1))], "lane 0: the units of work leave a gap at position 0"),
        ([issued(2), marker(0, 3)], "lane 0: 3 positions were dealt with, 2 were issued"),
        ([issued(2), marker(0, 1, done(0)), marker(1, 2, done(0))], "row 0 was acted on twice"),
        ([issued(2), issued(2)], "the tickets of the plan were issued twice"),
        ([issued(3)], "the plan has 2 rows to act on, tickets for 3 were issued"),
        ([issued(2), marker(0, 2, done(7))], "row 7 is in the ledger and not in the plan"),
        ([issued(2), marker(0, 2, done(0, key="x"))], "row 0: the ledger says RETRY of another message than the plan"),
        ([issued(2), marker(0, 2, done(0, "FWD"))], "row 0: the ledger says FWD of another message than the plan"),
        (
            [issued(2), marker(0, 2, done(0)), marker(0, 2, done(0, reason=2053), kind="failed")],
            "row 0 was both acted on and recorded as failed",
        ),
    ],
)
def test_law5_a_contradiction_does_not_balance(markers, problem):
    summary = prove([row(0), row(1)], markers, ["k0", "k1"])
    assert not summary.balanced
    assert problem in summary.problems


def test_D02_failed_tries_are_counted_per_message_and_rule():
    failed = [marker(0, 2, done(0, reason=2053), done(1, reason=2053), kind="failed")]
    again = [marker(0, 1, done(0, reason=2051), kind="failed", lane=1)]
    assert count_tries([*failed, *again, marker(0, 2, done(1))]) == {"k0": {"rule-1": 2}, "k1": {"rule-1": 1}}
