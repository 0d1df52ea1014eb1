"""Message properties through message handles, and the MQRFH2 that carries them."""

from __future__ import annotations

from typing import Any

import pymqi
import pytest
from mqlite_support import Application, refused, run_mqsc
from pymqi import CMQC

from mqwire.rfh2 import MQRFH2


def handle_of(application: Application) -> Any:
    return pymqi.MessageHandle(application.manager, pymqi.CMHO())


def put(application: Application, body: bytes, said: dict[str, Any] | None = None, **properties: str) -> None:
    handle = handle_of(application)
    for name, value in properties.items():
        handle.properties.set(name.encode(), value)
    pmo = pymqi.PMO(Version=CMQC.MQPMO_VERSION_3, Options=CMQC.MQPMO_NO_SYNCPOINT)
    pmo.OriginalMsgHandle = handle.msg_handle
    opened = application.open("Q1", CMQC.MQOO_OUTPUT)
    opened.put(body, pymqi.MD(**{"Format": CMQC.MQFMT_STRING, **(said or {})}), pmo)


def test_properties_come_back_in_a_handle_and_the_data_without_them(application: Application) -> None:
    put(application, b"data", colour="red & blue")
    handle = handle_of(application)
    gmo = pymqi.GMO(Version=CMQC.MQGMO_VERSION_4, Options=CMQC.MQGMO_PROPERTIES_IN_HANDLE)
    gmo.MsgHandle = handle.msg_handle
    md = pymqi.MD()
    assert application.open("Q1").get(None, md, gmo) == b"data"
    assert md.Format == CMQC.MQFMT_STRING
    assert handle.properties.get(b"colour") == "red & blue"
    assert handle.properties.get(b"usr.colour") == "red & blue"
    with refused(CMQC.MQRC_PROPERTY_NOT_AVAILABLE):
        handle.properties.get(b"shape")


def test_properties_are_an_mqrfh2_for_whom_does_not_ask(application: Application) -> None:
    put(application, b"data", colour="red")
    md, body = application.get("Q1")
    assert md.Format == CMQC.MQFMT_RF_HEADER_2
    header = MQRFH2.unpack(body)
    assert header.format == "MQSTR"
    assert header.texts()[0].rstrip() == "<usr><colour>red</colour></usr>"
    assert body[header.struc_length :] == b"data"


def test_properties_not_wanted(application: Application) -> None:
    put(application, b"data", colour="red")
    md, body = application.get("Q1", CMQC.MQGMO_NO_PROPERTIES)
    assert (md.Format, body) == (CMQC.MQFMT_STRING, b"data")


@pytest.mark.parametrize(
    ("control", "with_handle", "in_handle", "in_data"),
    [
        ("COMPAT", True, True, False),
        ("COMPAT", False, False, True),
        ("ALL", True, True, False),
        ("ALL", False, False, True),
        ("NONE", True, True, False),
        ("NONE", False, False, False),
        ("FORCE", True, False, True),
        ("FORCE", False, False, True),
    ],
)
def test_PROPCTL_says_where_properties_go_unless_the_get_does(
    application: Application, control: str, with_handle: bool, in_handle: bool, in_data: bool
) -> None:
    opened = application.open("Q1")
    run_mqsc(f"ALTER QLOCAL(Q1) PROPCTL({control})")
    put(application, b"data", colour="red")
    handle = handle_of(application)
    gmo = pymqi.GMO(Version=CMQC.MQGMO_VERSION_4)
    if with_handle:
        gmo.MsgHandle = handle.msg_handle
    md = pymqi.MD()
    body = opened.get(None, md, gmo)
    assert (md.Format, body == b"data") == ((CMQC.MQFMT_RF_HEADER_2, False) if in_data else (b"MQSTR   ", True))
    if in_handle:
        assert handle.properties.get(b"colour") == "red"
    else:
        with refused(CMQC.MQRC_PROPERTY_NOT_AVAILABLE):
            handle.properties.get(b"colour")


@pytest.mark.parametrize("kind", ["i1", "i2", "i4", "i8", "int", "r4"])
def test_a_number_that_its_type_does_not_hold_leaves_the_header_in_the_data(
    application: Application, kind: str
) -> None:
    number = "1e300" if kind == "r4" else "9" * 30
    header = MQRFH2(format="MQSTR", coded_char_set_id=1208).with_folders(f"<usr><n dt='{kind}'>{number}</n></usr>")
    body = header.pack() + b"data"
    application.put("Q1", body, Format=CMQC.MQFMT_RF_HEADER_2)
    gmo = pymqi.GMO(Version=CMQC.MQGMO_VERSION_4, Options=CMQC.MQGMO_PROPERTIES_IN_HANDLE)
    gmo.MsgHandle = handle_of(application).msg_handle
    assert application.open("Q1").get(None, pymqi.MD(), gmo) == body


