"""PCF both ways, in both byte orders, against bytes written by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mqwire import constants as c
from mqwire import pcf
from mqwire.errors import UnknownCcsid, UnknownEncoding, WireError
from mqwire.pcf import (
    MQCFBF,
    MQCFBS,
    MQCFGR,
    MQCFH,
    MQCFIF,
    MQCFIL,
    MQCFIL64,
    MQCFIN,
    MQCFIN64,
    MQCFSF,
    MQCFSL,
    MQCFST,
    Message,
    Parameter,
)


def big(*numbers: int) -> bytes:
    return b"".join(number.to_bytes(4, "big", signed=True) for number in numbers)


def header(count: int, command: int = 1) -> bytes:
    return big(1, 36, 1, command, 1, 1, 0, 0, count)


def message(*parameters: Parameter) -> Message:
    return Message(header=MQCFH(command=1), parameters=parameters)


# parameter, its bytes in big-endian ASCII
CASES: list[tuple[Parameter, bytes]] = [
    (MQCFIN(parameter=22, value=-3), big(3, 16, 22, -3)),
    (MQCFST(parameter=2016, value="ABC"), big(4, 24, 2016, 0, 3) + b"ABC\0"),
    (MQCFST(parameter=2016, value="AB", ccsid=819, length=4), big(4, 24, 2016, 819, 4) + b"AB  "),
    (MQCFST(parameter=2016, value=""), big(4, 20, 2016, 0, 0)),
    (MQCFST(parameter=2016, value="A\0\0"), big(4, 24, 2016, 0, 3) + b"A\0\0\0"),  # NUL within StringLength is text
    (MQCFST(parameter=2016, value="A", padding=b"xyz"), big(4, 24, 2016, 0, 1) + b"Axyz"),
    (MQCFST(parameter=2016, value="A", padding=b"xyz\0\0\0\0"), big(4, 28, 2016, 0, 1) + b"Axyz\0\0\0\0"),
    (MQCFIL(parameter=1002, value=(1, -2)), big(5, 24, 1002, 2, 1, -2)),
    (MQCFIL(parameter=1002, value=()), big(5, 16, 1002, 0)),
    (MQCFSL(parameter=3, value=("A", "BCD", "")), big(6, 36, 3, 0, 3, 3) + b"A  BCD   " + bytes(3)),
    (MQCFSL(parameter=3, value=("A",), length=8), big(6, 32, 3, 0, 1, 8) + b"A       "),
    (MQCFSL(parameter=3, value=()), big(6, 24, 3, 0, 0, 0)),
    (MQCFSL(parameter=3, value=("",), length=0), big(6, 24, 3, 0, 1, 0)),  # as pymqi sends an empty list
    (MQCFBS(parameter=7001, value=b"\0\xff "), big(9, 20, 7001, 3) + b"\0\xff \0"),
    (MQCFIF(parameter=3, operator=c.MQCFOP_GREATER, value=5), big(13, 20, 3, 4, 5)),
    (MQCFSF(parameter=2016, operator=c.MQCFOP_LIKE, value="A*"), big(14, 28, 2016, 18, 0, 2) + b"A*\0\0"),
    (MQCFBF(parameter=7001, operator=c.MQCFOP_EQUAL, value=b"\1"), big(15, 24, 7001, 2, 1) + b"\1\0\0\0"),
    (MQCFIN64(parameter=744, value=2**40), big(23, 24, 744, 0) + (2**40).to_bytes(8, "big")),
    (MQCFIN64(parameter=744, value=-1, reserved=7), big(23, 24, 744, 7) + b"\xff" * 8),
    (MQCFIL64(parameter=745, value=(1, -1)), big(25, 32, 745, 2) + (1).to_bytes(8, "big") + b"\xff" * 8),
    (
        MQCFGR(parameter=8003, value=(MQCFIN(parameter=1, value=2), MQCFGR(parameter=8004, value=()))),
        big(20, 16, 8003, 2) + big(3, 16, 1, 2) + big(20, 16, 8004, 0),
    ),
]


@pytest.mark.parametrize(("parameter", "raw"), CASES)
def test_each_structure_against_bytes_written_by_hand(parameter: Parameter, raw: bytes) -> None:
    assert pcf.decode(header(1) + raw, encoding=273) == message(parameter)
    assert pcf.encode(message(parameter), encoding=273) == header(1) + raw


@pytest.mark.parametrize(("encoding", "ccsid"), [(546, 819), (273, 500), (546, 1208), (273, 1200), (546, 1047)])
def test_whole_message_in_other_encodings_and_character_sets(encoding: int, ccsid: int) -> None:
    plain = [parameter for parameter, _ in CASES if getattr(parameter, "length", None) is None]
    before = message(*(parameter for parameter in plain if getattr(parameter, "padding", None) is None))
    raw = pcf.encode(before, encoding=encoding, ccsid=ccsid)
    assert pcf.decode(raw, encoding=encoding, ccsid=ccsid) == before


def test_header_fields() -> None:
    head = MQCFH(
        command=c.MQCMD_INQUIRE_Q,
        type=c.MQCFT_RESPONSE,
        version=3,
        msg_seq_number=2,
        control=0,
        comp_code=2,
        reason=3019,
    )
    raw = pcf.encode(Message(header=head), encoding=273)
    assert raw == big(2, 36, 3, 13, 2, 0, 2, 3019, 0)
    assert pcf.decode(raw, encoding=273).header == head


def test_own_ccsid_of_a_string_wins() -> None:
    item = MQCFST(parameter=1, value="é", ccsid=1208)
    assert b"\xc3\xa9" in pcf.encode(message(item), ccsid=37)
    with pytest.raises(UnknownCcsid, match=r"MQCFST\.CodedCharSetId at offset 48: CCSID 31337 is unknown"):
        pcf.decode(header(1) + big(4, 20, 1, 31337, 0), encoding=273)


def test_values_by_identifier() -> None:
    found = message(
        MQCFST(parameter=c.MQCA_Q_NAME, value="Q1\0\0"),
        MQCFSL(parameter=c.MQCACF_Q_NAMES, value=("A\0", "B")),
        MQCFIN(parameter=c.MQIA_CURRENT_Q_DEPTH, value=3),
        MQCFIN(parameter=c.MQIA_CURRENT_Q_DEPTH, value=4),
        MQCFGR(parameter=8003, value=(MQCFIN(parameter=1, value=2),)),
        MQCFGR(parameter=8003, value=(MQCFIN(parameter=1, value=3),)),
    )
    assert found.value(c.MQCA_Q_NAME) == "Q1"
    assert found.value(c.MQCACF_Q_NAMES) == ("A", "B")
    assert found.value(c.MQIA_MAX_Q_DEPTH, 5000) == 5000
    assert found.find(c.MQIA_MAX_Q_DEPTH) is None
    assert len(list(found.find_all(c.MQIA_CURRENT_Q_DEPTH))) == 2
    assert found.values()[8003] == [{1: 2}, {1: 3}]
    group, value = MQCFGR(parameter=8003, value=()), MQCFIN(parameter=8003, value=1)
    assert message(value, group, group).values() == {8003: [{}, {}]}
    assert message(group, value).values() == {8003: 1}


def test_a_message_within_other_bytes() -> None:
    raw = pcf.encode(message(CASES[0][0]))
    found, end = pcf.decode_from(b"EPH." + raw + b"rest", offset=4)
    assert (found, end) == (message(CASES[0][0]), 4 + len(raw))


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (header(0)[:20], "MQCFH.Control at offset 20: 20 bytes where 36 are needed"),
        (big(1, 40, 1, 1, 1, 1, 0, 0, 0), "MQCFH.StrucLength at offset 4: 40 is not 36"),
        (big(1, 36, 9, 1, 1, 1, 0, 0, 0), "MQCFH.Version at offset 8: version 9 is not one of 1, 2, 3"),
        (header(1), "MQCFH.ParameterCount at offset 32: 1 parameters where the bytes hold at most 0"),
        (header(-1), "MQCFH.ParameterCount at offset 32: -1 parameters"),
        (
            header(0) + bytes(8),
            "MQCFH.ParameterCount at offset 32: 8 bytes follow the last parameter, which ends at 36",
        ),
        (
            header(2) + big(5, 20, 1, 1, 1) + bytes(12),
            "PCF parameter.Value at offset 68: 12 bytes where at least 16 are needed",
        ),
        (header(1) + bytes(3), "MQCFH.ParameterCount at offset 32: 1 parameters where the bytes hold at most 0"),
        (
            header(2) + big(20, 16, 1, 0) + big(5, 28, 1, 0, 0, 0, 0)[:3],
            "MQCFH.ParameterCount at offset 32: 2 parameters where the bytes hold at most 1",
        ),
        (header(2) + big(5, 32, 1, 0, *[0] * 4), "PCF parameter.Type at offset 68: 0 bytes where at least 16"),
        (
            header(2) + big(5, 32, 1, 0, *[0] * 4) + big(4)[:3],
            "PCF parameter.Type at offset 68: 3 bytes where at least 16",
        ),
        (
            header(2) + big(5, 32, 1, 0, *[0] * 4) + big(4, 20)[:6],
            "MQCFST.StrucLength at offset 72: 6 bytes where at least 16 are needed",
        ),
        (
            header(2) + big(5, 24, 1, 0, *[0] * 2) + big(14, 20, 1)[:11],
            "MQCFSF.Parameter at offset 68: 11 bytes where at least 16 are needed",
        ),
        (
            header(2) + big(5, 20, 1, 0, 0) + big(14, 20, 1),
            "MQCFSF.Operator at offset 68: 12 bytes where at least 16 are needed",
        ),
        (header(1) + big(99, 16, 1, 1), "PCF parameter.Type at offset 36: 99 is not a parameter type"),
        (header(1) + big(3, 15, 1, 1), "MQCFIN.StrucLength at offset 40: 15 is not a multiple of 4 from 16 to 16"),
        (header(1) + big(3, -16, 1, 1), "MQCFIN.StrucLength at offset 40: -16 is not"),
        (header(1) + big(3, 20, 1, 1), "MQCFIN.StrucLength at offset 40: 20 is not a multiple of 4 from 16 to 16"),
        (header(1) + big(3, 20, 1, 1, 0), "MQCFIN.StrucLength at offset 40: 20 is not 16"),
        (header(1) + big(13, 24, 1, 1, 0, 0), "MQCFIF.StrucLength at offset 40: 24 is not 20"),
        (header(1) + big(20, 20, 1, 0, 0), "MQCFGR.StrucLength at offset 40: 20 is not 16"),
        (header(1) + big(23, 16, 1, 1), "MQCFIN64.StrucLength at offset 40: 16 is not 24"),
        (
            header(1) + big(4, 20, 1, 0, 1),
            "MQCFST.StringLength at offset 52: 1 bytes of data where the structure holds 0",
        ),
        (header(1) + big(4, 20, 1, 0, -1), "MQCFST.StringLength at offset 52: -1 bytes of data"),
        (header(1) + big(4, 24, 1, 1208, 1) + b"\xff\0\0\0", "MQCFST.String at offset 56: not text in CCSID 1208"),
        (header(1) + big(5, 20, 1, 2, 1), "MQCFIL.Count at offset 48: 2 values where the structure holds at most 1"),
        (header(1) + big(25, 24, 1, 2**31 - 1, 0, 1), "MQCFIL64.Count at offset 48: 2147483647 values"),
        (
            header(1) + big(6, 28, 1, 0, 3, 2, 0),
            "MQCFSL.Count at offset 52: 3 strings of 2 bytes where the structure holds 4",
        ),
        (header(1) + big(6, 24, 1, 0, 2**31 - 1, 0), "MQCFSL.Count at offset 52: 2147483647 strings of 0 bytes"),
        (header(1) + big(6, 24, 1, 0, 1, 1), "MQCFSL.StringLength at offset 56: 1 bytes where the structure holds 0"),
        (header(1) + big(9, 16, 1, 1), "MQCFBS.StringLength at offset 48: 1 bytes of data where the structure holds 0"),
        (header(1) + big(14, 24, 1, 1, 0, 1), "MQCFSF.FilterValueLength at offset 56: 1 bytes of data"),
        (header(1) + big(15, 20, 1, 1, 1), "MQCFBF.FilterValueLength at offset 52: 1 bytes of data"),
        (
            header(1) + big(20, 16, 1, 1),
            "MQCFGR.ParameterCount at offset 48: 1 parameters where the bytes hold at most 0",
        ),
        (header(1) + big(20, 16, 1, 1) * 40, "MQCFGR.ParameterCount at offset 560: groups are nested deeper than 32"),
    ],
)
def test_malformed_messages_are_refused(raw: bytes, said: str) -> None:
    with pytest.raises(WireError) as caught:
        pcf.decode(raw, encoding=273)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: MQCFIN(parameter=1, value=2**31), "MQCFIN.Value at offset 12: parameter 1: "),
        (lambda: MQCFST(parameter=1, value="€"), "MQCFST.String at offset 20: '€' is not in CCSID 819"),
        (lambda: MQCFST(parameter=1, value="ABC", length=2), "'ABC' has 3 bytes and does not fill 2"),
        (lambda: MQCFST(parameter=1, value="A", ccsid=1202, length=5), "'A' has 2 bytes and does not fill 5"),
        (
            lambda: MQCFST(parameter=1, value="A", padding=b""),
            "MQCFST.StrucLength at offset 4: 21 is not a multiple of 4",
        ),
        (lambda: MQCFSL(parameter=1, value=("€",)), "MQCFSL.Strings at offset 24: text is not in CCSID 819"),
        (
            lambda: MQCFSL(parameter=1, value=("", ""), length=0),
            "MQCFSL.StringLength at offset 20: 2 strings of no length",
        ),
        (lambda: MQCFIL64(parameter=1, value=(2**63,)), "MQCFIL64.Values at offset 16: parameter 1: "),
        (lambda: MQCFIN(parameter=2**31, value=2), "MQCFIN.Parameter at offset 8: parameter 2147483648: "),
        (lambda: MQCFIN64(parameter=1, value=2**63), "MQCFIN64.Value at offset 16: parameter 1: "),
        (lambda: MQCFIF(parameter=1, operator=2**31, value=1), "MQCFIF.Operator at offset 12: parameter 1: "),
        (
            lambda: MQCFST(parameter=1, value="A", ccsid=31337),
            "MQCFST.CodedCharSetId at offset 12: CCSID 31337 is unknown",
        ),
        (
            lambda: MQCFSF(parameter=1, operator=18, value="A", ccsid=-3),
            "MQCFSF.CodedCharSetId at offset 16: CCSID -3 means the application's one",
        ),
    ],
)
def test_values_that_do_not_fit_are_refused(call: Callable[[], Parameter], said: str) -> None:
    with pytest.raises(WireError) as caught:
        pcf.encode(message(call()))
    assert said in str(caught.value)


def test_header_that_does_not_fit_is_refused() -> None:
    with pytest.raises(WireError, match=r"MQCFH\.Command at offset 12"):
        pcf.encode(Message(header=MQCFH(command=2**40)))
    with pytest.raises(UnknownEncoding, match=r"MQCFH\.Type at offset 0: byte order of integers unknown in encoding 0"):
        pcf.encode(Message(header=MQCFH(command=1)), encoding=0)
    with pytest.raises(UnknownEncoding, match=r"MQCFH\.Type at offset 4: byte order of integers unknown in encoding 0"):
        pcf.decode(bytes(40), encoding=0, offset=4)


def test_parameters_of_all_types_are_covered() -> None:
    covered: set[type[Any]] = {type(parameter) for parameter, _ in CASES}
    assert len(covered) == 11
