"""What the commands that make one pass over queues share: reading the rules table, showing a plan and an outcome."""

from __future__ import annotations

import functools
import os
import pwd
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import click

from mqops.actions import ACTED
from mqops.as_json import JsonObject
from mqops.cli.columns import show_command, show_folded, show_lines
from mqops.cli.exit_code import ExitCode, of_run
from mqops.cli.four_eyes import refuse_own
from mqops.cli.outcome import show_json, show_line, show_text
from mqops.cli.tables import GivenFile, text_from
from mqops.command import command as command_line
from mqops.counted import counted
from mqops.decide.core import PlanSummary
from mqops.decide.core.pacing import DEFAULT_PATIENCE, DEFAULT_WAIT, OF_RUN, Pacing
from mqops.decide.core.preflight import Preflight, shown
from mqops.errors import MqopsError, RulesError
from mqops.look.words.in_lines import MOST_OF_A_RULE, nothing_to_do, plan_lines, summary_lines
from mqops.model import RunSummary
from mqops.rules import Table, parse

if TYPE_CHECKING:
    from mqops.deciders.decider import Decider, R
    from mqops.lake.run import RunFolder

rules_option = click.option(
    "--rules", "rules_file", type=GivenFile(), default="-", help="The rules table. Default: standard input."
)
unit_size_option = click.option(
    "--unit-size", type=click.IntRange(1, 5000), default=200, show_default=True, help="Messages in each unit of work."
)
strict_option = click.option("--strict", is_flag=True, help="Refuse a table that IBM's own handler would not take.")
_ALL = "mqops.all"


def _keep_all(context: click.Context, _parameter: click.Parameter, value: bool) -> None:
    context.meta[_ALL] = value


_dry_run_option = click.option("--dry-run", is_flag=True, help="Show the plan of one pass. Nothing is moved.")


