"""SPEC T03b, T04b and E17: queue-sharing groups and what they share, seen through pymqi from every member."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pymqi
import pytest
from mqlite_support import INPUT, OUTPUT, Application, expire, refused, run_mqsc, until
from pymqi import CMQC, CMQCFC
from sharing_support import EXCLUSIVE, MEMBERS, SHARED, Group, Mqlite, command, group, killed_at, mqlite
from trigger_support import SYNCPOINT

from mqlite.objects.manager import load
from mqlite.storage import service_lock

__all__ = ["group", "mqlite"]
REFRESH = {CMQCFC.MQIACF_REFRESH_TYPE: CMQCFC.MQRT_EXPIRY}


# What is shared


def test_T03b_shared_queue_is_one_queue_and_private_ones_are_not(group: Group) -> None:
    group["QM1"].put("Q1", b"for all")
    group["QM1"].put("OWN", b"mine")
    assert [group[name].bodies("Q1") for name in MEMBERS] == [[b"for all"]] * 3
    assert [group[name].bodies("OWN") for name in MEMBERS] == [[b"mine"], [], []]
    assert group["QM3"].get("Q1")[1] == b"for all"
    assert group["QM1"].depth("Q1") == 0


def test_T03b_unit_of_work_over_private_and_shared_queues_is_one(group: Group) -> None:
    group["QM1"].put("OWN", options=SYNCPOINT)
    group["QM1"].put("Q1", options=SYNCPOINT)
    assert group["QM2"].bodies("Q1") == []
    group["QM1"].manager.backout()
    assert (group["QM1"].depth("OWN"), group["QM2"].depth("Q1")) == (0, 0)
    group["QM1"].put("OWN", options=SYNCPOINT)
    group["QM1"].put("Q1", options=SYNCPOINT)
    group["QM1"].manager.commit()
    assert (group["QM1"].bodies("OWN"), group["QM2"].bodies("Q1")) == ([b"x"], [b"x"])


def test_T03b_waiting_get_of_another_member_is_served(group: Group) -> None:
    waiting = Application("QM2")
    queue = waiting.open("Q1", INPUT)
    got: list[bytes] = []
    gmo = pymqi.GMO(Options=CMQC.MQGMO_WAIT | CMQC.MQGMO_NO_SYNCPOINT, WaitInterval=CMQC.MQWI_UNLIMITED)
    thread = threading.Thread(target=lambda: got.append(queue.get(None, pymqi.MD(), gmo)))
    thread.start()
    group["QM1"].put("Q1", b"news")
    thread.join()
    waiting.manager.disconnect()
    assert got == [b"news"]


def test_T03b_names_of_the_group_and_of_another_member(group: Group) -> None:
    def put(queue: bytes, queue_manager: bytes) -> None:
        od = pymqi.OD(ObjectName=queue, ObjectQMgrName=queue_manager)
        pymqi.Queue(group["QM1"].manager, od, OUTPUT).put(b"x")
        group["QM1"].manager.commit()

    put(b"Q1", b"QSG1")
    assert group["QM2"].depth("Q1") == 1
    for queue, queue_manager in ((b"OWN", b"QSG1"), (b"Q1", b"QM2")):
        with refused(CMQC.MQRC_UNKNOWN_REMOTE_Q_MGR):
            put(queue, queue_manager)
    run_mqsc("ALTER QMGR SQQMNAME(IGNORE)")
    put(b"Q1", b"QM2")
    assert group["QM3"].depth("Q1") == 2
    for queue, queue_manager in ((b"OWN", b"QM2"), (b"Q1", b"QM9")):
        with refused(CMQC.MQRC_UNKNOWN_REMOTE_Q_MGR):
            put(queue, queue_manager)


def test_T03b_dead_process_of_a_member_is_backed_out_by_another_member(group: Group) -> None:
    group["QM1"].put("Q1", b"got")
    killed_at("QM2", "manager.put1('Q1', b'put', pymqi.MD(), pymqi.PMO(Options=CMQC.MQPMO_SYNCPOINT))\n"
                  "q = pymqi.Queue(manager, 'Q1', CMQC.MQOO_INPUT_EXCLUSIVE)\n"
                  "q.get(None, pymqi.MD(), pymqi.GMO(Options=CMQC.MQGMO_SYNCPOINT))")  # fmt: skip
    md, body = group["QM3"].get("Q1")
    assert (body, md.BackoutCount) == (b"got", 1)
    assert group["QM1"].depth("Q1") == 0


def test_T03b_attributes_and_commands_of_the_group(group: Group) -> None:
    opened = {name: group[name].open("Q1", OUTPUT | CMQC.MQOO_INQUIRE) for name in MEMBERS}
    run_mqsc("ALTER QLOCAL(Q1) QSGDISP(SHARED) PUT(DISABLED)", "QM2")
    for queue in opened.values():
        assert queue.inquire(CMQC.MQIA_QSG_DISP) == 2
        with refused(CMQC.MQRC_PUT_INHIBITED):
            queue.put(b"x")
        queue.close()
    assert {group[name].manager.inquire(CMQC.MQCA_QSG_NAME).strip() for name in MEMBERS} == {b"QSG1"}
    run_mqsc("DELETE QLOCAL(Q1) QSGDISP(SHARED)", "QM3")
    with refused(CMQC.MQRC_UNKNOWN_OBJECT_NAME):
        group["QM1"].open("Q1")


@pytest.mark.parametrize(
    "text",
    [
        "DEFINE QLOCAL(Q1)",  # a shared queue has the name
        "DEFINE QLOCAL(Q1) REPLACE",
        f"DEFINE QLOCAL(OTHER) {SHARED}",  # a member has a queue of the name
        f"DEFINE QLOCAL(OWN) REPLACE {SHARED}",
        "DEFINE QLOCAL(NEW) QSGDISP(SHARED)",  # no coupling facility structure
        f"DEFINE QLOCAL(SYSTEM.NEW) {SHARED}",
        "DEFINE QLOCAL(NEW) QSGDISP(GROUP)",
        "DEFINE QLOCAL(NEW) QSGDISP(COPY)",
        "DEFINE QALIAS(NEW) TARGET(Q1) QSGDISP(SHARED)",
        "ALTER QLOCAL(Q1) PUT(DISABLED)",  # means a private queue
        "ALTER QLOCAL(OWN) QSGDISP(SHARED) PUT(DISABLED)",
        "DELETE QLOCAL(Q1)",
        "CLEAR QLOCAL(Q1)",
        "CLEAR QLOCAL(OWN) QSGDISP(SHARED)",
    ],
)
def test_T03b_commands_refused(group: Group, text: str) -> None:
    run_mqsc("DEFINE QLOCAL(OTHER)", "QM3")
    with pytest.raises(AssertionError):
        run_mqsc(text)
    assert [group[name].depth("Q1") for name in MEMBERS] == [0, 0, 0]


def test_T03b_disposition_by_PCF(group: Group) -> None:
    group["QM1"].put("Q1")
    pcf = pymqi.PCFExecute(group["QM2"].manager)
    shared = {CMQC.MQCA_Q_NAME: b"Q1", CMQC.MQIA_QSG_DISP: 2}
    pcf.MQCMD_CLEAR_Q(shared)
    assert group["QM1"].depth("Q1") == 0
    pcf.MQCMD_DELETE_Q(shared)
    with refused(CMQC.MQRC_UNKNOWN_OBJECT_NAME):
        group["QM1"].open("Q1")


def test_T03b_outside_a_group_nothing_is_shared(home: Path) -> None:
    command("create", "QM1", "--platform", "zos")
    application = Application()
    with refused(CMQCFC.MQRCCF_Q_MGR_NOT_IN_QSG):
        pymqi.PCFExecute(application.manager).MQCMD_CREATE_Q(
            {CMQC.MQCA_Q_NAME: b"Q1", CMQC.MQIA_Q_TYPE: CMQC.MQQT_LOCAL, CMQC.MQIA_QSG_DISP: 2}
        )
    application.manager.disconnect()


@pytest.mark.parametrize(
    ("name", "platform", "qsg"),
    [
        ("QM2", "unix", "QSG1"),
        ("QM2", "zos", "LONGER"),
        ("QM2", "zos", "qsg1"),
        ("QM2", "zos", "QM1"),  # a queue manager
        ("QM2", "zos", "QM2"),
        ("QSG1", "zos", ""),  # a group
    ],
)
def test_T03b_groups_that_cannot_be(home: Path, name: str, platform: str, qsg: str) -> None:
    command("create", "QM1", "--platform", "zos", "--group", "QSG1")
    assert command("create", name, "--platform", platform, "--group", qsg).exit_code == 1
    assert "QM2" not in command("list").output


def test_T03b_lists_tell_the_group(group: Group) -> None:
    assert command("list").output.count("PLATFORM(zos) CCSID(500) QSGNAME(QSG1)") == len(MEMBERS)
    shown = "\n".join(run_mqsc("DISPLAY QUEUE(*) WHERE(QSGDISP EQ SHARED)", "QM2"))
    assert shown.count("QSGDISP(SHARED)") == shown.count("QUEUE(Q1)") + shown.count("QUEUE(REPORTS)") == 2


def test_T03b_member_that_is_deleted_leaves_what_is_shared(group: Group, home: Path) -> None:
    group["QM1"].put("Q1", b"stays")
    group["QM1"].put("OWN")
    for application in group.values():
        application.manager.disconnect()
    assert not command("delete", "QM1").exit_code
    group["QM2"] = Application("QM2")
    assert (group["QM2"].bodies("Q1"), group["QM2"].bodies("OWN")) == ([b"stays"], [])
    group["QM2"].manager.disconnect()
    for name in ("QM2", "QM3"):
        assert not command("delete", name).exit_code
    assert list(home.iterdir()) == []
    group.clear()


def test_T04b_exclusive_input_excludes_the_other_members(group: Group) -> None:
    held = group["QM1"].open("Q1", EXCLUSIVE)
    for options in (INPUT, EXCLUSIVE):
        with refused(CMQC.MQRC_OBJECT_IN_USE):
            group["QM2"].open("Q1", options)
    group["QM2"].open("OWN", EXCLUSIVE).close()
    held.close()
    group["QM2"].open("Q1", EXCLUSIVE).close()


# Expiry


def log_of(name: str) -> str:
    return (load(name).folder / "errors.log").read_text()


def scanners(home: Path) -> list[str]:
    """The members whose logs say that they began to scan the shared queues."""
    return [name for name in MEMBERS if (load(name).folder / "errors.log").exists()
            and "scans the shared queues" in log_of(name)]  # fmt: skip


def start(mqlite: Mqlite, name: str, interval: str = "1") -> None:
    run_mqsc(f"ALTER QMGR EXPRYINT({interval})", name)
    assert not mqlite("start", name).exit_code


def old(application: Application) -> None:
    """An expired message on the shared queue."""
    application.put("Q1", b"old", Expiry=1)
    expire()


def test_E17_first_member_to_start_scans_shared_queues(group: Group, mqlite: Mqlite, home: Path) -> None:
    start(mqlite, "QM2")
    until(lambda: scanners(home) == ["QM2"])
    start(mqlite, "QM1")
    report = {"Report": CMQC.MQRO_EXPIRATION_WITH_FULL_DATA, "ReplyToQ": b"REPORTS", "ReplyToQMgr": b"QSG1"}
    group["QM3"].put("Q1", b"old", Expiry=1, **report)
    for name in MEMBERS:
        group[name].put("OWN", Expiry=1)
    until(lambda: group["QM1"].depth("Q1") == group["QM1"].depth("OWN") == group["QM2"].depth("OWN") == 0)
    assert group["QM1"].bodies("REPORTS") == [b"old"]
    assert group["QM1"].depth("OWN") == 0
    assert group["QM3"].depth("OWN") == 1  # scanned by its own service only, which does not run
    assert scanners(home) == ["QM2"]


def test_E17_another_takes_over_when_the_scanning_one_is_killed_at(group: Group, mqlite: Mqlite, home: Path) -> None:
    start(mqlite, "QM1")
    until(lambda: scanners(home) == ["QM1"])
    start(mqlite, "QM2")
    os.kill(service_lock.holder(load("QM1").folder), signal.SIGKILL)
    until(lambda: scanners(home) == ["QM1", "QM2"])
    old(group["QM3"])
    until(lambda: group["QM3"].depth("Q1") == 0)


def test_E17_another_takes_over_when_the_scanning_one_ends_or_is_set_OFF(
    group: Group, mqlite: Mqlite, home: Path
) -> None:
    start(mqlite, "QM1")
    until(lambda: scanners(home) == ["QM1"])
    start(mqlite, "QM2")
    start(mqlite, "QM3")
    mqlite("end", "QM1")
    until(lambda: len(scanners(home)) == 2)
    (second,) = set(scanners(home)) - {"QM1"}
    run_mqsc("ALTER QMGR EXPRYINT(OFF)", second)
    until(lambda: len(scanners(home)) == 3)
    old(group["QM1"])
    until(lambda: group["QM1"].depth("Q1") == 0)


def test_E17_first_to_have_EXPRYINT_set(group: Group, mqlite: Mqlite, home: Path) -> None:
    for name in ("QM1", "QM2"):
        start(mqlite, name, "OFF")
    run_mqsc("ALTER QMGR EXPRYINT(1)", "QM2")
    until(lambda: "QM2" in scanners(home))
    old(group["QM1"])
    until(lambda: group["QM1"].depth("Q1") == 0)


def test_E17_difference_of_the_intervals_is_reported(group: Group, mqlite: Mqlite) -> None:
    start(mqlite, "QM1", "7")
    expected = "EXPRYINT differs in queue-sharing group QSG1: QM1 7, QM2 OFF, QM3 OFF"
    until(lambda: expected in log_of("QM1"))
    assert any(expected in line for line in run_mqsc("REFRESH QMGR TYPE(EXPIRY)", "QM3"))
    assert any("QM2 7, QM3 OFF" in line for line in run_mqsc("ALTER QMGR EXPRYINT(7)", "QM2"))
    assert not any("differs" in line for line in run_mqsc("ALTER QMGR EXPRYINT(7)", "QM3"))
    assert not any("differs" in line for line in run_mqsc("REFRESH QMGR TYPE(EXPIRY)", "QM3"))


def test_E16_only_shared_queues_and_ones_own_are_candidates(group: Group, mqlite: Mqlite) -> None:
    group["QM2"].put("OWN", Expiry=1)
    group["QM1"].put("OWN", Expiry=1)
    old(group["QM3"])
    mqlite("start", "QM1")  # a start scans whatever EXPRYINT says
    until(lambda: group["QM1"].depth("Q1") == group["QM1"].depth("OWN") == 0)
    assert group["QM2"].depth("OWN") == 1


def test_E18_refresh_scans_shared_queues_from_any_member(group: Group) -> None:
    old(group["QM1"])
    group["QM1"].put("OWN", Expiry=1)
    expire()
    pymqi.PCFExecute(group["QM2"].manager).MQCMD_REFRESH_Q_MGR({**REFRESH, CMQCFC.MQCACF_OBJECT_NAME: b"*"})
    assert (group["QM3"].depth("Q1"), group["QM1"].depth("OWN")) == (0, 1)
