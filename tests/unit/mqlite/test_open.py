"""MQOPEN and MQCLOSE: names, kinds, sharing, dynamic queues, handles."""

from __future__ import annotations

import threading

import pymqi
import pytest
from mqlite_support import BROWSE, INPUT, OUTPUT, Application, refused, run_mqsc
from pymqi import CMQC

MODEL = "DEFINE QMODEL(PERMANENT) DEFTYPE(PERMDYN)"


DEFAULT = "DEFINE QLOCAL(DEFX) USAGE(XMITQ)\nALTER QMGR DEFXMITQ(DEFX)\nDEFINE QALIAS(A) TARGET(DEFX)\n"


@pytest.mark.parametrize(
    ("mqsc", "name", "options", "reason"),
    [
        ("", "NO.SUCH.QUEUE", OUTPUT, CMQC.MQRC_UNKNOWN_OBJECT_NAME),
        ("DEFINE QALIAS(A) TARGET(NOWHERE)", "A", OUTPUT, CMQC.MQRC_UNKNOWN_ALIAS_BASE_Q),
        ("DEFINE QALIAS(A) TARGET(Q1)\nDEFINE QALIAS(B) TARGET(A)", "B", OUTPUT, CMQC.MQRC_ALIAS_BASE_Q_TYPE_ERROR),
        ("DEFINE QREMOTE(R) RNAME(X) RQMNAME(QM2)", "R", OUTPUT, CMQC.MQRC_UNKNOWN_REMOTE_Q_MGR),
        ("DEFINE QREMOTE(R) RNAME(X) RQMNAME(QM2) XMITQ(NONE)", "R", OUTPUT, CMQC.MQRC_UNKNOWN_XMIT_Q),
        ("DEFINE QREMOTE(R) RNAME(X) RQMNAME(QM2) XMITQ(Q1)", "R", OUTPUT, CMQC.MQRC_XMIT_Q_USAGE_ERROR),
        (DEFAULT + "DEFINE QREMOTE(R) RNAME(X) RQMNAME(Q1)", "R", OUTPUT, CMQC.MQRC_XMIT_Q_USAGE_ERROR),
        (DEFAULT + "DEFINE QREMOTE(R) RNAME(X) RQMNAME(A)", "R", OUTPUT, CMQC.MQRC_XMIT_Q_TYPE_ERROR),
        (DEFAULT + "DEFINE QREMOTE(R) RNAME(X) RQMNAME(QM2) XMITQ(A)", "R", OUTPUT, CMQC.MQRC_XMIT_Q_TYPE_ERROR),
        (
            DEFAULT + "DEFINE QREMOTE(R) RNAME(X) RQMNAME(R2)\nDEFINE QREMOTE(R2) RNAME(X) RQMNAME(DEFX)",
            "R",
            OUTPUT,
            CMQC.MQRC_XMIT_Q_TYPE_ERROR,
        ),
        ("", "Q1", 0, CMQC.MQRC_OPTIONS_ERROR),
        ("", "Q1", CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_INPUT_EXCLUSIVE, CMQC.MQRC_OPTIONS_ERROR),
        ("", "Q1", CMQC.MQOO_OUTPUT | CMQC.MQOO_SAVE_ALL_CONTEXT, CMQC.MQRC_OPTIONS_ERROR),
        ("", "Q1", CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_SET_ALL_CONTEXT, CMQC.MQRC_OPTIONS_ERROR),
        ("", "Q1", 0x40000000, CMQC.MQRC_OPTIONS_ERROR),
        ("", "Q1", OUTPUT | CMQC.MQOO_BIND_ON_OPEN | CMQC.MQOO_BIND_NOT_FIXED, CMQC.MQRC_OPTIONS_ERROR),
        ("", "Q1", INPUT | CMQC.MQOO_READ_AHEAD | CMQC.MQOO_NO_READ_AHEAD, CMQC.MQRC_OPTIONS_ERROR),
    ],
)
def test_refusals(application: Application, mqsc: str, name: str, options: int, reason: int) -> None:
    run_mqsc(mqsc)
    with refused(reason):
        application.open(name, options)


