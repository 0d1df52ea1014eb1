"""`mqops ledger`: check the ledger, ask it what became of a message, export it, drain the ledger queue into it."""

from __future__ import annotations

import csv
import os
import sys
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import click

from mqops.as_json import JsonObject, json_object
from mqops.cli.columns import show_folded
from mqops.cli.group import Group
from mqops.cli.ledger_show import show
from mqops.cli.outcome import connection_to, json_option, known_errors, lake_option, show_json, show_line
from mqops.cli.passes import this_user
from mqops.cli.run_argument import (
    completed_runs,
    connection_for,
    manager_of_run_option,
    one_queue_manager,
    queue_manager_argument,
    queue_manager_option,
    queue_managers_argument,
    run_argument,
)
from mqops.cli.times import TIMES, since_option
from mqops.cli.user_option import connecting_options
from mqops.counted import counted
from mqops.errors import LakeError, MqopsError, SettingsError
from mqops.lake.run import find_run, folder_of, queue_manager_of
from mqops.ledger.archive import archive
from mqops.ledger.core.history import COLUMNS, Event, events, is_since
from mqops.ledger.file import LedgerFile, all_ledgers
from mqops.ledger.kept_head import HeadsThere, heads_there
from mqops.ledger.missing import cut_off, not_recorded, noted_by_runs, on_queue
from mqops.ledger.queue import NAME
from mqops.ledger.set_aside import counts, remark
from mqops.ledger.signing import add_key
from mqops.ledger.verified import Verified, proofs_of, verified
from mqops.ledger.writer import writer_of
from mqops.printable import printable
from mqops.prove.core.outcome import MEANING, OutcomeSummary

_FORMULA = frozenset("=+-@")


@click.group(cls=Group)
def ledger() -> None:
    """The record of everything that was moved or discarded."""


ledger.add_command(show)


@ledger.command()
@queue_managers_argument
@connecting_options
@lake_option
@json_option
@known_errors
def verify(*, queue_managers: tuple[str, ...], more: tuple[str, ...], lake: Path, as_json: bool) -> None:
    """Check that no line of the ledgers was changed, removed or added. Without QMGR: all ledgers of the lake.

    All segments are checked, on all cores, and that each checkpoint is the one that was written for its segment. Each
    line has the hash of the line before it, so a change in the middle is found. The proof of a run writes the
    number and the hash of the ledger's last line to RUN/summary.json; each later look at the run's messages writes them
    to RUN/outcomes.json. If the ledger no longer has that line, the end of the ledger was cut off or written again, and
    the command names the run. It cannot check this for a run whose folder was deleted, or that an earlier version
    proved.

    What the runs noted when they began and acted (issued.json, act.json) must be in the ledger, or still on
    MQOPS.LEDGER. So lines that were cut off are missed, even if the proofs were removed with them.

    Each line is signed with the key of the ledger, so only a holder of the key can write another history. Lines that
    an earlier version wrote are not signed: the command counts them and checks their hashes only.

    A signed message on MQOPS.LEDGER names the number and the hash of the ledger's last line when markers were last
    recorded. A ledger that lacks this line was cut back or written again, whatever else was removed from the lake. If
    the message itself is gone, the command says so, and the exit code is 1.

    What the check does not prove: a person who can write to the lake can cut off the lines after the last proof that
    came without markers (who was shown a payload), and, if this person may also get from MQOPS.LEDGER, all others with
    what was noted of them. And a holder of the key can sign anything. Keep the `head` that --json prints in a place
    where these persons cannot write.

    Messages on MQOPS.LEDGER that did not come from mqops are set aside and never recorded: verify shows their number.

    The command names the first line or summary that was changed, and the exit code is 1. A half-written last line after
    a crash is reported and is no error: nothing relies on it yet.
    """
    results = [
        _verified(name, LedgerFile(folder_of(lake, name)))
        for name in dict.fromkeys(queue_managers + more) or _with_a_past(lake)
    ]
    ok = all(result.ok for result in results)
    if as_json:
        show_json({"ok": ok, "ledgers": results})
    for one in [] if as_json else results:
        older = f"{counted(one.unsigned, 'line is', 'lines are')} {_UNSIGNED}" if one.unsigned else ""
        torn = f"{counted(one.torn, 'byte')} of a half-written last line: {_TORN}" if one.torn else ""
        whole = f"{counted(one.lines, 'line')}, {one.error or 'unbroken'}"
        for said in filter(None, (whole, older, one.not_known, one.head_remark, one.set_aside, torn)):
            show_folded(f"{one.queue_manager}: {said}")
    if not results and not as_json:
        show_folded(f"{lake}: no ledgers")
    sys.exit(0 if ok else 1)


