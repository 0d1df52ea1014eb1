"""A queue manager as it is now: the figures of its queues, what the lake knows besides, and what is wrong, in words.

Nothing here fails: what cannot be read is one more problem of this queue manager, and the others are shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from mqops.act.sources import PROTECTION_ERRORS
from mqops.actions import SENDS, Action
from mqops.clock import utc, utc_now, utc_text
from mqops.command import command
from mqops.counted import counted
from mqops.decide.backout_setting import read_setting
from mqops.decide.core.staying import staying
from mqops.decide.preflight_record import read_preflight
from mqops.errors import MqopsError
from mqops.expiry.core.candidates import Known
from mqops.expiry.record import known
from mqops.kept import kept
from mqops.lake.files import read_json
from mqops.lake.parquet import read_parquet
from mqops.lake.run import RunFolder, folder_of
from mqops.lake.stop import stop_in
from mqops.ledger.core.replays import WORKFLOW as BACKOUT
from mqops.look.accounted import LedgerNow, RunsThatActed, runs_that_acted, written_since
from mqops.look.core.expires import Expires, QueueForecast, expires
from mqops.look.core.run_state import RunLine
from mqops.look.expiry_forecast import COPIES, MORNING, Forecast, forecast, next_time
from mqops.look.figures import Figures, QueueFigures
from mqops.look.plan_view import acted_on, planned_actions
from mqops.look.runs import list_runs
from mqops.look.scan_reports import GrewDuringScans, grew_during_scans
from mqops.look.taken_since import still_there
from mqops.look.words.state import RunState
from mqops.mqsc import mqsc_name, raised_max_depth
from mqops.observe.core.dead_letters import Kind, Kinds, kinds_of, protected
from mqops.prove.undo_record import WORKFLOW as UNDO
from mqops.prove.undo_record import read_undo_record
from mqops.single_flight import single_flight

SHOWN_RUNS = 30
DAY = timedelta(days=1)
MOST_OF_A_DAY = 200
"""Runs of the last day that are looked at."""
MOST_ACTED = 200
"""Runs whose plans tell on which queues messages were put, the newest."""
BACKED_OUT = 3
"""Times after which a message loops where BOTHRESH(0) sets no limit."""
NO_READER = " (no program has it open for input: check that its application runs)"
T = TypeVar("T")


class Place(StrEnum):
    """Where a problem is seen or mended."""

    ACCOUNTED = "accounted"
    CONNECTION = "connection"
    DEAD_LETTERS = "dead_letters"
    MESSAGES = "messages"
    QUALITY = "quality"
    QUEUE = "queue"
    RECORDED = "recorded"
    RUN = "run"
    TRIGGERS = "triggers"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What is wrong, in words. Parameters: `place` where it is seen or mended, None where no page helps; `about` the
    queue or the run that is meant there; `backout_queue` whose messages a form handles, blank for
    none."""

    text: str
    place: Place | None = None
    about: str = ""
    backout_queue: str = ""


_WORST = (Place.CONNECTION, Place.ACCOUNTED)
"""What is worse than all else: nothing of the queue manager is known, or what was done is not proved."""


def rank(problem: Problem) -> int:
    """How bad a problem is, 0 the worst."""
    if problem.place in _WORST:
        return _WORST.index(problem.place)
    return len(_WORST) + (problem.place is not Place.RUN)


