"""What stands behind the first 32 bytes of the headers of bridges and programs: each field at its place."""

from __future__ import annotations

import pytest

from mqwire import constants as c
from mqwire.errors import WireError
from mqwire.header_fields import BEGIN, RESTS, SECRET, fields_of, name_value_pairs

LENGTHS = {
    **{"MQIIH": c.MQIIH_LENGTH_1, "MQCIH": 180, "MQWIH": c.MQWIH_LENGTH_1, "MQDH": 48, "MQRMH": 108, "MQEPH": 68},
    "MQSAPH": 108,
}
"""IBM's lengths of the whole structures."""
# field: its offset in the structure, by IBM's C declarations
PLACES = {
    ("MQIIH", "TranInstanceId"): 64,
    ("MQIIH", "CommitMode"): 81,
    ("MQCIH", "Facility"): 76,
    ("MQCIH", "Authenticator"): 92,
    ("MQCIH", "TransactionId"): 124,
    ("MQCIH", "CursorPosition"): 164,
    ("MQWIH", "MsgToken"): 72,
    ("MQRMH", "DataLogicalLength"): 96,
    ("MQSAPH", "Password"): 96,
    ("MQEPH", "PCFHeader.Command"): 44,
}


def test_lengths_and_places_are_those_of_ibm() -> None:
    assert {name: BEGIN + layout.size for name, layout in RESTS.items()} == LENGTHS
    assert {key: BEGIN + RESTS[key[0]].offset(key[1]) for key in PLACES} == PLACES


@pytest.mark.parametrize("name", RESTS)
@pytest.mark.parametrize(("encoding", "ccsid"), [(546, 819), (273, 37)])
def test_every_field_is_read_in_the_format_of_the_header(name: str, encoding: int, ccsid: int) -> None:
    layout = RESTS[name]
    kinds = {"long": lambda n: n + 1, "char": lambda n: chr(65 + n), "byte": lambda n: bytes([n])}
    values = {field.name: kinds[field.kind](n) for n, field in enumerate(layout.fields)}
    packed = {layout.field(one).key: value for one, value in values.items()}
    rest = layout.pack(packed, encoding=encoding, ccsid=ccsid, version=layout.versions[-1])
    found, unnamed = fields_of(name, 2, rest + b"more", encoding, ccsid)
    expected = {
        field.name: None
        if field.name in SECRET
        else (bytes(values[field.name]).ljust(field.length, b"\0") if field.kind == "byte" else values[field.name])
        for field in layout.fields
    }
    assert (found, unnamed) == (expected, b"more")


def test_fields_of_a_later_version_are_not_read_from_an_earlier_one() -> None:
    rest = bytes(180 - BEGIN)
    assert "CursorPosition" not in fields_of("MQCIH", 1, rest, 546, 819)[0]
    assert fields_of("MQCIH", 2, rest[:132], 546, 819)[1] == b""


def test_text_that_is_not_valid_stays_bytes_and_hides_nothing_else() -> None:
    found, _ = fields_of("MQIIH", 1, b"\xff" * 8 + b"MAP     " + bytes(36), 546, 1208)
    assert (found["LTermOverride"], found["MFSMapName"]) == (b"\xff" * 8, "MAP")


def test_of_an_unknown_header_all_bytes_are_given_back() -> None:
    assert fields_of("MQHOWN", 1, b"abc", 546, 819) == ({}, b"abc")


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("", ()),
        ("MQPSCommand Publish", (("MQPSCommand", "Publish"),)),
        ("  a  1   b 2  ", (("a", "1"), ("b", "2"))),
        ('words "Hello World"', (("words", "Hello World"),)),
        ('words "The program displayed ""Hello"""', (("words", 'The program displayed "Hello"'),)),
        ('a ""', (("a", ""),)),
        ("a 1\0b 2", (("a", "1"),)),
    ],
)
def test_pairs_of_a_name_value_string(text: str, pairs: tuple[tuple[str, str], ...]) -> None:
    for ccsid, codec in ((819, "latin-1"), (37, "cp037")):
        assert name_value_pairs(text.encode(codec), 546, ccsid) == pairs


@pytest.mark.parametrize(
    ("raw", "ccsid", "why"),
    [
        (b"a", 819, "1 words are not pairs of a name and a value"),
        (b'a "b', 819, "a quotation mark is not closed"),
        (b"a \xff", 1208, "it is not text in CCSID 1208"),
    ],
)
def test_what_is_no_pairs_is_said_without_quoting_it(raw: bytes, ccsid: int, why: str) -> None:
    with pytest.raises(WireError) as caught:
        name_value_pairs(raw, 546, ccsid)
    assert str(caught.value) == f"MQRFH.NameValueString at offset 32: {why}"
