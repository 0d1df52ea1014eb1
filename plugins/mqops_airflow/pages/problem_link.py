"""Where a problem of the page `estate` is seen or mended, and the form that handles messages of a backout queue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

from mqops.estate import EstateFile
from mqops.estate_sections import dag_prefix
from mqops.look.estate.problem import Place, Problem


class Link(NamedTuple):
    """Parameters: `words` to click on; `airflow` whether it is a page of Airflow's own."""

    href: str
    words: str
    airflow: bool = False


LINKS: Mapping[Place, Link] = {
    Place.ACCOUNTED: Link("#accounted", "When it was verified"),
    Place.CONNECTION: Link("/connections?name_pattern={conn}", "Test the connection {conn}", airflow=True),
    Place.DEAD_LETTERS: Link("{root}/dead_letters?queue_manager={name}&queue={about}", "Look at them, and handle them"),
    Place.MESSAGES: Link("{root}/messages?queue_manager={name}&run={about}", "Look at the messages"),
    Place.QUALITY: Link("{root}/quality?queue_manager={name}&run={about}", "Look at the checks"),
    Place.QUEUE: Link("#queue-{name}-{about}", "Its row below"),
    Place.RECORDED: Link("{root}/messages?queue_manager={name}&queue={about}", "Its messages, as a run recorded them"),
    Place.RUN: Link("{root}/run?queue_manager={name}&run={about}", "Look at the run"),
    Place.TRIGGERS: Link("{root}/triggers?queue_manager={name}&queue={about}", "See what fails, and the MQSC for it"),
}
"""Place → the link, with the names in it that `link_of` fills in."""


def link_of(root: str, estate: EstateFile, name: str, problem: Problem) -> Link | None:
    """The link of a problem of a queue manager; None where no page helps."""
    if problem.place is None:
        return None
    settings = estate.estate.queue_managers[name]
    link = LINKS[problem.place]
    values = {"name": name, "about": problem.about, "conn": settings.connection}
    quoted = {key: quote(value, safe="") for key, value in values.items()}
    return link._replace(href=link.href.format(root=root, **quoted), words=link.words.format(**values))


class Form(NamedTuple):
    """A form that starts a run of `dag_id`. Parameters: `fixed` fields; `title` what it does; `asks_where` whether the
    person names the queue that the messages go to."""

    dag_id: str
    fixed: Mapping[str, Any]
    title: str
    asks_where: bool


def form_of(estate: EstateFile, name: str, problem: Problem) -> Form | None:
    """What handles the messages of a backout queue: the workflow of the estate, or mq_recover where there is none. None
    for another problem."""
    queue = problem.backout_queue
    if not queue:
        return None
    if estate.estate.queue_managers[name].backout_reprocess:
        return Form(
            f"{dag_prefix(name)}_backout_reprocess", {"queues": [queue]}, f"Put the messages of {queue} back", False
        )
    fixed = {"queue_manager": name, "queue": queue, "action": "move", "all_messages": True}
    return Form("mq_recover", fixed, f"Move the messages of {queue} to another queue", True)
