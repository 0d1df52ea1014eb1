"""A page of the list of all runs: the newest that fit, and where the next page begins.

1. The index is read from where the page begins, in the order of the page, and no further than the page is long
   (`mqops.look.runs_fitting`).
2. A page begins behind a run (time and key), not at a number: runs that begin meanwhile move no page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import NamedTuple

from mqops.errors import LakeError, MqopsError
from mqops.look.core.run_state import RunLine
from mqops.look.history import runs_that_dealt_with
from mqops.look.runs import Damaged, Runs
from mqops.look.runs_fitting import NEWEST, Fitting
from mqops.look.words.state import RunState


class Place(NamedTuple):
    """Where a page begins: behind this run. Parameters: `at` and `run` of its line."""

    at: str
    run: str

    @classmethod
    def of(cls, text: str) -> Place | None:
        """The place that an address names; None where it names none."""
        at, _, run = text.partition(" ")
        return cls(at, run) if run else None

    def __str__(self) -> str:
        return f"{self.at} {self.run}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedRuns:
    """Which runs. Parameters: "" and None for all; `person` who asked for the run or approved it; `day` on which it
    began, UTC; `msg_id` of a message that the run moved, discarded or tried, lower-case hex, its beginning will do."""

    queue: str = ""
    workflow: str = ""
    person: str = ""
    state: RunState | None = None
    day: date | None = None
    msg_id: str = ""


class PageOfRuns(NamedTuple):
    """Parameters: `runs` newest first; `behind` where the next page begins, None where there is none; `problems` queue
    manager → why its runs cannot be read; `damaged` single runs that cannot be, whether they would fit or not."""

    runs: tuple[RunLine, ...]
    behind: Place | None
    problems: dict[str, str]
    damaged: tuple[Damaged, ...] = ()


def page_of_runs(
    lake: Path, queue_managers: Sequence[str], wanted: WantedRuns, *, most: int, behind: Place | None = None
) -> PageOfRuns:
    """A page of runs of these queue managers. Parameters: `most` runs on it; `behind` where it begins, None for the
    newest."""
    found: list[RunLine] = []
    damaged: list[Damaged] = []
    problems = {}
    for name in queue_managers:
        try:
            lines, unread = _newest(lake, name, wanted, most + 1, behind)
            found += lines
            damaged += unread
        except MqopsError as error:
            problems[name] = str(error)
            if len(problems) == len(queue_managers):
                raise
    found.sort(key=lambda line: (line.at, line.run), reverse=True)
    shown = tuple(found[:most])
    place = Place(shown[-1].at, shown[-1].run) if len(found) > most else None
    return PageOfRuns(shown, place, problems, tuple(damaged))


def _newest(
    lake: Path, name: str, wanted: WantedRuns, most: int, behind: Place | None
) -> tuple[list[RunLine], list[Damaged]]:
    end = behind or NEWEST
    fitting = Fitting(
        queue=wanted.queue,
        workflow=wanted.workflow,
        person=wanted.person,
        since=wanted.day.isoformat() if wanted.day else "",
        behind=min(end, (f"{wanted.day.isoformat()}U", "")) if wanted.day else end,  # its times go on with a T
        only=runs_that_dealt_with(lake, name, wanted.msg_id) if wanted.msg_id else None,
    )
    unread = dict[str, LakeError]()
    found = Runs(lake, name, damaged=unread).that_fit(fitting, [wanted.state] if wanted.state else [], most)
    return found, [Damaged(name, run, error) for run, error in unread.items()]
