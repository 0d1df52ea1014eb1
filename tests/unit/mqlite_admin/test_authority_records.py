"""SET, DELETE and DISPLAY AUTHREC by MQSC and PCF, and commands with the authority of their sender."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pymqi
import pytest
from mqlite_support import Application, allow, application, clerk, home, make, refused, run_mqsc
from pymqi import CMQC, CMQCFC

__all__ = ["application", "clerk", "home"]


@pytest.fixture
def commander(clerk: Application) -> Iterator[Any]:
    """clerk's PCFExecute, with what the sending of commands itself needs."""
    allow("SYSTEM.ADMIN.COMMAND.QUEUE", "PUT")
    allow("SYSTEM.DEFAULT.MODEL.QUEUE", "GET,DSP")
    pcf = pymqi.PCFExecute(clerk.manager)
    yield pcf
    pcf.disconnect()


def test_every_command_needs_DSP_on_the_queue_manager(commander: Any) -> None:
    with refused(CMQC.MQRC_NOT_AUTHORIZED):
        commander.MQCMD_PING_Q_MGR()
    allow("", "DSP", kind="QMGR")
    commander.MQCMD_PING_Q_MGR()


@pytest.mark.parametrize(
    ("command", "arguments", "need"),
    [
        ("INQUIRE_Q", {CMQC.MQCA_Q_NAME: b"Q1"}, ("Q1", "QUEUE", "DSP")),
        ("CHANGE_Q", {CMQC.MQCA_Q_NAME: b"Q1", CMQC.MQIA_Q_TYPE: 1, CMQC.MQIA_MAX_Q_DEPTH: 9}, ("Q1", "QUEUE", "CHG")),
        ("CLEAR_Q", {CMQC.MQCA_Q_NAME: b"Q1"}, ("Q1", "QUEUE", "CLR")),
        ("DELETE_Q", {CMQC.MQCA_Q_NAME: b"Q1"}, ("Q1", "QUEUE", "DLT")),
        ("INQUIRE_Q_STATUS", {CMQC.MQCA_Q_NAME: b"Q1"}, ("Q1", "QUEUE", "DSP")),
        ("RESET_Q_STATS", {CMQC.MQCA_Q_NAME: b"Q1"}, ("Q1", "QUEUE", "DSP,CHG")),
        ("STOP_CHANNEL", {CMQCFC.MQCACH_CHANNEL_NAME: b"TO.QM2"}, ("TO.QM2", "CHANNEL", "CTRL")),
        (
            "RESET_CHANNEL", {CMQCFC.MQCACH_CHANNEL_NAME: b"TO.QM2", CMQCFC.MQIACH_MSG_SEQUENCE_NUMBER: 2},
            ("TO.QM2", "CHANNEL", "CTRLX")
        ),
        ("CHANGE_Q_MGR", {CMQC.MQCA_Q_MGR_DESC: b"changed"}, ("", "QMGR", "CHG")),
        ("REFRESH_SECURITY", {}, ("", "QMGR", "CHG")),
    ],
)  # fmt: skip
def test_commands_need_the_senders_authority(
    commander: Any, command: str, arguments: dict[int, Any], need: tuple[str, str, str]
) -> None:
    run_mqsc("DEFINE QLOCAL(QM2) USAGE(XMITQ)\nDEFINE CHANNEL(TO.QM2) CHLTYPE(SDR) CONNAME(x) XMITQ(QM2)")
    allow("", "DSP", kind="QMGR")
    execute = getattr(commander, f"MQCMD_{command}")
    with refused(CMQC.MQRC_NOT_AUTHORIZED):
        execute(arguments)
    profile, kind, authority = need
    allow(profile, authority, kind=kind)
    execute(arguments)


def test_defining_needs_CRT_and_DSP_on_the_default(commander: Any) -> None:
    allow("", "DSP", kind="QMGR")
    new = {CMQC.MQCA_Q_NAME: b"NEW", CMQC.MQIA_Q_TYPE: CMQC.MQQT_LOCAL}
    for profile, kind, authority in (("@class", "QUEUE", "CRT"), ("SYSTEM.DEFAULT.LOCAL.QUEUE", "QUEUE", "DSP")):
        with refused(CMQC.MQRC_NOT_AUTHORIZED):
            commander.MQCMD_CREATE_Q(new)
        allow(profile, authority, kind=kind)
    commander.MQCMD_CREATE_Q(new)
    with refused(CMQC.MQRC_NOT_AUTHORIZED):  # to replace is to change
        commander.MQCMD_CREATE_Q({**new, CMQCFC.MQIACF_REPLACE: CMQCFC.MQRP_YES})


