"""What a message of an initiation queue starts: trigger messages in any encoding, and those of hostile programs."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import pytest

from mqops.trigger.core.trigger_message import CONF_KEY, Start, Unusable, run_id, to_start
from mqwire import constants as c
from mqwire.structures import MQDLH, MQMD, MQMDE, MQTM, MQTMC2

ALLOWED = {"qm1_dlq_rules", "orders"}
HOSTILE = "'; DROP TABLE dag; {{ var.value.secret }} ${jndi:x} $(rm -rf /) \u202e../../etc"
EBCDIC = 500


def md(**fields: Any) -> bytes:
    """The descriptor of a trigger message."""
    of = {"format": "MQTRIG", "coded_char_set_id": 819, "msg_id": b"AMQ QM1".ljust(24, b"\1")} | fields
    return MQMD(put_date="20261123", put_time="06354212", **of).pack()


def trigger(**fields: Any) -> MQTM:
    return MQTM(**{"q_name": "APP", "process_name": "P", "appl_type": c.MQAT_UNIX, "appl_id": "orders"} | fields)


def judged(body: bytes, **fields: Any) -> Start | Unusable:
    return to_start(md(**fields), body, allowed=ALLOWED)


def refused(body: bytes, reason: int, why: str, **fields: Any) -> None:
    found = judged(body, **fields)
    assert isinstance(found, Unusable)
    assert found.reason == reason
    assert why in found.why


@pytest.mark.parametrize("encoding", [c.MQENC_NATIVE, c.MQENC_INTEGER_NORMAL, c.MQENC_INTEGER_REVERSED])
@pytest.mark.parametrize("ccsid", [819, 1208, EBCDIC, 1047])
@pytest.mark.parametrize("characters", [False, True])
def test_a_trigger_message_in_any_encoding_starts_its_dag(encoding: int, ccsid: int, characters: bool) -> None:
    said = {"q_name": "APP", "process_name": "P", "trigger_data": "t", "env_data": "&", "user_data": "u"}
    value = MQTMC2(appl_id="orders", q_mgr_name="QM1", **said) if characters else trigger(**said)
    found = judged(value.pack(encoding=encoding, ccsid=ccsid), encoding=encoding, coded_char_set_id=ccsid)
    assert isinstance(found, Start)
    assert found.dag_id == "orders"
    assert found.conf == {
        CONF_KEY: {
            "QName": "APP",
            "ProcessName": "P",
            "TriggerData": "t",
            "ApplType": None if characters else c.MQAT_UNIX,
            "ApplId": "orders",
            "EnvData": "&",
            "UserData": "u",
        }
    }


def test_what_a_header_says_counts_for_the_message_behind_it() -> None:
    header = MQMDE(encoding=c.MQENC_INTEGER_NORMAL, coded_char_set_id=EBCDIC, format="MQTRIG").pack()
    body = header + trigger().pack(encoding=c.MQENC_INTEGER_NORMAL, ccsid=EBCDIC)
    assert isinstance(judged(body, format="MQHMDE"), Start)


def test_ccsid_0_is_the_queue_managers() -> None:
    body = trigger().pack(ccsid=EBCDIC)
    assert isinstance(to_start(md(coded_char_set_id=0), body, allowed=ALLOWED, q_mgr_ccsid=EBCDIC), Start)
    refused(body, c.MQFB_TM_ERROR, "", coded_char_set_id=0)


def test_law3_the_run_id_is_that_of_the_message_and_of_no_other() -> None:
    body = trigger().pack()
    one = run_id(md(), body)
    assert one == run_id(md(backout_count=7), body), "a redelivered message names the same run"
    others = [
        run_id(md(msg_id=b"\2" * 24), body),
        run_id(md(correl_id=b"\2" * 24), body),
        run_id(md(), trigger(user_data="x").pack()),
    ]
    assert len({one, *others}) == 4
    assert one.replace("_", "").isalnum()
    assert len(one) < 250


@pytest.mark.parametrize("length", [0, 1, 4, 8, 100, 171, 428, 683])
def test_a_trigger_message_that_is_cut_short_is_an_error(length: int) -> None:
    refused(trigger().pack()[:length], c.MQFB_TM_ERROR, "MQTM")


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        (trigger().pack() + b"x", {}),  # longer than any version that is known
        (b"X" * 684, {}),
        (b"\0" * 732, {}),
        (trigger().pack().replace(b"TM  \1", b"TM  \2", 1), {}),  # version 2
        (MQTMC2(appl_id="orders").pack().replace(b"   2", b"   3", 1), {}),
        (MQTMC2(appl_id="orders", appl_type="six").pack(), {}),
        (trigger().pack(), {"format": "MQSTR"}),
        (trigger().pack(), {"format": ""}),
        (trigger().pack(), {"coded_char_set_id": EBCDIC}),  # says EBCDIC, is ASCII
        (trigger().pack(), {"coded_char_set_id": 99999}),
        (trigger().pack(), {"encoding": 0xFFF}),
        (trigger().pack().replace(b"orders", b"ord\xffrs"), {"coded_char_set_id": 1208}),
        (MQDLH(format="MQTRIG", encoding=c.MQENC_NATIVE, coded_char_set_id=819).pack() + trigger().pack(),
         {"format": "MQDEAD"}),
    ],
)  # fmt: skip
def test_what_is_no_trigger_message_is_an_error(body: bytes, fields: dict[str, Any]) -> None:
    refused(body, c.MQFB_TM_ERROR, "no valid trigger message", **fields)


@pytest.mark.parametrize("appl_type", [c.MQAT_CICS, c.MQAT_UNKNOWN, 3, 0, 65535, 1_000_000_000])
def test_an_application_of_another_kind_is_refused(appl_type: int) -> None:
    refused(trigger(appl_type=appl_type).pack(), c.MQFB_APPL_TYPE_ERROR, "APPLTYPE(UNIX)")


@pytest.mark.parametrize("appl_type", [c.MQAT_UNIX, c.MQAT_WINDOWS_NT, c.MQAT_USER_FIRST, c.MQAT_USER_LAST])
def test_these_application_types_may_stand_for_a_dag(appl_type: int) -> None:
    assert isinstance(judged(trigger(appl_type=appl_type).pack()), Start)


@pytest.mark.parametrize(
    "appl_id",
    ["", "/usr/bin/serve", "../../dags/orders", "orders/../x", "orders&", "orders;x", "a b", "-rf", ".orders",
     "or\nders", "o" * 251, "%6frders", "ordérs"],
)  # fmt: skip
def test_an_applicid_that_is_no_dag_id_starts_nothing(appl_id: str) -> None:
    body = trigger(appl_id=appl_id).pack()
    refused(body, c.MQFB_APPL_CANNOT_BE_STARTED, "is no DAG id")


def test_a_dag_that_the_estate_does_not_allow_starts_nothing() -> None:
    refused(trigger(appl_id="other").pack(), c.MQFB_APPL_CANNOT_BE_STARTED, "does not allow")
    refused(trigger(appl_id="Orders").pack(), c.MQFB_APPL_CANNOT_BE_STARTED, "does not allow")


def test_hostile_data_is_data() -> None:
    found = judged(trigger(user_data=HOSTILE, env_data="{'dry_run': false}").pack(ccsid=1208), coded_char_set_id=1208)
    assert isinstance(found, Start)
    assert list(found.conf) == [CONF_KEY]
    assert found.conf[CONF_KEY]["UserData"] == HOSTILE
    assert found.conf[CONF_KEY]["EnvData"] == "{'dry_run': false}"


def test_a_field_ends_at_its_first_nul() -> None:
    found = judged(trigger(appl_id="orders\0/bin/sh", user_data="u\0v").pack())
    assert isinstance(found, Start)
    assert (found.dag_id, found.conf[CONF_KEY]["UserData"]) == ("orders", "u")


def test_nothing_of_a_hostile_name_reaches_a_log_unseen() -> None:
    found = judged(trigger(process_name="P\x1b[2J\n", appl_id="/x\u0007").pack())
    assert isinstance(found, Unusable)
    assert found.why.isprintable()


def test_bytes_of_any_kind_raise_nothing() -> None:
    for seed in range(2000):
        body = b"".join(sha256(b"%d %d" % (seed, part)).digest() for part in range(23))[: seed % 740]
        for front in (b"", b"TM  ", b"TMC "):
            assert isinstance(judged(front + body), Unusable)