def test_unknown_default_transmission_queue(application: Application) -> None:
    run_mqsc("DEFINE QLOCAL(X) USAGE(XMITQ)\nALTER QMGR DEFXMITQ(X)\nDEFINE QREMOTE(R) RNAME(X) RQMNAME(QM2)")
    application.put("R")
    assert application.depth("X") == 1
    with refused(CMQC.MQRC_OPTION_NOT_VALID_FOR_TYPE):
        application.open("R", INPUT)


def test_unknown_queue_manager(application: Application) -> None:
    with refused(CMQC.MQRC_UNKNOWN_REMOTE_Q_MGR):
        application.open("Q1", OUTPUT, ObjectQMgrName=b"QM2")


@pytest.mark.parametrize(
    ("queue_manager", "reason"),
    [
        ("Q1", CMQC.MQRC_XMIT_Q_USAGE_ERROR),  # a local queue that is none for transmission
        ("TO.Q1", CMQC.MQRC_XMIT_Q_USAGE_ERROR),
        ("BY.Q1", CMQC.MQRC_XMIT_Q_USAGE_ERROR),
        ("TO.A", CMQC.MQRC_XMIT_Q_TYPE_ERROR),  # an alias, though it is one of a transmission queue
        ("BY.A", CMQC.MQRC_XMIT_Q_TYPE_ERROR),
    ],
)
def test_what_is_no_transmission_queue_is_not_passed_over_for_the_default_one(
    application: Application, queue_manager: str, reason: int
) -> None:
    run_mqsc(
        DEFAULT + "DEFINE QREMOTE(TO.Q1) RQMNAME(Q1)\nDEFINE QREMOTE(BY.Q1) RQMNAME(QM2) XMITQ(Q1)\n"
        "DEFINE QREMOTE(TO.A) RQMNAME(A)\nDEFINE QREMOTE(BY.A) RQMNAME(QM2) XMITQ(A)"
    )
    with refused(reason):
        application.open("X", OUTPUT, ObjectQMgrName=queue_manager.encode())
    od = pymqi.OD(ObjectName=b"X", ObjectQMgrName=queue_manager.encode())
    with refused(reason):
        application.manager.put1(od, b"x")
    assert application.depth("DEFX") == 0
    application.open("X", OUTPUT, ObjectQMgrName=b"ANY.OTHER").put(b"x")
    assert application.depth("DEFX") == 1


READING = [
    INPUT, BROWSE, CMQC.MQOO_INQUIRE, CMQC.MQOO_SET, CMQC.MQOO_INPUT_AS_Q_DEF, CMQC.MQOO_INPUT_EXCLUSIVE,
    OUTPUT | CMQC.MQOO_INQUIRE,
]  # fmt: skip


@pytest.mark.parametrize("options", READING)
@pytest.mark.parametrize("queue_manager", [b"SELF", b"NO.NAME", b"QM2", b"DEFX"])
def test_a_queue_that_another_queue_managers_name_leads_to_is_for_puts_only(
    application: Application, options: int, queue_manager: bytes
) -> None:
    run_mqsc(DEFAULT + "DEFINE QREMOTE(SELF) RQMNAME(QM1)\nDEFINE QREMOTE(NO.NAME)")
    with refused(CMQC.MQRC_OPTION_NOT_VALID_FOR_TYPE):
        application.open("Q1", options, ObjectQMgrName=queue_manager)
    application.open("Q1", OUTPUT, ObjectQMgrName=queue_manager).close()
    application.open("Q1", options, ObjectQMgrName=b"QM1").close()


def test_nothing_is_sent_to_a_queue_without_a_name(application: Application) -> None:
    run_mqsc(DEFAULT + "DEFINE QREMOTE(QM3) RQMNAME(QM2)\nDEFINE QALIAS(TO.QM3) TARGET(QM3)")
    for queue, queue_manager in (("", b"QM2"), ("", b"QM3"), ("QM3", b""), ("TO.QM3", b"")):
        with refused(CMQC.MQRC_REMOTE_Q_NAME_ERROR):
            application.open(queue, OUTPUT, ObjectQMgrName=queue_manager)


