"""`mqops trigger`: why a queue triggers or not, and what keeps triggering from working on a queue manager."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from mqops.cli.columns import show_folded
from mqops.cli.group import Group
from mqops.cli.outcome import connection_to, errors_are_usage, json_option, lake_option, show_json, show_line
from mqops.cli.passes import refuse_to_ask, yes_option
from mqops.cli.run_argument import one_queue_manager, queue_manager_argument
from mqops.cli.trigger_mend import Mending, mend
from mqops.cli.trigger_watch import MARKS, watch
from mqops.cli.user_option import connecting_options
from mqops.counted import counted
from mqops.queue_names import not_seen
from mqops.trigger.core import Explanation


@click.group(cls=Group, short_help="Say why a queue triggers or not.")
def trigger() -> None:
    """Triggering: why a queue makes a trigger message, or none."""


@trigger.command()
@click.argument("queue")
@queue_manager_argument
@connecting_options
@click.option("--watch", "follow", is_flag=True, help="Look every second and print what changes, until it triggers.")
@click.option("--fix", is_flag=True, help="Run the commands that mend it, after you have approved them.")
@click.option("--dry-run", is_flag=True, help="With --fix: show the plan, and the command that carries it out.")
@yes_option
@click.option(
    "--approve", "digest", default="", metavar="DIGEST", help="With --fix: run the plan that has this digest."
)
@click.option(
    "--applicid",
    default="",
    metavar="TEXT",
    help="With --fix: what a process starts that has to be defined, such as a program or a DAG id.",
)
@lake_option
@json_option
@errors_are_usage
def explain(
    *,
    queue: str,
    queue_manager: str,
    named: str,
    follow: bool,
    fix: bool,
    dry_run: bool,
    yes: bool,
    digest: str,
    applicid: str,
    lake: Path,
    as_json: bool,
) -> None:
    """Say whether the next message on QUEUE would make a trigger message, and what keeps it from that.

    Each condition of IBM MQ's page "Conditions for a trigger event" is looked at by inquiry: nothing is put, got or
    changed. A condition that fails has the MQSC command that mends it, where there is one.

    --fix shows these commands as a plan, asks for confirmation, and runs them as PCF commands. Who asked, who approved
    and what was run is recorded in LAKE/QMGR/trigger/changes.jsonl. It refuses a plan with a command for a SYSTEM. or
    MQOPS. object, or for a process of which nobody has said what it starts (--applicid). It never starts or ends a
    program.

    Exit code 0 where the next message triggers, 1 where it does not or it is not known, 2 for an error. With --fix this
    is the state after the commands; with --watch 0 where a trigger message was made.
    """
    from mqops.mq.connection import connect  # noqa: PLC0415
    from mqops.trigger.core import explain as judge  # noqa: PLC0415
    from mqops.trigger.look import manager, triggered_queue  # noqa: PLC0415
    from mqops.trigger.mend import plan_mending  # noqa: PLC0415

    if not fix and (dry_run or yes or digest or applicid):
        raise click.UsageError("--dry-run, --yes, --approve and --applicid need --fix")
    if dry_run and (yes or digest):
        raise click.UsageError("--dry-run changes nothing: leave out --yes and --approve")
    if fix and follow:
        raise click.UsageError("--fix and --watch: one after the other")
    if fix:
        refuse_to_ask(as_json=as_json, answered=dry_run or yes or bool(digest))
    how = Mending(lake=lake, dry_run=dry_run, yes=yes, program=applicid, digest=digest)
    with connect(connection_to(one_queue_manager(queue_manager, named))) as session:
        looked_at = triggered_queue(session, queue.strip(), manager(session))
        found = judge(looked_at)
        if not as_json:
            _show(found, with_fixes=not fix)
        more = mend(session, plan_mending(found, program=applicid), how, as_json=as_json) if fix else {}
        if as_json:
            show_json(found.to_json() | more)
        good = watch(session, looked_at, as_json=as_json) if follow else found.would_trigger
    after = more.get("after")
    sys.exit(0 if (after["would_trigger"] if isinstance(after, dict) else good) else 1)


def _show(found: Explanation, *, with_fixes: bool = True) -> None:
    show_folded(f"{found.queue} of {found.queue_manager}")
    if found.of_alias:
        show_folded(found.of_alias)
    for one in found.conditions:
        show_folded(f"  {one.id:5} {MARKS.get(one.state, 'unknown'):8} {one.found}", indent=17)
    show_folded(found.verdict)
    if with_fixes and (fixes := found.fixes()):
        show_line("To mend it (MQSC):")
        for fix in fixes:  # whole: it is copied
            show_line(f"  {fix}")


@trigger.command()
@queue_manager_argument
@connecting_options
@json_option
@errors_are_usage
def audit(*, queue_manager: str, named: str, as_json: bool) -> None:
    """Look at every queue with TRIGGER or an initiation queue, at initiation queues and at process definitions.

    A queue is broken if a condition fails that a person has to mend, or if messages wait for a program that does not
    come. A queue whose program is at work is in order. Warnings do not change the exit code: initiation queues without
    a trigger monitor, processes that no queue names, and DAGs that the estate allows and no process names.

    Exit code 0 where all is in order, 1 where a queue is broken or cannot be seen, 2 for an error.
    """
    from mqops.mq.connection import connect  # noqa: PLC0415
    from mqops.trigger.audit import audit as look  # noqa: PLC0415

    with connect(connection_to(one_queue_manager(queue_manager, named))) as session:
        found = look(session)
    if as_json:
        show_json(found.to_json())
    else:
        _show_audit(found)
    sys.exit(1 if found.broken or found.unseen else 0)


def _show_audit(found: Any) -> None:
    for one in found.queues:
        show_folded(f"{'broken' if one.broken else 'ok':7} {one.queue}: {one.verdict}", indent=8)
        for fix in one.fixes() if one.broken else ():
            show_line(f"          {fix}")
    for name in found.unserved:
        show_folded(f"warning initiation queue {name}: no trigger monitor has it open for input", indent=8)
    for name in found.unused:
        show_folded(f"warning process {name}: no queue names it", indent=8)
    for name in found.dags:
        show_folded(f"warning DAG {name}: the estate allows it, and no process names it as APPLICID", indent=8)
    for name in found.not_known:
        show_folded(f"not known {name}: the connection's user may not inquire it (+inq, +dsp)", indent=10)
    if found.unseen:
        show_folded(f"not known {not_seen(found.unseen)}", indent=10)
    broken = counted(len(found.broken), "queue is broken", "queues are broken")
    show_folded(f"{found.queue_manager}: {counted(len(found.queues), 'queue')} with triggering, {broken}")
