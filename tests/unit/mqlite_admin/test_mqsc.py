"""MQSC as `mqlite mqsc` runs it: what it prints, what it changes, how it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .conftest import Mqlite, Mqsc


def value(output: str, keyword: str) -> str:
    """The value of the last KEYWORD(value) of an output."""
    return output.rsplit(f" {keyword}(", 1)[1].split(")", 1)[0]


def test_output_is_that_of_runmqsc(mqsc: Mqsc) -> None:
    output = mqsc("* queues", "DEFINE QLOCAL(A) +", "   MAXDEPTH(7)", "", "dis ql(A) maxdepth curdepth", "end")
    assert output.splitlines() == [
        "Starting MQSC for queue manager QM1.",
        "",
        "",
        "       : * queues",
        "     1 : DEFINE QLOCAL(A) +",
        "       :    MAXDEPTH(7)",
        "AMQ8006I: IBM MQ queue created.",
        "       : ",
        "     2 : dis ql(A) maxdepth curdepth",
        "AMQ8409I: Display Queue details.",
        "   QUEUE(A)                                TYPE(QLOCAL)",
        "   CURDEPTH(0)                             MAXDEPTH(7)",
        "     3 : end",
        "2 MQSC commands read.",
        "No commands have a syntax error.",
        "All valid MQSC commands were processed.",
    ]


def test_summary_counts_syntax_errors_and_failures_apart(mqsc: Mqsc) -> None:
    output = mqsc("NONSENSE", "DELETE QLOCAL(NONE)", "DEFINE QLOCAL(A) WHAT(1)", "DEFINE QLOCAL(A)", code=10)
    assert output.splitlines()[-3:] == [
        "4 MQSC commands read.",
        "2 MQSC commands have a syntax error.",
        "One valid MQSC command could not be processed.",
    ]


def test_unknown_queue_manager_ends_with_20(mqlite: Mqlite) -> None:
    assert "AMQ8118E" in mqlite("mqsc", "NONE", stdin="DIS QMGR\n", code=20).output


def test_end_stops_reading(mqsc: Mqsc) -> None:
    assert "No MQSC commands read." in mqsc("END", "DEFINE QLOCAL(A)")


@pytest.mark.parametrize(
    ("commands", "message"),
    [
        (["DEFINE QLOCAL(A)", "DEFINE QLOCAL(A)"], "AMQ8150E: IBM MQ object already exists."),
        (["DEFINE QLOCAL(A)", "DEFINE QALIAS(A)"], "AMQ8150E: IBM MQ object already exists."),  # one name space
        (["DEFINE QLOCAL(A)", "DEFINE QALIAS(A) REPLACE"], "AMQ8151E: IBM MQ object A has another type."),
        (["ALTER QLOCAL(NONE) PUT(DISABLED)"], "AMQ8147E: IBM MQ object NONE not found."),
        (["DELETE QLOCAL(NONE)"], "AMQ8147E: IBM MQ object NONE not found."),
        (["DISPLAY QLOCAL(NONE)"], "AMQ8147E: IBM MQ object NONE not found."),
        (["DISPLAY QLOCAL(NONE*)"], "AMQ8147E: IBM MQ object NONE* not found."),
        (["DEFINE QLOCAL(A) LIKE(NONE)"], "AMQ8147E: IBM MQ object NONE not found."),
        (["DEFINE QALIAS(A)", "CLEAR QLOCAL(A)"], "AMQ8140E: IBM MQ queue A is of another type."),
        (["DEFINE QLOCAL('with blank')"], "AMQ8424E: Error detected in a name keyword."),
        ([f"DEFINE QLOCAL({'X' * 49})"], "AMQ8424E: Error detected in a name keyword."),
        (["DEFINE QLOCAL(A) MAXDEPTH(-1)"], "AMQ8412E: Numeric Range Error."),
        (["DEFINE QLOCAL(A) PUT(MAYBE)"], "AMQ8425E: Attribute value error."),
        ([f"DEFINE QLOCAL(A) DESCR('{'x' * 65}')"], "AMQ8413E: String Length Error."),
        (["DEFINE QLOCAL(A) CURDEPTH(1)"], "AMQ8405I: Syntax error detected"),
        (["DEFINE QLOCAL(A) TARGET(B)"], "AMQ8405I: Syntax error detected"),  # of another kind
        (["DEFINE QLOCAL(A) TRIGGER(YES)"], "AMQ8405I: Syntax error detected"),  # a flag has no value
        (["DEFINE QLOCAL(A) MAXDEPTH"], "AMQ8405I: Syntax error detected"),
        (["DEFINE QLOCAL(A) MAXDEPTH()"], "AMQ8405I: Syntax error detected"),
        (["DEFINE QLOCAL(A) REPLACE(YES)"], "AMQ8405I: Syntax error detected"),
        (["DEFINE QLOCAL"], "AMQ8421E: A required keyword was not specified."),
        (["DEFINE CHANNEL(C)"], "AMQ8421E: A required keyword was not specified."),
        (["DEFINE CHANNEL(C) CHLTYPE(SDR) CONNAME('x')"], "AMQ8421E: A required keyword was not specified."),
        (["DEFINE CHANNEL(C) CHLTYPE(RCVR) CONNAME('x')"], "AMQ8405I: Syntax error detected"),  # of senders only
        (["ALTER QMGR EXPRYINT(5)"], "AMQ8405I: Syntax error detected"),  # z/OS only
        (["DISPLAY QLOCAL(*) WHERE(MAXDEPTH LK 5)"], "AMQ8412E: Error in the WHERE filter."),
        (["DISPLAY QLOCAL(*) WHERE(WHAT EQ 5)"], "AMQ8412E: Error in the WHERE filter."),
        (["DISPLAY CHSTATUS(*)"], "AMQ8420I: Channel Status not found."),
        (["START CHANNEL(NONE)"], "AMQ9519E: Channel 'NONE' not found."),
        (["DEFINE CHANNEL(R) CHLTYPE(RCVR)", "STOP CHANNEL(R) STATUS(INACTIVE)"], "AMQ9533W: Channel 'R' is not"),
        (["DEFINE CHANNEL(R) CHLTYPE(RCVR)", "DEFINE CHANNEL(R) CHLTYPE(RCVR)"], "AMQ8226E"),
        (["DEFINE CHANNEL(R) CHLTYPE(RCVR)", "ALTER CHANNEL(R) CHLTYPE(SVRCONN)"], "AMQ8232E"),
        (["DEFINE CHANNEL(R) CHLTYPE(RCVR)", "PING CHANNEL(R)"], "AMQ8232E"),
        (["DISPLAY CONN(FFFF*)"], "AMQ8461I: Connection identifier not found."),
        (["DEFINE QLOCAL(A)", "DISPLAY QSTATUS(A) TYPE(HANDLE)"], "AMQ8565I: Queue Status not found."),
        (["REFRESH QMGR TYPE(EXPIRY) NAME(*)"], "AMQ8405I"),  # not on this platform
        (["DEFINE QLOCAL(A) DESCR(HELLO WORLD)"], "AMQ8405I"),  # two values where there is one
        (["ALTER QMGR DEADQ(A, B)"], "AMQ8405I"),
        (["SET AUTHREC PROFILE(A, B) OBJTYPE(QUEUE) PRINCIPAL('x') AUTHADD(GET)"], "AMQ8405I"),
        (["DISPLAY QUEUE(*) TYPE(RUBBISH)"], "AMQ8425E"),
        (["DISPLAY QUEUE(*) TYPE(ALL, QLOCAL)"], "AMQ8405I"),
        (["DISPLAY QLOCAL(*) TYPE(QLOCAL)"], "AMQ8405I"),  # of DISPLAY QUEUE only
        (["DISPLAY QLOCAL(*) DESCR(RUBBISH)"], "AMQ8405I"),  # what is asked for has no value
        (["DISPLAY QSTATUS(*) TYPE(RUBBISH)"], "AMQ8425E"),
        (["DISPLAY CONN(*) TYPE(RUBBISH)"], "AMQ8425E"),
        (["DISPLAY CHANNEL(*) CHLTYPE(RUBBISH)"], "AMQ8425E"),
        (["DISPLAY CHANNEL(*) QTYPE"], "AMQ8405I"),
        (["DISPLAY CHSTATUS(*) SAVED"], "AMQ8101S"),  # there is the current status only
        (["DISPLAY QMGR(QM1)"], "AMQ8405I"),
        (["DEFINE CHANNEL(R) CHLTYPE(RCVR)", "STOP CHANNEL(R) MODE(RUBBISH)"], "AMQ8425E"),
        (["DEFINE CHANNEL(R) CHLTYPE(RCVR)", "STOP CHANNEL(R) STATUS(RUBBISH)"], "AMQ8425E"),
        (["RESOLVE CHANNEL(R) ACTION(RUBBISH)"], "AMQ8425E"),
        (["REFRESH SECURITY(*) TYPE(RUBBISH)"], "AMQ8425E"),
        (["REFRESH SECURITY(RUBBISH)"], "AMQ8424E"),
        (["REFRESH QMGR TYPE(RUBBISH)"], "AMQ8425E"),
        (["DEFINE CHANNEL(R) CHLTYPE(RCVR)", "DELETE CHANNEL(R) CHLTABLE(CLNTTBL)"], "AMQ8147E"),
        (["DELETE PROCESS(P) PURGE"], "AMQ8405I"),  # of queues only
        (["ALTER PROCESS(P) FORCE"], "AMQ8405I"),
        (["DEFINE QLOCAL(A) QDEPTHLO(90) QDEPTHHI(10)"], "AMQ8425E"),
        (["DEFINE QLOCAL(A)", "ALTER QLOCAL(A) QDEPTHHI(19)"], "AMQ8425E"),  # QDEPTHLO is 20
        (["DELETE QLOCAL(SYSTEM.ADMIN.COMMAND.QUEUE)"], "AMQ8148E"),  # the command server has it open
        (["CLEAR QLOCAL(SYSTEM.ADMIN.COMMAND.QUEUE)"], "AMQ8148E"),
    ],
)
def test_command_that_cannot_be_done_says_why(mqsc: Mqsc, commands: list[str], message: str) -> None:
    assert message in mqsc(*commands, code=10)


def test_syntax_error_shows_the_command_up_to_it(mqsc: Mqsc) -> None:
    lines = mqsc("DEFINE QLOCAL(A) WHAT(1) PUT(ENABLED)", code=10).splitlines()
    assert lines[5] == "DEFINE QLOCAL(A) WHAT(1)"


def test_replace_sets_every_attribute_and_alter_only_the_given_ones(mqsc: Mqsc) -> None:
    mqsc("DEFINE QLOCAL(A) MAXDEPTH(7) DESCR('first')")
    assert value(mqsc("ALTER QLOCAL(A) MAXMSGL(9)", "DIS QL(A) MAXDEPTH"), "MAXDEPTH") == "7"
    assert value(mqsc("DEFINE QLOCAL(A) REPLACE", "DIS QL(A) MAXDEPTH"), "MAXDEPTH") == "5000"


def test_like_and_the_default_objects_give_the_starting_values(mqsc: Mqsc) -> None:
    mqsc("DEFINE QLOCAL(A) MAXDEPTH(7) BOTHRESH(2)", "DEFINE QLOCAL(B) LIKE(A) BOTHRESH(3)")
    output = mqsc("DIS QL(B) MAXDEPTH BOTHRESH")
    assert (value(output, "MAXDEPTH"), value(output, "BOTHRESH")) == ("7", "3")
    mqsc("ALTER QLOCAL(SYSTEM.DEFAULT.LOCAL.QUEUE) MAXDEPTH(11)", "DEFINE QLOCAL(C)")
    assert value(mqsc("DIS QL(C) MAXDEPTH"), "MAXDEPTH") == "11"


def test_generic_names_show_names_only_unless_attributes_are_asked_for(mqsc: Mqsc) -> None:
    mqsc("DEFINE QLOCAL(A.1)", "DEFINE QALIAS(A.2) TARGET(A.1)")
    output = mqsc("DISPLAY QUEUE(A*)")
    assert "QUEUE(A.1)" in output
    assert "TYPE(QALIAS)" in output
    assert "MAXDEPTH" not in output
    assert "MAXDEPTH(5000)" in mqsc("DISPLAY QUEUE(A*) ALL")
    assert "A.1" not in mqsc("DISPLAY QUEUE(A*) TYPE(QALIAS) DESCR").split("DISPLAY", 1)[1]


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ("MAXDEPTH GT 5", {"A.2", "A.3"}),
        ("MAXDEPTH LE 5", {"A.1"}),
        ("MAXDEPTH NE 5", {"A.2", "A.3"}),
        ("DESCR LK 'pay*'", {"A.1", "A.2"}),
        ("DESCR NL 'pay*'", {"A.3"}),
        ("DESCR EQ 'pay  '", {"A.2"}),  # trailing blanks are padding
        ("INITQ EQ ' '", {"A.1", "A.3"}),
        ("INITQ NE ' '", {"A.2"}),
        ("INITQ GT ' '", {"A.2"}),
        ("INITQ LK ' '", {"A.1", "A.3"}),
        ("PUT EQ DISABLED", {"A.3"}),
        ("TRIGGER EQ TRIGGER", {"A.2"}),
        ("TYPE EQ QLOCAL", {"A.1", "A.2", "A.3"}),
    ],
)
def test_where_filters(mqsc: Mqsc, where: str, found: set[str]) -> None:
    mqsc(
        "DEFINE QLOCAL(A.1) MAXDEPTH(5) DESCR('payments')",
        "DEFINE QLOCAL(A.2) MAXDEPTH(6) DESCR('pay') TRIGGER INITQ(I)",
        "DEFINE QLOCAL(A.3) MAXDEPTH(7) DESCR('other') PUT(DISABLED)",
    )
    output = mqsc(f"DISPLAY QUEUE(A.*) WHERE({where})")
    assert {name for name in ("A.1", "A.2", "A.3") if f"QUEUE({name})" in output} == found


def test_TYPE_chooses_queues_and_channels(mqsc: Mqsc) -> None:
    mqsc("DEFINE QLOCAL(A.1)", "DEFINE QALIAS(A.2)", "DEFINE CHANNEL(C.1) CHLTYPE(RCVR)")
    mqsc("DEFINE CHANNEL(C.2) CHLTYPE(CLNTCONN) CONNAME(QM2)")
    assert [name in mqsc("DISPLAY QUEUE(A.*) TYPE(QALIAS)") for name in ("(A.1)", "(A.2)")] == [False, True]
    for keyword in ("TYPE", "CHLTYPE"):
        assert [name in mqsc(f"DISPLAY CHL(C.*) {keyword}(RCVR)") for name in ("(C.1)", "(C.2)")] == [True, False]
    assert "AMQ8015I" in mqsc("DELETE CHANNEL(C.2) CHLTABLE(CLNTTBL)")


@pytest.mark.parametrize("mode", ["QUIESCE", "FORCE", "TERMINATE"])
def test_STOP_of_a_message_channel_knows_every_mode(mqsc: Mqsc, mode: str) -> None:
    assert "AMQ8019I" in mqsc("DEFINE CHANNEL(R) CHLTYPE(RCVR)", f"STOP CHANNEL(R) MODE({mode})")
    assert "STATUS(STOPPED)" in mqsc("DISPLAY CHSTATUS(R) CURRENT")


def test_list_filters(mqsc: Mqsc) -> None:
    mqsc("DEFINE NAMELIST(N1) NAMES(X.1, Y)", "DEFINE NAMELIST(N2) NAMES(Z)")
    assert "N2" not in mqsc("DISPLAY NAMELIST(N*) WHERE(NAMES CT Y)").split("DISPLAY", 1)[1]
    assert "NAMELIST(N1)" in mqsc("DISPLAY NAMELIST(N*) WHERE(NAMES CTG 'X*')")
    assert "NAMELIST(N1)" not in mqsc("DISPLAY NAMELIST(N*) WHERE(NAMES EX Y)")


@pytest.mark.parametrize(
    ("define", "display", "shown"),
    [
        ("DEFINE QREMOTE(R) RNAME(X) RQMNAME(Y) XMITQ(Z)", "DIS QR(R) RNAME RQMNAME XMITQ", "RQMNAME(Y)"),
        ("DEFINE QMODEL(M) DEFTYPE(PERMDYN)", "DIS QM(M) DEFTYPE", "DEFTYPE(PERMDYN)"),
        ("DEFINE PROCESS(P) APPLICID('run')", "DIS PROCESS(P)", "APPLICID(run)"),
        ("DEFINE NAMELIST(N) NAMES(A,B)", "DIS NL(N)", "NAMES(A, B)"),
        ("DEFINE LISTENER(L) TRPTYPE(TCP) PORT(1414)", "DIS LISTENER(L)", "PORT(1414)"),
        ("DEFINE TOPIC(T) TOPICSTR('a/b')", "DIS TOPIC(T)", "TOPICSTR(a/b)"),
        ("DEFINE AUTHINFO(I) AUTHTYPE(IDPWOS)", "DIS AUTHINFO(I)", "AUTHTYPE(IDPWOS)"),
        ("DEFINE CHANNEL(S) CHLTYPE(SVRCONN) SHARECNV(5)", "DIS CHL(S) SHARECNV", "SHARECNV(5)"),
    ],
)
def test_each_kind_of_object(mqsc: Mqsc, define: str, display: str, shown: str) -> None:
    assert shown in mqsc(define, display)
    kind, name = define.split()[1].split("(", 1)[0], define.split()[1]
    subtype = "".join(f" {word}" for word in define.split() if word.startswith(("CHLTYPE", "AUTHTYPE", "TRPTYPE")))
    assert "changed" in mqsc(f"ALTER {name}{subtype} DESCR('x')")
    assert "deleted" in mqsc(f"DELETE {name}")
    assert "AMQ8147E" in mqsc(f"DISPLAY {kind}(*) WHERE(DESCR EQ 'x')", code=10)


def test_passwords_are_not_shown(mqsc: Mqsc) -> None:
    output = mqsc("DEFINE CHANNEL(S) CHLTYPE(SDR) CONNAME('x') XMITQ(Q) PASSWORD('secret')", "DIS CHL(S)")
    assert "PASSWORD(********)" in output.split("DIS CHL", 1)[1]
    assert "secret" not in output.split("DIS CHL", 1)[1]


def test_zos_queue_manager_has_its_own_attributes_and_defaults(mqlite: Mqlite) -> None:
    mqlite("create", "Z", "--platform", "zos")
    output = mqlite("mqsc", "Z", stdin="ALTER QMGR EXPRYINT(5)\nDIS QMGR EXPRYINT CCSID PLATFORM\n").output
    assert "EXPRYINT(5)" in output
    assert "CCSID(500)" in output
    assert "PLATFORM(MVS)" in output


def test_what_display_shows_defines_the_same_again(mqsc: Mqsc) -> None:
    mqsc("DEFINE QLOCAL(A) MAXDEPTH(7) DESCR('it''s') TRIGGER TRIGTYPE(DEPTH) BOQNAME(B)")
    lines = mqsc("DISPLAY QLOCAL(A)").split("details.\n", 1)[1].split("1 MQSC")[0].splitlines()
    assert "   DEFTYPE(PREDEFINED)                     DESCR(it's)" in lines
    assert any("TRIGTYPE(DEPTH)" in line for line in lines)
    assert any("TRIGGER" in line.split() for line in lines)


@pytest.mark.parametrize(
    "command",
    [
        "DIS CLUSQMGR(*)", "DEFINE SERVICE(S)", "START SERVICE(S)", "DISPLAY ENTAUTH",
        "DISPLAY PUBSUB ALL", "DISPLAY TPSTATUS('a/b')", "DIS SBSTATUS(*)", "MOVE QL(A) TOQLOCAL(B)",
        "SUSPEND QMGR", "DISPLAY STGCLASS(*)", "DISPLAY TCLUSTER(*)", "RESOLVE INDOUBT(X)",
        "RECOVER BSDS", "SET ARCHIVE",
    ],
)  # fmt: skip
def test_commands_of_IBM_MQ_that_are_not_there_say_so(mqsc: Mqsc, command: str) -> None:
    output = mqsc(command, code=10)
    assert "not supported by the embedded queue manager" in output
    assert "No commands have a syntax error." in output


def test_the_CCSID_in_a_dump_is_taken_where_it_is_the_queue_managers_own(mqlite: Mqlite) -> None:
    mqlite("create", "QM1", "--ccsid", "819")
    mqlite("mqsc", "QM1", stdin="ALTER QMGR CCSID(819) DESCR('a dump of it')")
    refused = mqlite("mqsc", "QM1", stdin="ALTER QMGR CCSID(850) DESCR('another')", code=10).output
    assert "AMQ8101S: IBM MQ error (CCSID(850), which mqlite create --ccsid chooses)" in refused
    shown = mqlite("mqsc", "QM1", stdin="DISPLAY QMGR CCSID DESCR").output
    assert "CCSID(819)" in shown
    assert "DESCR(a dump of it)" in shown


@pytest.mark.parametrize("operator", ["CT", "EX", "CTG", "EXG"])
@pytest.mark.parametrize("attribute", ["DESCR", "MAXDEPTH", "PUT", "TRIGGER"])
def test_a_text_contains_nothing_only_a_list_does(mqsc: Mqsc, operator: str, attribute: str) -> None:
    """IBM MQ, "DISPLAY NAMELIST": CT and EX are for lists. No object has such a text is not what is wrong."""
    value = {"DESCR": "X", "MAXDEPTH": "5000", "PUT": "ENABLED", "TRIGGER": "TRIGGER"}[attribute]
    assert "AMQ8412E" in mqsc(f"DISPLAY QLOCAL(*) WHERE({attribute} {operator} {value})", code=10)


@pytest.mark.parametrize(
    ("command", "value"),
    [
        ("DEFINE CHANNEL(C) CHLTYPE(CLUSSDR) CONNAME('h') CLUSTER(X)", "CHLTYPE(CLUSSDR)"),
        ("DEFINE CHANNEL(C) CHLTYPE(clusrcvr) CONNAME('h') CLUSTER(X)", "CHLTYPE(CLUSRCVR)"),
        ("DEFINE CHANNEL('SYSTEM.DEF.AMQP') CHLTYPE(AMQP) REPLACE", "CHLTYPE(AMQP)"),
        ("DISPLAY CHANNEL(*) CHLTYPE(MQTT)", "CHLTYPE(MQTT)"),
        ("DEFINE CHANNEL(C) CHLTYPE(RCVR) COMPMSG(LZ4FAST)", "COMPMSG(LZ4FAST)"),
        *(
            (f"{verb} AUTHREC PROFILE(X) OBJTYPE({kind}) PRINCIPAL('a'){add}", f"OBJTYPE({kind})")
            for kind in ("CLNTCONN", "COMMINFO", "RQMNAME", "SERVICE")
            for verb, add in (("SET", " AUTHADD(DSP)"), ("DELETE", ""), ("DISPLAY", ""))
        ),
    ],
)
def test_a_value_that_IBM_MQ_has_is_no_error_of_the_script(mqsc: Mqsc, command: str, value: str) -> None:
    """As with keywords: a dump has such values, and what is said of it is that mqlite passes it over."""
    said = mqsc(command, code=10)
    assert f"AMQ8101S: IBM MQ error ({value}): mqlite does not have it." in said
    assert "No commands have a syntax error." in said


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("DEFINE SUB(S) TOPICSTR('a') DEST(NOWHERE)", "MQRC_UNKNOWN_OBJECT_NAME NOWHERE"),
        ("DEFINE SUB(S) TOPICOBJ(NO.TOPIC) DEST(Q)", "MQRC_UNKNOWN_OBJECT_NAME NO.TOPIC"),
    ],
)
def test_what_a_subscription_misses_is_named_not_the_subscription(mqsc: Mqsc, command: str, said: str) -> None:
    assert f"AMQ8101S: IBM MQ error ({said}) has occurred." in mqsc("DEFINE QLOCAL(Q)", command, code=10)
