"""Every CCSID of IBM's lists: its family, the names of a header in it, and the text that can be converted."""

from __future__ import annotations

import sys
from collections import Counter

import pytest

from mqwire import ccsid as module
from mqwire.ccsid import UTF16, codec_for, decode, encode, is_known
from mqwire.code_pages import ELSEWHERE, Family, family_of, invariant_bytes, listed
from mqwire.errors import UnknownCcsid, WireError
from mqwire.icu_pages import conversion
from mqwire.structures import MQDLH

HEADERS = [one for one, family in listed().items() if family is not Family.WIDE]
SYMBOLS = {259, 896}  # pages without letters: no header is in them
NAMES = MQDLH(
    **{"reason": 2053, "dest_q_name": "ORDERS.IN/A_1%", "dest_q_mgr_name": "QM1", "format": "MQSTR"},
    **{"coded_char_set_id": -2, "encoding": 785, "put_appl_type": 2},
    **{"put_appl_name": "PAYROLL", "put_date": "20261126", "put_time": "01020304"},
)

# What IBM MQ's pages say of CCSIDs that hosts, PCs and Unix systems have as their own
FAMILIES = {
    Family.SINGLE_EBCDIC: (37, 290, 420, 423, 424, 500, 803, 833, 836, 838, 870, 880, 905, 924, 1025, 1026, 1027, 1153),
    Family.MIXED_EBCDIC: (930, 933, 935, 937, 939, 1364, 1371, 1388, 1390, 1399, 5026, 5035),
    Family.SINGLE_ASCII: (437, 813, 819, 850, 874, 1046, 1089, 1129, 1163, 1252, 1275, 1280, 5348, 9044, 9449),
    Family.MIXED_ASCII: (932, 938, 942, 943, 948, 949, 950, 954, 964, 970, 1208, 1363, 1381, 1383, 1386, 5050, 33722),
    Family.WIDE: (300, 301, 834, 835, 837, 941, 1200, 1202, 13488, 17584),
}
# How many of each family can be converted, and how many cannot
CONVERTED = {
    Family.SINGLE_EBCDIC: (79, 51),
    Family.MIXED_EBCDIC: (16, 18),
    Family.SINGLE_ASCII: (171, 110),
    Family.MIXED_ASCII: (22, 52),
    Family.WIDE: (12, 73),
}


def test_the_families_are_ibms() -> None:
    assert {one: family for one, family in listed().items() if family not in Family} == {}
    for family, ccsids in FAMILIES.items():
        assert {one: family_of(one) for one in ccsids} == dict.fromkeys(ccsids, family)
    assert {one for one, family in listed().items() if family is Family.WIDE} >= UTF16
    assert family_of(0) is family_of(-1) is family_of(31337) is None


def test_what_is_converted_is_counted() -> None:
    found = Counter((family, is_known(one)) for one, family in listed().items())
    assert {family: (found[family, True], found[family, False]) for family in Family} == CONVERTED


@pytest.mark.parametrize("encoding", [546, 785])
def test_the_names_of_a_header_are_read_in_every_ccsid_and_written_back_as_they_were(encoding: int) -> None:
    for ccsid in set(HEADERS) - SYMBOLS - {9306, 1021}:  # these two have no % and no _
        raw = NAMES.pack(encoding=encoding, ccsid=ccsid)
        assert raw[:4] == ("DLH ".encode("cp500") if "EBCDIC" in family_of(ccsid).value else b"DLH "), ccsid
        assert MQDLH.unpack(raw, encoding=encoding, ccsid=ccsid) == NAMES, ccsid


def test_the_invariant_characters_are_those_of_each_table() -> None:
    for ccsid in HEADERS:
        codec, page = codec_for(ccsid), conversion(ccsid)
        for byte, character in invariant_bytes(ccsid).items():
            raw = bytes([byte])
            assert (codec.decode(raw), codec.encode(character)) == (character, raw), ccsid
            assert page is None or page.text(raw) == character, ccsid
        if is_known(ccsid) and ccsid not in SYMBOLS:
            for character in ELSEWHERE.get(ccsid, frozenset()):
                assert encode_or_none(character, ccsid) not in invariant_bytes(ccsid), (ccsid, character)


def encode_or_none(text: str, ccsid: int) -> bytes | None:
    try:
        return encode(text, ccsid)
    except WireError:
        return None


def test_every_character_of_one_byte_is_written_back_as_it_was() -> None:
    for ccsid in HEADERS:
        found = {}
        for byte in range(256):
            raw = bytes([byte])
            try:
                found[raw] = codec_for(ccsid).decode(raw)
            except UnicodeError:
                continue
        assert all(encode(text, ccsid) == raw for raw, text in found.items() if text), ccsid
        assert len(set(found.values())) >= len(found) - 1, ccsid  # both shifts alone are no text


@pytest.mark.parametrize("ccsid", [one for one, family in listed().items() if family is Family.WIDE])
def test_no_header_is_in_characters_of_two_bytes(ccsid: int) -> None:
    said = f"CCSID {ccsid}: it has two bytes or more for each character"
    with pytest.raises(UnknownCcsid, match=rf"MQDLH\.StrucId at offset 0: fixed-length fields cannot be in {said}"):
        MQDLH.unpack(NAMES.pack(), ccsid=ccsid)


