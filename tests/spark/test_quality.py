"""Suites on snapshots by real Spark and Great Expectations: the right messages, the right severity, no payload."""

from __future__ import annotations

import json
import os
import random
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from operator import itemgetter
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from outside_support import forget, install, installed
from random_suites import RANDOM, random_check
from snapshot_support import snapshot_of_rows

from mqops.cli import main
from mqops.errors import LakeError, MqopsError, SettingsError
from mqops.lake.files import write_json
from mqops.lake.parquet import read_parquet
from mqops.lake.run import RunFolder
from mqops.lake.run_file import Checked
from mqops.look.runs import list_runs
from mqops.message_checks import QualitySummary
from mqops.observe.core.decode import Browsed, snapshot_row
from mqops.quality.check import QualityFiles, check
from mqops.quality.check_snapshot import needs_spark
from mqops.quality.failures import FAILURES
from mqops.quality.in_process import check_here
from mqops.quality.no_message import check_no_message
from mqops.quality.one_pass import check_in_one_pass
from mqops.quality.pieces import pieces
from mqops.quality.results import docs_of, results, verdict_of
from mqops.quality.scope import QueuesSeen
from mqops.quality.suite_file import load_suites
from mqops.quality.summary import QualityFailed, verdict
from mqwire import constants as c
from mqwire.ccsid import encode
from mqwire.folder import folder
from mqwire.rfh2 import MQRFH2
from mqwire.structures import MQDLH, MQMD

SHIPPED = Path(__file__).parents[2] / "include" / "expectations"
SUITES = (SHIPPED / "messages.yaml", SHIPPED / "dead_letters.yaml")
DOCS = Path(__file__).parents[2] / "docs"
QUICK = Path(__file__).parents[1] / "data" / "suites" / "quick.yaml"
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
SECRET = "TOPSECRET-4711"
DLQ, IN = "SYSTEM.DEAD.LETTER.QUEUE", "PAYMENTS.IN"
PLACE = {"put_date": "20261121", "put_time": "11000000", "coded_char_set_id": 1208, "encoding": c.MQENC_NATIVE}

Row = tuple[str, bytes, bytes]
"""Queue, MQMD, body."""


def message(number: int, body: bytes | None = None, *, queue: str = IN, **fields: Any) -> Row:
    """A good message, but for what `fields` of the MQMD or the body say."""
    described = {"format": c.MQFMT_STRING, "msg_id": number.to_bytes(24, "big"), "priority": 4, "persistence": 1}
    md = MQMD(**{**described, **PLACE, **fields}).pack()
    return queue, md, f'{{"account": "{SECRET}", "number": {number}}}'.encode() if body is None else body


def dead(number: int, body: bytes | None = None, **fields: Any) -> Row:
    """A good message on the dead-letter queue."""
    dlh = MQDLH(
        reason=c.MQRC_Q_FULL, dest_q_name=IN, dest_q_mgr_name="QM1", encoding=c.MQENC_NATIVE, coded_char_set_id=1208,
        format=c.MQFMT_STRING,
    ).pack()  # fmt: skip
    whole = dlh + SECRET.encode() if body is None else body
    return message(number, whole, queue=DLQ, **{"format": c.MQFMT_DEAD_LETTER_HEADER, **fields})


def with_rfh2(text: str = "") -> bytes:
    header = MQRFH2(format=c.MQFMT_STRING, coded_char_set_id=1208, encoding=c.MQENC_NATIVE)
    return header.with_folders(folder("usr", {"a": "b"})).pack() + (text or SECRET).encode()


def good(first: int = 1000) -> list[Row]:
    """Messages of every kind that nothing is wrong with, in several character sets."""
    german = {"coded_char_set_id": 1141, "encoding": 785}
    wide = {"coded_char_set_id": 1200, "encoding": 273}
    return [
        *(message(first + n) for n in range(5)),
        message(first + 5, f"<a>{SECRET}</a>".encode()),
        message(first + 6, bytes(range(256)), format=c.MQFMT_NONE),
        message(first + 7, encode("Überweisung", 1141), **german),
        message(first + 8, "Überweisung".encode("utf-16-be"), **wide),
        message(first + 9, with_rfh2(), format=c.MQFMT_RF_HEADER_2),
        message(first + 10, msg_type=c.MQMT_REQUEST, reply_to_q="REPLIES"),
        message(first + 11, msg_type=c.MQMT_REPLY, correl_id=b"x" * 24),
        message(first + 12, msg_type=c.MQMT_REPORT, feedback=c.MQFB_COA),
        message(first + 13, expiry=6_000),
        *(dead(first + 20 + n) for n in range(5)),
    ]


FAULTS: Mapping[str, tuple[list[Row], str]] = {
    # id of the expectation: messages that fail it, what the table says of them
    "body_not_empty": ([message(1, b"")], "0"),
    "text_in_its_ccsid": ([message(2, b"gr\xfcn")], "not text in CCSID 1208 at byte 2 of the body"),
    "rfh2_well_formed": (
        [message(3, with_rfh2().replace(b"</usr>", b"</usx>"), format=c.MQFMT_RF_HEADER_2)],
        "MQRFH2.NameValueData at offset 55",
    ),
    "payload_parses": (
        [message(4, f'{{"account": "{SECRET}'.encode()), message(5, f"<a>{SECRET}<b></a>".encode())],
        "not JSON at line 1, column 13",
    ),
    "request_names_reply_queue": ([message(6, msg_type=c.MQMT_REQUEST)], ""),
    "msg_id_unique": (
        [message(7), message(7, b"{}")],
        "queue=PAYMENTS.IN, msg_id=000000000000000000000000000000000000000000000007, msg_offset=0",
    ),
    "begins_with_mqdlh": ([dead(8, b"DLH?" + SECRET.encode() * 20)], "MQDLH.StrucId at offset 0"),
    "priority_in_range": ([message(9, priority=10)], "10"),
    "persistence_known": ([message(10, persistence=2)], "2"),
    "expiry_in_range": ([message(11, expiry=0)], "0"),
    "format_known": ([message(12, format="PAYM")], "PAYM"),
    "not_old": ([message(13, put_date="20261101")], "1731600.0"),
    "backout_count_low": ([message(14, backout_count=5)], "5"),
    "reply_names_its_request": ([message(15, msg_type=c.MQMT_REPLY)], "0" * 48),
    "report_says_what_happened": ([message(16, msg_type=c.MQMT_REPORT)], "0"),
    "message_type_known": ([message(17, msg_type=5)], "5"),
    "expires_soon": ([message(18, expiry=599)], "59.9"),
    "format_says_mqdlh": ([dead(19, format=c.MQFMT_NONE)], ""),
    "reason_given": (
        [dead(20, MQDLH(dest_q_name=IN, format=c.MQFMT_STRING, coded_char_set_id=1208, encoding=546).pack() + b"a")],
        "0",
    ),
}
IMPLIED = {
    "rfh2_well_formed": {"headers_valid"},
    "begins_with_mqdlh": {"headers_valid"},
    "expiry_in_range": {"expires_soon"},
}
"""Expectations that a fault fails besides its own."""

MakeRun = Callable[..., RunFolder]


@pytest.fixture
def make_run(tmp_path: Path) -> MakeRun:
    """A function (rows, run=...) → the folder of a run with the snapshot of these messages."""

    def make(rows: list[Row], run: str = "run-1", queues: tuple[str, ...] = (IN, DLQ)) -> RunFolder:
        at = RunFolder.at(tmp_path / "lake", "QM1", run)
        table = [
            snapshot_row(Browsed(queue_manager="QM1", queue=queue, observed_at=NOW), place, md, body)
            for place, (queue, md, body) in enumerate(rows)
        ]
        return snapshot_of_rows(at, table, queues, "2026-11-21T12:00:00Z")

    return make


