"""A pointer that is NULL where the call needs it: a reason code (of the pages of these codes), and nothing was done."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import pytest
from mqi_calls import Mqi, Structure
from mqlite_support import Application
from pymqi import CMQC

from mqlite.c_interface.signatures import NEEDED
from mqwire import mqi

INT = ctypes.c_int
NAME = b"QM1".ljust(48)
HANDLE = ctypes.byref(INT())
SUBSCRIPTION = CMQC.MQSO_CREATE | CMQC.MQSO_DURABLE | CMQC.MQSO_MANAGED


def subscription() -> Structure:
    sd = Structure(mqi.MQSD, Options=SUBSCRIPTION)
    sd.text("SubName", b"S")
    sd.text("ObjectString", b"prices")
    return sd


def handle_of(calls: Mqi) -> Any:
    handle = ctypes.c_longlong()
    calls.done("MQCRTMH", Structure(mqi.MQCMHO), ctypes.byref(handle))
    return handle


def inquire_property(calls: Mqi, kind: Any, length: Any) -> tuple[int, int]:
    name = Structure(mqi.MQCHARV)
    arguments = (handle_of(calls), Structure(mqi.MQIMPO), name, Structure(mqi.MQPD), kind, 0, None, length)
    return calls.call("MQINQMP", *arguments)


def opened(calls: Mqi, options: int) -> Any:
    handle = INT()
    calls.done("MQOPEN", Structure(mqi.MQOD, ObjectName="Q1"), options, ctypes.byref(handle))
    return handle


def got(calls: Mqi, data_length: Any) -> tuple[int, int]:
    handle, data = opened(calls, CMQC.MQOO_INPUT_SHARED), ctypes.create_string_buffer(9)
    gmo = Structure(mqi.MQGMO, Options=CMQC.MQGMO_NO_SYNCPOINT)
    return calls.call("MQGET", handle, Structure(mqi.MQMD), gmo, 9, data, data_length)


def attributes(calls: Mqi, call: str, *arrays: Any) -> tuple[int, int]:
    return calls.call(call, opened(calls, CMQC.MQOO_INQUIRE | CMQC.MQOO_SET), *arrays)


def integers(value: int) -> Any:
    return (INT * 1)(value)


DEPTH, PUT, TEXT = CMQC.MQIA_MAX_Q_DEPTH, CMQC.MQIA_INHIBIT_PUT, CMQC.MQCA_TRIGGER_DATA
TABLE: dict[tuple[str, str], tuple[Callable[[Mqi], tuple[int, int]], int]] = {
    ("MQCONN", "name"): (lambda m: Mqi(None).call("MQCONN", HANDLE), CMQC.MQRC_Q_MGR_NAME_ERROR),
    ("MQCONN", "hconn"): (lambda m: Mqi(NAME).call("MQCONN", None), CMQC.MQRC_HCONN_ERROR),
    ("MQCONNX", "name"): (
        lambda m: Mqi(None).call("MQCONNX", Structure(mqi.MQCNO), HANDLE),
        CMQC.MQRC_Q_MGR_NAME_ERROR,
    ),
    ("MQCONNX", "hconn"): (
        lambda m: Mqi(NAME).call("MQCONNX", Structure(mqi.MQCNO), None),
        CMQC.MQRC_HCONN_ERROR,
    ),
    ("MQDISC", "hconn"): (lambda m: Mqi(None).call("MQDISC"), CMQC.MQRC_HCONN_ERROR),
    ("MQOPEN", "hobj"): (
        lambda m: m.call("MQOPEN", Structure(mqi.MQOD, ObjectName="Q1"), CMQC.MQOO_OUTPUT, None),
        CMQC.MQRC_HOBJ_ERROR,
    ),
    ("MQCLOSE", "hobj"): (lambda m: m.call("MQCLOSE", None, 0), CMQC.MQRC_HOBJ_ERROR),
    ("MQGET", "data_length"): (lambda m: got(m, None), CMQC.MQRC_DATA_LENGTH_ERROR),
    ("MQSUB", "hobj"): (lambda m: m.call("MQSUB", subscription(), None, HANDLE), CMQC.MQRC_HOBJ_ERROR),
    ("MQSUB", "hsub"): (lambda m: m.call("MQSUB", subscription(), HANDLE, None), CMQC.MQRC_HOBJ_ERROR),
    ("MQCRTMH", "hmsg"): (lambda m: m.call("MQCRTMH", Structure(mqi.MQCMHO), None), CMQC.MQRC_HMSG_ERROR),
    ("MQDLTMH", "hmsg"): (lambda m: m.call("MQDLTMH", None, Structure(mqi.MQDMHO)), CMQC.MQRC_HMSG_ERROR),
    ("MQINQMP", "type"): (lambda m: inquire_property(m, None, HANDLE), CMQC.MQRC_PROPERTY_TYPE_ERROR),
    ("MQINQMP", "data_length"): (lambda m: inquire_property(m, HANDLE, None), CMQC.MQRC_DATA_LENGTH_ERROR),
    ("MQINQ", "selector"): (
        lambda m: attributes(m, "MQINQ", 1, None, 1, integers(0), 0, None),
        CMQC.MQRC_SELECTOR_ERROR,
    ),
    ("MQINQ", "integer"): (
        lambda m: attributes(m, "MQINQ", 1, integers(DEPTH), 1, None, 0, None),
        CMQC.MQRC_INT_ATTRS_ARRAY_ERROR,
    ),
    ("MQINQ", "text"): (
        lambda m: attributes(m, "MQINQ", 1, integers(TEXT), 0, None, 64, None),
        CMQC.MQRC_CHAR_ATTRS_ERROR,
    ),
    ("MQSET", "selector"): (
        lambda m: attributes(m, "MQSET", 1, None, 1, integers(1), 0, None),
        CMQC.MQRC_SELECTOR_ERROR,
    ),
    ("MQSET", "integer"): (
        lambda m: attributes(m, "MQSET", 1, integers(PUT), 1, None, 0, None),
        CMQC.MQRC_INT_ATTRS_ARRAY_ERROR,
    ),
    ("MQSET", "text"): (
        lambda m: attributes(m, "MQSET", 1, integers(TEXT), 0, None, 64, None),
        CMQC.MQRC_CHAR_ATTRS_ERROR,
    ),
}


def test_the_table_is_whole() -> None:
    assert {(call, parameter) for call, parameters in NEEDED.items() for parameter in parameters} <= TABLE.keys()


@pytest.mark.parametrize("parameter", TABLE, ids="-".join)
def test_a_null_pointer_has_its_reason_and_does_nothing(
    application: Application, parameter: tuple[str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    call, reason = TABLE[parameter]
    application.put("Q1", b"stays")
    before = application.open("Q1").inquire(CMQC.MQIA_OPEN_OUTPUT_COUNT)
    assert call(Mqi(application.manager.get_handle())) == (CMQC.MQCC_FAILED, reason)
    assert application.bodies("Q1") == [b"stays"]
    assert application.open("Q1").inquire(CMQC.MQIA_OPEN_OUTPUT_COUNT) == before
    assert application.open("Q1").inquire(PUT) == CMQC.MQQA_PUT_ALLOWED
    assert capfd.readouterr().err == ""


def test_a_subscription_whose_handle_has_no_place_is_not_made(application: Application) -> None:
    calls = Mqi(application.manager.get_handle())
    assert TABLE["MQSUB", "hsub"][0](calls) == (CMQC.MQCC_FAILED, CMQC.MQRC_HOBJ_ERROR)
    calls.done("MQSUB", subscription(), ctypes.byref(INT()), ctypes.byref(INT()))
