"""The arithmetic of the proof, and every contradiction it must see."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mqops.actions import Action
from mqops.lake.run_file import Checked
from mqops.ledger.core.account import account
from mqops.ledger.core.identity import PlanIdentity
from mqops.ledger.core.marker import Marker, MarkerRow
from mqops.ledger.core.tries import count_tries
from mqops.model import RunSummary
from mqops.prove.core.balance import ABSENT, NOT_FOUND, PlannedRow, balance

PLAN = PlanIdentity(run="r", digest="d")
EMPTY = RunSummary(run="r", workflow="dlq", queue_manager="QM", queue="DLQ", plan="d")


def row(number, action="RETRY", key=None, line=1):
    return PlannedRow(number, "DLQ", key or f"k{number}", Action(action), line, f"rule-{line}")


def done(number, action="RETRY", key=None, reason=None, dest="A"):
    return (number, key or f"k{number}", "00", action, "rule-1", dest, "", reason)


def marker(first, following, *rows, kind="acted", lane=0, absent=(), left=()):
    unit = PLAN.marker_id(lane, first, kind).hex()
    values = {"unit": unit, "run": "r", "plan": "d", "kind": kind, "at": "now"}
    kept = {"why": tuple(left)} if left else {}
    return Marker(
        **values,
        lane=lane,
        first=first,
        next=following,
        rows=tuple(MarkerRow(*one) for one in rows),
        absent=tuple(absent),
        left=kept,
    )


def issued(*lengths):
    return Marker(unit="u", run="r", plan="d", kind="issued", at="now", lanes=lengths)


def prove(rows, markers, on_queue=()):
    found = {}
    for key in on_queue:
        found["DLQ", key] = found.get(("DLQ", key), 0) + 1
    return balance(EMPTY, lambda: rows, account(markers), found, reason_names={2053: "MQRC_Q_FULL"}).summary


def totals(summary):
    return summary.moved, summary.discarded, summary.left, summary.gone


def test_law5_planned_is_moved_discarded_left_and_gone():
    rows = [row(0), row(1, "DISCARD", line=2), row(2), row(3, "IGNORE", line=3), row(4), row(5, "ERROR", line=None)]
    markers = [issued(4), marker(0, 3, done(0), done(1, "DISCARD", dest="")), marker(3, 4, absent=[4])]
    markers.append(marker(0, 3, done(2, reason=2053), kind="failed"))
    summary = prove(rows, markers, ["k2", "k3", "k5", "new"])
    assert totals(summary) == (1, 1, 3, 1)
    assert (summary.planned, summary.failed, summary.arrived, summary.returned) == (6, 1, 1, 0)
    assert summary.reasons == {"MQRC_Q_FULL": 1}
    assert summary.gone_because == {ABSENT: 1}
    assert summary.balanced
    assert summary.finished
    assert [(rule.rule_line, rule.action, rule.planned, rule.left) for rule in summary.rules] == [
        *((1, "RETRY", 3, 1), (2, "DISCARD", 1, 0), (3, "IGNORE", 1, 1), (None, "ERROR", 1, 1)),
    ]
    assert Checked(RunSummary).of(summary.to_json(), Path("summary.json")) == summary


def test_law5_each_count_is_the_number_of_messages_rule_by_rule():
    rows = [row(number, "DISCARD" if number == 9 else "RETRY", line=1 + number % 2) for number in range(14)]
    markers = [
        issued(14),
        marker(0, 14, *(done(number) for number in range(5)), done(9, "DISCARD", dest=""), absent=[5, 6, 7]),
        marker(0, 14, *(done(number, reason=2053) for number in (8, 10, 11)), kind="failed"),
        marker(0, 14, done(12, reason=2016), kind="failed"),
    ]
    summary = prove(rows, markers, ["k8", "k10", "k12", "k0", "k1", "new", "newer"])
    assert (totals(summary), summary.planned, summary.failed, summary.unexplained) == ((5, 1, 3, 4), 14, 4, 1)
    assert [(one.rule_line, one.action, one.planned, one.failed) for one in summary.rules] == [
        *((1, "RETRY", 7, 3), (2, "DISCARD", 1, 0), (2, "RETRY", 6, 1)),
    ]
    assert [(one.moved, one.discarded, one.left, one.gone, one.unexplained) for one in summary.rules] == [
        *((3, 0, 3, 1, 0), (0, 1, 0, 0, 0), (2, 0, 0, 3, 1)),
    ]
    assert summary.reasons == {"2016": 1, "MQRC_Q_FULL": 3}
    assert summary.gone_because == {ABSENT: 3, NOT_FOUND: 1}
    assert (summary.returned, summary.arrived) == (2, 2)


def test_messages_of_the_same_identity_stand_for_each_other():
    rows = [row(number, key="same") for number in range(4)]
    summary = prove(rows, [issued(4), marker(0, 4, done(1, key="same"), absent=[0, 2, 3])], ["same", "same"])
    assert totals(summary) == (1, 0, 2, 1)
    assert summary.balanced


def test_what_was_forwarded_to_the_same_queue_is_moved_and_no_evidence_of_anything_left():
    rows = [row(0, "FWD", key="same"), row(1, "FWD", key="same")]
    markers = [issued(2), marker(0, 2, done(0, "FWD", key="same", dest="DLQ"), absent=[1])]
    summary = prove(rows, markers, ["same"])
    assert totals(summary) == (1, 0, 0, 1)
    assert summary.returned == 0


def test_what_was_forwarded_to_the_same_queue_stands_for_one_message_there():
    rows = [row(number, "FWD", key="same") for number in range(3)]
    markers = [issued(3), marker(0, 2, *(done(number, "FWD", key="same", dest="DLQ") for number in (0, 1)))]
    summary = prove(rows, markers, ["same"] * 3)
    assert (totals(summary), summary.arrived, summary.returned) == ((2, 0, 1, 0), 0, 0)
    fewer = prove(rows, markers, ["same"])  # what was forwarded and consumed since takes nothing else away
    assert (totals(fewer), fewer.arrived, fewer.balanced) == ((2, 0, 0, 1), 0, True)


def test_what_was_forwarded_to_the_same_queue_is_found_among_rows_that_went_elsewhere_or_nowhere():
    """Of two queues; a message that is like one that was discarded has arrived, one that was moved away is back."""
    rows = [row(0, "IGNORE"), row(1, "DISCARD"), row(2, "FWD"), row(3, "FWD", key="same"), row(4, "FWD", key="same")]
    acted = [done(1, "DISCARD", dest=""), done(2, "FWD"), done(3, "FWD", key="same", dest="DLQ")]
    markers = account([issued(4), marker(0, 4, *acted, absent=[4])])
    there = dict.fromkeys((("DLQ", key) for key in ("k0", "k1", "k2", "same")), 1)
    summary = balance(replace(EMPTY, queue="OTHER,DLQ"), lambda: rows, markers, there, reason_names={}).summary
    assert (totals(summary), summary.returned, summary.arrived) == ((2, 1, 1, 1), 1, 1)
    assert summary.balanced


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
    markers = [issued(3), marker(0, 3, done(0), absent=[3]), marker(0, 3, done(1, reason=2016), kind="failed")]
    summary = balance(EMPTY, lambda: rows, account(markers), {}, reason_names={}, unseen={"DLQ"}).summary
    assert totals(summary) == (1, 0, 2, 1)
    assert (summary.arrived, summary.balanced) == (0, True)


@pytest.mark.parametrize(
    ("action", "counts_as"),
    [
        ("RESTORE", "left"),  # the lake has it
        ("HIDDEN", "left"),  # a unit of work may have it
        ("UNPROVABLE", "left"),  # it went where nobody can look
        ("CONFIRMS", "left"),  # it is where it went
        ("PARTED", "left"),
        ("CONSUMED", "gone"),
        ("EXPIRED", "gone"),
        ("LAST", "gone"),  # the original: another program took it
        ("UNDONE", "gone"),
    ],
)
def test_what_an_undo_did_not_put_back_is_left_unless_another_program_took_it(action, counts_as):
    summary = prove([row(0, action, line=None)], [])
    assert (getattr(summary, counts_as), summary.left + summary.gone, summary.balanced) == (1, 1, True)


@pytest.mark.parametrize(
    ("markers", "evidence"),
    [
        ([], NOT_FOUND),  # nobody has acted: whoever took it, this run did not
        ([issued(2)], NOT_FOUND),
        ([issued(2), marker(0, 1, done(0))], NOT_FOUND),  # the lane has not come to it
        ([issued(2), marker(0, 2, done(0), absent=[1])], ABSENT),
        ([issued(2), marker(0, 2, done(0), left=[1])], NOT_FOUND),  # it was there, and was consumed since
        ([issued(2), marker(0, 2, done(0)), marker(0, 2, done(1, reason=2053), kind="failed")], NOT_FOUND),
    ],
)
def test_law5_what_is_gone_is_counted_by_the_evidence(markers, evidence):
    summary = prove([row(0), row(1)], markers, ["k0"] if len(markers) < 2 else [])
    assert summary.gone_because[evidence] >= 1
    assert summary.gone == sum(summary.gone_because.values())
    assert (summary.balanced, summary.unexplained) == (True, 0)
    acted_nowhere = prove([row(0, "IGNORE")], [])
    assert (acted_nowhere.gone_because, acted_nowhere.balanced) == ({NOT_FOUND: 1}, True)


@pytest.mark.parametrize(
    "markers",
    [
        [issued(3), marker(0, 3, done(0), absent=[2])],  # the mover passed over row 1 in silence
        [issued(3), marker(0, 2, done(0))],  # likewise, and it has not come to row 2: which is which nobody knows
        [issued(2), marker(0, 2, done(0), absent=[2])],  # the plan has a row more than the lanes
    ],
)
def test_law5_what_nothing_explains_is_unexplained_and_does_not_balance(markers):
    summary = prove([row(0), row(1), row(2)], markers)
    assert summary.unexplained >= 1
    assert summary.planned == summary.moved + summary.gone + summary.unexplained
    assert not summary.balanced
    assert summary.problems[-1] == (
        f"DLQ, rule line 1, RETRY: {summary.unexplained} of 3 planned messages are unexplained: "
        "they are not on the queue, and no marker says what became of them"
    )
    without_rule = prove([row(0, line=None)], [issued(1), marker(0, 1)])
    assert without_rule.problems[-1].startswith("DLQ, no rule, RETRY: 1 of 1 planned message is unexplained")


def test_law5_the_sums_alone_make_a_run_unbalanced():
    """What is unexplained counts, also if nothing had told of it in words."""
    rule = prove([row(0)], [issued(1), marker(0, 1)]).rules[0]
    assert (rule.planned, rule.unexplained, rule.adds_up) == (1, 1, False)
    assert replace(rule, gone=1).adds_up
    assert not replace(rule, gone=2).adds_up


@pytest.mark.parametrize(
    ("markers", "problem"),
    [
        ([issued(2), marker(0, 2, done(0)), marker(1, 2, done(1))], "lane 0: the units of work overlap at position 1"),
        ([issued(2), marker(1, 2, done(1))], "lane 0: the units of work leave a gap at position 0"),
        ([issued(2), marker(0, 3)], "lane 0: 3 positions were dealt with, 2 were issued"),
        ([issued(2), marker(0, 1, done(0), lane=1)], "lane 1: 1 positions were dealt with, 0 were issued"),
        ([issued(2), marker(0, 1, done(0)), marker(1, 2, done(0))], "row 0 was recorded as acted on twice"),
        ([issued(2), marker(0, 1, left=[0]), marker(1, 2, left=[0])], "row 0 was recorded as left twice"),
        ([issued(2), marker(0, 1, absent=[0]), marker(1, 2, absent=[0])], "row 0 was recorded as absent twice"),
        ([issued(2), issued(2)], "the lane tokens of the plan were issued twice"),
        ([issued(3)], "the plan has 2 rows to act on, and lane tokens for 3 were issued"),
        ([issued(2), marker(0, 2, done(7))], "row 7 is in the ledger and not in the plan"),
        ([issued(2), marker(0, 2, absent=[8, 0])], "row 8 is in the ledger and not in the plan"),
        ([issued(2), marker(0, 2, done(0, key="x"))], "row 0: the ledger says RETRY of another message than the plan"),
        ([issued(2), marker(0, 2, done(0, "FWD"))], "row 0: the ledger says FWD of another message than the plan"),
        (
            [issued(2), marker(0, 2, done(0)), marker(0, 2, done(0, reason=2053), kind="failed")],
            "row 0 was recorded as acted on and as failed",
        ),
        ([issued(2), marker(0, 2, done(0), left=[0])], "row 0 was recorded as acted on and as left"),
        ([issued(2), marker(0, 2, done(0), absent=[0])], "row 0 was recorded as acted on and as absent"),
        ([issued(2), marker(0, 2, absent=[1], left=[1])], "row 1 was recorded as left and as absent"),
        (
            [issued(2), marker(0, 2, done(0))],
            "lane 0: the markers of the unit of work at position 0 do not name 1 of its rows",
        ),
        (
            [issued(2), marker(0, 1, done(0)), marker(0, 1, done(1, reason=2053), kind="failed")],
            "lane 0: the markers of the unit of work at position 0 name 1 row more than it has",
        ),
    ],
)
def test_law5_a_contradiction_does_not_balance(markers, problem):
    summary = prove([row(0), row(1)], markers, ["k0", "k1"])
    assert not summary.balanced
    assert problem in summary.problems


def test_law5_a_row_that_stands_twice_in_the_plan_does_not_balance():
    summary = prove([row(0), row(0)], [issued(2), marker(0, 2, done(0))])
    assert not summary.balanced
    assert "row 0 stands twice in the plan" in summary.problems


def test_D02_failed_tries_are_counted_per_message_and_rule():
    failed = [marker(0, 2, done(0, reason=2053), done(1, reason=2053), kind="failed")]
    again = [marker(0, 1, done(0, reason=2051), kind="failed", lane=1)]
    assert count_tries([*failed, *again, marker(0, 2, done(1))]) == {"k0": {"rule-1": 2}, "k1": {"rule-1": 1}}
