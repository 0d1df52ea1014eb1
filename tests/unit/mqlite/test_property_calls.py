"""The calls on message handles as C makes them: what MQINQMP returns, how names are given, which names are refused.

Sources: IBM MQ, "MQINQMP", "MQIMPO", "MQPD", "MQCHARV", "MQCMHO", "Property names", "Property name restrictions".
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pymqi
import pytest
from mqi_calls import Answer, Mqi, Structure
from mqlite_support import Application, home, make
from pymqi import CMQC

from mqwire import mqi
from mqwire.rfh2 import MQRFH2

__all__ = ["home"]
OK = (CMQC.MQCC_OK, CMQC.MQRC_NONE)
NULL_TERMINATED = CMQC.MQVS_NULL_TERMINATED
UNDER_CURSOR = CMQC.MQIMPO_INQ_PROP_UNDER_CURSOR


def failed(reason: int) -> Answer:
    return CMQC.MQCC_FAILED, reason


class Handle:
    """A message handle; `validation` MQCMHO_*."""

    def __init__(self, calls: Mqi, validation: int = CMQC.MQCMHO_DEFAULT_VALIDATION) -> None:
        self.calls = calls
        number = ctypes.c_longlong()
        calls.done("MQCRTMH", Structure(mqi.MQCMHO, Options=validation), ctypes.byref(number))
        self.number = ctypes.c_longlong(number.value)

    def set(
        self,
        name: bytes | Structure,
        value: bytes = b"x",
        kind: int = CMQC.MQTYPE_STRING,
        pd: Structure | None = None,
        **smpo: int,
    ) -> Answer:
        options, descriptor = Structure(mqi.MQSMPO, **smpo), pd or Structure(mqi.MQPD)
        return self.calls.call("MQSETMP", self.number, options, named(name), descriptor, kind, len(value), value)

    def inquire(
        self,
        name: bytes | Structure = b"%",
        *,
        wanted: int = CMQC.MQTYPE_AS_SET,
        size: int = 100,
        room: int = 100,
        **impo: int,
    ) -> Inquired:
        """MQINQMP; `size` bytes for the value, `room` for the name."""
        options, descriptor = Structure(mqi.MQIMPO, **impo), Structure(mqi.MQPD)
        area = options.room("ReturnedName", room) if room else None
        kind, length, value = ctypes.c_int(wanted), ctypes.c_int(-7), ctypes.create_string_buffer(size)
        answer = self.calls.call(
            "MQINQMP", self.number, options, named(name), descriptor, ctypes.byref(kind), size, value,
            ctypes.byref(length),
        )  # fmt: skip
        given = value.raw[: min(max(0, length.value), size)]
        return Inquired(
            answer=answer, impo=options, pd=descriptor, area=area, type=kind.value, length=length.value, value=given
        )

    def names(self, name: bytes = b"%") -> list[bytes]:
        """The names that an inquiry of one after the other returns."""
        found: list[bytes] = []
        while (one := self.inquire(name, Options=CMQC.MQIMPO_INQ_NEXT)).answer == OK:
            found.append(one.name)
        assert one.answer == failed(CMQC.MQRC_PROPERTY_NOT_AVAILABLE)
        return found


@dataclass(frozen=True, kw_only=True)
class Inquired:
    """What one MQINQMP returned; `area` where the name goes."""

    answer: Answer
    impo: Structure
    pd: Structure
    area: Any
    type: int
    length: int
    value: bytes

    @property
    def name(self) -> bytes:
        """What ReturnedName has."""
        return self.area.raw[: self.impo["ReturnedNameVSLength"]] if self.area else b""


def named(name: bytes | Structure) -> Structure:
    if isinstance(name, Structure):
        return name
    made = Structure(mqi.MQCHARV)
    made.text("", name)
    return made


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mqi]:
    """One connection for all of them: a handle holds what a test sets."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MQLITE_HOME", str(tmp_path_factory.mktemp("managers")))
        make("QM1", "DEFINE QLOCAL(Q1)")
        application = Application()
        yield Mqi(application.manager.get_handle())
        application.manager.disconnect()


# what is returned


