"""Message groups and segments in logical order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pymqi
import pytest
from mqlite_support import Application, make, refused
from pymqi import CMQC

LOGICAL = CMQC.MQGMO_LOGICAL_ORDER
PUT = CMQC.MQPMO_LOGICAL_ORDER | CMQC.MQPMO_SYNCPOINT
IN_GROUP, LAST = CMQC.MQMF_MSG_IN_GROUP, CMQC.MQMF_LAST_MSG_IN_GROUP
SEGMENT, LAST_SEGMENT = CMQC.MQMF_SEGMENT, CMQC.MQMF_LAST_SEGMENT


def put_group(application: Application, bodies: list[bytes]) -> list[pymqi.MD]:
    """One group, put in logical order and committed."""
    opened = application.open("Q1", CMQC.MQOO_OUTPUT)
    given = []
    for body in bodies:
        md = pymqi.MD(Version=CMQC.MQMD_VERSION_2, MsgFlags=LAST if body is bodies[-1] else IN_GROUP)
        opened.put(body, md, pymqi.PMO(Options=PUT))
        given.append(md)
    application.manager.commit()
    return given


def test_the_queue_manager_numbers_the_messages(application: Application) -> None:
    given = put_group(application, [b"a", b"b", b"c"])
    assert len({md.GroupId for md in given}) == 1
    assert given[0].GroupId != bytes(24)
    assert [md.MsgSeqNumber for md in given] == [1, 2, 3]


def test_segments_are_given_their_offsets(application: Application) -> None:
    opened = application.open("Q1", CMQC.MQOO_OUTPUT)
    offsets = []
    for body, flags in ((b"12345", CMQC.MQMF_SEGMENT), (b"678", CMQC.MQMF_SEGMENT), (b"9", CMQC.MQMF_LAST_SEGMENT)):
        md = pymqi.MD(Version=CMQC.MQMD_VERSION_2, MsgFlags=flags)
        opened.put(body, md, pymqi.PMO(Options=PUT))
        offsets.append((md.MsgSeqNumber, md.Offset))
    application.manager.commit()
    assert offsets == [(1, 0), (1, 5), (1, 8)]


def test_a_group_is_got_in_its_order_wherever_its_messages_stand(application: Application) -> None:
    for sequence in (3, 1, 2):
        flags = LAST if sequence == 3 else IN_GROUP
        application.put("Q1", b"%d" % sequence, GroupId=b"G" * 24, MsgSeqNumber=sequence, MsgFlags=flags)
    application.put("Q1", b"single")
    opened = application.open("Q1")
    options = LOGICAL | CMQC.MQGMO_BROWSE_NEXT
    assert [application.get(opened, options)[1] for _ in range(3)] == [b"1", b"2", b"3"]
    options = LOGICAL | CMQC.MQGMO_NO_SYNCPOINT
    assert [application.get(opened, options)[1] for _ in range(4)] == [b"1", b"2", b"3", b"single"]


def test_group_status_is_returned(application: Application) -> None:
    put_group(application, [b"a", b"b"])
    opened = application.open("Q1")
    statuses = []
    for _ in range(2):
        gmo = pymqi.GMO(Version=CMQC.MQGMO_VERSION_2, Options=LOGICAL, MatchOptions=CMQC.MQMO_NONE)
        opened.get(None, pymqi.MD(Version=CMQC.MQMD_VERSION_2), gmo)
        statuses.append(gmo.GroupStatus)
    assert statuses == [CMQC.MQGS_MSG_IN_GROUP, CMQC.MQGS_LAST_MSG_IN_GROUP]


def test_the_rest_of_a_group_is_waited_for(application: Application) -> None:
    application.put("Q1", b"1", GroupId=b"G" * 24, MsgSeqNumber=1, MsgFlags=IN_GROUP)
    application.put("Q1", b"other group's second", GroupId=b"H" * 24, MsgSeqNumber=2, MsgFlags=IN_GROUP)
    opened = application.open("Q1")
    assert application.get(opened, LOGICAL)[1] == b"1"
    with refused(CMQC.MQRC_NO_MSG_AVAILABLE):
        application.get(opened, LOGICAL)


def test_back_out_goes_back_to_the_beginning_of_the_group(application: Application) -> None:
    put_group(application, [b"a", b"b", b"c"])
    opened = application.open("Q1")
    options = LOGICAL | CMQC.MQGMO_SYNCPOINT
    assert [application.get(opened, options)[1] for _ in range(2)] == [b"a", b"b"]
    application.manager.backout()
    assert [application.get(opened, options)[1] for _ in range(3)] == [b"a", b"b", b"c"]


def test_a_message_of_no_group_cannot_come_between(application: Application) -> None:
    opened = application.open("Q1", CMQC.MQOO_OUTPUT)
    opened.put(b"a", pymqi.MD(Version=CMQC.MQMD_VERSION_2, MsgFlags=IN_GROUP), pymqi.PMO(Options=PUT))
    with refused(CMQC.MQRC_INCOMPLETE_GROUP):
        opened.put(b"x", pymqi.MD(Version=CMQC.MQMD_VERSION_2), pymqi.PMO(Options=PUT))


GROUPED, SEGMENTED = CMQC.MQRC_INCOMPLETE_GROUP, CMQC.MQRC_INCOMPLETE_MSG


@pytest.mark.parametrize(
    ("first", "second", "reason", "end"),
    [
        # a segment is to come, of a message in the same group or in none, the last one or not
        (SEGMENT, 0, SEGMENTED, LAST_SEGMENT),
        (SEGMENT, IN_GROUP, SEGMENTED, LAST_SEGMENT),
        (SEGMENT, IN_GROUP | SEGMENT, SEGMENTED, LAST_SEGMENT),
        (SEGMENT | IN_GROUP, IN_GROUP, SEGMENTED, IN_GROUP | LAST_SEGMENT),
        (SEGMENT | IN_GROUP, SEGMENT, SEGMENTED, IN_GROUP | LAST_SEGMENT),
        (SEGMENT | IN_GROUP, SEGMENT | LAST, SEGMENTED, IN_GROUP | LAST_SEGMENT),
        (SEGMENT | LAST, SEGMENT | IN_GROUP, SEGMENTED, LAST | LAST_SEGMENT),
        # a message of the group is to come
        (IN_GROUP, SEGMENT, GROUPED, LAST),
        (IN_GROUP, LAST_SEGMENT, GROUPED, LAST | SEGMENT),
    ],
)
def test_what_does_not_go_on_is_refused(
    application: Application, first: int, second: int, reason: int, end: int
) -> None:
    opened = application.open("Q1", CMQC.MQOO_OUTPUT)
    opened.put(b"a", pymqi.MD(Version=CMQC.MQMD_VERSION_2, MsgFlags=first), pymqi.PMO(Options=PUT))
    with refused(reason) as caught:
        opened.put(b"b", pymqi.MD(Version=CMQC.MQMD_VERSION_2, MsgFlags=second), pymqi.PMO(Options=PUT))
    assert caught.value.comp == CMQC.MQCC_FAILED
    opened.put(b"c", pymqi.MD(Version=CMQC.MQMD_VERSION_2, MsgFlags=end), pymqi.PMO(Options=PUT))
    application.manager.commit()
    assert application.bodies("Q1") == [b"a", b"c"]


@pytest.mark.parametrize(
    ("fields", "options", "reason"),
    [
        ({}, CMQC.MQPMO_LOGICAL_ORDER | CMQC.MQPMO_NO_SYNCPOINT, CMQC.MQRC_INCONSISTENT_UOW),
        ({"Persistence": CMQC.MQPER_PERSISTENT}, PUT, CMQC.MQRC_INCONSISTENT_PERSISTENCE),
    ],
)
def test_a_group_is_put_in_one_way(application: Application, fields: dict[str, int], options: int, reason: int) -> None:
    opened = application.open("Q1", CMQC.MQOO_OUTPUT)
    opened.put(b"a", pymqi.MD(Version=CMQC.MQMD_VERSION_2, MsgFlags=IN_GROUP), pymqi.PMO(Options=PUT))
    with refused(reason) as caught:
        opened.put(b"b", pymqi.MD(Version=CMQC.MQMD_VERSION_2, MsgFlags=LAST, **fields), pymqi.PMO(Options=options))
    assert caught.value.comp == CMQC.MQCC_FAILED
    opened.put(b"c", pymqi.MD(Version=CMQC.MQMD_VERSION_2, MsgFlags=LAST), pymqi.PMO(Options=PUT))
    application.manager.commit()
    assert application.bodies("Q1") == [b"a", b"c"]


def test_a_group_is_got_in_one_way(application: Application) -> None:
    put_group(application, [b"a", b"b"])
    opened = application.open("Q1")
    assert application.get(opened, LOGICAL | CMQC.MQGMO_SYNCPOINT)[1] == b"a"
    with refused(CMQC.MQRC_INCONSISTENT_UOW):
        application.get(opened, LOGICAL | CMQC.MQGMO_NO_SYNCPOINT)
    assert application.get(opened, LOGICAL | CMQC.MQGMO_SYNCPOINT)[1] == b"b"
    application.manager.backout()
    assert application.bodies("Q1") == [b"a", b"b"]


@pytest.mark.parametrize(
    ("flags", "reason"),
    [(IN_GROUP, CMQC.MQRC_INCOMPLETE_GROUP), (CMQC.MQMF_SEGMENT, CMQC.MQRC_INCOMPLETE_MSG)],
)
def test_breaking_a_group_off_is_warned_of(application: Application, flags: int, reason: int) -> None:
    for by_closing in (True, False):
        opened = application.open("Q1", CMQC.MQOO_OUTPUT)
        opened.put(b"a", pymqi.MD(Version=CMQC.MQMD_VERSION_2, MsgFlags=flags), pymqi.PMO(Options=PUT))
        with refused(reason) as caught:
            opened.close() if by_closing else opened.put(b"alone", pymqi.MD(), pymqi.PMO())
        assert caught.value.comp == CMQC.MQCC_WARNING
    opened.put(b"more", pymqi.MD(), pymqi.PMO())
    opened.close()
    application.manager.commit()
    assert application.bodies("Q1") == [b"a", b"a", b"alone", b"more"]


def test_a_group_goes_on_in_physical_order(application: Application) -> None:
    opened = application.open("Q1", CMQC.MQOO_OUTPUT)
    first = pymqi.MD(Version=CMQC.MQMD_VERSION_2, MsgFlags=IN_GROUP)
    opened.put(b"a", first, pymqi.PMO(Options=PUT))
    fields = {"GroupId": first.GroupId, "MsgSeqNumber": 2, "MsgFlags": LAST}
    md = pymqi.MD(Version=CMQC.MQMD_VERSION_2, **fields)
    opened.put(b"b", md, pymqi.PMO(Options=CMQC.MQPMO_SYNCPOINT))
    opened.close()
    application.manager.commit()
    assert application.bodies("Q1") == [b"a", b"b"]


PAIRS = [
    ((IN_GROUP, LAST), CMQC.MQRC_INCOMPLETE_GROUP),
    ((SEGMENT, LAST_SEGMENT), CMQC.MQRC_INCOMPLETE_MSG),
]


def put_pairs(application: Application, flags: tuple[int, int]) -> None:
    """Groups or logical messages g, h and i, each of two messages: g1, g2, h1, h2, i1, i2."""
    for name in (b"g", b"h", b"i"):
        for number, each in enumerate(flags, start=1):
            place = {"MsgSeqNumber": number} if each & (LAST | IN_GROUP) else {"Offset": (number - 1) * 2}
            application.put("Q1", b"%s%d" % (name, number), GroupId=name * 24, MsgFlags=each, **place)


def get_of(opened: Any, name: bytes, options: int = CMQC.MQGMO_NO_SYNCPOINT) -> bytes:
    """Get the first message there is of a group, in physical order."""
    md = pymqi.MD(Version=CMQC.MQMD_VERSION_2, GroupId=name * 24)
    gmo = pymqi.GMO(Version=CMQC.MQGMO_VERSION_2, Options=options, MatchOptions=CMQC.MQMO_MATCH_GROUP_ID)
    return bytes(opened.get(None, md, gmo))


@pytest.mark.parametrize(("flags", "reason"), PAIRS)
def test_a_get_in_physical_order_breaks_the_group_off(
    application: Application, flags: tuple[int, int], reason: int
) -> None:
    put_pairs(application, flags)
    opened = application.open("Q1")
    assert application.get(opened, LOGICAL)[1] == b"g1"
    with refused(reason) as caught:
        get_of(opened, b"h")
    assert (caught.value.comp, caught.value.message) == (CMQC.MQCC_WARNING, b"h1")
    assert get_of(opened, b"h") == b"h2"  # warned of once
    assert application.get(opened, LOGICAL)[1] == b"i1"
    assert application.bodies("Q1") == [b"g2", b"i2"]


@pytest.mark.parametrize(("flags", "reason"), PAIRS)
def test_a_group_that_is_got_goes_on_in_physical_order(
    application: Application, flags: tuple[int, int], reason: int
) -> None:
    put_pairs(application, flags)
    opened = application.open("Q1")
    assert application.get(opened, LOGICAL)[1] == b"g1"
    assert get_of(opened, b"g") == b"g2"
    assert [application.get(opened, LOGICAL)[1] for _ in range(4)] == [b"h1", b"h2", b"i1", b"i2"]


def test_a_group_that_goes_on_in_another_unit_is_warned_of(application: Application) -> None:
    put_pairs(application, (IN_GROUP, LAST))
    opened = application.open("Q1")
    assert application.get(opened, LOGICAL | CMQC.MQGMO_NO_SYNCPOINT)[1] == b"g1"
    with refused(CMQC.MQRC_INCONSISTENT_UOW) as caught:
        get_of(opened, b"g", CMQC.MQGMO_SYNCPOINT)
    assert (caught.value.comp, caught.value.message) == (CMQC.MQCC_WARNING, b"g2")
    application.manager.backout()
    assert application.get(opened, LOGICAL | CMQC.MQGMO_NO_SYNCPOINT)[1] == b"g2"


def test_back_out_takes_a_group_up_that_was_broken_off(application: Application) -> None:
    put_pairs(application, (IN_GROUP, LAST))
    opened = application.open("Q1")
    assert application.get(opened, LOGICAL | CMQC.MQGMO_NO_SYNCPOINT)[1] == b"g1"
    with refused(CMQC.MQRC_INCOMPLETE_GROUP):
        get_of(opened, b"i", CMQC.MQGMO_SYNCPOINT)
    application.manager.backout()
    assert application.get(opened, LOGICAL | CMQC.MQGMO_NO_SYNCPOINT)[1] == b"g2"
    assert application.bodies("Q1") == [b"h1", b"h2", b"i1", b"i2"]


def test_what_is_browsed_does_not_break_off_what_is_got(application: Application) -> None:
    put_pairs(application, (IN_GROUP, LAST))
    opened = application.open("Q1")
    assert application.get(opened, LOGICAL)[1] == b"g1"
    assert application.get(opened, CMQC.MQGMO_BROWSE_FIRST)[1] == b"g2"
    assert application.get(opened, LOGICAL)[1] == b"g2"


def test_the_warning_comes_with_the_message_converted(application: Application) -> None:
    application.put("Q1", b"1", GroupId=b"G" * 24, MsgSeqNumber=1, MsgFlags=IN_GROUP)
    application.put("Q1", b"\xe4", Format=CMQC.MQFMT_STRING, CodedCharSetId=819)
    opened = application.open("Q1")
    assert application.get(opened, LOGICAL)[1] == b"1"
    with refused(CMQC.MQRC_INCOMPLETE_GROUP) as caught:
        application.get(opened, CMQC.MQGMO_NO_SYNCPOINT | CMQC.MQGMO_CONVERT, CodedCharSetId=1208)
    assert caught.value.message == b"\xc3\xa4"


@pytest.mark.parametrize(("first", "other"), [(LOGICAL, 0), (0, LOGICAL)])
def test_a_scan_is_in_one_order(application: Application, first: int, other: int) -> None:
    put_pairs(application, (IN_GROUP, LAST))
    opened = application.open("Q1")
    assert application.get(opened, first | CMQC.MQGMO_BROWSE_FIRST)[1] == b"g1"
    with refused(CMQC.MQRC_INCONSISTENT_BROWSE) as caught:
        application.get(opened, other | CMQC.MQGMO_BROWSE_NEXT)
    assert caught.value.comp == CMQC.MQCC_FAILED
    assert application.get(opened, other | CMQC.MQGMO_BROWSE_MSG_UNDER_CURSOR)[1] == b"g1"
    assert application.get(opened, first | CMQC.MQGMO_BROWSE_NEXT)[1] == b"g2"
    assert application.get(opened, other | CMQC.MQGMO_BROWSE_FIRST)[1] == b"g1"
    assert application.get(opened, other | CMQC.MQGMO_BROWSE_NEXT)[1] == b"g2"


def test_on_zos_a_scan_in_the_other_order_is_warned_of(home: Path) -> None:
    make("Z", "DEFINE QLOCAL(Q1)", platform="zos")
    application = Application("Z")
    application.put("Q1", b"single")
    put_pairs(application, (IN_GROUP, LAST))
    opened = application.open("Q1")
    options = LOGICAL | CMQC.MQGMO_BROWSE_NEXT
    assert [application.get(opened, options)[1] for _ in range(4)] == [b"single", b"g1", b"g2", b"h1"]
    with refused(CMQC.MQRC_INCOMPLETE_GROUP) as caught:
        get_of(opened, b"i", CMQC.MQGMO_BROWSE_NEXT)
    assert (caught.value.comp, caught.value.message) == (CMQC.MQCC_WARNING, b"i1")
    application.manager.disconnect()


def test_only_the_last_segment_may_be_empty(application: Application) -> None:
    with refused(CMQC.MQRC_SEGMENT_LENGTH_ZERO):
        application.put("Q1", b"", MsgFlags=CMQC.MQMF_SEGMENT)
    application.put("Q1", b"", MsgFlags=CMQC.MQMF_LAST_SEGMENT)
    assert application.depth("Q1") == 1


def test_descriptor_for_output_only(application: Application) -> None:
    options = CMQC.MQPMO_MD_FOR_OUTPUT_ONLY | CMQC.MQPMO_NO_SYNCPOINT
    md = application.put("Q1", Priority=7, MsgId=b"M" * 24, options=options)
    assert md.MsgId != b"M" * 24
    assert application.get("Q1")[0].Priority == 0
