"""What a message can bring into a check of its payload: it fails alone, nothing of it is shown, and no other waits."""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from snapshot_support import browsed, observed_row, snapshot_of_rows, written_snapshot

from mqops.errors import LakeError, SettingsError
from mqops.lake.parquet import read_parquet
from mqops.lake.run import RunFolder
from mqops.look.core.criteria import Criteria
from mqops.message_checks import CheckResult, QualitySummary
from mqops.observe.batches import BATCH_BYTES
from mqops.quality.failed_keys import with_failed
from mqops.quality.files import QualityFiles
from mqops.quality.frame_here import batches_of
from mqops.quality.in_process import check_here
from mqops.quality.suggest import suggest
from mqops.quality.suite_file import load_suites, parse
from mqwire import constants as c
from mqwire.folder import folder
from mqwire.rfh2 import MQRFH2
from mqwire.structures import MQMD

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
PLACE: dict[str, Any] = {
    "put_date": "20261121",
    "put_time": "11000000",
    "coded_char_set_id": 1208,
    "encoding": c.MQENC_NATIVE,
}
XS = "http://www.w3.org/2001/XMLSchema"
GOOD = b'{"a": "good"}'


class Place:
    """A lake with one run, and a folder of suites."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.summary: QualitySummary

    def checked(
        self,
        bodies: Mapping[str, Sequence[bytes]] | Sequence[bytes],
        *checks: str,
        head: str = "",
        run: str = "run",
        **md: Any,
    ) -> Mapping[str, CheckResult]:
        """The results of checks on these bodies, by their ids.

        Parameters: `bodies` of a queue, or of several; `md` fields of the MQMD.
        """
        by_queue = bodies if isinstance(bodies, Mapping) else {"IN": bodies}
        rows = [
            observed_row(browsed(queue, NOW), MQMD(**{"format": c.MQFMT_STRING, **PLACE, **md}).pack(), body, position)
            for queue, some in by_queue.items()
            for position, body in enumerate(some)
        ]
        at = snapshot_of_rows(RunFolder(self.folder / run), rows, tuple(by_queue), NOW.isoformat())
        text = "\n".join(
            ["suite: s", head, "expectations:", *(f"- {{id: c{n}, {one}}}" for n, one in enumerate(checks))]
        )
        (self.folder / "s.yaml").write_text(text)
        self.summary = check_here(QualityFiles.of(at.path), load_suites([self.folder / "s.yaml"]), now=NOW.isoformat())
        return {one.expectation: one for one in self.summary.checks}

    def failures(self) -> list[tuple[str, int, str]]:
        """Check, position and what the table of failures says."""
        names = ("expectation", "position", "observed")
        rows = [row for batch in read_parquet(Path(self.summary.failures), names) for row in batch.to_pylist()]
        return [tuple(row[name] for name in names) for row in rows]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


JSON = "expect: payload_to_match_json_schema, schema_file: s.schema"
XML = "expect: payload_to_match_xml_schema, schema_file: s.schema"


def of_element(kind: str) -> str:
    return f'<xs:schema xmlns:xs="{XS}"><xs:element name="a">{kind}</xs:element></xs:schema>'


def with_pattern(pattern: str) -> str:
    restriction = f'<xs:restriction base="xs:string"><xs:pattern value="{pattern}"/></xs:restriction>'
    return of_element(f"<xs:simpleType>{restriction}</xs:simpleType>")


@pytest.mark.parametrize(
    ("schema", "body", "told"),
    [
        ({"properties": {"a": {"multipleOf": 0.01}}}, b'{"a": 19.99}', None),  # by doubles it is none
        ({"properties": {"a": {"multipleOf": 0.01}}}, b'{"a": 1%s}' % (b"0" * 400), None),  # greater than each double
        ({"properties": {"a": {"multipleOf": 0.01}}}, b'{"a": 19.995}', "multipleOf fails at $.a"),
        ({"properties": {"a": {"multipleOf": 2}}}, b'{"a": 1e400}', "multipleOf fails at $.a"),
        ({"properties": {"a": {"multipleOf": 2}}}, b'{"a": true}', None),
        ({"properties": {"a": {"$ref": "#"}}}, b'{"a":' * 400 + b"{}" + b"}" * 400, "cannot be tested: RecursionError"),
        ({"properties": {"a": {"uniqueItems": True}}}, b'{"a": [1, true, "1", {"b": 1}, {"b": "1"}, [1], null]}', None),
        ({"properties": {"a": {"uniqueItems": True}}}, b'{"a": [{"b": 1, "c": 2}, {"c": 2.0, "b": 1}]}', "unique"),
        # a name of digits can be somebody's number
        ({"additionalProperties": {"type": "array"}}, b'{"4929123412341234": 5}', "type fails at $.*"),
        (
            {"properties": {"a": {"items": {"type": "string"}}}},
            b'{"a": ["x", 4929123412341234]}',
            "type fails at $.a[1]",
        ),
        ({"properties": {"a": {"format": "date-time"}}}, b'{"a": "2026-11-26T12:00:60.5+01:00"}', None),
        ({"properties": {"a": {"format": "date-time"}}}, b'{"a": "2026-02-30T12:00:00Z"}', "format fails at $.a"),
        ({"properties": {"a": {"format": "date-time"}}}, b'{"a": "today"}', "format fails at $.a"),
        (
            of_element('<xs:simpleType><xs:restriction base="xs:dateTime"/></xs:simpleType>'),
            b"<a>999999999999999999-01-01T00:00:00</a>",
            "cannot be tested: OverflowError",
        ),
        (with_pattern("(x+)+y"), b"<a>" + b"x" * 2000 + b"</a>", "does not fit at /a"),  # for ever by Python's patterns
        (with_pattern(r"\d\w\s\D\W"), "<a>٣ü \u00fc-</a>".encode(), None),  # XSD's are of all scripts
        (with_pattern(r"\w"), b"<a>_</a>", "does not fit at /a"),
        (of_element(""), b"<q:a>x</q:a>", "not XML with namespaces"),
        # what the schema does not declare is not made valid by a type that the message itself names
        (
            of_element(""),
            f'<b xmlns:x="{XS}-instance" xmlns:xs="{XS}" x:type="xs:string">4711</b>'.encode(),
            "does not fit at /*",
        ),
    ],
)
def test_one_message_fails_a_schema_alone(place: Place, schema: Any, body: bytes, told: str | None) -> None:
    is_xml = isinstance(schema, str)
    (place.folder / "s.schema").write_text(schema if is_xml else json.dumps(schema))
    begun = time.process_time()
    found = place.checked([body], XML if is_xml else JSON)["c0"]
    assert time.process_time() - begun < 30
    assert (found.met, found.failed) == (told is None, 0 if told is None else 1)
    assert all(told and told in observed for _check, _position, observed in place.failures())


def test_elements_that_must_differ_are_compared_in_no_time(place: Place) -> None:
    (place.folder / "s.schema").write_text('{"properties": {"a": {"uniqueItems": true}}}')
    body = json.dumps({"a": [{"b": number} for number in range(50_000)]}).encode()
    begun = time.process_time()
    assert place.checked([body], JSON)["c0"].met
    assert time.process_time() - begun < 30


@pytest.mark.parametrize(
    ("check", "schema", "wrong"),
    [
        (JSON, '{"properties": {"a": {"$ref": "#/$defs/none"}}}', "refers to #/$defs/none, which it does not have"),
        (JSON, '{"properties": {"a": {"format": "uri"}}}', "has the format uri, which is not tested here"),
        (XML, with_pattern("[0-9]{1,5000}"), "has the pattern [0-9]{1,5000}, which is not a regular expression"),
        (
            XML,
            f'<xs:schema xmlns:xs="{XS}"><xs:import namespace="urn:q" schemaLocation="q.xsd"/></xs:schema>',
            "is not an XML Schema that stands alone: Import of namespace 'urn:q'",
        ),
    ],
)
def test_a_schema_that_cannot_test_is_told_with_the_suite(tmp_path: Path, check: str, schema: str, wrong: str) -> None:
    (tmp_path / "s.schema").write_text(schema)
    suite, (problem,) = parse(f"suite: s\nexpectations:\n- {{id: a, {check}}}\n", source=str(tmp_path / "s.yaml"))
    assert suite is None
    assert f"s.yaml:3: expectations.0.schema_file: s.schema {wrong}" in str(problem)


BETWEEN = "expect: column_values_to_be_between, column: v"


@pytest.mark.parametrize(
    ("declared", "bodies", "check", "failing"),
    [
        # 15 digits are held exactly, and more are never rounded to fewer, nor is a long text of digits an error
        (
            "{at: $.v, type: number}",
            [b'{"v": 1%s1}' % (b"0" * 32), b'{"v": 0.1%s1}' % (b"0" * 40), b'{"v": 120000000000000000}', b'{"v": 1e2}'],
            f"{BETWEEN}, min_value: -1",
            [("v_readable", 0), ("v_readable", 1)],
        ),
        # JSON lets an exponent have any number of digits, which no library holds; the other values are what they are
        (
            "{at: $.v, type: number}",
            [b'{"v": 2, "w": -1e%s}' % (b"9" * 20), b'{"v": 1e-%s}' % (b"9" * 20), b'{"v": 1e%s}' % (b"9" * 20)],
            f"{BETWEEN}, min_value: 2",
            [("v_readable", 1), ("v_readable", 2)],
        ),
        (
            "{at: /v, type: number}",
            [b"<v>" + b"1" * 1_100_000 + b"</v>", b"<v>00000000000000000001.50000000000000000000</v>"],
            f"{BETWEEN}, min_value: 1.5, max_value: 1.5",
            [("v_readable", 0)],
        ),
        (
            "{offset: 0, length: 16, type: packed, decimals: 2}",
            [bytes.fromhex("1000000000000000000000000000001c"), bytes.fromhex("0000000000000000000000000001995d")],
            f"{BETWEEN}, min_value: -19.95, max_value: -19.95",
            [("v_readable", 0)],
        ),
        (
            "{offset: 0, length: 5000, type: zoned}",
            [b"\xf1" * 5000, b"\xf0" * 4999 + b"\xd7"],
            f"{BETWEEN}, max_value: -7, min_value: -7",
            [("v_readable", 0)],
        ),
        # a host writes zero with the sign of what it computed
        (
            "{offset: 0, length: 2, type: packed}",
            [bytes.fromhex("000d"), bytes.fromhex("000c"), bytes.fromhex("001d")],
            "expect: column_values_to_be_in_set, column: v, value_set: [0]",
            [("c0", 2)],
        ),
        # the zone of a date counts; without one it is UTC
        (
            '{at: $.v, type: date, format: "%Y-%m-%dT%H:%M:%S%z"}',
            [
                b'{"v": "2026-11-26T00:30:00+0200"}',
                b'{"v": "2026-11-26T00:30:00+0000"}',
                b'{"v": "0001-01-01T00:00:00+0200"}',
            ],
            f"{BETWEEN}, min_value: 2026-11-26",
            [("c0", 0), ("v_readable", 2)],
        ),
    ],
)
def test_what_a_value_is(
    place: Place, declared: str, bodies: list[bytes], check: str, failing: list[tuple[str, int]]
) -> None:
    place.checked(bodies, check, head=f"columns: {{v: {declared}}}")
    assert sorted((check, position) for check, position, _observed in place.failures()) == failing


def test_a_group_that_says_to_have_a_thousand_million_messages_takes_no_memory(place: Place) -> None:
    flags = c.MQMF_MSG_IN_GROUP | c.MQMF_LAST_MSG_IN_GROUP
    md: dict[str, Any] = {"version": 2, "group_id": b"g" * 24, "msg_seq_number": 999_999_999, "msg_flags": flags}
    begun = time.process_time()
    found = place.checked([GOOD], "expect: groups_to_be_complete", **md)["c0"]
    assert (found.met, found.failed) == (False, 1)
    assert time.process_time() - begun < 20


SUM = "expect: column_sum_to_equal_queue, column: $.v, in_queue: OUT, where: {queue: IN}"


@pytest.mark.parametrize(
    ("here", "there", "shown"),
    [
        ([b'{"v": 4711}'] * 5, [b'{"v": 4711}'] * 5, "23,555 here, 23,555 in OUT"),
        ([b'{"v": 4711}'] * 5, [b'{"v": 4711}'], "99,999 here, 9,999 in OUT"),  # there it is one message's
        ([b'{"v": 4711}', *[b'{"w": 1}'] * 5], [b'{"v": 4711}'] * 5, "9,999 here, 99,999 in OUT"),  # and here
        ([b'{"v": 4711}'] * 5, [b'{"w": 1}'], "23,555 here, 0 in OUT"),
    ],
)
def test_a_sum_of_few_messages_is_masked_on_either_side(
    place: Place, here: list[bytes], there: list[bytes], shown: str
) -> None:
    found = place.checked({"IN": here, "OUT": there}, SUM, head="columns: {$.v: number}")["c0"]
    assert (found.observed, found.met) == (shown, shown.startswith("23,555 here, 23,555"))


def test_sums_of_no_value_are_not_called_equal(place: Place) -> None:
    """As where the column's name is written wrong."""
    found = place.checked({"IN": [GOOD], "OUT": [GOOD]}, SUM, head="columns: {$.v: number}")["c0"]
    assert (found.checked, found.skipped, found.observed) == (0, "no message has a value", "")