def test_a_local_definition_of_a_remote_queue_has_attributes(application: Application) -> None:
    run_mqsc(DEFAULT + "DEFINE QREMOTE(R) RNAME(X) RQMNAME(QM2)")
    application.open("R", OUTPUT | CMQC.MQOO_INQUIRE | CMQC.MQOO_SET).close()
    with refused(CMQC.MQRC_OPTION_NOT_VALID_FOR_TYPE):
        application.open("R", OUTPUT | CMQC.MQOO_INQUIRE, ObjectQMgrName=b"QM2")


@pytest.mark.parametrize("options", [OUTPUT, INPUT])
def test_a_queue_manager_alias_leads_to_no_model_queue(application: Application, options: int) -> None:
    run_mqsc("DEFINE QREMOTE(SELF) RQMNAME(QM1)\nDEFINE QALIAS(A) TARGET(Q1)")
    with refused(CMQC.MQRC_Q_TYPE_ERROR):
        application.open("SYSTEM.DEFAULT.MODEL.QUEUE", options, ObjectQMgrName=b"SELF", DynamicQName=b"MADE")
    application.open("A", OUTPUT, ObjectQMgrName=b"SELF").put(b"x")
    assert application.depth("Q1") == 1


@pytest.mark.parametrize(
    ("kind", "name"), [(CMQC.MQOT_Q_MGR, b""), (CMQC.MQOT_PROCESS, b"P"), (CMQC.MQOT_NAMELIST, b"N")]
)
def test_other_objects_are_this_queue_managers_only(application: Application, kind: int, name: bytes) -> None:
    run_mqsc("DEFINE PROCESS(P)\nDEFINE NAMELIST(N) NAMES(A)\nDEFINE QREMOTE(SELF) RQMNAME(QM1)")
    for queue_manager in (b"QM2", b"SELF"):
        with refused(CMQC.MQRC_OPTION_NOT_VALID_FOR_TYPE):
            application.open(name.decode(), CMQC.MQOO_INQUIRE, ObjectType=kind, ObjectQMgrName=queue_manager)
    application.open(name.decode(), CMQC.MQOO_INQUIRE, ObjectType=kind, ObjectQMgrName=b"QM1").close()


def test_own_name_as_queue_manager(application: Application) -> None:
    application.open("Q1", OUTPUT, ObjectQMgrName=b"QM1").put(b"x")
    assert application.depth("Q1") == 1


def test_exclusive_input_meets_others(application: Application) -> None:
    exclusive = application.open("Q1", CMQC.MQOO_INPUT_EXCLUSIVE)
    other = Application()
    for options in (CMQC.MQOO_INPUT_SHARED, CMQC.MQOO_INPUT_EXCLUSIVE, CMQC.MQOO_INPUT_AS_Q_DEF):
        with refused(CMQC.MQRC_OBJECT_IN_USE):
            other.open("Q1", options)
    other.open("Q1", BROWSE | OUTPUT)
    exclusive.close()
    shared = other.open("Q1", CMQC.MQOO_INPUT_SHARED)
    with refused(CMQC.MQRC_OBJECT_IN_USE):
        application.open("Q1", CMQC.MQOO_INPUT_EXCLUSIVE)
    shared.close()
    other.manager.disconnect()


def test_queue_that_is_not_shareable(application: Application) -> None:
    run_mqsc("ALTER QLOCAL(Q1) NOSHARE DEFSOPT(SHARED)")
    first = application.open("Q1", CMQC.MQOO_INPUT_AS_Q_DEF)
    with refused(CMQC.MQRC_OBJECT_IN_USE):
        application.open("Q1", CMQC.MQOO_INPUT_SHARED)
    first.close()


def test_alias_leads_to_its_target(application: Application) -> None:
    run_mqsc("DEFINE QALIAS(A) TARGET(Q1) DEFPRTY(3)")
    application.put("A", b"x")
    assert application.get("Q1")[0].Priority == 3
    run_mqsc("ALTER QALIAS(A) PUT(DISABLED)")
    with refused(CMQC.MQRC_PUT_INHIBITED):
        application.put("A", b"x")


