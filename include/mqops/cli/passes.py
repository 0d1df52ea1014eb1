"""What the commands that make one pass over queues share: reading the rules table, showing a plan and an outcome."""

from __future__ import annotations

import functools
import os
import pwd
import socket
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import click

from mqops.actions import ACTED, NO_RULE_FITS, Action, moved_word
from mqops.cli.columns import show_command, show_folded
from mqops.cli.exit_code import ExitCode, of_run
from mqops.cli.four_eyes import refuse_own
from mqops.cli.outcome import show_json, show_line, show_text
from mqops.cli.tables import GivenFile, text_from
from mqops.command import command as command_line
from mqops.counted import counted
from mqops.decide.core import PlanSummary
from mqops.decide.core.pacing import DEFAULT_PATIENCE, DEFAULT_WAIT, Pacing
from mqops.decide.core.preflight import Preflight, shown
from mqops.decide.core.summary import PlanCount, RuleCount
from mqops.errors import MqopsError, RulesError
from mqops.model import CanaryResult, RunSummary, full_name
from mqops.observe.core.anatomy import anatomy_lines
from mqops.observe.core.unseen import none_browsed
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
MOST_OF_A_RULE = 10
"""Groups of messages that a plan shows of each rule; --all shows all."""
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
    def wrapped(*, canary: int, canary_wait: int, pace: int, in_flight: int, patience: int, **others: Any) -> None:
        pacing = Pacing(canary=canary, canary_wait=canary_wait, pace=pace, in_flight=in_flight, patience=patience)
        command(pacing=pacing, **others)

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


def show_dry_run(run: RunFolder, plan: PlanSummary, *, as_json: bool) -> None:
    """What would be done, and what the pre-flight of it found."""
    from mqops.decide.preflight_record import read_preflight  # noqa: PLC0415

    found = read_preflight(run)
    command = _carry_out_command(run, plan)
    if as_json:
        document = {"run": str(run.path), "plan": plan.to_json(), "preflight": found.to_json() if found else None}
        show_json(document | ({"carry_out": command} if command else {}))
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


