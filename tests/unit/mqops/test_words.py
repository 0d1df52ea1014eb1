"""The words for people, on values: each test names the rule of the sentence, and loads no page and no queue manager."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mqops.actions import Action
from mqops.deciders.registry import DECIDERS, fates_of, holds_queues
from mqops.look.core.run_state import RunLine
from mqops.look.dead_letters import DeadLetterGroup, DeadLetters
from mqops.look.estate.now import ManagerNow
from mqops.look.estate.problem import Place, Problem
from mqops.look.figures import Figures, QueueFigures
from mqops.look.words import of_all
from mqops.look.words.balance import done, equation
from mqops.look.words.dead_letters import groups
from mqops.look.words.fates import MOVES, NOT_REACHED, PUTS_BACK, WHY_LEFT, Became, Fate, became, why_left
from mqops.look.words.needs import needs_in_text
from mqops.look.words.run import WhoAnswers, beside, resume_hint, since_then, state_in_words
from mqops.look.words.run_name import KINDS
from mqops.look.words.state import RunState
from mqops.look.words.text import Link, Name, OfRun, Time, joined, said, sentences
from mqops.model import Counts, Destination
from mqops.observe.core.anatomy import Group, QueueAnatomy
from mqops.workflow import Workflow


def line(state: RunState, **fields: object) -> RunLine:
    return RunLine(run="r", queue_manager="QM1", state=state, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize("state", RunState)
def test_each_state_has_a_meaning_and_a_short_one_that_does_not_repeat_its_word(state: RunState) -> None:
    assert state.meaning
    assert state.kind in {"good", "bad", "warn", "note", "quiet"}
    assert not state.beside.startswith(state.value)


def test_a_run_that_could_not_see_a_queue_does_not_just_balance() -> None:
    assert beside(line(RunState.DONE)) == "proved: it balances"
    assert beside(line(RunState.DONE, unseen=1)) == "carried out and proved, but 1 queue could not be looked at"


def test_what_checks_found_stands_for_the_meaning_of_their_state() -> None:
    assert beside(line(RunState.FAILED, checks="2 critical checks are not met")) == "2 critical checks are not met"


@pytest.mark.parametrize(
    ("state", "tasks", "word", "meaning"),
    [
        # Airflow is at work on a task
        (RunState.BEGUN, {"act": "running"}, "at work", "in Airflow the task act is on its way"),
        # nobody can answer a question whose task has ended
        (
            RunState.WAITING,
            {"approve": "failed"},
            "unanswered",
            "nothing was moved: nobody can answer the question of its plan any more",
        ),
        # act failed before it moved anything
        (RunState.APPROVED, {"act": "failed"}, "approved", "the task act failed before it moved anything"),
        # no check has looked at the snapshot
        (
            RunState.OBSERVED,
            {"quality": "failed"},
            "not checked",
            "the task quality has not checked the messages: its log in Airflow says why",
        ),
    ],
)
def test_airflow_knows_better_than_the_files_of_a_run(
    state: RunState, tasks: dict[str, str], word: str, meaning: str
) -> None:
    assert state_in_words(line(state), tasks)[:2] == (word, meaning)


@pytest.mark.parametrize(
    ("problem", "does"),
    [
        *((Problem(what="x", place=place, about="A"), "mqops ") for place in Place),
        (Problem(what="x", backout_queue="B"), "mqops backout run B -m QM1 --dry-run --rules FILE"),
        (Problem(what="x", place=Place.QUEUE, about="A", looping_queue="A"), "mqops backout guard A -m QM1"),
        (Problem(what="x"), "mqops doctor QM1"),  # whatever says nothing of what to do
        (Problem(what="x", remedy="START CHANNEL(C)"), ""),
    ],
)
def test_each_line_of_what_needs_a_person_has_a_command_or_says_what_to_do(problem: Problem, does: str) -> None:
    (group,) = needs_in_text([ManagerNow(name="QM1", problems=(problem,))])
    (line,) = group.lines
    assert str(line.does).startswith(does)
    assert str(line.does) or line.remedy


@pytest.mark.parametrize(
    ("remedy", "said"),
    [
        ("Let it be emptied", "x. Let it be emptied. mqops doctor QM1"),
        ("Raise it: ALTER QLOCAL(A) MAXDEPTH(4)", "x. Raise it: ALTER QLOCAL(A) MAXDEPTH(4). mqops doctor QM1"),
        ("See `mqops ledger verify`", "x. See `mqops ledger verify`. mqops doctor QM1"),
        ("It is in order.", "x. It is in order. mqops doctor QM1"),
    ],
)
def test_in_a_line_of_text_what_to_do_ends_before_the_command_that_shows_more(remedy: str, said: str) -> None:
    problem = Problem(what="x", remedy=remedy, place=Place.CONNECTION)
    (group,) = needs_in_text([ManagerNow(name="QM1", problems=(problem,))])
    assert [one.line for one in group.lines] == [f"QM1: {said}"]


def test_an_undo_puts_back_and_takes_copies_away() -> None:
    assert fates_of("undo") is PUTS_BACK
    assert all(fates_of(name) is MOVES for name in DECIDERS if name != "undo")
    assert PUTS_BACK.words(would=False, discards=False) == {"moved": "put back", "left": "left", "gone": "gone"}
    assert PUTS_BACK.words(would=False)[Fate.DISCARDED] == "taken away"


def test_a_dry_run_would_do_and_a_copy_is_not_moved() -> None:
    assert MOVES.words(would=True) == {
        "moved": "would be moved",
        "discarded": "would be discarded",
        "left": "would stay",
    }
    assert MOVES.words(would=True, copies=True)[Fate.MOVED] == "would be copied"
    assert MOVES.words(would=False, copies=True)[Fate.MOVED] == "copied"


def test_a_balance_says_0_discarded_of_a_plan_that_could_discard_only() -> None:
    counts = Counts(planned=3, moved=2, left=1)
    assert equation(counts, MOVES) == "2 moved + 0 discarded + 1 left + 0 gone"
    assert equation(counts, PUTS_BACK) == "2 put back + 1 left + 0 gone"
    assert done(Counts(moved=2, discarded=1), PUTS_BACK, copies=False) == [(2, "put back"), (1, "taken away")]


def test_what_no_run_has_reached_is_not_said_to_be_left_by_one() -> None:
    words = MOVES.words(would=False)
    assert became(Became.LEFT, NOT_REACHED, words) == "still on the queue"
    assert became(Became.FAILED, "MQRC_Q_FULL", words) == "left: its try failed"
    assert became(Became.LEFT, WHY_LEFT[Action.ERROR], words) == "left"


def test_a_message_that_a_person_did_not_choose_is_left_by_no_table() -> None:
    why = WHY_LEFT[Action.IGNORE]
    assert (why_left(why, by_choice=True), why_left(why, by_choice=False)) == ("it was not chosen", why)


def test_the_runs_of_each_workflow_have_a_name() -> None:
    assert {*KINDS} == {*Workflow}, "say what its runs are about: KINDS in look/words/run_name.py"


def test_an_undo_is_known_by_the_name_of_its_decider() -> None:
    assert [name for name in DECIDERS if line(RunState.DONE, workflow=name).is_undo] == ["undo"]


def test_only_a_plan_about_messages_that_it_has_read_holds_its_queues() -> None:
    assert [name for name in DECIDERS if not holds_queues(name)] == ["undo", "message_load"]


def test_later_runs_are_named_before_they_are_counted() -> None:
    later = [RunLine(run=f"r{number}", queue_manager="QM1") for number in range(5)]
    assert str(since_then(line(RunState.PLANNED, queue="A"), later, "Look again.")) == (
        "messages of this queue were moved or discarded by run r0, run r1, run r2 and 2 other runs. Look again."
    )
    assert "these queues" in str(since_then(line(RunState.PLANNED, queue="A,B"), later[:1], "Look again."))
    assert not since_then(line(RunState.PLANNED), [], "Look again.")


def test_who_may_answer_and_four_eyes() -> None:
    assert str(WhoAnswers("d", roles=("approver",), may=True).in_words()) == (
        "A person with the role approver in Airflow can answer; no answer is a rejection."
    )
    assert str(WhoAnswers("d", not_by="ann", own=True, may=True).in_words()).endswith(
        "ann started the run and may not approve it. "
        "That is you: you may reject it, and another person must approve it."
    )
    assert str(WhoAnswers("d", until="2026-11-26T12:00:00Z", asked="bob").in_words(asked=True)) == (
        "Asked by bob. A person with Airflow's right to answer the questions of d can answer until "
        "2026-11-26T12:00:00Z; no answer is a rejection. You may not answer."
    )


def test_a_stop_of_all_runs_is_taken_back_for_all() -> None:
    assert "for all runs, and moves nothing" in resume_hint([], every_run=True, at_once=False)
    assert "clears the tasks act and prove" in resume_hint(["act", "prove"], every_run=False, at_once=True)


def test_text_of_others_is_a_value_of_a_sentence_and_never_its_words() -> None:
    hostile = "{} <b>{name}</b>"
    text = said("{} is full: {}.", Name(hostile), hostile)
    assert str(text) == f"{hostile} is full: {hostile}."
    assert text.parts == (Name(hostile), " is full: ", hostile, ".")
    with pytest.raises(ValueError, match="argument"):
        said("{} and {}", "one")


def test_sentences_that_say_nothing_are_passed_over() -> None:
    assert str(sentences(said("One."), said(""), said("Two {}.", 1234))) == "One. Two 1,234."
    assert str(joined(", ", [OfRun("QM1", "a"), Time("")])) == "run a, –"


@pytest.mark.parametrize(("queue_manager", "shown"), [("QM2", "Q@QM2"), ("", "Q")])
def test_a_destination_names_no_blank_queue_manager(queue_manager: str, shown: str) -> None:
    assert str(Destination("Q", queue_manager)) == shown


def test_the_fullest_dead_letter_queue_stands_in_the_table_of_all_and_the_others_beside_it() -> None:
    def figures(**depths: int) -> Figures:
        queues = tuple(QueueFigures(name=name, depth=depth, max_depth=9_999) for name, depth in depths.items())
        return Figures(seen_at="2026-01-01T00:00:00+00:00", dead_letter_queue="DEADQ", queues=queues)

    worked = ("DEADQ", "TEAM", "SYSTEM.PROTECTION.ERROR.QUEUE")
    seen = [QueueAnatomy(queue_manager="QM1", queue="TEAM", observed_at="2026-01-01T00:00:00+00:00", run="r")]
    found = of_all.dead_letters(
        [
            of_all.DeadLettersOf("QM1", figures(DEADQ=0, TEAM=5_000), worked, seen),
            of_all.DeadLettersOf("QM2", figures(DEADQ=7, TEAM=5_000), worked, []),
            of_all.DeadLettersOf("QM3", figures(DEADQ=0), worked, []),
            of_all.DeadLettersOf("QM4", figures(DEADQ=0), (*worked, "SYSTEM.OTHER"), []),
        ]
    )
    rows = {row[0].said: (str(row[2]), *row[3:4]) for row in found.table.rows if isinstance(row[0], Link)}
    assert rows == {"QM2": ("TEAM; 7 messages on DEADQ", 5_000), "QM1": ("TEAM", 5_000), "QM4": ("DEADQ", 0)}
    assert [*rows] == ["QM2", "QM1", "QM4"]
    assert [one.said for one in found.rest] == ["QM3"]


def test_the_number_of_a_group_is_a_link_where_its_list_has_that_group_alone() -> None:
    def linked(*found: Group) -> list[bool]:
        seen = QueueAnatomy(queue_manager="QM1", queue="DEADQ", observed_at="2026-01-01T00:00:00+00:00", run="r")
        rows = tuple(DeadLetterGroup(group=one, messages=1, bytes=1, growth=0, ages={}) for one in found)
        letters, stays = DeadLetters(anatomy=seen, groups=rows), {one: [] for one in found}
        shown = groups(letters, lambda *_: "", stays, ages=(), before=False, by_hand=False, may_look=False)
        return [isinstance(row[3], Link) for row in shown.rows]

    one = Group("MQRC_Q_FULL", "PAY.IN", "QM1", "billing")
    assert linked(one, one._replace(origin_q="PAY.OUT"), one._replace(reason="no MQDLH")) == [True, True, False]
    assert linked(one, one._replace(origin_q_mgr="QM2")) == [False, False]
    assert linked(one._replace(application="bill*"), one._replace(origin_q="AMQ.?")) == [False, False]


def test_how_old_the_oldest_message_is_stands_beside_the_depth_where_the_queue_is_monitored() -> None:
    queue = QueueFigures(name="DEADQ", depth=2_330, max_depth=9_999, oldest=10_930)
    assert queue.messages_and_age == "2,330 messages, the oldest 3 h 2 min old"
    assert replace(queue, depth=1, oldest=None).messages_and_age == "1 message"