def test_returned_name_comes_whole_with_its_length_and_character_set(calls: Mqi) -> None:
    handle = Handle(calls)
    assert handle.set(b"colour", b"red") == OK
    one = handle.inquire()
    assert (one.answer, one.name, one.value, one.length) == (OK, b"colour", b"red", 3)
    assert (one.impo["ReturnedNameVSLength"], one.impo["ReturnedNameVSCCSID"]) == (6, 1208)
    assert handle.inquire(room=6).name == b"colour", "just long enough"


def test_name_that_is_too_long_for_its_area_is_told_and_can_be_had_under_the_cursor(calls: Mqi) -> None:
    handle = Handle(calls)
    handle.set(b"colour", b"red")
    handle.set(b"shape", b"round")
    one = handle.inquire(room=5)
    assert one.answer == failed(CMQC.MQRC_PROPERTY_NAME_TOO_BIG)
    assert one.impo["ReturnedNameVSLength"] == 6
    assert one.area.raw == b"?????", "nothing or the whole name"
    assert handle.inquire(b"%", Options=UNDER_CURSOR).name == b"colour"
    assert handle.inquire(room=0).answer == OK, "nobody asks for the name"


def test_length_is_queried_without_value_and_name(calls: Mqi) -> None:
    handle = Handle(calls)
    handle.set(b"colour", b"crimson")
    one = handle.inquire(size=0, Options=CMQC.MQIMPO_QUERY_LENGTH)
    assert (one.answer, one.length, one.type) == (OK, 7, CMQC.MQTYPE_STRING)
    assert (one.impo["ReturnedNameVSLength"], one.area.raw) == (6, b"?" * 100)
    assert handle.inquire(size=7, Options=UNDER_CURSOR).value == b"crimson"


def test_value_that_is_too_long_comes_as_far_as_it_goes(calls: Mqi) -> None:
    handle = Handle(calls)
    handle.set(b"colour", b"crimson")
    one = handle.inquire(size=4)
    assert (one.answer, one.value, one.length) == (failed(CMQC.MQRC_PROPERTY_VALUE_TOO_BIG), b"crim", 7)
    assert one.name == b"colour"


def test_encoding_and_character_set_of_the_value(calls: Mqi) -> None:
    handle = Handle(calls)
    handle.set(b"city", "Zürich".encode())
    handle.set(b"count", struct.pack("<i", 258), CMQC.MQTYPE_INT32)
    as_is = handle.inquire(b"city", RequestedCCSID=819)
    assert (as_is.value.decode(), as_is.impo["ReturnedCCSID"]) == ("Zürich", 1208), "it was not asked to convert"
    asked = {"Options": CMQC.MQIMPO_CONVERT_VALUE, "RequestedCCSID": 500, "RequestedEncoding": 273}
    one = handle.inquire(b"city", **asked)
    assert (one.answer, one.value, one.impo["ReturnedCCSID"]) == (OK, "Zürich".encode("cp500"), 500)
    assert (one.name, one.impo["ReturnedNameVSCCSID"]) == ("city".encode("cp500"), 500)
    number = handle.inquire(b"count", **asked)
    assert (number.value, number.impo["ReturnedEncoding"]) == (struct.pack(">i", 258), 273)
    assert handle.inquire(b"count").impo["ReturnedEncoding"] == CMQC.MQENC_NATIVE


def test_value_that_cannot_be_converted_comes_as_it_is_with_a_warning(calls: Mqi) -> None:
    handle = Handle(calls)
    handle.set(b"price", "5 €".encode())
    one = handle.inquire(Options=CMQC.MQIMPO_CONVERT_VALUE, RequestedCCSID=819)
    assert one.answer == (CMQC.MQCC_WARNING, CMQC.MQRC_PROP_VALUE_NOT_CONVERTED)
    assert (one.value.decode(), one.impo["ReturnedCCSID"]) == ("5 €", 1208)


def test_value_is_set_in_the_character_set_and_encoding_that_the_options_say(calls: Mqi) -> None:
    handle = Handle(calls)
    assert handle.set(b"city", "Zürich".encode("cp500"), ValueCCSID=500) == OK
    assert handle.set(b"count", struct.pack(">q", 7), CMQC.MQTYPE_INT64, ValueEncoding=273) == OK
    assert handle.inquire(b"city").value.decode() == "Zürich"
    assert struct.unpack("<q", handle.inquire(b"count").value) == (7,)