def test_an_inquiry_shows_what_may_be_displayed(commander: Any) -> None:
    run_mqsc("DEFINE QLOCAL(Q2)\nDEFINE QLOCAL(Q3)")
    allow("", "DSP", kind="QMGR")
    allow("Q2", "DSP")
    found = commander.MQCMD_INQUIRE_Q({CMQC.MQCA_Q_NAME: b"Q*"})
    assert [row[CMQC.MQCA_Q_NAME].strip() for row in found] == [b"Q2"]


def shown(command: str) -> str:
    """The output of a DISPLAY command, its words one blank apart."""
    return " ".join(" ".join(run_mqsc(command)).split())


def test_display(application: Application) -> None:
    allow("Q1", "PUT,GET")
    allow("Q*", "ALLADM")
    allow("", "CONNECT", kind="QMGR")
    allow("**", "NONE", entity="GROUP('staff')")
    one = "PROFILE(Q1) ENTITY(clerk) ENTTYPE(PRINCIPAL) OBJTYPE(QUEUE) AUTHLIST(GET,PUT)"
    generic = "PROFILE(Q*) ENTITY(clerk) ENTTYPE(PRINCIPAL) OBJTYPE(QUEUE) AUTHLIST(CHG,CLR,DLT,DSP)"
    group = "PROFILE(**) ENTITY(staff) ENTTYPE(GROUP) OBJTYPE(QUEUE) AUTHLIST(NONE)"
    manager = "PROFILE(QM1) ENTITY(clerk) ENTTYPE(PRINCIPAL) OBJTYPE(QMGR) AUTHLIST(CONNECT)"
    for command, expected in {
        "DISPLAY AUTHREC": {one, generic, group, manager},
        "DISPLAY AUTHREC OBJTYPE(QUEUE)": {one, generic, group},
        "DISPLAY AUTHREC PROFILE(Q1) OBJTYPE(QUEUE)": {one, generic, group},
        "DISPLAY AUTHREC PROFILE(Q1) OBJTYPE(QUEUE) MATCH(EXACT)": {one},
        "DISPLAY AUTHREC PRINCIPAL('clerk') OBJTYPE(QMGR) ALL": {manager},
        "DISPLAY AUTHREC GROUP('staff')": {group},
    }.items():
        output = shown(command)
        for record in (one, generic, group, manager):
            assert (record in output) is (record in expected), command


def test_records_by_PCF(application: Application) -> None:
    pcf = pymqi.PCFExecute(application.manager)
    profile = {CMQCFC.MQCACF_AUTH_PROFILE_NAME: b"ORDERS.**", CMQCFC.MQIACF_OBJECT_TYPE: CMQC.MQOT_Q}
    entities = pymqi.CFSL(Parameter=CMQCFC.MQCACF_PRINCIPAL_ENTITY_NAMES, Strings=[b"clerk", b"other"])
    named = [
        pymqi.CFST(Parameter=CMQCFC.MQCACF_AUTH_PROFILE_NAME, String=b"ORDERS.**"),
        pymqi.CFIN(Parameter=CMQCFC.MQIACF_OBJECT_TYPE, Value=CMQC.MQOT_Q),
    ]
    given = [CMQCFC.MQAUTH_OUTPUT, CMQCFC.MQAUTH_INQUIRE]
    pcf.MQCMD_SET_AUTH_REC([*named, entities, pymqi.CFIL(Parameter=CMQCFC.MQIACF_AUTH_ADD_AUTHS, Values=given)])
    found = pcf.MQCMD_INQUIRE_AUTH_RECS({**profile, CMQCFC.MQIACF_AUTH_OPTIONS: CMQCFC.MQAUTHOPT_NAME_EXPLICIT})
    assert [row[CMQCFC.MQCACF_ENTITY_NAME].strip(b" \0") for row in found] == [b"clerk", b"other"]
    assert all(sorted(row[CMQCFC.MQIACF_AUTHORIZATION_LIST]) == sorted(given) for row in found)
    gone = pymqi.CFSL(Parameter=CMQCFC.MQCACF_PRINCIPAL_ENTITY_NAMES, Strings=[b"other"])
    pcf.MQCMD_DELETE_AUTH_REC([*named, gone])
    assert len(pcf.MQCMD_INQUIRE_AUTH_RECS(profile)) == 1
    with refused(CMQC.MQRC_UNKNOWN_OBJECT_NAME):
        pcf.MQCMD_DELETE_AUTH_REC([*named, gone])
    pcf.disconnect()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({CMQCFC.MQIACF_AUTH_ADD_AUTHS: [CMQCFC.MQAUTH_CONNECT]}, CMQCFC.MQRCCF_AUTH_VALUE_ERROR),  # not of queues
        ({CMQCFC.MQIACF_AUTH_ADD_AUTHS: [99]}, CMQCFC.MQRCCF_AUTH_VALUE_ERROR),
        ({CMQCFC.MQIACF_AUTH_REMOVE_AUTHS: [CMQCFC.MQAUTH_OUTPUT]}, CMQCFC.MQRCCF_AUTH_VALUE_ERROR),  # added as well
        ({CMQCFC.MQIACF_AUTH_ADD_AUTHS: None}, CMQCFC.MQRCCF_AUTH_VALUE_MISSING),
        ({CMQCFC.MQCACF_PRINCIPAL_ENTITY_NAMES: None}, CMQCFC.MQRCCF_ENTITY_NAME_MISSING),
        ({CMQCFC.MQCACF_AUTH_PROFILE_NAME: None}, CMQCFC.MQRCCF_PROFILE_NAME_MISSING),
        ({CMQCFC.MQCACF_AUTH_PROFILE_NAME: b"A**"}, CMQCFC.MQRCCF_PROFILE_NAME_ERROR),
        ({CMQCFC.MQCACF_AUTH_PROFILE_NAME: b"**.A.**"}, CMQCFC.MQRCCF_PROFILE_NAME_ERROR),
        ({CMQCFC.MQIACF_OBJECT_TYPE: 77}, CMQCFC.MQRCCF_PARM_VALUE_ERROR),
    ],
)
def test_refused_records(application: Application, changes: dict[int, Any], reason: int) -> None:
    arguments = {
        CMQCFC.MQCACF_AUTH_PROFILE_NAME: b"Q1", CMQCFC.MQIACF_OBJECT_TYPE: CMQC.MQOT_Q,
        CMQCFC.MQCACF_PRINCIPAL_ENTITY_NAMES: [b"clerk"], CMQCFC.MQIACF_AUTH_ADD_AUTHS: [CMQCFC.MQAUTH_OUTPUT],
        **changes,
    }  # fmt: skip
    pcf = pymqi.PCFExecute(application.manager)
    with refused(reason):
        pcf.MQCMD_SET_AUTH_REC({key: value for key, value in arguments.items() if value is not None})
    pcf.disconnect()


