"""Where a problem of the page `estate` is seen or mended, and the form that handles messages of a backout queue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import quote

from mqops.estate import EstateFile
from mqops.estate_sections import dag_prefix
from mqops.look.estate.problem import Place, Problem
from mqops.look.words.text import AirflowLink, Link
from mqops_airflow.pages.which_run import Fields


class _To(NamedTuple):
    """A page. Parameters: `words` to click on; `about` the name, in its address, of the thing that the problem is
    about."""

    words: str
    page: str
    about: str


_LEADS_TO: Mapping[Place, _To] = {
    Place.DEAD_LETTERS: _To("Look at them, and handle them", "dead_letters", "queue"),
    Place.MESSAGES: _To("Look at the messages", "messages", "run"),
    Place.QUALITY: _To("Look at the checks", "quality", "run"),
    Place.RECORDED: _To("Its messages, as a run recorded them", "messages", "queue"),
    Place.RUN: _To("Look at the run", "run", "run"),
    Place.TRIGGERS: _To("See what fails, and the MQSC for it", "triggers", "queue"),
}
"""Place on another page of ours → the link. The other places are on the page itself, or Airflow's."""


def link_of(estate: EstateFile, name: str, problem: Problem) -> Link | AirflowLink | None:
    """The link of a problem of a queue manager; None where no page helps."""
    match problem.place:
        case None:
            return None
        case Place.ACCOUNTED:
            return Link("When it was verified", place="accounted")
        case Place.QUEUE:
            return Link(
                "The queues" if problem.each else "The queue",
                "estate",
                {"queue_manager": name},
                place=f"queue-{name}-{problem.about}",
            )
        case Place.CONNECTION:
            conn = estate.estate.queue_managers[name].connection
            return AirflowLink(f"Test the connection {conn}", f"/connections?name_pattern={quote(conn, safe='')}")
    to = _LEADS_TO[problem.place]
    return Link(to.words, to.page, {"queue_manager": name, to.about: problem.about})


class Form(NamedTuple):
    """A form that starts a run of `dag_id`. Parameters: `fixed` fields; `title` what it does; `asks_where` whether the
    person names the queue that the messages of `queue` go to."""

    dag_id: str
    fixed: Fields
    title: str
    asks_where: bool
    id: str
    queue: str


class Forms:
    """The forms of one page. Two problems of the same queue have one form, beside the first of them."""

    def __init__(self, estate: EstateFile) -> None:
        self._estate = estate
        self._given: dict[str, Problem] = {}

    def of(self, name: str, problem: Problem) -> Form | None:
        """The form of a problem of a queue manager, None where it has none, or where another problem has it."""
        form = form_of(self._estate, name, problem)
        return form if form and self._given.setdefault(form.id, problem) is problem else None


def form_of(estate: EstateFile, name: str, problem: Problem) -> Form | None:
    """The form for the messages of a backout queue: of the workflow in the estate, of mq_recover where the estate has
    no such workflow; or the form that stops a loop, of the poison guard, where the estate has it. None for another
    problem."""
    if problem.looping_queue and estate.estate.queue_managers[name].poison_guard:
        return _stops(name, problem.looping_queue)
    queue = problem.backout_queue
    if not queue:
        return None
    element = f"start-{name}-{queue}"
    if estate.estate.queue_managers[name].backout_reprocess:
        dag_id, title = f"{dag_prefix(name)}_backout_reprocess", f"Put the messages of {queue} back"
        return Form(dag_id, {"queues": [queue]}, title, False, element, queue)
    fixed = {"queue_manager": name, "queue": queue, "action": "move", "all_messages": True}
    return Form("mq_recover", fixed, f"Move the messages of {queue} to another queue", True, element, queue)


def _stops(name: str, queue: str) -> Form:
    """The form of the poison guard for one queue."""
    fixed = {"queue_manager": name, "queues": [queue]}
    title = f"Stop the loop on {queue}: what loops goes to its backout queue"
    return Form(f"{dag_prefix(name)}_poison_guard", fixed, title, False, f"stop-{name}-{queue}", queue)
