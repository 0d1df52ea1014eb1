"""A run as its page shows it: the story that `mqops run show` tells, its balance by rule, and what came after it."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from cachetools import LRUCache

from mqops.act.progress import PROGRESS, read_live_progress
from mqops.decide.core import PlanSummary
from mqops.errors import MqopsError
from mqops.kept import kept
from mqops.lake.files import file_state, lake_errors
from mqops.lake.run import RunFolder
from mqops.lake.step import STEP
from mqops.lake.stop import LIFTED
from mqops.lake.stop import NAME as STOP
from mqops.ledger.segments import open_segment
from mqops.look.core.run_state import OPEN
from mqops.look.run_story import RunStory, run_story
from mqops.look.runs import Runs
from mqops.look.unmoved import Stays
from mqops.look.words.state import RunState
from mqops.model import RuleBalance
from mqops.prove.core.outcome import MEANING, THERE
from mqops.prove.records import OUTCOMES

OVER = frozenset(RunState) - OPEN - {RunState.STOPPED}
"""States that a run does not leave by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """A run.

    Parameters: `rules` the proved balance by queue and rule, of a run that waits for its approval what its plan would
    do, by rule; `outcomes` (what, messages, meaning) that was seen
    later of the messages that it moved, at `outcomes_at`, ISO 8601 UTC; `untold` messages of which nothing is known;
    `undos` runs that have begun to undo it, and `undos_not_begun` those that were planned (run, its state in words),
    the newest first; those that have put everything back have no words; `undone_at` when one that has begun was last
    proved, blank where none was.
    """

    story: RunStory
    rules: tuple[RuleBalance, ...] = ()
    outcomes: tuple[tuple[str, int, str], ...] = ()
    outcomes_at: str = ""
    untold: int = 0
    undos: tuple[tuple[str, str], ...] = ()
    undos_not_begun: tuple[tuple[str, str], ...] = ()
    undone_at: str = ""

    @property
    def looked_too_early(self) -> bool:
        """Whether an undo was proved after the outcomes were seen, so that some of the outcomes may have changed."""
        may_change = self.untold or any(what == THERE for what, _messages, _meaning in self.outcomes)
        return bool(may_change) and self.outcomes_at < self.undone_at

    @property
    def over(self) -> bool:
        """Whether the run has ended: nothing more happens without a person."""
        return self.story.line.state in OVER or bool(self.story.line.proved_at and not self.story.begun_at)


def _of_own_files(run: RunFolder, limit: int, after: int) -> RunView:
    """A run without its undos, which are other runs."""
    story = run_story(run, limit=limit, after=after)
    later = OUTCOMES.find(run)
    waits = story.plan if story.line.state is RunState.WAITING else None
    return RunView(
        story=replace(story, stays=_of_all_queues(story.stays, waits.queue)) if waits else story,
        rules=_planned(waits) if waits else story.summary.rules if story.summary else (),
        outcomes=tuple((what, n, MEANING.get(what, "")) for what, n in later.outcomes.items()) if later else (),
        outcomes_at=later.looked_at if later else "",
        untold=later.untold if later else 0,
    )


def _planned(plan: PlanSummary) -> tuple[RuleBalance, ...]:
    """What a plan would do, in place of a proof. It has its rules for all of its queues together."""
    return tuple(
        RuleBalance(
            queue=plan.queue,
            rule_line=one.rule_line,
            rule_key=one.rule_key or "",
            action=one.action,
            planned=one.messages,
        )
        for one in plan.rules
    )


def _of_all_queues(stays: Iterable[Stays], queue: str) -> tuple[Stays, ...]:
    """The same for all queues of a plan together. Parameters: `queue` their names."""
    found = dict[tuple[int | None, str, str], Stays]()
    for one in stays:
        key = (one.rule_line, one.action, one.rule_key)
        before = found[key].messages if key in found else 0
        found[key] = one._replace(queue=queue, messages=before + one.messages)
    return tuple(found.values())


def latest_view(run: RunFolder, *, limit: int = 0, after: int = -1) -> RunView:
    """A run with what came after it. It is made again only where a file that it tells of has changed; progress is
    always read, and undos are always looked for. Parameters and errors: as `mqops.look.run_story.run_story`.

    If it took long to make, it is shown `REST` times as long though the ledger grows: many readers of a large run cost
    no more than one.
    """
    key, state, ledger = (run, limit, after), _state(run), file_state(open_segment(run.lake_folder))
    with _lock:
        last = _last.get(key)
    if last is not None and last.state == state and time.monotonic() < last.until:
        ledger = last.ledger
    try:
        made = _made(run, limit, after, state, ledger)
    except MqopsError:
        if last is None or _state(run) == state:
            raise
        made = last  # a file was written meanwhile: it is read again the next time
    with _lock:
        _last[key] = made
    return _with_undos(run, replace(made.view, story=replace(made.view.story, progress=read_live_progress(run))))


REST, SLOW = 10, 0.2
"""How many times as long as it took a view is shown, where it took more than so many seconds."""
MOST_KEPT = 100


class _Made(NamedTuple):
    """A view. Parameters: `state` of the files that it was made of, and of the ledger; `until` when (monotonic, in
    seconds) it is shown though the ledger grows."""

    state: frozenset[tuple[object, ...]]
    ledger: tuple[int, ...]
    view: RunView
    until: float


_last: LRUCache[tuple[RunFolder, int, int], _Made] = LRUCache(maxsize=MOST_KEPT)
_lock = threading.Lock()


@kept(most=MOST_KEPT)
def _made(
    run: RunFolder, limit: int, after: int, state: frozenset[tuple[object, ...]], ledger: tuple[int, ...]
) -> _Made:
    """The view of a run whose files, and the ledger, are in this state."""
    began = time.monotonic()
    view = _of_own_files(run, limit, after)
    now = time.monotonic()
    took = now - began
    return _Made(state, ledger, view, now + REST * took if took > SLOW else 0.0)


def _state(run: RunFolder) -> frozenset[tuple[object, ...]]:
    """The files that a view is made of: name, when it was written, bytes. Progress and ledger are not among them."""
    beside = (run.lake_folder / STOP, run.lake_folder / LIFTED, run.path.parent, run.quality_json, run.quality_checks)
    found = {(path.name, *file_state(path)) for path in beside}
    with lake_errors(run.path), os.scandir(run.path) as entries:
        for one in entries:
            if one.name.endswith(".json") and one.name not in {PROGRESS.name, STEP.name}:
                found.add((one.name, *file_state(one.path)))
    return frozenset(found)


def _with_undos(run: RunFolder, view: RunView) -> RunView:
    """The view of a run with its undos. A plan of one, or a dry run, puts nothing back."""
    if not view.story.begun_at:
        return view
    begun, planned, undone_at = list[tuple[str, str]](), list[tuple[str, str]](), ""
    for line, _undone in Runs.in_folder(run.lake_folder).undos_of([run.run]):
        if not line.begun:
            planned.append((line.run, line.meaning))
            continue
        undone_at = max(undone_at, line.proved_at)
        if line.state is RunState.DONE and line.moved == line.planned:
            begun.append((line.run, ""))
        else:
            begun.append((line.run, f"{line.meaning}; {line.moved:,} of {line.planned:,} put back"))
    return replace(view, undos=tuple(begun), undos_not_begun=tuple(planned), undone_at=undone_at)
