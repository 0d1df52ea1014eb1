"""`mqops dlq`: the dead-letter queue handler on the command line, without Spark and without a JVM."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from mqops.cli import amq
from mqops.cli.act import act
from mqops.cli.anatomy import anatomy
from mqops.cli.ending import Ending
from mqops.cli.four_eyes import refuse_own
from mqops.cli.outcome import connection_to, json_option, known_errors, lake_option, show_json, show_line
from mqops.cli.passes import (
    dry_run_option,
    full_name,
    handling_options,
    read_table,
    rules_option,
    show_dry_run,
    show_summary,
    source_of,
    strict_option,
    tell,
    this_user,
    unit_size_option,
    warn_of,
)
from mqops.command import command
from mqops.errors import MQError, RulesError, SettingsError
from mqops.model import RunSummary

if TYPE_CHECKING:
    from mqops.decide.core.pacing import Handling
    from mqops.deciders.dead_letters import Pass
    from mqops.deciders.handler import Failure, Handler
    from mqops.mq.connection import MqConnection
    from mqops.rules import Table

EPILOG = """\
It acts at once and asks nobody: `--dry-run` rehearses it, and names the `mqops dlq act` that carries out what was
rehearsed; `--canary` and `--pace` make it careful, `mqops undo RUN` takes it back.

Each pass is a run of its own in the lake. What runmqdlq says with AMQ numbers goes to standard error, the outcome of
each pass to standard output, with --json as one object a line.