_UNSIGNED = "older than the ledger's key: the hashes are checked, not who wrote them"
_TORN = "a crash; its marker is still on the ledger queue, and the next prove or drain writes the line again"


def _with_a_past(lake: Path) -> list[str]:
    """Those, and the queue managers that have runs with a proof, so that a ledger that was removed is missed."""
    others = [queue_manager_of(path) for path in lake.glob("*/") if any(proofs_of(LedgerFile(path)))]
    return sorted({*all_ledgers(lake), *others})


class _Checked(NamedTuple):
    """A ledger. Parameters: `error` why it is not whole; `torn` bytes of a half-written last line; `unsigned` lines of
    an earlier version; `not_known` what could not be checked; `set_aside` what is said of messages of others."""

    queue_manager: str
    ok: bool
    lines: int
    head: str
    error: str
    torn: int
    unsigned: int
    not_known: str
    head_remark: str
    set_aside: str


def _verified(name: str, file: LedgerFile) -> _Checked:
    there, unknown = _heads(name, file)
    found = verified(file, there.lines, cores=os.cpu_count() or 1, without_archive=True)
    error, not_known = (found.error, "") if found.error else _missing(name, file, found)
    error = error or ("" if unknown else there.alarm(file, found))
    not_known = "; ".join(filter(None, (not_known, unknown)))
    counts_of = (found.lines, found.head, error, found.torn, found.unsigned)
    return _Checked(name, not error, *counts_of, not_known, there.remark(found), remark(file.folder.parent))


def _heads(name: str, file: LedgerFile) -> tuple[HeadsThere, str]:
    """The heads on the ledger queue, and why they are not known: that is said where one was ever put there."""
    from mqops.mq.connection import connect  # noqa: PLC0415

    try:
        with connect(connection_to(name)) as session:
            return heads_there(session, file), ""
    except MqopsError as error:
        noted = file.head_note.exists()
        return HeadsThere(), f"whether {NAME} has the head of a longer ledger is not known: {error}" if noted else ""


def _missing(name: str, file: LedgerFile, found: Verified) -> tuple[str, str]:
    """What the runs noted and nothing has recorded, in words, and why that is not known. The queue manager is asked
    only where the ledger does not have all. The queue is read before the ledger: markers go from it to the ledger."""
    from mqops.mq.connection import connect  # noqa: PLC0415

    if found.away:
        return "", (
            f"whether lines 1 to {found.away.head.seq} are whole, and whether the ledger has all that runs noted, is "
            f"not known: the archive {file.segments.archive_folder(found.away)} cannot be read"
        )
    try:
        noted = noted_by_runs(file)
        missing = not_recorded(noted, found.acted)
        if not missing:
            return "", ""
        with connect(connection_to(name)) as session:
            waiting = on_queue(session, file)
    except LakeError as error:
        return str(error), ""
    except MqopsError as error:
        return "", f"{missing[0]}, and the ledger does not have it: its markers must be on MQOPS.LEDGER. {error}"
    recorded = dict(verified(file).acted)
    for plan, rows in waiting.items():
        recorded[plan] = recorded.get(plan, 0) + rows
    missing = not_recorded(noted, recorded)
    return (cut_off(missing), "") if missing else ("", "")


