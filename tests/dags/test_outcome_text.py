"""How a run ended, in words: who decided, what was done, what to do next."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mqops.look.core.question import Over
from mqops.model import RunSummary
from mqops_airflow.approval.answer import Answer
from mqops_airflow.notices.outcome_text import Ending, outcome_text

SUMMARY = RunSummary(
    **{"run": "r1", "workflow": "dlq_rules", "queue_manager": "QM1", "queue": "DLQ", "plan": "d"},
    **{"planned": 2330, "moved": 400, "discarded": 300, "left": 1630},
)
NO = Answer(approved=False, by_id="bob", by="bob", at="t")
YES = Answer(approved=True, by_id="bob", by="bob", at="t")
LATE = Answer(approved=False, by_id="", by="", at="t")
COUNTS = "400 moved + 300 discarded + 1,630 left + 0 gone of 2,330 messages"
ASK = "To ask again, clear the task approve and what is behind it."
STOP = "All acting on QM1 was stopped by carol at t (night)"


@pytest.mark.parametrize(
    ("ending", "words"),
    [
        (Ending(acted="skipped", approved="skipped", stopped_by_plan="dry run: 3 messages"), "Dry run: 3 messages."),
        (
            Ending(acted="skipped", approved="success", answer=NO),
            "Nothing was moved: the plan was rejected by bob. Start a new run to ask again.",
        ),
        (
            Ending(acted="skipped", approved="success", answer=LATE),
            "Nothing was moved: nobody answered in time, which counts as Reject. Start a new run to ask again.",
        ),
        (Ending(acted="skipped", approved="skipped"), "Nothing was moved: the task act was skipped."),
        (
            Ending(
                acted="upstream_failed", approved="failed", answer=replace(YES, refused="bob started it: ask again")
            ),
            "Nothing was moved: the approval by bob was refused: bob started it: ask again.",
        ),
        (
            Ending(acted="upstream_failed", approved="failed", answer=YES),
            f"Nothing was moved: Airflow failed the task approve after bob had approved. {ASK}",
        ),
        (
            Ending(acted="upstream_failed", approved="failed", over=Over.FAILED),
            f"Nothing was moved: Airflow failed the task approve before it had an answer. {ASK}",
        ),
        (
            Ending(acted="upstream_failed", approved="failed", over=Over.MARKED_FAILED),
            "Nothing was moved: a person marked the run, or its task approve, as failed in Airflow before anybody "
            f"answered. {ASK}",
        ),
        (
            Ending(acted="skipped", approved="skipped", over=Over.MARKED_SKIPPED),
            "Nothing was moved: a person marked the task approve as skipped in Airflow before anybody answered. " + ASK,
        ),
        (Ending(acted="success", approved="success", answer=YES), f"Approved by bob: {COUNTS}. This balances."),
        (
            Ending(acted="success", approved="skipped"),
            f"Approved by the policy of the estate: {COUNTS}. This balances.",
        ),
        (
            Ending(acted="failed", approved="success", answer=YES, stops=[STOP]),
            f"Stopped: `{STOP}`. So far {COUNTS}. Nothing is lost. To go on, run mq_stop with Do = resume for queue "
            "manager QM1, then clear the task act of this run.",
        ),
        (
            Ending(acted="failed", approved="success", answer=YES),
            f"act ended as failed: {COUNTS}. Nothing is lost: its log says why it ended. Clear the task act to go on.",
        ),
    ],
)
def test_each_ending_has_its_words(ending: Ending, words: str) -> None:
    assert outcome_text(ending, SUMMARY) == words


def test_an_act_that_no_answer_permits_has_failed_for_that() -> None:
    ending = Ending(acted="failed", approved="success", over=Over.MARKED_SUCCESS)
    assert outcome_text(ending, replace(SUMMARY, moved=0, discarded=0, left=2330)) == (
        "Nothing was moved: a person marked the run, or its task approve, as success in Airflow before anybody "
        f"answered, which approves nothing. {ASK}"
    )
    assert outcome_text(ending, SUMMARY).startswith("act ended as failed: 400 moved")


@pytest.mark.parametrize(
    ("discarded", "done"), [(0, "1,200 put back + 1,130 left"), (30, "1,200 put back + 30 taken away + 1,100 left")]
)
def test_an_undo_puts_back(discarded: int, done: str) -> None:
    from dataclasses import replace  # noqa: PLC0415

    summary = replace(SUMMARY, workflow="undo", moved=1200, discarded=discarded, left=1130 - discarded)
    ending = Ending(acted="success", approved="success", answer=YES)
    assert outcome_text(ending, summary) == f"Approved by bob: {done} + 0 gone of 2,330 messages. This balances."


def test_a_run_that_does_not_balance_does_not_say_so() -> None:
    from dataclasses import replace  # noqa: PLC0415

    ending = Ending(acted="success", approved="success", answer=YES)
    assert outcome_text(ending, replace(SUMMARY, balanced=False)).endswith("This does NOT balance.")