def test_a_check_learns_from_results_of_its_own_kind_only(tmp_path: Path) -> None:
    """A person edits the suite: the check of the name has another column now, whose values are no texts even."""
    runs = Place(tmp_path / "QM1" / "runs")
    runs.folder.mkdir(parents=True)
    known = "expect: column_values_to_be_as_before, least_runs: 1, column:"
    for number, (check, met, skipped) in enumerate(
        [
            (f"{known} format", True, "learns: 0 of 1 good run"),
            (f"{known} format", True, ""),
            (f"{known} priority", True, "learns: 0 of 1 good run"),
            (f"{known} priority, where: {{queue: IN}}", True, "learns: 0 of 1 good run"),
        ]
    ):
        found = runs.checked([GOOD], check, run=f"20261121T12000{number}Z-0000000{number}")["c0"]
        assert (found.met, found.skipped) == (met, skipped)


def test_large_bodies_are_in_memory_a_few_at_a_time(tmp_path: Path) -> None:
    md = MQMD(format=c.MQFMT_STRING, **PLACE).pack()
    run = written_snapshot(RunFolder(tmp_path / "run"), browsed("IN", NOW), [(md, b"x" * (1 << 20))] * 60)
    batches = list(batches_of(run.snapshot, ["body"]))
    assert sum(batch.num_rows for batch in batches) == 60
    assert max(batch.nbytes for batch in batches) < BATCH_BYTES + (2 << 20)


