"""A queue manager as it is now: the figures of its queues, what the lake knows besides, and what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

from mqops.clock import utc
from mqops.decide.core.staying import staying
from mqops.decide.preflight_record import PREFLIGHT
from mqops.expiry.core.candidates import Known as Scanned
from mqops.expiry.record import known as scanned
from mqops.lake.run import RunFolder, folder_of
from mqops.lake.stop import stop_in
from mqops.look.accounted import LedgerNow, RunsThatActed, runs_that_acted, written_since
from mqops.look.before_proof import is_before_proof
from mqops.look.core.expires import Expires
from mqops.look.core.run_state import RunLine
from mqops.look.depths import Sample, depths
from mqops.look.estate.checks import NOTES, PROBLEMS, Check, found_by
from mqops.look.estate.expiring import Expiring, expires_of
from mqops.look.estate.known import Known
from mqops.look.estate.problem import Place, Problem, Urgency, tried
from mqops.look.figures import Figures, QueueFigures
from mqops.look.plan_view import acted_on, planned_actions
from mqops.look.runs import GrewDuringScans, Runs
from mqops.look.words.state import RunState
from mqops.prove.records import UNDO_RECORD

SHOWN_RUNS = 30
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueNow:
    """A local queue.

    Parameters: `expires` what is known of its messages that expire before the morning
    (`mqops.look.expiry_forecast.MORNING`); `earlier` its depths of the last day, as runs and looks
    (`mqops.look.depths`) found them, oldest first, and the depth of now.
    """

    now: QueueFigures
    expires: Expires = field(default_factory=Expires)
    earlier: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagerNow:
    """A queue manager.

    Parameters: `figures` what it says, or said last; `waiting` runs that wait for an approval, `undoes` those of them
    that are undos → the run that each undoes, `to_act_on` each of them → the messages that its plan moves or discards,
    and those of them that would stay (`mqops.decide.core.staying`); `approved` runs that were approved and have not
    begun; `stopped` who stopped all runs, blank where nobody did; `scanned` expired messages that scans made the queue
    manager discard, and `grew` the dead-letter queues that grew meanwhile; `acted` the runs that acted; `ledger` as it
    was verified last, None where that is not known yet, and `ledger_grew` whether it was written to since; `problems`
    what is wrong, `notes` what a person should know besides; `looked` whether its part of the lake has been read;
    `before_proof` whether a run was proved after the queue manager was asked for `figures`: they are of before.
    """

    name: str
    figures: Figures = field(default_factory=Figures)
    queues: tuple[QueueNow, ...] = ()
    runs: tuple[RunLine, ...] = ()
    waiting: tuple[RunLine, ...] = ()
    undoes: Mapping[str, str] = field(default_factory=dict)
    to_act_on: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    approved: tuple[RunLine, ...] = ()
    stopped: str = ""
    scanned: int = 0
    grew: tuple[GrewDuringScans, ...] = ()
    acted: RunsThatActed = field(default_factory=lambda: RunsThatActed(known=False))
    ledger: LedgerNow | None = None
    ledger_grew: bool = False
    problems: tuple[Problem, ...] = ()
    notes: tuple[Problem, ...] = ()
    looked: bool = True
    before_proof: bool = False

    def held_by(self, queue: str) -> tuple[RunLine, ...]:
        """The runs whose plans wait, and keep real runs on a queue waiting. An undo keeps none."""
        on_queue = (run for run in self.waiting if queue in run.queue.split(","))
        return tuple(run for run in on_queue if not run.is_undo)


class _Reading:
    """Reads what the page shows. Attributes: `problems` what could not be read."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def of(self, what: str, read: Callable[[], T], otherwise: T) -> T:
        """The value that `read` gives, or `otherwise` where it fails. Parameters: as of `tried`."""
        value, failed = tried(what, read, otherwise)
        self.problems += failed
        return value


def manager_now(
    figures: Figures,
    lake: Path,
    name: str,
    *,
    broken_triggers: Mapping[str, str] = MappingProxyType({}),
    switched_off: Sequence[str] = (),
    poison: Mapping[str, str] = MappingProxyType({}),
    not_inquired: Sequence[str] = (),
    ledger: LedgerNow | None = None,
    expiring: Expiring | None = None,
    more_checks: Sequence[Check] = (),
) -> ManagerNow:
    """A queue manager as it is now. Parameters: as of `Known`; `more_checks` of the lake, by rooms above this one."""
    reading = _Reading()
    folder, unread = tried("The lake cannot be read, so nothing may act", lambda: folder_of(lake, name), None)
    reading.problems += [replace(one, urgency=Urgency.NOW, place=Place.ACCOUNTED) for one in unread]
    with ExitStack() as look:
        open_look = partial(look.enter_context, Runs(lake, name).one_look())
        runs = reading.of("The runs cannot be read", open_look, None) if folder else None
        known = Known(
            name=name,
            lake=lake,
            figures=figures,
            runs=runs,
            broken_triggers=broken_triggers,
            switched_off=switched_off,
            poison=poison,
            not_inquired=not_inquired,
            ledger=ledger if folder else None,  # the same once more: it cannot be read
            expiring=expiring if folder else None,
            sampled=depths(folder, utc()) if folder else (),
        )
        found = list(found_by((*PROBLEMS, *more_checks) if folder else PROBLEMS, known))
        notes = list(found_by(NOTES, known))
        shown = _in_lake(known, reading, folder) if folder else _by_figures(known, ledger)
        failed = (one for _found, wrong in (*found, *notes) for one in wrong)
        return replace(
            shown,
            problems=(*reading.problems, *chain.from_iterable(one for one, _ in found), *failed),
            notes=tuple(chain.from_iterable(one for one, _ in notes)),
        )


