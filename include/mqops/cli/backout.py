"""`mqops backout`: put backed-out messages back where they came from, by a rules table, without Spark; and audit."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from mqops.cli.acting import How, acting_options
from mqops.cli.columns import show_folded
from mqops.cli.exit_code import ExitCode
from mqops.cli.first_tell import asking, first_tell_option, refuse_table_where_asked, refused_or_done
from mqops.cli.group import Group
from mqops.cli.outcome import (
    connection_to,
    errors_are_usage,
    json_option,
    known_errors,
    lake_option,
    show_json,
    show_line,
)
from mqops.cli.passes import (
    dry_run_option,
    ending,
    pacing_options,
    read_table,
    rules_option,
    run_once,
    source_of,
    this_user,
    unit_size_option,
    warn,
)
from mqops.cli.run_argument import one_queue_manager, queue_manager_argument, queue_manager_option
from mqops.cli.user_option import connecting_options
from mqops.counted import counted
from mqops.deciders.backout import BACKOUT, BackoutQueues, BackoutRequest
from mqops.deciders.decider import NothingToDo
from mqops.queue_names import not_seen
from mqops.rules.keywords import KEYWORDS
from mqops.rules.values import BadValue, seconds_of, typed

if TYPE_CHECKING:
    from mqops.as_json import JsonObject
    from mqops.backout.audit import BackoutAudit
    from mqops.decide.core.pacing import Pacing
    from mqops.deciders.decider import Selection
    from mqops.lake.run import RunFolder


def _backoff(_context: click.Context, parameter: click.Parameter, text: str) -> tuple[int, ...]:
    try:
        return seconds_of(str(typed(KEYWORDS["BACKOFF"], text))) if text else ()
    except BadValue as bad:
        raise click.BadParameter(str(bad), param=parameter) from bad


@click.group(cls=Group)
def backout() -> None:
    """Process backout queues."""


@backout.command()
@click.argument("queues", nargs=-1)
@queue_manager_option
@connecting_options
@rules_option
@first_tell_option
@dry_run_option
@unit_size_option
@pacing_options
@click.option(
    "--replay-cap",
    type=click.IntRange(1),
    default=3,
    show_default=True,
    help="The largest number of replays of a message.",
)
@click.option(
    "--quarantine",
    default="MQOPS.QUARANTINE",
    show_default=True,
    help="Queue for messages that were replayed --replay-cap times.",
)
@click.option(
    "--backoff",
    metavar="TIMES",
    default="",
    callback=_backoff,
    help="How long a message waits that was put back and came again: after its first replay, its second, and so on, "
    "such as 1m,5m,30m,2h. The last time holds for all further ones. A rule's BACKOFF counts before it.",
)
@click.option(
    "--explain",
    is_flag=True,
    help="As --dry-run; and for each message: where it came from, and which row of the estate's table "
    "(backout_reprocess.origins), BOQNAME or header decided that.",
)
@lake_option
@json_option
@known_errors
def run(
    *,
    queues: tuple[str, ...],
    queue_manager: str,
    rules_file: IO[bytes],
    tells_first: bool,
    dry_run: bool,
    unit_size: int,
    pacing: Pacing,
    replay_cap: int,
    quarantine: str,
    backoff: tuple[int, ...],
    explain: bool,
    lake: Path,
    as_json: bool,
) -> None:
    """Make one pass over backout QUEUES by a rules table. Without QUEUES: every queue that is the BOQNAME of another.

    The table is that of a dead-letter queue handler, used for messages without an MQDLH. ACTION(RETRY) puts a message
    back on the queue it was backed out from. DESTQ and &ORIGQ are that queue, and REASON is 0. A message whose origin
    is ambiguous stays unless a rule names a queue for it. Where several queues share a backout queue, the table of
    origins in the estate (MQOPS_ESTATE, else the project's) says which messages came from which.
    """
    asks = asking(tells_first=tells_first, quiet=as_json)
    refuse_table_where_asked(asks, rules_file)
    table, text = read_table(rules_file, origins=True)
    what = BackoutRequest(
        connection=connection_to(queue_manager.strip()),
        lake=lake,
        table=table,
        text=text,
        source=source_of(rules_file),
        queues=queues,
        replay_cap=replay_cap,
        quarantine=quarantine,
        backoff=backoff,
        unit_size=unit_size,
        pacing=pacing,
        requested_by=this_user(),
        warn=warn,
        first_tell=asks,
    )
    try:
        done = run_once(
            BACKOUT,
            what,
            dry_run=dry_run or explain,
            as_json=as_json,
            explain=partial(_explain, as_json=as_json) if explain else None,
        )
    except NothingToDo as nothing:
        sys.exit(refused_or_done(asks, _show_nothing(nothing.selection, as_json=as_json)))
    sys.exit(refused_or_done(asks, ending(done)))


def _explain(run: RunFolder, *, as_json: bool) -> JsonObject:
    """The origin of each message of a dry run, as JSON or shown: those together that have it for the same reason."""
    from mqops.decide.backout_setting import read_setting  # noqa: PLC0415
    from mqops.decide.origins import explained  # noqa: PLC0415

    where = read_setting(run)
    found = explained(run, where) if where else iter(())
    if as_json:
        return {"origins": [one.to_json() for one in found]}
    alike: dict[tuple[str, str, str], list[str]] = {}
    for one in found:
        alike.setdefault((one.queue, one.origin.queue, one.why), []).append(one.msg_id)
    for (queue, origin, why), ids in alike.items():
        show_folded(f"{len(ids):8}  from {origin or 'a queue that is not certain'} on {queue}: {why}")
        for msg_id in ids:
            show_line(f"          {msg_id}")
    return {}


@backout.command()
@click.argument("queues", nargs=-1)
@queue_manager_option
@connecting_options
@click.option("--limit", type=click.IntRange(0), default=0, show_default="0: all", help="Most messages of a queue.")
@click.option(
    "--watch",
    type=click.FloatRange(0, 600),
    default=2.0,
    show_default=True,
    help="Seconds to look at the queues: how fast is BackoutCount rising?",
)
@acting_options
def guard(
    *,
    queues: tuple[str, ...],
    queue_manager: str,
    limit: int,
    watch: float,
    how: How,
) -> None:
    """Take messages at or over BOTHRESH from input QUEUES whose programs get them again and again.

    Without QUEUES: every queue with BOTHRESH, but for backout queues, the dead-letter queue and SYSTEM queues. The
    command says who reads a queue, how fast BackoutCount rises, since when, and what waits behind; shows the plan, and
    asks. The queue stays open for its program.

    A message goes to BOQNAME. Where that is blank, missing, full, inhibited or the like, it is discarded if its report
    options say so (MQRO_DISCARD_MSG), else put on the dead-letter queue behind an MQDLH. The exception report that it
    asks for is sent. The messages of an MQ group go together. `mqops undo RUN` puts all back, with BackoutCount 0.
    """
    from mqops.deciders.guard import GUARD, GuardRequest  # noqa: PLC0415

    what = GuardRequest(
        connection=connection_to(queue_manager.strip()),
        lake=how.lake,
        queues=tuple(one.strip() for one in queues),
        limit=limit,
        watch=watch,
        unit_size=how.unit_size,
        requested_by=this_user(),
        warn=warn,
        first_tell=how.asks,
    )
    try:
        done = run_once(
            GUARD,
            what,
            dry_run=how.dry_run,
            as_json=how.as_json,
            question="" if how.yes else "Take these messages from their queue?",
        )
    except NothingToDo as nothing:
        sys.exit(refused_or_done(how.asks, _show_no_loop(nothing.selection, as_json=how.as_json)))
    sys.exit(refused_or_done(how.asks, ending(done)))


def _show_no_loop(found: Selection, *, as_json: bool) -> ExitCode:
    from mqops.deciders.guard import Loops  # noqa: PLC0415

    assert isinstance(found, Loops)
    remarks = [*found.guarded.remarks(), *filter(None, [not_seen(found.guarded.unseen)])]
    if as_json:
        show_json({"queues": [], "planned": 0, "remarks": remarks})
    else:
        for remark in remarks:
            show_folded(remark)
        show_folded("nothing to do: no input queue has a message at or over its BOTHRESH")
    return ExitCode.NO if found.guarded.unseen or found.guarded.not_seen else ExitCode.DONE


@backout.command()
@queue_manager_argument
@connecting_options
@json_option
@errors_are_usage
def audit(*, queue_manager: str, named: str, as_json: bool) -> None:
    """Look at every queue with BOTHRESH: can its BOQNAME take the messages that its programs back out?

    It cannot where BOQNAME is blank, is not there, is the queue itself, the dead-letter queue, a remote, model or
    transmission queue, an alias of one of these, one of a ring of queues, inhibited, full, or has a shorter MAXMSGL;
    and where the authority records let a user or group get from the queue and not put on BOQNAME. Each comes with the
    MQSC that mends it. What works all the same (an alias, BOTHRESH(0) beside a BOQNAME) is a note.

    Exit code 0 where all is in order, 1 where a queue is misconfigured or some could not be seen, 2 for an error.
    """
    from mqops.backout.audit import audit as look  # noqa: PLC0415
    from mqops.mq.connection import connect  # noqa: PLC0415

    with connect(connection_to(one_queue_manager(queue_manager, named))) as session:
        found = look(session)
    if as_json:
        show_json(found.to_json())
    else:
        _show_audit(found)
    sys.exit(ExitCode.NO if found.wrong or found.unseen else ExitCode.DONE)


def _show_audit(found: BackoutAudit) -> None:
    for word, several in (("wrong", found.wrong), ("note", found.notes)):
        for one in several:
            show_folded(f"{word:6} {one.what}", indent=7)
            for command in one.mend.split(", and ") if one.mend else ():  # whole: it is copied
                show_line(f"       {command}")
    for remark in filter(None, (not_seen(found.unseen), found.rights)):
        show_folded(remark)
    wrong = counted(len(found.wrong), "is misconfigured", "are misconfigured")
    show_folded(f"{found.queue_manager}: {counted(len(found.checked), 'queue')} with BOTHRESH, {wrong}")


def _show_nothing(found: Selection, *, as_json: bool) -> ExitCode:
    assert isinstance(found, BackoutQueues)
    code = ExitCode.NO if found.setting.unseen else ExitCode.DONE
    if as_json:
        show_json({"queues": list(found.depths), "planned": 0, "remarks": found.setting.remarks()})
        return code
    for remark in found.setting.remarks():
        show_folded(remark)
    show_folded(f"nothing to do: {', '.join(found.depths) or 'no backout queues'}")
    return code
