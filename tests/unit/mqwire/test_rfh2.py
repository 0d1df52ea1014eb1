"""MQRFH2: bytes kept as they came, folders read without evaluating anything."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mqwire.errors import WireError
from mqwire.folder import Element, Scalar, folder, jms_destination, parse
from mqwire.rfh2 import MQRFH2

JMS = '<jms><Dst>queue:///ORDERS?targetClient=1</Dst><Dlv>2</Dlv><usr dt="i4">5</usr></jms>'


def raw(*folders: bytes, length: int | None = None) -> bytes:
    """A header written by hand, big-endian, ASCII."""
    data = b"".join(len(f).to_bytes(4, "big") + f for f in folders)
    struc_length = 36 + len(data) if length is None else length
    numbers = [2, struc_length, 546, 1208]
    head = b"RFH " + b"".join(n.to_bytes(4, "big") for n in numbers) + b"MQSTR   " + bytes(4)
    return head + (1208).to_bytes(4, "big") + data


def test_hand_written_bytes() -> None:
    found = MQRFH2.unpack(raw(b"<mcd><Msd>jms_text</Msd></mcd>  ", b"<jms/>\0\0") + b"DATA", encoding=273)
    assert (found.format, found.encoding, found.coded_char_set_id, found.name_value_ccsid) == ("MQSTR", 546, 1208, 1208)
    assert found.folders == (b"<mcd><Msd>jms_text</Msd></mcd>  ", b"<jms/>\0\0")
    assert found.struc_length == 36 + 4 + 32 + 4 + 8
    assert [element.name for element in found.elements(273)] == ["mcd", "jms"]


def attributes(number: int) -> str:
    """An element with so many attributes."""
    return "<a " + " ".join(f"b{each}=''" for each in range(number)) + "/>"


@pytest.mark.parametrize(
    "folders",
    [
        (),
        (b"",),  # an empty NameValueData
        (b"<a/>", b"", b"not a folder"),  # kept though it could not be parsed
        (b"<a>\xff</a>".ljust(12, b"\0"),),  # kept though it is not text
    ],
)
def test_every_header_round_trips_byte_for_byte(folders: tuple[bytes, ...]) -> None:
    before = raw(*folders)
    assert MQRFH2.unpack(before, encoding=273).pack(encoding=273) == before


def test_built_header_pads_its_folders() -> None:
    header = MQRFH2(format="MQSTR").with_folders(folder("jms", {"Dst": "queue:///Q"}), "<mcd><Msd>none</Msd></mcd>")
    assert [len(f) % 4 for f in header.folders] == [0, 0]
    assert header.texts() == ("<jms><Dst>queue:///Q</Dst></jms>", "<mcd><Msd>none</Msd></mcd>  ")
    assert jms_destination(header.elements()) == "queue:///Q"
    assert jms_destination(MQRFH2().elements()) is None


@pytest.mark.parametrize("ccsid", [1200, 13488, 17584, 1208])
@pytest.mark.parametrize("encoding", [546, 273])
def test_folders_in_two_byte_characters(ccsid: int, encoding: int) -> None:
    header = MQRFH2(name_value_ccsid=ccsid).with_folders("<usr><n>é€</n></usr>", encoding=encoding)
    again = MQRFH2.unpack(header.pack(encoding=encoding, ccsid=500), encoding=encoding, ccsid=500)
    assert again == header
    assert again.elements(encoding)[0].find("n") == Element(name="n", value="é€")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: MQRFH2.unpack(raw()[:30], encoding=273), "MQRFH2.Flags at offset 28: 30 bytes where 36 are needed"),
        (
            lambda: MQRFH2.unpack(raw(length=32), encoding=273),
            "MQRFH2.StrucLength at offset 8: 32 is not from 36 to 36",
        ),
        (
            lambda: MQRFH2.unpack(b"xx" + raw(length=99), offset=2, encoding=273),
            "MQRFH2.StrucLength at offset 10: 99 is not",
        ),
        (
            lambda: MQRFH2.unpack(raw(length=38) + b"\0\0", encoding=273),
            "MQRFH2.NameValueLength at offset 36: 2 bytes are left where 4 are needed",
        ),
        (
            lambda: MQRFH2.unpack(raw(length=44) + b"\0\0\0\x08<a/>", encoding=273),
            "MQRFH2.NameValueLength at offset 36: 8 is not a multiple of 4 from 0 to 4",
        ),
        (
            lambda: MQRFH2.unpack(raw(length=44) + b"\0\0\0\x03<a/>", encoding=273),
            "MQRFH2.NameValueLength at offset 36: 3 is not a multiple of 4",
        ),
        (
            lambda: MQRFH2.unpack(raw(length=44) + b"\xff\xff\xff\xfc<a/>", encoding=273),
            "MQRFH2.NameValueLength at offset 36: -4 is not a multiple of 4",
        ),
        (
            lambda: MQRFH2(folders=(b"<a/>", b"<b>")).pack(),
            "MQRFH2.NameValueLength at offset 44: 3 is not a multiple of 4",
        ),
        (
            lambda: MQRFH2(name_value_ccsid=819).texts(),
            "MQRFH2.NameValueCCSID at offset 32: 819 is not one of 1200, 1208",
        ),
        (lambda: MQRFH2(folders=(b"<a>\xff",)).texts(), "MQRFH2.NameValueData at offset 43: not text in CCSID 1208"),
        (
            lambda: MQRFH2(folders=(b"<a/>", b"<a>\xff")).elements(),
            "MQRFH2.NameValueData at offset 51: not text in CCSID 1208",
        ),
        (
            lambda: MQRFH2(folders=(b"<a/>", b"<a>\xff")).elements(offset=172),
            "MQRFH2.NameValueData at offset 223: not text in CCSID 1208",
        ),
        (
            lambda: MQRFH2(name_value_ccsid=1200, folders=(b"<\0a\0",)).texts(0),
            "MQRFH2.NameValueData at offset 40: byte order of CCSID 1200 unknown in encoding 0",
        ),
        # what is not well formed is told by its byte, too: an e with an accent has two
        (
            lambda: MQRFH2(folders=(b"<a/>", "<é></é>x  ".encode())).elements(offset=172),
            "MQRFH2.NameValueData at offset 229: '<' is expected",
        ),
        (
            lambda: MQRFH2(name_value_ccsid=1200, folders=("<é></é>x".encode("utf-16-be"),)).elements(273),
            "MQRFH2.NameValueData at offset 54: '<' is expected",
        ),
        (
            lambda: MQRFH2().with_folders("<a/>", "<\ud800/>"),
            "MQRFH2.NameValueData at offset 48: '\\ud800' does not exist in CCSID 1208",
        ),
    ],
)
def test_lengths_that_do_not_add_up_are_refused(call: Callable[[], Any], said: str) -> None:
    with pytest.raises(WireError) as caught:
        call()
    assert str(caught.value).startswith(said)


def test_folder_text_is_read() -> None:
    (jms,) = parse(JMS)
    assert jms.find("Dst") == Element(name="Dst", value="queue:///ORDERS?targetClient=1")
    assert jms.find("usr") == Element(name="usr", attributes=(("dt", "i4"),), value="5")
    assert jms.find("usr.deeper") is None
    assert jms.text() == JMS


def test_nesting_blanks_quotes_and_escapes() -> None:
    (found,) = parse("  <usr a='1\"' b=\"&lt;'\" >\n <x><y>&lt;&amp;&gt;&quot;&apos; </y></x>\r\n\t<z/></usr >  \0\0")
    assert found.attributes == (("a", '1"'), ("b", "<'"))
    deep = found.find("x.y")
    assert deep is not None
    assert deep.value == "<&>\"' "
    assert found.attribute("b") == "<'"
    assert parse(found.text()) == (found,)


@pytest.mark.parametrize(
    ("text", "value", "children"),
    [
        ("<a>step 1<b/>step 2</a>", "step 1step 2", ["b"]),  # text beside an element
        ("<a>x&#10;y&#x41;</a>", "x\nyA", []),
        ("<a><![CDATA[<&]]>1</a>", "<&1", []),
        ("<a><![CDATA[]]></a>", "", []),
        ("<a><!-- <b> -->1<!-- - --></a>", "1", []),
        ("<?xml version='1.0'?> <!-- x --><a><?i <b>?>1</a><!-- y -->  ", "1", []),
        ("<x:a><b.c/><d:e/></x:a>", "", ["b.c", "d:e"]),  # a colon and periods in names
        ("<a> <b/>\n<c>1</c></a>", "", ["b", "c"]),
    ],
)
def test_xml_style_data_that_can_be_parsed_is_read(text: str, value: str, children: list[str]) -> None:
    """IBM MQ, "MQRFH2 folder restrictions"."""
    (found,) = parse(text)
    assert (found.value, [child.name for child in found.children]) == (value, children)
    assert parse(found.text()) == (found,)


@pytest.mark.parametrize(
    ("bad", "name"),
    [
        (b"<<mcd", "mcd"),
        (b"<mcd><a></mcd>", "mcd"),
        (b"<mcd>&nbsp;</mcd>", "mcd"),
        (b"<mcd>\xff</mcd>", "mcd"),
        (b"\xff\xfe", ""),
        (b"no folder", ""),
    ],
)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_folder_that_is_not_valid_hides_no_other(bad: bytes, name: str, place: int) -> None:
    """IBM MQ, "MQRFH2 headers that are not valid"."""
    bad = bad.ljust(-(-len(bad) // 4) * 4)
    folders = [b"<jms><Dst>queue:///Q</Dst></jms>", b"<usr><n>1</n></usr> "]
    folders.insert(place, bad)
    header = MQRFH2(folders=tuple(folders))
    assert [element.name for element in header.good_elements()] == ["jms", "usr"]
    found = header.read(offset=172)
    assert [one.raw for one in found] == folders
    assert [one.error is not None for one in found] == [one is bad for one in folders]
    wrong = found[place]
    assert wrong.error is not None
    assert (wrong.name, wrong.elements) == (name, ())
    assert wrong.offset == 172 + 36 + 4 + sum(4 + len(one) for one in folders[:place])
    assert wrong.offset <= wrong.error.offset <= wrong.offset + len(bad)


def test_several_folders_in_one_text() -> None:
    assert [element.name for element in parse("<a/><b></b> <c>1</c>")] == ["a", "b", "c"]
    assert parse("") == parse("  ") == ()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("<p>a b </p>", "a b "),
        ("<p dt='string'/>", ""),
        ("<p dt='boolean'>1</p>", True),
        ("<p dt='i8'>-9223372036854775808</p>", -(2**63)),
        ("<p dt='r8'>1.5e3</p>", 1500.0),
        ("<p dt='bin.hex'>00FF</p>", b"\x00\xff"),
        ("<p xsi:nil='true'/>", None),
    ],
)
def test_typed_values(text: str, value: Scalar | None) -> None:
    assert parse(text)[0].typed() == value


@pytest.mark.parametrize(
    "text",
    [
        "<p dt='i4'>1_0</p>",
        "<p dt='i4'>x</p>",
        "<p dt='boolean'>yes</p>",
        "<p dt='bin.hex'>0</p>",
        "<p dt='what'>0</p>",
    ],
)
def test_values_not_of_their_type_are_refused(text: str) -> None:
    with pytest.raises(WireError, match=r"MQRFH2\.p at offset 0: .* is not of type"):
        parse(text)[0].typed()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("text", "at offset 0: '<' is expected, not 'text'"),
        ("<a>", "at offset 3: the text ends inside an element"),
        ("<a></b>", "at offset 5: 'a' is expected, not 'b>'"),
        ("<a></ab>", "at offset 6: '>' is expected, not 'b>'"),
        ("<a><b></a></b>", "at offset 8: 'b' is expected"),
        ("<>", "at offset 1: a name is missing"),
        ("<a b>1</a>", "at offset 4: '=' is expected"),
        ("<a b=1/>", "at offset 5: an attribute's value is not in quotes"),
        ("<a b='1/>", "at offset 5: an attribute's value is not in quotes"),
        ("<a b='1'c='2'/>", "at offset 8: a blank is missing before an attribute"),
        ("<a b='1' b='2'/>", "at offset 9: attribute 'b' occurs twice"),
        ("<a>&nbsp;</a>", "at offset 3: '&nbsp;' is not one of the five escapes"),
        ("<a>&lt</a>", "at offset 3: '&lt' is not one of the five escapes"),
        ("<a>&#0;</a>", "at offset 3: '&#0;' is not one of the five escapes, nor a character's number"),
        ("<a>&#xD800;</a>", "'&#xD800;' is not one of the five escapes, nor a character's number"),
        ("<a>&#1114112;</a>", "'&#1114112;' is not one of the five escapes, nor a character's number"),
        (f"<a>&#{'9' * 5000};</a>", "is not one of the five escapes, nor a character's number"),
        ("<a>&#;</a>", "'&#;' is not one of the five escapes, nor a character's number"),
        ("<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>", "at offset 1: a name is missing"),
        ("<?xml version='1.0'><a/>", "at offset 0: '<?' has no '?>' behind it"),
        ("<a><![CDATA[1]>></a>", "at offset 3: '<![CDATA[' has no ']]>' behind it"),
        ("<a><!-- -></a>", "at offset 3: '<!--' has no '-->' behind it"),
        ("<![CDATA[1]]>", "at offset 1: a name is missing"),
        ("<a>" * 65 + "</a>" * 65, "at offset 192: elements are nested deeper than 64"),
        (attributes(101), "an element has more than 100 attributes"),
        ("<a>" + "<b/>" * 19_999 + "</a>", "at offset 0: the text has more than 20000 tags"),
        (
            f"<{'a' * 2047}><{'b' * 2047}/></{'a' * 2047}>",
            "the names down to this element have more than 4095 characters",
        ),
        (f"<a>{' ' * (4 << 20)}</a>", "more than 4194304"),
        (f"<a {'b' * 99}='' {'b' * 99}=''/>", f"attribute {'b' * 20!r} occurs twice"),
    ],
)
def test_folders_that_are_not_well_formed_are_refused(text: str, said: str) -> None:
    with pytest.raises(WireError) as caught:
        parse(text)
    assert str(caught.value).startswith("MQRFH2.NameValueData at offset ")
    assert said in str(caught.value)


def test_what_is_within_the_bounds_is_read() -> None:
    (found,) = parse(attributes(100))
    assert len(found.attributes) == 100
    assert len(parse("<a>" + "<b/>" * 19_998 + "</a>")[0].children) == 19_998
    assert parse(f"<{'a' * 2047}><{'b' * 2046}/></{'a' * 2047}>")[0].children[0].name == "b" * 2046


def test_a_header_has_at_most_1000_folders() -> None:
    assert len(MQRFH2.unpack(MQRFH2(folders=(b"",) * 1000).pack()).folders) == 1000
    with pytest.raises(
        WireError, match=r"MQRFH2\.NameValueLength at offset 4036: the header has more than 1000 folders"
    ):
        MQRFH2.unpack(MQRFH2(folders=(b"",) * 1001).pack())
