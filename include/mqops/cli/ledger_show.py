"""`mqops ledger show`: what became of a message, by the ledgers, plans and snapshots of the lake."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mqops.cli.columns import show_folded
from mqops.cli.outcome import json_option, known_errors, lake_option, show_json, show_line
from mqops.lake.run import folder_of
from mqops.ledger.core.marker import MarkerKind
from mqops.ledger.file import all_ledgers
from mqops.ledger.set_aside import remark
from mqops.look.reveal import DOWNLOAD
from mqops.model import Destination
from mqops.prove.core.outcome import MEANING
from mqops.prove.core.whereabouts import Whereabouts

if TYPE_CHECKING:
    from mqops.look.history import EventOfRule


@click.command()
@click.argument("msg_id", metavar="MSGID")
@lake_option
@json_option
@known_errors
def show(*, msg_id: str, lake: Path, as_json: bool) -> None:
    """What was done with the messages whose MsgId (hex) begins with MSGID, and why, in all ledgers of the lake.

    Of a message that a snapshot or a plan has and that no run dealt with, it says when it was last seen, when it was
    gone, and whether it expired or was taken by another program.

    What is shown is checked: of closed segments of the ledger each line that is about the message, of the open one all
    lines. What stands behind the first line that is not what was written is not shown, and that line is named.

    Exit code 1 where nothing in the lake knows such a message, a ledger has such a line, or more than 1,000 MsgIds of a
    ledger begin so.
    """
    from mqops.look.history import history  # noqa: PLC0415 - reads Parquet

    if not re.fullmatch("[0-9a-fA-F]+", msg_id):
        raise click.BadParameter(f"{msg_id!r} is not the beginning of a MsgId in hex", param_hint="MSGID")
    known = history(lake, msg_id.lower())
    found, seen, broken = known.events, known.seen, list(known.errors)
    if as_json:
        show_json({"msg_id": msg_id, "events": found, "seen": seen, "errors": broken})
    for line in [] if as_json else [line for event in found for line in event_lines(event)]:
        _show(line)
    for line in [] if as_json else [line for one in seen for line in sighting_lines(one)]:
        _show(line)
    if not (found or seen or broken or as_json):
        show_folded(f"no ledger, plan or snapshot in {lake} knows a message {msg_id}")
    for line in broken:
        show_line(f"mqops: {line}", err=True)
    for name in all_ledgers(lake):
        if sentence := remark(folder_of(lake, name)):
            show_line(f"mqops: {name}: {sentence}", err=True)
    sys.exit(0 if (found or seen) and not broken else 1)


def _show(line: str) -> None:
    """A line of the account; what is folded stands below its text, not below its heading."""
    show_folded(line, indent=14 if line.startswith(" ") else 4)


def sighting_lines(one: Whereabouts) -> tuple[str, ...]:
    """What is known of a message that no run dealt with, in lines."""
    rule = f" by the rule at line {one.rule_line}" if one.rule_line else ""
    plan = f"{one.action}{rule}" if one.action else "none: a snapshot only"
    ended = f"; its lifetime ends at {one.ends_at}" if one.ends_at else ""
    gone = f"{one.absent} at {one.missed_at} (run {one.missed_by}): " if one.missed_at else ""
    return (
        f"{one.seen_at}  {one.queue_manager}  last seen  run {one.run}",
        f"    message   {one.msg_id} of {one.queue}{ended}",
        f"    plan      {plan}",
        f"    since     {gone}{one.since}",
    )


def event_lines(event: EventOfRule) -> tuple[str, ...]:
    """What the ledger says of a message, in lines."""
    target = f" {Destination(event.dest_q, event.dest_q_mgr)}" if event.dest_q else ""
    if event.outcome in MEANING:
        return (
            f"{event.at}  {event.queue_manager}  {MEANING[event.outcome]}  run {event.run}",
            f"    message   {event.msg_id}, put there by {event.action}{target}; line {event.line} of the ledger",
        )
    if event.outcome == MarkerKind.REVEALED:
        source = f"run {event.run}" if event.run else "the live queue"
        done = "downloaded by" if event.action == DOWNLOAD else "shown to"
        return (
            f"{event.at}  {event.queue_manager}  its payload was {done} {event.requested_by}",
            *((f"    why       {event.comment}",) if event.comment else ()),
            f"    message   {event.msg_id} of {event.queue}, from {source}; line {event.line} of the ledger",
        )
    failed = f" failed: {event.reason}" if event.reason else ""
    line = f"line {event.rule_line} of {event.table_source}, " if event.rule_line else ""
    comment = f" ({event.comment})" if event.comment else ""
    approved = f"approved: {event.approved_by or 'by nobody'}{comment}"
    key = f"key {event.rule}" if event.rule else "none"
    finished = f"; finished by {event.finished_by}" if event.finished_by else ""
    return (
        f"{event.at}  {event.queue_manager}  {event.action}{target}{failed}  run {event.run}",
        f"    message   {event.msg_id} of {event.queue or 'an unknown queue'}, body {event.body}",
        f"    rule      {line}{key}, table {event.table or 'unknown'}",
        f"    asked     {event.requested_by or 'not recorded'}; {approved}{finished}",
        f"    plan      {event.plan}, row {event.row}",
        f"    unit      {event.unit}, line {event.line} of the ledger",
    )