def test_columns_that_come_from_the_body_are_tested_like_others(place: Place) -> None:
    form = "expect: column_values_to_match_strftime_format, column: payload_kind, strftime_format: '%Y'"
    found = place.checked([GOOD], form, "expect: column_values_to_be_valid_iban, column: headers")
    assert [(one.met, one.failed) for one in found.values()] == [(False, 1), (False, 1)]


def test_a_number_that_no_column_can_have(place: Place) -> None:
    great = 99_999_999_999_999_999_999
    found = place.checked(
        [GOOD],
        f"expect: column_values_to_be_in_set, column: priority, value_set: [{great}]",
        f"expect: column_values_to_be_between, column: priority, max_value: {great}",
        f"expect: column_values_to_not_be_null, column: priority, where: {{priority: {great}}}",
    )
    assert [(one.checked, one.failed) for one in found.values()] == [(1, 1), (1, 0), (0, 0)]


@pytest.mark.parametrize(
    ("check", "wrong"),
    [
        (
            "expect: table_row_count_to_be_as_before, least_runs: 12",
            "expectations.0.runs: must be at least least_runs, at most 30 (found 10 and 12)",
        ),
        (
            "expect: table_row_count_to_be_as_before, least_runs: 31, runs: 40",
            "expectations.0.runs: must be at least least_runs, at most 30 (found 30 and 31)",
        ),
        (
            "expect: table_row_count_to_be_as_before, runs: 0, least_runs: 0",
            "expectations.0.runs: must be at least least_runs, at most 30 (found 0 and 1)",
        ),
    ],
)
def test_a_check_that_would_learn_for_ever_and_so_be_met_is_told_with_the_suite(check: str, wrong: str) -> None:
    suite, (problem,) = parse(f"suite: s\nexpectations:\n- {{id: a, {check}}}\n", source="s.yaml")
    assert suite is None
    assert wrong in str(problem)


