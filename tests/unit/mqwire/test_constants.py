"""The constants are IBM's values, each once, and their names can be found back."""

from __future__ import annotations

import pytest

from mqwire import constants, names
from mqwire.names import feedback_name, lookup, reason_name, values

ALL = {name: value for name, value in vars(constants).items() if name.startswith("MQ")}


def test_all_are_numbers_text_or_bytes() -> None:
    assert len(ALL) > 1000
    assert all(isinstance(value, int | str | bytes) for value in ALL.values())


def test_integers_fit_an_mqlong() -> None:
    assert not [name for name, value in ALL.items() if isinstance(value, int) and not -(2**31) <= value < 2**31]


def test_formats_have_no_trailing_blanks_and_fit_their_field() -> None:
    formats = {name: value for name, value in ALL.items() if name.startswith("MQFMT_")}
    assert len(formats) > 20
    assert all(value == value.rstrip() and len(value) <= 8 for value in formats.values())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MQRC_UNKNOWN_OBJECT_NAME", 2085),
        ("MQRC_Q_FULL", 2053),
        ("MQRC_BACKOUT_THRESHOLD_REACHED", 2362),
        ("MQRCCF_COMMAND_FAILED", 3008),
        ("MQIA_BACKOUT_THRESHOLD", 22),
        ("MQCA_BACKOUT_REQ_Q_NAME", 2019),
        ("MQCA_DEAD_LETTER_Q_NAME", 2006),
        ("MQIA_HARDEN_GET_BACKOUT", 8),
        ("MQIA_EXPIRY_INTERVAL", 39),
        ("MQIA_CAP_EXPIRY", 276),  # newer than most tables
        ("MQCMD_INQUIRE_Q", 13),
        ("MQIACF_Q_ATTRS", 1002),
        ("MQCACH_CHANNEL_NAME", 3501),
        ("MQFMT_DEAD_LETTER_HEADER", "MQDEAD"),
        ("MQFMT_NONE", ""),
        ("MQMD_STRUC_ID", "MD"),
        ("MQMI_NONE", bytes(24)),
        ("MQRO_EXPIRATION_WITH_FULL_DATA", 0x00E00000),
        ("MQRO_ACCEPT_UNSUP_MASK", -270532353),  # unsigned in some tables, an MQLONG here
        ("MQENC_NATIVE", 546),
        ("MQAT_DEFAULT", 6),  # of Linux
        ("MQGS_MSG_IN_GROUP", ord("G")),
        ("MQCCSI_INHERIT", -2),
        ("MQCFH_STRUC_LENGTH", 36),
    ],
)
def test_values_are_ibms(name: str, value: object) -> None:
    assert ALL[name] == value


@pytest.mark.parametrize(
    ("reason", "name"),
    [
        (0, "MQRC_NONE"),
        (2085, "MQRC_UNKNOWN_OBJECT_NAME"),
        (3008, "MQRCCF_COMMAND_FAILED"),  # of the command server
        (999, "999"),  # the end of a range is no reason
        (31337, "31337"),
    ],
)
def test_reason_names(reason: int, name: str) -> None:
    assert reason_name(reason) == name


@pytest.mark.parametrize(
    ("feedback", "name"),
    [
        (0, "MQFB_NONE"),
        (258, "MQFB_EXPIRATION"),
        (265, "MQFB_APPL_CANNOT_BE_STARTED"),
        (2053, "MQRC_Q_FULL"),  # exception reports carry reason codes
        (65535, "65535"),  # the end of a range is no feedback
    ],
)
def test_feedback_names(feedback: int, name: str) -> None:
    assert feedback_name(feedback) == name


@pytest.mark.parametrize(
    ("prefix", "value", "name"),
    [
        ("MQAT", 6, "MQAT_UNIX"),  # not MQAT_DEFAULT, not MQAT_AIX
        ("MQAT", 2, "MQAT_ZOS"),
        ("MQPER", 1, "MQPER_PERSISTENT"),
        ("MQQT", 1, "MQQT_LOCAL"),
        ("MQCFT", 3, "MQCFT_INTEGER"),
        ("MQCFC", 1, "MQCFC_LAST"),  # no end of a range
        ("MQPER", 77, None),
        ("MQNOSUCH", 1, None),
    ],
)
def test_lookup(prefix: str, value: int, name: str | None) -> None:
    assert lookup(prefix, value) == name


def test_every_name_found_has_that_value() -> None:
    for prefix in ("MQRC", "MQFB", "MQAT", "MQIA", "MQCA", "MQRCCF", "MQCMD", "MQIACF"):
        assert names.table(prefix)
        assert all(ALL[name] == value for value, name in names.table(prefix).items())


def test_values_of_several_groups_at_once() -> None:
    both = values("MQRC", "MQFB")
    assert both["MQRC_Q_FULL"] == 2053
    assert both["MQFB_TM_ERROR"] == 266
