"""SPEC T03b, T04a and T04b: triggering by shared queues, seen through pymqi from every member of a group."""

from __future__ import annotations

import pytest
from mqlite_support import INPUT, run_mqsc
from pymqi import CMQC
from sharing_support import (
    EXCLUSIVE,
    MEMBERS,
    SHARED,
    Group,
    MonitorOf,
    define_shared,
    group,
    killed_at,
    monitors,
    triggered,
)
from trigger_support import PROCESS, SYNCPOINT

__all__ = ["group", "monitors"]


@pytest.mark.parametrize("kind", ["FIRST", "EVERY", "DEPTH"])
def test_T03b_only_committed_messages_count(group: Group, monitors: dict[str, MonitorOf], kind: str) -> None:
    define_shared(f"TRIGTYPE({kind})")
    group["QM1"].put("APP", options=SYNCPOINT)
    assert triggered(monitors) == {}
    group["QM1"].manager.backout()
    assert triggered(monitors) == {}
    group["QM1"].put("APP", options=SYNCPOINT)
    group["QM1"].manager.commit()
    assert triggered(monitors) == {"QM1": 1, "QM2": 1, "QM3": 1}


def test_T03b_uncommitted_message_does_not_hide_the_first(group: Group, monitors: dict[str, MonitorOf]) -> None:
    define_shared("TRIGTYPE(FIRST)")
    group["QM1"].put("APP", options=SYNCPOINT)
    group["QM2"].put("APP")
    assert triggered(monitors) == {"QM1": 1, "QM2": 1, "QM3": 1}
    group["QM1"].manager.commit()
    assert triggered(monitors) == {}


def test_T03b_each_message_of_a_unit_of_work_counts_at_its_commit(group: Group, monitors: dict[str, MonitorOf]) -> None:
    define_shared("TRIGTYPE(EVERY) TRIGMPRI(5)")
    for priority in (5, 1, 9):
        group["QM1"].put("APP", Priority=priority, options=SYNCPOINT)
    group["QM1"].manager.commit()
    assert triggered(monitors) == {"QM1": 2, "QM2": 2, "QM3": 2}


def test_T03b_depth_counts_committed_messages_and_switches_off(group: Group, monitors: dict[str, MonitorOf]) -> None:
    define_shared("TRIGTYPE(DEPTH) TRIGDPTH(2)")
    group["QM1"].put("APP", options=SYNCPOINT)
    group["QM2"].put("APP")
    assert triggered(monitors) == {}
    group["QM1"].manager.commit()
    assert triggered(monitors) == {"QM1": 1, "QM2": 1, "QM3": 1}
    queue = group["QM3"].open("APP", CMQC.MQOO_INQUIRE)
    assert queue.inquire(CMQC.MQIA_TRIGGER_CONTROL) == CMQC.MQTC_OFF
    queue.close()


def test_T03b_private_queue_of_a_member_counts_uncommitted_messages_too(
    group: Group, monitors: dict[str, MonitorOf]
) -> None:
    run_mqsc("ALTER QLOCAL(OWN) TRIGGER TRIGTYPE(FIRST) INITQ(IQ) PROCESS(P)", "QM2")
    group["QM2"].put("OWN", options=SYNCPOINT)
    group["QM2"].manager.backout()
    assert triggered(monitors) == {"QM2": 1}


def test_T03b_put_where_only_another_member_has_a_monitor(group: Group, monitors: dict[str, MonitorOf]) -> None:
    define_shared("TRIGTYPE(FIRST)")
    monitors["QM1"].queue.close()
    run_mqsc("DELETE PROCESS(P)", "QM3")
    group["QM1"].put("APP")
    assert triggered({name: monitors[name] for name in ("QM2", "QM3")}) == {"QM2": 1}