@ledger.command()
@click.option("--queue-manager", "-m", "queue_managers", multiple=True, help="Only this one's; may be repeated.")
@click.option("--run", default="", shell_complete=completed_runs, help="Only what runs did whose keys begin so.")
@since_option
@click.option(
    "--format",
    "form",
    type=click.Choice(["jsonl", "csv"]),
    default="jsonl",
    show_default=True,
    help="How it is printed.",
)
@click.option("--json", "as_json", is_flag=True, help="As --format jsonl; an error is a JSON object, too.")
@lake_option
@known_errors
def export(
    *, queue_managers: tuple[str, ...], run: str, since: datetime | None, form: str, as_json: bool, lake: Path
) -> None:
    """Print every message that a unit of work dealt with, as JSON lines or CSV, oldest first in each ledger.

    Each ledger is checked while it is read: an export ends with exit code 1 at the first line that is not what was
    written. With --since and --run only the segments are read that may have what is asked for.
    """
    if as_json and form == "csv":
        raise click.UsageError("--json is JSON lines: leave out --format csv")
    writer = csv.DictWriter(sys.stdout, COLUMNS, lineterminator="\n")
    if form == "csv":
        writer.writeheader()
    for name in queue_managers or all_ledgers(lake):
        for event in events(name, LedgerFile(folder_of(lake, name)).entries(since=since, run=run)):
            if not event.run.startswith(run) or (since and not is_since(event.at, since)):
                continue
            writer.writerow(_cells(event)) if form == "csv" else show_json(event)


def _cells(event: Event) -> JsonObject:
    """A line of the CSV export. A spreadsheet takes a text that begins like a formula for one: an apostrophe stands
    before it. Names come from messages, so control characters become U+FFFD. The JSON lines have every text exactly."""
    found = json_object(event)
    texts = {name: printable(value) for name, value in found.items() if isinstance(value, str)}
    return found | {name: f"'{text}" if text[:1] in _FORMULA else text for name, text in texts.items()}


@ledger.command()
@queue_manager_option
@connecting_options
@click.option(
    "--orphan",
    "orphans",
    multiple=True,
    metavar="RUN",
    help="Also get the markers of this run, whose lake does not exist any more; may be repeated. Needs a reason.",
)
@click.option(
    "--foreign",
    multiple=True,
    metavar="RUN",
    help="Set aside what an unknown key signed for this run; may be repeated; '*' for all runs, and for heads. Needs a "
    "reason.",
)
@click.option("--why", default="", help="With --orphan and --foreign: the reason. Without it the command asks for it.")
@lake_option
@json_option
@known_errors
def drain(
    *,
    queue_manager: str,
    orphans: tuple[str, ...],
    foreign: tuple[str, ...],
    why: str,
    lake: Path,
    as_json: bool,
) -> None:
    """Get the markers of this lake's runs from the ledger queue and record them in the ledger, also those of runs that
    were not proved.

    If another process acts on a run or proves it now, that process gets the markers of this run. The command names the
    runs that were begun and are not finished.

    The command also names the runs that are not in this lake. Their markers stay on the queue: without them the run
    cannot be proved, resumed or undone in its own lake. If that lake does not exist any more, use --orphan RUN: it
    records the markers that a key of this lake signed (you can add the other lake's key to keys.json) and sets the
    other markers aside.

    A message that is not a marker or a lane token of this lake is set aside: it is kept in
    LAKE/QMGR/ledger/set_aside.jsonl and never recorded. A message that an unknown key signed stays on the queue if it
    may be genuine: it names a run of another lake, or a run of this lake that is not complete in the ledger (a process
    may have used a wrong key). If none of your processes signed it, --foreign RUN sets it aside.

    --orphan and --foreign destroy the record of a run of another lake, if that lake lives. So the command says whose
    the markers are, asks for the reason (--why), keeps it in LAKE/QMGR/ledger/taken_off.jsonl, and refuses while a
    program has the ledger queue open for input.
    """
    from mqops.mq.connection import connect  # noqa: PLC0415
    from mqops.mq.inquire import queue_manager_name  # noqa: PLC0415
    from mqops.prove.recovery import drain_earlier_runs  # noqa: PLC0415

    with connect(connection_to(queue_manager)) as session:
        name = queue_manager_name(session)
        if (orphans or foreign) and not why.strip():
            if as_json:
                raise click.UsageError("--json cannot ask for the reason: give --why with --orphan and --foreign")
            for line in drain_earlier_runs(session, lake, name).passed_over():
                show_line(f"mqops: {line}", err=True)
            why = click.prompt("Why are they to be taken off", err=True)
        found = drain_earlier_runs(
            session, lake, name, orphans=orphans, foreign=foreign, why=why.strip(), who=this_user()
        )
    for line in found.remarks():
        show_line(f"mqops: {line}", err=True)
    if as_json:
        show_json({"queue_manager": name, "lines": found.lines, "set_aside": dict(counts(folder_of(lake, name)))})
    else:
        show_line(f"{name}: {counted(found.lines, 'line')} added")


