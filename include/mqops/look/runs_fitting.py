"""Which runs fit what is asked for, newest first: each combination of conditions costs what it answers.

1. The table `found_by` of the index has a run under each of its queues and under none (""), with each of its people
   and with none, and behind these by its workflow, its state, and its time. So the runs of a queue and a person, either
   of which may be "" for all, have one place in the table, whichever of the two is asked for.
2. The kinds of runs (workflow and state) in such a place are few, whatever the number of the runs: each is found by one
   step in the table. The runs of each kind are there in the order of their times, and are merged.
   No run is missed, or found twice, because it changes its kind meanwhile: the steps are one transaction.
3. Where keys of runs are given, these runs are looked up, and no others.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from mqops.look.core.run_state import RunLine
from mqops.look.runs_index import RunsIndex
from mqops.look.words.state import RunState

NEWEST = ("~", "")
"""Behind the time of every run: ISO 8601 begins with a digit."""
_PLACE = "queue = ? AND person = ?"
_TIME = "at >= ? AND (at, run) < (?, ?)"
_KIND = f"SELECT workflow, state FROM found_by WHERE {_PLACE}"  # noqa: S608 - ours
_NEXT_KIND = (
    f"SELECT * FROM ({_KIND} AND workflow = ? AND state > ? ORDER BY state LIMIT 1) UNION ALL "  # noqa: S608 - ours
    f"SELECT * FROM ({_KIND} AND workflow > ? ORDER BY workflow, state LIMIT 1) LIMIT 1"
)
"""As (workflow, state) > (?, ?), for which SQLite would go through all runs of the first workflow and state."""
_OF_KIND = f"SELECT at, run FROM found_by WHERE {_PLACE} AND workflow = ? AND state = ? AND {_TIME}"  # noqa: S608 - ours
_LINES = (
    f"SELECT found.at, run.run, run.state, run.line FROM ({_OF_KIND}) AS found "  # noqa: S608 - ours
    "CROSS JOIN run ON run.run = found.run ORDER BY found.at DESC, found.run DESC"
)
_NUMBER = f"SELECT COUNT(*) FROM ({_OF_KIND} LIMIT ?)"  # noqa: S608 - ours
_OF_KEYS = f"""
SELECT at, run, state, line FROM json_each(?) CROSS JOIN run ON run.run = value WHERE EXISTS (
    SELECT 1 FROM found_by AS one WHERE (one.queue, one.person) = (?, ?)
    AND (one.workflow, one.state, one.at, one.run) = (run.workflow, run.state, run.at, run.run)
) AND {_TIME} ORDER BY at DESC, run DESC"""  # noqa: S608 - ours


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitting:
    """Which runs. Parameters: "" for all; `person` who asked for the run or approved it; `states` that their rows have
    (`mqops.look.runs.stored`), None for all; `since` the first time, ISO 8601 UTC; `behind` time and key of a run, the
    older ones alone; `only` keys of runs, None for all."""

    queue: str = ""
    workflow: str = ""
    person: str = ""
    states: Collection[RunState] | None = None
    since: str = ""
    behind: tuple[str, str] = NEWEST
    only: Collection[str] | None = None

    @property
    def _times(self) -> tuple[str, str, str]:
        return self.since, *self.behind

    def lines(self, index: RunsIndex) -> Iterator[RunLine]:
        """The runs that fit, newest first, as the index has them."""
        if self.only is not None:
            given = json.dumps(sorted(self.only)), self.queue, self.person, *self._times
            found = (index.line(*row[1:]) for row in index.rows(_OF_KEYS, given))
            yield from (line for line in found if self._is_of(line.workflow, line.state))
            return
        with index.at_one_moment():
            kinds = [index.rows(_LINES, (self.queue, self.person, *kind, *self._times)) for kind in self._kinds(index)]
            for _at, *columns in heapq.merge(*kinds, reverse=True):
                yield index.line(*columns)

    def number(self, index: RunsIndex, most: int) -> int:
        """How many runs fit, counted up to `most`. Not for given keys."""
        number = 0
        with index.at_one_moment():
            for kind in self._kinds(index):
                values = (self.queue, self.person, *kind, *self._times, most - number)
                ((more,),) = index.rows(_NUMBER, values)
                number += more
        return number

    def _kinds(self, index: RunsIndex) -> Iterator[tuple[str, str]]:
        """Workflow and state of the runs of the queue and the person, of each the first that comes (rule 2)."""
        kind, place = (self.workflow, ""), (self.queue, self.person)
        while (kind := index.rows(_NEXT_KIND, (*place, *kind, *place, kind[0])).fetchone()) is not None:
            if self.workflow not in {"", kind[0]}:
                return
            if self._is_of(*kind):
                yield kind

    def _is_of(self, workflow: str, state: str) -> bool:
        return self.workflow in {"", workflow} and (self.states is None or state in self.states)
