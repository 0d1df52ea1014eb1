"""The state of a run, by the files of its folder. Pure.

1. A run that was begun (its lane tokens were issued) and proved is DONE if it balances and every row with an action was
   dealt with. It is UNBALANCED if it does not balance, and UNFINISHED if rows with an action are not dealt with yet.
2. A run that was begun and is not proved is BEGUN: a process is at work on it, or ended too early.
3. A run that was not begun has moved nothing, also if it was proved. It is REJECTED or APPROVED if a person answered
   (no answer in time is a rejection), REFUSED if the approval permits nothing, WAITING while nobody has answered,
   UNANSWERED if nobody can any more, and else PLANNED: a dry run, or one that needs no approval.
4. Without a plan it is a snapshot (OBSERVED), one whose messages were checked (CHECKED, or FAILED where a critical
   check is not met or the counts do not add up), a scan for expired messages (SCANNED), or INCOMPLETE.
5. A run that is not over, by these rules, is STOPPED while a stop is in force for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from mqops.act.core.progress import LiveProgress
from mqops.actions import Action, moved_word
from mqops.counted import counted
from mqops.expiry.core.outcome import ExpirySummary
from mqops.look.core.question import Asked
from mqops.look.words.state import RunState
from mqops.message_checks import QualitySummary
from mqops.model import ActSummary, Counts, ObserveSummary, RunSummary
from mqops.queue_names import not_seen
from mqops.workflow import Workflow

MOST_NAMED = 3
"""Queues that are named before they are counted."""
OPEN = frozenset(
    {RunState.UNFINISHED, RunState.BEGUN, RunState.APPROVED, RunState.WAITING, RunState.PLANNED, RunState.INCOMPLETE}
)
"""States in which a stop means that the run is stopped (rule 5)."""
BEGUN_AND_OPEN = frozenset({RunState.UNFINISHED, RunState.BEGUN, RunState.APPROVED})
"""States in which a stop of the whole queue manager stops the run: the others have nothing under way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PutsOn:
    """A group of a plan: what it does with its messages, and the queue that it puts them on."""

    action: str
    dest_q: str
    dest_q_mgr: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanKnown:
    """What a line needs of RUN/plan.json (`mqops.decide.core.summary.PlanSummary`), which may have a thousand groups
    with samples."""

    queue: str
    rows: int
    workflow: str = Workflow.DLQ_RULES  # the plan of an earlier version does not say it
    requested_by: str = ""
    unseen: tuple[str, ...] = ()
    actions: Mapping[str, int] = field(default_factory=dict)
    counts: tuple[PutsOn, ...] = ()
    counts_left_off: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFiles:
    """The files of a run's folder; None for one that is not there.

    Parameters: `issued` whether lane tokens were issued; `stopped` whether the run itself was stopped; `planned_at`
    when the plan was written, or the newest file where there is none, and `acted_at` when act last said how far it is,
    ISO 8601 UTC, and `progress` what it said; `undoes` whether the run is an undo; `acts` whether the first task in
    Airflow said that the run may act, and `asked_by` who or what asked for it there; `dag_id` of the DAG run that made
    it, blank where none did.
    """

    observe: ObserveSummary | None = None
    plan: PlanKnown | None = None
    approval: Asked | None = None
    act: ActSummary | None = None
    summary: RunSummary | None = None
    expiry: ExpirySummary | None = None
    quality: QualitySummary | None = None
    issued: bool = False
    stopped: bool = False
    undoes: bool = False
    planned_at: str = ""
    acted_at: str = ""
    progress: LiveProgress | None = None
    acts: bool = False
    asked_by: str = ""
    dag_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLine:
    """A run in a line.

    Parameters: `at` when its snapshot was taken (of an undo, when it was planned), `proved_at` when it was proved, and
    `acted_at` when act last said how far it is, ISO 8601 UTC, blank where it was not; `queue` names, with commas
    between them; `messages` of its snapshot, `partial` whether it may have others of the queue too, and left them out;
    `planned` rows of its plan; `begun` whether it has begun to act. The other counts are those of the proof. A run that
    was begun and not proved has those of the last execution of act. A scan for expired messages has what the queue
    manager discarded, and what was left. `checks` what quality checks found, in words, blank where there were none;
    `asks` whether a person is asked about the plan and has not answered: also of a run that was stopped meanwhile;
    `until` when no answer becomes a rejection, ISO 8601 UTC, blank where that is not known.
    `unseen` queues that it should have looked at, and that the connection's user may not inquire.
    `copies` whether what it has `moved` are copies, whose originals are on their queue.
    `real` whether it was meant to act: it has begun to, a person was asked, or it was started as no dry run.
    """

    run: str
    queue_manager: str
    queue: str = ""
    workflow: str = ""
    state: RunState = RunState.INCOMPLETE
    at: str = ""
    proved_at: str = ""
    acted_at: str = ""
    messages: int = 0
    partial: bool = False
    planned: int = 0
    begun: bool = False
    moved: int = 0
    discarded: int = 0
    left: int = 0
    gone: int = 0
    failed: int = 0
    unexplained: int = 0
    requested_by: str = ""
    approved_by: str = ""
    checks: str = ""
    asks: bool = False
    until: str = ""
    unseen: int = 0
    copies: bool = False
    real: bool = False

    @property
    def is_undo(self) -> bool:
        """Whether the run undoes another run: its plan puts messages back that the run itself read on no queue."""
        return self.workflow == Workflow.UNDO

    @property
    def moved_word(self) -> str:
        """The word for the messages that the run has put: moved, or copied."""
        return moved_word([Action.COPY] if self.copies else [])

    @property
    def word(self) -> str:
        """The word for the state on a page. Where checks are not met, the run itself has not failed."""
        return "not in order" if self.state is RunState.FAILED else self.state.value

    @property
    def meaning(self) -> str:
        """The meaning of the state, in words."""
        if self.state is RunState.DONE and self.unseen:
            return f"carried out and proved, but {counted(self.unseen, 'queue')} could not be looked at"
        return self.checks if self.state in {RunState.CHECKED, RunState.FAILED} else self.state.meaning

    @property
    def proved_since(self) -> bool:
        """Whether the run was proved and has not acted since: a proof says nothing of later units of work."""
        return bool(self.proved_at) and self.acted_at <= self.proved_at


