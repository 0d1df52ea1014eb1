"""What is seen in one body: strictly, and without quoting it."""

from __future__ import annotations

import struct
from decimal import Decimal
from typing import Any

import pytest

from mqops.observe.core.payload import kind_and_text
from mqops.quality.body import Message, look, xml_problem
from mqops.quality.columns import COLUMNS, Source
from mqops.rules.documents import json_problem, json_read, json_values
from mqwire import constants as c
from mqwire.ccsid import encode
from mqwire.folder import folder
from mqwire.rfh2 import MQRFH2
from mqwire.structures import MQDLH

EVERYTHING = frozenset(name for name, column in COLUMNS.items() if column.source is Source.BODY)
BIG, LITTLE = 273, 546


def seen(
    body: bytes, format_name: str = c.MQFMT_STRING, ccsid: int = 1208, encoding: int = LITTLE, msg_type: int = 8
) -> dict[str, Any]:
    found = dict(
        look(Message(format=format_name, encoding=encoding, ccsid=ccsid, msg_type=msg_type, body=body), EVERYTHING)
    )
    assert set(found) <= EVERYTHING
    return found


def rfh2(**more: Any) -> bytes:
    header = MQRFH2(format=c.MQFMT_STRING, coded_char_set_id=1208, encoding=LITTLE, **more)
    return header.with_folders(folder("jms", {"Dst": "queue:///A"})).pack(encoding=LITTLE, ccsid=1208)


@pytest.mark.parametrize(
    ("body", "ccsid", "encoding"),
    [
        ("grün".encode(), 1208, LITTLE),
        ("grün".encode("latin-1"), 819, LITTLE),
        (encode("grün", 500), 500, 785),  # EBCDIC
        (encode("grün", 1141), 1141, 785),
        ("grün".encode("utf-16-be"), 1200, BIG),  # byte order as the Encoding says
        ("grün".encode("utf-16-le"), 1200, LITTLE),
        (b"", 1208, LITTLE),
    ],
)
def test_text_that_is_text_in_its_ccsid(body: bytes, ccsid: int, encoding: int) -> None:
    found = seen(body, ccsid=ccsid, encoding=encoding)
    assert (found["body_text_valid"], found["body_text_problem"]) == (True, None)


def test_a_report_without_data_is_not_at_fault() -> None:
    found = seen(b"", "MQHRF2", msg_type=c.MQMT_REPORT)
    assert (found["headers_valid"], found["payload_kind"], found["payload_length"]) == (True, "empty", 0)
    assert seen(b"", "MQHRF2")["headers_valid"] is False


@pytest.mark.parametrize(("text", "kind"), [('{"a":\x85 1}', "json"), ("<a>\x85<b/>\x85</a>", "xml")])
def test_a_new_line_of_EBCDIC_is_a_blank_of_JSON_and_XML(text: str, kind: str) -> None:
    assert seen(encode(text, 1047), ccsid=1047, encoding=785)[f"payload_{kind}_valid"] is True


@pytest.mark.parametrize(
    ("body", "ccsid", "problem"),
    [
        ("grün".encode("latin-1"), 1208, "not text in CCSID 1208 at byte 2 of the body"),
        (b"a\x00\x00\xd8", 1200, "not text in CCSID 1200 at byte 2 of the body"),  # half of a surrogate pair is no text
        (b"abc", 99999, "CCSID 99999 is unknown"),
        (b"abc", 0, "CCSID 0 is unknown"),  # the queue manager's: not known here, and not guessed
    ],
)
def test_text_that_is_not(body: bytes, ccsid: int, problem: str) -> None:
    found = seen(body, ccsid=ccsid)
    assert (found["body_text_valid"], found["body_text_problem"]) == (False, problem)


def test_other_formats_are_not_asked_for_text() -> None:
    assert "body_text_valid" not in seen(b"\xff", c.MQFMT_NONE)


def test_rfh2_and_what_follows_it() -> None:
    body = rfh2()
    found = seen(body + b"abc", c.MQFMT_RF_HEADER_2)
    assert (found["rfh2_valid"], found["headers"], found["headers_valid"]) == (True, "MQRFH2", True)
    assert (found["payload_format"], found["payload_length"], found["payload_ccsid"]) == ("MQSTR", 3, 1208)
    assert found["body_text_valid"]


def test_fault_behind_headers_is_told_by_its_byte_in_the_body() -> None:
    body = rfh2()
    found = seen(body + b"ab\xff", c.MQFMT_RF_HEADER_2)
    assert found["body_text_problem"] == f"not text in CCSID 1208 at byte {len(body) + 2} of the body"


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"RFX " + rfh2()[4:], "MQRFH2.StrucId at offset 0"),
        (rfh2()[:40], "MQRFH2.StrucLength at offset 8"),
        (rfh2()[:8] + struct.pack("<i", 37) + rfh2()[12:] + b"1234", "MQRFH2.NameValueLength at offset 36"),
        (rfh2().replace(b"</jms>", b"</jmx>"), "MQRFH2.NameValueData at offset"),
        (rfh2().replace(b"queue", b"\xffueue"), "MQRFH2.NameValueData at offset"),
        (b"", "MQRFH2.StrucId at offset 0"),
    ],
)
def test_rfh2_that_is_not_well_formed(body: bytes, problem: str) -> None:
    found = seen(body, c.MQFMT_RF_HEADER_2)
    assert (found["rfh2_valid"], found["headers_valid"]) == (False, False)
    assert found["rfh2_problem"].startswith(problem)
    assert found["headers_problem"] == found["rfh2_problem"]
    assert "payload_length" not in found  # nobody knows where it begins