def test_descriptor_is_returned_and_travels_with_the_message(calls: Mqi) -> None:
    handle = Handle(calls)
    pd = Structure(mqi.MQPD, Context=CMQC.MQPD_USER_CONTEXT, CopyOptions=CMQC.MQCOPY_REPLY | CMQC.MQCOPY_REPORT)
    handle.set(b"colour", b"red", pd=pd)
    handle.set(b"shape", b"round")
    got = sent(calls, handle)
    for each in (handle, got):
        one, other = each.inquire(b"colour").pd, each.inquire(b"shape").pd
        assert (one["Context"], one["CopyOptions"]) == (CMQC.MQPD_USER_CONTEXT, 24)
        assert (other["Context"], other["CopyOptions"]) == (CMQC.MQPD_NO_CONTEXT, CMQC.MQCOPY_DEFAULT)
        assert one["Support"] == other["Support"] == CMQC.MQPD_SUPPORT_OPTIONAL
    assert handle.set(b"colour", b"red", pd=Structure(mqi.MQPD, Context=9)) == failed(CMQC.MQRC_PD_ERROR)


def test_type_that_is_not_known_is_text_and_named(calls: Mqi) -> None:
    body = MQRFH2(format="MQSTR").with_folders("<usr><when dt='dateTime.tz'>2026-11-26</when></usr>").pack() + b"data"
    got = sent(calls, None, body)
    one = got.inquire()
    assert one.answer == (CMQC.MQCC_WARNING, CMQC.MQRC_PROP_TYPE_NOT_SUPPORTED)
    assert (one.type, one.value, one.impo["TypeString"]) == (CMQC.MQTYPE_STRING, b"2026-11-26", "dateTime")


def sent(calls: Mqi, handle: Handle | None, body: bytes = b"data") -> Handle:
    """A handle with the properties of a message that was put with `handle`, and got."""
    form = "MQSTR" if handle else "MQHRF2"
    od, pmo = Structure(mqi.MQOD, ObjectName="Q1"), Structure(mqi.MQPMO, Options=CMQC.MQPMO_NO_SYNCPOINT)
    pmo["OriginalMsgHandle"] = handle.number.value if handle else 0
    calls.done("MQPUT1", od, Structure(mqi.MQMD, Format=form), pmo, len(body), body)
    got, opened, length = Handle(calls), ctypes.c_int(), ctypes.c_int()
    calls.done("MQOPEN", Structure(mqi.MQOD, ObjectName="Q1"), CMQC.MQOO_INPUT_SHARED, ctypes.byref(opened))
    gmo = Structure(
        mqi.MQGMO, Options=CMQC.MQGMO_PROPERTIES_IN_HANDLE | CMQC.MQGMO_NO_SYNCPOINT, MsgHandle=got.number.value
    )
    data = ctypes.create_string_buffer(100)
    calls.done("MQGET", opened, Structure(mqi.MQMD), gmo, 100, data, ctypes.byref(length))
    assert data.raw[: length.value] == b"data"
    calls.done("MQCLOSE", ctypes.byref(opened), 0)
    return got


S, B, I1, I2, I4, I8, F4, F8, BYTES = (
    CMQC.MQTYPE_STRING, CMQC.MQTYPE_BOOLEAN, CMQC.MQTYPE_INT8, CMQC.MQTYPE_INT16, CMQC.MQTYPE_INT32,
    CMQC.MQTYPE_INT64, CMQC.MQTYPE_FLOAT32, CMQC.MQTYPE_FLOAT64, CMQC.MQTYPE_BYTE_STRING,
)  # fmt: skip
NOT_SUPPORTED, FORMAT = CMQC.MQRC_PROP_CONV_NOT_SUPPORTED, CMQC.MQRC_PROP_NUMBER_FORMAT_ERROR
PACKED = {B: "<i", I1: "<b", I2: "<h", I4: "<i", I8: "<q", F4: "<f", F8: "<d"}