def _unstopped(files: RunFiles) -> RunState:
    if files.issued:
        return _begun(files.summary)
    if files.plan:
        return _planned(files.approval)
    if files.quality:
        return RunState.CHECKED if files.quality.ok else RunState.FAILED
    if files.observe:
        return RunState.OBSERVED
    return RunState.SCANNED if files.expiry else RunState.INCOMPLETE


def _begun(summary: RunSummary | None) -> RunState:
    if summary is None:
        return RunState.BEGUN
    if not summary.balanced:
        return RunState.UNBALANCED
    return RunState.DONE if summary.finished else RunState.UNFINISHED


def _planned(asked: Asked | None) -> RunState:
    if asked is None:
        return RunState.PLANNED
    answer = asked.answer
    if answer is None:
        return RunState.UNANSWERED if asked.over else RunState.WAITING
    if answer.refused:
        return RunState.REFUSED
    return RunState.APPROVED if answer.approved else RunState.REJECTED


def checks_in_words(quality: QualitySummary) -> str:
    """The result of quality checks, and the number of messages that no check was about."""
    found = _found_in_words(quality)
    names = [one.queue for one in quality.queues if one.not_checked]
    if number := quality.not_checked:
        where = ", ".join(names) if len(names) <= MOST_NAMED else counted(len(names), "queue")
        found += f"; {counted(number, 'message is', 'messages are')} not checked, on {where}"
    return found


def _found_in_words(quality: QualitySummary) -> str:
    found = [
        counted(number, f"{severity} check is not met", f"{severity} checks are not met")
        + (f", in {counted(messages, 'message')}" if (messages := quality.messages[severity]) else "")
        for severity, number in quality.failed.items()
        if number
    ]
    if not quality.balanced:
        found.insert(0, "the counts of the checks do not add up")
    if quality.unseen:
        found.insert(0, not_seen(quality.unseen))
    if found:
        return "; ".join(found)
    met = counted(len(quality.checks), "check is met", "checks are met")
    return f"{met}, in {counted(quality.found - quality.not_checked, 'message')}"


def line_of(run: str, queue_manager: str, files: RunFiles) -> RunLine:
    """A run in a line."""
    plan, observed, asked, by_itself = files.plan, files.observe, files.approval, _unstopped(files)
    state = RunState.STOPPED if files.stopped and by_itself in OPEN else by_itself
    scan = files.expiry if state is RunState.SCANNED else None
    counts, answer = _counts(files, scan), asked.answer if asked else None
    queues = ",".join(one.queue for one in observed.queues) if observed else scan.queue if scan else ""
    return RunLine(
        run=run,
        queue_manager=queue_manager,
        queue=plan.queue if plan else queues,
        workflow=plan.workflow if plan else _workflow(files),
        state=state,
        at=observed.observed_at if observed and not files.undoes else files.planned_at,
        proved_at=files.summary.proved_at if files.summary else "",
        acted_at=files.acted_at,
        messages=observed.messages if observed else 0,
        partial=observed is not None and observed.whole is False,
        planned=plan.rows if plan else 0,
        begun=files.issued,
        **{name: getattr(counts, name) for name in ("moved", "discarded", "left", "gone", "failed", "unexplained")},
        requested_by=(plan.requested_by if plan else "") or files.asked_by,
        approved_by=answer.by if answer and answer.approved and not answer.refused else "",
        checks=checks_in_words(files.quality) if files.quality else "",
        asks=by_itself is RunState.WAITING,
        until=asked.until if asked else "",
        unseen=len(plan.unseen) if plan else 0,
        copies=plan is not None and Action.COPY in plan.actions,
        real=files.issued or asked is not None or files.acts,
    )


def _counts(files: RunFiles, scan: ExpirySummary | None) -> Counts:
    """What became of the messages, as the proof has it, else the last execution of act, else the scan of a run."""
    if scan:
        return Counts(discarded=scan.done, left=scan.left)
    if files.summary or not (files.act and files.issued):
        return files.summary or Counts()
    return Counts(moved=files.act.moved, discarded=files.act.discarded, left=files.act.left, failed=files.act.failed)


def as_of(line: RunLine, now: str, *, stopped: bool) -> RunLine:
    """The line of a run at a time.

    Parameters: `now` ISO 8601 UTC; `stopped` whether all runs of the queue manager are stopped.
    """
    if line.asks and line.until and line.until < now:
        return replace(line, state=RunState.UNANSWERED, asks=False)
    return replace(line, state=RunState.STOPPED) if stopped and line.state in BEGUN_AND_OPEN else line


def _workflow(files: RunFiles) -> str:
    """The workflow of a run without a plan: by what it has made, before that by its DAG, as "qm1_dlq_rules". A run that
    still reads its queue has no name else, or that of a snapshot."""
    if files.expiry:
        return Workflow.EXPIRY_SCAN
    if files.quality:
        return files.quality.workflow
    fits = [one for one in Workflow if files.dag_id.endswith(f"_{one}")]
    return fits[0] if fits else Workflow.SNAPSHOT if files.observe else ""