def test_alias_is_inhibited_while_it_is_open(application: Application) -> None:
    run_mqsc("DEFINE QALIAS(A) TARGET(Q1)")
    opened = application.open("A", OUTPUT | INPUT)
    opened.put(b"x")
    run_mqsc("ALTER QALIAS(A) PUT(DISABLED) GET(DISABLED)")
    with refused(CMQC.MQRC_PUT_INHIBITED):
        opened.put(b"x")
    with refused(CMQC.MQRC_GET_INHIBITED):
        opened.get()


def test_alias_that_leads_elsewhere_since_it_was_opened(application: Application) -> None:
    run_mqsc("DEFINE QALIAS(A) TARGET(Q1)\nDEFINE QLOCAL(Q2)")
    opened = application.open("A", OUTPUT)
    run_mqsc("ALTER QALIAS(A) TARGET(Q2) FORCE")
    for _ in range(2):
        with refused(CMQC.MQRC_OBJECT_CHANGED):
            opened.put(b"x")


def test_temporary_dynamic_queue_goes_with_its_handle(application: Application) -> None:
    od = pymqi.OD(ObjectName=b"SYSTEM.DEFAULT.MODEL.QUEUE", DynamicQName=b"REPLY.*")
    opened = pymqi.Queue(application.manager, od, INPUT | OUTPUT)
    name = od.ObjectName.strip(b"\0 ").decode()
    assert name.startswith("REPLY.")
    assert len(name) > len("REPLY.")
    application.put(name, b"x")
    opened.close()
    with refused(CMQC.MQRC_UNKNOWN_OBJECT_NAME):
        application.open(name, OUTPUT)


def test_permanent_dynamic_queue_stays_until_deleted(application: Application) -> None:
    run_mqsc(MODEL)
    od = pymqi.OD(ObjectName=b"PERMANENT", DynamicQName=b"MINE")
    pymqi.Queue(application.manager, od, INPUT | OUTPUT).close()
    application.put("MINE", b"x")
    opened = application.open("MINE", INPUT)
    with refused(CMQC.MQRC_Q_NOT_EMPTY):
        opened.close(CMQC.MQCO_DELETE)
    opened.close(CMQC.MQCO_DELETE_PURGE)
    with refused(CMQC.MQRC_UNKNOWN_OBJECT_NAME):
        application.open("MINE", OUTPUT)


def test_purge_takes_nobody_s_unit_of_work(application: Application) -> None:
    run_mqsc(MODEL)
    opened = pymqi.Queue(
        application.manager, pymqi.OD(ObjectName=b"PERMANENT", DynamicQName=b"MINE"), INPUT | OUTPUT | BROWSE
    )
    other = Application()
    other.put("MINE", b"theirs", options=CMQC.MQPMO_SYNCPOINT)
    for option in (CMQC.MQCO_DELETE, CMQC.MQCO_DELETE_PURGE):
        with refused(CMQC.MQRC_Q_NOT_EMPTY):
            opened.close(option)
    other.manager.commit()
    assert application.get(opened, CMQC.MQGMO_BROWSE_NEXT)[1] == b"theirs"
    other.manager.disconnect()


def test_temporary_dynamic_queue_is_deleted_by_its_creator_only(application: Application) -> None:
    od = pymqi.OD(ObjectName=b"SYSTEM.DEFAULT.MODEL.QUEUE", DynamicQName=b"MINE")
    opened = pymqi.Queue(application.manager, od, INPUT | OUTPUT)
    other = application.open("MINE", OUTPUT)
    for option in (CMQC.MQCO_DELETE, CMQC.MQCO_DELETE_PURGE):
        with refused(CMQC.MQRC_OPTION_NOT_VALID_FOR_TYPE):
            other.close(option)
    other.put(b"x")
    opened.close(CMQC.MQCO_DELETE)  # with its messages
    with refused(CMQC.MQRC_Q_DELETED):
        other.put(b"x")


