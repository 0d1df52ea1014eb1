"""Dead letters of queue managers whose own CCSID is a code page of a host or of East Asia."""

from __future__ import annotations

import json

import pytest
from mq_support import DLQ, dead_letter
from pymqi import CMQC

# CCSID of the MQDLH and of the data, data, the text of it; None where it cannot be converted
HOSTS = [
    (930, bytes.fromhex("869662c10e4f5848f20f"), "ｶﾅaA漢字"),
    (933, bytes.fromhex("0ed0658b690f40c1f1"), "한글 A1"),
    (939, bytes.fromhex("0e4f580f0e48f20fc1"), "漢字A"),  # two fields side by side
    (1383, bytes.fromhex("babad7d641"), "汉字A"),
    (924, bytes.fromhex("519fb8c1"), "é€œA"),
    (1377, bytes.fromhex("0e5ec64df20fc1"), None),
    (938, bytes.fromhex("e9c7c7f341"), None),
]


@pytest.fixture
def manager(queue_manager):
    return queue_manager(mqsc="DEFINE QLOCAL(A)\nDEFINE QLOCAL(B)\n")


def test_their_names_are_read_and_their_bytes_are_restored(manager, mqops_here):
    dead = [
        dead_letter("A", data, encoding=785, ccsid=ccsid, inner=("MQSTR", 785, ccsid), MsgId=b"%-24d" % ccsid)
        for ccsid, data, _text in HOSTS
    ]
    manager.put(DLQ, dead, options=CMQC.MQOO_SET_ALL_CONTEXT)

    found = json.loads(mqops_here("message", "find", DLQ, "--destination", "A", "-m", "QM1", "--json").stdout)
    assert [one["dest_q"] for one in found["messages"]] == ["A"] * len(HOSTS)

    table = "* MQOPS EXTENSIONS\nBODY('*A*') ACTION(RETRY)\nREASON(MQRC_Q_FULL) ACTION(FWD) FWDQ(B)\n"
    done = mqops_here("dlq", "run", "--once", DLQ, "QM1", "--json", text=table)
    assert "AMQ8721" not in done.stderr
    summary = json.loads(done.stdout)
    assert summary["moved"] == len(HOSTS)
    assert [one.partition(":")[0] for one in summary["remarks"]] == ["2 messages without text that can be read"]
    converted = [data for _ccsid, data, text in HOSTS if text is not None]
    assert sorted(manager.bodies("A")) == sorted(converted)
    kept = [body for _fields, body in dead if not body.endswith(tuple(converted))]
    assert [body[172:] for body in manager.bodies("B")] == [body[172:] for body in kept]


@pytest.mark.parametrize(("ccsid", "data", "text"), [HOSTS[2], HOSTS[5]])
def test_what_cannot_be_converted_has_its_header_shown_and_no_text(manager, mqops_here, ccsid, data, text):
    (msg_id,) = manager.put(DLQ, [dead_letter("A", data, encoding=785, ccsid=ccsid, inner=("MQSTR", 785, ccsid))])
    shown = json.loads(mqops_here("message", "show", DLQ, msg_id.hex(), "-m", "QM1", "--json").stdout)
    assert shown["headers"][0]["fields"]["DestQName"] == "A"
    said = "" if text else f"CCSID {ccsid} cannot be converted here"
    assert (shown["body"]["text"], shown["body"]["no_text"]) == ("xxx" if text else None, said)
    mqops_here("message", "move", DLQ, "--all", "--to", "B", "--header", "strip", "-m", "QM1", "--json", "--yes")
    assert manager.bodies("B") == [data]
