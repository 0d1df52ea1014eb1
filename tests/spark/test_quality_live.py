"""Data quality end to end: applications put good and bad messages by pymqi, Spark observes, suites find the bad."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pymqi
import pytest
from mq_support import DLQ, Manager, dead_letter
from pymqi import CMQC

from mqops.lake.parquet import read_parquet
from mqops.lake.run import RunFolder
from mqops.observe.spark.observe import observe
from mqops.quality.check import QualityFiles, check
from mqops.quality.suite_file import load_suites
from mqwire import constants as c
from mqwire.folder import folder
from mqwire.rfh2 import MQRFH2

SHIPPED = Path(__file__).parents[2] / "include" / "expectations"
SUITES = (SHIPPED / "messages.yaml", SHIPPED / "dead_letters.yaml")
QUICK = Path(__file__).parents[1] / "data" / "suites" / "quick.yaml"
IN = "PAYMENTS.IN"
TEXT = {"Format": "MQSTR", "CodedCharSetId": 1208}
RFH2 = (
    MQRFH2(format=c.MQFMT_STRING, coded_char_set_id=1208)
    .with_folders(folder("jms", {"Dst": "queue:///A"}))
    .pack(ccsid=1208)
)

Put = tuple[dict[str, Any], bytes]
GOOD: list[Put] = [
    (TEXT, b'{"amount": 10}'),
    (TEXT, "<zahlung>zw\u00f6lf</zahlung>".encode()),
    ({"Format": "MQHRF2", "CodedCharSetId": 1208}, RFH2 + b"text"),
    ({"Format": ""}, bytes(range(256))),
    ({**TEXT, "MsgType": CMQC.MQMT_REQUEST, "ReplyToQ": "REPLIES"}, b"hello"),
]
BAD: dict[str, Put] = {
    "body_not_empty": (TEXT, b""),
    "text_in_its_ccsid": (TEXT, b"zw\xf6lf"),
    "rfh2_well_formed": ({"Format": "MQHRF2", "CodedCharSetId": 1208}, RFH2.replace(b"</jms>", b"</jmx>") + b"text"),
    "payload_parses": (TEXT, b'{"amount": 10'),
    "format_known": ({"Format": "SAPIDOC"}, b"EDI_DC40"),
    "reply_names_its_request": ({**TEXT, "MsgType": CMQC.MQMT_REPLY}, b"hello"),
    "report_says_what_happened": ({**TEXT, "MsgType": CMQC.MQMT_REPORT}, b"hello"),
}
"""One message for each fault that a queue manager lets an application make."""


@pytest.fixture
def manager(queue_manager: Any) -> Manager:
    made: Manager = queue_manager(mqsc=f"DEFINE QLOCAL({IN})\nDEFINE QLOCAL(REPLIES)\n")
    return made


def back_out(manager: Manager, msg_id: bytes, times: int) -> None:
    """A consumer that fails on this message again and again."""
    with manager.connected() as connection:
        queue = pymqi.Queue(connection, IN, CMQC.MQOO_INPUT_AS_Q_DEF)
        for _ in range(times):
            options = pymqi.GMO(Version=2, MatchOptions=CMQC.MQMO_MATCH_MSG_ID, Options=CMQC.MQGMO_SYNCPOINT)
            queue.get(None, pymqi.MD(MsgId=msg_id), options)
            connection.backout()
        queue.close()


def checked(manager: Manager, spark: Any, lake: Path, *suites: Path) -> Any:
    run = RunFolder.at(lake, "QM1", "run")
    observe(spark, manager.connection, run, [IN, "REPLIES", DLQ])
    return check(spark, QualityFiles.of(run.path), load_suites(suites or SUITES), now="2026-11-21T12:00:00Z")


def found(summary: Any) -> set[tuple[str, str]]:
    columns = ("expectation", "msg_id")
    batches = read_parquet(Path(summary.failures), columns)
    return {(row["expectation"], row["msg_id"]) for batch in batches for row in batch.to_pylist()}


def test_D05_each_fault_is_found_on_the_message_that_has_it_and_good_messages_pass(
    manager: Manager, spark: Any, tmp_path: Path
) -> None:
    manager.put(IN, GOOD)
    manager.put(DLQ, [dead_letter(IN, b"hello", CodedCharSetId=1208)])
    given = manager.put(IN, list(BAD.values()))
    expected = {(name, msg_id.hex()) for name, msg_id in zip(BAD, given, strict=True)}
    expected.add(("headers_valid", given[list(BAD).index("rfh2_well_formed")].hex()))

    twins = manager.put(IN, [({**TEXT, "MsgId": b"twin".ljust(24)}, body) for body in (b"one", b"two")])
    expected.add(("msg_id_unique", twins[0].hex()))
    poison = manager.put(IN, [(TEXT, b"poison")])[0]
    back_out(manager, poison, times=5)
    expected.add(("backout_count_low", poison.hex()))
    context = {**TEXT, "PutDate": "20200101", "PutTime": "00000000", "PutApplType": 6, "PutApplName": "test"}
    old = manager.put(IN, [(context, b"old")], options=CMQC.MQOO_SET_ALL_CONTEXT)[0]
    expected.add(("not_old", old.hex()))
    lost = manager.put(DLQ, [(TEXT, b"not dead, only lost")])[0]
    expected.add(("begins_with_mqdlh", lost.hex()))

    (example, *_) = re.findall("```yaml\n(.*?)```", (SHIPPED / "README.md").read_text(), re.DOTALL)
    (tmp_path / "readme.yaml").write_text(example)
    summary = checked(manager, spark, tmp_path / "lake", *SUITES, tmp_path / "readme.yaml")
    assert found(summary) == expected
    assert [one.failed for one in summary.checks if one.suite == "payments"] == [1]  # the example can fail
    assert summary.balanced
    assert not summary.ok
    assert summary.left == len(BAD) + len(twins) + 3
    assert summary.done == len(GOOD) + 1
    told = [(queue.queue, queue.found, queue.done) for queue in summary.queues]
    assert told == [(IN, summary.found - 2, len(GOOD)), ("REPLIES", 0, 0), (DLQ, 2, 1)]


def test_nothing_is_changed_on_the_queues(manager: Manager, spark: Any, tmp_path: Path) -> None:
    manager.put(IN, GOOD)
    before = manager.messages(IN)
    checked(manager, spark, tmp_path / "lake", QUICK)
    assert [(md, body) for md, body in manager.messages(IN)] == before