@pytest.mark.parametrize(
    ("kind", "value", "wanted", "right"),
    [
        (B, 1, S, b"TRUE"),
        (B, 0, S, b"FALSE"),
        (B, 1, I8, 1),
        (B, 1, F4, NOT_SUPPORTED),
        (BYTES, b"\xf1\x12\0\xff", S, b"F11200FF"),
        (BYTES, b"\1", I1, NOT_SUPPORTED),
        (I1, -5, I2, -5),
        (I2, 300, I8, 300),
        (I4, 65, S, b"65"),
        (I4, 65, I4, 65),
        (I4, 65, I2, NOT_SUPPORTED),
        (I8, 65, I4, NOT_SUPPORTED),
        (I8, 65, F8, NOT_SUPPORTED),
        (F4, 0.5, F8, 0.5),
        (F4, 0.5, S, b"0.5"),
        (F8, 0.25, S, b"0.25"),
        (F8, 0.25, F4, NOT_SUPPORTED),
        (S, b"true", B, 1),
        (S, b"0", B, 0),
        (S, b"yes", B, FORMAT),
        (S, b"  -12abc", I4, -12),  # as far as the digits go
        (S, b"+7", I1, 7),
        (S, b"abc", I4, FORMAT),
        (S, b"300", I1, FORMAT),
        (S, b" 1.5e1x", F8, 15.0),
        (S, b".5", F8, FORMAT),
        (S, b"7", BYTES, NOT_SUPPORTED),
        (S, b"7", 9, CMQC.MQRC_PROPERTY_TYPE_ERROR),
        (CMQC.MQTYPE_NULL, b"", S, NOT_SUPPORTED),
    ],
)
def test_type_is_converted_where_IBM_MQ_does(calls: Mqi, kind: int, value: Any, wanted: int, right: Any) -> None:
    handle = Handle(calls)
    assert handle.set(b"p", struct.pack(PACKED[kind], value) if kind in PACKED else value, kind) == OK
    one = handle.inquire(wanted=wanted, Options=CMQC.MQIMPO_CONVERT_TYPE)
    if isinstance(right, int) and right > 2000:
        assert one.answer == failed(right)
        assert handle.inquire(Options=UNDER_CURSOR).answer == failed(CMQC.MQRC_PROPERTY_NOT_AVAILABLE)
        return
    assert (one.answer, one.type) == (OK, wanted)
    assert (struct.unpack(PACKED[wanted], one.value)[0] if wanted in PACKED else one.value) == right
    assert handle.inquire(wanted=wanted).type == kind, "without the option the type is that of the property"


def test_options_that_do_not_exist(calls: Mqi) -> None:
    handle = Handle(calls)
    for options in (64, CMQC.MQSMPO_APPEND_PROPERTY, CMQC.MQSMPO_SET_PROP_AFTER_CURSOR, 8):
        assert handle.set(b"p", Options=options) == failed(CMQC.MQRC_OPTIONS_ERROR)
    handle.set(b"p")
    assert handle.inquire(Options=64).answer == failed(CMQC.MQRC_OPTIONS_ERROR)
    assert (
        calls.call("MQDLTMP", handle.number, Structure(mqi.MQDMPO, Options=64), named(b"p"))[1]
        == CMQC.MQRC_OPTIONS_ERROR
    )
    number = ctypes.c_longlong()
    assert calls.call("MQCRTMH", Structure(mqi.MQCMHO, Options=3), ctypes.byref(number))[1] == CMQC.MQRC_OPTIONS_ERROR


def test_property_under_the_cursor_is_replaced_and_deleted(calls: Mqi) -> None:
    handle = Handle(calls)
    for name in (b"a", b"b"):
        handle.set(name)
    handle.inquire(b"b")
    assert handle.set(b"b", b"new", Options=CMQC.MQSMPO_SET_PROP_UNDER_CURSOR) == OK
    assert handle.inquire(b"b").value == b"new"
    calls.done("MQDLTMP", handle.number, Structure(mqi.MQDMPO, Options=CMQC.MQDMPO_DEL_PROP_UNDER_CURSOR), named(b"%"))
    assert handle.names() == [b"a"]


# how a name is given


