"""Browse cursors and locks."""

from __future__ import annotations

import pymqi
from mqlite_support import Application, refused, run_mqsc
from pymqi import CMQC

FIRST, NEXT = CMQC.MQGMO_BROWSE_FIRST, CMQC.MQGMO_BROWSE_NEXT
HERE = CMQC.MQGMO_BROWSE_MSG_UNDER_CURSOR
TAKE = CMQC.MQGMO_MSG_UNDER_CURSOR | CMQC.MQGMO_NO_SYNCPOINT
LOCK, UNLOCK = CMQC.MQGMO_LOCK, CMQC.MQGMO_UNLOCK


def three(application: Application) -> None:
    for body in (b"a", b"b", b"c"):
        application.put("Q1", body)


def test_browse_leaves_the_messages(application: Application) -> None:
    three(application)
    opened = application.open("Q1")
    assert [application.get(opened, NEXT)[1] for _ in range(3)] == [b"a", b"b", b"c"]
    with refused(CMQC.MQRC_NO_MSG_AVAILABLE):
        application.get(opened, NEXT)
    assert application.get(opened, FIRST)[1] == b"a"
    assert application.get(opened, HERE)[1] == b"a"
    assert application.depth("Q1") == 3


def test_message_under_the_cursor(application: Application) -> None:
    three(application)
    opened = application.open("Q1")
    application.get(opened, NEXT)
    application.get(opened, NEXT)
    assert application.get(opened, TAKE)[1] == b"b"
    with refused(CMQC.MQRC_NO_MSG_UNDER_CURSOR):
        application.get(opened, TAKE)
    assert application.get(opened, NEXT)[1] == b"c"
    assert application.bodies("Q1") == [b"a", b"c"]


def test_under_the_cursor_whatever_the_descriptor_says(application: Application) -> None:
    three(application)
    opened = application.open("Q1")
    application.get(opened, NEXT)
    assert application.get(opened, HERE, MsgId=b"Z" * 24)[1] == b"a"
    assert application.get(opened, TAKE, MsgId=b"Z" * 24)[1] == b"a"


def test_cursor_stays_where_the_buffer_was_too_small(application: Application) -> None:
    application.put("Q1", b"short")
    application.put("Q1", b"y" * 10_000)
    opened = application.open("Q1")
    application.get(opened, NEXT)
    with refused(CMQC.MQRC_TRUNCATED_MSG_FAILED):
        opened.get(10, pymqi.MD(), pymqi.GMO(Options=NEXT))
    assert application.get(opened, HERE)[1] == b"short"
    assert len(application.get(opened, NEXT)[1]) == 10_000


def test_cursor_moves_where_truncation_was_accepted(application: Application) -> None:
    three(application)
    opened = application.open("Q1")
    with refused(CMQC.MQRC_TRUNCATED_MSG_ACCEPTED):
        opened.get(0, pymqi.MD(), pymqi.GMO(Options=NEXT | CMQC.MQGMO_ACCEPT_TRUNCATED_MSG))
    assert application.get(opened, NEXT)[1] == b"b"


def test_browse_by_correlation(application: Application) -> None:
    for number in range(6):
        application.put("Q1", b"%d" % number, CorrelId=b"even odd"[number % 2 * 5 :][:4].strip().ljust(24))
    opened = application.open("Q1")
    odd = {"CorrelId": b"odd".ljust(24)}
    assert [application.get(opened, NEXT, **odd)[1] for _ in range(3)] == [b"1", b"3", b"5"]


def test_a_message_put_behind_the_cursor_is_missed_until_first(application: Application) -> None:
    application.put("Q1", b"low", Priority=1)
    opened = application.open("Q1")
    application.get(opened, NEXT)
    application.put("Q1", b"high", Priority=9)
    with refused(CMQC.MQRC_NO_MSG_AVAILABLE):
        application.get(opened, NEXT)
    assert application.get(opened, FIRST)[1] == b"high"


def test_locked_message_is_seen_by_its_handle_only(application: Application) -> None:
    three(application)
    opened = application.open("Q1")
    assert application.get(opened, FIRST | LOCK)[1] == b"a"
    other = Application()
    assert other.bodies("Q1") == [b"b", b"c"]
    assert other.get("Q1")[1] == b"b"
    assert application.get(opened, HERE)[1] == b"a"
    assert application.get(opened, TAKE)[1] == b"a"
    other.manager.disconnect()


def test_unlock_and_its_other_ways(application: Application) -> None:
    three(application)
    opened = application.open("Q1")
    application.get(opened, FIRST | LOCK)
    application.get(opened, UNLOCK)
    assert application.bodies("Q1") == [b"a", b"b", b"c"]
    application.get(opened, FIRST | LOCK)
    application.get(opened, NEXT)  # the next browse releases it
    assert application.bodies("Q1") == [b"a", b"b", b"c"]
    application.get(opened, FIRST | LOCK)
    opened.close()
    assert application.bodies("Q1") == [b"a", b"b", b"c"]


def test_a_browse_that_is_inhibited_leaves_cursor_and_lock_as_they_were(application: Application) -> None:
    three(application)
    opened, other = application.open("Q1"), Application()
    application.get(opened, FIRST | LOCK)
    run_mqsc("ALTER QLOCAL(Q1) GET(DISABLED)")
    for options in (FIRST, NEXT, HERE):
        with refused(CMQC.MQRC_GET_INHIBITED):
            application.get(opened, options)
    run_mqsc("ALTER QLOCAL(Q1) GET(ENABLED)")
    assert other.bodies("Q1") == [b"b", b"c"]
    assert application.get(opened, HERE)[1] == b"a"
    assert application.get(opened, NEXT)[1] == b"b"
    run_mqsc("ALTER QLOCAL(Q1) GET(DISABLED)")
    for options in (FIRST, NEXT, HERE):
        with refused(CMQC.MQRC_GET_INHIBITED):
            application.get(opened, options)
    other.manager.disconnect()


def test_disconnect_releases_locks(application: Application) -> None:
    three(application)
    other = Application()
    opened = other.open("Q1")
    other.get(opened, FIRST | LOCK)
    assert application.bodies("Q1") == [b"b", b"c"]
    other.manager.disconnect()
    assert application.bodies("Q1") == [b"a", b"b", b"c"]


def test_uncommitted_messages_are_not_browsed(application: Application) -> None:
    three(application)
    other = Application()
    other.get(other.open("Q1"), CMQC.MQGMO_SYNCPOINT)
    other.put("Q1", b"d", options=CMQC.MQPMO_SYNCPOINT)
    assert application.bodies("Q1") == [b"b", b"c"]
    other.manager.backout()
    assert application.bodies("Q1") == [b"a", b"b", b"c"]
    other.manager.disconnect()
