"""MQINQ and MQSET."""

from __future__ import annotations

import ctypes
import os
import sqlite3
from pathlib import Path

import pymqi
import pytest
from mqi_calls import Mqi, Structure
from mqlite_support import INPUT, OUTPUT, Application, make, refused, run_mqsc
from pymqi import CMQC

from mqlite.messages.descriptor import field_of
from mqwire import mqi

INQUIRE, SET = CMQC.MQOO_INQUIRE, CMQC.MQOO_SET


def test_P10_backout_attributes_through_mqinq(application: Application) -> None:
    run_mqsc("ALTER QLOCAL(Q1) BOTHRESH(3) BOQNAME(Q1.BACKOUT)")
    opened = application.open("Q1", INQUIRE)
    assert opened.inquire(CMQC.MQIA_BACKOUT_THRESHOLD) == 3
    assert opened.inquire(CMQC.MQCA_BACKOUT_REQ_Q_NAME).strip() == b"Q1.BACKOUT"


@pytest.mark.parametrize(
    ("selector", "value"),
    [
        (CMQC.MQIA_CURRENT_Q_DEPTH, 0),
        (CMQC.MQIA_MAX_Q_DEPTH, 5000),
        (CMQC.MQIA_MAX_MSG_LENGTH, 4194304),
        (CMQC.MQIA_Q_TYPE, CMQC.MQQT_LOCAL),
        (CMQC.MQIA_USAGE, CMQC.MQUS_NORMAL),
        (CMQC.MQIA_DEFINITION_TYPE, CMQC.MQQDT_PREDEFINED),
        (CMQC.MQIA_INHIBIT_PUT, CMQC.MQQA_PUT_ALLOWED),
        (CMQC.MQIA_OPEN_INPUT_COUNT, 0),
        (CMQC.MQIA_MSG_DELIVERY_SEQUENCE, CMQC.MQMDS_PRIORITY),
        (CMQC.MQCA_Q_NAME, b"Q1"),
    ],
)
def test_attributes_of_a_new_queue(application: Application, selector: int, value: object) -> None:
    found = application.open("Q1", INQUIRE).inquire(selector)
    assert (found.strip() if isinstance(found, bytes) else found) == value


def test_open_counts(application: Application) -> None:
    kept = [application.open("Q1", INPUT), application.open("Q1", INPUT | OUTPUT)]
    opened = application.open("Q1", INQUIRE)
    assert opened.inquire(CMQC.MQIA_OPEN_INPUT_COUNT) == 2
    assert opened.inquire(CMQC.MQIA_OPEN_OUTPUT_COUNT) == 1
    del kept[:]


def test_queue_manager_attributes(application: Application) -> None:
    assert application.manager.inquire(CMQC.MQCA_Q_MGR_NAME).strip() == b"QM1"
    assert application.manager.inquire(CMQC.MQIA_PLATFORM) == CMQC.MQPL_UNIX
    assert application.manager.inquire(CMQC.MQIA_CODED_CHAR_SET_ID) == 1208


def test_alias_says_its_own_name(application: Application) -> None:
    run_mqsc("DEFINE QALIAS(A) TARGET(Q1) DESCR('an alias')")
    opened = application.open("A", INQUIRE)
    assert opened.inquire(CMQC.MQIA_Q_TYPE) == CMQC.MQQT_ALIAS
    assert opened.inquire(CMQC.MQCA_Q_NAME).strip() == b"A"
    assert opened.inquire(CMQC.MQCA_BASE_Q_NAME).strip() == b"Q1"


def test_set_inhibits_and_says_so(application: Application) -> None:
    opened = application.open("Q1", INQUIRE | SET | OUTPUT)
    opened.set(CMQC.MQIA_INHIBIT_PUT, CMQC.MQQA_PUT_INHIBITED)
    assert opened.inquire(CMQC.MQIA_INHIBIT_PUT) == CMQC.MQQA_PUT_INHIBITED
    with refused(CMQC.MQRC_PUT_INHIBITED):
        opened.put(b"x")