def checked(run: RunFolder, *suites: Path, docs: Path | None = None) -> QualitySummary:
    """In this process, as a snapshot of this size is checked."""
    return check_here(QualityFiles.of(run.path, docs=docs), load_suites(suites or SUITES), now="2026-11-21T12:00:01Z")


def by_spark(spark: Any, run: RunFolder, *suites: Path, docs: Path | None = None) -> QualitySummary:
    """As a snapshot is checked by a suite that needs Great Expectations itself."""
    return check(spark, QualityFiles.of(run.path, docs=docs), load_suites(suites or SUITES), now="2026-11-21T12:00:01Z")


def in_one_pass(spark: Any, run: RunFolder, *suites: Path, docs: Path | None = None) -> QualitySummary:
    """As a large snapshot is checked."""
    files = QualityFiles.of(run.path, docs=docs)
    return check_in_one_pass(spark, files, load_suites(suites or SUITES), now="2026-11-21T12:00:01Z")


def failures(summary: QualitySummary) -> list[dict[str, Any]]:
    return [row for batch in read_parquet(Path(summary.failures), FAILURES.fieldNames()) for row in batch.to_pylist()]


def suite(tmp_path: Path, *lines: str, head: str = "suite: s") -> Path:
    path = tmp_path / "s.yaml"
    path.write_text("\n".join([head, "expectations:", *(f"- {line}" for line in lines)]))
    return path


def test_a_clean_snapshot_passes(make_run: MakeRun) -> None:
    summary = checked(make_run(good()))
    assert [one for one in summary.checks if not one.met] == []
    assert (summary.found, summary.done, summary.left, summary.balanced) == (19, 19, 0, True)
    assert failures(summary) == []
    verdict(summary)