def test_fault_in_a_folder_is_told_by_its_byte_in_the_body() -> None:
    dlh = MQDLH(dest_q_name="A", encoding=LITTLE, coded_char_set_id=1208, format=c.MQFMT_RF_HEADER_2).pack()
    broken = rfh2().replace(b"queue", b"\xffueue")
    found = seen(dlh + broken, c.MQFMT_DEAD_LETTER_HEADER)
    assert found["rfh2_problem"] == f"MQRFH2.NameValueData at offset {(dlh + broken).index(0xFF)}"
    broken = rfh2().replace(b"</jms>", b"</jmx>")
    found = seen(dlh + broken, c.MQFMT_DEAD_LETTER_HEADER)
    assert found["rfh2_problem"] == f"MQRFH2.NameValueData at offset {(dlh + broken).index(b'jmx')}"


def test_unknown_encoding_or_ccsid_is_told_of_the_field_that_says_it() -> None:
    found = seen(rfh2(), c.MQFMT_RF_HEADER_2, 1200)
    assert found["headers_problem"] == "MQMD.CodedCharSetId at offset 28"
    assert "rfh2_valid" not in found  # it may be a good one
    dlh = MQDLH(dest_q_name="A", encoding=0, coded_char_set_id=1208, format=c.MQFMT_RF_HEADER_2).pack()
    assert seen(dlh + rfh2(), c.MQFMT_DEAD_LETTER_HEADER)["headers_problem"] == "MQDLH.Encoding at offset 108"


def test_faulty_header_before_the_rfh2_leaves_that_one_unknown() -> None:
    found = seen(b"DLX " + bytes(168) + rfh2(), c.MQFMT_DEAD_LETTER_HEADER)
    assert found["headers_valid"] is False
    assert found["headers_problem"].startswith("MQDLH")
    assert "rfh2_valid" not in found


def test_header_chain_in_ebcdic_then_ascii() -> None:
    dlh = MQDLH(dest_q_name="A", encoding=LITTLE, coded_char_set_id=1208, format=c.MQFMT_RF_HEADER_2)
    found = seen(dlh.pack(encoding=785, ccsid=500) + rfh2() + b"{}", c.MQFMT_DEAD_LETTER_HEADER, 500, 785)
    assert (found["headers"], found["payload_kind"], found["payload_parses"]) == ("MQDLH MQRFH2", "json", True)


@pytest.mark.parametrize(
    ("body", "kind", "parses"),
    [
        (b"", "empty", None),
        (b"  \n", "text", None),
        (b"hello", "text", None),
        (b"\x00\x01", "binary", None),
        (b"\xff\xfe\x00", "binary", None),
        (b' {"a": [1, 2.5e3, null]}', "json", True),
        (b'{"a": 1', "json", False),
        (b"[1,]", "json", False),
        (b"<a><b/></a>", "xml", True),
        (b"<a><b></a>", "xml", False),
        (b"\xef\xbb\xbf<a/>", "xml", True),
    ],
)
def test_payload_by_what_it_begins_with(body: bytes, kind: str, parses: bool | None) -> None:
    found = seen(body, c.MQFMT_NONE)
    assert (found["payload_kind"], found.get("payload_parses")) == (kind, parses)
    assert (found.get("payload_problem") is None) == (parses is not False)


def test_pcf_is_binary_whatever_it_looks_like() -> None:
    assert seen(b"<a/>", c.MQFMT_PCF)["payload_kind"] == "binary"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"a": "ü"}', None),
        ("1" * 5000, None),  # longer than Python's own numbers may be
        ("", "not JSON at line 1, column 1"),
        ("{\n1}", "not JSON at line 2, column 1"),
        ("NaN", "not JSON: NaN or Infinity"),
        ("[-Infinity]", "not JSON: NaN or Infinity"),
        ("\ufeff{}", "not JSON at line 1, column 1"),  # RFC 8259: no byte order mark
        ("[" * 100_000, "not JSON: nested too deeply"),
        ('{"a": 1, "a": 1}', "not JSON: a name stands twice in an object"),
        ('[{"b": {"a": 1, "c": 2, "\\u0061": 1}}]', "not JSON: a name stands twice in an object"),
        ('{"a": {"a": 1}}', None),
        (r'["\ud83d"]', "not JSON: half of a surrogate pair"),
        (r'["\ud83d\ude00"]', None),
        (f"[{'1' * 500}]", None),
        (f"[{'1' * 501}]", "not JSON: a number of more than 500 characters"),
        (f'{{"a": {{"b": [-0.{"1" * 499}]}}}}', "not JSON: a number of more than 500 characters"),
        (f'["{"1" * 501}"]', None),  # a text, not a number
        ("[" * 500 + "]" * 500, None),
        ("[" * 501 + "]" * 501, "not JSON: nested too deeply"),
        (f'["{"x" * (4 << 20)}"]', "not JSON: longer than 4194304 characters"),
    ],
)
def test_json(text: str, problem: str | None) -> None:
    assert json_problem(text) == problem


