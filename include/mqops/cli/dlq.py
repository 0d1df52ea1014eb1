"""`mqops dlq`: the dead-letter queue handler on the command line, without Spark and without a JVM."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from mqops.actions import Action
from mqops.cli import amq
from mqops.cli.act import act
from mqops.cli.anatomy import anatomy
from mqops.cli.columns import show_folded
from mqops.cli.ending import Ending
from mqops.cli.exit_code import ExitCode, of_run
from mqops.cli.first_tell import asking, first_tell_option, refuse_table_where_asked
from mqops.cli.four_eyes import refuse_own
from mqops.cli.group import Group
from mqops.cli.outcome import connection_to, json_option, known_errors, lake_option, show_json
from mqops.cli.passes import (
    dry_run_option,
    pacing_options,
    read_table,
    rules_option,
    show_dry_run,
    show_nothing,
    show_run_key,
    show_summary,
    source_of,
    strict_option,
    this_user,
    unit_size_option,
    warn,
    warn_of,
)
from mqops.cli.run_argument import one_queue_manager, queue_manager_argument
from mqops.cli.user_option import connecting_options, read_password
from mqops.command import command
from mqops.counted import counted
from mqops.decide.core.message_groups import WAY_OUT
from mqops.errors import MQError, RulesError
from mqops.look.words.in_lines import nothing_to_do
from mqops.model import Destination, RunSummary
from mqops.workflow import Workflow

if TYPE_CHECKING:
    from mqops.decide.core import PlanSummary
    from mqops.decide.core.pacing import Pacing
    from mqops.deciders.dead_letters import DeadLetterRequest
    from mqops.deciders.handler import Handler
    from mqops.deciders.pass_outcome import Failure
    from mqops.rules import Table

EPILOG = """\
It acts at once, without a question. `--dry-run` only plans, and names the `mqops dlq act` that carries out this plan;
`--canary` and `--pace` limit what is moved at first, `mqops undo RUN` puts it back.

Each pass is a run in the lake. Messages with AMQ numbers, as runmqdlq has them, go to standard error. The outcome of
each pass goes to standard output; with --json as one object in each line.

Exit codes: 0 it ended because of WAIT or a signal, and its last pass has left no message that a rule would move; 1 it
has (tries failed or are used up, or it was ended before all had gone), the table is not valid, the queue manager
failed, a pass does not balance, canaries came back, or somebody stopped it (`mqops stop`); 2 usage.
"""


@click.group(cls=Group)
def dlq() -> None:
    """Process dead-letter queues by a rules table."""


dlq.add_command(anatomy)
dlq.add_command(act)


@dlq.command(epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help", "-?"]})
@click.argument("queue", default="")
@queue_manager_argument
@rules_option
@strict_option
@first_tell_option
@dry_run_option
@click.option(
    "--split-groups",
    is_flag=True,
    help="Move each message of an MQ group by itself, as runmqdlq does. Without it a group stays on the queue if the "
    "table sends its messages to different queues.",
)
@click.option("--once", is_flag=True, help="One pass, whatever WAIT and RETRYINT of the table say.")
@connecting_options
@unit_size_option
@pacing_options
@lake_option
@json_option
@click.pass_context
@known_errors
def run(
    ctx: click.Context,
    *,
    queue: str,
    queue_manager: str,
    named: str,
    rules_file: IO[bytes],
    strict: bool,
    tells_first: bool,
    dry_run: bool,
    split_groups: bool,
    once: bool,
    unit_size: int,
    pacing: Pacing,
    lake: Path,
    as_json: bool,
) -> None:
    """Work like runmqdlq: process QUEUE of queue manager QMGR by the rules table on standard input.

    QUEUE and QMGR take precedence over INPUTQ and INPUTQM of the table. Without both: the dead-letter queue of the
    default queue manager. Every message is copied to the lake before anything is moved, and each pass ends with a
    proof.

    RETRYINT and WAIT of the table have their usual meaning. A put that failed is tried again after RETRYINT (60)
    seconds. A pass before that time leaves the message (LATER in the plan) and processes the messages that have come.
    Then the handler waits for messages: with WAIT(YES), the default, until it is ended; with WAIT(n) for n seconds;
    with WAIT(NO) not at all. SIGTERM and Ctrl-C end it after the current unit of work. If canaries come back, it ends
    after the pass. --once makes a single pass.

    The messages of an MQ group, and the segments of a message, go together: if the table sends them to different
    queues, all of them stay (SPLIT in the plan). --split-groups moves each by itself.

    A message that a rule puts back unchanged on the same queue is left until the handler is started again. Each pass
    copies the whole queue. So the handler makes fewer passes if many messages stay there, but at least one every
    RETRYINT seconds if messages have come.
    """
    if queue.startswith("?"):
        click.echo(ctx.get_help())
        return
    from mqops.deciders.dead_letters import DEAD_LETTERS, DeadLetterRequest  # noqa: PLC0415
    from mqops.deciders.run import discard_if_empty, plan_run  # noqa: PLC0415

    asks = asking(tells_first=tells_first, quiet=as_json)
    refuse_table_where_asked(asks, rules_file)
    read_password()  # the first line of standard input, before the table
    try:
        table, text = read_table(rules_file, strict=strict, numbers=True)
    except RulesError as error:
        amq.say(8758, errors=counted(len(error.problems), "error"))
        raise
    connection = connection_to(one_queue_manager(queue_manager, named) or table.control.inputqm.strip())
    what = DeadLetterRequest(
        connection=connection,
        lake=lake,
        table=table,
        text=text,
        source=source_of(rules_file),
        queue=_first_word(queue) or table.control.inputq.strip(),
        unit_size=unit_size,
        pacing=pacing,
        requested_by=this_user(),
        split_groups=split_groups,
        warn=_Once(),
        first_tell=asks,
    )
    try:
        if dry_run:
            planned = plan_run(DEAD_LETTERS, what)
            if discard_if_empty(*planned):
                show_nothing(planned.plan, as_json=as_json)
            else:
                _warn_of_split_groups(planned.plan, planned.plan.queue)
                show_dry_run(*planned, as_json=as_json)
        else:
            ctx.exit(_handle(what, once=once, as_json=as_json))
    except MQError as error:
        amq.say_error(error, connection.queue_manager)
        raise


def _first_word(queue: str) -> str:
    """A queue's name is cut at its first blank, as runmqdlq does."""
    return next(iter(queue.split()), "")