def worst_first(problems: Iterable[Problem]) -> list[Problem]:
    """Problems in the order in which a person should look at them; equals in the order in which they were found."""
    return sorted(problems, key=rank)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expiring:
    """What expires before the morning. Parameters: `at` when it was counted, ISO 8601 UTC; `queues` that a run has
    recorded → as its snapshot has them; `problem` why it cannot be told, in words."""

    at: str = ""
    queues: Mapping[str, QueueForecast] = field(default_factory=dict)
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueNow:
    """A local queue.

    Parameters: `expires` what is known of its messages that expire before the morning
    (`mqops.look.expiry_forecast.MORNING`); `earlier` what the runs of the last day found, oldest first, and the depth
    of now.
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
    what is wrong, `notes` what a person should know besides.
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

    def held_by(self, queue: str) -> tuple[RunLine, ...]:
        """The runs whose plans wait, and keep real runs on a queue waiting. An undo keeps none."""
        on_queue = (run for run in self.waiting if queue in run.queue.split(","))
        return tuple(run for run in on_queue if run.workflow != UNDO)


def manager_now(
    figures: Figures,
    lake: Path,
    name: str,
    *,
    broken_triggers: Mapping[str, str] = MappingProxyType({}),
    switched_off: Sequence[str] = (),
    poison: Mapping[str, str] = MappingProxyType({}),
    ledger: LedgerNow | None = None,
    expiring: Expiring | None = None,
    more_problems: Callable[[], Iterable[Problem]] = tuple,
) -> ManagerNow:
    """A queue manager as it is now.

    Parameters: `figures` what it says; `name` of the queue manager; `broken_triggers` queue → why it cannot trigger;
    `switched_off` queues on which triggering is off, and no message waits there; `poison` queue → what a browse of now
    has found of messages that loop: of other queues the newest snapshot tells; `ledger` as it was verified last;
    `expiring` as it was counted last; `more_problems` of the lake, which this module does not know.
    """
    problems: list[Problem] = []
    if figures.unreachable:
        silent = "has not answered yet" if figures.awaited else "does not answer"
        text = f"The queue manager {silent}: {figures.unreachable}"
        problems.append(Problem(text=text, place=Place.CONNECTION))
    problems += _dead_letter_queue(figures)
    folder = _or_problem(problems, "The lake cannot be read", lambda: folder_of(lake, name), None)
    if folder is None:
        queues = tuple(QueueNow(now=one) for one in figures.queues)
        return ManagerNow(name=name, figures=figures, queues=queues, problems=tuple(problems))
    read: list[RunLine] | None = _or_problem(
        problems, "The runs cannot be read", lambda: list_runs(lake, queue_manager=name), None
    )
    runs = read or []
    scans: Mapping[str, Known] = _or_problem(
        problems, "What expiry scans found cannot be read", lambda: known(folder), {}
    )
    today: dict[str, list[int]] = _or_problem(
        problems, "The runs of the last day cannot be read", lambda: _today(folder, runs), {}
    )
    if expiring and expiring.problem:
        problems.append(Problem(text=expiring.problem))
    queues = tuple(_queue(one, scans, expiring, today) for one in figures.queues)
    full = [one.name for one in figures.queues if one.nearly_full]
    recorded: set[str] = _or_problem(
        problems,
        "Which queues are recorded cannot be read",
        lambda: {queue for queue in full if _is_recorded(queue, folder, runs)},
        set(),
    )
    problems += _nearly_full(figures, recorded)
    problems += _not_sent(figures)
    ambiguous: Mapping[str, _Ambiguous] = _or_problem(
        problems, "The plan of the last run for backout queues cannot be read", lambda: _ambiguous(folder, runs), {}
    )
    problems += _waiting_for_a_person(figures, ambiguous)
    problems += [
        Problem(text=f"{queue} cannot trigger: {verdict}", place=Place.TRIGGERS, about=queue)
        for queue, verdict in broken_triggers.items()
    ]
    problems += [Problem(text=text, place=Place.QUEUE, about=queue) for queue, text in poison.items()]
    problems += _or_problem(
        problems, "The snapshots cannot be read", lambda: tuple(_loops(folder, figures, runs, seen=poison)), ()
    )
    problems += _or_problem(problems, "The quality runs cannot be read", lambda: tuple(more_problems()), ())
    problems += _damaged(ledger, name)
    problems += [Problem(text=text, place=Place.RUN, about=run.run) for run in runs if (text := _wrong_with(run))]
    waiting = tuple(run for run in runs if run.asks)
    undoes: dict[str, str] = _or_problem(
        problems, "What undos are of cannot be read", lambda: dict(_undone(folder, waiting)), {}
    )
    to_act_on: dict[str, tuple[int, int]] = _or_problem(
        problems, "The plans that wait for an approval cannot be read", lambda: _to_act_on(folder, waiting), {}
    )
    notes: tuple[Problem, ...] = _or_problem(
        problems, "Where runs put messages cannot be read", lambda: tuple(_never_read(folder, figures, runs)), ()
    )
    wrong: tuple[Problem, ...] = _or_problem(
        problems, "The setting of the last backout run cannot be read", lambda: tuple(_misconfigured(folder, runs)), ()
    )
    discarding = [run for run in runs if run.state is RunState.SCANNED and run.discarded]
    grew: tuple[GrewDuringScans, ...] = _or_problem(
        problems,
        "What scans for expired messages found cannot be read",
        lambda: grew_during_scans(folder, discarding),
        (),
    )
    kinds: tuple[Problem, ...] = _or_problem(
        problems,
        "What the dead letters are cannot be read",
        lambda: tuple(_dead_letters_by_kind(folder, figures, runs)),
        (),
    )
    stop = _or_problem(problems, "The kill switch cannot be read", lambda: stop_in(folder), None)
    return ManagerNow(
        name=name,
        figures=figures,
        queues=queues,
        runs=tuple(runs[:SHOWN_RUNS]),
        waiting=waiting,
        undoes=undoes,
        to_act_on=to_act_on,
        approved=tuple(run for run in runs if run.state is RunState.APPROVED),
        stopped=str(stop) if stop else "",
        scanned=sum(run.discarded for run in discarding),
        grew=grew,
        acted=RunsThatActed(known=False)
        if read is None
        else runs_that_acted(read, ledger.found.runs if ledger else ()),
        ledger=ledger,
        ledger_grew=ledger is not None and written_since(folder, ledger),
        problems=tuple(problems),
        notes=(*notes, *wrong, *kinds, *_in_storage(figures), *_uncommitted(figures), *_switched_off(switched_off)),
    )


def _or_problem(problems: list[Problem], what: str, read: Callable[[], T], otherwise: T) -> T:
    """What `read` gives, or `otherwise`: an error becomes a problem."""
    try:
        return read()
    except (MqopsError, OSError, AttributeError, KeyError, TypeError, ValueError) as error:
        problems.append(Problem(text=f"{what}: {error if isinstance(error, MqopsError) else repr(error)}"))
        return otherwise


def _is_recorded(queue: str, folder: Path, runs: Iterable[RunLine]) -> bool:
    """Whether a snapshot has messages of a queue."""
    looked = (folder / "runs" / run.run for run in runs if run.messages and queue in run.queue.split(","))
    return any(dict(_observed(run)).get(queue) and RunFolder(run).snapshot.is_dir() for run in looked)


def _dead_letter_queue(figures: Figures) -> Iterator[Problem]:
    """That the queue manager has no dead-letter queue: what a channel cannot put is lost then, or stops the channel."""
    if wrong := figures.no_dead_letter_queue:
        text = (
            f"The queue manager has no dead-letter queue, because {wrong}: a nonpersistent message that a channel "
            f"cannot put is lost, and a persistent one stops the channel. To mend it: {figures.deadq_mend}"
        )
        yield Problem(text=text)


def _nearly_full(figures: Figures, recorded: Collection[str]) -> Iterator[Problem]:
    for one in figures.queues:
        if one.nearly_full:
            place = Place.RECORDED if one.name in recorded else Place.QUEUE
            place = Place.DEAD_LETTERS if one.name == figures.dead_letter_queue else place
            yield Problem(text=nearly_full(one, figures), place=place, about=one.name)


def nearly_full(queue: QueueFigures, figures: Figures) -> str:
    """That a queue has no room, or little, and what to do about it. Parameters: `figures` of its queue manager."""
    unread = not queue.readers and not figures.unreachable and not queue.storage
    raised = raised_max_depth(queue.name, queue.max_depth, queue.depth)
    return (
        f"{queue.name} is {100 * queue.depth // queue.max_depth} % full (CURDEPTH {queue.depth:,}, MAXDEPTH "
        f"{queue.max_depth:,}): let it be emptied{NO_READER if unread else ''}, or raise MAXDEPTH: {raised}"
    )


def _not_sent(figures: Figures) -> Iterator[Problem]:
    """Channels that do not run, and transmission queues that no channel serves."""
    depths = {one.name: one.depth for one in figures.queues}
    for channel in figures.channels:
        waits = f": {counted(depths.get(channel.serves, 0), 'message')} on {channel.serves}" if channel.serves else ""
        resume = "START CHANNEL" if channel.state in {"STOPPED", "INACTIVE"} else "DISPLAY CHSTATUS"
        yield Problem(
            text=f"Channel {channel.name} is {channel.state}{waits}. {resume}({mqsc_name(channel.name)})",
            place=Place.QUEUE if channel.serves else None,
            about=channel.serves,
        )
    for queue in figures.unserved:
        messages = counted(depths.get(queue, 0), "message")
        text = f"{queue}, a transmission queue, has {messages}, and no channel has it as XMITQ"
        yield Problem(text=text, place=Place.QUEUE, about=queue)


def _uncommitted(figures: Figures) -> Iterator[Problem]:
    """Queues on which units of work are open: what they put is seen by nobody, what they got is lost to nobody yet."""
    for one in figures.queues:
        if one.uncommitted and not figures.unreachable:
            text = one.unit or f"{one.name} has uncommitted messages, of units of work that are open now"
            yield Problem(text=text, place=Place.QUEUE, about=one.name)


def _switched_off(queues: Sequence[str]) -> Iterator[Problem]:
    """That triggering is off, perhaps on purpose."""
    if queues:
        text = f"Triggering is switched off (NOTRIGGER) on {', '.join(queues)}, and no message waits there"
        yield Problem(text=text, place=Place.TRIGGERS, about=queues[0])


QUIET = timedelta(minutes=10)
"""Act says several times a minute how far it is, and its proof takes minutes at most: after this time a run that is
not proved has ended too early, unless something has it at work."""


def quiet(run: RunLine, now: datetime) -> bool:
    """Whether a run has said nothing for so long that nothing seems to be at work on it. Parameters: `now` UTC."""
    return (run.acted_at or run.at) < utc_text(now - QUIET)


def approved_and_idle(run: RunLine) -> Problem:
    """That a run was approved, and nothing carries it out: its act failed, as after a stop."""
    text = f"Run {run.run} was approved, and it has moved nothing: nothing is at work on it"
    return Problem(text=text, place=Place.RUN, about=run.run)


def left_alone(now: ManagerNow, at: datetime) -> Iterator[Problem]:
    """The runs that say nothing, where Airflow is not there to tell whether it is at work on them. Parameters: `at` the
    time, UTC."""
    for run in now.approved:
        if quiet(run, at):
            text = f"Run {run.run} was approved, and it has moved nothing: look whether something is at work on it"
            yield Problem(text=text, place=Place.RUN, about=run.run)
    for run in now.acted.unproved:
        if quiet(run, at) and not _wrong_with(run):
            text = f"Run {run.run} has begun and is not proved: look whether something is at work on it"
            yield Problem(text=text, place=Place.RUN, about=run.run)


class _Ambiguous(NamedTuple):
    """The messages of a backout queue whose origin is ambiguous by a run's plan. Parameters: `messages` that no later
    run has taken, `taken` those that one has; `go_back` other messages that the plan puts back."""

    run: RunLine
    messages: int
    taken: int
    go_back: int

    def __str__(self) -> str:
        all_of_them = self.messages + self.taken
        since = f", and later runs have taken {self.taken:,} of them" if self.taken else ""
        if self.run.begun:
            return f"the last run for it left {all_of_them:,} (AMBIGUOUS){since}"
        which = "which was rejected" if self.run.state is RunState.REJECTED else "which moved nothing"
        found = f"{self.go_back:,} that can go back and {all_of_them:,} of ambiguous origin (AMBIGUOUS)"
        return f"the run of {self.run.at}, {which}, found {found}{since}"


def _ambiguous(folder: Path, runs: Iterable[RunLine]) -> dict[str, _Ambiguous]:
    """Backout queue → what the newest proved run that looked at it found or left as ambiguous, where it did."""
    newest: dict[str, RunLine] = {}
    for run in runs:
        if run.workflow == BACKOUT and run.proved_at and not run.partial:
            newest = {**dict.fromkeys(run.queue.split(","), run), **newest}
    found: dict[str, _Ambiguous] = {}
    for queue, run in newest.items():
        planned = _actions_of_queues(folder / "runs" / run.run).get(queue, {}) if run.left else {}
        if number := planned.get(Action.AMBIGUOUS, 0):
            there = still_there(RunFolder(folder / "runs" / run.run), _ambiguous_of(folder / "runs" / run.run, queue))
            acts = sum(messages for action, messages in planned.items() if action.acts)
            found[queue] = _Ambiguous(run, there, number - there, acts)
    return {queue: one for queue, one in found.items() if one.messages}


def _bytes(found: pa.Table) -> int:
    return 1000 + int(found.nbytes)


@single_flight
@kept(most=32 * 2**20, size=_bytes)
def _ambiguous_of(run: Path, queue: str) -> pa.Table:
    """Queue and identity of the messages of a queue whose origin is ambiguous by a plan. A plan never changes."""
    plan = pa.Table.from_batches(read_parquet(RunFolder(run).plan, ["queue", "msg_key", "action"]))
    chosen = pc.and_(pc.equal(plan["queue"], queue), pc.equal(plan["action"], Action.AMBIGUOUS.value))
    return plan.filter(chosen).drop_columns("action")


@single_flight
@lru_cache(maxsize=256)
def _actions_of_queues(run: Path) -> Mapping[str, Mapping[Action, int]]:
    """Queue → action → messages of a plan. A plan never changes; one that was removed has none."""
    found: dict[str, Counter[Action]] = {}
    if RunFolder(run).plan.is_dir():
        for batch in read_parquet(RunFolder(run).plan, ["queue", "action"]):
            counts = pa.Table.from_batches([batch]).group_by(["queue", "action"]).aggregate([([], "count_all")])
            for row in counts.to_pylist():
                found.setdefault(row["queue"], Counter())[Action(row["action"])] += row["count_all"]
    return found


def _misconfigured(folder: Path, runs: Iterable[RunLine]) -> Iterator[Problem]:
    """Queues with BOTHRESH and without a usable BOQNAME, as the newest backout run found them."""
    for run in runs:
        setting = read_setting(RunFolder(folder / "runs" / run.run)) if run.workflow == BACKOUT else None
        if setting is not None:
            for remark in setting.remarks():
                text = f"{remark} (as the last backout run, of {run.at}, found it)"
                yield Problem(text=text, place=Place.RUN, about=run.run)
            return


def _never_read(folder: Path, figures: Figures, runs: Sequence[RunLine]) -> Iterator[Problem]:
    """Queues on which runs put messages, and that no program reads. Old figures say nothing of programs of now."""
    if figures.unreachable:
        return
    acted = islice((run for run in runs if run.begun and run.moved), MOST_ACTED)
    put_on = {
        queue
        for run in acted
        for queue, manager in _put_on(folder / "runs" / run.run)
        if manager in {"", run.queue_manager}
    }
    found = [one for one in figures.queues if one.name in put_on and one.depth and not one.readers and not one.storage]
    if found:
        recorded = _is_recorded(found[0].name, folder, runs)
        them, they = ("this queue", "it") if len(found) == 1 else ("these queues", "them")
        named = ", ".join(f"{one.name} (CURDEPTH {one.depth:,})" for one in found)
        yield Problem(
            text=f"No program has {them} open for input, and runs put messages there: {named}. Check that the "
            f"application of each runs; it is in order only where a person reads {they}",
            place=None if len(found) > 1 else Place.RECORDED if recorded else Place.QUEUE,
            about=found[0].name,
        )


def _in_storage(figures: Figures) -> Iterator[Problem]:
    """Queues on which messages lie until a person looks, besides those that are problems."""
    found = [one for one in figures.storage if one.depth]
    if found:
        named = ", ".join(f"{one.name} (CURDEPTH {one.depth:,})" for one in found)
        yield Problem(
            text=f"Messages lie in storage until a person looks at them: {named}",
            place=Place.QUEUE if len(found) == 1 else None,
            about=found[0].name,
        )


@single_flight
@lru_cache(maxsize=4096)
def _put_on(run: Path) -> frozenset[tuple[str, str]]:
    """The queues (name, queue manager) on which a run that acted put messages by its plan. A plan that acts never
    changes; one that was removed has none."""
    path = RunFolder(run).plan_json
    counts = read_json(path)["counts"] if path.exists() else ()
    return frozenset((one["dest_q"], one["dest_q_mgr"]) for one in counts if one["action"] in SENDS)


def _waiting_for_a_person(figures: Figures, ambiguous: Mapping[str, _Ambiguous]) -> Iterator[Problem]:
    """Queues whose messages no application got: the dead-letter queue, and backout queues."""
    for one in figures.queues:
        messages = counted(one.depth, "message")
        if one.depth and one.name == figures.dead_letter_queue:
            text = f"{one.name}, the dead-letter queue, has {messages}"
            yield Problem(text=text, place=Place.DEAD_LETTERS, about=one.name)
        elif one.depth and one.name == PROTECTION_ERRORS:
            yield Problem(text=protected(one.depth), place=Place.QUEUE, about=one.name)
        elif one.depth and one.is_backout:
            left = ambiguous.get(one.name)
            yield _on_backout_queue(one, left if left and left.messages <= one.depth else None)


def _on_backout_queue(queue: QueueFigures, left: _Ambiguous | None) -> Problem:
    text = f"{queue.name}, a backout queue, has {counted(queue.depth, 'message')}"
    if left is None:
        return Problem(text=text, backout_queue=queue.name)
    text += (
        f"; {left}: where they came from is not known. "
        "The page of that run has the form of mq_recover, which moves them where you say"
    )
    others = queue.name if queue.depth > left.messages else ""
    return Problem(text=text, place=Place.RUN, about=left.run.run, backout_queue=others)


def _wrong_with(run: RunLine) -> str:
    """What is wrong with a run; "" where nothing is."""
    if run.state is RunState.UNBALANCED:
        return f"Run {run.run} does not balance: find the cause first"
    if run.state is RunState.UNFINISHED or (run.state is RunState.STOPPED and (run.begun or run.approved_by)):
        return f"Run {run.run} was approved and is not finished: {run.meaning}"
    return ""


def _undone(folder: Path, runs: Iterable[RunLine]) -> Iterator[tuple[str, str]]:
    """The undos among these runs, and the run that each undoes."""
    for run in runs:
        record = read_undo_record(RunFolder(folder / "runs" / run.run))
        if record is not None:
            yield run.run, record.plan.run


def _to_act_on(folder: Path, runs: Iterable[RunLine]) -> dict[str, tuple[int, int]]:
    """Run → the messages that its plan moves or discards, and those of them that its destinations did not take when
    they were looked at."""
    found = {}
    for run in runs:
        path = RunFolder(folder / "runs" / run.run)
        plan, looked = planned_actions(path), read_preflight(path)
        stay = staying(looked).messages if looked and looked.plan == plan.digest else 0
        found[run.run] = acted_on(plan.actions), stay
    return found


def _queue(
    one: QueueFigures, scans: Mapping[str, Known], expiring: Expiring | None, today: Mapping[str, Sequence[int]]
) -> QueueNow:
    if expiring is None or expiring.problem:
        found = Expires(why="see the problem" if expiring else "it is being counted")
    else:
        recorded, limit = expiring.queues.get(one.name), next_time(utc(), MORNING)
        found = expires(one.depth, recorded, scans.get(one.name), one.last_put, limit=limit)
    return QueueNow(now=one, expires=found, earlier=(*today.get(one.name, ()), one.depth))


def expiring_now(lake: Path, name: str) -> Expiring:
    """What expires before the morning, by the newest snapshot of each queue. It takes long where runs have taken many
    messages since: nobody should wait for it."""
    now = utc()
    problems: list[Problem] = []
    found: Forecast | None = _or_problem(
        problems,
        "What expires cannot be told",
        lambda: forecast(lake, name, now=now, limit=next_time(now, MORNING)),
        None,
    )
    return Expiring(
        at=utc_now(),
        queues={one.queue: one for one in found.queues} if found else {},
        problem=problems[0].text if problems else "",
    )


def _of_last_day(runs: Iterable[RunLine]) -> list[RunLine]:
    since = (datetime.fromisoformat(utc_now()) - DAY).isoformat()
    whole = (run for run in runs if run.messages and run.workflow not in COPIES and not run.partial)
    own = (run for run in whole if run.at >= since)
    return list(islice(own, MOST_OF_A_DAY))


def _today(folder: Path, runs: Sequence[RunLine]) -> dict[str, list[int]]:
    """Queue → messages that the runs of the last day found on it, oldest first."""
    found: dict[str, list[int]] = {}
    for run in reversed(_of_last_day(runs)):
        for queue, messages in _observed(folder / "runs" / run.run):
            found.setdefault(queue, []).append(messages)
    return found


@lru_cache(maxsize=4096)
def _observed(run: Path) -> tuple[tuple[str, int], ...]:
    """The queues of a run's snapshot with their messages. Both are written once."""
    path = RunFolder(run).observe_json
    found = read_json(path) if path.exists() else {}
    return tuple((str(one["queue"]), int(one.get("messages", 0))) for one in found.get("queues", ()))