def test_a_number_that_is_too_long_is_seen_wherever_it_stands() -> None:
    """A text is looked through in steps first."""
    wrong = "not JSON: a number of more than 500 characters"
    for before in range(101):
        start = f'["{"x" * before}", '
        assert json_read(f"{start}{'1' * 501}]").problem == wrong
        assert json_read(f"{start}{'1' * 500}]").document == ["x" * before, int("1" * 500)]


def test_what_is_read_of_json_is_exact() -> None:
    read = json_read(f'{{"a": [0.1{"0" * 40}1, 1e400, {"1" * 400}], "of digits": "{"1" * 600}"}}')
    exact = [Decimal(f"0.1{'0' * 40}1"), Decimal("1e400"), int("1" * 400)]
    assert (read.problem, read.document) == (None, {"a": exact, "of digits": "1" * 600})
    assert json_read("1.5") == json_read('"a"') == (None, None)  # JSON, without names


@pytest.mark.parametrize(
    "text",
    [
        '{"a": "x"}',
        '{"a": "x", "a": "x"}',  # programs differ in which of the two they take
        '{"a": "x", "b": {"c": 1, "c": 2}}',
        '{"a": "x", "b": "\\ud800"}',
        '{"a": "x", "b": NaN}',
        '{"a": "x",}',
        f'{{"a": "x", "b": {"1" * 501}}}',
        f'{{"a": "x", "b": "{"1" * 501}"}}',
        f'{{"a": "x", "b": {"[" * 500}{"]" * 500}}}',
        f'{{"a": "x", "b": {"[" * 499}{"]" * 499}}}',
        " " * 2_000 + '{"a": "x"}',
        '\ufeff{"a": "x"}',
        '["x"]',
    ],
)
@pytest.mark.parametrize(("ccsid", "encoding"), [(1208, LITTLE), (1200, BIG)])
def test_rules_and_suites_mean_the_same_by_json(text: str, ccsid: int, encoding: int) -> None:
    """What `BODY(JSON ...)` compares is decided when the snapshot is taken: by `text_kind`."""
    body = encode(text, ccsid, encoding)
    found = seen(body, ccsid=ccsid, encoding=encoding)
    kind, _text = kind_and_text(c.MQFMT_STRING, encoding, ccsid, body, 0)
    assert found["payload_json_valid"] == (kind == "json")
    assert found["payload_json_valid"] == (found["payload_kind"] == "json" and found["payload_parses"])
    if kind == "json":
        assert json_values(text, ["$.a", "$[0]"]).count("x") == 1


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("<a>ü</a>", None),
        ('<?xml version="1.0" encoding="ISO-8859-1"?><a>ü</a>', None),  # the CCSID decides, not the declaration
        ("<a/><b/>", "not XML at line 1, column 5"),
        ("<a>\n<b></a>", "not XML at line 2, column 6"),
        ("", "not XML at line 1, column 1"),
        ("<a>\ud800</a>", "not XML: half of a surrogate pair"),
        ('<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>', "not accepted: it declares entities"),
        ("<!DOCTYPE a><a/>", None),
    ],
)
def test_xml(text: str, problem: str | None) -> None:
    assert xml_problem(text) == problem


def test_billion_laughs_does_not_grow() -> None:
    entities = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 30))
    assert (
        xml_problem(f'<!DOCTYPE a [<!ENTITY l0 "ha">{entities}]><a>&l29;</a>') == "not accepted: it declares entities"
    )


def test_external_entities_are_not_read() -> None:
    assert xml_problem('<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>') is None


@pytest.mark.parametrize("format_name", ["MQSTR", "", "MQHRF2", "MQDEAD", "MQHMDE", "MQHREF", "MQXMIT", "MQIMS"])
def test_no_problem_quotes_the_message(format_name: str) -> None:
    for body in (b"TOPSECRET" * 40, b"\xffTOPSECRET", b"{TOPSECRET", b"<TOPSECRET", rfh2().replace(b"jms", b"SEC")):
        found = seen(body, format_name)
        texts = [found[name] for name in found if name.endswith("_problem") and found[name]]
        assert not any("SEC" in text for text in texts)


def test_only_what_is_wanted_is_parsed() -> None:
    message = Message(format="MQSTR", encoding=LITTLE, ccsid=1208, msg_type=8, body=b"{}")
    assert "payload_json_valid" not in look(message, frozenset({"payload_length"}))
    assert look(message, frozenset({"payload_json_valid"}))["payload_json_valid"]
