"""`mqops init`: the MQSC that a queue manager needs for mqops, printed, or carried out."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from mqops.cli.outcome import connection_to, json_option, known_errors, show_json, show_line
from mqops.cli.passes import refuse_to_ask, warn, yes_option
from mqops.cli.run_argument import one_queue_manager, queue_manager_argument
from mqops.cli.user_option import connecting_options
from mqops.counted import counted
from mqops.errors import MQError, SettingsError

if TYPE_CHECKING:
    from mqops.doctor.define import Step
    from mqops.mq.authority import Grantee
    from mqops.mq.session import Session

_NAME = re.compile(r"[\w.@\\-]{1,64}")
_PROFILE = re.compile(r"[A-Za-z0-9._/%*?]{1,48}")


def _checked(pattern: re.Pattern[str], what: str) -> object:
    def check(_ctx: click.Context, _param: click.Parameter, value: str | tuple[str, ...]) -> str | tuple[str, ...]:
        for one in (value,) if isinstance(value, str) else value:
            if one and not pattern.fullmatch(one):
                raise click.BadParameter(f"{one!r} is not {what}")
        return value

    return check


@click.command()
@queue_manager_argument
@connecting_options
@click.option("--user", default="", callback=_checked(_NAME, "the name of a user"), help="The user of mqops.")
@click.option("--group", default="", callback=_checked(_NAME, "the name of a group"), help="Or its group.")
@click.option(
    "--queue",
    "queues",
    multiple=True,
    metavar="PROFILE",
    callback=_checked(_PROFILE, "a profile of queues"),
    help="More queues that mqops works on: where RETRY puts, for example 'PAY.**'. May be repeated.",
)
@click.option("--run", "carry_out", is_flag=True, help="Define what is missing, after a question.")
@yes_option
@json_option
@known_errors
def init(
    *,
    queue_manager: str,
    named: str,
    user: str,
    group: str,
    queues: tuple[str, ...],
    carry_out: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Print the MQSC commands that give a queue manager what mqops needs. With --run they are carried out.

    These are MQOPS.LEDGER, what the estate asks for (the quarantine queue, initiation queues, processes), and, for
    --user or --group, the least authorities. What is there already stands as a comment. A queue or process that is
    there with other attributes is never changed: the difference is shown, and the exit code is 1.
    """
    if user and group:
        raise click.UsageError("Name a user or a group, not both")
    if carry_out:
        refuse_to_ask(as_json=as_json, answered=yes)
    from mqops.doctor.define import StepState, is_open  # noqa: PLC0415
    from mqops.doctor.needs import Authority  # noqa: PLC0415
    from mqops.mq.authority import Grantee  # noqa: PLC0415
    from mqops.mq.connection import connect  # noqa: PLC0415

    connection = connection_to(one_queue_manager(queue_manager, named))
    with ExitStack() as stack:
        session = None
        try:
            session = stack.enter_context(connect(connection))
        except MQError as error:
            if carry_out:
                raise
            warn(f"{error}. So it is not known what is there already")
        name = _name(session, connection.queue_manager)
        to = Grantee("GROUP", group) if group else Grantee("PRINCIPAL", user)
        steps = list(_steps(session, name, queues, to))
        todo = [step for step in steps if is_open(step) and (to.name or not isinstance(step.what, Authority))]
        if not as_json:
            for line in _lines(name, steps, to):
                show_line(line)
        ran = 0
        if carry_out and todo:
            if not (yes or click.confirm(f"Carry out {counted(len(todo), 'command')} on {name}?")):
                raise click.Abort
            assert session is not None
            ran = _run(session, name, todo)
    if as_json:
        show_json({"queue_manager": name, "steps": [step.to_json() for step in steps], "carried_out": ran})
    elif carry_out:
        show_line(f"* {counted(ran, 'command')} carried out on {name}")
    sys.exit(1 if any(step.state is StepState.DIFFERS for step in steps) else 0)


def _name(session: Session | None, named: str) -> str:
    from mqops.mq.inquire import queue_manager_name  # noqa: PLC0415

    if session is not None:
        return queue_manager_name(session)
    if not named:
        raise SettingsError("Name the queue manager")
    return named


def _steps(session: Session | None, name: str, more: tuple[str, ...], to: Grantee) -> Iterator[Step]:
    """What the queue manager needs, each with how it stands. Raises `MqopsError`."""
    from mqops.doctor.define import authority_steps, queue_step, trigger_steps  # noqa: PLC0415
    from mqops.doctor.estate_objects import used_queues  # noqa: PLC0415
    from mqops.doctor.needs import LEDGER, authorities, held_back, quarantine  # noqa: PLC0415
    from mqops.mq.authority import Grantee  # noqa: PLC0415
    from mqops.mq.inquire import is_zos  # noqa: PLC0415
    from mqops.storage import estate_here  # noqa: PLC0415
    from mqops.trigger.core.definitions import wanted  # noqa: PLC0415
    from mqops.trigger.missing import live_definitions  # noqa: PLC0415

    file = estate_here()
    settings = file.whole(name) if file else None
    yield queue_step(session, LEDGER)
    if settings and settings.backout_reprocess:
        yield queue_step(session, quarantine(settings.backout_reprocess.quarantine))
    for queue in settings.gate_quarantines() if settings else ():
        yield queue_step(session, held_back(queue))
    if settings:
        asks = live_definitions(session, name, settings) if session else wanted(name, settings)
        yield from trigger_steps(session, asks)
    if session is not None and is_zos(session):
        return
    used = used_queues(session, file, name)
    if not used.worked:
        warn(f"{name} has no dead-letter queue: ALTER QMGR DEADQ(name)")
    needed = authorities(replace(used, worked=tuple(dict.fromkeys((*used.worked, *more)))))
    if to.name:
        yield from authority_steps(session, needed, to, queue_manager=name)
    else:
        yield from authority_steps(None, needed, Grantee("PRINCIPAL", "user"), queue_manager=name)


def _lines(name: str, steps: list[Step], to: Grantee) -> Iterator[str]:
    """The steps as MQSC: what is to be done as commands, everything else as comments."""
    from mqops.doctor.define import StepState  # noqa: PLC0415
    from mqops.doctor.needs import Authority  # noqa: PLC0415

    yield f"* What mqops needs of queue manager {name}"
    for step in steps:
        is_authority = isinstance(step.what, Authority)
        if step.found:
            yield f"* {step.found}"
        if step.state is StepState.STANDS:
            if is_authority:
                yield f"* there already: {step.mqsc}"
        elif step.state is StepState.DIFFERS or (is_authority and not to.name):
            yield f"* {step.mqsc}"
        else:
            yield step.mqsc
    if not any(isinstance(step.what, Authority) for step in steps):
        yield "* z/OS: give the user of mqops its authorities by the external security manager (docs/ledger_trust.md)"
    elif not to.name:
        yield "* These authorities are comments: name the user of mqops with --user, or its group with --group"


def _run(session: Session, name: str, todo: list[Step]) -> int:
    """Carry out the steps; the number of them. Raises `MQError` with the number that was carried out before."""
    from mqops.doctor.define import define  # noqa: PLC0415

    for number, step in enumerate(todo):
        try:
            define(session, step, queue_manager=name)
        except MQError as error:
            done = f"{counted(number, 'command was', 'commands were')} carried out before it"
            error.args = (f"{error}. It was: {step.mqsc}. {done}",)
            raise
    return len(todo)
