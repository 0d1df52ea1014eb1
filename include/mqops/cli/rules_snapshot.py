"""`mqops rules diff` and `mqops rules test`: rules tables on the messages of a recorded snapshot."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from mqops.cli.columns import show_folded
from mqops.cli.expectations import junit_xml, show_results
from mqops.cli.outcome import error_document, errors_are_usage, json_option, lake_option, show_json, show_line
from mqops.cli.run_argument import snapshot_folder, snapshot_option
from mqops.cli.tables import GivenFile, check_document, parsed_from, show_check
from mqops.counted import counted
from mqops.errors import RulesError, SettingsError
from mqops.given_file import read_errors, text_of
from mqops.rules import Table

if TYPE_CHECKING:
    from mqops.decide.on_snapshot import Recorded
    from mqops.decide.rules_diff import Change, RulesDiff

_TABLE = GivenFile()


@click.command()
@click.argument("old", type=_TABLE)
@click.argument("new", type=_TABLE)
@snapshot_option
@lake_option
@json_option
@errors_are_usage
def diff(*, old: IO[bytes], new: IO[bytes], snapshot: str, lake: Path, as_json: bool) -> None:
    """List the messages of a recorded snapshot that the rules tables OLD and NEW handle differently.

    What is compared is the action of a message now, its destination, HEADER and PUTAUT. Tries that had failed when the
    snapshot was taken count. Exit 0: no message changes; 1: some do; 2: usage, or a table is not valid.
    """
    from mqops.decide.on_snapshot import Recorded  # noqa: PLC0415
    from mqops.decide.rules_diff import rules_diff  # noqa: PLC0415

    recorded = Recorded.of(snapshot_folder(lake, snapshot))
    before, after = valid_tables([old, new], origins=recorded.of_backout_queues, as_json=as_json)
    found = rules_diff(recorded, before, after)
    show_json({"ok": True, **found.to_json()}) if as_json else _show(found)
    sys.exit(1 if found.changes else 0)


@click.command()
@click.argument("table", type=_TABLE)
@snapshot_option
@click.option(
    "--expect",
    "file",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    help="The expectation file (docs/rules_testing.md).",
)
@click.option("--write", is_flag=True, help="Write what TABLE does now as a new expectation file.")
@click.option("--junit", type=click.Path(path_type=Path, dir_okay=False), help="Also write the results as JUnit XML.")
@lake_option
@json_option
@errors_are_usage
def test(
    *,
    table: IO[bytes],
    snapshot: str,
    file: Path,
    write: bool,
    junit: Path | None,
    lake: Path,
    as_json: bool,
) -> None:
    """Compare what TABLE does with the messages of a recorded snapshot with an expectation file.

    Exit 0: every expectation is met; 1: one is not; 2: usage, or the table or the file is not valid.
    """
    from mqops.decide.on_snapshot import Recorded  # noqa: PLC0415
    from mqops.expect.check import check  # noqa: PLC0415
    from mqops.expect.file import expectations_in  # noqa: PLC0415

    recorded = Recorded.of(snapshot_folder(lake, snapshot))
    (rules,) = valid_tables([table], origins=recorded.of_backout_queues, as_json=as_json)
    if write:
        _record(file, recorded, rules, table.name)
        show_json({"ok": True, "written": str(file)}) if as_json else show_line(f"{file}: written")
        return
    results = check(expectations_in(_text_of(file), source=str(file)), recorded.seen(rules))
    if junit:
        junit.write_bytes(junit_xml(results, str(file)))
    ok = all(result.ok for result in results)
    if as_json:
        show_json({"ok": ok, "file": str(file), "results": [result.to_json() for result in results]})
    else:
        show_results(results, str(file))
    sys.exit(0 if ok else 1)


def _record(file: Path, snapshot: Recorded, rules: Table, name: str) -> None:
    """Raises SettingsError where the file is there already: what a person wrote is not overwritten."""
    from mqops.expect.record import written  # noqa: PLC0415

    heading = f"What {Path(name).name} (sha256 {rules.digest[:16]}) does with the messages of a recorded snapshot."
    content = written(snapshot.seen(rules), heading)
    try:
        with file.open("x", encoding="utf-8") as stream:  # a link is "there", too
            stream.write(content)
    except FileExistsError as error:
        raise SettingsError(f"{file} is there already; remove it, or name another file") from error


def _text_of(file: Path) -> str:
    with read_errors(str(file)):
        return text_of(file)


def valid_tables(files: list[IO[bytes]], *, origins: bool, as_json: bool) -> list[Table]:
    """The tables of files; ends the command with 2 and every error of every table where one is not valid."""
    parsed = [parsed_from(file, origins=origins) for file in files]
    tables = [one.table for one in parsed if one.table is not None]
    if len(tables) == len(parsed):
        return tables
    if as_json:
        wrong = [one.source for one in parsed if one.table is None]
        error = RulesError(f"{', '.join(wrong)}: not a valid rules table")
        documents = {one.source: check_document(one) for one in parsed}
        show_json({"ok": False, "tables": documents, **error_document(error)})
    for one in [] if as_json else parsed:
        if one.table is None:
            show_check(one)
    sys.exit(2)


def _show(found: RulesDiff) -> None:
    for change in found.changes:
        show_folded(f"{change.messages:8}  {change.old} -> {change.new}  ({_details(change)})")
        show_folded(
            f"          {', '.join(change.message_ids)}{', ...' if len(change.message_ids) < change.messages else ''}"
        )
    total = sum(change.bytes for change in found.changes)
    messages = counted(found.messages, "message")
    show_folded(f"handled differently: {found.changed:,} of {messages}, {counted(total, 'byte')}")


def _details(change: Change) -> str:
    return f"{counted(change.bytes, 'byte')}; {_rules(change.old_lines)} -> {_rules(change.new_lines)}"


def _rules(lines: tuple[int | None, ...]) -> str:
    """`line 3`, `lines 3, 4`, `no rule`."""
    numbers = [str(line) for line in lines if line is not None]
    words = [f"line{'s' if len(numbers) > 1 else ''} {', '.join(numbers)}"] if numbers else []
    return " and ".join([*words, *(["no rule"] if None in lines else [])])