@pytest.mark.parametrize(
    ("text", "length", "ccsid"),
    [
        (b"colour", 6, CMQC.MQCCSI_APPL),
        (b"colour\0rest", NULL_TERMINATED, CMQC.MQCCSI_APPL),
        (b"colour", NULL_TERMINATED, 1208),
        ("colour".encode("cp500"), 6, 500),
        ("colour".encode("cp500") + b"\0", NULL_TERMINATED, 500),
        ("colour".encode("utf-16-le") + b"\0\0", NULL_TERMINATED, 1200),
    ],
)
def test_name_is_read_as_its_MQCHARV_says(calls: Mqi, text: bytes, length: int, ccsid: int) -> None:
    handle, name = Handle(calls), Structure(mqi.MQCHARV)
    name.text("", text, length, ccsid)
    assert handle.set(name) == OK
    assert handle.names() == [b"colour"]
    assert handle.inquire(name).answer == OK
    calls.done("MQDLTMP", handle.number, Structure(mqi.MQDMPO), name)
    assert handle.names() == []


def test_name_by_its_offset(calls: Mqi) -> None:
    handle, name = Handle(calls), Structure(mqi.MQCHARV, VSOffset=mqi.MQCHARV.size, VSLength=NULL_TERMINATED)
    name.memory = ctypes.create_string_buffer(bytes(name.memory) + b"colour")
    assert handle.set(name) == OK
    assert handle.names() == [b"colour"]


@pytest.mark.parametrize(
    ("text", "length", "reason"),
    [
        (b"colour", 0, CMQC.MQRC_PROPERTY_NAME_LENGTH_ERR),
        (b"colour", -2, CMQC.MQRC_PROPERTY_NAME_LENGTH_ERR),
        (b"a" * 4096, 4096, CMQC.MQRC_PROPERTY_NAME_LENGTH_ERR),
        (b"a" * 4096, NULL_TERMINATED, CMQC.MQRC_PROPERTY_NAME_LENGTH_ERR),
        (b"\xff", 1, CMQC.MQRC_PROPERTY_NAME_ERROR),
    ],
)
def test_length_that_no_name_has(calls: Mqi, text: bytes, length: int, reason: int) -> None:
    handle, name = Handle(calls), Structure(mqi.MQCHARV)
    name.text("", text, length)
    assert handle.set(name) == failed(reason)
    assert handle.inquire(name).answer == failed(reason)


# which names there are

KEYWORDS = ("NULL", "TRUE", "FALSE", "NOT", "AND", "OR", "BETWEEN", "LIKE", "IN", "IS", "ESCAPE")
REFUSED = [
    *KEYWORDS, *(word.lower() for word in KEYWORDS), "usr.And",
    "JMSDestination", "JMSMessageID", "JMSX", "JMS_IBM_Format", "usr.JMSType", "usr.JMS",
    "mq.a.b", "MQ.a.b", "mqthing.a.b",
    "Body", "Body.a", "Root", "Root.a", "Root.XMLNS.a",
    ".a", "a.", "a..b", "usr.", "1a", "a.1b", "a-b", "a b", "a\tb", " a", "a ", "a=b", "a<b", "a:b", "a,b", "a\0b",
    "smile\U0001f600",
]  # fmt: skip
TAKEN = [
    "a", "_a", "$a", "a1", "größe", "名前", "usr.a", "a.b", "a.b.c", "usr.a.b", "Nullable", "an.AND", "Bodywork",
    "Rooted.a",
    "JMSCorrelationID", "JMSReplyTo", "JMSType", "JMSXGroupID", "JMSXGroupSeq", "jms", "MyJMS",
    "mq.a", "mq_usr.a.b", "MQ_USR.a.b", "mqa",
]  # fmt: skip


@pytest.mark.parametrize("validation", [CMQC.MQCMHO_DEFAULT_VALIDATION, CMQC.MQCMHO_VALIDATE])
@pytest.mark.parametrize("name", REFUSED)
def test_names_that_are_refused_when_they_are_validated(calls: Mqi, name: str, validation: int) -> None:
    assert Handle(calls, validation).set(name.encode()) == failed(CMQC.MQRC_PROPERTY_NAME_ERROR)


