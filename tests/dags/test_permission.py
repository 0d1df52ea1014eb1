"""What permits act: every verdict of the policy with every answer."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from mqops.errors import SettingsError
from mqops_airflow.answer import Answer, Asked, Question
from mqops_airflow.four_eyes import must_tell_people_apart
from mqops_airflow.permission import NotAllowed, Permission, permitted
from mqops_airflow.policy import Verdict

ACT, ASK, STOP = (Verdict(way=way, why="a reason") for way in ("act", "ask", "stop"))
AGAIN = "clear the task approve and what is behind it to ask"
QUESTION = Question(dag_id="dag", run_id="r1", digest="d1", text="t1")
OTHER_RUN, OTHER_PLAN, OTHER_TEXT = (
    replace(QUESTION, run_id="r0"),
    replace(QUESTION, digest="d0"),
    replace(QUESTION, text="t0"),
)
WAITING = Asked(question=QUESTION, task_instance="ti")


def answer(by: str, *, approved: bool = True, by_id: str = "7", question: Question = QUESTION) -> Asked:
    said = Answer(approved=approved, by_id=by_id, by=by, at="2026-01-02T03:04:05+00:00")
    return Asked(question=question, task_instance="ti", answer=said)


@pytest.mark.parametrize(
    ("verdict", "asked", "four_eyes", "approved_by"),
    [
        (ACT, None, True, "the policy of the estate"),
        (ACT, answer("bob", question=OTHER_PLAN), True, "the policy of the estate"),  # of an earlier plan
        (ASK, answer("bob"), True, "bob"),
        (ASK, answer("alice"), False, "alice"),
    ],
)
def test_permitted(verdict: Verdict, asked: Asked | None, four_eyes: bool, approved_by: str) -> None:
    found = permitted(verdict, QUESTION, asked, requested_by="alice", four_eyes=four_eyes)
    assert found == Permission(digest="d1", requested_by="alice", approved_by=approved_by)


@pytest.mark.parametrize(
    ("verdict", "asked", "four_eyes", "text"),
    [
        (STOP, answer("bob"), False, "this run is to move nothing (a reason): start another one"),
        (ASK, None, False, f"nobody has approved plan d1: the task approve has no answer; {AGAIN}"),
        (ASK, WAITING, False, f"nobody has approved plan d1: the task approve has no answer; {AGAIN}"),
        (ASK, answer("bob", approved=False), False, f"plan d1 was rejected by bob; {AGAIN} again"),
        (ASK, answer("", approved=False), False, f"plan d1 was rejected by nobody (time-out); {AGAIN} again"),
        (ASK, answer("", by_id=""), False, f"Airflow does not say who approved plan d1; {AGAIN} again"),
        (
            *(ASK, answer("bob", question=OTHER_RUN), False),
            "the approval in this run's folder is of run r0 of dag: start a new run",
        ),
        (
            *(ASK, answer("bob", question=OTHER_PLAN), False),
            "bob answered about plan d0, the plan is d1 now: start a new run to ask",
        ),
        (
            *(ASK, answer("bob", question=OTHER_TEXT), False),
            "bob saw another text about plan d1 than its files give now: start a new run to ask",
        ),
        (
            *(ASK, answer("Alice"), True),
            f"Alice started this run; the estate asks for another person's approval: {AGAIN} again",
        ),
        (
            *(ASK, answer("Alice Smith", by_id="alice"), True),
            f"Alice Smith started this run; the estate asks for another person's approval: {AGAIN} again",
        ),
    ],
)
def test_not_allowed(verdict: Verdict, asked: Asked | None, four_eyes: bool, text: str) -> None:
    with pytest.raises(NotAllowed) as caught:
        permitted(verdict, QUESTION, asked, requested_by="alice", four_eyes=four_eyes)
    assert str(caught.value) == text


@pytest.mark.parametrize(
    ("kind", "name", "text"),
    [
        ("backfill", "alice", "keeps the name of the person who started it first"),
        ("manual", None, r"Airflow does not say who started this run \(manual\)"),
        ("operator_triggered", "", r"Airflow does not say who started this run \(operator_triggered\)"),
    ],
)
def test_four_eyes_need_to_know_who_started_the_run(kind: str, name: str | None, text: str) -> None:
    run = SimpleNamespace(run_type=SimpleNamespace(value=kind), triggering_user_name=name)
    with pytest.raises(SettingsError, match=text):
        must_tell_people_apart({"dag_run": run})


def test_four_eyes_start_where_a_person_or_a_schedule_did() -> None:
    for kind, name in (("manual", "alice"), ("scheduled", None)):
        run = SimpleNamespace(run_type=SimpleNamespace(value=kind), triggering_user_name=name)
        must_tell_people_apart({"dag_run": run})