def _by_figures(known: Known, ledger: LedgerNow | None) -> ManagerNow:
    """Without the lake. Parameters: `ledger` which says why it cannot be verified."""
    queues = tuple(QueueNow(now=one) for one in known.figures.queues)
    return ManagerNow(name=known.name, figures=known.figures, queues=queues, ledger=ledger)


def _in_lake(known: Known, reading: _Reading, folder: Path) -> ManagerNow:
    """Parameters: `folder` LAKE/<queue manager>."""
    scans = reading.of("What expiry scans found cannot be read", lambda: scanned(folder), dict[str, Scanned]())
    today = reading.of(
        "The runs of the last day cannot be read", lambda: _today(known), dict[str, list[tuple[str, int]]]()
    )
    stop = reading.of("The kill switch cannot be read", lambda: stop_in(folder), None)
    queues = (
        QueueNow(
            now=one,
            expires=expires_of(one, scans.get(one.name), known.expiring),
            earlier=(*_earlier(today.get(one.name, ()), known.sampled, one.name), one.depth),
        )
        for one in known.figures.queues
    )
    shown = ManagerNow(
        name=known.name,
        figures=known.figures,
        queues=tuple(queues),
        stopped=str(stop) if stop else "",
        ledger=known.ledger,
        ledger_grew=known.ledger is not None and written_since(folder, known.ledger),
    )
    if known.runs is None:
        return shown
    runs = known.runs
    return reading.of("The runs cannot be read", lambda: _with_runs(shown, known, runs, reading), shown)


def _with_runs(shown: ManagerNow, known: Known, runs: Runs, reading: _Reading) -> ManagerNow:
    waiting = tuple(runs.that_ask())
    undoes = reading.of("What undos are of cannot be read", lambda: dict(_undone(known, waiting)), dict[str, str]())
    plans = "The plans that wait for an approval cannot be read"
    return replace(
        shown,
        runs=tuple(runs.newest(SHOWN_RUNS)),
        waiting=waiting,
        undoes=undoes,
        to_act_on=reading.of(plans, lambda: dict(_to_act_on(known, waiting)), dict[str, tuple[int, int]]()),
        approved=tuple(runs.in_states(RunState.APPROVED)),
        before_proof=is_before_proof(runs.lake, known.name, known.figures),
        scanned=runs.scanned_away(),
        grew=tuple(runs.grew_during_scans()),
        acted=runs_that_acted(runs, known.ledger.found.runs if known.ledger else ()),
    )


def _today(known: Known) -> dict[str, list[tuple[str, int]]]:
    """Queue → when runs of the last day looked at it (ISO 8601 UTC), and messages that they found."""
    found: dict[str, list[tuple[str, int]]] = {}
    for run, queue, messages in known.observed(known.of_last_day()):
        found.setdefault(queue, []).append((run.at, messages))
    return found


def _earlier(runs: Iterable[tuple[str, int]], sampled: Iterable[Sample], queue: str) -> list[int]:
    """The depths of a queue over the last day, oldest first: what runs found, and what looks have sampled."""
    samples = ((one.at, depth) for one in sampled if (depth := one.of(queue)) is not None)
    return [depth for _at, depth in sorted((*runs, *samples))]


def _undone(known: Known, runs: Iterable[RunLine]) -> Iterator[tuple[str, str]]:
    """The undos among the runs, each with the run that it undoes."""
    for run in runs:
        record = UNDO_RECORD.find(RunFolder(known.path(run)))
        if record is not None:
            yield run.run, record.run


def _to_act_on(known: Known, runs: Iterable[RunLine]) -> Iterator[tuple[str, tuple[int, int]]]:
    """Each run, with the messages that its plan moves or discards, and those of them that its destinations did not take
    when they were looked at."""
    for run in runs:
        path = RunFolder(known.path(run))
        plan, looked = planned_actions(path), PREFLIGHT.find(path)
        yield run.run, (acted_on(plan.actions), staying(looked, plan.digest).messages)
