"""`mqops ledger`: check the ledger, ask it what became of a message, export it, drain the ledger queue into it."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from mqops.cli.outcome import connection_to, json_option, known_errors, lake_option, show_json, show_line
from mqops.clock import utc_now
from mqops.errors import LakeError, LedgerBroken, SettingsError
from mqops.lake.files import read_json
from mqops.lake.run import RunFolder, folder_of, queue_manager_of
from mqops.ledger.core.chain import Proof, held
from mqops.ledger.core.history import COLUMNS, Event, events, is_since
from mqops.ledger.file import LedgerFile
from mqops.ledger.set_aside import counts, remark
from mqops.printable import printable
from mqops.prove.core.outcome import MEANING, OutcomeSummary

_FORMULA = frozenset("=+-@")
_TIMES = ["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%SZ"]


@click.group()
def ledger() -> None:
    """The record of everything that was moved or discarded."""


@ledger.command()
@click.argument("queue_managers", metavar="[QMGR]...", nargs=-1)
@lake_option
@json_option
@known_errors
def verify(*, queue_managers: tuple[str, ...], lake: Path, as_json: bool) -> None:
    """Check that no line of the ledgers was changed, removed or added (none named: all ledgers of the lake).

    Each line holds the hash of the one before, so that what was changed in the middle does not fit. Each run that was
    proved keeps number and hash of the last line of then in RUN/summary.json, each later look at its messages in
    RUN/outcomes.json: a ledger that no longer has that line was cut off or written anew, and the run is named. A run
    whose folder was deleted, or that an earlier version proved, tells nothing.

    Each line is signed with the key of the ledger, so that nobody without the key can write another history. Lines that
    an earlier version wrote are not signed: they are counted, and only their hashes are checked.

    What is not proved: lines behind the last proof can be cut off unseen by a person who can write to the lake, and
    a holder of the key can sign anything. Keep `head` of --json where they cannot write.

    Messages on MQOPS.LEDGER that did not come from mqops are set aside and never recorded: their number is told.

    The first line that is not what was written is named, and the exit code is 1; so is a summary that is not. What a
    crash left of a half-written last line is told and no error: nothing relies on it yet.
    """
    results = [
        _verified(name, LedgerFile(folder_of(lake, name), utc_now)) for name in queue_managers or _with_a_past(lake)
    ]
    ok = all(result["ok"] for result in results)
    if as_json:
        show_json({"ok": ok, "ledgers": results})
    for result in [] if as_json else results:
        show_line(f"{result['queue_manager']}: {result['lines']} lines, {result['error'] or 'unbroken'}")
        if result["unsigned"]:
            show_line(f"{result['queue_manager']}: {_UNSIGNED.format(lines=result['unsigned'])}")
        if result["set_aside"]:
            show_line(f"{result['queue_manager']}: {result['set_aside']}")
        if result["torn"]:
            show_line(f"{result['queue_manager']}: {result['torn']} bytes of a half-written last line: {_TORN}")
    if not results and not as_json:
        show_line(f"{lake}: no ledgers")
    sys.exit(0 if ok else 1)


_UNSIGNED = "the first {lines} lines are from before the ledger's key: their hashes are checked, not who wrote them"
_TORN = "a crash; its marker is still on the ledger queue, and the line is written anew by the next prove or drain"


def all_ledgers(lake: Path) -> list[str]:
    """The queue managers that have a ledger in the lake."""
    return sorted(queue_manager_of(path.parent.parent) for path in lake.glob("*/ledger/ledger.jsonl"))


def _with_a_past(lake: Path) -> list[str]:
    """Those, and the queue managers that have runs with a proof, so that a ledger that was removed is missed."""
    others = [queue_manager_of(path) for path in lake.glob("*/") if any(_proofs(LedgerFile(path, utc_now)))]
    return sorted({*all_ledgers(lake), *others})


def _proofs(file: LedgerFile) -> tuple[list[Proof], str]:
    """The proofs of a queue manager's runs, or why they cannot be read."""
    try:
        return file.proofs(), ""
    except (LedgerBroken, LakeError) as error:
        return [], str(error)


def _verified(name: str, file: LedgerFile) -> dict[str, Any]:
    lines, head, torn = 0, "", 0
    unsigned = 0
    proofs, error = _proofs(file)
    try:
        unsigned = file.unsigned()
        torn = file.torn()
        for entry in held(file.entries(), proofs):
            lines, head = lines + 1, entry["hash"]
    except (LedgerBroken, LakeError, SettingsError) as broken:
        error = str(broken)
    if not file.path.exists():
        error = f"there is no ledger {file.path}"
    result = {"queue_manager": name, "ok": not error, "lines": lines, "head": head, "error": error, "torn": torn}
    return result | {"unsigned": min(unsigned, lines), "set_aside": remark(file.folder.parent)}


