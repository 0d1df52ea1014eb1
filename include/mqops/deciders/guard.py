"""Poison guard: messages that loop on input queues go where the attributes of their queue say.

`mqops backout guard`, and the DAG <queue manager>_poison_guard. The rules stand in `mqops.backout.core.guard`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from mqops.backout.core.guard import Candidate, Guarded, Placed, Way, is_last, placed, way_of
from mqops.backout.core.origin import backout_queues
from mqops.deciders.choice import Choice, choose_each
from mqops.deciders.decider import Decider, RunRequest, Selection
from mqops.errors import GateStopped, NotLookedAt, SettingsError, mq_error
from mqops.lake.run_file import RunFile
from mqops.ledger.core.marker import About
from mqops.misnamed import is_alias
from mqops.mqsc import mqsc_name
from mqops.queue_names import APART, not_seen, selected
from mqops.workflow import Workflow
from mqwire import constants as c

if TYPE_CHECKING:
    from mqops.decide.core import PlanSummary
    from mqops.lake.run import RunFolder
    from mqops.ledger.file import LedgerFile
    from mqops.model import ActSummary, QueueDefinition
    from mqops.mq.connection import Reach
    from mqops.mq.session import RawMessage, Session
    from mqops.observe.core.columns import SnapshotRow

WATCH = 2.0
"""Seconds that queues are looked at."""
GOES_ON = (
    "Until then these messages go on looping, also those that no check is about: a suite that the poison guard has, "
    "too, should say `on_failure: quarantine` or `warn` (docs/gate.md)"
)
"""What is said where the gate stops the guard."""
GUARDED = RunFile("guard.json", Guarded)
_COLUMNS = ("body_length", "report", "group_id", "msg_flags", "msg_seq_number")


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardRequest(RunRequest):
    """What a run is asked for. Parameters: `queues` none for every input queue with BOTHRESH; `limit` most messages of
    a queue, 0 for all; `watch` seconds that queues are looked at."""

    queues: tuple[str, ...] = ()
    limit: int = 0
    watch: float = WATCH


@dataclass(frozen=True, slots=True, kw_only=True)
class Loops(Selection):
    """The input queues with messages that loop. Parameters: `guarded` what was seen of them; `left` a sentence for each
    queue that was not watched because of what a look would do (`mqops.expiry.first_tell`)."""

    guarded: Guarded = field(default_factory=lambda: Guarded(queue_manager=""))
    left: tuple[str, ...] = ()

    def prepare(self, run: RunFolder) -> None:
        """Write RUN/guard.json. Raises `LakeError`."""
        run.create()
        GUARDED.write(run, self.guarded)

    @property
    def messages(self) -> Callable[[Session, str], Iterator[RawMessage]]:
        """The messages that loop, and those of their MQ groups."""
        found = {one.queue: one for one in self.guarded.queues}

        def of_queue(session: Session, queue: str) -> Iterator[RawMessage]:
            from mqops.backout.guard_look import whole_messages  # noqa: PLC0415 - loads the MQ library

            return whole_messages(session, found[queue])

        return of_queue


def select(session: Session, request: GuardRequest) -> Loops:
    """Watch the input queues. Backout queues, the dead-letter queue and queues SYSTEM.* are none.

    Raises:
        SettingsError: a queue that was named is no input queue, or has BOTHRESH(0).
        MQError: the queue manager cannot be inquired, or has no queue of a name (2085).
        NotLookedAt: all queues are left because of what a look would do (`mqops.expiry.first_tell`).
    """
    from mqops.backout.guard_look import opened_for_puts, watched  # noqa: PLC0415 - loads the MQ library
    from mqops.expiry.first_tell import left_by  # noqa: PLC0415
    from mqops.mq.inquire import deadq, queue_definitions, queue_manager_name, queue_names  # noqa: PLC0415

    before = set() if request.queues else queue_names(session)
    known = {one.name: one for one in queue_definitions(session)}
    hidden = (before & queue_names(session)) - known.keys() if before else before
    dead_letters = deadq(session)
    apart = {dead_letters, _base(dead_letters, known), *backout_queues(known.values())}
    inputs = _named(request.queues, known, apart, queue_manager_name(session)) or [
        one
        for name, one in known.items()
        if one.kind == "local" and not one.transmission and name not in apart and _is_of_application(name)
    ]
    usable = _base(dead_letters, known) if _takes_dead_letters(dead_letters, known) else ""

    left = left_by(request.first_tell, session, request.lake, (one.name for one in inputs if one.threshold))

    def goes(one: QueueDefinition) -> Way:
        return way_of(one, known, dead_letter_queue=usable, opened=opened_for_puts(session, [one]))

    watches = [one for one in inputs if one.name not in left]
    if left and not watches:
        raise NotLookedAt(*left.values())
    found = watched(session, watches, goes, seconds=request.watch)
    guarded = Guarded(
        queue_manager=queue_manager_name(session),
        queues=found.found,
        not_seen=found.not_seen,
        unseen=tuple(sorted(name for name in hidden if selected(name, ["*"]))),
        notes=tuple(is_alias(name, base) for name in request.queues if (base := _base(name, known)) != name),
    )
    return Loops(
        queues=tuple(one.queue for one in found.found),
        some_may_end=not request.queues,
        told_first=True,
        guarded=guarded,
        left=tuple(left.values()),
    )


def _is_of_application(name: str) -> bool:
    return not name.startswith(APART)


def _base(name: str, known: Mapping[str, QueueDefinition]) -> str:
    one = known.get(name)
    return one.base if one and one.kind == "alias" else name


def _takes_dead_letters(name: str, known: Mapping[str, QueueDefinition]) -> bool:
    """Whether the DEADQ is a queue that messages can be put on: a local one, or one that cannot be seen."""
    base = known.get(_base(name, known))
    return bool(name) and (base is None or (base.kind == "local" and not base.transmission))


def _named(
    names: Sequence[str], known: Mapping[str, QueueDefinition], apart: set[str], queue_manager: str
) -> list[QueueDefinition]:
    """The queues that were named, each once. Raises as `select`."""
    found: dict[str, QueueDefinition] = {}
    for name in names:
        base = _base(name, known)
        one = known.get(base)
        if one is None:
            what = f"{name} of {queue_manager}"
            raise mq_error(c.MQCC_FAILED, c.MQRC_UNKNOWN_OBJECT_NAME, verb="MQCMD_INQUIRE_Q", object_name=what)
        if why := _no_input(one, apart):
            alias = "" if base == name else f" is an alias of {base}, which"
            raise SettingsError(f"{name} of {queue_manager}{alias} {why}")
        found[base] = one
    return list(found.values())


def _no_input(one: QueueDefinition, apart: set[str]) -> str:
    """Why nothing loops on a queue, or nothing is to be done about it; "" for an input queue."""
    if one.kind != "local":
        return f"is a {one.kind} queue, which holds no messages: name a local queue"
    if one.name in apart:
        return (
            "is a backout queue or the dead-letter queue: nothing loops there. `mqops backout run` and `mqops dlq run` "
            "deal with its messages"
        )
    if one.transmission or not _is_of_application(one.name):
        return "is no queue of an application: name the queue that a program reads"
    if not one.threshold:
        mend = f"ALTER QLOCAL({mqsc_name(one.name)}) BOTHRESH(3)"
        return f"has BOTHRESH(0): poison handling is switched off, and what loops stays. To switch it on: {mend}"
    return ""


def decide(request: GuardRequest, run: RunFolder) -> PlanSummary:
    """Plan what becomes of the messages that loop. Raises `MqopsError`."""
    guarded = GUARDED.read(run)
    choices = iter(_choices(run, guarded, request.limit))

    def choose(_message: SnapshotRow, _now: datetime) -> Choice:
        one = next(choices)
        return Choice(action=one.action, queue=one.queue, key=one.key)

    most = f", at most {request.limit:,} of a queue" if request.limit else ""
    try:
        return choose_each(
            request,
            run,
            choose,
            workflow=Workflow.POISON_GUARD,
            text=f"messages at or over BOTHRESH: to BOQNAME, else as their report options say{most}",
            remarks=tuple(filter(None, (*guarded.remarks(), not_seen(guarded.unseen)))),
            unseen=guarded.unseen,
        )
    except GateStopped as stopped:
        raise GateStopped(*stopped.args, GOES_ON) from None


def _choices(run: RunFolder, guarded: Guarded, limit: int) -> Sequence[Placed]:
    from mqops.lake.parquet import read_parquet  # noqa: PLC0415 - loads pyarrow
    from mqops.observe.core.columns import BOUND  # noqa: PLC0415
    from mqops.observe.recorded import OBSERVED  # noqa: PLC0415

    messages = [
        Candidate(
            queue=row["queue"],
            length=row["body_length"],
            report=row["report"],
            group=bytes(row["group_id"]).hex() if row["msg_flags"] & BOUND else "",
            number=row["msg_seq_number"],
            last=is_last(row["msg_flags"]),
        )
        for batch in read_parquet(run.snapshot, ["queue", *_COLUMNS])
        for row in batch.to_pylist()
    ]
    ways = {one.queue: one.way for one in guarded.queues}
    return placed(messages, ways, OBSERVED.read(run).settled, limit=limit)


def act(
    connection: Reach, run: RunFolder, /, *, file: LedgerFile, unit_size: int, approved: str, about: About | None
) -> ActSummary:
    """Act in one process through `mqops.act.guard_port.GuardPort`. Raises as `mqops.act.in_process.act`."""
    from mqops.act.guard_port import GuardPort  # noqa: PLC0415 - loads the MQ library
    from mqops.act.in_process import act  # noqa: PLC0415
    from mqops.observe.recorded import OBSERVED  # noqa: PLC0415

    observed = OBSERVED.read(run)
    seen_at = datetime.fromisoformat(observed.observed_at)
    port = partial(GuardPort, queue_manager=observed.queue_manager, seen_at=seen_at)
    return act(connection, run, file=file, unit_size=unit_size, approved=approved, about=about, port=port)


GUARD = Decider(
    name=Workflow.POISON_GUARD,
    request=GuardRequest,
    select=select,
    decide=decide,
    act=act,
    command="mqops.cli.backout:guard",
    section=Workflow.POISON_GUARD,
    form=("dry_run", "queue_manager", "queues", "first_tell", "limit", "unit_of_work"),
    dag="each",
    asks_by_hand=False,
)
