"""Which queues are worth a scan, what a scan adds up to, what a reply's expiry is: pure."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from mqops.expiry.core.candidates import Known, QueueNow, worth_scanning
from mqops.expiry.core.outcome import ExpirySummary, QueueScan, Remaining, summarise
from mqops.expiry.core.reply import reply_descriptor, reply_expiry
from mqops.lake.run_file import Checked
from mqops.queue_names import selected
from mqwire import constants as c
from mqwire.structures import MQMD

DOCS = Path(__file__).parents[3] / "docs"
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
AGO = "2026-11-21T11:50:00+00:00"
LATER = "2026-11-21T12:00:01+00:00"
HOUR = timedelta(hours=1)


def known(**values):
    return Known(**{"scanned_at": AGO, "depth": 5, "last_put": "x", **values})


@pytest.mark.parametrize(
    ("queue", "taught", "why"),
    [
        ({"depth": 0}, None, ""),  # empty, never scanned
        ({"depth": 0}, known(next_expiry=AGO), ""),  # somebody emptied it meanwhile
        ({}, None, "never scanned"),
        ({}, known(), ""),  # nothing there expires, nothing changed
        ({}, known(next_expiry=LATER), ""),  # not yet
        ({}, known(next_expiry=NOW.isoformat()), f"a message expired at {NOW.isoformat()}"),
        ({"depth": 6}, known(), "6 messages, 5 after the last scan"),
        ({"last_put": "y"}, known(), "messages were put since the last scan"),
        ({}, known(scanned_at="2026-11-21T11:00:00+00:00"), "last scanned at 2026-11-21T11:00:00+00:00"),
        ({"get_allowed": False}, None, ""),  # cannot be browsed
    ],
)
def test_E16_worth_a_scan(queue, taught, why):
    now = QueueNow(**{"name": "Q", "depth": 5, "last_put": "x", **queue})
    found = worth_scanning([now], {"Q": taught} if taught else {}, now=NOW, recheck=HOUR)
    assert found == ({"Q": why} if why else {})


@pytest.mark.parametrize(
    ("now", "yes"),
    [
        ({"depth": 5, "last_put": "x"}, True),
        ({"depth": 5, "last_put": ""}, True),  # MONQ(OFF): nothing is known besides the depth
        ({"depth": 5, "last_put": "y"}, False),
        ({"depth": 6, "last_put": "x"}, False),
        ({"depth": 4, "last_put": "x"}, False),
    ],
)
def test_a_scan_holds_while_no_message_came_or_went(now, yes):
    assert known().still_holds(**now) is yes


@pytest.mark.parametrize(
    ("name", "patterns", "yes"),
    [
        ("PAY.IN", ["*"], True),
        ("PAY.IN", ["PAY.*"], True),
        ("PAY.IN", ["PAY.IN"], True),
        ("PAY.IN", ["PAY", "X*"], False),
        ("SYSTEM.DEAD.LETTER.QUEUE", ["*", "S*"], False),  # only if named so
        ("SYSTEM.DEAD.LETTER.QUEUE", ["SYSTEM.DEAD.*"], True),
        ("MQOPS.LEDGER", ["*"], False),
        ("MQOPS.LEDGER", ["MQOPS.*"], True),
    ],
)
def test_selected(name, patterns, yes):
    assert selected(name, patterns) is yes


def test_remaining_adds_up():
    remaining = Remaining()
    for expiry in (1, 600, 601, 36_000, 10_000_000, c.MQEI_UNLIMITED):
        remaining.add(expiry)
    assert remaining.messages == 6
    assert dict(remaining.soon) == {"1m": 2, "10m": 1, "1h": 1, "later": 1, "never": 1}
    assert remaining.next_expiry(NOW) == "2026-11-21T12:00:00.100000+00:00"
    assert Remaining().next_expiry(NOW) == ""


@pytest.mark.parametrize(
    ("most", "name"), [(600, "1m"), (6_000, "10m"), (36_000, "1h"), (216_000, "6h"), (864_000, "1d")]
)
def test_a_lifetime_counts_within_the_least_time_that_it_fits(most, name):
    remaining = Remaining()
    remaining.add(most)
    assert dict(remaining.soon) == {name: 1}
    remaining.add(most + 1)
    assert remaining.soon[name] == 1


def test_summary_balances_only_what_nobody_else_touched():
    good = QueueScan(queue="A", there=10, discarded=4, left=5, in_flight=1, next_expiry=LATER)
    wrong = QueueScan(queue="B", there=10, discarded=4, left=5)
    assert summarise([good], run="r", queue_manager="QM").balanced
    assert not summarise([good, wrong], run="r", queue_manager="QM").balanced
    busy = QueueScan(queue="B", there=10, discarded=-2, left=12, exact=False)
    total = summarise([busy, good], run="r", queue_manager="QM")
    assert (total.balanced, total.found, total.done, total.left, total.queue) == (True, 20, 2, 18, "A,B")
    assert total.next_expiry == LATER
    assert Checked(ExpirySummary).of(total.to_json(), Path("expiry.json")) == total


@pytest.mark.parametrize(
    ("request_expiry", "choice", "retained", "expected"),
    [
        (300, "remaining", 0, 300),
        (300, "remaining", 100, 200),
        (300, "remaining", 400, 1),  # never zero: MQPUT would refuse it
        (c.MQEI_UNLIMITED, "remaining", 100, c.MQEI_UNLIMITED),
        (300, "unlimited", 0, c.MQEI_UNLIMITED),
        (300, 50, 0, 50),
    ],
)
def test_E19_three_choices(request_expiry, choice, retained, expected):
    assert reply_expiry(request_expiry, choice, retained=retained) == expected


@pytest.mark.parametrize("expiry", [0, -1, -7])
def test_E19_an_explicit_time_is_above_zero(expiry):
    with pytest.raises(ValueError, match=f"greater than zero tenths of a second, not {expiry}"):
        reply_expiry(300, expiry)


def test_E19_the_reply_of_the_documentation_lives_as_long_as_the_request_would():
    (example,) = re.findall(r"```python\n(.*?)```", (DOCS / "command_line.md").read_text(), re.DOTALL)
    made: dict[str, MQMD] = {}
    exec(example, made)
    assert (made["reply"].correl_id, made["reply"].expiry) == (b"m" * 24, 280)


def test_E19_reply_follows_the_report_options():
    request = MQMD(msg_id=b"m" * 24, correl_id=b"c" * 24, priority=7, persistence=1, expiry=300)
    plain = reply_descriptor(request)
    assert (plain.msg_type, plain.msg_id, plain.correl_id) == (c.MQMT_REPLY, c.MQMI_NONE, b"m" * 24)
    assert (plain.priority, plain.persistence, plain.expiry) == (7, 1, 300)
    passing = MQMD(msg_id=b"m" * 24, correl_id=b"c" * 24, report=c.MQRO_PASS_MSG_ID | c.MQRO_PASS_CORREL_ID)
    passed = reply_descriptor(passing, expiry="unlimited")
    assert (passed.msg_id, passed.correl_id, passed.expiry) == (b"m" * 24, b"c" * 24, c.MQEI_UNLIMITED)
