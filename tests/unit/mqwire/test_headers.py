"""The chain of headers: each is read as the one before says, and nothing is guessed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from mqwire import constants as c
from mqwire.errors import UnknownCcsid, UnknownEncoding, WireError
from mqwire.headers import MQH, is_header, split_dlh, walk
from mqwire.rfh2 import MQRFH2
from mqwire.structures import MQDLH, MQMD, MQMDE, MQXQH

BODY = b"payload"


def dlh(**values: Any) -> MQDLH:
    return MQDLH(
        **{"reason": 2085, "dest_q_name": "Q", "format": "MQSTR", "encoding": 546, "coded_char_set_id": 850} | values
    )


def test_no_header() -> None:
    chain = walk("MQSTR", 546, 819, BODY)
    assert (chain.headers, chain.format, chain.encoding, chain.ccsid, chain.payload_offset) == (
        (),
        "MQSTR",
        546,
        819,
        0,
    )


def test_header_and_data_may_differ_in_everything() -> None:
    chain = walk("MQDEAD", 273, 819, dlh().pack(encoding=273) + BODY)
    (header,) = chain.headers
    assert (header.name, header.offset, header.length, header.encoding, header.ccsid) == ("MQDLH", 0, 172, 273, 819)
    assert (chain.format, chain.encoding, chain.ccsid, chain.payload_offset) == ("MQSTR", 546, 850, 172)
    assert chain.first("MQDLH") == header
    assert chain.first("MQRFH2") is None


def test_P01_a_long_chain_is_walked_to_its_payload() -> None:
    xqh = MQXQH(
        remote_q_name="Q",
        msg_desc=MQMD(version=1, format="MQHMDE", encoding=273, coded_char_set_id=37),
    ).pack(encoding=546, ccsid=819)
    mde = MQMDE(format="MQHRF2", encoding=546, coded_char_set_id=1208).pack(encoding=273, ccsid=37)
    rfh = MQRFH2(format="MQSTR", encoding=273, coded_char_set_id=1200).with_folders("<usr><a>é</a></usr>", encoding=546)
    body = dlh(format="MQXMIT", encoding=546, coded_char_set_id=819).pack(encoding=785, ccsid=500)
    body += xqh + mde + rfh.pack(encoding=546, ccsid=1208) + BODY
    chain = walk("MQDEAD", 785, 500, body)
    assert [header.name for header in chain.headers] == ["MQDLH", "MQXQH", "MQMDE", "MQRFH2"]
    assert [header.encoding for header in chain.headers] == [785, 546, 273, 546]
    assert [header.ccsid for header in chain.headers] == [500, 819, 37, 1208]
    assert (chain.format, chain.encoding, chain.ccsid) == ("MQSTR", 273, 1200)
    assert body[chain.payload_offset :] == BODY


@dataclass(frozen=True)
class OfFamily:
    """A header that begins as MQIIH does. Parameters: `data` CCSID of what follows it, if it says 1208 and is in 37."""

    format: str
    name: str
    struc_id: str
    length: int
    data: int = 1208


FAMILY = [
    OfFamily("MQIMS", "MQIIH", "IIH", 84, data=37),  # reserved: as the header
    OfFamily("MQCICS", "MQCIH", "CIH", 164, data=37),
    OfFamily("MQCICS", "MQCIH", "CIH", 180, data=37),
    OfFamily("MQHDIST", "MQDH", "DH", 48),
    OfFamily("MQHRF", "MQRFH", "RFH", 32),
    OfFamily("MQHRF", "MQRFH", "RFH", 43),  # not a multiple of 4
    OfFamily("MQHREF", "MQRMH", "RMH", 108),
    OfFamily("MQHWIH", "MQWIH", "WIH", 120),
    OfFamily("MQHSAP", "MQSAPH", "SAPH", 108),
    OfFamily("MQHEPCF", "MQEPH", "EPH", 68),
    OfFamily("MQHOWN", "MQHOWN", "OWN", 32),  # an application's own header of the family
]


@pytest.mark.parametrize("one", FAMILY, ids=lambda one: f"{one.name}-{one.length}")
@pytest.mark.parametrize("said", [1208, c.MQCCSI_INHERIT, 0])
def test_who_says_what_follows_a_header(one: OfFamily, said: int) -> None:
    head = MQH(struc_id=one.struc_id, struc_length=one.length, format="MQSTR", encoding=546, coded_char_set_id=said)
    body = head.pack(encoding=273, ccsid=37) + bytes(one.length - 32) + BODY
    chain = walk(one.format, 273, 37, body)
    assert (chain.headers[0].name, chain.headers[0].value) == (one.name, head)
    by_itself = one.data == 1208
    expected = 37 if said == c.MQCCSI_INHERIT or not by_itself else said
    assert (chain.format, chain.ccsid, chain.payload_offset) == ("MQSTR", expected, one.length)
    assert chain.encoding == (546 if by_itself else 273)


def test_reserved_fields_may_hold_anything_before_a_next_header() -> None:
    """MQIIH and MQCIH of the bridges say 0 or anything else: the header behind them is in their own CCSID."""
    rfh = MQRFH2(format="MQSTR", coded_char_set_id=c.MQCCSI_INHERIT).pack(encoding=273, ccsid=37)
    head = MQH(struc_id="IIH", struc_length=84, format="MQHRF2", encoding=0, coded_char_set_id=31337)
    body = head.pack(encoding=273, ccsid=37) + bytes(52) + rfh + BODY
    chain = walk("MQIMS", 273, 37, body)
    assert [(header.name, header.encoding, header.ccsid) for header in chain.headers] == [
        ("MQIIH", 273, 37),
        ("MQRFH2", 273, 37),
    ]
    assert (chain.format, chain.ccsid) == ("MQSTR", 37)


def test_inherited_ccsid_is_that_of_the_header_that_says_it() -> None:
    rfh = MQRFH2(format="MQSTR", coded_char_set_id=c.MQCCSI_INHERIT)
    assert walk("MQHRF2", 273, 37, rfh.pack(encoding=273, ccsid=37) + BODY).ccsid == 37


def test_ccsid_of_the_queue_manager_is_used_only_where_it_is_given() -> None:
    body = dlh(format="MQHRF2", coded_char_set_id=0).pack() + MQRFH2(coded_char_set_id=0).pack()
    with pytest.raises(UnknownCcsid, match="CCSID 0 means the queue manager's one"):
        walk("MQDEAD", 546, 819, body)
    assert walk("MQDEAD", 546, 819, body, q_mgr_ccsid=1208).ccsid == 1208
    assert walk("MQDEAD", 546, 0, body, q_mgr_ccsid=1208).headers[1].ccsid == 1208


def test_undefined_encoding_of_the_data_matters_only_to_a_next_header() -> None:
    assert walk("MQDEAD", 546, 819, MQDLH().pack()).encoding == 0
    with pytest.raises(UnknownEncoding):
        walk("MQDEAD", 546, 819, dlh(format="MQHRF2", encoding=0).pack() + MQRFH2().pack())


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: walk("MQDEAD", 546, 819, b"DLH "), "MQDLH.Version at offset 4: 4 bytes where 8 are needed"),
        (
            lambda: walk("MQDEAD", 546, 819, dlh().pack()[:171]),
            "MQDLH.PutTime at offset 164: 171 bytes where 172 are needed",
        ),
        (lambda: walk("MQDEAD", 273, 819, dlh().pack()), "MQDLH.Version at offset 4: version 16777216"),
        (
            lambda: walk("MQDEAD", 546, 819, dlh(format="MQXMIT", coded_char_set_id=819).pack() + bytes(428)),
            "MQXQH.StrucId at offset 172",
        ),
        (
            lambda: walk("MQHMDE", 546, 819, MQMDE(struc_length=80).pack() + bytes(80)),
            "MQMDE.StrucLength at offset 8: 80 is not 72",
        ),
        (
            lambda: walk("MQIMS", 546, 819, MQH(struc_id="IIH", struc_length=32).pack() + bytes(90)),
            "MQIIH.StrucLength at offset 8: 32 is not from 84 to 122",
        ),
        (
            lambda: walk("MQHOWN", 546, 819, MQH(struc_id="OWN", struc_length=0).pack()),
            "MQHOWN.StrucLength at offset 8: 0 is not from 32 to 32",  # would never end
        ),
        (lambda: walk("MQHWIH", 546, 819, MQH(struc_id="IIH").pack()), "MQWIH.StrucId at offset 0: 'IIH' is not 'WIH'"),
        (lambda: walk("MQHWIH", 546, 819, b"WIH "), "MQWIH.Version at offset 4: 4 bytes where 8 are needed"),
        (lambda: walk("MQHRF2", 546, 819, b""), "MQRFH2.StrucId at offset 0: 0 bytes where 4 are needed"),
    ],
)
def test_a_header_that_is_not_what_the_format_says_raises(call: Callable[[], Any], said: str) -> None:
    with pytest.raises(WireError) as caught:
        call()
    assert said in str(caught.value)


NO_ORDER = "byte order of integers unknown in encoding 0"
NO_TEXT = "fixed-length fields cannot be in CCSID 1200"
XQH_THEN = {"version": 1, "format": "MQHRF2"}


@pytest.mark.parametrize(
    ("call", "said"),
    [
        # the MQMD of the message, whose offsets are its own
        (lambda: split_dlh("MQDEAD", 0, 819, dlh().pack()), f"MQMD.Encoding at offset 24: {NO_ORDER}"),
        (lambda: split_dlh("MQDEAD", 546, 1200, dlh().pack()), f"MQMD.CodedCharSetId at offset 28: {NO_TEXT}"),
        (lambda: split_dlh("MQDEAD", 546, 0, b"", q_mgr_ccsid=1200), f"MQMD.CodedCharSetId at offset 28: {NO_TEXT}"),
        (
            lambda: split_dlh("MQDEAD", 546, -1, dlh().pack()),
            "MQMD.CodedCharSetId at offset 28: CCSID -1 means the embedded one, which is not known here",
        ),
        (lambda: walk("MQDEAD", 0, 819, dlh().pack()), f"MQMD.Encoding at offset 24: {NO_ORDER}"),
        (lambda: walk("MQDEAD", 546, 1200, dlh().pack()), f"MQMD.CodedCharSetId at offset 28: {NO_TEXT}"),
        (lambda: walk("MQXMIT", 0, 819, b""), f"MQMD.Encoding at offset 24: {NO_ORDER}"),
        (lambda: walk("MQHOWN", 546, 31337, b""), "MQMD.CodedCharSetId at offset 28: CCSID 31337 is unknown"),
        # a header of the body
        (
            lambda: walk("MQDEAD", 546, 819, dlh(format="MQHRF2", encoding=0).pack() + MQRFH2().pack()),
            f"MQDLH.Encoding at offset 108: {NO_ORDER}",
        ),
        (
            lambda: walk("MQDEAD", 546, 819, dlh(format="MQHRF2", coded_char_set_id=1200).pack() + MQRFH2().pack()),
            f"MQDLH.CodedCharSetId at offset 112: {NO_TEXT}",
        ),
        (
            lambda: walk("MQHRF2", 546, 819, bytes(5) + MQRFH2(format="MQHMDE", encoding=0).pack(), offset=5),
            f"MQRFH2.Encoding at offset 17: {NO_ORDER}",
        ),
        (
            lambda: walk("MQHMDE", 546, 819, MQMDE(format="MQHRF2", coded_char_set_id=-3).pack()),
            "MQMDE.CodedCharSetId at offset 16: CCSID -3 means the application's one",
        ),
        (
            lambda: walk("MQHOWN", 546, 819, MQH(struc_id="OWN", format="MQHMDE", encoding=0).pack()),
            f"MQHOWN.Encoding at offset 12: {NO_ORDER}",
        ),
        # the MQMD that an MQXQH carries
        (
            lambda: walk("MQXMIT", 546, 819, MQXQH(msg_desc=MQMD(encoding=0, **XQH_THEN)).pack()),
            f"MQMD.Encoding at offset 128: {NO_ORDER}",
        ),
        (
            lambda: walk("MQXMIT", 546, 819, MQXQH(msg_desc=MQMD(coded_char_set_id=1200, **XQH_THEN)).pack()),
            f"MQMD.CodedCharSetId at offset 132: {NO_TEXT}",
        ),
    ],
)
def test_unknown_encoding_or_ccsid_is_told_of_the_field_that_says_it(call: Callable[[], Any], said: str) -> None:
    with pytest.raises(UnknownEncoding if said.endswith(NO_ORDER) else UnknownCcsid) as caught:
        call()
    assert str(caught.value).startswith(said)


ANNOUNCED = [
    *("MQDEAD", "MQXMIT", "MQIMS", "MQCICS", "MQHRF", "MQHRF2", "MQHMDE", "MQHDIST", "MQHREF", "MQHWIH", "MQHEPCF"),
    "MQHX",
]


@pytest.mark.parametrize("name", ANNOUNCED)
def test_a_report_without_data_has_the_format_of_its_original_and_no_header(name: str) -> None:
    """IBM MQ, "Conversion of report messages"."""
    for before, body in ((), b""), (("MQDLH",), dlh(format=name).pack()):
        said = "MQDEAD" if before else name
        chain = walk(said, 546, 819, body, msg_type=c.MQMT_REPORT)
        assert (tuple(one.name for one in chain.headers), chain.format, chain.payload_offset) == (
            before,
            name,
            len(body),
        )
        for msg_type, data in ((c.MQMT_DATAGRAM, body), (c.MQMT_REPORT, body + b"x")):
            with pytest.raises(WireError):
                walk(said, 546, 819, data, msg_type=msg_type)


def test_format_may_be_the_bytes_of_the_descriptor() -> None:
    assert walk(b"MQSTR   ", 546, 819, BODY).format == "MQSTR"
    assert walk(b"MQDEAD\0\0", 546, 819, dlh().pack()).format == "MQSTR"


def test_which_formats_are_headers() -> None:
    assert all(map(is_header, ("MQDEAD", "MQXMIT", "MQHMDE", "MQHRF2", "MQIMS", "MQCICS", "MQHANY")))
    assert not any(map(is_header, ("", "MQSTR", "MQPCF", "MQTRIG", "MQADMIN", "MQEVENT")))


def test_split_dlh() -> None:
    body = dlh().pack(encoding=273, ccsid=37) + BODY
    assert split_dlh("MQDEAD", 273, 37, body) == (dlh(), BODY)
    assert split_dlh(b"MQDEAD  ", 273, 37, memoryview(body)) == (dlh(), BODY)
    assert split_dlh("MQDEAD", 273, 0, body, q_mgr_ccsid=37) == (dlh(), BODY)
    assert split_dlh("MQSTR", 273, 37, body) is None
    assert split_dlh("", 273, 37, body, any_format=True) == (dlh(), BODY)
    with pytest.raises(WireError, match=r"MQDLH\.StrucId at offset 0"):
        split_dlh("MQDEAD", 273, 819, body)


def test_a_chain_has_at_most_32_headers() -> None:
    link = dlh(format="MQDEAD", encoding=546, coded_char_set_id=819).pack()
    last = dlh(format="MQSTR", encoding=546, coded_char_set_id=819).pack()
    assert len(walk("MQDEAD", 546, 819, link * 31 + last).headers) == 32
    with pytest.raises(WireError, match=r"MQDLH\.StrucId at offset 5504: there are more than 32 headers"):
        walk("MQDEAD", 546, 819, link * 32 + last)
