"""`mqops estate`: check the estate file and what it names, before Airflow does."""

from __future__ import annotations

import getpass
import os
from collections.abc import Collection
from pathlib import Path

import click

import mqops
from mqops.cli.estate_status import status
from mqops.cli.group import Group
from mqops.cli.outcome import connection_to, json_option, known_errors, show_json, show_line
from mqops.cli.user_option import connecting_options
from mqops.counted import counted
from mqops.errors import MqopsError, SettingsError
from mqops.estate import EstateFile, as_plain, load, parse, unreadable
from mqops.estate_workflows import RulesWorkflow
from mqops.given_file import table_text, text_of
from mqops.lake_place import lake_named
from mqops.storage import estate_argument


@click.group(cls=Group)
def estate() -> None:
    """The estate file: queue managers and workflows."""


@estate.command()
@click.argument("file", type=click.Path(path_type=Path), default=estate_argument, envvar="MQOPS_ESTATE")
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of text.")
@click.option(
    "--live", is_flag=True, help="Also ask each queue manager for its queues, and who may put on MQOPS.LEDGER."
)
@click.option(
    "--own",
    "own",
    multiple=True,
    metavar="NAME",
    help="With --live: a user or group that mqops works as, besides the connection's user; may be repeated.",
)
@connecting_options
@click.pass_context
def check(ctx: click.Context, file: Path, as_json: bool, live: bool, own: tuple[str, ...]) -> None:
    """Check the estate FILE (default: the project's): every error with file, line and field.

    With --live each queue manager is connected to as by the other commands: by MQOPS_CONNECTION where it is for this
    one, else locally. A queue that is not there is an error: one that the estate names, or that a rules table forwards
    to. So is a queue manager that cannot be reached. Warnings do not change the exit code.
    """
    from mqops.quality.estate_suites import suites_that_fit_nothing  # noqa: PLC0415

    problems, plain = examine(file)
    warnings = list[str]()
    if not problems:
        problems, warnings = suites_that_fit_nothing(load(file))
    mqsc = trigger_mqsc(load(file)) if not problems else {}
    if live and not problems:
        warnings, problems = examine_live(load(file), own)
    if as_json:
        show_json({"ok": not problems, "estate": plain, "errors": problems, "warnings": warnings, "mqsc": mqsc})
    else:
        for line in [*problems, *(f"warning: {warning}" for warning in warnings)]:
            show_line(line)
        for name, commands in mqsc.items():
            show_line(f"{name} needs for triggering (MQSC):")
            for command in commands:
                show_line(f"  {command}")
        show_line(f"{file}: {counted(len(problems), 'error')}" if problems else f"{file}: valid")
    ctx.exit(1 if problems else 0)


estate.add_command(status)


@estate.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@json_option
@known_errors
def example(*, folder: Path, as_json: bool) -> None:
    """Write an example into FOLDER: estate.yaml, its rules tables and suites, and the MQSC of its queue managers.

    A file that is there already is left as it is, and nothing is written then.
    """
    source = Path(mqops.__file__).with_name("example")
    names = [
        Path(where).relative_to(source) / name
        for where, _, found in os.walk(source, followlinks=True)
        for name in found
    ]
    if there := [str(folder / name) for name in sorted(names) if (folder / name).exists()]:
        raise SettingsError(f"already there: {', '.join(there)}. Nothing was written; name another folder")
    for name in sorted(names):
        place = folder / name
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes((source / name).read_bytes())
        except OSError as error:
            why = error.strerror or error
            raise SettingsError(f"{place} cannot be written: {why}; name another folder") from error
    if as_json:
        show_json({"files": [str(folder / name) for name in sorted(names)]})
    for name in [] if as_json else sorted(names):
        show_line(str(folder / name))


def trigger_mqsc(estate_file: EstateFile) -> dict[str, list[str]]:
    """The MQSC commands for the trigger monitor and the workflows by trigger, by queue manager."""
    from mqops.trigger.core.definitions import wanted  # noqa: PLC0415

    managers = estate_file.estate.queue_managers.items()
    return {name: list(found) for name, settings in managers if (found := wanted(name, settings).mqsc)}