def test_T03b_shared_initiation_queue_has_one_trigger_message(group: Group) -> None:
    for name in MEMBERS:
        run_mqsc(PROCESS, name)
    run_mqsc(f"DEFINE QLOCAL(IQ) {SHARED} SHARE DEFSOPT(SHARED)")
    define_shared("TRIGTYPE(EVERY)")
    monitors = [MonitorOf(name) for name in ("QM2", "QM3")]
    group["QM1"].put("APP")
    assert sum(len(monitor.triggered()) for monitor in monitors) == 1
    run_mqsc("ALTER QLOCAL(IQ) QSGDISP(SHARED) PUT(DISABLED)")
    run_mqsc("ALTER QLOCAL(IQ) QSGDISP(SHARED) PUT(ENABLED)")  # T13a
    assert sum(len(monitor.triggered()) for monitor in monitors) == 1
    for monitor in monitors:
        monitor.stop()


def test_T04a_open_for_input_elsewhere_means_first_and_priority_0(group: Group, monitors: dict[str, MonitorOf]) -> None:
    """The example of the page: QM1 serves the queue, QM2 and QM3 have other trigger conditions until it closes it."""
    define_shared("TRIGTYPE(DEPTH) TRIGDPTH(3) TRIGMPRI(5)")
    served = group["QM1"].open("APP", INPUT)
    group["QM1"].put("APP", Priority=0)
    assert triggered(monitors) == {"QM2": 1, "QM3": 1}
    group["QM1"].put("APP", Priority=9)
    assert triggered(monitors) == {}
    served.close()
    assert triggered(monitors) == {}
    for _ in range(2):
        group["QM1"].put("APP", Priority=9)
    assert triggered(monitors) == {"QM1": 1, "QM2": 1, "QM3": 1}


def test_T04a_every_is_first_elsewhere_and_every_here(group: Group, monitors: dict[str, MonitorOf]) -> None:
    define_shared("TRIGTYPE(EVERY)")
    served = group["QM1"].open("APP", INPUT)
    for _ in range(3):
        group["QM2"].put("APP")
    assert triggered(monitors) == {"QM1": 3, "QM2": 1, "QM3": 1}
    served.close()
    group["QM2"].put("APP")
    assert triggered(monitors) == {"QM1": 1, "QM2": 1, "QM3": 1}


def test_T04a_type_none_stays_none(group: Group, monitors: dict[str, MonitorOf]) -> None:
    define_shared("TRIGTYPE(NONE)")
    served = group["QM1"].open("APP", INPUT)
    group["QM2"].put("APP")
    assert triggered(monitors) == {}
    served.close()


def test_T04a_conditions_revert_when_the_server_dies(group: Group, monitors: dict[str, MonitorOf]) -> None:
    define_shared("TRIGTYPE(EVERY) TRIGMPRI(5)")
    killed_at("QM1", "pymqi.Queue(manager, 'APP', CMQC.MQOO_INPUT_SHARED)")
    group["QM2"].put("APP", Priority=0)
    assert triggered(monitors) == {}
    group["QM2"].put("APP", Priority=5)
    assert triggered(monitors) == {"QM1": 1, "QM2": 1, "QM3": 1}


def test_T03b_dead_server_does_not_count_at_the_commit(group: Group, monitors: dict[str, MonitorOf]) -> None:
    define_shared("TRIGTYPE(FIRST)")
    group["QM2"].put("APP", options=SYNCPOINT)
    killed_at("QM1", "pymqi.Queue(manager, 'APP', CMQC.MQOO_INPUT_EXCLUSIVE)")
    group["QM2"].manager.commit()
    assert triggered(monitors) == {"QM1": 1, "QM2": 1, "QM3": 1}


def test_T03b_monitor_that_opens_its_own_initiation_queue_has_a_trigger_message(
    group: Group, monitors: dict[str, MonitorOf]
) -> None:
    """T13c: it is the member's event, not the others'."""
    define_shared("TRIGTYPE(FIRST)")
    monitors["QM2"].stop()
    group["QM1"].put("APP")
    assert triggered({name: monitors[name] for name in ("QM1", "QM3")}) == {"QM1": 1, "QM3": 1}
    monitors["QM2"] = MonitorOf("QM2")
    assert triggered(monitors) == {"QM2": 1}


