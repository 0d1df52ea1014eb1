"""A plan as the person who is to approve it sees it: groups beside those of the last plan, destinations, problems."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from mqops.actions import Action
from mqops.clock import utc_now
from mqops.decide.backout_setting import read_setting
from mqops.decide.core import PlanCount, PlanSummary
from mqops.decide.core.preflight import Looked, Preflight
from mqops.decide.destination import DestinationInquiry
from mqops.decide.preflight_record import PREFLIGHT
from mqops.decide.recorded import PLAN
from mqops.errors import SettingsError
from mqops.kept import kept
from mqops.lake.parquet import read_parquet, rows_with
from mqops.lake.pruned import PRUNED, PrunedRun, has_removed
from mqops.lake.run import RunFolder
from mqops.lake.stop import stops_of
from mqops.look.core.run_state import RunLine
from mqops.look.run_row import run_line
from mqops.look.runs import MOST_LOOKED_AT, Runs
from mqops.mq.connection import MqConnection, connect
from mqops.prove.records import UNDO_RECORD
from mqops.rules.lines import rule_texts


class GroupKey(NamedTuple):
    """What the messages of a group have in common, and by which a group is known in another plan."""

    rule_key: str | None
    action: Action
    reason: int | None
    origin_q: str | None
    origin_q_mgr: str | None
    dest_q: str
    dest_q_mgr: str

    @classmethod
    def of(cls, one: PlanCount) -> GroupKey:
        """The key of a group."""
        return cls(*(getattr(one, name) for name in cls._fields))


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupLine:
    """A group of a plan. Parameters: `rule` its text; `before` messages in the last plan, None where it had no such
    group or nothing can be said."""

    count: PlanCount
    rule: str
    before: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DestinationLine:
    """A destination of a plan, as it was at a look.

    Parameters: `room` MAXDEPTH - CURDEPTH in messages, and `readers` handles that are open for input, of the local
    queue `queue`; None where that is not known, and `unknown` says why; `storage` whether messages lie there until a
    person looks, so that no reader is missed (`mqops.storage`).
    """

    name: str
    messages: int
    queue: str = ""
    remote: str = ""
    depth: int | None = None
    room: int | None = None
    readers: int | None = None
    put_allowed: bool = True
    storage: bool = False
    unknown: str = ""

    @property
    def full(self) -> bool:
        """Whether the plan's messages do not fit."""
        return self.room is not None and self.room < self.messages


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanView:
    """A plan.

    Parameters: `found` its pre-flight, None where nobody has looked at this plan's destinations; `groups` the largest
    first, those that it ignores behind the others; `gone` those that the last plan of the same queue, `last`, has and
    this one has not; `comparable` whether both plans list all of their groups; `stops` in force, in words; `ambiguous`
    what is said of each backout queue with messages of ambiguous origin, none where the plan's rows were removed;
    `pruned` which files of the run a retention has removed.
    """

    line: RunLine
    plan: PlanSummary
    found: Preflight | None
    groups: tuple[GroupLine, ...]
    gone: tuple[PlanCount, ...] = ()
    last: RunLine | None = None
    comparable: bool = True
    stops: tuple[str, ...] = ()
    ambiguous: tuple[str, ...] = ()
    pruned: PrunedRun | None = None

    @property
    def new(self) -> int:
        """Groups that the last plan had not."""
        return sum(one.before is None for one in self.groups) if self.last and self.comparable else 0


def plan_view(run: RunFolder) -> PlanView:
    """The plan of a run.

    Raises:
        SettingsError: the run has no plan.
        LakeError: a file of the run cannot be read.
    """
    if not run.plan_json.exists():
        raise SettingsError(f"Run {run.run} has no plan")
    line, plan = run_line(run), PLAN.read(run)
    last = _last(run, line, plan)
    before = PLAN.read(RunFolder(run.path.parent / last.run)) if last else None
    earlier = {GroupKey.of(one): one for one in before.counts} if before else {}
    texts = rule_texts(plan.table_text)
    found, pruned = PREFLIGHT.find(run), PRUNED.find(run)
    has_ambiguous = Action.AMBIGUOUS in plan.actions and not has_removed(pruned, run.plan)
    keys = {GroupKey.of(one) for one in plan.counts}
    comparable = not (plan.counts_left_off or (before and before.counts_left_off))
    return PlanView(
        line=line,
        plan=plan,
        found=found if found and found.plan == plan.digest else None,
        groups=tuple(
            GroupLine(
                count=one,
                rule=texts.get(one.rule_line or 0, ""),
                before=earlier[GroupKey.of(one)].messages if GroupKey.of(one) in earlier else None,
            )
            for one in sorted(plan.counts, key=lambda one: one.action is Action.IGNORE)
        ),
        gone=tuple(one for key, one in earlier.items() if key not in keys) if comparable else (),
        last=last,
        comparable=comparable,
        stops=tuple(stops_of(run)),
        ambiguous=_ambiguous(run, plan.digest) if has_ambiguous else (),
        pruned=pruned,
    )


