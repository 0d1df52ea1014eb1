"""SPEC E17 in the operations: the shared queues of a queue-sharing group are scanned by one member, then by another."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from mqlite_support import expire, home, run_mqsc
from sharing_support import Group, group, mqlite

from mqops.expiry.core.candidates import differing_intervals
from mqops.expiry.scan import Candidates, run_scan
from mqops.mq.connection import MqConnection

__all__ = ["group", "home", "mqlite"]
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)


@pytest.fixture
def scan(group: Group, tmp_path: Path) -> Any:
    def run(member: str, recheck: timedelta = HOUR) -> tuple[Candidates, Any]:
        connection = MqConnection(queue_manager=member)
        return run_scan(connection, tmp_path / "lake", ["Q1", "OWN"], recheck=recheck)

    return run


def test_E17_the_first_member_scans_shared_queues_and_the_others_their_own_only(group: Group, scan: Any) -> None:
    for _ in range(3):
        group["QM1"].put("Q1", Expiry=1)
    for member in ("QM1", "QM2"):
        group[member].put("OWN", Expiry=1)
    expire()
    first, done = scan("QM1")
    assert (set(first.why), first.group, first.members) == ({"Q1", "OWN"}, "QSG1", ("QM1",))
    assert {one.queue: one.discarded for one in done.queues} == {"Q1": 3, "OWN": 1}
    group["QM3"].put("Q1")
    assert set(scan("QM1")[0].why) == {"Q1"}
    second, done = scan("QM2")
    assert (list(second.why), second.members) == (["OWN"], ("QM1", "QM2"))
    assert {one.queue: one.discarded for one in done.queues} == {"OWN": 1}


def test_E17_another_member_takes_over_when_the_first_one_has_ended(group: Group, scan: Any) -> None:
    group["QM1"].put("Q1", Expiry=600)
    assert scan("QM1")[1].left == 1
    assert scan("QM2")[0].why == {}
    group["QM1"].manager.disconnect()
    group["QM3"].put("Q1", Expiry=1)
    expire()
    found, done = scan("QM2")
    assert found.why == {"Q1": "2 messages, 1 after the last scan"}
    assert (done.done, done.left) == (1, 1)
    assert scan("QM3")[0].why == {}
    assert list(scan("QM3", recheck=timedelta(0))[0].why) == ["Q1"]
    group["QM1"].manager.connect("QM1")


def test_E17_queues_of_the_same_name_that_are_not_shared_are_scanned_by_each_member(group: Group, scan: Any) -> None:
    for member in ("QM1", "QM2"):
        run_mqsc("DEFINE QLOCAL(PRIVATE)", member)
        group[member].put("OWN")
        assert list(scan(member)[0].why) == ["OWN"]


@pytest.mark.parametrize(
    ("intervals", "said"),
    [
        ({"QM1": HOUR, "QM2": HOUR}, ""),
        ({"QM1": HOUR, "QM2": None}, ""),  # not scanned on a schedule
        ({"QM1": None, "QM2": HOUR}, ""),
        (
            {"QM1": HOUR, "QM2": MINUTE, "QM3": HOUR},
            "QM1 is scanned each 1:00:00, other members of its queue-sharing group are not: QM2 each 0:01:00",
        ),
    ],
)
def test_E17_a_difference_of_the_intervals_is_reported(intervals: dict[str, timedelta | None], said: str) -> None:
    assert differing_intervals(intervals, "QM1") == said
