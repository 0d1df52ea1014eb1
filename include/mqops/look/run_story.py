"""All that the lake knows of one run: its plan, who decided, the proof, and each message that was not simply moved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from mqops.act.core.progress import LiveProgress
from mqops.actions import DISCARDS, Action
from mqops.as_json import JsonObject, as_json, json_object
from mqops.clock import utc_now
from mqops.decide.core import PlanSummary
from mqops.decide.recorded import PLAN
from mqops.lake.handed_on import HANDED_ON, NO_DAG_RUN
from mqops.lake.pruned import PRUNED, PrunedRun, has_removed
from mqops.lake.run import RunFolder
from mqops.lake.run_file import Checked
from mqops.lake.stop import LiftedStop, Stop, lifted_in, stop_in
from mqops.ledger.core.account import Account, account
from mqops.ledger.core.identity import PlanIdentity
from mqops.ledger.core.marker import About, Marker, MarkerKind
from mqops.ledger.file import LedgerFile
from mqops.look.core.question import Asked, became_of
from mqops.look.core.run_state import RunLine
from mqops.look.run_row import run_now
from mqops.look.unmoved import StayingRows, Stays, Unmoved, UnmovedMessage, in_pages, staying_rows, unmoved
from mqops.look.words.state import NOT_CARRIED_OUT, RunState
from mqops.message_checks import QualitySummary
from mqops.model import Destination, RunSummary
from mqops.prove.records import UNDO_RECORD
from mqops.workflow import Workflow
from mqwire.names import reason_name


class Failure(NamedTuple):
    """Tries of a run that failed for the same reason at the same destination."""

    reason: str
    dest_q: str
    dest_q_mgr: str
    messages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStory:
    """A run.

    Parameters: `plan`, None for a run without one; `approval` question and answer in Airflow, None where no person was
    asked; `dag` DAG id and run id in Airflow; `people` who asked, approved and
    finished it, and `recorded` what was moved, discarded and failed, both as the ledger has it now; `stops` in
    force, and `stopped` those that were taken back while the run was not over, or came too late; `summary` the proof;
    `undoes` the run that an undo is of; `planned_at` when the plan was written, `begun_at` when act began and
    `acted_at` when its last unit of work was done, ISO 8601 UTC, by the ledger; `failures` by reason and destination,
    most first;
    `went` destination → messages that were put there; `progress` how far act said it had come, None where it
    said nothing; `unmoved` how many messages were
    left, gone or failed, by reason, most first; `messages` these messages, `more` how many there are besides; `next`
    what to go on after; `by_hand` those that are left until a person names a queue, `MOST_BY_HAND` at most; `quality`
    every quality check of its snapshot, the newest first; `stays`, of
    a plan that nobody carries out, what its destinations would not take, as they were at `looked_at`, ISO 8601 UTC;
    `pruned` which of its files a retention has removed.
    """

    line: RunLine
    folder: str
    plan: PlanSummary | None = None
    approval: Asked | None = None
    dag: Mapping[str, str] = field(default_factory=dict)
    people: Mapping[str, str] = field(default_factory=dict)
    recorded: Mapping[str, int] = field(default_factory=dict)
    stops: tuple[str, ...] = ()
    stopped: tuple[str, ...] = ()
    summary: RunSummary | None = None
    undoes: str = ""
    planned_at: str = ""
    begun_at: str = ""
    acted_at: str = ""
    failures: tuple[Failure, ...] = ()
    went: Mapping[str, int] = field(default_factory=dict)
    progress: LiveProgress | None = None
    unmoved: tuple[Unmoved, ...] = ()
    messages: tuple[UnmovedMessage, ...] = ()
    more: int = 0
    next: int | None = None
    by_hand: tuple[UnmovedMessage, ...] = ()
    quality: tuple[QualitySummary, ...] = ()
    stays: tuple[Stays, ...] = ()
    looked_at: str = ""
    pruned: PrunedRun | None = None

    @property
    def workflow(self) -> str:
        """The workflow of the run, also of an undo that has no plan yet."""
        return Workflow.UNDO if self.undoes else self.line.workflow

    @property
    def actions(self) -> Mapping[Action, int]:
        """The actions of its plan → messages; none without a plan."""
        return self.plan.actions if self.plan else {}

    @property
    def unapproved(self) -> str:
        """Why no approval permits the plan, as a sentence without its full stop; "" where one does, or may yet."""
        why = became_of(self.approval)
        if not why and self.line.state is RunState.UNANSWERED:
            return f"nobody answered before {self.line.until}"
        return why

    def to_json(self) -> JsonObject:
        """A JSON object: that of the line, and what is known besides."""
        found = json_object(self.line) | {"meaning": self.line.meaning}
        found |= {name: as_json(getattr(self, name)) for name in _IN_JSON}
        found["plan"] = {name: as_json(getattr(self.plan, name)) for name in _OF_THE_PLAN} if self.plan else {}
        return found | {name: found[name] or {} for name in ("approval", "summary")}


_IN_JSON = (
    *("folder", "plan", "approval", "unapproved", "dag", "people", "recorded", "stops", "stopped", "summary"),
    *(
        "undoes",
        "planned_at",
        "begun_at",
        "acted_at",
        "failures",
        "went",
        "progress",
        "unmoved",
        "messages",
        "more",
        "next",
    ),
    *("quality", "stays", "looked_at", "pruned"),
)
_OF_THE_PLAN = (
    *("digest", "table_source", "table_digest", "rows", "bytes"),
    *("observed", "actions", "rules", "remarks", "gate"),
)
_PEOPLE = ("requested_by", "approved_by", "comment", "finished_by", "why")


def run_story(run: RunFolder, *, limit: int = 0, after: int = -1) -> RunStory:
    """All that the lake knows of a run. What its line is made of is read once, and told here as it was then: a story is
    of one moment, and nothing is decided by it.

    Parameters: `limit` most messages, 0 for all; `after` the row of the plan that the messages come behind.

    Raises:
        LakeError: a file of the run cannot be read.
        LedgerBroken: the ledger cannot be read.
        PlanChanged: the plan has an action that this version does not know.
    """
    line, files, of_all = run_now(run)
    plan, undone, handed_on = PLAN.find(run), UNDO_RECORD.find(run), HANDED_ON.find(run) or NO_DAG_RUN
    own, done = stop_in(run.path), line.state is RunState.DONE
    stops = {"this run is": None if done else own, f"all runs of {run.queue_manager} are": of_all}
    lifted = {"this run was": lifted_in(run.path), f"all runs of {run.queue_manager} were": lifted_in(run.lake_folder)}
    identity = plan and PlanIdentity(run=run.run, digest=plan.digest)
    markers = tuple(LedgerFile(run.lake_folder).markers(plan=identity)) if identity else ()
    sums = account(markers)
    pruned = PRUNED.find(run)
    rows = None if has_removed(pruned, run.plan) else plan
    stay = staying_rows(run, rows.digest) if rows and line.state in NOT_CARRIED_OUT else StayingRows()
    reasons, shown, more, by_hand = in_pages(unmoved(run, line, sums, stay) if rows else (), limit, after)
    return RunStory(
        line=line,
        folder=str(run.path),
        plan=plan,
        approval=files.approval,
        dag={"dag_id": handed_on.dag_id, "run_id": handed_on.run_id} if handed_on.dag_id else {},
        people=_people((plan and plan.requested_by) or str(handed_on.found.get("requested_by", "")), markers),
        recorded=_recorded(sums),
        stops=tuple(f"{what} stopped {found}" for what, found in stops.items() if found),
        stopped=tuple(_stopped(line, lifted, late=own if done else None)),
        summary=files.summary,
        pruned=pruned,
        undoes=undone.run if undone else "",
        planned_at=files.planned_at if plan else "",
        begun_at=min((one.at for one in markers if one.kind == MarkerKind.ISSUED), default=""),
        acted_at=max((one.at for one in markers if one.kind == MarkerKind.ACTED), default=""),
        failures=_failures(markers),
        went=_went(markers),
        progress=files.progress,
        unmoved=reasons,
        messages=shown,
        more=more,
        next=shown[-1].row if more else None,
        by_hand=by_hand,
        quality=tuple(_quality(run)),
        stays=stay.by_rule,
        looked_at=stay.at,
    )


_CHECKED = Checked(QualitySummary)


def _quality(run: RunFolder) -> Iterator[QualitySummary]:
    """The quality checks of a run's snapshot, the newest first; a run of an earlier version has one."""
    kept = sorted(run.quality_checks.glob("*/quality.json"), reverse=True)
    for path in kept or ([run.quality_json] if run.quality_json.exists() else []):
        yield _CHECKED.read(path)