def run_once(decider: Decider[R], request: R, *, dry_run: bool, as_json: bool, question: str = "") -> Done | None:
    """Plan a run. Show the plan if `dry_run`, else carry it out and show what was done.

    Returns the plan and what was done, None if there was nothing to do.

    Parameters: `question` that is asked below the plan before anything is done, "" for none.

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
        show_dry_run(run, plan, as_json=as_json)
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


def nothing_to_do(queues: str, queue_manager: str, remarks: Iterable[str]) -> str:
    """That queues gave no message. A queue that has a depth is not called empty: a remark says what is there."""
    named = f"{queues.replace(',', ', ')} of {queue_manager}"
    if none_browsed(remarks):
        return f"nothing to do now: no message of {named} can be seen"
    return f"nothing to do: {named} {'are' if ',' in queues else 'is'} empty"


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


def _rule(line: int | None, action: str, *, by_rules: bool) -> str:
    """The rule of some rows of a plan, in words; "" if no rules table decided, or no rule could see them."""
    if line:
        return f"line {line}: "
    return "no rule: " if by_rules and action != Action.ERROR else ""


def _unseen(action: str) -> str:
    """Why no rule stands beside an action, "" where one can."""
    return f" ({NO_RULE_FITS})" if action == Action.ERROR else ""


def _of_rule(one: PlanCount | RuleCount) -> tuple[int | None, Action]:
    return one.rule_line, one.action


def show_plan(plan: PlanSummary, found: Preflight | None) -> None:
    """The plan and its pre-flight as text."""
    by_rules = _by_rules(plan.workflow)
    size = f"{counted(plan.rows, 'message')}, {counted(plan.bytes, 'byte')}"
    show_folded(f"{plan.queue} of {plan.queue_manager}: {size}; plan {plan.digest}")
    counts = sorted(plan.counts, key=lambda one: one.action not in ACTED)  # first what will move
    if len(plan.counts) > len(plan.rules):
        for rule in sorted(plan.rules, key=lambda one: one.action not in ACTED):
            what = f"{_rule(rule.rule_line, rule.action, by_rules=by_rules)}{rule.action}{_unseen(rule.action)}"
            groups = counted(sum(_of_rule(one) == _of_rule(rule) for one in counts), "group")
            show_folded(f"{rule.messages:8}  {what} in all  ({groups}; {counted(rule.bytes, 'byte')})")
    context = click.get_current_context(silent=True)
    most = len(counts) if context and context.meta.get(_ALL) else MOST_OF_A_RULE
    seen: Counter[tuple[int | None, Action]] = Counter()
    for count in counts:
        seen[_of_rule(count)] += 1
        if seen[_of_rule(count)] > most:
            continue
        what = f"{_rule(count.rule_line, count.action, by_rules=by_rules)}{count.action}{_unseen(count.action)}"
        target = f" to {full_name(count.dest_q, count.dest_q_mgr)}" if count.dest_q else ""
        origin = f"{count.symbol or 'no MQDLH'} {full_name(count.origin_q or '', count.origin_q_mgr or '')}".rstrip()
        oldest = f", oldest {count.oldest}" if count.oldest else ""
        show_folded(f"{count.messages:8}  {what}{target}  ({origin}; {counted(count.bytes, 'byte')}{oldest})")
        for sample in count.samples:
            size = counted(sample.bytes, "byte")
            text = f"{sample.msg_id} {sample.put_at} {sample.put_appl_name or '-'}, {size}: {sample.shape}"
            show_folded(f"{'':10}{text}".rstrip())
    hidden = sum(max(0, number - most) for number in seen.values())
    if hidden:
        show_folded(f"not shown: {counted(hidden, 'more group')} of these rules: --dry-run --all-groups shows them")
    if plan.counts_left_off:
        show_folded(f"not shown: {counted(plan.counts_left_off, 'smaller group')}. RUN/plan has every message")
    for remark in (*plan.remarks, *(found.remarks if found else ())):
        show_folded(remark)
    for line in shown(found.findings) if found else ():
        show_folded(line)


def canary_line(result: CanaryResult) -> str:
    """What became of the canaries of a destination and rule, in a line."""
    number = counted(result.canaries, "canary", "canaries")
    counts = f"{number}, {result.back:,} came back, {result.failed:,} failed, {result.unread:,} unread"
    outcome = f"stopped: {result.why}" if result.why else "the rest followed"
    return f"{result.unit_group.removesuffix('@')}: {counts}: {outcome}"


def show_summary(summary: RunSummary) -> None:
    """Print the summary of a run: what was moved, discarded and left."""
    by_rules = _by_rules(summary.workflow)
    show_folded(f"{summary.queue} of {summary.queue_manager}, run {summary.run}")
    for rule in summary.rules:
        put = moved_word([rule.action])
        counts = f"{rule.moved:,} {put}, {rule.discarded:,} discarded, {rule.left:,} left, {rule.gone:,} gone"
        failed = f", {counted(rule.failed, 'try', 'tries')} failed" if rule.failed else ""
        meaning = _unseen(rule.action)
        if rule.action == Action.IGNORE and not by_rules:
            meaning = " (not chosen)"
        name = _rule(rule.rule_line, rule.action, by_rules=by_rules)
        show_folded(f"{rule.planned:8,}  {name}{rule.action}{meaning}: {counts}{failed}")
    for reason, count in summary.reasons.items():
        show_folded(f"{counted(count, 'try', 'tries', spec='8,')} failed with {reason}")
    for why, count in summary.left_because.items():
        show_folded(f"{count:8,}  left: {why}")
    for why, count in summary.gone_because.items():
        show_folded(f"{count:8,}  gone: {why}")
    for canaries in summary.canaries:
        show_folded(canary_line(canaries))
    for remark in summary.remarks:
        show_folded(remark)
    put = moved_word(rule.action for rule in summary.rules)
    totals = (
        f"{summary.moved:,} {put} + {summary.discarded:,} discarded + {summary.left:,} left + {summary.gone:,} gone"
    )
    show_folded(f"{summary.planned:,} planned = {totals}{'' if summary.unseen else ': balances'}")
    for line in anatomy_lines(summary.anatomy):
        show_folded(line)