@pytest.mark.parametrize(
    "bodies",
    [
        [{"a": "x" * 1500}, {"a": "y" * 1500}],  # more than RE2 counts
        [{"a": "1²"}, {"a": "2³"}],  # digits that are none of 0 to 9
        [{"a": {"b": "x"}, "a_b": "y"}, {"a": {"b": "x"}, "a_b": "y"}],  # two columns that make one word
        [{"__": "x", "n" * 120: "y"}, {"__": "x", "n" * 120: "y"}],
        [
            {"DE89370400440532013000": "x"},
            {"GB82WEST12345698765432": "x"},
            {"x": 1},
        ],  # names that are numbers of people
    ],
)
def test_a_suggested_suite_can_be_read_is_met_and_has_no_payload(place: Place, bodies: list[Any]) -> None:
    place.checked([json.dumps(one).encode() for one in bodies], "expect: column_values_to_not_be_null, column: format")
    snapshot = place.folder / "run" / "snapshot"
    text = suggest(snapshot, "IN")
    assert not {"DE89370400440532013000", "GB82WEST12345698765432"} & set(re.findall("[A-Z0-9]+", text))
    (place.folder / "suggested.yaml").write_text(text)
    found = check_here(
        QualityFiles.of(snapshot.parent), load_suites([place.folder / "suggested.yaml"]), now=NOW.isoformat()
    )
    assert [one.expectation for one in found.checks if not one.met] == []


