"""What becomes of the headers of a message at MQPUT: MQCCSI_INHERIT, and the group fields in an MQMDE."""

from __future__ import annotations

from typing import Any

import pytest
from mqlite_support import Application, refused, run_mqsc
from pymqi import CMQC

from mqwire import constants as c
from mqwire.headers import MQH, Header, walk
from mqwire.rfh2 import MQRFH2
from mqwire.structures import MQDLH, MQMDE, MQXQH

NATIVE = c.MQENC_NATIVE
SWAPPED = 273
IN_GROUP = {"GroupId": b"G" * 24, "MsgSeqNumber": 3, "MsgFlags": CMQC.MQMF_MSG_IN_GROUP}
SEGMENT = {
    "GroupId": b"G" * 24,
    "MsgSeqNumber": 3,
    "Offset": 40,
    "MsgFlags": CMQC.MQMF_MSG_IN_GROUP | CMQC.MQMF_SEGMENT,
}


def chain_of(application: Application, queue: str = "Q1") -> tuple[Any, bytes, tuple[Header, ...], Any]:
    """What is got: descriptor, data, headers, chain."""
    md, body = application.get(queue)
    chain = walk(md.Format, md.Encoding, md.CodedCharSetId, body)
    return md, body, chain.headers, chain


def family(struc_id: str, length: int, next_format: str) -> bytes:
    head = MQH(struc_id=struc_id, struc_length=length, format=next_format, encoding=NATIVE, coded_char_set_id=-2)
    return head.pack() + bytes(length - 32)


# a header that says MQCCSI_INHERIT, by IBM's page of it: its format, its bytes, what MQGET returns of it
@pytest.mark.parametrize(
    ("format_name", "header", "returned"),
    [
        (c.MQFMT_DEAD_LETTER_HEADER, MQDLH(format="MQSTR", encoding=NATIVE, coded_char_set_id=-2).pack(), 819),
        (c.MQFMT_RF_HEADER_2, MQRFH2(format="MQSTR", coded_char_set_id=-2).pack(), 819),
        (c.MQFMT_RF_HEADER_1, family("RFH", 32, "MQSTR"), 819),
        (c.MQFMT_DIST_HEADER, family("DH", 48, "MQSTR"), 819),
        (c.MQFMT_REF_MSG_HEADER, family("RMH", 108, "MQSTR"), 819),
        (c.MQFMT_WORK_INFO_HEADER, family("WIH", 120, "MQSTR"), 819),
        (c.MQFMT_EMBEDDED_PCF, family("EPH", 68, "MQSTR"), 819),
        (c.MQFMT_IMS, family("IIH", 84, "MQSTR"), -2),  # reserved
        (c.MQFMT_CICS, family("CIH", 164, "MQSTR"), -2),  # reserved
    ],
)
def test_an_inherited_ccsid_is_the_actual_one_after_mqput(
    application: Application, format_name: str, header: bytes, returned: int
) -> None:
    application.put("Q1", header + b"data", Format=format_name.encode().ljust(8), CodedCharSetId=819, Encoding=NATIVE)
    _md, body, headers, chain = chain_of(application)
    value = headers[0].value
    assert not isinstance(value, MQXQH)
    assert (value.coded_char_set_id, chain.ccsid) == (returned, 819)
    assert body[chain.payload_offset :] == b"data"
    assert len(body) == len(header) + 4


def test_each_header_of_a_chain_inherits_its_own_ccsid_in_its_own_byte_order(application: Application) -> None:
    rfh = MQRFH2(format="MQHOWN", encoding=NATIVE, coded_char_set_id=-2).pack(encoding=SWAPPED, ccsid=37)
    own = MQH(struc_id="OWN", struc_length=32, format="MQSTR", coded_char_set_id=-2).pack(encoding=NATIVE, ccsid=37)
    dlh = MQDLH(format="MQHRF2", encoding=SWAPPED, coded_char_set_id=37).pack()
    payload = b"\xfe\xff\xff\xff\xff\xff\xff\xfe"  # is data, and stays
    application.put("Q1", dlh + rfh + own + payload, Format=CMQC.MQFMT_DEAD_LETTER_HEADER, CodedCharSetId=819)
    _md, body, headers, chain = chain_of(application)
    assert [getattr(one.value, "coded_char_set_id", 0) for one in headers] == [37, 37, 37]
    assert body[chain.payload_offset :] == payload


def test_behind_a_header_that_is_not_valid_nothing_is_changed(application: Application) -> None:
    dlh = MQDLH(format="MQHRF2", encoding=NATIVE, coded_char_set_id=-2).pack()
    rest = b"\xfe\xff\xff\xff no MQRFH2"
    application.put("Q1", dlh + rest, Format=CMQC.MQFMT_DEAD_LETTER_HEADER, CodedCharSetId=819)
    body = application.get("Q1")[1]
    assert MQDLH.unpack(body).coded_char_set_id == 819
    assert body[172:] == rest


def test_in_the_descriptor_it_is_that_of_the_queue_manager(application: Application) -> None:
    application.put("Q1", b"data", Format=CMQC.MQFMT_STRING, CodedCharSetId=-2)
    application.put("Q1", b"data", Format=CMQC.MQFMT_STRING, CodedCharSetId=0)
    inherits, zero = application.get("Q1")[0], application.get("Q1")[0]
    assert inherits.CodedCharSetId == zero.CodedCharSetId > 0


