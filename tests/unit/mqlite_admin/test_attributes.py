"""The attribute table: its defaults, its words, and that it is complete in itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mqlite import attributes
from mqlite.attributes import InvalidValue, Kind, ReadOnly, TooLong, UnknownAttribute, Value

if TYPE_CHECKING:
    from .conftest import Mqlite


@pytest.mark.parametrize("kind", list(Kind))
@pytest.mark.parametrize("platform", ["unix", "zos"])
def test_every_default_is_a_value_the_attribute_may_have(kind: Kind, platform: str) -> None:
    for keyword, value in attributes.defaults(kind, platform=platform).items():
        row = attributes.attribute(kind, keyword)
        assert row.type.canonical(keyword, value) == value


@pytest.mark.parametrize("kind", list(Kind))
def test_what_display_shows_can_be_read_again(kind: Kind) -> None:
    for keyword, value in attributes.defaults(kind).items():
        shown = attributes.display(kind, keyword, value)
        row = attributes.attribute(kind, keyword)
        word = shown if isinstance(row.type, attributes.Flag) else shown[len(keyword) + 1 : -1]
        assert row.type.canonical(keyword, word) == value


@pytest.mark.parametrize("kind", list(Kind))
def test_each_selector_stands_for_one_attribute_of_a_kind(kind: Kind) -> None:
    for row in attributes.TABLE[kind].values():
        assert attributes.by_selector(kind, row.selector) is row


@pytest.mark.parametrize(
    ("kind", "keyword", "value"),
    [
        (Kind.QLOCAL, "MAXDEPTH", 5000),
        (Kind.QLOCAL, "MAXMSGL", 4_194_304),
        (Kind.QLOCAL, "BOTHRESH", 0),
        (Kind.QLOCAL, "BOQNAME", ""),
        (Kind.QLOCAL, "SHARE", 1),
        (Kind.QMODEL, "SHARE", 0),
        (Kind.QMODEL, "DEFTYPE", 3),
        (Kind.QMGR, "DEADQ", ""),
        (Kind.QMGR, "TRIGINT", 999_999_999),
    ],
)
def test_defaults_are_those_of_ibms_default_objects(kind: Kind, keyword: str, value: Value) -> None:
    assert attributes.defaults(kind)[keyword] == value


def test_channel_defaults_depend_on_the_type() -> None:
    sender = attributes.defaults(Kind.CHANNEL, subtype="SDR")
    assert (sender["BATCHSZ"], sender["NPMSPEED"], sender["USEDLQ"], sender["SHORTRTY"]) == (50, 2, 2, 10)
    receiver = attributes.defaults(Kind.CHANNEL, subtype="RCVR")
    assert "SHORTRTY" not in receiver
    assert receiver["MRRTY"] == 10


def test_zos_has_attributes_that_unix_has_not() -> None:
    assert "EXPRYINT" in attributes.defaults(Kind.QMGR, platform="zos")
    assert "EXPRYINT" not in attributes.defaults(Kind.QMGR, platform="unix")
    assert attributes.defaults(Kind.QMGR, platform="zos")["CCSID"] == 500


@pytest.mark.parametrize(
    ("keyword", "raw", "value"),
    [
        ("put", "disabled", 1),
        ("PUT", 1, 1),
        ("NOTRIGGER", "NOTRIGGER", 0),
        ("CAPEXPRY", "NOLIMIT", -1),
        ("DESCR", "trailing   ", "trailing"),
        ("BOQUEUE", "B.Q", "B.Q"),  # IBM's page calls BOQNAME so
        ("MAXDEPTH", "007", 7),
    ],
)
def test_values_become_what_the_engine_stores(keyword: str, raw: str | int, value: Value) -> None:
    assert attributes.canonical(Kind.QLOCAL, keyword, raw) == value


@pytest.mark.parametrize(
    ("keyword", "raw", "error"),
    [
        ("PUT", "MAYBE", InvalidValue),
        ("MAXDEPTH", "-1", InvalidValue),
        ("MAXDEPTH", "many", InvalidValue),
        ("BOQNAME", "not a name", InvalidValue),
        ("BOQNAME", "X" * 49, TooLong),
        ("DESCR", "x" * 65, TooLong),
        ("CURDEPTH", 3, ReadOnly),
        ("XYZ", 1, UnknownAttribute),
        ("TARGET", "A", UnknownAttribute),  # of alias queues
    ],
)
def test_what_is_not_allowed_says_why(keyword: str, raw: str | int, error: type[Exception]) -> None:
    with pytest.raises(error):
        attributes.canonical(Kind.QLOCAL, keyword, raw)


LONG = "ü" * 33
"""33 characters, 66 bytes in UTF-8."""


@pytest.mark.parametrize(
    ("platform", "command", "said"),
    [
        ("unix", f"DEFINE QLOCAL(A) TRIGDATA('{LONG}')", "AMQ8413E: String Length Error."),
        ("unix", f"DEFINE QLOCAL(A) TRIGDATA('{LONG[1:]}')", ""),
        ("unix", f"DEFINE PROCESS(A) USERDATA('{LONG * 2}')", "AMQ8413E: String Length Error."),
        ("unix", f"ALTER QMGR DESCR('{LONG}')", "AMQ8413E: String Length Error."),
        ("unix", "DEFINE PROCESS(A) APPLICID('5 €')", ""),
        ("zos", f"DEFINE QLOCAL(A) TRIGDATA('{LONG}')", ""),
        (
            "zos",
            "DEFINE PROCESS(A) APPLICID('5 €')",
            "AMQ8425E: Attribute value error (APPLICID: '€' does not exist in CCSID 500).",
        ),
        ("zos", "ALTER QMGR DESCR('日本')", "AMQ8425E: Attribute value error (DESCR: '日' does not exist in CCSID 500"),
    ],
)
def test_a_text_is_one_of_the_queue_managers_character_set_and_measured_in_its_bytes(
    mqlite: Mqlite, platform: str, command: str, said: str
) -> None:
    mqlite("create", "QM1", "--platform", platform)
    found = mqlite("mqsc", "QM1", stdin=command, code=10 if said else 0).output
    assert said in found
    assert ("AMQ84" in found) == bool(said)