def test_T04b_open_input_count_is_that_of_each_member(group: Group, monitors: dict[str, MonitorOf]) -> None:
    define_shared("TRIGTYPE(FIRST)")
    served = group["QM1"].open("APP", INPUT | CMQC.MQOO_INQUIRE)
    looking = group["QM2"].open("APP", CMQC.MQOO_INQUIRE)
    counts = [queue.inquire(CMQC.MQIA_OPEN_INPUT_COUNT) for queue in (served, looking)]
    assert counts == [1, 0]
    assert "IPPROCS(0)" in "\n".join(run_mqsc("DISPLAY QLOCAL(APP) IPPROCS", "QM2"))
    group["QM3"].put("APP")
    assert triggered(monitors) == {"QM2": 1, "QM3": 1}
    served.close()
    looking.close()


@pytest.mark.parametrize("kind", ["FIRST", "EVERY", "DEPTH"])
def test_T04b_exclusive_input_stops_triggering_everywhere(
    group: Group, monitors: dict[str, MonitorOf], kind: str
) -> None:
    define_shared(f"TRIGTYPE({kind})")
    served = group["QM1"].open("APP", EXCLUSIVE)
    group["QM2"].put("APP")
    assert triggered(monitors) == {}
    group["QM1"].get(served)
    served.close()
    group["QM2"].put("APP")
    assert triggered(monitors) == {"QM1": 1, "QM2": 1, "QM3": 1}


def test_T04b_last_close_in_the_group_is_an_event_for_all(group: Group, monitors: dict[str, MonitorOf]) -> None:
    """T12: the only application that serves the queue closes it, and leaves messages."""
    define_shared("TRIGTYPE(FIRST)")
    served = group["QM1"].open("APP", EXCLUSIVE)
    group["QM2"].put("APP")
    served.close()
    assert triggered(monitors) == {"QM1": 1, "QM2": 1, "QM3": 1}


def test_T04b_close_while_another_member_serves_is_ones_own_event(group: Group, monitors: dict[str, MonitorOf]) -> None:
    define_shared("TRIGTYPE(FIRST) NOTRIGGER")
    group["QM1"].put("APP")
    opened = {name: group[name].open("APP", INPUT) for name in ("QM1", "QM2")}
    run_mqsc("ALTER QLOCAL(APP) QSGDISP(SHARED) TRIGGER")
    assert triggered(monitors) == {"QM3": 1}
    opened["QM1"].close()
    assert triggered(monitors) == {"QM1": 1}
    opened["QM2"].close()
    assert triggered(monitors) == {"QM1": 1, "QM2": 1, "QM3": 1}


def test_T04b_dead_servers_of_two_members_are_one_event(group: Group, monitors: dict[str, MonitorOf]) -> None:
    """T12a."""
    define_shared("TRIGTYPE(FIRST)")
    opens = "opened = [pymqi.Queue(m, 'APP', CMQC.MQOO_INPUT_SHARED) for m in (manager, pymqi.connect('QM2'))]"
    killed_at("QM1", f"{opens}\nmanager.put1('APP', b'x', pymqi.MD(), pymqi.PMO(Options=CMQC.MQPMO_NO_SYNCPOINT))")
    assert triggered(monitors) == {"QM1": 1, "QM2": 1, "QM3": 2}  # QM3 did not have the queue open at the put


def test_T04b_triggering_switched_on_counts_for_all(group: Group, monitors: dict[str, MonitorOf]) -> None:
    """T13 on a shared queue."""
    define_shared("TRIGTYPE(FIRST) NOTRIGGER")
    group["QM1"].put("APP")
    run_mqsc("ALTER QLOCAL(APP) QSGDISP(SHARED) TRIGGER", "QM3")
    assert triggered(monitors) == {"QM1": 1, "QM2": 1, "QM3": 1}