class _Once:
    """Says each line once."""

    def __init__(self) -> None:
        self._said: set[str] = set()

    def __call__(self, line: str) -> None:
        if line not in self._said:
            self._said.add(line)
            warn(line)


def _handle(what: DeadLetterRequest, *, once: bool, as_json: bool) -> ExitCode:
    """Pass after pass. The exit code is that of the last one: it has seen every message that is there."""
    from mqops.deciders.dead_letters import DEAD_LETTERS  # noqa: PLC0415
    from mqops.deciders.handler import Handler  # noqa: PLC0415
    from mqops.deciders.run import discard_if_empty  # noqa: PLC0415

    def say_in_error(ids: Sequence[str]) -> None:
        amq.say_in_error(handler.queue, ids, handler.outcome.why, queue_manager=handler.queue_manager)

    with Ending() as ending:
        handler = Handler(what, ending, once=once, report_errors=say_in_error)
        refuse_own(DEAD_LETTERS, handler.queue_manager, requester=what.requested_by, approver=this_user())
        until = "one pass, --once" if once else f"WAIT({what.table.control.wait})"
        code, waits = ExitCode.DONE, False
        amq.say(8708, queue=handler.queue, queue_manager=handler.queue_manager, until=until)
        while handler.has_work():
            folder, plan = handler.plan()
            if discard_if_empty(folder, plan):
                handler.pass_over(plan)
                code, waits = ExitCode.DONE, False
                continue
            show_run_key(folder)
            warn_of(folder)
            _warn_of_split_groups(plan, handler.queue)
            summary = handler.make_pass(folder, plan)
            show_json(summary.to_json()) if as_json else show_summary(summary)
            code = of_run(summary, plan)
            waits = summary.finished and handler.only_waits_for_tries
            say_in_error(handler.outcome.ids_in_error())
            amq.say_failures(handler.outcome.failures, partial(_next_try, handler, what.table, once=once))
            if handler.outcome.failures.keys() - handler.outcome.to_retry.keys():
                what.warn(WAY_OUT)
            for line, *name in sorted(set(handler.outcome.put_back.values())):
                to = Destination(*name)
                what.warn(
                    f"what the rule at line {line} puts on {to} is on {handler.queue} again, as it was, "
                    "and is left from now on. Correct the rules table and start the handler again"
                )
            if ending.asked and not summary.finished and folder.issued_json.exists():
                warn(f"{ending.asked}: `{command('mqops', 'resume', summary.run, '--finish')}` does the rest")
        if not handler.passes:
            _show_nothing(handler, as_json=as_json)
        amq.say(8709, why=_why(handler, ending, until))
        if handler.over:
            return ExitCode.NO
        return ExitCode.DONE if ending.asked and waits else code  # the next start goes on with these tries


def _warn_of_split_groups(plan: PlanSummary, queue: str) -> None:
    """Say that messages stay which runmqdlq would move."""
    if number := plan.actions.get(Action.SPLIT):
        warn(
            f"{counted(number, 'message stays', 'messages stay')} on {queue}: the table sends messages of one MQ group "
            "to different queues. runmqdlq would move each by itself; --split-groups does so, too"
        )


def _next_try(handler: Handler, table: Table, failure: Failure, *, once: bool) -> str:
    """What is to come of the messages that failed so."""
    if failure not in handler.outcome.to_retry:
        return "no try is left, they stay on the queue"
    return "start the handler again for the next try" if once else f"the next try is in {table.control.retryint} s"


def _show_nothing(handler: Handler, *, as_json: bool) -> None:
    expired = (handler.expired.sentence(handler.queue),) if handler.expired.messages else ()
    if as_json:
        nothing = RunSummary(
            run="",
            workflow=Workflow.DLQ_RULES,
            queue_manager=handler.queue_manager,
            queue=handler.queue,
            plan="",
            remarks=(*expired, *handler.remarks),
        )
        show_json(nothing.to_json())
    else:
        for remark in handler.remarks:
            show_folded(remark)
        show_folded(nothing_to_do(handler.queue, handler.queue_manager, handler.remarks))


def _why(handler: Handler, ending: Ending, until: str) -> str:
    if handler.over:
        return f"{handler.over}, and start it again"
    return f"{ending.asked} came; what is left is where it was, start it again to go on" if ending.asked else until
