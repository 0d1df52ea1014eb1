"""What a check expects, in MQ's words (issue 37 C)."""

from __future__ import annotations

import pytest

from mqops.message_checks import CheckResult
from mqops.quality.expected import expected, fields

IN_SET, NOT_IN_SET = "column_values_to_be_in_set", "column_values_to_not_be_in_set"
LENGTHS, BETWEEN = "column_value_lengths_to_be_between", "column_values_to_be_between"


@pytest.mark.parametrize(
    ("expect", "columns", "limits", "where", "said"),
    [
        (IN_SET, ("dlh_valid",), "true", "", "the body begins with a valid MQDLH"),
        (
            IN_SET,
            ("rfh2_valid",),
            "true, in 95 % of the messages",
            "",
            "the MQRFH2 is well-formed, in 95 % of the messages",
        ),
        (IN_SET, ("msg_type",), "1, 8", "", "MsgType: is one of MQMT_REQUEST, MQMT_DATAGRAM"),
        (
            IN_SET,
            ("format",),
            "MQDEAD",
            "dlh_valid equals True",
            "Format: is MQDEAD, where the body begins with a valid MQDLH",
        ),
        (
            NOT_IN_SET,
            ("dlh_reason",),
            "0",
            "msg_type equals 4",
            "Reason of the MQDLH: is not MQRC_NONE, where MsgType is MQMT_REPORT",
        ),
        (  # a feedback code, as of the trigger monitor (IBM MQ, "Reason")
            IN_SET,
            ("dlh_reason",),
            "266, 2053, 1",
            "",
            "Reason of the MQDLH: is one of MQFB_TM_ERROR, MQRC_Q_FULL, 1",
        ),
        (  # of a command, and of IMS (IBM MQ, "IMS bridge feedback codes")
            IN_SET,
            ("dlh_reason",),
            "3015, 326",
            "",
            "Reason of the MQDLH: is one of MQRCCF_CFST_PARM_ID_ERROR, IMS sense code 26 (X'001A')",
        ),
        (
            NOT_IN_SET,
            ("feedback",),
            "3008, 603",
            "",
            "Feedback: is none of MQRCCF_COMMAND_FAILED, IMS sense code 26 (X'001A'), reason code 3 (X'0003')",
        ),
        (  # of an exception report
            NOT_IN_SET,
            ("feedback",),
            "2053",
            "dlh_reason equals 271",
            "Feedback: is not MQRC_Q_FULL, where Reason of the MQDLH is MQFB_XMIT_Q_MSG_ERROR",
        ),
        (
            NOT_IN_SET,
            ("feedback",),
            "0, 1",
            "dlh_valid not True",
            "Feedback: is none of MQFB_NONE, 1, where dlh_valid is not True",
        ),
        (LENGTHS, ("dlh_dest_q",), "at least 1", "", "DestQName of the MQDLH: has a length of at least 1"),
        (
            BETWEEN,
            ("expiry",),
            "at least 1",
            "expiry not -1 and queue is one of A, B",
            "Expiry: is at least 1, where Expiry is not MQEI_UNLIMITED and queue is one of A, B",
        ),
        (
            "compound_columns_to_be_unique",
            ("queue", "msg_id"),
            "",
            "",
            "queue, MsgId: together are in one message only",
        ),
        (
            "column_kl_divergence_to_be_less_than",
            ("usr.iban",),
            "0.1",
            "",
            "usr.iban: kl divergence to be less than: 0.1",
        ),
        (IN_SET, ("dlh_valid",), "", "", "dlh_valid: values to be in set"),  # a run of an earlier version
        (
            "column_values_to_not_be_null",
            ("reply_to_q",),
            "in 95 % of the messages",
            "age_seconds at least 3600 and msg_type is one of 1, 8",
            "ReplyToQ: has a value, in 95 % of the messages, where age is at least 3,600 s (1 h) and MsgType is one of "
            "MQMT_REQUEST, MQMT_DATAGRAM",
        ),
        ("column_values_to_be_null", ("msg_offset",), "", "queue like A*", "Offset: has no value, where queue like A*"),
        ("table_row_count_to_equal", (), "5", "appl is set", "the number of messages is 5, where appl is set"),
    ],
)
def test_a_check_is_told_by_fields_and_constants_of_ibm_mq(expect, columns, limits, where, said):
    check = CheckResult(
        **{"suite": "s", "expectation": "e", "severity": "critical", "met": True},
        **{"expect": expect, "columns": columns, "limits": limits, "where": where},
    )
    named = fields(check)
    assert (f"{named}: " if named else "") + expected(check) == said
