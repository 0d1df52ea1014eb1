"""What is done with messages that a person chooses from a list: the form of a dry run of mq_recover, and its result.

1. The form starts a dry run by Airflow's API, with the person's own rights, as every form of the pages does. It reads
   the queue anew: what has left it since the list was made is not planned.
2. The result comes to the page that has the list: what the run does while it is at work, then its plan, and the form of
   the real run. That makes its own plan of what is on the queue then, and waits for an approval.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from mqops.deciders.recover import Do
from mqops.deciders.registry import by_choice, fates_of
from mqops.look.plan_view import PlanView, acted_on, plan_view
from mqops.look.run_view import latest_view
from mqops.look.words import plan as words
from mqops.look.words.fates import rule_in_words
from mqops_airflow.pages.not_yet import NotYet
from mqops_airflow.pages.render import render
from mqops_airflow.pages.run_forms import RECOVER, RealRun, real_run
from mqops_airflow.pages.security import Reader, reader
from mqops_airflow.pages.shared import shared
from mqops_airflow.pages.shown import size
from mqops_airflow.pages.which_run import Asked, Fields, asked_run, started_of
from mqops_airflow.pages.who_answers import Open, asks_for_four_eyes, questions_before
from mqops_airflow.ui.table import Right

PATH = "/chosen"
MOST = 20
"""Groups of the plan that are shown, the largest."""
ACTIONS: Mapping[Do, str] = {
    Do.REPLAY: "Replay: where the MQDLH of each says",
    Do.MOVE: "Move to another queue",
    Do.COPY: "Copy to another queue",
    Do.PARK: "Park on a queue, or MQOPS.QUARANTINE",
    Do.DISCARD: "Discard",
}
"""What the form offers → what it is called there."""
_view = shared(plan_view)


class Every(NamedTuple):
    """A choice of the form besides the messages that are ticked. Parameters: `said` its words; `fields` of mq_recover
    that choose these messages."""

    said: str
    fields: Fields


class Form(NamedTuple):
    """The form below a list, or of one message.

    Parameters: `id` of the list; `every` the other choices; `may` whether the person may start mq_recover; `hint` why
    all messages of the list cannot be chosen at once, "" where they can; `with_mqdlh` whether a message is known to
    have an MQDLH; `alone` the fields of mq_recover that choose the one message of a form without a list.
    """

    id: str
    queue_manager: str
    every: tuple[Every, ...]
    may: bool
    hint: str = ""
    with_mqdlh: bool = True
    alone: Fields = MappingProxyType({})

    @property
    def actions(self) -> Mapping[Do, str]:
        """What the form offers, in its order. What needs an MQDLH comes last where no message is known to have one."""
        return ACTIONS if self.with_mqdlh else {one: ACTIONS[one] for one in sorted(ACTIONS, key=Do.REPLAY.__eq__)}

    @property
    def fixed(self) -> Fields:
        """The fields that the form does not show."""
        return {"queue_manager": self.queue_manager, "dry_run": True, **self.alone}

    @property
    def result(self) -> str:
        """The element that the result comes to."""
        return f"result-{self.id}"


def router() -> APIRouter:
    """The route of the result of a dry run."""
    routes, sees = APIRouter(), reader(Right.TASK_LOGS)

    @routes.get(PATH)
    def result(request: Request, dag_id: str = RECOVER, run_id: str = "", who: Reader = sees) -> HTMLResponse:
        try:
            asked = asked_run(who, queue_manager="", run="", dag_id=dag_id, run_id=run_id)
        except NotYet as missing:
            return render(request, "chosen_result", who=who, missing=missing, found=None, over=not missing.awaited)
        name = asked.run.queue_manager
        started = started_of(asked)
        found = None if started.goes_on or not asked.run.plan_json.exists() else _Planned(who, asked, started.dry_form)
        over = not started.goes_on
        return render(
            request, "chosen_result", who=who, queue_manager=name, missing=None, found=found, over=over, asked=asked
        )

    return routes


class _Planned:
    """The plan of a dry run in words, and the form of the real run. Parameters: `form` as the person gave it, None for
    a run that is no dry run."""

    def __init__(self, who: Reader, asked: Asked, form: Fields | None) -> None:
        view: PlanView = _view(asked.run)
        story, workflow = latest_view(asked.run).story, view.plan.workflow
        decided = partial(rule_in_words, None, by_choice=by_choice(workflow), fates=fates_of(workflow))
        may = form is not None and who.may_start(asked.dag_id) and acted_on(story.actions) > 0
        self.sums = words.sums(view, size(view.plan.bytes))
        self.findings = words.folded(view.found.findings if view.found else ())
        self.remarks = (*view.plan.remarks, *(view.found.remarks if view.found else ()))
        self.groups = words.groups(view, MOST, decided)
        self.left_off = words.left_off(view, MOST)
        self.run = asked.run.run
        self.may_start = who.may_start(asked.dag_id)
        self.form: RealRun | None = real_run(asked.dag_id, form) if may and form is not None else None
        self.questions: tuple[Open, ...] = questions_before(who.estate, asked, story) if may else ()
        self.four_eyes = asks_for_four_eyes(who.estate, asked.dag_id)
