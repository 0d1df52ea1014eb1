"""By whose authority a receiving channel puts: MCAUSER's, and with PUTAUT(CTX) that of the message's user (P01).

IBM MQ, "Message channel agent user identifier (MCAUSER)", "PUT authority (PUTAUT)", "Channel authorization".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pymqi
import pytest
from pymqi import CMQC, CMQCFC

from mqwire import constants as c
from mqwire.structures import MQMD, MQXQH

if TYPE_CHECKING:
    from .conftest import Estate

DEAD = "SYSTEM.DEAD.LETTER.QUEUE"
COMMANDS = "SYSTEM.ADMIN.COMMAND.QUEUE"
FULL_REPORT = CMQC.MQRO_EXCEPTION_WITH_FULL_DATA


def allow(estate: Estate, user: str, queue: str, authorities: str) -> None:
    """Give a user authorities on a queue of B."""
    estate.mqsc("B", f"SET AUTHREC PROFILE({queue}) OBJTYPE(QUEUE) PRINCIPAL('{user}') AUTHADD({authorities})")


def allow_on_manager(estate: Estate, user: str, authorities: str) -> None:
    """Give a user authorities on B itself."""
    estate.mqsc("B", f"SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('{user}') AUTHADD({authorities})")


def put(body: bytes, queue: str = "TARGET", *, user: bytes = b"", **fields: Any) -> None:
    """Put a persistent message at A for a queue of B, in the name of `user`, or without context."""
    connection = pymqi.connect("A")
    od = pymqi.OD(ObjectName=queue.encode(), ObjectQMgrName=b"B")
    named = CMQC.MQOO_SET_IDENTITY_CONTEXT if user else 0
    opened = pymqi.Queue(connection, od, CMQC.MQOO_OUTPUT | named)
    context = CMQC.MQPMO_SET_IDENTITY_CONTEXT if user else CMQC.MQPMO_NO_CONTEXT
    md = pymqi.MD(Version=2, **{"UserIdentifier": user, "Persistence": CMQC.MQPER_PERSISTENT} | fields)
    opened.put(body, md, pymqi.PMO(Options=context | CMQC.MQPMO_NO_SYNCPOINT))
    opened.close()
    connection.disconnect()


def bodies(estate: Estate, queue: str) -> list[bytes]:
    """The data of what is on a queue of B; on the dead-letter queue without the MQDLH."""
    found = estate.take("B", queue)
    return [each.dead_letter_header()[1] if queue == DEAD else each.body for each in found]


@pytest.fixture
def low(estate: Estate) -> Estate:
    """A and B; the receiver puts as a user who may put on TARGET only, which is put-disabled."""
    estate.channel_pair(receiver="MRRTY(0) MCAUSER('lowuser')")
    estate.mqsc("B", "ALTER QLOCAL(TARGET) PUT(DISABLED)")
    allow_on_manager(estate, "lowuser", "CONNECT,SETALL")
    allow(estate, "lowuser", "TARGET", "PUT,SETALL")
    return estate


def command() -> bytes:
    """A PCF command that defines a queue, whose description has a letter that EBCDIC of CCSID 500 has not."""
    header = pymqi.CFH(
        Type=CMQCFC.MQCFT_COMMAND, Version=CMQCFC.MQCFH_VERSION_1, Command=CMQCFC.MQCMD_CREATE_Q, ParameterCount=3
    )
    name = pymqi.CFST(Parameter=CMQC.MQCA_Q_NAME, String=b"MADE.BY.REPORT")
    kind = pymqi.CFIN(Parameter=CMQC.MQIA_Q_TYPE, Value=CMQC.MQQT_LOCAL)
    description = pymqi.CFST(Parameter=CMQC.MQCA_Q_DESC, String="ж".encode())
    return header.pack() + name.pack() + kind.pack() + description.pack()


def test_P01_without_authority_on_DEADQ_the_message_stays(low: Estate) -> None:
    put(b"x", user=b"anybody")
    low.run_channel_until_it_stops()
    assert (low.depth("A", "B"), low.depth("B", DEAD)) == (1, 0)
    allow(low, "lowuser", DEAD, "PUT,SETALL")
    low.run_channel()
    assert bodies(low, DEAD) == [b"x"]


def test_P01_an_exception_report_is_put_by_MCAUSER_and_gives_no_commands(low: Estate) -> None:
    allow(low, "lowuser", DEAD, "PUT,SETALL")
    fields = {"Format": CMQC.MQFMT_ADMIN, "ReplyToQ": COMMANDS.encode(), "ReplyToQMgr": b"B", "Report": FULL_REPORT}
    put(command(), user=b"mqm", **fields)
    low.run_channel()
    reasons = [found.dead_letter_header()[0].reason for found in low.take("B", DEAD)]
    assert reasons == [c.MQRC_PUT_INHIBITED, c.MQRC_NOT_AUTHORIZED]  # the message, and its report
    assert "AMQ8147E" in low.mqsc("B", "DISPLAY QLOCAL(MADE.BY.REPORT)", code=10)


@pytest.mark.parametrize("granted", ["NONE", "PUT", "PASSID", "PUT,PASSID"])
def test_P01_an_exception_report_needs_PUT_and_PASSID_of_the_messages_user(low: Estate, granted: str) -> None:
    low.mqsc("B", "DEFINE QLOCAL(REPORTS)")
    for queue in (DEAD, "REPORTS"):
        allow(low, "lowuser", queue, "PUT,SETALL")
    allow(low, "clerk", "REPORTS", granted)
    put(b"x", user=b"clerk", ReplyToQ=b"REPORTS", ReplyToQMgr=b"B", Report=FULL_REPORT)
    low.run_channel()
    reported = granted == "PUT,PASSID"
    assert (low.depth("B", "REPORTS"), low.depth("B", DEAD)) == ((1, 1) if reported else (0, 2))


@pytest.mark.parametrize("mca_user", ["", "MCAUSER('agent')"])
def test_P01_with_PUTAUT_CTX_the_messages_user_has_to_be_authorized(estate: Estate, mca_user: str) -> None:
    estate.channel_pair(receiver=f"MRRTY(0) PUTAUT(CTX) {mca_user}")
    allow_on_manager(estate, "agent", "ALTUSR,SETALL")
    allow(estate, "agent", "TARGET", "SETALL")
    allow(estate, "agent", DEAD, "PUT,SETALL")
    allow(estate, "clerk", "TARGET", "PUT")
    for user in (b"clerk", b"stranger"):
        put(b"by " + user, user=user)
    put(b"by nobody")
    estate.run_channel()
    assert bodies(estate, "TARGET") == [b"by clerk"]
    dead = [found.dead_letter_header() for found in estate.take("B", DEAD)]
    assert [(header.reason, header.dest_q_name, body) for header, body in dead] == [
        (c.MQRC_NOT_AUTHORIZED, "TARGET", b"by stranger"),
        (c.MQRC_NOT_AUTHORIZED, "TARGET", b"by nobody"),
    ]


@pytest.mark.parametrize(
    ("on_manager", "on_queue"),
    [
        pytest.param("SETALL", "SETALL", id="no-ALTUSR"),
        pytest.param("ALTUSR", "SETALL", id="no-SETALL-on-the-queue-manager"),
        pytest.param("ALTUSR,SETALL", "PUT", id="no-SETALL-on-the-queue"),
    ],
)
def test_P01_with_PUTAUT_CTX_MCAUSER_has_to_be_authorized_too(estate: Estate, on_manager: str, on_queue: str) -> None:
    estate.channel_pair(receiver="MRRTY(0) PUTAUT(CTX) MCAUSER('agent')")
    allow_on_manager(estate, "agent", on_manager)
    allow(estate, "agent", "TARGET", on_queue)
    allow(estate, "clerk", "TARGET", "PUT,SETALL")
    put(b"x", user=b"clerk")
    estate.run_channel_until_it_stops()
    assert (estate.depth("A", "B"), estate.depth("B", "TARGET")) == (1, 0)


def test_P02_an_MQXQH_of_ones_own_gives_no_commands_to_the_sending_queue_manager(estate: Estate) -> None:
    estate.channel_pair(sender="CONVERT(YES)", platform="zos")
    estate.mqsc("A", f"ALTER QMGR DEADQ({DEAD})")
    inner = MQMD(
        version=1, user_identifier="mqm", format="MQADMIN", report=FULL_REPORT, persistence=CMQC.MQPER_PERSISTENT,
        reply_to_q=COMMANDS, reply_to_q_mgr="A",
    )  # fmt: skip
    header = MQXQH(remote_q_name="TARGET", remote_q_mgr_name="B", msg_desc=inner).pack()
    connection = pymqi.connect("A")
    opened = pymqi.Queue(connection, "B", CMQC.MQOO_OUTPUT | CMQC.MQOO_SET_IDENTITY_CONTEXT)
    md = pymqi.MD(Version=2, Format=CMQC.MQFMT_XMIT_Q_HEADER, UserIdentifier=b"clerk", Persistence=1)
    opened.put(header + command(), md, pymqi.PMO(Options=CMQC.MQPMO_SET_IDENTITY_CONTEXT))
    opened.close()
    connection.disconnect()
    estate.run_channel()
    reasons = [found.dead_letter_header()[0].reason for found in estate.take("A", DEAD)]
    assert reasons == [c.MQRC_NOT_CONVERTED, c.MQRC_NOT_AUTHORIZED]  # the message, and its report
    assert "AMQ8147E" in estate.mqsc("A", "DISPLAY QLOCAL(MADE.BY.REPORT)", code=10)
