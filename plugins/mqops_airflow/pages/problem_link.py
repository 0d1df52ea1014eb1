"""Where a problem of the page `estate` is seen or mended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import quote

from mqops.estate import EstateFile
from mqops.estate_sections import dag_prefix
from mqops.look.estate_now import Place, Problem


class Link(NamedTuple):
    """Parameters: `words` to click on; `airflow` whether it is a page of Airflow's own."""

    href: str
    words: str
    airflow: bool = False


LINKS: Mapping[Place, Link] = {
    Place.ACCOUNTED: Link("#accounted", "When it was verified"),
    Place.BACKOUT: Link("/dags/{backout}", "Put them back by a run of {backout}", airflow=True),
    Place.CONNECTION: Link("/connections?name_pattern={conn}", "Test the connection {conn}", airflow=True),
    Place.DEAD_LETTERS: Link("{root}/dead_letters?queue_manager={name}&queue={about}", "Look at them, and handle them"),
    Place.MESSAGES: Link("{root}/messages?queue_manager={name}&run={about}", "Look at the messages"),
    Place.QUALITY: Link("{root}/quality?queue_manager={name}&run={about}", "Look at the checks"),
    Place.QUEUE: Link("#queue-{name}-{about}", "Look at the queue"),
    Place.RUN: Link("{root}/run?queue_manager={name}&run={about}", "Look at the run"),
    Place.TRIGGERS: Link("{root}/triggers?queue_manager={name}&queue={about}", "See what fails, and the MQSC for it"),
}
"""Place → the link, with the names in it that `link_of` fills in."""

NO_BACKOUT = Link("/dags/mq_recover", "Move them by a run of mq_recover", airflow=True)
"""Where the estate has no workflow for backout queues."""


def link_of(root: str, estate: EstateFile, name: str, problem: Problem) -> Link | None:
    """The link of a problem of a queue manager; None where no page helps."""
    if problem.place is None:
        return None
    settings = estate.estate.queue_managers[name]
    known = problem.place is not Place.BACKOUT or settings.backout_reprocess
    link = LINKS[problem.place] if known else NO_BACKOUT
    values = {"name": name, "about": problem.about, "conn": settings.connection}
    values |= {"backout": f"{dag_prefix(name)}_backout_reprocess"}
    quoted = {key: quote(value, safe="") for key, value in values.items()}
    return link._replace(href=link.href.format(root=root, **quoted), words=link.words.format(**values))