def test_set_on_an_alias_changes_the_alias(application: Application) -> None:
    run_mqsc("DEFINE QALIAS(A) TARGET(Q1)\nDEFINE QALIAS(B) TARGET(Q1)")
    application.open("B", SET).set(CMQC.MQIA_INHIBIT_GET, CMQC.MQQA_GET_INHIBITED)
    application.put("Q1")
    application.get("A")
    application.put("Q1")
    with refused(CMQC.MQRC_GET_INHIBITED):
        application.get("B")


@pytest.mark.parametrize(
    ("selector", "reason"),
    [(CMQC.MQIA_MAX_Q_DEPTH, CMQC.MQRC_SELECTOR_ERROR), (1, CMQC.MQRC_SELECTOR_ERROR)],
)
def test_what_cannot_be_set(application: Application, selector: int, reason: int) -> None:
    with refused(reason):
        application.open("Q1", SET).set(selector, 1)


@pytest.mark.parametrize(
    ("selector", "value", "reason"),
    [
        (CMQC.MQIA_INHIBIT_PUT, 7, CMQC.MQRC_INHIBIT_VALUE_ERROR),
        (CMQC.MQIA_INHIBIT_GET, -1, CMQC.MQRC_INHIBIT_VALUE_ERROR),
        (CMQC.MQIA_TRIGGER_CONTROL, 7, CMQC.MQRC_TRIGGER_CONTROL_ERROR),
        (CMQC.MQIA_TRIGGER_DEPTH, 0, CMQC.MQRC_TRIGGER_DEPTH_ERROR),
        (CMQC.MQIA_TRIGGER_MSG_PRIORITY, 77, CMQC.MQRC_TRIGGER_MSG_PRIORITY_ERR),
        (CMQC.MQIA_TRIGGER_TYPE, 9, CMQC.MQRC_TRIGGER_TYPE_ERROR),
        (CMQC.MQCA_TRIGGER_DATA, b"shorter than 64", CMQC.MQRC_CHAR_ATTR_LENGTH_ERROR),
    ],
)
def test_value_that_cannot_be_set(application: Application, selector: int, value: object, reason: int) -> None:
    opened = application.open("Q1", SET | INQUIRE)
    before = opened.inquire(selector)
    with refused(reason):
        opened.set(selector, value)
    assert opened.inquire(selector) == before


def test_not_open_for_it(application: Application) -> None:
    opened = application.open("Q1", OUTPUT)
    with refused(CMQC.MQRC_NOT_OPEN_FOR_INQUIRE):
        opened.inquire(CMQC.MQIA_MAX_Q_DEPTH)
    with refused(CMQC.MQRC_NOT_OPEN_FOR_SET):
        opened.set(CMQC.MQIA_INHIBIT_PUT, 1)


def test_unknown_selector(application: Application) -> None:
    with refused(CMQC.MQRC_SELECTOR_ERROR):
        application.open("Q1", INQUIRE).inquire(1900)


DEFINITIONS = "DEFINE QLOCAL(QM2) USAGE(XMITQ)\nDEFINE QALIAS(A) TARGET(Q1)\nDEFINE QREMOTE(R) RNAME(X) RQMNAME(QM2)"


@pytest.mark.parametrize(
    ("queue", "selector", "value"),
    [
        ("A", CMQC.MQIA_CURRENT_Q_DEPTH, CMQC.MQIAV_NOT_APPLICABLE),
        ("R", CMQC.MQIA_CURRENT_Q_DEPTH, CMQC.MQIAV_NOT_APPLICABLE),
        ("R", CMQC.MQIA_INHIBIT_GET, CMQC.MQIAV_NOT_APPLICABLE),
        ("R", CMQC.MQCA_INITIATION_Q_NAME, b"*" * 48),
        ("A", CMQC.MQCA_TRIGGER_DATA, b"*" * 64),
        ("A", CMQC.MQCA_XMIT_Q_NAME, b"*" * 48),
        ("Q1", CMQC.MQCA_REMOTE_Q_NAME, b"*" * 48),
        ("Q1", CMQC.MQCA_BASE_Q_NAME, b"*" * 48),
    ],
)
def test_what_another_type_of_queue_has_is_told_with_a_warning(
    application: Application, queue: str, selector: int, value: object
) -> None:
    run_mqsc(DEFINITIONS)
    opened = application.open(queue, INQUIRE)
    with refused(CMQC.MQRC_SELECTOR_NOT_FOR_TYPE) as caught:
        opened.inquire(selector)
    assert caught.value.comp == CMQC.MQCC_WARNING
    handles = application.manager.getHandle(), opened._Queue__qHandle
    found, comp, reason = pymqi.pymqe.MQINQ(*handles, selector)
    assert (comp, reason) == (CMQC.MQCC_WARNING, CMQC.MQRC_SELECTOR_NOT_FOR_TYPE)
    assert (found[: len(value)] if isinstance(value, bytes) else found) == value


