"""A page of the list of all runs: the newest that fit, and where the next page begins.

1. The index is read from where the page begins, in the order of the page, and no further than the page is long: its
   tables for queues, people, workflows and states are in that order, too. Of several conditions the first in this order
   chooses the table; what it gives is read until enough fits the others.
2. A page begins behind a run (time and key), not at a number: runs that begin meanwhile move no page.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import NamedTuple

from mqops.clock import utc_now
from mqops.errors import MqopsError
from mqops.lake.run import folder_of
from mqops.lake.stop import stop_in
from mqops.look.core.run_state import RunLine, as_of
from mqops.look.history import runs_that_dealt_with
from mqops.look.runs import Runs, stored
from mqops.look.runs_index import RunsIndex
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
    manager → why its runs cannot be read."""

    runs: tuple[RunLine, ...]
    behind: Place | None
    problems: dict[str, str]


def page_of_runs(
    lake: Path, queue_managers: Sequence[str], wanted: WantedRuns, *, most: int, behind: Place | None = None
) -> PageOfRuns:
    """A page of runs of these queue managers. Parameters: `most` runs on it; `behind` where it begins, None for the
    newest."""
    found: list[RunLine] = []
    problems = {}
    for name in queue_managers:
        try:
            found += _newest(lake, name, wanted, most + 1, behind)
        except MqopsError as error:
            problems[name] = str(error)
            if len(problems) == len(queue_managers):
                raise
    found.sort(key=lambda line: (line.at, line.run), reverse=True)
    shown = tuple(found[:most])
    return PageOfRuns(shown, Place(shown[-1].at, shown[-1].run) if len(found) > most else None, problems)


def _newest(lake: Path, name: str, wanted: WantedRuns, most: int, behind: Place | None) -> list[RunLine]:
    now, stopped = utc_now(), stop_in(folder_of(lake, name)) is not None
    only = runs_that_dealt_with(lake, name, wanted.msg_id) if wanted.msg_id else None

    def lines(index: RunsIndex) -> list[RunLine]:
        found: list[RunLine] = []
        for line in _lines(index, wanted, behind, only):
            now_is = as_of(line, now, stopped=stopped)
            if wanted.state in {None, now_is.state}:
                found.append(now_is)
            if len(found) == most:
                break
        return found

    return Runs(lake, name).ask(lines)


def _lines(
    index: RunsIndex, wanted: WantedRuns, behind: Place | None, only: Collection[str] | None
) -> Iterator[RunLine]:
    """The runs that fit, newest first, as the index has them. Parameters: `only` keys of runs, None for all."""
    tables, by = "run", "run"
    where, values = [], list[str]()

    def must(condition: str, *given: str) -> None:
        where.append(condition)
        values.extend(given)

    if wanted.queue:
        tables, by = "queue_of AS first CROSS JOIN run ON run.run = first.run", "first"
        must("first.queue = ?", wanted.queue)
    elif wanted.person:
        tables, by = "person_of AS first CROSS JOIN run ON run.run = first.run", "first"
        must("first.person = ?", wanted.person)
    if only is not None:
        must("run.run IN (SELECT value FROM json_each(?))", json.dumps(sorted(only)))
    if wanted.queue and wanted.person:
        must(
            "EXISTS (SELECT 1 FROM person_of AS p WHERE (p.person, p.at, p.run) = (?, run.at, run.run))", wanted.person
        )
    if wanted.workflow:
        must("run.workflow = ?", wanted.workflow)
    if wanted.state:
        states = sorted(stored({wanted.state}))
        must(f"run.state IN ({', '.join('?' * len(states))})", *states)
    if wanted.day:
        must(f"{by}.at >= ?", wanted.day.isoformat())
        must(f"{by}.at < ?", f"{wanted.day.isoformat()}U")  # behind every time of that day, which goes on with a T
    if behind:
        must(f"({by}.at, {by}.run) < (?, ?)", *behind)
    found = index.rows(
        f"SELECT run.run, run.state, run.line FROM {tables} WHERE {' AND '.join(where) or '1'} "  # noqa: S608 - ours
        f"ORDER BY {by}.at DESC, {by}.run DESC",
        values,
    )
    for run, state, line in found:
        yield index.line(run, state, line)
