"""Confirmation of arrival and of delivery."""

from __future__ import annotations

import pytest
from mqlite_support import Application, run_mqsc
from pymqi import CMQC


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