# The bytes are those of IBM's conversion tables.
@pytest.mark.parametrize(
    ("ccsid", "text", "raw"),
    [
        (930, "ｶﾅaA漢字", "869662c10e4f5848f20f"),
        (290, "ｶﾅaA", "869662c1"),
        (931, "漢字A", "0e4f5848f20fc1"),
        (933, "한글 A1", "0ed0658b690f40c1f1"),
        (935, "汉字 A1", "0e4db95c760f40c1f1"),
        (937, "漢字 A1", "0e5ec64df20f40c1f1"),
        (939, "漢字aｶ", "0e4f5848f20f8166"),
        (1364, "한글€", "0ed0658b6949950f"),
        (1371, "漢字€", "0e5ec64df20f9f"),
        (1388, "汉字€", "0e4db95c7645eb0f"),
        (1390, "漢字€", "0e4f5848f20fe1"),
        (1399, "漢字€", "0e4f5848f20fe1"),
        (5026, "漢字A", "0e4f5848f20fc1"),
        (5035, "漢字a", "0e4f5848f20f81"),
        (1381, "汉字", "babad7d6"),
        (1383, "汉字", "babad7d6"),
        (949, "한글", "c7d1b1db"),
        (964, "漢字", "e9c7c7f3"),
        (1350, "漢字", "b4c1bbfa"),
        (838, "กขค", "424345"),
        (874, "กขค", "a1a2a4"),
        (1160, "ก€", "42fe"),
        (420, "ﺎﻟ", "57ba"),
        (424, "שלום", "69544655"),
        (803, "שלום", "a8938594"),
        (12712, "של€", "69549c"),
        (423, "ΑΒΓ", "414243"),
        (880, "ДИЁ", "bccb63"),
        (924, "é€œ", "519fb8"),
        (1153, "Łč€", "ba479f"),
        (1154, "ДИ€", "bccbe1"),
        (1155, "ğş€", "d06a9f"),
        (1156, "āē€", "8c489f"),
        (1157, "õš€", "cf8c5a"),
        (1158, "ґД€", "43bce1"),
        (1164, "đ€", "8c9f"),
        (905, "ĝĥ", "9b9a"),
        (833, "ﾡA", "43c1"),
        (836, "£¥A", "4a5bc1"),
        (1027, "ｶA", "66c1"),
        (425, "ا", "65"),
        (1112, "āē", "8c48"),
        (1122, "õš", "cf8c"),
        (1123, "ґД", "43bc"),
        (1130, "đơ", "8ccf"),
        (1132, "ກຂ", "4243"),
        (1046, "ﺎ", "de"),
        (808, "Д€", "84fd"),
        (1280, "ΑΒ", "b0b5"),
        (1284, "č", "e8"),
        (1161, "ก€", "a1de"),
        (5123, "ｶ€", "66e1"),
    ],
)
def test_text_of_hosts(ccsid: int, text: str, raw: str) -> None:
    assert encode(text, ccsid).hex() == raw
    assert decode(bytes.fromhex(raw), ccsid) == text


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("0e4f580f0e48f20f", "漢字"),  # two fields side by side
        ("c10e4f5848f2", "A漢字"),  # the last shift is missing
        ("c10e0fc2", "AB"),
    ],
)
def test_shifts_that_change_nothing_are_read_in_text_and_refused_in_fields(raw: str, text: str) -> None:
    assert decode(bytes.fromhex(raw), 939) == text
    with pytest.raises(UnicodeError, match="other bytes"):
        codec_for(939).decode(bytes.fromhex(raw))


@pytest.mark.parametrize(
    ("raw", "ccsid", "said"),
    [
        (b"\xc1\x0e\x4f", 939, "text at offset 2: not text in CCSID 939: there is no such character"),
        (b"\xc1\x0e\xff\xff\x0f", 939, "text at offset 2: not text in CCSID 939: there is no such character"),
        (b"A\xff", 1383, "text at offset 1: not text in CCSID 1383: there is no such character"),
        (b"\xc1\x0a", 1377, "text at offset 1: CCSID 1377 cannot be converted here"),
        (b"\x42\x42", 300, "text.CodedCharSetId at offset 0: CCSID 300 cannot be converted here"),
    ],
)
def test_what_is_no_text_or_cannot_be_converted_is_said(raw: bytes, ccsid: int, said: str) -> None:
    with pytest.raises(WireError) as caught:
        decode(raw, ccsid)
    assert str(caught.value) == said


@pytest.mark.parametrize(("text", "ccsid"), [("€", 939), ("☃", 933), ("A漢", 1153), ("☃", 1383), ("\ud800", 939)])
def test_what_a_page_does_not_have_is_not_written(text: str, ccsid: int) -> None:
    with pytest.raises(WireError, match=f"does not exist in CCSID {ccsid}"):
        encode(text, ccsid)
    with pytest.raises(UnknownCcsid, match="CCSID 1377 cannot be converted here"):
        encode(text, 1377)


def test_a_name_beyond_the_invariant_characters_needs_the_table() -> None:
    raw = bytearray(NAMES.pack(ccsid=1377))
    at = MQDLH.LAYOUT.offset("put_appl_name")
    raw[at] = 0x5B
    with pytest.raises(WireError, match=rf"MQDLH\.PutApplName at offset {at}: not text in CCSID 1377: .*no conversion"):
        MQDLH.unpack(bytes(raw), ccsid=1377)
    assert MQDLH.unpack(bytes(raw), ccsid=939).put_appl_name == "$AYROLL"


def test_names_are_read_without_pyicu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "icu", None)
    module._codec.cache_clear()
    try:
        raw = NAMES.pack(ccsid=939)
        assert MQDLH.unpack(raw, ccsid=939) == NAMES
        with pytest.raises(UnknownCcsid, match="text at offset 1: CCSID 939 cannot be converted here"):
            decode(b"\xc1\x0e\x4f\x58\x0f", 939)
        assert decode(b"\x51", 924) == "é"  # a table
    finally:
        module._codec.cache_clear()