def test_a_folder_that_is_not_valid_stays_in_the_data_and_hides_no_property(application: Application) -> None:
    """IBM MQ, "MQRFH2 headers that are not valid"."""
    bad, good = "<<mcd>  ", "<usr><colour>red</colour></usr> "
    header = MQRFH2(format="MQSTR", coded_char_set_id=1208)
    body = header.with_folders(bad, good).pack() + b"data"
    application.put("Q1", body, Format=CMQC.MQFMT_RF_HEADER_2)
    handle = handle_of(application)
    gmo = pymqi.GMO(Version=CMQC.MQGMO_VERSION_4, Options=CMQC.MQGMO_PROPERTIES_IN_HANDLE)
    gmo.MsgHandle = handle.msg_handle
    md = pymqi.MD()
    assert application.open("Q1").get(None, md, gmo) == header.with_folders(bad).pack() + b"data"
    assert (md.Format, handle.properties.get(b"colour")) == (CMQC.MQFMT_RF_HEADER_2, "red")


def test_properties_are_inquired_one_after_the_other(application: Application) -> None:
    put(application, b"data", **{f"p{number}": str(number) for number in range(3)})
    handle = handle_of(application)
    gmo = pymqi.GMO(Version=CMQC.MQGMO_VERSION_4, Options=CMQC.MQGMO_PROPERTIES_IN_HANDLE)
    gmo.MsgHandle = handle.msg_handle
    application.open("Q1").get(None, pymqi.MD(), gmo)
    first = handle.properties.get(b"%", impo_options=CMQC.MQIMPO_INQ_FIRST)
    others = [handle.properties.get(b"%", impo_options=CMQC.MQIMPO_INQ_NEXT) for _ in range(2)]
    assert [first, *others] == ["0", "1", "2"]
    with refused(CMQC.MQRC_PROPERTY_NOT_AVAILABLE):
        handle.properties.get(b"%", impo_options=CMQC.MQIMPO_INQ_NEXT)


@pytest.mark.parametrize("name", [b"two words", b"<tag>"])
def test_names_no_property_can_have(application: Application, name: bytes) -> None:
    with refused(CMQC.MQRC_PROPERTY_NAME_ERROR):
        handle_of(application).properties.set(name, "value")


def test_handle_that_is_none(application: Application) -> None:
    gmo = pymqi.GMO(Version=CMQC.MQGMO_VERSION_4, Options=CMQC.MQGMO_PROPERTIES_IN_HANDLE)
    with refused(CMQC.MQRC_HMSG_ERROR):
        application.open("Q1").get(None, pymqi.MD(), gmo)


WRITTEN = [
    # Encoding and CCSID of the data; the data; CCSID of the header that carries the properties
    (546, 1208, "Grüße".encode(), 1208),
    (273, 819, "Grüße".encode("latin-1"), 819),
    (546, 943, "漢字".encode("cp932"), 943),
    (785, 500, "Grüße".encode("cp500"), 1208),
    (785, 939, b"\x0e\x4f\x58\x0f\xc1", 1208),
    (546, 1200, "Grüße".encode("utf-16-le"), 1208),
    (785, 1200, "Grüße".encode("utf-16-be"), 1208),
]


@pytest.mark.parametrize(("encoding", "ccsid", "data", "of_header"), WRITTEN)
def test_the_data_may_be_in_a_CCSID_in_which_the_header_of_the_properties_is_not(
    application: Application, encoding: int, ccsid: int, data: bytes, of_header: int
) -> None:
    """IBM MQ, "MQRFH2": its fields are in the CCSID that stands before it, one with single-byte characters."""
    said = {"Encoding": encoding, "CodedCharSetId": ccsid}
    for _ in range(3):
        put(application, data, said, colour="rötlich")
    md, body = application.get("Q1")
    header = MQRFH2.unpack(body, encoding=md.Encoding, ccsid=md.CodedCharSetId)
    assert (md.Format.strip(), md.CodedCharSetId) == (b"MQHRF2", of_header)
    assert (header.encoding, header.coded_char_set_id, header.format) == (encoding, ccsid, "MQSTR")
    assert body[header.struc_length :] == data
    for options in (CMQC.MQGMO_PROPERTIES_IN_HANDLE, CMQC.MQGMO_NO_PROPERTIES):
        handle = handle_of(application)
        gmo = pymqi.GMO(Version=CMQC.MQGMO_VERSION_4, Options=options)
        if options == CMQC.MQGMO_PROPERTIES_IN_HANDLE:
            gmo.MsgHandle = handle.msg_handle
        md = pymqi.MD()
        assert application.open("Q1").get(None, md, gmo) == data
        assert (md.Format, md.Encoding, md.CodedCharSetId) == (CMQC.MQFMT_STRING, encoding, ccsid)
        if options == CMQC.MQGMO_PROPERTIES_IN_HANDLE:
            assert handle.properties.get(b"colour") == "rötlich"