def examine_live(estate_file: EstateFile, own: Collection[str]) -> tuple[list[str], list[str]]:
    """What the queue managers say: warnings, and errors of those that cannot be reached.

    Parameters: `own` users and groups that mqops works as, besides the user of each connection.
    """
    from mqops.doctor.estate_objects import missing_objects, wrong_targets  # noqa: PLC0415
    from mqops.lake.run import folder_of  # noqa: PLC0415
    from mqops.ledger.access import ledger_access  # noqa: PLC0415
    from mqops.mq.connection import connect  # noqa: PLC0415
    from mqops.quality.estate_suites import suites_without_a_queue  # noqa: PLC0415
    from mqops.quality.gate_setting import gate_problems  # noqa: PLC0415
    from mqops.trigger.missing import live_definitions, missing_definitions  # noqa: PLC0415

    warnings: list[str] = []
    errors: list[str] = []
    lake = estate_file.lake(os.environ)
    for name in estate_file.estate.queue_managers:
        try:
            connection = connection_to(name)
            users = {*own, connection.user or getpass.getuser()}
            with connect(connection) as session:
                errors += [f"{name}: {line}" for line in missing_objects(session, estate_file, name)]
                errors += gate_problems(estate_file, {name: session})
                unfit, told = suites_without_a_queue(session, estate_file, name)
                errors += [f"{name}: {line}" for line in unfit]
                warnings += [f"{name}: {line}" for line in told]
                wanted = live_definitions(session, name, estate_file.estate.queue_managers[name])
                errors += [f"{name}: {line}" for line in missing_definitions(session, wanted)]
                warnings += [f"{name}: {one.text}" for one in ledger_access(session, folder_of(lake, name), users)]
            errors += [f"{name}: {line}" for line in wrong_targets(connection, estate_file, name)]
        except MqopsError as error:
            errors.append(f"{name}: {error}")
    return warnings, errors


def examine(file: Path) -> tuple[list[str], dict[str, object] | None]:
    """Everything wrong with an estate file and the files it names, and the estate where it is readable."""
    from mqops.expiry.calendar_file import calendar_problems  # noqa: PLC0415
    from mqops.quality.gate_setting import gate_problems  # noqa: PLC0415

    try:
        text = text_of(file)
    except (OSError, UnicodeDecodeError) as error:
        return [unreadable(file, error)], None
    found, document = parse(text, source=str(file))
    if found is None:
        return [str(problem) for problem in document.problems], None
    estate_file = EstateFile(file, found, document)
    problems = [*lake_problems(), *(str(problem) for problem in estate_file.missing_files())]
    problems += [*check_problems(estate_file), *rules_problems(estate_file), *suite_problems(estate_file)]
    problems += [line for line in gate_problems(estate_file) if line not in problems]
    problems += calendar_problems(estate_file)
    return problems, as_plain(found)


def lake_problems() -> list[str]:
    """What is wrong with MQOPS_LAKE, which wins over the estate's lake."""
    try:
        lake_named(os.environ)
    except SettingsError as error:
        return [str(error)]
    return []


def rules_problems(estate_file: EstateFile) -> list[str]:
    """The errors of the rules tables that the estate names, as `file:line:column: what`."""
    from mqops.rules import parse as parse_rules  # noqa: PLC0415

    managers = estate_file.estate.queue_managers.values()
    tables = {(each.rules, each.names_origins) for item in managers for _, each in item.workflows(RulesWorkflow)}
    problems = []
    for relative, origins in sorted(tables):
        try:
            text = table_text(estate_file.rules(relative))
        except SettingsError:
            continue  # reported by missing_files
        for error in parse_rules(text, source=relative, origins=origins, lint=False).errors:
            problems.append(f"{estate_file.path.parent / relative}:{error.line}:{error.column}: {error.message}")
    return problems


def check_problems(estate_file: EstateFile) -> list[str]:
    """What is wrong with the folder of expectations that the estate names."""
    from mqops.quality.estate_checks import in_folder_of  # noqa: PLC0415

    try:
        in_folder_of(estate_file)
    except SettingsError as error:
        return [f"{estate_file.path}: {line}" for line in str(error).splitlines()]
    return []


def suite_problems(estate_file: EstateFile) -> list[str]:
    """The errors of the suites of expectations that the estate names, as `file:line: field: what`."""
    from mqops.quality.suite_file import load_suites  # noqa: PLC0415

    problems: list[str] = []
    for queue_manager in estate_file.estate.queue_managers.values():
        quality = queue_manager.snapshot_quality
        paths = [estate_file.suite(suite) for suite in (quality.suites if quality else ())]
        there = [path for path in paths if path.is_file()]  # the others are reported by missing_files
        try:
            if there:
                load_suites(there)
        except SettingsError as error:
            problems += [line for line in str(error).splitlines() if line not in problems]
    return problems