def extension(**fields: Any) -> MQMDE:
    values = {"format": "MQSTR", "encoding": SWAPPED, "coded_char_set_id": 850, "group_id": b"G" * 24}
    return MQMDE(**values | {"msg_seq_number": 3, "msg_flags": c.MQMF_MSG_IN_GROUP} | fields)


@pytest.mark.parametrize("version", [1, 2])
def test_an_mqmde_before_the_data_is_honoured_where_the_descriptor_says_nothing(
    application: Application, version: int
) -> None:
    """IBM MQ, "MQMDE specified on MQPUT and MQPUT1 calls": version 1, or version 2 with default values."""
    application.put("Q1", extension().pack() + b"data", Version=version, Format=CMQC.MQFMT_MD_EXTENSION)
    md, body = application.get("Q1")
    assert (md.GroupId, md.MsgSeqNumber, md.MsgFlags) == (b"G" * 24, 3, CMQC.MQMF_MSG_IN_GROUP)
    assert (md.Format.strip(), md.Encoding, md.CodedCharSetId, body) == (b"MQSTR", SWAPPED, 850, b"data")


@pytest.mark.parametrize(
    ("header", "md"),
    [
        (extension().pack(), {**IN_GROUP, "MsgSeqNumber": 9}),  # the descriptor has other values
        (extension().pack(ccsid=37), {"CodedCharSetId": 37}),  # not the queue manager's character set
        (extension().pack(encoding=SWAPPED), {"Encoding": SWAPPED}),  # nor its encoding
        (extension(struc_length=80).pack(), {}),
        (extension().pack()[:71], {}),
    ],
)
def test_any_other_mqmde_is_data(application: Application, header: bytes, md: dict[str, Any]) -> None:
    application.put("Q1", header, Format=CMQC.MQFMT_MD_EXTENSION, **md)
    got, body = application.get("Q1")
    assert (got.Format, body, got.MsgSeqNumber) == (CMQC.MQFMT_MD_EXTENSION, header, md.get("MsgSeqNumber", 1))


def test_an_mqmde_with_values_that_are_not_valid_fails_the_call(application: Application) -> None:
    with refused(CMQC.MQRC_MSG_SEQ_NUMBER_ERROR):
        application.put("Q1", extension(msg_seq_number=0).pack(), Format=CMQC.MQFMT_MD_EXTENSION)


@pytest.mark.parametrize(("ccsid", "encoding"), [(819, NATIVE), (37, SWAPPED)])
def test_the_fields_of_a_segment_with_an_mqdlh_go_into_an_mqmde_behind_it(
    application: Application, ccsid: int, encoding: int
) -> None:
    """IBM MQ, "MQMDE": "There is one special case"."""
    dlh = MQDLH(reason=2053, dest_q_name="A", format="MQSTR", encoding=SWAPPED, coded_char_set_id=850)
    body = dlh.pack(encoding=encoding, ccsid=ccsid) + b"data"
    said = application.put(
        "Q1", body, Format=CMQC.MQFMT_DEAD_LETTER_HEADER, CodedCharSetId=ccsid, Encoding=encoding, **SEGMENT
    )
    assert (said.GroupId, said.Offset) == (b"G" * 24, 40)  # what MQPUT gives back to the putter
    md, body, headers, chain = chain_of(application)
    assert (md.GroupId, md.MsgSeqNumber, md.Offset, md.MsgFlags) == (bytes(24), 1, 0, 0)
    assert [one.name for one in headers] == ["MQDLH", "MQMDE"]
    moved = headers[1].value
    assert isinstance(moved, MQMDE)
    assert (moved.group_id, moved.msg_seq_number, moved.offset) == (b"G" * 24, 3, 40)
    assert moved.msg_flags == SEGMENT["MsgFlags"]
    assert (chain.format, chain.encoding, chain.ccsid) == ("MQSTR", SWAPPED, 850)
    assert body[chain.payload_offset :] == b"data"


def test_only_segments_with_a_valid_mqdlh_are_changed(application: Application) -> None:
    """A message of a group that is no segment keeps its fields in the MQMD, and so does one without an MQDLH."""
    body = MQDLH(format="MQSTR", encoding=NATIVE, coded_char_set_id=819).pack() + b"data"
    application.put("Q1", body, Format=CMQC.MQFMT_DEAD_LETTER_HEADER, CodedCharSetId=819, **IN_GROUP)
    application.put("Q1", b"no header", Format=CMQC.MQFMT_DEAD_LETTER_HEADER, CodedCharSetId=819, **SEGMENT)
    for kept in (body, b"no header"):
        md, got = application.get("Q1")
        assert (md.GroupId, md.MsgSeqNumber, got) == (b"G" * 24, 3, kept)


def test_on_a_transmission_queue_the_mqmde_stays_behind_the_mqdlh(application: Application) -> None:
    run_mqsc("DEFINE QLOCAL(QM2) USAGE(XMITQ)\nDEFINE QREMOTE(R) RNAME(THEIR.DLQ) RQMNAME(QM2) XMITQ(QM2)")
    body = MQDLH(format="MQSTR", encoding=NATIVE, coded_char_set_id=819).pack() + b"data"
    application.put("R", body, Format=CMQC.MQFMT_DEAD_LETTER_HEADER, CodedCharSetId=819, **SEGMENT)
    _md, _body, headers, _chain = chain_of(application, "QM2")
    assert [one.name for one in headers] == ["MQXQH", "MQDLH", "MQMDE"]