Exit codes: 0 it ended as WAIT or a signal said, whatever could not be put; 1 the table is not valid, the queue manager
failed, a pass does not balance, canaries came back, or somebody stopped it (`mqops stop`); 2 usage.
"""


@click.group()
def dlq() -> None:
    """Deal with dead-letter queues by a rules table."""


dlq.add_command(anatomy)
dlq.add_command(act)


@dlq.command(epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help", "-?"]})
@click.argument("queue", default="")
@click.argument("queue_manager", metavar="[QMGR]", default="")
@rules_option
@strict_option
@dry_run_option
@click.option("--once", is_flag=True, help="One pass, whatever WAIT and RETRYINT of the table say.")
@click.option(
    "-u",
    "user",
    default="",
    metavar="USER",
    help="Connect as USER, whose password is the first line of standard input.",
)
@click.option("-c", "client", is_flag=True, help="Connect as a client: MQSERVER or a channel table says where to.")
@unit_size_option
@handling_options
@lake_option
@json_option
@click.pass_context
@known_errors
def run(
    ctx: click.Context,
    *,
    queue: str,
    queue_manager: str,
    rules_file: IO[bytes],
    strict: bool,
    dry_run: bool,
    once: bool,
    user: str,
    client: bool,
    unit_size: int,
    handling: Handling,
    lake: Path,
    as_json: bool,
) -> None:
    """Stand in for runmqdlq: deal with QUEUE of queue manager QMGR by the rules table on standard input.

    QUEUE and QMGR beat INPUTQ and INPUTQM of the table; with neither it is the dead-letter queue of the default queue
    manager. Every message is copied to the lake before anything is moved, and each pass is proved at its end.

    RETRYINT and WAIT of the table hold: a put that failed is tried again RETRYINT (60) seconds later, and what comes
    meanwhile is dealt with at once (the other is left then, LATER in the plan); then it waits for messages, with
    WAIT(YES), the default, until it is ended, with WAIT(n) n seconds, with WAIT(NO) not at all.
    SIGTERM and Ctrl-C end it behind the unit of work it is in, and canaries that came back behind their pass. For a
    single pass: --once.

    What a rule puts back on the queue itself as it was is left from then on, until the handler is started again. Each
    pass copies the whole queue: the more stays there, the less often it makes one, but every RETRYINT seconds if need
    be.
    """
    if queue.startswith("?"):
        click.echo(ctx.get_help())
        return
    from mqops.deciders.dead_letters import Pass, plan_pass  # noqa: PLC0415

    password = _password(user)
    try:
        table, text = read_table(rules_file, strict=strict, numbers=True)
    except RulesError as error:
        amq.say(8758, count=len(error.problems))
        raise
    connection = connection_to(queue_manager.strip() or table.control.inputqm.strip())
    what = Pass(
        connection=_as_asked(connection, user, password, client=client),
        lake=lake,
        table=table,
        text=text,
        source=source_of(rules_file),
        queue=_first_word(queue) or table.control.inputq.strip(),
        unit_size=unit_size,
        handling=handling,
        requested_by=this_user(),
        tell=_Once(),
    )
    try:
        if dry_run:
            show_dry_run(*plan_pass(what), as_json=as_json)
        elif not _handle(what, once=once, as_json=as_json):
            ctx.exit(1)
    except MQError as error:
        amq.say_error(error, connection.queue_manager)
        raise


def _password(user: str) -> str:
    """The first line of standard input, where a user is named."""
    if not user:
        return ""
    password = sys.stdin.buffer.readline().decode("utf-8", "surrogateescape").rstrip("\r\n")
    if not password:
        raise SettingsError(f"-u {user} needs the password as the first line of standard input, before the rules table")
    return password


def _as_asked(connection: MqConnection, user: str, password: str, *, client: bool) -> MqConnection:
    if user:
        connection = replace(connection, user=user, password=password)
    return replace(connection, client=True) if client else connection


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
            tell(line)


def _handle(what: Pass, *, once: bool, as_json: bool) -> bool:
    """Pass after pass; whether it ended as WAIT or a signal said."""
    from mqops.deciders.handler import Handler  # noqa: PLC0415

    with Ending() as ending:
        handler = Handler(what, ending, once=once, tell_errors=lambda ids: amq.say_in_error(handler.queue, ids))
        refuse_own(handler.queue_manager, what.requested_by, this_user())
        until = "one pass, --once" if once else f"WAIT({what.table.control.wait})"
        amq.say(8708, queue=handler.queue, queue_manager=handler.queue_manager, until=until)
        while handler.has_work():
            folder, plan = handler.plan()
            warn_of(folder)
            summary = handler.carry_out(folder, plan)
            show_json(summary.to_json()) if as_json else show_summary(summary)
            amq.say_in_error(handler.queue, handler.outcome.ids_in_error())
            amq.say_failures(handler.outcome.failures, partial(_next_try, handler, what.table, once=once))
            for line, *name in sorted(set(handler.outcome.put_back.values())):
                what.tell(
                    f"what the rule at line {line} puts on {full_name(*name)} is on {handler.queue} again, as it was, "
                    "and is left from now on; correct the rules table, and start it again"
                )
            if ending.asked and not summary.finished and folder.issued_json.exists():
                tell(f"{ending.asked}: `{command('mqops', 'resume', summary.run, '--finish')}` does the rest")
        if not handler.passes:
            _show_nothing(handler, as_json=as_json)
        amq.say(8709, why=_why(handler, ending, until))
        return not handler.over


def _next_try(handler: Handler, table: Table, failure: Failure, *, once: bool) -> str:
    """What is to come of the messages that failed so."""
    if failure not in handler.outcome.to_retry:
        return "no try is left for them, they stay"
    return "start it again for the next try" if once else f"the next try is in {table.control.retryint} s"


def _show_nothing(handler: Handler, *, as_json: bool) -> None:
    if as_json:
        nothing = RunSummary(run="", workflow="dlq", queue_manager=handler.queue_manager, queue=handler.queue, plan="")
        show_json(nothing.to_json())
    else:
        show_line(f"nothing to do: {handler.queue} of {handler.queue_manager} is empty")


def _why(handler: Handler, ending: Ending, until: str) -> str:
    if handler.over:
        return f"{handler.over}, and start it again"
    return f"{ending.asked} came; what is left is where it was, start it again to go on" if ending.asked else until
