"""Confirmation of arrival and of delivery; by whose authority these reports and those of expiration are put."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pymqi
import pytest
from mqlite_support import Application, allow, expire, refused, run_mqsc
from pymqi import CMQC

from mqwire.structures import MQDLH, MQMD, MQXQH

ARRIVAL, DELIVERY, EXPIRATION = (
    CMQC.MQRO_COA_WITH_FULL_DATA, CMQC.MQRO_COD_WITH_FULL_DATA, CMQC.MQRO_EXPIRATION_WITH_FULL_DATA,
)  # fmt: skip
DEAD = "SYSTEM.DEAD.LETTER.QUEUE"


@pytest.fixture
def reporting(application: Application) -> Application:
    """With a queue for reports."""
    run_mqsc("DEFINE QLOCAL(REPORTS)")
    return application


def test_arrival_is_confirmed(reporting: Application) -> None:
    sent = reporting.put("Q1", b"data", Report=CMQC.MQRO_COA_WITH_FULL_DATA, ReplyToQ=b"REPORTS")
    md, body = reporting.get("REPORTS")
    assert (md.Feedback, md.CorrelId, body) == (CMQC.MQFB_COA, sent.MsgId, b"data")


def test_arrival_in_a_unit_of_work_is_confirmed_by_its_commit(reporting: Application) -> None:
    reporting.put("Q1", Report=CMQC.MQRO_COA, ReplyToQ=b"REPORTS", options=CMQC.MQPMO_SYNCPOINT)
    assert reporting.bodies("REPORTS") == []
    reporting.manager.backout()
    assert reporting.depth("REPORTS") == 0
    reporting.put("Q1", Report=CMQC.MQRO_COA, ReplyToQ=b"REPORTS", options=CMQC.MQPMO_SYNCPOINT)
    reporting.manager.commit()
    assert reporting.bodies("REPORTS") == [b""]


def test_delivery_is_confirmed(reporting: Application) -> None:
    reporting.put("Q1", b"data", Report=CMQC.MQRO_COD_WITH_DATA, ReplyToQ=b"REPORTS")
    opened = reporting.open("Q1")
    reporting.get(opened, CMQC.MQGMO_BROWSE_NEXT)
    assert reporting.depth("REPORTS") == 0
    reporting.get(opened, CMQC.MQGMO_SYNCPOINT)
    reporting.manager.backout()
    assert reporting.depth("REPORTS") == 0
    reporting.get(opened, CMQC.MQGMO_SYNCPOINT)
    reporting.manager.commit()
    md, body = reporting.get("REPORTS")
    assert (md.Feedback, body) == (CMQC.MQFB_COD, b"data")


def test_a_report_of_delivery_is_given_what_remains_of_the_lifetime(reporting: Application) -> None:
    reporting.put("Q1", Expiry=6000, Report=CMQC.MQRO_COD | CMQC.MQRO_PASS_DISCARD_AND_EXPIRY, ReplyToQ=b"REPORTS")
    expire()
    got, _ = reporting.get("Q1")
    report, _ = reporting.get("REPORTS")
    assert 5000 < report.Expiry <= got.Expiry < 6000


def test_a_report_of_expiration_does_not_expire_with_its_message(reporting: Application) -> None:
    report = CMQC.MQRO_EXPIRATION | CMQC.MQRO_PASS_DISCARD_AND_EXPIRY
    reporting.put("Q1", Expiry=1, Report=report, ReplyToQ=b"REPORTS")
    expire()
    with refused(CMQC.MQRC_NO_MSG_AVAILABLE):
        reporting.get("Q1")
    expire()
    md, _ = reporting.get("REPORTS")
    assert (md.Feedback, 100 < md.Expiry <= 600) == (CMQC.MQFB_EXPIRATION, True)


@pytest.fixture
def owner(clerk: Application) -> Iterator[Application]:
    """The owner of the queue manager, where clerk may put on Q1 and others get what is there."""
    run_mqsc(f"DEFINE QLOCAL(SECRET)\nALTER QMGR DEADQ({DEAD})")
    allow("Q1", "PUT")
    made = Application()
    yield made
    made.manager.disconnect()


def cause(putter: Application, owner: Application, option: int, queue: str = "Q1", **fields: Any) -> None:
    """Put a message that asks for a report, and have what it reports happen."""
    expiry = 1 if option == EXPIRATION else CMQC.MQEI_UNLIMITED
    putter.put(queue, b"data", Report=option, Expiry=expiry, **{"ReplyToQ": b"SECRET", "Persistence": 1} | fields)
    if option == EXPIRATION:
        expire()
        with refused(CMQC.MQRC_NO_MSG_AVAILABLE):
            owner.get("Q1")
    elif option == DELIVERY:
        owner.get("Q1")


@pytest.mark.parametrize("option", [ARRIVAL, DELIVERY, EXPIRATION])
def test_a_report_goes_where_the_user_of_its_message_may_put(
    clerk: Application, owner: Application, option: int
) -> None:
    for granted in ("NONE", "PUT", "PASSID"):
        run_mqsc("SET AUTHREC PROFILE(SECRET) OBJTYPE(QUEUE) PRINCIPAL('clerk') AUTHRMV(ALL)")
        allow("SECRET", granted)
        cause(clerk, owner, option)
        cause(clerk, owner, option, Persistence=0)  # dropped
        assert (owner.depth("SECRET"), owner.depth(DEAD)) == (0, 1)
        md, body = owner.get(DEAD)
        assert (MQDLH.unpack(body).reason, MQDLH.unpack(body).dest_q_name) == (CMQC.MQRC_NOT_AUTHORIZED, "SECRET")
        assert (md.UserIdentifier.strip(), body[MQDLH.LAYOUT.size :]) == (b"clerk", b"data")
    allow("SECRET", "PUT,PASSID")
    cause(clerk, owner, option)
    assert owner.bodies("SECRET") == [b"data"]


def test_the_owner_needs_no_authority_but_a_message_without_context_has_none(owner: Application) -> None:
    owner.put("Q1", Report=ARRIVAL, ReplyToQ=b"SECRET", options=CMQC.MQPMO_NO_CONTEXT)
    assert owner.depth("SECRET") == 0
    owner.put("Q1", Report=ARRIVAL, ReplyToQ=b"SECRET")
    assert owner.depth("SECRET") == 1


def test_a_report_needs_no_authority_of_an_alternate_user(clerk: Application, owner: Application) -> None:
    """Whom the message does not name: its user is that of the program which put it."""
    run_mqsc("DEFINE TOPIC(FRUIT) TOPICSTR('fruit')")
    allow("", "ALTUSR", kind="QMGR")
    allow("Q1", "PUT", entity="PRINCIPAL('other')")
    allow("FRUIT", "PUB", kind="TOPIC", entity="PRINCIPAL('other')")
    options = CMQC.MQOO_OUTPUT | CMQC.MQOO_ALTERNATE_USER_AUTHORITY
    opened = clerk.open("Q1", options, AlternateUserId=b"other")
    named = pymqi.OD(Version=4, ObjectType=CMQC.MQOT_TOPIC, ObjectName=b"FRUIT", AlternateUserId=b"other")
    topic = pymqi.Topic(clerk.manager, topic_desc=named, open_opts=options)
    allow("SECRET", "PUT,PASSID", entity="PRINCIPAL('other')")
    opened.put(b"data", pymqi.MD(Report=ARRIVAL, ReplyToQ=b"SECRET"))
    assert owner.depth("SECRET") == 0
    with refused(CMQC.MQRC_NOT_AUTHORIZED):
        topic.pub(b"data", pymqi.MD(Report=ARRIVAL, ReplyToQ=b"SECRET"))
    allow("SECRET", "PUT,PASSID")
    run_mqsc("SET AUTHREC PROFILE(SECRET) OBJTYPE(QUEUE) PRINCIPAL('other') AUTHRMV(ALL)")
    opened.put(b"data", pymqi.MD(Report=ARRIVAL, ReplyToQ=b"SECRET"))
    topic.pub(b"data", pymqi.MD(Report=ARRIVAL, ReplyToQ=b"SECRET"))
    assert owner.depth("SECRET") == 1
    topic.close()


def test_the_definition_that_is_the_ReplyToQ_counts(clerk: Application, owner: Application) -> None:
    run_mqsc("DEFINE QALIAS(ALIAS) TARGET(SECRET)\nDEFINE QLOCAL(QM2) USAGE(XMITQ)")
    cause(clerk, owner, ARRIVAL, ReplyToQ=b"ALIAS")
    cause(clerk, owner, ARRIVAL, ReplyToQMgr=b"QM2")
    assert (owner.depth("SECRET"), owner.depth("QM2")) == (0, 0)
    allow("ALIAS", "PUT,PASSID")
    allow("QM2", "PUT,PASSID")
    cause(clerk, owner, ARRIVAL, ReplyToQ=b"ALIAS")
    cause(clerk, owner, ARRIVAL, ReplyToQMgr=b"QM2")
    assert (owner.depth("SECRET"), owner.depth("QM2")) == (1, 1)


def test_an_MQXQH_of_ones_own_names_nobody_else(clerk: Application, owner: Application) -> None:
    run_mqsc("DEFINE QLOCAL(QM2) USAGE(XMITQ)")
    allow("QM2", "PUT")
    inner = MQMD(
        version=1, expiry=1, report=EXPIRATION, reply_to_q="SECRET", reply_to_q_mgr="QM1", user_identifier="mqm"
    )
    header = MQXQH(remote_q_name="X", remote_q_mgr_name="QM2", msg_desc=inner).pack()
    clerk.put("QM2", header + b"data", Expiry=1, Report=EXPIRATION, ReplyToQ=b"SECRET", Format=CMQC.MQFMT_XMIT_Q_HEADER)
    expire()
    with refused(CMQC.MQRC_NO_MSG_AVAILABLE):
        owner.get("QM2")
    assert owner.depth("SECRET") == 0


@pytest.mark.parametrize("whose", ["", "SUBUSER('mqm')"])  # whoever defines it, if nobody is named
def test_a_publication_asks_for_reports_where_its_publisher_may_put(
    clerk: Application, owner: Application, whose: str
) -> None:
    run_mqsc(f"DEFINE TOPIC(FRUIT) TOPICSTR('fruit')\nDEFINE SUB('S') TOPICSTR('fruit') DEST(Q1) {whose}")
    allow("FRUIT", "PUB", kind="TOPIC")
    topic = pymqi.Topic(clerk.manager, topic_string="fruit")
    topic.open(open_opts=CMQC.MQOO_OUTPUT)
    with refused(CMQC.MQRC_NOT_AUTHORIZED):
        topic.pub(b"data", pymqi.MD(Report=DELIVERY, ReplyToQ=b"SECRET"))
    assert owner.depth("Q1") == 0
    allow("SECRET", "PUT,PASSID")
    topic.pub(b"data", pymqi.MD(Report=DELIVERY, ReplyToQ=b"SECRET"))
    topic.close()
    owner.get("Q1")  # by the authority of SUBUSER
    assert owner.bodies("SECRET") == [b"data"]
