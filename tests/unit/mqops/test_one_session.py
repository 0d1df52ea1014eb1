"""The one session of a step: what a part of the step leaves behind, no other part meets."""

from __future__ import annotations

import pytest
from pymqi import CMQC

from mqops.errors import MQError
from mqops.mq.browse import OPEN_OPTIONS
from mqops.mq.connection import OneSession, connect, one_session

PUT = CMQC.MQOO_OUTPUT
EXCLUSIVE = CMQC.MQOO_INPUT_EXCLUSIVE


@pytest.fixture
def manager(queue_manager):
    return queue_manager(mqsc="DEFINE QLOCAL(A)\n")


def put(session) -> None:
    md = session.get(session.open("A", OPEN_OPTIONS), CMQC.MQGMO_BROWSE_FIRST).md
    assert session.put(session.open("A", PUT), bytes(md), b"new", CMQC.MQPMO_SYNCPOINT) == 0


def test_it_is_made_once_and_each_part_finds_it_as_a_new_one(manager):
    manager.put("A", [({}, b"x")])
    with OneSession(manager.connection) as step:
        with connect(step) as first:
            put(first)  # and never committed
            first.open("A", EXCLUSIVE)
        with connect(step) as second:
            assert second is first
            second.open("A", EXCLUSIVE)  # the handle of the first part is closed
            second.commit()
        assert manager.bodies("A") == [b"x"]  # what the first part had put was backed out


def test_what_a_part_leaves_with_an_error_is_backed_out_too(manager):
    manager.put("A", [({}, b"x")])

    def fails(step: OneSession) -> None:
        with connect(step) as session:
            put(session)
            session.open("NOT.THERE", OPEN_OPTIONS)

    with OneSession(manager.connection) as step:
        with pytest.raises(MQError):
            fails(step)
        with connect(step) as session:
            session.commit()
        assert manager.bodies("A") == [b"x"]


def test_a_part_inside_of_another_has_a_connection_of_its_own(manager):
    manager.put("A", [({}, b"x")])
    with OneSession(manager.connection) as step, connect(step) as outer:
        put(outer)
        with connect(step) as inner:
            assert inner is not outer
        outer.commit()
    assert manager.bodies("A") == [b"x", b"new"]


def test_a_session_that_is_lost_is_not_handed_on(manager):
    with OneSession(manager.connection) as step:
        with connect(step) as first:
            first.pymqi_manager.disconnect()
        with connect(step) as second:
            assert second is not first
            assert second.open("A", OPEN_OPTIONS)


def test_a_step_in_a_step_is_the_same(manager):
    with one_session(manager.connection) as step:
        with one_session(step) as same:
            assert same is step
        with connect(step) as session:  # it was not ended
            assert isinstance(session.open("A", OPEN_OPTIONS), int)
            assert session.get(session.open("A", OPEN_OPTIONS), CMQC.MQGMO_BROWSE_FIRST) is None


def test_without_a_step_a_session_ends_with_its_part(manager):
    with connect(manager.connection) as session:
        pass
    with pytest.raises(MQError):
        session.open("A", OPEN_OPTIONS)
