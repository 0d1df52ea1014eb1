"""What monitoring agents ask by PCF and what set-up tools define, as they send it, by pymqi's own PCFExecute."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pymqi
import pytest
from mqlite_support import Application, application, home, refused, run_mqsc
from pymqi import CMQC, CMQCFC, CMQXC

from mqwire import constants as c

__all__ = ["application", "home"]
CHANNEL = CMQCFC.MQCACH_CHANNEL_NAME
KIND = CMQCFC.MQIACF_CHLAUTH_TYPE
USERS = CMQCFC.MQCACH_MCA_USER_ID_LIST
LISTENER = CMQCFC.MQCACH_LISTENER_NAME


@pytest.fixture
def pcf(application: Application) -> Iterator[Any]:
    execute = pymqi.PCFExecute(application.manager)
    yield execute
    execute.disconnect()


def shown(command: str) -> str:
    """The output of a DISPLAY command, its words one blank apart."""
    return " ".join(" ".join(run_mqsc(command)).split())


def test_queue_status_takes_the_type_of_queue(pcf: Any) -> None:
    name = {CMQC.MQCA_Q_NAME: b"Q1", CMQCFC.MQIACF_Q_STATUS_ATTRS: CMQCFC.MQIACF_ALL}
    for kind in (CMQC.MQQT_LOCAL, CMQC.MQQT_ALL):
        (found,) = pcf.MQCMD_INQUIRE_Q_STATUS({**name, CMQC.MQIA_Q_TYPE: kind})
        assert found[CMQC.MQIA_CURRENT_Q_DEPTH] == 0
    with refused(CMQCFC.MQRCCF_PARM_VALUE_ERROR):
        pcf.MQCMD_INQUIRE_Q_STATUS({**name, CMQC.MQIA_Q_TYPE: 99})


def test_age_of_the_oldest_message_is_known_with_MONQ_only(pcf: Any) -> None:
    def age() -> int:
        asked = {CMQC.MQCA_Q_NAME: b"Q1", CMQCFC.MQIACF_Q_STATUS_ATTRS: [CMQCFC.MQIACF_OLDEST_MSG_AGE]}
        return int(pcf.MQCMD_INQUIRE_Q_STATUS(asked)[0][CMQCFC.MQIACF_OLDEST_MSG_AGE])

    assert age() == CMQC.MQMON_NOT_AVAILABLE == -1
    assert "MSGAGE( )" in shown("DISPLAY QSTATUS(Q1) MSGAGE")
    run_mqsc("ALTER QLOCAL(Q1) MONQ(LOW)")
    assert age() == 0
    assert "MSGAGE(0)" in shown("DISPLAY QSTATUS(Q1) MSGAGE")


def test_a_clients_channel_runs_with_its_name_and_user(pcf: Any) -> None:
    run_mqsc("DEFINE CHANNEL(APP) CHLTYPE(SVRCONN) MCAUSER('clerk')")
    run_mqsc("SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('clerk') AUTHADD(CONNECT)")
    with refused(CMQCFC.MQRCCF_CHL_STATUS_NOT_FOUND):
        pcf.MQCMD_INQUIRE_CHANNEL_STATUS({CHANNEL: b"APP"})
    client = pymqi.connect("QM1", "APP", "bank.example(1414)")
    try:
        (found,) = pcf.MQCMD_INQUIRE_CHANNEL_STATUS({CHANNEL: b"A*"})
        output = shown("DISPLAY CHSTATUS(APP) ALL")
    finally:
        client.disconnect()
    assert found[CMQCFC.MQIACH_CHANNEL_STATUS] == CMQCFC.MQCHS_RUNNING
    assert found[CMQCFC.MQIACH_CHANNEL_TYPE] == CMQXC.MQCHT_SVRCONN
    assert found[CMQCFC.MQCACH_CONNECTION_NAME].strip() == b"bank.example(1414)"
    assert found[CMQCFC.MQCACH_MCA_USER_ID].strip() == b"clerk"
    assert found[CMQCFC.MQCACH_CHANNEL_START_DATE].strip()
    for part in (
        "CHLTYPE(SVRCONN)",
        "STATUS(RUNNING)",
        "CONNAME(bank.example(1414))",
        "MCAUSER(clerk)",
        f"JOBNAME({os.getpid()})",
    ):
        assert part in output
    with refused(CMQCFC.MQRCCF_CHL_STATUS_NOT_FOUND):
        pcf.MQCMD_INQUIRE_CHANNEL_STATUS({CHANNEL: b"APP"})


def test_the_queue_manager_says_when_it_was_created(application: Application, pcf: Any) -> None:
    date, time = (application.manager.inquire(what) for what in (CMQC.MQCA_CREATION_DATE, CMQC.MQCA_CREATION_TIME))
    date, time = (part.decode() if isinstance(part, bytes) else part for part in (date, time))
    assert len(date.strip()) == len("2026-11-26")
    assert len(time.strip()) == len("04.25.27")
    (found,) = pcf.MQCMD_INQUIRE_Q_MGR()
    assert (found[CMQC.MQCA_CREATION_DATE].decode().strip(), found[CMQC.MQCA_CREATION_TIME].decode().strip()) == (
        date.strip(),
        time.strip(),
    )
    run_mqsc("ALTER QMGR DESCR('changed')")
    assert f"CRDATE({date.strip()}) CRTIME({time.strip()})" in shown("DISPLAY QMGR CRDATE CRTIME")


def test_a_listener_starts_and_stops(pcf: Any) -> None:
    run_mqsc("DEFINE LISTENER(L) TRPTYPE(TCP) PORT(1414)")
    with refused(CMQCFC.MQRCCF_LSTR_STATUS_NOT_FOUND):
        pcf.MQCMD_INQUIRE_LISTENER_STATUS({LISTENER: b"*"})
    with refused(CMQCFC.MQRCCF_LISTENER_STOPPED):
        pcf.MQCMD_STOP_CHANNEL_LISTENER({LISTENER: b"L"})
    pcf.MQCMD_START_CHANNEL_LISTENER({LISTENER: b"L"})
    with refused(CMQCFC.MQRCCF_LISTENER_RUNNING):
        pcf.MQCMD_START_CHANNEL_LISTENER({LISTENER: b"L"})
    pcf.MQCMD_START_CHANNEL_LISTENER({LISTENER: b"L", CMQCFC.MQIACF_IGNORE_STATE: CMQCFC.MQIS_YES})
    (found,) = pcf.MQCMD_INQUIRE_LISTENER_STATUS({LISTENER: b"*"})
    assert (found[CMQCFC.MQIACH_LISTENER_STATUS], found[CMQCFC.MQIACH_PORT]) == (c.MQSVC_STATUS_RUNNING, 1414)
    assert "LISTENER(L)" in shown("DISPLAY LSSTATUS(L)")
    assert "STATUS(RUNNING)" in shown("DISPLAY LSSTATUS(L) STATUS")
    with pytest.raises(AssertionError, match="AMQ8148E"):  # it runs
        run_mqsc("DELETE LISTENER(L)")
    run_mqsc("STOP LISTENER(L)\nSTOP LISTENER(L) IGNSTATE(YES)\nDELETE LISTENER(L)")
    run_mqsc("DEFINE CHANNEL(R) CHLTYPE(RCVR)\nSTOP CHANNEL(R) STATUS(INACTIVE) IGNSTATE(YES)")
    assert "AMQ8021I" in shown("START LISTENER")  # the default one
    with pytest.raises(AssertionError, match="AMQ8147E"):
        run_mqsc("START LISTENER(NONE)")


def test_channel_authentication_records_are_kept_and_shown(pcf: Any) -> None:
    run_mqsc(
        "SET CHLAUTH('*') TYPE(BLOCKUSER) USERLIST('*MQADMIN')\n"
        "SET CHLAUTH('APP.*') TYPE(ADDRESSMAP) ADDRESS('10.0.*') USERSRC(NOACCESS) DESCR('no one') ACTION(REPLACE)\n"
        "SET CHLAUTH('APP.1') TYPE(USERMAP) CLNTUSER('jim') USERSRC(MAP) MCAUSER('clerk') ACTION(ADD)"
    )
    one = "CHLAUTH(APP.1) TYPE(USERMAP)"
    assert one in shown("DISPLAY CHLAUTH(*)")
    assert f"{one} CLNTUSER(jim)" in shown("DISPLAY CHLAUTH(APP.1) TYPE(USERMAP) CLNTUSER")
    found = {row[CHANNEL].strip(): row for row in pcf.MQCMD_INQUIRE_CHLAUTH_RECS({CHANNEL: b"*"})}
    assert {name: row[KIND] for name, row in found.items()} == {
        b"*": CMQCFC.MQCAUT_BLOCKUSER,
        b"APP.*": CMQCFC.MQCAUT_ADDRESSMAP,
        b"APP.1": CMQCFC.MQCAUT_USERMAP,
    }
    assert [user.strip() for user in found[b"*"][USERS]] == [b"*MQADMIN"]
    assert found[b"APP.*"][CMQCFC.MQIACH_USER_SOURCE] == CMQC.MQUSRC_NOACCESS
    assert found[b"APP.1"][CMQCFC.MQCACH_MCA_USER_ID].strip() == b"clerk"
    all_of_app = pcf.MQCMD_INQUIRE_CHLAUTH_RECS({CHANNEL: b"APP.1", CMQCFC.MQIACH_MATCH: CMQCFC.MQMATCH_ALL})
    assert {row[CHANNEL].strip() for row in all_of_app} == {b"*", b"APP.*", b"APP.1"}


def test_channel_authentication_records_over_PCF(pcf: Any) -> None:
    block = {CHANNEL: b"X", KIND: CMQCFC.MQCAUT_BLOCKUSER}
    pcf.MQCMD_SET_CHLAUTH_REC({**block, USERS: [b"ann", b"bob"]})
    pcf.MQCMD_SET_CHLAUTH_REC({**block, USERS: [b"eve"], CMQCFC.MQIACF_ACTION: CMQCFC.MQACT_ADD})
    pcf.MQCMD_SET_CHLAUTH_REC({**block, USERS: [b"bob"], CMQCFC.MQIACF_ACTION: CMQCFC.MQACT_REMOVE})
    (found,) = pcf.MQCMD_INQUIRE_CHLAUTH_RECS({CHANNEL: b"X"})
    assert [user.strip() for user in found[USERS]] == [b"ann", b"eve"]
    pcf.MQCMD_SET_CHLAUTH_REC({**block, CMQCFC.MQIACF_ACTION: CMQCFC.MQACT_REMOVEALL})
    with refused(CMQCFC.MQRCCF_CHLAUTH_NOT_FOUND):
        pcf.MQCMD_INQUIRE_CHLAUTH_RECS({CHANNEL: b"X"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SET CHLAUTH('*')", "AMQ8421E"),  # no TYPE
        ("SET CHLAUTH('X') TYPE(BLOCKADDR) ADDRLIST('10.*')", "AMQ8424E"),  # of all channels only
        ("SET CHLAUTH('X') TYPE(BLOCKUSER)", "AMQ8421E"),  # no list
        ("SET CHLAUTH('X') TYPE(ADDRESSMAP) ADDRESS('*')", "AMQ8421E"),  # MAP needs MCAUSER
        ("SET CHLAUTH('X') TYPE(ADDRESSMAP) ADDRESS('*') USERSRC(NOACCESS) MCAUSER('a')", "AMQ8887E"),
        ("SET CHLAUTH('X') TYPE(BLOCKUSER) USERLIST('a') ADDRESS('*')", "AMQ8886E"),
        ("SET CHLAUTH('X') TYPE(BLOCKUSER) USERLIST('a') ACTION(REMOVEALL)", "AMQ8885E"),
        ("SET CHLAUTH('X') TYPE(BLOCKUSER) USERLIST('a') ACTION(REMOVE)", "AMQ8884E"),
        ("SET CHLAUTH('X') TYPE(RUBBISH)", "AMQ8425E"),
        ("SET CHLAUTH('X') TYPE(QMGRMAP) QMNAME('Q') USERSRC(CHANNEL) WARN(MAYBE)", "AMQ8425E"),
        ("DISPLAY CHLAUTH(NONE)", "AMQ8884E"),
        ("DISPLAY CHLAUTH(X) MATCH(RUNCHECK) ADDRESS('10.0.0.1')", "AMQ8101S"),  # no connection is checked
        ("ALTER QMGR CHLAUTH(ENABLED)", "AMQ8101S"),
        ("DEFINE QLOCAL(C) CUSTOM('OTHER(1)')", "AMQ8425E"),
        ("DEFINE QLOCAL(C) CUSTOM('CAPEXPRY(0)')", "AMQ8425E"),
        ("SET AUTHREC PROFILE(Q1) OBJTYPE(QUEUE) GROUP('no such group') AUTHADD(PUT)", "AMQ8871E"),
    ],
)
def test_what_is_refused(application: Application, text: str, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        run_mqsc(text)


def test_a_mapping_that_is_there_is_not_added_again(application: Application) -> None:
    text = "SET CHLAUTH('X') TYPE(QMGRMAP) QMNAME('QM2') USERSRC(CHANNEL)"
    run_mqsc(text)
    with pytest.raises(AssertionError, match="AMQ8854E"):
        run_mqsc(text)
    run_mqsc(f"{text} ACTION(REPLACE)\nSET CHLAUTH('X') TYPE(QMGRMAP) QMNAME('QM2') ACTION(REMOVE)")


def test_authority_for_a_group_that_does_not_exist(pcf: Any) -> None:
    request = [
        pymqi.CFST(Parameter=CMQCFC.MQCACF_AUTH_PROFILE_NAME, String=b"Q1"),
        pymqi.CFIN(Parameter=CMQCFC.MQIACF_OBJECT_TYPE, Value=CMQC.MQOT_Q),
        pymqi.CFSL(Parameter=CMQCFC.MQCACF_GROUP_ENTITY_NAMES, Strings=[b"nosuchgroup"]),
        pymqi.CFIL(Parameter=CMQCFC.MQIACF_AUTH_ADD_AUTHS, Values=[CMQCFC.MQAUTH_OUTPUT]),
    ]
    with refused(CMQC.MQRC_UNKNOWN_ENTITY):
        pcf.MQCMD_SET_AUTH_REC(request)


@pytest.mark.parametrize(
    ("attributes", "expiry"),
    [
        ("CUSTOM('CAPEXPRY(600)')", 600),
        ("CUSTOM('CAPEXPRY(NOLIMIT)')", CMQC.MQEI_UNLIMITED),
        ("CUSTOM('CAPEXPRY(600)') CAPEXPRY(700)", 600),  # the lower one
        ("CUSTOM('CAPEXPRY(600)') CAPEXPRY(500)", 500),
    ],
)
def test_expiry_is_limited_by_CUSTOM_as_well(application: Application, attributes: str, expiry: int) -> None:
    run_mqsc(f"ALTER QLOCAL(Q1) {attributes}")
    application.put("Q1")
    found = application.get("Q1")[0].Expiry
    assert found == expiry if expiry < 0 else expiry - 50 < found <= expiry


def test_expiry_of_publications_is_limited_by_CUSTOM_of_the_topic_above(application: Application) -> None:
    run_mqsc(
        "DEFINE TOPIC(T) TOPICSTR('t') CUSTOM('CAPEXPRY(70)')\nDEFINE TOPIC(U) TOPICSTR('t/u') DESCR('below')\n"
        "DEFINE SUB(S) TOPICSTR('t/u') DEST(Q1)"
    )
    topic = pymqi.Topic(application.manager, topic_string=b"t/u")
    topic.open(open_opts=CMQC.MQOO_OUTPUT)
    topic.pub(b"news", pymqi.MD())
    assert 0 < application.get("Q1")[0].Expiry <= 70


def test_answers_go_to_a_queue_of_IBM_MQs_own_model(application: Application) -> None:
    pcf = pymqi.PCFExecute(application.manager, model_queue_name=b"SYSTEM.COMMAND.REPLY.MODEL")
    assert pcf.MQCMD_PING_Q_MGR() == [{}]
    pcf.disconnect()
