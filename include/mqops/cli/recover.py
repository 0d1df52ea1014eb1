"""`mqops message move | copy | park | discard | replay`, or `mqops recover`: chosen messages of a queue."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from mqops.cli.acting import How, acting_options
from mqops.cli.criteria import criteria_options
from mqops.cli.group import Group
from mqops.cli.outcome import connection_to
from mqops.cli.passes import (
    dry_run_beside_all,
    ending,
    pacing_options,
    run_once,
    this_user,
    warn,
)
from mqops.cli.run_argument import queue_manager_option
from mqops.cli.user_option import connecting_options

if TYPE_CHECKING:
    from mqops.decide.core.pacing import Pacing
    from mqops.look.core.criteria import Criteria

_to_option = click.option("--to", required=True, metavar="QUEUE", help="The queue that the messages are put on.")
_park_option = click.option(
    "--to", default="", show_default="MQOPS.QUARANTINE", metavar="QUEUE", help="The queue that the messages are put on."
)
_to_manager_option = click.option(
    "--to-queue-manager", default="", metavar="QMGR", help="The queue manager of that queue, if it is another one."
)
_header_option = click.option(
    "--header",
    type=click.Choice(["keep", "strip"]),
    default="keep",
    show_default=True,
    help="Whether an MQDLH goes along. Without it the format is the one that the MQDLH names.",
)


@click.group(cls=Group)
def recover() -> None:
    """Move, copy, park, discard or replay chosen messages of a queue."""


def _command(name: str, help_text: str, *options: Callable[[Any], Any]) -> click.Command:
    """One of the commands; all of them choose messages alike."""

    def run(
        *,
        queue: str,
        msg_ids: tuple[str, ...],
        queue_manager: str,
        wanted: Criteria,
        everything: bool,
        how: How,
        to: str = "",
        to_queue_manager: str = "",
        header: str = "keep",
        pacing: Pacing | None = None,
    ) -> None:
        from mqops.decide.core.pacing import NO_LIMITS  # noqa: PLC0415
        from mqops.deciders.recover import RECOVER, Do, RecoverRequest  # noqa: PLC0415

        request = RecoverRequest(
            connection=connection_to(queue_manager.strip()),
            lake=how.lake,
            do=Do(name),
            queue=queue.strip(),
            msg_ids=msg_ids,
            wanted=wanted,
            everything=everything,
            to=to.strip(),
            to_queue_manager=to_queue_manager.strip(),
            strip=header == "strip",
            unit_size=how.unit_size,
            pacing=pacing or NO_LIMITS,
            requested_by=this_user(),
            warn=warn,
            first_tell=how.asks,
        )
        question = "" if how.yes else f"{name.capitalize()} these messages?"
        done = run_once(RECOVER, request, dry_run=how.dry_run, as_json=how.as_json, question=question)
        sys.exit(ending(done, gone=True))

    shared: tuple[Callable[[Any], Any], ...] = (
        click.argument("queue"),
        click.argument("msg_ids", metavar="[MSGID]...", nargs=-1),
        queue_manager_option,
        connecting_options,
        criteria_options,
        click.option("--all", "everything", is_flag=True, help="All messages of QUEUE, where nothing else chooses."),
        *options,
    )
    command: Any = acting_options(run, dry_run_beside_all)
    for option in reversed(shared):
        command = option(command)
    return click.command(name, help=f"{help_text}\n\n{_CHOSEN}")(command)


_CHOSEN = """Messages are chosen as by `mqops message find`: by the options, and by MSGIDs, whole or their beginnings.
The command shows the plan and asks. With --dry-run it says which command carries out the plan (`mqops dlq act`). An MQ
group goes whole or not at all. `mqops undo RUN` takes it back. Exit code 1: a message that was to go was left, or is
gone."""
MOVE = _command(
    "move",
    "Move chosen messages of QUEUE to another queue, with or without an MQDLH, whole and each once.",
    _to_option,
    _to_manager_option,
    _header_option,
    pacing_options,
)
COPY = _command(
    "copy",
    "Put a copy of chosen messages of QUEUE on another queue. The originals stay where they are.\n\n"
    "A copy has the MsgId and all context of its original (the user needs SETALL).",
    _to_option,
    _to_manager_option,
    _header_option,
    pacing_options,
)
PARK = _command(
    "park",
    "Move chosen messages of QUEUE to a queue where they lie until a person looks at them.",
    _park_option,
    _header_option,
)
DISCARD = _command("discard", "Discard chosen messages of QUEUE. Their copies stay in the lake: undo puts them back.")
REPLAY = _command(
    "replay",
    "Put chosen dead letters of QUEUE where their MQDLH says, without the MQDLH. A message without one stays.",
    pacing_options,
)
COMMANDS = (MOVE, COPY, PARK, DISCARD, REPLAY)
for _one in COMMANDS:
    recover.add_command(_one)