@ledger.command()
@queue_manager_argument
@click.option(
    "--revoke",
    is_flag=True,
    help="The keys before it sign nothing on MQOPS.LEDGER any more. Drain first, and let no run be at work.",
)
@lake_option
@json_option
@known_errors
def rekey(*, queue_manager: str, named: str, revoke: bool, lake: Path, as_json: bool) -> None:
    """Make a new key for the ledger of QMGR. It signs from now on. Lines that earlier keys signed stay valid.

    Keys are kept in LAKE/QMGR/ledger/keys.json, or in the folder that MQOPS_LEDGER_KEYS names. Back the file up apart
    from the lake: without it the ledger cannot be verified, and runs that were begun cannot be finished.

    Where the file is gone and there is no copy, a new one is made: the lines so far are then as those of an earlier
    version, checked by their hashes alone.
    """
    queue_manager = one_queue_manager(queue_manager, named)
    if not queue_manager:
        raise click.UsageError("Name the queue manager whose ledger it is")
    folder = folder_of(lake, queue_manager)
    if not (folder / "ledger").is_dir():
        raise SettingsError(f"{lake} has no ledger of {queue_manager}")
    file = LedgerFile(folder)
    key = add_key(file, revoke=revoke)
    if as_json:
        show_json({"queue_manager": queue_manager, "key": key, "path": str(file.keys.path)})
    else:
        show_line(f"{queue_manager}: key {key} signs from now on, in {file.keys.path}")


@ledger.command()
@queue_managers_argument
@lake_option
@json_option
@known_errors
def index(*, queue_managers: tuple[str, ...], more: tuple[str, ...], lake: Path, as_json: bool) -> None:
    """Make the index of the ledgers anew from their lines. Without QMGR: of all ledgers of the lake.

    The index says in which closed segment the lines of a message, a run or a unit of work are. It is filled when a
    segment is closed, and made anew by itself where it is missing or is not the file that mqops wrote. Use this command
    to have that done at a time of your own, or where you do not trust the file system.
    """
    made = []
    for name in dict.fromkeys(queue_managers + more) or all_ledgers(lake):
        file = LedgerFile(folder_of(lake, name))
        if not file.exists():
            raise SettingsError(f"{lake} has no ledger of {name}")
        with writer_of(file):  # what is closed has its checkpoint
            file.index.remove()
            file.index.fill()
        held = file.index.up_to()
        made.append({"queue_manager": name, "lines": held.seq if held else 0})
    if as_json:
        show_json({"ledgers": made})
    for one in [] if as_json else made:
        show_line(f"{one['queue_manager']}: {counted(int(str(one['lines'])), 'line')} of closed segments in the index")


