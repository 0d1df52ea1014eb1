"""`mqops quality`: check a snapshot against suites, check the suites themselves, list what a suite can say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mqops.as_json import JsonObject
from mqops.cli.columns import show_command, show_folded, show_table
from mqops.cli.group import Group
from mqops.cli.outcome import error_document, json_option, known_errors, lake_option, show_json, show_line, show_text
from mqops.cli.run_argument import snapshot_folder, snapshot_option
from mqops.command import command
from mqops.counted import counted
from mqops.errors import MqopsError, SettingsError

if TYPE_CHECKING:
    from mqops.message_checks import QualitySummary
    from mqops.quality.suite import Suite

_FOLDER = click.Path(path_type=Path, file_okay=False)
_FILE = click.Path(path_type=Path, dir_okay=False)
_JSON = click.option("--json", "as_json", is_flag=True, help="One JSON object instead of text.")


@click.group(cls=Group, short_help="Check messages by suites of expectations.")
def quality() -> None:
    """Data quality of messages: suites of expectations on snapshots."""


@quality.command()
@snapshot_option
@click.option("--suite", "suites", type=_FILE, required=True, multiple=True, help="A suite; may be repeated.")
@click.option("--out", type=_FOLDER, help="Keep result and failures in this folder, apart from the run.")
@click.option("--docs", type=_FOLDER, help="Build Data Docs in this folder: a new or empty one, or one of ours.")
@lake_option
@_JSON
@click.pass_context
def check(
    ctx: click.Context,
    snapshot: str,
    suites: tuple[Path, ...],
    *,
    out: Path | None,
    docs: Path | None,
    lake: Path,
    as_json: bool,
) -> None:
    """Run suites on a snapshot. Exit code 1 if a critical expectation failed; warnings are only reported. A snapshot of
    up to 200,000 messages is checked in this process, a larger one by Spark.

    An expectation whose suite fits no queue of the snapshot has looked at no message: it is not met. Every check is
    kept in a folder of its own below RUN/quality/checks; the verdict of a run that the workflow has checked stays what
    the workflow found.
    """
    try:
        summary = _checked(snapshot_folder(lake, snapshot), suites, out, docs)
    except MqopsError as error:
        _show_error(error, as_json=as_json)
        ctx.exit(1)
    if as_json:
        show_json({"ok": summary.ok, **summary.to_json()})
    else:
        _show_summary(summary)
    ctx.exit(0 if summary.ok else 1)


@quality.command()
@click.argument("files", type=_FILE, nargs=-1, required=True)
@_JSON
@click.pass_context
def suite(ctx: click.Context, files: tuple[Path, ...], as_json: bool) -> None:
    """Check suites without a snapshot: every error with file, line and field."""
    from mqops.quality.suite_file import load_suites  # noqa: PLC0415

    try:
        suites = load_suites(files)
    except MqopsError as error:
        _show_error(error, as_json=as_json)
        ctx.exit(1)
    if as_json:
        show_json({"ok": True, "suites": [_suite_document(suite) for suite in suites]})
    for one in () if as_json else suites:
        about = f", on queues that fit {' or '.join(one.queues)}" if one.queues else ""
        show_line(f"{one.source}: valid, suite {one.name}, {counted(len(one.checks), 'expectation')}{about}")


@quality.command()
@click.argument("queue")
@snapshot_option
@click.option("--out", type=_FILE, help="Write the suite to this new file. Default: show it.")
@lake_option
@json_option
@known_errors
def suggest(queue: str, snapshot: str, *, out: Path | None, lake: Path, as_json: bool) -> None:
    """Suggest a first suite for QUEUE from a good snapshot, of at most 30 expectations, for you to edit.

    Each says what it was made of, and the snapshot meets all of them. No value of a payload stands in it: of payloads
    it has types, forms, and what is always there.
    """
    from mqops.observe.snapshot import find  # noqa: PLC0415
    from mqops.quality.suggest import suggest as suggested  # noqa: PLC0415

    text = suggested(find(snapshot_folder(lake, snapshot))[1], queue.strip())
    if out is None:
        show_json({"queue": queue.strip(), "suite": text}) if as_json else show_text(text.rstrip("\n"))
        return
    _write_new(out, text)
    if as_json:
        show_json({"queue": queue.strip(), "file": str(out), "suite": text})
        return
    check = command("mqops", "quality", "check", "--snapshot", "RUN", "--suite", out)
    show_line(f"{out}: a suite for {queue.strip()}; edit it, then: {check}")


@quality.command()
@click.argument("file", type=_FILE)
@click.option("--out", type=_FILE, help="Write the JSON to this new file. Default: show it.")
@json_option
@known_errors
def export(file: Path, *, out: Path | None, as_json: bool) -> None:
    """Show the suite in FILE as Great Expectations' own JSON, for a Checkpoint of yours.

    `--suite` of `check`, and an estate, take such a JSON file, too. What Great Expectations cannot say is an error that
    names the expectation.
    """
    from mqops.quality.gx_suite import to_gx  # noqa: PLC0415
    from mqops.quality.suite_file import load_suites  # noqa: PLC0415

    (read,) = load_suites([file])
    document = to_gx(read)
    if out is None:
        show_json(document)
        return
    _write_new(out, json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    if as_json:
        show_json({"file": str(out), "suite": read.name, "expectations": len(read.checks)})
        return
    show_line(f"{out}: suite {read.name}, {counted(len(read.checks), 'expectation')}")


@quality.command()
@_JSON
@known_errors
def vocabulary(as_json: bool) -> None:
    """List the columns and expectations that a suite can use."""
    from mqops.quality.columns import COLUMNS  # noqa: PLC0415
    from mqops.quality.vocabulary import expectation_named, names  # noqa: PLC0415

    known = []
    for name in names():
        try:
            known += [one] if (one := expectation_named(name)) else []
        except SettingsError as error:  # of another distribution
            show_line(str(error), err=True)
    columns = [{"name": c.name, "kind": c.kind.value, "meaning": c.meaning} for c in COLUMNS.values()]
    expectations = [
        {"name": e.name, "columns": list(e.domain), "arguments": {k: v.value for k, v in e.arguments.items()}}
        for e in known
    ]
    if as_json:
        show_json({"columns": columns, "expectations": expectations})
        return
    show_table(["COLUMN", "KIND", "MEANING"], [(c.name, c.kind.value, c.meaning) for c in COLUMNS.values()])
    show_line("")
    for expectation in known:
        show_folded(f"{expectation.name}: {', '.join([*expectation.domain, *expectation.arguments])}".rstrip(": "))


def _write_new(out: Path, text: str) -> None:
    try:
        with out.open("x", encoding="utf-8") as stream:  # a link is "there", too
            stream.write(text)
    except OSError as error:
        raise SettingsError(f"{out} cannot be made: {error.strerror or error}; name a new file") from error


def _checked(snapshot: Path, suites: tuple[Path, ...], out: Path | None, docs: Path | None) -> QualitySummary:
    from mqops.quality.check_snapshot import check_snapshot, needs_spark  # noqa: PLC0415
    from mqops.quality.files import QualityFiles  # noqa: PLC0415
    from mqops.quality.in_process import check_here  # noqa: PLC0415
    from mqops.quality.suite_file import load_suites  # noqa: PLC0415

    loaded = load_suites(suites)
    place = QualityFiles.of(snapshot, folder=out, docs=docs)
    from mqops.clock import utc_now  # noqa: PLC0415

    if not needs_spark(place.snapshot, loaded):
        return check_here(place, loaded, now=utc_now())
    from mqops.cli.passes import warn  # noqa: PLC0415
    from mqops.cli.spark_log import spark_log_in  # noqa: PLC0415
    from mqops.lake.files import make_folder  # noqa: PLC0415
    from mqops.quality.docs_folder import refuse_foreign  # noqa: PLC0415
    from mqops.spark_job import session  # noqa: PLC0415 - a JVM only for what is worth one

    if place.docs is not None:
        refuse_foreign(place.docs)
    log = place.spark_log
    make_folder(log.parent)
    warn(f"Spark starts, which takes some seconds; its log is {log}")
    with spark_log_in(log):
        return check_snapshot(place, loaded, now=utc_now(), session=lambda: session("mqops quality"))


def _suite_document(suite: Suite) -> JsonObject:
    return {
        "suite": suite.name,
        "source": suite.source,
        "queues": list(suite.queues),
        "expectations": [
            {
                "id": c.id,
                "expect": c.expectation.name,
                "columns": [*map(suite.named, c.columns)],
                "severity": c.severity,
                "line": c.line,
            }
            for c in suite.checks
        ],
    }


def _show_error(error: MqopsError, *, as_json: bool) -> None:
    if as_json:
        show_json({"ok": False, "errors": str(error).splitlines(), **error_document(error)})
    else:
        show_text(str(error), err=True)


MOST_SHOWN = 20
"""Failed messages that are shown."""


def _show_failed(summary: QualitySummary) -> None:
    """Message, queue, check, why. A MsgId stays whole, to be copied."""
    from mqops.quality.failed_messages import failed_messages  # noqa: PLC0415

    found, number = failed_messages(summary, MOST_SHOWN)
    if not found:
        return
    for one in found:
        show_folded(f"{one.msg_id}  {one.queue}")
        show_folded(f"    {one.check}: {one.why}", indent=8)
    if number > len(found):
        show_folded(f"and {counted(number - len(found), 'more failure')} in {summary.failures}")


def _verdict(summary: QualitySummary) -> str:
    """Whether the messages pass, and where it stands which message fails what, if one does."""
    if summary.ok and not any(summary.failed.values()):
        met = counted(len(summary.checks), "expectation is met", "expectations are met")
        return f"passed: {met}, in {counted(summary.found - summary.not_checked, 'message')}"
    return f"{'passed' if summary.ok else 'NOT PASSED'}; which message failed what: {summary.failures}"


def _show_next(summary: QualitySummary) -> None:
    """How the messages of a queue that failed a suite are moved; nothing where none failed, or the result is kept
    apart. Raises `LakeError`."""
    from mqops.quality.failure_counts import first_failure  # noqa: PLC0415

    failed = first_failure(Path(summary.failures)) if summary.check and summary.left else None
    if failed:
        show_folded("they move to a queue of your choice, after a question, by:")
        move = ("mqops", "message", "move", failed.queue, "-m", summary.queue_manager)
        show_command(command(*move, "--failed", failed.suite, "--to", "QUEUE"))


def _show_summary(summary: QualitySummary) -> None:
    from mqops.quality.summary import describe  # noqa: PLC0415
    from mqops.quality.vocabulary import SEVERITIES  # noqa: PLC0415

    for severity in SEVERITIES:
        for failed in summary.not_met(severity):
            show_folded(describe(failed))
    _show_failed(summary)
    for queue in summary.queues:
        others = f", {queue.not_checked:,} not checked" if queue.not_checked else ""
        counts = f"{queue.found:,} found, {queue.done:,} good, {queue.left:,} with findings{others}"
        show_folded(f"{queue.queue}: {counts}")
    for text in summary.told:
        show_folded(text)
    for problem in summary.problems:
        show_folded(f"does not balance: {problem}")
    show_folded(_verdict(summary))
    _show_next(summary)
    if summary.docs:
        show_folded(f"Data Docs: {summary.docs}")
