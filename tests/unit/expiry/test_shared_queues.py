"""SPEC E17 in the operations: the shared queues of a queue-sharing group are scanned by one member, then by another."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from mqlite_support import expire, home, run_mqsc
from sharing_support import Group, group, mqlite

from mqops.cli import main
from mqops.expiry.core.candidates import differing_intervals
from mqops.expiry.group import MISSED
from mqops.expiry.scan import Candidates, candidates, run_scan
from mqops.lake.files import write_json
from mqops.mq.connection import MqConnection, connect

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


def scheduled(lake: Path, member: str) -> Candidates:
    """What the check of a scan on a schedule finds."""
    with connect(MqConnection(queue_manager=member)) as session:
        return candidates(session, lake, ["Q1", "OWN"], interval=MINUTE)


def check_was_before(lake: Path, member: str, ago: timedelta) -> None:
    """The last check of a member, put into the past: its queue manager has ended since."""
    path = lake / member / "expiry" / "group.json"
    noted = json.loads(path.read_text())
    write_json(path, noted | {"checked_at": (datetime.fromisoformat(noted["checked_at"]) - ago).isoformat()})


def test_E17_the_scanner_of_a_shared_queue_is_named_and_it_moves_when_that_queue_manager_ends(
    group: Group, scan: Any, tmp_path: Path
) -> None:
    lake = tmp_path / "lake"
    group["QM1"].put("Q1", Expiry=600)
    group["QM2"].put("OWN")
    assert list(scan("QM1")[0].about_shared()) == ["Q1 is shared by QSG1: QM1 scans it"]
    group["QM3"].put("Q1")
    left = scheduled(lake, "QM2")
    assert (list(left.why), list(left.about_shared())) == (["OWN"], ["Q1 is shared by QSG1: QM1 scans it"])
    check_was_before(lake, "QM1", MISSED * MINUTE - MINUTE / 2)
    assert "Q1" not in scheduled(lake, "QM2").why  # its scanner may still come
    check_was_before(lake, "QM1", MINUTE)
    taken = scheduled(lake, "QM2")
    assert "Q1" in taken.why
    (said,) = taken.about_shared()
    assert said.startswith("Q1 is shared by QSG1: QM2 scans it in place of QM1, whose last scan was at ")
    scan("QM2")
    group["QM1"].put("Q1")
    assert list(scheduled(lake, "QM3").about_shared()) == ["Q1 is shared by QSG1: QM2 scans it"]
    assert "Q1" not in scheduled(lake, "QM1").why  # it is there again, and QM2 scans
    assert "Q1" in scan("QM1")[0].why  # by hand


def test_E17_a_difference_of_EXPRYINT_within_the_group_is_reported(
    group: Group, scan: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    run_mqsc("ALTER QMGR EXPRYINT(7)", "QM1")
    assert scan("QM1")[0].expryint == ""  # of the others nothing is known yet
    differs = "EXPRYINT differs in queue-sharing group QSG1: QM1 7, QM2 OFF. Give them the same: ALTER QMGR EXPRYINT("
    assert scan("QM2")[0].expryint.startswith(differs)
    monkeypatch.setenv("MQLITE_HOME", str(home))
    words = ["expiry", "scan", "Q1", "-m", "QM2", "--lake", str(tmp_path / "lake")]
    assert differs in CliRunner().invoke(main, words, env={"COLUMNS": "300"}).stdout
    assert differs in json.loads(CliRunner().invoke(main, [*words, "--json"]).stdout)["shared"][-1]
    run_mqsc("ALTER QMGR EXPRYINT(7)", "QM2")
    assert scan("QM2")[0].expryint == ""
