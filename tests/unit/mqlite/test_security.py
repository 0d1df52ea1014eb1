"""Passwords that CONNAUTH's AUTHINFO wants, of programs that connect by MQCONN and by MQCONNX."""

from __future__ import annotations

import getpass

import pymqi
import pytest
from click.testing import CliRunner
from mqlite_support import PASSWORD, Clerk, add_user, make, refused, run_mqsc
from pymqi import CMQC

from mqlite.cli import main

OWNER = getpass.getuser()[:12]


def check_local(how: str) -> None:
    """Set CHCKLOCL."""
    run_mqsc(f"ALTER AUTHINFO(SYSTEM.DEFAULT.AUTHINFO.IDPWOS) AUTHTYPE(IDPWOS) CHCKLOCL({how})")


@pytest.mark.parametrize("how", ["REQUIRED", "REQDADM"])
@pytest.mark.parametrize("name", ["QM1", ""])
def test_MQCONN_has_no_password(home: object, how: str, name: str) -> None:
    make("QM1")
    check_local(how)
    with refused(CMQC.MQRC_NOT_AUTHORIZED):
        pymqi.QueueManager(None).connect(name)
    with refused(CMQC.MQRC_NOT_AUTHORIZED):
        pymqi.connect("QM1")
    with refused(CMQC.MQRC_NOT_AUTHORIZED):  # MQCONNX without one
        pymqi.QueueManager(None).connect_with_options(name)
    add_user(OWNER)
    Clerk(OWNER.encode()).manager.disconnect()


def test_a_password_that_is_no_utf8_is_a_wrong_one(home: object) -> None:
    make("QM1")
    add_user(OWNER)
    with refused(CMQC.MQRC_NOT_AUTHORIZED):
        pymqi.QueueManager(None).connect_with_options("QM1", user=OWNER.encode(), password=b"\xff")


@pytest.mark.parametrize("how", ["NONE", "OPTIONAL"])
def test_MQCONN_runs_as_the_process_where_it_needs_no_password(home: object, how: str) -> None:
    make("QM1", "DEFINE QLOCAL(Q1)")
    check_local(how)
    manager = pymqi.connect("QM1")
    md = pymqi.MD()
    manager.put1(b"Q1", b"x", md)
    assert md.UserIdentifier.strip().decode() == OWNER
    manager.disconnect()


@pytest.mark.parametrize("setting", ["ALTER QMGR CONNAUTH(' ')", ""])
def test_a_user_whose_password_nobody_checks_is_nobody(home: object, setting: str) -> None:
    make("QM1", f"DEFINE QLOCAL(Q1)\n{setting}")
    check_local("NONE")
    manager = pymqi.QueueManager(None)
    manager.connect_with_options("QM1", user=b"somebody", password=b"whatever")
    md = pymqi.MD()
    manager.put1(b"Q1", b"x", md)
    assert md.UserIdentifier.strip().decode() == OWNER
    manager.disconnect()


def test_MQCONN_without_CONNAUTH(home: object) -> None:
    make("QM1", "ALTER QMGR CONNAUTH(' ')")
    check_local("REQUIRED")
    pymqi.connect("QM1").disconnect()


def test_nobody_connects_while_CONNAUTH_names_what_is_not_there(home: object) -> None:
    make("QM1", "ALTER QMGR CONNAUTH(MISSPELT)\nDEFINE CHANNEL(APP) CHLTYPE(SVRCONN)")
    add_user(OWNER)
    with refused(CMQC.MQRC_NOT_AUTHORIZED):
        pymqi.connect("QM1")
    with refused(CMQC.MQRC_NOT_AUTHORIZED):
        Clerk(OWNER.encode())
    with refused(CMQC.MQRC_NOT_AUTHORIZED):
        pymqi.connect("QM1", "APP", "localhost(1414)")
    run_mqsc("ALTER QMGR CONNAUTH(SYSTEM.DEFAULT.AUTHINFO.IDPWOS)")  # the command works all the same
    pymqi.connect("QM1").disconnect()


def test_MQCONN_in_a_thread_that_is_connected_gives_its_connection(home: object) -> None:
    make("QM1")
    check_local("REQUIRED")
    add_user(OWNER)
    first = pymqi.QueueManager(None)
    first.connect_with_options("QM1", user=OWNER.encode(), password=PASSWORD)
    with refused(CMQC.MQRC_ALREADY_CONNECTED):
        pymqi.QueueManager(None).connect("QM1")
    first.disconnect()
    with refused(CMQC.MQRC_NOT_AUTHORIZED):
        pymqi.QueueManager(None).connect("QM1")


@pytest.mark.parametrize("how", ["REQUIRED", "REQDADM"])
def test_the_command_and_the_command_server_need_no_password(home: object, how: str) -> None:
    make("QM1", "DEFINE QLOCAL(Q1)")
    check_local(how)
    for arguments, said in (
        (("put", "QM1", "Q1", "text"), "1 put"), (("browse", "QM1", "Q1"), "text"), (("get", "QM1", "Q1"), "text"),
        (("mqsc", "QM1"), "CURDEPTH(0)"),
    ):  # fmt: skip
        done = CliRunner().invoke(main, list(arguments), input="DISPLAY QLOCAL(Q1) CURDEPTH\n", catch_exceptions=False)
        assert (done.exit_code, said in done.output) == (0, True), done.output
    add_user(OWNER)
    owner = Clerk(OWNER.encode())
    pcf = pymqi.PCFExecute(owner.manager)
    assert pcf.MQCMD_PING_Q_MGR() == [{}]
    pcf.disconnect()
    owner.manager.disconnect()
