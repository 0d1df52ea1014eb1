"""Errors: every reason code has one class, every class says what to do, every text is what a person sees."""

from __future__ import annotations

import pickle

import pytest

from mqops import errors
from mqops.act.core.scope import DESTINATION, EVERYTHING, Scope, scope_of
from mqops.errors import (
    CLASS_OF_REASON,
    LOST_CONNECTION,
    TRANSIENT,
    UNKNOWN,
    MQError,
    MqopsError,
    OutcomeUnknown,
    PermanentMQError,
    TransientMQError,
    mq_error,
)
from mqwire import constants as c

REASONS = {name: value for name, value in vars(c).items() if name.startswith("MQRC_") and isinstance(value, int)}


def test_every_reason_code_has_a_class():
    assert len(REASONS) > 400
    assert set(REASONS.values()) == set(CLASS_OF_REASON)
    assert set(CLASS_OF_REASON.values()) == {OutcomeUnknown, PermanentMQError, TransientMQError}


def test_the_lists_do_not_contradict_each_other():
    assert not TRANSIENT & UNKNOWN
    assert not DESTINATION & EVERYTHING
    assert LOST_CONNECTION <= TRANSIENT | UNKNOWN


@pytest.mark.parametrize(
    ("reason", "kind", "scope"),
    [
        (c.MQRC_CONNECTION_BROKEN, TransientMQError, Scope.EVERYTHING),  # 2009: everything stops
        (c.MQRC_Q_MGR_NAME_ERROR, PermanentMQError, Scope.MESSAGE),  # 2058: never from a put
        (c.MQRC_NOT_AUTHORIZED, PermanentMQError, Scope.DESTINATION),  # 2035: this destination only
        (c.MQRC_Q_FULL, PermanentMQError, Scope.DESTINATION),  # 2053
        (c.MQRC_UNKNOWN_OBJECT_NAME, PermanentMQError, Scope.DESTINATION),  # 2085
        (c.MQRC_PUT_INHIBITED, PermanentMQError, Scope.DESTINATION),  # 2051
        (c.MQRC_MSG_TOO_BIG_FOR_Q, PermanentMQError, Scope.MESSAGE),  # 2030: the next may be shorter
        (c.MQRC_OBJECT_CHANGED, TransientMQError, Scope.STALE_HANDLE),  # 2041: open it again
        (c.MQRC_SYNCPOINT_LIMIT_REACHED, TransientMQError, Scope.TOO_MUCH),  # 2024: smaller units of work
        (c.MQRC_STORAGE_MEDIUM_FULL, PermanentMQError, Scope.EVERYTHING),  # 2192
        (c.MQRC_OUTCOME_PENDING, OutcomeUnknown, Scope.EVERYTHING),  # 2124
        (99999, PermanentMQError, Scope.MESSAGE),  # no such code
    ],
)
def test_class_and_scope_of_a_reason_code(reason, kind, scope):
    assert type(mq_error(2, reason, verb="MQPUT")) is kind
    assert scope_of(reason) is scope


def test_a_commit_that_lost_its_connection_has_an_unknown_outcome():
    for reason in LOST_CONNECTION:
        assert type(mq_error(2, reason, verb="MQCMIT")) is OutcomeUnknown
    assert type(mq_error(2, c.MQRC_BACKED_OUT, verb="MQCMIT")) is TransientMQError


def test_the_text_says_what_failed_where_and_what_to_do():
    error = mq_error(2, c.MQRC_UNKNOWN_OBJECT_NAME, verb="MQOPEN", object_name="PAYMENTS.IN")
    assert str(error) == (
        "MQOPEN on PAYMENTS.IN failed: MQRC_UNKNOWN_OBJECT_NAME (2085). Define it, or correct the name"
    )
    assert (error.comp, error.reason, error.symbol, error.verb, error.object_name) == (
        *(2, 2085, "MQRC_UNKNOWN_OBJECT_NAME"),
        *("MQOPEN", "PAYMENTS.IN"),
    )
    assert str(mq_error(2, 2009, verb="MQGET")) == "MQGET failed: MQRC_CONNECTION_BROKEN (2009)"


def test_an_error_survives_the_way_from_a_spark_worker():
    error = mq_error(2, 2035, verb="MQCONNX", object_name="QM1", advice="Ask the administrator")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is PermanentMQError
    assert str(copy) == str(error)
    assert (copy.reason, copy.verb, copy.advice) == (2035, "MQCONNX", "Ask the administrator")


@pytest.mark.parametrize(
    "kind",
    [
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, MqopsError) and not issubclass(kind, MQError)
    ],
)
def test_without_a_text_an_error_says_its_docstring(kind):
    assert str(kind()) == " ".join(kind.__doc__.split("\n\n")[0].split())
    assert str(kind("this")) == "this"