def _all_option(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    text = f"With --dry-run: show each group of messages, not {MOST_OF_A_RULE} of each rule."
    return click.option(*names, "all_groups", is_flag=True, expose_value=False, callback=_keep_all, help=text)


def dry_run_option(command: Callable[..., None]) -> Callable[..., None]:
    """--dry-run, which the command gets, and --all, which `show_plan` looks at."""
    return _dry_run_option(_all_option("--all", "--all-groups")(command))


def dry_run_beside_all(command: Callable[..., None]) -> Callable[..., None]:
    """The same of a command whose --all is about messages: --all-groups alone."""
    return _dry_run_option(_all_option("--all-groups")(command))


_COUNT = click.IntRange(0)
_HANDLING = (
    click.option(
        "--canary",
        type=_COUNT,
        default=0,
        show_default="0: all at once",
        help="Messages of each destination and rule that are sent first. The others follow if these were read and "
        "none comes back.",
    ),
    click.option(
        "--canary-wait",
        type=_COUNT,
        default=DEFAULT_WAIT,
        show_default=True,
        help="With --canary: seconds until they must be read, and may come back.",
    ),
    click.option(
        "--pace", type=_COUNT, default=0, show_default="0: no limit", help="The largest number of messages a second."
    ),
    click.option(
        "--in-flight",
        type=_COUNT,
        default=0,
        show_default="0: no look at its depth",
        help="Put nothing on a destination while its depth is this number of messages or more.",
    ),
    click.option(
        "--patience",
        type=_COUNT,
        default=DEFAULT_PATIENCE,
        show_default=True,
        help="With --in-flight: seconds to wait for room on a destination. Then its other messages are left.",
    ),
)


def pacing_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options that say how a plan is carried out; the command gets them as `pacing`."""

    @functools.wraps(command)
    def wrapped(**given: Any) -> None:
        pacing = Pacing(**{name: given.pop(name) for name in OF_RUN})
        command(pacing=pacing, **given)

    for option in reversed(_HANDLING):
        wrapped = option(wrapped)
    return wrapped


def source_of(file: IO[bytes]) -> str:
    """A file's name, for error texts and the plan."""
    return str(getattr(file, "name", "<standard input>"))


def this_user() -> str:
    """Who runs this command, for the ledger: `user@host`, the operating system's word for it."""
    try:
        return f"{pwd.getpwuid(os.getuid()).pw_name}@{socket.gethostname()}"
    except KeyError:  # a user id without a name
        return f"{os.getuid()}@{socket.gethostname()}"


def warn(line: str) -> None:
    """Print a line that is not the outcome: on standard error."""
    show_line(f"mqops: {line}", err=True)


def show_run_key(run: RunFolder) -> None:
    """Name the run on standard error before anything is moved: a person who ends this process can resume it."""
    warn(f"run {run.run} of {run.queue_manager}")


def read_table(
    file: IO[bytes], *, origins: bool = False, strict: bool = False, numbers: bool = False
) -> tuple[Table, str]:
    """The rules table in a file and its text (see `parse`).

    Parameters: `numbers` whether errors get the numbers that they have in runmqdlq.

    Raises:
        RulesError: it is not valid; every error stands on standard error.
    """
    text = text_from(file)
    parsed = parse(text, source=source_of(file), origins=origins, strict=strict, lint=False)
    if parsed.table is None:
        for problem in parsed.errors:
            show_text(problem.render(f"AMQ{problem.number}: " if numbers and problem.number else ""), err=True)
        problems = [{"line": one.line, "column": one.column, "message": one.message} for one in parsed.errors]
        raise RulesError(f"the rules table has {counted(len(problems), 'error')}; nothing was done", problems=problems)
    return parsed.table, text


def show_dry_run(run: RunFolder, plan: PlanSummary, *, as_json: bool, more: JsonObject | None = None) -> None:
    """What would be done, and what the pre-flight of it found. Parameters: `more` keys of the JSON object."""
    from mqops.decide.preflight_record import read_preflight  # noqa: PLC0415

    found = read_preflight(run)
    command = _carry_out_command(run, plan)
    if as_json:
        document = {"run": str(run.path), "plan": plan.to_json(), "preflight": found.to_json() if found else None}
        show_json(document | ({"carry_out": command} if command else {}) | (more or {}))
    else:
        show_plan(plan, found)
        if command:
            show_folded(f"run {plan.run} keeps this plan; to carry it out as it stands:")
            show_command(command)
        show_folded("dry run: nothing was moved")


yes_option = click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation.")


def refuse_to_ask(*, as_json: bool, answered: bool) -> None:
    """Refuse --json where a question would have to be asked. Raises `click.UsageError`."""
    if as_json and not answered:
        raise click.UsageError("--json cannot ask for confirmation: give --dry-run or --yes with it")


class Done(NamedTuple):
    """A plan, and what was done; None after a dry run."""

    plan: PlanSummary
    summary: RunSummary | None


def ending(done: Done | None, *, gone: bool = False) -> ExitCode:
    """How a command ends that has made one pass. Parameters: `gone` as of `of_run`."""
    if done is None:
        return ExitCode.DONE
    if done.summary is None:
        return ExitCode.NO if done.plan.unseen else ExitCode.DONE
    return of_run(done.summary, done.plan, gone=gone)


def run_once(
    decider: Decider[R],
    request: R,
    *,
    dry_run: bool,
    as_json: bool,
    question: str = "",
    explain: Callable[[RunFolder], JsonObject] | None = None,
) -> Done | None:
    """Plan a run. Show the plan if `dry_run`, else carry it out and show what was done.

    Returns the plan and what was done, None if there was nothing to do.

    Parameters: `question` that is asked below the plan before anything is done, "" for none; `explain` what the JSON
    object of a dry run has besides, or shows it where that is not asked for.

    Raises:
        click.Abort: the answer is no. Nothing was moved.
        NothingToDo: no queue has a message for it.
        NotApproved: the estate asks for four eyes. Nothing was moved.
        MqopsError: as `plan_run` and `carry_out`.
    """
    from mqops.deciders.run import carry_out, discard_if_empty, plan_run  # noqa: PLC0415

    run, plan = plan_run(decider, request)
    if discard_if_empty(run, plan):
        show_nothing(plan, as_json=as_json)
        return None
    if dry_run:
        show_dry_run(run, plan, as_json=as_json, more=explain(run) if explain else None)
        return Done(plan, None)
    with discarded_unless_agreed(run):
        refuse_own(decider, plan.queue_manager, requester=request.requested_by, approver=this_user())
        show_run_key(run)
        warn_of(run)
        if question and plan.actions.keys() & ACTED:
            if not as_json:
                show_plan(plan, None)
            if not click.confirm(question):
                raise click.Abort
    summary = carry_out(decider, request, run, plan)
    show_json(summary.to_json()) if as_json else show_summary(summary)
    return Done(plan, summary)


@contextmanager
def discarded_unless_agreed(run: RunFolder) -> Iterator[None]:
    """Remove a run that is refused before anything of it is begun, by the estate or by the person who is asked."""
    try:
        yield
    except (click.Abort, MqopsError) as error:
        run.discard()
        if isinstance(error, click.Abort):
            show_line("nothing of this plan was moved", err=True)
        raise


def nothing_done(plan: PlanSummary) -> RunSummary:
    """The summary where a plan has nothing to do: there is no run."""
    return RunSummary(
        run="",
        workflow=plan.workflow,
        queue_manager=plan.queue_manager,
        queue=plan.queue,
        plan="",
        remarks=plan.remarks,
    )


def show_nothing(plan: PlanSummary, *, as_json: bool) -> None:
    """Say that the queues had no message, with what is remarkable about them. No run is kept, and there is no plan."""
    if as_json:
        show_json(nothing_done(plan).to_json())
        return
    for remark in plan.remarks:
        show_folded(remark)
    show_folded(nothing_to_do(plan.queue, plan.queue_manager, plan.remarks))


def warn_of(run: RunFolder) -> None:
    """Print what the pre-flight doubts, on standard error, before anything is moved."""
    from mqops.decide.preflight_record import read_preflight  # noqa: PLC0415

    found = read_preflight(run)
    for line in shown(found.doubts) if found else ():
        warn(line)


def _carry_out_command(run: RunFolder, plan: PlanSummary) -> str:
    """What carries out exactly this plan, "" where nothing does, or where it moves nothing."""
    if not (plan.requested_by and plan.actions.keys() & ACTED):
        return ""
    words = ("mqops", "dlq", "act", run.run, "-m", plan.queue_manager, "--approve", plan.digest)
    return command_line(*words, "--lake", run.lake_folder.parent.resolve())


def _by_rules(workflow: str) -> bool:
    from mqops.deciders.registry import decider_named  # noqa: PLC0415

    return decider_named(workflow).by_rules


def show_plan(plan: PlanSummary, found: Preflight | None) -> None:
    """The plan and its pre-flight as text."""
    context = click.get_current_context(silent=True)
    every_group = bool(context and context.meta.get(_ALL))
    show_lines(plan_lines(plan, found, by_rules=_by_rules(plan.workflow), every_group=every_group))


def show_summary(summary: RunSummary) -> None:
    """Print the summary of a run: what was moved, discarded and left."""
    show_lines(summary_lines(summary, by_rules=_by_rules(summary.workflow)))
