"""Browsing with marks: each message once for a handle, or once for all handles that cooperate.

IBM MQ: "Avoiding repeated delivery of browsed messages", "MQGMO options", "MsgMarkBrowseInterval", "MsgToken".
"""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pymqi
import pytest
from mqlite_support import BROWSE, INPUT, OUTPUT, Application, refused, run_mqsc, until
from pymqi import CMQC, CMQCFC
from sharing_support import Group, group

from mqlite.calls import marks

__all__ = ["group"]
COOPERATING = BROWSE | CMQC.MQOO_CO_OP
BOTH = BROWSE | INPUT
FIRST, NEXT, HERE = CMQC.MQGMO_BROWSE_FIRST, CMQC.MQGMO_BROWSE_NEXT, CMQC.MQGMO_BROWSE_MSG_UNDER_CURSOR
UNMARKED = CMQC.MQGMO_UNMARKED_BROWSE_MSG
MARK_HANDLE, MARK_CO_OP = CMQC.MQGMO_MARK_BROWSE_HANDLE, CMQC.MQGMO_MARK_BROWSE_CO_OP
UNMARK_HANDLE, UNMARK_CO_OP = CMQC.MQGMO_UNMARK_BROWSE_HANDLE, CMQC.MQGMO_UNMARK_BROWSE_CO_OP
ONCE, ONCE_FOR_ALL = CMQC.MQGMO_BROWSE_HANDLE, CMQC.MQGMO_BROWSE_CO_OP
TAKE = CMQC.MQGMO_NO_SYNCPOINT
NONE_LEFT = CMQC.MQRC_NO_MSG_AVAILABLE
BROWSER = """
import json, sys
import pymqi
from pymqi import CMQC
manager = pymqi.connect("QM1")
queue = pymqi.Queue(manager, "Q1", CMQC.MQOO_BROWSE | CMQC.MQOO_CO_OP)
def browse():
    return queue.get(None, pymqi.MD(), pymqi.GMO(Options=CMQC.MQGMO_BROWSE_CO_OP)).decode()
def told(word):
    print(word, flush=True)
    return sys.stdin.readline()
"""


@pytest.fixture
def other(application: Application) -> Iterator[Application]:
    """A second connection. No mark ends by itself while MARKINT is NOLIMIT."""
    run_mqsc("ALTER QMGR MARKINT(NOLIMIT)")
    made = Application()
    yield made
    made.manager.disconnect()


def three(application: Application) -> None:
    for body in (b"a", b"b", b"c"):
        application.put("Q1", body)


def rest(application: Application, opened: Any, options: int) -> list[bytes]:
    """What an open queue gives until it says that there is no more."""
    found = []
    with refused(NONE_LEFT):
        while True:
            found.append(application.get(opened, options)[1])
    return found


