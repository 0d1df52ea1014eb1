"""What the commands that make one pass over queues share: reading the rules table, showing a plan and an outcome."""

from __future__ import annotations

import functools
import os
import pwd
import socket
from collections.abc import Callable, Mapping
from typing import IO, TYPE_CHECKING, Any

import click

from mqops.cli.outcome import show_json, show_line, show_text
from mqops.command import command as command_line
from mqops.decide.core import PlanSummary
from mqops.decide.core.pacing import DEFAULT_PATIENCE, DEFAULT_WAIT, Handling
from mqops.decide.core.preflight import Preflight, shown
from mqops.errors import RulesError
from mqops.model import RunSummary
from mqops.observe.core.anatomy import told
from mqops.rules import Table, parse

if TYPE_CHECKING:
    from mqops.lake.run import RunFolder

rules_option = click.option(
    "--rules", "rules_file", type=click.File("rb"), default="-", help="The rules table; else standard input."
)
unit_size_option = click.option(
    "--unit-size", type=click.IntRange(1, 5000), default=200, show_default=True, help="Messages a unit of work."
)
strict_option = click.option("--strict", is_flag=True, help="Refuse a table that IBM's own handler would not take.")
dry_run_option = click.option("--dry-run", is_flag=True, help="Say what would be done, once, and move nothing.")


_COUNT = click.IntRange(0)
_HANDLING = (
    click.option(
        "--canary",
        type=_COUNT,
        default=0,
        show_default="0: all at once",
        help="Messages of each destination and rule that go ahead; the rest follows where none of them came back.",
    ),
    click.option(
        "--canary-wait",
        type=_COUNT,
        default=DEFAULT_WAIT,
        show_default=True,
        help="With canaries: seconds until it is decided whether they came back.",
    ),
    click.option("--pace", type=_COUNT, default=0, show_default="0: no limit", help="Most messages a second."),
    click.option(
        "--in-flight",
        type=_COUNT,
        default=0,
        show_default="0: no look at its depth",
        help="Nothing is put on a destination while so many messages stand on it.",
    ),
    click.option(
        "--patience",
        type=_COUNT,
        default=DEFAULT_PATIENCE,
        show_default=True,
        help="With --in-flight: seconds to wait for a destination to have room; then the rest for it is left.",
    ),
)


def handling_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options that say how a plan is carried out; the command gets them as `handling`."""

    @functools.wraps(command)
    def wrapped(*, canary: int, canary_wait: int, pace: int, in_flight: int, patience: int, **others: Any) -> None:
        handling = Handling(canary=canary, canary_wait=canary_wait, pace=pace, in_flight=in_flight, patience=patience)
        command(handling=handling, **others)

    for option in reversed(_HANDLING):
        wrapped = option(wrapped)
    return wrapped


def source_of(file: IO[bytes]) -> str:
    """A file's name, for messages and the plan."""
    return str(getattr(file, "name", "<standard input>"))


def this_user() -> str:
    """Who runs this command, for the ledger: `user@host`, the operating system's word for it."""
    try:
        return f"{pwd.getpwuid(os.getuid()).pw_name}@{socket.gethostname()}"
    except KeyError:  # a user id without a name
        return f"{os.getuid()}@{socket.gethostname()}"


def tell(line: str) -> None:
    """Say something beside the outcome: on standard error."""
    show_line(f"mqops: {line}", err=True)


def read_table(
    file: IO[bytes], *, origins: bool = False, strict: bool = False, numbers: bool = False
) -> tuple[Table, str]:
    """The rules table in a file and its text (see `parse`).

    Parameters: `numbers` whether errors get the numbers that they have in runmqdlq.

    Raises:
        RulesError: it is not valid; every error has been told on standard error.
    """
    text = file.read().decode("utf-8", "surrogateescape")
    parsed = parse(text, source=source_of(file), origins=origins, strict=strict, lint=False)
    if parsed.table is None:
        for problem in parsed.errors:
            show_text(problem.render(f"AMQ{problem.number}: " if numbers and problem.number else ""), err=True)
        problems = [{"line": one.line, "column": one.column, "message": one.message} for one in parsed.errors]
        raise RulesError(f"the rules table has {len(problems)} errors; nothing was done", problems=problems)
    return parsed.table, text


