"""What permits act: every verdict of the policy with every answer, and the tasks approve and act of a run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from act_support import planned
from airflow.sdk.exceptions import TaskAwaitingInput, TaskDeferred
from airflow.sdk.execution_time import comms, task_runner
from mq_support import DLQ, dead_letter

from mqops.clock import utc_now
from mqops.errors import LakeError, PlanChanged, SettingsError
from mqops.estate_workflows import Approval, AutoApprove
from mqops.lake.files import read_json, write_json
from mqops.lake.run import RunFolder
from mqops.look.run_row import run_line
from mqops.look.run_story import run_story
from mqops_airflow.approval.answer import Answer, Asked, Question
from mqops_airflow.approval.four_eyes import must_tell_people_apart
from mqops_airflow.approval.permission import NotAllowed, Permission, permitted
from mqops_airflow.approval.policy import Verdict
from mqops_airflow.approval.recorded_answer import RecordedAnswer
from mqops_airflow.operators.act import PlanActOperator
from mqops_airflow.operators.approval import PlanApprovalOperator

ACT, ASK, STOP = (Verdict(way=way, why="a reason") for way in ("act", "ask", "stop"))
AGAIN = "clear the task approve and what is behind it to ask"
QUESTION = Question(dag_id="dag", run_id="r1", digest="d1", text="t1")
OTHER_RUN, OTHER_PLAN, OTHER_TEXT = (
    replace(QUESTION, run_id="r0"),
    replace(QUESTION, digest="d0"),
    replace(QUESTION, text="t0"),
)
WAITING = Asked(question=QUESTION, task_instance="ti")


def answer(
    by: str, *, approved: bool = True, by_id: str = "7", question: Question = QUESTION, comment: str = ""
) -> Asked:
    said = Answer(approved=approved, by_id=by_id, by=by, at="2026-01-02T03:04:05+00:00", comment=comment)
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
        (STOP, answer("bob"), False, "this run must not move anything (a reason): start a new run"),
        (ASK, None, False, f"nobody has approved plan d1: the task approve has no answer; {AGAIN}"),
        (ASK, WAITING, False, f"nobody has approved plan d1: the task approve has no answer; {AGAIN}"),
        (ASK, answer("bob", approved=False), False, f"plan d1 was rejected by bob; {AGAIN} again"),
        (ASK, answer("", approved=False), False, f"plan d1 was rejected by the time-out; {AGAIN} again"),
        (
            *(ASK, answer("bob", comment="x" * 501), False),
            f"the comment of bob has more than 500 characters; {AGAIN} again",
        ),
        (*(ASK, answer("bob", comment="a\0b"), False), f"the comment of bob has a control character; {AGAIN} again"),
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
            "bob saw a text about plan d1 that is another one now: the files of the plan were changed, or mqops was "
            "updated since. Start a new run to ask",
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


def started(kind: str, name: str | None) -> Any:
    run = SimpleNamespace(run_type=SimpleNamespace(value=kind), triggering_user_name=name, conf={})
    return {"dag_run": run}


WAY_OUT = "or set four_eyes to false in the estate. Nothing was looked at, nothing was moved"


@pytest.mark.parametrize(
    ("kind", "name", "text"),
    [
        (
            *("backfill", "alice"),
            "a backfill may give a run another form and keeps the name of the person who started it first. Start a run "
            "by hand",
        ),
        *(
            (
                *(kind, name),
                f"Airflow does not say who started this run ({kind}). Start it under a user of your own",
            )
            for kind, name in (("manual", None), ("operator_triggered", ""), ("manual", "Anonymous"))
        ),
    ],
)
def test_four_eyes_need_to_know_who_started_the_run(kind: str, name: str | None, text: str) -> None:
    with pytest.raises(SettingsError) as refused:
        must_tell_people_apart(started(kind, name))
    asks = "The estate asks for four eyes, but "
    assert str(refused.value) == f"{asks}{text}, {WAY_OUT}"


def test_four_eyes_need_an_airflow_in_which_people_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    people = started("manual", "alice")
    monkeypatch.setenv("AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS", "True")
    with pytest.raises(SettingsError) as refused:
        must_tell_people_apart(people)
    assert str(refused.value) == (
        "The estate asks for four eyes, but everybody is the same administrator in this Airflow. Set [core] "
        f"simple_auth_manager_all_admins to False and give each person a user, {WAY_OUT}"
    )
    with pytest.raises(SettingsError):
        must_tell_people_apart(started("scheduled", None))  # whoever answers is the same
    monkeypatch.setenv("AIRFLOW__CORE__AUTH_MANAGER", "site.DirectoryAuthManager")  # the setting is not one of his
    must_tell_people_apart(people)


def test_four_eyes_start_where_a_person_or_a_schedule_did() -> None:
    for kind, name in (("manual", "alice"), ("scheduled", None), ("asset_triggered", None)):
        must_tell_people_apart(started(kind, name))


MORNING = datetime(2026, 11, 21, 8, 30, tzinfo=UTC)
FOUR_EYES = Approval(four_eyes=True)


class Run:
    """A DAG run of Airflow that works on a run's folder: what its tasks approve and act are given, and what they do.

    The supervisor, through which a task speaks to Airflow, is the test's: it keeps the first question, as Airflow does.
    """

    def __init__(self, folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.asked: dict[str, Any] = {}
        self.dag_run = SimpleNamespace(
            dag_id="qm1_dlq_rules",
            run_id="manual__1",
            run_type="manual",
            triggering_user_name="alice",
            clear_number=0,
        )
        self.dry_run = False
        self.task_instance = "0197aaaa-0000-7000-8000-000000000001"

        def send(msg: Any) -> Any:
            kept = self.asked.setdefault("first", msg.model_dump(exclude={"type"}))
            self.asked["puts"] = self.asked.get("puts", 0) + 1
            return comms.HITLDetailRequestResult(**kept)

        monkeypatch.setattr(task_runner, "SUPERVISOR_COMMS", SimpleNamespace(send=send), raising=False)

    @property
    def context(self) -> Any:
        run = SimpleNamespace(**vars(self.dag_run) | {"run_type": _Kind(self.dag_run.run_type)})
        ti = SimpleNamespace(id=self.task_instance)
        return {"dag_run": run, "params": {"dry_run": self.dry_run}, "ti": ti, "task_instance": ti}

    def approve(self, approval: Approval = FOUR_EYES) -> Any:
        return PlanApprovalOperator(task_id="approve", folder=str(self.folder.path), approval=approval)

    def ask(self) -> None:
        """The task approve, up to where it waits."""
        with pytest.raises(TaskAwaitingInput):
            self.approve().execute(self.context)

    def answered(self, by: str, option: str = "Approve", *, approval: Approval = FOUR_EYES, comment: str = "") -> Any:
        """The task approve, resumed with the answer that Airflow recorded."""
        user, given = {"id": "7", "name": by} if by else None, {"comment": comment} if comment else {}
        event = {"chosen_options": [option], "params_input": given, "responded_at": MORNING, "responded_by_user": user}
        return self.approve(approval).execute_complete(self.context, event)

    def act(self, approval: Approval = FOUR_EYES) -> list[str]:
        """The arguments of the job that the task act submits, then what its environment says of people; its own summary
        stands for the job's."""
        summary = self.folder.path / "act.json"
        summary.write_text(json.dumps({"moved": 1}))
        act = PlanActOperator(
            task_id="act",
            application="act.py",
            application_args=["--unit-size=5"],
            mq_conn_id="mq",
            summary=str(summary),
            once=True,
            folder=str(self.folder.path),
            approval=approval,
        )
        assert act.execute(self.context) == {"moved": 1}
        act.needs_queue_manager = False  # the connection is not of interest here
        environment = act._environment(())
        assert "MQOPS_ABOUT" in environment
        return [
            *map(str, act.application_args),
            *(f"{name}={value}" for name, value in json.loads(environment["MQOPS_ABOUT"]).items()),
        ]