def test_a_record_goes_with_its_object(application: Application) -> None:
    allow("Q1", "PUT")
    allow("Q*", "GET")
    run_mqsc("DELETE QLOCAL(Q1)")
    assert "PROFILE(Q1)" not in shown("DISPLAY AUTHREC")
    assert "PROFILE(Q*)" in shown("DISPLAY AUTHREC")


def test_a_zos_like_queue_manager_has_the_same_records(home: object) -> None:
    make("QM1", platform="zos")
    allow("Q1", "PUT")
    assert "PROFILE(Q1) ENTITY(clerk) ENTTYPE(PRINCIPAL) OBJTYPE(QUEUE) AUTHLIST(PUT)" in shown("DISPLAY AUTHREC")
    owner = Application()
    pcf = pymqi.PCFExecute(owner.manager)
    (found,) = pcf.MQCMD_INQUIRE_AUTH_RECS(
        {CMQCFC.MQCACF_AUTH_PROFILE_NAME: b"Q1", CMQCFC.MQIACF_OBJECT_TYPE: CMQC.MQOT_Q}
    )
    assert found[CMQCFC.MQIACF_AUTHORIZATION_LIST] == [CMQCFC.MQAUTH_OUTPUT]
    pcf.disconnect()
    owner.manager.disconnect()
    run_mqsc("DELETE AUTHREC PROFILE(Q1) OBJTYPE(QUEUE) PRINCIPAL('clerk')")


def send(application: Application, options: int = 0) -> None:
    """Send a command whose answer goes to the queue ANSWERS."""
    md = pymqi.MD(MsgType=CMQC.MQMT_REQUEST, ReplyToQ=b"ANSWERS", Format=CMQC.MQFMT_ADMIN)
    ping = pymqi.CFH(Command=CMQCFC.MQCMD_PING_Q_MGR).pack()
    pmo = pymqi.PMO(Options=CMQC.MQPMO_NO_SYNCPOINT | options)
    application.manager.put1(b"SYSTEM.ADMIN.COMMAND.QUEUE", ping, md, pmo)


def test_an_answer_goes_where_the_commands_user_may_put(clerk: Application) -> None:
    run_mqsc("DEFINE QLOCAL(ANSWERS)")
    allow("SYSTEM.ADMIN.COMMAND.QUEUE", "PUT")
    owner = Application()
    send(clerk)
    assert owner.depth("ANSWERS") == 0
    allow("ANSWERS", "PUT")
    send(clerk)
    assert owner.get("ANSWERS")[0].UserIdentifier.strip() == b"clerk"
    send(owner, CMQC.MQPMO_NO_CONTEXT)
    assert owner.depth("ANSWERS") == 0
    send(owner)
    assert owner.depth("ANSWERS") == 1
    owner.manager.disconnect()