@pytest.mark.parametrize("name", [name for name in REFUSED if name not in {"a\0b"}])
def test_names_that_are_not_validated(calls: Mqi, name: str) -> None:
    assert Handle(calls, CMQC.MQCMHO_NO_VALIDATION).set(name.encode()) == OK


@pytest.mark.parametrize("name", TAKEN)
def test_names_that_are_taken_and_come_back(calls: Mqi, name: str) -> None:
    handle = Handle(calls)
    assert handle.set(name.encode()) == OK
    shown = name.removeprefix("usr.") if name == "usr.a" else name
    for each in (handle, sent(calls, handle)):
        assert each.names() == [shown.encode()]
        assert each.inquire(name.encode()).value == b"x"


def test_name_that_no_header_can_carry_is_refused_at_the_latest_by_the_put(calls: Mqi) -> None:
    handle = Handle(calls, CMQC.MQCMHO_NO_VALIDATION)
    assert handle.set(b"a<b") == OK
    pmo = Structure(mqi.MQPMO, Options=CMQC.MQPMO_NO_SYNCPOINT, OriginalMsgHandle=handle.number.value)
    answer = calls.call("MQPUT1", Structure(mqi.MQOD, ObjectName="Q1"), Structure(mqi.MQMD), pmo, 1, b"x")
    assert answer == failed(CMQC.MQRC_PROPERTY_NAME_ERROR)


@pytest.mark.parametrize(
    ("first", "second"), [("x.y", "x.y.z"), ("x.y.z", "x.y"), ("a", "usr.a.b"), ("a.b.c.d", "a.b")]
)
def test_mixed_content_is_refused(calls: Mqi, first: str, second: str) -> None:
    handle = Handle(calls)
    assert handle.set(first.encode()) == OK
    assert handle.set(second.encode()) == failed(CMQC.MQRC_MIXED_CONTENT_NOT_ALLOWED)
    assert handle.set(first.encode()) == OK, "the same again"
    calls.done("MQDLTMP", handle.number, Structure(mqi.MQDMPO), named(first.encode()))
    assert handle.set(second.encode()) == OK
    loose = Handle(calls, CMQC.MQCMHO_NO_VALIDATION)
    assert [loose.set(each.encode()) for each in (first, second)] == [OK, OK]


def test_synonyms_are_one_property(calls: Mqi) -> None:
    body = MQRFH2(format="MQSTR").with_folders(
        "<jms><Dst>queue:///A</Dst><Rto>queue:///B</Rto></jms>", "<usr><c>1</c></usr>"
    )
    got = sent(calls, None, body.pack() + b"data")
    assert got.names() == [b"JMSDestination", b"JMSReplyTo", b"c"]
    assert got.inquire(b"jms.Dst").value == got.inquire(b"JMSDestination").value == b"queue:///A"
    fresh = sent(calls, None, body.pack() + b"data")
    assert fresh.names(b"usr.%") == [b"c"]
    assert sent(calls, None, body.pack() + b"data").names(b"JMS%") == [b"JMSDestination", b"JMSReplyTo"]


def test_elements_with_names_that_are_refused_cannot_be_inquired(calls: Mqi) -> None:
    folders = "<usr><JMSThing>1</JMSThing><and>1</and><a.b>1</a.b><ok>1</ok></usr>"
    got = sent(calls, None, MQRFH2(format="MQSTR").with_folders(folders).pack() + b"data")
    assert got.names() == [b"ok"]


def test_fields_of_the_descriptor_are_no_properties_here(calls: Mqi) -> None:
    handle = Handle(calls)
    assert handle.set(b"Root.MQMD.ReplyToQ") == failed(CMQC.MQRC_FUNCTION_NOT_SUPPORTED)
    assert handle.inquire(b"Root.MQMD.ReplyToQ").answer == failed(CMQC.MQRC_PROPERTY_NOT_AVAILABLE)


def test_pymqi_sees_the_same(calls: Mqi) -> None:
    handle = Handle(calls)
    handle.set(b"count", struct.pack("<i", 7), CMQC.MQTYPE_INT32)
    value = pymqi.pymqe.MQINQMP(
        calls.hconn, handle.number.value, CMQC.MQIMPO_CONVERT_TYPE, b"count", 0, CMQC.MQTYPE_INT64, 8
    )[0]
    assert value == 7
