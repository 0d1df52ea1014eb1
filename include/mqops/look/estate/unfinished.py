"""Runs that do not balance, that are not finished, or that say nothing any more."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from mqops.clock import utc_text
from mqops.look.core.run_state import RunLine
from mqops.look.estate.known import Known
from mqops.look.estate.problem import Place, Problem, Urgency
from mqops.look.words.run_name import name_of
from mqops.look.words.state import RunState

QUIET = timedelta(minutes=10)
"""Act says several times a minute how far it is, and its proof takes minutes at most: after this time a run that is
not proved has ended too early, unless something has it at work."""

_WRONG = (RunState.UNBALANCED, RunState.UNFINISHED, RunState.STOPPED)


def unfinished(known: Known) -> Iterator[Problem]:
    """The runs that are not finished, as far as the lake alone tells it."""
    wrong = known.runs.in_states(*_WRONG) if known.runs else ()
    return filter(None, map(unfinished_run, wrong))


def unfinished_run(run: RunLine) -> Problem | None:
    """What `unfinished` says of a run; None where nothing is wrong with it."""
    return _of(run, what) if (what := _wrong_with(run)) else None


def quiet(run: RunLine, now: datetime) -> bool:
    """Whether a run has said nothing for so long that nothing seems to be at work on it. Parameters: `now` UTC."""
    return (run.acted_at or run.at) < utc_text(now - QUIET)


def approved_and_idle(run: RunLine) -> Problem:
    """That a run was approved, and nothing carries it out: its act failed, as after a stop."""
    return _of(run, "it was approved, and it has moved nothing: nothing is at work on it")


def left_alone(approved: Iterable[RunLine], unproved: Iterable[RunLine], at: datetime) -> Iterator[Problem]:
    """The runs that say nothing, where Airflow is not there to tell whether it is at work on them.

    Parameters: `approved` those that have not begun; `unproved` those that have, and are not proved; `at` the time,
    UTC.
    """
    for run in approved:
        if quiet(run, at):
            yield _of(run, "it was approved, and it has moved nothing: look whether something is at work on it")
    for run in unproved:
        if quiet(run, at) and not _wrong_with(run):
            yield _of(run, "it has begun and is not proved: look whether something is at work on it")


def _of(run: RunLine, what: str) -> Problem:
    name = name_of(run)
    return Problem(what=f"{name[:1].upper()}{name[1:]}: {what}", urgency=Urgency.NOW, place=Place.RUN, about=run.run)


def _wrong_with(run: RunLine) -> str:
    """The fault of a run, in words; "" where it has none."""
    if run.state is RunState.UNBALANCED:
        return "it does not balance: find the cause first"
    if run.state is RunState.UNFINISHED or (run.state is RunState.STOPPED and (run.begun or run.approved_by)):
        return f"it was approved and is not finished: {run.meaning}"
    return ""
