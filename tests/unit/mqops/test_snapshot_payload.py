"""What the snapshot keeps of the data behind the headers: text in any character set, kinds, properties; and answers."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from snapshot_support import browsed, observed_row

from mqops.decide.in_process import READ, read_messages
from mqops.errors import LakeError
from mqops.observe.arrow import SNAPSHOT
from mqops.observe.core.answers import answers, columns_for, text_of
from mqops.rules import parse
from mqwire.ccsid import encode
from mqwire.rfh2 import MQRFH2
from mqwire.structures import MQDLH, MQMD

OBSERVED = datetime(2026, 11, 21, 12, 0, 0, 999_999, tzinfo=UTC)
QUESTIONS = parse(
    "* MQOPS EXTENSIONS\nAGE(>1s) SIZE(>1) BACKOUT(>1) PRIORITY(>1) PROP('usr.a' = '*') BODY('*') "
    "BODY(JSON '$.a' = '*') BODY(XPATH '/a' = '*') ACTION(RETRY)\n"
).table.questions


def columns(body: bytes, **md: Any) -> dict[str, Any]:
    described = {"format": "MQSTR", "coded_char_set_id": 1208, "encoding": 546, **md}
    return observed_row(browsed("DLQ", OBSERVED), MQMD(**described).pack(), body)


def dead(body: bytes, **dlh: Any) -> dict[str, Any]:
    said = {"format": "MQSTR", "coded_char_set_id": 1208, "encoding": 546, **dlh}
    return columns(MQDLH(**said).pack(encoding=546, ccsid=1208) + body, format="MQDEAD")


@pytest.mark.parametrize(
    ("ccsid", "encoding", "kept_twice"),
    [(1208, 546, False), (819, 546, True), (500, 273, True), (1200, 546, True), (1200, 273, True), (1202, 273, True)],
)
def test_law7_text_is_decoded_in_the_character_set_its_header_says(ccsid, encoding, kept_twice):
    text = '{"a": "é"}'
    row = dead(encode(text, ccsid, encoding), coded_char_set_id=ccsid, encoding=encoding)
    assert (row["text_kind"], text_of(row)) == ("json", text)
    assert (row["text_decoded"] is not None) == kept_twice


HOST_PAGES = (37, 273, 500, 1047, 1140, 1141, 930, 933, 935, 937, 939, 1364, 1371, 1388, 1390, 1399, 5026, 5035)
LINES = [("json", '{"a":\x85 1}'), ("xml", '<?xml version="1.0"?>\x85<a>1\x852</a>'), ("text", "1\x852")]


@pytest.mark.parametrize("ccsid", HOST_PAGES)
def test_a_new_line_of_EBCDIC_is_a_line_feed_as_for_a_program_that_gets_with_convert(ccsid):
    for kind, text in LINES:
        row = dead(encode(text, ccsid), coded_char_set_id=ccsid, encoding=785)
        assert (row["text_kind"], text_of(row)) == (kind, text.replace("\x85", "\n"))
    assert dead("1\x852".encode(), coded_char_set_id=1208)["text_decoded"] is None  # no page of EBCDIC: it stays


def test_ascii_is_not_kept_twice_and_an_inherited_ccsid_is_the_descriptors():
    assert dead(b"abc", coded_char_set_id=819)["text_decoded"] is None
    row = dead("é".encode(), coded_char_set_id=-2)
    assert (row["text_kind"], text_of(row)) == ("text", "é")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"\xff", {}),  # not UTF-8
        (b"a\0", {}),
        (b"abc", {"format": "MQADMIN"}),
        (b"abc", {"coded_char_set_id": 0}),  # whose?
        (b"abc", {"coded_char_set_id": 9999}),
        (b"abc", {"coded_char_set_id": 1200}),  # half a character
        (b"ab", {"coded_char_set_id": 1200, "encoding": 0}),  # which byte order?
        (b"abc", {"format": "MQHRF2"}),  # no MQRFH2 follows
    ],
)
def test_what_is_no_text_is_not_guessed(body, said):
    row = dead(body, **said)
    assert row["dlh_error"] is None
    assert (row["text_offset"], row["text_kind"], row["text_decoded"], row["properties"]) == (None,) * 4
    found = answers(QUESTIONS, row | {"observed_at": OBSERVED})
    assert [found[key] for key in ("BODY", "BODY JSON $.a", "BODY XPATH /a", "PROP usr.a")] == [None] * 4


@pytest.mark.parametrize("format_name", ["MQHRF2", "MQIMS", "MQSTR"])
def test_a_report_without_data_has_an_empty_text_whatever_its_format_promises(format_name):
    empty = MQDLH(format=format_name, coded_char_set_id=1208, encoding=546).pack()
    for row in (columns(b"", format=format_name, msg_type=4), columns(empty, format="MQDEAD", msg_type=4)):
        assert (row["text_kind"], row["text_offset"], text_of(row)) == ("text", row["body_length"], "")


@pytest.mark.parametrize("encoding", [273, 546])
def test_properties_of_every_folder_the_first_of_a_name_counts(encoding):
    folders = ["<usr><a>1</a><a>2</a><g><b>&lt;é</b></g><n xsi:nil='true'/></usr>", "<jms><Dst>queue:///Q</Dst></jms>"]
    rfh2 = MQRFH2(format="MQSTR", coded_char_set_id=1208, encoding=546, name_value_ccsid=1200)
    raw = rfh2.with_folders(*folders, encoding=encoding).pack(encoding=encoding, ccsid=819)
    row = dead(raw + b"text", format="MQHRF2", encoding=encoding, coded_char_set_id=819)
    assert json.loads(row["properties"]) == {"usr.a": "1", "usr.g.b": "<é", "jms.Dst": "queue:///Q"}
    assert (row["jms_destination"], text_of(row)) == ("queue:///Q", "text")


@pytest.mark.parametrize("bad", ["<<mcd>", "<mcd><a></mcd>", "<mcd>&nbsp;</mcd>", "<mcd a=1/>"])
def test_a_folder_that_is_not_valid_hides_no_other(bad):
    """IBM MQ, "MQRFH2 headers that are not valid"."""
    others = ["<jms><Dst>queue:///Q</Dst></jms>", "<usr>x<a>1&#10;2</a><b><![CDATA[<]]></b></usr>"]
    raw = MQRFH2(format="MQSTR", coded_char_set_id=1208).with_folders(others[0], bad, others[1]).pack()
    row = dead(raw + b"text", format="MQHRF2", coded_char_set_id=819)
    assert json.loads(row["properties"]) == {"jms.Dst": "queue:///Q", "usr.a": "1\n2", "usr.b": "<"}
    assert (row["jms_destination"], text_of(row)) == ("queue:///Q", "text")


def test_a_folder_that_is_not_valid_has_no_properties_and_hides_no_text():
    raw = MQRFH2(format="MQSTR", coded_char_set_id=1208).with_folders("<usr><a>1</usr>").pack()
    row = dead(raw + b"text", format="MQHRF2", coded_char_set_id=819)
    assert (row["properties"], row["jms_destination"], text_of(row)) == (None, None, "text")


AGES = [
    ("20261121", "11595900", 1),
    ("20261121", "11595999", 1),  # fractions do not count
    ("20261121", "12000100", -1),
    ("20261120", "12000000", 86400),
    ("        ", "        ", None),
    ("20260230", "12000000", None),
    ("00000101", "12000000", None),
    ("20261121", "240000", None),
    ("20261121", "11600000", None),
    ("20261121", "1159600 ", None),
    ("20261121", "120000XX", None),
    ("20261121", "115959", 1),  # without hundredths
    ("20261121", "115959  ", 1),
    ("20261121", "11595", None),
    ("20261121", "1159590", None),
    ("2026/11/", "21 11:59", None),
    ("21112026", "11595900", None),  # day first
    ("20261121", "23596000", None),  # a leap second is no time here
    ("20261122", "12000000", -86400),
    ("20261121", "1200000\N{SUPERSCRIPT ONE}", None),
    ("2026112\N{SUPERSCRIPT ONE}", "12000000", None),
]


@pytest.mark.parametrize(("date", "time", "age"), AGES)
def test_age_is_of_the_dead_letter_header_else_of_the_descriptor(date, time, age):
    if (date + time).isascii():
        row = dead(b"", put_date=date, put_time=time)
        assert answers(QUESTIONS, row)["AGE"] == age
        row |= {"put_date": "20261121", "put_time": "115000"}
        assert answers(QUESTIONS, row)["AGE"] == (600 if age is None else age)  # by the MQMD
    row = columns(b"") | {"put_date": date, "put_time": time}
    assert answers(QUESTIONS, row)["AGE"] == age


def test_size_is_without_the_dead_letter_header():
    assert answers(QUESTIONS, dead(b"12345"))["SIZE"] == 5
    assert answers(QUESTIONS, columns(b"12345", backout_count=3, priority=7)) == {
        **dict.fromkeys(question.key for question in QUESTIONS),
        **{"SIZE": 5, "BACKOUT": 3, "PRIORITY": 7, "BODY": "12345"},
    }


@settings(deadline=None)
@given(
    body=st.binary(max_size=300),
    format=st.sampled_from(["MQSTR", "MQDEAD", "MQHRF2", "MQIMS"]),
    ccsid=st.sampled_from([500, 819, 1208, 1200]),
)
def test_law7_whatever_comes_has_a_row_and_answers(body, format, ccsid):
    for row in (
        columns(body, format=format, coded_char_set_id=ccsid),
        dead(body, format=format, coded_char_set_id=ccsid),
    ):
        assert set(answers(QUESTIONS, row)) == {question.key for question in QUESTIONS}
        if row["text_kind"] is not None:
            page, raw = row["dlh_ccsid"] or ccsid, row["body"][row["text_offset"] :]
            assert encode(text_of(row), page, 546) == (raw.replace(b"\x15", b"\x25") if page == 500 else raw)


def test_rules_without_extensions_read_no_more_than_before():
    table = parse("REASON(2053) ACTION(RETRY)\n").table
    assert columns_for(table.questions) == []
    assert not {"body", "md", "text_decoded", "properties", "observed_at"} & set(READ)


def test_a_snapshot_of_an_earlier_version_is_refused_where_a_rule_asks_for_what_it_lacks(tmp_path):
    newer = {"text_offset", "text_kind", "text_decoded", "properties"}
    schema = pa.schema([field for field in SNAPSHOT if field.name not in newer])
    pq.write_table(schema.empty_table(), tmp_path / "part-0.parquet")
    assert list(read_messages(tmp_path, [])) == []
    with pytest.raises(
        LakeError, match="another version of mqops, without the columns text_decoded, text_kind, text_offset"
    ):
        list(read_messages(tmp_path, [one for one in QUESTIONS if one.keyword == "BODY"]))
