"""A closed loop (T12b) is a queue that looks the same each time when a run is about to start."""

from __future__ import annotations

from mqlite_support import Application
from pymqi import CMQC

from mqops.mq.connection import MqConnection, connect
from mqops.trigger.core.unchanged import Sight, Unchanged, loop
from mqops.trigger.sight import sight

SAME = Sight(first="a", depth=3, backouts=7)


def starts(*looks: Sight, most: int = 3) -> list[str]:
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
    assert starts(*(Sight(first="a", depth=number) for number in range(1, 9)), most=1) == [""] * 8
    assert starts(*(Sight(first=str(number), depth=1) for number in range(8)), most=1) == [""] * 8
    assert starts(SAME, SAME, SAME, Sight(first="a", depth=4), SAME, SAME, SAME) == [""] * 7


def test_T12b_an_empty_queue_is_no_loop() -> None:
    assert starts(*[Sight(first="", depth=0)] * 8, most=1) == [""] * 8


def test_the_sight_of_a_queue_is_its_first_message_and_its_depth(application: Application) -> None:
    def look() -> Sight:
        with connect(MqConnection(queue_manager="QM1")) as session:
            return sight(session, "Q1")

    assert look() == Sight(first="", depth=0)
    application.put("Q1", b"x" * 5000)
    one = look()
    assert (one.first != "", one.depth, one.backouts) == (True, 1, 0)
    assert look() == one, "to look changes nothing"
    queue = application.open("Q1")
    application.get(queue, CMQC.MQGMO_SYNCPOINT)
    application.manager.backout()
    assert look() == Sight(first=one.first, depth=1, backouts=1), "a consumer that backs out has not changed it"
    application.put("Q1", b"y")
    assert (look().first, look().depth) == (one.first, 2)
    application.get(queue)
    assert look().first not in {"", one.first}
