"""Tells people what waits for them, by a notifier of Airflow that the estate names (SMTP, Slack ...; see `Notify`).

1. `Notice` has all that people are told of: a further one is a member, and a call of `tell_people` where it is seen, by
   a task that gets `notify=usable(notify)` where `workflows/pipeline.py` makes it.
2. The notifier's arguments are templates of Airflow. Beside Airflow's own values they have `mqops.subject`,
   `mqops.text` and `mqops.link`. No text of a message is among them.
3. A notifier that fails is a warning in the log: the question is asked, and the run goes on, without it.
4. "About to time out" is a deadline of Airflow: a time after the logical date of the run. Airflow's triggerer calls
   `before_time_out` then, which notifies only if the question is still open. Airflow has no deadline for one task,
   and none for a run without a logical date (started by the API with `logical_date: null`). The deadline that counts
   from the time of queueing is not used: with it, Airflow 3.3.2 cannot clear a task of the DAG (TypeError).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from datetime import timedelta
from enum import Enum
from importlib import import_module
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from airflow.sdk import (  # type: ignore[attr-defined]  # names that the stub of this module lacks
    AsyncCallback,
    BaseNotifier,
    DeadlineAlert,
    DeadlineReference,
    conf,
)

from mqops.errors import SettingsError
from mqops.printable import printable
from mqops_airflow.approval.answer import read_question
from mqops_airflow.runs.plan_files import preflight_in, read_plan, undone_in
from mqops_airflow.runs.run_folder import found_folder

if TYPE_CHECKING:
    from airflow.sdk import Context

    from mqops.estate_sections import Notify

LOG = logging.getLogger(__name__)


class Told(NamedTuple):
    """Parameters: `when` it is told, in words; `task` of the DAGs of plans that tells it, "" where Airflow's triggerer
    does, or another DAG; `subject` and `text` with the names of their values in braces."""

    when: str
    task: str
    subject: str
    text: str


class Notice(Enum):
    """What people are told of (docs/setting_up.md)."""

    OPENED = Told(
        when="a plan waits for an answer",
        task="approve",
        subject="{question}",
        text="Plan {digest} waits for an answer within {within}; no answer is a Reject.",
    )
    TIMES_OUT = Told(
        when="the time-out of a question that is still open is near",
        task="",
        subject="Still open: {question}",
        text="The question is still open and times out soon, which counts as Reject.",
    )
    UNBALANCED = Told(
        when="a run does not balance", task="prove", subject="{queue_manager}: a run does not balance", text="{why}"
    )
    GATED = Told(
        when="the gate of a workflow holds messages back, or warns of some",
        task="route",
        subject="{queue_manager}: the gate of {queue}: plan {digest}",
        text="{why}",
    )
    EXPIRES = Told(
        when="so many dead letters, backed-out and stored messages expire before people are at work again",
        task="",
        subject="{queue_manager}: {vanish} before {until}",
        text="{why}.",
    )
    TURNED = Told(
        when="a suite of quality checks that passed is not passed any more",
        task="",
        subject="{queue_manager}: {suites} passed before, and not now",
        text="{why}",
    )
    FAILS = Told(
        when="a suite of quality checks is not passed at its first run",
        task="",
        subject="{queue_manager}: {suites} not passed",
        text="{why}",
    )
    LEARNS = Told(
        when="a quality check begins to learn its bounds, and is met until it has them",
        task="",
        subject="{queue_manager}: {suites} learns",
        text="{why}",
    )
    DAILY = Told(
        when="the time of `daily` has come: what needs a person, of all queue managers in one message",
        task="",
        subject="{subject}",
        text="",
    )


def usable(notify: Notify | None) -> Notify | None:
    """The estate's notifier, None where it names none. Raises `SettingsError`: it is not a notifier."""
    if notify is not None:
        made(notify.notifier, notify.arguments)
    return notify


def made(notifier: str, arguments: Mapping[str, object]) -> BaseNotifier:
    """The notifier. Raises `SettingsError`."""
    try:
        module, _, name = notifier.rpartition(".")
        kind = getattr(import_module(module), name, None)
        if not (isinstance(kind, type) and issubclass(kind, BaseNotifier)):
            raise SettingsError(f"notify: {notifier} is not a notifier of Airflow")
        make: Callable[..., BaseNotifier] = kind
        return make(**arguments)
    except (ImportError, TypeError) as error:  # a TypeError: the notifier takes other arguments
        raise SettingsError(f"notify: {notifier} cannot be made: {printable(error)}") from error


def template_values(dag_id: str, run_id: str, notice: Notice, values: Mapping[str, object]) -> SimpleNamespace:
    """What the notifier's templates see as `mqops`. Parameters: `values` of the subject and the text."""
    subject, text = (printable(said.format_map(values)) for said in (notice.value.subject, notice.value.text))
    base = conf.get("api", "base_url", fallback="").rstrip("/")
    link = f"{base}/dags/{quote(dag_id)}/runs/{quote(run_id, safe='')}"
    return SimpleNamespace(subject=subject, text=text, link=link)


def tell_people(notify: Notify | None, context: Context, notice: Notice, **values: object) -> None:
    """Notify people now. Nothing is raised. Parameters: `context` of the task; `values` of the notice's words."""
    if notify is None:
        return
    run = context["dag_run"]
    try:
        send(notify, context, template_values(run.dag_id, run.run_id, notice, values))
    except Exception as error:
        LOG.warning("The notifier failed, so nobody was notified: %s", printable(error))


def send(notify: Notify, context: Context, told: SimpleNamespace) -> None:
    """Notify people now. Whatever the notifier raises is raised. Parameters: `told` as of `template_values`."""
    made(notify.notifier, notify.arguments)({**context, "mqops": told})


def deadline(notify: Notify | None, timeout: timedelta, queue_manager: str) -> list[DeadlineAlert]:
    """The deadline of a DAG's runs, before their questions time out; none without a notifier.

    Parameters: `timeout` of the question.
    """
    if notify is None:
        return []
    kept = {"notifier": notify.notifier, "arguments": dict(notify.arguments), "queue_manager": queue_manager}
    after = timeout - notify.before if timeout > notify.before else timeout / 2
    return [DeadlineAlert(DeadlineReference.DAGRUN_LOGICAL_DATE, after, AsyncCallback(before_time_out, kept))]


async def before_time_out(
    notifier: str, arguments: Mapping[str, object], queue_manager: str, context: Mapping[str, Mapping[str, str]]
) -> None:
    """Airflow calls it at the deadline of a run. `context` has the run, as Airflow's API shows it."""
    run = SimpleNamespace(dag_id=context["dag_run"]["dag_id"], run_id=context["dag_run"]["dag_run_id"])
    if question := open_question(run, queue_manager):
        one = made(notifier, arguments)
        told = template_values(run.dag_id, run.run_id, Notice.TIMES_OUT, {"question": question})
        one.context = {**context, "mqops": told}  # type: ignore[typeddict-item]
        await one


def open_question(dag_run: Any, queue_manager: str) -> str:
    """The subject of the question that a run has asked and nobody has answered, "" where there is none."""
    from mqops_airflow.approval import plan_text  # noqa: PLC0415

    try:
        folder = str(found_folder(dag_run, queue_manager).path)
    except SettingsError:  # the run has not begun to plan
        return ""
    asked = read_question(folder)
    if asked is None or asked.answer is not None:
        return ""
    plan = read_plan(folder)
    return plan_text.subject(plan, preflight_in(folder), undone=undone_in(folder, plan))