def _loops(folder: Path, figures: Figures, runs: Iterable[RunLine], *, seen: Collection[str]) -> Iterator[Problem]:
    """Queues where a message comes back again and again, by the newest snapshot of the last day.

    A backed-out message keeps its BackoutCount on a backout queue and on the dead-letter queue, where nothing loops.
    """
    asked = {
        one.name: one
        for one in figures.queues
        if one.depth and not one.is_backout and one.name not in {figures.dead_letter_queue, *seen}
    }
    for run in _of_last_day(runs):
        if not asked:
            return
        for queue, _messages in _observed(folder / "runs" / run.run):
            one = asked.pop(queue, None)
            if one is None:
                continue
            most = _backed_out(folder / "runs" / run.run).get(queue, ())
            looping = [count for count in most if count >= (one.threshold or BACKED_OUT)]
            if looping:
                by = f". It is open by {', '.join(one.open_by)}" if one.open_by else ""
                who = (
                    "the application gets the same message again and again"
                    if one.readers
                    else "no program has the queue open for input now"
                )
                text = (
                    f"Poison on {queue}: {counted(len(looping), 'message')} came back up to "
                    f"{counted(max(looping), 'time')}, and BOTHRESH is {one.threshold}: {who}{by}"
                )
                yield Problem(text=text, place=Place.MESSAGES, about=run.run)