@ledger.command("archive")
@queue_managers_argument
@click.option(
    "--to",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the archive, one for each queue manager; without it the segments are compressed where they are.",
)
@click.option("--before", type=click.DateTime(TIMES), help="Only segments all of whose lines are older (UTC).")
@click.option("--dry-run", is_flag=True, help="Only say what would be moved.")
@lake_option
@json_option
@known_errors
def archive_segments(
    *,
    queue_managers: tuple[str, ...],
    more: tuple[str, ...],
    folder: Path | None,
    before: datetime | None,
    dry_run: bool,
    lake: Path,
    as_json: bool,
) -> None:
    """Compress the closed segments of the ledgers, and move them to an archive with --to. Without QMGR: of all ledgers
    of the lake.

    Each segment becomes one .jsonl.gz file (read it with zless), is read back and compared with its checkpoint, and is
    removed from the lake then. Nothing is lost if the command is ended: begin it again. The last closed segment stays.
    A signed statement in the lake says where the archive is, and the head of the ledger at its end.

    All commands read the archive where they need its lines. If it is not there (it is not mounted), runs go on,
    `verify` checks the lines behind it, and a command that needs a line of it says which folder to mount. If the
    archive was moved, name its new folder with --to: files that are there already are checked and taken as they are.
    """
    names = list(dict.fromkeys(queue_managers + more)) or all_ledgers(lake)
    if folder and len(names) > 1:
        raise click.UsageError("An archive is the folder of one ledger: name one QMGR with --to")
    made = []
    for name in names:
        file = LedgerFile(folder_of(lake, name))
        if not file.exists():
            raise SettingsError(f"{lake} has no ledger of {name}")
        done = archive(file, folder, before=before, dry_run=dry_run)
        made.append((name, done))
    if as_json:
        show_json({"dry_run": dry_run, "ledgers": [{"queue_manager": name, **done.to_json()} for name, done in made]})
        return
    for name, done in made:
        verb = "would be moved" if dry_run else "moved"
        packed = "" if dry_run else f" ({counted(done.size, 'byte')}, compressed {done.packed:,})"
        there = f"{counted(done.segments, 'segment')} with lines 1 to {done.lines:,}" if done.segments else "nothing"
        show_folded(f"{name}: {counted(done.new, 'segment')} {verb} to {done.folder}{packed}; {there} there")


@ledger.command("outcomes")
@run_argument()
@manager_of_run_option
@connecting_options
@lake_option
@json_option
@known_errors
def show_outcomes(*, run: str, queue_manager: str, lake: Path, as_json: bool) -> None:
    """Look at what became of the messages that RUN (its key in the lake) moved, and record it in the ledger.

    They are still there, back on the queue they came from, consumed, expired and so on. Nothing is moved. Only changes
    since the last look are recorded.
    """
    from mqops.prove.outcomes import look  # noqa: PLC0415

    found = find_run(lake, key=run, queue_manager=queue_manager.strip(), planned=True)
    summary = look(connection_for(found.queue_manager, queue_manager), found, file=LedgerFile(found.lake_folder))
    show_json(summary.to_json()) if as_json else _show_outcomes(summary)


def _show_outcomes(summary: OutcomeSummary) -> None:
    when = summary.looked_at
    show_folded(f"{summary.run} moved {counted(summary.moved, 'message')}; looked at {when}")
    for outcome, count in summary.outcomes.items():
        show_folded(f"{count:8}  {outcome}: {MEANING[outcome]}")
    if summary.untold:
        show_folded(
            f"{summary.untold:8}  not known now: other units of work hide them, or mqops cannot browse their queue"
        )
    for line in summary.remarks:
        show_folded(line)
    show_folded(f"{summary.changed} changed since the last look, {summary.open} may still change")