@ledger.command()
@click.argument("msg_id", metavar="MSGID")
@lake_option
@json_option
@known_errors
def show(*, msg_id: str, lake: Path, as_json: bool) -> None:
    """What was done with the messages whose MsgId (hex) begins with MSGID, and why, in all ledgers of the lake.

    Each ledger is checked while it is read, as by `mqops ledger verify` but for its end: what it says behind the first
    line that is not what was written is not shown, and that line is named.

    Exit code 1 where no ledger knows such a message, or one has such a line.
    """
    found: list[dict[str, Any]] = []
    broken: list[str] = []
    for name in all_ledgers(lake):
        try:
            found += (_with_rule(event, lake) for event in _history(lake, name, msg_id.lower()))
        except LedgerBroken as error:
            broken.append(f"{name}: {error}")
    if as_json:
        show_json({"msg_id": msg_id, "events": found, "errors": broken})
    for event in [] if as_json else found:
        for line in _told(event):
            show_line(line)
    if not found and not as_json:
        show_line(f"no ledger in {lake} knows a message {msg_id}")
    for line in broken:
        show_line(f"mqops: {line}", err=True)
    for name in all_ledgers(lake):
        if told := remark(folder_of(lake, name)):
            show_line(f"mqops: {name}: {told}", err=True)
    sys.exit(0 if found and not broken else 1)


def _history(lake: Path, name: str, msg_id: str) -> Iterator[Event]:
    for event in events(name, LedgerFile(folder_of(lake, name), utc_now).about(f'"{msg_id}')):
        if event.msg_id.startswith(msg_id):
            yield event


def _with_rule(event: Event, lake: Path) -> dict[str, Any]:
    """An event, with the rule's line and table while the run's folder is there."""
    plan_json = RunFolder.at(lake, event.queue_manager, event.run).plan_json
    plan = read_json(plan_json) if plan_json.is_file() else {}
    same = plan if plan.get("digest") == event.plan else {}
    lines = [rule["rule_line"] for rule in same.get("rules", ()) if rule["rule_key"] == event.rule]
    source = {"rule_line": lines[0] if lines else None, "table_source": same.get("table_source", "")}
    return event.to_json() | source


def _told(event: Mapping[str, Any]) -> tuple[str, ...]:
    target = f" {event['dest_q']}@{event['dest_q_mgr']}" if event["dest_q"] else ""
    if event["outcome"] in MEANING:
        return (
            f"{event['at']}  {event['queue_manager']}  {MEANING[event['outcome']]}  run {event['run']}",
            f"    message   {event['msg_id']}, moved by {event['action']}{target}; line {event['line']} of the ledger",
        )
    failed = f" failed: {event['reason']}" if event["reason"] else ""
    line = f"line {event['rule_line']} of {event['table_source']}, " if event["rule_line"] else ""
    approved = f"approved: {event['approved_by'] or 'by nobody'}"
    finished = f"; finished by {event['finished_by']}" if event["finished_by"] else ""
    return (
        f"{event['at']}  {event['queue_manager']}  {event['action']}{target}{failed}  run {event['run']}",
        f"    message   {event['msg_id']} of {event['queue'] or 'an unknown queue'}, body {event['body']}",
        f"    rule      {line}key {event['rule']}, table {event['table'] or 'unknown'}",
        f"    asked     {event['requested_by'] or 'not recorded'}; {approved}{finished}",
        f"    plan      {event['plan']}, row {event['row']}",
        f"    unit      {event['unit']}, line {event['line']} of the ledger",
    )


@ledger.command()
@click.option("--queue-manager", "-m", "queue_managers", multiple=True, help="Only this one's; may be repeated.")
@click.option("--run", default="", help="Only what this run did.")
@click.option("--since", type=click.DateTime(_TIMES), help="Only from this time on (UTC), to the second or the day.")
@click.option("--format", "form", type=click.Choice(["jsonl", "csv"]), default="jsonl", show_default=True)
@lake_option
@known_errors
def export(*, queue_managers: tuple[str, ...], run: str, since: datetime | None, form: str, lake: Path) -> None:
    """Print every message that a unit of work dealt with, as JSON lines or CSV, oldest first in each ledger.

    Each ledger is checked while it is read: an export ends with exit code 1 at the first line that is not what was
    written.
    """
    writer = csv.DictWriter(sys.stdout, COLUMNS, lineterminator="\n")
    if form == "csv":
        writer.writeheader()
    for name in queue_managers or all_ledgers(lake):
        for event in events(name, LedgerFile(folder_of(lake, name), utc_now).entries()):
            if (run and event.run != run) or (since and not is_since(event.at, since)):
                continue
            writer.writerow(_cells(event.to_json())) if form == "csv" else show_json(event.to_json())


def _cells(event: Mapping[str, Any]) -> dict[str, Any]:
    """A line of the CSV export. A spreadsheet takes a text that begins like a formula for one: an apostrophe stands
    before it. Names come from messages, so control characters become U+FFFD. The JSON lines have every text exactly."""
    texts = {name: printable(value) for name, value in event.items() if isinstance(value, str)}
    return {**event, **{name: f"'{text}" if text[:1] in _FORMULA else text for name, text in texts.items()}}