class _Kind(str):
    """The kind of a DAG run, as Airflow's enumeration has it."""

    @property
    def value(self) -> str:
        return str(self)


@pytest.fixture
def run(queue_manager: Callable[..., Any], lake: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    manager = queue_manager(mqsc="DEFINE QLOCAL(A)\n")
    manager.put(DLQ, [dead_letter("A", b"x"), dead_letter("A", b"y")])
    return Run(planned(manager, lake)[0], monkeypatch)


def digest(run: Run) -> str:
    return str(read_json(run.folder.plan_json)["digest"])


def test_law2_act_gets_the_plan_that_another_person_approved_and_their_names(run: Run) -> None:
    with pytest.raises(NotAllowed, match=rf"^nobody has approved plan {digest(run)}: the task approve has no answer"):
        run.act()
    run.ask()
    with pytest.raises(NotAllowed, match="nobody has approved"):
        run.act()
    run.answered("bob", comment=" desk 4 has seen them ")
    assert run.act() == [
        "--unit-size=5",
        f"--plan-digest={digest(run)}",
        "requested_by=alice",
        "approved_by=bob",
        "comment=desk 4 has seen them",
    ]
    # what the lake keeps of it
    subject, body = run.asked["first"]["subject"], run.asked["first"]["body"]
    kept = read_json(run.folder.path.joinpath("approval.json"))
    assert kept.pop("until") > utc_now()
    assert kept == {
        "format": 1,
        "question": {
            "dag_id": "qm1_dlq_rules",
            "run_id": "manual__1",
            "digest": digest(run),
            "text": hashlib.sha256(f"{subject}\n{body}".encode()).hexdigest(),
        },
        "task_instance": run.task_instance,
        "answer": {"approved": True, "by_id": "7", "by": "bob", "at": "2026-11-21T08:30:00+00:00"}
        | {"refused": "", "comment": "desk 4 has seen them"},
        "cleared": 0,
        "over": None,
    }


@pytest.mark.parametrize(("name", "user_id"), [("Alice", "7"), ("Alice Smith", "alice"), ("", "ALICE")])
def test_law2_four_eyes_the_requester_approves_nothing(run: Run, name: str, user_id: str) -> None:
    run.ask()
    user = {"id": user_id, "name": name}
    event = {"chosen_options": ["Approve"], "params_input": {}, "responded_at": MORNING, "responded_by_user": user}
    refused = rf"^{name or user_id} started this run; the estate asks for another person's approval"
    with pytest.raises(NotAllowed, match=refused):
        run.approve().execute_complete(run.context, event)
    assert run_line(run.folder).state == "refused"
    told = f"the approval by {name or user_id} was refused: {name or user_id} started this run; the estate asks for"
    assert run_story(run.folder).unapproved.startswith(told)
    with pytest.raises(NotAllowed, match=refused):
        run.act()
    assert run.act(Approval())[-1] == f"approved_by={name or user_id}"  # an estate that asks for no four eyes


@pytest.mark.parametrize(("who", "told"), [("bob", "bob"), ("", "the time-out")])
def test_law2_a_rejection_permits_nothing(run: Run, who: str, told: str) -> None:
    run.ask()
    run.answered(who, "Reject")  # the task itself succeeds: what comes behind it is skipped
    with pytest.raises(NotAllowed, match=rf"^plan {digest(run)} was rejected by {told}; clear the task"):
        run.act()
    kept = read_json(run.folder.path.joinpath("approval.json"))["answer"]
    at = "2026-11-21T08:30:00+00:00"
    assert kept == {"approved": False, "by_id": "7" if who else "", "by": who, "at": at, "refused": "", "comment": ""}


def test_law2_an_approval_that_airflow_gives_nobodys_name_permits_nothing(run: Run) -> None:
    run.ask()
    with pytest.raises(NotAllowed, match=rf"^Airflow does not say who approved plan {digest(run)}"):
        run.answered("")
    with pytest.raises(NotAllowed, match=rf"^Airflow does not say who approved plan {digest(run)}"):
        run.act()


def test_law2_an_answer_to_another_question_permits_nothing(run: Run) -> None:
    run.ask()
    first, run.task_instance = run.task_instance, "0197aaaa-0000-7000-8000-000000000002"
    refused = rf"^the answer is not about plan {digest(run)}, which was made meanwhile: start a new run to ask"
    with pytest.raises(NotAllowed, match=refused):
        run.answered("bob")
    run.task_instance = first
    run.answered("bob")
    assert run.act()[-1] == "approved_by=bob"
    # a file of another run, another DAG, another plan; then another text than bob saw
    kept = read_json(run.folder.path.joinpath("approval.json"))
    for name, value, refused in (
        ("run_id", "manual__0", "the approval in this run's folder is of run manual__0 of qm1_dlq_rules"),
        ("dag_id", "qm2_dlq_rules", "the approval in this run's folder is of run manual__1 of qm2_dlq_rules"),
        ("digest", "d0", f"bob answered about plan d0, the plan is {digest(run)} now"),
        ("text", "t0", f"bob saw a text about plan {digest(run)} that is another one now"),
    ):
        write_json(run.folder.path.joinpath("approval.json"), kept | {"question": kept["question"] | {name: value}})
        with pytest.raises(NotAllowed, match=f"^{refused}"):
            run.act()
    write_json(run.folder.path.joinpath("approval.json"), kept)
    assert run.act()[-1] == "approved_by=bob"
    found = read_json(run.folder.path / "preflight.json")
    write_json(run.folder.path / "preflight.json", found | {"destinations": 7})
    with pytest.raises(NotAllowed, match=r"^bob saw a text about plan"):
        run.act()
    run.folder.path.joinpath("approval.json").write_text("no JSON")
    with pytest.raises(LakeError):
        run.act()


def test_a_run_asks_about_one_plan_only(run: Run) -> None:
    """Airflow keeps the first question, and would show it with the second plan."""
    run.ask()
    run.dag_run.clear_number += 1
    run.ask()  # cleared, the plan as before
    found = read_json(run.folder.path / "preflight.json")
    write_json(run.folder.path / "preflight.json", found | {"destinations": 7})
    with pytest.raises(PlanChanged, match=rf"start a new run to have plan {digest(run)} approved"):
        run.approve().execute(run.context)


def test_a_try_that_airflow_failed_is_taken_up_by_the_next_one(run: Run) -> None:
    """The next one has another UUID, or the same. Nothing is asked again, which would erase the recorded answer."""
    run.ask()
    first, put = run.task_instance, run.asked["puts"]
    for run.task_instance in (first, "0197aaaa-0000-7000-8000-000000000002"):
        with pytest.raises(TaskDeferred) as waits:
            run.approve().execute(run.context)
        trigger = waits.value.trigger
        assert isinstance(trigger, RecordedAnswer)
        assert (trigger.asked, waits.value.method_name) == (run.task_instance, "take_up")
    assert run.asked["puts"] == put
    event = recorded("bob")
    run.approve().take_up(run.context, event)
    assert run.act()[-1] == "approved_by=bob"
    # the process that Airflow took for failed had kept the answer: no triggerer is asked, and four eyes are
    run.task_instance = first
    assert run.approve().execute(run.context)["chosen_options"] == ["Approve"]
    kept = read_json(run.folder.path.joinpath("approval.json"))
    write_json(run.folder.path.joinpath("approval.json"), kept | {"answer": kept["answer"] | {"by": "alice"}})
    with pytest.raises(NotAllowed, match=r"^alice started this run; the estate asks for another person's approval"):
        run.approve().execute(run.context)
    assert run.asked["puts"] == put


@pytest.mark.parametrize("by", ["alice", "bob"])
def test_law2_an_answer_that_was_recorded_permits_no_more_than_any_other(run: Run, by: str) -> None:
    """Four eyes, and the text that the person saw."""
    run.ask()
    if by == "bob":
        found = read_json(run.folder.path / "preflight.json")
        write_json(run.folder.path / "preflight.json", found | {"destinations": 7})
    with pytest.raises(
        (NotAllowed, PlanChanged), match=r"^alice started this run|^this run has asked with another text"
    ):
        run.approve().take_up(run.context, recorded(by))
    with pytest.raises(NotAllowed):
        run.act()


def test_the_question_is_put_anew_where_no_answer_was_recorded_or_a_person_has_cleared_a_task(run: Run) -> None:
    run.ask()
    with pytest.raises(TaskAwaitingInput):
        run.approve().take_up(run.context, None)
    assert run.asked["puts"] == 2
    run.answered("bob")
    run.dag_run.clear_number += 1
    run.ask()
    assert run.asked["puts"] == 3
    with pytest.raises(NotAllowed, match="nobody has approved"):
        run.act()
    run.dag_run.clear_number += 1  # meanwhile: the answer that is fetched is to the question of before
    with pytest.raises(TaskAwaitingInput):
        run.approve().take_up(run.context, recorded("bob"))


def recorded(by: str) -> dict[str, Any]:
    """The event of the trigger that fetches an approval which Airflow has recorded."""
    who = {"id": "7", "name": by}
    return {"chosen_options": ["Approve"], "params_input": {}, "responded_at": MORNING, "responded_by_user": who}


def test_law2_a_dry_run_and_a_form_are_heeded_when_the_task_acts(run: Run) -> None:
    free = Approval(required=False)
    run.dry_run = True
    with pytest.raises(NotAllowed, match=r"^this run must not move anything \(dry run: 2 messages would be moved"):
        run.act(free)
    run.dry_run = False
    with pytest.raises(NotAllowed, match=r"^nobody has approved"):  # whoever starts a run by hand asks
        run.act(free)
    run.dag_run.run_type, run.dag_run.triggering_user_name = "scheduled", None
    run.dry_run = True  # the form's default, which is not for schedules
    assert run.act(free)[-2:] == ["requested_by=scheduled", "approved_by=the policy of the estate"]
    with pytest.raises(NotAllowed, match=r"^nobody has approved"):
        run.act()


def test_law2_the_policy_of_the_estate_is_asked_again_when_the_task_acts(run: Run) -> None:
    run.dag_run.run_type, run.dag_run.triggering_user_name = "scheduled", None
    small = Approval(auto_approve=AutoApprove(actions=("RETRY",), max_messages=2))
    assert run.act(small)[-1] == "approved_by=the policy of the estate"
    for beyond in (AutoApprove(actions=("RETRY",), max_messages=1), AutoApprove(actions=("DISCARD",), max_messages=9)):
        with pytest.raises(NotAllowed, match=r"^nobody has approved"):
            run.act(Approval(auto_approve=beyond))
    (run.folder.path / "preflight.json").unlink()  # nobody has looked at the plan's destinations
    with pytest.raises(NotAllowed, match=r"^nobody has approved"):
        run.act(small)