@pytest.mark.parametrize("queue", ["Q1", "A", "R"])
@pytest.mark.parametrize("selector", [CMQC.MQIA_PLATFORM, CMQC.MQCA_APPL_ID, CMQC.MQCA_STORAGE_CLASS, 1900])
def test_what_no_queue_has_is_no_selector(application: Application, queue: str, selector: int) -> None:
    run_mqsc(DEFINITIONS)
    with refused(CMQC.MQRC_SELECTOR_ERROR):  # a storage class is one of z/OS
        application.open(queue, INQUIRE).inquire(selector)


def test_a_queue_manager_has_no_attributes_of_queues(application: Application) -> None:
    for selector in (CMQC.MQIA_CURRENT_Q_DEPTH, CMQC.MQIA_OPEN_INPUT_COUNT, CMQC.MQCA_XMIT_Q_NAME):
        with refused(CMQC.MQRC_SELECTOR_ERROR):
            application.manager.inquire(selector)


def test_process_and_namelist(application: Application) -> None:
    run_mqsc("DEFINE PROCESS(P) APPLICID('run me')\nDEFINE NAMELIST(N) NAMES(A,B)")
    process = pymqi.Queue(application.manager, pymqi.OD(ObjectType=CMQC.MQOT_PROCESS, ObjectName=b"P"), INQUIRE)
    assert process.inquire(CMQC.MQCA_APPL_ID).strip() == b"run me"
    names = pymqi.Queue(application.manager, pymqi.OD(ObjectType=CMQC.MQOT_NAMELIST, ObjectName=b"N"), INQUIRE)
    assert names.inquire(CMQC.MQIA_NAME_COUNT) == 2
    with refused(CMQC.MQRC_UNKNOWN_OBJECT_NAME):
        pymqi.Queue(application.manager, pymqi.OD(ObjectType=CMQC.MQOT_PROCESS, ObjectName=b"X"), INQUIRE)


def test_a_queue_that_was_defined_before_its_kind_had_an_attribute_has_the_default(application: Application) -> None:
    (path,) = Path(os.environ["MQLITE_HOME"]).rglob("*.db")
    with sqlite3.connect(path) as database:
        changed = database.execute(
            "UPDATE object SET attributes = json_remove(attributes, '$.BOTHRESH', '$.MAXMSGL') WHERE name = 'Q1'"
        )
        assert changed.rowcount == 1
    database.close()
    opened = application.open("Q1", INQUIRE)
    assert (opened.inquire(CMQC.MQIA_BACKOUT_THRESHOLD), opened.inquire(CMQC.MQIA_MAX_MSG_LENGTH)) == (0, 4194304)
    assert "MAXMSGL(4194304)" in "".join(run_mqsc("DISPLAY QLOCAL(Q1) MAXMSGL"))


