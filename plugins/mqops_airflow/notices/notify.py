"""Tells people what waits for them, by a notifier of Airflow that the estate names (SMTP, Slack ...; see `Notify`).

1. It is called when a question opens, when it is about to time out, and when a run does not balance.
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
from collections.abc import Mapping
from datetime import timedelta
from importlib import import_module
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from airflow.sdk.bases.notifier import BaseNotifier
from airflow.sdk.configuration import conf
from airflow.sdk.definitions.callback import AsyncCallback
from airflow.sdk.definitions.deadline import DeadlineAlert, DeadlineReference

from mqops.errors import SettingsError
from mqops.printable import printable

if TYPE_CHECKING:
    from mqops.estate_sections import Notify

LOG = logging.getLogger(__name__)


def named(notify: Notify | None) -> dict[str, Any] | None:
    """The estate's notifier as values that Airflow stores with the DAG, None where it names none.

    Raises:
        SettingsError: it is not a notifier.
    """
    if notify is None:
        return None
    value = {"notifier": notify.notifier, "arguments": dict(notify.arguments)}
    made(value)
    return value


def made(notify: Mapping[str, Any]) -> BaseNotifier:
    """The notifier. Raises `SettingsError`."""
    try:
        module, _, name = str(notify["notifier"]).rpartition(".")
        kind = getattr(import_module(module), name, None)
        if not (isinstance(kind, type) and issubclass(kind, BaseNotifier)):
            raise SettingsError(f"notify: {notify['notifier']} is not a notifier of Airflow")
        return kind(**notify["arguments"])
    except (ImportError, TypeError) as error:
        raise SettingsError(f"notify: {notify['notifier']} cannot be made: {printable(error)}") from error


def template_values(dag_id: str, run_id: str, subject: str, text: str) -> SimpleNamespace:
    """What the notifier's templates see as `mqops`."""
    base = conf.get("api", "base_url", fallback="").rstrip("/")
    link = f"{base}/dags/{quote(dag_id)}/runs/{quote(run_id, safe='')}"
    return SimpleNamespace(subject=printable(subject), text=printable(text), link=link)


def tell_people(notify: Mapping[str, Any] | None, context: Mapping[str, Any], *, subject: str, text: str) -> None:
    """Notify people now. Nothing is raised.

    Parameters: `notify` what `named` gave; `context` Airflow's, of the task.
    """
    if notify is None:
        return
    run = context["dag_run"]
    try:
        made(notify)({**context, "mqops": template_values(run.dag_id, run.run_id, subject, text)})
    except Exception as error:
        LOG.warning("The notifier failed, so nobody was notified: %s", printable(error))


def deadline(notify: Notify | None, timeout: timedelta, queue_manager: str) -> list[DeadlineAlert]:
    """The deadline of a DAG's runs, before their questions time out; none without a notifier.

    Parameters: `timeout` of the question.
    """
    if notify is None:
        return []
    kept = {**(named(notify) or {}), "queue_manager": queue_manager}
    after = timeout - notify.before if timeout > notify.before else timeout / 2
    return [DeadlineAlert(DeadlineReference.DAGRUN_LOGICAL_DATE, after, AsyncCallback(before_time_out, kept))]


async def before_time_out(
    notifier: str, arguments: dict[str, Any], queue_manager: str, context: dict[str, Any]
) -> None:
    """Airflow calls it at the deadline of a run. `context` has the run, as Airflow's API shows it."""
    run = SimpleNamespace(dag_id=context["dag_run"]["dag_id"], run_id=context["dag_run"]["dag_run_id"])
    subject = open_question(run, queue_manager)
    if subject:
        text = "The question is still open and times out soon, which counts as Reject."
        one = made({"notifier": notifier, "arguments": arguments})
        one.context = {**context, "mqops": template_values(run.dag_id, run.run_id, f"Still open: {subject}", text)}  # type: ignore[typeddict-item]
        await one


def open_question(dag_run: Any, queue_manager: str) -> str:
    """The subject of the question that a run has asked and nobody has answered, "" where there is none."""
    from mqops_airflow.approval import answer, plan_text  # noqa: PLC0415
    from mqops_airflow.runs.plan_files import read_plan  # noqa: PLC0415
    from mqops_airflow.runs.run_folder import handed_on  # noqa: PLC0415

    try:
        folder = handed_on(dag_run, queue_manager)["folder"]
    except SettingsError:  # the run has not begun to plan
        return ""
    asked = answer.read_question(folder)
    return plan_text.subject(read_plan(folder)) if asked is not None and asked.answer is None else ""
