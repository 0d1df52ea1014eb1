"""Names in messages that are no names, and text in them that would forge what is shown: the others go on."""

from __future__ import annotations

import json

import pytest
from mq_support import DLQ, dead_letter
from pymqi import CMQC

CARON = "\N{LATIN SMALL LETTER R WITH CARON}"
RETRY = "ACTION(RETRY) RETRY(2)\n"
FORGED = "X\n      99  line 1: DISCARD (MQRC_NONE)"
SHOWN = FORGED.replace("\n", "\N{REPLACEMENT CHARACTER}")


@pytest.fixture
def manager(queue_manager):
    return queue_manager(mqsc="DEFINE QLOCAL(A)\n")


def in_ebcdic() -> tuple[dict, bytes]:
    """An MQDLH that says CCSID 850 and has its DestQName in EBCDIC."""
    fields, body = dead_letter("A", b"odd", ccsid=850)
    return fields, body[:12] + "A".ljust(48).encode("cp037") + body[60:]


@pytest.mark.parametrize(
    ("odd", "table", "reason"),
    [
        (dead_letter(CARON * 3, b"odd"), RETRY, "MQRC_OBJECT_NAME_ERROR (2152)"),
        (dead_letter(CARON * 40, b"odd", ccsid=1250), RETRY, "MQRC_OBJECT_NAME_ERROR (2152)"),
        (in_ebcdic(), RETRY, "MQRC_OBJECT_NAME_ERROR (2152)"),
        (dead_letter("A", b"odd", dest_q_mgr=CARON), RETRY, "MQRC_OBJECT_Q_MGR_NAME_ERROR (2153)"),
        (
            dead_letter("A", b"odd", ReplyToQ=CARON.encode() * 24),
            "ACTION(FWD) FWDQ(&REPLYQ) RETRY(2)\n",
            "MQRC_OBJECT_NAME_ERROR (2152)",
        ),
        (
            dead_letter("A", b"odd", UserIdentifier=CARON.encode() * 3),
            "ACTION(RETRY) PUTAUT(CTX) RETRY(2)\n",
            "MQRC_NOT_AUTHORIZED (2035)",
        ),
    ],
    ids=["DestQName", "longest DestQName", "EBCDIC", "DestQMgrName", "ReplyToQ", "UserIdentifier"],
)
def test_a_name_that_is_none_uses_up_the_tries_of_its_message_alone(manager, mqops_here, odd, table, reason):
    good = [dead_letter("A", body, **{"ReplyToQ": "A", "UserIdentifier": "root"}) for body in (b"1", b"2")]
    manager.put(DLQ, [good[0], odd, good[1]], options=CMQC.MQOO_SET_ALL_CONTEXT)
    for remedy, moved in (
        ("start the handler again for the next try", 2),
        ("no try is left, they stay on the queue", 0),
    ):
        done = mqops_here("dlq", "run", "--once", DLQ, "QM1", "--in-flight", "100", "--json", text=table, expect=1)
        summary = json.loads(done.stdout)
        assert (summary["moved"], summary["left"], summary["reasons"]) == (moved, 1, {reason.split()[0]: 1})
        assert f"fails: {reason}" in done.stderr  # the pre-flight
        assert "AMQ8722: 1 message could not be put on " in done.stderr
        assert f"by the rule at line 1: {reason}; {remedy}" in done.stderr
    done = mqops_here("dlq", "run", "--once", DLQ, "QM1", "--json", text=table, expect=1)
    assert (json.loads(done.stdout)["left"], json.loads(done.stdout)["reasons"]) == (1, {})
    assert sorted(body[-1:] for body in manager.bodies("A")) == [b"1", b"2"]
    assert manager.depth(DLQ) == 1


def test_text_in_a_message_forges_no_line_of_the_plan_and_of_what_is_said(manager, mqops_here):
    forging = [dead_letter(FORGED, b"1", MsgId=b"M" * 24), dead_letter("A", b"2", PutApplName="\x1b[2Jevil\r 1 x")]
    manager.put(DLQ, forging, options=CMQC.MQOO_SET_ALL_CONTEXT)
    planned = mqops_here("dlq", "run", DLQ, "QM1", "--dry-run", text=RETRY).stdout
    assert f"line 1: RETRY to {SHOWN}@QM1  (MQRC_Q_FULL {SHOWN}@QM1; 173 bytes" in planned
    assert "\N{REPLACEMENT CHARACTER}[2Jevil\N{REPLACEMENT CHARACTER} 1 x, 173 bytes: 9" in planned
    done = mqops_here("dlq", "run", "--once", DLQ, "QM1", "--canary", "1", "--canary-wait", "0", text=RETRY, expect=1)
    assert f"AMQ8722: 1 message could not be put on {SHOWN}@QM1 by the rule" in done.stderr
    assert f"{SHOWN}@QM1: 1 canary, " in done.stdout
    shown = mqops_here("ledger", "show", (b"M" * 24).hex()).stdout
    assert f"RETRY {SHOWN}@QM1 failed: MQRC_UNKNOWN_OBJECT_NAME" in shown
    for text in (planned, done.stdout, done.stderr, shown):
        assert all(line.isprintable() for line in text.split("\n"))
        assert not [line for line in text.split("\n") if line.startswith("      99")]


def test_a_name_that_the_terminal_has_no_characters_for_is_spelled(manager, mqops):
    manager.put(DLQ, [dead_letter(CARON, b"1")])
    done = mqops("dlq", "run", DLQ, "QM1", "--dry-run", text=RETRY, PYTHONIOENCODING="latin-1")
    assert r"line 1: RETRY to \u0159@QM1" in done.stdout


def test_a_name_that_is_no_utf8_is_an_error_in_one_line(manager, mqops_here):
    done = mqops_here("expiry", "age-out", "A\udcff", "-m", "QM1", "--older-than", "1h", expect=1)
    assert done.stderr == (
        "mqops: MQOPEN on A\ufffd failed: MQRC_OBJECT_NAME_ERROR (2152). ObjectName 'A\\udcff' is not in CCSID 819\n"
    )