@pytest.mark.parametrize(
    ("name", "selectors", "room", "found"),
    [
        ("Q1", [CMQC.MQCA_Q_NAME], 10, b""),
        ("Q1", [CMQC.MQCA_Q_NAME], 47, b""),
        ("Q1", [CMQC.MQCA_Q_NAME], 48, b"Q1".ljust(48)),
        ("Q1", [CMQC.MQCA_Q_NAME, CMQC.MQCA_Q_DESC], 60, b"Q1".ljust(48)),
        # What is behind the one that has no room is omitted, even if it would fit.
        ("Q1", [CMQC.MQCA_Q_DESC, CMQC.MQCA_Q_NAME], 60, b""),
        ("N", [CMQC.MQCA_NAMES], 96, b"A".ljust(48) + b"B".ljust(48)),
        # A list is one attribute: all of it, or none.
        ("N", [CMQC.MQCA_NAMES], 95, b""),
    ],
)
def test_only_complete_attributes_are_returned_and_the_rest_of_the_area_stays(
    application: Application, name: str, selectors: list[int], room: int, found: bytes
) -> None:
    """IBM MQ, "2008 (07D8) (RC2008): MQRC_CHAR_ATTRS_TOO_SHORT"."""
    run_mqsc("DEFINE NAMELIST(N) NAMES(A,B)")
    calls, handle = Mqi(application.manager.get_handle()), ctypes.c_int()
    object_type = CMQC.MQOT_Q if name == "Q1" else CMQC.MQOT_NAMELIST
    calls.done("MQOPEN", Structure(mqi.MQOD, ObjectType=object_type, ObjectName=name), INQUIRE, ctypes.byref(handle))
    area, count = ctypes.create_string_buffer(b"#" * room, room), len(selectors)
    answer = calls.call("MQINQ", handle, count, (ctypes.c_int * count)(*selectors), 0, None, room, area)
    whole = len(found) == {"Q1": 48, "N": 96}[name] and count == 1
    assert answer == ((0, 0) if whole else (CMQC.MQCC_WARNING, CMQC.MQRC_CHAR_ATTRS_TOO_SHORT))
    assert area.raw == found.ljust(room, b"#")


def test_texts_are_in_the_character_set_of_programs(application: Application) -> None:
    run_mqsc("ALTER QLOCAL(Q1) DESCR('Zahlung für 5 €')")
    opened = application.open("Q1", INQUIRE | SET)
    assert opened.inquire(CMQC.MQCA_Q_DESC) == "Zahlung für 5 €".encode().ljust(64)
    opened.set(CMQC.MQCA_TRIGGER_DATA, "für €".encode().ljust(64))
    assert opened.inquire(CMQC.MQCA_TRIGGER_DATA) == "für €".encode().ljust(64)
    assert "TRIGDATA(für €)" in "".join(run_mqsc("DISPLAY QLOCAL(Q1) TRIGDATA"))
    with refused(CMQC.MQRC_CHAR_ATTRS_ERROR):
        opened.set(CMQC.MQCA_TRIGGER_DATA, b"f\xfcr".ljust(64))


def test_what_a_program_sets_is_in_the_trigger_message_byte_for_byte(application: Application) -> None:
    run_mqsc("DEFINE QLOCAL(I)\nDEFINE PROCESS(P)\nALTER QLOCAL(Q1) TRIGGER TRIGTYPE(EVERY) INITQ(I) PROCESS(P)")
    monitor = application.open("I", INPUT)
    data = "dag_id=zahlung_für".encode().ljust(64)
    application.open("Q1", SET).set(CMQC.MQCA_TRIGGER_DATA, data)
    application.put("Q1")
    assert application.get(monitor)[1][104:168] == data


@pytest.mark.parametrize(
    ("text", "length", "ccsid", "field"),
    [
        ("für 5 €", 12, 1208, "für 5 €".encode().ljust(12)),
        ("für 5 €", 12, 1252, b"f\xfcr 5 \x80".ljust(12)),
        ("üü", 3, 1208, "ü".encode() + b" "),  # no half characters
        ("5 € für", 8, 819, b"5       "),  # what does not exist in it, and what is behind that
        ("", 4, 1208, b"    "),
        ("für", 4, 12345, b"f\xfcr "),  # of a queue manager that an earlier version made
        ("für", 4, 500, b"f\xfcr "),
        ("für", 4, 1200, b"f\xfcr "),
        ("", 4, 12345, b"    "),
    ],
)
def test_field_of_a_text(text: str, length: int, ccsid: int, field: bytes) -> None:
    assert field_of(text, length, ccsid) == field


def test_a_queue_managers_EBCDIC_is_what_a_text_has_to_be_in(home: Path) -> None:
    make("QM1", "DEFINE QLOCAL(Q1)", platform="zos")
    application = Application()
    opened = application.open("Q1", INQUIRE | SET)
    opened.set(CMQC.MQCA_TRIGGER_DATA, "für".encode().ljust(64))
    with refused(CMQC.MQRC_CHAR_ATTRS_ERROR):
        opened.set(CMQC.MQCA_TRIGGER_DATA, "5 €".encode().ljust(64))
    assert opened.inquire(CMQC.MQCA_TRIGGER_DATA) == "für".encode().ljust(64)
    application.manager.disconnect()