def show_dry_run(run: RunFolder, plan: PlanSummary, *, as_json: bool) -> None:
    """What would be done, and what the pre-flight of it found."""
    from mqops.decide.preflight_record import kept  # noqa: PLC0415

    found = kept(run)
    command = _carry_out_command(run, plan)
    if as_json:
        told = {"run": str(run.path), "plan": plan.to_json(), "preflight": found.to_json() if found else None}
        show_json(told | ({"carry_out": command} if command else {}))
    else:
        show_plan(plan, found, command)


def warn_of(run: RunFolder) -> None:
    """What the pre-flight doubts, on standard error, before anything is moved."""
    from mqops.decide.preflight_record import kept  # noqa: PLC0415

    found = kept(run)
    for line in shown(found.doubts) if found else ():
        tell(line)


def full_name(queue: str, queue_manager: str) -> str:
    """A queue's name, with its queue manager's where that is known."""
    return f"{queue}@{queue_manager}" if queue_manager else queue


def _carry_out_command(run: RunFolder, plan: PlanSummary) -> str:
    """What carries out exactly this plan, "" where nothing does."""
    if not plan.requested_by:
        return ""
    words = ("mqops", "dlq", "act", run.run, "-m", plan.queue_manager, "--approve", plan.digest)
    return command_line(*words, "--lake", run.lake_folder.parent.resolve())


def show_plan(plan: PlanSummary, found: Preflight | None, command: str) -> None:
    """The plan and its pre-flight as text; `command` carries it out, if any does."""
    show_line(f"{plan.queue} of {plan.queue_manager}: {plan.rows} messages, {plan.bytes} bytes; plan {plan.digest}")
    for count in plan.counts:
        rule = f"line {count.rule_line}" if count.rule_line else "no rule"
        target = f" to {full_name(count.dest_q, count.dest_q_mgr)}" if count.dest_q else ""
        origin = f"{count.symbol or 'no MQDLH'} {full_name(count.origin_q or '', count.origin_q_mgr or '')}".rstrip()
        oldest = f", oldest {count.oldest}" if count.oldest else ""
        show_line(f"{count.messages:8}  {rule}: {count.action}{target}  ({origin}; {count.bytes} bytes{oldest})")
        for sample in count.samples:
            told = (
                f"{sample.msg_id} {sample.put_at} {sample.put_appl_name or '-'}, {sample.bytes} bytes: {sample.shape}"
            )
            show_line(f"{'':10}{told}".rstrip())
    if plan.counts_left_off:
        show_line(f"{plan.counts_left_off} smaller groups are left off here; RUN/plan has every message")
    for remark in (*plan.remarks, *(found.remarks if found else ())):
        show_line(remark)
    for line in shown(found.findings) if found else ():
        show_line(line)
    if command:
        show_line(f"run {plan.run} keeps this plan; to carry it out as it stands:")
        show_line(f"    {command}")
    show_line("dry run: nothing was moved")


def told_canaries(fate: Mapping[str, Any]) -> str:
    """What became of a group's canaries (`mqops.act.canary.Fate`), in a line."""
    counts = f"{fate['canaries']} canaries, {fate['back']} came back, {fate['failed']} failed, {fate['unread']} unread"
    outcome = f"stopped: {fate['why']}" if fate["why"] else "the rest followed"
    return f"{fate['unit_group']}: {counts}: {outcome}"


def show_summary(summary: RunSummary) -> None:
    """What was done."""
    show_line(f"{summary.queue} of {summary.queue_manager}, run {summary.run}")
    for rule in summary.rules:
        name = f"line {rule.rule_line}" if rule.rule_line else "no rule"
        counts = f"{rule.moved} moved, {rule.discarded} discarded, {rule.left} left, {rule.gone} gone"
        failed = f", {rule.failed} tries failed" if rule.failed else ""
        show_line(f"{rule.planned:8}  {name}: {rule.action}: {counts}{failed}")
    for reason, count in summary.reasons.items():
        show_line(f"{count:8}  tries failed with {reason}")
    for why, count in summary.left_because.items():
        show_line(f"{count:8}  left: {why}")
    for why, count in summary.gone_because.items():
        show_line(f"{count:8}  gone: {why}")
    for fate in summary.canaries:
        show_line(told_canaries(fate))
    for remark in summary.remarks:
        show_line(remark)
    totals = f"{summary.moved} moved + {summary.discarded} discarded + {summary.left} left + {summary.gone} gone"
    show_line(f"{summary.planned} planned = {totals}: balances")
    for line in told(summary.anatomy):
        show_line(line)