@ledger.command()
@click.option("--queue-manager", "-m", default="", help="The queue manager; else the default one.")
@click.option(
    "--orphan",
    "orphans",
    multiple=True,
    metavar="RUN",
    help="Take also the markers of this run, whose lake is gone for good; may be repeated.",
)
@click.option(
    "--foreign",
    multiple=True,
    metavar="RUN",
    help="Set aside what an unknown key signed for this run; may be repeated; '*' for all runs.",
)
@lake_option
@json_option
@known_errors
def drain(*, queue_manager: str, orphans: tuple[str, ...], foreign: tuple[str, ...], lake: Path, as_json: bool) -> None:
    """Record the markers of the lake's runs that lie on the ledger queue, also of runs that nobody proved.

    A run that is being acted on or proved drains its own. Runs that were begun and are not finished are named.

    So are the runs that are not in this lake. Their markers stay: without them the run could not be proved, resumed or
    undone in its own lake. Where that lake does not exist any more, --orphan RUN records the markers that a key of this
    lake signed (its key can be added to keys.json) and sets the others aside.

    A message that is not a marker or a ticket of this lake is set aside: kept in LAKE/QMGR/ledger/set_aside.jsonl and
    never recorded. What an unknown key signed stays where it may be true: for a run of another lake, or for a run of
    this lake that the ledger does not have to its end (then a process may have had a wrong key). --foreign RUN sets it
    aside, for when none of your processes signed it.
    """
    from mqops.mq.connection import connect  # noqa: PLC0415
    from mqops.mq.inquire import queue_manager_name  # noqa: PLC0415
    from mqops.prove.recovery import drain_leftovers  # noqa: PLC0415

    with connect(connection_to(queue_manager)) as session:
        name = queue_manager_name(session)
        found = drain_leftovers(session, lake, name, orphans=orphans, foreign=foreign)
    for line in found.told():
        show_line(f"mqops: {line}", err=True)
    if as_json:
        show_json({"queue_manager": name, "lines": found.lines, "set_aside": dict(counts(folder_of(lake, name)))})
    else:
        show_line(f"{name}: {found.lines} lines added")


@ledger.command()
@click.argument("queue_manager", metavar="QMGR")
@click.option(
    "--revoke",
    is_flag=True,
    help="The keys before it sign nothing on MQOPS.LEDGER any more. Drain first, and let no run be at work.",
)
@lake_option
@json_option
@known_errors
def rekey(*, queue_manager: str, revoke: bool, lake: Path, as_json: bool) -> None:
    """Make a new key for the ledger of QMGR: it signs from now on, and what the keys before it signed still verifies.

    Keys are kept in LAKE/QMGR/ledger/keys.json, or in the folder that MQOPS_LEDGER_KEYS names. Back the file up apart
    from the lake: without it nobody can verify the ledger, and runs that were begun cannot be finished.

    Where the file is gone and there is no copy, a new one is made: the lines so far are then as those of an earlier
    version, checked by their hashes alone.
    """
    folder = folder_of(lake, queue_manager)
    if not (folder / "ledger").is_dir():
        raise SettingsError(f"{lake} has no ledger of {queue_manager}")
    file = LedgerFile(folder, utc_now)
    key = file.rekey(revoke=revoke)
    if as_json:
        show_json({"queue_manager": queue_manager, "key": key, "path": str(file.keys.path)})
    else:
        show_line(f"{queue_manager}: key {key} signs from now on, in {file.keys.path}")


@ledger.command("outcomes")
@click.argument("run")
@click.option("--queue-manager", "-m", default="", help="The run's queue manager; else the default one.")
@lake_option
@json_option
@known_errors
def show_outcomes(*, run: str, queue_manager: str, lake: Path, as_json: bool) -> None:
    """Look what became of the messages that RUN (its key in the lake) moved, and record it in the ledger.

    Still there, back on the queue they came from, consumed, expired ... Nothing is moved, and only what changed since
    the last look is recorded.
    """
    from mqops.mq.connection import connect  # noqa: PLC0415
    from mqops.mq.inquire import queue_manager_name  # noqa: PLC0415
    from mqops.prove.outcomes import find_run, look  # noqa: PLC0415

    connection = connection_to(queue_manager.strip())
    with connect(connection) as session:
        name = queue_manager_name(session)
    summary = look(connection, find_run(lake, name, run))
    show_json(summary.to_json()) if as_json else _show_outcomes(summary)


def _show_outcomes(summary: OutcomeSummary) -> None:
    show_line(f"{summary.run} moved {summary.moved} messages; looked at {summary.looked_at}")
    for outcome, count in summary.outcomes.items():
        show_line(f"{count:8}  {outcome}: {MEANING[outcome]}")
    if summary.untold:
        show_line(f"{summary.untold:8}  cannot be told now: hidden by units of work of others, or out of reach")
    for line in summary.remarks:
        show_line(line)
    show_line(f"{summary.changed} changed since the last look, {summary.open} may still change")