@kept(most=32)
def _ambiguous(run: RunFolder, _digest: str) -> tuple[str, ...]:
    """As of `PlanView`. Parameters: `_digest` of the plan: a decide that is tried again makes another one."""
    where = read_setting(run)
    found: set[str] = set()
    for batch in read_parquet(run.plan, ["queue", "action"]):
        chosen = batch.filter(pc.equal(batch.column("action"), Action.AMBIGUOUS))
        found.update(pc.unique(chosen.column("queue")).to_pylist())
    return tuple(where.ambiguous(queue) for queue in sorted(found)) if where else ()


class Planned(NamedTuple):
    """The actions of a plan → messages. Parameters: `digest` of the plan, "" for a run without a plan."""

    digest: str = ""
    actions: Mapping[Action, int] = MappingProxyType({})


def acted_on(actions: Mapping[Action, int]) -> int:
    """The messages of a plan that it moves or discards. Parameters: `actions` action → messages."""
    return sum(number for action, number in actions.items() if action.acts)


def planned_actions(run: RunFolder) -> Planned:
    """The actions of the run's plan; none for a run without a plan. Raises `LakeError`."""
    plan = PLAN.find(run)
    return Planned(plan.digest, plan.actions) if plan else Planned()


@kept(most=32)
def planned_rows(run: RunFolder, digest: str, action: str) -> pa.Array:
    """For each message of the run's snapshot, in its order, whether the plan has this action for it.

    Parameters: `digest` of the plan, "" where there is none: a decide that is tried again makes another plan.

    Raises:
        LakeError: the plan or the snapshot cannot be read.
    """
    undo = UNDO_RECORD.exists(run)  # the message is taken from elsewhere, and may be another one there
    of_plan, of_snapshot, kind = ("row", "position", pa.int64()) if undo else ("msg_key", "msg_key", pa.string())
    batches = read_parquet(run.plan, [of_plan, "action"]) if digest else ()
    found = [batch.column(of_plan).filter(pc.equal(batch.column("action"), action)) for batch in batches]
    return rows_with(run.snapshot, of_snapshot, pa.chunked_array(found, kind).combine_chunks())


def destinations(looked: tuple[Looked, ...]) -> tuple[DestinationLine, ...]:
    """The destinations of a look, most messages first."""
    return tuple(_destination(one) for one in looked)


def look_now(connection: MqConnection, found: Preflight) -> tuple[str, tuple[Looked, ...]]:
    """When, ISO 8601 UTC, and what inquiry says now of the destinations of a pre-flight. Nothing is opened for puts.

    Raises:
        MQError: the queue manager cannot be asked.
    """
    with connect(connection) as session:
        lookout = DestinationInquiry(session)
        return utc_now(), tuple(Looked(demand=one.demand, there=lookout.inquired(one.demand)) for one in found.looked)


def _last(run: RunFolder, line: RunLine, plan: PlanSummary) -> RunLine | None:
    """The newest earlier plan of the same workflow and queue that the lake still has."""
    known = Runs.in_folder(run.lake_folder)
    for one in known.before(line, MOST_LOOKED_AT, workflow=plan.workflow):
        older = (one.at, one.run) < (line.at, line.run)
        if older and one.queue == line.queue and RunFolder(run.path.parent / one.run).plan_json.exists():
            return one
    return None


def _destination(one: Looked) -> DestinationLine:
    there, queue = one.there, one.there.queue
    line = DestinationLine(name=one.demand.name, messages=one.demand.messages)
    if queue is None:
        what = there.unknown or ("it is a model queue" if there.model else "")
        return replace(line, unknown=what or "; ".join(text for text, _remedy in there.refused))
    return replace(
        line,
        queue=queue.name if queue.name != one.demand.queue else "",
        remote=there.remote,
        depth=queue.depth,
        room=max(0, queue.max_depth - queue.depth),
        readers=queue.open_input,
        storage=queue.storage,
        put_allowed=queue.put_allowed and not there.inhibited,
    )