def keeps_the_secret(summary: QualitySummary, docs: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """No file of the check, and nothing that was printed, has the payload."""
    written = [path for root in (Path(summary.failures).parent, docs) for path in root.rglob("*") if path.is_file()]
    assert {".json", ".parquet", ".html"} <= {path.suffix for path in written}
    printed = capfd.readouterr()
    assert SECRET not in str(failures(summary)) + printed.out + printed.err
    for path in written:
        assert SECRET.encode() not in path.read_bytes(), path


def test_D05_each_seeded_fault_is_found_on_exactly_its_messages_and_no_payload_leaves_the_snapshot(
    make_run: MakeRun, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """In this process; by Spark with the 48 kinds of faults below."""
    assert len(FAULTS) >= 8
    rows, expected = good(), set()
    for expectation, (bad, _observed) in FAULTS.items():
        for name in {expectation, *IMPLIED.get(expectation, ())}:
            expected |= {(name, len(rows) + place) for place in range(len(bad))}
        rows += bad
    docs = tmp_path / "docs"
    run = make_run(rows)
    summary = checked(run, docs=docs)
    table = failures(summary)
    assert {(row["expectation"], row["position"]) for row in table} == expected
    assert len(table) == len(expected)
    for expectation, (_bad, observed) in FAULTS.items():
        assert observed in {row["observed"] for row in table if row["expectation"] == expectation}, expectation
    bad_messages = {position for _name, position in expected}
    assert (summary.found, summary.left) == (len(rows), len(bad_messages))
    assert summary.done == len(rows) - len(bad_messages)
    assert summary.balanced
    for queue in summary.queues:
        assert queue.found == queue.done + queue.left
    assert all(one.failed == sum(row["expectation"] == one.expectation for row in table) for one in summary.checks)
    keeps_the_secret(summary, docs, capfd)


def test_rows_of_the_table_say_which_message(make_run: MakeRun) -> None:
    run = make_run([message(1), message(2, b"")])
    row = failures(checked(run, QUICK))[0]
    (messages,) = (one for one in pq.read_table(run.snapshot).to_pylist() if one["body_length"] == 0)
    assert row == {
        "queue_manager": "QM1",
        "queue": IN,
        "position": 1,
        "msg_key": messages["msg_key"],
        "msg_id": (2).to_bytes(24, "big").hex(),
        "suite": "messages",
        "expectation": "body_not_empty",
        "severity": "critical",
        "tolerated": False,
        "observed": "0",
    }


@pytest.mark.parametrize(("severity", "passes"), [("critical", False), ("warning", True), ("info", True)])
def test_severity_decides_whether_the_run_fails(make_run: MakeRun, tmp_path: Path, severity: str, passes: bool) -> None:
    path = suite(
        tmp_path,
        f"{{id: big, expect: column_values_to_be_between, column: priority, min_value: 5, severity: {severity}}}",
    )
    summary = checked(make_run([message(1), message(2, priority=5)]), path)
    assert summary.failed == {"critical": 0, "warning": 0, "info": 0, severity: 1}
    assert summary.messages == {"critical": 0, "warning": 0, "info": 0, severity: 1}
    assert summary.ok == passes
    if passes:
        verdict(summary)
    else:
        with pytest.raises(QualityFailed, match=r"critical: s\.big: 1 of 2 messages"):
            verdict(summary)


def test_mostly_tolerates_and_still_tells(make_run: MakeRun, tmp_path: Path) -> None:
    path = suite(
        tmp_path, "{id: half, expect: column_values_to_be_between, column: priority, min_value: 5, mostly: 0.5}"
    )
    summary = checked(make_run([message(1), message(2, priority=5)]), path)
    assert (summary.ok, summary.left, summary.checks[0].failed) == (True, 0, 1)
    assert [row["tolerated"] for row in failures(summary)] == [True]


def test_aggregates_say_what_they_found(make_run: MakeRun, tmp_path: Path) -> None:
    path = suite(
        tmp_path,
        "{id: rows, expect: table_row_count_to_be_between, min_value: 3}",
        "{id: max, expect: column_max_to_be_between, column: priority, max_value: 4}",
        "{id: none, expect: column_max_to_be_between, column: expires_in_seconds, max_value: 1}",
        "{id: of_b, expect: table_row_count_to_be_between, max_value: 0, where: {queue: B}}",
    )
    summary = checked(make_run([message(1), message(2)]), path)
    checks = [(one.expectation, one.met, one.observed, one.failed, one.skipped) for one in summary.checks]
    assert checks == [
        ("rows", False, "2", None, ""),
        ("max", True, "4", None, ""),
        ("none", True, "", None, "no message has a value"),
        ("of_b", True, "0", None, ""),
    ]
    assert summary.failed["critical"] == 1
    assert failures(summary) == []


def test_conditions_choose_the_messages(make_run: MakeRun, tmp_path: Path) -> None:
    conditions = {
        "equal": "{priority: 1}",
        "one_of": "{priority: [1, 2]}",
        "not": "{priority: {not: 1}}",
        "within": "{priority: {at_least: 2, at_most: 3}}",
        "like": "{reply_to_q: {like: 'A_%.?'}}",
        "stars": "{reply_to_q: {like: '*%*?'}}",
        "quoted": '{reply_to_q: "O\'B\\\\"}',
        "set": "{dlh_reason: {is_set: true}}",
        "flag": "{body_text_valid: true}",
    }
    lines = [
        f"{{id: {name}, expect: column_values_to_be_null, column: position, where: {where}}}"
        for name, where in conditions.items()
    ]
    rows = [
        message(0, priority=1),
        message(1, priority=2, reply_to_q="A_%.1"),
        message(2, priority=3, reply_to_q="AB%.1"),
        message(3, priority=4, reply_to_q="O'B\\"),
        dead(4, priority=5),
    ]
    table = failures(checked(make_run(rows), suite(tmp_path, *lines)))
    found: dict[str, set[int]] = {name: set() for name in conditions}
    for row in table:
        found[row["expectation"]].add(row["position"])
    assert found == {
        "equal": {0},
        "one_of": {0, 1},
        "not": {1, 2, 3, 4},
        "within": {1, 2},
        "like": {1},
        "stars": {1, 2},
        "quoted": {3},
        "set": {4},
        "flag": {0, 1, 2, 3, 4},
    }


def test_a_suite_is_about_its_queues_only(make_run: MakeRun, tmp_path: Path) -> None:
    path = suite(
        tmp_path,
        "{id: never, expect: column_values_to_be_null, column: position}",
        head="suite: s\nqueues: ['*.DEAD.*', 'NO.SUCH.QUEUE']",
    )
    summary = checked(make_run([message(1), dead(2)]), path)
    assert [row["queue"] for row in failures(summary)] == [DLQ]
    assert [(queue.queue, queue.left, queue.not_checked) for queue in summary.queues] == [(IN, 0, 1), (DLQ, 1, 0)]
    assert summary.told == ("suite s: no queue fits NO.SUCH.QUEUE",)


def test_queues_that_were_empty_are_told(make_run: MakeRun) -> None:
    summary = checked(make_run([message(1)], queues=(IN, "EMPTY")), QUICK)
    assert [(queue.queue, queue.found) for queue in summary.queues] == [("EMPTY", 0), (IN, 1)]


def test_an_empty_snapshot_passes(make_run: MakeRun) -> None:
    summary = checked(make_run([]))
    assert (summary.ok, summary.found, summary.queue_manager) == (True, 0, "QM1")


def test_docs_and_tables_are_private(make_run: MakeRun, tmp_path: Path) -> None:
    summary = checked(make_run([message(1, b"")]), QUICK, docs=tmp_path / "docs")
    first = Path(summary.docs)
    assert first == tmp_path / "docs" / "index.html"
    assert "messages" in first.read_text()
    pages = "".join(path.read_text() for path in (tmp_path / "docs" / "validations").rglob("*.html"))
    assert "body_not_empty (critical)" in pages
    assert "the message carries nothing" in pages
    every = list((tmp_path / "docs").rglob("*.html"))
    assert len(every) == 2
    for page in every:  # they need no network, and every link leads somewhere
        text = page.read_text()
        assert "<script" not in text
        assert not re.search(r"""(?:src=|url\()\s*["']?https?:|<link""", text)
        local = [one for one in re.findall(r'(?:href|src)="([^"#]+)"', text) if not one.startswith("http")]
        assert all((page.parent / unquote(one)).is_file() for one in local), local
        assert local
    for root in (Path(summary.failures).parent, tmp_path / "docs"):
        for path in root.rglob("*"):
            assert os.stat(path).st_mode & 0o077 == 0, path


EVIL = (
    "<svg/onload=hit()>",
    "<script>hit()</script>",
    "# <b>head</b>",
    "[x](javascript:hit())",
    "[y](http://e.x)",
    "<img src=x onerror=hit()>",
)
ALLOWED = re.compile(r"(?:\.\./)*[\w/.+-]*\.html|#[\w-]+")


def test_text_of_messages_and_suites_is_text_on_the_pages(
    spark: Any, driver: Any, make_run: MakeRun, tmp_path: Path
) -> None:
    """As a browser sees them that opens them from disk."""
    rows = [message(number, put_appl_name=text) for number, text in enumerate(EVIL, 1)]
    about = json.dumps(" ".join(EVIL))
    known = f"expect: column_values_to_be_in_set, value_set: [{about}]"
    shape = "expect: column_values_to_match_regex, regex: '^[a-z$]{3}<b>$'"
    checks = [f"{{id: c{n}, {one}, column: put_appl_name, why: {about}}}" for n, one in enumerate((known, shape))]
    path = suite(tmp_path, *checks, head=f"suite: s\ndescription: {about}")
    docs = Path(by_spark(spark, make_run(rows), path, docs=tmp_path / "docs").docs).parent
    here = Path(checked(make_run(rows, "run-2"), path, docs=tmp_path / "here").docs).parent
    assert sorted(page.suffix for page in docs.rglob("*") if page.is_file()) == ["", ".html", ".html", ".html"]
    seen: dict[bool, str] = {}
    for page in (*docs.rglob("*.html"), *here.rglob("*.html")):
        ran = "document.title = `ran`"
        page.write_text(f"{page.read_text()}<script>{ran}</script><svg onload='{ran}'>")
        driver.get(page.as_uri())
        assert driver.title.startswith("Data quality on QM1"), "the page itself forbids scripts"
        marks = "[...document.querySelectorAll('body *')].flatMap((one) => [one.tagName, ...one.getAttributeNames()])"
        found = set(driver.execute_script(f"return {marks}"))
        assert not found & {"IMG", "IFRAME", "LINK", "OBJECT", "FORM", "INPUT", "STYLE", "style", "src", "onerror"}
        to = driver.execute_script("return [...document.links].map((one) => one.getAttribute('href') ?? '')")
        assert [one for one in to if not ALLOWED.fullmatch(one)] == []
        ours = page.is_relative_to(here)
        seen[ours] = seen.get(ours, "") + driver.execute_script("return document.body.textContent")
    for text in (*EVIL, " ".join(EVIL), "^[a-z$]{3}<b>$"):
        assert text in seen[True]
        assert text in seen[False]
    assert driver.execute_script("return getComputedStyle(document.body).maxWidth") == "1400px"


def test_no_result_is_overwritten_and_one_that_passes_hides_none_that_does_not(
    make_run: MakeRun, tmp_path: Path
) -> None:
    run = make_run([message(1, b"")])

    def listed() -> tuple[str, str, str]:
        (line,) = list_runs(tmp_path / "lake")
        return line.state, line.workflow, line.checks

    assert listed() == ("observed", "snapshot", "")
    os.utime(run.path, (0, 0))  # so long ago that the index of the runs keeps its line
    assert listed() == ("observed", "snapshot", "")
    first = checked(run, QUICK)
    assert first.left == 1
    assert listed() == ("failed", "snapshot_quality", "1 critical check is not met, in 1 message")
    os.utime(run.path, (0, 0))
    assert listed()[0] == "failed"
    path = suite(tmp_path, "{id: any, expect: column_values_to_not_be_null, column: format}")
    second = checked(run, path)
    assert listed()[0] == "failed"  # that of the suite `messages` is the newest of its suite still
    assert results(run) == [second, first]
    assert failures(second) == []
    assert len(failures(first)) == 1
    stored = json.loads((Path(first.failures).parent / "quality.json").read_text())
    assert Checked(QualitySummary).of(stored, Path("quality.json")) == first
    line = "{id: any, expect: column_values_to_not_be_null, column: format}"
    checked(run, suite(tmp_path, line, head="suite: messages"))
    assert listed() == ("checked", "snapshot_quality", "1 check is met, in 1 message")
    assert len(results(run)) == 3


def test_the_verdict_of_a_run_is_that_of_its_workflow(make_run: MakeRun, tmp_path: Path) -> None:
    run = make_run([message(1, b"")])
    write_json(run.path.joinpath("handed_on.json"), {"dag_id": "qm1_snapshot_quality", "run_id": "r", "found": {}})
    line = "{id: any, expect: column_values_to_not_be_null, column: format}"
    passes = suite(tmp_path, line, head="suite: messages")
    by_hand = checked(run, passes)
    assert [one.state for one in list_runs(tmp_path / "lake")] == ["observed"]  # the workflow has not checked it
    place = QualityFiles.of(run.path, by_workflow=True)
    place = replace(place, docs=place.own_docs)
    found = check_here(place, load_suites([QUICK]), now="2026-11-21T12:00:01Z")
    checked(run, passes)
    assert verdict_of(run) == found
    assert [one.state for one in list_runs(tmp_path / "lake")] == ["failed"]
    docs = docs_of(run)
    assert docs == place.own_docs
    assert (docs / "index.html").is_file()
    assert len(results(run)) == 3
    assert results(run)[-1] == by_hand
    shown = CliRunner().invoke(main, ["run", "show", run.run, "--lake", str(tmp_path / "lake")]).stdout
    assert "by the workflow, messages: 1 critical check is not met, in 1 message" in " ".join(shown.split())
    assert "not met critical messages.body_not_empty: 1 message fails of 1" in " ".join(shown.split())


def test_a_suite_that_fits_no_queue_is_not_met_and_its_queues_are_not_checked(
    make_run: MakeRun, tmp_path: Path
) -> None:
    path = suite(
        tmp_path,
        "{id: full, expect: table_row_count_to_be_between, max_value: 9}",
        "{id: known, expect: column_values_to_not_be_null, column: format}",
        "{id: warned, expect: column_max_to_be_between, column: priority, max_value: 9, severity: warning}",
        head="suite: s\nqueues: ['PAYMNTS.*']",
    )
    summary = checked(make_run([message(1), dead(2)]), path)
    why = "looked at no message: no queue that was looked at fits PAYMNTS.*"
    assert [(one.expectation, one.met, one.skipped) for one in summary.checks] == [
        ("full", False, why),
        ("known", False, why),
        ("warned", False, why),
    ]
    assert summary.failed == {"critical": 2, "warning": 1, "info": 0}
    assert summary.told == ("suite s: no queue fits PAYMNTS.*",)
    assert [(one.queue, one.done, one.not_checked) for one in summary.queues] == [(IN, 0, 1), (DLQ, 0, 1)]
    assert (summary.done, summary.not_checked) == (0, 2)
    with pytest.raises(QualityFailed, match=r"critical: s\.known: looked at no message: no queue that was looked at"):
        verdict(summary)
    arguments = ["quality", "check", "--snapshot", str(make_run([message(1)], "run-2").path), "--suite", str(path)]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 1
    assert "PAYMENTS.IN: 1 found, 0 good, 0 with findings, 1 not checked" in result.stdout
    assert "suite s: no queue fits PAYMNTS.*" in result.stdout
    assert why in " ".join(result.stdout.split())


def test_messages_that_no_check_is_about_are_not_good(make_run: MakeRun, tmp_path: Path) -> None:
    """By the suite's queues, by a condition, by a column that has no value; and a condition on a queue that is none."""
    path = suite(
        tmp_path,
        "{id: where, expect: column_values_to_not_be_null, column: format, where: {priority: 1}}",
        "{id: value, expect: column_values_to_be_in_set, column: dlh_format, value_set: [MQSTR]}",
        "{id: typo, expect: column_values_to_not_be_null, column: format, where: {queue: {like: 'PAYMNTS.*'}}}",
        "{id: none, expect: table_row_count_to_be_between, max_value: 0, where: {queue: OTHER}}",
    )
    rows = [message(1, priority=1), message(2), dead(3), message(4, queue="OTHER.IN")]
    summary = checked(make_run(rows, queues=(IN, DLQ, "OTHER.IN")), path)
    assert {one.queue: (one.found, one.done, one.not_checked) for one in summary.queues} == {
        IN: (2, 1, 1),
        DLQ: (1, 1, 0),
        "OTHER.IN": (1, 0, 1),
    }
    assert [(one.expectation, one.skipped) for one in summary.not_met("critical")] == [
        ("typo", "looked at no message: no queue that was looked at fits its condition queue like PAYMNTS.*")
    ]
    assert summary.balanced


def test_empty_queues_mean_the_same_with_spark_and_without(spark: Any, make_run: MakeRun, tmp_path: Path) -> None:
    """As the workflow's first task checks them, which starts no JVM (`check_no_message`)."""
    path = suite(
        tmp_path,
        *(
            f"{{id: i{number}, expect: {line}}}"
            for number, line in enumerate(
                (
                    "table_row_count_to_be_between, min_value: 1",
                    "table_row_count_to_be_between, max_value: 0",
                    "table_row_count_to_be_between, min_value: 0, strict_min: true",
                    "column_unique_value_count_to_be_between, column: format, min_value: 1",
                    "column_distinct_values_to_contain_set, column: format, value_set: [MQSTR]",
                    "column_distinct_values_to_equal_set, column: format, value_set: [MQSTR]",
                    "column_distinct_values_to_be_in_set, column: format, value_set: [MQSTR]",
                    "column_max_to_be_between, column: priority, max_value: 3",
                    "column_proportion_of_non_null_values_to_be_between, column: format, min_value: 1",
                    "column_values_to_be_null, column: format",
                )
            )
        ),
    )
    met = [False, True, False, False, False, False, True, True, True, True]
    suites = load_suites([path])
    with_spark = by_spark(spark, make_run([]), path)
    seen = QueuesSeen(looked_at=(IN, DLQ))
    without = check_no_message("QM1", suites, seen, now=with_spark.checked_at)
    assert [one.met for one in without.checks] == met
    assert with_spark.checks == without.checks
    assert (with_spark.failed, with_spark.told, with_spark.ok) == (without.failed, without.told, without.ok)
    # Great Expectations itself says the same of a condition that no message fulfils
    text = path.read_text().replace("}\n", ", where: {priority: 8}}\n") + "\n"
    path.write_text(text.removesuffix("}\n") + ", where: {priority: 8}}")
    assert [one.met for one in by_spark(spark, make_run([message(1)], "run-2"), path).checks] == met


def test_regular_expressions_are_matched_by_re2_and_not_by_java(spark: Any, make_run: MakeRun, tmp_path: Path) -> None:
    """`(?P<name>...)` is RE2's and not Java's; `(a+)+$` on this text would keep Java busy for ever."""
    slow = "a" * 47 + "!"
    run = make_run([message(1, reply_to_q=slow), message(2, reply_to_q="GOOD"), message(3)])
    path = suite(
        tmp_path,
        "{id: good, expect: column_values_to_match_regex, column: reply_to_q, regex: '^(?P<word>[A-Z]*)$'}",
        "{id: slow, expect: column_values_to_match_regex, column: reply_to_q, regex: '^(a+)+$'}",
        "{id: not, expect: column_values_to_not_match_regex, column: reply_to_q, regex: '(a+)+!$'}",
    )
    found = failures(by_spark(spark, run, path))
    assert sorted((row["expectation"], row["observed"]) for row in found) == [
        ("good", slow),
        ("not", slow),
        ("slow", ""),
        ("slow", "GOOD"),
        ("slow", slow),
    ]


def test_what_gx_cannot_evaluate_is_an_error_not_a_failed_check(
    spark: Any, make_run: MakeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mqops.quality.arguments.problem_of", lambda pattern: "")
    path = suite(tmp_path, "{id: r, expect: column_values_to_match_regex, column: format, regex: '(?=A)'}")
    with pytest.raises(MqopsError, match=r"Great Expectations could not evaluate s\.r: "):
        by_spark(spark, make_run([message(1)]), path)


def test_messages_that_went_missing_from_the_snapshot_are_noticed(make_run: MakeRun) -> None:
    run = make_run([message(1), message(2)])
    observed = json.loads(run.path.joinpath("observe.json").read_text())
    observed["queues"][0]["messages"] = 3
    run.path.joinpath("observe.json").write_text(json.dumps(observed))
    summary = checked(run, QUICK)
    assert not summary.ok
    assert summary.problems == ("PAYMENTS.IN: observed: 3 messages, in the snapshot: 2",)


def test_what_is_no_snapshot_is_refused(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="There is no snapshot in"):
        QualityFiles.of(tmp_path)
    spark.range(1).write.parquet(str(tmp_path / "other"))
    with pytest.raises(
        SettingsError,
        match=r"is not a snapshot of this version of mqops: missing or of another type: queue_manager, queue",
    ):
        check(spark, QualityFiles.of(tmp_path / "other"), load_suites(SUITES), now="")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "a.parquet").write_bytes(b"no Parquet")
    with pytest.raises(LakeError, match="cannot be read"):
        check(spark, QualityFiles.of(tmp_path / "broken"), load_suites(SUITES), now="")
    with pytest.raises(LakeError, match="is not a whole Parquet file"):
        check_here(QualityFiles.of(tmp_path / "broken"), load_suites(SUITES), now="")
    with pytest.raises(SettingsError, match="missing or of another type: queue_manager, queue"):
        check_here(QualityFiles.of(tmp_path / "other"), load_suites(SUITES), now="")


def test_snapshots_without_a_run_can_be_checked(make_run: MakeRun, tmp_path: Path) -> None:
    run = make_run([message(1)])
    run.snapshot.rename(tmp_path / "copy")
    place = QualityFiles.of(tmp_path / "copy", folder=tmp_path / "out")
    summary = check_here(place, load_suites([QUICK]), now="")
    assert (summary.queue_manager, summary.found, summary.balanced) == ("QM1", 1, True)
    assert (tmp_path / "out" / "quality.json").is_file()


def test_command_tells_and_exits_by_severity(make_run: MakeRun, tmp_path: Path) -> None:
    run = make_run([message(1, format="PAYM")])
    arguments = ["quality", "check", "--snapshot", str(run.path), "--suite", str(QUICK)]
    result = CliRunner().invoke(main, arguments, env={"COLUMNS": "80"})
    assert result.exit_code == 0, result.output
    assert "warning: messages.format_known: 1 of 1 message" in result.stdout
    assert "PAYMENTS.IN: 1 found, 0 good, 1 with findings" in result.stdout
    lines = result.stdout.splitlines()
    begins = next(number for number, line in enumerate(lines) if line.endswith("  PAYMENTS.IN"))
    assert re.match("[0-9a-f]{48} ", lines[begins])  # whole: it can be copied
    assert lines[begins + 1].startswith("    messages.format_known: ")
    assert "PAYM" in " ".join(lines[begins + 1 : begins + 3])
    assert max(len(line) for line in lines[begins : begins + 3]) <= 80
    assert result.stderr == ""  # no Spark is started for it
    run = make_run([message(1, b"")], "run-2")
    arguments[3] = str(run.path)
    result = CliRunner().invoke(
        main, [*arguments, "--docs", str(tmp_path / "d"), "--out", str(tmp_path / "o"), "--json"]
    )
    assert result.exit_code == 1
    document = json.loads(result.stdout)
    assert (document["ok"], document["failed"]["critical"], document["left"]) == (False, 1, 1)
    assert Path(document["docs"]).is_file()
    assert (tmp_path / "o" / "quality.json").is_file()
    assert not run.quality_json.exists()
    result = CliRunner().invoke(main, [*arguments, "--out", str(tmp_path / "o")])
    assert "has the result of another check, which is kept: name another folder" in " ".join(result.stderr.split())


def test_schema_of_the_table_is_what_is_written(spark: Any, make_run: MakeRun) -> None:
    summary = by_spark(spark, make_run([message(1, b"")]), QUICK)
    written = spark.read.parquet(summary.failures).schema
    assert [(field.name, field.dataType) for field in written] == [(field.name, field.dataType) for field in FAILURES]


PAYLOAD = Path(__file__).parents[1] / "data" / "suites" / "payload.yaml"
EBCDIC = {"coded_char_set_id": 500, "encoding": 785, "format": c.MQFMT_NONE, "queue": "FIXED"}


def of_json(number: int, **fields: Any) -> Row:
    document = {
        "id": f"A{number}",
        "amount": 10.25,
        "booked": "2026-11-26",
        "currency": "EUR",
        "time": "23:59",
        **fields,
    }
    return message(
        number, json.dumps({name: one for name, one in document.items() if one is not ...}).encode(), queue="JSON"
    )


def of_xml(number: int, iban: str = "<IBAN>DE89370400440532013000</IBAN>", amount: str = "1.50") -> Row:
    return message(number, f"<Doc><Pmt>{iban}<Amt>{amount}</Amt></Pmt></Doc>".encode(), queue="XML")


def fixed(number: int, account: str = "ACCT0042", total: str = "0012345c", quantity: str = "f0f0f1f2") -> Row:
    return message(number, encode(account, 500) + bytes.fromhex(total + quantity), **EBCDIC)


def with_country(number: int, country: str) -> Row:
    header = MQRFH2(format=c.MQFMT_STRING, coded_char_set_id=1208, encoding=c.MQENC_NATIVE)
    body = header.with_folders(folder("usr", {"country": country})).pack() + b"text"
    return message(number, body, format=c.MQFMT_RF_HEADER_2)


IN_PAYLOADS: tuple[tuple[Row, dict[str, str]], ...] = (
    # a message, and the checks of payload.yaml that it fails, each with what the table says
    (of_json(1), {}),
    (of_json(2, amount=-4711.5), {"amount": "-9999.9"}),
    (of_json(17, amount=-12345678.25), {"amount": "-99999999.99"}),
    (of_json(18, amount=-3), {"amount": "-9"}),
    (of_json(3, amount="4711.5"), {"amount_readable": "not a number at $.amount"}),
    (of_json(4, amount=1234567890.1234567), {"amount_readable": "a number of more than 15 digits"}),
    (of_json(5, amount=...), {}),
    (of_json(6, id="A7"), {"id_unique": "x9"}),
    (of_json(7), {"id_unique": "x9"}),
    (of_json(8, booked="2025-12-31"), {"booked": "9999-99-99 99:99:99"}),
    (of_json(9, booked="31.12.2026"), {"booked_readable": "not a date of the form %Y-%m-%d"}),
    (of_json(10, currency="XXX-4711"), {"currency": "xxx-9999"}),
    (of_json(11, currency={"of": "EUR"}), {"currency_readable": "not a text at $.currency"}),
    (of_json(12, time="24:00"), {"form": "not of the form %H:%M"}),
    (of_json(13, id="4711"), {"json": "pattern fails at $.id"}),
    (of_json(14, lines=[{"sku": "a"}, {"sku": 4711}]), {"json": "type fails at $.lines[1].sku"}),
    (of_json(15, id=...), {"json": "required fails at $"}),
    (
        message(16, b'{"id": "A16', queue="JSON"),
        {
            "json": "not JSON at line 1, column 8",
            **dict.fromkeys(
                ("amount_readable", "id_readable", "booked_readable", "currency_readable", "time_readable"),
                "not JSON at line 1, column 8",
            ),
        },
    ),
    (of_xml(21), {}),
    (of_xml(22, "<IBAN>DE88370400440532013000</IBAN>"), {"iban": "not an IBAN"}),
    (of_xml(23, ""), {"iban_there": "null"}),
    (of_xml(24, amount="4711,50"), {"xml": "does not fit at /Doc/Pmt/Amt"}),
    (
        message(25, b"<!DOCTYPE Doc [<!ENTITY a 'TOPSECRET-4711'>]><Doc>&a;</Doc>", queue="XML"),
        {
            "xml": "not XML as rules read it",
            "iban_there": "not XML as rules read it",
            "Doc_Pmt_IBAN_readable": "not XML as rules read it",
        },
    ),
    (fixed(31), {}),
    (fixed(32, account="KONT4711"), {"account": "xxxx9999"}),
    (fixed(33, total="9999999c"), {"total": "99999.99"}),
    (fixed(34, total="9999999d"), {}),
    (fixed(35, total="99999994"), {"total_readable": "not a packed decimal"}),
    (fixed(36, quantity="f0f0f1d2"), {"quantity": "-99"}),
    (fixed(37, quantity="f0f040f2"), {"quantity_readable": "not a zoned decimal"}),
    (
        message(38, encode("ACCT0042", 500), **EBCDIC),
        {
            "total_readable": "the payload ends before byte 12",
            "quantity_readable": "the payload ends before byte 16",
        },
    ),
    (with_country(41, "DE"), {}),
    (with_country(42, "Deutschland"), {"country": "xxxxxxxxxxx"}),
)


def test_what_is_wrong_in_payloads_is_found_on_exactly_its_messages_and_masked(
    make_run: MakeRun, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    run = make_run([row for row, _fails in IN_PAYLOADS], queues=("JSON", "XML", "FIXED", IN))
    summary = checked(run, PAYLOAD, docs=tmp_path / "docs")
    found = {(row["position"], row["expectation"]): row["observed"] for row in failures(summary)}
    assert found == {
        (place, name): observed for place, (_row, fails) in enumerate(IN_PAYLOADS) for name, observed in fails.items()
    }
    (most,) = (one for one in summary.checks if one.expectation == "most")
    assert (most.met, most.observed, most.columns) == (True, "99.99", ("$.amount",))
    assert summary.balanced
    written = [path for root in (Path(summary.failures).parent, tmp_path / "docs") for path in root.rglob("*.*")]
    printed = capfd.readouterr()
    for text in (*(path.read_bytes() for path in written), (printed.out + printed.err).encode()):
        assert b"4711" not in text
        assert b"Deutschland" not in text
        assert not re.search(b"(value|test)_[0-9a-f]{16}", text)


BETWEEN = Path(__file__).parents[1] / "data" / "suites" / "between.yaml"


def grouped(number: int, group: int, place: int, *, last: bool = False) -> Row:
    flags = c.MQMF_LAST_MSG_IN_GROUP if last else c.MQMF_MSG_IN_GROUP
    fields = {"group_id": bytes([group]) * 24, "msg_seq_number": place, "msg_flags": flags}
    return message(number, b"text", queue="GROUPS", **fields)


def asked(number: int) -> Row:
    return message(number, msg_type=c.MQMT_REQUEST, reply_to_q="REPLIES", queue="ASKED")


AMONG_OTHERS: tuple[tuple[Row, set[str]], ...] = (
    # a message, and the checks of between.yaml that it fails
    (grouped(1, 1, 1), set()),
    (grouped(2, 1, 2, last=True), set()),
    (grouped(3, 2, 1), {"groups"}),  # the second one is missing
    (grouped(4, 2, 3, last=True), {"groups"}),
    (grouped(5, 3, 1), {"groups"}),  # the last one is missing
    (message(6, b"alone", queue="GROUPS"), set()),
    (asked(11), set()),
    (asked(12), {"answered"}),
    (message(13, msg_type=c.MQMT_REPLY, correl_id=(11).to_bytes(24, "big"), queue="REPLIES"), set()),
    (of_json(21, customer="C1", amount=0.1), set()),
    (of_json(22, customer="C2", amount=0.2), set()),
    (of_json(23, customer="C4711", amount=10), {"customer"}),
    (of_json(24, customer="C1", amount=10), {"body", "key", "msg_id"}),
    (of_json(24, customer="C1", amount=10), {"body", "key", "msg_id"}),
    (of_xml(31, amount="30.30"), set()),
)


@pytest.fixture
def between(tmp_path: Path) -> Path:
    """The suite, and the files of the day that it names."""
    suite = tmp_path / "suites" / BETWEEN.name
    suite.parent.mkdir()
    suite.write_text(BETWEEN.read_text())
    (suite.parent / "customers.csv").write_text("id,name\nC1,TOPSECRET-4711\nC2,b\n")
    table = pa.table({"amount": pa.array(["0.10", "0.2", "10", "10", "10.00"])})
    pq.write_table(table, suite.parent / "paid_20261121.parquet")
    return suite


def test_what_is_wrong_between_messages_queues_and_files_is_found(make_run: MakeRun, between: Path) -> None:
    rows = [row for row, _fails in AMONG_OTHERS]
    summary = checked(make_run(rows, queues=("GROUPS", "ASKED", "REPLIES", "JSON", "XML")), between)
    found: dict[int, set[str]] = {}
    for row in failures(summary):
        found.setdefault(row["position"], set()).add(row["expectation"])
    expected = {place: fails for place, (_row, fails) in enumerate(AMONG_OTHERS) if fails}
    assert found == expected
    results = {one.expectation: one for one in summary.checks}
    assert {name: (one.met, one.observed or one.skipped) for name, one in results.items() if one.failed is None} == {
        "as_many_as_paid": (True, "5 here, 5 in paid_20261121.parquet"),
        "sum_as_paid": (True, "30.3 here, 30.3 in paid_20261121.parquet"),
        "sum_as_sent": (True, "99.9 here, 99.9 in XML"),  # there it is the value of one message
        "as_many_as_sent": (False, "5 here, 1 in XML"),
        "not_seen": (False, "looked at no message: OTHER was not looked at"),
        "no_file": (False, "looked at no message: missing.csv cannot be read: No such file or directory"),
    }
    assert results["customer"].why == "names nobody"
    assert (results["sum_as_sent"].columns, results["sum_as_sent"].limits) == (
        ("$.amount",),
        "in queue XML, in column paid",
    )
    assert not re.search("(value|test)_[0-9a-f]{16}", json.dumps(summary.to_json()))
    assert summary.balanced


def test_bounds_are_learned_from_the_last_good_snapshots(make_run: MakeRun, tmp_path: Path) -> None:
    path = suite(
        tmp_path,
        "{id: volume, expect: table_row_count_to_be_as_before, least_runs: 2, runs: 3}",
        "{id: age, expect: column_max_to_be_as_before, column: age_seconds, least_runs: 2, runs: 3, tolerance: 0}",
        "{id: who, expect: column_values_to_be_as_before, column: put_appl_name, least_runs: 2, runs: 3}",
        "{id: good, expect: column_values_to_be_in_set, column: format, value_set: [MQSTR]}",
    )

    def day(run: str, number: int, *others: Row, program: str = "pay") -> dict[str, tuple[bool, str]]:
        rows = [message(one, put_appl_name=program) for one in range(number)]
        found = checked(make_run([*rows, *others], run), path)
        return {one.expectation: (one.met, one.skipped or one.limits) for one in found.checks}

    assert day("run-1", 10)["volume"] == (True, "learns: 0 of 2 good runs")
    assert day("run-2", 500, message(999, format="BAD"))["volume"] == (True, "learns: 1 of 2 good runs")
    assert day("run-3", 12, program="refund")["who"] == (True, "learns: 1 of 2 good runs")  # run-2 was not good
    found = day("run-4", 13, program="refund")
    assert found["volume"] == (True, "at least 9, at most 13, as in 2 good runs before")
    assert found["who"] == (True, "a value that was there in one of 2 good runs before")
    old = message(900, put_appl_name="unknown", put_time="10000000")
    found = day("run-5", 15, old)
    assert {name: met for name, (met, _why) in found.items()} == {
        "volume": False,
        "age": False,
        "who": False,
        "good": True,
    }
    assert found["volume"][1] == "at least 8.5, at most 14.5, as in 3 good runs before"
    last = QualityFiles.of(RunFolder.at(tmp_path / "lake", "QM1", "run-5").path)
    summary = verdict_of(last.of_run)
    assert summary is not None
    assert [row["position"] for row in failures(summary) if row["expectation"] == "who"] == [15]
    with pytest.raises(QualityFailed, match=r"volume: found 16, expected at least 8.5, at most 14.5, as in 3 good"):
        verdict(summary)
    assert day("run-6", 13)["volume"] == (True, "at least 8.5, at most 14.5, as in 3 good runs before")
    without = check_no_message(
        "QM1", load_suites([path]), QueuesSeen(looked_at=(IN,)), now=summary.checked_at, run=last.of_run
    )
    assert [one.expectation for one in without.checks if not one.met] == ["volume"]


def test_a_queue_without_messages_is_compared_too(between: Path) -> None:
    """As the workflow's first task checks it, where no queue has a message."""
    seen = QueuesSeen(looked_at=("JSON", "XML"))
    found = check_no_message("QM1", load_suites([between]), seen, now="2026-11-21T12:00:01Z")
    results = {one.expectation: (one.met, one.observed) for one in found.checks}
    assert results["as_many_as_paid"] == (False, "0 here, 5 in paid_20261121.parquet")
    assert results["as_many_as_sent"] == (True, "0 here, 0 in XML")
    assert results["groups"] == (True, "")


def test_a_first_suite_is_suggested_which_the_snapshot_meets_and_faults_do_not(
    make_run: MakeRun, tmp_path: Path
) -> None:
    countries, programs = ("DE", "FR"), ("pay", "refund")
    rows = [
        message(
            number,
            json.dumps(
                {
                    **{"id": f"TOPSECRET-{4700 + number}", "amount": 10.25 + number, "booked": "2026-11-26"},
                    **{
                        "iban": "DE89370400440532013000",
                        "to": {"country": countries[number % 2], "name": "x" * number},
                    },
                    **{"express": number % 2 == 0, "lines": [1], "note": None, "long": 2**60},
                }
            ).encode(),
            put_appl_name=programs[number % 2],
        )
        for number in range(1, 41)
    ]
    run = make_run([*rows, dead(99)])
    made, kept = tmp_path / "payments.yaml", tmp_path / "dead.yaml"
    arguments = ["quality", "suggest", "--snapshot", str(run.path)]
    assert CliRunner().invoke(main, [*arguments, IN, "--out", str(made)]).exit_code == 0
    kept.write_text(CliRunner().invoke(main, [*arguments, DLQ]).stdout)
    text = made.read_text()
    assert not re.search("TOPSECRET|47[0-9]{2}|DE89|xxx|FR", text)
    (suite, other) = load_suites([made, kept])
    assert 15 <= len(re.findall("- {id", text)) <= 30
    assert '  # 3,600 to 3,600\n  - {id: "age_seconds_bound"' in text  # whole seconds, in the reason too
    by_id = {one.id: one for one in suite.checks}
    assert by_id["id_form"].arguments["regex"] == "^[A-Z]{9}.{1}[0-9]{4}$"
    assert by_id["put_appl_name_known"].arguments["value_set"] == programs
    assert {"amount_not_below_0", "iban_iban", "booked_form", "to_country_form", "amount_there", "id_once"} <= set(
        by_id
    )
    assert [one.arguments for one in other.checks if one.id == "dlh_reason_known"] == [{"value_set": (2053,)}]
    summary = checked(run, made, kept)
    assert [one for one in summary.checks if not one.met] == []
    bad = [
        json.loads(rows[0][2]) | changed
        for changed in ({"amount": -1}, {"iban": "DE1"}, {"id": "x"}, {"booked": "now"})
    ]
    rows += [message(100 + number, json.dumps(one).encode()) for number, one in enumerate(bad)]
    found = failures(checked(make_run(rows, "run-2"), made))
    assert {(row["position"], row["expectation"]) for row in found} >= {
        *((40, "amount_not_below_0"), (41, "iban_iban"), (42, "id_form"), (43, "booked_form")),
    }
    assert {row["position"] for row in found if row["severity"] == "critical"} == {40, 41, 42, 43}
    again = CliRunner().invoke(main, [*arguments, IN, "--out", str(made)])
    assert (again.exit_code, "cannot be made: File exists; name a new file" in " ".join(again.stderr.split())) == (
        1,
        True,
    )
    nothing = CliRunner().invoke(main, [*arguments, "NONE"])
    assert "The snapshot has no message of NONE; its queues are: PAYMENTS.IN, SYSTEM.DEAD.LETTER.QUEUE" in " ".join(
        nothing.stderr.split()
    )


_TWO = {"column_list": ["expires_in_seconds", "dlh_reason"]}
_ONE_EACH = {"column_A": "expiry", "column_B": "dlh_reason", "value_pairs_set": [[600, 2053]]}
SPARSE: tuple[dict[str, Any], ...] = (
    # columns of which many messages have none of the values, or a condition that leaves few messages
    {"id": "sum", "expect": "multicolumn_sum_to_equal", **_TWO, "sum_total": 2053},
    {"id": "equal", "expect": "multicolumn_values_to_be_equal", **_TWO},
    {"id": "unique", "expect": "select_column_values_to_be_unique_within_record", **_TWO},
    {"id": "compound", "expect": "compound_columns_to_be_unique", **_TWO},
    {"id": "pair", "expect": "column_pair_values_to_be_in_set", **_ONE_EACH, "where": {"expiry": {"not": -1}}},
)


def test_by_spark_and_in_this_process_the_same_is_found(
    spark: Any, make_run: MakeRun, tmp_path: Path, between: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each expectation with arguments by chance, on all the seeded faults among good messages; more by
    MQOPS_QUALITY_MIXTURES. One pass has the snapshot in several pieces."""
    monkeypatch.setattr("mqops.quality.pieces.ROWS", 50)
    for seed in range(int(os.environ.get("MQOPS_QUALITY_MIXTURES", "1"))):
        chance = random.Random(seed)
        rows = [*good(), *(one for bad, _observed in FAULTS.values() for one in bad)]
        chance.shuffle(rows)
        path = tmp_path / "s.json"
        checks = [random_check(number, name, chance) for number, name in enumerate(RANDOM)]
        path.write_text(json.dumps({"suite": "s", "expectations": [*checks, *SPARSE]}))
        rows = [*rows[: chance.randint(20, len(rows))], *(row for row, _fails in (*IN_PAYLOADS, *AMONG_OTHERS))]
        run = make_run(rows, f"run-{seed}", queues=("JSON", "XML", "FIXED", "GROUPS", "ASKED", "REPLIES", IN, DLQ))
        for part in run.snapshot.glob("*.parquet"):
            pq.write_table(pq.read_table(part), part, row_group_size=25)
        several = pieces(Path(os.path.relpath(run.snapshot)), [], ())
        assert (len(several.pieces) > 1, several.folder.is_absolute()) == (True, True)
        docs = tmp_path / f"docs-{seed}"
        suites = (path, PAYLOAD, between)
        here, there = checked(run, *suites), by_spark(spark, run, *suites, docs=docs)
        passed = in_one_pass(spark, run, *suites)
        for other in (there, passed):
            differ = [pair for pair in zip(here.checks, other.checks, strict=True) if pair[0] != pair[1]]
            assert differ == [], seed
            assert here == replace(other, check=here.check, failures=here.failures, docs="")
        for page in docs.rglob("*.html"):
            assert not re.search("4711|Deutschland|value_[0-9a-f]{16}", page.read_text()), page
        order = ("suite", "expectation", "position")
        for other in (there, passed):
            assert sorted(failures(here), key=itemgetter(*order)) == sorted(failures(other), key=itemgetter(*order))


def test_the_documents_expectation_of_another_distribution_or_of_the_estates_folder_finds_its_messages(
    spark: Any, make_run: MakeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    about, of_gx = re.findall(r"```python\n(.*?)```", (DOCS / "from_outside.md").read_text(), re.DOTALL)
    files = {"bank_mq_begin_with.py": about, "bank_mq_begin_with_gx.py": of_gx}
    points = "[mqops.checks]\ncolumn_values_to_begin_with = bank_mq_begin_with:BEGIN_WITH\ngone = bank_gone:GONE\n"
    path = suite(tmp_path, "{id: ours, expect: column_values_to_begin_with, column: reply_to_q, prefix: BANK.}")
    run = make_run([message(n, reply_to_q=name) for n, name in enumerate(("BANK.A", "OTHER", "BANK.B"))])
    with installed(install(tmp_path / "site", files, points)):
        summary = by_spark(spark, run, path)
        assert [(row["position"], row["observed"]) for row in failures(summary)] == [(1, "OTHER")]
        assert "begin_with: column, prefix" in CliRunner().invoke(main, ["quality", "vocabulary"]).output
        assert needs_spark(run.snapshot, load_suites([path]))
        assert not needs_spark(run.snapshot, load_suites([QUICK]))
        (tmp_path / "site" / "bank_mq_begin_with_gx.py").unlink()
        del sys.modules["bank_mq_begin_with_gx"]
        with pytest.raises(SettingsError, match=r"bank_mq_begin_with_gx:.* cannot be loaded: No module named"):
            by_spark(spark, run, path)
        with pytest.raises(SettingsError, match=r"s\.yaml:3.*gone of bank-mq 1\.2 \(entry point mqops\.checks"):
            load_suites([suite(tmp_path, "{id: ours, expect: gone, column: format}")])
    with pytest.raises(SettingsError, match="there is no expectation 'column_values_to_begin_with'"):
        load_suites([suite(tmp_path, "{id: o, expect: column_values_to_begin_with, column: reply_to_q, prefix: B}")])
    (estate,) = re.findall(r"```ini\n(.*?)```", (DOCS / "from_outside.md").read_text(), re.DOTALL)
    (folder := tmp_path / "checks").mkdir(mode=0o700)
    for name, text in (files | {"entry_points.txt": estate}).items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o600)
    (tmp_path / "estate.yaml").write_text("lake: lake\nchecks: checks\nqueue_managers: {QM1: {connection: qm1}}\n")
    monkeypatch.setenv("MQOPS_ESTATE", str(tmp_path / "estate.yaml"))
    monkeypatch.setattr(sys, "path", [*sys.path])
    forget()
    path = suite(tmp_path, "{id: ours, expect: column_values_to_begin_with, column: reply_to_q, prefix: BANK.}")
    found = failures(by_spark(spark, run, path))
    assert [(row["position"], row["observed"]) for row in found] == [(1, "OTHER")]
    monkeypatch.undo()
    forget()


def test_an_expectation_of_another_distribution_sees_no_message_that_its_check_is_not_about(
    spark: Any, make_run: MakeRun, tmp_path: Path
) -> None:
    """Its function may be one in Python, which ends in an error at a value that the condition of the check excludes."""
    about, of_gx = re.findall(r"```python\n(.*?)```", (DOCS / "from_outside.md").read_text(), re.DOTALL)
    in_python = "F.udf(lambda text: text.split('.')[1] == prefix, 'boolean')(column)"
    of_gx = of_gx.replace("column.startswith(prefix)", in_python).replace("s.begin_with", "s.has_second_part")
    files = {  # modules that no other test has imported
        "bank_mq_second_part.py": about.replace("bank_mq_begin_with", "bank_mq_second_part"),
        "bank_mq_second_part_gx.py": f"from pyspark.sql import functions as F\n{of_gx}",
    }
    points = "[mqops.checks]\ncolumn_values_to_begin_with = bank_mq_second_part:BEGIN_WITH\n"
    begins, of_banks = "column: reply_to_q, prefix: A", "where: {reply_to_q: {like: 'BANK.*'}}"
    path = suite(tmp_path, f"{{id: a, expect: column_values_to_begin_with, {begins}, {of_banks}}}")
    run = make_run([message(n, reply_to_q=name) for n, name in enumerate(("BANK.A", "OTHER", "BANK.B"))])
    with installed(install(tmp_path / "site", files, points)):
        found = failures(by_spark(spark, run, path))
    assert [(row["position"], row["observed"]) for row in found] == [(2, "BANK.B")]


Kind = tuple[tuple[Row, set[str]], ...]
"""Messages of a fault, and the checks that each of them fails."""


IN_OTHER_SUITES = {
    "rfh2_well_formed": {"country_readable"},  # where the headers are at fault no property can be read
    "begins_with_mqdlh": {"country_readable"},
    "request_names_reply_queue": {"answered"},
    "msg_id_unique": {"msg_id"},
    "msg_id": {"msg_id_unique"},
    "id_unique": {"key", "body"},
    "key": {"id_unique"},
    "id_readable": {"customer_readable", "payload_parses"},
    "xml": {"paid_readable"},
    "Doc_Pmt_IBAN_readable": {"payload_parses"},
}
"""A check, and those of the other suites that its message fails as well."""


def of_one_kind(rows: Iterable[tuple[Row, Iterable[str]]]) -> Kind:
    return tuple((row, {*fails}.union(*(IN_OTHER_SUITES.get(one, ()) for one in fails))) for row, fails in rows)


def kinds_of_faults() -> dict[str, Kind]:
    """Every kind of fault of the tests above, and one that only earlier runs tell."""
    kinds: dict[str, Kind] = {}
    for name, (bad, _observed) in FAULTS.items():
        fails = {name, *IMPLIED.get(name, ())}
        every = (
            [of_one_kind([(row, fails)]) for row in bad]
            if name == "payload_parses"
            else [of_one_kind((row, fails) for row in bad)]
        )
        kinds |= {f"{name} {number}": kind for number, kind in enumerate(every)}
    together: dict[str, list[tuple[Row, set[str]]]] = {}
    for number, (row, fails) in enumerate((*((row, {*fails}) for row, fails in IN_PAYLOADS), *AMONG_OTHERS)):
        if fails:
            second_group = row[0] == "GROUPS" and b"\x02" * 24 in row[1]
            alike = second_group or fails in ({"id_unique"}, {"body", "key", "msg_id"})
            name = " ".join(sorted(fails)) + ("" if alike else f" {number}")
            together.setdefault(name, []).append((row, fails))
    kinds |= {name: of_one_kind(rows) for name, rows in together.items()}
    kinds["as before"] = of_one_kind([(message(950, put_appl_name="unknown"), {"who"})])
    return kinds


def renumbered(row: Row, number: int) -> Row:
    """The message with a MsgId of this kind of fault."""
    queue, md, body = row
    described = MQMD.unpack(md)
    msg_id = number.to_bytes(12, "big") + described.msg_id[12:]
    return queue, replace(described, msg_id=msg_id).pack(), body


def test_D05_each_of_48_kinds_of_faults_is_found_in_mixtures_of_them_by_both_engines(
    spark: Any, make_run: MakeRun, tmp_path: Path, between: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Each on exactly its messages, no good one is blamed, and no payload leaves the snapshot; more mixtures by
    MQOPS_QUALITY_MIXTURES."""
    kinds = kinds_of_faults()
    assert len(kinds) >= 48
    sound = [*good(), *(renumbered(row, 900) for row, fails in IN_PAYLOADS if not fails)]
    sound += [row for row, fails in AMONG_OTHERS if not fails]
    sound.append(message(940, msg_type=c.MQMT_REPLY, correl_id=(1010).to_bytes(24, "big"), queue="REPLIES"))
    learned = suite(
        tmp_path,
        "{id: who, expect: column_values_to_be_as_before, column: put_appl_name, least_runs: 2}",
        head="suite: l",
    )
    suites = (*SUITES, PAYLOAD, between, learned)
    queues = ("JSON", "XML", "FIXED", "GROUPS", "ASKED", "REPLIES", IN, DLQ)
    for day in range(2):
        checked(make_run(sound, f"day-{day}", queues=queues), learned)
    for seed in range(int(os.environ.get("MQOPS_QUALITY_MIXTURES", "1"))):
        chance = random.Random(seed)
        names = chance.sample(sorted(kinds), chance.randint(30, len(kinds)) if seed else len(kinds))
        faulty = [(renumbered(row, 1 + place), fails) for place, name in enumerate(names) for row, fails in kinds[name]]
        rows = [*((row, set[str]()) for row in sound), *faulty]
        chance.shuffle(rows)
        run = make_run([row for row, _fails in rows], f"run-{seed}", queues=queues)
        expected = {(place, name) for place, (_row, fails) in enumerate(rows) for name in fails}
        docs = tmp_path / f"docs-{seed}"
        for summary in (checked(run, *suites), by_spark(spark, run, *suites, docs=docs)):
            found = {(row["position"], row["expectation"]) for row in failures(summary)}
            assert found == expected, (seed, sorted(found ^ expected), [rows[place] for place, _ in found ^ expected])
            assert summary.balanced
        keeps_the_secret(summary, docs, capfd)
