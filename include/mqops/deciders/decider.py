"""What a decider is: the value that makes a workflow of the steps that every run has. `mqops.deciders.run` does these.

A decider's module is imported to show a form or a command, so neither this file nor a decider's imports pymqi or
pyarrow at its top.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Literal, Protocol, TypeVar

from mqops.act.core.lanes import DEFAULT_UNIT_SIZE
from mqops.decide.core.pacing import NO_LIMITS, Pacing
from mqops.errors import MqopsError
from mqops.ledger.core.marker import About
from mqops.look.words.fates import MOVES, Fates

if TYPE_CHECKING:
    from mqops.decide.core import PlanSummary
    from mqops.expiry.core.first_tell import FirstTell
    from mqops.lake.run import RunFolder
    from mqops.ledger.file import LedgerFile
    from mqops.model import ActSummary
    from mqops.mq.connection import Reach
    from mqops.mq.session import RawMessage, Session

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """What every run is asked for. A decider that needs more has a subclass; `queues` and the like are fields of that.

    Parameters: `connection` by which the queue manager is reached, in `Decider.decide` by the session of the step;
    `lake` the folder of runs; `unit_size` most messages in a unit of work; `pacing` canaries, rate limit
    and the like; `requested_by` and `approved_by` user@host, for the ledger; `warn` gets a line for each earlier run
    that was begun and is not finished; `first_tell` as of `mqops.expiry.first_tell.left_by`.
    """

    connection: Reach
    lake: Path
    unit_size: int = DEFAULT_UNIT_SIZE
    pacing: Pacing = NO_LIMITS
    requested_by: str = ""
    approved_by: str = ""
    warn: Callable[[str], None] = _log.warning
    first_tell: FirstTell | None = None


R = TypeVar("R", bound=RunRequest)


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The queues that a run takes messages from. With no queue there is nothing to do, and no run is made.

    Parameters: `some_may_end` whether nobody named them, so that one that ends meanwhile is passed over; `before` a run
    that has looked at them (one queue only): what has not changed there is not copied again; `gated` whether a gate of
    the estate holds: not where nothing is put on a queue, nor where messages are put back (`mqops.decide.core.gate`);
    `told_first` whether the decider has left queues by `RunRequest.first_tell` itself, and nobody is asked again.
    """

    queues: tuple[str, ...]
    some_may_end: bool = False
    before: RunFolder | None = None
    gated: bool = True
    told_first: bool = False

    def prepare(self, run: RunFolder) -> None:
        """Write into the run's folder what the decider needs there before the snapshot. Raises `LakeError`."""

    @property
    def messages(self) -> Callable[[Session, str], Iterator[RawMessage]] | None:
        """Gives the messages of a queue that the snapshot has; None for all of them."""
        return None


class NothingToDo(MqopsError):
    """No queue has a message for this run. Nothing was done, and no run was made."""

    def __init__(self, selection: Selection) -> None:
        super().__init__()
        self.selection = selection


class Act(Protocol):
    """Acts on an approved plan, or finishes what an earlier execution began. Raises as `mqops.act.in_process.act`."""

    def __call__(
        self,
        connection: Reach,
        run: RunFolder,
        /,
        *,
        file: LedgerFile,
        unit_size: int,
        approved: str,
        about: About | None,
    ) -> ActSummary: ...


def act_through_mover(
    connection: Reach, run: RunFolder, /, *, file: LedgerFile, unit_size: int, approved: str, about: About | None
) -> ActSummary:
    """Act in one process through the port that gets and puts messages, `mqops.act.mover_port.MoverPort`."""
    from mqops.act.in_process import act  # noqa: PLC0415 - loads the MQ library

    return act(connection, run, file=file, unit_size=unit_size, approved=approved, about=about)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decider(Generic[R]):
    """A workflow: what it looks at, how it decides, how it acts, and how people call it.

    Parameters:
        name: the same on the command line (`mqops NAME`), in Airflow, in RUN/plan.json and in the ledger.
        request: what its runs are asked for.
        select: which queues a run takes messages from. Raises `SettingsError` for a queue that it must not take from.
        decide: writes the plan of a run, whose folder has the snapshot of these queues.
        act: acts on the plan through the decider's port.
        command: `module:name` of its own click command; without one it gets the command of `mqops.cli.decider`.
        section: the field of `mqops.estate_sections.QueueManager` that configures it; "" if none does.
        by_rules: whether a rules table decides. Messages without a rule are then shown as "no rule", else "not chosen".
        form: its fields in forms and on the command line.
        dag: "each" if each queue manager has a DAG <queue manager>_NAME, "all" if mq_NAME serves all, else "".
        dry_run_is_approvable: whether `mqops dlq act` carries out what a dry run planned.
        reads_queues: False if it decides about an earlier run; then `decide` makes snapshot and pre-flight itself.
        key_prefix: how the keys of its runs begin.
        asks_by_hand: whether a run by hand always asks a person in Airflow, because its form can choose where messages
            go; else the policy of the estate decides about it as about a scheduled one.
        fates: its words for what becomes of messages.
    """

    name: str
    request: type[R]
    select: Callable[[Session, R], Selection]
    decide: Callable[[R, RunFolder], PlanSummary]
    act: Act = act_through_mover
    command: str = ""
    section: str = ""
    by_rules: bool = False
    form: tuple[str, ...] = ()
    dag: Literal["", "each", "all"] = ""
    dry_run_is_approvable: bool = True
    reads_queues: bool = True
    key_prefix: str = "cli"
    asks_by_hand: bool = True
    fates: Fates = MOVES