def test_other_handles_of_a_deleted_dynamic_queue(application: Application) -> None:
    run_mqsc(MODEL)
    od = pymqi.OD(ObjectName=b"PERMANENT", DynamicQName=b"MINE")
    opened = pymqi.Queue(application.manager, od, INPUT | OUTPUT)
    other = Application()
    theirs = other.open("MINE", OUTPUT)
    opened.close(CMQC.MQCO_DELETE_PURGE)
    with refused(CMQC.MQRC_Q_DELETED):
        theirs.put(b"x")
    with refused(CMQC.MQRC_Q_DELETED):
        application.open("MINE", OUTPUT)
    theirs.close()
    other.manager.disconnect()
    with refused(CMQC.MQRC_UNKNOWN_OBJECT_NAME):
        application.open("MINE", OUTPUT)


@pytest.mark.parametrize("name", [b"", b"HAS BLANK", b"WRONG?CHAR", b"X" * 34 + b"*"])
def test_names_no_dynamic_queue_can_have(application: Application, name: bytes) -> None:
    with refused(CMQC.MQRC_DYNAMIC_Q_NAME_ERROR):
        application.open("SYSTEM.DEFAULT.MODEL.QUEUE", INPUT, DynamicQName=name)


def test_dynamic_queue_of_a_name_that_is_taken(application: Application) -> None:
    with refused(CMQC.MQRC_OBJECT_ALREADY_EXISTS):
        application.open("SYSTEM.DEFAULT.MODEL.QUEUE", INPUT, DynamicQName=b"Q1")


def test_predefined_queue_cannot_be_deleted_by_closing(application: Application) -> None:
    with refused(CMQC.MQRC_OPTION_NOT_VALID_FOR_TYPE):
        application.open("Q1", INPUT).close(CMQC.MQCO_DELETE)


def test_queue_deleted_while_nobody_has_it_open(application: Application) -> None:
    run_mqsc("DEFINE QLOCAL(Q2)")
    application.open("Q2", OUTPUT).close()
    run_mqsc("DELETE QLOCAL(Q2)")
    with refused(CMQC.MQRC_UNKNOWN_OBJECT_NAME):
        application.open("Q2", OUTPUT)


def test_handles_are_counted(application: Application) -> None:
    run_mqsc("ALTER QMGR MAXHANDS(3)")
    kept = [application.open("Q1", OUTPUT) for _ in range(3)]
    with refused(CMQC.MQRC_HANDLE_NOT_AVAILABLE):
        application.open("Q1", OUTPUT)
    kept.pop().close()
    application.open("Q1", OUTPUT).close()


def test_closed_handle(application: Application) -> None:
    handle = application.manager.get_handle()
    answer = pymqi.pymqe.MQPUT(handle, 4711, pymqi.MD().pack(), pymqi.PMO().pack(), b"x")
    assert answer[-2:] == (2, CMQC.MQRC_HOBJ_ERROR)
    assert pymqi.pymqe.MQCLOSE(handle, 4711, 0)[-2:] == (2, CMQC.MQRC_HOBJ_ERROR)
    assert pymqi.pymqe.MQCMIT(99999)[-2:] == (2, CMQC.MQRC_HCONN_ERROR)


def test_a_connection_belongs_to_its_thread(application: Application) -> None:
    manager = pymqi.QueueManager(None)
    manager.connect("QM1")  # MQCONN: not shareable
    answers = []
    thread = threading.Thread(target=lambda: answers.append(pymqi.pymqe.MQCMIT(manager.get_handle())))
    thread.start()
    thread.join()
    assert answers == [(2, CMQC.MQRC_HCONN_ERROR)]
    manager.disconnect()


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_object_descriptors_of_every_version(application: Application, version: int) -> None:
    opened = application.open("Q1", OUTPUT, Version=version)
    opened.put(b"x")
    assert application.depth("Q1") == 1


def test_object_descriptor_of_another_version(application: Application) -> None:
    od = pymqi.OD(ObjectName=b"Q1")
    od["Version"] = 9
    with refused(CMQC.MQRC_OD_ERROR):
        pymqi.Queue(application.manager, od, OUTPUT)


def test_unknown_queue_manager_name(application: Application) -> None:
    with refused(CMQC.MQRC_Q_MGR_NAME_ERROR):
        pymqi.connect("NO.SUCH")