@contextmanager
def browser(program: str) -> Iterator[subprocess.Popen[str]]:
    """A program with a cooperating handle, which is killed at the end."""
    process = subprocess.Popen(
        [sys.executable, "-c", BROWSER + program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def word(process: subprocess.Popen[str]) -> str:
    """The next line that a program says."""
    assert process.stdout is not None
    return process.stdout.readline().strip()


# Each message once


def test_a_handle_gets_each_message_once_from_the_first(application: Application) -> None:
    three(application)
    opened, another = application.open("Q1", BROWSE), application.open("Q1", BROWSE)
    assert [application.get(opened, ONCE)[1] for _ in range(2)] == [b"a", b"b"]
    application.put("Q1", b"urgent", Priority=9)  # behind the cursor: BROWSE_NEXT would miss it
    assert rest(application, opened, ONCE) == [b"urgent", b"c"]
    assert rest(application, another, ONCE) == [b"urgent", b"a", b"b", b"c"]
    assert application.depth("Q1") == 4


def test_cooperating_handles_get_each_message_once_together(application: Application, other: Application) -> None:
    run_mqsc("DEFINE QALIAS(A1) TARGET(Q1)")
    three(application)
    handles = [(who, who.open(name, COOPERATING)) for who in (application, other) for name in ("Q1", "A1")]
    assert [who.get(opened, ONCE_FOR_ALL)[1] for who, opened in handles[:3]] == [b"a", b"b", b"c"]
    for who, opened in handles:
        with refused(NONE_LEFT):
            who.get(opened, ONCE_FOR_ALL)
        with refused(NONE_LEFT):
            who.get(opened, FIRST | UNMARKED)
    assert application.bodies("Q1") == [b"a", b"b", b"c"]  # who does not ask for unmarked ones sees all


def test_a_handle_that_does_not_cooperate_takes_no_notice(application: Application, other: Application) -> None:
    three(application)
    rest(application, application.open("Q1", COOPERATING), ONCE_FOR_ALL)
    assert rest(other, other.open("Q1", BROWSE), NEXT | UNMARKED) == [b"a", b"b", b"c"]


def test_browse_next_marks_as_well(application: Application, other: Application) -> None:
    three(application)
    one, two = application.open("Q1", COOPERATING), other.open("Q1", COOPERATING)
    options = NEXT | UNMARKED | MARK_CO_OP
    assert [application.get(one, options)[1], other.get(two, options)[1]] == [b"a", b"b"]
    assert (rest(application, one, options), rest(other, two, options)) == ([b"c"], [])


def test_programs_that_browse_at_once_get_each_message_once(application: Application, other: Application) -> None:
    wanted = [f"{number:03}" for number in range(150)]
    for body in wanted:
        application.put("Q1", body.encode())
    keeper = other.open("Q1", COOPERATING)  # else the marks end with the last of the programs
    program = """
told("open")
found = []
try:
    while True:
        found.append(browse())
except pymqi.MQMIError as error:
    assert error.reason == CMQC.MQRC_NO_MSG_AVAILABLE
told(json.dumps(found))
"""
    with browser(program) as first, browser(program) as second, browser(program) as third:
        programs = (first, second, third)
        assert [word(process) for process in programs] == ["open"] * 3
        for process in programs:
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
        found = [json.loads(word(process)) for process in programs]
    assert sorted(body for part in found for body in part) == wanted
    assert all(part == sorted(part) for part in found)
    with refused(NONE_LEFT):
        other.get(keeper, ONCE_FOR_ALL)


def test_members_of_a_queue_sharing_group_cooperate(group: Group) -> None:
    three(group["QM1"])
    handles = {name: group[name].open("Q1", COOPERATING) for name in ("QM1", "QM2", "QM3")}
    assert [group[name].get(opened, ONCE_FOR_ALL)[1] for name, opened in handles.items()] == [b"a", b"b", b"c"]
    with refused(NONE_LEFT):
        group["QM1"].get(handles["QM1"], ONCE_FOR_ALL)
    for opened in handles.values():
        opened.close()
    assert group["QM2"].get(group["QM2"].open("Q1", COOPERATING), ONCE_FOR_ALL)[1] == b"a"


# What is marked already


def test_marking_what_is_marked_fails_and_the_cursor_stays(application: Application, other: Application) -> None:
    three(application)
    one, two = application.open("Q1", COOPERATING), other.open("Q1", COOPERATING)
    other.get(two, ONCE_FOR_ALL)
    other.get(two, ONCE_FOR_ALL)
    assert application.get(one, NEXT)[1] == b"a"
    for options in (NEXT | MARK_CO_OP, HERE | MARK_CO_OP | MARK_HANDLE):
        with refused(CMQC.MQRC_MSG_MARKED_BROWSE_CO_OP):
            application.get(one, options)
    assert application.get(one, HERE)[1] == b"a"
    assert application.get(one, NEXT | UNMARKED | MARK_CO_OP)[1] == b"c"
    assert rest(other, two, FIRST | UNMARKED | MARK_HANDLE) == []


def test_marked_message_under_the_cursor(application: Application, other: Application) -> None:
    three(application)
    one, two = application.open("Q1", COOPERATING), other.open("Q1", COOPERATING)
    application.get(one, NEXT)
    assert application.get(one, HERE | UNMARKED)[1] == b"a"
    other.get(two, ONCE_FOR_ALL)
    with refused(CMQC.MQRC_NO_MSG_UNDER_CURSOR):
        application.get(one, HERE | UNMARKED)
    assert application.get(one, HERE)[1] == b"a"
    other.get(two, HERE | UNMARK_CO_OP)
    assert application.get(one, HERE | UNMARKED | MARK_CO_OP)[1] == b"a"
    assert other.get(two, ONCE_FOR_ALL)[1] == b"b"


def test_message_too_long_for_the_buffer_is_not_marked(application: Application) -> None:
    application.put("Q1", b"0123456789")
    opened = application.open("Q1", COOPERATING)
    with refused(CMQC.MQRC_TRUNCATED_MSG_FAILED):
        opened.get(4, pymqi.MD(), pymqi.GMO(Options=ONCE_FOR_ALL))
    with refused(CMQC.MQRC_TRUNCATED_MSG_ACCEPTED):
        opened.get(4, pymqi.MD(), pymqi.GMO(Options=ONCE_FOR_ALL | CMQC.MQGMO_ACCEPT_TRUNCATED_MSG))
    with refused(CMQC.MQRC_TRUNCATED_MSG_FAILED):
        opened.get(4, pymqi.MD(), pymqi.GMO(Options=HERE | UNMARK_CO_OP))
    with refused(NONE_LEFT):
        application.get(opened, ONCE_FOR_ALL)


# How marks end


def test_unmark_for_the_cooperating_handles(application: Application, other: Application) -> None:
    three(application)
    one, two = application.open("Q1", COOPERATING), other.open("Q1", COOPERATING)
    assert application.get(one, ONCE_FOR_ALL | MARK_HANDLE)[1] == b"a"
    assert application.get(one, HERE | UNMARK_CO_OP)[1] == b"a"
    assert application.get(one, HERE | UNMARK_CO_OP)[1] == b"a"  # it is no error that there is no mark
    assert rest(application, one, NEXT | UNMARKED) == [b"b", b"c"]
    assert application.get(one, FIRST | UNMARKED)[1] == b"b"  # the mark of the handle is still there
    assert other.get(two, ONCE_FOR_ALL)[1] == b"a"


def test_unmark_for_the_handle(application: Application, other: Application) -> None:
    three(application)
    one, two = application.open("Q1", COOPERATING), other.open("Q1", COOPERATING)
    application.get(one, ONCE)
    other.get(two, ONCE)
    assert application.get(one, FIRST | UNMARK_HANDLE)[1] == b"a"
    assert application.get(one, FIRST | UNMARK_HANDLE)[1] == b"a"
    assert application.get(one, ONCE)[1] == b"a"
    assert other.get(two, ONCE)[1] == b"b"  # the marks of others stay


def test_marks_of_a_handle_end_as_it_is_closed(application: Application) -> None:
    three(application)
    opened = application.open("Q1", BROWSE)
    assert rest(application, opened, ONCE) == [b"a", b"b", b"c"]
    opened.close()
    assert rest(application, application.open("Q1", BROWSE), ONCE) == [b"a", b"b", b"c"]


@pytest.mark.parametrize("leave", [lambda who, opened: opened.close(), lambda who, opened: who.manager.disconnect()])
def test_cooperating_marks_end_with_the_last_handle(
    application: Application, other: Application, leave: Callable[[Application, Any], None]
) -> None:
    three(application)
    leaving = Application()
    one, last = application.open("Q1", COOPERATING), leaving.open("Q1", COOPERATING)
    bystander = application.open("Q1", BOTH)  # which does not cooperate
    assert rest(application, one, ONCE_FOR_ALL) == [b"a", b"b", b"c"]
    one.close()
    with refused(NONE_LEFT):
        leaving.get(last, ONCE_FOR_ALL)
    leave(leaving, last)
    assert rest(other, other.open("Q1", COOPERATING), ONCE_FOR_ALL) == [b"a", b"b", b"c"]
    bystander.close()


def test_marks_of_a_killed_program_end_with_it(application: Application, other: Application) -> None:
    three(application)
    with browser("told(browse())") as process:
        assert word(process) == "a"
        process.send_signal(signal.SIGKILL)
        process.wait()
        opened = other.open("Q1", COOPERATING)
        assert rest(other, opened, ONCE_FOR_ALL) == [b"a", b"b", b"c"]


def test_marks_of_a_killed_program_stay_while_others_cooperate(application: Application, other: Application) -> None:
    three(application)
    opened = other.open("Q1", COOPERATING)
    with browser("told(browse())") as process:
        assert word(process) == "a"
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert rest(other, opened, ONCE_FOR_ALL) == [b"b", b"c"]
        run_mqsc("ALTER QMGR MARKINT(0)")
        assert other.get(opened, ONCE_FOR_ALL)[1] == b"a"


def test_marks_end_after_MARKINT(application: Application, other: Application) -> None:
    three(application)
    opened = application.open("Q1", COOPERATING)
    alone = other.open("Q1", BROWSE)
    assert rest(application, opened, ONCE_FOR_ALL) == [b"a", b"b", b"c"]
    assert rest(other, alone, ONCE) == [b"a", b"b", b"c"]
    run_mqsc("ALTER QMGR MARKINT(999999999)")
    with refused(NONE_LEFT):
        application.get(opened, ONCE_FOR_ALL)
    run_mqsc("ALTER QMGR MARKINT(0)")
    assert application.get(opened, FIRST | UNMARKED)[1] == b"a"
    run_mqsc("ALTER QMGR MARKINT(NOLIMIT)")
    with refused(NONE_LEFT):
        application.get(opened, FIRST | UNMARKED)
    with refused(NONE_LEFT):  # MARKINT has no effect on the mark of a handle
        other.get(alone, ONCE)


def test_mark_that_ended_is_set_anew(application: Application, other: Application, home: Path) -> None:
    application.put("Q1", b"a")
    one, two = application.open("Q1", COOPERATING), other.open("Q1", COOPERATING)
    application.get(one, FIRST | MARK_CO_OP)
    first = since(home)
    until(lambda: time.time() * 1000 > first + 1)
    run_mqsc("ALTER QMGR MARKINT(0)")
    assert other.get(two, FIRST | MARK_CO_OP)[1] == b"a"
    assert since(home) > first
    run_mqsc("ALTER QMGR MARKINT(NOLIMIT)")
    with refused(CMQC.MQRC_MSG_MARKED_BROWSE_CO_OP):
        application.get(one, FIRST | MARK_CO_OP)


def since(home: Path) -> int:
    """When the only mark was made, in milliseconds since 1970."""
    with closing(sqlite3.connect(home / "QM1" / "qm.db")) as store:
        ((found,),) = store.execute("SELECT since FROM mark").fetchall()
    return int(found)


def test_message_that_is_got_before_it_is_marked_is_not_browsed(
    application: Application, other: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    application.put("Q1", b"a")
    opened = application.open("Q1", COOPERATING)
    change = marks.change

    def got_meanwhile(*arguments: Any) -> bool:
        thread = threading.Thread(target=lambda: other.get("Q1", CMQC.MQGMO_SYNCPOINT))
        thread.start()
        thread.join()
        return change(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(marks, "change", got_meanwhile)
        with refused(NONE_LEFT):
            application.get(opened, ONCE_FOR_ALL)
    other.manager.backout()
    assert rest(application, opened, ONCE_FOR_ALL) == [b"a"]


def test_waiting_browse_gets_a_message_whose_mark_ends(application: Application) -> None:
    run_mqsc("ALTER QMGR MARKINT(300)")
    application.put("Q1", b"a")
    opened = application.open("Q1", COOPERATING)
    application.get(opened, ONCE_FOR_ALL)
    gmo = pymqi.GMO(Options=ONCE_FOR_ALL | CMQC.MQGMO_WAIT, WaitInterval=120_000)
    assert opened.get(None, pymqi.MD(), gmo) == b"a"


@pytest.mark.parametrize("open_options", [COOPERATING, BROWSE])
def test_get_that_is_backed_out_ends_the_marks(application: Application, other: Application, open_options: int) -> None:
    three(application)
    opened = application.open("Q1", open_options)
    options = ONCE_FOR_ALL if open_options == COOPERATING else ONCE
    assert rest(application, opened, options) == [b"a", b"b", b"c"]
    other.get("Q1", CMQC.MQGMO_SYNCPOINT)
    with refused(NONE_LEFT):
        application.get(opened, options)
    other.manager.backout()
    assert rest(application, opened, options) == [b"a"]


def test_get_of_a_killed_program_ends_the_marks(application: Application, other: Application) -> None:
    three(application)
    opened = other.open("Q1", COOPERATING)
    assert rest(other, opened, ONCE_FOR_ALL) == [b"a", b"b", b"c"]
    program = """
pymqi.Queue(manager, "Q1", CMQC.MQOO_INPUT_SHARED).get(None, pymqi.MD(), pymqi.GMO(Options=CMQC.MQGMO_SYNCPOINT))
told("got")
"""
    with browser(program) as process:
        assert word(process) == "got"
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert rest(other, opened, ONCE_FOR_ALL) == [b"a"]


def test_get_with_too_small_a_buffer_leaves_the_mark(application: Application, other: Application) -> None:
    three(application)
    opened = application.open("Q1", COOPERATING)
    assert rest(application, opened, ONCE_FOR_ALL) == [b"a", b"b", b"c"]
    with refused(CMQC.MQRC_TRUNCATED_MSG_FAILED):
        other.open("Q1", INPUT).get(0, pymqi.MD(), pymqi.GMO(Options=TAKE))
    with refused(NONE_LEFT):
        application.get(opened, ONCE_FOR_ALL)


def test_nothing_is_kept_of_messages_and_handles_that_are_gone(application: Application, home: Path) -> None:
    three(application)
    opened, alone = application.open("Q1", COOPERATING), application.open("Q1", BROWSE)

    def marked() -> int:
        with closing(sqlite3.connect(home / "QM1" / "qm.db")) as store:
            return int(store.execute("SELECT COUNT(*) FROM mark").fetchone()[0])

    assert (len(rest(application, opened, ONCE_FOR_ALL)), len(rest(application, alone, ONCE)), marked()) == (3, 3, 6)
    application.get("Q1", TAKE)
    assert marked() == 4
    alone.close()
    assert marked() == 2
    opened.close()
    assert marked() == 0


# A dispatcher and its consumers


def test_dispatcher_hands_tokens_to_a_consumer(application: Application, other: Application) -> None:
    three(application)
    opened, consumer = application.open("Q1", COOPERATING), other.open("Q1", INPUT)
    tokens = []
    for _ in range(3):
        gmo = pymqi.GMO(Version=CMQC.MQGMO_VERSION_3, Options=ONCE_FOR_ALL)
        opened.get(None, pymqi.MD(), gmo)
        tokens.append(gmo.MsgToken)
    by_token = {"Version": CMQC.MQGMO_VERSION_3, "MatchOptions": CMQC.MQMO_MATCH_MSG_TOKEN}
    gmo = pymqi.GMO(Options=CMQC.MQGMO_SYNCPOINT, MsgToken=tokens[1], **by_token)
    assert consumer.get(None, pymqi.MD(), gmo) == b"b"
    other.manager.backout()
    gmo = pymqi.GMO(Options=ONCE_FOR_ALL, Version=CMQC.MQGMO_VERSION_3)
    assert opened.get(None, pymqi.MD(), gmo) == b"b"  # to be handed out again
    assert gmo.MsgToken == tokens[1]
    gmo = pymqi.GMO(Options=FIRST | UNMARK_CO_OP, MsgToken=tokens[2], **by_token)
    assert opened.get(None, pymqi.MD(), gmo) == b"c"
    assert rest(application, opened, ONCE_FOR_ALL) == [b"c"]


def test_get_of_the_message_under_the_cursor_that_was_marked(application: Application) -> None:
    three(application)
    opened = application.open("Q1", COOPERATING | INPUT)
    application.get(opened, ONCE_FOR_ALL)
    assert application.get(opened, CMQC.MQGMO_MSG_UNDER_CURSOR | TAKE)[1] == b"a"
    with refused(CMQC.MQRC_NO_MSG_UNDER_CURSOR):
        application.get(opened, HERE | UNMARK_CO_OP)
    assert application.bodies("Q1") == [b"b", b"c"]


def test_match_of_a_token_looks_beyond_the_cursor(application: Application) -> None:
    three(application)
    opened = application.open("Q1", BOTH)
    gmo = pymqi.GMO(Version=CMQC.MQGMO_VERSION_3, Options=NEXT)
    opened.get(None, pymqi.MD(), gmo)
    by_token = {"Version": CMQC.MQGMO_VERSION_3, "MatchOptions": CMQC.MQMO_MATCH_MSG_TOKEN, "MsgToken": gmo.MsgToken}
    application.get(opened, NEXT)
    with refused(NONE_LEFT):
        opened.get(None, pymqi.MD(), pymqi.GMO(Options=NEXT, **by_token))
    for options in (HERE, HERE | CMQC.MQGMO_WAIT):  # which ignore the token
        assert opened.get(None, pymqi.MD(), pymqi.GMO(Options=options, **by_token)) == b"b"
    assert opened.get(None, pymqi.MD(), pymqi.GMO(Options=FIRST, **by_token)) == b"a"
    for options in (FIRST, TAKE):
        with refused(CMQC.MQRC_MSG_TOKEN_ERROR):
            opened.get(None, pymqi.MD(), pymqi.GMO(Options=options | CMQC.MQGMO_WAIT, **by_token))
    with refused(CMQC.MQRC_WRONG_GMO_VERSION):
        version_2 = by_token | {"Version": CMQC.MQGMO_VERSION_2}
        opened.get(None, pymqi.MD(), pymqi.GMO(Options=FIRST, **version_2))


# What is refused


def test_open_options(application: Application) -> None:
    run_mqsc("DEFINE QLOCAL(QM2) USAGE(XMITQ)\nDEFINE QREMOTE(R1) RNAME(Q1) RQMNAME(QM2) XMITQ(QM2)")
    for options in (CMQC.MQOO_CO_OP, CMQC.MQOO_CO_OP | INPUT, CMQC.MQOO_CO_OP | OUTPUT):
        with refused(CMQC.MQRC_OPTIONS_ERROR):
            application.open("Q1", options)
    with refused(CMQC.MQRC_OPTION_NOT_VALID_FOR_TYPE):
        application.open("R1", COOPERATING)
    with refused(CMQC.MQRC_OPTION_NOT_VALID_FOR_TYPE):
        application.open("QM1", COOPERATING, ObjectType=CMQC.MQOT_Q_MGR)


@pytest.mark.parametrize(
    "options",
    [
        *(option for option in (MARK_HANDLE, MARK_CO_OP, UNMARK_HANDLE, UNMARK_CO_OP, UNMARKED)),  # no browse
        *(option | CMQC.MQGMO_MSG_UNDER_CURSOR for option in (MARK_CO_OP, UNMARK_CO_OP, UNMARKED)),
        *(
            FIRST | option | other
            for option in (MARK_HANDLE, MARK_CO_OP, UNMARK_HANDLE, UNMARK_CO_OP, UNMARKED)
            for other in (CMQC.MQGMO_LOCK, CMQC.MQGMO_UNLOCK, CMQC.MQGMO_LOGICAL_ORDER)
        ),
        *(FIRST | option | UNMARKED for option in (UNMARK_HANDLE, UNMARK_CO_OP)),
        *(FIRST | option | MARK_CO_OP for option in (UNMARK_HANDLE, UNMARK_CO_OP)),
        FIRST | MARK_HANDLE | UNMARK_HANDLE,
        FIRST | NEXT | MARK_CO_OP,
        FIRST | MARK_CO_OP | CMQC.MQGMO_SYNCPOINT,
    ],
)
def test_options_that_do_not_go_together(application: Application, options: int) -> None:
    three(application)
    opened = application.open("Q1", COOPERATING | INPUT)
    with refused(CMQC.MQRC_OPTIONS_ERROR):
        application.get(opened, options)
    assert rest(application, opened, ONCE_FOR_ALL) == [b"a", b"b", b"c"]


def test_handles_that_cannot_do_it(application: Application) -> None:
    three(application)
    for options in (ONCE_FOR_ALL, FIRST | UNMARK_CO_OP):
        with refused(CMQC.MQRC_OPTIONS_ERROR):
            application.get(application.open("Q1", BOTH), options)
    for options in (ONCE, ONCE_FOR_ALL, FIRST | UNMARKED, FIRST | UNMARK_HANDLE):
        with refused(CMQC.MQRC_NOT_OPEN_FOR_BROWSE):
            application.get(application.open("Q1", INPUT), options)


# MARKINT


def test_MARKINT_by_MQSC_MQINQ_and_PCF(application: Application) -> None:
    selector = CMQC.MQIA_MSG_MARK_BROWSE_INTERVAL
    opened = pymqi.PCFExecute(application.manager)

    def shown() -> tuple[str, int, int]:
        lines = " ".join(run_mqsc("DISPLAY QMGR MARKINT"))
        (row,) = opened.MQCMD_INQUIRE_Q_MGR({CMQCFC.MQIACF_Q_MGR_ATTRS: [selector]})
        text = next(part for part in lines.split() if part.startswith("MARKINT("))
        return text, row[selector], application.manager.inquire(selector)

    assert shown() == ("MARKINT(5000)", 5000, 5000)
    run_mqsc("ALTER QMGR MARKINT(NOLIMIT)")
    assert shown() == ("MARKINT(NOLIMIT)", -1, -1)
    opened.MQCMD_CHANGE_Q_MGR({selector: 999_999_999})
    assert shown() == ("MARKINT(999999999)", 999_999_999, 999_999_999)
    for wrong in (-2, 1_000_000_000):
        with refused(CMQCFC.MQRCCF_ATTR_VALUE_ERROR):
            opened.MQCMD_CHANGE_Q_MGR({selector: wrong})
    assert shown() == ("MARKINT(999999999)", 999_999_999, 999_999_999)
