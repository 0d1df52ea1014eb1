"""`mqops message export` and `load`: messages of a queue to a file, and the messages of a file onto a queue."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mqops.cli.criteria import criteria_options
from mqops.cli.outcome import connection_to, json_option, known_errors, lake_option, show_json, show_line
from mqops.cli.passes import ending, refuse_to_ask, run_once, this_user, unit_size_option, warn, yes_option
from mqops.cli.run_argument import completed_runs, queue_manager_option, snapshot_folder
from mqops.cli.user_option import connecting_options
from mqops.counted import counted

if TYPE_CHECKING:
    from mqops.look.core.criteria import Criteria
    from mqops.message_file.export import Form

FORMS = click.Choice(["text", "parquet"])


@click.command()
@click.argument("queue")
@click.argument("file", type=click.Path(path_type=Path))
@queue_manager_option
@connecting_options
@criteria_options
@click.option(
    "--snapshot",
    "snapshot",
    default="",
    metavar="RUN|FOLDER",
    shell_complete=completed_runs,
    help="Not the live queue: the messages that a run's snapshot, or a folder of Parquet files, has of it.",
)
@click.option(
    "--format",
    "form",
    type=FORMS,
    default=None,
    help="dmpmqmsg's text, or a folder of Parquet as in the lake. Default: by the name, parquet for *.parquet.",
)
@lake_option
@json_option
@known_errors
def export(
    *,
    queue: str,
    file: Path,
    queue_manager: str,
    wanted: Criteria,
    snapshot: str,
    form: str | None,
    lake: Path,
    as_json: bool,
) -> None:
    """Write the messages of QUEUE that fit all options to FILE, whole: descriptor and body. The queue is only browsed.

    FILE is new and private (0600); it holds the messages' contents. IBM's dmpmqmsg loads the text format, too. Only a
    user whom the estate names under `reveal` may export, and the ledger says who exported which message.
    """
    from mqops.look.core.searched import passed_over_lines  # noqa: PLC0415
    from mqops.message_file.export import Recipient, export_queue, export_snapshot  # noqa: PLC0415
    from mqops.mq.connection import connect  # noqa: PLC0415
    from mqops.mq.named_queue import alias_of  # noqa: PLC0415
    from mqops.observe.snapshot import find  # noqa: PLC0415
    from mqops.observe.unseen import unseen  # noqa: PLC0415

    to = Recipient(lake=lake, who=this_user())
    as_form: Form = "parquet" if (form or file.suffix.lstrip(".")) == "parquet" else "text"
    if snapshot:
        run, folder = find(snapshot_folder(lake, snapshot))
        key = run.run if run else ""
        done = export_snapshot(folder, queue.strip(), file, as_form, wanted, to=to, run=key)
    else:
        with connect(connection_to(queue_manager.strip())) as session:
            done = export_queue(session, queue.strip(), file, as_form, wanted, to=to)
            told = (alias_of(session, queue.strip()), "" if done.messages else unseen(session, queue.strip()))
            for line in filter(None, told):
                warn(line)
    for path in done.left_behind:
        warn(f"{path} may be what a killed export left; other users can interfere there, so look at it and remove it")
    if as_json:
        show_json(done.to_json())
    else:
        size = f"{counted(done.messages, 'message')}, {counted(done.bytes, 'byte')}"
        show_line(f"{done.file}: {size} of {done.queue} of {done.queue_manager}, as {done.form}")
        for line in passed_over_lines(done.passed_over):
            show_line(line)


@click.command()
@click.argument("file", type=click.Path(path_type=Path, exists=True))
@click.argument("queue")
@queue_manager_option
@connecting_options
@click.option("--run", "carry_out", is_flag=True, help="Put the messages, after a question. Without it: a dry run.")
@yes_option
@click.option("--again", is_flag=True, help="Put once more what earlier loads put on QUEUE and is not there.")
@unit_size_option
@lake_option
@json_option
@known_errors
def load(
    *,
    file: Path,
    queue: str,
    queue_manager: str,
    carry_out: bool,
    yes: bool,
    again: bool,
    unit_size: int,
    lake: Path,
    as_json: bool,
) -> None:
    """Put the messages of FILE on QUEUE, with all their context, in their order, each once.

    FILE is one that `mqops message export` or IBM's dmpmqmsg wrote, or a folder of a snapshot's Parquet files. It is
    read to its end first: a damaged file is refused, and nothing is put. Without --run nothing is put.

    A load that was killed goes on when the same command is entered again. What an earlier load of these messages put on
    QUEUE, and what is on QUEUE already, is left. Exit code 1: a message could not be put; the next load tries it again.
    """
    from mqops.deciders.message_load import MESSAGE_LOAD, LoadRequest, finish_loads  # noqa: PLC0415

    if carry_out:
        refuse_to_ask(as_json=as_json, answered=yes)
    request = LoadRequest(
        connection=connection_to(queue_manager.strip()),
        lake=lake,
        file=file,
        queue=queue.strip(),
        again=again,
        unit_size=unit_size,
        requested_by=this_user(),
        warn=warn,
    )
    if carry_out:
        finished = finish_loads(request, unit_size=unit_size)
        for one in finished:
            warn(f"load {one.run} was not finished; it is now: {one.moved:,} put, {one.left:,} left")
        if finished and again:
            warn("--again was not heeded: these messages were just put. To put them once more, enter the command again")
            request = replace(request, again=False)
    done = run_once(
        MESSAGE_LOAD,
        request,
        dry_run=not carry_out,
        as_json=as_json,
        question="" if yes else "Load these messages?",
    )
    sys.exit(ending(done, gone=True))
