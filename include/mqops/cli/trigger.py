"""`mqops trigger`: why a queue triggers or not, and what keeps triggering from working on a queue manager."""

from __future__ import annotations

import sys
from typing import Any

import click

from mqops.cli.columns import show_folded
from mqops.cli.group import Group
from mqops.cli.outcome import connection_to, errors_are_usage, json_option, show_json, show_line
from mqops.cli.run_argument import one_queue_manager, queue_manager_argument
from mqops.counted import counted
from mqops.trigger.core import FAILS, HOLDS, Explanation

_MARKS = {HOLDS: "ok", FAILS: "FAILS"}


@click.group(cls=Group, short_help="Say why a queue triggers or not.")
def trigger() -> None:
    """Triggering: why a queue makes a trigger message, or none."""


@trigger.command()
@click.argument("queue")
@queue_manager_argument
@json_option
@errors_are_usage
def explain(*, queue: str, queue_manager: str, named: str, as_json: bool) -> None:
    """Say whether the next message on QUEUE would make a trigger message, and what keeps it from that.

    Each condition of IBM MQ's page "Conditions for a trigger event" is looked at by inquiry: nothing is put, got or
    changed. A condition that fails has the MQSC command that mends it, where there is one.

    Exit code 0 where the next message triggers, 1 where it does not or it is not known, 2 for an error.
    """
    from mqops.mq.connection import connect  # noqa: PLC0415
    from mqops.trigger.core import explain as judge  # noqa: PLC0415
    from mqops.trigger.look import manager, triggered_queue  # noqa: PLC0415

    with connect(connection_to(one_queue_manager(queue_manager, named))) as session:
        found = judge(triggered_queue(session, queue.strip(), manager(session)))
    if as_json:
        show_json(found.to_json())
    else:
        _show(found)
    sys.exit(0 if found.would_trigger else 1)


def _show(found: Explanation) -> None:
    show_folded(f"{found.queue} of {found.queue_manager}")
    for one in found.conditions:
        show_folded(f"  {one.id:5} {_MARKS.get(one.state, 'unknown'):8} {one.found}", indent=17)
    show_folded(found.verdict)
    if fixes := found.fixes():
        show_line("To mend it (MQSC):")
        for fix in fixes:  # whole: it is copied
            show_line(f"  {fix}")


@trigger.command()
@queue_manager_argument
@json_option
@errors_are_usage
def audit(*, queue_manager: str, named: str, as_json: bool) -> None:
    """Look at every queue with TRIGGER or an initiation queue, at initiation queues and at process definitions.

    A queue is broken if a condition fails that a person has to mend, or if messages wait for a program that does not
    come. A queue whose program is at work is in order.

    Exit code 0 where all is in order, 1 where a queue is broken, 2 for an error.
    """
    from mqops.mq.connection import connect  # noqa: PLC0415
    from mqops.trigger.audit import audit as look  # noqa: PLC0415

    with connect(connection_to(one_queue_manager(queue_manager, named))) as session:
        found = look(session)
    if as_json:
        show_json(found.to_json())
    else:
        _show_audit(found)
    sys.exit(1 if found.broken else 0)


def _show_audit(found: Any) -> None:
    for one in found.queues:
        show_folded(f"{'broken' if one.broken else 'ok':7} {one.queue}: {one.verdict}", indent=8)
        for fix in one.fixes() if one.broken else ():
            show_line(f"          {fix}")
    for name in found.unserved:
        show_folded(f"warning initiation queue {name}: no trigger monitor has it open for input", indent=8)
    for name in found.unused:
        show_folded(f"warning process {name}: no queue names it", indent=8)
    broken = counted(len(found.broken), "queue is broken", "queues are broken")
    show_folded(f"{found.queue_manager}: {counted(len(found.queues), 'queue')} with triggering, {broken}")
