"""A closed loop (T12b) is a queue that looks the same each time when a run is about to start."""

from __future__ import annotations

from mqlite_support import Application
from pymqi import CMQC

from mqops.mq.connection import MqConnection, connect
from mqops.trigger.core.unchanged import Fingerprint, Unchanged, loop
from mqops.trigger.fingerprint import fingerprint_of

SAME = Fingerprint(messages="a", depth=3, backouts=7)


def starts(*looks: Fingerprint, most: int = 3) -> list[str]:
    """Why each start was refused, or nothing."""
    seen, answers = Unchanged(), []
    for look in looks:
        seen = Unchanged.from_json(seen.to_json()).before_start(look)
        answers.append(loop("Q", seen, look, most=most))
        if not answers[-1]:
            seen = seen.started()
    return answers


def test_T12b_after_so_many_runs_that_changed_nothing_no_more_start() -> None:
    answers = starts(*[SAME] * 6)
    assert answers[:3] == [""] * 3
    assert all("a closed loop (T12b): 3 runs in a row left the queue Q as it was" in why for why in answers[3:])
    assert "its BackoutCount is 7" in answers[3]


def test_T12b_a_queue_that_changes_is_no_loop() -> None:
    assert starts(*(Fingerprint(messages="a", depth=number) for number in range(1, 9)), most=1) == [""] * 8
    assert starts(*(Fingerprint(messages=str(number), depth=1) for number in range(8)), most=1) == [""] * 8
    assert starts(SAME, SAME, SAME, Fingerprint(messages="a", depth=4), SAME, SAME, SAME) == [""] * 7


def test_T12b_an_empty_queue_is_no_loop() -> None:
    assert starts(*[Fingerprint(messages="", depth=0)] * 8, most=1) == [""] * 8


def test_T12b_a_pass_by_hand_between_two_of_the_monitor_counts_on() -> None:
    seen = Unchanged().before_start(Fingerprint(messages="b", depth=1), connection="a").started()
    for connection in ("", "a", "a"):  # by hand it is seen changed, and stays so
        seen = seen.before_start(SAME, connection=connection).started()
    assert (seen.runs, seen.connection) == (3, "a")
    assert seen.before_start(SAME, connection="b").runs == 0


def test_the_sight_of_a_queue_is_its_first_messages_and_its_depth(application: Application) -> None:
    def look() -> Fingerprint:
        with connect(MqConnection(queue_manager="QM1")) as session:
            return fingerprint_of(session, "Q1")

    assert look() == Fingerprint(messages="", depth=0)
    application.put("Q1", b"x" * 5000)
    one = look()
    assert (one.messages != "", one.depth, one.backouts) == (True, 1, 0)
    assert look() == one, "to look changes nothing"
    queue = application.open("Q1")
    application.get(queue, CMQC.MQGMO_SYNCPOINT)
    application.manager.backout()
    assert look() == Fingerprint(messages=one.messages, depth=1, backouts=1), "a back-out changes nothing"
    application.put("Q1", b"y")
    assert (look().messages != one.messages, look().depth) == (True, 2)
    application.get(queue)
    assert look().messages not in {"", one.messages}


def test_T12b_a_program_that_leaves_the_first_message_and_gets_the_others_is_no_loop(application: Application) -> None:
    application.put("Q1", b"nobody wants me")
    queue, looks = application.open("Q1"), []
    with connect(MqConnection(queue_manager="QM1")) as session:
        for number in range(5):
            sent = application.put("Q1", b"order", CorrelId=bytes([number] * 24))
            looks.append(fingerprint_of(session, "Q1"))
            application.get(queue, MsgId=sent.MsgId)
    assert starts(*looks, most=1) == [""] * 5
