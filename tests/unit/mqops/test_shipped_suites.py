"""The suites that mqops brings, on messages that are as they should be."""

from __future__ import annotations

import json
from pathlib import Path

import pymqi
import pytest
from pymqi import CMQC

from mqwire.folder import folder
from mqwire.rfh2 import MQRFH2

MESSAGES = Path(__file__).parents[3] / "include/expectations/messages.yaml"
TEXT = json.dumps({"name": "x" + "äöü" * 80}, ensure_ascii=False).encode()
"""An even number of its first bytes, from 12 on, ends in the middle of a character."""
IN_ASCII = json.dumps({"name": "x" * 200}).encode()
"""Its first bytes are text, and no JSON."""
OF_JMS = MQRFH2(format="MQSTR", coded_char_set_id=1208).with_folders(folder("usr", {"a": "b"})).pack()
REPORTS = [
    *(CMQC.MQRO_COA, CMQC.MQRO_COA_WITH_DATA, CMQC.MQRO_COA_WITH_FULL_DATA),
    *(CMQC.MQRO_COD, CMQC.MQRO_COD_WITH_DATA, CMQC.MQRO_COD_WITH_FULL_DATA),
]


@pytest.fixture
def manager(queue_manager):
    return queue_manager(mqsc="DEFINE QLOCAL(A)\nDEFINE QLOCAL(SMALL) MAXMSGL(64)\nDEFINE QLOCAL(R)\n")


def findings(mqops_here, queue: str) -> set[str]:
    """The expectations that messages of a queue fail."""
    run = json.loads(mqops_here("snapshot", queue, "-m", "QM1", "--json").stdout)["folder"]
    said = mqops_here("quality", "check", "--snapshot", run, "--suite", str(MESSAGES), "--json", expect=None)
    return {one["expectation"] for one in json.loads(said.stdout)["checks"] if one["failed"]}


def test_reports_without_data_and_with_the_beginning_of_it(manager, mqops_here):
    """IBM MQ, "Report (MQLONG)": no data, the first 100 bytes of it behind all headers, or all of it."""
    asked = {"Format": b"MQSTR", "ReplyToQ": b"R"}
    jms = {**asked, "Format": b"MQHRF2"}
    data = [(asked, TEXT), (asked, IN_ASCII), (jms, OF_JMS + TEXT), (jms, OF_JMS + IN_ASCII)]
    manager.put("A", [({**one, "Report": report}, raw) for report in REPORTS for one, raw in data])
    with manager.connected() as program:
        for _ in range(len(data) * len(REPORTS)):
            queue = pymqi.Queue(program, "A", CMQC.MQOO_INPUT_SHARED)
            queue.get()
            queue.close()
    assert {len(body) for body in manager.bodies("R")} >= {0, 100, len(TEXT)}
    assert findings(mqops_here, "R") == set()


def test_segments_which_share_their_MsgId_and_may_divide_a_character(manager, mqops_here):
    """The last one may be empty (IBM MQ, "2253 MQRC_SEGMENT_LENGTH_ZERO")."""
    allowed = {"Format": b"MQSTR", "MsgFlags": CMQC.MQMF_SEGMENTATION_ALLOWED}
    manager.put("SMALL", [(allowed, TEXT), (allowed, IN_ASCII)])
    assert len(manager.bodies("SMALL")) > 4
    manager.put("SMALL", [({"Format": b"MQSTR", "MsgFlags": CMQC.MQMF_LAST_SEGMENT, "Offset": 64}, b"")])
    assert findings(mqops_here, "SMALL") == set()


def test_what_is_no_report_and_no_segment_has_to_be_whole(manager, mqops_here):
    whole = {"Format": b"MQSTR", "MsgId": b"one"}
    manager.put("A", [(whole, b""), (whole, TEXT[:60]), (whole, TEXT[:11])])
    assert findings(mqops_here, "A") == {"body_not_empty", "payload_parses", "text_in_its_ccsid", "msg_id_unique"}
