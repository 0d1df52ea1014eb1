"""The table of pages: path, title and the right that each needs. Menu, views in Airflow and tests follow from it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

PREFIX = "/mqops"
"""Where Airflow's API server mounts all of it."""


class Right(StrEnum):
    """What a person must be allowed to read of a DAG: a name of Airflow's `DagAccessEntity`."""

    RUN = "RUN"
    TASK_LOGS = "TASK_LOGS"


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A tab or a menu entry in Airflow's own pages.

    Parameters: `destination` as Airflow's `external_views` have it; `query` with Airflow's placeholders; `icon` a file
    of `static/`, and the one for dark pages.
    """

    destination: str
    title: str
    query: str = ""
    icons: tuple[str, str] = ("", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page.

    Parameters: `name` of its module, its template and its path; `right` that it needs with a DAG of the queue manager;
    `in_menu` whether it can be opened without a run; `of_all` whether it shows all queue managers where none is named.
    """

    name: str
    title: str
    right: Right
    in_menu: bool = True
    of_all: bool = False
    views: tuple[View, ...] = ()

    @property
    def path(self) -> str:
        """The path below `PREFIX`."""
        return f"/{self.name}"


_OF_RUN = "dag_id={DAG_ID}&run_id={RUN_ID}"

PAGES = (
    Page(
        name="estate",
        title="Estate",
        right=Right.RUN,
        of_all=True,
        views=(
            View(destination="nav", title="MQ estate", icons=("queues_light.svg", "queues_dark.svg")),
            View(destination="dag", title="MQ estate", query="dag_id={DAG_ID}"),
        ),
    ),
    Page(name="runs", title="Runs", right=Right.RUN, of_all=True),
    Page(
        name="run",
        title="Run",
        right=Right.RUN,
        in_menu=False,
        views=(
            View(destination="dag_run", title="MQ run", query=_OF_RUN),
            View(destination="task_instance", title="MQ run", query=_OF_RUN),
        ),
    ),
    Page(
        name="plan",
        title="Plan",
        right=Right.RUN,
        in_menu=False,
        views=(
            View(destination="dag_run", title="MQ plan", query=_OF_RUN),
            View(destination="task_instance", title="MQ plan", query=_OF_RUN),
        ),
    ),
    Page(name="snapshot_diff", title="Snapshots compared", right=Right.TASK_LOGS, in_menu=False),
    Page(name="dead_letters", title="Dead letters", right=Right.TASK_LOGS, of_all=True),
    Page(name="messages", title="Messages", right=Right.TASK_LOGS),
    Page(name="triggers", title="Triggers", right=Right.RUN, of_all=True),
    Page(name="rules", title="Rules", right=Right.RUN),
    Page(name="quality", title="Quality", right=Right.TASK_LOGS, of_all=True),
    Page(name="expiry", title="Expiry", right=Right.RUN, of_all=True),
)


def page(name: str) -> Page:
    """The page of that name."""
    return next(one for one in PAGES if one.name == name)