def _dead_letters_by_kind(folder: Path, figures: Figures, runs: Iterable[RunLine]) -> Iterator[Problem]:
    """Reports, and messages that expire, on the dead-letter queue, by the newest snapshot of the last day."""
    queue = figures.dead_letter_queue
    if not any(one.name == queue and one.depth for one in figures.queues):
        return
    for run in _of_last_day(runs):
        if queue not in dict(_observed(folder / "runs" / run.run)):
            continue
        found = _kinds(folder / "runs" / run.run, queue)
        if told := found.sentences():
            text = f"{queue} had {counted(found.seen, 'message')} when run {run.run} looked: {'; '.join(told)}"
            yield Problem(text=text, place=Place.DEAD_LETTERS, about=queue)
        return


@single_flight
@lru_cache(maxsize=1024)
def _kinds(run: Path, queue: str) -> Kinds:
    """The kinds of messages of a snapshot. A snapshot never changes."""
    if not RunFolder(run).snapshot.is_dir():
        return Kinds()
    return kinds_of(
        Kind(row["msg_type"], row["feedback"], row["expiry"])
        for batch in read_parquet(RunFolder(run).snapshot, ["queue", "msg_type", "feedback", "expiry"])
        for row in batch.filter(pc.equal(batch.column("queue"), queue)).to_pylist()
    )


def _bytes_of_counts(found: Mapping[str, Sequence[int]]) -> int:
    return 1000 + 40 * sum(map(len, found.values()))


@single_flight
@kept(most=32 * 2**20, size=_bytes_of_counts)
def _backed_out(run: Path) -> Mapping[str, Sequence[int]]:
    """Queue → the backout counts above 0 of a snapshot. A snapshot never changes."""
    found: dict[str, list[int]] = {}
    if not RunFolder(run).snapshot.is_dir():
        return found
    for batch in read_parquet(RunFolder(run).snapshot, ["queue", "backout_count"]):
        rows = batch.filter(pc.greater(batch.column("backout_count"), 0))
        for row in rows.to_pylist():
            found.setdefault(row["queue"], []).append(row["backout_count"])
    return found


def _damaged(ledger: LedgerNow | None, name: str) -> Iterator[Problem]:
    if ledger is not None and ledger.found.error:
        text = (
            f"The ledger does not verify, so nothing may act: {ledger.found.error}. Restore it from a copy, and check "
            f"it with `{command('mqops', 'ledger', 'verify', name)}`"
        )
        yield Problem(text=text, place=Place.ACCOUNTED)
