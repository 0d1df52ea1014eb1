"""What is known of the messages of a queue that expire: the rules of `mqops.look.core.expires`, one by one."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from mqops.expiry.core.candidates import Known
from mqops.look.core.expires import Expires, QueueForecast, expires

LIMIT = datetime(2026, 1, 2, 8, tzinfo=UTC)
SIX, SEVEN = "2026-01-02T06:00:00+00:00", "2026-01-02T07:00:00+00:00"


def recorded(*, past: int = 0, before: int = 0) -> QueueForecast:
    """A snapshot of 6 o'clock with 10 messages."""
    return QueueForecast(queue="A", run="one", at=SIX, past=past, before=before, later=0, never=10 - past - before)


def scan(at: str, depth: int, next_expiry: str = "") -> Known:
    return Known(scanned_at=at, depth=depth, next_expiry=next_expiry)


@pytest.mark.parametrize(
    ("depth", "snapshot", "last_scan", "words"),
    [
        (10, recorded(before=3), None, "3 before 08:00"),
        (10, recorded(), None, "none before 08:00"),
        (1234, recorded(), None, "none before 08:00; 1,224 not looked at"),
        (12, recorded(before=3), None, "3 before 08:00; 2 not looked at"),
        (12, recorded(before=3), scan(SEVEN, 12), "3 before 08:00"),
        (12, recorded(before=3), scan(SEVEN, 12, "2026-01-02T08:00:00+00:00"), "3 before 08:00"),
        (12, recorded(before=3), scan(SEVEN, 12, "2026-01-02T07:59:00+00:00"), "3 before 08:00; 2 not counted"),
        (12, recorded(), scan(SEVEN, 12, "2026-01-02T07:59:00+00:00"), "some before 08:00; 2 not counted"),
        (10, recorded(), scan(SEVEN, 10, "2026-01-02T07:59:00+00:00"), "none before 08:00"),  # the snapshot has all
        (12, recorded(), scan(SEVEN, 11), "none before 08:00; 2 not looked at"),  # a message came since the scan
        (12, recorded(), scan("2026-01-02T05:00:00+00:00", 12), "none before 08:00; 2 not looked at"),  # of before
        (2, recorded(before=3), None, "at most 2 before 08:00"),
        (9, recorded(before=3), None, "at most 3 before 08:00"),
        (9, recorded(past=1, before=3), None, "3 before 08:00"),  # the one that has expired was discarded
        (0, recorded(before=3), None, "none before 08:00"),
        (None, recorded(before=3), scan(SEVEN, 10), "3 before 08:00"),  # the queue manager has never answered
        (4, None, None, "not known: no scan"),
        (4, None, scan(SEVEN, 4), "none before 08:00"),
        (4, None, scan(SEVEN, 4, "2026-01-03T07:59:00+00:00"), "none before 08:00"),
        (4, None, scan(SEVEN, 4, "2026-01-02T07:59:00+00:00"), "some before 08:00"),
        (4, None, scan(SEVEN, 3), "not known: the last scan is too old"),
    ],
)
def test_what_is_known(depth: int | None, snapshot: QueueForecast | None, last_scan: Known | None, words: str) -> None:
    assert expires(depth, snapshot, last_scan, "", limit=LIMIT).words("08:00") == words


def test_a_run_whose_plan_was_removed_leaves_a_scan_as_what_is_known() -> None:
    found = expires(4, None, scan(SEVEN, 3), "", limit=LIMIT, removed=True)
    assert found.words("08:00") == "not known: the plan of a later run was removed"
    assert expires(4, None, scan(SEVEN, 4), "", limit=LIMIT, removed=True).words("08:00") == "none before 08:00"


def test_of_how_many_messages_it_is_not_known() -> None:
    assert expires(12, recorded(), None, "", limit=LIMIT).unknown == 2
    assert expires(4, None, None, "", limit=LIMIT).unknown == 4
    assert expires(4, None, scan(SEVEN, 4), "", limit=LIMIT) == Expires(before=0, unrecorded=4)
    assert expires(4, None, scan(SEVEN, 4, SEVEN), "", limit=LIMIT) == Expires(some=True, unknown=4, unrecorded=4)
    after_a_scan = expires(12, recorded(), scan(SEVEN, 12), "", limit=LIMIT)
    assert (after_a_scan.unknown, after_a_scan.unrecorded) == (0, 2), "not before the limit, and not in the snapshot"


def test_a_scan_does_not_hold_after_another_last_put() -> None:
    last = Known(scanned_at=SEVEN, depth=4, last_put="07:00:00")
    assert expires(4, None, last, "07:00:00", limit=LIMIT).before == 0
    assert expires(4, None, last, "07:01:00", limit=LIMIT).before is None
