"""The PCF command server through genuine pymqi: results as its dictionaries, refusals by their reason codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pymqi
import pytest
from pymqi import CMQC, CMQCFC

if TYPE_CHECKING:
    from .conftest import Mqlite, Mqsc

NAME, KIND = CMQC.MQCA_Q_NAME, CMQC.MQIA_Q_TYPE
LOCAL = {NAME: b"Q", KIND: CMQC.MQQT_LOCAL}


@pytest.fixture
def pcf(mqsc: Mqsc) -> Iterator[pymqi.PCFExecute]:
    connection = pymqi.connect("QM1")
    execute = pymqi.PCFExecute(connection)
    yield execute
    execute.disconnect()
    connection.disconnect()


def refused(call: object, *arguments: object) -> int:
    """The reason with which a command is refused."""
    with pytest.raises(pymqi.MQMIError) as error:
        call(*arguments)  # type: ignore[operator]
    return int(error.value.reason)


def test_ping(pcf: pymqi.PCFExecute) -> None:
    assert pcf.MQCMD_PING_Q_MGR() == [{}]


def test_life_of_a_queue(pcf: pymqi.PCFExecute) -> None:
    pcf.MQCMD_CREATE_Q({**LOCAL, CMQC.MQIA_MAX_Q_DEPTH: 7, CMQC.MQCA_Q_DESC: b"a queue", CMQC.MQIA_TRIGGER_CONTROL: 1})
    pcf.MQCMD_CHANGE_Q({**LOCAL, CMQC.MQIA_MAX_MSG_LENGTH: 9})
    (found,) = pcf.MQCMD_INQUIRE_Q({NAME: b"Q"})
    assert found[NAME] == b"Q".ljust(48)
    assert found[CMQC.MQCA_Q_DESC].strip() == b"a queue"
    expected = {CMQC.MQIA_MAX_Q_DEPTH: 7, CMQC.MQIA_MAX_MSG_LENGTH: 9, CMQC.MQIA_TRIGGER_CONTROL: 1, KIND: 1}
    assert {key: found[key] for key in expected} == expected
    pcf.MQCMD_COPY_Q({CMQCFC.MQCACF_FROM_Q_NAME: b"Q", CMQCFC.MQCACF_TO_Q_NAME: b"R", KIND: CMQC.MQQT_LOCAL})
    (copied,) = pcf.MQCMD_INQUIRE_Q({NAME: b"R", CMQCFC.MQIACF_Q_ATTRS: [CMQC.MQIA_MAX_Q_DEPTH]})
    assert copied == {NAME: b"R".ljust(48), KIND: 1, CMQC.MQIA_MAX_Q_DEPTH: 7}
    pcf.MQCMD_CLEAR_Q({NAME: b"Q"})
    pcf.MQCMD_DELETE_Q({NAME: b"Q"})
    assert refused(pcf.MQCMD_INQUIRE_Q, {NAME: b"Q"}) == CMQC.MQRC_UNKNOWN_OBJECT_NAME


def test_names_with_their_types(pcf: pymqi.PCFExecute, mqsc: Mqsc) -> None:
    mqsc("DEFINE QLOCAL(A.1)", "DEFINE QALIAS(A.2)")
    (found,) = pcf.MQCMD_INQUIRE_Q_NAMES({NAME: b"A.*"})
    assert [name.strip() for name in found[CMQCFC.MQCACF_Q_NAMES]] == [b"A.1", b"A.2"]
    assert found[CMQCFC.MQIACF_Q_TYPES] == [CMQC.MQQT_LOCAL, CMQC.MQQT_ALIAS]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({NAME: b"Q"}, CMQCFC.MQRCCF_PARM_COUNT_TOO_SMALL),  # no type
        ({KIND: 1}, CMQCFC.MQRCCF_PARM_COUNT_TOO_SMALL),  # no name
        ({NAME: b"Q", KIND: 99}, CMQCFC.MQRCCF_Q_TYPE_ERROR),
        ({NAME: b"not a name", KIND: 1}, CMQCFC.MQRCCF_OBJECT_NAME_ERROR),
        ({**LOCAL, CMQC.MQIA_CURRENT_Q_DEPTH: 1}, CMQCFC.MQRCCF_CFIN_PARM_ID_ERROR),
        ({**LOCAL, CMQC.MQCA_PROCESS_DESC: b"x"}, CMQCFC.MQRCCF_CFST_PARM_ID_ERROR),
        ({**LOCAL, CMQC.MQIA_MAX_Q_DEPTH: b"7"}, CMQCFC.MQRCCF_CFST_PARM_ID_ERROR),
        ({**LOCAL, CMQC.MQIA_MAX_Q_DEPTH: -7}, CMQCFC.MQRCCF_ATTR_VALUE_ERROR),
        ({**LOCAL, CMQC.MQIA_INHIBIT_PUT: 5}, CMQCFC.MQRCCF_ATTR_VALUE_ERROR),
        ({**LOCAL, CMQC.MQCA_Q_DESC: b"x" * 65}, CMQCFC.MQRCCF_CFST_STRING_LENGTH_ERR),
    ],
)
def test_create_refuses(pcf: pymqi.PCFExecute, arguments: dict[int, object], reason: int) -> None:
    assert refused(pcf.MQCMD_CREATE_Q, arguments) == reason


def test_other_refusals(pcf: pymqi.PCFExecute, mqsc: Mqsc) -> None:
    mqsc("DEFINE QLOCAL(Q)", "DEFINE QALIAS(A)", "DEFINE CHANNEL(C) CHLTYPE(RCVR)")
    assert refused(pcf.MQCMD_CREATE_Q, LOCAL) == CMQCFC.MQRCCF_OBJECT_ALREADY_EXISTS
    assert refused(pcf.MQCMD_DELETE_Q, {NAME: b"NONE"}) == CMQC.MQRC_UNKNOWN_OBJECT_NAME
    assert refused(pcf.MQCMD_CLEAR_Q, {NAME: b"A"}) == CMQCFC.MQRCCF_Q_WRONG_TYPE
    assert refused(pcf.MQCMD_DELETE_Q, {NAME: b"A", KIND: CMQC.MQQT_LOCAL}) == CMQCFC.MQRCCF_OBJECT_WRONG_TYPE
    channel = {CMQCFC.MQCACH_CHANNEL_NAME: b"NONE"}
    assert refused(pcf.MQCMD_INQUIRE_CHANNEL, channel) == CMQCFC.MQRCCF_CHANNEL_NOT_FOUND
    assert refused(pcf.MQCMD_INQUIRE_CHANNEL_STATUS, channel) == CMQCFC.MQRCCF_CHL_STATUS_NOT_FOUND
    assert refused(pcf.MQCMD_RESET_CLUSTER) == CMQCFC.MQRCCF_CFH_COMMAND_ERROR  # no clusters here
    queue = pymqi.Queue(pcf.qm, "Q", CMQC.MQOO_OUTPUT)
    queue.put(b"x")
    assert refused(pcf.MQCMD_CLEAR_Q, {NAME: b"Q"}) == CMQCFC.MQRCCF_OBJECT_OPEN
    queue.close()
    assert refused(pcf.MQCMD_DELETE_Q, {NAME: b"Q"}) == CMQC.MQRC_Q_NOT_EMPTY
    pcf.MQCMD_DELETE_Q({NAME: b"Q", CMQCFC.MQIACF_PURGE: CMQCFC.MQPO_YES})


def test_parameter_given_twice_is_refused(pcf: pymqi.PCFExecute) -> None:
    twice = [pymqi.CFST(Parameter=NAME, String=b"Q"), pymqi.CFST(Parameter=NAME, String=b"R")]
    assert refused(pcf.MQCMD_INQUIRE_Q, twice) == CMQCFC.MQRCCF_CFST_DUPLICATE_PARM


def test_queue_status_and_handles(pcf: pymqi.PCFExecute, mqsc: Mqsc) -> None:
    mqsc("DEFINE QLOCAL(Q)")
    queue = pymqi.Queue(pcf.qm, "Q", CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_OUTPUT)
    queue.put(b"x", pymqi.MD(), pymqi.PMO(Options=CMQC.MQPMO_SYNCPOINT))
    (status,) = pcf.MQCMD_INQUIRE_Q_STATUS({NAME: b"Q"})
    expected = {CMQC.MQIA_CURRENT_Q_DEPTH: 1, CMQC.MQIA_OPEN_INPUT_COUNT: 1, CMQC.MQIA_OPEN_OUTPUT_COUNT: 1}
    assert {key: status[key] for key in expected} == expected
    assert status[CMQCFC.MQIACF_UNCOMMITTED_MSGS] == 1
    pcf.qm.backout()
    (handle,) = pcf.MQCMD_INQUIRE_Q_STATUS({NAME: b"Q", CMQCFC.MQIACF_Q_STATUS_TYPE: CMQCFC.MQIACF_Q_HANDLE})
    assert handle[CMQCFC.MQIACF_OPEN_INPUT_TYPE] == CMQCFC.MQQSO_SHARED
    assert handle[CMQCFC.MQIACF_OPEN_OUTPUT] == 1
    assert handle[CMQCFC.MQIACF_PROCESS_ID] > 0
    queue.close()


@pytest.mark.parametrize(
    ("selector", "operator", "operand", "found"),
    [
        (CMQC.MQIA_CURRENT_Q_DEPTH, "greater", 0, {b"A.2"}),
        (CMQC.MQIA_MAX_Q_DEPTH, "equal", 5, {b"A.1"}),
        (CMQC.MQCA_Q_DESC, "like", b"pay*", {b"A.1"}),
        (CMQC.MQCA_Q_DESC, "not_like", b"pay*", {b"A.2"}),
    ],
)
def test_filters(  # noqa: PLR0917
    pcf: pymqi.PCFExecute, mqsc: Mqsc, selector: int, operator: str, operand: object, found: set[bytes]
) -> None:
    mqsc("DEFINE QLOCAL(A.1) MAXDEPTH(5) DESCR('payments')", "DEFINE QLOCAL(A.2) DESCR('other')")
    pymqi.Queue(pcf.qm, "A.2").put(b"x")
    only = getattr(pymqi.Filter(selector), operator)(operand)
    rows = pcf.MQCMD_INQUIRE_Q({NAME: b"A.*", KIND: CMQC.MQQT_LOCAL}, [only])
    assert {row[NAME].strip() for row in rows} == found


def test_queue_manager_is_inquired_and_changed(pcf: pymqi.PCFExecute) -> None:
    pcf.MQCMD_CHANGE_Q_MGR({CMQC.MQCA_DEAD_LETTER_Q_NAME: b"DEAD"})
    (found,) = pcf.MQCMD_INQUIRE_Q_MGR({CMQCFC.MQIACF_Q_MGR_ATTRS: [CMQC.MQCA_DEAD_LETTER_Q_NAME, CMQC.MQIA_PLATFORM]})
    assert found[CMQC.MQCA_DEAD_LETTER_Q_NAME].strip() == b"DEAD"
    assert found[CMQC.MQIA_PLATFORM] == CMQC.MQPL_UNIX
    (status,) = pcf.MQCMD_INQUIRE_Q_MGR_STATUS()
    assert status[CMQCFC.MQIACF_CONNECTION_COUNT] >= 1


@pytest.mark.parametrize("names", [[], [b"ONE"], [b"ONE", b"TWO.LONGER", b"THREE"]])
def test_namelists(pcf: pymqi.PCFExecute, names: list[bytes]) -> None:
    key = {CMQC.MQCA_NAMELIST_NAME: b"N"}
    listed = [
        pymqi.CFST(Parameter=CMQC.MQCA_NAMELIST_NAME, String=b"N"),
        pymqi.CFSL(Parameter=CMQC.MQCA_NAMES, Strings=names),
    ]
    pcf.MQCMD_CREATE_NAMELIST(listed)
    (found,) = pcf.MQCMD_INQUIRE_NAMELIST(key)
    assert found[CMQC.MQIA_NAME_COUNT] == len(names)
    assert [name.strip() for name in found[CMQC.MQCA_NAMES] if name] == names


def test_channels(pcf: pymqi.PCFExecute) -> None:
    name = {CMQCFC.MQCACH_CHANNEL_NAME: b"C"}
    pcf.MQCMD_CREATE_CHANNEL({**name, CMQCFC.MQIACH_CHANNEL_TYPE: CMQC.MQCHT_SVRCONN, CMQCFC.MQCACH_DESC: b"x"})
    (found,) = pcf.MQCMD_INQUIRE_CHANNEL(name)
    assert found[CMQCFC.MQIACH_CHANNEL_TYPE] == CMQC.MQCHT_SVRCONN
    (names,) = pcf.MQCMD_INQUIRE_CHANNEL_NAMES({CMQCFC.MQCACH_CHANNEL_NAME: b"C*"})
    assert [each.strip() for each in names[CMQCFC.MQCACH_CHANNEL_NAMES]] == [b"C"]
    pcf.MQCMD_DELETE_CHANNEL(name)


def test_connections(pcf: pymqi.PCFExecute) -> None:
    everyone = {
        CMQCFC.MQBACF_GENERIC_CONNECTION_ID: pymqi.ByteString(b""),
        CMQCFC.MQIACF_CONN_INFO_TYPE: CMQCFC.MQIACF_CONN_INFO_CONN,
    }
    rows = pcf.MQCMD_INQUIRE_CONNECTION(everyone, [pymqi.Filter(CMQC.MQIA_APPL_TYPE).equal(CMQC.MQAT_USER)])
    assert any(row[CMQCFC.MQIACF_PROCESS_ID] for row in rows)
    again = pcf.MQCMD_INQUIRE_CONNECTION(
        {CMQCFC.MQBACF_GENERIC_CONNECTION_ID: pymqi.ByteString(rows[0][CMQCFC.MQBACF_CONNECTION_ID])}
    )
    assert len(again) == 1


def test_handles_of_connections(pcf: pymqi.PCFExecute) -> None:
    queue = pymqi.Queue(pcf.qm, "SYSTEM.DEFAULT.LOCAL.QUEUE", CMQC.MQOO_BROWSE)
    everyone = {CMQCFC.MQBACF_GENERIC_CONNECTION_ID: pymqi.ByteString(b"")}
    wanted = {**everyone, CMQCFC.MQIACF_CONN_INFO_TYPE: CMQCFC.MQIACF_CONN_INFO_HANDLE}
    rows = pcf.MQCMD_INQUIRE_CONNECTION(wanted, [pymqi.Filter(CMQCFC.MQCACF_OBJECT_NAME).like(b"SYSTEM.DEFAULT.*")])
    assert [row[CMQCFC.MQCACF_OBJECT_NAME].strip() for row in rows] == [b"SYSTEM.DEFAULT.LOCAL.QUEUE"]
    assert rows[0][CMQCFC.MQIACF_OPEN_OPTIONS] & CMQC.MQOO_BROWSE
    assert rows[0][CMQCFC.MQIACF_CONN_INFO_TYPE] == CMQCFC.MQIACF_CONN_INFO_HANDLE
    queue.close()


@pytest.mark.parametrize(
    ("command", "name", "attributes", "there"),
    [
        ("MQCMD_INQUIRE_Q", CMQC.MQCA_Q_NAME, CMQCFC.MQIACF_Q_ATTRS, CMQC.MQIA_Q_TYPE),
        ("MQCMD_INQUIRE_CHANNEL", CMQCFC.MQCACH_CHANNEL_NAME, CMQCFC.MQIACF_CHANNEL_ATTRS, CMQCFC.MQCACH_DESC),
        ("MQCMD_INQUIRE_Q_STATUS", CMQC.MQCA_Q_NAME, CMQCFC.MQIACF_Q_STATUS_ATTRS, CMQC.MQIA_CURRENT_Q_DEPTH),
    ],
)
def test_unknown_selector_is_refused(
    pcf: pymqi.PCFExecute, command: str, name: int, attributes: int, there: int
) -> None:  # fmt: skip
    inquire = getattr(pcf, command)
    assert all(there in row for row in inquire({name: b"SYSTEM.*", attributes: [name, there]}))
    assert refused(inquire, {name: b"SYSTEM.*", attributes: [there, 987654]}) == CMQC.MQRC_SELECTOR_ERROR


def test_options_of_commands_have_their_values(pcf: pymqi.PCFExecute, mqsc: Mqsc) -> None:
    mqsc("DEFINE CHANNEL(S) CHLTYPE(SVRCONN)", "DEFINE PROCESS(P)")
    channel = {CMQCFC.MQCACH_CHANNEL_NAME: b"S"}
    assert refused(pcf.MQCMD_STOP_CHANNEL, {**channel, CMQCFC.MQIACF_MODE: 99}) == CMQCFC.MQRCCF_PARM_VALUE_ERROR
    pcf.MQCMD_STOP_CHANNEL({**channel, CMQCFC.MQIACF_MODE: CMQCFC.MQMODE_FORCE})
    saved = {CMQCFC.MQIACH_CHANNEL_INSTANCE_TYPE: CMQC.MQOT_SAVED_CHANNEL}
    assert refused(pcf.MQCMD_INQUIRE_CHANNEL_STATUS, {**channel, **saved}) == CMQCFC.MQRCCF_PARM_VALUE_ERROR
    process = {CMQC.MQCA_PROCESS_NAME: b"P", CMQCFC.MQIACF_PURGE: CMQCFC.MQPO_YES}
    assert refused(pcf.MQCMD_DELETE_PROCESS, process) == CMQCFC.MQRCCF_CFIN_PARM_ID_ERROR
    pcf.MQCMD_REFRESH_SECURITY({CMQCFC.MQIACF_SECURITY_TYPE: CMQCFC.MQSECTYPE_AUTHSERV})
    rubbish = {CMQCFC.MQIACF_SECURITY_TYPE: 99}
    assert refused(pcf.MQCMD_REFRESH_SECURITY, rubbish) == CMQCFC.MQRCCF_PARM_VALUE_ERROR


def test_message_that_is_no_command_is_refused_by_what_is_wrong_with_it(pcf: pymqi.PCFExecute) -> None:
    for body, message_format, reason in (
        (b"not PCF", CMQC.MQFMT_ADMIN, CMQCFC.MQRCCF_MSG_LENGTH_ERROR),
        (pymqi.CFH(Type=CMQCFC.MQCFT_RESPONSE, Command=CMQCFC.MQCMD_PING_Q_MGR).pack(), CMQC.MQFMT_ADMIN,
         CMQCFC.MQRCCF_CFH_TYPE_ERROR),
        (pymqi.CFH(Command=CMQCFC.MQCMD_PING_Q_MGR, Control=CMQCFC.MQCFC_NOT_LAST).pack(), CMQC.MQFMT_ADMIN,
         CMQCFC.MQRCCF_CFH_CONTROL_ERROR),
        (b"text", CMQC.MQFMT_STRING, CMQCFC.MQRCCF_MD_FORMAT_ERROR),
    ):  # fmt: skip
        md = pymqi.MD(MsgType=CMQC.MQMT_REQUEST, ReplyToQ=pcf.reply_queue_name, Format=message_format)
        pymqi.Queue(pcf.qm, "SYSTEM.ADMIN.COMMAND.QUEUE", CMQC.MQOO_OUTPUT).put(body, md)
        answer = pcf.reply_queue.get(None, pymqi.MD(), pymqi.GMO(Options=CMQC.MQGMO_NO_WAIT))
        assert refused(pymqi.PCFExecute.unpack, answer) == reason


def test_command_in_a_unit_of_work_is_answered_after_its_commit(pcf: pymqi.PCFExecute) -> None:
    md = pymqi.MD(MsgType=CMQC.MQMT_REQUEST, ReplyToQ=pcf.reply_queue_name, Format=CMQC.MQFMT_ADMIN)
    command = pymqi.CFH(Command=CMQCFC.MQCMD_PING_Q_MGR).pack()
    commands = pymqi.Queue(pcf.qm, "SYSTEM.ADMIN.COMMAND.QUEUE", CMQC.MQOO_OUTPUT)
    commands.put(command, md, pymqi.PMO(Options=CMQC.MQPMO_SYNCPOINT))
    assert refused(pcf.reply_queue.get, None, pymqi.MD(), pymqi.GMO(Options=CMQC.MQGMO_NO_WAIT)) == 2033
    pcf.qm.commit()
    reply = pymqi.MD()
    pcf.reply_queue.get(None, reply, pymqi.GMO(Options=CMQC.MQGMO_NO_WAIT))
    assert reply.CorrelId == md.MsgId
    assert reply.MsgType == CMQC.MQMT_REPLY


def test_zos_queue_manager_answers_in_the_encoding_and_CCSID_of_the_command(mqlite: Mqlite) -> None:
    mqlite("create", "Z", "--platform", "zos")
    connection = pymqi.connect("Z")
    execute = pymqi.PCFExecute(connection)
    for ccsid, codec in ((1208, "utf-8"), (500, "cp500")):
        md = pymqi.MD(MsgType=CMQC.MQMT_REQUEST, ReplyToQ=execute.reply_queue_name, Format=CMQC.MQFMT_ADMIN)
        md.CodedCharSetId = ccsid
        command = pymqi.CFH(Command=CMQCFC.MQCMD_INQUIRE_Q_MGR).pack()
        commands = pymqi.Queue(connection, "SYSTEM.ADMIN.COMMAND.QUEUE", CMQC.MQOO_OUTPUT)
        commands.put(command, md, pymqi.PMO(Options=CMQC.MQPMO_NO_SYNCPOINT))
        answer = execute.reply_queue.get(None, pymqi.MD(), pymqi.GMO(Options=CMQC.MQGMO_NO_WAIT))
        found, _ = pymqi.PCFExecute.unpack(answer)
        assert found[CMQC.MQCA_Q_MGR_NAME].decode(codec).strip() == "Z"
        assert found[CMQC.MQIA_CODED_CHAR_SET_ID] == 500
    execute.disconnect()
    connection.disconnect()


def test_a_text_is_measured_in_bytes(pcf: pymqi.PCFExecute, mqsc: Mqsc) -> None:
    pcf.MQCMD_CREATE_Q({**LOCAL, CMQC.MQCA_Q_DESC: "ü" * 32})
    assert refused(pcf.MQCMD_CHANGE_Q, {**LOCAL, CMQC.MQCA_Q_DESC: "ü" * 33}) == CMQCFC.MQRCCF_CFST_STRING_LENGTH_ERR
    (found,) = pcf.MQCMD_INQUIRE_Q({NAME: b"Q", CMQCFC.MQIACF_Q_ATTRS: [CMQC.MQCA_Q_DESC]})
    assert found[CMQC.MQCA_Q_DESC] == "ü".encode() * 32


@pytest.mark.parametrize(
    ("program", "shown"),
    [
        ("/srv/größe/x.py", "/srv/größe/x.py"),
        ("/srv/płatności/x.py", "/srv/p?atno?ci/x.py"),
        ("/srv/" + os.fsdecode(b"\xff") + "/x.py", "/srv/?/x.py"),
    ],
)
def test_the_name_of_a_program_that_is_not_in_the_CCSID_of_the_answer_holds_no_answer_back(
    mqlite: Mqlite, monkeypatch: pytest.MonkeyPatch, program: str, shown: str
) -> None:
    mqlite("create", "L1", "--ccsid", "819")
    monkeypatch.setattr(sys, "argv", [program])
    connection = pymqi.connect("L1")
    execute = pymqi.PCFExecute(connection)
    every = {CMQCFC.MQBACF_GENERIC_CONNECTION_ID: pymqi.ByteString(b"")}
    tags = {found[CMQCFC.MQCACF_APPL_TAG].rstrip(b" \0") for found in execute.MQCMD_INQUIRE_CONNECTION(every)}
    assert shown.encode("latin-1") in tags
    execute.MQCMD_PING_Q_MGR()
    execute.disconnect()
    connection.disconnect()