def test_messages_that_failed_are_not_none_where_nobody_can_tell(place: Place) -> None:
    place.checked(
        [GOOD],
        "expect: column_values_to_be_null, column: format",
        "expect: table_row_count_to_be_between, max_value: 0",
    )
    run, any_message = RunFolder(place.folder / "run"), Criteria()
    assert len(with_failed(any_message, "s", place.folder, "", run).keys or ()) == 1
    with pytest.raises(SettingsError, match="Check c1 of suite s is about all messages together, and names none"):
        with_failed(any_message, "s:c1", place.folder, "", run)
    shutil.rmtree(place.summary.failures)
    for failed in ("s", "s:c0"):
        with pytest.raises(LakeError, match=r"The table of failures .* of run run is not there"):
            with_failed(any_message, failed, place.folder, "", run)


def test_a_property_of_headers_that_are_at_fault_is_no_null(place: Place) -> None:
    header = MQRFH2(format=c.MQFMT_STRING, coded_char_set_id=1208, encoding=c.MQENC_NATIVE)
    good = header.with_folders(folder("usr", {"kind": "A"})).pack() + GOOD
    broken = good.replace(b"</usr>", b"</usx>")
    in_set = "expect: column_values_to_be_in_set, column: usr.kind, value_set: [A]"
    found = place.checked([good, broken], in_set, format=c.MQFMT_RF_HEADER_2)
    assert {name: one.failed for name, one in found.items()} == {"c0": 0, "usr_kind_readable": 1}
    assert [(row[1], row[2].startswith("MQRFH2.NameValueData at offset")) for row in place.failures()] == [(1, True)]
