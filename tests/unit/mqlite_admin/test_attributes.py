"""The attribute table: its defaults, its words, and that it is complete in itself."""

from __future__ import annotations

import pytest

from mqlite import attributes
from mqlite.attributes import InvalidValue, Kind, ReadOnly, TooLong, UnknownAttribute, Value


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
