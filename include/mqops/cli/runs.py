"""`mqops runs` and `mqops run show`: which runs there are, and all of one."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mqops.actions import Action
from mqops.cli.adopt import adopt
from mqops.cli.columns import show_folded
from mqops.cli.exit_code import ExitCode
from mqops.cli.group import Group
from mqops.cli.outcome import error_document, json_option, known_errors, lake_option, show_json, show_line
from mqops.cli.run_argument import completed_queue_managers, manager_of_run_option, run_argument
from mqops.cli.times import since_option
from mqops.counted import counted
from mqops.deciders.registry import by_choice
from mqops.look.core.run_state import RunLine, checks_in_words
from mqops.look.words.fates import why_left
from mqops.look.words.state import RunState
from mqops.model import Destination

if TYPE_CHECKING:
    from mqops.look.run_story import RunStory
    from mqops.look.unmoved import UnmovedMessage
    from mqops.message_checks import CheckResult, QualitySummary

MOST_RUNS, MOST_MESSAGES = 50, 100
MOST_COUNTED = 1000
"""Further runs that are counted: to count all of them would take the longer the older the lake is."""


@click.command()
@click.option(
    "--queue-manager", "-m", default="", shell_complete=completed_queue_managers, help="Only of this queue manager."
)
@click.option("--queue", "-q", default="", help="Only runs that looked at this queue.")
@click.option("--workflow", default="", help="Only runs of this workflow, such as dlq_rules or undo.")
@click.option(
    "--state",
    "states",
    multiple=True,
    type=click.Choice([state.value for state in RunState]),
    help="Only in this state; may be repeated.",
)
@since_option
@click.option(
    "--limit", type=click.IntRange(0), default=MOST_RUNS, show_default=True, help="Most runs to show; 0: all."
)
@lake_option
@json_option
@known_errors
def runs(
    *,
    queue_manager: str,
    queue: str,
    workflow: str,
    states: tuple[str, ...],
    since: datetime | None,
    limit: int,
    lake: Path,
    as_json: bool,
) -> None:
    """List the runs of the lake, newest first: when, state, queue, and what became of the messages.

    A state says what the files of a run prove. `mqops run show RUN` explains it and names the messages. A run whose
    files cannot be read is named behind the others, with what to do; the exit code is 1 then.
    """
    from mqops.look.runs import Damaged, Such, count_runs, list_runs  # noqa: PLC0415

    such: Such = {
        "queue_manager": queue_manager.strip(),
        "queue": queue.strip(),
        "workflow": workflow.strip(),
        "states": [RunState(state) for state in states],
        "since": since,
    }
    damaged: list[Damaged] = []
    shown = list_runs(lake, limit=limit, damaged=damaged, **such)
    most = len(shown) + MOST_COUNTED
    more = count_runs(lake, most=most, **such) - len(shown) if limit and len(shown) == limit else 0
    if as_json:
        unread = [{"queue_manager": one.queue_manager, "run": one.run, **error_document(one.error)} for one in damaged]
        show_json({"runs": shown, "more": more, "damaged": unread})
    else:
        for line in shown:
            show_folded(_line(line), indent=4)
        if not shown:
            show_folded(f"{lake}: no such runs")
        if more:
            least = "at least " if more == MOST_COUNTED else ""
            show_folded(f"{least}{counted(more, 'more run')}: --limit 0 shows all")
    for one in damaged:
        show_line(f"mqops: {one.sentence()}", err=True)
    if damaged:
        sys.exit(ExitCode.NO)


def _line(line: RunLine) -> str:
    counts = [(line.moved, line.moved_word), (line.discarded, "discarded"), (line.left, "left"), (line.gone, "gone")]
    counts += [(line.failed, "failed"), (line.unexplained, "unexplained")]
    became = ", ".join(f"{number:,} {word}" for number, word in counts if number) or line.checks
    number = counted(line.planned or line.messages, "message")
    return (
        f"{line.at[:19] or '-':19}  {line.state:10}  {line.run}  {line.workflow or '-'}  "
        f"{line.queue or '-'} of {line.queue_manager}: {number}{f': {became}' if became else ''}"
    )


@click.group(cls=Group)
def run() -> None:
    """One run of the lake."""


run.add_command(adopt)


@run.command()
@run_argument()
@manager_of_run_option
@click.option(
    "--limit",
    type=click.IntRange(0),
    default=MOST_MESSAGES,
    show_default=True,
    help="Most messages to show of those that were left, gone or failed; 0: all.",
)
@click.option("--after", type=int, default=-1, metavar="ROW", help="Go on behind this row of the plan.")
@lake_option
@json_option
@known_errors
def show(*, run: str, queue_manager: str, limit: int, after: int, lake: Path, as_json: bool) -> None:
    """Show all of RUN (its key, or the beginning of it): state, plan, approval, who, the balance, and each message that
    was left, that is gone, or whose try failed, with the reason.

    It reads the lake only, so it works for a run in any state: planned, rejected, stopped, killed.
    """
    from mqops.lake.run import find_run  # noqa: PLC0415
    from mqops.look.run_story import run_story  # noqa: PLC0415

    found = run_story(find_run(lake, key=run, queue_manager=queue_manager.strip()), limit=limit, after=after)
    if as_json:
        show_json(found.to_json())
        return
    for line in _story(found):
        show_folded(line, indent=14 if line.startswith("    ") else 4)


def _story(found: RunStory) -> Iterator[str]:
    line = found.line
    yield f"run {line.run}: {line.state}"
    yield f"    state     {line.meaning}"
    yield f"    queue     {line.queue or '-'} of {line.queue_manager}"
    yield f"    workflow  {line.workflow or '-'}{f', it undoes run {found.undoes}' if found.undoes else ''}"
    times = f"snapshot {line.at}" + (f", proved {line.proved_at}" if line.proved_at else ", not proved")
    yield f"    when      {times}"
    yield f"    folder    {found.folder}"
    if found.dag:
        yield f"    airflow   run {found.dag.get('run_id', '-')} of DAG {found.dag.get('dag_id', '-')}"
    yield from _plan(found)
    if found.pruned:
        yield f"    pruned    {found.pruned.sentence(f'run {line.run}')}: it cannot be undone"
    yield from (f"    stop      {one}" for one in (*found.stopped, *found.stops))
    for one in found.quality:
        yield from _checks(one)
    yield from _balance(found)
    for message in found.messages:
        yield from _message(message, chosen=by_choice(line.workflow))
    if found.more:
        yield f"{counted(found.more, 'more message')}: --after {found.next} goes on, --limit 0 shows all"


def _plan(found: RunStory) -> Iterator[str]:
    plan = found.plan
    if plan is None:
        yield "    plan      none"
        return
    actions = ", ".join(f"{number:,} {action}" for action, number in plan.actions.items())
    yield f"    plan      {plan.digest}: {counted(plan.rows, 'message')}{f': {actions}' if actions else ''}"
    yield f"    table     {plan.table_source}, {plan.table_digest}"
    asked = found.people.get("requested_by") or "not recorded"
    yield f"    asked     {asked}{_approval(found)}"


def _approval(found: RunStory) -> str:
    why = f" ({found.people['why']})" if "why" in found.people else ""
    finished = f"; finished by {found.people['finished_by']}{why}" if "finished_by" in found.people else ""
    if found.people.get("approved_by"):
        comment = f" ({found.people['comment']})" if "comment" in found.people else ""
        return f"; approved: {found.people['approved_by']}{comment}{finished}"
    answer = found.approval.answer if found.approval else None
    if found.line.state in {RunState.REFUSED, RunState.UNANSWERED}:
        return f"; approved: by nobody: {found.unapproved}{finished}"
    if answer:
        who = answer.by or "the time-out"
        comment = f" ({answer.comment})" if answer.comment else ""
        return f"; {'approved' if answer.approved else 'rejected'}: {who} at {answer.at}{comment}{finished}"
    return ("; approved: nobody has answered yet" if found.approval else "; approved: by nobody") + finished


def _balance(found: RunStory) -> Iterator[str]:
    one = found.summary
    if one is None:
        words = {"moved": found.line.moved_word}
        so_far = ", ".join(f"{number:,} {words.get(word, word)}" for word, number in found.recorded.items())
        yield f"    balance   not proved; the ledger has {so_far}"
        return
    done = f"{one.moved:,} {found.line.moved_word} + {one.discarded:,} discarded"
    totals = f"{done} + {one.left:,} left + {one.gone:,} gone"
    verdict = "balances" if one.balanced else "DOES NOT BALANCE"
    yield f"    balance   {one.planned:,} planned = {totals}: {verdict}"
    yield from (f"              {text}" for text in (*one.problems, *one.remarks))


def _checks(quality: QualitySummary) -> Iterator[str]:
    """A quality check of the snapshot, those of its expectations first that are not met."""
    by = "the workflow" if quality.by_workflow else "command line"
    yield f"    checks    {quality.checked_at or '-'} by {by}, {', '.join(quality.suites)}: {checks_in_words(quality)}"
    for check in sorted(quality.checks, key=lambda one: one.met):
        name, word = f"{check.suite}.{check.expectation}", "met" if check.met else "not met"
        yield f"              {word:8}{check.severity:9}{name}: {_figure(check)}"
    yield from (f"              {text}" for text in (*quality.problems, *quality.told))


def _figure(check: CheckResult) -> str:
    if check.skipped:
        return check.skipped
    if check.failed is None:
        return f"found {check.observed or '-'}"
    return f"{counted(check.failed, 'message fails', 'messages fail')} of {check.checked:,}"


def _message(one: UnmovedMessage, *, chosen: bool) -> Iterator[str]:
    """Parameters: `chosen` whether a person, and no rules table, chose the messages of the run."""
    rule = f" by the rule at line {one.rule_line}" if one.rule_line else ""
    towards = "of a copy; its original is on" if one.action == Action.WITHDRAW else "to"
    target = f" {towards} {Destination(one.dest_q, one.dest_q_mgr)}" if one.dest_q else ""
    at = f" at {one.found_at}" if one.found_at else ""
    yield f"{one.became:8}{one.msg_id} of {one.queue}, row {one.row}: {why_left(one.why, by_choice=chosen)}{at}"
    yield f"        planned {one.action}{target}{rule}"