def _stopped(line: RunLine, lifted: Mapping[str, Sequence[LiftedStop]], *, late: Stop | None) -> Iterator[str]:
    """The stops that were taken back between a run's snapshot and its proof, or now.

    Parameters: `lifted` what was stopped → all that were taken back; `late` one that came when the run had done all of
    its plan.
    """
    begin, end = (datetime.fromisoformat(one) for one in (line.at or utc_now(), line.proved_at or utc_now()))
    for what, stops in lifted.items():
        yield from (f"{what} stopped {one}" for one in stops if one.within(begin, end))
    if late is not None:
        yield f"this run was stopped {late}: it has done all of its plan, so this holds nothing back"


def _failures(markers: Sequence[Marker]) -> tuple[Failure, ...]:
    found = Counter(
        (reason_name(row.reason or 0), row.dest_q, row.dest_q_mgr)
        for marker in markers
        if marker.kind == MarkerKind.FAILED
        for row in marker.rows
    )
    return tuple(Failure(*what, messages=number) for what, number in found.most_common())


def _went(markers: Sequence[Marker]) -> dict[str, int]:
    """Destination → messages that were put there."""
    acted = (row for marker in markers if marker.kind == MarkerKind.ACTED for row in marker.rows)
    return Counter(str(Destination(row.dest_q, row.dest_q_mgr)) for row in acted if row.action not in DISCARDS)


def _people(asked_by: str, markers: Sequence[Marker]) -> dict[str, str]:
    """Who asked, approved (with a `comment`) and finished, and `why` where a run of a version without signatures was
    taken over (`mqops.ledger.adopt`), as the ledger has it. Parameters: `asked_by` as the plan, else the run's first
    task, has it."""
    about: About = {"requested_by": asked_by}
    for marker in markers:
        if marker.kind in {MarkerKind.ISSUED, MarkerKind.RESUMED}:
            about = {**about, **marker.about}
    return {name: str(about[name]) for name in _PEOPLE if about.get(name)}


def _recorded(sums: Account) -> dict[str, int]:
    discarded = sum(acted.action in DISCARDS for acted in sums.acted.values())
    return {"moved": len(sums.acted) - discarded, "discarded": discarded, "failed": len(sums.failed)}
